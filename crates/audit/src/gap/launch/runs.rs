//! Runs of a whole launch, and the worst of them.
//!
//! The combinations of parameters, policies, contents and orders are too many to run all of them. A sample is run,
//! half of it at the slow end of the parameters, and the slowest run is then varied further. For example, 8
//! selections, 7 policies, 4 contents with order and 2 states of the caches are 448 combinations, and the default is
//! 64 runs.

use warpbound_base::{Diagnostic, Named as _};
use warpbound_launch::{LaunchFile, PathOrder};
use warpbound_machine::{MachineConfig, SchedulerPolicy, Selection};
use warpbound_runs::runs::timed::simulate_with;
use warpbound_simulate::timed::{EventListener, Silent};

use super::record::{LaunchRecord, LaunchRecorder};
use crate::gap::GapOptions;
use crate::gap::conditions::{
    Conditions, note_failure, raise_counts, refresh_intervals, selections, start_caches,
};
use crate::gap::contents::Contents;
use crate::{audit::Claims, audit::monitor};
use warpbound_query::{CacheState, Prepared, Session};
use warpbound_runs::TimedOptions;

/// Policies of schedulers that issue whenever a warp is ready. Run-to-barrier does not, and the bound is not for it
/// (SOUNDNESS 20.6).
const POLICIES: [SchedulerPolicy; 7] = [
    SchedulerPolicy::Gto,
    SchedulerPolicy::Lrr,
    SchedulerPolicy::Oldest,
    SchedulerPolicy::Youngest,
    SchedulerPolicy::ContendedUnit,
    SchedulerPolicy::Random(1),
    SchedulerPolicy::Random(2),
];

/// Maximum number of intervals between refreshes of DRAM that are tried.
const MOST_INTERVALS: u64 = 12;

/// Maximum number of header executions over all runs, per entry and in total, by loop.
type MostCounts = [Vec<Option<u64>>; 2];

/// Contents of the buffers and an order of divergent lanes.
struct Situation {
    contents: Contents,
    launch: LaunchFile,
    order: PathOrder,
    /// Warp instructions of a run without time; `None` if it does not end.
    issued: Option<u64>,
}

/// Situation, conditions on the machine and scheduler of a run.
#[derive(Clone)]
struct LaunchConditions {
    situation: usize,
    machine: Conditions,
    policy: SchedulerPolicy,
}

/// Worst run of a launch.
pub(super) struct WorstLaunch {
    text: String,
    caches: CacheState,
    /// Cycles, the launch overhead at its slow end included.
    pub(super) cycles: u64,
    /// Values of the parameters.
    pub(super) config: MachineConfig,
    pub(super) record: LaunchRecord,
    /// Maximum number of header executions over all runs, per entry and in total, by loop; `None` if the counts
    /// depend on time.
    pub(super) loop_counts: Option<MostCounts>,
}

impl WorstLaunch {
    /// Returns the conditions of the run as a phrase.
    pub(super) fn text(&self) -> &str {
        &self.text
    }

    /// Initial contents of the L2 cache.
    pub(super) fn caches(&self) -> CacheState {
        self.caches
    }
}

/// Simulated runs of a launch.
pub(super) struct LaunchRuns<'a> {
    pub(super) session: &'a Session,
    pub(super) prepared: &'a Prepared<'a>,
    pub(super) claims: &'a Claims<'a>,
    pub(super) options: &'a GapOptions,
    /// Completed runs.
    pub(super) count: u64,
    /// Reason why the first run that failed did not end.
    pub(super) failed: Option<Diagnostic>,
    /// Number of violations of the claims of the analyses by runs.
    pub(super) violations: usize,
    /// Whether a timed run executes another number of instructions than the run without time.
    pub(super) depends_on_time: bool,
}

impl LaunchRuns<'_> {
    /// Simulates the runs, records the worst one and returns it.
    ///
    /// # Errors
    ///
    /// The launch does not suit the kernel, or no run ends.
    pub(super) fn worst(
        &mut self,
        grid: &LaunchFile,
        on_run: &mut dyn FnMut(u64, u64),
    ) -> Result<WorstLaunch, Diagnostic> {
        let first: Vec<Contents> = Contents::first(self.options.contents).collect();
        let mut loop_counts = [Vec::new(), Vec::new()];
        let mut situations = self.situations(grid, &first, &mut loop_counts)?;
        let conditions = self.conditions(situations.len());
        let mut worst: Option<(u64, LaunchConditions)> = None;
        for (number, each) in conditions.iter().enumerate() {
            if let Some(cycles) = self.cycles(&situations, each)
                && worst.as_ref().is_none_or(|(most, _)| cycles > *most)
            {
                worst = Some((cycles, each.clone()));
            }
            on_run(number as u64 + 1, conditions.len() as u64);
        }
        let Some((mut cycles, mut conditions)) = worst else {
            let nothing = || Diagnostic::new("no run of the launch comes to its end");
            return Err(self.failed.take().unwrap_or_else(nothing));
        };
        if let Some((searched, found)) = self.search(&situations, &conditions)
            && searched > cycles
        {
            (cycles, conditions) = (searched, found);
        }
        let with_first = situations.len();
        let extremes = Contents::extremes(grid);
        situations.extend(self.situations(grid, &extremes, &mut loop_counts)?);
        for situation in with_first..situations.len() {
            let own = LaunchConditions {
                situation,
                ..conditions.clone()
            };
            if let Some(found) = self.cycles(&situations, &own)
                && found > cycles
            {
                (cycles, conditions) = (found, own);
            }
        }
        for interval in refresh_intervals(&self.options.cycles.machine, MOST_INTERVALS) {
            let own = LaunchConditions {
                machine: conditions.machine.with_interval(interval),
                ..conditions.clone()
            };
            if let Some(found) = self.cycles(&situations, &own)
                && found > cycles
            {
                (cycles, conditions) = (found, own);
            }
        }
        let mut recorder = LaunchRecorder::default();
        let (recorded, _) = self.run(&situations, &conditions, &mut recorder)?;
        debug_assert_eq!(recorded, cycles, "runs are deterministic");
        // Otherwise the counts of the timed runs may be larger than the counts that were seen without time.
        let has_counts = !self.depends_on_time && situations.iter().all(|own| own.issued.is_some());
        Ok(WorstLaunch {
            text: self.text(&situations, &conditions),
            caches: conditions.machine.cache_state(),
            cycles,
            config: conditions.machine.config(&self.options.cycles.machine),
            record: recorder.finish(),
            loop_counts: has_counts.then_some(loop_counts),
        })
    }

    /// Adds what the result depends on to the notes of a report.
    pub(super) fn add_notes(&self, notes: &mut Vec<String>) {
        let GapOptions {
            seeds, contents, ..
        } = self.options;
        notes.push(format!(
            "runs: at most {} of the combinations of parameters slow, typical, lo, hi and {seeds} random selections, {} policies of \
             schedulers, {contents} contents of the buffers and both orders of divergent lanes; for the slow end of the slowest of \
             these, parameters without a slow end are searched, then extreme floating-point numbers and intervals between refreshes of DRAM",
            self.options.most_runs,
            POLICIES.len()
        ));
        notes.push(
            "launch.kernel and launch.end are at their slow ends in all runs; schedulers issue whenever a warp is ready".to_owned(),
        );
        if self.violations > 0 {
            notes.push(format!(
                "error: runs violate {} claims of the analyses (see `warpbound audit`)",
                self.violations
            ));
        }
        note_failure(self.failed.as_ref(), notes);
    }

    /// Returns the launch with these contents in both orders, and raises the loop counts to cover runs without time.
    fn situations(
        &mut self,
        grid: &LaunchFile,
        all_contents: &[Contents],
        loop_counts: &mut MostCounts,
    ) -> Result<Vec<Situation>, Diagnostic> {
        let mut situations = Vec::new();
        for &contents in all_contents {
            let launch = contents.of(grid);
            for order in [PathOrder::TakenFirst, PathOrder::FallThroughFirst] {
                let most = self.options.max_instructions;
                let run = monitor(
                    self.session,
                    self.prepared,
                    self.claims,
                    &launch,
                    order,
                    most,
                )?;
                let seen = run.observations;
                self.violations += seen.violations.len();
                raise_counts(loop_counts, &seen);
                situations.push(Situation {
                    contents,
                    launch: launch.clone(),
                    order,
                    issued: run.fault.is_none().then_some(seen.issued),
                });
            }
        }
        Ok(situations)
    }

    /// Returns combinations of all conditions of runs: first the slow end and the given contents, then others, spread
    /// evenly over the rest.
    fn conditions(&self, situations: usize) -> Vec<LaunchConditions> {
        let named = [
            Selection::Slow,
            Selection::Typical,
            Selection::Most,
            Selection::Least,
        ];
        let selections = selections(self.options, named);
        let mut all = Vec::new();
        for &selection in &selections {
            for situation in 0..situations {
                for &caches in start_caches(self.options) {
                    let machine = Conditions::new(self.options, selection, caches);
                    all.extend(POLICIES.map(|policy| LaunchConditions {
                        situation,
                        machine: machine.clone(),
                        policy,
                    }));
                }
            }
        }
        let most = usize::try_from(self.options.most_runs.max(1)).unwrap_or(usize::MAX);
        if all.len() <= most {
            return all;
        }
        // Half of the runs are at the slow end, where most of the worst runs are.
        // The outer loop is over selections, so the first part of the list is at the slow end.
        let first = (all.len() / selections.len()).max(1);
        let (slow, rest) = all.split_at(first.min(all.len()));
        let of_slow = spread(slow, most.div_ceil(2));
        let of_rest = spread(rest, most - of_slow.len());
        [of_slow, of_rest].concat()
    }

    fn timed(&self, situation: &Situation, conditions: &LaunchConditions) -> TimedOptions {
        TimedOptions {
            scheduler: Some(conditions.policy),
            ..conditions.machine.timed(self.options, situation.order)
        }
    }

    /// Simulates a run. Returns its cycles and its warp instructions.
    fn run(
        &self,
        situations: &[Situation],
        conditions: &LaunchConditions,
        listener: &mut impl EventListener,
    ) -> Result<(u64, u64), Diagnostic> {
        let nothing = || Diagnostic::new("there are no contents");
        let situation = situations.get(conditions.situation).ok_or_else(nothing)?;
        let timed = self.timed(situation, conditions);
        let launch = &situation.launch;
        let run = simulate_with(self.session, self.prepared, launch, &timed, listener)?;
        Ok((run.cycles.0.0, run.counts.issued()))
    }

    /// Simulates a run and returns its cycles; `None` if it does not end.
    fn cycles(&mut self, situations: &[Situation], conditions: &LaunchConditions) -> Option<u64> {
        match self.run(situations, conditions, &mut Silent) {
            Ok((cycles, issued)) => {
                self.count += 1;
                let situation = situations.get(conditions.situation);
                let expected = situation.and_then(|situation| situation.issued);
                self.depends_on_time |= expected.is_some_and(|expected| expected != issued);
                Some(cycles)
            }
            Err(why) => {
                self.failed.get_or_insert(why);
                None
            }
        }
    }

    /// Searches the slowest values of the parameters without a slow end. Returns the cycles and the conditions.
    fn search(
        &mut self,
        situations: &[Situation],
        worst: &LaunchConditions,
    ) -> Option<(u64, LaunchConditions)> {
        let caches = worst.machine.caches;
        let conditions = LaunchConditions {
            machine: Conditions::new(self.options, Selection::Slow, caches),
            ..worst.clone()
        };
        let situation = situations.get(conditions.situation)?;
        let timed = self.timed(situation, &conditions);
        let (kernel, launch) = (self.prepared.kernel, &situation.launch);
        let machine = conditions.machine;
        let found = machine.search(self.session, kernel, launch, &timed)?;
        self.count += found.runs;
        let slowest = LaunchConditions {
            machine: found.conditions,
            ..*worst
        };
        Some((found.cycles, slowest))
    }

    /// Returns conditions as a phrase.
    fn text(&self, situations: &[Situation], conditions: &LaunchConditions) -> String {
        let situation = situations.get(conditions.situation);
        let contents = situation.map_or(Contents::Given, |situation| situation.contents);
        let order = situation.map_or("", |situation| situation.order.name());
        format!(
            "{contents}, {order} order, parameters {}, {} caches, scheduler {}",
            conditions.machine.selection,
            conditions.machine.caches.name(),
            conditions.policy
        )
    }
}

/// Returns at most `most` elements of a list, spread evenly over it, including the first.
fn spread<T: Clone>(all: &[T], most: usize) -> Vec<T> {
    let count = all.len().min(most);
    // `n` is below `count`, so each place is in the list.
    let places = (0..count).map(|n| n * all.len() / count.max(1));
    places.filter_map(|place| all.get(place).cloned()).collect()
}
