//! Hybrid analysis of waves that may split (`wavefront-splitting-2022` 5): the longest path over observed times
//! between instrumentation points, and from it the time of a kernel. The result is an estimate and no bound, because
//! another run may take longer between two points (SOUNDNESS 13).
//!
//! For example, if no run took more than 40 cycles from A to B and 25 from B back to A, ten rounds of this loop count
//! as 10 · 65 cycles, although no single run may have been that slow.

mod combine;
mod formulas;
mod longest;
mod paths;
mod report;
mod segments;
mod threads;
mod traces;
mod warps;

#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, BTreeSet};
pub use threads::hybrid_of_stamps;
pub use warps::hybrid_of_warps;

use std::sync::Arc;
use warpbound_analyse::branch_sites;
use warpbound_analyse::instrumentation::PointGraph;
use warpbound_base::{Diagnostic, Family};
use warpbound_bounds::bound::flow_facts;
use warpbound_ipet::FactsFile;
use warpbound_launch::{LaunchFile, ParamValue};
use warpbound_load::Kernel;
use warpbound_report::HybridReport;
use warpbound_runs::runs::timed::observe::observe;
use warpbound_simulate::timed::SplitPipelines;

use warpbound_audit::audit::variation;
use warpbound_query::{
    BoundOptions, KernelAnalysis, KernelFlow, Prepared, Session, StatedLaunches,
};
use warpbound_runs::TimedOptions;
use warpbound_runs::runs::timed::LaunchObservation;

use combine::{Geometry, SplitRuns};
use paths::PathFinder;
use report::ReportInputs;
use traces::PathTracer;

/// Limit of the instructions of a run with other contents, as a multiple of the instructions of the run with the
/// given contents.
const MOST_TIMES_LONGER: u64 = 16;
/// Minimum of this limit.
const LEAST_LIMIT: u64 = 100_000;

/// Extent of a hybrid analysis.
#[derive(Clone, Debug)]
pub struct HybridOptions {
    /// Machine, selection of its numbers, marks and merging; each run sets the number of splits and the pipelines.
    pub timed: TimedOptions,
    /// Numbers of reserve slots; each is analysed separately.
    pub splits: Vec<u32>,
    /// Number of variations of the contents of the buffers of each launch, in addition to the contents in its file.
    pub contents: u64,
    /// Whether to run with serialised pipelines as well.
    pub serialised: bool,
    /// Flow facts of the user.
    pub facts: FactsFile,
    /// Bound of loops without a fact.
    pub loop_default: Option<u64>,
}

impl HybridOptions {
    /// Returns the default extent on a machine.
    pub fn new(timed: TimedOptions) -> HybridOptions {
        HybridOptions {
            timed,
            splits: vec![0, 1, 2, 3],
            contents: 0,
            serialised: true,
            facts: FactsFile::default(),
            loop_default: None,
        }
    }
}

/// Estimates the time of a kernel from runs of `launches`, for each number of splits. The estimate is for the first
/// launch: its loop bounds, groups and work-items count. All launches supply times. `on_run` receives the number of
/// completed runs and the number of all runs.
///
/// # Errors
///
/// The control flow of the kernel cannot be followed, no launch is given, or a run of given contents fails.
pub fn hybrid(
    session: &Session,
    kernel: &Kernel,
    launches: &[LaunchFile],
    options: &HybridOptions,
    mut on_run: impl FnMut(u64, u64),
) -> Result<HybridReport, Diagnostic> {
    let locate = |d: Diagnostic| session.locate(d.in_kernel(kernel.demangled()));
    let Some(target) = launches.first() else {
        return Err(locate(Diagnostic::new("a hybrid analysis needs a launch")));
    };
    let prepared = Arc::new(session.prepare_measured(kernel)?);
    if prepared.family() != Family::Gcn3 {
        let isa = session.image.isa();
        let message = format!("hybrid analyses are of waves of GCN3, and this is code for {isa}");
        return Err(locate(Diagnostic::new(message)));
    }
    let bound_options = bound_options(Some(target), options);
    let analysis = KernelAnalysis::new(session, Arc::clone(&prepared), &bound_options)?;
    let analysed = analysis.followed()?;
    let flow = analysed.flow;
    let facts = flow_facts(analysed)?;
    let sites = branch_sites::classify(&prepared.code, &flow.thread, flow.dependence());
    let steps = &flow.warp.graph.steps;
    let graph = PointGraph::build(&prepared.code, &flow.thread, steps, &sites)
        .ok_or_else(|| locate(Diagnostic::new("the kernel has no instruction")))?;
    let finder = PathFinder::new(&graph, flow, &facts).map_err(locate)?;
    let runs = HybridRuns {
        session,
        prepared: &prepared,
        flow,
        graph: &graph,
        options,
    };
    let variations = runs.launches(launches);
    let pipelines: &[SplitPipelines] = match options.serialised {
        true => &[SplitPipelines::Parallel, SplitPipelines::Serialised],
        false => &[SplitPipelines::Parallel],
    };
    let splits: BTreeSet<u32> = options.splits.iter().copied().collect();
    let all = splits.len() * variations.len() * pipelines.len();
    let mut notes = BTreeSet::new();
    let mut observed = BTreeMap::new();
    let mut done = 0;
    for &count in &splits {
        for &pipelines in pipelines {
            // Without splits both kinds of pipelines give the same runs.
            let of = match count {
                0 if pipelines == SplitPipelines::Serialised => None,
                _ => Some(runs.observe(target, &variations, count, pipelines, &mut notes)?),
            };
            done += variations.len();
            on_run(done as u64, all as u64);
            observed.extend(of.map(|of| ((count, pipelines as u8), of)));
        }
    }
    let inputs = ReportInputs {
        session,
        prepared: &prepared,
        flow,
        finder: &finder,
        facts: &facts,
        options,
        bound_options: &bound_options,
    };
    inputs.report(target, &splits, &observed, notes)
}

/// Returns the options for the loop bounds and facts of a launch.
fn bound_options(launch: Option<&LaunchFile>, options: &HybridOptions) -> BoundOptions {
    BoundOptions {
        block: launch.map(|launch| launch.block),
        launches: StatedLaunches {
            file: launch.map(|launch| launch.as_one().into()),
            ..StatedLaunches::default()
        },
        facts: options.facts.clone(),
        loop_default: options.loop_default,
        ..BoundOptions::default()
    }
}

/// Inputs of the traced runs of a kernel.
struct HybridRuns<'a> {
    session: &'a Session,
    prepared: &'a Prepared<'a>,
    flow: &'a KernelFlow,
    graph: &'a PointGraph,
    options: &'a HybridOptions,
}

impl HybridRuns<'_> {
    /// Returns the launches with their variations, and whether each has the given contents.
    fn launches(&self, given: &[LaunchFile]) -> Vec<(LaunchFile, bool)> {
        let mut all = Vec::new();
        for (number, launch) in (0u64..).zip(given) {
            all.push((launch.clone(), true));
            for seed in 0..self.options.contents {
                // Each launch has seeds of its own, so that two launches get different contents.
                all.push((with_contents(launch, number << 32 | seed), false));
            }
        }
        all
    }

    /// Runs the launches with a number of splits.
    fn observe(
        &self,
        target: &LaunchFile,
        launches: &[(LaunchFile, bool)],
        splits: u32,
        pipelines: SplitPipelines,
        notes: &mut BTreeSet<String>,
    ) -> Result<SplitRuns, Diagnostic> {
        let mut timed = self.options.timed.clone();
        timed.splitting.splits = splits;
        timed.splitting.pipelines = pipelines;
        let given_limit = timed.max_instructions;
        let mut runs = SplitRuns::default();
        for (launch, is_given) in launches {
            if *is_given {
                timed.max_instructions = given_limit;
            }
            match self.run(launch, &timed) {
                Ok((observed, run)) => {
                    if *is_given {
                        // Made-up contents may lead into a loop that does not terminate.
                        let limit = observed.issued.saturating_mul(MOST_TIMES_LONGER);
                        let limit = limit.max(LEAST_LIMIT);
                        timed.max_instructions =
                            Some(given_limit.map_or(limit, |given| given.min(limit)));
                    }
                    // Only runs of this size can be compared with the estimate.
                    let is_target = (launch.grid, launch.block) == (target.grid, target.block);
                    let geometry = Geometry::of(launch, &observed);
                    runs.add(&run, &geometry, &observed, is_target);
                }
                // Made-up contents may lead out of a buffer, or into a loop that does not terminate.
                Err(why) if !is_given => {
                    notes.insert(format!(
                        "a run with other contents is left out: {}",
                        why.message
                    ));
                }
                Err(why) => return Err(why),
            }
        }
        Ok(runs)
    }

    /// Runs a launch and follows its waves.
    fn run(
        &self,
        launch: &LaunchFile,
        timed: &TimedOptions,
    ) -> Result<(LaunchObservation, traces::RunTrace), Diagnostic> {
        let ops = self.prepared.code.ops.len();
        let mut tracer = PathTracer::new(self.graph, &self.flow.thread, ops);
        let observed = observe(self.session, self.prepared, launch, timed, &mut tracer)?;
        let run = tracer.finish().map_err(|why| {
            let name = self.prepared.kernel.demangled();
            self.session.locate(Diagnostic::new(why).in_kernel(name))
        })?;
        Ok((observed, run))
    }
}

/// Returns a launch with other contents of its buffers. Scalars stay, because loop bounds may depend on them.
fn with_contents(given: &LaunchFile, seed: u64) -> LaunchFile {
    let mut launch = variation(given, seed).launch;
    for (param, given) in launch.params.iter_mut().zip(&given.params) {
        if matches!(given.value, ParamValue::Scalar { .. }) {
            param.value = given.value.clone();
        }
    }
    launch
}
