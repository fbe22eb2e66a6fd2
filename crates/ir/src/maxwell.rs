//! What Maxwell and Pascal instructions compute (semantics: PTX manual for the operations that SASS
//! shares with it, `pastis-2022` section 4, experiments with the compiler's output).
//!
//! An instruction with a modifier that is not spelled here has no meaning yet.

use warpbound_isa::{Operand, Role, Value, View};

use crate::{BinaryOp, Cell, Expr, Meaning};

/// What the instruction writes to its general register; `None` when that is not known here.
pub(crate) fn meaning(view: &View) -> Option<Meaning> {
    let dest = view
        .operands
        .iter()
        .find(|operand| operand.role == Role::Write && matches!(operand.value, Value::Reg(_)))?;
    let Value::Reg(Some(register)) = dest.value else {
        return None;
    };
    let reads: Vec<&Operand> = view
        .operands
        .iter()
        .filter(|operand| operand.role == Role::Read)
        .collect();
    let word = |index: usize| word(reads.get(index)?);
    let value = match (view.mnemonic, view.modifiers.as_slice()) {
        ("MOV" | "MOV32I", []) => word(0)?,
        ("IADD" | "IADD32I", []) => add(word(0)?, word(1)?),
        // Spelled without a sign, unlike the immediates of all similar instructions; nothing says
        // whether the 20 bits are extended by their first.
        ("IADD3", []) if matches!(word(1)?, Expr::Const(n) if n & 1 << 19 != 0) => return None,
        ("IADD3", []) => add(add(word(0)?, word(1)?), word(2)?),
        ("ISCADD" | "ISCADD32I", []) => {
            add(Expr::binary(BinaryOp::Shl, word(0)?, word(2)?), word(1)?)
        }
        ("SHL", []) => Expr::binary(BinaryOp::Shl, word(0)?, word(1)?),
        ("SHR", [".U32"]) => Expr::binary(BinaryOp::Shr, word(0)?, word(1)?),
        ("LOP" | "LOP32I", [".AND"]) => Expr::binary(BinaryOp::And, word(0)?, word(1)?),
        ("IMNMX", [".U32"]) => match smaller(reads.get(2)?)? {
            true => Expr::binary(BinaryOp::MinU, word(0)?, word(1)?),
            false => Expr::binary(BinaryOp::MaxU, word(0)?, word(1)?),
        },
        ("IMNMX", []) => match smaller(reads.get(2)?)? {
            true => Expr::binary(BinaryOp::MinS, word(0)?, word(1)?),
            false => Expr::binary(BinaryOp::MaxS, word(0)?, word(1)?),
        },
        ("LDC", []) => indexed(reads.first()?)?,
        _ => return None,
    };
    Some(Meaning::Set {
        dest: Cell::gpr(register),
        value,
    })
}

fn add(a: Expr, b: Expr) -> Expr {
    Expr::binary(BinaryOp::Add, a, b)
}

/// A 32-bit source operand.
fn word(operand: &Operand) -> Option<Expr> {
    if operand.absolute || operand.invert || !operand.select.is_empty() || operand.count > 1 {
        return None;
    }
    let plain = match operand.value {
        Value::Reg(None) => Expr::Const(0),
        Value::Reg(Some(n)) => Expr::Cell(Cell::gpr(n)),
        Value::Int(value) => Expr::Const(value as u32),
        Value::Const { bank, offset } => Expr::Constant(bank, Expr::Const(offset as u32).into()),
        _ => return None,
    };
    Some(if operand.negate {
        Expr::Neg(plain.into())
    } else {
        plain
    })
}

/// `c[bank][base+offset]`.
fn indexed(operand: &Operand) -> Option<Expr> {
    let Value::ConstIndexed { bank, base, offset } = operand.value else {
        return None;
    };
    let offset = Expr::Const(offset as u32);
    let address = match base {
        None => offset,
        Some(n) => add(Expr::Cell(Cell::gpr(n)), offset),
    };
    Some(Expr::Constant(bank, address.into()))
}

/// Whether the predicate of a minimum/maximum asks for the smaller; `None` when it is not fixed.
fn smaller(operand: &Operand) -> Option<bool> {
    match operand.value {
        Value::Pred {
            pred: None,
            negated,
        } => Some(!negated),
        _ => None,
    }
}
