//! Numbers that loads of a run find, against the ranges that the user states of buffers.

use warpbound_simt::{Mask, lanes_of};
use warpbound_simulate::functional::Issue;

use warpbound_analyse::stated_data::RangedLoad;
use warpbound_ir::OpIndex;

use super::claims::{Claim, Claims, Violation};

/// Checks what the load that a warp has executed before this instruction has left in its lanes.
pub(super) fn check_loaded<E>(
    claims: &Claims<'_>,
    (at, lanes): (OpIndex, Mask),
    next: &Issue<'_, E>,
    found: &mut Vec<Violation>,
) {
    let Some(load) = claims.loaded.get(&at) else {
        return;
    };
    for &cell in &load.dests {
        let values = next.cell(cell);
        let mut numbers = lanes_of(lanes).map(|lane| values.get(lane));
        if let Some(word) = numbers.find(|&word| !is_within(load, word)) {
            found.push(Violation {
                claim: Claim::Data,
                at,
                message: format!(
                    "loads {word:#x} from {}, whose numbers are stated to be {} to {}",
                    load.buffer, load.least, load.most
                ),
            });
            return;
        }
    }
}

/// Whether a word is a number of the range, read with or without a sign.
fn is_within(load: &RangedLoad, word: u32) -> bool {
    let readings = [i64::from(word), i64::from(word as i32)];
    readings
        .iter()
        .any(|number| (load.least..=load.most).contains(number))
}
