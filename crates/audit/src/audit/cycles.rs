//! Single warps of a launch: runs with time, compared with the bounds of a lone warp in cycles.
//!
//! A warp is executed alone without time, which shows how often its threads run each loop. The bound for these loop
//! counts is compared with timed runs of the same warp: with several selections of the machine's numbers, in both
//! orders of diverged lanes, and for each state of the caches that the bound covers. The simulator shares no function
//! with the bound except the timing facts of instructions.
//!
//! For example, if no thread of the warp runs a header more than 8 times per entry, the bound is computed for 8. A
//! run above it then shows a mistake in the times, not in a loop fact.

use std::collections::BTreeMap;

use crate::audit::monitor_single_warp;
use warpbound_base::{Deadline, Diagnostic, Named as _};
use warpbound_ipet::{Effort, StatedCounts};
use warpbound_launch::{LaunchFile, PathOrder, StartCaches};
use warpbound_machine::{Parameter, Selection};
use warpbound_report::audit::{AuditedCycles, Finding};
use warpbound_report::timed::SearchedParameter;
use warpbound_runs::{runs::timed::simulate, runs::timed::simulate_with};
use warpbound_simulate::functional::SingleWarp;
use warpbound_simulate::timed::Silent;

use super::{Audit, Claims, HeaderMaximum, MonitoredRun};
use warpbound_bounds::bound::flow_facts;
use warpbound_bounds::{CycleOptions, LoneWarp};
use warpbound_query::prepared::Prepared;
use warpbound_query::{AnalysedKernel, BoundOptions, CacheState, Session, StatedLaunches};
use warpbound_runs::{RunHooks, TimedOptions};

/// Runs of single warps of a launch.
#[derive(Clone, Debug)]
pub struct LoneWarpRuns {
    /// Machine, and the state of the caches that the bounds are for.
    pub cycles: CycleOptions,
    /// Maximum number of warps that are run, spread over the launch.
    pub most_warps: u64,
    /// Number of these warps, from the first, for which [`Selection::Slow`] also searches the parameters without a
    /// slow end.
    pub searched_warps: u64,
    /// Number of further runs of each searched warp: at the slow end with the values that were found, and with
    /// refreshes of DRAM at different times.
    pub refresh_phases: u64,
    /// Selections of the machine's numbers.
    pub selections: Vec<Selection>,
    /// Lanes that continue first after a divergent branch.
    pub orders: Vec<PathOrder>,
    /// Limit of the warp instructions of a run.
    pub max_instructions: u64,
}

impl LoneWarpRuns {
    /// Limit of the warp instructions of a run in audits.
    pub const MAX_INSTRUCTIONS: u64 = 2_000_000;

    /// Maximum number of warps per launch in the command `audit`.
    const MAX_WARPS: u64 = 64;

    /// Number of warps per launch whose slow end is searched in the command `audit`.
    const SEARCHED_WARPS: u64 = 4;

    /// Returns the runs that belong to a run of the command `audit`.
    pub(super) fn of_audit(
        cycles: &CycleOptions,
        seed: u64,
        run: u64,
        max_instructions: u64,
    ) -> LoneWarpRuns {
        LoneWarpRuns {
            cycles: cycles.clone(),
            most_warps: LoneWarpRuns::MAX_WARPS,
            searched_warps: LoneWarpRuns::SEARCHED_WARPS,
            refresh_phases: 4,
            selections: vec![
                Selection::Slow,
                Selection::Typical,
                Selection::Least,
                Selection::Most,
                Selection::Seed(seed.wrapping_mul(1 << 32) ^ run),
            ],
            orders: vec![PathOrder::TakenFirst, PathOrder::FallThroughFirst],
            // Each warp has dozens of timed runs, which are slower than the run without time.
            max_instructions: max_instructions.min(LoneWarpRuns::MAX_INSTRUCTIONS),
        }
    }
}

impl Audit<'_> {
    /// Adds the runs of single warps of a run: a finding for each warp with a run above its bound.
    pub(super) fn add_cycles(&mut self, run: u64, options: &CycleOptions, found: LoneWarpAudit) {
        for exceeded in &found.exceeded {
            let SingleWarp { block, warp } = exceeded.warp;
            // Statements, bounds and claims have the positions 0 to 2 in the report. The padding makes texts of block
            // numbers sort like numbers.
            let key = (3, warp as usize, format!("{block:020}"));
            self.findings.entry(key).or_insert_with(|| Finding {
                claim: "cycles",
                run,
                at: None,
                source: None,
                message: exceeded.text.clone(),
            });
        }
        self.cycles.add(found);
        let all = &self.cycles;
        let worst = all.worst.as_ref();
        self.report.cycles = Some(AuditedCycles {
            machine: options.machine.name.clone(),
            caches: options.caches.name(),
            no_bound: all.refused.clone(),
            warps: all.warps,
            launched_warps: all.launched_warps,
            runs: all.runs,
            skipped: all.skipped,
            violations: all.exceeded.len() as u64,
            worst_simulated: worst.map(|worst| worst.cycles),
            worst_at: worst.map(|worst| worst.run.clone()),
            bound: (all.bounds > 0).then_some(all.bound),
            ratio: all.ratio().map(|ratio| (ratio * 1000.0).round() / 1000.0),
        });
    }
}

/// Runs of single warps compared with their bounds. Net cycles exclude the overhead of the launch.
#[derive(Clone, Debug, Default)]
pub struct LoneWarpAudit {
    /// Reason why there is no bound. The runs are incomplete then.
    pub refused: Option<String>,
    /// Warps that were run.
    pub warps: u64,
    /// Warps of the launch.
    pub launched_warps: u64,
    /// Runs without a comparison: they fault, or execute other instructions with time.
    pub skipped: u64,
    /// Distinct bounds, one for each combination of loop counts.
    pub bounds: u64,
    /// Compared runs.
    pub runs: u64,
    /// Runs that exceed their bound.
    pub exceeded: Vec<ExceededBound>,
    /// Run with the most net cycles.
    pub worst: Option<LongestLoneRun>,
    /// Largest net bound.
    pub bound: u64,
    /// Terms of this bound that are not 0.
    pub terms: Vec<(&'static str, u64)>,
}

/// Longest run of a single warp.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct LongestLoneRun {
    /// Net cycles.
    pub cycles: u64,
    /// Warp, selection, order and caches as text.
    pub run: String,
}

/// Run of a single warp that exceeds its bound.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ExceededBound {
    /// The warp.
    pub warp: SingleWarp,
    /// Warp, selection, order, caches and numbers as text.
    pub text: String,
}

impl LoneWarpAudit {
    /// Adds the runs of another launch of the same kernel.
    pub fn add(&mut self, other: LoneWarpAudit) {
        self.refused = self.refused.take().or(other.refused);
        self.warps += other.warps;
        self.launched_warps += other.launched_warps;
        self.skipped += other.skipped;
        self.bounds += other.bounds;
        self.runs += other.runs;
        self.exceeded.extend(other.exceeded);
        let cycles = |worst: &Option<LongestLoneRun>| worst.as_ref().map(|worst| worst.cycles);
        // `None` stands for no run and is less than any number.
        if cycles(&other.worst) > cycles(&self.worst) {
            self.worst = other.worst;
        }
        if other.bound > self.bound {
            (self.bound, self.terms) = (other.bound, other.terms);
        }
    }

    /// Returns the largest net bound divided by the largest net cycles.
    pub fn ratio(&self) -> Option<f64> {
        let worst = self.worst.as_ref()?.cycles;
        (worst > 0).then(|| self.bound as f64 / worst as f64)
    }
}

/// Runs single warps of a launch with time and compares them with their bounds.
///
/// # Errors
///
/// The launch does not suit the kernel.
pub fn audit_lone_warps(
    session: &Session,
    prepared: &Prepared<'_>,
    claims: &Claims<'_>,
    launch: &LaunchFile,
    runs: &LoneWarpRuns,
) -> Result<LoneWarpAudit, Diagnostic> {
    lone_warps(session, prepared, claims, launch, runs, 0)
}

/// Compares runs with bounds that are smaller by `planted` cycles, which is 0 except in tests.
fn lone_warps(
    session: &Session,
    prepared: &Prepared<'_>,
    claims: &Claims<'_>,
    launch: &LaunchFile,
    runs: &LoneWarpRuns,
    planted: u64,
) -> Result<LoneWarpAudit, Diagnostic> {
    let options = BoundOptions {
        launches: StatedLaunches::one(launch),
        ..BoundOptions::default()
    };
    let knowledge = session.launch(prepared.kernel, &options)?;
    let analysed = AnalysedKernel {
        session,
        prepared,
        options: &options,
        knowledge: &knowledge,
        flow: &claims.flow,
        deadline: Deadline::default(),
    };
    let given = flow_facts(analysed)?;
    let lone = LoneWarp::new(analysed, &runs.cycles, &given.bounds);
    let lone = match lone {
        Ok(lone) => lone,
        Err(why) => {
            // Without a bound nothing is claimed of the runs, so this is a result of the audit and not an error.
            return Ok(LoneWarpAudit {
                refused: Some(why.message),
                ..LoneWarpAudit::default()
            });
        }
    };
    let mut comparison = LoneWarpComparison {
        session,
        prepared,
        claims,
        launch,
        runs,
        planted,
        lone,
        known: BTreeMap::new(),
        found: LoneWarpAudit::default(),
    };
    comparison.all_warps()?;
    let mut found = comparison.found;
    found.bounds = comparison.known.len() as u64;
    Ok(found)
}

/// Loop counts of a warp: per entry, and in total.
pub(super) type LoopCounts = (Vec<Option<u64>>, Vec<Option<u64>>);

/// Bound for the loop counts of a warp.
#[derive(Clone)]
struct BoundOfCounts {
    limit: u64,
    net: u64,
    terms: Vec<(&'static str, u64)>,
}

/// Comparison of the warps of one launch.
struct LoneWarpComparison<'a> {
    session: &'a Session,
    prepared: &'a Prepared<'a>,
    claims: &'a Claims<'a>,
    launch: &'a LaunchFile,
    runs: &'a LoneWarpRuns,
    planted: u64,
    lone: LoneWarp<'a>,
    known: BTreeMap<LoopCounts, BoundOfCounts>,
    found: LoneWarpAudit,
}

impl LoneWarpComparison<'_> {
    /// Compares the chosen warps, up to the first whose loop counts have no bound.
    fn all_warps(&mut self) -> Result<(), Diagnostic> {
        let axes = |size: [u32; 3]| size.iter().map(|&n| u64::from(n)).product::<u64>();
        let lanes = u64::from(self.prepared.family().lanes());
        // The last warp of a block may have fewer threads.
        let of_block = axes(self.launch.block).div_ceil(lanes).max(1);
        let all = axes(self.launch.grid).saturating_mul(of_block);
        self.found.launched_warps = all;
        for (nth, number) in spread(all, self.runs.most_warps).enumerate() {
            let warp = SingleWarp {
                block: number / of_block,
                warp: u32::try_from(number % of_block).unwrap_or(u32::MAX),
            };
            let is_searched = (nth as u64) < self.runs.searched_warps;
            self.found.warps += 1;
            for &order in &self.runs.orders {
                self.warp(warp, order, is_searched)?;
                if self.found.refused.is_some() {
                    return Ok(());
                }
            }
        }
        Ok(())
    }

    /// Compares the runs of a warp.
    fn warp(
        &mut self,
        warp: SingleWarp,
        order: PathOrder,
        is_searched: bool,
    ) -> Result<(), Diagnostic> {
        let seen = monitor_single_warp(
            self.session,
            self.prepared,
            self.claims,
            self.launch,
            warp,
            order,
            self.runs.max_instructions,
        )?;
        if seen.fault.is_some() {
            // A warp that does not end shows only some of its loop counts, so there is no bound for its runs.
            let states = states(self.runs.cycles.caches).len();
            self.found.skipped += (states * self.runs.selections.len()) as u64;
            return Ok(());
        }
        let bound = match self.bound(&seen) {
            Ok(bound) => bound,
            Err(why) => {
                self.found.refused = Some(why.message);
                return Ok(());
            }
        };
        if bound.net > self.found.bound {
            (self.found.bound, self.found.terms) = (bound.net, bound.terms.clone());
        }
        for &caches in states(self.runs.cycles.caches) {
            for &selection in &self.runs.selections {
                let options = TimedOptions {
                    selection,
                    order,
                    caches: Some(caches),
                    only: Some(warp),
                    max_instructions: Some(self.runs.max_instructions),
                    splitting: self.runs.cycles.splitting.clone(),
                    ..TimedOptions::new(self.runs.cycles.machine.clone())
                };
                self.run(&options, &seen, &bound);
                if is_searched && selection == Selection::Slow {
                    for set in self.slow_ends(&options) {
                        let options = TimedOptions {
                            set,
                            ..options.clone()
                        };
                        self.run(&options, &seen, &bound);
                    }
                }
            }
        }
        Ok(())
    }

    /// Returns the bound for the loop counts of a warp.
    fn bound(&mut self, seen: &MonitoredRun) -> Result<BoundOfCounts, Diagnostic> {
        let counts = loop_counts(seen);
        // The bound depends on the warp only through its loop counts, and warps often share them.
        if let Some(known) = self.known.get(&counts) {
            return Ok(known.clone());
        }
        let stated = StatedCounts {
            bounds: &counts.0,
            totals: &counts.1,
            // The observed counts take the place of the user's facts, so that a wrong fact cannot hide a wrong time.
            never: &[],
        };
        let bound = self.lone.bound(stated, Effort::default())?;
        let terms = bound.term_cycles().filter(|(_, cycles)| *cycles > 0);
        let found = BoundOfCounts {
            limit: bound
                .bound
                .upper_bound()
                .limit()
                .0
                .saturating_sub(self.planted),
            net: bound.net().saturating_sub(self.planted),
            terms: terms.collect(),
        };
        self.known.insert(counts, found.clone());
        Ok(found)
    }

    /// Runs a warp with time and compares it, unless it faults or executes other instructions than without time.
    /// Other instructions may have other loop counts than the bound is for.
    fn run(&mut self, options: &TimedOptions, seen: &MonitoredRun, bound: &BoundOfCounts) {
        let (session, prepared) = (self.session, self.prepared);
        match simulate_with(session, prepared, self.launch, options, &mut Silent) {
            // With splits, operations are issued for some lanes after the others, so the number of issues differs
            // from the run without time.
            Ok(run)
                if run.counts.issued() == seen.observations.issued
                    || options.splitting.splits > 0 =>
            {
                self.compare(options, run.cycles.0.0, bound);
            }
            _ => self.found.skipped += 1,
        }
    }

    /// Returns sets of parameter values with which a warp may be slower than at the slow end: the values that a
    /// search finds for parameters without a slow end, alone and with refreshes of DRAM at different times.
    fn slow_ends(&self, options: &TimedOptions) -> Vec<Vec<(Parameter, u64)>> {
        let hooks = RunHooks {
            events: None,
            timeline: None,
            progress: &mut |_| {},
        };
        let kernel = self.prepared.kernel;
        let Ok(run) = simulate(self.session, kernel, self.launch, options, hooks) else {
            return Vec::new();
        };
        let searched = run.report.selection_search;
        let searched = searched.iter().flat_map(|search| &search.numbers);
        let value =
            |found: &SearchedParameter| Some((Parameter::named(&found.name).ok()?, found.value));
        let found: Vec<(Parameter, u64)> = searched.filter_map(value).collect();
        let mut ends = vec![found.clone()];
        for number in 0..self.runs.refresh_phases {
            let mut set = found.clone();
            for (parameter, prime) in PHASES {
                let range = options.machine.range(parameter);
                let value = range.least + number * prime % (range.most - range.least + 1);
                set.retain(|(other, _)| *other != parameter);
                set.push((parameter, value));
            }
            ends.push(set);
        }
        ends
    }

    /// Compares the cycles of a run with the bound, with and without the overhead of the launch. A run with a small
    /// overhead may exceed the net bound alone.
    fn compare(&mut self, options: &TimedOptions, cycles: u64, bound: &BoundOfCounts) {
        self.found.runs += 1;
        let Some(warp) = options.only else {
            return;
        };
        let machine = options.machine.select(options.selection);
        let value = |parameter: Parameter| {
            // The last value of a parameter is the one that the run uses.
            let set = options.set.iter().rev().find(|(own, _)| *own == parameter);
            set.map_or(machine[parameter], |(_, value)| *value)
        };
        let overhead = value(Parameter::LaunchKernel) + value(Parameter::LaunchEnd);
        let net = cycles.saturating_sub(overhead);
        let run = format!(
            "warp {} of block {} alone, {}{}, {}, {} caches",
            warp.warp,
            warp.block,
            options.selection,
            set_text(&options.set),
            options.order.name(),
            options.caches.map_or("", |caches| caches.name())
        );
        if cycles > bound.limit || net > bound.net {
            let text = format!(
                "{run}: {cycles} cycles, at most {} for its loop counts; without the launch overhead {net}, at most {}",
                bound.limit, bound.net
            );
            self.found.exceeded.push(ExceededBound { warp, text });
        }
        let worst = self.found.worst.as_ref().map(|worst| worst.cycles);
        if worst.is_none_or(|worst| net > worst) {
            self.found.worst = Some(LongestLoneRun { cycles: net, run });
        }
    }
}

/// Returns the maximum number of header executions of a thread of the warp, per entry and in total, for each loop; 0
/// for loops that no thread reached.
pub(super) fn loop_counts(seen: &MonitoredRun) -> LoopCounts {
    let of_loop = |most: &Option<HeaderMaximum>| Some(most.map_or(0, |most| most.count));
    let observations = &seen.observations;
    (
        observations.max_per_entry.iter().map(of_loop).collect(),
        observations.max_totals.iter().map(of_loop).collect(),
    )
}

/// Parameters that decide when DRAM is refreshed, each with a prime number whose multiples spread its values.
const PHASES: [(Parameter, u64); 2] = [
    (Parameter::LaunchKernel, 2_654_435_761),
    (Parameter::DramRefreshInterval, 40_503),
];

/// Returns the values that are set, as text.
pub(super) fn set_text(set: &[(Parameter, u64)]) -> String {
    let set = set.iter();
    set.map(|(parameter, value)| format!(" {}={value}", parameter.name()))
        .collect()
}

/// Returns the initial states of the caches that a bound holds for.
pub(super) fn states(caches: CacheState) -> &'static [StartCaches] {
    match caches {
        CacheState::Any => &[StartCaches::Warm, StartCaches::Cold],
        CacheState::Warm => &[StartCaches::Warm],
        CacheState::Cold => &[StartCaches::Cold],
    }
}

/// Returns at most `most` of the numbers below `all`, including the first and the last. For example, 3 of 101 numbers
/// are 0, 50 and 100.
fn spread(all: u64, most: u64) -> impl Iterator<Item = u64> {
    let count = all.min(most).max(1);
    let at = move |n: u64| {
        // The product of two 64-bit numbers needs 128 bits.
        let place = u128::from(n) * u128::from(all.saturating_sub(1));
        u64::try_from(place / u128::from((count - 1).max(1))).unwrap_or(u64::MAX)
    };
    (0..count).map(at)
}

#[cfg(test)]
mod tests;
