//! Runs of single warps of a launch, and the worst of them.
//!
//! The search is greedy. All chosen warps, contents and orders run under all selections of parameters; from the
//! slowest of these runs, one thing after the other is varied, and a change is kept if the run gets slower. For
//! example, extreme contents are tried only with the parameters of the slowest run. So the result is the slowest run
//! that was tried, not the slowest one there is.

use warpbound_base::{Diagnostic, Named as _};
use warpbound_launch::{LaunchFile, PathOrder, StartCaches};
use warpbound_load::Kernel;
use warpbound_machine::{MachineConfig, SchedulerPolicy, Selection};
use warpbound_runs::runs::timed::simulate_with;
use warpbound_simulate::timed::{EventListener, Silent, SingleWarp};

use super::GapOptions;
use super::conditions::{
    Conditions, note_failure, raise_counts, refresh_intervals, selections, start_caches,
};
use super::contents::Contents;
use super::observed::RunRecord;
use crate::{
    audit::AuditObservations, audit::Claims, audit::ServiceOrder, audit::monitor_single_warp,
    audit::record_warp,
};
use warpbound_query::{CacheState, Prepared, Session};
use warpbound_runs::TimedOptions;

/// Warp of a launch with contents and an order of divergent lanes.
#[derive(Clone)]
struct Situation {
    contents: Contents,
    launch: LaunchFile,
    order: PathOrder,
    warp: SingleWarp,
}

/// Worst run.
pub(super) struct WorstRun {
    situation: Situation,
    conditions: Conditions,
    /// Cycles, the launch overhead at its slow end included.
    pub(super) cycles: u64,
    /// Values of the parameters.
    pub(super) config: MachineConfig,
    /// Observations of the same run without time.
    pub(super) seen: AuditObservations,
    /// Record of the run.
    pub(super) record: RunRecord,
    /// Maximum number of header executions over all runs, per entry and in total, by loop.
    pub(super) loop_counts: [Vec<Option<u64>>; 2],
    /// End of its replay, if it has one.
    pub(super) replayed: Option<u64>,
    /// Whether the run takes the same cycles with other schedulers.
    same_for_schedulers: bool,
}

impl WorstRun {
    /// Returns the conditions of the run as a phrase.
    pub(super) fn text(&self) -> String {
        let Situation {
            contents,
            order,
            warp,
            ..
        } = &self.situation;
        format!(
            "warp {} of block {}, {contents}, {} order, parameters {}, {} caches, any scheduler",
            warp.warp,
            warp.block,
            order.name(),
            self.conditions.selection,
            self.conditions.caches.name()
        )
    }

    /// Initial contents of the L2 cache.
    pub(super) fn caches(&self) -> CacheState {
        self.conditions.cache_state()
    }
}

/// Simulated runs of single warps.
pub(super) struct Runs<'a> {
    pub(super) session: &'a Session,
    pub(super) kernel: &'a Kernel,
    pub(super) prepared: &'a Prepared<'a>,
    pub(super) claims: &'a Claims<'a>,
    pub(super) options: &'a GapOptions,
    /// Completed runs.
    pub(super) count: u64,
    /// Reason why the first run that failed did not end.
    pub(super) failed: Option<Diagnostic>,
}

impl Runs<'_> {
    /// Simulates all runs and returns the worst one.
    ///
    /// # Errors
    ///
    /// The launch does not suit the kernel, or no run ends.
    pub(super) fn worst(
        &mut self,
        grid: &LaunchFile,
        on_run: &mut dyn FnMut(u64, u64),
    ) -> Result<WorstRun, Diagnostic> {
        let situations = self.situations(grid);
        let conditions = self.conditions();
        let all = (situations.len() * conditions.len()) as u64;
        let mut loop_counts = [Vec::new(), Vec::new()];
        let mut worst: Option<(u64, Situation, Conditions, AuditObservations)> = None;
        for (number, situation) in situations.into_iter().enumerate() {
            let Some(seen) = self.observe(&situation)? else {
                continue;
            };
            raise_counts(&mut loop_counts, &seen);
            for each in &conditions {
                let Some(cycles) = self.cycles(&situation, each) else {
                    continue;
                };
                if worst.as_ref().is_none_or(|(most, ..)| cycles > *most) {
                    worst = Some((cycles, situation.clone(), each.clone(), seen.clone()));
                }
            }
            on_run((number * conditions.len()) as u64, all);
        }
        let Some((mut cycles, mut situation, mut conditions, mut seen)) = worst else {
            let nothing = || Diagnostic::new("no run of a single warp comes to its end");
            return Err(self.failed.take().unwrap_or_else(nothing));
        };
        if let Some((searched, found)) = self.search(&situation, conditions.caches)
            && searched > cycles
        {
            (cycles, conditions) = (searched, found);
        }
        for contents in Contents::extremes(grid) {
            let launch = contents.of(grid);
            for order in [PathOrder::TakenFirst, PathOrder::FallThroughFirst] {
                let own = Situation {
                    contents,
                    launch: launch.clone(),
                    order,
                    ..situation.clone()
                };
                let Some(own_seen) = self.observe(&own)? else {
                    continue;
                };
                // Slow paths of extreme numbers may have loops that no other run has reached.
                raise_counts(&mut loop_counts, &own_seen);
                if let Some(found) = self.cycles(&own, &conditions)
                    && found > cycles
                {
                    (cycles, situation, seen) = (found, own, own_seen);
                }
            }
        }
        for interval in refresh_intervals(&self.options.cycles.machine, MOST_INTERVALS) {
            let own = conditions.with_interval(interval);
            if let Some(found) = self.cycles(&situation, &own)
                && found > cycles
            {
                (cycles, conditions) = (found, own);
            }
        }
        let mut record = RunRecord::new(self.prepared.code.ops.len());
        let recorded = self.run(&situation, &conditions, None, &mut record)?;
        debug_assert_eq!(recorded, cycles, "runs are deterministic");
        // A warp alone is issued whenever it is ready, so no scheduler may change its time (SOUNDNESS 11).
        let others = ["lrr", "oldest"].map(|name| name.parse::<SchedulerPolicy>());
        let mut others = others.into_iter().flatten();
        let same_for_schedulers = others.all(|policy| {
            let run = self.run(&situation, &conditions, Some(policy), &mut Silent);
            run.is_ok_and(|other| other == cycles)
        });
        Ok(WorstRun {
            replayed: self.replay(&situation, &conditions),
            config: conditions.config(&self.options.cycles.machine),
            situation,
            conditions,
            cycles,
            seen,
            record,
            loop_counts,
            same_for_schedulers,
        })
    }

    /// Adds what the result depends on to the notes of a report.
    pub(super) fn add_notes(&self, worst: &WorstRun, notes: &mut Vec<String>) {
        let GapOptions {
            seeds, contents, ..
        } = self.options;
        notes.push(format!(
            "runs: parameters slow, typical, lo, hi and {seeds} random selections, {contents} contents of the buffers, both orders of \
             divergent lanes; for the slow end of the slowest of these, parameters without a slow end are searched, then extreme \
             floating-point numbers and intervals between refreshes of DRAM"
        ));
        notes.push("launch.kernel is at its slow end in all runs".to_owned());
        notes.push(match worst.same_for_schedulers {
            true => "schedulers do not matter for a warp that runs alone: the worst run takes as long under lrr and oldest".to_owned(),
            false => "error: the worst run takes other cycles under another scheduler, although the warp runs alone".to_owned(),
        });
        if !worst.seen.violations.is_empty() {
            notes.push(format!(
                "error: the worst run violates {} claims of the analyses (see `warpbound audit`)",
                worst.seen.violations.len()
            ));
        }
        note_failure(self.failed.as_ref(), notes);
    }

    /// Returns the warps, contents and orders.
    fn situations(&self, grid: &LaunchFile) -> Vec<Situation> {
        let of_block = u64::from(
            grid.block
                .iter()
                .product::<u32>()
                .div_ceil(self.prepared.family().lanes())
                .max(1),
        );
        let blocks: u64 = grid.grid.iter().map(|&n| u64::from(n)).product();
        let warps: Vec<SingleWarp> = match self.options.warp {
            Some(warp) => vec![warp],
            None => spread(blocks.saturating_mul(of_block), self.options.most_warps)
                .map(|number| SingleWarp {
                    block: number / of_block,
                    warp: (number % of_block) as u32,
                })
                .collect(),
        };
        let mut situations = Vec::new();
        for contents in Contents::first(self.options.contents) {
            let launch = contents.of(grid);
            for order in [PathOrder::TakenFirst, PathOrder::FallThroughFirst] {
                situations.extend(warps.iter().map(|&warp| Situation {
                    contents,
                    launch: launch.clone(),
                    order,
                    warp,
                }));
            }
        }
        situations
    }

    /// Returns the selections of parameters and caches.
    fn conditions(&self) -> Vec<Conditions> {
        let named = [
            Selection::Slow,
            Selection::Typical,
            Selection::Least,
            Selection::Most,
        ];
        let selections = selections(self.options, named);
        let of_caches = |&caches: &StartCaches| {
            let of = move |&selection| Conditions::new(self.options, selection, caches);
            selections.iter().map(of)
        };
        let caches = start_caches(self.options).iter();
        caches.flat_map(of_caches).collect()
    }

    /// Executes a situation without time; `None` if it does not end.
    fn observe(&mut self, situation: &Situation) -> Result<Option<AuditObservations>, Diagnostic> {
        let run = monitor_single_warp(
            self.session,
            self.prepared,
            self.claims,
            &situation.launch,
            situation.warp,
            situation.order,
            self.options.max_instructions,
        )?;
        match run.fault {
            None => Ok(Some(run.observations)),
            Some(fault) => {
                self.failed.get_or_insert(fault);
                Ok(None)
            }
        }
    }

    /// Simulates a run and returns its cycles; `None` if it does not end.
    fn cycles(&mut self, situation: &Situation, conditions: &Conditions) -> Option<u64> {
        match self.run(situation, conditions, None, &mut Silent) {
            Ok(cycles) => {
                self.count += 1;
                Some(cycles)
            }
            Err(why) => {
                self.failed.get_or_insert(why);
                None
            }
        }
    }

    fn timed(&self, situation: &Situation, conditions: &Conditions) -> TimedOptions {
        TimedOptions {
            only: Some(situation.warp),
            ..conditions.timed(self.options, situation.order)
        }
    }

    fn run(
        &self,
        situation: &Situation,
        conditions: &Conditions,
        scheduler: Option<SchedulerPolicy>,
        listener: &mut impl EventListener,
    ) -> Result<u64, Diagnostic> {
        let timed = TimedOptions {
            scheduler,
            ..self.timed(situation, conditions)
        };
        let launch = &situation.launch;
        let run = simulate_with(self.session, self.prepared, launch, &timed, listener)?;
        Ok(run.cycles.0.0)
    }

    /// Replays a run; `None` if an instruction has no replay.
    fn replay(&self, situation: &Situation, conditions: &Conditions) -> Option<u64> {
        let timed = self.timed(situation, conditions);
        let run = record_warp(self.session, self.prepared, &situation.launch, &timed).ok()?;
        let is_timed = run.refusal().is_none();
        is_timed.then(|| run.replay(ServiceOrder::Requests).end)
    }

    /// Searches the slowest values of the parameters without a slow end. Returns the cycles and the conditions.
    fn search(&mut self, situation: &Situation, caches: StartCaches) -> Option<(u64, Conditions)> {
        let conditions = Conditions::new(self.options, Selection::Slow, caches);
        let timed = self.timed(situation, &conditions);
        let found = conditions.search(self.session, self.kernel, &situation.launch, &timed)?;
        self.count += found.runs;
        Some((found.cycles, found.conditions))
    }
}

/// Maximum number of intervals between refreshes of DRAM that are tried for a lone warp.
const MOST_INTERVALS: u64 = 64;

/// Returns at most `most` numbers below `all`, spread evenly, for warps of a launch.
fn spread(all: u64, most: u64) -> impl Iterator<Item = u64> {
    let count = all.min(most).max(1);
    (0..count).map(move |n| {
        // The product of two 64-bit numbers needs 128 bits.
        let (n, last) = (u128::from(n), u128::from(all.saturating_sub(1)));
        (n * last / u128::from(count - 1).max(1)) as u64
    })
}
