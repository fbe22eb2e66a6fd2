//! Vocabulary shared by every room: code addresses, bit views, cycles, diagnostics.
//!
//! Nothing here knows about GPUs.

mod addr;
mod bits;
mod cycles;
mod deadline;
mod diagnostic;

pub use addr::CodeAddr;
pub use bits::{BitRange, Bits};
pub use cycles::{Cycles, Observed, UpperBound};
pub use deadline::Deadline;
pub use diagnostic::{Diagnostic, Location};
