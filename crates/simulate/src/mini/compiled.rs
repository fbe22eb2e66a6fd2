//! Operations compiled to the form that a warp executes: operands are values of all lanes.

use crate::UnsupportedOp;
use warpbound_ir::{
    Address, BarrierArrival, BinaryOp, Cell, Code, ControlEffect, ControlTarget, Expr, Meaning, Op,
    OpIndex, OpScope, ValueDomain, Width, eval,
};
use warpbound_simt::ControlTransfer;

/// An operand, with one value per lane.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum MiniOperand {
    /// A cell of the warp, by its index.
    Cell(u16),
    /// The thread's number in the block.
    ThreadId,
    Const(u32),
}

/// Effect of an operation on cells, memory and barriers.
#[derive(Clone, Debug)]
pub(crate) enum Effect {
    Nothing,
    Copy {
        dest: u16,
        from: MiniOperand,
    },
    Binary {
        dest: u16,
        op: BinaryOp,
        a: MiniOperand,
        b: MiniOperand,
    },
    Load {
        dest: u16,
        address: MiniOperand,
    },
    Store {
        address: MiniOperand,
        value: MiniOperand,
    },
    Barrier {
        number: MiniOperand,
        threads: MiniOperand,
    },
}

/// Effect of an operation on the synchronisation frames (`abstract-cta-2014` 4).
#[derive(Clone, Copy, Debug)]
pub(crate) struct Flow {
    pub(crate) transfer: ControlTransfer<'static, u32>,
    /// Condition: the cell, and whether the lanes that take the branch have 0 in the cell, or another value; `None`
    /// if all take it.
    pub(crate) condition: Option<(u16, bool)>,
}

/// A compiled operation.
#[derive(Clone, Debug)]
pub(crate) struct MiniOp {
    pub(crate) effect: Effect,
    pub(crate) flow: Flow,
}

/// Compiles all operations of `code`.
pub(crate) fn compile(code: &Code) -> Result<Vec<MiniOp>, UnsupportedOp> {
    (0u32..)
        .map(OpIndex)
        .zip(&code.ops)
        .map(|(at, op)| compile_op(op).ok_or(UnsupportedOp { at }))
        .collect()
}

/// Compiles an operation; `None` if it is not supported.
fn compile_op(op: &Op) -> Option<MiniOp> {
    // Each lane has all registers for itself: mini-SIMT has no registers of the warp.
    let cells = op.reads.iter().chain(&op.writes).copied();
    let of_warp = cells
        .chain(op.condition.cells())
        .any(|cell| !cell.is_per_lane());
    if op.scope == OpScope::Warp || of_warp {
        return None;
    }
    let effect = match &op.meaning {
        // An operation without a meaning does nothing, unless it writes a cell or waits.
        None if op.writes.is_empty() && !op.barrier => Effect::Nothing,
        None => return None,
        Some(Meaning::Set(writes)) => {
            // Operations of mini-SIMT write one cell.
            let [(dest, value)] = writes.as_slice() else {
                return None;
            };
            let dest = cell_index(*dest);
            match value {
                Expr::Binary(binary, a, b) => Effect::Binary {
                    dest,
                    op: *binary,
                    a: operand(a)?,
                    b: operand(b)?,
                },
                value => Effect::Copy {
                    dest,
                    from: operand(value)?,
                },
            }
        }
        Some(Meaning::Load {
            dests,
            width: Width::Words,
            address:
                Address {
                    low,
                    high: None,
                    buffer: None,
                    second_half: None,
                },
            ..
        }) => match dests.as_slice() {
            [Some(dest)] => Effect::Load {
                dest: cell_index(*dest),
                address: operand(low)?,
            },
            _ => return None,
        },
        Some(Meaning::Store {
            values,
            width: Width::Words,
            address:
                Address {
                    low,
                    high: None,
                    buffer: None,
                    second_half: None,
                },
            ..
        }) => match values.as_slice() {
            [value] => Effect::Store {
                address: operand(low)?,
                value: operand(value)?,
            },
            _ => return None,
        },
        Some(Meaning::Barrier {
            number,
            threads,
            arrival: BarrierArrival::Wait,
        }) => Effect::Barrier {
            number: operand(number)?,
            threads: operand(threads)?,
        },
        Some(_) => return None,
    };
    Some(MiniOp {
        effect,
        flow: compile_flow(op)?,
    })
}

/// Compiles a control effect; `None` if it is not supported.
fn compile_flow(op: &Op) -> Option<Flow> {
    let condition = op.condition;
    let mut tested = None;
    let transfer = match &op.control {
        ControlEffect::Next if condition.is_always() => ControlTransfer::Next,
        ControlEffect::Jump(ControlTarget::Op(to)) if condition.is_always() => {
            ControlTransfer::Jump(to.0)
        }
        ControlEffect::Branch {
            to: ControlTarget::Op(to),
            reconvergence: meet,
        } if !condition.has_further_test() => {
            tested = Some((cell_index(condition.guard?), condition.negated));
            ControlTransfer::Branch {
                target: to.0,
                reconvergence: meet.map(|at| at.0),
            }
        }
        ControlEffect::Reconverge if condition.is_always() => ControlTransfer::Reconverge,
        ControlEffect::End => ControlTransfer::Exit,
        ControlEffect::Next
        | ControlEffect::Jump(_)
        | ControlEffect::Branch { .. }
        | ControlEffect::Reconverge
        | ControlEffect::SetActive(_)
        | ControlEffect::Indirect { .. }
        | ControlEffect::Call(_)
        | ControlEffect::Push(..)
        | ControlEffect::Pop(_)
        | ControlEffect::LinkedCall(_)
        | ControlEffect::LinkedIndirect { .. }
        | ControlEffect::Return { .. }
        | ControlEffect::OpenBarrier(..)
        | ControlEffect::JoinBarrier(_)
        | ControlEffect::BreakBarrier(_)
        | ControlEffect::SaveBarrier(..)
        | ControlEffect::WriteBarrier { .. }
        | ControlEffect::Release
        | ControlEffect::Collective(_)
        | ControlEffect::FreeJump(_)
        | ControlEffect::Exit
        | ControlEffect::Unsupported(_) => return None,
    };
    Some(Flow {
        transfer,
        condition: tested,
    })
}

fn cell_index(cell: Cell) -> u16 {
    // There are far fewer than 2^16 cells.
    cell.index() as u16
}

/// Compiles an operand; `None` for a compound expression.
fn operand(expr: &Expr) -> Option<MiniOperand> {
    eval(expr, &mut Operands)
}

/// Domain of operands: constants, cells and the thread number. The result of an operation is no operand.
struct Operands;

impl ValueDomain for Operands {
    type Value = MiniOperand;

    fn constant(&mut self, value: u32) -> Option<MiniOperand> {
        Some(MiniOperand::Const(value))
    }

    fn cell(&mut self, cell: Cell) -> Option<MiniOperand> {
        Some(MiniOperand::Cell(cell_index(cell)))
    }

    fn thread_id(&mut self) -> Option<MiniOperand> {
        Some(MiniOperand::ThreadId)
    }
}
