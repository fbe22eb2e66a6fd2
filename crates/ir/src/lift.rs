//! Lifting.
use warpbound_isa as _; 
/// placeholder
pub fn lift() {}
