//! Footing of counts: code and statements, or the width of a register alone. For example, a loop that counts up to a
//! loaded word of 32 bits ends before 2³² iterations, which is of little use.

use std::collections::HashSet;

use warpbound_isa::SpecialReg;

use super::counting::CountedLoop;
use super::solver::LoopSolver;
use super::verdict::CountPattern;
use crate::symbolic::atoms::{Atom, AtomId};
use crate::symbolic::conditions::Condition;

/// Maximum number of header executions that counts as a bound. A larger number comes from a word about which nothing
/// is known.
pub(super) const MAX_BOUND: u128 = 1 << 28;
/// Maximum number of header executions where only the width of a register limits a word, or where nothing is stated
/// about a word of the launch.
const MAX_OF_WIDTH: u128 = 1 << 20;

/// Limits of a word, the strongest first.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Footing {
    /// The code and the statements about the launch.
    Known,
    /// The width of its register.
    Width,
    /// Nothing: a word of the launch without a statement.
    Unstated,
}

impl LoopSolver<'_> {
    /// Pattern of a count: whether the loop or the width of a register gives the number; `None` if the number is too
    /// large to be of use.
    pub(super) fn pattern_of(
        &mut self,
        least: u128,
        most: u128,
        condition: &Condition,
        of: CountedLoop<'_>,
    ) -> Option<CountPattern> {
        // A small number is of use, whatever limits the words.
        if most <= MAX_OF_WIDTH {
            return Some(CountPattern::Affine);
        }
        if most > MAX_BOUND {
            return None;
        }
        match self.weakest_of(condition, of) {
            Footing::Unstated => None,
            // An exact count says how long the loop runs, whatever it rests on.
            Footing::Width if least < most => Some(CountPattern::Width),
            Footing::Width | Footing::Known => Some(CountPattern::Affine),
        }
    }

    /// Weakest footing among the words of a condition and the words from which they come.
    fn weakest_of(&mut self, condition: &Condition, of: CountedLoop<'_>) -> Footing {
        let words = condition.words().flat_map(|word| word.unknowns());
        let mut open: Vec<AtomId> = words.collect();
        let mut seen = HashSet::new();
        let mut weakest = Footing::Known;
        while let Some(id) = open.pop() {
            if !seen.insert(id) {
                continue;
            }
            if let Some(words) = self.symbolic.atoms.gate(id) {
                open.extend(words.iter().flat_map(|word| word.unknowns()));
                continue;
            }
            // A bounded loop limits its own counter, so only the words that the counter comes from matter.
            let counted = self.loop_of(id).filter(|index| {
                let is_limited = self.bounded.contains_key(index) && !self.of_width.contains(index);
                *index == of.index || is_limited
            });
            let header = counted.map(|index| self.symbolic.dependence.loops.get(index));
            let header = header.and_then(|body| body.headers.first().copied());
            if let Some(word) = header.and_then(|header| self.header_word(id, header)) {
                let words = word.entering.iter().chain(&word.closing);
                open.extend(words.flat_map(|word| word.unknowns()));
                continue;
            }
            weakest = weakest.max(self.footing_of(id));
            let operands = self.symbolic.atoms.operands(id).iter();
            open.extend(operands.flat_map(|operand| operand.unknowns()));
        }
        weakest
    }

    /// Footing of an atom itself.
    fn footing_of(&self, id: AtomId) -> Footing {
        let launch = self.symbolic.launch;
        let stated = |is_stated: bool| match is_stated {
            true => Footing::Known,
            false => Footing::Width,
        };
        match self.symbolic.atoms.get(id) {
            Atom::Constant(bank, address) => {
                let address = address.as_constant();
                let known = address.and_then(|address| launch.words.get(&(*bank, address)));
                match known.is_some_and(|word| word.range.is_some()) {
                    true => Footing::Known,
                    false => Footing::Unstated,
                }
            }
            Atom::Special(SpecialReg::BlockIndex(axis)) => {
                stated(launch.grid[usize::from(axis.index())].is_some())
            }
            Atom::Value(..) | Atom::Nested(_) => Footing::Width,
            // An operation adds no doubt of its own; its operands are followed.
            Atom::Special(_)
            | Atom::Iteration(_)
            | Atom::Unary(..)
            | Atom::Binary(..)
            | Atom::Ternary(..) => Footing::Known,
        }
    }
}
