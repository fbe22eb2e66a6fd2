//! Simulators of kernels: the oracle against which claims and bounds are checked.
//!
//! [`functional`] executes a launch without time, [`timed`] with the timing of a GPU; [`mini`] is the mini-SIMT
//! machine. Effects on data are interpreted from the operations that the analyses read (`ir`), effects on lanes by the
//! concrete rules of `simt`. Nothing here depends on an analysis or a bound.

pub mod functional;
pub mod mini;
pub mod timed;
mod unsupported;

pub use unsupported::UnsupportedOp;
