//! Execution of one warp of a launch with values that are known or unknown (SOUNDNESS 6.5).

use std::collections::BTreeSet;

use warpbound_ir::{ControlEffect, ControlTarget, Meaning, Op, OpIndex, OpScope};
use warpbound_simt::activation_stack::ActivationStack;
use warpbound_simt::warp::DivergenceOrder;
use warpbound_simt::{ControlTransfer, ExecutionModel, Mask};

use crate::indirect::IndirectJump;

use super::accesses::AccessRecorder;
use super::alternative::{Alternative, Alternatives, StampedPoint};
use super::candidates::Candidates;
use super::control::{indirect_targets, splits};
use super::decisive_cells::{DecisiveCells, is_of_global_memory};
use super::effects::{ActiveLanes, OpLanes};
use super::executions::ExecutionRecorder;
use super::launch::{LaunchValues, LoopBits, NoProfile, NoProfileReason, ShapedWarp, WarpIssues};
use super::lines::TouchedAddresses;
use super::loop_iterations::LoopIterations;
use super::operation::WarpInputs;
use super::row::{LaneRow, ValueOrigin};

/// Largest number of decisions by unknown values in one warp.
const MAX_DECISIONS: u32 = 1 << 17;

/// Largest number of such decisions in a row, without a condition that is known in between and outside loops with a
/// bound. Loops that only memory ends are found by it.
const MAX_UNKNOWN_IN_A_ROW: u32 = 1 << 11;

/// Largest number of stack entries. Each decision copies the stack, and some hundred copies may be open at a time.
const MAX_HEIGHT: usize = 1 << 12;

/// One warp under execution.
pub(super) struct WarpRun<'r, 'a> {
    values: &'r LaunchValues<'a>,
    inputs: WarpInputs<'r, 'a>,
    /// For each operation, its stated loops.
    loops_of: &'r [LoopBits],
    order: DivergenceOrder,
    steps_left: &'r mut u64,
    /// Number of the last step that moved.
    stamp: u64,
    decisions: u32,
    /// Decisions by unknown values since a condition was known.
    unknown_in_a_row: u32,
    /// Properties of the launch that decided transfers so far.
    pub(super) decided: ValueOrigin,
    /// Operations at which unknown values decided.
    pub(super) unknown_at: BTreeSet<OpIndex>,
    issues: u64,
    is_exact: bool,
    /// Recorder of accesses, if they are recorded.
    pub(super) accesses: Option<&'r mut AccessRecorder>,
    /// Recorder of executions, if they are counted.
    pub(super) executions: Option<&'r mut ExecutionRecorder>,
    /// Whether all lanes that the warp may have are in the alternative that runs.
    is_only: bool,
    /// Lanes that may have ended, or not.
    may_have_ended: Mask,
}

/// Result of a step.
enum RunStep {
    /// The alternative continues.
    Continue,
    /// Unknown values decide: other alternatives continue as well.
    Fork(Vec<Alternative>),
}

impl<'r, 'a> WarpRun<'r, 'a> {
    pub(super) fn new(
        values: &'r LaunchValues<'a>,
        cells: &'r DecisiveCells,
        loops_of: &'r [LoopBits],
        warp: ShapedWarp,
        steps_left: &'r mut u64,
    ) -> WarpRun<'r, 'a> {
        WarpRun {
            values,
            inputs: WarpInputs {
                values,
                cells,
                warp,
            },
            loops_of,
            // Counts are the same in both orders (SOUNDNESS 6.5).
            order: DivergenceOrder::TakenFirst,
            steps_left,
            stamp: 0,
            decisions: 0,
            unknown_in_a_row: 0,
            decided: ValueOrigin::NONE,
            unknown_at: BTreeSet::new(),
            issues: 0,
            is_exact: true,
            accesses: None,
            executions: None,
            is_only: true,
            may_have_ended: 0,
        }
    }

    /// Executes the warp to its end.
    pub(super) fn execute(&mut self) -> Result<WarpIssues, NoProfile> {
        if let Some(executions) = &mut self.executions {
            executions.start();
        }
        let entry = self.values.code.entry.0;
        let mut open = Alternatives::default();
        let first = Alternative {
            stack: ActivationStack::new(
                self.point(entry, true),
                self.inputs.warp.lanes.into(),
                self.order,
            ),
            rows: self.inputs.unknown_rows(),
            candidates: Candidates::default(),
            iterations: LoopIterations::new(self.values.loops.len()),
            is_certain: true,
            waits: false,
            skip_until: None,
        };
        open.add(first);
        while let Some(mut one) = open.take(self.order) {
            let mut height = one.height();
            self.is_only = open.is_empty();
            // A lane that has not ended is in some alternative.
            one.is_certain |= self.is_only && one.lanes() & self.may_have_ended == 0;
            while let Some((point, active)) = one.stack.running() {
                match self.step(&mut one, point, active)? {
                    RunStep::Continue => {}
                    RunStep::Fork(others) => {
                        let has_room = others.into_iter().map(|other| open.add(other)).last();
                        if has_room == Some(false) {
                            return Err(NoProfile {
                                at: OpIndex(point.at),
                                reason: NoProfileReason::Decisions,
                            });
                        }
                        one.waits |= one.height() < height;
                        break;
                    }
                }
                let now = one.height();
                if now > MAX_HEIGHT {
                    return Err(NoProfile {
                        at: OpIndex(point.at),
                        reason: NoProfileReason::StackHeight,
                    });
                }
                // The entry that resumes may be one that lanes of other alternatives still have to arrive at.
                if now < height && !open.is_empty() {
                    one.waits = true;
                    break;
                }
                height = now;
            }
            open.add(one);
        }
        if let Some(executions) = &mut self.executions {
            executions.end();
        }
        Ok(WarpIssues {
            issues: self.issues,
            exact: self.is_exact,
        })
    }

    /// Executes the running operation of an alternative.
    fn step(
        &mut self,
        one: &mut Alternative,
        here: StampedPoint,
        active: Mask,
    ) -> Result<RunStep, NoProfile> {
        let at = OpIndex(here.at);
        let fail = |reason| NoProfile { at, reason };
        self.values.spend_step(self.steps_left).map_err(fail)?;
        let op = self.values.code.get(at);
        let op = op.ok_or(fail(NoProfileReason::Unsupported))?;
        let active = match self.count_iteration(one, at, active as u32) {
            // No lane of a run is on this path any more, so the operation is not issued.
            0 => return Ok(RunStep::Continue),
            active => active,
        };
        self.issues = self.issues.saturating_add(1);
        // Groups that a GPU joins issue less.
        self.is_exact &= here.is_group;
        if let Some(executions) = &mut self.executions {
            executions.count(at);
            if op.barrier {
                let all_are_there = self.is_only && here.is_group && one.lanes() == active.into();
                executions.pass_barrier(all_are_there);
            }
        }
        if op.scope != OpScope::Lane {
            return Err(fail(NoProfileReason::Unsupported));
        }
        if one.skip_until == Some(at) {
            one.skip_until = None;
        }
        // Of operations that all lanes execute or none, no result is known, because either may be so in a run.
        let is_skipped = one.skip_until.is_some();
        let active = ActiveLanes {
            mask: active,
            are_certain: one.is_certain && !is_skipped,
            are_group: here.is_group,
        };
        let (mut lanes, origin) = self.inputs.condition(&one.rows, op, active);
        if is_skipped {
            lanes.possible = lanes.all();
            lanes.certain = 0;
        }
        let mut touched: Option<TouchedAddresses> = None;
        if let Some(accesses) = self.accesses.as_mut().filter(|of| of.has(at)) {
            let evaluate = |expr: &_| self.inputs.evaluate(&one.rows, expr);
            if let Some(holds) = self.inputs.values.holds.filter(|_| accesses.looks_outside) {
                accesses.note_outside(at, op, lanes, evaluate, holds);
            }
            let recorded = accesses.record(at, op, lanes, evaluate);
            if let Some((executions, counts)) = self.executions.as_mut().zip(recorded.counts) {
                executions.count_access(at, counts);
            }
            touched = recorded.addresses;
            // That no lane takes part follows from the guard as well.
            self.decided = self.decided.with(recorded.origin).with(origin);
        }
        if let Some(executions) = self.executions.as_mut()
            && lanes.any()
            && is_of_global_memory(op)
        {
            executions.touch(touched.as_ref());
        }
        let agreed = match one.candidates.must_follow(op) {
            true => (one.candidates).follow(&self.inputs, &one.rows, op, active),
            false => Default::default(),
        };
        let decided = self.inputs.apply_effect(&mut one.rows, op, lanes, origin);
        for (cell, row) in &agreed {
            self.inputs.learn(&mut one.rows, *cell, row);
        }
        self.decided = self.decided.with(decided);
        if op.control == ControlEffect::Next {
            let next = self.point(at.next().0, here.is_group);
            let moved = one.move_all(&ControlTransfer::Next, next);
            moved.map_err(|_| fail(NoProfileReason::Unsupported))?;
            return Ok(RunStep::Continue);
        }
        self.decided = self.decided.with(origin);
        if op.control == ControlEffect::Exit && (lanes.possible != 0 || !one.is_certain) {
            self.may_have_ended |= Mask::from(lanes.all());
        }
        self.transfer(one, op, here, lanes).map_err(fail)
    }

    /// An operation as a point that no earlier step has moved to. `is_group` as in [`StampedPoint`], by the lanes.
    fn point(&mut self, at: u32, is_group: bool) -> StampedPoint {
        self.stamp += 1;
        StampedPoint {
            at,
            stamp: self.stamp,
            is_group: is_group || !self.values.code.family.may_merge_groups(),
        }
    }

    /// Counts the execution of loop headers; returns the active lanes that the stated bounds leave.
    fn count_iteration(&self, one: &mut Alternative, at: OpIndex, active: u32) -> u32 {
        let loops = self.loops_of.get(at.index()).copied().unwrap_or_default();
        // No operation of a loop is executed outside of it, so lanes at any other operation have left it (SOUNDNESS
        // 6.5).
        one.iterations.leave_all_but(loops.around, active);
        let bound = |number: usize| self.values.loops.get(number).map_or(0, |known| known.bound);
        let over = one.iterations.count(loops.headed, active, bound);
        // Where the path is certain, it is executed whatever is stated.
        if over != 0 && !one.is_certain {
            let left = one.without(over.into(), self.order);
            *one = left;
            return active & !over;
        }
        active
    }

    /// Applies a control transfer.
    fn transfer(
        &mut self,
        one: &mut Alternative,
        op: &Op,
        here: StampedPoint,
        lanes: OpLanes,
    ) -> Result<RunStep, NoProfileReason> {
        let at = OpIndex(here.at);
        // Lanes of two sides may meet anywhere until an entry below them resumes.
        let is_group = here.is_group && !splits(op, lanes);
        let next = self.point(at.next().0, is_group);
        if lanes.any()
            && let Some(jump) = IndirectJump::of(&op.control)
        {
            return self.jump_indirect(one, jump, here, lanes);
        }
        let transfer = match &op.control {
            ControlEffect::Jump(ControlTarget::Op(to)) if *to == at.next() => ControlTransfer::Next,
            // It ends the launch, whatever other warps have left to do.
            ControlEffect::Exit if lanes.any() && op.meaning == Some(Meaning::Trap) => {
                return Err(NoProfileReason::Unsupported);
            }
            // A lane may take either side, whatever its cells hold (SOUNDNESS 21.2).
            ControlEffect::Collective(ControlTarget::Op(to))
            | ControlEffect::FreeJump(ControlTarget::Op(to))
                if lanes.any() =>
            {
                let to = self.point(to.0, false);
                let lanes = OpLanes {
                    certain: 0,
                    possible: lanes.all(),
                    ..lanes
                };
                return self.decide(one, here, &ControlTransfer::Jump(to), lanes);
            }
            _ => {
                let transfers = self.values.transfers;
                let point = |to: OpIndex| Some(self.point(to.0, is_group));
                (transfers.transfer(op, at, lanes.any(), point))
                    .ok_or(NoProfileReason::Unsupported)?
            }
        };
        let skips_to = self.values.transfers.agreed_skips.get(&at);
        if let Some(&target) = skips_to.filter(|_| lanes.possible == lanes.active.mask) {
            // The whole group goes one way, and both ways lead to the target. What lies between is executed by all of its
            // lanes or by none.
            self.count_decision(at)?;
            one.skip_until = Some(target);
            let next = self.point(at.next().0, here.is_group);
            let moved = one.move_all(&ControlTransfer::Next, next);
            return match moved {
                Ok(()) => Ok(RunStep::Continue),
                Err(_) => Err(NoProfileReason::Unsupported),
            };
        }
        if lanes.possible == 0 || transfer == ControlTransfer::Next {
            if !op.condition.is_always() {
                self.unknown_in_a_row = 0;
            }
            // The entry that is pushed has the point of the running one, which no other step may have.
            let stamped = self.point(at.0, here.is_group);
            let moved = one.move_all(&ControlTransfer::Next, stamped);
            let moved = moved.and_then(|()| one.stack.apply(&transfer, lanes.certain.into(), next));
            return match moved {
                Ok(_) => Ok(RunStep::Continue),
                Err(_) => Err(NoProfileReason::Unsupported),
            };
        }
        self.decide(one, here, &transfer, lanes)
    }

    /// Continues on both sides of a transfer that unknown values decide.
    fn decide(
        &mut self,
        one: &mut Alternative,
        here: StampedPoint,
        transfer: &ControlTransfer<'_, StampedPoint>,
        lanes: OpLanes,
    ) -> Result<RunStep, NoProfileReason> {
        let at = OpIndex(here.at);
        self.count_decision(at)?;
        let unsupported = |_| NoProfileReason::Unsupported;
        let stays_group = here.is_group && *transfer == ControlTransfer::Exit;
        let next = self.point(at.next().0, stays_group);
        if *transfer == ControlTransfer::Exit {
            // A warp issues no more with fewer lanes, so the lanes that may have ended go on (SOUNDNESS 6.5).
            let moved = one.stack.apply(transfer, lanes.certain.into(), next);
            moved.map_err(unsupported)?;
            one.is_certain = false;
            return Ok(RunStep::Continue);
        }
        // A lane whose condition is unknown is in both alternatives.
        let stay = lanes.active.mask & !lanes.certain & !lanes.possible;
        let mut taken = one.without(stay.into(), self.order);
        taken.move_all(transfer, next).map_err(unsupported)?;
        taken.waits = taken.height() < one.height();
        *one = one.without(lanes.certain.into(), self.order);
        one.move_all(&ControlTransfer::Next, next)
            .map_err(unsupported)?;
        Ok(RunStep::Fork(vec![taken]))
    }

    /// Counts a decision by unknown values.
    fn count_decision(&mut self, at: OpIndex) -> Result<(), NoProfileReason> {
        self.is_exact = false;
        self.unknown_at.insert(at);
        self.decisions += 1;
        // Inside a loop with a bound, the bound ends the decisions.
        if self
            .loops_of
            .get(at.index())
            .is_none_or(|loops| loops.around == 0)
        {
            self.unknown_in_a_row += 1;
        }
        if self.decisions > MAX_DECISIONS || self.unknown_in_a_row > MAX_UNKNOWN_IN_A_ROW {
            return Err(NoProfileReason::Decisions);
        }
        Ok(())
    }

    /// Executes an indirect jump. Lanes whose target is unknown may go to each target that the jump has.
    fn jump_indirect(
        &mut self,
        one: &mut Alternative,
        jump: IndirectJump,
        here: StampedPoint,
        lanes: OpLanes,
    ) -> Result<RunStep, NoProfileReason> {
        let at = OpIndex(here.at);
        let row = match jump.base {
            _ if !jump.relative => LaneRow::UNKNOWN,
            Some(cell) => self.inputs.row(&one.rows, cell),
            None => LaneRow::splat(0, ValueOrigin::NONE),
        };
        self.decided = self.decided.with(row.origin);
        let known = lanes.certain & row.known();
        let word = |lane| row.word(lane).unwrap_or_default();
        let targets = indirect_targets(self.values.code, jump.anchor, known, word);
        let mut targets = targets.ok_or(NoProfileReason::IndirectJump)?;
        let unknown = Mask::from(lanes.certain & !row.known());
        if unknown == 0 && lanes.possible == 0 {
            let all_jump = lanes.certain == lanes.active.mask;
            let is_group = here.is_group && all_jump && targets.len() == 1;
            let next = self.point(at.next().0, is_group);
            let targets = targets.iter().map(|&(to, lanes)| match to.0 == next.at {
                // Lanes that go on and lanes that jump there stay together.
                true => (next, lanes),
                false => (self.point(to.0, is_group), lanes),
            });
            let targets: Vec<(StampedPoint, Mask)> = targets.collect();
            let transfer = ControlTransfer::Indirect(&targets);
            let moved = one.stack.apply(&transfer, lanes.certain.into(), next);
            return match moved {
                Ok(_) => Ok(RunStep::Continue),
                Err(_) => Err(NoProfileReason::Unsupported),
            };
        }
        let listed = self.values.transfers.indirect.get(&at);
        let listed = listed
            .filter(|_| lanes.possible == 0)
            .ok_or(NoProfileReason::IndirectJump)?;
        self.count_decision(at)?;
        for target in listed {
            match targets.iter_mut().find(|(to, _)| to == target) {
                Some((_, lanes)) => *lanes |= unknown,
                None => targets.push((*target, unknown)),
            }
        }
        let stay = lanes.active.mask & !lanes.certain;
        if stay != 0 {
            targets.push((at.next(), stay.into()));
        }
        let mut sides = Vec::with_capacity(targets.len());
        for (target, on_side) in targets {
            let others = Mask::from(lanes.active.mask) & !on_side;
            let mut side = one.without(others, self.order);
            let target = self.point(target.0, false);
            side.move_all(&ControlTransfer::Jump(target), target)
                .map_err(|_| NoProfileReason::Unsupported)?;
            sides.push(side);
        }
        *one = sides.pop().ok_or(NoProfileReason::IndirectJump)?;
        Ok(RunStep::Fork(sides))
    }
}
