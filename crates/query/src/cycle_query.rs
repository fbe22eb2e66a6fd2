//! Options of bounds in cycles that are the same for all images: machine, caches, part of the launch, schedulers.

use warpbound_base::Named;
use warpbound_ipet::SchedulerClass;
use warpbound_machine::GpuModel;

use crate::SplitOptions;

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

/// Options of the bounds in cycles of several images, whose code may be for different machines.
#[derive(Clone, Debug, Default)]
pub struct CycleQuery {
    /// Machine; `None` for the default machine of the code's architecture.
    pub machine: Option<GpuModel>,
    /// Initial contents of the second-level cache.
    pub caches: CacheState,
    /// Splitting of GCN3's waves.
    pub splitting: SplitOptions,
    /// Part of the launch; `None` for the whole launch if one is stated and launches of this code have bounds, else
    /// for a warp that runs alone.
    pub scope: Option<TimeScope>,
    /// Schedulers.
    pub schedulers: SchedulerClass,
    /// Minimum and maximum clock frequency in kHz, for times; `None` for the clocks of the machine.
    pub clock: Option<(u64, u64)>,
}
