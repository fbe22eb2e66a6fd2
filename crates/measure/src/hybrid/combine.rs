//! Runs with one number of splits, merged: the largest times, and the delays of waves and splits.
//!
//! A delay is the time from the moment at which the machine has room for a group to the first point of a wave or
//! split. For example, if the third group finds room at cycle 160 and its wave passes the first point at 172, the
//! delay is 12.

use std::collections::{BTreeMap, BTreeSet};

use warpbound_ir::OpIndex;
use warpbound_launch::LaunchFile;

use super::formulas::{groups_of_one_pool, room_times};
use super::traces::{RunTrace, SplitEnd, SplitOrigin, Traces};
use warpbound_runs::runs::timed::LaunchObservation;

/// Sizes of a launch and of the machine.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Geometry {
    /// Number of workgroups.
    pub(crate) groups: u64,
    /// Number of work-items of a group.
    pub(crate) threads: u64,
    /// Number of groups that the machine holds at a time.
    pub(crate) resident: u64,
    /// Number of wave slots of the machine.
    pub(crate) slots: u64,
}

impl Geometry {
    pub(crate) fn of(launch: &LaunchFile, observed: &LaunchObservation) -> Geometry {
        let product = |size: [u32; 3]| size.iter().map(|&n| u64::from(n)).product();
        Geometry {
            groups: product(launch.grid),
            threads: product(launch.block),
            // A group lives on one compute unit, so what each unit holds is added, not the slots of all units.
            resident: observed.units.saturating_mul(observed.resident),
            slots: observed.units.saturating_mul(observed.slots),
        }
    }

    /// Returns the groups of a batch by (5.1).
    fn groups_of_batch(&self) -> u64 {
        groups_of_one_pool(self.groups, self.threads, self.slots)
    }
}

/// Waves or splits that have the same longest path: they have one origin, and were refused to split at the same
/// branches.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub(crate) struct Configuration {
    pub(crate) origin: SplitOrigin,
    /// Whether they reach the end of the program instead of merging.
    pub(crate) reaches_end: bool,
    /// Numbers of the branches where they may execute both arms.
    pub(crate) undivided: BTreeSet<usize>,
}

/// Waves or splits of a configuration.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(crate) struct ConfigurationRuns {
    pub(crate) count: u64,
    /// Largest time from when there was room for the group to the first point.
    pub(crate) delay: u64,
    /// Their places, see [`SplitTrace::place`](super::traces::SplitTrace::place).
    pub(crate) places: BTreeSet<u32>,
}

/// Runs with one number of splits.
#[derive(Clone, Debug, Default)]
pub(crate) struct SplitRuns {
    pub(crate) count: u64,
    pub(crate) traces: Traces,
    pub(crate) configurations: BTreeMap<Configuration, ConfigurationRuns>,
    /// For each origin, the points after which splits merged into others.
    pub(crate) merged: BTreeMap<SplitOrigin, BTreeSet<usize>>,
    /// For each place, the largest time from the first point of a batch of (5.1) to the first point of a split.
    pub(crate) thesis_delays: BTreeMap<u32, u64>,
    /// Longest run of the estimated launch: from the first point to the last idle compute unit, and the whole run.
    pub(crate) observed: (u64, u64),
    /// Sizes of the estimated launch.
    pub(crate) target: Option<Geometry>,
    /// Branches where waves may split.
    pub(crate) sites: BTreeSet<OpIndex>,
    /// Whether the MODE register marks the sites in the runs.
    pub(crate) marked_by_mode: bool,
}

impl SplitRuns {
    /// Adds a run.
    pub(crate) fn add(
        &mut self,
        run: &RunTrace,
        geometry: &Geometry,
        launch: &LaunchObservation,
        is_target: bool,
    ) {
        self.count += 1;
        // All runs supply times; only runs of the estimated launch are compared with the result.
        self.traces.merge(&run.traces);
        self.sites.extend(&launch.sites);
        self.marked_by_mode |= launch.marked_by_mode;
        self.add_delays(run, geometry);
        if is_target {
            let seen = (run.observed().0.0, launch.cycles.0.0);
            self.observed = self.observed.max(seen);
            self.target = Some(*geometry);
        }
    }

    fn add_delays(&mut self, run: &RunTrace, geometry: &Geometry) {
        let ends: Vec<u64> = run.groups.iter().map(|(_, group)| group.ends).collect();
        let rooms = room_times(run.first_dispatch(), geometry.resident, &ends);
        let order: BTreeMap<u64, usize> = run
            .groups
            .iter()
            .enumerate()
            .map(|(position, (block, _))| (*block, position))
            .collect();
        let batch_of = |block: u64| {
            let position = order.get(&block).copied().unwrap_or_default() as u64;
            position / geometry.groups_of_batch()
        };
        // The first point of each batch.
        let mut starts: BTreeMap<u64, u64> = BTreeMap::new();
        for member in &run.members {
            let start = starts.entry(batch_of(member.block)).or_insert(member.first);
            *start = member.first.min(*start);
        }
        for member in &run.members {
            let position = order.get(&member.block).copied().unwrap_or_default();
            let room = rooms.get(position).copied().unwrap_or_default();
            if let SplitEnd::Merged(Some(point)) = member.end {
                self.merged.entry(member.origin).or_default().insert(point);
            }
            let configuration = Configuration {
                origin: member.origin,
                reaches_end: member.end == SplitEnd::Program,
                undivided: member.undivided.clone(),
            };
            // A split that merged at once has no path of its own.
            if member.end != SplitEnd::Merged(None) {
                let of = self.configurations.entry(configuration).or_default();
                of.count += 1;
                of.delay = of.delay.max(member.first - room.min(member.first));
                of.places.insert(member.place);
            }
            // The delays of the thesis count from the first point of the batch, not from the room of the group.
            let start = starts
                .get(&batch_of(member.block))
                .copied()
                .unwrap_or_default();
            let delay = self.thesis_delays.entry(member.place).or_default();
            *delay = (*delay).max(member.first - start.min(member.first));
        }
    }
}
