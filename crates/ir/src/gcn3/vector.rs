//! Meaning of vector instructions (VOP1, VOP2, VOP3, VOPC), with SDWA and DPP.

use warpbound_isa::amd::GcnView;

use super::MeaningContext;
use super::operands::Operands;
use crate::Meaning;

/// Returns the meaning; `None` if it is unknown.
pub(super) fn meaning(
    _view: &GcnView,
    _o: &Operands<'_>,
    _context: &MeaningContext<'_>,
) -> Option<Meaning> {
    None
}
