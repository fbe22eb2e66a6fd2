//! Operations in the form in which a warp executes them fast: operands are rows of lanes.

use std::fmt;

use warpbound_ir::{
    Address, BarrierArrival, BinaryOp, Cell, Code, ControlEffect, Expr, Meaning, Op, OpIndex, ControlTarget, Width,
};

/// A row of values, one for each lane: a cell of the warp, or something that all warps share.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum MiniOperand {
    Cell(u16),
    ThreadId,
    Const(u32),
}

/// What an operation does to data.
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

/// What it does to lanes.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Flow {
    Next,
    Jump(u32),
    Branch {
        cell: u16,
        if_zero: bool,
        to: u32,
        meet: Option<u32>,
    },
    Meet,
    End,
}

#[derive(Clone, Debug)]
pub(crate) struct Compiled {
    pub(crate) effect: Effect,
    pub(crate) flow: Flow,
}

/// An operation that cannot be run yet.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct UnsupportedOp {
    /// The operation.
    pub at: OpIndex,
}

impl fmt::Display for UnsupportedOp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("what this instruction means is not known yet, so it cannot be run")
    }
}

/// All operations of `code`.
pub(crate) fn compile(code: &Code) -> Result<Vec<Compiled>, UnsupportedOp> {
    (0u32..)
        .map(OpIndex)
        .zip(&code.ops)
        .map(|(at, op)| one(op).ok_or(UnsupportedOp { at }))
        .collect()
}

fn one(op: &Op) -> Option<Compiled> {
    let effect = match &op.meaning {
        None if op.writes.is_empty() && !op.barrier => Effect::Nothing,
        None => return None,
        Some(Meaning::Set(writes)) => {
            let [(dest, value)] = writes.as_slice() else {
                return None;
            };
            let dest = cell(*dest);
            match value {
                Expr::Binary(binary, a, b) => Effect::Binary {
                    dest,
                    op: *binary,
                    a: row(a)?,
                    b: row(b)?,
                },
                value => Effect::Copy {
                    dest,
                    from: row(value)?,
                },
            }
        }
        Some(Meaning::Load {
            dests,
            width: Width::Words,
            address: Address { low, high: None },
            ..
        }) => match dests.as_slice() {
            [Some(dest)] => Effect::Load {
                dest: cell(*dest),
                address: row(low)?,
            },
            _ => return None,
        },
        Some(Meaning::Store {
            values,
            width: Width::Words,
            address: Address { low, high: None },
            ..
        }) => match values.as_slice() {
            [value] => Effect::Store {
                address: row(low)?,
                value: row(value)?,
            },
            _ => return None,
        },
        Some(Meaning::Barrier {
            number,
            threads,
            arrival: BarrierArrival::Wait,
        }) => Effect::Barrier {
            number: row(number)?,
            threads: row(threads)?,
        },
        Some(_) => return None,
    };
    let condition = op.condition;
    let flow = match &op.control {
        ControlEffect::Next if condition.is_always() => Flow::Next,
        ControlEffect::Jump(ControlTarget::Op(to)) if condition.is_always() => Flow::Jump(to.0),
        ControlEffect::Branch {
            to: ControlTarget::Op(to),
            meet,
        } if !condition.tests_cc() => Flow::Branch {
            cell: cell(condition.guard?),
            if_zero: condition.negated,
            to: to.0,
            meet: meet.map(|at| at.0),
        },
        ControlEffect::Meet if condition.is_always() => Flow::Meet,
        ControlEffect::End => Flow::End,
        _ => return None,
    };
    Some(Compiled { effect, flow })
}

fn cell(cell: Cell) -> u16 {
    cell.index() as u16
}

/// The row of an operand; `None` for an expression that is more than one.
fn row(expr: &Expr) -> Option<MiniOperand> {
    Some(match expr {
        Expr::Const(n) => MiniOperand::Const(*n),
        Expr::Cell(c) => MiniOperand::Cell(cell(*c)),
        Expr::ThreadId => MiniOperand::ThreadId,
        _ => return None,
    })
}
