//! Estimate of a launch by abstract CTA simulation (`abstract-cta-2014` 3), which reports print next to the bound.
//!
//! The paper has one processor with one scheduler, one block and one latency of memory. For a launch, the warps that
//! a sub-partition holds at once are the warps of the simulation, and blocks that do not fit at once follow in
//! rounds. Consider the instructions between two reads of memory. N warps take N times as long as these instructions
//! occupy issue slots and units. If one warp alone takes longer, with its distances and its waits for scoreboards,
//! its time counts. A read of global or local memory takes the time of the L2 cache or of DRAM. For example, four
//! warps whose instructions take 10 cycles of issue each, and 30 cycles alone, take 40 cycles. Conflicts, bandwidths
//! and first requests are not in the estimate: a run may take longer.

use warpbound_base::GroupedCode;
use warpbound_cycles::{MILLI, MachineNumbers, NodeServices, Service};
use warpbound_graph::LoopIndex;
use warpbound_ipet::abstract_warp::{BlockSegment, WarpElement};
use warpbound_ipet::cta::{self, Iterations, NoEstimate};
use warpbound_ipet::{LaunchShape, StatedCounts};
use warpbound_ir::{Meaning, Op, OpIndex};
use warpbound_isa::instr::MemorySpace;
use warpbound_machine::Parameter;
use warpbound_query::KernelFlow;
use warpbound_query::prepared::Prepared;
use warpbound_report::cycle_bound::CtaEstimate;
use warpbound_simt::NodeId;
use warpbound_timing::{Completion, Distance, InstrFacts};

use super::CacheState;

/// Launch whose cycles are estimated.
pub(super) struct EstimatedLaunch<'a> {
    pub(super) shape: &'a LaunchShape,
    pub(super) numbers: &'a MachineNumbers,
    pub(super) caches: CacheState,
    /// Services of each operation.
    pub(super) ops: &'a [NodeServices],
    /// Facts about each operation.
    pub(super) facts: &'a [InstrFacts],
}

impl EstimatedLaunch<'_> {
    /// Estimates the cycles of the launch. The error is the reason why there is no estimate.
    pub(super) fn estimate(
        &self,
        prepared: &Prepared<'_>,
        flow: &KernelFlow,
        stated: StatedCounts<'_>,
    ) -> Result<CtaEstimate, String> {
        let location = |node: usize| {
            let block = flow.thread.space.block(NodeId(node as u32));
            prepared.location(block.first)
        };
        let LaunchShape {
            blocks,
            warps,
            sms,
            resident,
            sub_partitions,
            ..
        } = *self.shape;
        // The fullest SM decides. It holds this many blocks at once, and the rest follow in rounds.
        let of_sm = blocks.div_ceil(sms.max(1)).min(resident.0.max(1));
        let rounds = blocks.div_ceil(sms.saturating_mul(of_sm).max(1));
        let in_part = of_sm.saturating_mul(warps).div_ceil(sub_partitions.max(1));
        let warp = crate::cta::construct(flow, |id| self.segments(prepared, flow, id, in_part))
            .map_err(|why| format!("{}: {}", location(why.node), why.reason))?;
        let iterations = iterations(&warp.elements, flow, in_part, stated);
        let numbers = self.numbers;
        let memory = match self.caches {
            CacheState::Warm => numbers.slow(Parameter::L2Hit),
            // With unknown contents of the cache, each read is taken to miss.
            CacheState::Any | CacheState::Cold => {
                numbers.slow(Parameter::L2Hit) + numbers.slow(Parameter::DramBeyond)
            }
        };
        let found = cta::simulate(&warp, in_part, memory, &iterations);
        let found = found.map_err(|why| match why {
            NoEstimate::Unknown(index) => {
                let headers = &flow.dependence().loops.get(index).headers;
                let at = headers
                    .first()
                    .map_or(String::new(), |&node| location(node));
                format!("the iteration count of the loop at {at} is unknown")
            }
            NoEstimate::TooLong => "the simulation has too many steps".to_owned(),
        })?;
        let overhead = numbers
            .slow(Parameter::LaunchKernel)
            .saturating_add(numbers.slow(Parameter::LaunchEnd));
        let of_round = found.corrected();
        Ok(CtaEstimate {
            cycles: of_round.saturating_mul(rounds).saturating_add(overhead),
            warps: in_part,
            rounds,
        })
    }

    /// Divides the instructions of a node after each read of memory and each barrier, for a number of warps that
    /// execute them.
    fn segments(
        &self,
        prepared: &Prepared<'_>,
        flow: &KernelFlow,
        id: NodeId,
        warps: u64,
    ) -> Vec<BlockSegment> {
        let block = flow.thread.space.block(id);
        let mut segments = Vec::new();
        let mut first = block.first;
        let mut time = SegmentTime::default();
        for at in block.ops() {
            let Some(op) = prepared.code.get(at) else {
                continue;
            };
            // A read belongs to the segment before it, because the warp issues it before it waits.
            self.advance(&mut time, op, at);
            let cut = match op.meaning {
                Some(Meaning::Load { space, .. }) if is_far(space) => BlockSegment::Memory(at.0),
                _ if op.barrier => BlockSegment::Barrier(at.0),
                _ => continue,
            };
            segments.extend([time.of(warps, first, at), cut]);
            (first, time) = (OpIndex(at.0 + 1), SegmentTime::default());
        }
        if first <= block.last {
            segments.push(time.of(warps, first, block.last));
        }
        segments
    }

    /// Adds an operation to the time of its segment.
    fn advance(&self, time: &mut SegmentTime, op: &Op, at: OpIndex) {
        let services = self.ops.get(at.index());
        time.core += services.map_or(0, |services| services[Service::Core as usize]);
        let Some(facts) = self.facts.get(at.index()) else {
            return;
        };
        let waits = (0..).zip(time.released);
        let waits = waits.filter(|(number, _)| facts.wait_mask >> number & 1 == 1);
        let waits = waits.map(|(_, released)| released);
        // An instruction waits for the scoreboards in its mask, and the latest one decides.
        time.alone = waits.fold(time.alone, u64::max);
        let latency = match (facts.completion, &op.meaning) {
            (Completion::Latency(latency), _) => self.numbers.slow(latency),
            (
                _,
                Some(Meaning::Load {
                    space: MemorySpace::Shared,
                    ..
                }),
            ) => self.numbers.slow(Parameter::SharedLatency),
            _ => 0,
        };
        let released = facts
            .write_sb
            .and_then(|number| time.released.get_mut(usize::from(number)));
        if let Some(released) = released {
            *released = (*released).max(time.alone + latency);
        }
        time.alone += match facts.distance {
            Distance::Cycles(cycles) => u64::from(cycles.max(facts.least).max(1)),
            Distance::Parameter(parameter) => self.numbers.slow(parameter),
            Distance::Pair => 1,
        };
    }
}

/// Time of the instructions between two reads of memory or barriers.
#[derive(Clone, Copy, Default)]
struct SegmentTime {
    /// Thousandths of cycles for which the instructions occupy issue slots and units.
    core: u64,
    /// Cycles that a warp alone takes.
    alone: u64,
    /// Cycles at which the scoreboards are released.
    released: [u64; SCOREBOARDS],
}

impl SegmentTime {
    /// Returns the segment from one operation to another, with the cycles that each of `warps` warps adds.
    fn of(&self, warps: u64, first: OpIndex, last: OpIndex) -> BlockSegment {
        // The simulation multiplies by the number of warps, so the time of a lone warp is divided by it.
        let core = self.core.div_ceil(MILLI.unsigned_abs());
        BlockSegment::Time {
            span: (first.0, last.0),
            instr: core.max(self.alone.div_ceil(warps.max(1))),
        }
    }
}

/// Scoreboards of a warp.
const SCOREBOARDS: usize = GroupedCode::WITH_THREE_SLOTS.scoreboards as usize;

/// Whether reads of a memory stall warps.
fn is_far(space: MemorySpace) -> bool {
    matches!(
        space,
        MemorySpace::Global | MemorySpace::Local | MemorySpace::Generic
    )
}

/// Returns the iterations of the loops whose bounds are known, the same for all warps.
fn iterations(
    elements: &[WarpElement],
    flow: &KernelFlow,
    warps: u64,
    stated: StatedCounts<'_>,
) -> Iterations {
    let bound_of = |index: LoopIndex| {
        let headers = &flow.dependence().loops.get(index).headers;
        let has = |node: &NodeId| headers.contains(&node.index());
        let mut loops = flow.loops.loops.iter();
        let own = loops.find(|own| own.headers.iter().any(has))?;
        stated.bounds.get(own.fact).copied().flatten()
    };
    let mut found = Iterations::new();
    let mut rest: Vec<&WarpElement> = elements.iter().collect();
    while let Some(element) = rest.pop() {
        let WarpElement::Loop { index, head, body } = element else {
            continue;
        };
        if let Some(bound) = bound_of(*index) {
            // A loop that exits in its head executes the head once more than the rest.
            let count = bound.saturating_sub(u64::from(!body.is_empty()));
            found.insert(*index, vec![count; warps as usize]);
        }
        rest.extend(head.iter().chain(body));
    }
    found
}
