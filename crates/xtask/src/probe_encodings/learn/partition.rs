//! Groups of bits that choose texts together. Bits are apart until a word shows that they depend on each other.

use std::collections::BTreeMap;

use super::answers::Answers;
use super::frame::Frame;
use super::influence::{Influence, Part};
use super::printed::Slot;
use super::word_bits::Bits;

/// Base words with which pairs of bits are tried.
const PAIR_BASES: usize = 2;

/// Bits in disjoint groups.
#[derive(Clone, Default, Debug)]
pub(super) struct Partition {
    /// Another bit of the same group, or the bit itself.
    parent: BTreeMap<u8, u8>,
}

/// A change of a list: words `start..end` are replaced.
#[derive(PartialEq, Eq, Debug)]
pub(super) struct Edit {
    pub(super) start: usize,
    pub(super) end: usize,
    pub(super) new: Vec<String>,
}

impl Edit {
    /// The smallest change from one list to another.
    pub(super) fn between(before: &[String], after: &[String]) -> Edit {
        let same = before.iter().zip(after).take_while(|(a, b)| a == b);
        let start = same.count();
        let (left, right) = (before.len() - start, after.len() - start);
        let tails = before.iter().rev().zip(after.iter().rev());
        let tail = tails.take_while(|(a, b)| a == b).count();
        let tail = tail.min(left).min(right);
        let new = after.get(start..after.len() - tail).unwrap_or_default();
        Edit {
            start,
            end: before.len() - tail,
            new: new.to_vec(),
        }
    }

    /// The list with this change and a later one that does not overlap.
    fn and(&self, later: &Edit, list: &[String]) -> Vec<String> {
        let part = |from: usize, to: usize| list.get(from..to).unwrap_or_default();
        let parts = [
            part(0, self.start),
            &self.new,
            part(self.end, later.start),
            &later.new,
            part(later.end, list.len()),
        ];
        parts.concat()
    }
}

impl Partition {
    /// Groups the bits that choose texts: all bits of a slot together, bits of modifiers as far as pairs of them show it.
    pub(super) fn find(
        answers: &mut Answers<'_>,
        frame: &Frame,
        bases: &[u128],
        influence: &Influence,
        fields: u128,
        others: &[u8],
    ) -> anyhow::Result<Partition> {
        let mut partition = Partition::default();
        let mut modifiers = Vec::new();
        for (part, bits) in &influence.parts {
            let bits: Vec<u8> = bits
                .iter()
                .copied()
                .filter(|bit| fields >> bit & 1 == 0)
                .collect();
            match part {
                Part::Modifiers => {
                    modifiers.clone_from(&bits);
                    bits.iter().for_each(|bit| partition.add(*bit));
                }
                Part::Slot(_, Slot::Float) => {}
                Part::Slot(_, slot) if slot.is_number() => {}
                Part::Slot(..) => partition.join_all(&bits),
            }
        }
        others.iter().for_each(|bit| partition.add(*bit));
        partition.join_modifiers(answers, frame, bases, &modifiers)?;
        Ok(partition)
    }

    /// Joins two bits of modifiers if flipping both is not the sum of flipping each.
    fn join_modifiers(
        &mut self,
        answers: &mut Answers<'_>,
        frame: &Frame,
        bases: &[u128],
        bits: &[u8],
    ) -> anyhow::Result<()> {
        let pairs: Vec<(u8, u8)> = bits
            .iter()
            .enumerate()
            .flat_map(|(at, a)| bits.iter().skip(at + 1).map(move |b| (*a, *b)))
            .collect();
        for base in bases.iter().take(PAIR_BASES) {
            let apart = pairs.iter().filter(|(a, b)| self.root(*a) != self.root(*b));
            let apart: Vec<(u8, u8)> = apart.copied().collect();
            let words: Vec<u128> = apart.iter().map(|(a, b)| base ^ 1 << a ^ 1 << b).collect();
            answers.ask(&words)?;
            let modifiers = |word: u128| {
                let reading = answers.get(word)?;
                frame.align(&reading.printed, &[])?;
                Some(&reading.printed.modifiers)
            };
            let Some(before) = modifiers(*base) else {
                continue;
            };
            for (a, b) in apart {
                let of = |flip: u128| modifiers(base ^ flip);
                let (Some(first), Some(second), Some(both)) =
                    (of(1 << a), of(1 << b), of(1 << a | 1 << b))
                else {
                    continue;
                };
                let (first, second) = (Edit::between(before, first), Edit::between(before, second));
                let sum = first.end <= second.start && first.and(&second, before) == *both
                    || second.end <= first.start && second.and(&first, before) == *both;
                if !sum {
                    self.join(a, b);
                }
            }
        }
        Ok(())
    }

    /// Adds a bit as a group of its own.
    pub(super) fn add(&mut self, bit: u8) {
        self.parent.entry(bit).or_insert(bit);
    }

    /// Joins the groups of two bits.
    pub(super) fn join(&mut self, a: u8, b: u8) {
        self.add(a);
        self.add(b);
        let (a, b) = (self.root(a), self.root(b));
        self.parent.insert(a.max(b), a.min(b));
    }

    /// Joins the groups of all bits.
    pub(super) fn join_all(&mut self, bits: &[u8]) {
        bits.iter().for_each(|bit| self.add(*bit));
        for pair in bits.windows(2) {
            if let [a, b] = pair {
                self.join(*a, *b);
            }
        }
    }

    fn root(&self, bit: u8) -> u8 {
        let mut at = bit;
        while let Some(&parent) = self.parent.get(&at)
            && parent != at
        {
            at = parent;
        }
        at
    }

    /// All groups.
    pub(super) fn groups(&self) -> Vec<Bits> {
        let mut groups: BTreeMap<u8, Vec<u8>> = BTreeMap::new();
        for bit in self.parent.keys() {
            groups.entry(self.root(*bit)).or_default().push(*bit);
        }
        groups.into_values().map(Bits::new).collect()
    }

    /// Group of a bit.
    pub(super) fn group_of(&self, bit: u8) -> Option<Bits> {
        let groups = self.groups().into_iter();
        groups
            .into_iter()
            .find(|group| group.mask() >> bit & 1 == 1)
    }
}

#[cfg(test)]
mod tests {
    use super::{Edit, Partition};

    #[test]
    fn bits_are_joined() {
        let mut partition = Partition::default();
        partition.add(5);
        partition.join_all(&[9, 7]);
        partition.join(9, 12);
        let groups: Vec<String> = partition.groups().iter().map(ToString::to_string).collect();
        assert_eq!(groups, ["5", "12+9+7"]);
    }

    #[test]
    fn edits_are_small() {
        let list = |text: &str| -> Vec<String> { text.split('.').map(str::to_owned).collect() };
        let edit = Edit::between(&list("A.B.C"), &list("A.X.Y.C"));
        assert_eq!((edit.start, edit.end), (1, 2));
        let later = Edit::between(&list("A.B.C"), &list("A.B.D"));
        assert_eq!(edit.and(&later, &list("A.B.C")), list("A.X.Y.D"));
    }
}
