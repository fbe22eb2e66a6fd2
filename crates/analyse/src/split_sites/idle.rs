//! Effect of the code between a branch on the mask of active lanes and its join on a lane that is not active at the
//! branch.
//!
//! A split whose lanes are all inactive at the branch skips the code; the whole wave, for which other lanes are
//! active, executes it. The lane must stay inactive. Its bits in the words of masks after the code are followed as
//! symbols: where they are the same as before, the split agrees with the whole wave on its lanes again.

use std::collections::{BTreeMap, BTreeSet};
use std::convert::Infallible;

use warpbound_graph::{DataflowProblem, Solution, solve};
use warpbound_ir::{
    BinaryOp, Cell, ControlEffect, Expr, Meaning, Op, OpIndex, OpScope, TernaryOp, UnaryOp,
    WordHalf,
};
use warpbound_isa::instr::MemorySpace;
use warpbound_simt::NodeId;

use super::obstacle::{ObstacleReason, SplitObstacle};
use super::walk::{Walk, idle_side};
#[cfg(doc)]
use crate::masks::Masks;

/// Bit of a lane in a word.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum LaneBit {
    /// 0.
    Zero,
    /// 1.
    One,
    /// The bit that a word had at the branch.
    Initial(Cell),
    /// Any.
    Unknown,
}

/// Bits of a lane in a word: if the word is the low half of a mask, and if it is the high half.
pub(super) type WordBits = [LaneBit; 2];

/// Words that may have changed since the branch.
type ChangedWords = BTreeMap<Cell, WordBits>;

/// Code between a branch and its join.
#[derive(Clone, Debug)]
pub(super) struct IdleRegion {
    /// Scalar registers that the code may write, with their bits at the join and one operation that writes each.
    /// Empty if the join is the end.
    pub(super) written: BTreeMap<Cell, (WordBits, OpIndex)>,
    /// Obstacles to a split that skips the code.
    pub(super) obstacles: BTreeSet<SplitObstacle>,
}

impl IdleRegion {
    /// Follows the code between the branch at the end of a node and its join.
    ///
    /// `known` are bits of lanes that are not active there ([`Masks::bits_of_idle_lanes`]).
    pub(super) fn of_branch(
        walk: Walk<'_>,
        branch: usize,
        known: &[(Cell, [Option<bool>; 2])],
    ) -> IdleRegion {
        let join = walk.join(branch);
        let start = walk.dependence.graph.len();
        let mut problem = IdleProblem {
            walk,
            branch,
            join,
            start,
        };
        let at_branch = bits_at_branch(known);
        let solution = match solve(&mut problem, start, at_branch) {
            Ok(solution) => solution,
            Err(never) => match never {},
        };
        let nodes = walk.region(branch);
        let mut obstacles = BTreeSet::new();
        check_lone_side(walk, branch, &mut obstacles);
        let mut writers = BTreeMap::new();
        for &node in &nodes {
            check_node(walk, node, &solution, &mut obstacles, &mut writers);
        }
        let at_join = solution
            .get(join)
            .filter(|_| join < walk.thread.space.len());
        let written = at_join.map(|words| {
            let bits = |cell: Cell| words.get(&cell).copied().unwrap_or(initial(cell));
            let all = writers.iter().map(|(&cell, &at)| (cell, (bits(cell), at)));
            all.collect()
        });
        IdleRegion {
            written: written.unwrap_or_default(),
            obstacles,
        }
    }
}

/// Words whose bits of an idle lane are known at the branch.
fn bits_at_branch(known: &[(Cell, [Option<bool>; 2])]) -> ChangedWords {
    let bit = |cell: Cell, value: Option<bool>| match value {
        Some(false) => LaneBit::Zero,
        Some(true) => LaneBit::One,
        None => LaneBit::Initial(cell),
    };
    let known = known.iter();
    let mut words: ChangedWords = known
        .map(|&(cell, values)| (cell, values.map(|value| bit(cell, value))))
        .collect();
    // The lane is in one half of EXEC and idle there; the word of the other half has other lanes.
    for (half, cell) in Cell::EXEC_WORDS.into_iter().enumerate() {
        let mut bits = [LaneBit::Unknown; 2];
        bits[half] = LaneBit::Zero;
        words.insert(cell, bits);
    }
    words
}

/// Accesses in nodes to shared memory by which lanes of a wave may exchange data without barriers.
pub(super) fn exchanges(
    walk: Walk<'_>,
    nodes: impl Iterator<Item = usize>,
) -> BTreeSet<SplitObstacle> {
    let ops = nodes.flat_map(|node| walk.ops(node));
    let ops = ops.filter(|&at| {
        walk.code
            .get(at)
            .is_some_and(|op| exchanges_lanes(walk, op))
    });
    let obstacles = ops.map(|at| SplitObstacle {
        at,
        reason: ObstacleReason::SharedMemory,
    });
    obstacles.collect()
}

/// Whether an operation may read from shared memory what another lane of the wave wrote without a barrier.
pub(super) fn exchanges_lanes(walk: Walk<'_>, op: &Op) -> bool {
    let reads = match &op.meaning {
        Some(Meaning::Load { space, .. } | Meaning::Atomic { space, .. }) => {
            matches!(space, MemorySpace::Shared | MemorySpace::Generic)
        }
        _ => false,
    };
    walk.context.omits_barriers && reads
}

fn initial(cell: Cell) -> WordBits {
    [LaneBit::Initial(cell); 2]
}

/// Forward analysis of the words from a branch to its join.
struct IdleProblem<'a> {
    walk: Walk<'a>,
    branch: usize,
    join: usize,
    /// Number that stands for the branch itself, because the code may reach its node again.
    start: usize,
}

impl DataflowProblem for IdleProblem<'_> {
    type State = ChangedWords;
    type Error = Infallible;

    fn flow(
        &mut self,
        node: usize,
        state: &ChangedWords,
        emit: &mut dyn FnMut(usize, ChangedWords),
    ) -> Result<(), Infallible> {
        if node == self.join {
            return Ok(());
        }
        let mut state = state.clone();
        let from = if node == self.start {
            self.branch
        } else {
            node
        };
        if node != self.start {
            for at in self.walk.ops(node) {
                if let Some(op) = self.walk.code.get(at) {
                    apply(op, &mut state);
                }
            }
        }
        for &to in self.walk.successors(from) {
            emit(to, state.clone());
        }
        Ok(())
    }

    fn join(&mut self, _: usize, old: &mut ChangedWords, new: ChangedWords) -> bool {
        let cells: BTreeSet<Cell> = old.keys().chain(new.keys()).copied().collect();
        let mut changed = false;
        // A word without an entry is as it was at the branch.
        for cell in cells {
            let theirs = new.get(&cell).copied().unwrap_or(initial(cell));
            let mine = old.get(&cell).copied().unwrap_or(initial(cell));
            let mut joined = mine;
            for (bit, other) in joined.iter_mut().zip(theirs) {
                if *bit != other {
                    *bit = LaneBit::Unknown;
                }
            }
            if joined != mine {
                old.insert(cell, joined);
                changed = true;
            }
        }
        changed
    }

    fn priority(&self, node: usize) -> u64 {
        match node == self.start {
            true => 0,
            false => self.walk.thread.rank(node).saturating_add(1),
        }
    }
}

/// Applies an operation while the lane is not active.
fn apply(op: &Op, state: &mut ChangedWords) {
    let scalars = op.writes.iter().filter(|cell| !cell.is_per_lane());
    let new: Vec<(Cell, WordBits)> = scalars
        .map(|&cell| {
            let meaning = op.meaning.as_ref();
            let value = meaning.and_then(|meaning| meaning.value_of(cell));
            // An operation with a condition may keep the old bit.
            let bits = match value {
                Some(value) if op.condition.is_always() => evaluate(value, state),
                _ => [LaneBit::Unknown; 2],
            };
            (cell, bits)
        })
        .collect();
    state.extend(new);
}

fn evaluate(expr: &Expr, state: &ChangedWords) -> WordBits {
    let each = |f: &dyn Fn(usize) -> LaneBit| [f(0), f(1)];
    match expr {
        Expr::Const(0) => [LaneBit::Zero; 2],
        Expr::Const(u32::MAX) => [LaneBit::One; 2],
        Expr::Cell(cell) => state.get(cell).copied().unwrap_or(initial(*cell)),
        // Only active lanes are in a ballot.
        Expr::Ballot(_, WordHalf::Low) => [LaneBit::Zero, LaneBit::Unknown],
        Expr::Ballot(_, WordHalf::High) => [LaneBit::Unknown, LaneBit::Zero],
        Expr::Unary(UnaryOp::Not, a) => {
            let a = evaluate(a, state);
            each(&|half| not(a[half]))
        }
        Expr::Binary(op @ (BinaryOp::And | BinaryOp::Or | BinaryOp::Xor), a, b) => {
            let (a, b) = (evaluate(a, state), evaluate(b, state));
            each(&|half| binary(*op, a[half], b[half]))
        }
        Expr::Ternary(TernaryOp::Select, _, a, b) => {
            let (a, b) = (evaluate(a, state), evaluate(b, state));
            each(&|half| match a[half] == b[half] {
                // The bit is the same, whichever side is chosen.
                true => a[half],
                false => LaneBit::Unknown,
            })
        }
        _ => [LaneBit::Unknown; 2],
    }
}

fn not(bit: LaneBit) -> LaneBit {
    match bit {
        LaneBit::Zero => LaneBit::One,
        LaneBit::One => LaneBit::Zero,
        LaneBit::Initial(_) | LaneBit::Unknown => LaneBit::Unknown,
    }
}

fn binary(op: BinaryOp, a: LaneBit, b: LaneBit) -> LaneBit {
    match (op, a, b) {
        (BinaryOp::And, LaneBit::Zero, _) | (BinaryOp::And, _, LaneBit::Zero) => LaneBit::Zero,
        (BinaryOp::And, LaneBit::One, other) | (BinaryOp::And, other, LaneBit::One) => other,
        (BinaryOp::Or, LaneBit::One, _) | (BinaryOp::Or, _, LaneBit::One) => LaneBit::One,
        (BinaryOp::Or | BinaryOp::Xor, LaneBit::Zero, other)
        | (BinaryOp::Or | BinaryOp::Xor, other, LaneBit::Zero) => other,
        (BinaryOp::Xor, LaneBit::One, other) | (BinaryOp::Xor, other, LaneBit::One) => not(other),
        (BinaryOp::Xor, LaneBit::Initial(a), LaneBit::Initial(b)) if a == b => LaneBit::Zero,
        (_, a, b) if a == b => a,
        _ => LaneBit::Unknown,
    }
}

/// Checks the operations of a node that the lane passes, and collects one writer of each scalar register.
fn check_node(
    walk: Walk<'_>,
    node: usize,
    solution: &Solution<ChangedWords>,
    obstacles: &mut BTreeSet<SplitObstacle>,
    writers: &mut BTreeMap<Cell, OpIndex>,
) {
    let Some(mut state) = solution.get(node).cloned() else {
        return;
    };
    for at in walk.ops(node) {
        let Some(op) = walk.code.get(at) else {
            continue;
        };
        apply(op, &mut state);
        let reason = obstacle_of(walk, node, op, &state);
        obstacles.extend(reason.map(|reason| SplitObstacle { at, reason }));
        for &cell in op.writes.iter().filter(|cell| !cell.is_per_lane()) {
            writers.entry(cell).or_insert(at);
        }
    }
}

/// Returns the obstacle to a split that skips an operation, from the state after it.
fn obstacle_of(
    walk: Walk<'_>,
    node: usize,
    op: &Op,
    state: &ChangedWords,
) -> Option<ObstacleReason> {
    // The whole wave would arrive at the barrier, and the split would not.
    if op.barrier || matches!(op.meaning, Some(Meaning::Barrier { .. })) {
        return Some(ObstacleReason::Barrier);
    }
    // Such a write changes registers of lanes that are not active, too.
    if op.scope == OpScope::Warp && op.writes.iter().any(|cell| cell.is_per_lane()) {
        return Some(ObstacleReason::WritesLanes);
    }
    let resolved = walk.thread.resolved.get(node)?.as_ref()?;
    if matches!(op.control, ControlEffect::Unsupported(_)) || resolved.external.is_some() {
        return Some(ObstacleReason::Control);
    }
    let stays_idle = Cell::EXEC_WORDS
        .into_iter()
        .enumerate()
        .all(|(half, cell)| {
            let bits = state.get(&cell);
            bits.is_some_and(|bits| bits[half] == LaneBit::Zero)
        });
    (!stays_idle).then_some(ObstacleReason::ActivatesLanes)
}

/// Checks the code that a split without active lanes executes alone: it must end, and must not load what the whole wave
/// would not.
fn check_lone_side(walk: Walk<'_>, branch: usize, obstacles: &mut BTreeSet<SplitObstacle>) {
    let join = walk.join(branch);
    let Some(first) = idle_side(walk, branch) else {
        return;
    };
    // Nodes on the path, each with its successors that are still to be visited.
    let mut path: Vec<(usize, Vec<usize>)> = Vec::new();
    let mut visited = BTreeSet::new();
    let mut next = Some(first);
    loop {
        if let Some(node) = next.filter(|&node| node != join) {
            // Without active lanes, nothing may ever end a cycle.
            if path.iter().any(|(on_path, _)| *on_path == node) {
                let at = walk.ops(node).last().unwrap_or_default();
                let reason = ObstacleReason::Endless;
                obstacles.insert(SplitObstacle { at, reason });
            } else if visited.insert(node) {
                add_lone_loads(walk, node, obstacles);
                path.push((node, idle_successors(walk, node)));
            }
        }
        let Some((_, open)) = path.last_mut() else {
            return;
        };
        next = open.pop();
        if next.is_none() {
            path.pop();
        }
    }
}

fn add_lone_loads(walk: Walk<'_>, node: usize, obstacles: &mut BTreeSet<SplitObstacle>) {
    let accesses = |op: &Op| {
        let plain = matches!(op.meaning, Some(Meaning::Set(_)));
        op.scope == OpScope::Warp && !plain
    };
    for at in walk.ops(node) {
        let is_message = walk.context.messages.contains(&at);
        let reason = match walk.code.get(at) {
            Some(_) if is_message => ObstacleReason::Message,
            Some(op) if accesses(op) => ObstacleReason::LoneLoad,
            _ => continue,
        };
        obstacles.insert(SplitObstacle { at, reason });
    }
}

/// Successors of a node of a wave without active lanes.
fn idle_successors(walk: Walk<'_>, node: usize) -> Vec<usize> {
    let exit = walk.dependence.exit();
    let is_site = node != exit && walk.ends_with_site(NodeId(node as u32));
    match idle_side(walk, node).filter(|_| is_site) {
        // Without active lanes, a branch on EXEC has one way only.
        Some(side) => vec![side],
        None => walk.successors(node).to_vec(),
    }
}
