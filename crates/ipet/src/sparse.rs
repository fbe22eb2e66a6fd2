use crate::exact::Rational;

/// Bit set of positions that can be iterated in both directions while it grows ahead of the iteration.
#[derive(Clone, Debug)]
pub(crate) struct PositionSet {
    words: Vec<u64>,
}

impl PositionSet {
    pub(crate) fn new(len: usize) -> PositionSet {
        PositionSet {
            words: vec![0; len.div_ceil(64)],
        }
    }

    pub(crate) fn insert(&mut self, position: usize) {
        self.words[position / 64] |= 1 << (position % 64);
    }

    pub(crate) fn contains(&self, position: usize) -> bool {
        self.words[position / 64] >> (position % 64) & 1 == 1
    }

    /// First position from `from` on.
    pub(crate) fn at_or_after(&self, from: usize) -> Option<usize> {
        let mut index = from / 64;
        let mut word = self.words.get(index)? & (u64::MAX << (from % 64));
        while word == 0 {
            index += 1;
            word = *self.words.get(index)?;
        }
        Some(index * 64 + word.trailing_zeros() as usize)
    }

    /// Last position before `end`.
    pub(crate) fn before(&self, end: usize) -> Option<usize> {
        let last = end.checked_sub(1)?;
        let mut index = last / 64;
        let mut word = self.words[index] & (u64::MAX >> (63 - last % 64));
        while word == 0 {
            index = index.checked_sub(1)?;
            word = self.words[index];
        }
        Some(index * 64 + 63 - word.leading_zeros() as usize)
    }

    pub(crate) fn clear(&mut self) {
        self.words.fill(0);
    }
}

/// Sparse vector: a value for every position, and the set of positions that may be non-zero.
///
/// Solves of the simplex method leave a few hundred non-zero values among tens of thousands, so no step may visit all
/// positions; the vectors are reused for every step.
#[derive(Clone, Debug)]
pub(crate) struct SparseVector {
    values: Vec<Rational>,
    touched: PositionSet,
}

impl SparseVector {
    pub(crate) fn new(len: usize) -> SparseVector {
        SparseVector {
            values: vec![Rational::ZERO; len],
            touched: PositionSet::new(len),
        }
    }

    pub(crate) fn len(&self) -> usize {
        self.values.len()
    }

    pub(crate) fn get(&self, position: usize) -> &Rational {
        &self.values[position]
    }

    /// Whether the value may be non-zero; cheaper than [`SparseVector::get`].
    pub(crate) fn is_touched(&self, position: usize) -> bool {
        self.touched.contains(position)
    }

    pub(crate) fn set(&mut self, position: usize, value: Rational) {
        self.touched.insert(position);
        self.values[position] = value;
    }

    /// `self[position] -= a * b`.
    pub(crate) fn sub_mul(&mut self, position: usize, a: &Rational, b: &Rational) {
        self.touched.insert(position);
        self.values[position].sub_mul(a, b);
    }

    /// First touched position from `from` on.
    pub(crate) fn at_or_after(&self, from: usize) -> Option<usize> {
        self.touched.at_or_after(from)
    }

    /// Last touched position before `end`.
    pub(crate) fn before(&self, end: usize) -> Option<usize> {
        self.touched.before(end)
    }

    /// Sets every value to 0.
    pub(crate) fn clear(&mut self) {
        let mut next = self.touched.at_or_after(0);
        while let Some(position) = next {
            self.values[position] = Rational::ZERO;
            next = self.touched.at_or_after(position + 1);
        }
        self.touched.clear();
    }

    /// Non-zero values, ascending by position.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (usize, &Rational)> {
        let touched = std::iter::successors(self.touched.at_or_after(0), |&position| {
            self.touched.at_or_after(position + 1)
        });
        touched
            .map(|position| (position, &self.values[position]))
            // A touched value may have been set to 0, or have become 0 by a subtraction.
            .filter(|(_, value)| !value.is_zero())
    }
}

/// Lists of entries, concatenated in one allocation (compressed row storage).
#[derive(Clone, Debug)]
pub(crate) struct CompressedLists<T> {
    /// Start of each list, and the end of the last one.
    starts: Vec<usize>,
    entries: Vec<T>,
}

impl<T> CompressedLists<T> {
    pub(crate) fn with_capacity(lists: usize) -> CompressedLists<T> {
        let mut starts = Vec::with_capacity(lists + 1);
        starts.push(0);
        CompressedLists {
            starts,
            entries: Vec::new(),
        }
    }

    /// Adds a list.
    pub(crate) fn push(&mut self, list: impl IntoIterator<Item = T>) {
        self.entries.extend(list);
        self.starts.push(self.entries.len());
    }

    /// Number of lists.
    pub(crate) fn len(&self) -> usize {
        self.starts.len() - 1
    }

    pub(crate) fn list(&self, list: usize) -> &[T] {
        &self.entries[self.starts[list]..self.starts[list + 1]]
    }

    /// All entries of all lists.
    pub(crate) fn entries_mut(&mut self) -> &mut [T] {
        &mut self.entries
    }

    /// Distributes `entries`, each with the index of its list, to `lists` lists (counting sort). `keys` are the list
    /// indices alone, in any order.
    pub(crate) fn gather(
        lists: usize,
        empty: T,
        keys: impl Iterator<Item = usize>,
        entries: impl Iterator<Item = (usize, T)>,
    ) -> CompressedLists<T>
    where
        T: Clone,
    {
        let mut starts = vec![0; lists + 1];
        for list in keys {
            starts[list + 1] += 1;
        }
        for list in 0..lists {
            starts[list + 1] += starts[list];
        }
        let mut free = starts.clone();
        let mut gathered = vec![empty; starts[lists]];
        for (list, entry) in entries {
            gathered[free[list]] = entry;
            free[list] += 1;
        }
        CompressedLists {
            starts,
            entries: gathered,
        }
    }
}

/// Transposes columns to `height` rows, or rows to columns.
pub(crate) fn transposed(
    height: usize,
    lists: &CompressedLists<(usize, Rational)>,
) -> CompressedLists<(usize, Rational)> {
    let keys = lists.entries.iter().map(|(other, _)| *other);
    let entries = (0..lists.len()).flat_map(|list| {
        let entries = lists.list(list).iter();
        entries.map(move |(other, value)| (*other, (list, value.clone())))
    });
    CompressedLists::gather(height, (0, Rational::ZERO), keys, entries)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn position_sets_are_iterated_in_both_directions_while_they_grow() {
        let mut set = PositionSet::new(200);
        for position in [0, 63, 64, 130, 199] {
            set.insert(position);
        }
        assert_eq!(set.at_or_after(0), Some(0));
        assert_eq!(set.at_or_after(1), Some(63));
        assert_eq!(set.at_or_after(65), Some(130));
        set.insert(129);
        assert_eq!(set.at_or_after(65), Some(129));
        assert_eq!(set.at_or_after(200), None);
        assert_eq!(set.before(200), Some(199));
        assert_eq!(set.before(129), Some(64));
        assert_eq!(set.before(64), Some(63));
        assert_eq!(set.before(0), None);
        set.clear();
        assert_eq!((set.at_or_after(0), set.before(200)), (None, None));
        assert_eq!(PositionSet::new(0).at_or_after(0), None);
    }

    #[test]
    fn a_cleared_vector_is_zero() {
        let mut vector = SparseVector::new(70);
        vector.set(69, Rational::ONE);
        vector.sub_mul(3, &Rational::ONE, &Rational::ONE);
        vector.sub_mul(69, &Rational::ONE, &Rational::ONE);
        let found: Vec<_> = vector.iter().collect();
        assert_eq!(found, [(3, &Rational::int(-1))]);
        vector.clear();
        assert_eq!(vector.iter().count(), 0);
        assert!(vector.get(3).is_zero() && !vector.is_touched(3));
    }

    #[test]
    fn lists_are_gathered_by_key() {
        let entries = [(2, 5), (0, 7), (2, 6)];
        let lists = CompressedLists::gather(3, 0, [0, 2, 2].into_iter(), entries.into_iter());
        assert_eq!(
            [lists.list(0), lists.list(1), lists.list(2)],
            [&[7][..], &[], &[5, 6]]
        );
    }
}
