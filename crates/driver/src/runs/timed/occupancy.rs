//! Theoretical occupancy of a launch.

use warpbound_machine::{Limit, Occupancy};
use warpbound_report::timed::TheoreticalOccupancy;

/// Converts an occupancy to its report.
pub(super) fn theoretical(occupancy: &Occupancy) -> TheoreticalOccupancy {
    let names: Vec<&str> = occupancy
        .limits
        .iter()
        .map(|limit: &Limit| limit.name())
        .collect();
    TheoreticalOccupancy {
        blocks: occupancy.blocks,
        warps: occupancy.warps,
        occupancy: occupancy.ratio(),
        limiter: names.join(" and "),
    }
}
