//! Timing facts of the instructions of a kernel: control words, execution units and what completes an instruction;
//! classes and counters of waves; as data without the parameters of a machine. The timing model of `simulate` reads them, and so do bounds in cycles.

mod completion;
mod instr_facts;
mod unit;
mod wave_facts;

pub use completion::Completion;
pub use instr_facts::{Distance, InstrFacts, instr_facts};
pub use unit::UnitModel;
pub use wave_facts::{CounterRaise, IssueKind, WaitCounts, WaveFacts, gcn_facts};
