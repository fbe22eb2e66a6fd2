//! Types shared by every crate: code addresses, bit fields, cycles, diagnostics. Nothing here is specific to GPUs.

mod addr;
mod bits;
mod cycles;
mod deadline;
mod diagnostic;
mod named;

pub use addr::CodeAddr;
pub use bits::{BitRange, Bits};
pub use cycles::{Cycles, Observed, UpperBound};
pub use deadline::Deadline;
pub use diagnostic::{Diagnostic, Location};
pub use named::Named;
