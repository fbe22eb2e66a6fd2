//! Runs of single warps of a launch, and the worst of them.
//!
//! The search is greedy. All chosen warps, contents and orders run under all selections of parameters; from the
//! slowest of these runs, one thing after the other is varied, and a change is kept if the run gets slower. For
//! example, extreme contents are tried only with the parameters of the slowest run. So the result is the slowest run
//! that was tried, not the slowest one there is.

use warpbound_base::{Diagnostic, Named as _};
use warpbound_launch::{LaunchFile, PathOrder, StartCaches};
use warpbound_load::Kernel;
use warpbound_machine::{GpuModel, MachineConfig, Parameter, SchedulerPolicy, Selection};
use warpbound_report::timed::SearchedParameter;
use warpbound_runs::{runs::timed::simulate, runs::timed::simulate_with};
use warpbound_simulate::timed::{EventListener, Silent, SingleWarp};

use super::GapOptions;
use super::contents::Contents;
use super::observed::RunRecord;
use crate::{
    audit::AuditObservations, audit::Claims, audit::HeaderMaximum, audit::ServiceOrder,
    audit::monitor_single_warp, audit::record_warp,
};
use warpbound_query::{CacheState, Prepared, Session};
use warpbound_runs::{RunHooks, TimedOptions};

/// Warp of a launch with contents and an order of divergent lanes.
#[derive(Clone)]
struct Situation {
    contents: Contents,
    launch: LaunchFile,
    order: PathOrder,
    warp: SingleWarp,
}

/// Values of the machine's parameters and the caches of a run.
#[derive(Clone)]
struct Conditions {
    selection: Selection,
    set: Vec<(Parameter, u64)>,
    caches: StartCaches,
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
        match self.conditions.caches {
            StartCaches::Cold => CacheState::Cold,
            StartCaches::Warm => CacheState::Warm,
        }
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
            let mut own = conditions.clone();
            own.set.push((Parameter::DramRefreshInterval, interval));
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
            config: self.config(&conditions),
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
        if let Some(why) = &self.failed {
            notes.push(format!(
                "some runs did not come to their end: {}",
                why.message
            ));
        }
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
        let seeds = (1..=self.options.seeds).map(Selection::Seed);
        let selections: Vec<Selection> = named.into_iter().chain(seeds).collect();
        let caches: &[StartCaches] = match self.options.cycles.caches {
            // A bound for any contents of the caches covers both, so both are tried.
            CacheState::Any => &[StartCaches::Cold, StartCaches::Warm],
            CacheState::Warm => &[StartCaches::Warm],
            CacheState::Cold => &[StartCaches::Cold],
        };
        // With the same launch overhead in all runs, the slowest warp has the worst run.
        let overhead = launch_overhead(&self.options.cycles.machine);
        let of_caches = |&caches: &StartCaches| {
            selections.iter().map(move |&selection| Conditions {
                selection,
                set: overhead.to_vec(),
                caches,
            })
        };
        caches.iter().flat_map(of_caches).collect()
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
            selection: conditions.selection,
            set: conditions.set.clone(),
            caches: Some(conditions.caches),
            only: Some(situation.warp),
            order: situation.order,
            max_instructions: Some(self.options.max_instructions),
            ..TimedOptions::new(self.options.cycles.machine.clone())
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
        let mut conditions = self.conditions().into_iter().next()?;
        (conditions.selection, conditions.caches) = (Selection::Slow, caches);
        let timed = self.timed(situation, &conditions);
        let found = slowest_numbers(self.session, self.kernel, &situation.launch, &timed)?;
        self.count += found.runs;
        conditions.set.extend(found.numbers);
        Some((found.cycles, conditions))
    }

    /// Returns the values of the parameters under conditions.
    fn config(&self, conditions: &Conditions) -> MachineConfig {
        let selected = self.options.cycles.machine.select(conditions.selection);
        let set = conditions.set.iter();
        set.fold(selected, |config, &(parameter, value)| {
            config.with(parameter, value)
        })
    }
}

/// Slowest values of the parameters without a slow end.
pub(super) struct SlowestNumbers {
    pub(super) numbers: Vec<(Parameter, u64)>,
    /// Cycles of the run with them.
    pub(super) cycles: u64,
    /// Runs of the search.
    pub(super) runs: u64,
}

/// Searches the slowest values of the parameters without a slow end; `None` if a run does not end.
pub(super) fn slowest_numbers(
    session: &Session,
    kernel: &Kernel,
    launch: &LaunchFile,
    timed: &TimedOptions,
) -> Option<SlowestNumbers> {
    let hooks = RunHooks {
        events: None,
        timeline: None,
        progress: &mut |_| {},
    };
    let run = simulate(session, kernel, launch, timed, hooks).ok()?;
    let searched = run.report.selection_search;
    let searched = searched.map_or(Vec::new(), |search| search.numbers);
    let others = searched.iter().map(|number| number.others as u64);
    let runs = 1 + others.sum::<u64>();
    let known = |number: &SearchedParameter| {
        let parameter = Parameter::named(&number.name).ok()?;
        Some((parameter, number.value))
    };
    Some(SlowestNumbers {
        numbers: searched.iter().filter_map(known).collect(),
        cycles: run.report.cycles,
        runs,
    })
}

/// Raises the maximum numbers of header executions, per entry and in total, to cover a run. Loops that a run does not
/// reach count 0.
pub(super) fn raise_counts(counts: &mut [Vec<Option<u64>>; 2], seen: &AuditObservations) {
    for (counts, seen) in counts
        .iter_mut()
        .zip([&seen.max_per_entry, &seen.max_totals])
    {
        counts.resize(seen.len(), Some(0));
        for (most, own) in counts.iter_mut().zip(seen) {
            let own = own.map_or(0, |own: HeaderMaximum| own.count);
            *most = (*most).max(Some(own));
        }
    }
}

/// Maximum number of intervals between refreshes of DRAM that are tried for a lone warp.
const MOST_INTERVALS: u64 = 64;

/// Returns at most `most` intervals between refreshes of DRAM: longer than the shortest interval of the machine, and
/// at most twice as long. The shortest interval has the most refreshes, but with a longer one more of them may meet
/// requests. For example, a range of 1000 to 5000 cycles and `most` = 4 give 1250, 1500, 1750 and 2000.
pub(super) fn refresh_intervals(
    machine: &GpuModel,
    most: u64,
) -> impl Iterator<Item = u64> + use<> {
    let range = machine.range(Parameter::DramRefreshInterval);
    let refreshes = machine.range(Parameter::DramRefresh).most > 0;
    let end = range.most.min(range.least.saturating_mul(2));
    let wide = end.saturating_sub(range.least);
    // Without refreshes the interval changes nothing.
    let count = if refreshes { wide.min(most) } else { 0 };
    let least = range.least;
    (1..=count).map(move |n| {
        // The product may need more than 64 bits.
        let further = u128::from(wide) * u128::from(n) / u128::from(count);
        least + further as u64
    })
}

/// Returns at most `most` numbers below `all`, spread evenly, for warps of a launch.
fn spread(all: u64, most: u64) -> impl Iterator<Item = u64> {
    let count = all.min(most).max(1);
    (0..count).map(move |n| {
        // The product of two 64-bit numbers needs 128 bits.
        let (n, last) = (u128::from(n), u128::from(all.saturating_sub(1)));
        (n * last / u128::from(count - 1).max(1)) as u64
    })
}

/// Returns the parameters of the overhead of a launch, with their slow ends.
pub(super) fn launch_overhead(machine: &GpuModel) -> [(Parameter, u64); 2] {
    [Parameter::LaunchKernel, Parameter::LaunchEnd].map(|parameter| {
        let most = machine.range(parameter).most;
        (parameter, most)
    })
}
