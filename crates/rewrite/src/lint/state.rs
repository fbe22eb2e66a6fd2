//! Results and reads that may be outstanding at a point of the code, and their dataflow.

use std::collections::{BTreeMap, BTreeSet};

use warpbound_analyse::ThreadCfg;
use warpbound_analyse::blocks::Block;
use warpbound_graph::{DataflowProblem, solve};
use warpbound_ir::{Cell, OpIndex};

use super::distances::{HORIZON, least_distance};
use super::{ControlHazard, DependentRead, InstrHazards, LintFinding};

/// Operations under way, by the register that they write or read.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub(super) struct Underway {
    /// Results of fixed latency.
    fixed: BTreeMap<(Cell, OpIndex), FixedResult>,
    /// Results and sources of operations of variable latency: scoreboards of which each covers it on all paths.
    results: BTreeMap<(Cell, OpIndex), u8>,
    sources: BTreeMap<(Cell, OpIndex), u8>,
}

/// Result of fixed latency that may still be on its way.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct FixedResult {
    /// Fewest cycles since the issue.
    age: u8,
    /// Scoreboards of loads that were issued after it on all paths: a wait for one of them takes longer than the result.
    outlasted_by: u8,
}

/// Entries of a register.
fn of_cell<T: Copy>(
    entries: &BTreeMap<(Cell, OpIndex), T>,
    cell: Cell,
) -> impl Iterator<Item = (OpIndex, T)> {
    let range = (cell, OpIndex(0))..=(cell, OpIndex(u32::MAX));
    entries.range(range).map(|(&(_, at), &value)| (at, value))
}

/// Bit beside those of the scoreboards: the predicate of the operation's guard has kept its value since.
const SAME_GUARD: u8 = 1 << 6;

/// Another one: no branch that a predicate decides has been passed since.
const SAME_PATH: u8 = 1 << 7;

/// The bit of a scoreboard.
fn bit(scoreboard: Option<u8>) -> u8 {
    scoreboard.map_or(0, |number| 1 << number)
}

/// Instruction that is checked.
struct Checked<'a> {
    at: OpIndex,
    instr: &'a InstrHazards,
    facts: &'a [InstrHazards],
}

impl Checked<'_> {
    fn fact(&self, at: OpIndex) -> Option<&InstrHazards> {
        self.facts.get(at.index())
    }

    /// Whether an earlier operation was waited for, or other lanes only execute it.
    fn is_safe(&self, producer: OpIndex, covered: u8) -> bool {
        let earlier = self.fact(producer);
        let excluded = earlier.is_some_and(|earlier| earlier.excludes(self.instr));
        covered & self.instr.wait_mask != 0 || excluded && covered & SAME_GUARD != 0
    }

    /// Whether an earlier operation is one of the same queue: they read and write in order.
    fn is_ordered(&self, producer: OpIndex) -> bool {
        let (queue, earlier) = (self.instr.queue, self.fact(producer));
        queue.is_some() && earlier.is_some_and(|earlier| earlier.queue == queue)
    }

    /// The hazard of an earlier operation. It is possible only if both have guards that differ or may have changed, or if one
    /// has a guard and a branch lies between them: the code may have computed the guard so that no lane executes both.
    fn finding(
        &self,
        hazard: ControlHazard,
        cell: Cell,
        producer: OpIndex,
        covered: u8,
    ) -> LintFinding {
        let is_certain =
            self.fact(producer)
                .is_some_and(|earlier| match (earlier.guard, self.instr.guard) {
                    (None, None) => true,
                    (Some(_), Some(_)) => {
                        covered & SAME_GUARD != 0 && earlier.runs_with(self.instr)
                    }
                    _ => covered & SAME_PATH != 0,
                });
        LintFinding {
            at: self.at,
            hazard,
            cell,
            producer,
            cycles: None,
            is_possible: !is_certain,
        }
    }
}

impl Underway {
    /// Forgets what one of these scoreboards covers.
    fn release(&mut self, mask: u8) {
        if mask != 0 {
            self.results.retain(|_, covered| *covered & mask == 0);
            self.sources.retain(|_, covered| *covered & mask == 0);
            self.fixed
                .retain(|_, result| result.outlasted_by & mask == 0);
        }
    }

    /// Passes one instruction.
    pub(super) fn step(&mut self, at: OpIndex, instr: &InstrHazards, facts: &[InstrHazards]) {
        self.release(instr.wait_mask | instr.releases);
        for &cell in &instr.writes {
            // The new result takes the place of the old one, also where that was not waited for. A guarded one counts as one
            // for all lanes: compilers write a register under a guard and its complement.
            self.fixed.retain(|(old, _), _| *old != cell);
            if cell.is_predicate() {
                self.change_guards(cell, facts);
            }
        }
        match instr.producer {
            Some(_) => {
                let new = FixedResult {
                    age: 0,
                    outlasted_by: 0,
                };
                let new = instr.writes.iter().map(|&cell| ((cell, at), new));
                self.fixed.extend(new);
            }
            None => self.set_off(at, instr, facts),
        }
        if instr.drains {
            self.release(0x3f);
        }
        for result in self.fixed.values_mut() {
            result.age = result.age.saturating_add(instr.distance);
        }
        self.fixed.retain(|_, result| result.age < HORIZON);
    }

    /// Notes that a predicate changes.
    fn change_guards(&mut self, predicate: Cell, facts: &[InstrHazards]) {
        for entries in [&mut self.results, &mut self.sources] {
            for ((_, at), covered) in entries {
                let guard = facts.get(at.index()).and_then(|fact| fact.guard);
                if guard.is_some_and(|(cell, _)| cell == predicate) {
                    *covered &= !SAME_GUARD;
                }
            }
        }
    }

    /// Notes that a predicate has decided the path.
    pub(super) fn branch(&mut self) {
        for entries in [&mut self.results, &mut self.sources] {
            entries
                .values_mut()
                .for_each(|covered| *covered &= !SAME_PATH);
        }
    }

    /// Forgets what a lane has not executed: operations whose guard fails for the value of a predicate that has not changed
    /// since. So the loads of a last round that a guard leaves out need no wait after the loop that the guard ends.
    pub(super) fn learn(&mut self, predicate: Cell, value: bool, facts: &[InstrHazards]) {
        for entries in [&mut self.results, &mut self.sources] {
            entries.retain(|(_, at), covered| {
                let guard = facts.get(at.index()).and_then(|fact| fact.guard);
                let fails =
                    guard.is_some_and(|(cell, negated)| cell == predicate && value == negated);
                !fails || *covered & SAME_GUARD == 0
            });
        }
    }

    /// Adds an operation of variable latency. Its scoreboards also cover the earlier operations of its queue, which
    /// completes them in order; a result is written after the sources were read.
    fn set_off(&mut self, at: OpIndex, instr: &InstrHazards, facts: &[InstrHazards]) {
        let (write, both) = (
            bit(instr.write_sb),
            bit(instr.write_sb) | bit(instr.read_sb),
        );
        if instr.is_slow {
            for result in self.fixed.values_mut() {
                result.outlasted_by |= write;
            }
        }
        if let Some(queue) = instr.queue {
            let is_before = |at: &OpIndex| {
                let earlier = facts.get(at.index());
                earlier.is_some_and(|earlier| earlier.queue == Some(queue))
            };
            for ((_, at), covered) in &mut self.results {
                *covered |= if is_before(at) { write } else { 0 };
            }
            for ((_, at), covered) in &mut self.sources {
                *covered |= if is_before(at) { both } else { 0 };
            }
        }
        if instr.is_barrier {
            // The warp goes on once the barrier has left its queue: what was before it there has read its sources.
            self.sources.retain(|(_, at), _| {
                facts
                    .get(at.index())
                    .is_none_or(|earlier| earlier.queue != instr.queue)
            });
        }
        let is_guarded = instr.guard.is_some();
        for (entries, cells, covered) in [
            (&mut self.results, &instr.writes, write),
            (&mut self.sources, &instr.sources, both),
        ] {
            let new = covered | SAME_GUARD | SAME_PATH;
            for &cell in cells {
                // Where its guard fails, what it has left in an earlier iteration is still under way.
                let entry = entries.entry((cell, at));
                let known = entry.or_insert(new);
                *known = if is_guarded { *known & new } else { new };
            }
        }
    }

    /// Checks one instruction, before it.
    pub(super) fn check(
        &self,
        at: OpIndex,
        instr: &InstrHazards,
        facts: &[InstrHazards],
        findings: &mut BTreeSet<LintFinding>,
        dependences: &mut BTreeSet<DependentRead>,
    ) {
        let checked = Checked { at, instr, facts };
        self.check_reads(&checked, findings, dependences);
        self.check_writes(&checked, findings);
    }

    /// Checks what an instruction reads.
    fn check_reads(
        &self,
        checked: &Checked<'_>,
        findings: &mut BTreeSet<LintFinding>,
        dependences: &mut BTreeSet<DependentRead>,
    ) {
        let instr = checked.instr;
        for &cell in &instr.reads {
            for (producer, covered) in of_cell(&self.results, cell) {
                if !checked.is_safe(producer, covered) {
                    let hazard = ControlHazard::ResultNotAwaited;
                    findings.insert(checked.finding(hazard, cell, producer, covered));
                }
            }
            // A wait of this instruction is over before it issues.
            let fixed = of_cell(&self.fixed, cell);
            let waited = |result: &FixedResult| result.outlasted_by & instr.wait_mask != 0;
            for (producer, result) in fixed.filter(|(_, result)| !waited(result)) {
                let Some(earlier) = checked.fact(producer) else {
                    continue;
                };
                // The predicate of both guards cannot have changed in so few cycles.
                if earlier.excludes(instr) {
                    continue;
                }
                let cycles = result.age;
                dependences.insert(DependentRead {
                    consumer: checked.at,
                    producer,
                    cell,
                    cycles,
                });
                let class = earlier.producer;
                let least = class.map_or(0, |class| least_distance(class, instr.consumer, cell));
                if cycles < least {
                    let hazard = ControlHazard::ReadTooEarly;
                    findings.insert(LintFinding {
                        cycles: Some((cycles, least)),
                        ..checked.finding(hazard, cell, producer, SAME_GUARD | SAME_PATH)
                    });
                }
            }
        }
    }

    /// Checks what an instruction writes.
    fn check_writes(&self, checked: &Checked<'_>, findings: &mut BTreeSet<LintFinding>) {
        let is_open = |producer: OpIndex, covered: u8| {
            !checked.is_safe(producer, covered) && !checked.is_ordered(producer)
        };
        for &cell in &checked.instr.writes {
            for (entries, hazard) in [
                (&self.results, ControlHazard::ResultOverwritten),
                (&self.sources, ControlHazard::SourceOverwritten),
            ] {
                for (producer, covered) in of_cell(entries, cell) {
                    if is_open(producer, covered) {
                        findings.insert(checked.finding(hazard, cell, producer, covered));
                    }
                }
            }
        }
    }

    /// Adds what may be under way on another path; returns whether anything is new.
    fn join(&mut self, other: Underway) -> bool {
        let mut grown = false;
        for (own, others) in [
            (&mut self.results, other.results),
            (&mut self.sources, other.sources),
        ] {
            for (key, covered) in others {
                let own = own.entry(key).or_insert_with(|| {
                    grown = true;
                    covered
                });
                grown |= *own & !covered != 0;
                *own &= covered;
            }
        }
        for (key, result) in other.fixed {
            let own = self.fixed.entry(key).or_insert_with(|| {
                grown = true;
                result
            });
            grown |= result.age < own.age || own.outlasted_by & !result.outlasted_by != 0;
            own.age = own.age.min(result.age);
            own.outlasted_by &= result.outlasted_by;
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
        let block = self.blocks.get(node).copied();
        let ops = block
            .into_iter()
            .flat_map(|block| block.first.0..=block.last.0);
        ops.map(OpIndex)
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
        for step in steps {
            let Some(next) = step.to else { continue };
            let mut state = state.clone();
            if let Some((predicate, value)) = self.cfg.predicate_after(node, next) {
                state.learn(predicate, value, self.facts);
                state.branch();
            }
            emit(next.index(), state);
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
