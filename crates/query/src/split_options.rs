//! Options of waves that split.

use warpbound_launch::MarkedSites;
use warpbound_simulate::timed::SplitPipelines;

/// Options of splitting.
#[derive(Clone, Debug, Default)]
pub struct SplitOptions {
    /// Maximum number of live splits per launch wave, which are its reserve slots. 0: waves do not split.
    pub splits: u32,
    /// Pipelines of splits.
    pub pipelines: SplitPipelines,
    /// Branches at which waves split.
    pub marks: SplitMarks,
    /// Whether splits become one again at the join of their branch.
    pub merge: bool,
}

impl SplitOptions {
    /// Maximum number of reserve slots per launch wave: the wave and each of its splits have at least one of the 64
    /// lanes.
    pub const MAX_SPLITS: i64 = 63;
}

/// Branches at which waves split.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub enum SplitMarks {
    /// Branches where bit 21 of MODE is set, if the code writes that bit; else all sites.
    #[default]
    Own,
    /// All sites.
    All,
    /// Branches where bit 21 of MODE is set (`wavefront-splitting-2022`, 4.5).
    Mode,
    /// Branches of a marks file; each must be a site.
    At(MarkedSites),
}
