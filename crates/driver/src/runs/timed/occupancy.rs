//! Theoretical occupancy of a launch.

use warpbound_base::Diagnostic;
use warpbound_launch::Launch;
use warpbound_machine::{Limit, Occupancy};
use warpbound_report::timed::TheoreticalOccupancy;
use warpbound_simulate::timed::Setup;

/// Computes the blocks and warps of a launch that fit on an SM of the machine with this name.
///
/// # Errors
///
/// No block fits.
pub(super) fn occupancy(
    name: &str,
    launch: &Launch,
    setup: &Setup,
) -> Result<Occupancy, Diagnostic> {
    let threads = launch.block.iter().map(|&n| u64::from(n)).product();
    let (registers, shared) = (setup.registers.into(), launch.shared.into());
    Occupancy::of(&setup.machine, threads, registers, shared)
        .map_err(|excess| Diagnostic::new(format!("{excess} on machine {name}")))
}

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
