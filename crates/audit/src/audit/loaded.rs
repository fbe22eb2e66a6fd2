//! Values that loads find in a run, compared with the ranges that the user states for buffers (`data-ranges`).
//!
//! For example, the launch file states 0 to 99 for a buffer. A load of this buffer that leaves 100 in a lane is a
//! violation.

use warpbound_simt::{Mask, lanes_of};
use warpbound_simulate::functional::Issue;

use warpbound_analyse::stated_data::RangedLoad;
use warpbound_ir::OpIndex;

use super::claims::{Claim, Claims, Violation};

/// Checks the values that the load before this instruction, by the same warp, has left in its lanes.
pub(super) fn check_loaded<E>(
    claims: &Claims<'_>,
    at: OpIndex,
    lanes: Mask,
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
            // One lane is enough to contradict the stated range.
            return;
        }
    }
}

/// Whether a word, as a signed or as an unsigned number, is in the range. For example, 0xffffffff is in -1 to 7.
fn is_within(load: &RangedLoad, word: u32) -> bool {
    let readings = [i64::from(word), i64::from(word as i32)];
    readings
        .iter()
        .any(|number| (load.least..=load.most).contains(number))
}
