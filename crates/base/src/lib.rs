//! Types shared by every crate: code addresses, bit fields, quantities and their bounds, diagnostics.
//!
//! Also the instruction sets of GPUs, and the families to which they belong.

mod addr;
mod bits;
mod deadline;
mod diagnostic;
mod family;
mod gfx;
mod isa;
mod limits;
mod named;
mod quantity;
mod sm;

pub use addr::CodeAddr;
pub use bits::{BitRange, Bits};
pub use deadline::Deadline;
pub use diagnostic::{Diagnostic, Location};
pub use family::{Family, FamilyFacts, Reconvergence};
pub use gfx::Gfx;
pub use isa::Isa;
pub use limits::{Estimated, Observed, UpperBound};
pub use named::Named;
pub use quantity::{Cycles, Instructions, Quantity};
pub use sm::Sm;
