//! Meaning of scalar instructions (SOP1, SOP2, SOPK, SOPC, SOPP) and scalar memory (SMEM).

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
