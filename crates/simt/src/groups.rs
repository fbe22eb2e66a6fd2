//! Relations between groups of lanes (paper section 3.2).
//!
//! Group 0 is the active lanes; group `slot` is the lanes of a stack entry of that slot. A slot of
//! a cyclic stack graph stands for several entries: a relation then holds for *each* of them, and
//! the relation of a slot with itself is between two different entries. A relation with an entry
//! that is not on the stack says nothing, so such pairs hold every relation.

use crate::slots::SlotMap;

/// Relation of group `a` to group `b`, as a set of facts.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct GroupRelation(u8);

impl GroupRelation {
    /// Nothing known.
    pub const UNKNOWN: GroupRelation = GroupRelation(0);
    /// `a ⊆ b`.
    pub const SUBSET: GroupRelation = GroupRelation(1);
    /// `a ∩ b = ∅`; groups are never empty, so `a ⊄ b` follows and is always set with it.
    pub const DISJOINT: GroupRelation = GroupRelation(2 | 4);
    /// `a ⊄ b`: some lane of `a` is not in `b`.
    pub const EXCEEDS: GroupRelation = GroupRelation(4);
    /// No such pair of entries exists.
    pub const VACUOUS: GroupRelation = GroupRelation(7);

    /// All facts of `facts` hold.
    pub fn has(self, facts: GroupRelation) -> bool {
        self.0 & facts.0 == facts.0
    }

    /// Facts of either.
    #[must_use]
    pub fn and(self, other: GroupRelation) -> GroupRelation {
        GroupRelation(self.0 | other.0)
    }

    /// Facts of both: what holds when either relation may be the true one.
    #[must_use]
    pub fn or(self, other: GroupRelation) -> GroupRelation {
        GroupRelation(self.0 & other.0)
    }

    /// These facts without those on `a ⊆ b` and `a ⊄ b` that do not hold any more; what is disjoint stays so,
    /// and `a ⊄ b` with it.
    fn kept(self, subset: bool, exceeds: bool) -> GroupRelation {
        GroupRelation::when(self.has(GroupRelation::DISJOINT), GroupRelation::DISJOINT)
            .and(self.or(GroupRelation::when(subset, GroupRelation::SUBSET)))
            .and(self.or(GroupRelation::when(exceeds, GroupRelation::EXCEEDS)))
    }

    /// `facts` if `condition`, else nothing.
    fn when(condition: bool, facts: GroupRelation) -> GroupRelation {
        if condition { facts } else { GroupRelation::UNKNOWN }
    }

    /// The facts exclude one another, so one of the two groups does not exist.
    pub fn is_contradictory(self) -> bool {
        self.has(GroupRelation::SUBSET) && self.has(GroupRelation::EXCEEDS)
    }
}

/// The active lanes.
pub const ACTIVE: usize = 0;

/// Relations between all groups of a state.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Groups {
    size: usize,
    table: Vec<GroupRelation>,
}

/// Which lanes a halting instruction takes away.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Halting {
    /// All active lanes.
    All,
    /// Some of them; at least one goes on.
    Some,
}

impl Groups {
    /// Only the active group.
    pub fn active_only() -> Self {
        Groups {
            size: 1,
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

    /// Both groups are the same lanes.
    pub fn equal(&self, a: usize, b: usize) -> bool {
        self.get(a, b).has(GroupRelation::SUBSET) && self.get(b, a).has(GroupRelation::SUBSET)
    }

    /// No lane is in both groups.
    pub fn disjoint(&self, a: usize, b: usize) -> bool {
        self.get(a, b).has(GroupRelation::DISJOINT)
    }

    /// Renumbers the groups; to a new one every relation holds.
    pub fn remap(&mut self, moves: &SlotMap) {
        let size = moves.size();
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

    /// An entry with exactly the active lanes is pushed at `slot`.
    pub fn push_copy_of_active(&mut self, slot: usize) {
        let row: Vec<_> = (0..self.size).map(|j| self.get(ACTIVE, j)).collect();
        let column: Vec<_> = (0..self.size).map(|j| self.get(j, ACTIVE)).collect();
        self.add_instance(slot, &row, &column);
        self.set(slot, ACTIVE, self.get(slot, ACTIVE).or(GroupRelation::SUBSET));
        self.set(ACTIVE, slot, self.get(ACTIVE, slot).or(GroupRelation::SUBSET));
    }

    /// One more entry of `slot` with these relations to the other groups (`row[slot]`,
    /// `column[slot]` relate it to the entries that the slot stands for already).
    fn add_instance(&mut self, slot: usize, row: &[GroupRelation], column: &[GroupRelation]) {
        for j in 1..self.size {
            if j != slot {
                self.set(slot, j, self.get(slot, j).or(row[j]));
                self.set(j, slot, self.get(j, slot).or(column[j]));
            }
        }
        // Both orders of the pair must hold.
        let pair = row[slot].or(column[slot]);
        self.set(slot, slot, self.get(slot, slot).or(pair));
    }

    /// The active lanes split into several non-empty parts; one stays active, the others are
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
        let apart = GroupRelation::DISJOINT;
        for &slot in slots {
            // To the new entry: apart. To older entries of the slot: as a part of what was active.
            self.set(ACTIVE, slot, row[slot].or(apart));
            self.set(slot, ACTIVE, column[slot].or(apart));
            for &other in slots {
                if other != slot {
                    self.set(slot, other, self.get(slot, other).or(apart));
                }
            }
        }
    }

    /// Facts about `slot` against the lanes that halt: all active ones, or a part of them.
    pub fn against_halting(&self, slot: usize, halting: Halting) -> GroupRelation {
        let relation = self.get(slot, ACTIVE);
        match halting {
            Halting::All => relation,
            Halting::Some => against_part(relation, self.get(ACTIVE, slot)),
        }
    }

    /// The halting lanes leave the entries `may_lose`; entries in `may_stay` may keep theirs.
    /// After [`Halting::Some`] the active group is what goes on; after [`Halting::All`] the
    /// relations of the active group are meaningless until [`Groups::resume`].
    pub fn halt(
        &mut self,
        halting: Halting,
        may_lose: impl Fn(usize) -> bool,
        may_stay: impl Fn(usize) -> bool,
    ) {
        let before = self.clone();
        let untouched = |i| before.disjoint(i, ACTIVE);
        let losing: Vec<usize> = (1..self.size).filter(|&i| may_lose(i)).collect();
        // The lanes that go on are a witness that a group that holds them exceeds one that does not.
        let apart: Vec<usize> = (1..self.size)
            .filter(|&j| halting == Halting::Some && before.disjoint(ACTIVE, j))
            .collect();
        for i in 1..self.size {
            let loses = may_lose(i);
            let surely_loses = loses && !may_stay(i);
            let subset = surely_loses || untouched(i);
            let exceeds = !loses || untouched(i);
            // Nothing else changes between groups that keep their lanes.
            let row = i * self.size;
            if loses {
                for j in 1..self.size {
                    let still = subset || !may_lose(j);
                    self.table[row + j] = before.table[row + j].kept(still, exceeds);
                }
            } else {
                for &j in &losing {
                    self.table[row + j] = before.table[row + j].kept(subset, exceeds);
                }
            }
            if before.get(ACTIVE, i).has(GroupRelation::SUBSET) {
                for &j in &apart {
                    self.table[row + j] = self.table[row + j].and(GroupRelation::EXCEEDS);
                }
            }
            if halting == Halting::Some {
                self.set(ACTIVE, i, part_of(before.get(ACTIVE, i)));
                let mut to_active = against_part(before.get(i, ACTIVE), before.get(ACTIVE, i));
                if loses {
                    // The lanes that leave are no witness any more that i exceeds what goes on;
                    // lanes of i outside the active ones are. Inside, only what goes on is left.
                    let outside = before.get(i, ACTIVE).has(GroupRelation::EXCEEDS);
                    let inside = before.get(i, ACTIVE).has(GroupRelation::SUBSET) && surely_loses;
                    to_active = GroupRelation::when(untouched(i), GroupRelation::DISJOINT)
                        .and(GroupRelation::when(outside, GroupRelation::EXCEEDS))
                        .and(GroupRelation::when(inside, GroupRelation::SUBSET));
                }
                self.set(i, ACTIVE, to_active);
            }
        }
    }

    /// The lanes of the entry at `slot` become the active ones; further entries of the slot stay.
    pub fn resume(&mut self, slot: usize) {
        for j in 1..self.size {
            self.set(ACTIVE, j, self.get(slot, j));
            self.set(j, ACTIVE, self.get(j, slot));
        }
    }

    /// Keeps what holds in both, where the groups of `other` are those that `places` says; true when something
    /// was lost.
    pub fn join(&mut self, other: &Groups, places: &SlotMap) -> bool {
        let mut lost = 0;
        for rows in places.runs() {
            for row in 0..rows.length {
                let (theirs, mine) = ((rows.old + row) * other.size, (rows.new + row) * self.size);
                for run in places.runs() {
                    let theirs = &other.table[theirs + run.old..][..run.length];
                    let mine = &mut self.table[mine + run.new..][..run.length];
                    for (mine, theirs) in mine.iter_mut().zip(theirs) {
                        lost |= mine.0 & !theirs.0;
                        mine.0 &= theirs.0;
                    }
                }
            }
        }
        lost != 0
    }

    /// Forgets everything (the paper's "no group analysis").
    pub fn forget(&mut self) {
        self.table.fill(GroupRelation::UNKNOWN);
    }
}

/// What a non-empty part of `a` inherits of `a`'s relation to `b`.
fn part_of(relation: GroupRelation) -> GroupRelation {
    GroupRelation::when(relation.has(GroupRelation::SUBSET), GroupRelation::SUBSET).and(GroupRelation::when(
        relation.has(GroupRelation::DISJOINT),
        GroupRelation::DISJOINT,
    ))
}

/// What holds of `a` against a proper non-empty part of `b`, from `a` to `b` and `b` to `a`.
fn against_part(a_to_b: GroupRelation, b_to_a: GroupRelation) -> GroupRelation {
    if a_to_b.is_contradictory() {
        return GroupRelation::VACUOUS;
    }
    let exceeds = a_to_b.has(GroupRelation::EXCEEDS) || b_to_a.has(GroupRelation::SUBSET);
    GroupRelation::when(a_to_b.has(GroupRelation::DISJOINT), GroupRelation::DISJOINT)
        .and(GroupRelation::when(exceeds, GroupRelation::EXCEEDS))
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

    /// The relation after halting between two groups that wait, pair by pair.
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
        kept.and(GroupRelation::when(witness, GroupRelation::EXCEEDS))
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
    fn joining_at_other_places_is_joining_what_was_moved_there() {
        let mut rng = fastrand::Rng::with_seed(4);
        for _ in 0..2000 {
            let size = rng.usize(1..9);
            let mine = random(&mut rng, size);
            // Some of the slots, the first always: how those of the other are here.
            let here: Vec<usize> = (0..size).filter(|&s| s == 0 || rng.bool()).collect();
            let theirs = random(&mut rng, here.len());
            let origins = (0..size).map(|slot| here.binary_search(&slot).ok());
            let places = SlotMap::of_origins(origins);
            let mut moved = theirs.clone();
            moved.remap(&places);
            let mut joined = mine.clone();
            let lost = joined.join(&theirs, &places);
            for i in 0..size {
                for j in 0..size {
                    // To a slot that only one of them has, nothing is lost.
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
