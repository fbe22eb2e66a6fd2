//! Relations between groups of lanes (`warp-cfg-2023` 3.2, SOUNDNESS 4.2).
//!
//! Group 0 is the active lanes; group `slot` is the lanes of a stack entry of that slot. A slot of
//! a cyclic stack graph stands for several entries: a relation then holds for *each* of them, and
//! the relation of a slot with itself is between two different entries. A relation with an entry
//! that is not on the stack holds vacuously.
//!
//! Invariant: every concrete group is non-empty, so `a ∩ b = ∅` implies `a ⊄ b`.
//!
//! For example, the lanes of a SYNC entry equal the active lanes when it is pushed. After a divergent branch the
//! active lanes are a subset of the SYNC entry, which exceeds them, and are disjoint from the NIL entry.

use crate::slots::SlotMap;

/// Relation of group `a` to group `b`: a set of facts, as bits.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct GroupRelation(u8);

impl GroupRelation {
    /// No fact.
    pub const UNKNOWN: GroupRelation = GroupRelation(0);
    /// `a ⊆ b`.
    pub const SUBSET: GroupRelation = GroupRelation(1);
    /// `a ∩ b = ∅`, and `a ⊄ b`, which follows.
    pub const DISJOINT: GroupRelation = GroupRelation(2 | 4);
    /// `a ⊄ b`: some lane of `a` is not in `b`.
    pub const EXCEEDS: GroupRelation = GroupRelation(4);
    /// All facts: no such pair of entries exists.
    pub const VACUOUS: GroupRelation = GroupRelation(7);

    /// Whether all of `facts` hold.
    pub fn has(self, facts: GroupRelation) -> bool {
        self.0 & facts.0 == facts.0
    }

    /// Union of the facts: both relations hold.
    #[must_use]
    pub fn and(self, other: GroupRelation) -> GroupRelation {
        GroupRelation(self.0 | other.0)
    }

    /// Intersection of the facts: either relation may be the true one.
    #[must_use]
    pub fn or(self, other: GroupRelation) -> GroupRelation {
        GroupRelation(self.0 & other.0)
    }

    /// Returns the facts that remain after lanes left `a` or `b`: `a ⊆ b` only if `subset`, `a ⊄ b` only if
    /// `exceeds`. Disjoint groups stay disjoint, and with them `a ⊄ b`.
    fn retained(self, subset: bool, exceeds: bool) -> GroupRelation {
        GroupRelation::facts_if(self.has(GroupRelation::DISJOINT), GroupRelation::DISJOINT)
            .and(self.or(GroupRelation::facts_if(subset, GroupRelation::SUBSET)))
            .and(self.or(GroupRelation::facts_if(exceeds, GroupRelation::EXCEEDS)))
    }

    /// `facts` if `condition`, else no fact.
    fn facts_if(condition: bool, facts: GroupRelation) -> GroupRelation {
        if condition {
            facts
        } else {
            GroupRelation::UNKNOWN
        }
    }

    /// Whether the facts exclude one another, so that one of the two groups does not exist.
    pub fn is_contradictory(self) -> bool {
        self.has(GroupRelation::SUBSET) && self.has(GroupRelation::EXCEEDS)
    }
}

/// Group of the active lanes.
pub const ACTIVE: usize = 0;

/// Relations between all groups of a state, as a square table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Groups {
    size: usize,
    table: Vec<GroupRelation>,
}

/// Lanes removed by an instruction that halts lanes (SYNC, BRK, CONT, RET, EXIT).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Halting {
    /// All active lanes.
    All,
    /// Some of them; at least one stays active.
    Some,
}

impl Groups {
    /// Relations of a state without stack entries.
    pub fn active_only() -> Self {
        Groups {
            size: 1,
            // Unlike a slot, the active lanes are one group, so their relation to themselves is equality.
            table: vec![GroupRelation::SUBSET],
        }
    }

    /// Relation of `a` to `b`.
    pub fn get(&self, a: usize, b: usize) -> GroupRelation {
        self.table[a * self.size + b]
    }

    fn set(&mut self, a: usize, b: usize, relation: GroupRelation) {
        self.table[a * self.size + b] = relation;
    }

    /// Whether both groups are the same lanes.
    pub fn equal(&self, a: usize, b: usize) -> bool {
        self.get(a, b).has(GroupRelation::SUBSET) && self.get(b, a).has(GroupRelation::SUBSET)
    }

    /// Whether no lane is in both groups.
    pub fn disjoint(&self, a: usize, b: usize) -> bool {
        self.get(a, b).has(GroupRelation::DISJOINT)
    }

    /// Renumbers the groups; relations with an added group are vacuous.
    pub fn remap(&mut self, moves: &SlotMap) {
        let size = moves.size();
        // An added group has no entry yet, so every fact about its entries holds.
        let mut table = vec![GroupRelation::VACUOUS; size * size];
        for rows in moves.runs() {
            for row in 0..rows.length {
                let (old, new) = ((rows.old + row) * self.size, (rows.new + row) * size);
                for run in moves.runs() {
                    let (old, new) = (old + run.old, new + run.new);
                    table[new..new + run.length]
                        .copy_from_slice(&self.table[old..old + run.length]);
                }
            }
        }
        self.size = size;
        self.table = table;
    }

    /// Records the push of an entry with exactly the active lanes at `slot`.
    pub fn push_copy_of_active(&mut self, slot: usize) {
        let row: Vec<_> = (0..self.size).map(|j| self.get(ACTIVE, j)).collect();
        let column: Vec<_> = (0..self.size).map(|j| self.get(j, ACTIVE)).collect();
        self.add_instance(slot, &row, &column);
        // The new entry equals the active lanes. Facts about older entries of the slot stay only if they hold for it,
        // too.
        self.set(
            slot,
            ACTIVE,
            self.get(slot, ACTIVE).or(GroupRelation::SUBSET),
        );
        self.set(
            ACTIVE,
            slot,
            self.get(ACTIVE, slot).or(GroupRelation::SUBSET),
        );
    }

    /// Adds an entry to the entries of `slot`, with these relations to and from the other groups. `row[slot]` and
    /// `column[slot]` relate it to the entries that the slot already stands for.
    fn add_instance(&mut self, slot: usize, row: &[GroupRelation], column: &[GroupRelation]) {
        for j in 1..self.size {
            if j != slot {
                self.set(slot, j, self.get(slot, j).or(row[j]));
                self.set(j, slot, self.get(j, slot).or(column[j]));
            }
        }
        // The relation of a slot to itself holds for both orders of every pair.
        let pair = row[slot].or(column[slot]);
        self.set(slot, slot, self.get(slot, slot).or(pair));
    }

    /// Records the split of the active lanes into several non-empty parts; one stays active, the others are
    /// pushed at `slots`.
    pub fn split_active(&mut self, slots: &[usize]) {
        let row: Vec<_> = (0..self.size)
            .map(|j| part_of(self.get(ACTIVE, j)))
            .collect();
        let column: Vec<_> = (0..self.size)
            .map(|j| against_part(self.get(j, ACTIVE), self.get(ACTIVE, j)))
            .collect();
        for &slot in slots {
            self.add_instance(slot, &row, &column);
        }
        for j in 1..self.size {
            if !slots.contains(&j) {
                self.set(ACTIVE, j, row[j]);
                self.set(j, ACTIVE, column[j]);
            }
        }
        let disjoint = GroupRelation::DISJOINT;
        for &slot in slots {
            // Disjoint from the new entry; related to older entries of the slot as a part of the former active lanes.
            self.set(ACTIVE, slot, row[slot].or(disjoint));
            self.set(slot, ACTIVE, column[slot].or(disjoint));
            for &other in slots {
                if other != slot {
                    self.set(slot, other, self.get(slot, other).or(disjoint));
                }
            }
        }
    }

    /// Relation of `slot` to the halting lanes: all active ones, or a part of them.
    pub fn against_halting(&self, slot: usize, halting: Halting) -> GroupRelation {
        let relation = self.get(slot, ACTIVE);
        match halting {
            Halting::All => relation,
            Halting::Some => against_part(relation, self.get(ACTIVE, slot)),
        }
    }

    /// Removes the halting lanes from the entries `may_lose`; entries in `may_stay` may keep theirs.
    /// After [`Halting::Some`] the active group is the remaining lanes; after [`Halting::All`] the
    /// relations of the active group are meaningless until [`Groups::resume`].
    pub fn halt(
        &mut self,
        halting: Halting,
        may_lose: impl Fn(usize) -> bool,
        may_stay: impl Fn(usize) -> bool,
    ) {
        // Each relation is computed from the relations before the removal, not from ones that this loop has already
        // changed.
        let before = self.clone();
        let untouched = |i| before.disjoint(i, ACTIVE);
        let losing: Vec<usize> = (1..self.size).filter(|&i| may_lose(i)).collect();
        // The remaining active lanes are witnesses that a group that contains them exceeds one disjoint from them.
        let without_active: Vec<usize> = (1..self.size)
            .filter(|&j| halting == Halting::Some && before.disjoint(ACTIVE, j))
            .collect();
        for i in 1..self.size {
            let loses = may_lose(i);
            // A slot on a cycle may stand for entries above and below the target, so both flags can hold.
            // `i ⊆ j` survives if i loses all lanes that j may lose, `i ⊄ j` if i keeps its lanes.
            let surely_loses = loses && !may_stay(i);
            let subset = surely_loses || untouched(i);
            let exceeds = !loses || untouched(i);
            // Relations between two groups that keep their lanes are unchanged.
            let row = i * self.size;
            if loses {
                for j in 1..self.size {
                    let still = subset || !may_lose(j);
                    self.table[row + j] = before.table[row + j].retained(still, exceeds);
                }
            } else {
                for &j in &losing {
                    self.table[row + j] = before.table[row + j].retained(subset, exceeds);
                }
            }
            if before.get(ACTIVE, i).has(GroupRelation::SUBSET) {
                for &j in &without_active {
                    self.table[row + j] = self.table[row + j].and(GroupRelation::EXCEEDS);
                }
            }
            if halting == Halting::Some {
                self.set(ACTIVE, i, part_of(before.get(ACTIVE, i)));
                let mut to_active = against_part(before.get(i, ACTIVE), before.get(ACTIVE, i));
                if loses {
                    // The leaving lanes are no longer in i, so they no longer witness that i exceeds the active lanes;
                    // lanes of i that were never active do. If i had active lanes only, the remaining ones are left.
                    let outside = before.get(i, ACTIVE).has(GroupRelation::EXCEEDS);
                    let inside = before.get(i, ACTIVE).has(GroupRelation::SUBSET) && surely_loses;
                    to_active = GroupRelation::facts_if(untouched(i), GroupRelation::DISJOINT)
                        .and(GroupRelation::facts_if(outside, GroupRelation::EXCEEDS))
                        .and(GroupRelation::facts_if(inside, GroupRelation::SUBSET));
                }
                self.set(i, ACTIVE, to_active);
            }
        }
    }

    /// Makes the lanes of the entry at `slot` the active ones; further entries of the slot stay.
    pub fn resume(&mut self, slot: usize) {
        // For `j == slot` this is the relation between two different entries of the slot.
        for j in 1..self.size {
            self.set(ACTIVE, j, self.get(slot, j));
            self.set(j, ACTIVE, self.get(j, slot));
        }
    }

    /// Keeps the facts that hold in both tables; `slots` maps the groups of `other` to groups of this table. Returns
    /// whether a fact was lost.
    pub fn join(&mut self, other: &Groups, slots: &SlotMap) -> bool {
        let mut lost = 0;
        for rows in slots.runs() {
            for row in 0..rows.length {
                let (theirs, mine) = ((rows.old + row) * other.size, (rows.new + row) * self.size);
                for run in slots.runs() {
                    let theirs = &other.table[theirs + run.old..][..run.length];
                    let mine = &mut self.table[mine + run.new..][..run.length];
                    for (mine, theirs) in mine.iter_mut().zip(theirs) {
                        // Only facts on which both states agree survive a join, since either state may be the one of
                        // the run.
                        lost |= mine.0 & !theirs.0;
                        mine.0 &= theirs.0;
                    }
                }
            }
        }
        lost != 0
    }

    /// Forgets all facts ("no group fine analysis" of `warp-cfg-2023` 4.2).
    pub fn forget(&mut self) {
        self.table.fill(GroupRelation::UNKNOWN);
    }
}

/// Relation to `b` that a non-empty part of `a` inherits from `a`.
fn part_of(relation: GroupRelation) -> GroupRelation {
    // A lane of `a` outside `b` may be in another part, so the part need not exceed `b`.
    GroupRelation::facts_if(relation.has(GroupRelation::SUBSET), GroupRelation::SUBSET).and(
        GroupRelation::facts_if(
            relation.has(GroupRelation::DISJOINT),
            GroupRelation::DISJOINT,
        ),
    )
}

/// Relation of `a` to a proper non-empty part of `b`, from the relations of `a` to `b` and `b` to `a`.
fn against_part(a_to_b: GroupRelation, b_to_a: GroupRelation) -> GroupRelation {
    // No such pair of groups exists, so every fact holds.
    if a_to_b.is_contradictory() {
        return GroupRelation::VACUOUS;
    }
    // If `b ⊆ a`, the lanes of `b` outside the proper part are lanes of `a`.
    let exceeds = a_to_b.has(GroupRelation::EXCEEDS) || b_to_a.has(GroupRelation::SUBSET);
    GroupRelation::facts_if(a_to_b.has(GroupRelation::DISJOINT), GroupRelation::DISJOINT)
        .and(GroupRelation::facts_if(exceeds, GroupRelation::EXCEEDS))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn random(rng: &mut fastrand::Rng, size: usize) -> Groups {
        let any = |rng: &mut fastrand::Rng| match rng.u8(0..6) {
            0 => GroupRelation::UNKNOWN,
            1 => GroupRelation::SUBSET,
            2 => GroupRelation::DISJOINT,
            3 => GroupRelation::EXCEEDS,
            4 => GroupRelation::VACUOUS,
            _ => GroupRelation::SUBSET.and(GroupRelation::EXCEEDS),
        };
        Groups {
            size,
            table: (0..size * size).map(|_| any(rng)).collect(),
        }
    }

    /// Relation between two pending groups after halting, by the rule for one pair.
    fn halted(
        before: &Groups,
        pair: (usize, usize),
        halting: Halting,
        lose: &[bool],
        stay: &[bool],
    ) -> GroupRelation {
        let (i, j) = pair;
        let untouched = before.disjoint(i, ACTIVE);
        let subset = lose[i] && !stay[i] || !lose[j] || untouched;
        let exceeds = !lose[i] || untouched;
        let witness = halting == Halting::Some
            && before.get(ACTIVE, i).has(GroupRelation::SUBSET)
            && before.disjoint(ACTIVE, j);
        let relation = before.get(i, j);
        let facts = [
            (GroupRelation::SUBSET, subset),
            (GroupRelation::DISJOINT, true),
            (GroupRelation::EXCEEDS, exceeds),
        ];
        let kept = facts
            .iter()
            .filter(|(facts, still)| *still && relation.has(*facts))
            .fold(GroupRelation::UNKNOWN, |all, (facts, _)| all.and(*facts));
        kept.and(GroupRelation::facts_if(witness, GroupRelation::EXCEEDS))
    }

    #[test]
    fn halting_changes_each_pair_as_the_rule_says() {
        let mut rng = fastrand::Rng::with_seed(3);
        for _ in 0..2000 {
            let size = rng.usize(1..9);
            let before = random(&mut rng, size);
            let lose: Vec<bool> = (0..size).map(|_| rng.bool()).collect();
            let stay: Vec<bool> = (0..size).map(|_| rng.bool()).collect();
            for halting in [Halting::All, Halting::Some] {
                let mut after = before.clone();
                after.halt(halting, |i| lose[i], |i| stay[i]);
                for pair in (1..size).flat_map(|i| (1..size).map(move |j| (i, j))) {
                    let expected = halted(&before, pair, halting, &lose, &stay);
                    assert_eq!(after.get(pair.0, pair.1), expected, "{before:?} {pair:?}");
                }
            }
        }
    }

    #[test]
    fn join_with_a_renumbering_equals_renumbering_then_join() {
        let mut rng = fastrand::Rng::with_seed(4);
        for _ in 0..2000 {
            let size = rng.usize(1..9);
            let mine = random(&mut rng, size);
            // Slots of the other state by their numbers in this one: a random selection with the first.
            let here: Vec<usize> = (0..size).filter(|&s| s == 0 || rng.bool()).collect();
            let theirs = random(&mut rng, here.len());
            let origins = (0..size).map(|slot| here.binary_search(&slot).ok());
            let slots = SlotMap::of_origins(origins);
            let mut moved = theirs.clone();
            moved.remap(&slots);
            let mut joined = mine.clone();
            let lost = joined.join(&theirs, &slots);
            for i in 0..size {
                for j in 0..size {
                    // Relations with a slot that only one of them has are kept.
                    let moved = match moved.table.get(i * moved.size + j) {
                        Some(relation) if i < moved.size && j < moved.size => *relation,
                        _ => GroupRelation::VACUOUS,
                    };
                    assert_eq!(joined.get(i, j), mine.get(i, j).or(moved));
                }
            }
            assert_eq!(lost, joined != mine);
        }
    }
}
