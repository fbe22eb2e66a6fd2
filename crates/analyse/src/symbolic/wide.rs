//! Words of 64 bits: pairs of words as integers modulo 2⁶⁴.

use warpbound_ir::{BinaryOp, TernaryOp};

use super::atoms::{Atom, AtomId, Atoms, WordPolynomial, constant};
use super::integers::{Facts, Integer, Integers};
use super::span::Reading;

const WINDOW: i128 = 1 << 32;
/// Most sums of words in one address.
const MAX_SUMS: u32 = 12;

impl Integers {
    /// The number modulo 2⁶⁴ of which two words are the halves.
    ///
    /// If the low word is a sum and the high word contains its carry, then the sum of the words, read as natural numbers,
    /// is the low word and 2³² times the carry: `low + 2³²·high` is that sum and 2³² times the rest of the high word. So
    /// the low word of a pair is a word of its own only where its last sum had no carry. A word shifted left, whose upper
    /// bits are in the high word, is the shifted number.
    pub(crate) fn wide(
        &mut self,
        atoms: &Atoms,
        low: &WordPolynomial,
        high: &WordPolynomial,
    ) -> Option<Integer> {
        self.wide_sum(atoms, low, high, MAX_SUMS)
    }

    fn wide_sum(
        &mut self,
        atoms: &Atoms,
        low: &WordPolynomial,
        high: &WordPolynomial,
        depth: u32,
    ) -> Option<Integer> {
        let plain = Facts::of_addresses();
        if let Some((number, rest)) = self.shifted(atoms, low, high) {
            let rest = self.high_part(atoms, &rest)?;
            return number.plus(&rest, 1);
        }
        if depth > 0
            && let Some((operands, rest)) = carry_in(atoms, low, high)
        {
            // One operand may itself be the low word of a pair; the others are natural numbers.
            let pair = self.pair_among(atoms, &operands, &rest);
            let mut sum = Integer::constant(0);
            for (number, operand) in operands.iter().enumerate() {
                if Some(number) != pair {
                    sum = sum.plus(&self.read(atoms, operand, Reading::Unsigned, &plain), 1)?;
                }
            }
            let others = match pair {
                Some(pair) => self.wide_sum(atoms, &operands[pair], &rest, depth - 1)?,
                None => self.high_part(atoms, &rest)?,
            };
            return sum.plus(&others, 1);
        }
        let low = self.read(atoms, low, Reading::Unsigned, &plain);
        low.plus(&self.high_part(atoms, high)?, 1)
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

    /// Operand that is the low word of a pair whose high word is part of `rest`.
    fn pair_among(
        &self,
        atoms: &Atoms,
        operands: &[WordPolynomial; 3],
        rest: &WordPolynomial,
    ) -> Option<usize> {
        operands.iter().position(|operand| {
            operand.as_constant().is_none()
                && (carry_in(atoms, operand, rest).is_some()
                    || shift_in(atoms, operand, rest).is_some())
        })
    }

    /// The number of a pair whose low word is shifted left, and the rest of the high word.
    fn shifted(
        &mut self,
        atoms: &Atoms,
        low: &WordPolynomial,
        high: &WordPolynomial,
    ) -> Option<(Integer, WordPolynomial)> {
        let (id, of, bits, reading) = shift_in(atoms, low, high)?;
        let rest = high.plus(&WordPolynomial::unknown(id), u32::MAX)?;
        let number = self.read(atoms, &of, reading, &Facts::of_addresses());
        Some((number.scaled(1i128 << bits)?, rest))
    }
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
