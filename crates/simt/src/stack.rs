//! Abstract activation stack: a graph whose paths are the possible stacks (paper section 3.1).
//!
//! Slot 0 is the bottom; slot `i + 1` is the entry `ids[i]`. A path from the top to the bottom
//! lists the entries below the running one, uppermost first. A cycle stands for any number of
//! repetitions, so one slot may stand for several entries of one concrete stack.

use crate::EntryId;
use crate::bitset::BitSet;
use crate::slots::SlotMap;

/// The slot that stands for the empty rest of the stack.
pub const BOTTOM: usize = 0;

/// What happens to an entry when lanes are taken out of it (paper section 3.1, *filter*).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Fate {
    /// Some lane stays in it.
    Keep,
    /// No lane stays in it.
    Drop,
    /// Either may happen.
    Any,
}

/// Result of [`StackGraph::filter`].
#[derive(Clone, Debug)]
pub struct Filtered {
    /// The stack without the entries that lost all lanes.
    pub stack: StackGraph,
    /// Slots (of the stack before) that lost lanes in at least one stack.
    pub may_lose: BitSet,
    /// Slots that keep their lanes in at least one stack.
    pub may_stay: BitSet,
    /// Some stack has no entry of the tag.
    pub may_underflow: bool,
}

/// Set of stacks as a graph.
#[derive(Clone, Debug, Default)]
pub struct StackGraph {
    ids: Vec<EntryId>,
    below: Vec<BitSet>,
    top: BitSet,
}

impl StackGraph {
    /// Only the empty stack.
    pub fn empty() -> Self {
        StackGraph {
            ids: Vec::new(),
            below: vec![BitSet::new()],
            top: [BOTTOM].into_iter().collect(),
        }
    }

    /// Entries that some stack holds, ascending; entry `i` has slot `i + 1`.
    pub fn ids(&self) -> &[EntryId] {
        &self.ids
    }

    /// Number of slots, the bottom included.
    pub fn slots(&self) -> usize {
        self.ids.len() + 1
    }

    /// The slot of an entry.
    pub fn slot(&self, id: EntryId) -> Option<usize> {
        self.ids.binary_search(&id).ok().map(|i| i + 1)
    }

    /// The entry of a slot; `None` for the bottom.
    pub fn id(&self, slot: usize) -> Option<EntryId> {
        slot.checked_sub(1).and_then(|i| self.ids.get(i)).copied()
    }

    /// Slots that may come first.
    pub fn top(&self) -> &BitSet {
        &self.top
    }

    /// Slots that may come directly below `slot`.
    pub fn below(&self, slot: usize) -> &BitSet {
        &self.below[slot]
    }

    /// Every stack of this set begins with an entry; nothing left means that the set is empty.
    pub fn is_infeasible(&self) -> bool {
        self.top.is_empty()
    }

    /// The list of entries (uppermost first) is one of the stacks.
    pub fn contains(&self, entries: &[EntryId]) -> bool {
        let mut here = &self.top;
        for &entry in entries {
            match self.slot(entry) {
                Some(slot) if here.contains(slot) => here = &self.below[slot],
                _ => return false,
            }
        }
        here.contains(BOTTOM)
    }

    /// Adds slots for those of `ids` that have none; how the slots moved, if they did.
    pub fn make_room(&mut self, ids: &[EntryId]) -> Option<SlotMap> {
        let before = std::mem::take(&mut self.ids);
        let fresh = ids.iter().filter(|id| before.binary_search(id).is_err());
        self.ids = before.iter().chain(fresh).copied().collect();
        if self.ids.len() == before.len() {
            return None;
        }
        self.ids.sort_unstable();
        self.ids.dedup();
        let mut old = before.iter().zip(1..).peekable();
        let origins = self
            .ids
            .iter()
            .map(|id| Some(old.next_if(|(o, _)| *o == id)?.1));
        let moves = SlotMap::of_origins([Some(BOTTOM)].into_iter().chain(origins));
        self.renumber(&moves);
        Some(moves)
    }

    /// Where the slots of this set are in `other`, which has them all.
    pub fn places_in(&self, other: &StackGraph) -> SlotMap {
        let mut mine = self.ids.iter().zip(1..).peekable();
        let origins = other
            .ids
            .iter()
            .map(|id| Some(mine.next_if(|(own, _)| *own == id)?.1));
        SlotMap::of_origins([Some(BOTTOM)].into_iter().chain(origins))
    }

    fn renumber(&mut self, moves: &SlotMap) {
        self.below = moves.list(&self.below, BitSet::new());
        for set in self.below.iter_mut().chain([&mut self.top]) {
            *set = moves.set(set);
        }
    }

    /// Pushes one of `slots`, and any further ones of them, in any order (each at most once).
    /// With one slot this is the ordinary push. The slots must exist.
    pub fn push_any_order(&mut self, slots: &[usize]) {
        for &slot in slots {
            let mut below = self.top.clone();
            for &other in slots {
                if other != slot {
                    below.insert(other);
                }
            }
            self.below[slot].union(&below);
        }
        self.top = slots.iter().copied().collect();
    }

    /// The stacks that remain when `slot`, which may come first, is taken off.
    pub fn pop(&self, slot: usize) -> StackGraph {
        StackGraph {
            ids: self.ids.clone(),
            below: self.below.clone(),
            top: self.below[slot].clone(),
        }
    }

    /// Takes lanes out of the entries from the top down to, not including, the first entry for
    /// which `stops` holds (down to the bottom when there is none to stop at: `stops` false
    /// everywhere and `to_bottom` set).
    ///
    /// `covers(slot)`: the entry holds every lane of the entries above it, so that it cannot vanish
    /// under one that stays. The paper decides each entry by itself; without this the code that
    /// ptxas makes of an early exit in a loop would seem to lose its SSY entry.
    pub fn filter(
        &self,
        to_bottom: bool,
        stops: impl Fn(usize) -> bool,
        fate: impl Fn(usize) -> Fate,
        covers: impl Fn(usize) -> bool,
    ) -> Filtered {
        let mut upper = BitSet::new();
        let mut lower = BitSet::new();
        let mut may_underflow = false;
        let mut pending: Vec<usize> = self.top.iter().collect();
        while let Some(slot) = pending.pop() {
            if slot == BOTTOM {
                may_underflow |= !to_bottom;
            } else if stops(slot) {
                lower.insert(slot);
            } else if upper.insert(slot) {
                pending.extend(self.below[slot].iter());
            }
        }
        pending.extend(lower.iter());
        while let Some(slot) = pending.pop() {
            for deeper in self.below[slot].iter() {
                if deeper != BOTTOM && lower.insert(deeper) {
                    pending.push(deeper);
                }
            }
        }
        // What may come next once dropped entries are skipped.
        let survivors = |from: &BitSet, below_kept: bool| {
            let mut found = BitSet::new();
            let mut seen = BitSet::new();
            let mut pending = from.clone();
            while let Some(slot) = pending.pop() {
                seen.insert(slot);
                let stays = slot == BOTTOM || stops(slot) || (below_kept && covers(slot));
                let fate = if stays { Fate::Keep } else { fate(slot) };
                if fate != Fate::Drop {
                    found.insert(slot);
                }
                if fate != Fate::Keep {
                    pending.union_without(&self.below[slot], &seen);
                }
            }
            found
        };
        let below = (0..self.slots())
            .map(|slot| {
                let mut set = BitSet::new();
                if upper.contains(slot) {
                    set = survivors(&self.below[slot], true);
                }
                if lower.contains(slot) {
                    set.union(&self.below[slot]);
                }
                set
            })
            .collect();
        Filtered {
            stack: StackGraph {
                ids: self.ids.clone(),
                below,
                top: survivors(&self.top, false),
            },
            may_lose: upper,
            may_stay: lower,
            may_underflow,
        }
    }

    /// Keeps the stacks that begin with one of `slots`.
    pub fn keep_top(&mut self, slots: &BitSet) {
        self.top = self
            .top
            .iter()
            .filter(|&slot| slots.contains(slot))
            .collect();
    }

    /// Removes the slots `gone` and all that no path from the top to the bottom visits; how the slots moved,
    /// if they did.
    pub fn restrict(&mut self, gone: &BitSet) -> Option<SlotMap> {
        let slots = self.slots();
        let mut forward = gone.clone();
        let mut pending = BitSet::new();
        pending.union_without(&self.top, gone);
        while let Some(slot) = pending.pop() {
            forward.insert(slot);
            pending.union_without(&self.below[slot], &forward);
        }
        // Backward reachability from the bottom; upper slots mostly stand behind lower ones, so few rounds do.
        let mut live: BitSet = [BOTTOM]
            .into_iter()
            .filter(|&b| forward.contains(b))
            .collect();
        let mut rest: Vec<usize> = (1..slots)
            .filter(|&slot| forward.contains(slot) && !gone.contains(slot))
            .collect();
        let mut grew = true;
        while grew {
            let before = rest.len();
            rest.retain(|&slot| {
                let leads = self.below[slot].intersects(&live);
                if leads {
                    live.insert(slot);
                }
                !leads
            });
            grew = rest.len() < before && !rest.is_empty();
        }
        let kept: Vec<usize> = (0..slots)
            .filter(|&s| s == BOTTOM || live.contains(s))
            .collect();
        if kept.len() == slots {
            return None;
        }
        self.ids = kept.iter().filter_map(|&slot| self.id(slot)).collect();
        let moves = SlotMap::of_origins(kept.into_iter().map(Some));
        self.renumber(&moves);
        // The bottom keeps its slot, but is no part of a set without stacks.
        if live.is_empty() {
            self.top = BitSet::new();
        }
        Some(moves)
    }

    /// Joins `other`, whose slots are here where `places` says, into this set; true when it grew.
    pub fn union(&mut self, other: &StackGraph, places: &SlotMap) -> bool {
        let mut grew = places.add(&other.top, &mut self.top);
        for run in places.runs() {
            let mine = self.below[run.new..].iter_mut();
            for (mine, theirs) in mine.zip(&other.below[run.old..run.old + run.length]) {
                grew |= places.add(theirs, mine);
            }
        }
        grew
    }

    /// Some stack of the set may hold an entry of one slot twice.
    pub fn is_cyclic(&self) -> bool {
        let mut degree = vec![0usize; self.slots()];
        for set in &self.below {
            for slot in set.iter() {
                degree[slot] += 1;
            }
        }
        let mut free: Vec<usize> = (0..self.slots()).filter(|&s| degree[s] == 0).collect();
        let mut removed = 0;
        while let Some(slot) = free.pop() {
            removed += 1;
            for deeper in self.below[slot].iter() {
                degree[deeper] -= 1;
                if degree[deeper] == 0 {
                    free.push(deeper);
                }
            }
        }
        removed < self.slots()
    }

    /// Forgets the order: any sequence of the entries. What a domain limited to acyclic graphs
    /// must fall back to (paper section 4.2).
    pub fn saturate(&mut self) {
        let all: BitSet = (0..self.slots()).collect();
        for slot in 1..self.slots() {
            self.below[slot] = all.clone();
        }
        self.top = all;
    }
}
