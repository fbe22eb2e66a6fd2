//! Buffer contents with which the runs of a launch are tried: given, random and extreme ones.

use std::fmt;

use warpbound_launch::LaunchFile;

use crate::{audit::extreme_variation, audit::variation};

/// Contents of the buffers of a launch.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Contents {
    /// As the launch file states them.
    Given,
    /// Random contents, by their seed.
    Random(u64),
    /// Floating-point numbers at the ends of their type, by their seed. Divisions and roots take their slow paths
    /// there.
    Extreme(u64),
}

impl Contents {
    /// Number of variations with extreme numbers, which are tried under the conditions of the slowest other run.
    const EXTREMES: u64 = 4;

    /// Returns this many contents: the given ones, and random ones.
    pub(super) fn first(count: u64) -> impl Iterator<Item = Contents> {
        (0..count.max(1)).map(|number| match number {
            0 => Contents::Given,
            seed => Contents::Random(seed),
        })
    }

    /// Returns the launch with these contents.
    pub(super) fn of(self, grid: &LaunchFile) -> LaunchFile {
        match self {
            Contents::Given => grid.clone(),
            Contents::Random(seed) => variation(grid, seed).launch,
            Contents::Extreme(seed) => extreme_variation(grid, seed),
        }
    }

    /// Returns the contents with extreme numbers; none if the launch has no floating-point buffers.
    pub(super) fn extremes(grid: &LaunchFile) -> Vec<Contents> {
        let all = (1..=Contents::EXTREMES).map(Contents::Extreme);
        all.filter(|contents| contents.of(grid) != *grid).collect()
    }
}

impl fmt::Display for Contents {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Contents::Given => f.write_str("given contents"),
            Contents::Random(seed) => write!(f, "random contents {seed}"),
            Contents::Extreme(seed) => write!(f, "extreme contents {seed}"),
        }
    }
}
