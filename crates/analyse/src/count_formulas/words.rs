//! Words in terms of the launch, of the thread, and of the iterations of loops.

use std::collections::{BTreeSet, HashMap};

use warpbound_graph::LoopIndex;
use warpbound_ir::{BinaryOp, Cell, Meaning, OpIndex, TernaryOp, ValueDependence};
use warpbound_simt::NodeId;

use super::reason::{NoFormula, NoFormulaReason};
use crate::gsa::{Definition, ValueId};
use crate::loop_bounds::exits::{Sides, sides};
use crate::symbolic::atoms::{Atom, AtomId, WordPolynomial, constant};
use crate::symbolic::values::Symbolic;

/// Maximum length of a chain of atoms that is followed.
const MAX_DEPTH: u32 = 200;

/// Maximum number of atoms of a word.
const MAX_ATOMS: usize = 48;

/// Resolution of words: atoms that are values of the program are replaced by words of the launch and of the thread.
/// Where a value changes in a loop, its word has the number of completed iterations ([`Atom::Iteration`]).
pub(super) struct Words<'a> {
    pub(super) symbolic: Symbolic<'a>,
    known: HashMap<AtomId, Result<WordPolynomial, NoFormula>>,
    depth: u32,
}

impl<'a> Words<'a> {
    pub(super) fn new(symbolic: Symbolic<'a>) -> Words<'a> {
        Words {
            symbolic,
            known: HashMap::new(),
            depth: 0,
        }
    }

    /// The word with all its atoms resolved.
    pub(super) fn resolve(&mut self, word: &WordPolynomial) -> Result<WordPolynomial, NoFormula> {
        let mut replaced = Vec::new();
        let mut ids: Vec<AtomId> = word.unknowns().collect();
        ids.sort_unstable();
        ids.dedup();
        for id in ids {
            replaced.push((id, self.resolve_atom(id)?));
        }
        let entry = self.symbolic.code.entry;
        let resolved = word.substituted_all(&replaced);
        let resolved = resolved.ok_or(NoFormula::new(entry, NoFormulaReason::Long))?;
        match self.symbolic.atoms.all_in(&resolved).len() > MAX_ATOMS {
            true => Err(NoFormula::new(entry, NoFormulaReason::Long)),
            false => Ok(resolved),
        }
    }

    fn resolve_atom(&mut self, id: AtomId) -> Result<WordPolynomial, NoFormula> {
        if let Some(known) = self.known.get(&id) {
            return known.clone();
        }
        let entry = self.symbolic.code.entry;
        if self.depth >= MAX_DEPTH {
            return Err(NoFormula::new(entry, NoFormulaReason::Long));
        }
        let changes = NoFormula::new(self.place_of(id), NoFormulaReason::Recurrence);
        // Result of an atom that depends on itself.
        self.known.insert(id, Err(changes));
        self.depth += 1;
        let found = self.derive(id);
        self.depth -= 1;
        self.known.insert(id, found.clone());
        found
    }

    /// Operation that names an atom in reasons.
    fn place_of(&self, id: AtomId) -> OpIndex {
        let node = match self.symbolic.atoms.get(id) {
            Atom::Value(value, _) => match self.symbolic.gsa.definition(*value) {
                Definition::Op(_, at) | Definition::Conditional(_, at, _) => return at,
                _ => self.symbolic.defined_at(*value),
            },
            _ => None,
        };
        let first = |node| self.symbolic.thread.space.block(node).first;
        node.map_or(self.symbolic.code.entry, first)
    }

    fn derive(&mut self, id: AtomId) -> Result<WordPolynomial, NoFormula> {
        let long = || NoFormula::new(OpIndex(0), NoFormulaReason::Long);
        Ok(match self.symbolic.atoms.get(id).clone() {
            Atom::Special(_) | Atom::Iteration(_) => WordPolynomial::unknown(id),
            Atom::Constant(_, address) if address.as_constant().is_some() => {
                WordPolynomial::unknown(id)
            }
            Atom::Constant(bank, address) => {
                let address = self.resolve(&address)?;
                self.symbolic.atoms.word(Atom::Constant(bank, address))
            }
            Atom::Unary(op, a) => {
                let a = self.resolve(&a)?;
                self.symbolic.atoms.unary(op, a)
            }
            Atom::Binary(op, [a, b]) => {
                let (a, b) = (self.resolve(&a)?, self.resolve(&b)?);
                self.symbolic.atoms.binary(op, a, b).ok_or_else(long)?
            }
            Atom::Ternary(op, [a, b, c]) => {
                let operands = [self.resolve(&a)?, self.resolve(&b)?, self.resolve(&c)?];
                self.symbolic.atoms.ternary(op, operands)
            }
            Atom::Nested(_) => return Err(long()),
            Atom::Value(value, cell) => self.value(id, value, cell)?,
        })
    }

    /// Value of the program.
    fn value(
        &mut self,
        id: AtomId,
        value: ValueId,
        cell: Cell,
    ) -> Result<WordPolynomial, NoFormula> {
        let fail = |at, reason| Err(NoFormula::new(at, reason));
        match self.symbolic.gsa.definition(value) {
            Definition::Mu(node, _) => self.header_word(id, node, cell),
            Definition::Conditional(node, at, _) => self.conditional(node, at, cell),
            Definition::Gamma(node, _) => self.joined(node, cell),
            Definition::Op(_, at) => {
                let op = self.symbolic.code.get(at);
                let loads = op.is_some_and(|op| {
                    let accesses = matches!(
                        op.meaning,
                        Some(Meaning::Load { .. } | Meaning::Atomic { .. } | Meaning::Texture(_))
                    );
                    accesses || matches!(op.value, ValueDependence::Load(_))
                });
                match loads {
                    true => fail(at, NoFormulaReason::Loaded),
                    false => fail(at, NoFormulaReason::Operation),
                }
            }
            _ => fail(self.place_of(id), NoFormulaReason::Operation),
        }
    }

    /// Content of a cell after an operation with a condition.
    fn conditional(
        &mut self,
        node: NodeId,
        at: OpIndex,
        cell: Cell,
    ) -> Result<WordPolynomial, NoFormula> {
        let unknown = NoFormula::new(at, NoFormulaReason::Operation);
        let condition = self.symbolic.code.get(at).map(|op| op.condition);
        // The condition code is no word.
        let condition = condition.filter(|condition| !condition.has_further_test());
        let condition = condition.ok_or(unknown)?;
        let guard = condition.guard.ok_or(unknown)?;
        let truth = self.symbolic.before(node, at, guard);
        let truth = self.resolve(&truth)?;
        let [new, old] =
            <[_; 2]>::try_from(self.symbolic.conditional(node, at, cell)).map_err(|_| unknown)?;
        // A condition of constants leaves one of the two.
        match truth.as_constant() {
            Some(word) if (word != 0) != condition.negated => self.resolve(&new),
            Some(_) => self.resolve(&old),
            None => {
                let (new, old) = (self.resolve(&new)?, self.resolve(&old)?);
                Ok(self.select(truth, new, old, condition.negated))
            }
        }
    }

    /// The first word where a truth value is not 0 (or is 0, if `negated`), else the second.
    fn select(
        &mut self,
        truth: WordPolynomial,
        holds: WordPolynomial,
        else_: WordPolynomial,
        negated: bool,
    ) -> WordPolynomial {
        let operands = match negated {
            false => [truth, holds, else_],
            true => [truth, else_, holds],
        };
        self.symbolic.atoms.ternary(TernaryOp::Select, operands)
    }

    /// Word at the join of the two sides of one branch.
    ///
    /// Each path to the join passes its immediate dominator last by one of the two sides; the values that arrive from
    /// one side must be the same.
    fn joined(&mut self, join: NodeId, cell: Cell) -> Result<WordPolynomial, NoFormula> {
        let first = self.symbolic.thread.space.block(join).first;
        let unknown = NoFormula::new(first, NoFormulaReason::Join);
        let dependence = self.symbolic.dependence;
        let branch = dependence.dominators.immediate(join.index());
        let branch = NodeId(branch.ok_or(unknown)? as u32);
        let sides = sides(&self.symbolic, branch).ok_or(unknown)?;
        let at = self.symbolic.thread.space.block(branch).last;
        let guard = sides.condition.guard.ok_or(unknown)?;
        let mut words: [Option<WordPolynomial>; 2] = [None, None];
        let sources = dependence.reversed.successors(join.index()).to_vec();
        for source in sources
            .into_iter()
            .filter(|&from| dependence.dominators.is_reached(from))
        {
            let side = self.side_of(&sides, branch.index(), source, join.index());
            let side = usize::from(side.ok_or(unknown)?);
            let arriving = (self.symbolic.gsa).arriving_value(join, cell, NodeId(source as u32));
            let arriving = self.symbolic.value(arriving, cell);
            let arriving = self.resolve(&arriving)?;
            match &words[side] {
                Some(known) if *known != arriving => return Err(unknown),
                _ => words[side] = Some(arriving),
            }
        }
        let [Some(not_taken), Some(taken)] = words else {
            return Err(unknown);
        };
        let truth = self.symbolic.before(branch, at, guard);
        let truth = self.resolve(&truth)?;
        Ok(self.select(truth, taken, not_taken, sides.condition.negated))
    }

    /// Whether the edge from `source` to a join is reached by the taken side of the branch that immediately dominates
    /// the join; `None` if that is not the same for all paths.
    fn side_of(&self, sides: &Sides, branch: usize, source: usize, join: usize) -> Option<bool> {
        let dependence = self.symbolic.dependence;
        let next = match source == branch {
            true => join,
            false => {
                let mut below = source;
                loop {
                    let above = dependence.dominators.immediate(below)?;
                    if above == branch {
                        break below;
                    }
                    below = above;
                }
            }
        };
        // The side must be entered by the branch alone, except for cycles inside it; otherwise both sides may lead to
        // it.
        let mut entering = dependence.reversed.successors(next).iter();
        let is_only = next == join
            || entering.all(|&from| from == branch || dependence.dominators.dominates(next, from));
        let taken = sides.taken.contains(&Some(next));
        let not_taken = sides.not_taken == next;
        (is_only && taken != not_taken).then_some(taken)
    }

    /// Word at the header of a loop, in terms of the completed iterations: its first content and as many steps, or
    /// shifts. For example, the counter of `for (i = a; …; i += 4)` is `a + 4·k` after `k` iterations.
    fn header_word(
        &mut self,
        id: AtomId,
        node: NodeId,
        cell: Cell,
    ) -> Result<WordPolynomial, NoFormula> {
        let first = self.symbolic.thread.space.block(node).first;
        let unknown = NoFormula::new(first, NoFormulaReason::Recurrence);
        let index = self.symbolic.dependence.header_of(node.index());
        let index = index.ok_or(unknown)?;
        let [entering, closing] = self.symbolic.joined(node, cell);
        let ([entering], [closing]) = (entering.as_slice(), closing.as_slice()) else {
            return Err(unknown);
        };
        let (entering, closing) = (entering.clone(), closing.clone());
        let start = self.resolve(&entering)?;
        let itself = WordPolynomial::unknown(id);
        let iteration = self.symbolic.atoms.word(Atom::Iteration(index));
        let sum = || {
            let step = closing.plus(&itself, u32::MAX)?;
            let is_free = !step.unknowns().any(|of| of == id);
            is_free.then_some(step)
        };
        if let Some(step) = sum() {
            let step = self.resolve(&step)?;
            // Steps that differ do not add up to a multiple of the iterations.
            if self.depends_on_iteration(&step, index) {
                return Err(unknown);
            }
            let added = iteration
                .times(&step)
                .and_then(|added| start.plus(&added, 1));
            return added.ok_or(unknown);
        }
        let (op, amount) = self.shift_of(&closing, id).ok_or(unknown)?;
        let amount = iteration.scaled(amount).ok_or(unknown)?;
        // Repeated shifts are one shift by the sum: amounts of 32 and more leave the same as 32 of them.
        let shifted = self.symbolic.atoms.binary(op, start, amount);
        shifted.ok_or(unknown)
    }

    /// The shift by which the word at the end of an iteration follows from the word at its beginning.
    fn shift_of(&self, closing: &WordPolynomial, id: AtomId) -> Option<(BinaryOp, u32)> {
        let itself = WordPolynomial::unknown(id);
        if let [(unknowns, factor)] = closing.terms() {
            if unknowns.as_slice() == [id] && factor.is_power_of_two() {
                return Some((BinaryOp::Shl, factor.trailing_zeros()));
            }
            if let Atom::Binary(op @ (BinaryOp::Shr | BinaryOp::Sar), [of, by]) =
                self.symbolic.atoms.get(closing.as_unknown()?)
                && *of == itself
            {
                let by = by.as_constant()?;
                return (1..=31).contains(&by).then_some((*op, by));
            }
        }
        None
    }

    /// Loops whose iterations a resolved word mentions.
    pub(super) fn loops_in(&self, word: &WordPolynomial) -> BTreeSet<LoopIndex> {
        let all = self.symbolic.atoms.all_in(word).into_iter();
        let loops = all.filter_map(|id| match self.symbolic.atoms.get(id) {
            Atom::Iteration(index) => Some(*index),
            _ => None,
        });
        loops.collect()
    }

    /// Whether a resolved word may differ from iteration to iteration of a loop: it mentions the loop, or one inside
    /// it, whose last iteration may differ.
    pub(super) fn depends_on_iteration(&self, word: &WordPolynomial, index: LoopIndex) -> bool {
        let loops = self.loops_in(word);
        loops.into_iter().any(|of| self.is_inside(of, index))
    }

    /// Whether a loop is another one, or inside it.
    pub(super) fn is_inside(&self, of: LoopIndex, index: LoopIndex) -> bool {
        let mut around = Some(of);
        while let Some(at) = around {
            if at == index {
                return true;
            }
            around = self.symbolic.dependence.loops.get(at).parent;
        }
        false
    }

    /// Coefficient of the completed iterations of a loop in a word that is linear in them, and the word without them.
    pub(super) fn progression(
        &mut self,
        word: &WordPolynomial,
        index: LoopIndex,
    ) -> Option<[WordPolynomial; 2]> {
        let iteration = self.symbolic.atoms.number(Atom::Iteration(index));
        let first = word.substituted(iteration, &constant(0))?;
        let second = word.substituted(iteration, &constant(1))?;
        let step = second.plus(&first, u32::MAX)?;
        // Two values determine a linear word, and the comparison below shows whether the word is linear.
        let linear = first.plus(&step.times(&WordPolynomial::unknown(iteration))?, 1)?;
        let invariant =
            !self.depends_on_iteration(&first, index) && !self.depends_on_iteration(&step, index);
        (invariant && linear == *word).then_some([first, step])
    }
}
