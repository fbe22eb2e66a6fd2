//! Induction variables: words at the header of a loop that change by a step in each iteration. For example, a counter
//! with `i += 2` on one path and `i += 3` on another has a step between 2 and 3.

use warpbound_graph::LoopIndex;
use warpbound_ir::Cell;

use super::counting::CountedLoop;
use super::progression::{Progression, Step};
use super::solver::LoopSolver;
use crate::gsa::{Definition, ValueId};
use crate::symbolic::atoms::{Atom, AtomId, WordPolynomial, constant};
use crate::symbolic::integers::Facts;
use crate::symbolic::polynomial::Polynomial;
use crate::symbolic::span::Reading;

/// Word at the header of a loop: its contents on entry, and at the end of an iteration.
#[derive(Clone, Debug)]
pub(crate) struct HeaderWord {
    pub(crate) entering: Vec<WordPolynomial>,
    pub(crate) closing: Vec<WordPolynomial>,
}

/// Maximum number of alternatives into which a word is split at gates.
const MAX_CASES: usize = 16;

impl LoopSolver<'_> {
    /// Definition of an atom that is a word at a header.
    pub(crate) fn header_word(&mut self, id: AtomId, header: usize) -> Option<HeaderWord> {
        let (value, cell) = self.header_value(id, header)?;
        let node = match self.symbolic.gsa.definition(value) {
            Definition::Mu(node, _) => node,
            _ => return None,
        };
        let [entering, closing] = self.symbolic.joined(node, cell);
        Some(HeaderWord { entering, closing })
    }

    /// The μ of the header that an atom denotes, if it is one.
    pub(super) fn header_value(&self, id: AtomId, header: usize) -> Option<(ValueId, Cell)> {
        let Atom::Value(value, cell) = *self.symbolic.atoms.get(id) else {
            return None;
        };
        match self.symbolic.gsa.definition(value) {
            Definition::Mu(node, _) if node.index() == header => Some((value, cell)),
            _ => None,
        }
    }

    /// Words that a word may be: its gates inside the loop are replaced by each of their operands.
    pub(super) fn cases(&mut self, word: &WordPolynomial, index: LoopIndex) -> Vec<WordPolynomial> {
        let mut open = vec![word.clone()];
        let mut cases = Vec::new();
        while let Some(word) = open.pop() {
            match self.gate_in(&word, index) {
                Some((id, operands)) if open.len() + cases.len() + operands.len() <= MAX_CASES => {
                    for operand in operands {
                        match word.substituted(id, &operand) {
                            // An operand that contains its own gate would be split for ever.
                            Some(case) if !operand.unknowns().any(|of| of == id) => {
                                open.push(case);
                            }
                            _ => return vec![],
                        }
                    }
                }
                Some(_) => return vec![],
                None => cases.push(word),
            }
        }
        cases
    }

    /// An atom of a word that is a gate of the loop other than at headers, with its operands.
    fn gate_in(
        &mut self,
        word: &WordPolynomial,
        index: LoopIndex,
    ) -> Option<(AtomId, Vec<WordPolynomial>)> {
        let dependence = self.symbolic.dependence;
        let ids: Vec<AtomId> = word.unknowns().collect();
        for id in ids {
            let Atom::Value(value, cell) = *self.symbolic.atoms.get(id) else {
                continue;
            };
            let inside = |node: usize| dependence.loops.get(index).contains(node);
            let operands = match self.symbolic.gsa.definition(value) {
                Definition::Conditional(node, at, _) if inside(node.index()) => {
                    self.symbolic.conditional(node, at, cell)
                }
                Definition::Gamma(node, _) if inside(node.index()) => {
                    self.symbolic.joined(node, cell)[0].clone()
                }
                _ => continue,
            };
            return Some((id, operands));
        }
        None
    }

    /// Step of a word at the header; `None` if it is not limited to numbers of one sign.
    pub(super) fn step_of(
        &mut self,
        id: AtomId,
        word: &HeaderWord,
        index: LoopIndex,
        facts: &Facts,
    ) -> Option<Step> {
        let itself = Polynomial::unknown(id);
        let mut steps: Vec<WordPolynomial> = Vec::new();
        for closing in &word.closing {
            let direct = closing.plus(&itself, u32::MAX)?;
            let cases = match self.symbolic.is_invariant(&direct, index) {
                true => vec![direct],
                false => {
                    let cases = self.cases(closing, index);
                    let steps = cases.iter().map(|case| case.plus(&itself, u32::MAX));
                    steps.collect::<Option<Vec<_>>>()?
                }
            };
            if cases.is_empty() {
                return None;
            }
            for step in cases {
                if !steps.contains(&step) {
                    steps.push(step);
                }
            }
        }
        match steps.as_slice() {
            [] => None,
            [only] if self.symbolic.is_invariant(only, index) => Some(Step::Exact(only.clone())),
            several => {
                let (mut least, mut most) = (i64::MAX, i64::MIN);
                for step in several {
                    // The step must not contain the word itself, because its span would then describe one iteration
                    // only.
                    let span = match step.unknowns().any(|of| of == id) {
                        true => return None,
                        false => self.span_under(step, facts),
                    };
                    let (low, high) = span.as_numbers(Reading::Signed);
                    (least, most) = (least.min(low), most.max(high));
                }
                let is_limited = most - least < i64::from(u32::MAX) >> 1;
                is_limited.then_some(Step::Between(least, most))
            }
        }
    }

    /// A word as a function of the iteration, for each word with which the loop may be entered; empty if it is none.
    pub(super) fn progressions(
        &mut self,
        word: &WordPolynomial,
        of: CountedLoop<'_>,
    ) -> Vec<Progression> {
        let (index, header) = (of.index, of.header);
        let mut firsts = vec![word.clone()];
        let mut step = Step::none();
        let mut ids: Vec<AtomId> = word.unknowns().collect();
        ids.sort_unstable();
        ids.dedup();
        for id in ids {
            if self.symbolic.is_invariant(&Polynomial::unknown(id), index) {
                continue;
            }
            let Some(at_header) = self.header_word(id, header) else {
                return Vec::new();
            };
            let Some(own) = self.step_of(id, &at_header, index, of.facts) else {
                return Vec::new();
            };
            // The factor of the word: what remains of the difference of two iterations.
            let Some(factor) = factor(word, id) else {
                return Vec::new();
            };
            if !self.symbolic.is_invariant(&factor, index) {
                return Vec::new();
            }
            let Some(sum) = added(&step, &own, &factor) else {
                return Vec::new();
            };
            step = sum;
            let entering = self.entering_words(id, header, &at_header.entering, of.arrival);
            let mut next = Vec::new();
            for first in &firsts {
                for entering in &entering {
                    match first.substituted(id, entering) {
                        Some(first) if !next.contains(&first) => next.push(first),
                        Some(_) => {}
                        None => return Vec::new(),
                    }
                }
            }
            if next.len() > MAX_CASES {
                return Vec::new();
            }
            firsts = next;
        }
        if !firsts
            .iter()
            .all(|first| self.symbolic.is_invariant(first, index))
        {
            return Vec::new();
        }
        let from = |first| Progression {
            first,
            step: step.clone(),
        };
        firsts.into_iter().map(from).collect()
    }
}

/// Factor of an unknown in a word; `None` if the word is not linear in it.
fn factor(word: &WordPolynomial, id: AtomId) -> Option<WordPolynomial> {
    let one = Polynomial::unknown(id).plus(&constant(1), 1)?;
    let factor = word.substituted(id, &one)?.plus(word, u32::MAX)?;
    let is_linear = !factor.unknowns().any(|of| of == id);
    is_linear.then_some(factor)
}

/// Sum of a step and a multiple of another.
fn added(sum: &Step, step: &Step, factor: &WordPolynomial) -> Option<Step> {
    match (sum, step) {
        (Step::Exact(a), Step::Exact(b)) => Some(Step::Exact(a.plus(&b.times(factor)?, 1)?)),
        // Only a word alone may have steps that differ.
        (Step::Exact(a), Step::Between(least, most)) if *a == constant(0) => {
            match factor.as_constant()? {
                1 => Some(Step::Between(*least, *most)),
                u32::MAX => Some(Step::Between(-most, -least)),
                _ => None,
            }
        }
        _ => None,
    }
}
