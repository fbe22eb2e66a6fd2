//! Timing facts of the instructions of NVIDIA's GPUs: control words, units, and what completes an instruction.

mod completion;
mod instr_facts;
mod unit;

pub use completion::{Completion, L1Use};
pub use instr_facts::{Distance, InstrFacts, instr_facts};
pub use unit::UnitModel;
