//! Limits on the lanes of a warp that take a step, or execute an operation, guarded by the thread index (SOUNDNESS
//! 5.9).
//!
//! If the block is known, so are the indices of its threads. A forward dataflow analysis over the thread-level graph
//! follows the content of cells that is computed from the thread index and constants: a table with a value for each
//! thread. Where such a table is a guard, it partitions the threads by the side that they take. For example, at most
//! 4 lanes of a warp enter the body of `if (tid.x < 4)` in a block of 64×1 threads. A table is a claim about one
//! thread alone, so the analysis does not depend on which lanes are active together.

use std::collections::BTreeMap;
use std::rc::Rc;

use warpbound_graph::{DataflowProblem, Solution, components, solve};
use warpbound_ir::{
    BinaryOp, Cell, Code, ControlEffect, ExecCondition, Expr, Op, OpIndex, TernaryOp, UnaryOp,
    ValueDependence, ValueDomain, eval,
};
use warpbound_isa::{Axis, SpecialReg};
use warpbound_simt::NodeId;
use warpbound_simt::counts::LaneLimit;
use warpbound_simt::warp::{CellSet, ControlOp, Via, WarpStep};

use crate::LaunchContext;
use crate::thread_cfg::ThreadCfg;

/// Maximum number of threads of a block on any GPU. Larger blocks are never launched and get no limits.
const MAX_THREADS: u64 = 1024;

/// Finds steps that only some lanes of each warp of the block take, each lane at most once: either side of a guarded
/// operation.
///
/// Leaves out steps that a thread may take twice, and limits that are not below the live lanes of a warp.
pub fn lane_limits(code: &Code, thread: &ThreadCfg, launch: &LaunchContext) -> Vec<LaneLimit> {
    let Some(threads) = Threads::of(launch) else {
        return Vec::new();
    };
    let decides = |op: &Op| op.control != ControlEffect::Next;
    let Some((explorer, states)) = explore(code, thread, &threads, &decides) else {
        return Vec::new();
    };
    let component = component_of(thread);
    let mut limits = Vec::new();
    for (node, state) in states.reached() {
        let here = NodeId(node as u32);
        let Some((_, sides)) = explorer.sides(here, state) else {
            continue;
        };
        for (steps, taking) in sides {
            // A step between components is on no cycle, so no thread takes it twice.
            let once = |step: &WarpStep| {
                let to = step.to.and_then(|to| component.get(to.index()));
                to.is_none() || to != component.get(node)
            };
            let lanes = threads.max_per_warp(&taking);
            // A limit that any number of live lanes satisfies would say nothing.
            if lanes < launch.live_lanes() && !steps.is_empty() && steps.iter().all(once) {
                limits.push(LaneLimit {
                    from: here,
                    steps,
                    lanes,
                });
            }
        }
    }
    limits
}

/// Finds the threads that may execute each of the operations `of_interest`, by number in the block. Operations that all
/// threads may execute have no entry; there are none without a known block.
pub fn executing_threads(
    code: &Code,
    thread: &ThreadCfg,
    launch: &LaunchContext,
    of_interest: impl Fn(&Op) -> bool,
) -> BTreeMap<OpIndex, Vec<bool>> {
    let Some(threads) = Threads::of(launch) else {
        return BTreeMap::new();
    };
    let decides = |op: &Op| op.control != ControlEffect::Next || of_interest(op);
    let Some((explorer, states)) = explore(code, thread, &threads, &decides) else {
        return BTreeMap::new();
    };
    let mut executing: BTreeMap<OpIndex, Vec<bool>> = BTreeMap::new();
    for (node, state) in states.reached() {
        let mut state = state.clone();
        for at in thread.space.block(NodeId(node as u32)).ops() {
            let Some(op) = code.get(at) else {
                continue;
            };
            if of_interest(op) {
                // Without a table for its guard, any thread that arrives may execute the operation.
                let holds = explorer.holds(&state, op.condition);
                let holds = holds.unwrap_or_else(|| vec![true; threads.count()]);
                let may_execute = state.may_arrive.iter().zip(holds);
                let all = executing
                    .entry(at)
                    .or_insert_with(|| vec![false; threads.count()]);
                for (known, (&arrives, holds)) in all.iter_mut().zip(may_execute) {
                    // Several nodes may contain the operation, one for each context.
                    *known |= arrives && holds;
                }
            }
            explorer.apply(&mut state, op);
        }
    }
    executing.retain(|_, threads| threads.contains(&false));
    executing
}

/// Follows the tables of the cells that decide the conditions of some operations. Returns the facts on entry to each
/// node; `None` if no operation reads the thread index.
fn explore<'a>(
    code: &'a Code,
    thread: &'a ThreadCfg,
    threads: &'a Threads,
    decides: &dyn Fn(&Op) -> bool,
) -> Option<(Explorer<'a>, Solution<State>)> {
    let reads_thread_index = |op: &Op| {
        matches!(
            op.value,
            ValueDependence::Special(SpecialReg::ThreadIndex(_))
        )
    };
    if !code.ops.iter().any(reads_thread_index) {
        return None;
    }
    let mut explorer = Explorer {
        code,
        thread,
        followed: cells_deciding(code, decides),
        threads,
    };
    let initial = State {
        known: BTreeMap::new(),
        may_arrive: vec![true; threads.count()],
    };
    let Ok(states) = solve(&mut explorer, thread.entry.index(), initial);
    Some((explorer, states))
}

/// For each node, the number of its strongly connected component in the thread-level graph.
fn component_of(thread: &ThreadCfg) -> Vec<usize> {
    let graph = thread.graph();
    let mut component = vec![0; graph.len()];
    let all = vec![true; graph.len()];
    for (number, members) in components(graph, &all).into_iter().enumerate() {
        for node in members {
            component[node] = number;
        }
    }
    component
}

/// Cells on whose content the conditions of some operations may depend: a flow-insensitive slice. Other cells need no
/// tables, since a cell without one may hold anything.
fn cells_deciding(code: &Code, decides: &dyn Fn(&Op) -> bool) -> CellSet {
    let mut cells = CellSet::default();
    for op in &code.ops {
        if let Some(guard) = op.condition.guard.filter(|_| decides(op)) {
            cells.insert(guard.index());
        }
    }
    let written = |op: &Op, cells: &CellSet| {
        let mut writes = op.writes.iter();
        writes.any(|cell| cells.contains(cell.index()))
    };
    loop {
        // Terminates, because each round except the last adds a cell.
        let before = cells;
        for op in &code.ops {
            if !written(op, &cells) {
                continue;
            }
            // A guarded write keeps the old content in some threads, so its guard decides the content as well.
            if let Some(guard) = op.condition.guard {
                cells.insert(guard.index());
            }
            for &cell in &op.writes {
                if let (true, Some(value)) = (
                    cells.contains(cell.index()),
                    op.meaning
                        .as_ref()
                        .and_then(|meaning| meaning.value_of(cell)),
                ) {
                    value.for_each_cell(&models, &mut |cell| cells.insert(cell.index()));
                }
            }
        }
        if before == cells {
            return cells;
        }
    }
}

/// Whether [`ThreadTables`] evaluates an expression of this kind.
fn models(expr: &Expr) -> bool {
    !matches!(expr, Expr::Constant(..) | Expr::Float(..))
}

/// Threads of a block, numbered with x first, and their warps of consecutive numbers.
struct Threads {
    block: [u32; 3],
    width: usize,
}

impl Threads {
    fn of(launch: &LaunchContext) -> Option<Threads> {
        let block = launch.block?;
        let count = block
            .iter()
            .fold(1u64, |n, &d| n.saturating_mul(u64::from(d)));
        (1..=MAX_THREADS).contains(&count).then_some(Threads {
            block,
            width: launch.warp_width.max(1) as usize,
        })
    }

    fn count(&self) -> usize {
        self.block.iter().map(|&d| d as usize).product()
    }

    /// Maximum number of selected threads in one warp.
    fn max_per_warp(&self, selected: &[bool]) -> u64 {
        let warps = selected.chunks(self.width);
        let count = |warp: &[bool]| warp.iter().filter(|&&is| is).count() as u64;
        warps.map(count).max().unwrap_or(0)
    }

    /// Values that the threads read from a special register, if it is one of the thread index.
    fn special(&self, register: SpecialReg) -> Option<ThreadValues> {
        let SpecialReg::ThreadIndex(axis) = register else {
            return None;
        };
        let [x, y, _] = self.block;
        // The number of a thread is x + y·X + z·X·Y (SOUNDNESS 5.9).
        let of_thread = |number: u32| match axis {
            Axis::X => number % x,
            Axis::Y => number / x % y,
            Axis::Z => number / x / y,
        };
        let threads = 0..self.count() as u32;
        Some(ThreadValues::Each(threads.map(of_thread).collect()))
    }
}

/// Known content of a cell in each thread of the block.
#[derive(Clone, PartialEq, Eq)]
enum ThreadValues {
    /// The same value in all threads.
    Same(u32),
    /// A value for each thread of the block.
    Each(Rc<[u32]>),
}

impl ThreadValues {
    /// The content in a thread of the block.
    fn get(&self, thread: usize) -> u32 {
        match self {
            ThreadValues::Same(value) => *value,
            ThreadValues::Each(values) => values.get(thread).copied().unwrap_or(0),
        }
    }
}

/// Dataflow fact on entry to a node.
#[derive(Clone)]
struct State {
    /// Known cells; a cell without an entry may hold anything.
    known: BTreeMap<Cell, ThreadValues>,
    /// By thread, whether it may reach the node.
    may_arrive: Vec<bool>,
}

struct Explorer<'a> {
    code: &'a Code,
    thread: &'a ThreadCfg,
    followed: CellSet,
    threads: &'a Threads,
}

/// Side of a guarded operation: its steps, and by thread, whether it may take one.
type Side = (Vec<WarpStep>, Vec<bool>);

impl Explorer<'_> {
    /// The state before the last operation of a node.
    fn before_last(&self, node: NodeId, state: &State) -> State {
        let mut state = state.clone();
        let block = self.thread.space.block(node);
        for at in block.ops().filter(|&at| at != block.last) {
            if let Some(op) = self.code.get(at) {
                self.apply(&mut state, op);
            }
        }
        state
    }

    /// Both sides of the operation that ends a node, if its guard has a table: first the side where the condition
    /// holds, then the other one. Also returns the state before the operation.
    fn sides(&self, node: NodeId, state: &State) -> Option<(State, [Side; 2])> {
        let resolved = self.thread.resolved.get(node.index())?.as_ref()?;
        let next = resolved.next?;
        if resolved.condition.is_always() || resolved.condition.is_never() {
            return None;
        }
        // If both sides may be the same step, its takers are not known.
        let is_next = |to: &NodeId| *to == next;
        match &resolved.op {
            ControlOp::Jump(to) if is_next(to) => return None,
            ControlOp::IndirectJump { targets, .. } if targets.iter().any(is_next) => return None,
            ControlOp::Jump(_)
            | ControlOp::IndirectJump { .. }
            | ControlOp::Exit
            | ControlOp::Pop(_) => {}
            _ => return None,
        }
        let state = self.before_last(node, state);
        let holds = self.holds(&state, resolved.condition)?;
        let falls_through = |step: &&WarpStep| step.via == Via::Walk && step.to == Some(next);
        let steps = self.thread.steps.get(node.index())?;
        let (not_taken, taken): (Vec<&WarpStep>, Vec<&WarpStep>) =
            steps.iter().partition(falls_through);
        let side = |steps: Vec<&WarpStep>, when: bool| {
            let may_arrive = state.may_arrive.iter().zip(&holds);
            let taking = may_arrive.map(|(&arrives, &holds)| arrives && holds == when);
            (steps.into_iter().cloned().collect(), taking.collect())
        };
        let sides = [side(taken, true), side(not_taken, false)];
        Some((state, sides))
    }

    /// By thread, whether the condition holds; `None` if its guard has no table.
    fn holds(&self, state: &State, condition: ExecCondition) -> Option<Vec<bool>> {
        if condition.has_further_test() {
            return None;
        }
        let value = state.known.get(&condition.guard?)?;
        let holds = |thread| (value.get(thread) != 0) != condition.negated;
        Some((0..self.threads.count()).map(holds).collect())
    }

    /// Executes the data effect of an operation.
    fn apply(&self, state: &mut State, op: &Op) {
        if op.writes.is_empty() || op.condition.is_never() {
            return;
        }
        // All writes of an operation read the state before it.
        let new: Vec<(Cell, Option<ThreadValues>)> = op
            .writes
            .iter()
            .map(|&cell| (cell, self.written(state, op, cell)))
            .collect();
        for (cell, value) in new {
            match value {
                Some(value) => state.known.insert(cell, value),
                None => state.known.remove(&cell),
            };
        }
    }

    /// Content of a cell after an operation that writes it.
    fn written(&self, state: &State, op: &Op, cell: Cell) -> Option<ThreadValues> {
        if !self.followed.contains(cell.index()) {
            return None;
        }
        let value = op
            .meaning
            .as_ref()
            .and_then(|meaning| meaning.value_of(cell));
        let new = match (value, op.value) {
            (Some(value), _) => eval(
                value,
                &mut ThreadTables {
                    known: &state.known,
                    threads: self.threads.count(),
                },
            ),
            (None, ValueDependence::Special(register)) if op.writes.len() == 1 => {
                self.threads.special(register)
            }
            (None, _) => None,
        }?;
        if op.condition.is_always() {
            return Some(new);
        }
        // A guarded write chooses thread by thread between new and old value.
        let old = state.known.get(&cell)?;
        let holds = self.holds(state, op.condition)?;
        let chosen = holds.iter().enumerate().map(|(thread, &holds)| {
            let from = if holds { &new } else { old };
            from.get(thread)
        });
        Some(ThreadValues::Each(chosen.collect()))
    }
}

/// Domain of tables with a value for each thread.
struct ThreadTables<'a> {
    known: &'a BTreeMap<Cell, ThreadValues>,
    threads: usize,
}

impl ThreadTables<'_> {
    /// Applies an operation to the operands of each thread.
    fn apply_per_thread<const N: usize>(
        &self,
        operands: &[ThreadValues; N],
        apply: impl Fn([u32; N]) -> Option<u32>,
    ) -> Option<ThreadValues> {
        let of = |thread| apply(std::array::from_fn(|operand| operands[operand].get(thread)));
        if operands
            .iter()
            .all(|known| matches!(known, ThreadValues::Same(_)))
        {
            // One result serves all threads.
            return of(0).map(ThreadValues::Same);
        }
        let values: Option<Rc<[u32]>> = (0..self.threads).map(of).collect();
        values.map(ThreadValues::Each)
    }
}

impl ValueDomain for ThreadTables<'_> {
    type Value = ThreadValues;

    fn models(&self, expr: &Expr) -> bool {
        models(expr)
    }

    fn constant(&mut self, value: u32) -> Option<ThreadValues> {
        Some(ThreadValues::Same(value))
    }

    fn cell(&mut self, cell: Cell) -> Option<ThreadValues> {
        self.known.get(&cell).cloned()
    }

    fn unary(&mut self, op: UnaryOp, a: ThreadValues) -> Option<ThreadValues> {
        self.apply_per_thread(&[a], |[a]| Some(op.apply(a)))
    }

    fn binary(&mut self, op: BinaryOp, a: ThreadValues, b: ThreadValues) -> Option<ThreadValues> {
        self.apply_per_thread(&[a, b], |[a, b]| op.apply(a, b))
    }

    fn ternary(&mut self, op: TernaryOp, operands: [ThreadValues; 3]) -> Option<ThreadValues> {
        self.apply_per_thread(&operands, |[a, b, c]| Some(op.apply(a, b, c)))
    }
}

impl DataflowProblem for Explorer<'_> {
    type State = State;
    type Error = std::convert::Infallible;

    fn flow(
        &mut self,
        node: usize,
        state: &State,
        emit: &mut dyn FnMut(usize, State),
    ) -> Result<(), Self::Error> {
        let here = NodeId(node as u32);
        let block = self.thread.space.block(here);
        let resolved = self.thread.resolved.get(node).and_then(Option::as_ref);
        let calls_external = resolved.is_some_and(|resolved| resolved.external.is_some());
        let sides = self.sides(here, state);
        let before = match &sides {
            Some((before, _)) => before.clone(),
            None => self.before_last(here, state),
        };
        let mut after = before;
        if let Some(op) = self.code.get(block.last) {
            self.apply(&mut after, op);
        }
        if calls_external {
            // The callee may write any cell.
            after.known.clear();
        }
        let mut follow = |steps: &[WarpStep], may_arrive: &[bool]| {
            // A side that no thread takes contributes no path, so it must not weaken the tables at its target.
            if may_arrive.contains(&true) {
                for to in steps.iter().filter_map(|step| step.to) {
                    let state = State {
                        may_arrive: may_arrive.to_vec(),
                        known: after.known.clone(),
                    };
                    emit(to.index(), state);
                }
            }
        };
        match &sides {
            Some((_, sides)) => {
                for (steps, taking) in sides {
                    follow(steps, taking);
                }
            }
            None => {
                if let Some(steps) = self.thread.steps.get(node) {
                    follow(steps, &state.may_arrive);
                }
            }
        }
        Ok(())
    }

    fn join(&mut self, _: usize, old: &mut State, new: State) -> bool {
        let mut grew = false;
        // A table survives a join only if it is equal on all paths, so there are finitely many changes.
        old.known.retain(|cell, known| {
            let stays = new.known.get(cell) == Some(known);
            grew |= !stays;
            stays
        });
        for (mine, theirs) in old.may_arrive.iter_mut().zip(new.may_arrive) {
            grew |= theirs && !*mine;
            *mine |= theirs;
        }
        grew
    }

    fn priority(&self, node: usize) -> u64 {
        self.thread.rank(node)
    }
}
