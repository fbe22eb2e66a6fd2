//! A warp and a lane of mini-SIMT, executed as plainly as can be: the counterpart of the fast machine.

use warpbound_ir::{Cell, Code, ControlEffect, Expr, Meaning, OpIndex, ControlTarget};
use warpbound_simt::concrete::Mask;
use warpbound_simt::frames::FrameStack;
use warpbound_simt::warp::DivergenceOrder;

/// How a warp begins.
#[derive(Clone, Copy, Debug)]
pub struct WarpStart<'a> {
    /// The number of its first thread.
    pub first: u32,
    /// Threads, at most 64.
    pub lanes: u32,
    /// Cells that do not begin with 0.
    pub cells: &'a [(Cell, u32)],
    /// The memory; nothing that is read is written.
    pub memory: &'a [u32],
    /// Which side of a divergent branch runs first.
    pub order: DivergenceOrder,
}

/// A warp before it executes an instruction.
pub struct Moment<'a> {
    /// Next instruction, active lanes and frames.
    pub frames: &'a FrameStack<u32>,
    /// For each lane, all cells.
    pub cells: &'a [Vec<u32>],
}

/// Runs a warp to its end, barriers aside, showing it before each instruction, the end included; false when it took
/// more than `limit` instructions or cannot go on.
pub fn warp(
    code: &Code,
    start: &WarpStart<'_>,
    limit: usize,
    mut observe: impl FnMut(&Moment<'_>),
) -> bool {
    let lanes = start.lanes as usize;
    let all = (0..lanes).fold(0, |mask: Mask, lane| mask | 1 << lane);
    let mut frames = FrameStack::new(code.entry.0, all);
    let mut cells = vec![vec![0u32; Cell::COUNT]; lanes];
    for row in &mut cells {
        for (cell, value) in start.cells {
            row[cell.index()] = *value;
        }
    }
    for _ in 0..limit {
        if frames.active() == 0 {
            return true;
        }
        observe(&Moment {
            frames: &frames,
            cells: &cells,
        });
        let at = frames.next();
        let Some(op) = code.get(OpIndex(at)) else {
            return false;
        };
        let active: Vec<usize> = (0..lanes)
            .filter(|l| frames.active() >> l & 1 == 1)
            .collect();
        for &lane in &active {
            let thread = start.first + lane as u32;
            if data(code, at, thread, &mut cells[lane], start.memory).is_none() {
                return false;
            }
        }
        match &op.control {
            ControlEffect::Next => frames.advance(at + 1),
            ControlEffect::Jump(ControlTarget::Op(to)) => frames.advance(to.0),
            ControlEffect::Branch {
                to: ControlTarget::Op(to),
                meet,
            } => {
                let taken = active
                    .iter()
                    .filter(|&&lane| takes(code, at, &cells[lane]))
                    .fold(0, |mask: Mask, &lane| mask | 1 << lane);
                frames.branch(taken, to.0, at + 1, meet.map(|m| m.0), start.order);
            }
            ControlEffect::Meet => frames.meet(at, at + 1),
            ControlEffect::End => frames.end(),
            _ => return false,
        }
    }
    false
}

/// The instructions that a thread executes when nobody else is there; `None` when they are more than `limit`.
pub fn lane(
    code: &Code,
    thread: u32,
    given: &[(Cell, u32)],
    memory: &[u32],
    limit: usize,
) -> Option<Vec<u32>> {
    let mut cells = vec![0u32; Cell::COUNT];
    for (cell, value) in given {
        cells[cell.index()] = *value;
    }
    let mut trace = Vec::new();
    let mut at = code.entry.0;
    while trace.len() < limit {
        trace.push(at);
        data(code, at, thread, &mut cells, memory)?;
        at = match &code.get(OpIndex(at))?.control {
            ControlEffect::Jump(ControlTarget::Op(to)) => to.0,
            ControlEffect::Branch {
                to: ControlTarget::Op(to), ..
            } if takes(code, at, &cells) => to.0,
            ControlEffect::End => return Some(trace),
            _ => at + 1,
        };
    }
    None
}

fn takes(code: &Code, at: u32, cells: &[u32]) -> bool {
    let condition = code.get(OpIndex(at)).map(|op| op.condition);
    condition.is_some_and(|condition| {
        let holds = condition
            .guard
            .is_none_or(|guard| cells[guard.index()] != 0);
        holds != condition.negated
    })
}

/// The data effect in one lane; `None` for a division by zero or an address outside.
fn data(code: &Code, at: u32, thread: u32, cells: &mut [u32], memory: &[u32]) -> Option<()> {
    match &code.get(OpIndex(at))?.meaning {
        Some(Meaning::Set(writes)) => {
            for (dest, value) in writes {
                cells[dest.index()] = evaluate(value, thread, cells)?;
            }
        }
        Some(Meaning::Load { dests, address, .. }) => {
            let address = evaluate(&address.low, thread, cells)?;
            for dest in dests.iter().flatten() {
                cells[dest.index()] = *memory.get(address as usize)?;
            }
        }
        Some(Meaning::Store { address, .. }) => {
            memory.get(evaluate(&address.low, thread, cells)? as usize)?;
        }
        Some(_) | None => {}
    }
    Some(())
}

fn evaluate(expr: &Expr, thread: u32, cells: &[u32]) -> Option<u32> {
    match expr {
        Expr::Const(n) => Some(*n),
        Expr::Cell(cell) => Some(cells[cell.index()]),
        Expr::ThreadId => Some(thread),
        Expr::Binary(op, a, b) => {
            op.apply(evaluate(a, thread, cells)?, evaluate(b, thread, cells)?)
        }
        // Nothing of mini-SIMT is made of these.
        Expr::Constant(..)
        | Expr::Special(_)
        | Expr::Unary(..)
        | Expr::Ternary(..)
        | Expr::Float(..) => None,
    }
}
