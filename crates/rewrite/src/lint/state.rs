//! Dataflow of results and reads that may be outstanding at a point of the code.

use std::collections::{BTreeMap, BTreeSet};

use warpbound_analyse::ThreadCfg;
use warpbound_analyse::blocks::Block;
use warpbound_base::GroupedCode;
use warpbound_graph::{DataflowProblem, solve};
use warpbound_ir::{Cell, OpIndex};

use crate::liveness::ALL_SCOREBOARDS;

use super::distances::{ClassId, Distances, RegisterUse, Use};
use super::{ControlHazard, InstrHazards, LintFinding, ResultUse};

/// Facts about the code, and the distances that it must keep.
pub(super) struct Checks<'a> {
    /// By operation.
    pub(super) facts: &'a [InstrHazards],
    pub(super) distances: &'a Distances,
}

/// Outstanding operations, by the register that they write or read.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub(super) struct Underway {
    /// Results of fixed latency.
    fixed: BTreeMap<(Cell, OpIndex), FixedResult>,
    /// Results and sources of operations of variable latency, each with the scoreboards that cover it on all paths.
    results: BTreeMap<(Cell, OpIndex), u8>,
    sources: BTreeMap<(Cell, OpIndex), u8>,
}

/// Result of fixed latency that may not be present yet.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct FixedResult {
    /// Minimum number of cycles since the issue.
    age: u8,
    /// Scoreboards of loads issued after it on all paths. A wait for one of them takes longer than the result.
    outlasted_by: u8,
    /// Class of the result.
    class: ClassId,
}

/// Returns the entries of a register.
fn of_cell<T: Copy>(
    entries: &BTreeMap<(Cell, OpIndex), T>,
    cell: Cell,
) -> impl Iterator<Item = (OpIndex, T)> {
    let range = (cell, OpIndex(0))..=(cell, OpIndex(u32::MAX));
    entries.range(range).map(|(&(_, at), &value)| (at, value))
}

/// Bit above the bits of scoreboards: the predicate of the operation's guard has not changed since the operation.
const SAME_GUARD: u8 = 1 << GroupedCode::WITH_THREE_SLOTS.scoreboards;

/// Next bit: no branch that a predicate decides was passed since the operation.
const SAME_PATH: u8 = SAME_GUARD << 1;

/// Returns the bit of a scoreboard, or 0 for none.
fn bit(scoreboard: Option<u8>) -> u8 {
    scoreboard.map_or(0, |number| 1 << number)
}

/// Register that the instruction under check uses.
#[derive(Clone, Copy)]
struct UsedCell {
    cell: Cell,
    /// Class of the instruction as a user of it.
    class: ClassId,
    used: Use,
}

/// Instruction under check.
struct Checked<'a> {
    at: OpIndex,
    instr: &'a InstrHazards,
    checks: &'a Checks<'a>,
}

impl Checked<'_> {
    fn fact(&self, at: OpIndex) -> Option<&InstrHazards> {
        self.checks.facts.get(at.index())
    }

    /// Whether an earlier operation was waited for, or only lanes that do not execute this instruction execute it.
    fn is_safe(&self, producer: OpIndex, covered: u8) -> bool {
        let earlier = self.fact(producer);
        let excluded = earlier.is_some_and(|earlier| earlier.excludes(self.instr));
        covered & self.instr.wait_mask != 0 || excluded && covered & SAME_GUARD != 0
    }

    /// Whether an earlier operation belongs to the same queue, which completes its operations in order.
    fn completes_before(&self, producer: OpIndex) -> bool {
        let (queue, earlier) = (self.instr.queue, self.fact(producer));
        queue.is_some() && earlier.is_some_and(|earlier| earlier.queue == queue)
    }

    /// Whether an earlier operation belongs to the same queue, which reads sources in order.
    fn reads_before(&self, producer: OpIndex) -> bool {
        let (queue, earlier) = (self.instr.source_queue, self.fact(producer));
        queue.is_some() && earlier.is_some_and(|earlier| earlier.source_queue == queue)
    }

    /// Hazard with an earlier operation. The hazard is only possible if both have guards that differ or may have
    /// changed, or if one has a guard and a branch lies between them: the code may have computed the guard such that
    /// no lane executes both.
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
    /// Removes the entries that one of these scoreboards covers.
    fn release(&mut self, mask: u8) {
        if mask != 0 {
            self.results.retain(|_, covered| *covered & mask == 0);
            self.sources.retain(|_, covered| *covered & mask == 0);
            self.fixed
                .retain(|_, result| result.outlasted_by & mask == 0);
        }
    }

    /// Advances the state over one instruction.
    pub(super) fn step(&mut self, at: OpIndex, instr: &InstrHazards, checks: &Checks<'_>) {
        let facts = checks.facts;
        // Waits come first, because they are over before the instruction issues.
        self.release(instr.wait_mask | instr.releases);
        for &cell in &instr.writes {
            // The new result replaces the old one, even if the old one was not waited for. A guarded write counts as
            // a write in all lanes, because compilers write a register under a guard and its complement.
            self.fixed.retain(|(old, _), _| *old != cell);
            if cell.is_predicate() {
                self.change_guards(cell, facts);
            }
        }
        match instr.is_fixed {
            true => {
                let new = FixedResult {
                    age: 0,
                    outlasted_by: 0,
                    class: instr.classes.producer,
                };
                // The second register of a wide product is written later than the first.
                let second = FixedResult {
                    class: instr.classes.second,
                    ..new
                };
                let new = instr.writes.iter().map(|&cell| {
                    let is_second = instr.second == Some(cell);
                    ((cell, at), if is_second { second } else { new })
                });
                self.fixed.extend(new);
            }
            false => self.set_off(at, instr, facts),
        }
        if instr.drains {
            self.release(ALL_SCOREBOARDS);
        }
        for result in self.fixed.values_mut() {
            result.age = result.age.saturating_add(instr.distance);
        }
        // Older results are present for every reader; dropping them keeps the state small.
        self.fixed
            .retain(|_, result| result.age < checks.distances.horizon);
    }

    /// Records that a predicate changes.
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

    /// Records that a predicate has decided the path.
    pub(super) fn branch(&mut self) {
        for entries in [&mut self.results, &mut self.sources] {
            entries
                .values_mut()
                .for_each(|covered| *covered &= !SAME_PATH);
        }
    }

    /// Removes operations that the lane has not executed, because their guard fails for the value of a predicate that
    /// has not changed since. For example, a loop loads under `@P0` for the next iteration and ends when P0 is false:
    /// the loads of the last iteration need no wait after the loop.
    pub(super) fn learn(&mut self, predicate: Cell, value: bool, facts: &[InstrHazards]) {
        for entries in [&mut self.results, &mut self.sources] {
            entries.retain(|(_, at), covered| {
                let guard = facts.get(at.index()).and_then(|fact| fact.guard);
                let fails =
                    guard.is_some_and(|(cell, negated)| cell == predicate && value == negated);
                // If the predicate has changed since, nothing is known of its value at the operation.
                !fails || *covered & SAME_GUARD == 0
            });
        }
    }

    /// Adds an operation of variable latency. Its scoreboards also cover the earlier operations of its queue, which
    /// completes them in order. A result is written after the sources were read, so the write scoreboard covers both.
    fn set_off(&mut self, at: OpIndex, instr: &InstrHazards, facts: &[InstrHazards]) {
        let (write, both) = (
            bit(instr.write_sb),
            bit(instr.write_sb) | bit(instr.read_sb),
        );
        // A wait for this load is longer than any fixed latency, so it also covers results that were issued before.
        if instr.is_slow {
            for result in self.fixed.values_mut() {
                result.outlasted_by |= write;
            }
        }
        let fact = |at: &OpIndex| facts.get(at.index());
        // A wait for the last operation of a queue also covers those before it.
        if instr.queue.is_some() {
            for ((_, at), covered) in &mut self.results {
                if fact(at).is_some_and(|earlier| earlier.queue == instr.queue) {
                    *covered |= write;
                }
            }
        }
        if instr.source_queue.is_some() {
            let is_before = |at: &OpIndex| {
                fact(at).is_some_and(|earlier| earlier.source_queue == instr.source_queue)
            };
            for ((_, at), covered) in &mut self.sources {
                *covered |= if is_before(at) { both } else { 0 };
            }
            // A warp goes on once the barrier has left its queue, so what was queued before it has read its sources.
            if instr.is_barrier {
                self.sources.retain(|(_, at), _| !is_before(at));
            }
        }
        let is_guarded = instr.guard.is_some();
        for (entries, cells, covered) in [
            (&mut self.results, &instr.writes, write),
            (&mut self.sources, &instr.sources, both),
        ] {
            let new = covered | SAME_GUARD | SAME_PATH;
            for &cell in cells {
                // Where the guard fails, the operation of an earlier iteration may still be outstanding.
                let entry = entries.entry((cell, at));
                let known = entry.or_insert(new);
                *known = if is_guarded { *known & new } else { new };
            }
        }
    }

    /// Checks the state before an instruction.
    pub(super) fn check(
        &self,
        at: OpIndex,
        instr: &InstrHazards,
        checks: &Checks<'_>,
        findings: &mut BTreeSet<LintFinding>,
        dependences: &mut BTreeSet<ResultUse>,
    ) {
        let checked = Checked { at, instr, checks };
        let user = instr.classes.user;
        let operands = instr.reads.iter().map(|&(cell, class)| UsedCell {
            cell,
            class,
            used: Use::Operand,
        });
        let as_guard = |&cell| UsedCell {
            cell,
            class: user,
            used: Use::Guard,
        };
        // A register that is operand and guard at once is checked as both, because the guard is read earlier.
        for read in operands.chain(instr.conditions.iter().map(as_guard)) {
            self.check_read(read.cell, &checked, findings);
            self.check_fixed(read, &checked, findings, dependences);
        }
        // Without any number for writes, each of them would count as not judged and say nothing.
        let overwritten = match checks.distances.judges_overwrites {
            true => &instr.writes[..],
            false => &[],
        };
        for &cell in overwritten {
            let written = UsedCell {
                cell,
                class: user,
                used: Use::Overwrite,
            };
            self.check_fixed(written, &checked, findings, dependences);
        }
        self.check_writes(&checked, findings);
    }

    /// Checks a register that an instruction reads against results of variable latency.
    fn check_read(&self, cell: Cell, checked: &Checked<'_>, findings: &mut BTreeSet<LintFinding>) {
        for (producer, covered) in of_cell(&self.results, cell) {
            if !checked.is_safe(producer, covered) {
                let hazard = ControlHazard::ResultNotAwaited;
                findings.insert(checked.finding(hazard, cell, producer, covered));
            }
        }
    }

    /// Checks a register that an instruction uses against results of fixed latency.
    fn check_fixed(
        &self,
        user: UsedCell,
        checked: &Checked<'_>,
        findings: &mut BTreeSet<LintFinding>,
        dependences: &mut BTreeSet<ResultUse>,
    ) {
        let UsedCell { cell, class, used } = user;
        let instr = checked.instr;
        // The waits of this instruction are over before it issues.
        let waited = |result: &FixedResult| result.outlasted_by & instr.wait_mask != 0;
        for (producer, result) in of_cell(&self.fixed, cell).filter(|(_, result)| !waited(result)) {
            // The predicate of both guards cannot have changed within so few cycles.
            let excluded = checked.fact(producer);
            if excluded.is_none_or(|earlier| earlier.excludes(instr)) {
                continue;
            }
            let classes = (result.class, class);
            let register_use = RegisterUse::of(cell, used);
            let distances = checked.checks.distances;
            let dependence = ResultUse {
                consumer: checked.at,
                producer,
                cell,
                used: register_use,
                classes,
                cycles: result.age,
                least: distances.least(classes.0, classes.1, register_use),
            };
            dependences.insert(dependence);
            if let Some(least) = dependence.least.filter(|&least| result.age < least) {
                let hazard = match used {
                    Use::Operand | Use::Guard => ControlHazard::ReadTooEarly,
                    Use::Overwrite => ControlHazard::ResultOverwritten,
                };
                findings.insert(LintFinding {
                    cycles: Some((result.age, least)),
                    ..checked.finding(hazard, cell, producer, SAME_GUARD | SAME_PATH)
                });
            }
        }
    }

    /// Checks the registers that an instruction writes.
    fn check_writes(&self, checked: &Checked<'_>, findings: &mut BTreeSet<LintFinding>) {
        for &cell in &checked.instr.writes {
            // In one queue, a later write cannot overtake an earlier access.
            for (producer, covered) in of_cell(&self.results, cell) {
                if !checked.is_safe(producer, covered) && !checked.completes_before(producer) {
                    let hazard = ControlHazard::ResultOverwritten;
                    findings.insert(checked.finding(hazard, cell, producer, covered));
                }
            }
            for (producer, covered) in of_cell(&self.sources, cell) {
                if !checked.is_safe(producer, covered) && !checked.reads_before(producer) {
                    let hazard = ControlHazard::SourceOverwritten;
                    findings.insert(checked.finding(hazard, cell, producer, covered));
                }
            }
        }
    }

    /// Joins the state of another path. Returns whether anything is new.
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
                // An entry must be covered on all paths, so only common scoreboards stay.
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
            // The shortest path decides whether a reader may be too early.
            own.age = own.age.min(result.age);
            own.outlasted_by &= result.outlasted_by;
        }
        grown
    }
}

struct LintProblem<'a> {
    cfg: &'a ThreadCfg,
    checks: &'a Checks<'a>,
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
            if let Some(instr) = self.checks.facts.get(at.index()) {
                state.step(at, instr, self.checks);
            }
        }
        let steps = self.cfg.steps.get(node).into_iter().flatten();
        for step in steps {
            let Some(next) = step.to else { continue };
            let mut state = state.clone();
            if let Some((predicate, value)) = self.cfg.predicate_after(node, next) {
                state.learn(predicate, value, self.checks.facts);
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

/// Calls `visit` for each reachable operation with the state before it. An operation in several contexts is visited
/// once for each of them.
pub(super) fn visit(
    cfg: &ThreadCfg,
    checks: &Checks<'_>,
    visit: &mut dyn FnMut(OpIndex, &Underway),
) {
    let blocks = cfg.space.ids().map(|node| cfg.space.block(node));
    let mut problem = LintProblem {
        cfg,
        checks,
        blocks: blocks.collect(),
    };
    let Ok(solution) = solve(&mut problem, cfg.entry.index(), Underway::default());
    for (node, state) in solution.reached() {
        let mut state = state.clone();
        for at in problem.ops(node) {
            visit(at, &state);
            if let Some(instr) = checks.facts.get(at.index()) {
                state.step(at, instr, checks);
            }
        }
    }
}
