//! Plain execution of a mini-SIMT warp and of a single lane: the reference for the simulator. Control flow follows the
//! synchronisation frames of `abstract-cta-2014` 4.

use warpbound_ir::{Cell, Code, ControlEffect, ControlTarget, Expr, Meaning, OpIndex};
use warpbound_simt::frame_stack::FrameStack;
use warpbound_simt::warp::DivergenceOrder;
use warpbound_simt::{ControlTransfer, ExecutionModel, Mask, lanes_of, lowest_lanes};

/// Initial state of a warp.
#[derive(Clone, Copy, Debug)]
pub struct WarpStart<'a> {
    /// Index of its first thread.
    pub first: u32,
    /// Number of threads, at most 64.
    pub lanes: u32,
    /// Initial values of cells that do not start with 0.
    pub cells: &'a [(Cell, u32)],
    /// The memory. Stores are ignored: no program reads a word that it writes.
    pub memory: &'a [u32],
    /// Side of a divergent branch that runs first.
    pub order: DivergenceOrder,
}

/// State of a warp before an instruction.
pub struct WarpSnapshot<'a> {
    /// The instruction.
    pub at: u32,
    /// The active lanes.
    pub active: Mask,
    /// The frames.
    pub frames: &'a FrameStack<u32>,
    /// All cells, by lane.
    pub cells: &'a [Vec<u32>],
}

/// Runs a warp to its end, ignoring barriers, and calls `observe` before each instruction, the final `end` included.
/// Returns false if it takes more than `limit` instructions or an instruction faults.
pub fn run_warp(
    code: &Code,
    start: &WarpStart<'_>,
    limit: usize,
    mut observe: impl FnMut(&WarpSnapshot<'_>),
) -> bool {
    let lanes = start.lanes as usize;
    let all = lowest_lanes(start.lanes);
    let mut frames = FrameStack::new(code.entry.0, all, start.order);
    let mut cells = vec![vec![0u32; Cell::COUNT]; lanes];
    for row in &mut cells {
        for (cell, value) in start.cells {
            row[cell.index()] = *value;
        }
    }
    for _ in 0..limit {
        let Some((at, active)) = frames.running() else {
            return true;
        };
        observe(&WarpSnapshot {
            at,
            active,
            frames: &frames,
            cells: &cells,
        });
        let Some(op) = code.get(OpIndex(at)) else {
            return false;
        };
        for lane in lanes_of(active) {
            let thread = start.first + lane as u32;
            if apply_data_effect(code, at, thread, &mut cells[lane], start.memory).is_none() {
                return false;
            }
        }
        let mut taken = active;
        let transfer = match &op.control {
            ControlEffect::Next => ControlTransfer::Next,
            ControlEffect::Jump(ControlTarget::Op(to)) => ControlTransfer::Jump(to.0),
            ControlEffect::Branch {
                to: ControlTarget::Op(to),
                reconvergence: meet,
            } => {
                taken = lanes_of(active)
                    .filter(|&lane| takes_branch(code, at, &cells[lane]))
                    .fold(0, |mask: Mask, lane| mask | 1 << lane);
                ControlTransfer::Branch {
                    target: to.0,
                    reconvergence: meet.map(|m| m.0),
                }
            }
            ControlEffect::Reconverge => ControlTransfer::Reconverge,
            ControlEffect::End => ControlTransfer::Exit,
            _ => return false,
        };
        if frames.apply(&transfer, taken, at + 1).is_err() {
            return false;
        }
    }
    false
}

/// Returns the instructions that a thread executes alone; `None` if they are more than `limit` or one faults.
pub fn run_lane(
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
        apply_data_effect(code, at, thread, &mut cells, memory)?;
        at = match &code.get(OpIndex(at))?.control {
            ControlEffect::Jump(ControlTarget::Op(to)) => to.0,
            ControlEffect::Branch {
                to: ControlTarget::Op(to),
                ..
            } if takes_branch(code, at, &cells) => to.0,
            ControlEffect::End => return Some(trace),
            _ => at + 1,
        };
    }
    None
}

/// Whether the lane with these cells takes the branch at `at`.
fn takes_branch(code: &Code, at: u32, cells: &[u32]) -> bool {
    let condition = code.get(OpIndex(at)).map(|op| op.condition);
    condition.is_some_and(|condition| {
        let holds = condition
            .guard
            .is_none_or(|guard| cells[guard.index()] != 0);
        holds != condition.negated
    })
}

/// Applies the data effect of an instruction in one lane; `None` for a division by zero or an address out of range.
fn apply_data_effect(
    code: &Code,
    at: u32,
    thread: u32,
    cells: &mut [u32],
    memory: &[u32],
) -> Option<()> {
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
        // No mini-SIMT instruction uses these.
        Expr::Constant(..)
        | Expr::Special(_)
        | Expr::Unary(..)
        | Expr::Ternary(..)
        | Expr::Float(..)
        | Expr::Ballot(..)
        | Expr::FromLane(..) => None,
    }
}
