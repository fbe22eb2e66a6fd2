//! Sums of formulas over all threads of a launch, where they are simple: counts that are equal in all threads, and
//! guards that compare an index with a number. For example, `min(max(n, 0), blockDim.x*gridDim.x)` global indices
//! pass the guard `i < n`.

use warpbound_isa::{Axis, SpecialReg};

use super::CountFormulas;
use super::expression::{Count, Factor, Test};
use crate::symbolic::atoms::{Atom, WordPolynomial};
use crate::symbolic::conditions::Condition;
use crate::symbolic::span::Reading;

/// Sum over all threads: a count that is equal in all of them, times the number of threads that pass a guard.
pub(super) struct LaunchSum {
    pub(super) equal: Count,
    /// Guard; without one all threads count.
    pub(super) guard: Option<IndexGuard>,
}

/// Guard on an index: the threads whose index is below a number, or all others.
pub(super) struct IndexGuard {
    pub(super) index: GuardedIndex,
    pub(super) axis: Axis,
    /// Word to which the index is compared, the same in all threads.
    pub(super) word: WordPolynomial,
    pub(super) reading: Reading,
    /// Whether an index equal to the word is below the number as well.
    pub(super) with_equal: bool,
    /// Whether the guard passes the other threads instead: those with an index that is not below the number.
    pub(super) is_complement: bool,
}

/// Index that a guard compares.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum GuardedIndex {
    Thread,
    Block,
    /// `threadIdx + blockDim*blockIdx`.
    Global,
}

impl CountFormulas<'_> {
    /// The sum of a count over all threads, where it is simple.
    pub(super) fn launch_sum(&self, count: &Count) -> Option<LaunchSum> {
        let varies = |count: &Count| {
            let used = self.used_indices(count);
            used.threads || used.blocks.contains(&true)
        };
        if !varies(count) {
            return Some(LaunchSum {
                equal: count.clone(),
                guard: None,
            });
        }
        let [product] = count.products.as_slice() else {
            return None;
        };
        let (guards, equal): (Vec<Factor>, Vec<Factor>) =
            (product.iter().cloned()).partition(|factor| varies(&Count::factor(factor.clone())));
        let [Factor::Holds(test)] = guards.as_slice() else {
            return None;
        };
        Some(LaunchSum {
            equal: Count {
                products: vec![equal],
            },
            guard: Some(self.index_guard(test)?),
        })
    }

    fn index_guard(&self, test: &Test) -> Option<IndexGuard> {
        let [
            Condition::Less {
                a,
                b,
                or_equal,
                reading,
            },
        ] = test.conditions.as_slice()
        else {
            return None;
        };
        let (index, word, is_complement) = match (self.index(a), self.index(b)) {
            (Some(index), None) => (index, b, false),
            // `w < i` passes all indices except those with `i <= w`.
            (None, Some(index)) => (index, a, true),
            _ => return None,
        };
        let test_of_word = Count::factor(Factor::Holds(Test {
            conditions: vec![Condition::Zero(word.clone())],
            all_hold: true,
        }));
        let used = self.used_indices(&test_of_word);
        let is_equal = !used.threads && !used.blocks.contains(&true);
        is_equal.then(|| IndexGuard {
            index: index.0,
            axis: index.1,
            word: word.clone(),
            reading: *reading,
            with_equal: *or_equal != is_complement,
            is_complement: is_complement == test.all_hold,
        })
    }

    /// The index that a word denotes, if it is one.
    fn index(&self, word: &WordPolynomial) -> Option<(GuardedIndex, Axis)> {
        let atoms = &self.words.symbolic.atoms;
        let special = |id| match atoms.get(id) {
            Atom::Special(register) => Some(*register),
            _ => None,
        };
        if let Some(id) = word.as_unknown() {
            return match special(id)? {
                SpecialReg::ThreadIndex(axis) => Some((GuardedIndex::Thread, axis)),
                SpecialReg::BlockIndex(axis) => Some((GuardedIndex::Block, axis)),
                _ => None,
            };
        }
        // `threadIdx + blockDim*blockIdx`, in either order.
        let [(first, 1), (second, 1)] = word.terms() else {
            return None;
        };
        let (single, product) = match (first.as_slice(), second.as_slice()) {
            (&[single], &[a, b]) | (&[a, b], &[single]) => (single, [a, b]),
            _ => return None,
        };
        let SpecialReg::ThreadIndex(axis) = special(single)? else {
            return None;
        };
        let is_block = |id| special(id) == Some(SpecialReg::BlockIndex(axis));
        let is_size = |id| self.is_block_size(id, axis);
        let [a, b] = product;
        let is_global = is_block(a) && is_size(b) || is_block(b) && is_size(a);
        is_global.then_some((GuardedIndex::Global, axis))
    }

    /// Whether an atom is the number of threads of a block along an axis.
    fn is_block_size(&self, id: crate::symbolic::atoms::AtomId, axis: Axis) -> bool {
        let Atom::Constant(bank, address) = self.words.symbolic.atoms.get(id) else {
            return false;
        };
        // The launch names the words of the constant bank that hold the sizes.
        let word = address.as_constant().and_then(|at| {
            let words = &self.words.symbolic.launch.words;
            words.get(&(*bank, at))
        });
        word.is_some_and(|word| word.name == format!("blockDim.{}", axis_name(axis)))
    }
}

/// Name of an axis.
pub(super) fn axis_name(axis: Axis) -> &'static str {
    match axis {
        Axis::X => "x",
        Axis::Y => "y",
        Axis::Z => "z",
    }
}
