//! Runs of kernels: functions of a [`Session`](warpbound_query::Session) and a launch.
//!
//! Without time ([`execute`]), with time ([`simulate`]), of mini-SIMT blocks ([`run_mini`]) and of launch sets.
//! Listeners write events and tables, and do not change a run. No function here uses a bound, because bounds are
//! checked against runs.

pub mod access_counts;
pub mod block_counts;
pub mod listeners;
pub mod metrics;
pub mod runs;

pub use runs::functional::{FunctionalRun, RunOptions};
pub use runs::set::{ExecuteLaunch, SetEnd, SetRun, StreamOrder, run_set};
pub use runs::timed::{Override, RunHooks, RunProgress, TimedOptions, TimedRun};
pub use runs::{
    execute, execute_set, execute_to_end, run_mini, simulate, simulate_set, simulate_to_end,
    simulate_with,
};

pub use warpbound_simulate::timed::{Interlock, Silent, SingleWarp};
