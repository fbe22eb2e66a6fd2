//! Types shared by every crate: code addresses, bit fields, quantities and their bounds, diagnostics.
//!
//! Nothing here is specific to GPUs, and no type here depends on an instruction set.

mod addr;
mod bits;
mod deadline;
mod diagnostic;
mod limits;
mod named;
mod quantity;

pub use addr::CodeAddr;
pub use bits::{BitRange, Bits};
pub use deadline::Deadline;
pub use diagnostic::{Diagnostic, Location};
pub use limits::{Estimated, Observed, UpperBound};
pub use named::Named;
pub use quantity::{Cycles, Instructions, Quantity};
