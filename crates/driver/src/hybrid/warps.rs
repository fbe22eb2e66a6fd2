//! Hybrid analysis of warps of NVIDIA's GPUs: the largest observed times between the entries of blocks, and the path of a
//! warp over which their sum is largest. The result is an estimate, and no bound.

use std::collections::{BTreeMap, BTreeSet};

use warpbound_base::{Cycles, Diagnostic, Estimated, Observed};
use warpbound_bound::{Effort, Ipet, SolveOutcome, solve};
use warpbound_ir::OpIndex;
use warpbound_isa::Program;
use warpbound_launch::LaunchFile;
use warpbound_load::Kernel;
use warpbound_report::WarpHybridReport;
use warpbound_report::warp_hybrid::{MissingSegment, ObservedSegment};
use warpbound_simt::counts::{CountKind, CountVar};
use warpbound_simulate::timed::{Event, EventListener};

use super::HybridOptions;
use crate::bound::FlowFacts;
use crate::{BoundOptions, KernelFlow, Prepared, Session, StatedLaunches};

/// Most segments without a time that are tried one by one.
const MAX_TRIED: usize = 64;

/// Segment of a warp's run: from the entry of a block, or its start, to the entry of the next one, or its end.
type Segment = (Option<OpIndex>, Option<OpIndex>);

/// Times of a segment over all runs.
#[derive(Clone, Copy, Default, Debug)]
struct SegmentTimes {
    passes: u64,
    most: u64,
}

/// Warp on its way.
#[derive(Clone, Copy)]
struct Walk {
    begun: u64,
    /// First operation of the last block that it has entered, and the cycle.
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
    /// Its block and number.
    worst: Option<(u64, u32)>,
}

impl SegmentTracer<'_> {
    fn pass(&mut self, segment: Segment, cycles: u64) {
        let times = self.segments.entry(segment).or_default();
        times.passes += 1;
        times.most = times.most.max(cycles);
    }
}

impl EventListener for SegmentTracer<'_> {
    fn event(&mut self, cycle: u64, event: &Event) {
        match event {
            Event::BlockBegins { block, warps, .. } => {
                let walk = Walk {
                    begun: cycle,
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

impl Session {
    /// Estimates the time of a warp of an NVIDIA GPU, from the start of its block to its end, from the times of the parts of
    /// warps in timed runs of `launches`. Loop bounds are those for the first launch. `on_run` receives the number of
    /// completed runs and of all.
    ///
    /// # Errors
    ///
    /// The kernel is not of an NVIDIA GPU, its control flow cannot be followed, no launch is given, a run fails, or a run
    /// takes a step that the control-flow graph does not have.
    pub fn hybrid_of_warps(
        &self,
        kernel: &Kernel,
        launches: &[LaunchFile],
        options: &HybridOptions,
        mut on_run: impl FnMut(u64, u64),
    ) -> Result<WarpHybridReport, Diagnostic> {
        let locate = |d: Diagnostic| self.locate(d.in_kernel(kernel.demangled()));
        let Some(target) = launches.first() else {
            return Err(locate(Diagnostic::new("a hybrid analysis needs a launch")));
        };
        let prepared = self.prepare(kernel)?;
        if !matches!(prepared.program, Program::Nvidia(_)) {
            return Err(locate(Diagnostic::new(
                "this analysis is of warps of NVIDIA's GPUs",
            )));
        }
        let bound_options = BoundOptions {
            block: Some(target.block),
            launches: StatedLaunches {
                file: Some(target.clone().into()),
                ..StatedLaunches::default()
            },
            facts: options.facts.clone(),
            loop_default: options.loop_default,
            ..BoundOptions::default()
        };
        let knowledge = self.launch(kernel, &bound_options)?;
        let flow = self.flow(&prepared, &knowledge.context, &bound_options)?;
        let facts = self.flow_facts(&prepared, &knowledge, &bound_options, &flow)?;
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
            self.observe(&prepared, launch, &options.timed, &mut tracer)?;
            on_run(number, launches.len() as u64);
        }
        let estimate = WarpEstimate {
            prepared: &prepared,
            flow: &flow,
            facts: &facts,
            segments: &tracer.segments,
        };
        estimate.check_steps().map_err(locate)?;
        let mut report = estimate.report()?;
        report.file = self.file.clone();
        report.machine = options.timed.machine.name.clone();
        report.runs = launches.len() as u64;
        report.warps = tracer.warps;
        report.observed = tracer.longest;
        report.worst = tracer
            .worst
            .map(|(block, warp)| format!("warp {warp} of block {block}"));
        Ok(report)
    }
}

/// Estimates from segments.
struct WarpEstimate<'a> {
    prepared: &'a Prepared<'a>,
    flow: &'a KernelFlow,
    facts: &'a FlowFacts,
    segments: &'a BTreeMap<Segment, SegmentTimes>,
}

impl WarpEstimate<'_> {
    /// Returns the segment of a count of the warp.
    fn segment(&self, var: CountVar) -> Option<Segment> {
        let space = &self.flow.thread.space;
        let first = |node| space.block(node).first;
        match self.flow.counts.variables.get(var.0)? {
            CountKind::WarpStart => Some((None, Some(first(self.flow.thread.entry)))),
            CountKind::WarpStep(from, step) => Some((Some(first(*from)), step.to.map(first))),
            CountKind::ThreadStart | CountKind::ThreadStep(..) => None,
        }
    }

    /// Returns the segments of the graph with their counts.
    fn steps(&self) -> BTreeMap<Segment, Vec<CountVar>> {
        let mut steps: BTreeMap<Segment, Vec<CountVar>> = BTreeMap::new();
        for var in (0..self.flow.counts.len()).map(CountVar) {
            if let Some(segment) = self.segment(var) {
                steps.entry(segment).or_default().push(var);
            }
        }
        steps
    }

    fn time(&self, segment: Segment) -> Option<Observed<Cycles>> {
        let times = self.segments.get(&segment)?;
        Some(Observed(Cycles(times.most)))
    }

    /// Checks that each observed segment is a step of the graph.
    fn check_steps(&self) -> Result<(), Diagnostic> {
        let steps = self.steps();
        match self
            .segments
            .keys()
            .find(|segment| !steps.contains_key(segment))
        {
            None => Ok(()),
            Some(segment) => {
                let name = self.name(*segment);
                let message = format!("a run takes the step {name}, which the graph does not have");
                Err(Diagnostic::new(message))
            }
        }
    }

    /// Returns the time that a segment without an observation is assumed to take: the instructions of its block at the
    /// slowest observed rate of any segment.
    fn assumed(&self, segment: Segment) -> u64 {
        let length = |first: Option<OpIndex>| {
            let blocks = &self.flow.thread.space.blocks;
            let block = first.and_then(|first| blocks.starting_at(first));
            block.map_or(1, |block| blocks.get(block).instructions.max(1))
        };
        let slowest = self.segments.iter();
        let slowest = slowest
            .map(|(segment, times)| times.most.div_ceil(length(segment.0)))
            .max();
        slowest.unwrap_or(0).saturating_mul(length(segment.0))
    }

    /// Returns the largest sum of times over a path of a warp. Steps of `allowed` segments without an observation take the
    /// assumed time, others without one are not taken. `None` if the sum has no limit or the solver gives up.
    fn largest(
        &self,
        steps: &BTreeMap<Segment, Vec<CountVar>>,
        allowed: &BTreeSet<Segment>,
    ) -> Option<Estimated<Cycles>> {
        let cost = |var: CountVar| {
            let segment = self.segment(var)?;
            match self.time(segment) {
                Some(time) => Some(time.0),
                None => allowed
                    .contains(&segment)
                    .then(|| Cycles(self.assumed(segment))),
            }
        };
        let unseen = steps.iter().filter(|(segment, _)| {
            !self.segments.contains_key(segment) && !allowed.contains(segment)
        });
        let unseen = unseen.flat_map(|(_, vars)| vars.iter().copied()).collect();
        let mut never = self.facts.never.clone();
        never.push(("steps without an observation".to_owned(), unseen));
        let mut stated = self.facts.stated();
        stated.never = &never;
        let ipet = Ipet::with_step_costs(&self.flow.counts, cost, stated).ok()?;
        let effort = Effort {
            nodes: 0,
            ..Effort::default()
        };
        match solve(ipet.model(), effort) {
            SolveOutcome::Bounded(certified) => {
                let cycles = u64::try_from(certified.bound).ok()?;
                Some(Estimated(Cycles(cycles)))
            }
            SolveOutcome::Unbounded(_)
            | SolveOutcome::Infeasible(_)
            | SolveOutcome::SolverFailed(_) => None,
        }
    }

    /// Returns a report without the numbers of the runs.
    fn report(&self) -> Result<WarpHybridReport, Diagnostic> {
        let steps = self.steps();
        let unseen: Vec<Segment> = steps
            .keys()
            .filter(|segment| !self.segments.contains_key(segment))
            .copied()
            .collect();
        let estimate = self.largest(&steps, &BTreeSet::new());
        let reason = estimate.is_none().then(|| self.reason());
        let all = unseen.iter().copied().collect();
        let with_unseen = self.largest(&steps, &all);
        let mut missing = Vec::new();
        for (nth, &segment) in unseen.iter().enumerate() {
            let alone = match estimate {
                Some(estimate) if nth < MAX_TRIED => {
                    let alone = self.largest(&steps, &BTreeSet::from([segment]));
                    alone.map(|alone| alone.0.0.saturating_sub(estimate.0.0))
                }
                _ => None,
            };
            missing.push(MissingSegment {
                segment: self.name(segment),
                source: self.source(segment),
                assumed: self.assumed(segment),
                raises: alone,
            });
        }
        missing.sort_by_key(|segment| std::cmp::Reverse(segment.raises));
        let observed = self
            .segments
            .iter()
            .map(|(&segment, times)| ObservedSegment {
                segment: self.name(segment),
                source: self.source(segment),
                passes: times.passes,
                most: times.most,
            });
        Ok(WarpHybridReport {
            schema: WarpHybridReport::SCHEMA,
            file: String::new(),
            kernel: self.prepared.kernel.demangled(),
            machine: String::new(),
            runs: 0,
            warps: 0,
            observed: 0,
            worst: None,
            estimate: estimate.map(|cycles| cycles.0.0),
            with_unseen: with_unseen.map(|cycles| cycles.0.0),
            reason,
            steps: steps.len(),
            segments: observed.collect(),
            missing,
        })
    }

    /// Returns the reason why there is no estimate.
    fn reason(&self) -> String {
        let names = crate::prepared::loop_names(&self.flow.loops);
        let known = |fact: usize| {
            let of = |numbers: &[Option<u64>]| numbers.get(fact).copied().flatten();
            of(&self.facts.bounds).is_some() || of(&self.facts.totals).is_some()
        };
        let missing = names.iter().enumerate().filter(|(fact, _)| !known(*fact));
        let missing: Vec<String> = missing
            .map(|(_, name)| format!("{} at {}", name.id, self.prepared.location_of(name.at)))
            .collect();
        match missing.is_empty() {
            true => "the facts contradict the runs, or the solver gave up".to_owned(),
            false => format!("loops without a bound: {}", missing.join(", ")),
        }
    }

    fn name(&self, (from, to): Segment) -> String {
        let place = |at: Option<OpIndex>, other: &str| {
            at.map_or(other.to_owned(), |at| self.prepared.location(at))
        };
        format!("{} -> {}", place(from, "start"), place(to, "end"))
    }

    fn source(&self, (from, to): Segment) -> Option<String> {
        let at = from.or(to)?;
        self.prepared.source(self.prepared.addr(at))
    }
}
