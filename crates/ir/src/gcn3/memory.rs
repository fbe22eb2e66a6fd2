//! Meaning of accesses to memory: LDS, flat addresses, buffers.

use warpbound_isa::amd::GcnView;

use super::operands::Operands;
use crate::Meaning;

/// Returns the meaning; `None` if it is unknown.
pub(super) fn meaning(_view: &GcnView, _o: &Operands<'_>) -> Option<Meaning> {
    None
}
