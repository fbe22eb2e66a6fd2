//! What may still be on its way at a point of the code, and its dataflow.

use std::collections::{BTreeMap, BTreeSet};

use warpbound_analyse::ThreadCfg;
use warpbound_analyse::blocks::Block;
use warpbound_graph::{DataflowProblem, solve};
use warpbound_ir::{Cell, OpIndex};

use super::distances::{HORIZON, least_distance};
use super::{Dependence, Finding, Hazard, InstrHazards};

/// Operations under way, by the register that they write or read.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub(super) struct Underway {
    /// Results of fixed latency: fewest cycles since the issue.
    fixed: BTreeMap<(Cell, OpIndex), u8>,
    /// Results and sources of operations of variable latency.
    results: BTreeSet<(Cell, OpIndex)>,
    sources: BTreeSet<(Cell, OpIndex)>,
}

impl Underway {
    /// Forgets the operations that hold one of these scoreboards. A result is written after the sources were read.
    fn release(&mut self, mask: u8, facts: &[InstrHazards]) {
        if mask == 0 {
            return;
        }
        let is_in = |scoreboard: Option<u8>| scoreboard.is_some_and(|sb| mask >> sb & 1 == 1);
        let fact = |at: &OpIndex| facts.get(at.index());
        self.results
            .retain(|(_, at)| !fact(at).is_some_and(|fact| is_in(fact.write_sb)));
        self.sources.retain(|(_, at)| {
            !fact(at).is_some_and(|fact| is_in(fact.write_sb) || is_in(fact.read_sb))
        });
    }

    /// Passes one instruction.
    pub(super) fn step(&mut self, at: OpIndex, instr: &InstrHazards, facts: &[InstrHazards]) {
        self.release(instr.wait_mask, facts);
        self.release(instr.releases, facts);
        for &cell in &instr.writes {
            // The new result takes the place of the old one, also where that was not waited for.
            self.fixed.retain(|(old, _), _| *old != cell);
            match instr.producer {
                Some(_) => {
                    self.fixed.insert((cell, at), 0);
                }
                None => {
                    self.results.insert((cell, at));
                }
            }
        }
        if instr.producer.is_none() {
            self.sources
                .extend(instr.reads.iter().map(|&cell| (cell, at)));
        }
        if instr.drains {
            self.release(0x3f, facts);
        }
        for age in self.fixed.values_mut() {
            *age = age.saturating_add(instr.distance);
        }
        self.fixed.retain(|_, age| *age < HORIZON);
    }

    /// Checks one instruction, before it.
    pub(super) fn check(
        &self,
        at: OpIndex,
        instr: &InstrHazards,
        facts: &[InstrHazards],
        findings: &mut BTreeSet<Finding>,
        dependences: &mut BTreeSet<Dependence>,
    ) {
        let mut now = self.clone();
        now.release(instr.wait_mask, facts);
        let of = |set: &BTreeSet<(Cell, OpIndex)>, cell: Cell| -> Vec<OpIndex> {
            let range = (cell, OpIndex(0))..=(cell, OpIndex(u32::MAX));
            set.range(range).map(|(_, at)| *at).collect()
        };
        let mut add = |hazard, cell, producer, cycles| {
            findings.insert(Finding {
                at,
                hazard,
                cell,
                producer,
                cycles,
            });
        };
        for &cell in &instr.reads {
            for producer in of(&now.results, cell) {
                add(Hazard::ResultNotAwaited, cell, producer, None);
            }
            let range = (cell, OpIndex(0))..=(cell, OpIndex(u32::MAX));
            for (&(_, producer), &cycles) in now.fixed.range(range) {
                dependences.insert(Dependence {
                    consumer: at,
                    producer,
                    cell,
                    cycles,
                });
                let class = facts.get(producer.index()).and_then(|fact| fact.producer);
                let least = class.map_or(0, |class| least_distance(class, instr.consumer, cell));
                if cycles < least {
                    add(Hazard::ReadTooEarly, cell, producer, Some((cycles, least)));
                }
            }
        }
        for &cell in &instr.writes {
            for producer in of(&now.results, cell) {
                add(Hazard::ResultOverwritten, cell, producer, None);
            }
            for producer in of(&now.sources, cell) {
                add(Hazard::SourceOverwritten, cell, producer, None);
            }
        }
    }

    /// Adds what may be under way on another path; returns whether anything is new.
    fn join(&mut self, other: Underway) -> bool {
        let sizes = (self.results.len(), self.sources.len());
        self.results.extend(other.results);
        self.sources.extend(other.sources);
        let mut grown = sizes != (self.results.len(), self.sources.len());
        for (key, age) in other.fixed {
            let own = self.fixed.entry(key).or_insert(u8::MAX);
            grown |= age < *own;
            *own = age.min(*own);
        }
        grown
    }
}

struct LintProblem<'a> {
    cfg: &'a ThreadCfg,
    facts: &'a [InstrHazards],
    /// By node.
    blocks: Vec<Block>,
}

impl LintProblem<'_> {
    /// Operations of a node.
    fn ops(&self, node: usize) -> impl Iterator<Item = OpIndex> + use<> {
        let block = self.blocks.get(node);
        let range = block.map_or(1..=0, |block| block.first.0..=block.last.0);
        range.map(OpIndex)
    }
}

impl DataflowProblem for LintProblem<'_> {
    type State = Underway;
    type Error = std::convert::Infallible;

    fn flow(
        &mut self,
        node: usize,
        state: &Underway,
        emit: &mut dyn FnMut(usize, Underway),
    ) -> Result<(), Self::Error> {
        let mut state = state.clone();
        for at in self.ops(node) {
            if let Some(instr) = self.facts.get(at.index()) {
                state.step(at, instr, self.facts);
            }
        }
        let steps = self.cfg.steps.get(node).into_iter().flatten();
        for next in steps.filter_map(|step| step.to) {
            emit(next.index(), state.clone());
        }
        Ok(())
    }

    fn join(&mut self, _: usize, old: &mut Underway, new: Underway) -> bool {
        old.join(new)
    }

    fn priority(&self, node: usize) -> u64 {
        self.cfg.rank(node)
    }
}

/// Calls `visit` for each operation that a path reaches, with what may be under way before it; for an operation in
/// several contexts once for each.
pub(super) fn visit(
    cfg: &ThreadCfg,
    facts: &[InstrHazards],
    visit: &mut dyn FnMut(OpIndex, &Underway),
) {
    let blocks = cfg.space.ids().map(|node| cfg.space.block(node));
    let mut problem = LintProblem {
        cfg,
        facts,
        blocks: blocks.collect(),
    };
    let Ok(solution) = solve(&mut problem, cfg.entry.index(), Underway::default());
    for (node, state) in solution.reached() {
        let mut state = state.clone();
        for at in problem.ops(node) {
            visit(at, &state);
            if let Some(instr) = facts.get(at.index()) {
                state.step(at, instr, facts);
            }
        }
    }
}
