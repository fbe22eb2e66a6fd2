//! Control transfers of a followed warp: the transfer of an operation, and the operations to which known lanes jump.
//!
//! The execution of a profile and the one of a prediction differ where values decide that are unknown, and share what
//! is known.

use warpbound_base::CodeAddr;
use warpbound_ir::{Code, ControlEffect, Op, OpIndex};
use warpbound_simt::{ControlTransfer, Mask, lanes_of};

/// Returns the transfer of an operation whose condition may hold in a lane or not (`any`), at the points that `point`
/// has for operations. `None` if it is not followed: an indirect one, or one to a place without a point.
pub(crate) fn transfer_of<P>(
    op: &Op,
    any: bool,
    point: impl FnMut(OpIndex) -> Option<P>,
) -> Option<ControlTransfer<'static, P>> {
    match &op.control {
        // Pushes apply to all active lanes, so that a condition has no clear meaning.
        ControlEffect::Call(_) | ControlEffect::Push(..) if !op.condition.is_always() => None,
        _ if !any => Some(ControlTransfer::Next),
        direct => direct.transfer(point),
    }
}

/// Returns the operations to which lanes jump through `anchor` and a word of their own, and the lanes of each, in the
/// order of the lowest lanes. `None` if there is no operation at an address.
pub(crate) fn indirect_targets(
    code: &Code,
    anchor: i64,
    lanes: u32,
    word: impl Fn(usize) -> u32,
) -> Option<Vec<(OpIndex, Mask)>> {
    let mut targets: Vec<(OpIndex, Mask)> = Vec::new();
    for lane in lanes_of(lanes.into()) {
        // The sum as a signed number of 32 bits, which the base is.
        let address = i64::from(word(lane) as i32).checked_add(anchor)?;
        let target = code.at(CodeAddr(u32::try_from(address).ok()?))?;
        match targets.iter_mut().find(|(to, _)| *to == target) {
            Some((_, lanes)) => *lanes |= 1 << lane,
            None => targets.push((target, 1 << lane)),
        }
    }
    Some(targets)
}
