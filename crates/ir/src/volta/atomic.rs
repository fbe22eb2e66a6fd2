//! Atomic operations: ATOM, ATOMG, ATOMS, RED, REDG. For example, `ATOMG.E.ADD.STRONG.GPU PT, R0, desc[UR4][R2.64], R5` adds
//! R5 to a word of global memory.

use smallvec::SmallVec;
use warpbound_isa::instr::MemorySpace;
use warpbound_isa::nvidia::{Modifier, Modifier as M};

use super::memory::{access_address, is_order};
use crate::maxwell::atomic::operation;
use crate::maxwell::memory::registers;
use crate::nvidia::operands::Operands;
use crate::{AtomicKind, AtomicOp, Cell, Expr, Meaning};

pub(super) fn atomic(
    modifiers: &[Modifier],
    operands: &Operands<'_>,
    space: MemorySpace,
) -> Option<Meaning> {
    let (long, rest) = match modifiers {
        [M::E, rest @ ..] => (true, rest),
        rest => (false, rest),
    };
    // The order of atomic operations does not change what one of them does.
    let kinds = rest.iter().position(|modifier| is_order(*modifier));
    let (named, order) = rest.split_at(kinds.unwrap_or(rest.len()));
    if !order.iter().all(|modifier| is_order(*modifier)) {
        return None;
    }
    // ATOMS.CAST.SPIN stores if the memory has the expected value, and returns whether it did so, from Ampere on in a predicate.
    let tests = matches!(named, [M::Cast, M::Spin, ..]);
    let truth = operands.predicates().first().copied().flatten();
    // Of other operations, the predicate is false if the memory is not there.
    if !tests && truth.is_some() {
        return None;
    }
    let [to, given @ ..] = operands.reads.as_slice() else {
        return None;
    };
    let dests: SmallVec<[Option<Cell>; 2]> = operands
        .writes
        .iter()
        .filter_map(|operand| registers(operand))
        .flatten()
        .map(|register| register.map(Cell::gpr))
        .collect();
    let dests = match truth {
        Some(cell) => SmallVec::from_elem(Some(cell), 1),
        None => dests,
    };
    let (op, kind, values) = match named {
        // Each lane adds 1; the hardware counts lanes with one address.
        [M::Popc, M::Inc, M::B32] if dests.iter().all(Option::is_none) => {
            (AtomicOp::Add, AtomicKind::U32, vec![Expr::Const(1)])
        }
        _ => {
            let (op, kind) = match named {
                [M::Cast, M::Spin] => (AtomicOp::TestedSwap, AtomicKind::U32),
                [M::Cast, M::Spin, M::B64] => (AtomicOp::TestedSwap, AtomicKind::U64),
                _ => operation(named)?,
            };
            let mut values = Vec::new();
            for operand in given {
                let value = |register: Option<u8>| match register {
                    Some(n) => Expr::Cell(Cell::gpr(n)),
                    None => Expr::Const(0),
                };
                let mut words = registers(operand)?.map(value);
                for _ in 0..kind.size() / 4 {
                    // RZ is 0 in each word.
                    values.push(words.next().unwrap_or(Expr::Const(0)));
                }
            }
            let expected = match op {
                AtomicOp::CompareSwap | AtomicOp::TestedSwap => 2 * kind.size() / 4,
                _ => kind.size() / 4,
            };
            if values.len() != expected {
                return None;
            }
            (op, kind, values)
        }
    };
    Some(Meaning::Atomic {
        dests,
        op,
        kind,
        space,
        address: access_address(to, long)?,
        operands: values.into(),
    })
}
