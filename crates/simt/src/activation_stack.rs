//! Concrete activation stack of one warp (`warp-cfg-2023` 2; SOUNDNESS 3.1).
//!
//! *Divergence* is `ActivationStack::diverge`: the running entry is split into NIL entries.
//! *Reconvergence* is `ActivationStack::pop`: SYNC, BRK, CONT and RET remove lanes from the entries above
//! the matching entry, which keeps them; when it becomes the top, the lanes it still has run on together.
//!
//! Invariants: no entry is empty; the top is NIL; lanes nest as SOUNDNESS 3.2 says.
//!
//! For example, a push for SYNC with lanes 0 to 3 active, and then a branch that lanes 0 and 1 take, leave three
//! entries, bottom first: SYNC with lanes 0 to 3, NIL with lanes 2 and 3, and the running entry with lanes 0 and 1.
//!
//! The stack is generic over the program point `P`: a simulator uses instruction indices, the audit of the analyses
//! uses points with calling contexts. It is generic over the lanes `L` of an entry as well: a mask in a run, and
//! [`crate::uncertain_lanes::UncertainLanes`] where an analysis does not know all lanes.

use std::fmt::Debug;

use crate::warp::DivergenceOrder;
use crate::{ControlTransfer, ExecutionModel, Mask, Tag, TransferError};

/// Lanes of a stack entry.
pub trait EntryLanes: Copy + PartialEq + Debug {
    /// Returns the lanes of a mask, all of them certain.
    fn exactly(lanes: Mask) -> Self;

    /// The lanes that may be in the entry.
    fn possible(self) -> Mask;

    /// Removes lanes.
    fn remove(&mut self, lanes: Mask);
}

/// The lanes of an entry in a run.
impl EntryLanes for Mask {
    #[inline]
    fn exactly(lanes: Mask) -> Mask {
        lanes
    }

    #[inline]
    fn possible(self) -> Mask {
        self
    }

    #[inline]
    fn remove(&mut self, lanes: Mask) {
        *self &= !lanes;
    }
}

/// Entry of the activation stack.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct StackEntry<P, L = Mask> {
    /// Point where its lanes continue when it is on top.
    pub next: P,
    /// Kind of instruction that it waits for; the top is always [`Tag::Nil`].
    pub tag: Tag,
    /// Its lanes, never empty.
    pub mask: L,
    /// The point whose instruction pushed it.
    pub pushed_by: P,
}

/// Activation stack of a run.
pub type ActivationStack<P> = LaneStack<P, Mask>;

/// Activation stack with lanes `L` in its entries; empty when all lanes have exited.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct LaneStack<P, L> {
    /// Entries, bottom first; the last is the running one.
    pub(crate) entries: Vec<StackEntry<P, L>>,
    /// Order of the sides of a divergent jump.
    order: DivergenceOrder,
}

/// Transfers move the lanes that may be in the running entry, so its lanes must be certain where only some of them
/// take a transfer.
impl<P: Copy + PartialEq, L: EntryLanes> ExecutionModel<P> for LaneStack<P, L> {
    fn new(start: P, active: Mask, order: DivergenceOrder) -> Self {
        let entry = StackEntry {
            next: start,
            tag: Tag::Nil,
            mask: L::exactly(active),
            pushed_by: start,
        };
        LaneStack {
            entries: if active == 0 { vec![] } else { vec![entry] },
            order,
        }
    }

    #[inline]
    fn running(&self) -> Option<(P, Mask)> {
        self.top().map(|top| (top.next, top.mask.possible()))
    }

    #[inline]
    fn apply(
        &mut self,
        transfer: &ControlTransfer<'_, P>,
        taken: Mask,
        next: P,
    ) -> Result<bool, TransferError> {
        match *transfer {
            ControlTransfer::Next => self.advance(next),
            ControlTransfer::Jump(target) => return Ok(self.jump(target, taken, next)),
            ControlTransfer::Indirect(parts) => return Ok(self.jump_indirect(parts, taken, next)),
            // Pushes apply to all active lanes, whatever their guard.
            ControlTransfer::Push { tag, resume } => self.push(tag, resume, next),
            ControlTransfer::Call(callee) => self.push(Tag::Ret, next, callee),
            ControlTransfer::Pop(tag) => {
                // Lanes that do not take the pop run on, so the warp splits only if both sides have lanes.
                let splits = taken != 0 && self.others(taken) != 0;
                self.pop(tag, taken, next)?;
                return Ok(splits);
            }
            ControlTransfer::Exit => {
                let splits = taken != 0 && self.others(taken) != 0;
                self.exit(taken, next);
                return Ok(splits);
            }
            ControlTransfer::Branch { .. }
            | ControlTransfer::Reconverge
            | ControlTransfer::SetActive(_)
            | ControlTransfer::OpenBarrier(_)
            | ControlTransfer::JoinBarrier(_)
            | ControlTransfer::BreakBarrier(_)
            | ControlTransfer::SaveBarrier(_)
            | ControlTransfer::WriteBarrier { .. }
            | ControlTransfer::Meet(_)
            | ControlTransfer::Gather { .. }
            | ControlTransfer::Scatter
            | ControlTransfer::Yield => return Err(TransferError::NotInModel),
        }
        Ok(false)
    }
}

impl<P: Copy + PartialEq, L: EntryLanes> LaneStack<P, L> {
    /// Returns the stack of these entries, bottom first. Empty entries are dropped and the top becomes NIL. `order`
    /// as in [`ExecutionModel::new`].
    pub fn from_entries(entries: Vec<StackEntry<P, L>>, order: DivergenceOrder) -> Self {
        let mut stack = LaneStack { entries, order };
        stack.remove_lanes(0, 0);
        stack
    }

    /// The running entry: next instruction and active lanes.
    pub fn top(&self) -> Option<&StackEntry<P, L>> {
        self.entries.last()
    }

    /// Entries below the running one, bottom first.
    pub fn pending(&self) -> &[StackEntry<P, L>] {
        self.entries.split_last().map_or(&[], |(_, rest)| rest)
    }

    /// The number of entries, with the running one; 0 if all lanes have exited.
    pub fn height(&self) -> usize {
        self.entries.len()
    }

    /// The active lanes that are not `taken`.
    #[inline]
    fn others(&self, taken: Mask) -> Mask {
        self.top().map_or(0, |top| top.mask.possible() & !taken)
    }

    /// Moves the active lanes to `next` (fall-through, uniform branch).
    #[inline]
    fn advance(&mut self, next: P) {
        if let Some(top) = self.entries.last_mut() {
            top.next = next;
        }
    }

    /// Executes a push (`next` is the following instruction) or a call (`next` is the callee): the running entry becomes
    /// the tagged one that resumes at `resume`, and a copy of it runs on.
    fn push(&mut self, tag: Tag, resume: P, next: P) {
        if let Some(top) = self.entries.last_mut() {
            // Both entries have the active lanes, so the tagged one covers all that is pushed above it (SOUNDNESS 3.2).
            let here = top.next;
            let mask = top.mask;
            top.tag = tag;
            top.next = resume;
            top.pushed_by = here;
            self.entries.push(StackEntry {
                next,
                tag: Tag::Nil,
                mask,
                pushed_by: here,
            });
        }
    }

    /// Moves the `taken` lanes to `target` and the others to `next`; returns whether the lanes diverge.
    #[inline]
    fn jump(&mut self, target: P, taken: Mask, next: P) -> bool {
        let others = self.others(taken);
        match (taken, others) {
            (0, _) => self.advance(next),
            (_, 0) => self.advance(target),
            // Both successors are one instruction: the lanes stay converged.
            _ if target == next => self.advance(next),
            _ => {
                let (taken, others) = ((target, taken), (next, others));
                match self.order {
                    DivergenceOrder::FallThroughFirst => self.diverge(&[others, taken]),
                    DivergenceOrder::TakenFirst | DivergenceOrder::Any => {
                        self.diverge(&[taken, others]);
                    }
                }
                return true;
            }
        }
        false
    }

    /// Moves the `taken` lanes to the points of their parts and the others to `next`, converged with a part that jumps
    /// there; returns whether the lanes diverge. The parts run in their order, then the others; with
    /// [`DivergenceOrder::FallThroughFirst`] all run in reverse (SOUNDNESS 7).
    fn jump_indirect(&mut self, parts: &[(P, Mask)], taken: Mask, next: P) -> bool {
        let others = self.others(taken);
        let mut sides = parts.to_vec();
        if others != 0 {
            match sides.iter_mut().find(|(to, _)| *to == next) {
                Some((_, lanes)) => *lanes |= others,
                None => sides.push((next, others)),
            }
        }
        if let [(target, _)] = *sides {
            self.advance(target);
            return false;
        }
        if self.order == DivergenceOrder::FallThroughFirst {
            sides.reverse();
        }
        self.diverge(&sides);
        true
    }

    /// Splits the active lanes at a divergent branch. The first of `sides` runs first; sides without lanes are
    /// skipped; the masks must partition the active lanes.
    fn diverge(&mut self, sides: &[(P, Mask)]) {
        if let Some(top) = self.entries.pop() {
            // The side pushed last runs first. NIL entries share no lane (SOUNDNESS 3.2).
            for &(next, mask) in sides.iter().rev() {
                if mask != 0 {
                    self.entries.push(StackEntry {
                        next,
                        tag: Tag::Nil,
                        mask: L::exactly(mask),
                        pushed_by: top.next,
                    });
                }
            }
        }
    }

    /// Reconvergence: executes SYNC, BRK, CONT or RET in the `leaving` lanes (a subset of the active ones); the others
    /// continue at `next`. Removes the lanes from every entry from the top down to, not including, the first
    /// entry of the tag, which keeps them until it runs: the lanes reconverge there.
    ///
    /// # Errors
    ///
    /// [`TransferError::MissingEntry`] if no entry has the tag; the stack is unchanged.
    fn pop(&mut self, tag: Tag, leaving: Mask, next: P) -> Result<(), TransferError> {
        if leaving == 0 {
            self.advance(next);
            return Ok(());
        }
        // Entries of other tags between the top and the target lose the lanes as well: BRK leaves the regions of
        // SYNC inside its own region (`warp-cfg-2023` 2).
        // The top is NIL, so the target is never the running entry.
        let found = self.entries.iter().rposition(|s| s.tag == tag);
        let Some(target) = found else {
            return Err(TransferError::MissingEntry(tag));
        };
        // Before the removal: if all active lanes leave, the new top resumes at its own point.
        self.advance(next);
        self.remove_lanes(target + 1, leaving);
        Ok(())
    }

    /// Executes EXIT in the `leaving` lanes; the others continue at `next`.
    fn exit(&mut self, leaving: Mask, next: P) {
        // The lanes that stay continue after EXIT; if none stays, the entry becomes empty and is dropped.
        self.advance(next);
        self.remove_lanes(0, leaving);
    }

    /// Removes `lanes` from all entries from index `from` up and drops empty entries. The new top becomes
    /// NIL: its lanes run and wait for nothing; if it was tagged, they reconverge here.
    pub(crate) fn remove_lanes(&mut self, from: usize, lanes: Mask) {
        let mut index = 0;
        self.entries.retain_mut(|entry| {
            if index >= from {
                entry.mask.remove(lanes);
            }
            index += 1;
            entry.mask.possible() != 0
        });
        if let Some(top) = self.entries.last_mut() {
            top.tag = Tag::Nil;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ORDER: DivergenceOrder = DivergenceOrder::TakenFirst;

    /// `pastis-2022` Figures 5 to 7: a push of 0x70 for SYNC at 0x08, a branch to 0x48 at 0x10 that two lanes take.
    #[test]
    fn if_else_of_pastis_figures_5_to_7() {
        let mut s = ActivationStack::new(0x08, 0xffff_ffff, ORDER);
        s.push(Tag::Sync, 0x70, 0x10);
        assert_eq!(s.pending()[0].next, 0x70);
        s.diverge(&[(0x48, 0xc000_0000), (0x18, 0x3fff_ffff)]);
        assert_eq!(s.top().map(|t| (t.next, t.mask)), Some((0x48, 0xc000_0000)));
        s.pop(Tag::Sync, 0xc000_0000, 0).unwrap();
        assert_eq!(s.top().map(|t| (t.next, t.mask)), Some((0x18, 0x3fff_ffff)));
        s.pop(Tag::Sync, 0x3fff_ffff, 0).unwrap();
        assert_eq!(
            s.top().map(|t| (t.next, t.mask, t.tag)),
            Some((0x70, 0xffff_ffff, Tag::Nil))
        );
        assert!(s.pending().is_empty());
    }

    /// BRK removes lanes from a SYNC entry that was pushed inside its region.
    #[test]
    fn brk_pops_through_sync() {
        let mut s = ActivationStack::new(0, 0b11, ORDER);
        s.push(Tag::Brk, 100, 1);
        s.push(Tag::Sync, 50, 2);
        s.diverge(&[(10, 0b01), (3, 0b10)]);
        s.pop(Tag::Brk, 0b01, 0).unwrap();
        assert_eq!(s.top().map(|t| (t.next, t.mask)), Some((3, 0b10)));
        assert_eq!(
            s.pending()[1].mask,
            0b10,
            "the SYNC entry lost the lane that broke"
        );
        s.pop(Tag::Sync, 0b10, 0).unwrap();
        assert_eq!(s.top().map(|t| (t.next, t.mask)), Some((50, 0b10)));
        s.pop(Tag::Brk, 0b10, 0).unwrap();
        assert_eq!(s.top().map(|t| (t.next, t.mask)), Some((100, 0b11)));
    }

    #[test]
    fn predicated_sync_lets_the_others_continue() {
        let mut s = ActivationStack::new(0, 0b111, ORDER);
        s.push(Tag::Sync, 9, 1);
        s.pop(Tag::Sync, 0b010, 2).unwrap();
        assert_eq!(s.top().map(|t| (t.next, t.mask)), Some((2, 0b101)));
        s.exit(0b101, 3);
        assert_eq!(s.top().map(|t| (t.next, t.mask)), Some((9, 0b010)));
        s.exit(0b010, 10);
        assert!(s.top().is_none());
    }

    #[test]
    fn sync_without_ssy_is_an_error() {
        let mut s = ActivationStack::new(0, 1, ORDER);
        assert_eq!(
            s.pop(Tag::Sync, 1, 0),
            Err(TransferError::MissingEntry(Tag::Sync))
        );
    }

    #[test]
    fn sides_of_a_jump_run_in_the_order_of_the_stack() {
        let sides = [
            (DivergenceOrder::TakenFirst, (9, 0b01)),
            (DivergenceOrder::FallThroughFirst, (1, 0b10)),
        ];
        for (order, first) in sides {
            let mut s = ActivationStack::new(0, 0b11, order);
            assert_eq!(s.apply(&ControlTransfer::Jump(9), 0b01, 1), Ok(true));
            assert_eq!(s.running(), Some(first));
        }
        let mut s = ActivationStack::new(0, 0b11, ORDER);
        assert_eq!(s.apply(&ControlTransfer::Jump(1), 0b01, 1), Ok(false));
        assert_eq!(s.running(), Some((1, 0b11)));
    }

    #[test]
    fn transfers_of_other_models_are_errors() {
        let mut s = ActivationStack::new(0, 0b11, ORDER);
        let before = s.clone();
        for transfer in [ControlTransfer::Reconverge, ControlTransfer::SetActive(1)] {
            assert_eq!(s.apply(&transfer, 0b11, 1), Err(TransferError::NotInModel));
        }
        assert_eq!(s, before);
    }

    /// Parts run in their order, then the lanes that continue, or all in reverse; lanes that continue stay converged
    /// with a part that jumps to the next point.
    #[test]
    fn parts_of_an_indirect_jump_run_in_the_order_of_the_stack() {
        let jump = |order, parts: &[(u32, Mask)], taken| {
            let mut s = ActivationStack::new(0, 0b1111, order);
            let splits = s.apply(&ControlTransfer::Indirect(parts), taken, 1);
            let entries = s.pending().iter().chain(s.top()).rev();
            let sides: Vec<(u32, Mask)> = entries.map(|s| (s.next, s.mask)).collect();
            assert_eq!(splits, Ok(sides.len() > 1));
            sides
        };
        let reverse = DivergenceOrder::FallThroughFirst;
        let parts = [(9, 0b001), (5, 0b010)];
        let sides = vec![(9, 0b001), (5, 0b010), (1, 0b1100)];
        assert_eq!(jump(ORDER, &parts, 0b011), sides);
        assert_eq!(jump(DivergenceOrder::Any, &parts, 0b011), sides);
        let reversed: Vec<(u32, Mask)> = sides.into_iter().rev().collect();
        assert_eq!(jump(reverse, &parts, 0b011), reversed);
        let parts = [(1, 0b001), (5, 0b010)];
        assert_eq!(jump(ORDER, &parts, 0b011), [(1, 0b1101), (5, 0b010)]);
        assert_eq!(jump(reverse, &parts, 0b011), [(5, 0b010), (1, 0b1101)]);
        for order in [ORDER, reverse] {
            assert_eq!(jump(order, &[(1, 0b10)], 0b10), [(1, 0b1111)]);
            assert_eq!(jump(order, &[(7, 0b1111)], 0b1111), [(7, 0b1111)]);
            assert_eq!(jump(order, &[], 0), [(1, 0b1111)]);
        }
    }
}
