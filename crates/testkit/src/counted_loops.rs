//! Random programs with counted loops, executed by single threads: the check of derived loop bounds.
//!
//! A program is text of `warpbound_ir::text`, so that a failure can be read. Its threads run in an interpreter that
//! knows the meanings of the operations (they are written once, in `ir`) and nothing of the analyses.

pub mod campaign;
pub mod check;
pub mod generate;
pub mod launches;
pub mod thread;
mod writer;
