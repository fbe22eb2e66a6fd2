//! Timing facts of the instructions of a kernel: control words, execution units and what completes an instruction;
//! classes and counters of waves.
//!
//! The facts are data without the parameters of a machine. The timing model of `simulate` reads them, and so do
//! bounds in cycles. For example, a double-precision addition has the unit `Fp64` and completes after
//! `Parameter::LatencyFp64`; the machine decides how many cycles these are. The time of loads in a bound is in
//! `cycles/src/memory/times.rs`.
//!
//! # Concepts
//!
//! * timing facts of each instruction of NVIDIA's GPUs: `timing/src/nvidia/instr_facts.rs`, `unit.rs`
//! * completion of an instruction: `timing/src/nvidia/completion.rs`
//! * timing facts of GCN3 (classes, counters, waits): `timing/src/wave_facts.rs`

mod nvidia;
mod wave_facts;

pub use nvidia::{Completion, Distance, InstrFacts, L1Use, UnitModel, instr_facts};
pub use wave_facts::{CounterRaise, IssueKind, WaitCounts, WaveFacts, gcn_facts};
