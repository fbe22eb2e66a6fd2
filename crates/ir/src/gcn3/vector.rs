//! Meaning of vector instructions (VOP1, VOP2, VOP3, VOPC), with SDWA and DPP. For example, `v_mov_b32_dpp v0, v1
//! row_shl:1` is the move of a value from another lane, in the lanes that have one.

mod compare;
mod float;
pub(super) mod indexed;
mod integer;
pub(super) mod lanes;
pub(super) mod sdwa;
mod sums;

use smallvec::SmallVec;
use warpbound_isa::amd::{Dpp, GcnView, OperandAccess, Sdwa};

use super::MeaningContext;
use super::expressions::select;
use super::operands::Operands;
use crate::{Cell, Expr, Meaning};
use lanes::Exchange;

/// Returns the meaning; `None` if it is unknown.
pub(super) fn meaning(
    view: &GcnView,
    o: &Operands<'_>,
    context: &MeaningContext<'_>,
) -> Option<Meaning> {
    let result = lanes::meaning(view, o)
        .or_else(|| integer::meaning(view, o))
        .or_else(|| sums::meaning(view, o))
        .or_else(|| compare::meaning(view, o))
        .or_else(|| float::meaning(view, o, context))?;
    match (view.modifiers.sdwa, view.modifiers.dpp) {
        (None, None) => Some(result),
        (Some(sdwa), None) => select_parts(result, sdwa, o),
        (None, Some(dpp)) => exchange(result, &dpp),
        // Both would need the second dword, so no instruction has both.
        (Some(_), Some(_)) => None,
    }
}

/// Results, each written to the selected part of its destination.
fn select_parts(result: Meaning, sdwa: Sdwa, o: &Operands<'_>) -> Option<Meaning> {
    let writes = assignments(result)?;
    let is_read = |cell| {
        let dest = o.dest(0).filter(|_| o.dest_cell(0, 0) == Some(cell));
        dest.is_some_and(|dest| dest.access == OperandAccess::ReadWrite)
    };
    let merged = writes.into_iter().map(|(cell, value)| {
        let value = match cell.is_per_lane() {
            // It is not documented which part of a destination the operation itself reads.
            true if is_read(cell) && !sdwa::is_whole(sdwa.dst_sel) => None,
            true => sdwa::merged(cell, value, sdwa),
            false => Some(value),
        };
        Some((cell, value?))
    });
    Some(Meaning::Set(merged.collect::<Option<_>>()?))
}

/// Results in the lanes that an exchange writes. Other lanes keep their destination.
fn exchange(result: Meaning, dpp: &Dpp) -> Option<Meaning> {
    let writes = assignments(result)?;
    let Some(is_written) = Exchange::of(dpp)?.writes() else {
        return Some(Meaning::Set(writes));
    };
    // Mask bits of lanes that are not written are not documented, so the masks are written without a value.
    let lanes = writes.into_iter().filter(|(cell, _)| cell.is_per_lane());
    let kept = |(cell, value)| {
        let value = select(is_written.clone(), value, Expr::Cell(cell));
        (cell, value)
    };
    Some(Meaning::Set(lanes.map(kept).collect()))
}

/// Assignments of a meaning that consists of assignments.
fn assignments(meaning: Meaning) -> Option<SmallVec<[(Cell, Expr); 2]>> {
    match meaning {
        Meaning::Set(writes) => Some(writes),
        _ => None,
    }
}
