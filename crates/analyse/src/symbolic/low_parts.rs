//! Words that are the low bits of others: `x - 2^k·(x >> k)`, with a right shift that does not sign-extend. They are below `2^k`,
//! which the terms alone do not show.

use rustc_hash::FxHashMap;

use super::atoms::{AtomId, WordPolynomial};

/// The low bits of a word: the polynomial `base - 2^bits·(base >> bits)`.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct LowPart {
    pub(super) word: WordPolynomial,
    pub(super) base: WordPolynomial,
    pub(super) bits: u32,
}

/// Low bits of words, as far as the words of a program have them.
#[derive(Default)]
pub(super) struct LowParts {
    all: Vec<LowPart>,
    /// Positions by the low bits, by the whole word, and by the atom of the shift between both.
    of_word: FxHashMap<WordPolynomial, usize>,
    of_base: FxHashMap<WordPolynomial, Vec<usize>>,
    of_shift: FxHashMap<AtomId, usize>,
}

impl LowParts {
    /// Records the low bits of a word, with the atom of the shift that gives the others.
    pub(super) fn record(
        &mut self,
        word: &WordPolynomial,
        base: &WordPolynomial,
        bits: u32,
        shift: Option<AtomId>,
    ) {
        if self.of_word.contains_key(word) {
            return;
        }
        let at = self.all.len();
        self.all.push(LowPart {
            word: word.clone(),
            base: base.clone(),
            bits,
        });
        self.of_word.insert(word.clone(), at);
        let of_base = self.of_base.entry(base.clone()).or_default();
        of_base.push(at);
        if let Some(shift) = shift {
            self.of_shift.insert(shift, at);
        }
    }

    /// The word that a polynomial is the low bits of, if it is.
    pub(super) fn get(&self, word: &WordPolynomial) -> Option<&LowPart> {
        self.of_word.get(word).map(|&at| &self.all[at])
    }

    /// All low bits of a word.
    pub(super) fn of_base(&self, base: &WordPolynomial) -> impl Iterator<Item = &LowPart> {
        let all = self.of_base.get(base).into_iter().flatten();
        all.map(|&at| &self.all[at])
    }

    /// The low part that differs from a word by a constant.
    pub(super) fn near(&self, word: &WordPolynomial) -> Option<WordPolynomial> {
        let mut shifts = word.unknowns().filter_map(|id| self.of_shift.get(&id));
        shifts.find_map(|&at| {
            let part = &self.all[at].word;
            let more = word.plus(part, u32::MAX)?;
            more.as_constant().is_some().then(|| part.clone())
        })
    }

    /// Takes multiples of low parts out of a word; returns them, with their factors, and the rest. For example,
    /// `44 - x + 32·(x >> 5)` is -1 times the low 5 bits of `x`, and 44. Nothing is taken out that leaves as many terms.
    pub(super) fn taken_out_of(
        &self,
        word: &WordPolynomial,
    ) -> (Vec<(&LowPart, i32)>, WordPolynomial) {
        let (mut parts, mut rest) = (Vec::new(), word.clone());
        for (unknowns, coefficient) in word.terms() {
            let &[id] = unknowns.as_slice() else {
                continue;
            };
            let Some(part) = self.of_shift.get(&id).map(|&at| &self.all[at]) else {
                continue;
            };
            // A smaller multiple of the shift is no multiple of the low bits.
            let coefficient = *coefficient as i32;
            if coefficient.unsigned_abs().trailing_zeros() < part.bits {
                continue;
            }
            let factor = -(i64::from(coefficient) >> part.bits) as i32;
            let without = rest.plus(&part.word, factor.wrapping_neg() as u32);
            if let Some(without) =
                without.filter(|left| left.terms().len() + 1 < rest.terms().len())
            {
                parts.push((part, factor));
                rest = without;
            }
        }
        (parts, rest)
    }
}
