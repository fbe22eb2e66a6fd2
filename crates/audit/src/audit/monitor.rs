//! Monitor of the warps of a launch: compares each step with the claims.
//!
//! The monitor keeps its own activation stack for each warp, whose entries carry calling contexts, and advances it by
//! the control effects of the operations. The simulator's stack must match it after every step (`warp-cfg-2023` 2).
//! For example, if the simulator resumes the wrong entry at a SYNC, the stacks differ and the step is a violation.
//!
//! Monitor and simulator have the stack of `simt` in common, and the claims are about the abstract model, which has
//! rules of its own. So an error in the stack itself shows as a violated claim (`docs/decisions.md`).

use std::cmp::Reverse;
use std::collections::{BTreeMap, HashMap};

use warpbound_analyse::context::{ContextId, Contexts};
use warpbound_ir::{Cell, ControlEffect, ControlTarget, Op, OpIndex};
use warpbound_isa::nvidia::WARP_LANES;
use warpbound_launch::{Size, gcn};
use warpbound_simt::activation_stack::ActivationStack;
use warpbound_simt::exec_mask::ExecMask;
use warpbound_simt::warp::DivergenceOrder;
use warpbound_simt::{ControlTransfer, ExecutionModel, Mask, NodeId};
use warpbound_simulate::functional::{CellValues, ExecutionListener, Issue, MemoryAccess};

use super::accesses::{AccessMonitor, ObservedAccess};
use super::claims::{Claim, ClaimPoint, Claims, Point, Violation};
use super::groups::GroupedWarp;
use super::loaded::check_loaded;
use super::loops::{HeaderMaximum, LoopCounter};

/// Execution model whose warps a [`ClaimMonitor`] compares with the claims.
///
/// The monitor follows *walkers* on an activation stack. A walker is a lane of a warp, or a wave as a whole, which
/// moves with all its lanes. For example, a warp of 20 threads starts with 20 walkers, and a wave with one.
pub trait MonitoredModel: ExecutionModel<u32> + Sized {
    /// Number of lanes of a warp.
    const LANES: u32;

    /// The walkers of a warp that starts with the lanes `active`.
    fn walkers(active: Mask) -> Mask;

    /// The lanes that a claim about walkers is about.
    fn lanes_of(walkers: Mask, active: Mask) -> Mask;

    /// Applies to the walkers the control effect of an operation that the machine executed in the lanes `taken`.
    /// Returns `false` if the operation cannot lead to the state `self`.
    fn follow(
        &self,
        stack: &mut ActivationStack<ClaimPoint>,
        contexts: &mut Contexts,
        claims: &Claims<'_>,
        op: &Op,
        taken: Mask,
    ) -> bool;

    /// Whether the walkers are where the machine is.
    fn agrees_with(&self, stack: &ActivationStack<ClaimPoint>) -> bool;

    /// Whether the warp ends with an exit in `taken` lanes.
    fn ends(&self, taken: Mask) -> bool;

    /// A warp that has ended.
    fn ended() -> Self;
}

impl MonitoredModel for ActivationStack<u32> {
    const LANES: u32 = WARP_LANES;

    fn walkers(active: Mask) -> Mask {
        active
    }

    fn lanes_of(walkers: Mask, _active: Mask) -> Mask {
        walkers
    }

    fn follow(
        &self,
        stack: &mut ActivationStack<ClaimPoint>,
        contexts: &mut Contexts,
        claims: &Claims<'_>,
        op: &Op,
        taken: Mask,
    ) -> bool {
        apply_control(stack, contexts, claims, op, taken, self)
    }

    fn agrees_with(&self, stack: &ActivationStack<ClaimPoint>) -> bool {
        is_same_stack(stack, self)
    }

    fn ends(&self, taken: Mask) -> bool {
        // EXIT removes lanes from all entries (SOUNDNESS 3.1), so the warp ends if no entry holds another lane.
        let mut entries = self.pending().iter().chain(self.top());
        entries.all(|entry| entry.mask & !taken == 0)
    }

    fn ended() -> Self {
        ActivationStack::new(0, 0, ORDER)
    }
}

/// The walker that stands for a wave.
const WAVE: Mask = 1;

impl MonitoredModel for ExecMask<u32> {
    const LANES: u32 = gcn::LANES;

    fn walkers(_active: Mask) -> Mask {
        WAVE
    }

    fn lanes_of(_walkers: Mask, active: Mask) -> Mask {
        active
    }

    fn follow(
        &self,
        stack: &mut ActivationStack<ClaimPoint>,
        contexts: &mut Contexts,
        claims: &Claims<'_>,
        op: &Op,
        _taken: Mask,
    ) -> bool {
        let Some(top) = stack.top().copied() else {
            return false;
        };
        let now = self.running().map(|(at, _)| at);
        let transfer = match (&op.control, now) {
            // A write of EXEC changes the active lanes, but the wave goes on at the next operation.
            (ControlEffect::Next | ControlEffect::SetActive(_), _) => ControlTransfer::Next,
            (ControlEffect::Jump(ControlTarget::Op(target)), Some(now)) => {
                // Only a conditional jump may go on at the next operation.
                let goes_on = !op.condition.is_always() && now == top.next.op.0 + 1;
                if !goes_on && now != target.0 {
                    return false;
                }
                let to = Point {
                    op: OpIndex(now),
                    ..top.next
                };
                let split = [(to, WAVE)];
                return stack
                    .apply(&ControlTransfer::Indirect(&split), WAVE, to)
                    .is_ok();
            }
            _ => {
                // The rules of a warp expect a stack of the machine. A wave has one walker, so its stack is one entry
                // at the point where the machine is.
                let unused = ActivationStack::new(now.unwrap_or_default(), WAVE, ORDER);
                return apply_control(stack, contexts, claims, op, WAVE, &unused);
            }
        };
        let next = Point {
            op: top.next.op.next(),
            ..top.next
        };
        stack.apply(&transfer, WAVE, next).is_ok()
    }

    fn agrees_with(&self, stack: &ActivationStack<ClaimPoint>) -> bool {
        let ours = stack.top().map(|top| top.next.op.0);
        ours == self.running().map(|(at, _)| at)
    }

    fn ends(&self, _taken: Mask) -> bool {
        true
    }

    fn ended() -> Self {
        let mut wave = ExecMask::new(0, 0, ORDER);
        wave.end();
        wave
    }
}

/// Order of the sides of a jump on the monitor's stacks: the order of the list, which comes from the simulator.
const ORDER: DivergenceOrder = DivergenceOrder::Any;

/// Maximum number of distinct violations that are recorded; further ones are only counted.
const MAX_VIOLATIONS: usize = 200;

/// Observations of one launch.
#[derive(Clone, Debug, Default)]
pub struct AuditObservations {
    /// Violations of claims, each with its first warp: at most 200 distinct ones.
    pub violations: BTreeMap<Violation, WarpId>,
    /// Number of further violations.
    pub further_violations: u64,
    /// Maximum number of header executions of a thread per entry, for each loop fact.
    pub max_per_entry: Vec<Option<HeaderMaximum>>,
    /// Maximum number of header executions of a thread in its whole run, for each loop fact.
    pub max_totals: Vec<Option<HeaderMaximum>>,
    /// First thread that violates each `never` statement.
    pub executed_never: Vec<Option<HeaderMaximum>>,
    /// Steps between nodes of the warp-level graph, and how often each was taken; a step to `None` ends a warp.
    pub steps: BTreeMap<(NodeId, Option<NodeId>), u64>,
    /// Executed accesses that have a class.
    pub accesses: BTreeMap<OpIndex, ObservedAccess>,
    /// Warp that issued the most instructions, among the warps that ended.
    pub worst: Option<WorstWarp>,
    /// Warp that issued the most instructions, among the warps that did not end. A run that faults or is cut off has
    /// some.
    pub unfinished: Option<WorstWarp>,
    /// Number of warps that ended.
    pub ended_warps: u64,
    /// Number of warp instructions.
    pub issued: u64,
}

/// Identity of a warp in a launch.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct WarpId {
    /// Index of its block.
    pub block: Size,
    /// Number of the warp in the block.
    pub warp: u32,
}

/// Warp and the number of its instructions.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct WorstWarp {
    /// Number of issued instructions.
    pub issued: u64,
    /// The warp.
    pub warp: WarpId,
}

impl WorstWarp {
    /// Returns the sort key. Among equal counts, the warp with the lowest index sorts highest, so that the result
    /// does not depend on the order of execution.
    fn sort_key(&self) -> impl Ord + use<> {
        let [x, y, z] = self.warp.block;
        (self.issued, Reverse(([z, y, x], self.warp.warp)))
    }
}

/// Listener that compares the warps of one launch with the claims about them.
pub struct ClaimMonitor<'a> {
    pub(super) claims: &'a Claims<'a>,
    pub(super) contexts: Contexts,
    /// Warp that issued last, kept out of the map because it usually issues next.
    running: Option<(Key, MonitoredWarp)>,
    /// Other warps that have started and not ended.
    warps: HashMap<Key, MonitoredWarp>,
    /// Warps with convergence barriers that have started and not ended.
    pub(super) grouped: HashMap<Key, GroupedWarp>,
    /// Units of lanes that execute the last operation of such a warp.
    pub(super) units: Vec<Mask>,
    pub(super) accesses: AccessMonitor<'a>,
    /// Warp that issued the last instruction.
    pub(super) last_warp: WarpId,
    on_end: Option<&'a mut dyn FnMut(WorstWarp)>,
    pub(super) seen: AuditObservations,
}

/// Block index and number of a warp.
pub(super) type Key = (Size, u32);

/// State of a monitored warp.
struct MonitoredWarp {
    /// Activation stack with calling contexts, before the last issued instruction.
    stack: ActivationStack<ClaimPoint>,
    /// Last issued instruction, and the lanes whose guard held.
    last: Option<(OpIndex, Mask)>,
    issued: u64,
    lanes: Vec<LoopCounter>,
    /// Whether the stacks of monitor and simulator differ. No further step of the warp is checked then.
    is_lost: bool,
}

impl<'a> ClaimMonitor<'a> {
    /// Creates a listener for one launch.
    pub fn new(claims: &'a Claims<'a>) -> ClaimMonitor<'a> {
        ClaimMonitor {
            claims,
            // A call may enter a context that the graph does not have. No node is found there, which is reported.
            contexts: claims.flow.thread.space.contexts.clone(),
            running: None,
            warps: HashMap::new(),
            grouped: HashMap::new(),
            units: Vec::new(),
            accesses: AccessMonitor::new(claims),
            last_warp: WarpId {
                block: [0; 3],
                warp: 0,
            },
            on_end: None,
            seen: AuditObservations {
                max_per_entry: vec![None; claims.flow.loops.sites.len()],
                max_totals: vec![None; claims.flow.loops.sites.len()],
                executed_never: vec![None; claims.never_count()],
                ..AuditObservations::default()
            },
        }
    }

    /// Calls a function for each warp that ends.
    #[must_use]
    pub fn on_end(self, on_end: &'a mut dyn FnMut(WorstWarp)) -> ClaimMonitor<'a> {
        ClaimMonitor {
            on_end: Some(on_end),
            ..self
        }
    }

    /// Returns the observations.
    pub fn finish(self) -> AuditObservations {
        let left = self.warps.iter();
        let left = left.chain(self.running.as_ref().map(|(key, warp)| (key, warp)));
        let left = left.map(|(key, warp)| (key, warp.issued));
        let grouped = self.grouped.iter().map(|(key, warp)| (key, warp.issued));
        let left = left.chain(grouped);
        let left = left.map(|(&(block, number), issued)| WorstWarp {
            issued,
            warp: WarpId {
                block,
                warp: number,
            },
        });
        AuditObservations {
            unfinished: left.max_by(|a, b| a.sort_key().cmp(&b.sort_key())),
            accesses: self.accesses.finish(),
            ..self.seen
        }
    }

    /// Removes a warp from the monitor; creates it with the lanes `live` if it is new.
    fn take_warp(&mut self, key: Key, live: Mask) -> MonitoredWarp {
        if let Some((other, warp)) = self.running.take() {
            if other == key {
                return warp;
            }
            self.warps.insert(other, warp);
        }
        self.warps.remove(&key).unwrap_or_else(|| {
            let start = Point {
                op: self.claims.code.entry,
                label: Contexts::KERNEL,
            };
            MonitoredWarp {
                stack: ActivationStack::new(start, live, ORDER),
                last: None,
                issued: 0,
                // Lanes above the highest live lane never execute anything, so they need no counter.
                lanes: vec![LoopCounter::new(self.claims); 64 - live.leading_zeros() as usize],
                is_lost: false,
            }
        })
    }

    /// Records violations with their first warp, up to a maximum.
    pub(super) fn record_violations(&mut self, found: Vec<Violation>, warp_id: WarpId) {
        for violation in found {
            let kept = &mut self.seen.violations;
            if kept.contains_key(&violation) {
                continue;
            }
            if kept.len() < MAX_VIOLATIONS {
                kept.insert(violation, warp_id);
            } else {
                self.seen.further_violations += 1;
            }
        }
    }

    /// Applies the last instruction of a warp to its stack and compares the result with the simulator's stack `now`.
    /// Checks the step if the instruction ends a block.
    fn advance_warp<M: MonitoredModel>(
        &mut self,
        warp: &mut MonitoredWarp,
        now: &M,
        found: &mut Vec<Violation>,
    ) {
        let Some((at, taken)) = warp.last.take() else {
            return;
        };
        let claims = self.claims;
        let op = claims.code.get(at);
        let top = warp.stack.top().copied();
        let done = match (op, top) {
            // Inside a block there is no edge to check, so the stack is not copied.
            (Some(op), Some(top)) if op.control == ControlEffect::Next && claims.is_inside(at) => {
                let op = top.next.op.next();
                let next = Point { op, ..top.next };
                let transfer = ControlTransfer::Next;
                warp.stack.apply(&transfer, taken, next).is_ok()
            }
            (Some(op), Some(top)) => {
                // `check_step` compares the stacks on both sides of the step, so the old one is kept.
                let before = warp.stack.clone();
                let done = now.follow(&mut warp.stack, &mut self.contexts, claims, op, taken);
                if done {
                    let leaves = matches!(op.control, ControlEffect::Pop(_) | ControlEffect::Exit);
                    // If all lanes of the running entry pop or exit, the next entry resumes. Otherwise the step is a
                    // step of the active lanes.
                    let exhausted = leaves && M::walkers(taken) == top.mask;
                    claims.check_step(&before, &warp.stack, exhausted, found);
                    if let Some(step) = claims.step_between(&before, &warp.stack) {
                        *self.seen.steps.entry(step).or_default() += 1;
                    }
                }
                done
            }
            _ => false,
        };
        if !done || !now.agrees_with(&warp.stack) {
            warp.is_lost = true;
            found.push(Violation {
                claim: Claim::Machine,
                at,
                message: "the warp goes on otherwise than the instruction says".to_owned(),
            });
        }
    }

    /// Counts the header executions of the active lanes at the start of a block, and checks `never` statements.
    fn count_loops<M: MonitoredModel>(&mut self, warp: &mut MonitoredWarp, issue: &Issue<'_, M>) {
        let Some(top) = warp.stack.top() else {
            return;
        };
        // Nodes start at the first operation of a block, so inside a block nothing is counted.
        let Some(node) = self.claims.node_of(top.next) else {
            return;
        };
        let walkers = M::walkers(issue.active);
        for (lane, counter) in (0u32..).zip(&mut warp.lanes) {
            if walkers >> lane & 1 == 0 {
                continue;
            }
            let executed = HeaderMaximum {
                count: 1,
                thread: issue.first_thread() + lane,
                block: issue.block,
            };
            self.count_header(counter, node, executed);
        }
    }

    /// Counts an execution of the start of a node by a lane, and checks `never` statements.
    pub(super) fn count_header(
        &mut self,
        counter: &mut LoopCounter,
        node: NodeId,
        executed: HeaderMaximum,
    ) {
        let of = |count| HeaderMaximum { count, ..executed };
        let seen = &mut self.seen;
        let from = counter.count(self.claims, node, |fact, count| {
            raise_maximum(&mut seen.max_per_entry, fact, of(count.since_entry));
            raise_maximum(&mut seen.max_totals, fact, of(count.total));
        });
        for never in self.claims.violated_never(from, node) {
            raise_maximum(&mut self.seen.executed_never, never, executed);
        }
    }

    /// Records the end of a warp.
    pub(super) fn end_warp(&mut self, ended: WorstWarp) {
        self.seen.ended_warps += 1;
        if let Some(on_end) = &mut self.on_end {
            on_end(ended);
        }
        let worst = &mut self.seen.worst;
        if worst.is_none_or(|old| ended.sort_key() > old.sort_key()) {
            *worst = Some(ended);
        }
    }
}

impl<M: MonitoredModel> ExecutionListener<M> for ClaimMonitor<'_> {
    fn issue(&mut self, issue: &Issue<'_, M>) -> bool {
        let warp_id = WarpId {
            block: issue.block,
            warp: issue.first_thread() / M::LANES,
        };
        let key = (warp_id.block, warp_id.warp);
        // All lanes that exist are active at the first issue of a warp, so they become its live lanes.
        let mut warp = self.take_warp(key, M::walkers(issue.active));
        warp.issued += 1;
        self.seen.issued += 1;
        let mut found = Vec::new();
        self.last_warp = warp_id;
        self.accesses.issue(issue, &mut found);
        // Before this issue, the registers hold what the instruction before it has loaded.
        if let Some((at, lanes)) = warp.last {
            check_loaded(self.claims, at, lanes, issue, &mut found);
        }
        if !warp.is_lost {
            self.advance_warp(&mut warp, issue.model(), &mut found);
        }
        if !warp.is_lost {
            let agree = |cell: Cell, walkers: Mask| {
                let lanes = M::lanes_of(walkers, issue.active);
                // A wave may have no active lane at all; then every agreement holds.
                lanes == 0 || all_equal(issue.cell(cell), lanes)
            };
            self.claims.check_state(&warp.stack, &agree, &mut found);
            self.count_loops(&mut warp, issue);
            warp.last = Some((issue.at, issue.taken));
        }
        let op = self.claims.code.get(issue.at);
        let leaves = op.is_some_and(|op| op.control == ControlEffect::Exit);
        // After the last lane exits, no further issue triggers the check of this step, so it happens here.
        if leaves && issue.model().ends(issue.taken) {
            if !warp.is_lost {
                self.advance_warp(&mut warp, &M::ended(), &mut found);
            }
            self.end_warp(WorstWarp {
                issued: warp.issued,
                warp: warp_id,
            });
        } else {
            self.running = Some((key, warp));
        }
        self.record_violations(found, warp_id);
        true
    }

    fn access(&mut self, access: &MemoryAccess<'_>) {
        let mut found = Vec::new();
        self.accesses.access(access, &mut found);
        // The simulator reports an access right after the issue of its instruction.
        self.record_violations(found, self.last_warp);
    }
}

/// Raises an entry of a list to a new maximum.
fn raise_maximum(list: &mut [Option<HeaderMaximum>], index: usize, new: HeaderMaximum) {
    if let Some(most) = list.get_mut(index)
        && most.is_none_or(|old| new.sort_key() > old.sort_key())
    {
        *most = Some(new);
    }
}

/// Applies the control effect of an operation to a stack. The partition of the lanes and its order are taken from the
/// simulator's stack `now`. Returns `false` if the operation cannot have that result.
fn apply_control(
    stack: &mut ActivationStack<ClaimPoint>,
    contexts: &mut Contexts,
    claims: &Claims<'_>,
    op: &Op,
    taken: Mask,
    now: &ActivationStack<u32>,
) -> bool {
    let Some(top) = stack.top().copied() else {
        return false;
    };
    let here = top.next;
    let next = Point {
        op: here.op.next(),
        ..here
    };
    let to = |op: OpIndex, label: ContextId| Point { op, label };
    let transfer = match &op.control {
        ControlEffect::Jump(ControlTarget::Op(target)) => {
            let others = top.mask & !taken;
            let mut expected = match *target == next.op {
                // A jump to the next operation does not split: both sides are the same point.
                true => vec![(next.op, top.mask)],
                false => vec![(*target, taken), (next.op, others)],
            };
            // The order of the two sides is the simulator's choice (SOUNDNESS 7), so both lists are sorted.
            expected.retain(|&(_, mask)| mask != 0);
            expected.sort_unstable();
            let lane_targets = lane_targets(stack, now);
            let mut found = lane_targets.clone();
            found.sort_unstable();
            if found != expected {
                return false;
            }
            return split_lanes(stack, lane_targets, |op| to(op, here.label));
        }
        ControlEffect::Indirect { .. } => {
            let lane_targets = lane_targets(stack, now);
            // Lanes whose guard fails must continue; `check_step` compares the targets of the others with the edges.
            let jumps_without = |&(op, mask): &(OpIndex, Mask)| op != next.op && mask & !taken != 0;
            if lane_targets.iter().any(jumps_without) {
                return false;
            }
            return split_lanes(stack, lane_targets, |op| {
                to(op, claims.context_after_jump(here, op))
            });
        }
        ControlEffect::Call(ControlTarget::Op(callee)) => {
            let label = contexts.enter(here.label, here.op, *callee).context();
            op.control.transfer(|op| Some(to(op, label)))
        }
        direct => direct.transfer(|op| Some(to(op, here.label))),
    };
    let Some(transfer) = transfer else {
        return false;
    };
    stack.apply(&transfer, taken, next).is_ok()
}

/// Returns the targets of the active lanes after an operation, in the order of their execution.
fn lane_targets(
    before: &ActivationStack<ClaimPoint>,
    now: &ActivationStack<u32>,
) -> Vec<(OpIndex, Mask)> {
    // A split adds entries above the pending entries and leaves these unchanged.
    let split = now.pending().iter().skip(before.pending().len());
    let entries = split.chain(now.top());
    let mut lane_targets: Vec<(OpIndex, Mask)> =
        entries.map(|s| (OpIndex(s.next), s.mask)).collect();
    // The topmost entry runs first, and it comes last in the chain.
    lane_targets.reverse();
    lane_targets
}

/// Moves the active lanes to their targets: one entry, or one per group of lanes. Returns whether there is a target.
fn split_lanes(
    stack: &mut ActivationStack<ClaimPoint>,
    lane_targets: Vec<(OpIndex, Mask)>,
    mut point_of: impl FnMut(OpIndex) -> ClaimPoint,
) -> bool {
    let lane_targets: Vec<(ClaimPoint, Mask)> = lane_targets
        .into_iter()
        .map(|(op, mask)| (point_of(op), mask))
        .collect();
    let Some(&(first, _)) = lane_targets.first() else {
        return false;
    };
    let all = lane_targets.iter().fold(0, |all, (_, mask)| all | mask);
    let transfer = ControlTransfer::Indirect(&lane_targets);
    stack.apply(&transfer, all, first).is_ok()
}

/// Whether two stacks are equal except for calling contexts.
fn is_same_stack(ours: &ActivationStack<ClaimPoint>, theirs: &ActivationStack<u32>) -> bool {
    let pending = ours.pending().iter().zip(theirs.pending());
    let mut entries = pending.chain(ours.top().zip(theirs.top()));
    ours.pending().len() == theirs.pending().len()
        && ours.top().is_some() == theirs.top().is_some()
        && entries.all(|(our, their)| {
            our.next.op.0 == their.next && our.tag == their.tag && our.mask == their.mask
        })
}

/// Whether the lanes of a mask have equal values.
pub(super) fn all_equal(values: CellValues<'_>, mask: Mask) -> bool {
    let row = match values {
        CellValues::Words(row) => row,
        CellValues::Equal(_) => return true,
        CellValues::Truths(truths) => return truths & mask == 0 || !truths & mask == 0,
    };
    // An empty mask has 64 trailing zeros, which is no lane.
    let Some(&first) = row.get(mask.trailing_zeros() as usize) else {
        return true;
    };
    // A warp has 32 or 64 lanes. Groups of constant size let the compiler vectorise the comparisons.
    let masks = [mask as u32, (mask >> 32) as u32];
    let mut groups = row.as_chunks::<32>().0.iter().zip(masks);
    groups.all(|(values, mask)| {
        let mut differ = 0;
        // Not an iterator, which takes several times as long in builds with little optimization.
        let mut lane = 0;
        while lane < values.len() {
            differ |= u32::from(values[lane] != first) << lane;
            lane += 1;
        }
        differ & mask == 0
    })
}
