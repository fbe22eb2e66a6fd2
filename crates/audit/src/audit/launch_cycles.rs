//! Whole launches: runs with time, compared with the bound of the launch in cycles.
//!
//! The launch is executed without time, which shows how often its threads run each loop. The bound for these loop
//! counts is compared with timed runs: with several selections of the machine's numbers, with the scheduler policies
//! of the class that the bound covers, and for each state of the caches.
//!
//! For example, a bound for work-conserving schedulers is compared with runs under GTO, but not under run-to-barrier,
//! which may exceed it (SOUNDNESS 20.6).

use crate::audit::monitor;
use warpbound_base::{Deadline, Diagnostic, Named as _};
use warpbound_ipet::{Effort, LaunchTerm, SchedulerClass};
use warpbound_launch::{LaunchFile, PathOrder, StartCaches};
use warpbound_machine::{Parameter, SchedulerPolicy, Selection};
use warpbound_runs::{runs::timed::simulate, runs::timed::simulate_with};
use warpbound_simulate::timed::Silent;

use super::Claims;
use super::cycles::{loop_counts, set_text, states};
use warpbound_bounds::{CycleOptions, LaunchExtent, LaunchServices, LaunchTime};
use warpbound_bounds::{bound::FlowFacts, bound::flow_facts};
use warpbound_query::prepared::Prepared;
use warpbound_query::{AnalysedKernel, BoundOptions, Session, StatedLaunches, TimeScope};
use warpbound_runs::{RunHooks, TimedOptions};

/// Runs of a launch.
#[derive(Clone, Debug)]
pub struct LaunchTimeRuns {
    /// Machine, and the state of the caches that the bound is for.
    pub cycles: CycleOptions,
    /// Selections of the machine's numbers, each with the policy of its schedulers.
    pub runs: Vec<(Selection, SchedulerPolicy)>,
    /// Lanes that continue first after a divergent branch.
    pub order: PathOrder,
    /// Limit of the warp instructions of a run.
    pub max_instructions: u64,
    /// Schedulers that the bound is for.
    pub schedulers: SchedulerClass,
    /// Whether the slow selection also uses the slowest values of parameters without a slow end, which a search
    /// finds.
    pub searches: bool,
}

/// Comparison of the runs of a launch with its bound.
#[derive(Clone, Debug, Default)]
pub struct LaunchTimeAudit {
    /// Reason why the launch has no bound.
    pub refused: Option<String>,
    /// Compared runs.
    pub runs: u64,
    /// Runs that fault, or execute other instructions than without time.
    pub skipped: u64,
    /// Bound of the launch, without the launch overhead.
    pub bound: u64,
    /// Terms of the bound.
    pub terms: Vec<(&'static str, u64)>,
    /// Estimate of the launch by abstract CTA simulation, without the launch overhead, where the simulation applies.
    pub estimate: Option<u64>,
    /// Warp instructions of the run without time, whose loop counts the bound is for; `None` if that run faults.
    pub issued: Option<u64>,
    /// Services that the bound counts, if there is one.
    pub services: Option<LaunchServices>,
    /// Chain of warps, as in reports.
    pub shape: String,
    /// Number of accesses with unknown addresses.
    pub unknown_addresses: usize,
    /// Schedulers that the bound is for.
    pub schedulers: SchedulerClass,
    /// Longest run without the launch overhead, and its selection.
    pub worst: Option<(u64, String)>,
    /// Runs that exceed the bound.
    pub exceeded: Vec<ExceededLaunch>,
}

/// Run of a launch that exceeds its bound.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ExceededLaunch {
    /// Selection, policy, caches and numbers as text.
    pub text: String,
}

impl LaunchTimeAudit {
    /// Returns the estimate divided by the cycles of the longest run, both without the launch overhead.
    pub fn estimate_ratio(&self) -> Option<f64> {
        let (worst, _) = self.worst.as_ref()?;
        (*worst > 0).then_some(self.estimate? as f64 / *worst as f64)
    }

    /// Returns the bound divided by the cycles of the longest run, both without the launch overhead.
    pub fn ratio(&self) -> Option<f64> {
        let (worst, _) = self.worst.as_ref()?;
        (*worst > 0).then(|| self.bound as f64 / *worst as f64)
    }
}

/// Runs a launch with time and compares it with its bound.
///
/// # Errors
///
/// The launch does not suit the kernel.
pub fn audit_launch_time(
    session: &Session,
    prepared: &Prepared<'_>,
    claims: &Claims<'_>,
    launch: &LaunchFile,
    runs: &LaunchTimeRuns,
) -> Result<LaunchTimeAudit, Diagnostic> {
    let (mut found, limit) = bounded_launch(session, prepared, claims, launch, runs)?;
    let Some(limit) = limit else {
        return Ok(found);
    };
    for &caches in states(runs.cycles.caches) {
        let slow = match runs.searches {
            true => slowest_numbers(session, prepared, launch, runs, caches),
            false => Vec::new(),
        };
        for &(selection, policy) in &runs.runs {
            let options = TimedOptions {
                selection,
                set: match selection {
                    // Other selections choose the parameters without a slow end themselves.
                    Selection::Slow => slow.clone(),
                    _ => Vec::new(),
                },
                order: runs.order,
                caches: Some(caches),
                scheduler: Some(policy),
                max_instructions: Some(runs.max_instructions),
                ..TimedOptions::new(runs.cycles.machine.clone())
            };
            let run = simulate_with(session, prepared, launch, &options, &mut Silent);
            // Other instructions with time mean other loop counts than the bound is for. Without a count to compare
            // with, the bound rests on derived loop bounds and holds for every run.
            let is_same = |issued| found.issued.is_none_or(|expected| expected == issued);
            match run.ok().filter(|run| is_same(run.counts.issued())) {
                Some(run) => found.compare(&options, run.cycles.0.0, limit),
                None => found.skipped += 1,
            }
        }
    }
    Ok(found)
}

/// Bounds a launch for the loop counts of a run without time. Returns the limit of its cycles too, if it has one.
fn bounded_launch(
    session: &Session,
    prepared: &Prepared<'_>,
    claims: &Claims<'_>,
    launch: &LaunchFile,
    runs: &LaunchTimeRuns,
) -> Result<(LaunchTimeAudit, Option<u64>), Diagnostic> {
    let refused = |why: Diagnostic| {
        let refused = LaunchTimeAudit {
            refused: Some(why.message),
            ..LaunchTimeAudit::default()
        };
        (refused, None)
    };
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
    let extent = LaunchExtent {
        scope: TimeScope::Grid,
        schedulers: runs.schedulers,
    };
    let (order, most) = (runs.order, runs.max_instructions);
    let seen = monitor(session, prepared, claims, launch, order, most)?;
    // A clock ends a run without time, so the loops of code that reads clocks have their derived bounds.
    let known = match seen.fault {
        None => {
            let (bounds, totals) = loop_counts(&seen);
            FlowFacts {
                bounds,
                totals,
                never: Vec::new(),
            }
        }
        Some(_) => flow_facts(analysed)?,
    };
    let time = match LaunchTime::new(analysed, &runs.cycles, extent, &known.bounds) {
        Ok(time) => time,
        Err(why) => return Ok(refused(why)),
    };
    let found = match time.bound(known.stated(), Effort::default()) {
        Ok(found) => found,
        Err(why) => return Ok(refused(why)),
    };
    let bound = found.bound;
    let estimate = time
        .cta_estimate(prepared, &claims.flow, runs.cycles.caches, known.stated())
        .map(|estimate| {
            estimate
                .cycles
                .saturating_sub(bound.term(LaunchTerm::Launch))
        })
        .ok();
    let limit = bound.upper_bound().limit().0;
    let terms = LaunchTerm::ALL
        .iter()
        .map(|&term| (term.name(), bound.term(term)));
    let audit = LaunchTimeAudit {
        // The overhead is a summand of the limit, so the difference is not negative.
        bound: limit - bound.term(LaunchTerm::Launch),
        terms: terms.collect(),
        estimate,
        issued: seen.fault.is_none().then_some(seen.observations.issued),
        services: Some(found.services),
        shape: format!("{:?} {:?}", time.shape(), time.chain()),
        unknown_addresses: time.unknown_addresses(),
        schedulers: runs.schedulers,
        ..LaunchTimeAudit::default()
    };
    Ok((audit, Some(limit)))
}

/// Searches the slowest values of the parameters without a slow end, one after the other. Returns none if the launch
/// fails.
fn slowest_numbers(
    session: &Session,
    prepared: &Prepared<'_>,
    launch: &LaunchFile,
    runs: &LaunchTimeRuns,
    caches: StartCaches,
) -> Vec<(Parameter, u64)> {
    let options = TimedOptions {
        selection: Selection::Slow,
        order: runs.order,
        caches: Some(caches),
        max_instructions: Some(runs.max_instructions),
        ..TimedOptions::new(runs.cycles.machine.clone())
    };
    let hooks = RunHooks {
        events: None,
        timeline: None,
        progress: &mut |_| {},
    };
    let run = simulate(session, prepared.kernel, launch, &options, hooks);
    let search = run.ok().and_then(|run| run.report.selection_search);
    let numbers = search.map_or(Vec::new(), |search| search.numbers);
    let known = numbers.iter().filter_map(|number| {
        let parameter = Parameter::named(&number.name).ok()?;
        Some((parameter, number.value))
    });
    known.collect()
}

impl LaunchTimeAudit {
    /// Compares the cycles of a run with the bound, with and without the overhead of the launch.
    fn compare(&mut self, options: &TimedOptions, cycles: u64, limit: u64) {
        self.runs += 1;
        let machine = options.machine.select(options.selection);
        let net = cycles.saturating_sub(machine[Parameter::LaunchKernel]);
        let policy = options
            .scheduler
            .map_or(String::new(), |policy| policy.to_string());
        let run = format!(
            "{}{}, {policy}, {} caches",
            options.selection,
            set_text(&options.set),
            options.caches.map_or("", |caches| caches.name())
        );
        if cycles > limit || net > self.bound {
            let text = format!(
                "{run}: {cycles} cycles, at most {limit}; without the launch overhead {net}, at most {}",
                self.bound
            );
            self.exceeded.push(ExceededLaunch { text });
        }
        if self.worst.as_ref().is_none_or(|(worst, _)| net > *worst) {
            self.worst = Some((net, run));
        }
    }
}
