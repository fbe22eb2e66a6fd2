//! Setup of a run of waves: machine, policies, splitting.

use std::collections::BTreeMap;

use warpbound_base::Named;
use warpbound_ir::OpIndex;
use warpbound_launch::StartCaches;
use warpbound_machine::{MachineConfig, SchedulerPolicy};

use super::super::SingleWarp;

/// Setup of a run of waves: machine, policies, splitting.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct WaveSetup {
    /// Configuration of the machine.
    pub machine: MachineConfig,
    /// Order of the waves of a SIMD: [`SchedulerPolicy::Oldest`] or [`SchedulerPolicy::Lrr`].
    pub policy: SchedulerPolicy,
    /// Initial contents of the L2 cache.
    pub caches: StartCaches,
    /// Vector registers of a wave, as allocated.
    pub vgprs: u32,
    /// Scalar registers of a wave, as allocated.
    pub sgprs: u32,
    /// The only wave that runs; `None` for all.
    pub only: Option<SingleWarp>,
    /// Splitting of waves.
    pub splitting: SplitSetup,
}

/// Setup of splitting.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct SplitSetup {
    /// Reserve slots of a launch wave: the maximum number of live splits besides the wave itself. 0: waves do not
    /// split.
    pub splits: u32,
    /// Pipelines.
    pub pipelines: SplitPipelines,
    /// Branches at which waves split.
    pub marking: SplitMarking,
    /// Branches at which waves may split.
    pub sites: BTreeMap<OpIndex, SplitSite>,
    /// Whether splits become one again at the merge points of their sites.
    pub merge: bool,
}

/// Pipelines of splits.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum SplitPipelines {
    /// One more for each reserve slot: splits of a wave issue together.
    #[default]
    Parallel,
    /// One: splits are waves as all others.
    Serialised,
}

impl Named for SplitPipelines {
    const ALL: &'static [(SplitPipelines, &'static str)] = &[
        (SplitPipelines::Parallel, "parallel"),
        (SplitPipelines::Serialised, "serialised"),
    ];
}

/// Sites at which waves split.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum SplitMarking {
    /// All.
    #[default]
    Sites,
    /// Those that find bit 21 of MODE set.
    Mode,
}

/// A branch at which a wave may split.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct SplitSite {
    /// Operation before which its splits may become one again.
    pub merge_point: Option<OpIndex>,
}
