//! A small set of small numbers.

use smallvec::SmallVec;

/// A set of `usize` kept as bits; inline up to 127.
#[derive(Clone, Default, PartialEq, Eq, Debug)]
pub struct BitSet {
    words: SmallVec<[u64; 2]>,
}

impl BitSet {
    /// The empty set.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds `item`; true when it was not there.
    pub fn insert(&mut self, item: usize) -> bool {
        let (word, bit) = (item / 64, 1u64 << (item % 64));
        if word >= self.words.len() {
            self.words.resize(word + 1, 0);
        }
        let fresh = self.words[word] & bit == 0;
        self.words[word] |= bit;
        fresh
    }

    /// `item` is in the set.
    pub fn contains(&self, item: usize) -> bool {
        self.words
            .get(item / 64)
            .is_some_and(|w| w >> (item % 64) & 1 == 1)
    }

    /// Adds all of `other`; true when the set grew.
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

    /// No members.
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
