//! Limits of the lanes of a warp that pass a step of the thread-level graph, where the thread's place in its block decides.
//!
//! The threads of a block are known when the block is. What each of them holds in a cell is followed as far as it is made of
//! its place and of constants, whatever the operations: a table with a value for each thread. Where such a table decides
//! a branch, the threads are known that go on each way. The tables are of a thread alone, so the graph may be walked
//! by one thread without asking which lanes it walks with.

use std::collections::BTreeMap;
use std::rc::Rc;

use warpbound_graph::{DataflowProblem, components, solve};
use warpbound_ir::{Cell, Code, ExecCondition, Expr, Op, ValueDependence};
use warpbound_simt::NodeId;
use warpbound_simt::counts::LaneLimit;
use warpbound_simt::warp::{CellSet, ControlOp, Via, WarpStep};

use crate::LaunchContext;
use crate::thread_cfg::ThreadCfg;

/// The most threads of a block on any GPU; larger blocks are not launched, and nothing is said of them.
const MOST_THREADS: u64 = 1024;

/// Numbers of S2R: the thread's place in x, y and z.
const PLACE: std::ops::RangeInclusive<u8> = 33..=35;

/// Steps that at most `limit` lanes of any warp of the block take, each lane at most once; of a guarded operation either way.
///
/// Only steps that no thread takes twice, and only where there are fewer lanes than a warp has.
pub fn lane_limits(code: &Code, thread: &ThreadCfg, launch: &LaunchContext) -> Vec<LaneLimit> {
    let Some(threads) = Threads::of(launch) else {
        return Vec::new();
    };
    let asks = |op: &Op| matches!(op.value, ValueDependence::Special(n) if PLACE.contains(&n));
    if !code.ops.iter().any(asks) {
        return Vec::new();
    }
    let order = thread.graph().reverse_postorder(thread.entry.index());
    let mut rank = vec![u64::MAX; thread.space.len()];
    for (position, node) in order.into_iter().enumerate() {
        rank[node] = position as u64;
    }
    let mut explorer = Explorer {
        code,
        thread,
        followed: deciding(code),
        rank,
        threads: &threads,
    };
    let initial = State {
        known: BTreeMap::new(),
        coming: vec![true; threads.count()],
    };
    let Ok(states) = solve(&mut explorer, thread.entry.index(), initial);
    let component = component_of(thread);
    let mut limits = Vec::new();
    for (node, state) in states.reached() {
        let here = NodeId(node as u32);
        let Some((_, sides)) = explorer.sides(here, state) else {
            continue;
        };
        for (steps, passing) in sides {
            let once = |step: &WarpStep| {
                let to = step.to.and_then(|to| component.get(to.index()));
                to.is_none() || to != component.get(node)
            };
            let lanes = threads.most_of_a_warp(&passing);
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

/// For each node, the number of the strongly connected part of the thread-level graph that it is in.
fn component_of(thread: &ThreadCfg) -> Vec<usize> {
    let graph = thread.graph();
    let mut part = vec![0; graph.len()];
    let all = vec![true; graph.len()];
    for (number, members) in components(&graph, &all).into_iter().enumerate() {
        for node in members {
            part[node] = number;
        }
    }
    part
}

/// Cells that may be part of what decides a branch. What is left out may hold anything.
fn deciding(code: &Code) -> CellSet {
    let mut cells = CellSet::default();
    for op in &code.ops {
        if let Some(guard) = op
            .condition
            .guard
            .filter(|_| op.control != warpbound_ir::ControlEffect::Next)
        {
            cells.insert(guard.index());
        }
    }
    let written = |op: &Op, cells: &CellSet| {
        let mut writes = op.writes.iter();
        writes.any(|cell| cells.contains(cell.index()))
    };
    loop {
        let before = cells;
        for op in &code.ops {
            if !written(op, &cells) {
                continue;
            }
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
                    add_cells(value, &mut cells);
                }
            }
        }
        if before == cells {
            return cells;
        }
    }
}

fn add_cells(expr: &Expr, cells: &mut CellSet) {
    match expr {
        Expr::Cell(cell) => cells.insert(cell.index()),
        Expr::Unary(_, a) => add_cells(a, cells),
        Expr::Binary(_, a, b) => {
            add_cells(a, cells);
            add_cells(b, cells);
        }
        Expr::Ternary(_, a, b, c) => {
            add_cells(a, cells);
            add_cells(b, cells);
            add_cells(c, cells);
        }
        Expr::Const(_)
        | Expr::ThreadId
        | Expr::Constant(..)
        | Expr::Special(_)
        | Expr::Float(..) => {}
    }
}

/// The threads of a block, x first, and their warps.
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
        (1..=MOST_THREADS).contains(&count).then_some(Threads {
            block,
            width: launch.warp_width.max(1) as usize,
        })
    }

    fn count(&self) -> usize {
        self.block.iter().map(|&d| d as usize).product()
    }

    /// The most of these threads that are in the same warp, which consecutive threads make.
    fn most_of_a_warp(&self, which: &[bool]) -> u64 {
        let warps = which.chunks(self.width);
        let count = |warp: &[bool]| warp.iter().filter(|&&is| is).count() as u64;
        warps.map(count).max().unwrap_or(0)
    }

    /// Values that the threads read from a special register.
    fn special(&self, register: u8) -> Option<Known> {
        let [x, y, _] = self.block;
        let of_thread = |number: u32| match register {
            33 => number % x,
            34 => number / x % y,
            _ => number / x / y,
        };
        PLACE
            .contains(&register)
            .then(|| Known::Each((0..self.count() as u32).map(of_thread).collect()))
    }
}

/// Knowledge of a cell.
#[derive(Clone, PartialEq, Eq)]
enum Known {
    /// The same value in all threads.
    Same(u32),
    /// A value for each thread of the block.
    Each(Rc<[u32]>),
}

impl Known {
    fn of(&self, thread: usize) -> u32 {
        match self {
            Known::Same(value) => *value,
            Known::Each(values) => values.get(thread).copied().unwrap_or(0),
        }
    }
}

/// Knowledge of a thread that comes to a node.
#[derive(Clone)]
struct State {
    /// Cells without an entry may hold anything.
    known: BTreeMap<Cell, Known>,
    /// The threads that may come.
    coming: Vec<bool>,
}

struct Explorer<'a> {
    code: &'a Code,
    thread: &'a ThreadCfg,
    followed: CellSet,
    rank: Vec<u64>,
    threads: &'a Threads,
}

/// Steps of a node, and the threads that may take them.
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

    /// Both ways from the operation that ends a node, where each thread's place decides which one it goes: first where the
    /// condition holds, then where not; and the state before that operation.
    fn sides(&self, node: NodeId, state: &State) -> Option<(State, [Side; 2])> {
        let resolved = self.thread.resolved.get(node.index())?.as_ref()?;
        let next = resolved.next?;
        if resolved.condition.is_always() || resolved.condition.is_never() {
            return None;
        }
        // Where both ways are the same step.
        let leads = |to: &NodeId| *to == next;
        match &resolved.op {
            ControlOp::Jump(to) if leads(to) => return None,
            ControlOp::IndirectJump { targets, .. } if targets.iter().any(leads) => return None,
            ControlOp::Jump(_)
            | ControlOp::IndirectJump { .. }
            | ControlOp::Exit
            | ControlOp::Pop(_) => {}
            _ => return None,
        }
        let state = self.before_last(node, state);
        let holds = self.holds(&state, resolved.condition)?;
        let on_foot = |step: &&WarpStep| step.via == Via::Walk && step.to == Some(next);
        let steps = self.thread.steps.get(node.index())?;
        let (passed, taken): (Vec<&WarpStep>, Vec<&WarpStep>) = steps.iter().partition(on_foot);
        let side = |steps: Vec<&WarpStep>, when: bool| {
            let coming = state.coming.iter().zip(&holds);
            let passing = coming.map(|(&comes, &holds)| comes && holds == when);
            (steps.into_iter().cloned().collect(), passing.collect())
        };
        let sides = [side(taken, true), side(passed, false)];
        Some((state, sides))
    }

    /// For each thread, whether the condition holds.
    fn holds(&self, state: &State, condition: ExecCondition) -> Option<Vec<bool>> {
        if condition.tests_cc() {
            return None;
        }
        let value = state.known.get(&condition.guard?)?;
        let holds = |thread| (value.of(thread) != 0) != condition.negated;
        Some((0..self.threads.count()).map(holds).collect())
    }

    /// The data effect of an operation.
    fn apply(&self, state: &mut State, op: &Op) {
        if op.writes.is_empty() || op.condition.is_never() {
            return;
        }
        // All of them read the state before.
        let new: Vec<(Cell, Option<Known>)> = op
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

    /// Value of a cell after an operation that writes it.
    fn written(&self, state: &State, op: &Op, cell: Cell) -> Option<Known> {
        if !self.followed.contains(cell.index()) {
            return None;
        }
        let value = op
            .meaning
            .as_ref()
            .and_then(|meaning| meaning.value_of(cell));
        let new = match (value, op.value) {
            (Some(value), _) => self.evaluate(state, value),
            (None, ValueDependence::Special(register)) if op.writes.len() == 1 => {
                self.threads.special(register)
            }
            (None, _) => None,
        }?;
        if op.condition.is_always() {
            return Some(new);
        }
        let old = state.known.get(&cell)?;
        let holds = self.holds(state, op.condition)?;
        let chosen = holds.iter().enumerate().map(|(thread, &holds)| {
            let from = if holds { &new } else { old };
            from.of(thread)
        });
        Some(Known::Each(chosen.collect()))
    }

    fn evaluate(&self, state: &State, expr: &Expr) -> Option<Known> {
        let eval = |e: &Expr| self.evaluate(state, e);
        match expr {
            Expr::Const(value) => Some(Known::Same(*value)),
            Expr::Cell(cell) => state.known.get(cell).cloned(),
            Expr::Unary(op, a) => self.each(&[eval(a)?], |v| Some(op.apply(v[0]))),
            Expr::Binary(op, a, b) => self.each(&[eval(a)?, eval(b)?], |v| op.apply(v[0], v[1])),
            Expr::Ternary(op, a, b, c) => self.each(&[eval(a)?, eval(b)?, eval(c)?], |v| {
                Some(op.apply(v[0], v[1], v[2]))
            }),
            Expr::ThreadId | Expr::Special(_) | Expr::Constant(..) | Expr::Float(..) => None,
        }
    }

    /// An operation on what each thread holds.
    fn each<const N: usize>(
        &self,
        operands: &[Known; N],
        apply: impl Fn([u32; N]) -> Option<u32>,
    ) -> Option<Known> {
        let of = |thread| apply(std::array::from_fn(|operand| operands[operand].of(thread)));
        if operands.iter().all(|known| matches!(known, Known::Same(_))) {
            return of(0).map(Known::Same);
        }
        let values: Option<Rc<[u32]>> = (0..self.threads.count()).map(of).collect();
        values.map(Known::Each)
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
        let outside = resolved.is_some_and(|resolved| resolved.external.is_some());
        let sides = self.sides(here, state);
        let before = match &sides {
            Some((before, _)) => before.clone(),
            None => self.before_last(here, state),
        };
        let mut behind = before;
        if let Some(op) = self.code.get(block.last) {
            self.apply(&mut behind, op);
        }
        if outside {
            // The callee may leave anything in any cell.
            behind.known.clear();
        }
        let mut follow = |steps: &[WarpStep], coming: &[bool]| {
            if coming.contains(&true) {
                for to in steps.iter().filter_map(|step| step.to) {
                    let state = State {
                        coming: coming.to_vec(),
                        known: behind.known.clone(),
                    };
                    emit(to.index(), state);
                }
            }
        };
        match &sides {
            Some((_, sides)) => {
                for (steps, passing) in sides {
                    follow(steps, passing);
                }
            }
            None => {
                if let Some(steps) = self.thread.steps.get(node) {
                    follow(steps, &state.coming);
                }
            }
        }
        Ok(())
    }

    fn join(&mut self, _: usize, old: &mut State, new: State) -> bool {
        let mut grew = false;
        old.known.retain(|cell, known| {
            let stays = new.known.get(cell) == Some(known);
            grew |= !stays;
            stays
        });
        for (mine, theirs) in old.coming.iter_mut().zip(new.coming) {
            grew |= theirs && !*mine;
            *mine |= theirs;
        }
        grew
    }

    fn priority(&self, node: usize) -> u64 {
        self.rank.get(node).copied().unwrap_or(u64::MAX)
    }
}
