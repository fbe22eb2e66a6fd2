//! Simulators of kernels: the oracle against which claims and bounds are checked.
//!
//! [`functional`] executes a launch without time, [`timed`] with the timing of a GPU; [`mini`] is the mini-SIMT
//! machine. Effects on data are interpreted from the operations that the analyses read (`ir`), effects on lanes by the
//! concrete rules of `simt`. Nothing here depends on an analysis or a bound.
//!
//! # Concepts
//!
//! * launches without time, generic over the execution model (`pastis-2022` 4): `simulate/src/functional.rs`,
//!   `simulate/src/functional/program.rs`, `compile.rs`, `steps.rs`
//! * blocks and their barriers: `simulate/src/functional/block.rs`, `barrier.rs`; exchanges between lanes: `exchanges.rs`
//! * waves of AMD's GPUs (operations executed once for the warp): `simulate/src/functional/once.rs`, `once_access.rs`
//! * memory of waves (windows, scratch, buffers, LDS): `simulate/src/functional/wave_access.rs`, `wave_shared.rs`,
//!   `buffer.rs`
//! * splits of waves (masks, registers, barriers, merges): `simulate/src/functional/splits.rs`; in any order:
//!   `split_runs.rs`; random programs: `testkit/src/wave_splits.rs`
//! * undefined registers and missing wait states of a run: `simulate/src/functional/checks.rs`,
//!   `simulate/src/functional/checks/registers.rs`, `hazards.rs`
//! * blocks at the same time with the result of one after the other: `simulate/src/functional/parallel.rs`
//! * textures and surfaces sampled: `simulate/src/functional/texture.rs`, `surface.rs`
//! * listeners of a run: `simulate/src/functional/listen.rs`, `simulate/src/timed/event.rs`; with files and tables:
//!   `runs/src/listeners.rs`
//! * runs with time on all GPUs (order of cycles, issue, barriers): `simulate/src/timed/gpu.rs`, `core.rs`,
//!   `event_queue.rs`; what a family adds: `family_timing.rs`
//! * SMs with time (units, schedulers, scoreboards): `simulate/src/timed/sm.rs`, `simulate/src/timed/sm/times.rs`,
//!   `scheduler.rs`, `scoreboard.rs`
//! * parameters of the time of an instruction: `simulate/src/timed/sm/instr_timing.rs`
//! * where a parameter acts in a run, and that its use is recorded: `simulate/src/timed/parameters.rs`
//! * MSHRs, L1, L2, TLBs, DRAM: `simulate/src/timed/mshr.rs`, `l1_path.rs`, `l2.rs`, `tlb.rs`, `dram.rs`
//! * constant and instruction caches: `simulate/src/timed/fetch.rs`, `cache.rs`
//! * pools and transactions of shared memory (`pastis-2022` III.B): `simulate/src/timed/sm/shared_memory.rs`
//! * block dispatch: `simulate/src/timed/dispatch.rs`
//! * compute units with time (turns, kinds, units): `simulate/src/timed/waves/compute_unit.rs`, `simd.rs`,
//!   `pipelines.rs`; tests of the rules: `simulate/tests/it/wave_rules.rs`
//! * counters and waits of waves: `simulate/src/timed/waves/counters.rs`
//! * bank conflicts of LDS, scalar cache: `simulate/src/timed/waves/lds.rs`, `scalar_cache.rs`
//! * splits of waves with time, merges: `simulate/src/timed/waves/splitting.rs`
//! * run of a single warp of a launch: `SingleWarp` in `simulate/src/timed.rs`; tests
//!   `testkit/tests/it/single_warps.rs`
//! * mini-SIMT machine, scheduler: `simulate/src/mini.rs`, `simulate/src/mini/scheduler.rs`

pub mod functional;
pub mod mini;
pub mod timed;
mod unsupported;

pub use unsupported::UnsupportedOp;
