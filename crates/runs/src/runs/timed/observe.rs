//! Simulation of a launch whose events a listener of another module receives, together with the sizes that it needs.

use std::collections::BTreeSet;

use warpbound_base::{Cycles, Diagnostic, Observed};
use warpbound_ir::OpIndex;
use warpbound_launch::LaunchFile;
use warpbound_simulate::timed::{EventListener, SplitMarking};

use super::setup::TimedSetup;
use super::{TimedLaunch, TimedOptions};
use warpbound_query::{Prepared, Session};

/// Simulated launch.
#[derive(Clone, Debug)]
pub struct LaunchObservation {
    /// Cycles from the launch to the end of the kernel.
    pub cycles: Observed<Cycles>,
    /// Issued warp instructions.
    pub issued: u64,
    /// SMs or compute units.
    pub units: u64,
    /// Blocks that each unit holds at a time.
    pub resident: u64,
    /// Warp slots of each unit, without slots for splits.
    pub slots: u64,
    /// Branches at which waves may split.
    pub sites: BTreeSet<OpIndex>,
    /// Whether waves split only where bit 21 of MODE is set.
    pub marked_by_mode: bool,
}

/// Simulates all blocks of a grid to their end, cycle by cycle, with a listener.
///
/// # Errors
///
/// See [`simulate`](super::simulate).
pub fn observe(
    session: &Session,
    prepared: &Prepared<'_>,
    grid: &LaunchFile,
    options: &TimedOptions,
    listener: &mut impl EventListener,
) -> Result<LaunchObservation, Diagnostic> {
    let timed = TimedLaunch::new(session, prepared, grid, options)?;
    let (launch, mut memory) = timed.start()?;
    let occupancy = timed.occupancy(&timed.setup, &launch)?;
    let finished = timed.run(&timed.setup, &launch, &mut memory, listener)?;
    let (sites, marked_by_mode) = match &timed.setup {
        TimedSetup::Warps { .. } => (BTreeSet::new(), false),
        TimedSetup::Waves { setup, .. } => {
            let splitting = &setup.splitting;
            let sites = splitting.sites.keys().copied().collect();
            (sites, splitting.marking == SplitMarking::Mode)
        }
    };
    Ok(LaunchObservation {
        cycles: finished.cycles,
        issued: finished.counts.issued(),
        units: timed.setup.unit_count(),
        resident: occupancy.blocks,
        slots: timed.setup.warp_slots().base,
        sites,
        marked_by_mode,
    })
}
