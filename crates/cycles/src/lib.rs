//! Time of a warp that runs alone (SOUNDNESS 11): an upper limit of the cycles of each step of the warp-level graph.
//! `warpbound-ipet` computes the bound of the warp from these limits. Each number of the machine is taken at the end
//! of its range that makes the warp slowest, so the limits hold for every machine in the ranges. The simulator with time
//! is another crate (`simulate/src/timed`).
//!
//! * `kernel`: inputs; `numbers`: the machine at its slow end.
//! * `state`: the times of a warp; `step`: their change by an instruction; `memory`: by a memory access; `lines`,
//!   `waits`: lines of code and constants; `prefetches`: delays of prefetched lines.
//! * `outcomes`: what decides the time of an instruction besides these; `replay`: the times of a recorded warp.
//! * `contention`: services that a warp takes from others; `demands`: the services of one execution; `follow`: warps
//!   on observed paths; `outstanding`: loads in flight; `siblings`: services that splits of a wave take from each
//!   other.
//! * `potentials`: costs of steps; `account`: terms of the sum.
//!
//! # Concepts
//!
//! * times of a warp and their change by an instruction: `cycles/src/state.rs`, `step.rs`, `cycles/src/memory/path.rs`,
//!   `times.rs`
//! * time of a wave of GCN3 that runs alone: `cycles/src/wave_step.rs`; inputs: `bounds/src/cycles/wave_inputs.rs`;
//!   random programs: `testkit/src/wave_programs.rs`
//! * services that splits of a wave take from each other: `cycles/src/siblings.rs`; the bound with all splits:
//!   `bounds/src/cycles/split_bound.rs`
//! * waits for lines of code and constants, translations, sectors from DRAM: `cycles/src/waits.rs`, `lines.rs`; ways to
//!   count them: `bounds/src/cycles/launch_bound.rs`
//! * prefetched lines: `cycles/src/prefetches.rs`
//! * memory that the L1 and the L2 cache keep: `cycles/src/kept_lines.rs`
//! * services of a warp, loads in flight: `cycles/src/contention.rs`, `outstanding.rs`; of waves: `wave_contention.rs`
//! * services of one execution, warps on observed paths: `cycles/src/demands.rs`, `follow.rs`
//! * costs of steps, terms of the sum: `cycles/src/potentials.rs`, `account.rs`
//! * machine at its slow end: `cycles/src/numbers.rs`
//! * outcomes that decide the time of an instruction: `cycles/src/outcomes.rs`; of a run:
//!   `simulate/src/timed/outcome.rs`; compared: `testkit/tests/it/outcomes.rs`
//! * replay (cycles of a recorded warp from the transfer functions of bounds): `cycles/src/replay.rs`,
//!   `cycles/src/replay/walk.rs`, `trace.rs`, `memory_path.rs`, `levels.rs`, `sm_lines.rs`, `server.rs`
//! * replay with the accesses of the bound: `cycles/src/replay/bounded.rs`, `limits.rs`

mod account;
mod code;
mod contention;
mod demands;
mod follow;
mod kept_lines;
mod kernel;
mod leads;
mod lines;
mod memory;
mod numbers;
mod outcomes;
mod outstanding;
mod potentials;
mod prefetches;
mod replay;
mod rules;
mod siblings;
mod state;
mod step;
mod time;
mod unfinished;
mod waits;
mod wave_contention;
mod wave_step;

pub use account::{Term, TermCycles};
pub use code::TimedCode;
pub use contention::{Contention, NodeServices, Service};
pub use demands::{Demands, DramTransfers, SharedResource};
pub use follow::{FollowedWarp, Stop};
pub use kept_lines::{AddressRange, fits_l1, fits_l2};
pub use kernel::{
    CountedSectors, KeepingCache, LoadedConstants, OnceCost, OtherWarps, PartedGroups,
    PreloadedConstants, ScalarLimits, TimedKernel, TimedStep, Translations, WaveSplits, refusal,
    wave_refusal,
};
pub use memory::{AccessDirection, AccessLimits, SpaceLimits};
pub use numbers::{MILLI, MachineNumbers};
pub use potentials::StepCost;
pub use replay::{
    FetchSource, RecordedTrace, ReplayedTimes, ServiceOrder, TracedAccess, TracedFetch,
    TracedInstr, TracedL2Line, TracedLine, TracedMiss, TracedShared, TranslationSource, replay,
    replay_bounded,
};
pub use siblings::SiblingCosts;
pub use time::{KernelTime, NodeVectors, PathTime};
