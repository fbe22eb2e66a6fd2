//! Counters of loops in addresses: words at headers as functions of the number of the iteration.

use super::finder::AddressFinder;
use crate::symbolic::atoms::{AtomId, WordPolynomial};
use crate::symbolic::integers::{Facts, Integer, Integers, NumberId};
use crate::symbolic::span::Reading;

/// Maximum number of nested loops whose counters are replaced.
const MAX_NESTING: u32 = 8;

impl AddressFinder<'_> {
    /// A word in terms of the number of the iteration instead of words at headers that change by a step. For example,
    /// the counter of `for (i = tid; i < n; i += 256)` becomes `tid + 256·k` in iteration `k`.
    pub(super) fn expanded(&mut self, word: &WordPolynomial) -> WordPolynomial {
        let mut expanded = word.clone();
        // Once for each loop around the place.
        for _ in 0..MAX_NESTING {
            let ids: Vec<AtomId> = expanded.unknowns().collect();
            let progression = ids
                .into_iter()
                .find_map(|id| Some((id, self.solver.progression(id)?)));
            let Some((id, progression)) = progression else {
                break;
            };
            let iteration = self.solver.iteration(progression.index);
            let by = iteration
                .times(&progression.step)
                .and_then(|steps| steps.plus(&progression.first, 1));
            match by.and_then(|by| expanded.substituted(id, &by)) {
                Some(next) => expanded = next,
                None => break,
            }
        }
        expanded
    }

    /// A number of 64 bits in terms of the number of the iteration instead of pairs of words at headers, and of
    /// single words that do not wrap.
    pub(super) fn with_iterations(&mut self, number: Integer) -> Integer {
        self.expanded_number(number, MAX_NESTING)
    }

    fn expanded_number(&mut self, number: Integer, depth: u32) -> Integer {
        if depth == 0 {
            return number;
        }
        let terms: Vec<(NumberId, i128)> = number
            .terms()
            .iter()
            .filter_map(|(unknowns, coefficient)| match unknowns.as_slice() {
                [only] => Some((*only, *coefficient)),
                _ => None,
            })
            .collect();
        for &(low, coefficient) in &terms {
            let high = coefficient.checked_mul(1 << 32);
            let pairs = terms.iter().filter(|(_, other)| Some(*other) == high);
            for &(other, _) in pairs {
                // In another term the low word would not stand for the whole pair.
                if occurrences(&number, low) + occurrences(&number, other) != 2 {
                    continue;
                }
                let replaced = self.pair_progression(low, other).and_then(|by| {
                    let zero = Integers::constant(0);
                    number
                        .substituted(other, &zero)
                        .and_then(|rest| rest.substituted(low, &by))
                });
                if let Some(next) = replaced {
                    return self.expanded_number(next, depth - 1);
                }
            }
            let replaced = self.number_progression(low);
            if let Some(next) = replaced.and_then(|by| number.substituted(low, &by)) {
                return self.expanded_number(next, depth - 1);
            }
        }
        number
    }

    /// The number of a word at a header that changes by a step and does not wrap. Either its limits show this, or the
    /// limits of the number that it would be without a wrap-around.
    fn number_progression(&mut self, id: NumberId) -> Option<Integer> {
        let (word, reading) = self.solver.number(id).clone();
        let progression = self.solver.progression(word.as_unknown()?)?;
        let span = self.solver.symbolic.atoms.span(&word);
        let (least, most) = span.as_numbers(reading);
        let iteration = self.solver.iteration(progression.index);
        let plain = Facts::default();
        let (atoms, integers) = self.solver.numbers();
        let first = integers.read(atoms, &progression.first, reading, &plain);
        let iteration = integers.as_number(atoms, &iteration);
        let step = integers.read(atoms, &progression.step, Reading::Signed, &plain);
        let number = first.plus(&iteration.times(&step)?, 1)?;
        // Both contents are within the limits, so a wrap-around would need limits and step that span 2³² together.
        let is_within = step
            .as_constant()
            .is_some_and(|step| i128::from(most - least) + step.abs() < 1 << 32);
        if is_within {
            return Some(number);
        }
        // The number is congruent to the word modulo 2³², so it equals the signed or unsigned value of the word if it
        // is in range.
        let (least, most) = integers.limits(atoms, &number, &plain)?;
        let (low, high) = reading.limits();
        (least >= low.into() && most <= high.into()).then_some(number)
    }

    /// The number of a pair of words at a header, which grows by the same in each iteration.
    fn pair_progression(&mut self, low: NumberId, high: NumberId) -> Option<Integer> {
        let (word, reading) = self.solver.number(low);
        // A negative low word is the pair's number less 2³².
        let (_, most) = self
            .solver
            .symbolic
            .atoms
            .span(word)
            .as_numbers(Reading::Unsigned);
        if *reading == Reading::Signed && most > i64::from(i32::MAX) {
            return None;
        }
        let words = [low, high].map(|id| self.solver.number(id).0.clone());
        let [low, high] = words.each_ref().map(WordPolynomial::as_unknown);
        let (low, high) = (low?, high?);
        let index = self.solver.loop_of(low)?;
        if self.solver.loop_of(high)? != index {
            return None;
        }
        let header = *self
            .solver
            .symbolic
            .dependence
            .loops
            .get(index)
            .headers
            .first()?;
        let low = self.solver.header_word(low, header)?;
        let high = self.solver.header_word(high, header)?;
        let (atoms, integers) = self.solver.numbers();
        let mut one = |low: &[WordPolynomial], high: &[WordPolynomial]| match (low, high) {
            ([low], [high]) => integers.wide(atoms, low, high),
            _ => None,
        };
        let first = one(&low.entering, &high.entering)?;
        let closing = one(&low.closing, &high.closing)?;
        let [itself_low, itself_high] = words;
        let itself = one(&[itself_low], &[itself_high])?;
        let step = closing.plus(&itself, -1)?.as_constant()?;
        // The difference is a number modulo 2⁶⁴; a negative one is small.
        let step = i128::from(step as i64);
        let iteration = self.solver.iteration(index);
        let (atoms, integers) = self.solver.numbers();
        let iteration = integers.as_number(atoms, &iteration);
        first.plus(&iteration, step)
    }
}

/// Number of the terms of an integer that contain a number.
fn occurrences(of: &Integer, id: NumberId) -> usize {
    let terms = of.terms().iter();
    terms.filter(|(unknowns, _)| unknowns.contains(&id)).count()
}
