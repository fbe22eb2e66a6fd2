//! Machines that run kernels cycle by cycle: what every bound is checked against.
//!
//! What an instruction does to data is interpreted from the same operations that the analyses read (`ir`), what it
//! does to lanes by the concrete rules of `simt`. Nothing here depends on an analysis or a bound.

mod compiled;
mod fault;
pub mod functional;
mod mini;
mod scheduler;
pub mod timed;

pub use compiled::UnsupportedOp;
pub use fault::{Fault, FaultKind};
pub use mini::{Event, Finished, Simulation, Start};
