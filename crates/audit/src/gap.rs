//! Gap breakdown: the worst simulated run of a warp that runs alone, or of a whole launch, its bound, and the parts of the
//! gap between them.
//!
//! The bound is computed again with more and more of its claims replaced by what the worst run did. The code of the
//! bound computes each of these numbers, so none may be larger than the one before it, and all are at least the
//! cycles of the worst run. A chain that inverts shows an error.
//!
//! For example, a bound of 900 cycles becomes 700 with the loop counts of the run and 650 with its path as well, and
//! the run takes 640. Of the gap of 260 cycles, loops have 200, paths 50, and 10 remain.

mod chain;
mod conditions;
mod contents;
mod launch;
mod loose_accesses;
mod observed;
mod runs;

#[cfg(test)]
mod tests;

use chain::{Chain, Replaced};
pub use launch::launch_gap;
use runs::{Runs, WorstRun};
use warpbound_analyse::Refusal;
use warpbound_analyse::access::AccessPattern;
use warpbound_base::{Diagnostic, Family, Named as _};
use warpbound_bounds::CycleOptions;
use warpbound_bounds::access::TimedFindings;
use warpbound_bounds::{bound::FlowFacts, bound::flow_facts};
use warpbound_ipet::FactsFile;
use warpbound_launch::LaunchFile;
use warpbound_load::Kernel;
use warpbound_query::{
    AnalysedKernel, BoundOptions, KernelFlow, Prepared, Session, StatedLaunches,
};
use warpbound_report::gap::{ChainValue, GapReport, GapShare};
use warpbound_simulate::timed::SingleWarp;

use crate::{audit::Claims, audit::claims_of_flow};

/// Extent of a gap breakdown.
#[derive(Clone, Debug)]
pub struct GapOptions {
    /// Machine and caches.
    pub cycles: CycleOptions,
    /// Flow facts of the user.
    pub facts: FactsFile,
    /// Bound of loops without a fact.
    pub loop_default: Option<u64>,
    /// Number of random selections of the parameters of the machine.
    pub seeds: u64,
    /// Number of contents of the buffers: the given ones, and random ones.
    pub contents: u64,
    /// The only warp that runs; `None` for several of the launch, one at a time.
    pub warp: Option<SingleWarp>,
    /// Maximum number of warps that are chosen without `warp`.
    pub most_warps: u64,
    /// Maximum number of runs of a whole launch.
    pub most_runs: u64,
    /// Limit of the warp instructions of a run.
    pub max_instructions: u64,
}

impl GapOptions {
    /// Returns the default extent.
    pub fn new(cycles: CycleOptions) -> GapOptions {
        GapOptions {
            cycles,
            facts: FactsFile::default(),
            loop_default: None,
            seeds: 4,
            contents: 2,
            warp: None,
            most_warps: 16,
            most_runs: 64,
            max_instructions: 2_000_000,
        }
    }
}

/// Simulates single warps of a launch, and compares the worst run with the bound of a warp that runs alone. `on_run`
/// receives the number of completed runs and the number of all runs.
///
/// # Errors
///
/// The launch does not suit the kernel, no run ends, or the time of the kernel is not known.
pub fn gap(
    session: &Session,
    kernel: &Kernel,
    grid: &LaunchFile,
    options: &GapOptions,
    on_run: impl FnMut(u64, u64),
) -> Result<GapReport, Diagnostic> {
    gap_with(session, kernel, grid, options, on_run, |_| {})
}

/// Whether a gap breakdown is about the whole launch by default: a launch of several warps, of code whose launches have
/// gap breakdowns.
pub fn has_launch_gap(session: &Session, grid: &LaunchFile) -> bool {
    let lanes = match session.family() {
        Some(family @ (Family::Maxwell | Family::Volta)) => family.lanes(),
        // Launches of other machines have no gap breakdown.
        Some(Family::Gcn3 | Family::MiniSimt) | None => return false,
    };
    let threads: u64 = grid.block.iter().map(|&n| u64::from(n)).product();
    let warps = threads.div_ceil(lanes.into());
    let blocks = grid.grid.iter().map(|&n| u64::from(n));
    // A saturated product is above 1 as well.
    blocks.fold(warps, u64::saturating_mul) > 1
}

/// Makes a gap breakdown. `change` alters the chain before its numbers are computed, so that tests can plant faults.
fn gap_with(
    session: &Session,
    kernel: &Kernel,
    grid: &LaunchFile,
    options: &GapOptions,
    mut on_run: impl FnMut(u64, u64),
    change: impl FnOnce(&mut Chain<'_>),
) -> Result<GapReport, Diagnostic> {
    let locate = |d: Diagnostic| session.locate(d.in_kernel(kernel.demangled()));
    // The bound is for the stated parameters, which a run with others may exceed; so no parameter varies.
    let grid = &grid.as_one();
    let prepared = session.prepare_timed(kernel)?;
    let subject = GapSubject::new(session, &prepared, grid, options)?;
    let (claims, found) = (&subject.claims, &subject.found);
    let mut runs = Runs {
        session,
        kernel,
        prepared: &prepared,
        claims,
        options,
        count: 0,
        failed: None,
    };
    // A kernel whose time is not known is refused here, before any of its runs.
    let mut chain = Chain::new(
        session,
        &prepared,
        &claims.flow,
        found,
        grid,
        &options.cycles,
    )?;
    let worst = runs.worst(grid, &mut on_run)?;
    chain.observe(subject.given.clone(), &worst);
    change(&mut chain);
    let mut report = empty_gap(session, kernel, options, &worst);
    report.runs = runs.count;
    let patterns = found.classes.values().map(|class| class.pattern);
    let unknown = patterns.filter(|pattern| matches!(pattern, AccessPattern::Unknown(_)));
    report.unknown_addresses = unknown.count() as u64;
    let overhead = conditions::launch_overhead(&options.cycles.machine);
    report.launch_overhead = overhead.iter().map(|(_, cycles)| cycles).sum();
    report.accesses = chain.loose_accesses().map_err(locate)?;
    runs.add_notes(&worst, &mut report.notes);
    chain.fill(&mut report).map_err(locate)?;
    Ok(report)
}

/// Returns the report of a gap breakdown without its chain.
fn empty_gap(
    session: &Session,
    kernel: &Kernel,
    options: &GapOptions,
    worst: &WorstRun,
) -> GapReport {
    GapReport {
        worst_simulated: worst.cycles,
        worst_run: worst.text(),
        ..GapReport::empty(
            session.file.clone(),
            kernel.demangled(),
            options.cycles.machine.name.clone(),
            options.cycles.caches.name(),
        )
    }
}

/// Analyses of a kernel for a launch, which the bound and the runs share.
struct GapSubject<'a> {
    claims: Claims<'a>,
    found: TimedFindings,
    given: FlowFacts,
}

impl<'a> GapSubject<'a> {
    /// Analyses a kernel for a launch.
    ///
    /// # Errors
    ///
    /// The launch does not suit the kernel, or the kernel is refused.
    fn new(
        session: &Session,
        prepared: &'a Prepared<'a>,
        grid: &LaunchFile,
        options: &GapOptions,
    ) -> Result<GapSubject<'a>, Diagnostic> {
        let bound_options = BoundOptions {
            block: Some(grid.block),
            launches: StatedLaunches::one(grid),
            facts: options.facts.clone(),
            loop_default: options.loop_default,
            ..BoundOptions::default()
        };
        let kernel = prepared.kernel;
        let knowledge = session.launch(kernel, &bound_options)?;
        let limits = bound_options.limits();
        let (code, model) = (&prepared.code, &bound_options.model);
        let flow = KernelFlow::analyse(code, &knowledge.context, model, &limits);
        let flow =
            flow.map_err(|refusal: Refusal| session.refusal_diagnostic(prepared, refusal))?;
        let analysed = AnalysedKernel {
            session,
            prepared,
            options: &bound_options,
            knowledge: &knowledge,
            flow: &flow,
            deadline: limits.deadline,
        };
        let given = flow_facts(analysed)?;
        let found = TimedFindings::find(analysed, options.cycles.counts, &given.bounds)?;
        let mut claims = claims_of_flow(prepared, &bound_options, knowledge.context, flow);
        claims.accesses.clone_from(&found.classes);
        Ok(GapSubject {
            found,
            claims,
            given,
        })
    }
}

impl Chain<'_> {
    /// Computes the chain from the bound to the worst run, and the parts of the gap.
    fn fill(&self, report: &mut GapReport) -> Result<(), Diagnostic> {
        let names = GapReport::CHAIN;
        let mut vectors = None;
        let own = self.value(Replaced::default(), &mut vectors);
        let has_bound = own.is_ok();
        let mut first = Replaced::default();
        match own {
            Ok(bound) => report.bound = bound,
            Err(why) => {
                first.loops = true;
                report.bound = self.value(first, &mut vectors)?;
                report.notes.push(format!(
                    "without observations there is no bound ({}): the chain begins with the loop counts of the runs",
                    why.message
                ));
            }
        }
        let mut before = report.bound;
        let mut replaced = first;
        report.chain.push(ChainValue {
            name: if has_bound { names[0] } else { names[1] },
            value: before,
        });
        for name in names {
            let mut alone = first;
            // Some names stand for no claim, and a claim that is replaced from the start has no share of its own.
            if !replaced.replace(name) || !alone.replace(name) {
                continue;
            }
            if replaced.path && !self.has_path() {
                report.notes.push(format!(
                    "the chain ends before \"{name}\": the steps of the worst run are not known, as its path depends on time"
                ));
                break;
            }
            let value = self.value(replaced, &mut vectors)?;
            // Vectors of elements before would make this share depend on the order of the claims.
            let alone = self.value(alone, &mut None)?;
            report.add(name, value, &mut before, Some(alone));
        }
        match self.replayed() {
            Some(exact) if self.has_path() => report.add("replay", exact, &mut before, None),
            _ => report.notes.push("the worst run has no replay".to_owned()),
        }
        let simulated = report.worst_simulated;
        report.add("worst simulated", simulated, &mut before, None);
        Ok(())
    }
}

/// Extends a chain.
trait AddToChain {
    /// Adds a value after `before`, and its parts of the gap. `alone` is the bound with this claim alone replaced.
    fn add(&mut self, name: &'static str, value: u64, before: &mut u64, alone: Option<u64>);
}

impl AddToChain for GapReport {
    fn add(&mut self, name: &'static str, value: u64, before: &mut u64, alone: Option<u64>) {
        self.chain.push(ChainValue { name, value });
        self.shares.push(GapShare {
            name,
            // A chain that inverts has a negative share.
            telescoped: i128::from(*before) - i128::from(value),
            alone: alone.map(|alone| i128::from(self.bound) - i128::from(alone)),
        });
        *before = value;
    }
}
