//! Numbers of warps: shifts of the thread index that leave the same number in all lanes (SOUNDNESS 4.3).

use std::collections::{BTreeMap, BTreeSet};

use warpbound_ir::{BinaryOp, Cell, Code, Expr, Meaning, Op, OpIndex, ValueDependence};
use warpbound_isa::{Axis, SpecialReg};
use warpbound_simt::NodeId;

use crate::agreement::LaunchContext;
use crate::dependence::Dependence;
use crate::gsa::{Definition, Gsa};
use crate::thread_cfg::ThreadCfg;

impl LaunchContext {
    /// Bits that a shift right of the thread index in x has to leave out for the rest to be the same in all lanes of
    /// a warp; `None` if none are known to suffice. Warps are made of consecutive threads, x first. So where rows
    /// fill whole warps, or the block is a row, a warp has the indices from a multiple of its width on. For example,
    /// a shift by 5 bits gives one number in each warp of 32 lanes, in a block of 64×2 threads.
    pub(crate) fn bits_within_warp(&self) -> Option<u32> {
        let width = self.warp_width;
        let [x, y, z] = self.block?;
        let is_aligned = x.is_multiple_of(width) || u64::from(y) * u64::from(z) == 1;
        (is_aligned && width.is_power_of_two()).then(|| width.trailing_zeros())
    }
}

impl ThreadCfg {
    /// Lets the lanes of a warp agree on shifts of the thread index that are the number of their warp, in launches
    /// with the stated block. The graph was built from `code`.
    pub fn agree_on_warp_numbers(&mut self, code: &Code, launch: &LaunchContext) {
        if let Some(code) = with_warp_numbers(self.lane_code(code), self, launch) {
            self.lane_code = Some(code);
        }
    }
}

/// Returns `code` with values that the lanes of a warp agree on for the operations that compute its number; `None` if
/// there are none.
fn with_warp_numbers(code: &Code, thread: &ThreadCfg, launch: &LaunchContext) -> Option<Code> {
    let bits = launch.bits_within_warp()?;
    let shifted: BTreeMap<OpIndex, Cell> = (0..)
        .map(OpIndex)
        .zip(&code.ops)
        .filter_map(|(at, op)| Some((at, shifted_cell(op, bits)?)))
        .collect();
    if shifted.is_empty() || !code.ops.iter().any(reads_thread_index) {
        return None;
    }
    let dependence = Dependence::compute(thread);
    let mut gsa = Gsa::new(code, thread, &dependence);
    let mut numbers: BTreeSet<OpIndex> = shifted.keys().copied().collect();
    // The operation is changed for all nodes that have it, so each of them has to shift the index.
    for node in thread.space.ids().filter(|&node| thread.is_reached(node)) {
        for at in thread.space.block(node).ops() {
            if let Some(&cell) = shifted.get(&at)
                && !is_thread_index(code, &mut gsa, node, at, cell)
            {
                numbers.remove(&at);
            }
        }
    }
    if numbers.is_empty() {
        return None;
    }
    let mut code = code.clone();
    for at in numbers {
        if let Some(op) = code.ops.get_mut(at.index()) {
            op.value = ValueDependence::Uniform;
        }
    }
    Some(code)
}

/// The only value that an operation assigns.
fn assigned(op: &Op) -> Option<(Cell, &Expr)> {
    match op.meaning.as_ref()? {
        Meaning::Set(values) => match values.as_slice() {
            [(cell, value)] if op.writes.as_slice() == [*cell] => Some((*cell, value)),
            _ => None,
        },
        _ => None,
    }
}

/// Cell that an operation shifts right by a constant of at least `least` bits, and does nothing else.
fn shifted_cell(op: &Op, least: u32) -> Option<Cell> {
    let (_, value) = assigned(op)?;
    let Expr::Binary(BinaryOp::Shr | BinaryOp::Sar, of, by) = value else {
        return None;
    };
    match (of.as_ref(), by.as_ref()) {
        (Expr::Cell(cell), Expr::Const(bits)) if *bits >= least && *bits < 32 => Some(*cell),
        _ => None,
    }
}

/// Whether an operation reads the thread index in x, and does nothing else: a sum with it depends on that register,
/// too.
fn reads_thread_index(op: &Op) -> bool {
    const INDEX: SpecialReg = SpecialReg::ThreadIndex(Axis::X);
    let is_index_alone = match (&op.meaning, assigned(op)) {
        (None, _) => op.reads.is_empty(),
        (Some(_), Some((_, value))) => *value == Expr::Special(INDEX),
        (Some(_), None) => false,
    };
    is_index_alone && op.value == ValueDependence::Special(INDEX)
}

/// Whether a cell has the thread index in x before an operation, in each lane that executes it.
fn is_thread_index(code: &Code, gsa: &mut Gsa<'_>, node: NodeId, at: OpIndex, cell: Cell) -> bool {
    let value = gsa.value_before(node, at, cell);
    match gsa.definition(value) {
        Definition::Op(_, at) => code.get(at).is_some_and(reads_thread_index),
        _ => false,
    }
}
