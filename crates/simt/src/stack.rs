//! Abstract activation stack: a graph whose paths are the possible stacks (`warp-cfg-2023` 3.1, SOUNDNESS 4.1).
//!
//! Slot 0 is the bottom; slot `i + 1` is the entry `ids[i]`. A path from the top to the bottom lists the entries
//! below the running one, uppermost first. A cycle stands for any number of repetitions, so one slot may stand for
//! several entries of one concrete stack. For example, a recursive function pushes a RET entry per call: one slot
//! with an edge to itself.
//!
//! Invariant between operations of [`crate::warp`]: every slot lies on a path from the top to the bottom
//! ([`StackGraph::remove_slots`] restores it).

use crate::EntryId;
use crate::bitset::BitSet;
use crate::slots::SlotMap;

/// Slot of the empty rest of the stack.
pub const BOTTOM: usize = 0;

/// Fate of an entry from which lanes are removed (`warp-cfg-2023` 3.1, *filter*: keep, drop, any).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Fate {
    /// Some lane stays.
    Keep,
    /// No lane stays.
    Drop,
    /// Either is possible.
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
    /// Whether some stack may have no entry at which the filter stops.
    pub may_underflow: bool,
}

/// Set of stacks as a graph over slots.
#[derive(Clone, Debug, Default)]
pub struct StackGraph {
    /// Entry of slot `i + 1`, ascending.
    ids: Vec<EntryId>,
    /// For each slot, the slots that may be directly below it.
    below: Vec<BitSet>,
    /// Slots that may be uppermost.
    top: BitSet,
}

impl StackGraph {
    /// Set that contains only the empty stack.
    pub fn empty() -> Self {
        StackGraph {
            ids: Vec::new(),
            below: vec![BitSet::new()],
            top: [BOTTOM].into_iter().collect(),
        }
    }

    /// Entries of all stacks, ascending; entry `i` has slot `i + 1`.
    pub fn ids(&self) -> &[EntryId] {
        &self.ids
    }

    /// Number of slots, the bottom included.
    pub fn slots(&self) -> usize {
        self.ids.len() + 1
    }

    /// Slot of an entry; `None` if no stack holds it.
    pub fn slot(&self, id: EntryId) -> Option<usize> {
        // `add_slots` and `remove_slots` keep the ids ascending.
        self.ids.binary_search(&id).ok().map(|i| i + 1)
    }

    /// Entry of a slot; `None` for the bottom.
    pub fn id(&self, slot: usize) -> Option<EntryId> {
        slot.checked_sub(1).and_then(|i| self.ids.get(i)).copied()
    }

    /// Slots that may be uppermost.
    pub fn top(&self) -> &BitSet {
        &self.top
    }

    /// Slots that may be directly below `slot`.
    pub fn below(&self, slot: usize) -> &BitSet {
        &self.below[slot]
    }

    /// Whether the set contains no stack.
    pub fn is_infeasible(&self) -> bool {
        self.top.is_empty()
    }

    /// Whether the list of entries, uppermost first, is one of the stacks.
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

    /// Adds slots for the `ids` that have none. Returns the renumbering, or `None` if all ids have slots.
    pub fn add_slots(&mut self, ids: &[EntryId]) -> Option<SlotMap> {
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

    /// Returns the renumbering from slots of this set to slots of `other`, which has them all.
    pub fn slot_map_into(&self, other: &StackGraph) -> SlotMap {
        let mut mine = self.ids.iter().zip(1..).peekable();
        let origins = other
            .ids
            .iter()
            .map(|id| Some(mine.next_if(|(own, _)| *own == id)?.1));
        SlotMap::of_origins([Some(BOTTOM)].into_iter().chain(origins))
    }

    fn renumber(&mut self, moves: &SlotMap) {
        self.below = moves.map_list(&self.below, BitSet::new());
        for set in self.below.iter_mut().chain([&mut self.top]) {
            *set = moves.map_set(set);
        }
    }

    /// Pushes a non-empty selection of `slots` in any order, each at most once: the pending sides of a divergent
    /// branch. With one slot this is the ordinary push. The slots must exist.
    pub fn push_any_order(&mut self, slots: &[usize]) {
        // Below each pushed slot is the former top or another pushed slot. The graph admits repetitions that no
        // concrete push makes, which is sound.
        for &slot in slots {
            let mut below = self.top.clone();
            for &other in slots {
                if other != slot {
                    below.insert(other);
                }
            }
            self.below[slot].union(&below);
        }
        // Some side is pushed at a divergence, so a pushed slot is uppermost and the former top is not.
        self.top = slots.iter().copied().collect();
    }

    /// Returns the stacks with `slot` on top, without it (*pop* of `warp-cfg-2023` 3.1).
    pub fn pop(&self, slot: usize) -> StackGraph {
        // The slot stays: on a cycle it also stands for deeper entries. `remove_slots` drops it if no stack holds it.
        StackGraph {
            ids: self.ids.clone(),
            below: self.below.clone(),
            top: self.below[slot].clone(),
        }
    }

    /// Removes lanes from the entries from the top down to, not including, the first entry for
    /// which `stops` holds; with `to_bottom`, from all entries (*filter* of `warp-cfg-2023` 3.1).
    ///
    /// `covers(slot)`: the entry holds every lane of the entries above it, so it stays if one of these entries stays
    /// (SOUNDNESS 3.2). The paper decides each entry by itself. Then the code that ptxas generates for an early exit
    /// in a loop would seem to lose its SYNC entry.
    pub fn filter(
        &self,
        to_bottom: bool,
        stops: impl Fn(usize) -> bool,
        fate: impl Fn(usize) -> Fate,
        covers: impl Fn(usize) -> bool,
    ) -> Filtered {
        // `upper`: slots above the first stop, which lose lanes. `lower`: the stop and all below it. A slot on a
        // cycle can be in both.
        let mut upper = BitSet::new();
        let mut lower = BitSet::new();
        let mut may_underflow = false;
        let mut pending: Vec<usize> = self.top.iter().collect();
        while let Some(slot) = pending.pop() {
            if slot == BOTTOM {
                // EXIT removes lanes from all entries, so only a pop to a tag can underflow.
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
        // The slots that may come next once dropped entries are skipped.
        let survivors = |from: &BitSet, below_kept: bool| {
            let mut found = BitSet::new();
            let mut seen = BitSet::new();
            let mut pending = from.clone();
            while let Some(slot) = pending.pop() {
                seen.insert(slot);
                // Lanes of a kept entry are lanes of every covering entry below it, which is then not empty.
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
                // What lies below a slot matters only in stacks that keep the slot; hence `below_kept`.
                if upper.contains(slot) {
                    set = survivors(&self.below[slot], true);
                }
                // The stop and the entries below it keep their lanes, so their order is unchanged.
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

    /// Removes the slots `gone` and all that are on no path from the top to the bottom. Returns the renumbering, or
    /// `None` if no slot was removed.
    pub fn remove_slots(&mut self, gone: &BitSet) -> Option<SlotMap> {
        let slots = self.slots();
        let mut forward = gone.clone();
        let mut pending = BitSet::new();
        pending.union_without(&self.top, gone);
        while let Some(slot) = pending.pop() {
            forward.insert(slot);
            pending.union_without(&self.below[slot], &forward);
        }
        // Backward reachability from the bottom. Ids ascend with the time of discovery, mostly from the bottom up, so
        // a few rounds suffice.
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
        // The bottom keeps its slot even in a set without stacks, where it is not uppermost.
        if live.is_empty() {
            self.top = BitSet::new();
        }
        Some(moves)
    }

    /// Joins `other` into this set; `slots` maps the slots of `other` to slots of this set. Returns whether it grew.
    pub fn union(&mut self, other: &StackGraph, slots: &SlotMap) -> bool {
        let mut grew = slots.add_mapped(&other.top, &mut self.top);
        for run in slots.runs() {
            let mine = self.below[run.new..].iter_mut();
            for (mine, theirs) in mine.zip(&other.below[run.old..run.old + run.length]) {
                grew |= slots.add_mapped(theirs, mine);
            }
        }
        grew
    }

    /// Whether some stack of the set may hold two entries of one slot.
    pub fn is_cyclic(&self) -> bool {
        // Topological sort (Kahn): slots on a cycle are never removed.
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

    /// Forgets the order: the set of all sequences of the entries. Fallback of the domain of acyclic graphs
    /// (`warp-cfg-2023` 4.2).
    pub fn forget_order(&mut self) {
        // With the bottom: any entry may be the lowest, and the stack may be empty.
        let all: BitSet = (0..self.slots()).collect();
        for slot in 1..self.slots() {
            self.below[slot] = all.clone();
        }
        self.top = all;
    }
}
