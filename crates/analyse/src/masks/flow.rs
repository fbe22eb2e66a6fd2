//! Transfer of facts about masks through operations and branches.

use warpbound_base::Deadline;
use warpbound_graph::DataflowProblem;
use warpbound_ir::{Cell, ControlEffect, Meaning, OpIndex};
use warpbound_simt::NodeId;

use super::domain::{MaskState, predicate_of, takes_ballot};
use super::literals::MaskSite;
use super::{Masks, check};
use crate::refusal::Refusal;

/// Forward analysis of the facts at the entries of nodes.
pub(super) struct MaskProblem<'m, 'a> {
    pub(super) masks: &'m Masks<'a>,
    pub(super) deadline: Deadline,
}

/// Facts before the first node: lanes are active, unless the wave is any split.
pub(super) fn at_entry(masks: &Masks<'_>) -> MaskState {
    let mut state = MaskState::default();
    state.is_active = masks.begins_active;
    if let Some(site) = masks.number(MaskSite::Entry) {
        state.name_active(site);
    }
    state
}

/// Names the active lanes on entry to a node that has several predecessors.
pub(super) fn enter(masks: &Masks<'_>, node: NodeId, state: &mut MaskState) {
    if let Some(site) = masks.number(MaskSite::Join(node)) {
        state.forget_site(site);
        state.name_active(site);
    }
}

/// Names the active lanes at the branch on a mask that ends a node.
pub(super) fn leave(masks: &Masks<'_>, node: NodeId, state: &mut MaskState) {
    if let Some(site) = masks.number(MaskSite::Branch(node)) {
        state.forget_site(site);
        state.name_active(site);
    }
}

/// Applies an operation of a node.
pub(super) fn apply(masks: &Masks<'_>, node: NodeId, at: OpIndex, state: &mut MaskState) {
    let Some(op) = masks.code.get(at) else {
        return;
    };
    let compared = masks.number(MaskSite::Compared(node, at));
    let holds = masks.number(MaskSite::Holds(node, at));
    let active = masks.number(MaskSite::Active(node, at));
    // Facts about earlier executions of the operation end before its values are computed from them.
    for site in [compared, holds, active].into_iter().flatten() {
        state.forget_site(site);
    }
    if let Some(site) = compared {
        state.name_active(site);
    }
    let words = op.writes.iter().filter(|cell| !cell.is_per_lane());
    match &op.meaning {
        Some(Meaning::Set(values)) if op.condition.is_always() => {
            let holds = holds.filter(|_| predicate_of(op).is_some());
            let mut computed: Vec<_> = values
                .iter()
                .filter(|(cell, _)| !cell.is_per_lane())
                .map(|(cell, value)| (*cell, state.evaluate(value, holds, &masks.halves)))
                .collect();
            if op.writes.iter().any(|cell| Cell::EXEC_WORDS.contains(cell)) {
                state.change_active(&mut computed);
            }
            // Words that its meaning does not give are unknown.
            words.for_each(|&cell| state.forget_cell(cell));
            for (cell, word) in computed {
                state.set(cell, word);
            }
        }
        _ => {
            if op.writes.iter().any(|cell| Cell::EXEC_WORDS.contains(cell)) {
                state.change_active(&mut []);
            }
            words.for_each(|&cell| state.forget_cell(cell));
        }
    }
    if let Some(site) = holds {
        // Lanes of a ballot are active, unless the operation changes which are.
        if takes_ballot(op) && !matches!(op.control, ControlEffect::SetActive(_)) {
            state.include_in_active(site);
        }
    }
    if let (ControlEffect::SetActive(_), Some(site)) = (&op.control, active) {
        state.is_active = state.contains_occupied_site();
        state.name_active(site);
    }
}

impl DataflowProblem for MaskProblem<'_, '_> {
    type State = MaskState;
    type Error = Refusal;

    fn flow(
        &mut self,
        node: usize,
        state: &MaskState,
        emit: &mut dyn FnMut(usize, MaskState),
    ) -> Result<(), Refusal> {
        let masks = self.masks;
        let here = NodeId(node as u32);
        let block = masks.thread.space.block(here);
        check(self.deadline, masks.code, block.first)?;
        let Some(Some(resolved)) = masks.thread.resolved.get(node) else {
            return Ok(());
        };
        let mut state = state.clone();
        enter(masks, here, &mut state);
        for at in block.ops() {
            apply(masks, here, at, &mut state);
        }
        leave(masks, here, &mut state);
        if resolved.external.is_some() {
            state.forget_all();
        }
        let guard = resolved
            .condition
            .guard
            .filter(|_| !resolved.condition.has_further_test());
        let tested = guard.and_then(Cell::mask_words);
        let steps = &masks.thread.steps[node];
        let falls = |to: NodeId| resolved.next == Some(to);
        for to in steps.iter().filter_map(|step| step.to) {
            let mut state = state.clone();
            // With both sides at one node, a step does not show which one was taken.
            let others = steps.iter().filter(|step| step.to == Some(to)).count();
            if let Some(words) = tested
                && steps.len() == 2
                && others == 1
            {
                // The guard holds if some lane is in the mask.
                let some = falls(to) == resolved.condition.negated;
                // A side that no run takes says nothing about what follows.
                if !some && words == Cell::EXEC_WORDS && state.is_active {
                    continue;
                }
                match some {
                    // A split may be on this side without lanes, although the whole wave has one.
                    true if words == Cell::EXEC_WORDS && masks.begins_active => {
                        state.occupy(masks.sites.len() as u32);
                    }
                    true => {}
                    false => state.empty(words),
                }
            }
            emit(to.index(), state);
        }
        Ok(())
    }

    fn join(&mut self, _: usize, old: &mut MaskState, new: MaskState) -> bool {
        old.join(&new)
    }

    fn priority(&self, node: usize) -> u64 {
        self.masks.thread.rank(node)
    }
}
