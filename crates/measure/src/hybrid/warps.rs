//! Hybrid analysis of warps of NVIDIA's GPUs: the largest observed times between the entries of blocks, and the path
//! of a warp with the largest sum of these times. The result is an estimate and no bound (SOUNDNESS 13).

use std::collections::BTreeMap;
use std::sync::Arc;

use warpbound_base::{Diagnostic, Family};
use warpbound_bounds::bound::flow_facts;
use warpbound_ir::OpIndex;
use warpbound_launch::LaunchFile;
use warpbound_load::Kernel;
use warpbound_query::{KernelAnalysis, Session};
use warpbound_report::WarpHybridReport;
use warpbound_runs::runs::timed::observe::observe;
use warpbound_simulate::timed::{Event, EventListener};

use super::segments::{EstimatedUnit, Segment, SegmentEstimate, SegmentTimes};
use super::{HybridOptions, bound_options};

/// State of a warp that has not ended.
#[derive(Clone, Copy)]
struct Walk {
    begun: u64,
    /// First operation of the last block that the warp has entered, and the cycle of that entry.
    last: (Option<OpIndex>, u64),
}

/// Listener that measures segments.
struct SegmentTracer<'a> {
    /// For each operation, whether a block begins there.
    begins: &'a [bool],
    walks: BTreeMap<(u64, u32), Walk>,
    segments: BTreeMap<Segment, SegmentTimes>,
    warps: u64,
    /// Longest time of a warp.
    longest: u64,
    /// Block and number of that warp.
    worst: Option<(u64, u32)>,
}

impl SegmentTracer<'_> {
    fn pass(&mut self, segment: Segment, cycles: u64) {
        let times = self.segments.entry(segment).or_default();
        times.passes = Some(times.passes.unwrap_or(0) + 1);
        times.most = times.most.max(cycles);
    }
}

impl EventListener for SegmentTracer<'_> {
    fn event(&mut self, cycle: u64, event: &Event) {
        match event {
            Event::BlockBegins { block, warps, .. } => {
                let walk = Walk {
                    begun: cycle,
                    // The first segment begins with the block of threads, so delays of the first issue are part of
                    // it.
                    last: (None, cycle),
                };
                self.walks
                    .extend((0..*warps).map(|warp| ((*block, warp), walk)));
            }
            Event::Issue { warp, at, .. } => {
                if !self.begins.get(at.index()).copied().unwrap_or(false) {
                    return;
                }
                let walk = self.walks.get_mut(&(warp.block, warp.warp));
                if let Some(walk) = walk {
                    let (from, since) = walk.last;
                    walk.last = (Some(*at), cycle);
                    self.pass((from, Some(*at)), cycle.saturating_sub(since));
                }
            }
            Event::WarpEnds { warp } => {
                let place = (warp.block, warp.warp);
                if let Some(walk) = self.walks.remove(&place) {
                    let (from, since) = walk.last;
                    self.pass((from, None), cycle.saturating_sub(since));
                    let all = cycle.saturating_sub(walk.begun);
                    self.warps += 1;
                    if self.worst.is_none() || all > self.longest {
                        (self.longest, self.worst) = (all, Some(place));
                    }
                }
            }
            _ => {}
        }
    }
}

/// Estimates the time of a warp of an NVIDIA GPU, from the start of its block to its end, from the times of the parts
/// of warps in timed runs of `launches`. Loop bounds are for the first launch. `on_run` receives the number of
/// completed runs and the number of all runs.
///
/// # Errors
///
/// The kernel is not of an NVIDIA GPU, its control flow cannot be followed, no launch is given, a run fails, or a run
/// takes a step that the control-flow graph does not have.
pub fn hybrid_of_warps(
    session: &Session,
    kernel: &Kernel,
    launches: &[LaunchFile],
    options: &HybridOptions,
    mut on_run: impl FnMut(u64, u64),
) -> Result<WarpHybridReport, Diagnostic> {
    let locate = |d: Diagnostic| session.locate(d.in_kernel(kernel.demangled()));
    let Some(target) = launches.first() else {
        return Err(locate(Diagnostic::new("a hybrid analysis needs a launch")));
    };
    let prepared = Arc::new(session.prepare_measured(kernel)?);
    match prepared.family() {
        Family::Maxwell => {}
        Family::Volta | Family::Gcn3 | Family::MiniSimt => {
            let message = "this analysis is of warps of NVIDIA's GPUs";
            return Err(locate(Diagnostic::new(message)));
        }
    }
    let bound_options = bound_options(Some(target), options);
    let analysis = KernelAnalysis::new(session, Arc::clone(&prepared), &bound_options)?;
    let analysed = analysis.followed()?;
    let flow = analysed.flow;
    let facts = flow_facts(analysed)?;
    let mut begins = vec![false; prepared.code.ops.len()];
    for id in flow.thread.space.ids() {
        let first = flow.thread.space.block(id).first;
        if let Some(begins) = begins.get_mut(first.index()) {
            *begins = true;
        }
    }
    let mut tracer = SegmentTracer {
        begins: &begins,
        walks: BTreeMap::new(),
        segments: BTreeMap::new(),
        warps: 0,
        longest: 0,
        worst: None,
    };
    for (number, launch) in (1u64..).zip(launches) {
        observe(session, &prepared, launch, &options.timed, &mut tracer)?;
        on_run(number, launches.len() as u64);
    }
    let estimate = SegmentEstimate {
        prepared: &prepared,
        flow,
        counts: &flow.counts,
        facts: facts.stated(),
        segments: &tracer.segments,
        unit: EstimatedUnit::Warp,
    };
    // A step outside the graph would be counted by no row, and the sum could be too small.
    estimate.check_steps().map_err(locate)?;
    let mut report = estimate.report()?;
    report.file = session.file.clone();
    report.machine = options.timed.machine.name.clone();
    report.runs = launches.len() as u64;
    report.warps = tracer.warps;
    report.observed = tracer.longest;
    report.worst = tracer
        .worst
        .map(|(block, warp)| format!("warp {warp} of block {block}"));
    Ok(report)
}
