//! Atomic operations on memory: ATOM, ATOMS, RED. For example, `ATOM.E.ADD R0, [R2], R4` adds R4 to the word at the
//! address in R3:R2 and returns the old value in R0; RED has no destination.

use smallvec::SmallVec;
use warpbound_isa::instr::MemorySpace;
use warpbound_isa::nvidia::{Modifier, Modifier as M, OperandWord};
use warpbound_isa::{Operand, OperandValue};

use super::memory::{address, registers};
use crate::float::Flush;
use crate::nvidia::operands::{Operands, register_after};
use crate::{AtomicKind, AtomicOp, Cell, Expr, Meaning};

pub(crate) fn atomic(
    modifiers: &[Modifier],
    operands: &Operands<'_>,
    space: MemorySpace,
) -> Option<Meaning> {
    let (long, modifiers) = match modifiers {
        [M::E, rest @ ..] => (true, rest),
        rest => (false, rest),
    };
    let (op, kind) = operation(modifiers)?;
    let [to, given @ ..] = operands.reads.as_slice() else {
        return None;
    };
    let values = operand_values(given, op, kind)?;
    // A second destination, a predicate, would report missing pages, which are not supported.
    let dests = match operands.writes.as_slice() {
        [] => SmallVec::new(),
        [dest] => registers(dest)?
            .map(|register| register.map(Cell::gpr))
            .collect(),
        _ => return None,
    };
    Some(Meaning::Atomic {
        dests,
        op,
        kind,
        space,
        address: address(to, long)?,
        operands: values,
    })
}

/// Operation and number type; `None` if the operation does not exist for the type.
pub(crate) fn operation(modifiers: &[Modifier]) -> Option<(AtomicOp, AtomicKind)> {
    let (op, kinds) = modifiers.split_first()?;
    let op = match *op {
        M::Add => AtomicOp::Add,
        M::Min => AtomicOp::Min,
        M::Max => AtomicOp::Max,
        M::Inc => AtomicOp::Increment,
        M::Dec => AtomicOp::Decrement,
        M::And => AtomicOp::And,
        M::Or => AtomicOp::Or,
        M::Xor => AtomicOp::Xor,
        M::Exch => AtomicOp::Exchange,
        M::Cas => AtomicOp::CompareSwap,
        _ => return None,
    };
    let kind = match kinds {
        [] => AtomicKind::U32,
        [M::S32] => AtomicKind::S32,
        [M::U64] => AtomicKind::U64,
        // Up to Pascal only a compare-and-swap is spelled so; from Volta on each operation on 64 bits without a sign.
        [M::B64] => AtomicKind::U64,
        [M::S64] => AtomicKind::S64,
        [M::F32, M::Ftz, M::Rn] => AtomicKind::F32,
        [M::F16x2, M::Rn] => AtomicKind::F16x2(Flush::Keep),
        [M::F16x2, M::Ftz, M::Rn] => AtomicKind::F16x2(Flush::Ftz),
        [M::F64, M::Rn] => AtomicKind::F64,
        _ => return None,
    };
    // `apply` returns `None` if the operation does not exist for the type.
    op.apply(kind, 0, 0, 0)?;
    Some((op, kind))
}

/// Words of the operands after the address; `None` if their number does not fit the operation.
fn operand_values(
    given: &[&Operand],
    op: AtomicOp,
    kind: AtomicKind,
) -> Option<SmallVec<[Expr; 4]>> {
    let words = kind.size() / 4;
    let mut values: SmallVec<[Expr; 4]> = SmallVec::new();
    for operand in given {
        match operand.value {
            // Both operands of a compare-and-swap are in consecutive registers.
            OperandValue::RegPair(Some(first)) => {
                for number in 0..2 * words as u8 {
                    values.push(Expr::Cell(register_after(first, number)?));
                }
            }
            OperandValue::RegPair(None) => values.extend((0..2 * words).map(|_| Expr::Const(0))),
            // One operand of the compare-and-swap is the fixed word RZ.
            OperandValue::Word {
                word: OperandWord::Zero,
                ..
            } => values.extend((0..words).map(|_| Expr::Const(0))),
            OperandValue::Reg(_) => {
                let value = |register: Option<u8>| match register {
                    Some(n) => Expr::Cell(Cell::gpr(n)),
                    None => Expr::Const(0),
                };
                let from: Vec<Option<u8>> = registers(operand)?.collect();
                values.extend((0..words).map(|n| value(from.get(n).copied().flatten())));
            }
            _ => return None,
        }
    }
    let expected = match op {
        AtomicOp::CompareSwap => 2 * words,
        _ => words,
    };
    // Other numbers of words belong to forms that are not understood, and have no meaning.
    (values.len() == expected).then_some(values)
}
