//! Bounds in cycles: the time of a warp that runs alone on a machine (SOUNDNESS 8).

pub(crate) mod bound;
mod inputs;
mod launch_memory;

use warpbound_base::Named;
use warpbound_machine::GpuModel;

pub use bound::{CycleBound, LoneWarp};
pub use inputs::CycleInputs;

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

/// Options of a bound in cycles.
#[derive(Clone, Debug)]
pub struct CycleOptions {
    /// Machine; the bound holds for all values within its ranges.
    pub machine: GpuModel,
    /// Initial contents of the second-level cache.
    pub caches: CacheState,
}
