//! Solver of the loops of a kernel: the words, numbers and bounds that are known so far.

use std::collections::{HashMap, HashSet};

use warpbound_graph::LoopIndex;
use warpbound_ir::Code;

use crate::dependence::Dependence;
use crate::launch_ranges::LaunchRanges;
use crate::masks::Masks;
use crate::symbolic::atoms::{AtomId, Atoms, WordPolynomial};
use crate::symbolic::integers::{Facts, Integer, Integers, NumberId};
use crate::symbolic::span::{Reading, Span};
use crate::symbolic::values::Symbolic;
use crate::thread_cfg::ThreadCfg;

/// Solver of the loops of a kernel.
pub(crate) struct LoopSolver<'a> {
    pub(crate) symbolic: Symbolic<'a>,
    pub(super) integers: Integers,
    /// Loops with a limit on their header executions.
    pub(super) bounded: HashMap<LoopIndex, u64>,
    /// Loops among them that only the width of a register limits.
    pub(super) of_width: HashSet<LoopIndex>,
    /// Words at headers whose spans will not become narrower any more.
    pub(super) settled: HashSet<AtomId>,
}

impl<'a> LoopSolver<'a> {
    /// Solver before any loop is bounded; with `masks`, `code` is their [`Masks::lane_view`].
    pub(crate) fn new(
        code: &'a Code,
        thread: &'a ThreadCfg,
        dependence: &'a Dependence,
        launch: &'a LaunchRanges,
        masks: Option<&'a Masks<'a>>,
    ) -> LoopSolver<'a> {
        LoopSolver {
            symbolic: Symbolic::new(code, thread, dependence, launch, masks),
            integers: Integers::default(),
            bounded: HashMap::new(),
            of_width: HashSet::new(),
            settled: HashSet::new(),
        }
    }

    /// The words that are read as numbers, with the atoms that they are made of.
    pub(crate) fn numbers(&mut self) -> (&Atoms, &mut Integers) {
        (&self.symbolic.atoms, &mut self.integers)
    }

    /// Symbolic values and numbers.
    pub(super) fn parts(&mut self) -> (&mut Symbolic<'a>, &mut Integers) {
        (&mut self.symbolic, &mut self.integers)
    }

    /// Upper bound on the header executions per entry of a loop, if it has one.
    pub(super) fn executions(&self, index: LoopIndex) -> Option<u64> {
        self.bounded.get(&index).copied()
    }

    /// Word of a number, and how it is read.
    pub(crate) fn number(&self, id: NumberId) -> &(WordPolynomial, Reading) {
        self.integers.get(id)
    }

    pub(super) fn read(
        &mut self,
        word: &WordPolynomial,
        reading: Reading,
        facts: &Facts,
    ) -> Integer {
        self.integers
            .read(&self.symbolic.atoms, word, reading, facts)
    }

    pub(super) fn limits(&self, of: &Integer, facts: &Facts) -> Option<(i128, i128)> {
        self.integers.limits(&self.symbolic.atoms, of, facts)
    }

    pub(crate) fn span_under(&mut self, word: &WordPolynomial, facts: &Facts) -> Span {
        self.integers.span_under(&self.symbolic.atoms, word, facts)
    }

    pub(super) fn is_multiple(&self, of: &Integer, divisor: i128) -> bool {
        self.integers.is_multiple(&self.symbolic.atoms, of, divisor)
    }
}
