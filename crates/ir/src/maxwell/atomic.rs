//! Atomic operations on memory: ATOM, ATOMS, RED.

use smallvec::SmallVec;
use warpbound_isa::instr::MemorySpace;
use warpbound_isa::{Operand, OperandValue, View};

use super::memory::{address, registers};
use super::operands::Operands;
use crate::float::Flush;
use crate::{AtomicKind, AtomicOp, Cell, Expr, Meaning};

pub(super) fn meaning(view: &View, operands: &Operands<'_>) -> Option<Meaning> {
    // ATOM and RED take generic addresses: compilers emit them for pointers of unknown space.
    let space = match view.mnemonic {
        "ATOM" | "RED" => MemorySpace::Generic,
        "ATOMS" => MemorySpace::Shared,
        _ => return None,
    };
    let modifiers = view.modifiers.as_slice();
    let (long, modifiers) = match modifiers {
        [".E", rest @ ..] => (true, rest),
        rest => (false, rest),
    };
    let (op, kind) = operation(modifiers)?;
    let [to, given @ ..] = operands.reads.as_slice() else {
        return None;
    };
    let values = operand_values(given, op, kind)?;
    // A second destination, a predicate, reports missing pages, which are not supported.
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
fn operation(modifiers: &[&str]) -> Option<(AtomicOp, AtomicKind)> {
    let (op, kinds) = modifiers.split_first()?;
    let op = match *op {
        ".ADD" => AtomicOp::Add,
        ".MIN" => AtomicOp::Min,
        ".MAX" => AtomicOp::Max,
        ".INC" => AtomicOp::Increment,
        ".DEC" => AtomicOp::Decrement,
        ".AND" => AtomicOp::And,
        ".OR" => AtomicOp::Or,
        ".XOR" => AtomicOp::Xor,
        ".EXCH" => AtomicOp::Exchange,
        ".CAS" => AtomicOp::CompareSwap,
        _ => return None,
    };
    let kind = match kinds {
        [] => AtomicKind::U32,
        [".S32"] => AtomicKind::S32,
        [".U64"] => AtomicKind::U64,
        [".64"] if op == AtomicOp::CompareSwap => AtomicKind::U64,
        [".S64"] => AtomicKind::S64,
        [".F32.FTZ.RN"] => AtomicKind::F32,
        [".F16x2.RN"] => AtomicKind::F16x2(Flush::Keep),
        [".F16x2.FTZ.RN"] => AtomicKind::F16x2(Flush::Ftz),
        [".F64.RN"] => AtomicKind::F64,
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
            // Both operands of a compare-and-swap in consecutive registers.
            OperandValue::RegPair(Some(first)) => {
                for number in 0..2 * words as u8 {
                    let register = first.checked_add(number).filter(|&n| n < 255)?;
                    values.push(Expr::Cell(Cell::gpr(register)));
                }
            }
            OperandValue::RegPair(None) => values.extend((0..2 * words).map(|_| Expr::Const(0))),
            // One of a compare-and-swap's operands is 0.
            OperandValue::Word("RZ") => values.extend((0..words).map(|_| Expr::Const(0))),
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
    (values.len() == expected).then_some(values)
}
