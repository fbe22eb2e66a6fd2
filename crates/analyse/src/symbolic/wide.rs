//! Words of 64 bits: pairs of words as integers modulo 2⁶⁴.

use warpbound_ir::{BinaryOp, TernaryOp};

use super::atoms::{Atom, AtomId, Atoms, WordPolynomial, constant};
use super::integers::{Facts, Integer, Integers};
use super::span::Reading;

const WINDOW: i128 = 1 << 32;

/// Maximum number of words of an address that are examined as halves of pairs: operands of a sum may be the same
/// pair, again and again.
const MAX_PAIRS: u32 = 200;

impl Integers {
    /// The number modulo 2⁶⁴ whose halves are two words. For example, it is `lo + 2³²·hi + 4·tid` for the low word
    /// `lo + 4·tid` and the high word `hi` plus the carry of that sum.
    ///
    /// If the low word is a sum and the high word contains its carry, once, then the sum of the words, read as
    /// natural numbers, is the low word and 2³² times the carry: `low + 2³²·high` is that sum and 2³² times the rest
    /// of the high word. So the low word of a pair is a word of its own only where its last sum had no carry. A word
    /// shifted left, whose upper bits are in the high word, is the shifted number.
    pub(crate) fn wide(
        &mut self,
        atoms: &Atoms,
        low: &WordPolynomial,
        high: &WordPolynomial,
    ) -> Option<Integer> {
        let mut left = MAX_PAIRS;
        let (number, rest) = self.low_part(atoms, low, high, &mut left)?;
        number.plus(&self.high_part(atoms, &rest)?, 1)
    }

    /// The number of a low word and its part of the high word, and the rest of the high word:
    /// `low + 2³²·high` is the number and 2³² times the rest. `left` is the number of words that may still be examined.
    fn low_part(
        &mut self,
        atoms: &Atoms,
        low: &WordPolynomial,
        high: &WordPolynomial,
        left: &mut u32,
    ) -> Option<(Integer, WordPolynomial)> {
        let alone = |integers: &mut Integers| {
            let plain = Facts::of_addresses();
            (
                integers.read(atoms, low, Reading::Unsigned, &plain),
                high.clone(),
            )
        };
        match left.checked_sub(1) {
            Some(less) => *left = less,
            // A low word may always be read as a number of its own.
            None => return Some(alone(self)),
        }
        if let Some(found) = self.shifted(atoms, low, high, left) {
            return Some(found);
        }
        // All bits of a pair inverted, as in a subtraction: -1 less its number.
        if let (Some(low), Some(high)) = (inverted(low), inverted(high))
            && let Some((number, rest)) = self.shifted(atoms, &low, &high, left)
        {
            let number = Integer::constant(-1).plus(&number, -1)?;
            return Some((number, rest.scaled(u32::MAX)?));
        }
        let Some((operands, mut rest)) = carry_in(atoms, low, high) else {
            return Some(alone(self));
        };
        // Operands may be the low words of pairs themselves, whose high words are parts of the rest.
        let mut sum = Integer::constant(0);
        for operand in &operands {
            let (number, less) = self.low_part(atoms, operand, &rest, left)?;
            sum = sum.plus(&number, 1)?;
            rest = less;
        }
        Some((sum, rest))
    }

    /// The high word times 2³²: only its value modulo 2³² matters, so its terms are taken as they are.
    fn high_part(&mut self, atoms: &Atoms, high: &WordPolynomial) -> Option<Integer> {
        let mut sum = Integer::constant(0);
        for (unknowns, coefficient) in high.terms() {
            let mut term = Integer::constant(i128::from(*coefficient as i32) * WINDOW);
            for &id in unknowns {
                let word = WordPolynomial::unknown(id);
                term = term.times(&self.number(atoms, &word, Reading::Unsigned))?;
            }
            sum = sum.plus(&term, 1)?;
        }
        Some(sum)
    }

    /// The number of a pair whose low word is shifted left, and the rest of the high word.
    fn shifted(
        &mut self,
        atoms: &Atoms,
        low: &WordPolynomial,
        high: &WordPolynomial,
        left: &mut u32,
    ) -> Option<(Integer, WordPolynomial)> {
        if let Some((id, [of_low, of_high], bits)) = pair_shift_in(atoms, low, high) {
            let rest = high.plus(&WordPolynomial::unknown(id), u32::MAX)?;
            let (number, of_rest) = self.low_part(atoms, &of_low, &of_high, left)?;
            let number = number.plus(&self.high_part(atoms, &of_rest)?, 1)?;
            return Some((number.scaled(1i128 << bits)?, rest));
        }
        let (id, of, bits, reading) = shift_in(atoms, low, high)?;
        let rest = high.plus(&WordPolynomial::unknown(id), u32::MAX)?;
        let number = self.read(atoms, &of, reading, &Facts::of_addresses());
        Some((number.scaled(1i128 << bits)?, rest))
    }
}

/// A word with all bits inverted.
fn inverted(word: &WordPolynomial) -> Option<WordPolynomial> {
    constant(u32::MAX).plus(word, u32::MAX)
}

/// Atom of the high word that has the upper word of a pair shifted left, where the low word is its lower one: its
/// number, the words of the pair before the shift, and the bits.
fn pair_shift_in(
    atoms: &Atoms,
    low: &WordPolynomial,
    high: &WordPolynomial,
) -> Option<(AtomId, [WordPolynomial; 2], u32)> {
    high.unknowns().find_map(|id| {
        let Atom::Ternary(TernaryOp::FunnelLeft, [of_low, of_high, by]) = atoms.get(id) else {
            return None;
        };
        let bits = by.as_constant().filter(|&bits| bits < 32)?;
        let is_low = of_low.scaled(1 << bits)? == *low;
        let is_once = high.coefficient(&[id]) == 1;
        (is_low && is_once).then(|| (id, [of_low.clone(), of_high.clone()], bits))
    })
}

/// Operands of a carry in the high word whose sum is the low word, and the high word without it.
fn carry_in(
    atoms: &Atoms,
    low: &WordPolynomial,
    high: &WordPolynomial,
) -> Option<([WordPolynomial; 3], WordPolynomial)> {
    high.unknowns().find_map(|id| {
        let Atom::Ternary(TernaryOp::Carry, operands) = atoms.get(id) else {
            return None;
        };
        let [a, b, c] = operands;
        let sum = a.plus(b, 1)?.plus(c, 1)?;
        // A multiple of the carry does not belong to this sum.
        let is_once = high.coefficient(&[id]) == 1;
        let rest = high.plus(&WordPolynomial::unknown(id), u32::MAX)?;
        (sum == *low && is_once).then(|| (operands.clone(), rest))
    })
}

/// Atom of the high word that has the upper bits of a low word shifted left: its number, the word before the shift, the
/// bits, and how that word is extended.
fn shift_in(
    atoms: &Atoms,
    low: &WordPolynomial,
    high: &WordPolynomial,
) -> Option<(AtomId, WordPolynomial, u32, Reading)> {
    high.unknowns().find_map(|id| {
        let Atom::Binary(op, [of, by]) = atoms.get(id) else {
            return None;
        };
        let reading = match op {
            BinaryOp::Sar => Reading::Signed,
            BinaryOp::Shr => Reading::Unsigned,
            _ => return None,
        };
        let right = by.as_constant()?;
        let bits = 32u32.checked_sub(right)?;
        let bits = match (right, op) {
            // The sign alone: of a word that is not shifted.
            (31, BinaryOp::Sar) if of == low => 0,
            _ => bits,
        };
        let shifted = match bits {
            0..=31 => of.scaled(1 << bits)?,
            _ => constant(0),
        };
        let is_once = high.coefficient(&[id]) == 1;
        (shifted == *low && is_once).then(|| (id, of.clone(), bits, reading))
    })
}
