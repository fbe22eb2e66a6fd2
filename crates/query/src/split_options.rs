//! Options of waves that split.

use warpbound_launch::MarkedSites;
use warpbound_simulate::timed::SplitPipelines;

/// Options of splitting.
#[derive(Clone, Debug, Default)]
pub struct SplitOptions {
    /// Reserve slots of a launch wave: the most splits that live at once beside itself. 0: waves do not split.
    pub splits: u32,
    /// Pipelines of splits.
    pub pipelines: SplitPipelines,
    /// Branches at which waves split.
    pub marks: SplitMarks,
    /// Whether splits become one again at the join of their branch.
    pub merge: bool,
}

impl SplitOptions {
    /// Most reserve slots of a launch wave: each split has a lane.
    pub const MAX_SPLITS: i64 = 63;
}

/// Branches at which waves split.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub enum SplitMarks {
    /// Those that find bit 21 of MODE set, if the code writes that bit; else all sites.
    #[default]
    Own,
    /// All sites.
    All,
    /// Those that find bit 21 of MODE set (`wavefront-splitting-2022`, 4.5).
    Mode,
    /// Those of a marks file, each of which must be a site.
    At(MarkedSites),
}
