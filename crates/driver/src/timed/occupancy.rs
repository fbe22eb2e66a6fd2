//! How many blocks of a launch fit on an SM.

use warpbound_base::Diagnostic;
use warpbound_machine::{Limit, Occupancy};
use warpbound_report::timed::Theoretical;
use warpbound_simulate::functional::Launch;
use warpbound_simulate::timed::Setup;

/// How many blocks of a launch fit on an SM of the machine of this name.
///
/// # Errors
///
/// Where none does.
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

/// The same for people.
pub(super) fn theoretical(occupancy: &Occupancy) -> Theoretical {
    let names: Vec<&str> = occupancy
        .limits
        .iter()
        .map(|limit: &Limit| limit.name())
        .collect();
    Theoretical {
        blocks: occupancy.blocks,
        warps: occupancy.warps,
        occupancy: occupancy.ratio(),
        limiter: names.join(" and "),
    }
}
