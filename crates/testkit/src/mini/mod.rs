//! Random mini-SIMT programs, and the audit of what is said of them.

pub mod audit;
pub mod campaign;
pub mod execute;
pub mod generate;
