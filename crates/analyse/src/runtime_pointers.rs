//! Whether vector accesses of a wave may follow the pointers that the wave begins with: to its dispatch packet, to its
//! queue, and to its arguments (SOUNDNESS 11.7).
//!
//! A forward dataflow over the cells that may hold such a pointer, or an address of the code, which a wave reads from
//! its program counter. Values that a wave loads are not such pointers: the assumption `runtime-memory` is about them.

use std::convert::Infallible;

use warpbound_graph::{DataflowProblem, solve};
use warpbound_ir::{Cell, Code, Expr, Meaning, Op, OpScope};
use warpbound_simt::NodeId;
use warpbound_simt::warp::CellSet;

use crate::thread_cfg::ThreadCfg;

/// Whether an access to memory, other than a scalar load, may read one of `pointers`, a value computed from them, or an
/// address of the code: as its address, or as a value that it stores. `pointers` are cells at the start of a wave.
pub fn may_reach_accesses(code: &Code, thread: &ThreadCfg, pointers: &[Cell]) -> bool {
    let initial: CellSet = pointers.iter().map(|cell| cell.index()).collect();
    let mut problem = PointerFlow {
        code,
        thread,
        reaches: false,
    };
    let solved: Result<_, Infallible> = solve(&mut problem, thread.entry.index(), initial);
    solved.is_err() || problem.reaches
}

/// The dataflow: cells that may hold such a pointer.
struct PointerFlow<'a> {
    code: &'a Code,
    thread: &'a ThreadCfg,
    /// Whether an access reads one.
    reaches: bool,
}

impl DataflowProblem for PointerFlow<'_> {
    type State = CellSet;
    type Error = Infallible;

    fn flow(
        &mut self,
        node: usize,
        state: &CellSet,
        emit: &mut dyn FnMut(usize, CellSet),
    ) -> Result<(), Infallible> {
        let mut pointers = *state;
        let block = self.thread.space.block(NodeId(node as u32));
        for op in block.ops().filter_map(|at| self.code.get(at)) {
            self.reaches |= apply(op, &mut pointers);
        }
        for &to in self.thread.graph().successors(node) {
            emit(to, pointers);
        }
        Ok(())
    }

    fn join(&mut self, _node: usize, old: &mut CellSet, new: CellSet) -> bool {
        old.union(&new)
    }

    fn priority(&self, node: usize) -> u64 {
        self.thread.rank(node)
    }
}

/// Applies an operation to the cells that may hold a pointer; returns whether it is an access that reads one.
fn apply(op: &Op, pointers: &mut CellSet) -> bool {
    let is_pointer = op.reads.iter().any(|cell| pointers.contains(cell.index()));
    let (accesses, loads) = match &op.meaning {
        Some(Meaning::Load { dests, .. }) => {
            let is_scalar = |dest: &Option<Cell>| dest.is_some_and(|cell| !cell.is_per_lane());
            (dests.is_empty() || !dests.iter().all(is_scalar), true)
        }
        Some(meaning) => {
            let accesses = !meaning.accesses().is_empty();
            (accesses, accesses)
        }
        // An operation without a meaning may be an access.
        None => (true, false),
    };
    let holds = match &op.meaning {
        None => true,
        Some(Meaning::Set(sets)) => is_pointer || sets.iter().any(|(_, value)| is_code(value)),
        _ => is_pointer && !loads,
    };
    // Other lanes, or all if the condition does not hold, keep what they have.
    let replaces = op.scope == OpScope::Warp && op.condition.is_always();
    for cell in &op.writes {
        match holds {
            true => pointers.insert(cell.index()),
            false if replaces && !cell.is_per_lane() => pointers.remove(cell.index()),
            false => {}
        }
    }
    accesses && is_pointer
}

/// Whether an expression reads a word of an address that the loader knows.
fn is_code(value: &Expr) -> bool {
    matches!(value, Expr::Constant(bank, _) if *bank == Code::ADDRESS_BANK)
}
