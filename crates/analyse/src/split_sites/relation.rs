//! Differences between a split and the whole wave, from the branch at which it splits.
//!
//! Both execute the same operations, except where a branch on the mask of active lanes sends a split past code that
//! none of its lanes executes. The mask of active lanes of a split is the mask of the whole wave without the lanes of
//! others, and so are the masks computed from it; registers of lanes are the same in the lanes of the split. This
//! analysis finds the scalar registers that differ, and the operations at which a difference would reach a lane. For
//! example, a comparison writes masks that differ in other lanes only, while a count of the lanes in such a mask
//! differs altogether.

use std::collections::{BTreeMap, BTreeSet};
use std::convert::Infallible;

use warpbound_graph::{DataflowProblem, solve};
use warpbound_ir::{
    Address, BinaryOp, Cell, ControlEffect, Expr, Meaning, Op, OpIndex, OpScope, TernaryOp,
    UnaryOp, WordHalf,
};
use warpbound_simt::NodeId;

use super::idle::{IdleRegion, LaneBit, WordBits, exchanges_lanes};
use super::join::MergePoint;
use super::obstacle::{DifferenceCause, DifferenceKind, ObstacleReason, SplitObstacle};
use super::walk::Walk;

/// Relation of a scalar register in a split to the same register in the whole wave, if they may differ.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct WordRelation {
    /// Whether both have the same bits in the lanes of the split: if the word is the low half of a mask, and if it is
    /// the high half.
    own: [bool; 2],
    /// Whether they are equal.
    equal: bool,
    /// The operation that may make them differ.
    pub(super) cause: DifferenceCause,
}

impl WordRelation {
    /// No relation.
    fn unknown(cause: DifferenceCause) -> WordRelation {
        WordRelation {
            own: [false; 2],
            equal: false,
            cause,
        }
    }

    /// The same value; `cause` does not matter.
    fn same(cause: DifferenceCause) -> WordRelation {
        WordRelation {
            own: [true; 2],
            equal: true,
            cause,
        }
    }

    /// A word of a mask that has only lanes of the split.
    fn lanes(half: usize, cause: DifferenceCause) -> WordRelation {
        WordRelation {
            own: [half == 0, half == 1],
            equal: false,
            cause,
        }
    }

    /// The relation that holds if either of two does.
    fn either(self, other: WordRelation) -> WordRelation {
        let both = |a: [bool; 2], b: [bool; 2]| [a[0] && b[0], a[1] && b[1]];
        WordRelation {
            own: both(self.own, other.own),
            equal: self.equal && other.equal,
            cause: self.worse_cause(other),
        }
    }

    fn worse_cause(self, other: WordRelation) -> DifferenceCause {
        match (self.equal, other.equal) {
            (true, _) => other.cause,
            (_, true) => self.cause,
            // The smaller one, so that the result does not depend on the order of joins.
            _ => self.cause.min(other.cause),
        }
    }
}

/// Differences at a point: the scalar registers that may differ.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(super) struct Differences {
    /// By register; the others are the same.
    pub(super) words: BTreeMap<Cell, WordRelation>,
}

impl Differences {
    fn word(&self, cell: Cell, at: OpIndex) -> WordRelation {
        let kind = DifferenceKind::Mask;
        let known = self.words.get(&cell).copied();
        known.unwrap_or(WordRelation::same(DifferenceCause { kind, at }))
    }

    fn set(&mut self, cell: Cell, relation: WordRelation) {
        match relation.equal {
            true => self.words.remove(&cell),
            false => self.words.insert(cell, relation),
        };
    }

    /// Relation of the values of an expression of the warp at an operation.
    fn evaluate(&self, expr: &Expr, at: OpIndex) -> WordRelation {
        let cause = |kind| DifferenceCause { kind, at };
        let same = WordRelation::same(cause(DifferenceKind::Mask));
        match expr {
            Expr::Const(_) => same,
            // The warp reads the register of some lane, which may belong to another split.
            Expr::Cell(cell) if cell.is_per_lane() => {
                WordRelation::unknown(cause(DifferenceKind::OtherLane))
            }
            Expr::Cell(cell) => self.word(*cell, at),
            // An active lane of the split is active in the whole wave with the same operands, so its bit is the same.
            Expr::Ballot(predicate, half) => match self.lane_difference(predicate, at) {
                None => {
                    let half = usize::from(*half == WordHalf::High);
                    WordRelation::lanes(half, cause(DifferenceKind::Mask))
                }
                Some(LaneDifference::Word(cause)) => WordRelation::unknown(cause),
                Some(LaneDifference::OtherLanes) => {
                    WordRelation::unknown(cause(DifferenceKind::OtherLane))
                }
            },
            Expr::Unary(UnaryOp::Not, a) => self.evaluate(a, at),
            Expr::Binary(BinaryOp::And | BinaryOp::Or | BinaryOp::Xor, a, b) => {
                self.evaluate(a, at).either(self.evaluate(b, at))
            }
            Expr::Ternary(TernaryOp::Select, condition, a, b) => {
                let condition = self.evaluate(condition, at);
                // Both choose the same operand only if the condition is the same.
                match condition.equal {
                    true => self.evaluate(a, at).either(self.evaluate(b, at)),
                    false => WordRelation::unknown(condition.cause),
                }
            }
            Expr::FromLane(..) => WordRelation::unknown(cause(DifferenceKind::OtherLane)),
            // The lane, the thread, a clock: not of the wave.
            Expr::Special(_) | Expr::ThreadId => {
                WordRelation::unknown(cause(DifferenceKind::Unknown))
            }
            Expr::Constant(_, a) | Expr::Unary(_, a) => self.function([&**a], at),
            Expr::Binary(_, a, b) => self.function([&**a, &**b], at),
            Expr::Ternary(_, a, b, c) => self.function([&**a, &**b, &**c], at),
            Expr::Float(_, words, _) => self.function(words.iter(), at),
        }
    }

    /// Relation of a value that any bit of the operands may change.
    fn function<'e>(
        &self,
        operands: impl IntoIterator<Item = &'e Expr>,
        at: OpIndex,
    ) -> WordRelation {
        let kind = DifferenceKind::Mask;
        let same = WordRelation::same(DifferenceCause { kind, at });
        let operands = operands
            .into_iter()
            .map(|operand| self.evaluate(operand, at));
        let all = operands.fold(same, WordRelation::either);
        match all.equal {
            true => same,
            false => WordRelation::unknown(all.cause),
        }
    }

    /// The difference by which the values of an expression differ in active lanes of the split; `None` if they are
    /// equal.
    fn lane_difference(&self, expr: &Expr, at: OpIndex) -> Option<LaneDifference> {
        // A lane that reads its own bit of a mask does not see the bits of other lanes.
        if let Some(words) = expr.as_own_bit() {
            let differs = words.into_iter().enumerate().find_map(|(half, cell)| {
                let word = self.word(cell, at);
                (!word.own[half]).then_some(word.cause)
            });
            return differs.map(LaneDifference::Word);
        }
        match expr {
            // None of these depends on the other lanes of the split.
            Expr::Const(_) | Expr::Special(_) | Expr::ThreadId => None,
            Expr::Cell(cell) if cell.is_per_lane() => None,
            Expr::Cell(cell) => {
                let word = self.word(*cell, at);
                (!word.equal).then_some(LaneDifference::Word(word.cause))
            }
            Expr::FromLane(..) | Expr::Ballot(..) => Some(LaneDifference::OtherLanes),
            Expr::Constant(_, a) | Expr::Unary(_, a) => self.lane_difference(a, at),
            Expr::Binary(_, a, b) => {
                let mut parts = [a, b].into_iter();
                parts.find_map(|part| self.lane_difference(part, at))
            }
            Expr::Ternary(_, a, b, c) => {
                let mut parts = [a, b, c].into_iter();
                parts.find_map(|part| self.lane_difference(part, at))
            }
            Expr::Float(_, words, _) => {
                words.iter().find_map(|word| self.lane_difference(word, at))
            }
        }
    }

    /// State at the join of a branch for a split that skips the code between, from the state at the branch.
    fn past(&self, region: &IdleRegion) -> Differences {
        let mut after = self.clone();
        for (&cell, &(bits, writer)) in &region.written {
            // EXEC of the split lacks the lanes of others here as everywhere.
            if !Cell::EXEC_WORDS.contains(&cell) {
                after.set(cell, self.skipped(bits, writer));
            }
        }
        after
    }

    /// Relation of a word that is written by code which the split skips; `bits` are the bits of the split's lanes in
    /// both.
    fn skipped(&self, bits: WordBits, writer: OpIndex) -> WordRelation {
        let cause = DifferenceCause {
            kind: DifferenceKind::Skipped,
            at: writer,
        };
        let mut relation = WordRelation::unknown(cause);
        for (half, bit) in bits.into_iter().enumerate() {
            relation.own[half] = match bit {
                LaneBit::Zero | LaneBit::One => true,
                LaneBit::Initial(cell) => self.word(cell, writer).own[half],
                LaneBit::Unknown => false,
            };
        }
        relation
    }
}

/// Difference of the value of an expression in a lane.
enum LaneDifference {
    /// A scalar register that may differ is read.
    Word(DifferenceCause),
    /// Registers of other lanes are read.
    OtherLanes,
}

impl LaneDifference {
    fn reason(self) -> ObstacleReason {
        match self {
            LaneDifference::Word(cause) => ObstacleReason::Data(cause),
            LaneDifference::OtherLanes => ObstacleReason::OtherLanes,
        }
    }
}

/// Findings from a branch on.
#[derive(Debug, Default)]
pub(super) struct FollowedSplits {
    /// Operations at which a difference reaches a lane.
    pub(super) obstacles: BTreeSet<SplitObstacle>,
    /// Nodes that the splits reach, without those between the branch and its join.
    pub(super) nodes: BTreeSet<usize>,
    /// Differences at the merge point; empty without one.
    pub(super) at_end: Differences,
}

/// Split of a wave.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum SplitPart {
    /// The lanes that are active at the branch: up to the join, they do what the whole wave does.
    Active,
    /// Either of the two.
    Any,
}

/// Follows the splits from the join of the branch at the end of a node to the merge point, or to the end of the kernel.
pub(super) fn follow(
    walk: Walk<'_>,
    regions: &BTreeMap<usize, IdleRegion>,
    branch: usize,
    part: SplitPart,
    until: Option<&MergePoint>,
) -> FollowedSplits {
    let mut found = FollowedSplits::default();
    let start = walk.join(branch);
    let Some(region) = regions.get(&branch) else {
        return found;
    };
    // The splits do not meet before the end, so nothing follows the region.
    if start == walk.dependence.exit() {
        return found;
    }
    // At the branch, only the active lanes differ.
    let at = walk.thread.space.block(NodeId(branch as u32)).last;
    let mut initial = Differences::default();
    set_active_lanes(&mut initial, at);
    if part == SplitPart::Any {
        initial = initial.past(region);
    }
    let mut problem = RelationProblem {
        walk,
        regions,
        until,
    };
    let solution = match solve(&mut problem, start, initial) {
        Ok(solution) => solution,
        Err(never) => match never {},
    };
    for (node, state) in solution.reached() {
        if node >= walk.thread.space.len() {
            continue;
        }
        found.nodes.insert(node);
        let mut state = state.clone();
        let mut obstacles = Vec::new();
        problem.apply_node(node, &mut state, &mut obstacles);
        match until.filter(|until| until.node == node) {
            Some(_) => found.at_end = state,
            None => problem.check_end(node, &state, &mut obstacles),
        }
        found.obstacles.extend(obstacles);
    }
    found
}

/// Sets the relation of the mask of active lanes: in a split it has only the lanes of the split.
fn set_active_lanes(state: &mut Differences, at: OpIndex) {
    let kind = DifferenceKind::Mask;
    for (half, cell) in Cell::EXEC_WORDS.into_iter().enumerate() {
        state.set(
            cell,
            WordRelation::lanes(half, DifferenceCause { kind, at }),
        );
    }
}

/// Forward analysis of the differences.
struct RelationProblem<'a> {
    walk: Walk<'a>,
    regions: &'a BTreeMap<usize, IdleRegion>,
    until: Option<&'a MergePoint>,
}

impl RelationProblem<'_> {
    /// Applies the operations of a node, up to the merge point.
    fn apply_node(&self, node: usize, state: &mut Differences, found: &mut Vec<SplitObstacle>) {
        let end = self.until.filter(|until| until.node == node);
        for at in self.walk.ops(node) {
            if end.is_some_and(|end| at >= end.at) {
                break;
            }
            if let Some(op) = self.walk.code.get(at) {
                self.apply(at, op, state, found);
            }
        }
    }

    fn apply(&self, at: OpIndex, op: &Op, state: &mut Differences, found: &mut Vec<SplitObstacle>) {
        let reasons = self.reasons(at, op, state);
        found.extend(
            reasons
                .into_iter()
                .map(|reason| SplitObstacle { at, reason }),
        );
        let unknown = WordRelation::unknown(DifferenceCause {
            kind: DifferenceKind::Unknown,
            at,
        });
        let values: Vec<(Cell, WordRelation)> = op
            .writes
            .iter()
            .filter(|cell| !cell.is_per_lane())
            .map(|&cell| {
                let relation = match &op.meaning {
                    Some(Meaning::Load { address, .. }) => self.loaded(at, address, state),
                    Some(meaning) => meaning
                        .value_of(cell)
                        .map_or(unknown, |value| state.evaluate(value, at)),
                    None => unknown,
                };
                (cell, relation)
            })
            .collect();
        for (cell, relation) in values {
            state.set(cell, relation);
        }
        if let ControlEffect::SetActive(_) = op.control {
            set_active_lanes(state, at);
        }
    }

    /// Relation of the words that a scalar load gives.
    fn loaded(&self, at: OpIndex, address: &Address, state: &Differences) -> WordRelation {
        state.function(address_parts(address), at)
    }

    /// Reasons why the effects of an operation differ, from the state before it.
    fn reasons(&self, at: OpIndex, op: &Op, state: &Differences) -> Vec<ObstacleReason> {
        let mut reasons = Vec::new();
        if self.walk.context.messages.contains(&at) {
            reasons.push(ObstacleReason::Message);
        }
        if exchanges_lanes(self.walk, op) {
            reasons.push(ObstacleReason::SharedMemory);
        }
        if matches!(op.control, ControlEffect::Unsupported(_)) {
            reasons.push(ObstacleReason::Control);
        }
        // Splits that wait at a barrier do not merge.
        if self.until.is_some() && op.barrier {
            reasons.push(ObstacleReason::Barrier);
        }
        let is_wave = op.scope == OpScope::Warp;
        if is_wave && op.writes.iter().any(|cell| cell.is_per_lane()) {
            reasons.push(ObstacleReason::WritesLanes);
            return reasons;
        }
        if let ControlEffect::SetActive(_) = op.control {
            reasons.extend(active_mask(at, op, state));
        }
        match &op.meaning {
            Some(Meaning::Set(values)) => {
                let of_lanes = values.iter().filter(|(cell, _)| cell.is_per_lane());
                let differences =
                    of_lanes.filter_map(|(_, value)| state.lane_difference(value, at));
                reasons.extend(differences.map(LaneDifference::reason));
                let has_value = |cell: &&Cell| values.iter().any(|(dest, _)| dest == *cell);
                let mut lanes = op.writes.iter().filter(|cell| cell.is_per_lane());
                if !lanes.all(|cell| has_value(&cell)) {
                    reasons.push(ObstacleReason::NoMeaning);
                }
            }
            Some(Meaning::Load { address, .. }) if is_wave => {
                let parts = state.function(address_parts(address), at);
                if !parts.equal {
                    reasons.push(ObstacleReason::Decision(parts.cause));
                }
            }
            Some(Meaning::Store { .. } | Meaning::Atomic { .. }) if is_wave => {
                reasons.push(ObstacleReason::ScalarStore);
            }
            Some(meaning) => {
                reasons.extend(self.lane_operands(at, meaning, state));
            }
            // What it writes to registers of the warp is unknown.
            None if is_wave && !op.writes.is_empty() => {}
            None => reasons.push(ObstacleReason::NoMeaning),
        }
        reasons
    }

    /// Reasons why the operands of a memory access of lanes, or of a barrier, differ.
    fn lane_operands(
        &self,
        at: OpIndex,
        meaning: &Meaning,
        state: &Differences,
    ) -> Vec<ObstacleReason> {
        let (address, values): (Option<&Address>, &[Expr]) = match meaning {
            Meaning::Load { address, .. } => (Some(address), &[]),
            Meaning::Store {
                address, values, ..
            } => (Some(address), values),
            Meaning::Atomic {
                address, operands, ..
            } => (Some(address), operands),
            // All splits arrive at a barrier that none skips.
            Meaning::Barrier { .. } => (None, &[]),
            _ => return vec![ObstacleReason::NoMeaning],
        };
        let parts = address.into_iter().flat_map(address_parts).chain(values);
        let differences = parts.filter_map(|part| state.lane_difference(part, at));
        differences.map(LaneDifference::reason).collect()
    }

    /// Checks the control flow at the end of a node.
    fn check_end(&self, node: usize, state: &Differences, found: &mut Vec<SplitObstacle>) {
        let Walk { code, thread, .. } = self.walk;
        let here = NodeId(node as u32);
        let at = thread.space.block(here).last;
        let Some(Some(resolved)) = thread.resolved.get(node) else {
            return;
        };
        if resolved.external.is_some() {
            let reason = ObstacleReason::Control;
            found.push(SplitObstacle { at, reason });
        }
        // A split without active lanes goes to the join here, which `flow` follows if the region has no obstacle.
        if self.walk.ends_with_site(here) {
            match self.regions.get(&node) {
                Some(region) => found.extend(&region.obstacles),
                None => found.push(SplitObstacle {
                    at,
                    reason: ObstacleReason::Control,
                }),
            }
            return;
        }
        let base = code
            .get(at)
            .and_then(|op| crate::thread_cfg::indirect_base(&op.control));
        for cell in resolved.condition.cells().chain(base) {
            let word = state.word(cell, at);
            if !word.equal {
                let reason = ObstacleReason::Decision(word.cause);
                found.push(SplitObstacle { at, reason });
            }
        }
    }
}

/// Reason why the active lanes of a split after an operation may differ from the whole wave's active lanes among its
/// own.
fn active_mask(at: OpIndex, op: &Op, state: &Differences) -> Option<ObstacleReason> {
    let mut halves = Cell::EXEC_WORDS.into_iter().enumerate();
    halves.find_map(|(half, cell)| {
        let word = match &op.meaning {
            _ if !op.writes.contains(&cell) => state.word(cell, at),
            meaning => match meaning.as_ref().and_then(|meaning| meaning.value_of(cell)) {
                Some(value) => state.evaluate(value, at),
                None => WordRelation::unknown(DifferenceCause {
                    kind: DifferenceKind::Unknown,
                    at,
                }),
            },
        };
        (!word.own[half]).then_some(ObstacleReason::ActiveMask(word.cause))
    })
}

/// Expressions that an address is computed from.
fn address_parts(address: &Address) -> impl Iterator<Item = &Expr> {
    let buffer = address.buffer.iter().flat_map(|buffer| {
        let offset = std::iter::once(&buffer.scalar_offset);
        buffer.descriptor.iter().chain(&buffer.index).chain(offset)
    });
    std::iter::once(&address.low)
        .chain(&address.high)
        .chain(buffer)
}

impl DataflowProblem for RelationProblem<'_> {
    type State = Differences;
    type Error = Infallible;

    fn flow(
        &mut self,
        node: usize,
        state: &Differences,
        emit: &mut dyn FnMut(usize, Differences),
    ) -> Result<(), Infallible> {
        let ends_here = self.until.is_some_and(|until| until.node == node);
        if node >= self.walk.thread.space.len() || ends_here {
            return Ok(());
        }
        let mut state = state.clone();
        self.apply_node(node, &mut state, &mut Vec::new());
        for &to in self.walk.successors(node) {
            emit(to, state.clone());
        }
        let is_site = self.walk.ends_with_site(NodeId(node as u32));
        if let Some(region) = self.regions.get(&node).filter(|_| is_site) {
            emit(self.walk.join(node), state.past(region));
        }
        Ok(())
    }

    fn join(&mut self, _: usize, old: &mut Differences, new: Differences) -> bool {
        let mut changed = false;
        for (cell, relation) in new.words {
            let before = old.words.get(&cell).copied();
            let joined = before.map_or(relation, |before| before.either(relation));
            if before != Some(joined) {
                old.words.insert(cell, joined);
                changed = true;
            }
        }
        changed
    }

    fn priority(&self, node: usize) -> u64 {
        self.walk.thread.rank(node)
    }
}
