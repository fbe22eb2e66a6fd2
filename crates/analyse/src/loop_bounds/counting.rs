//! Iterations of a loop while a condition holds.

use warpbound_graph::LoopIndex;

use super::arrivals::Arrival;
use super::choices::{Choice, choice_among};
use super::exits;
use super::progression::{Progression, Step};
use super::solver::LoopSolver;
use crate::symbolic::atoms::{AtomId, WordPolynomial, constant};
use crate::symbolic::conditions::Condition;
use crate::symbolic::integers::{Facts, Integer, Integers};
use crate::symbolic::span::Reading;

/// Loop whose iterations are counted.
#[derive(Clone, Copy)]
pub(super) struct CountedLoop<'f> {
    pub(super) index: LoopIndex,
    pub(super) header: usize,
    /// Facts that hold when the loop is entered.
    pub(super) facts: &'f Facts,
    /// Whether they hold on every entry of the loop, even for a wave without active lanes.
    pub(super) facts_always_hold: bool,
    /// The way on which it is entered; `None` for all.
    pub(super) arrival: Option<&'f Arrival>,
}

/// Number of iterations, from the first on without a gap, while a condition holds.
#[derive(Clone, Debug)]
pub(super) struct Count {
    /// Upper bound on the iterations.
    pub(super) most: u128,
    /// Lower bound on the iterations, which are reached for sure; 0 if unknown.
    pub(super) least: u128,
    /// The greatest of 0 and `⌈distance / divisor⌉`, if the count has this form.
    pub(super) distance: Option<(Integer, u128)>,
    /// Number added to it.
    pub(super) added: u32,
    pub(super) start: WordPolynomial,
    pub(super) step: Step,
    pub(super) limit: String,
}

/// Iterations with two words as functions of the iteration, under facts.
type CountOf<'c, S> = dyn FnMut(&mut S, &Progression, &Progression, &Facts) -> Option<Count> + 'c;

/// Maximum number of words with two possible values that are split into cases together.
const MAX_CHOICES: u32 = 3;

impl Count {
    /// The count that bounds both of two ways to run the loop.
    fn greater(self, other: Count) -> Count {
        let least = self.least.min(other.least);
        let greater = match other.most > self.most {
            true => other,
            false => self,
        };
        Count {
            least,
            // A formula would hold for one way only.
            distance: None,
            ..greater
        }
    }
}

impl LoopSolver<'_> {
    /// Iterations while a condition holds; `None` if they are not limited.
    pub(super) fn count(&mut self, condition: &Condition, of: CountedLoop<'_>) -> Option<Count> {
        match condition {
            Condition::Less {
                a,
                b,
                or_equal,
                reading,
            } => {
                let a = self.progressions(a, of);
                let b = self.progressions(b, of);
                self.greatest(&a, &b, of.facts, &mut |solver, a, b, facts| {
                    solver.count_less(a, b, *or_equal, *reading, facts)
                })
            }
            Condition::NotZero(word) => {
                let a = self.progressions(word, of);
                let zero = Progression {
                    first: constant(0),
                    step: Step::none(),
                };
                {
                    let text = self.relative_text(word, of);
                    let count = self.greatest(&a, &[zero], of.facts, &mut |solver, a, _, facts| {
                        solver.count_not_zero(a, facts)
                    });
                    count.map(|count| match text {
                        Some((start, step, limit)) => Count {
                            start,
                            step,
                            limit,
                            ..count
                        },
                        None => count,
                    })
                }
            }
            Condition::Zero(word) => {
                let a = self.progressions(word, of);
                let zero = Progression {
                    first: constant(0),
                    step: Step::none(),
                };
                self.greatest(&a, &[zero], of.facts, &mut |solver, a, _, facts| {
                    solver.count_zero(a, facts)
                })
            }
            Condition::Never => Some(Count {
                most: 0,
                least: 0,
                distance: Some((Integers::constant(0), 1)),
                added: 0,
                start: constant(0),
                step: Step::none(),
                limit: "never".to_owned(),
            }),
        }
    }

    /// The greatest count over all ways to enter the loop.
    fn greatest(
        &mut self,
        a: &[Progression],
        b: &[Progression],
        facts: &Facts,
        count: &mut CountOf<'_, Self>,
    ) -> Option<Count> {
        let mut all: Option<Count> = None;
        for a in a {
            for b in b {
                let found = self.greatest_case(a, b, facts, MAX_CHOICES, count)?;
                all = Some(match all {
                    None => found,
                    Some(best) => best.greater(found),
                });
            }
        }
        all
    }

    /// Facts with limits of the shifts in words, which follow from them.
    fn with_shifts_of(&mut self, words: [&Progression; 2], facts: &Facts) -> Facts {
        let mut facts = facts.clone();
        let (symbolic, integers) = self.parts();
        for word in words {
            integers.limit_shifts(&symbolic.atoms, &word.first, &mut facts);
        }
        facts
    }

    /// The count, or the greatest count over the cases of a word that is one of two, whichever is smaller.
    fn greatest_case(
        &mut self,
        a: &Progression,
        b: &Progression,
        facts: &Facts,
        depth: u32,
        count: &mut CountOf<'_, Self>,
    ) -> Option<Count> {
        let facts = &self.with_shifts_of([a, b], facts);
        let whole = count(self, a, b, facts);
        // Cases cannot make an exact count smaller.
        let is_exact = whole
            .as_ref()
            .is_some_and(|whole| whole.least == whole.most);
        if depth == 0 || is_exact {
            return whole;
        }
        let atoms = &self.symbolic.atoms;
        // Choices inside operations after those that are terms.
        let terms = a.first.unknowns().chain(b.first.unknowns());
        let nested = [a, b].into_iter().flat_map(|of| atoms.all_in(&of.first));
        let Some((id, choices)) = choice_among(atoms, terms.chain(nested)) else {
            return whole;
        };
        let mut all: Option<Count> = None;
        for choice in choices {
            let mut case = |of: &Progression| {
                let first = self.symbolic.with_atom(&of.first, id, &choice.word)?;
                let step = of.step.clone();
                Some(Progression { first, step })
            };
            let (Some(a), Some(b)) = (case(a), case(b)) else {
                return whole;
            };
            let facts = self.facts_in_case(facts, id, &choice);
            if (self.integers).exclude_each_other(&self.symbolic.atoms, &facts) {
                continue;
            }
            let Some(found) = self.greatest_case(&a, &b, &facts, depth - 1, count) else {
                return whole;
            };
            all = Some(match all {
                None => found,
                Some(best) => best.greater(found),
            });
        }
        match (whole, all) {
            (Some(whole), Some(cases)) if whole.most <= cases.most => Some(whole),
            (whole, cases) => cases.or(whole),
        }
    }

    /// Facts where an atom is one of two words: the conditions of the case, and the other facts with this word for the atom.
    fn facts_in_case(&mut self, facts: &Facts, id: AtomId, choice: &Choice) -> Facts {
        let mut in_case = facts.clone();
        let (symbolic, integers) = self.parts();
        for holding in &choice.conditions {
            exits::add_fact(symbolic, integers, holding, &mut in_case);
        }
        integers.limit_atoms(&symbolic.atoms, &mut in_case);
        // In the case, the atom is the word, so each fact holds for the word as well. For example, a guard `x - y >= 480` with
        // `x = max(a, b)` is `a - y >= 480` where x is a.
        for fact in &facts.not_negative {
            let changed = self.with_atom_in(fact, id, &choice.word, &in_case);
            in_case.not_negative.extend(changed);
        }
        in_case
    }

    /// A sum of numbers with a word for an atom; `None` if the atom is in none of them, or in a product.
    fn with_atom_in(
        &mut self,
        of: &Integer,
        id: AtomId,
        by: &WordPolynomial,
        facts: &Facts,
    ) -> Option<Integer> {
        let mut sum = Integers::constant(of.coefficient(&[]));
        let mut is_changed = false;
        for (unknowns, coefficient) in of.terms() {
            let number = match unknowns.as_slice() {
                [] => continue,
                &[number] => number,
                _ => return None,
            };
            let (word, reading) = self.integers.get(number).clone();
            let term = match self.symbolic.atoms.all_in(&word).contains(&id) {
                true => {
                    is_changed = true;
                    let word = self.symbolic.with_atom(&word, id, by)?;
                    self.read(&word, reading, facts)
                }
                false => Integer::unknown(number),
            };
            sum = sum.plus(&term, *coefficient)?;
        }
        is_changed.then_some(sum)
    }

    /// Iterations while `a < b`. For example, `i < 10` holds in 3 iterations if `i` grows by 4 from 0.
    fn count_less(
        &mut self,
        a: &Progression,
        b: &Progression,
        or_equal: bool,
        reading: Reading,
        facts: &Facts,
    ) -> Option<Count> {
        let (low, high) = reading.limits();
        let (low, high) = (i128::from(low), i128::from(high));
        let (a_steps, b_steps) = (
            self.step_limits(&a.step, facts),
            self.step_limits(&b.step, facts),
        );
        let first_a = self.read(&a.first, reading, facts);
        let first_b = self.read(&b.first, reading, facts);
        let a_limits = self.limits(&first_a, facts)?;
        let b_limits = self.limits(&first_b, facts)?;
        // In the last iteration `a < b`; the next step must not leave the words that the reading has.
        let strict = i128::from(!or_equal);
        let up = a_steps.0 > 0 && b_steps == (0, 0);
        let down = b_steps.1 < 0 && a_steps == (0, 0);
        let (closing, stays) = match (up, down) {
            (true, _) => (a_steps.0, b_limits.1 - strict + a_steps.1 <= high),
            (_, true) => (-b_steps.1, a_limits.0 + strict + b_steps.0 >= low),
            // Both change: the words must not wrap up to the last iteration, which is checked with the count.
            _ if a_steps.0 >= 0 && b_steps.1 <= 0 && a_steps.0 - b_steps.1 > 0 => {
                (a_steps.0 - b_steps.1, true)
            }
            _ => return None,
        };
        if !stays {
            return None;
        }
        let distance = first_b.plus(&first_a, -1)?;
        let distance = distance.plus(&Integers::constant(1 - strict), 1)?;
        let (least, most) = self.limits(&distance, facts)?;
        let most = divided_up(most, closing);
        if !up && !down {
            let last = i128::try_from(most).ok()?;
            let a_last = a_limits.1.checked_add(a_steps.1.checked_mul(last)?)?;
            let b_last = b_limits.0.checked_add(b_steps.0.checked_mul(last)?)?;
            if a_last > high || b_last < low {
                return None;
            }
        }
        // With the largest steps the condition fails first.
        let fastest = a_steps.1 - b_steps.0;
        let is_exact = a_steps.0 == a_steps.1 && b_steps.0 == b_steps.1;
        let sign = if or_equal { "<=" } else { "<" };
        let moving = if down { b } else { a };
        Some(Count {
            most,
            least: divided_up(least, fastest),
            // Steps that vary give limits, but no formula.
            distance: is_exact.then(|| (distance, closing.unsigned_abs())),
            added: 0,
            start: moving.first.clone(),
            step: moving.step.clone(),
            limit: match down {
                true => {
                    let sign = if or_equal { ">=" } else { ">" };
                    format!("{sign} {}", self.symbolic.text(&a.first))
                }
                false => format!("{sign} {}", self.symbolic.text(&b.first)),
            },
        })
    }

    /// Iterations while a word is not 0.
    fn count_not_zero(&mut self, a: &Progression, facts: &Facts) -> Option<Count> {
        let Step::Exact(step) = &a.step else {
            return None;
        };
        // A step of a known size: else it is not known that it meets 0.
        let step = step.as_constant()? as i32;
        if step == 0 {
            return None;
        }
        // Each step takes its size from the distance to 0.
        let sign = if step > 0 { u32::MAX } else { 1 };
        let distance = self.read(&a.first.scaled(sign)?, Reading::Unsigned, facts);
        let size = i128::from(step.unsigned_abs());
        // Steps that do not divide the distance miss 0.
        if size != 1 && !self.is_multiple(&distance, size) {
            return None;
        }
        let (least, most) = self.limits(&distance, facts)?;
        Some(Count {
            most: divided_up(most, size),
            least: divided_up(least, size),
            distance: Some((distance, size.unsigned_abs())),
            added: 0,
            start: a.first.clone(),
            step: a.step.clone(),
            limit: "!= 0".to_owned(),
        })
    }

    /// Start, step and limit of the word at the header in a difference, for reports: `i - n` or `n - i` is not 0 as
    /// long as the word `i` is not `n`.
    fn relative_text(
        &mut self,
        word: &WordPolynomial,
        of: CountedLoop<'_>,
    ) -> Option<(WordPolynomial, Step, String)> {
        let mut ids = word.unknowns();
        let id = ids.find(|&id| self.header_value(id, of.header).is_some())?;
        let itself = WordPolynomial::unknown(id);
        let at_header = self.header_word(id, of.header)?;
        let first = at_header.entering.first()?.clone();
        let step = self.step_of(id, &at_header, of.index, of.facts)?;
        let limit = match word.coefficient(&[id]) {
            1 => word.plus(&itself, u32::MAX)?.scaled(u32::MAX)?,
            u32::MAX => word.plus(&itself, 1)?,
            _ => return None,
        };
        let limit = format!("!= {}", self.symbolic.text(&limit));
        Some((first, step, limit))
    }

    /// Iterations while a word is 0: one at most, if the word changes.
    fn count_zero(&mut self, a: &Progression, facts: &Facts) -> Option<Count> {
        let (least, most) = self.step_limits(&a.step, facts);
        let changes = least > 0 || most < 0;
        // A step below 2³² is not 0 modulo 2³².
        let is_exact = matches!(a.step, Step::Exact(_));
        (changes && is_exact).then(|| Count {
            most: 1,
            least: 0,
            distance: None,
            added: 0,
            start: a.first.clone(),
            step: a.step.clone(),
            limit: "== 0".to_owned(),
        })
    }

    /// Limits of the change in an iteration.
    fn step_limits(&mut self, step: &Step, facts: &Facts) -> (i128, i128) {
        match step {
            Step::Exact(word) => {
                let span = self.span_under(word, facts);
                let (least, most) = span.as_numbers(Reading::Signed);
                (least.into(), most.into())
            }
            Step::Between(least, most) => ((*least).into(), (*most).into()),
        }
    }

    /// The condition one iteration earlier, in terms of the words at the header: it holds in an iteration after the
    /// first if the given condition does. `None` if a word at the header may be one of several.
    pub(super) fn one_iteration_before(
        &mut self,
        condition: &Condition,
        of: CountedLoop<'_>,
    ) -> Option<Condition> {
        let mut changed = false;
        let before = condition.map(|word| {
            let mut shifted = word.clone();
            let mut ids: Vec<_> = word.unknowns().collect();
            ids.sort_unstable();
            ids.dedup();
            // All at once: a closing word may contain the unknowns that are replaced.
            let mut replaced = Vec::new();
            for id in ids {
                if self
                    .symbolic
                    .is_invariant(&WordPolynomial::unknown(id), of.index)
                {
                    continue;
                }
                // Any other word of the loop, also an operation on a word at the header, belongs to this iteration.
                let at_header = self.header_word(id, of.header)?;
                let [closing] = at_header.closing.as_slice() else {
                    return None;
                };
                replaced.push((id, closing.clone()));
            }
            changed |= !replaced.is_empty();
            shifted = shifted.substituted_all(&replaced)?;
            Some(shifted)
        });
        // An invariant condition says the same of the iteration before.
        before.filter(|_| changed)
    }
}

/// Quotient of the distance and the step, rounded up; 0 for a distance that is not positive.
fn divided_up(distance: i128, step: i128) -> u128 {
    match distance > 0 && step > 0 {
        true => distance.unsigned_abs().div_ceil(step.unsigned_abs()),
        false => 0,
    }
}

/// Text of the step of a word.
pub(super) fn step_text(solver: &LoopSolver<'_>, step: &Step) -> String {
    match step {
        Step::Exact(word) => {
            let text = solver.symbolic.text(word);
            match text.starts_with('-') {
                true => text,
                false => format!("+{text}"),
            }
        }
        Step::Between(least, most) => format!("{least:+}..{most:+}"),
    }
}
