//! Meaning of floating-point instructions.

use warpbound_isa::amd::GcnView;

use crate::Meaning;
use crate::gcn3::MeaningContext;
use crate::gcn3::operands::Operands;

/// Returns the meaning; `None` if it is unknown or the instruction is not one of floating point.
pub(in crate::gcn3) fn meaning(
    _view: &GcnView,
    _o: &Operands<'_>,
    _context: &MeaningContext<'_>,
) -> Option<Meaning> {
    None
}
