//! Bounds in cycles: the time of a warp that runs alone on a machine (SOUNDNESS 11).

mod assumptions;
pub(crate) mod bound;
mod clock;
mod cta_estimate;
mod inputs;
pub(crate) mod launch_bound;
mod launch_memory;
pub(crate) mod launch_report;
pub(crate) mod launch_rows;
mod runtime_memory;
mod split_bound;
mod wave_inputs;

use crate::SplitOptions;
use warpbound_base::{Diagnostic, Named};
use warpbound_bound::SchedulerClass;
use warpbound_machine::GpuModel;

use crate::Session;

pub use bound::{CycleBound, LoneWarp};
pub(crate) use clock::{slowest, times};
pub use inputs::CycleInputs;
pub use launch_bound::{LaunchCycles, LaunchExtent, LaunchServices, LaunchTime};

/// Initial contents of the second-level cache that a bound holds for.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum CacheState {
    /// Any contents.
    #[default]
    Any,
    /// Buffers, constants and code of the launch, as the host has written them.
    Warm,
    /// Nothing.
    Cold,
}

impl Named for CacheState {
    const ALL: &'static [(CacheState, &'static str)] = &[
        (CacheState::Any, "any"),
        (CacheState::Warm, "warm"),
        (CacheState::Cold, "cold"),
    ];
}

/// Part of a launch whose cycles are bounded.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum TimeScope {
    /// A warp that runs alone.
    #[default]
    Warp,
    /// A block that has the GPU for itself.
    Block,
    /// As many blocks as an SM holds, on one SM that has the memory of the GPU for itself.
    Sm,
    /// All blocks of the launch.
    Grid,
}

impl Named for TimeScope {
    const ALL: &'static [(TimeScope, &'static str)] = &[
        (TimeScope::Warp, "warp"),
        (TimeScope::Block, "block"),
        (TimeScope::Sm, "sm"),
        (TimeScope::Grid, "grid"),
    ];
}

/// Grounds of the execution counts of a stated launch.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum LaunchCounts {
    /// Flow facts, and the execution of its warps with the values that the launch fixes.
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
    /// Grounds of the execution counts.
    pub counts: LaunchCounts,
}

/// Machine and caches of the bounds in cycles of several images, whose code may be for different machines.
#[derive(Clone, Debug, Default)]
pub struct CycleQuery {
    /// Machine; `None` is the default one of the architecture of the code.
    pub machine: Option<GpuModel>,
    /// Initial contents of the second-level cache.
    pub caches: CacheState,
    /// Splitting of GCN3's waves.
    pub splitting: SplitOptions,
    /// Part of the launch; `None` is the whole launch, if one is stated for code whose launches have bounds, and otherwise a
    /// warp that runs alone.
    pub scope: Option<TimeScope>,
    /// Schedulers.
    pub schedulers: SchedulerClass,
    /// Least and greatest frequency of the clock in kHz, for times; `None` for the clocks of the machine.
    pub clock: Option<(u64, u64)>,
}

impl CycleQuery {
    /// Returns the options for the code of an image.
    ///
    /// # Errors
    ///
    /// No machine is stated, and no built-in one has the architecture of the code; or the clock is none of a GPU.
    pub fn options(&self, session: &Session) -> Result<CycleOptions, Diagnostic> {
        let machine = match &self.machine {
            Some(machine) => machine.clone(),
            None => session.own_gpu_model()?,
        };
        let machine = match self.clock {
            Some(range) => machine.with_clock(range)?,
            None => machine,
        };
        Ok(CycleOptions {
            counts: Default::default(),
            machine,
            caches: self.caches,
            splitting: self.splitting.clone(),
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
