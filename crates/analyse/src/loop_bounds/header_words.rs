//! Words at the headers of loops: their limits and remainders once the loop is bounded, and their steps.

use warpbound_graph::LoopIndex;

use super::exits;
use super::induction::HeaderWord;
use super::progression::Step;
use super::solver::LoopSolver;
use crate::symbolic::atoms::{Atom, AtomId, WordPolynomial};
use crate::symbolic::integers::Facts;
use crate::symbolic::ranges::joined_residue;
use crate::symbolic::span::{Reading, Span};

/// Word at the header of a loop: its first content, and its change in each iteration.
pub(crate) struct HeaderProgression {
    pub(crate) index: LoopIndex,
    pub(crate) first: WordPolynomial,
    pub(crate) step: WordPolynomial,
}

impl LoopSolver<'_> {
    /// Limits the words at headers of bounded loops: they take a known number of steps.
    pub(super) fn settle(&mut self) {
        // To settle a word may create atoms, which are settled in the next round.
        loop {
            let all = self.symbolic.atoms.len();
            for number in 0..all {
                let id = AtomId(number as u32);
                if !self.settled.contains(&id) {
                    self.settle_word(id);
                }
            }
            if self.symbolic.atoms.len() == all {
                self.symbolic.atoms.refresh_spans();
                return;
            }
        }
    }

    fn settle_word(&mut self, id: AtomId) -> Option<()> {
        let index = self.loop_of(id)?;
        let executions = *self.bounded.get(&index)?;
        self.settled.insert(id);
        let header = *self.symbolic.dependence.loops.get(index).headers.first()?;
        let word = self.header_word(id, header)?;
        let facts = exits::facts_at(&mut self.symbolic, &mut self.integers, header);
        let step = self.step_of(id, &word, index, &facts)?;
        if let Step::Exact(step) = &step {
            self.align(id, &word, step);
        }
        let (least, most) = match &step {
            Step::Exact(step) => self.span_under(step, &facts).as_numbers(Reading::Signed),
            Step::Between(least, most) => (*least, *most),
        };
        // The first execution of the header comes before the first step.
        let steps = i128::from(executions.saturating_sub(1));
        // The word moves by all steps at most in either direction.
        let (down, up) = (
            i128::from(least.min(0)) * steps,
            i128::from(most.max(0)) * steps,
        );
        let spans = word
            .entering
            .iter()
            .map(|w| self.integers.span_under(&self.symbolic.atoms, w, &facts));
        let first = spans.reduce(Span::join)?;
        let mut limited = Span::ANY;
        for reading in [Reading::Signed, Reading::Unsigned] {
            let (low, high) = first.as_numbers(reading);
            let (low, high) = (i128::from(low) + down, i128::from(high) + up);
            limited = limited.meet(Span::of_numbers(low, high)).unwrap_or(limited);
            let limits = reading.limits();
            // Without wrap-around, the word never falls below the first one if it grows.
            let fits = low >= limits.0.into() && high <= limits.1.into();
            if let ([only], true) = (word.entering.as_slice(), fits) {
                let itself = self.read(&WordPolynomial::unknown(id), reading, &facts);
                let first = self.read(only, reading, &facts);
                let sign = match (least >= 0, most <= 0) {
                    (true, _) => 1,
                    (_, true) => -1,
                    _ => continue,
                };
                let fact = itself.plus(&first, -1).and_then(|d| d.scaled(sign));
                if let Some(fact) = fact {
                    self.integers.add_of_header_word(&itself, fact);
                }
            }
        }
        self.symbolic.atoms.limit_leaf(id, limited);
        Some(())
    }

    /// Limits the remainder of a word at a header that changes by the same step in all iterations: modulo a power of
    /// two that divides the step, it is the remainder of the first content. For example, a word that begins with 1
    /// and grows by 4 is always 1 modulo 4.
    pub(super) fn align(&mut self, id: AtomId, word: &HeaderWord, step: &WordPolynomial) {
        let atoms = &mut self.symbolic.atoms;
        let words = word.entering.iter().map(|word| atoms.residue(word));
        let Some(first) = words.reduce(joined_residue) else {
            return;
        };
        let (modulus, residue) = atoms.residue(step);
        // A power of two that divides both modulus and remainder of the step divides the step.
        let step = modulus.min(1 << residue.trailing_zeros().min(32));
        let modulus = first.0.min(step);
        if modulus > 1 {
            atoms.set_leaf_residue(id, modulus, first.1);
        }
    }

    /// First content and step of a word at the header of a loop, if the step is the same in all iterations.
    pub(crate) fn progression(&mut self, id: AtomId) -> Option<HeaderProgression> {
        let index = self.loop_of(id)?;
        let header = *self.symbolic.dependence.loops.get(index).headers.first()?;
        let word = self.header_word(id, header)?;
        let [first] = word.entering.as_slice() else {
            return None;
        };
        match self.step_of(id, &word, index, &Facts::default())? {
            Step::Exact(step) => Some(HeaderProgression {
                index,
                first: first.clone(),
                step,
            }),
            Step::Between(..) => None,
        }
    }

    /// Number of completed iterations of a loop, as a word.
    pub(crate) fn iteration(&mut self, index: LoopIndex) -> WordPolynomial {
        let id = self.symbolic.atoms.number(Atom::Iteration(index));
        if let Some(executions) = self.executions(index).and_then(|n| i64::try_from(n).ok()) {
            let last = Span::between(0, executions.saturating_sub(1));
            self.symbolic.atoms.limit_leaf(id, last);
        }
        WordPolynomial::unknown(id)
    }

    /// Loop whose header has a word that an atom stands for.
    pub(crate) fn loop_of(&self, id: AtomId) -> Option<LoopIndex> {
        use crate::gsa::Definition;
        let Atom::Value(value, _) = *self.symbolic.atoms.get(id) else {
            return None;
        };
        match self.symbolic.gsa.definition(value) {
            Definition::Mu(node, _) => {
                let index = self.symbolic.dependence.loops.innermost(node.index())?;
                let body = self.symbolic.dependence.loops.get(index);
                (body.headers == [node.index()]).then_some(index)
            }
            _ => None,
        }
    }
}
