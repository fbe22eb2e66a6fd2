//! Runs of kernels: functions of a [`Session`](warpbound_query::Session) and a launch.
//!
//! Without time ([`execute`]), with time ([`simulate`]), of mini-SIMT blocks ([`run_mini`]) and of launch sets. Listeners
//! write events and tables, and do not change a run. No function here uses a bound, because runs contradict bounds.
//!
//! # Concepts
//!
//! * launches executed without time: `runs/src/runs/functional.rs`
//! * launches simulated with time, on either family: `runs/src/runs/timed.rs`, `runs/src/runs/timed/setup.rs`; where
//!   its waves may split: `splitting.rs`
//! * blocks of mini-SIMT simulated: `runs/src/runs/mini.rs`
//! * launch sets in order, with the buffers that they share: `runs/src/runs/set.rs`
//! * parameters replaced, sensitivities: `runs/src/runs/timed/overrides.rs`, `sensitivities.rs`
//! * events and counts of runs to files and tables: `runs/src/listeners.rs`, `runs/src/listeners/events.rs`,
//!   `timeline.rs`, `tables.rs`, `wave_tables.rs`
//! * numbers of memory accesses counted in runs: `runs/src/access_counts.rs`; of waves:
//!   `runs/src/access_counts/waves.rs`; of requests of whole warps: `whole_warps.rs`
//! * executions of blocks, metrics from them: `runs/src/block_counts.rs`, `metrics.rs`

pub mod access_counts;
pub mod block_counts;
pub mod listeners;
pub mod metrics;
pub mod runs;

pub use runs::functional::{FunctionalRun, RunOptions};
pub use runs::set::{ExecuteLaunch, SetEnd, SetRun, StreamOrder, run_set};
pub use runs::timed::{Override, RunHooks, RunProgress, TimedOptions, TimedRun};
pub use runs::{
    execute, execute_prepared, execute_set, execute_to_end, run_mini, simulate, simulate_set,
    simulate_to_end, simulate_with,
};

pub use warpbound_simulate::timed::{Interlock, Silent, SingleWarp};
