//! Random mini-SIMT programs, their reference execution, and the audit of all claims about them.

pub mod audit;
pub mod campaign;
pub mod execute;
pub mod generate;
