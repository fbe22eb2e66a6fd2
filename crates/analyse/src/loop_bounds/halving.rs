//! Searches that halve the distance of two words in each iteration (binary search).

use warpbound_ir::{BinaryOp, TernaryOp};

use super::counting::CountedLoop;
use super::solver::LoopSolver;
use crate::gsa::Definition;
use crate::symbolic::atoms::{Atom, AtomId, Atoms, WordPolynomial, constant};
use crate::symbolic::conditions::{Condition, truth_value};
use crate::symbolic::span::Reading;

/// Words of one path through an iteration, with the truth values that lead there.
#[derive(Clone)]
pub(super) struct Path {
    pub(super) words: [WordPolynomial; 2],
    truths: Vec<(WordPolynomial, bool)>,
}

/// Maximum number of paths through an iteration.
const MAX_PATHS: usize = 32;
/// Largest word for which the sum of two of them has no sign.
const MAX_WORD: i64 = (1 << 30) - 1;

impl LoopSolver<'_> {
    /// Iterations while `low < high` (or `low <= high`), where each iteration halves the distance. For example, at
    /// most 4 for a distance of 10.
    ///
    /// Let `d = high - low`, plus 1 if the condition includes equality: the loop goes on only for `d >= 1`. On each
    /// path through an iteration the words become `low` or `high`, or their middle `q`, or a neighbour of it, so that
    /// `2·d' <= d`; with natural numbers below 2³⁰ at the start nothing wraps, as both words stay between the first
    /// two.
    ///
    /// If the condition is about the words at the end of an iteration, it holds of the words at the header of the next one.
    /// Then it must be known to hold of the first two as well.
    pub(super) fn halvings(&mut self, condition: &Condition, of: CountedLoop<'_>) -> Option<u128> {
        let Condition::Less {
            a,
            b,
            or_equal,
            reading,
        } = condition
        else {
            return None;
        };
        let Searched {
            low,
            high,
            is_at_end,
        } = self.searched(a, b, of)?;
        let low_word = self.header_word(low, of.header)?;
        let high_word = self.header_word(high, of.header)?;
        let lows = self.entering_words(low, of.header, &low_word.entering, of.arrival);
        let highs = self.entering_words(high, of.header, &high_word.entering, of.arrival);
        let ([first_low], [first_high]) = (lows.as_slice(), highs.as_slice()) else {
            return None;
        };
        for first in [first_low, first_high] {
            let span = self.span_under(first, of.facts);
            let (_, most) = span.as_numbers(Reading::Unsigned);
            // The sum of larger words may have a sign, and a shift of it is not the middle.
            if most > MAX_WORD {
                return None;
            }
        }
        let ([next_low], [next_high]) = (low_word.closing.as_slice(), high_word.closing.as_slice())
        else {
            return None;
        };
        let paths = self.paths([next_low.clone(), next_high.clone()], of)?;
        let halving = Halving {
            low: WordPolynomial::unknown(low),
            high: WordPolynomial::unknown(high),
            more: i64::from(*or_equal),
            reading: *reading,
        };
        for path in &paths {
            if !self.halves(path, &halving)? {
                return None;
            }
        }
        let first = self.read(first_high, Reading::Signed, of.facts);
        let first = first.plus(&self.read(first_low, Reading::Signed, of.facts), -1)?;
        let (least, most) = self.limits(&first, of.facts)?;
        let (least, most) = (least + i128::from(*or_equal), most + i128::from(*or_equal));
        if is_at_end && least < 1 {
            return None;
        }
        // The distance is below 1 after as many halvings; the condition at the end holds in one iteration less.
        Some(match u128::try_from(most) {
            Ok(most) if most > 0 => u128::from(most.ilog2()) + u128::from(!is_at_end),
            _ => 0,
        })
    }

    /// The words at the header that a condition compares, at the beginning or at the end of an iteration.
    fn searched(
        &mut self,
        a: &WordPolynomial,
        b: &WordPolynomial,
        of: CountedLoop<'_>,
    ) -> Option<Searched> {
        let header = of.header;
        let at_header = |word: &WordPolynomial| {
            let id = word.as_unknown()?;
            self.header_value(id, header).map(|_| id)
        };
        if let (Some(low), Some(high)) = (at_header(a), at_header(b)) {
            return Some(Searched {
                low,
                high,
                is_at_end: false,
            });
        }
        let mut candidates = Vec::new();
        for word in [a, b] {
            candidates.extend(self.header_atoms(word, header));
            for case in self.cases(word, of.index) {
                candidates.extend(self.header_atoms(&case, header));
            }
        }
        let (mut low, mut high) = (None, None);
        for id in candidates {
            let word = self.header_word(id, header)?;
            let [closing] = word.closing.as_slice() else {
                continue;
            };
            if closing == a {
                low = Some(id);
            }
            if closing == b {
                high = Some(id);
            }
        }
        Some(Searched {
            low: low?,
            high: high?,
            is_at_end: true,
        })
    }

    /// Whether a path keeps both words between the old ones and halves their distance.
    ///
    /// With `D = high - low`, twice the distance of the middle from `low` is `D - r` for a remainder `r` of 0 or 1; so
    /// `2·(d' + more) <= D + more` holds for both remainders if it does for the worse one.
    fn halves(&self, path: &Path, condition: &Halving) -> Option<bool> {
        let Halving {
            low,
            high,
            more,
            reading,
        } = condition;
        let [next_low, next_high] = &path.words;
        let low_place = self.place(next_low, low, low, high)?;
        let high_place = self.place(next_high, high, low, high)?;
        if let (Place::Middle(offset), Reading::Unsigned) = (high_place, reading)
            && offset < 0
        {
            // The word before 0 is the greatest.
            return Some(false);
        }
        Some(match (low_place, high_place) {
            // The distance stays the same, so the loop may go on for ever.
            (Place::Kept, Place::Kept) => false,
            (Place::Kept, Place::Middle(offset)) => 2 * offset + more <= 0,
            (Place::Middle(offset), Place::Kept) => 1 - 2 * offset + more <= 0,
            // The distance is constant, and D + more is 1 at least.
            (Place::Middle(low), Place::Middle(high)) => 2 * (high - low + more) <= 1,
        })
    }

    /// Where a word is at the end of an iteration.
    fn place(
        &self,
        next: &WordPolynomial,
        old: &WordPolynomial,
        low: &WordPolynomial,
        high: &WordPolynomial,
    ) -> Option<Place> {
        if next == old {
            return Some(Place::Kept);
        }
        let sum = low.plus(high, 1)?;
        let distance = high.plus(low, u32::MAX)?;
        let offset = next
            .terms()
            .iter()
            .find(|(unknowns, _)| unknowns.is_empty());
        let offset = offset.map_or(0, |(_, value)| *value as i32);
        let middle = next.plus(&constant(offset as u32), u32::MAX)?;
        let half_of = |word: &WordPolynomial| {
            let id = word.as_unknown()?;
            match self.symbolic.atoms.get(id) {
                Atom::Binary(BinaryOp::Shr | BinaryOp::Sar, [of, by])
                    if by.as_constant() == Some(1) =>
                {
                    Some(of.clone())
                }
                _ => None,
            }
        };
        let above_low = middle.plus(low, u32::MAX)?;
        let is_sum = |of: WordPolynomial| of == sum || self.has_sign_added(&of, &sum);
        let is_distance =
            |of: WordPolynomial| of == distance || self.has_sign_added(&of, &distance);
        let is_middle =
            half_of(&middle).is_some_and(is_sum) || half_of(&above_low).is_some_and(is_distance);
        (is_middle && (-1..=1).contains(&offset)).then_some(Place::Middle(offset.into()))
    }

    /// Whether a word is another one plus its sign bit, which compilers add to round half of a signed number towards
    /// zero. Sum and distance of the two words are not negative, so the bit is 0.
    fn has_sign_added(&self, word: &WordPolynomial, of: &WordPolynomial) -> bool {
        let sign = word.plus(of, u32::MAX).and_then(|sign| sign.as_unknown());
        let Some(sign) = sign else { return false };
        match self.symbolic.atoms.get(sign) {
            Atom::Binary(BinaryOp::Shr, [of_sign, by]) => {
                of_sign == of && by.as_constant() == Some(31)
            }
            _ => false,
        }
    }

    /// Paths through an iteration: each gate and choice of the words split by its truth value, the same on one path.
    pub(super) fn paths(
        &mut self,
        words: [WordPolynomial; 2],
        of: CountedLoop<'_>,
    ) -> Option<Vec<Path>> {
        let mut open = vec![Path {
            words,
            truths: Vec::new(),
        }];
        let mut done = Vec::new();
        while let Some(path) = open.pop() {
            let [low, high] = &path.words;
            let choice = match self.choice(low, of) {
                Some(choice) => Some((0, choice)),
                None => self.choice(high, of).map(|choice| (1, choice)),
            };
            let Some((which, choice)) = choice else {
                done.push(path);
                continue;
            };
            let known = path.truths.iter().find(|(word, _)| *word == choice.truth);
            let known = known.map(|(_, value)| *value);
            for value in [false, true] {
                if known.is_some_and(|known| known != value) {
                    continue;
                }
                let operand = if value {
                    &choice.if_true
                } else {
                    &choice.if_false
                };
                let mut next = path.clone();
                next.words[which] = path.words[which].substituted(choice.gate, operand)?;
                if known.is_none() {
                    next.truths.push((choice.truth.clone(), value));
                }
                open.push(next);
            }
            if open.len() + done.len() > MAX_PATHS {
                return None;
            }
        }
        Some(done)
    }

    /// A gate or choice in a word, decided by a truth value.
    fn choice(&mut self, word: &WordPolynomial, of: CountedLoop<'_>) -> Option<Choice> {
        let ids: Vec<AtomId> = word.unknowns().collect();
        ids.into_iter().find_map(|gate| {
            let choice = match self.symbolic.atoms.get(gate).clone() {
                Atom::Ternary(TernaryOp::Select, [truth, if_true, if_false]) => Choice {
                    gate,
                    truth,
                    if_true,
                    if_false,
                },
                Atom::Value(value, cell) => match self.symbolic.gsa.definition(value) {
                    Definition::Conditional(node, at, _) => {
                        let condition = self.symbolic.code.get(at)?.condition;
                        let guard = condition.guard.filter(|_| !condition.has_further_test())?;
                        let inside = self.symbolic.dependence.loops.get(of.index);
                        // A gate outside of the loop chooses the same word in each iteration, so it is no choice of a
                        // path.
                        if !inside.contains(node.index()) {
                            return None;
                        }
                        let truth = self.symbolic.before(node, at, guard);
                        let operands = self.symbolic.conditional(node, at, cell);
                        let [new, old] = operands.as_slice() else {
                            return None;
                        };
                        let (if_true, if_false) = match condition.negated {
                            false => (new.clone(), old.clone()),
                            true => (old.clone(), new.clone()),
                        };
                        Choice {
                            gate,
                            truth,
                            if_true,
                            if_false,
                        }
                    }
                    _ => return None,
                },
                _ => return None,
            };
            Some(choice.normal(&self.symbolic.atoms))
        })
    }
}

/// Words at the header that a search compares.
struct Searched {
    low: AtomId,
    high: AtomId,
    /// Whether it compares what they are at the end of an iteration.
    is_at_end: bool,
}

/// Word at the end of an iteration, relative to the words at its beginning.
#[derive(Clone, Copy)]
enum Place {
    /// As it was.
    Kept,
    /// The middle of the two words, and a number.
    Middle(i64),
}

/// Gate of a word, and the words it stands for.
struct Choice {
    gate: AtomId,
    truth: WordPolynomial,
    if_true: WordPolynomial,
    if_false: WordPolynomial,
}

impl Choice {
    /// The same choice by the truth value that decides the word.
    fn normal(self, atoms: &Atoms) -> Choice {
        match truth_value(atoms, &self.truth, true) {
            Some((truth, true)) => Choice { truth, ..self },
            Some((truth, false)) => Choice {
                gate: self.gate,
                truth,
                if_true: self.if_false,
                if_false: self.if_true,
            },
            None => self,
        }
    }
}

/// Condition of a search: `low < high`, or `low <= high` where `more` is 1.
struct Halving {
    low: WordPolynomial,
    high: WordPolynomial,
    more: i64,
    reading: Reading,
}
