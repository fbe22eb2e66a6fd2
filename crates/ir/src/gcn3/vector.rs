//! Meaning of vector instructions (VOP1, VOP2, VOP3, VOPC), with SDWA and DPP.

mod float;

use warpbound_isa::amd::GcnView;

use super::MeaningContext;
use super::operands::Operands;
use crate::Meaning;

/// Returns the meaning; `None` if it is unknown.
pub(super) fn meaning(
    view: &GcnView,
    o: &Operands<'_>,
    context: &MeaningContext<'_>,
) -> Option<Meaning> {
    if view.modifiers.sdwa.is_some() || view.modifiers.dpp.is_some() {
        return None;
    }
    float::meaning(view, o, context)
}
