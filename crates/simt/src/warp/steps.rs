//! What a warp may do next (Algorithm 1 of the paper).

use smallvec::{SmallVec, smallvec};

use super::{
    AgreementDomain, KnownCondition, ControlOp, DivergenceOrder, MayUnderflow, ReconvergencePoint, WarpModel, WarpStep,
    Via, WarpState,
};
use crate::bitset::BitSet;
use crate::groups::{ACTIVE, Halting};
use crate::{EntrySite, EntryId, EntryTable, NodeId, Tag};

impl WarpState {
    /// All steps of a warp that executes `op` under `condition` as the last instruction of `here`;
    /// `next` is the node after it (Algorithm 1 of the paper). `emit` receives each step with the
    /// state it leads to (none when the warp finishes).
    pub fn step(
        self,
        op: &ControlOp,
        condition: KnownCondition,
        places: (NodeId, Option<NodeId>),
        model: &WarpModel,
        entries: &mut EntryTable,
        emit: &mut dyn FnMut(WarpStep, Option<WarpState>),
    ) -> Result<(), MayUnderflow> {
        let (here, next) = places;
        let condition = match (condition, model.may_diverge) {
            (KnownCondition::Open { .. }, false) => KnownCondition::Agreed,
            (given, _) => given,
        };
        let mut state = self;
        // Lanes that go on at the same place, whatever the condition says for each, stay together.
        let sides_part = match op {
            ControlOp::FallThrough => false,
            ControlOp::Jump(target) | ControlOp::Branch { target, .. } => next != Some(*target),
            ControlOp::Scatter { targets, .. } => next.is_none_or(|n| !targets.contains(&n)),
            _ => true,
        };
        if let KnownCondition::Open {
            decides: Some(cell),
        } = condition
            && sides_part
            && model.agreement != AgreementDomain::Off
        {
            // Within each side of the split the deciding cell has one value.
            state.agree[ACTIVE].insert(cell);
        }
        let may_hold = condition != KnownCondition::Never;
        let may_fail = condition != KnownCondition::Always;
        let may_split = matches!(condition, KnownCondition::Open { .. });
        // Walking changes nothing that could be dropped, so these states need not be reduced again.
        state.limit(model);
        match (op, next) {
            (ControlOp::FallThrough, Some(next)) => {
                emit(WarpStep::walk(next), Some(state));
                return Ok(());
            }
            (ControlOp::Jump(target) | ControlOp::Branch { target, .. }, _) if !may_fail => {
                emit(WarpStep::walk(*target), Some(state));
                return Ok(());
            }
            (_, Some(next)) if may_fail => emit(WarpStep::walk(next), Some(state.clone())),
            _ => {}
        }
        if !may_hold {
            return Ok(());
        }
        let mut out = |step: WarpStep, mut to: WarpState| {
            if to.reduce(model) {
                emit(step, Some(to));
            }
        };
        match op {
            ControlOp::FallThrough => {}
            ControlOp::Jump(target) => {
                out(WarpStep::walk(*target), state.clone());
                if let (Some(next), true) = (next, may_split) {
                    for (first, waits) in orders(model, *target, next) {
                        let waiting = entries.intern(nil(here, waits, None));
                        let step = WarpStep::walk(first).pushing(&[waiting]);
                        out(step, state.diverged(&[waiting]));
                    }
                }
            }
            ControlOp::Branch { target, meet } => {
                out(WarpStep::walk(*target), state.clone());
                if let (Some(next), true) = (next, may_split && sides_part) {
                    let (framed, frame) = state.framed(here, *meet, entries);
                    let bases = framed.into_iter().map(|base| (base, None));
                    for (base, frame) in bases.chain(frame.map(|(id, base)| (base, Some(id)))) {
                        for (first, waits) in orders(model, *target, next) {
                            let waiting = entries.intern(nil(here, waits, meet.map(|m| m.at)));
                            let pushes: SmallVec<[EntryId; 2]> =
                                frame.into_iter().chain([waiting]).collect();
                            let step = WarpStep::walk(first).pushing(&pushes);
                            out(step, base.diverged(&[waiting]));
                        }
                    }
                }
            }
            ControlOp::Meet => {
                let (met, passing) = state.meeting_at(here, entries);
                if let (Some(passing), Some(next)) = (passing, next) {
                    out(WarpStep::walk(next), passing);
                }
                if let Some(met) = met {
                    // Lanes that wait for their turn stand on the frame they belong to, so there is one.
                    let keeps = |entry: EntrySite| entry.tag == Tag::Frame && entry.meets == Some(here);
                    let (halted, _) = met.halted(Some(&keeps), Halting::All, entries);
                    halted.resumptions(model, entries, emit);
                }
            }
            ControlOp::Scatter { targets, agreed } => {
                for &target in targets {
                    out(WarpStep::walk(target), state.clone());
                }
                let mut ways = targets.clone();
                if may_split {
                    ways.extend(next);
                }
                ways.sort_unstable();
                ways.dedup();
                let splits = model.may_diverge && (!agreed || may_split) && ways.len() > 1;
                for &first in ways.iter().filter(|_| splits) {
                    let waiting: Vec<EntryId> = ways
                        .iter()
                        .filter(|&&way| way != first)
                        .map(|&resume| entries.intern(nil(here, resume, None)))
                        .collect();
                    out(
                        WarpStep::walk(first).pushing(&waiting),
                        state.diverged(&waiting),
                    );
                }
            }
            ControlOp::Push { tag, resume } => {
                let id = entries.intern(EntrySite {
                    pushed_by: here,
                    resume: *resume,
                    tag: *tag,
                    meets: None,
                });
                if let Some(next) = next {
                    out(WarpStep::walk(next).pushing(&[id]), state.pushed(id));
                }
            }
            ControlOp::Call { resume, callee } => {
                let id = entries.intern(EntrySite {
                    pushed_by: here,
                    resume: *resume,
                    tag: Tag::Ret,
                    meets: None,
                });
                out(WarpStep::walk(*callee).pushing(&[id]), state.pushed(id));
            }
            ControlOp::Unwind(tag) => {
                let has_tag = |entry: EntrySite| entry.tag == *tag;
                let halted = |halting| match state.halted(Some(&has_tag), halting, entries) {
                    (_, true) => Err(MayUnderflow { tag: *tag }),
                    (halted, false) => Ok(halted),
                };
                if let (Some(next), true) = (next, may_split) {
                    out(WarpStep::walk(next), halted(Halting::Some)?);
                }
                halted(Halting::All)?.resumptions(model, entries, emit);
            }
            ControlOp::Exit => {
                if let (Some(next), true) = (next, may_split) {
                    let (others, _) = state.halted(None, Halting::Some, entries);
                    out(WarpStep::walk(next), others);
                }
                let (halted, _) = state.halted(None, Halting::All, entries);
                halted.resumptions(model, entries, emit);
            }
        }
        Ok(())
    }

    /// This state parted by what is on top: stacks whose topmost frame meets at `at`, and the others.
    ///
    /// Of the others none has such a frame at all: all ways from the branch of a frame lead through its meeting
    /// point, so one that lies deeper meets later (`SOUNDNESS.md`).
    fn meeting_at(
        &self,
        at: NodeId,
        entries: &EntryTable,
    ) -> (Option<WarpState>, Option<WarpState>) {
        let frame: BitSet = (1..self.stack.slots())
            .filter(|&slot| {
                let id = self.stack.id(slot);
                id.is_some_and(|id| entries.get(id).meets == Some(at))
            })
            .collect();
        if !self.stack.top().intersects(&frame) {
            return (None, self.without(&frame));
        }
        let mut met = self.clone();
        met.stack.keep_top(&frame);
        (met.without(&BitSet::new()), self.without(&frame))
    }

    /// The stacks without these slots; `None` when there are none.
    fn without(&self, slots: &BitSet) -> Option<WarpState> {
        let mut state = self.clone();
        if let Some(moves) = state.stack.restrict(slots) {
            state.remap(&moves);
        }
        (!state.stack.is_infeasible()).then_some(state)
    }

    /// What a branch that sends lanes apart finds below them: the topmost frame meets at `meet` already (or no
    /// frame is needed); or else a frame is pushed.
    fn framed(
        &self,
        here: NodeId,
        meet: Option<ReconvergencePoint>,
        entries: &mut EntryTable,
    ) -> (Option<WarpState>, Option<(EntryId, WarpState)>) {
        let Some(meet) = meet else {
            return (Some(self.clone()), None);
        };
        let (met, others) = self.meeting_at(meet.at, entries);
        let frame = entries.intern(EntrySite {
            pushed_by: here,
            resume: meet.resume,
            tag: Tag::Frame,
            meets: Some(meet.at),
        });
        (met, others.map(|state| (frame, state.pushed(frame))))
    }
}

/// Lanes that a branch leaves waiting.
fn nil(pushed_by: NodeId, resume: NodeId, meets: Option<NodeId>) -> EntrySite {
    EntrySite {
        pushed_by,
        resume,
        tag: Tag::Nil,
        meets,
    }
}

/// Which side of a branch may run first, and which waits.
fn orders(
    model: &WarpModel,
    target: NodeId,
    next: NodeId,
) -> impl Iterator<Item = (NodeId, NodeId)> + use<> {
    let taken = model.order != DivergenceOrder::FallThroughFirst;
    let other = model.order != DivergenceOrder::TakenFirst && target != next;
    [
        taken.then_some((target, next)),
        other.then_some((next, target)),
    ]
    .into_iter()
    .flatten()
}

impl WarpStep {
    fn walk(to: NodeId) -> WarpStep {
        WarpStep {
            to: Some(to),
            via: Via::Walk,
            pushes: smallvec![],
        }
    }

    pub(super) fn finish() -> WarpStep {
        WarpStep {
            to: None,
            via: Via::Walk,
            pushes: smallvec![],
        }
    }

    fn pushing(mut self, entries: &[EntryId]) -> WarpStep {
        self.pushes = SmallVec::from_slice(entries);
        self
    }
}
