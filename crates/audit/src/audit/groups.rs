//! Warps with convergence barriers, compared with the claims about them.
//!
//! The claims are about a warp with a stack, each of whose steps lies in a step of a group of the GPU (SOUNDNESS 21.4). So
//! each lane is followed on its own, with its calling context: where it goes must be a step of the graph. Lanes that the stack
//! keeps together are a *unit*: they split at a branch, and come together where a region ends whose barrier the analyses
//! trust. A group of the GPU consists of units. For example, two lanes that leave a loop by BREAK at different times meet at
//! the barrier after it, where the GPU joins them, but the stack does not, and so they remain two units.

use warpbound_analyse::context::Contexts;
use warpbound_ir::{Cell, ControlEffect, ControlTarget, Op, OpIndex};
use warpbound_isa::nvidia::WARP_LANES;
use warpbound_simt::{Mask, lanes_of};
use warpbound_simulate::functional::{ConvergenceModel, ExecutionListener, Issue, MemoryAccess};

use super::claims::{Claim, ClaimPoint, Claims, Violation};
use super::loaded::check_loaded;
use super::loops::{HeaderMaximum, LoopCounter};
use super::monitor::{ClaimMonitor, WarpId, WorstWarp, all_equal};

/// State of a monitored warp with convergence barriers.
pub(super) struct GroupedWarp {
    pub(super) issued: u64,
    lanes: Vec<FollowedLane>,
    /// Lanes that have not exited.
    live: Mask,
    /// Last operation, and the lanes whose condition held.
    last: Option<(OpIndex, Mask)>,
    /// Whether a lane went where no operation leads. No further step of the warp is checked then.
    is_lost: bool,
    last_unit: u32,
}

/// Lane, with the operation that it executed last.
struct FollowedLane {
    /// Next point, before it has executed anything; then the point of the last operation.
    at: ClaimPoint,
    /// Whether the condition of the last operation held; `None` before the first one.
    taken: Option<bool>,
    loops: LoopCounter,
    /// Unit of lanes that the stack keeps together.
    unit: u32,
    /// Trusted regions that the lane is in, each by the operation that opens it, with its unit when it entered.
    regions: Vec<(OpIndex, u32)>,
}

impl GroupedWarp {
    fn new(claims: &Claims<'_>, live: Mask) -> GroupedWarp {
        let start = ClaimPoint {
            op: claims.code.entry,
            label: Contexts::KERNEL,
        };
        let lane = || FollowedLane {
            at: start,
            taken: None,
            loops: LoopCounter::new(claims),
            unit: 0,
            regions: Vec::new(),
        };
        // Lanes above the highest live lane never execute anything.
        let count = 64 - live.leading_zeros();
        GroupedWarp {
            issued: 0,
            lanes: (0..count).map(|_| lane()).collect(),
            live,
            last: None,
            is_lost: false,
            last_unit: 0,
        }
    }

    /// Splits the units that execute the next operation only in part, and returns the units in a group.
    fn units_in(&mut self, active: Mask) -> Vec<Mask> {
        let mut units: Vec<(u32, Mask)> = Vec::new();
        for lane in lanes_of(active) {
            let Some(unit) = self.lanes.get(lane).map(|lane| lane.unit) else {
                continue;
            };
            match units.iter_mut().find(|(known, _)| *known == unit) {
                Some((_, lanes)) => *lanes |= 1 << lane,
                None => units.push((unit, 1 << lane)),
            }
        }
        for &(unit, lanes) in &units {
            let is_elsewhere = |lane: usize| {
                let other = self.lanes.get(lane);
                lanes >> lane & 1 == 0 && other.is_some_and(|other| other.unit == unit)
            };
            if lanes_of(self.live).any(is_elsewhere) {
                self.last_unit += 1;
                for lane in lanes_of(lanes) {
                    if let Some(lane) = self.lanes.get_mut(lane) {
                        lane.unit = self.last_unit;
                    }
                }
            }
        }
        units.into_iter().map(|(_, lanes)| lanes).collect()
    }
}

impl FollowedLane {
    /// Enters or leaves a region by an operation that the lane has executed.
    fn pass(&mut self, claims: &Claims<'_>, op: &Op) {
        let regions = &claims.flow.thread.regions;
        match op.control {
            ControlEffect::OpenBarrier(..) if !regions.demoted.contains_key(&self.at.op) => {
                self.regions.push((self.at.op, self.unit));
            }
            ControlEffect::JoinBarrier(_) => {
                let is_end = |(region, _): &(OpIndex, u32)| {
                    let ends = regions.ends.get(region);
                    ends.is_some_and(|ends| ends.contains(&self.at.op))
                };
                // The end of an outer region ends the inner ones, which lanes left without their BSYNC.
                if let Some(place) = self.regions.iter().rposition(is_end) {
                    self.unit = self.regions[place].1;
                    self.regions.truncate(place);
                }
            }
            _ => {}
        }
    }
}

/// Point to which an operation leads a lane that is at `to` next; `None` if it cannot lead there.
fn step(
    claims: &Claims<'_>,
    contexts: &mut Contexts,
    (at, op): (ClaimPoint, &Op),
    taken: bool,
    to: OpIndex,
) -> Option<ClaimPoint> {
    let next = ClaimPoint {
        op: at.op.next(),
        ..at
    };
    let target = |op: OpIndex| ClaimPoint { op, ..at };
    let found = match &op.control {
        // A lane whose condition does not hold goes on, whatever the instruction is.
        _ if !taken => next,
        ControlEffect::Next
        | ControlEffect::OpenBarrier(..)
        | ControlEffect::JoinBarrier(_)
        | ControlEffect::BreakBarrier(_)
        | ControlEffect::SaveBarrier(..)
        | ControlEffect::WriteBarrier { .. }
        | ControlEffect::Release => next,
        ControlEffect::Jump(ControlTarget::Op(to)) => target(*to),
        ControlEffect::Collective(ControlTarget::Op(other))
        | ControlEffect::FreeJump(ControlTarget::Op(other)) => match *other == to {
            true => target(to),
            false => next,
        },
        ControlEffect::LinkedCall(ControlTarget::Op(callee)) => ClaimPoint {
            op: *callee,
            label: contexts.enter(at.label, at.op, *callee).context(),
        },
        ControlEffect::Return { .. } => {
            let (label, site) = contexts.caller(at.label)?;
            ClaimPoint {
                op: site.next(),
                label,
            }
        }
        // The edges of the graph decide where it may lead.
        ControlEffect::Indirect { .. } | ControlEffect::LinkedIndirect { .. } => ClaimPoint {
            op: to,
            label: claims.context_after_jump(at, to),
        },
        _ => return None,
    };
    (found.op == to).then_some(found)
}

impl ClaimMonitor<'_> {
    /// Moves the lanes that execute an operation to it, and checks the claims about them.
    fn follow_group(
        &mut self,
        warp: &mut GroupedWarp,
        issue: &Issue<'_, ConvergenceModel>,
        found: &mut Vec<Violation>,
    ) {
        let claims = self.claims;
        for lane in lanes_of(issue.active) {
            let Some(followed) = warp.lanes.get_mut(lane) else {
                continue;
            };
            let point = match followed.taken {
                None => Some(followed.at).filter(|start| start.op == issue.at),
                Some(taken) => claims.code.get(followed.at.op).and_then(|op| {
                    if taken {
                        followed.pass(claims, op);
                    }
                    let here = (followed.at, op);
                    step(claims, &mut self.contexts, here, taken, issue.at)
                }),
            };
            let Some(point) = point else {
                warp.is_lost = true;
                found.push(Violation {
                    claim: Claim::Machine,
                    at: followed.at.op,
                    message: "a lane goes on otherwise than the instruction says".to_owned(),
                });
                return;
            };
            // Inside a block there is nothing to check: the block has one successor at each place.
            let starts_node = claims.node_of(point);
            if followed.taken.is_some() && !claims.is_inside(followed.at.op) {
                check_edge(claims, followed.at, point, found);
            }
            followed.at = point;
            followed.taken = Some(issue.taken >> lane & 1 == 1);
            if let Some(node) = starts_node {
                let executed = HeaderMaximum {
                    count: 1,
                    thread: issue.first_thread() + lane as u32,
                    block: issue.block,
                };
                self.count_header(&mut followed.loops, node, executed);
            }
        }
        self.units = warp.units_in(issue.active);
        let op = claims.code.get(issue.at);
        // Copies of a uniform register may differ where nothing reads it; the group has one value where something does.
        let is_read = |cell: Cell| op.is_some_and(|op| op.reads.contains(&cell));
        let agree = |cell: Cell, lanes: Mask| {
            cell.is_uniform() && !is_read(cell) || all_equal(issue.cell(cell), lanes)
        };
        for &lanes in &self.units {
            let first = warp.lanes.get(lanes.trailing_zeros() as usize);
            if let Some(first) = first {
                claims.check_active(first.at, lanes, &agree, found);
            }
            self.accesses.issue_of(issue, issue.taken & lanes, found);
        }
    }
}

/// Checks that a lane steps along an edge of the graph of threads.
fn check_edge(claims: &Claims<'_>, from: ClaimPoint, to: ClaimPoint, found: &mut Vec<Violation>) {
    let steps = &claims.flow.thread.steps;
    let nodes = claims.node_around(from).zip(claims.node_of(to));
    let is_edge = nodes.is_some_and(|(from, to)| {
        let mut steps = steps.get(from.index()).into_iter().flatten();
        steps.any(|step| step.to == Some(to))
    });
    if !is_edge {
        let address = claims.code.get(to.op).map(|op| op.addr.to_string());
        let target = address.unwrap_or_else(|| format!("#{}", to.op.0));
        found.push(Violation {
            claim: Claim::Edge,
            at: from.op,
            message: format!("the step of a lane to {target} is no edge"),
        });
    }
}

impl ExecutionListener<ConvergenceModel> for ClaimMonitor<'_> {
    fn issue(&mut self, issue: &Issue<'_, ConvergenceModel>) -> bool {
        let warp_id = WarpId {
            block: issue.block,
            warp: issue.first_thread() / WARP_LANES,
        };
        let key = (warp_id.block, warp_id.warp);
        let claims = self.claims;
        // All lanes that exist are active at the first issue of a warp, so they are its live lanes.
        // The warp leaves the map while the monitor, which owns the map, is used.
        let known = self.grouped.remove(&key);
        let mut warp = known.unwrap_or_else(|| GroupedWarp::new(claims, issue.active));
        warp.issued += 1;
        self.seen.issued += 1;
        let mut found = Vec::new();
        self.last_warp = warp_id;
        self.units.clear();
        if let Some((at, lanes)) = warp.last {
            check_loaded(claims, at, lanes, issue, &mut found);
        }
        if !warp.is_lost {
            self.follow_group(&mut warp, issue, &mut found);
            warp.last = Some((issue.at, issue.taken));
        }
        let op = claims.code.get(issue.at);
        if op.is_some_and(|op| op.control == ControlEffect::Exit) {
            warp.live &= !issue.taken;
        }
        match warp.live {
            0 => self.end_warp(WorstWarp {
                issued: warp.issued,
                warp: warp_id,
            }),
            _ => {
                self.grouped.insert(key, warp);
            }
        }
        self.record_violations(found, warp_id);
        true
    }

    fn access(&mut self, access: &MemoryAccess<'_>) {
        let mut found = Vec::new();
        for &lanes in &self.units {
            let part = MemoryAccess {
                taken: access.taken & lanes,
                ..*access
            };
            self.accesses.access(&part, &mut found);
        }
        self.record_violations(found, self.last_warp);
    }
}
