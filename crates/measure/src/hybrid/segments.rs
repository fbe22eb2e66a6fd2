//! Estimates from the largest observed times of segments: the path of a warp, or of a thread, with the largest sum of
//! these times.
//!
//! For example, observed times of 30 cycles from A to B, 12 from B to B and 9 from B to the end, with at most 4
//! executions of B, give 30 + 3 · 12 + 9 = 75 cycles after the entry of A. The estimate is no bound.

use std::collections::{BTreeMap, BTreeSet};

use warpbound_base::{Cycles, Diagnostic, Observed};
use warpbound_ipet::{Effort, Ipet, SolveOutcome, StatedCounts, solve};
use warpbound_ir::OpIndex;
use warpbound_report::WarpHybridReport;
use warpbound_report::warp_hybrid::{MissingSegment, ObservedSegment};
use warpbound_simt::counts::{CountKind, CountSystem, CountVar};

use warpbound_query::{KernelFlow, Prepared};

/// Maximum number of segments without a time that are tried one by one; each takes two linear programs.
const MAX_TRIED: usize = 64;

/// Segment of a run: from the entry of a block to the entry of the next one. The first begins with the start of the
/// run, and the last ends with its end.
pub(super) type Segment = (Option<OpIndex>, Option<OpIndex>);

/// Times of a segment over all runs.
#[derive(Clone, Copy, Default, Debug)]
pub(super) struct SegmentTimes {
    /// Number of passes, if they were counted.
    pub(super) passes: Option<u64>,
    pub(super) most: u64,
}

/// Unit of execution whose path is estimated.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum EstimatedUnit {
    /// Warp; its steps include resumptions of lanes that waited.
    Warp,
    /// Thread; its steps include the time while other lanes of its warp run.
    Thread,
}

impl EstimatedUnit {
    fn name(self) -> &'static str {
        match self {
            EstimatedUnit::Warp => "warp",
            EstimatedUnit::Thread => "thread",
        }
    }
}

/// Estimate from segments.
pub(super) struct SegmentEstimate<'a> {
    pub(super) prepared: &'a Prepared<'a>,
    pub(super) flow: &'a KernelFlow,
    /// Count rows of the unit.
    pub(super) counts: &'a CountSystem,
    /// Facts about these counts.
    pub(super) facts: StatedCounts<'a>,
    pub(super) segments: &'a BTreeMap<Segment, SegmentTimes>,
    pub(super) unit: EstimatedUnit,
}

/// Costs of the steps of a path.
#[derive(Clone, Copy)]
enum StepCost {
    /// Observed time, or the assumed time of a step without one.
    Times,
    /// Observed time minus these cycles.
    TimesLess(u64),
    /// One cycle for each pass of this segment.
    Passes(Segment),
}

impl SegmentEstimate<'_> {
    /// Returns the segment of a count of the unit.
    fn segment(&self, var: CountVar) -> Option<Segment> {
        let space = &self.flow.thread.space;
        let first = |node| space.block(node).first;
        match (self.counts.variables.get(var.0)?, self.unit) {
            (CountKind::WarpStart, EstimatedUnit::Warp)
            | (CountKind::ThreadStart, EstimatedUnit::Thread) => {
                Some((None, Some(first(self.flow.thread.entry))))
            }
            // Steps in several calling contexts, and resumptions, share a segment if they lead between the same
            // blocks.
            (CountKind::WarpStep(from, step), EstimatedUnit::Warp)
            | (CountKind::ThreadStep(from, step), EstimatedUnit::Thread) => {
                Some((Some(first(*from)), step.to.map(first)))
            }
            _ => None,
        }
    }

    /// Returns the segments of the graph, each with its counts.
    fn steps(&self) -> BTreeMap<Segment, Vec<CountVar>> {
        let mut steps: BTreeMap<Segment, Vec<CountVar>> = BTreeMap::new();
        for var in (0..self.counts.len()).map(CountVar) {
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
    pub(super) fn check_steps(&self) -> Result<(), Diagnostic> {
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

    /// Returns the time that a segment without an observation is assumed to take: as many instructions as its block
    /// has, each at the slowest observed rate of any segment. For example, if the slowest segment took 60 cycles for
    /// 3 instructions, a block of 5 is assumed to take 100.
    fn assumed(&self, segment: Segment) -> u64 {
        let length = |first: Option<OpIndex>| {
            let blocks = &self.flow.thread.space.blocks;
            let block = first.and_then(|first| blocks.starting_at(first));
            // The first segment has no block, and a block may have no instruction; 1 avoids a division by 0.
            block.map_or(1, |block| blocks.get(block).instructions.max(1))
        };
        let slowest = self.segments.iter();
        let slowest = slowest
            .map(|(segment, times)| times.most.div_ceil(length(segment.0)))
            .max();
        slowest.unwrap_or(0).saturating_mul(length(segment.0))
    }

    /// Returns the largest sum of costs over a path of the unit, without the steps that are neither observed nor
    /// `allowed`; `None` if the sum has no limit or the solver gives up.
    fn largest(
        &self,
        steps: &BTreeMap<Segment, Vec<CountVar>>,
        allowed: &BTreeSet<Segment>,
        cost: StepCost,
    ) -> Option<u64> {
        let cost = |var: CountVar| {
            let segment = self.segment(var)?;
            let time = match (self.time(segment), cost) {
                (_, StepCost::Passes(of)) => u64::from(segment == of),
                (Some(time), StepCost::Times) => time.0.0,
                (Some(time), StepCost::TimesLess(less)) => time.0.0.saturating_sub(less),
                (None, _) if allowed.contains(&segment) => self.assumed(segment),
                (None, _) => return None,
            };
            Some(Cycles(time))
        };
        let unseen = steps.iter().filter(|(segment, _)| {
            !self.segments.contains_key(segment) && !allowed.contains(segment)
        });
        let unseen = unseen.flat_map(|(_, vars)| vars.iter().copied()).collect();
        // A step without a cost is free, not impossible, so the steps that were never seen must be excluded as well.
        let mut never = self.facts.never.to_vec();
        never.push(("steps without an observation".to_owned(), unseen));
        let stated = StatedCounts {
            never: &never,
            ..self.facts
        };
        let ipet = Ipet::with_step_costs(self.counts, cost, stated).ok()?;
        // The relaxation can only raise the sum (SOUNDNESS 13).
        let effort = Effort {
            nodes: 0,
            ..Effort::default()
        };
        match solve(ipet.model(), effort) {
            SolveOutcome::Bounded(certified) => u64::try_from(certified.bound).ok(),
            SolveOutcome::Unbounded(_)
            | SolveOutcome::Infeasible(_)
            | SolveOutcome::SolverFailed(_) => None,
        }
    }

    /// Returns the estimate if each step takes `cycles` less than was observed.
    pub(super) fn largest_without(&self, cycles: u64) -> Option<u64> {
        let less = StepCost::TimesLess(cycles);
        self.largest(&self.steps(), &BTreeSet::new(), less)
    }

    /// Returns a report; the caller fills in what it knows of the runs.
    pub(super) fn report(&self) -> Result<WarpHybridReport, Diagnostic> {
        let steps = self.steps();
        let unseen: Vec<Segment> = steps
            .keys()
            .filter(|segment| !self.segments.contains_key(segment))
            .copied()
            .collect();
        let estimate = self.largest(&steps, &BTreeSet::new(), StepCost::Times);
        let reason = estimate.is_none().then(|| self.reason());
        let all = unseen.iter().copied().collect();
        let with_unseen = self.largest(&steps, &all, StepCost::Times);
        let mut missing = Vec::new();
        for (nth, &segment) in unseen.iter().enumerate() {
            let alone = match estimate {
                Some(estimate) if nth < MAX_TRIED => {
                    let alone = BTreeSet::from([segment]);
                    let alone = self.largest(&steps, &alone, StepCost::Times);
                    alone.map(|alone| alone.saturating_sub(estimate))
                }
                _ => None,
            };
            let most_passes = match nth < MAX_TRIED {
                true => self.largest(&steps, &all, StepCost::Passes(segment)),
                false => None,
            };
            missing.push(MissingSegment {
                most_passes,
                segment: self.name(segment),
                source: self.source(segment),
                assumed: self.assumed(segment),
                raises: alone,
            });
        }
        // Segments that are passed most come first. The sort is stable, so equal ones stay in order of address.
        missing.sort_by_key(|one| std::cmp::Reverse((one.most_passes, one.raises)));
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
            unit: self.unit.name(),
            stamps: None,
            runs: 0,
            warps: 0,
            observed: 0,
            worst: None,
            estimate,
            with_unseen,
            reason,
            steps: steps.len(),
            segments: observed.collect(),
            missing,
        })
    }

    /// Returns the reason for the missing estimate.
    fn reason(&self) -> String {
        let names = warpbound_query::prepared::loop_names(&self.flow.loops);
        let known = |fact: usize| {
            let of = |numbers: &[Option<u64>]| numbers.get(fact).copied().flatten();
            of(self.facts.bounds).is_some() || of(self.facts.totals).is_some()
        };
        // A loop without any number makes the sum infinite.
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
