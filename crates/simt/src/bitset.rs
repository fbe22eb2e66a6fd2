//! Set of small numbers, such as the slots of a stack.
//!
//! The words grow with the largest member, so a set is compact only if its members are small: a set that contains
//! 6400 takes 101 words.

use smallvec::SmallVec;

/// Set of `usize` as bits; no heap memory is used for members up to 127.
#[derive(Clone, Default, Debug)]
pub struct BitSet {
    // Trailing zero words are allowed, so equal sets may have different words.
    words: SmallVec<[u64; 2]>,
}

impl BitSet {
    /// The empty set.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds `item`; returns whether it was absent.
    pub fn insert(&mut self, item: usize) -> bool {
        let (word, bit) = (item / 64, 1u64 << (item % 64));
        if word >= self.words.len() {
            self.words.resize(word + 1, 0);
        }
        let fresh = self.words[word] & bit == 0;
        self.words[word] |= bit;
        fresh
    }

    /// Whether `item` is in the set.
    pub fn contains(&self, item: usize) -> bool {
        self.words
            .get(item / 64)
            .is_some_and(|w| w >> (item % 64) & 1 == 1)
    }

    /// Removes `item`.
    pub fn remove(&mut self, item: usize) {
        if let Some(word) = self.words.get_mut(item / 64) {
            *word &= !(1 << (item % 64));
        }
    }

    /// Members of both sets.
    #[must_use]
    pub fn intersection(&self, other: &BitSet) -> BitSet {
        // The shorter list decides: words that one set lacks are zero, and no member there is in both.
        let words = self.words.iter().zip(&other.words);
        BitSet {
            words: words.map(|(a, b)| a & b).collect(),
        }
    }

    /// Number of members.
    pub fn len(&self) -> usize {
        self.words
            .iter()
            .map(|word| word.count_ones() as usize)
            .sum()
    }

    /// Adds all of `other`; returns whether the set grew.
    pub fn union(&mut self, other: &BitSet) -> bool {
        if other.words.len() > self.words.len() {
            self.words.resize(other.words.len(), 0);
        }
        let mut grew = false;
        for (mine, &theirs) in self.words.iter_mut().zip(&other.words) {
            grew |= theirs & !*mine != 0;
            *mine |= theirs;
        }
        grew
    }

    /// Adds the members of `other` that are not in `without`.
    pub fn union_without(&mut self, other: &BitSet, without: &BitSet) {
        if other.words.len() > self.words.len() {
            self.words.resize(other.words.len(), 0);
        }
        for (index, (mine, theirs)) in self.words.iter_mut().zip(&other.words).enumerate() {
            *mine |= theirs & !without.words.get(index).copied().unwrap_or(0);
        }
    }

    /// Removes and returns the largest member.
    pub fn pop(&mut self) -> Option<usize> {
        let index = self.words.iter().rposition(|&word| word != 0)?;
        let bit = 63 - self.words[index].leading_zeros() as usize;
        self.words[index] &= !(1 << bit);
        Some(index * 64 + bit)
    }

    /// Whether some member is in both sets.
    pub fn intersects(&self, other: &BitSet) -> bool {
        let mut words = self.words.iter().zip(&other.words);
        words.any(|(mine, theirs)| mine & theirs != 0)
    }

    /// The members in `start..start + count` as a word, bit 0 for `start`; `count` is 1 to 64.
    pub(crate) fn extract(&self, start: usize, count: usize) -> u64 {
        let (index, shift) = (start / 64, start % 64);
        let word = |index: usize| self.words.get(index).copied().unwrap_or(0);
        let mut bits = word(index) >> shift;
        // A shift by 64 would overflow.
        if shift > 0 {
            bits |= word(index + 1) << (64 - shift);
        }
        bits & u64::MAX >> (64 - count)
    }

    /// Adds the members of a word of [`BitSet::extract`], bit 0 for `start`; returns whether the set grew.
    pub(crate) fn deposit(&mut self, start: usize, bits: u64) -> bool {
        let (index, shift) = (start / 64, start % 64);
        let over = if shift > 0 { bits >> (64 - shift) } else { 0 };
        let mut grew = false;
        for (index, bits) in [(index, bits << shift), (index + 1, over)] {
            if bits != 0 {
                if index >= self.words.len() {
                    self.words.resize(index + 1, 0);
                }
                grew |= bits & !self.words[index] != 0;
                self.words[index] |= bits;
            }
        }
        grew
    }

    /// Members, ascending.
    pub fn iter(&self) -> impl Iterator<Item = usize> + '_ {
        self.words.iter().enumerate().flat_map(|(i, &word)| {
            let mut rest = word;
            std::iter::from_fn(move || {
                let bit = rest.trailing_zeros() as usize;
                (rest != 0).then(|| {
                    rest &= rest - 1;
                    i * 64 + bit
                })
            })
        })
    }

    /// Whether there are no members.
    pub fn is_empty(&self) -> bool {
        self.words.iter().all(|&w| w == 0)
    }
}

impl FromIterator<usize> for BitSet {
    fn from_iter<I: IntoIterator<Item = usize>>(items: I) -> Self {
        let mut set = BitSet::new();
        for item in items {
            set.insert(item);
        }
        set
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn deposit_is_the_inverse_of_extract() {
        let mut rng = fastrand::Rng::with_seed(1);
        for _ in 0..2000 {
            let set: BitSet = (0..rng.usize(0..60)).map(|_| rng.usize(0..250)).collect();
            let (start, to, count) = (rng.usize(0..260), rng.usize(0..260), rng.usize(1..65));
            let mut moved = BitSet::new();
            moved.insert(3);
            moved.deposit(to, set.extract(start, count));
            let range = start..start + count;
            let mut expected: Vec<usize> = set.iter().filter(|m| range.contains(m)).collect();
            expected
                .iter_mut()
                .for_each(|member| *member = *member - start + to);
            expected.push(3);
            expected.sort_unstable();
            expected.dedup();
            assert_eq!(moved.iter().collect::<Vec<_>>(), expected);
            let other: BitSet = (0..5).map(|_| rng.usize(0..250)).collect();
            assert_eq!(
                set.intersects(&other),
                set.iter().any(|m| other.contains(m))
            );
        }
    }
}
