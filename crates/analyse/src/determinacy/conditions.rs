//! Conditions of branches as expressions: in terms of constants, special registers and parameters, as far as values
//! have one definition each.

use warpbound_ir::{Cell, Code, Expr, Meaning, OpIndex};
use warpbound_simt::NodeId;

use crate::gsa::{Definition, Gsa, ValueId};

/// Maximum number of definitions that are followed from a condition.
const MOST_DEFINITIONS: usize = 24;

/// Symbolic condition of a control operation.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct SymbolicCondition {
    /// Value of the guard. Its cells are the ones whose value depends on several definitions or on memory.
    pub guard: Expr,
    /// Whether the condition holds where the guard is 0.
    pub negated: bool,
}

/// Returns the condition of an operation in a node; `None` without a guard, or if it tests the condition code.
pub(super) fn find(
    code: &Code,
    gsa: &mut Gsa<'_>,
    node: NodeId,
    at: OpIndex,
) -> Option<SymbolicCondition> {
    let condition = code.get(at)?.condition;
    if condition.has_further_test() {
        return None;
    }
    let guard = condition.guard?;
    let value = gsa.value_before(node, at, guard);
    let mut left = MOST_DEFINITIONS;
    Some(SymbolicCondition {
        guard: expand(code, gsa, guard, value, &mut left),
        negated: condition.negated,
    })
}

/// The value of a cell as an expression.
fn expand(code: &Code, gsa: &mut Gsa<'_>, cell: Cell, value: ValueId, left: &mut usize) -> Expr {
    let Definition::Op(node, at) = gsa.definition(value) else {
        return Expr::Cell(cell);
    };
    // The limit bounds the size of the expression; a cell that is not expanded stays in it.
    let Some(op) = code.get(at).filter(|_| *left > 0) else {
        return Expr::Cell(cell);
    };
    *left -= 1;
    if let warpbound_ir::ValueDependence::Special(register) = op.value {
        return Expr::Special(register);
    }
    let Some(Meaning::Set(sets)) = &op.meaning else {
        return Expr::Cell(cell);
    };
    // Of several results for one cell the last one stays.
    match sets.iter().rev().find(|(dest, _)| *dest == cell) {
        Some((_, value)) => substitute(code, gsa, node, at, value, left),
        None => Expr::Cell(cell),
    }
}

/// An expression that an operation evaluates, with its cells replaced by their values before it.
fn substitute(
    code: &Code,
    gsa: &mut Gsa<'_>,
    node: NodeId,
    at: OpIndex,
    expr: &Expr,
    left: &mut usize,
) -> Expr {
    let mut part = |expr: &Expr| substitute(code, gsa, node, at, expr, left);
    match expr {
        Expr::Unary(op, a) => Expr::unary(*op, part(a)),
        Expr::Binary(op, a, b) => {
            let (a, b) = (part(a), part(b));
            Expr::binary(*op, a, b)
        }
        Expr::Ternary(op, a, b, c) => {
            let (a, b, c) = (part(a), part(b), part(c));
            Expr::ternary(*op, a, b, c)
        }
        Expr::Float(op, words, half) => {
            let words = words.iter().map(part).collect();
            Expr::Float(*op, words, *half)
        }
        Expr::Constant(bank, address) => Expr::Constant(*bank, part(address).into()),
        Expr::Cell(cell) => {
            let value = gsa.value_before(node, at, *cell);
            expand(code, gsa, *cell, value, left)
        }
        Expr::Const(_)
        | Expr::ThreadId
        | Expr::Special(_)
        | Expr::Ballot(..)
        | Expr::FromLane(..) => expr.clone(),
    }
}
