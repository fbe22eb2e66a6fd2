//! Spans of the words at a header, iteration by iteration, until the loop cannot go on (shifts, products). For
//! example, `for (s = 128; s > 0; s >>= 1)` cannot go on after 8 iterations.

use super::counting::CountedLoop;
use super::solver::LoopSolver;
use crate::symbolic::atoms::{AtomId, WordPolynomial, constant};
use crate::symbolic::conditions::Condition;
use crate::symbolic::ranges::Overlay;
use crate::symbolic::span::{Reading, Span};

/// Maximum number of iterations that are followed, and of words. A shift leaves nothing of a word after 32.
const MAX_ITERATIONS: u128 = 160;
const MAX_WORDS: usize = 6;

/// Iterations of a loop, and the words at its header in all of them.
pub(super) struct Unrolled {
    /// Upper bound on the iterations while the condition holds.
    pub(super) most: u128,
    /// Spans of the words at the header.
    pub(super) words: Overlay,
}

impl LoopSolver<'_> {
    /// Follows the words of a condition until it cannot hold.
    pub(super) fn unroll(
        &mut self,
        condition: &Condition,
        of: CountedLoop<'_>,
    ) -> Option<Unrolled> {
        let words = self.followed(condition, of)?;
        let mut now = Overlay::default();
        for (id, entering, _) in &words {
            let spans = entering.iter().map(|word| self.span_under(word, of.facts));
            now.insert(*id, spans.reduce(Span::join)?);
        }
        let mut all = now.clone();
        let at_next = self.of_next_header(condition, &words, of.header);
        for iteration in 0..MAX_ITERATIONS {
            let Some(holding) = self.holding(condition, &now) else {
                return Some(Unrolled {
                    most: iteration,
                    words: all,
                });
            };
            let mut next = Overlay::default();
            for (id, _, closing) in &words {
                let spans = closing.iter();
                let spans = spans.map(|word| self.symbolic.atoms.span_with(word, &holding));
                next.insert(*id, spans.reduce(Span::join)?);
            }
            if let Some(at_next) = &at_next {
                let Some(holding) = self.holding(at_next, &next) else {
                    return Some(Unrolled {
                        most: iteration,
                        words: all,
                    });
                };
                next = holding;
            }
            // The same spans again: the condition may hold for ever.
            if next == now {
                return None;
            }
            for (id, span) in &next {
                if let Some(so_far) = all.get_mut(id) {
                    *so_far = so_far.join(*span);
                }
            }
            now = next;
        }
        None
    }

    /// Words that a word at the end of an iteration may be: one for each path, on which equal conditions have one truth value.
    fn cases_on_paths(
        &mut self,
        word: &WordPolynomial,
        of: CountedLoop<'_>,
    ) -> Vec<WordPolynomial> {
        let paths = self.paths([word.clone(), constant(0)], of);
        let on_paths: Vec<WordPolynomial> = match paths {
            Some(paths) => paths
                .into_iter()
                .map(|path| path.words[0].clone())
                .collect(),
            None => vec![word.clone()],
        };
        let mut all = Vec::new();
        for word in on_paths {
            let cases = self.cases(&word, of.index);
            match cases.is_empty() {
                true => all.push(word),
                false => all.extend(cases),
            }
        }
        all
    }

    /// A condition about words at the end of an iteration as a condition about the words at the next header; `None` if it is about
    /// none of them.
    fn of_next_header(
        &mut self,
        condition: &Condition,
        words: &[(AtomId, Vec<WordPolynomial>, Vec<WordPolynomial>)],
        header: usize,
    ) -> Option<Condition> {
        let mut closing: Vec<(WordPolynomial, AtomId)> = Vec::new();
        for (id, ..) in words {
            if let [only] = self.header_word(*id, header)?.closing.as_slice() {
                closing.push((only.clone(), *id));
            }
        }
        let mut is_changed = false;
        let at_next = condition.map(|word| {
            // A word at this header may be another one at the next, even if it has the same register.
            let is_of_this = !self.header_atoms(word, header).is_empty();
            match closing.iter().find(|(closing, _)| closing == word) {
                Some((_, id)) => {
                    is_changed = true;
                    Some(WordPolynomial::unknown(*id))
                }
                None if is_of_this => None,
                None => Some(word.clone()),
            }
        })?;
        is_changed.then_some(at_next)
    }

    /// Words at the header on which a condition depends, with those that enter and those that close an iteration.
    #[allow(
        clippy::type_complexity,
        reason = "the three parts are used where they are made"
    )]
    fn followed(
        &mut self,
        condition: &Condition,
        of: CountedLoop<'_>,
    ) -> Option<Vec<(AtomId, Vec<WordPolynomial>, Vec<WordPolynomial>)>> {
        let mut open: Vec<WordPolynomial> = condition.words().cloned().collect();
        // A condition at the end of an iteration is about gates, whose operands have the words at the header.
        for word in condition.words() {
            open.extend(self.cases(word, of.index));
        }
        let mut words: Vec<(AtomId, Vec<WordPolynomial>, Vec<WordPolynomial>)> = Vec::new();
        while let Some(word) = open.pop() {
            for id in self.header_atoms(&word, of.header) {
                if words.iter().any(|(known, ..)| *known == id) {
                    continue;
                }
                let at_header = self.header_word(id, of.header)?;
                let mut closing = Vec::new();
                for word in &at_header.closing {
                    closing.extend(self.cases_on_paths(word, of));
                }
                open.extend(closing.iter().cloned());
                let entering = self.entering_words(id, of.header, &at_header.entering, of.arrival);
                words.push((id, entering, closing));
                if words.len() > MAX_WORDS {
                    return None;
                }
            }
        }
        (!words.is_empty()).then_some(words)
    }

    /// Atoms of a word, inside operations as well, that are words at the header.
    pub(super) fn header_atoms(&self, word: &WordPolynomial, header: usize) -> Vec<AtomId> {
        let all = self.symbolic.atoms.all_in(word).into_iter();
        all.filter(|&id| self.header_value(id, header).is_some())
            .collect()
    }

    /// Spans with which a condition holds; `None` if it does with none.
    fn holding(&self, condition: &Condition, now: &Overlay) -> Option<Overlay> {
        let mut spans = now.clone();
        let of = |word: &WordPolynomial| self.symbolic.atoms.span_with(word, now);
        let mut limit = |word: &WordPolynomial, span: Span| -> Option<()> {
            if let Some(id) = word.as_unknown()
                && let Some(known) = spans.get_mut(&id)
            {
                *known = known.meet(span)?;
            }
            Some(())
        };
        match condition {
            Condition::Never => return None,
            Condition::Less {
                a,
                b,
                or_equal,
                reading,
            } => {
                let strict = i64::from(!or_equal);
                let (low, high) = reading.limits();
                let (a_least, _) = of(a).as_numbers(*reading);
                let (_, b_most) = of(b).as_numbers(*reading);
                if a_least + strict > b_most {
                    return None;
                }
                limit(a, within(low, b_most - strict, *reading))?;
                limit(b, within(a_least + strict, high, *reading))?;
            }
            Condition::Zero(word) => {
                of(word).meet(Span::one(0))?;
                limit(word, Span::one(0))?;
            }
            Condition::NotZero(word) => {
                let span = of(word);
                if span == Span::one(0) {
                    return None;
                }
                // A span cannot leave out a number between its limits.
                if span.as_numbers(Reading::Unsigned).0 == 0 {
                    limit(word, Span::between(1, i64::from(u32::MAX)))?;
                }
            }
        }
        Some(spans)
    }
}

/// Words between two numbers of a reading.
fn within(least: i64, most: i64, reading: Reading) -> Span {
    match reading {
        // A span of both signs has no natural numbers; its least number comes first.
        Reading::Signed => Span::between(least, most),
        Reading::Unsigned => Span::between(least.max(0), most),
    }
}
