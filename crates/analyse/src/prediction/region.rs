//! Region of code that unknown values decide: all that lanes may execute from a branch until they wait at an entry that
//! was on the stack before, or end.

use std::collections::{BTreeSet, HashMap, HashSet};

use warpbound_ir::{Code, ControlEffect, ControlTarget, OpIndex};
use warpbound_simt::uncertain_lanes::Departure;
use warpbound_simt::{ControlTransfer, Tag};

use super::slice::Slice;
use crate::launch_profile::{KnownTransfers, NoProfileReason};

/// Largest number of pairs of a block and entries that were pushed in a region.
const MAX_STATES: usize = 1 << 15;

/// Largest number of entries that lanes push in a region.
const MAX_PUSHED: u32 = 256;

/// All that may happen in a region, whatever values are.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(super) struct Region {
    /// Blocks that lanes may execute.
    pub(super) blocks: BTreeSet<usize>,
    /// Ways by which lanes may leave it.
    pub(super) departures: Vec<Departure>,
    /// Followed cells that operations may write, as positions in rows.
    pub(super) writes: BTreeSet<usize>,
    /// Whether operations may write global memory.
    pub(super) writes_memory: bool,
    /// Whether some departures may belong to no run: stacks were merged, or a function that lanes were in before returns
    /// to each place from which it is called.
    pub(super) some_may_miss: bool,
}

/// Beginning of a region.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub(super) enum RegionStart {
    /// The control operation that ends a block.
    After(usize),
    /// The beginning of a block.
    Before(usize),
}

/// Entries that lanes pushed in a region: the number of a [`PushedEntry`], 0 for none.
type Pushed = u32;

/// Entry that lanes push in a region.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
struct PushedEntry {
    below: Pushed,
    tag: Tag,
    resume: usize,
}

/// Exploration of a region.
pub(super) struct RegionSearch<'r> {
    code: &'r Code,
    transfers: &'r KnownTransfers,
    slice: &'r Slice,
    /// Entries with their heights; number N is at index N - 1.
    entries: Vec<(PushedEntry, u32)>,
    numbers: HashMap<PushedEntry, Pushed>,
    seen: HashSet<(usize, Pushed)>,
    open: Vec<(usize, Pushed)>,
    departures: BTreeSet<Departure>,
    /// Entries that were pushed and tags that were popped so far, whatever the stack, if stacks are merged.
    merged: Option<MergedStacks>,
    some_may_miss: bool,
}

/// Stacks of a region that are not kept apart, as in recursion: each pop may find each entry that any lane pushed.
#[derive(Clone, Debug, Default)]
struct MergedStacks {
    pushes: BTreeSet<(Tag, usize)>,
    pops: BTreeSet<Tag>,
}

impl<'r> RegionSearch<'r> {
    /// Finds all that may happen from `start` on. Where lanes may push entries without end, stacks are merged.
    ///
    /// # Errors
    ///
    /// A control operation whose effects are unknown, or a region of too many states.
    pub(super) fn find(
        code: &'r Code,
        transfers: &'r KnownTransfers,
        slice: &'r Slice,
        start: RegionStart,
    ) -> Result<Region, NoProfileReason> {
        let search = |merged: Option<MergedStacks>| {
            let search = RegionSearch {
                code,
                transfers,
                slice,
                entries: Vec::new(),
                numbers: HashMap::new(),
                seen: HashSet::new(),
                open: Vec::new(),
                departures: BTreeSet::new(),
                some_may_miss: merged.is_some(),
                merged,
            };
            search.explore(start)
        };
        match search(None) {
            Err(NoProfileReason::StackHeight) => search(Some(MergedStacks::default())),
            found => found,
        }
    }

    fn explore(mut self, start: RegionStart) -> Result<Region, NoProfileReason> {
        match start {
            RegionStart::Before(block) => self.reach(block, 0)?,
            RegionStart::After(block) => self.leave_block(block, 0)?,
        }
        let mut region = Region::default();
        while let Some((block, pushed)) = self.open.pop() {
            if region.blocks.insert(block) {
                let effects = self.slice.effects(block);
                region.writes.extend(effects.writes.iter().copied());
                region.writes_memory |= effects.writes_memory;
            }
            self.leave_block(block, pushed)?;
        }
        region.departures = self.departures.into_iter().collect();
        region.some_may_miss = self.some_may_miss;
        Ok(region)
    }

    /// Adds a block that lanes may reach.
    fn reach(&mut self, block: usize, pushed: Pushed) -> Result<(), NoProfileReason> {
        if block >= self.slice.len() {
            return Err(NoProfileReason::Unsupported);
        }
        if self.seen.insert((block, pushed)) {
            // Merged stacks have fewer states, so this fails like a stack that is too high.
            if self.seen.len() > MAX_STATES {
                return Err(NoProfileReason::StackHeight);
            }
            self.open.push((block, pushed));
        }
        Ok(())
    }

    /// Adds what may follow a block.
    fn leave_block(&mut self, block: usize, pushed: Pushed) -> Result<(), NoProfileReason> {
        let last = self.slice.block(block).last;
        let op = self.code.get(last).ok_or(NoProfileReason::Unsupported)?;
        let next = block + 1;
        if op.control == ControlEffect::Next {
            return self.reach(next, pushed);
        }
        if !op.condition.is_always() {
            self.reach(next, pushed)?;
        }
        if op.condition.is_never() {
            return Ok(());
        }
        match &op.control {
            ControlEffect::Return { .. } => return self.return_linked(pushed),
            ControlEffect::Indirect { .. } => return self.reach_targets(last, pushed),
            ControlEffect::LinkedIndirect { .. } => {
                let above = self.link(pushed, next)?;
                return self.reach_targets(last, above);
            }
            ControlEffect::LinkedCall(ControlTarget::Op(to)) => {
                let above = self.link(pushed, next)?;
                return self.reach(self.block_at(*to)?, above);
            }
            ControlEffect::Collective(ControlTarget::Op(to))
            | ControlEffect::FreeJump(ControlTarget::Op(to)) => {
                self.reach(next, pushed)?;
                return self.reach(self.block_at(*to)?, pushed);
            }
            _ => {}
        }
        let block_at = |at| self.slice.block_at(at);
        let transfer = self.transfers.transfer(op, last, true, block_at);
        match transfer.ok_or(NoProfileReason::Unsupported)? {
            ControlTransfer::Next => self.reach(next, pushed),
            ControlTransfer::Jump(to) => self.reach(to, pushed),
            ControlTransfer::Exit => {
                self.departures.insert(Departure::Exit);
                Ok(())
            }
            ControlTransfer::Pop(tag) => self.pop(tag, pushed),
            ControlTransfer::Call(to) => {
                let above = self.push(pushed, Tag::Ret, next)?;
                self.reach(to, above)
            }
            ControlTransfer::Push { tag, resume } => {
                let above = self.push(pushed, tag, resume)?;
                self.reach(next, above)
            }
            _ => Err(NoProfileReason::Unsupported),
        }
    }

    /// Adds the targets of an indirect jump.
    fn reach_targets(&mut self, at: OpIndex, pushed: Pushed) -> Result<(), NoProfileReason> {
        let targets: Vec<OpIndex> = self.transfers.targets(at).collect();
        if targets.is_empty() {
            return Err(NoProfileReason::IndirectJump);
        }
        for to in targets {
            self.reach(self.block_at(to)?, pushed)?;
        }
        Ok(())
    }

    /// Notes where a linked call returns. The stack of the warp has no entry for it: this one only tells the calls of a
    /// function apart, so that lanes return to the call that they made (`calling-convention`).
    fn link(&mut self, below: Pushed, next: usize) -> Result<Pushed, NoProfileReason> {
        match self.merged {
            Some(_) => Ok(0),
            None => self.push(below, Tag::Ret, next),
        }
    }

    /// Returns from a linked call: to the call in the region, or to each one if the function was called before it.
    fn return_linked(&mut self, pushed: Pushed) -> Result<(), NoProfileReason> {
        if let Some((entry, _)) = self
            .entry(pushed)
            .filter(|(entry, _)| entry.tag == Tag::Ret)
        {
            return self.reach(entry.resume, entry.below);
        }
        self.some_may_miss = true;
        for (at, op) in (0..).map(OpIndex).zip(&self.code.ops) {
            let is_call = matches!(
                op.control,
                ControlEffect::LinkedCall(_) | ControlEffect::LinkedIndirect { .. }
            );
            if is_call {
                self.reach(self.block_at(at.next())?, pushed)?;
            }
        }
        Ok(())
    }

    fn block_at(&self, at: OpIndex) -> Result<usize, NoProfileReason> {
        self.slice.block_at(at).ok_or(NoProfileReason::Unsupported)
    }

    /// Pushes an entry.
    fn push(&mut self, below: Pushed, tag: Tag, resume: usize) -> Result<Pushed, NoProfileReason> {
        if let Some(merged) = &mut self.merged {
            let is_new = merged.pushes.insert((tag, resume));
            // The pops of this tag that were followed before did not find this entry.
            if is_new && merged.pops.contains(&tag) {
                self.reach(resume, 0)?;
            }
            return Ok(0);
        }
        let height = self.entry(below).map_or(0, |(_, height)| height) + 1;
        if height > MAX_PUSHED {
            return Err(NoProfileReason::StackHeight);
        }
        let entry = PushedEntry { below, tag, resume };
        let next = self.entries.len() as Pushed + 1;
        let number = *self.numbers.entry(entry).or_insert(next);
        if number == next {
            self.entries.push((entry, height));
        }
        Ok(number)
    }

    fn entry(&self, number: Pushed) -> Option<(PushedEntry, u32)> {
        let index = number.checked_sub(1)?;
        self.entries.get(index as usize).copied()
    }

    /// Resumes at the nearest entry with a tag, or leaves the region if lanes pushed none in it.
    fn pop(&mut self, tag: Tag, pushed: Pushed) -> Result<(), NoProfileReason> {
        if let Some(merged) = &mut self.merged {
            if merged.pops.insert(tag) {
                let pushes = merged.pushes.iter().filter(|(pushed, _)| *pushed == tag);
                let resumes: Vec<usize> = pushes.map(|&(_, resume)| resume).collect();
                for resume in resumes {
                    self.reach(resume, 0)?;
                }
            }
            // The entry may also be one that was there before.
            self.departures.insert(Departure::Pop(tag));
            return Ok(());
        }
        let mut at = pushed;
        // A pop skips the entries of other tags above the nearest one of its own.
        while let Some((entry, _)) = self.entry(at) {
            if entry.tag == tag {
                return self.reach(entry.resume, entry.below);
            }
            at = entry.below;
        }
        self.departures.insert(Departure::Pop(tag));
        Ok(())
    }
}
