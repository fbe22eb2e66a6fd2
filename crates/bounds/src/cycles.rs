//! Bounds in cycles: the time of a warp that runs alone on a machine (SOUNDNESS 11), and the time of a launch
//! (SOUNDNESS 20).
//!
//! [`cycle_inputs`] collects what both depend on. [`LoneWarp`] bounds one warp, with the waves of GCN3 that split,
//! and [`LaunchTime`] adds what other warps, blocks and SMs take. For example, a launch of 64 blocks has both: the
//! bound of a warp as if it were alone, and the larger bound until the last block has ended.

mod access_knowledge;
mod assumptions;
pub mod bound;
mod clock;
mod cta_estimate;
mod inputs;
pub mod launch_bound;
mod launch_memory;
pub(crate) mod launch_report;
pub mod launch_rows;
mod parted_groups;
mod runtime_memory;
mod split_bound;
mod wave_inputs;

use warpbound_base::Diagnostic;
use warpbound_ipet::SchedulerClass;
use warpbound_machine::GpuModel;

use warpbound_query::{CacheState, CycleQuery, Session, SplitOptions, TimeScope};

pub use bound::{CycleBound, LoneWarp};
pub(crate) use clock::{slowest, times};
pub use inputs::{CycleInputs, TimedSubject, cycle_inputs};
pub use launch_bound::{LaunchCycles, LaunchExtent, LaunchServices, LaunchTime};
pub use runtime_memory::untouched_memory;

/// Source of the execution counts of a stated launch.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum LaunchCounts {
    /// Flow facts, and the execution of the warps with the values that the launch fixes.
    #[default]
    Executed,
    /// Flow facts alone, which hold in all launches.
    Stated,
}

/// Options of a bound in cycles.
#[derive(Clone, Debug)]
pub struct CycleOptions {
    /// Machine; the bound holds for all values within its ranges.
    pub machine: GpuModel,
    /// Initial contents of the second-level cache.
    pub caches: CacheState,
    /// Splitting of GCN3's waves.
    pub splitting: SplitOptions,
    /// Source of the execution counts.
    pub counts: LaunchCounts,
}

impl CycleOptions {
    /// Returns the options for the code of an image.
    ///
    /// # Errors
    ///
    /// No machine is stated, and no built-in one has the architecture of the code; or the clock is none of a GPU.
    pub fn of(query: &CycleQuery, session: &Session) -> Result<CycleOptions, Diagnostic> {
        let machine = match &query.machine {
            Some(machine) => machine.clone(),
            None => session.own_gpu_model()?,
        };
        let machine = match query.clock {
            Some((least, most)) => machine.with_clock(least..=most)?,
            None => machine,
        };
        Ok(CycleOptions {
            counts: Default::default(),
            machine,
            caches: query.caches,
            splitting: query.splitting.clone(),
        })
    }
}

impl From<CycleOptions> for CycleQuery {
    fn from(options: CycleOptions) -> CycleQuery {
        CycleQuery {
            machine: Some(options.machine),
            caches: options.caches,
            splitting: options.splitting,
            scope: Some(TimeScope::Warp),
            schedulers: SchedulerClass::default(),
            clock: None,
        }
    }
}
