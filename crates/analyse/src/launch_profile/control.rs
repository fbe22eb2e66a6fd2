//! Control transfers of a followed warp: the transfer of an operation, and the operations to which known lanes jump.
//!
//! The execution of a profile and the one of a prediction differ where values decide that are unknown, and share what
//! is known.

use warpbound_base::CodeAddr;
use warpbound_ir::{Code, ControlEffect, Op, OpIndex};
use warpbound_simt::{ControlTransfer, Mask, lanes_of};

use super::NoProfileReason;
use super::row::LaneRow;

/// Returns the transfer of an operation whose condition may hold in a lane or not (`any`), at the points that `point`
/// has for operations.
///
/// # Errors
///
/// A transfer that is not followed: an indirect one, or one to a place without a point.
pub(crate) fn transfer_of<P>(
    op: &Op,
    any: bool,
    point: impl FnMut(OpIndex) -> Option<P>,
) -> Result<ControlTransfer<'static, P>, NoProfileReason> {
    match &op.control {
        // Pushes apply to all active lanes, so that a condition has no clear meaning.
        ControlEffect::Call(_) | ControlEffect::Push(..) if !op.condition.is_always() => {
            Err(NoProfileReason::Unsupported)
        }
        _ if !any => Ok(ControlTransfer::Next),
        direct => direct.transfer(point).ok_or(NoProfileReason::Unsupported),
    }
}

/// Returns the operations to which lanes jump through their words of `base`, and the lanes of each, in the order of the
/// lowest lanes. The words must be known in these lanes.
///
/// # Errors
///
/// [`NoProfileReason::IndirectJump`] if there is no operation at an address.
pub(crate) fn indirect_targets(
    code: &Code,
    base: &LaneRow,
    anchor: i64,
    lanes: u32,
) -> Result<Vec<(OpIndex, Mask)>, NoProfileReason> {
    let mut targets: Vec<(OpIndex, Mask)> = Vec::new();
    for lane in lanes_of(lanes.into()) {
        // The sum as a signed number of 32 bits, which the base is.
        let word = base.word(lane).unwrap_or_default();
        let address = i64::from(word as i32).checked_add(anchor);
        let address = address.and_then(|address| u32::try_from(address).ok());
        let target = address.and_then(|address| code.at(CodeAddr(address)));
        let target = target.ok_or(NoProfileReason::IndirectJump)?;
        match targets.iter_mut().find(|(to, _)| *to == target) {
            Some((_, lanes)) => *lanes |= 1 << lane,
            None => targets.push((target, 1 << lane)),
        }
    }
    Ok(targets)
}
