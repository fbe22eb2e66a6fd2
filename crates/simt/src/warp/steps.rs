//! Successors of an abstract warp state (`warp-cfg-2023` 3.4, Algorithm 1).
//!
//! For each control operation the rules follow the concrete ones of [`crate::activation_stack`] and
//! [`crate::frame_stack`], with an unknown condition: it holds in all active lanes, in none, or, where it may differ,
//! in some. For example, a BRA whose condition may differ has up to four successors: all lanes jump, none jumps, and
//! both orders of the two sides.

use smallvec::{SmallVec, smallvec};

use super::{
    AgreementDomain, ControlOp, DivergenceOrder, KnownCondition, MayUnderflow, ReconvergencePoint,
    Via, WarpModel, WarpState, WarpStep,
};
use crate::bitset::BitSet;
use crate::groups::{ACTIVE, Halting};
use crate::{EntryId, EntrySite, EntryTable, NodeId, Tag};

impl WarpState {
    /// [`crate::AbstractModel::step`] of `model`.
    pub(super) fn step(
        self,
        op: &ControlOp,
        condition: KnownCondition,
        position: (NodeId, Option<NodeId>),
        model: &WarpModel,
        entries: &mut EntryTable,
        emit: &mut dyn FnMut(WarpStep, Option<WarpState>),
    ) -> Result<(), MayUnderflow> {
        let (here, next) = position;
        // A lane that runs alone always agrees with itself.
        let condition = match (condition, model.may_diverge) {
            (KnownCondition::MayDiffer { .. }, false) => KnownCondition::Agreed,
            (given, _) => given,
        };
        let mut state = self;
        // If both sides continue at one node, the lanes stay together and may still differ in the deciding cell.
        let sides_differ = op.sides_differ(next);
        if let KnownCondition::MayDiffer {
            deciding_cell: Some(cell),
        } = condition
            && sides_differ
            && model.agreement != AgreementDomain::Off
        {
            // Only lanes with the same value of the deciding cell continue together, on either side.
            state.agree[ACTIVE].insert(cell);
        }
        let may_hold = condition != KnownCondition::Never;
        let may_fail = condition != KnownCondition::Always;
        let may_split = matches!(condition, KnownCondition::MayDiffer { .. });
        // A step along an edge adds no fact by which an entry could turn out infeasible, so the states emitted here
        // need no `drop_infeasible_entries`.
        state.apply_domain_limits(model);
        match (op, next) {
            (ControlOp::FallThrough, Some(next)) => {
                emit(WarpStep::walk(next), Some(state));
                return Ok(());
            }
            (ControlOp::Jump(target) | ControlOp::Branch { target, .. }, _) if !may_fail => {
                emit(WarpStep::walk(*target), Some(state));
                return Ok(());
            }
            // Where the condition holds in no lane, every control operation falls through.
            (_, Some(next)) if may_fail => emit(WarpStep::walk(next), Some(state.clone())),
            _ => {}
        }
        if !may_hold {
            return Ok(());
        }
        let mut successors = Successors {
            here,
            next,
            may_split,
            model,
            entries,
            emit,
        };
        match op {
            ControlOp::FallThrough => {}
            ControlOp::Jump(target) => successors.jump(&state, *target),
            ControlOp::Branch {
                target,
                reconvergence,
            } => successors.branch(&state, *target, *reconvergence, sides_differ),
            ControlOp::Reconverge => successors.reconverge(&state),
            ControlOp::IndirectJump { targets, agreed } => {
                successors.indirect_jump(&state, targets, *agreed);
            }
            ControlOp::Push { tag, resume } => successors.push(&state, *tag, *resume, next),
            ControlOp::Call { resume, callee } => {
                successors.push(&state, Tag::Ret, *resume, Some(*callee));
            }
            ControlOp::Pop(tag) => successors.pop(&state, *tag)?,
            ControlOp::Exit => successors.exit(&state),
        }
        Ok(())
    }

    /// Partitions this state by its stacks. The first part has the stacks whose topmost entry is a frame that
    /// reconverges at `at`, or a side pending on such a frame; the second part has the others.
    ///
    /// The others have no such frame at all: all paths from the branch of a frame lead through its reconvergence
    /// point, so frames reconverge from the top (SOUNDNESS 3.3).
    fn partition_by_top_frame(
        &self,
        at: NodeId,
        entries: &EntryTable,
    ) -> (Option<WarpState>, Option<WarpState>) {
        let frame: BitSet = (1..self.stack.slots())
            .filter(|&slot| {
                let id = self.stack.id(slot);
                id.is_some_and(|id| entries.get(id).reconvergence == Some(at))
            })
            .collect();
        if !self.stack.top().intersects(&frame) {
            return (None, self.without_slots(&frame));
        }
        let mut on_top = self.clone();
        on_top.stack.keep_top(&frame);
        (
            on_top.without_slots(&BitSet::new()),
            self.without_slots(&frame),
        )
    }

    /// Returns the state restricted to stacks without these slots; `None` if there are none.
    fn without_slots(&self, slots: &BitSet) -> Option<WarpState> {
        let mut state = self.clone();
        if let Some(moves) = state.stack.remove_slots(slots) {
            state.remap(&moves);
        }
        (!state.stack.is_infeasible()).then_some(state)
    }

    /// Returns the states that a divergent branch at `here` may split. First the state whose topmost frame already
    /// reconverges at the branch's point (the whole state, if the branch has no such point); then the other state,
    /// after the push of a frame.
    fn with_frame(
        &self,
        here: NodeId,
        reconvergence: Option<ReconvergencePoint>,
        entries: &mut EntryTable,
    ) -> (Option<WarpState>, Option<(EntryId, WarpState)>) {
        // Lanes that reconverge at the end of the kernel exit there and never run on together, so they need no frame.
        let Some(point) = reconvergence else {
            return (Some(self.clone()), None);
        };
        let (framed, others) = self.partition_by_top_frame(point.at, entries);
        let frame = entries.intern(EntrySite {
            pushed_by: here,
            resume: point.resume,
            tag: Tag::Frame,
            reconvergence: Some(point.at),
        });
        (framed, others.map(|state| (frame, state.after_push(frame))))
    }
}

impl ControlOp {
    /// Whether lanes for which the condition holds continue elsewhere than the others, which continue at `next`.
    /// If not, they stay together, whatever the condition is in each lane.
    fn sides_differ(&self, next: Option<NodeId>) -> bool {
        match self {
            ControlOp::FallThrough => false,
            ControlOp::Jump(target) | ControlOp::Branch { target, .. } => next != Some(*target),
            ControlOp::IndirectJump { targets, .. } => next.is_none_or(|n| !targets.contains(&n)),
            _ => true,
        }
    }
}

/// Emitter of the steps for a condition that holds in all active lanes or in some.
struct Successors<'a> {
    /// Node that ends with the operation.
    here: NodeId,
    /// Node after it in memory.
    next: Option<NodeId>,
    /// Whether the condition may hold in some active lanes only.
    may_split: bool,
    model: &'a WarpModel,
    entries: &'a mut EntryTable,
    emit: &'a mut (dyn FnMut(WarpStep, Option<WarpState>) + 'a),
}

impl Successors<'_> {
    /// Emits a step, unless its state has no feasible stack.
    fn emit(&mut self, step: WarpStep, mut state: WarpState) {
        if state.drop_infeasible_entries(self.model) {
            (self.emit)(step, Some(state));
        }
    }

    fn jump(&mut self, state: &WarpState, target: NodeId) {
        self.emit(WarpStep::walk(target), state.clone());
        if let (Some(next), true) = (self.next, self.may_split) {
            for (first, deferred) in side_orders(self.model, target, next) {
                // A branch pushes no reconvergence point: an instruction before it does (`warp-cfg-2023` 2).
                let pending = self.entries.intern(nil_entry(self.here, deferred, None));
                let step = WarpStep::walk(first).pushing(&[pending]);
                self.emit(step, state.after_divergence(&[pending]));
            }
        }
    }

    fn branch(
        &mut self,
        state: &WarpState,
        target: NodeId,
        reconvergence: Option<ReconvergencePoint>,
        sides_differ: bool,
    ) {
        self.emit(WarpStep::walk(target), state.clone());
        if let (Some(next), true) = (self.next, self.may_split && sides_differ) {
            let (framed, pushed) = state.with_frame(self.here, reconvergence, self.entries);
            let framed = framed.into_iter().map(|base| (base, None));
            let pushed = pushed.map(|(frame, base)| (base, Some(frame)));
            for (base, frame) in framed.chain(pushed) {
                for (first, deferred) in side_orders(self.model, target, next) {
                    let at = reconvergence.map(|point| point.at);
                    let pending = self.entries.intern(nil_entry(self.here, deferred, at));
                    // The frame lies below the pending side, which pops to it (SOUNDNESS 3.3).
                    let pushes: SmallVec<[EntryId; 2]> =
                        frame.into_iter().chain([pending]).collect();
                    let step = WarpStep::walk(first).pushing(&pushes);
                    self.emit(step, base.after_divergence(&[pending]));
                }
            }
        }
    }

    fn reconverge(&mut self, state: &WarpState) {
        let here = self.here;
        let (framed, others) = state.partition_by_top_frame(here, self.entries);
        if let (Some(others), Some(next)) = (others, self.next) {
            self.emit(WarpStep::walk(next), others);
        }
        if let Some(framed) = framed {
            // Pending lanes of a side lie on the frame of their branch, so there is a frame to pop to.
            let is_target =
                |entry: EntrySite| entry.tag == Tag::Frame && entry.reconvergence == Some(here);
            let (halted, _) = framed.after_halt(Some(&is_target), Halting::All, self.entries);
            halted.emit_resumptions(self.model, self.entries, self.emit);
        }
    }

    fn indirect_jump(&mut self, state: &WarpState, targets: &[NodeId], agreed: bool) {
        for &target in targets {
            self.emit(WarpStep::walk(target), state.clone());
        }
        let mut sides = targets.to_vec();
        // The condition may fail in some lanes, which are one more side.
        if self.may_split {
            sides.extend(self.next);
        }
        // `next` may be a target too; each side may be pending only once.
        sides.sort_unstable();
        sides.dedup();
        if !self.model.may_diverge || (agreed && !self.may_split) || sides.len() <= 1 {
            return;
        }
        // No document gives the order of the sides, so each may run first and the others follow in any order.
        for &first in &sides {
            let pending: Vec<EntryId> = sides
                .iter()
                .filter(|&&side| side != first)
                .map(|&resume| self.entries.intern(nil_entry(self.here, resume, None)))
                .collect();
            self.emit(
                WarpStep::walk(first).pushing(&pending),
                state.after_divergence(&pending),
            );
        }
    }

    /// Emits the push of an entry; the lanes continue at `next`.
    fn push(&mut self, state: &WarpState, tag: Tag, resume: NodeId, next: Option<NodeId>) {
        // Guarded pushes are refused when the control effect is resolved, so the entry has all active lanes.
        let id = self.entries.intern(EntrySite {
            pushed_by: self.here,
            resume,
            tag,
            reconvergence: None,
        });
        if let Some(next) = next {
            self.emit(WarpStep::walk(next).pushing(&[id]), state.after_push(id));
        }
    }

    fn pop(&mut self, state: &WarpState, tag: Tag) -> Result<(), MayUnderflow> {
        let has_tag = |entry: EntrySite| entry.tag == tag;
        let after = |halting, entries: &EntryTable| match state.after_halt(
            Some(&has_tag),
            halting,
            entries,
        ) {
            // The steps of a warp after an underflow are not known, so the kernel must be refused.
            (_, true) => Err(MayUnderflow { tag }),
            (halted, false) => Ok(halted),
        };
        // While some lanes stay active no entry is resumed: they continue at the next instruction (SOUNDNESS 3.1).
        if let (Some(next), true) = (self.next, self.may_split) {
            let others = after(Halting::Some, self.entries)?;
            self.emit(WarpStep::walk(next), others);
        }
        after(Halting::All, self.entries)?.emit_resumptions(self.model, self.entries, self.emit);
        Ok(())
    }

    fn exit(&mut self, state: &WarpState) {
        // EXIT pops to no tag, so it cannot underflow.
        if let (Some(next), true) = (self.next, self.may_split) {
            let (others, _) = state.after_halt(None, Halting::Some, self.entries);
            self.emit(WarpStep::walk(next), others);
        }
        let (halted, _) = state.after_halt(None, Halting::All, self.entries);
        halted.emit_resumptions(self.model, self.entries, self.emit);
    }
}

/// Returns the entry of lanes that a divergent branch leaves pending.
fn nil_entry(pushed_by: NodeId, resume: NodeId, reconvergence: Option<NodeId>) -> EntrySite {
    EntrySite {
        pushed_by,
        resume,
        tag: Tag::Nil,
        reconvergence,
    }
}

/// Returns the possible orders of the two sides of a divergent branch: the side that runs first, and the pending one.
fn side_orders(
    model: &WarpModel,
    target: NodeId,
    next: NodeId,
) -> impl Iterator<Item = (NodeId, NodeId)> + use<> {
    let taken_first = model.order != DivergenceOrder::FallThroughFirst;
    // With equal sides both orders are the same step.
    let other_first = model.order != DivergenceOrder::TakenFirst && target != next;
    [
        taken_first.then_some((target, next)),
        other_first.then_some((next, target)),
    ]
    .into_iter()
    .flatten()
}

impl WarpStep {
    /// Step of the active lanes to `to`.
    fn walk(to: NodeId) -> WarpStep {
        WarpStep {
            to: Some(to),
            via: Via::Walk,
            pushes: smallvec![],
        }
    }

    /// Step with which the warp finishes.
    pub(super) fn finish() -> WarpStep {
        WarpStep {
            to: None,
            via: Via::Walk,
            pushes: smallvec![],
        }
    }

    /// Returns this step with the push of `entries`.
    fn pushing(mut self, entries: &[EntryId]) -> WarpStep {
        self.pushes = SmallVec::from_slice(entries);
        self
    }
}
