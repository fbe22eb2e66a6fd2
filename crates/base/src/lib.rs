//! Types shared by every crate: code addresses, bit fields, quantities and their bounds, diagnostics.
//!
//! Also the instruction sets of GPUs, and the families to which they belong.
//!
//! # Concepts
//!
//! * families of GPUs, their lanes and way to reconverge: `base/src/family.rs`
//! * groups of instructions with control words, constant banks, words that a launch writes into them:
//!   `base/src/code_facts.rs`; by family: `family.rs`
//! * instruction sets and the families to which they belong: `base/src/isa.rs`, `sm.rs`, `gfx.rs`
//! * largest sizes of a launch, by family: `base/src/size_limits.rs`
//! * code addresses, bit fields: `base/src/addr.rs`, `bits.rs`
//! * quantities in instructions or cycles: `base/src/quantity.rs`
//! * upper bounds, observations and estimates as types: `base/src/limits.rs`
//! * messages with a place, a cause and an advice: `base/src/diagnostic.rs`
//! * values that have names, such as choices of options: `base/src/named.rs`
//! * limits of time: `base/src/deadline.rs`

mod addr;
mod bits;
mod code_facts;
mod deadline;
mod diagnostic;
mod family;
mod gfx;
mod isa;
mod limits;
mod named;
mod quantity;
mod size_limits;
mod sm;

pub use addr::CodeAddr;
pub use bits::{BitRange, Bits};
pub use code_facts::{ConstantBanks, GenericWindow, GroupedCode, LaunchBlock, WindowWord};
pub use deadline::Deadline;
pub use diagnostic::{Diagnostic, Location};
pub use family::{Family, FamilyFacts, Reconvergence};
pub use gfx::Gfx;
pub use isa::Isa;
pub use limits::{Estimated, Observed, UpperBound};
pub use named::Named;
pub use quantity::{Cycles, Instructions, Quantity};
pub use size_limits::SizeLimits;
pub use sm::{Sm, SmFacts, SmReach};
