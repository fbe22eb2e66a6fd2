//! Loads, stores, barriers, and instructions without an effect on data. For example, `LDG.E.64 R2, [R4+0x10]` loads
//! two words from the 64-bit address R5:R4 + 16 into R2 and R3.

use smallvec::SmallVec;
use warpbound_isa::instr::MemorySpace;
use warpbound_isa::nvidia::{Modifier, Modifier as M};
use warpbound_isa::{Operand, OperandValue};

use crate::nvidia::operands::{Operands, add, and, register_after, shl, shr};
use crate::{
    Address, BarrierArrival, BarrierReduction, Cell, Expr, Meaning, TernaryOp, UnaryOp, Width,
    WordHalf,
};

/// Meaning of a cache control (CCTL and its variants).
pub(crate) fn cache_control(modifiers: &[Modifier]) -> Option<Meaning> {
    // Meanings describe values, which caches do not change; the timing model has them. A query writes a register, and
    // is not modelled.
    let is_query = modifiers.contains(&M::Qry1);
    (!is_query).then(Meaning::nothing)
}

/// B2R: result of a barrier with a reduction.
pub(crate) fn barrier_result(modifiers: &[Modifier], operands: &Operands<'_>) -> Option<Meaning> {
    let [M::Result] = modifiers else {
        return None;
    };
    Some(Meaning::BarrierResult {
        dest: operands.register()?,
        truth: operands.predicates().first().copied().flatten(),
    })
}

/// BPT: the trap has a meaning, other breakpoints have none.
pub(crate) fn breakpoint(modifiers: &[Modifier]) -> Option<Meaning> {
    match modifiers {
        [M::Trap] => Some(Meaning::Trap),
        _ => None,
    }
}

/// Width of an access, and whether its address has 64 bits.
fn width(modifiers: &[Modifier]) -> Option<(Width, bool)> {
    let mut width = Width::Words;
    let mut long = false;
    for modifier in modifiers {
        width = match modifier {
            M::E => {
                long = true;
                width
            }
            // Cache operators do not change the data. Neither does `.U`, which promises that no other lane writes the
            // word.
            M::Cg | M::Ci | M::Cv | M::Lu | M::Cs | M::Wt | M::U => width,
            M::B32 | M::B64 | M::B128 => Width::Words,
            M::U8 => Width::U8,
            M::S8 => Width::S8,
            M::U16 => Width::U16,
            M::S16 => Width::S16,
            _ => return None,
        };
    }
    Some((width, long))
}

/// Load or store: LD, ST and their variants for one memory space.
pub(crate) fn access(
    modifiers: &[Modifier],
    operands: &Operands<'_>,
    space: MemorySpace,
    loads: bool,
) -> Option<Meaning> {
    let (width, long) = width(modifiers)?;
    // LD and ST read a predicate that is computed with the address (`LEA.HI.X P0, ...`), a hint of its memory space.
    // The meaning does not need it, because the space of a generic address follows from the address.
    let mut reads = operands.reads.as_slice();
    if space == MemorySpace::Generic
        && let [rest @ .., last] = reads
        && matches!(last.value, OperandValue::Pred { .. })
    {
        reads = rest;
    }
    // A second destination, a predicate, is only for sparse textures, which are not supported.
    if loads {
        let ([dest], [from]) = (operands.writes.as_slice(), reads) else {
            return None;
        };
        let dests = registers(dest)?.map(|register| register.map(Cell::gpr));
        Some(Meaning::Load {
            dests: dests.collect(),
            width,
            space,
            address: address(from, long)?,
        })
    } else {
        let [to, from] = reads else {
            return None;
        };
        let value = |register: Option<u8>| match register {
            Some(n) => Expr::Cell(Cell::gpr(n)),
            None => Expr::Const(0),
        };
        Some(Meaning::Store {
            values: registers(from)?.map(value).collect::<SmallVec<_>>(),
            width,
            space,
            address: address(to, long)?,
        })
    }
}

/// BAR: arrival at a barrier.
pub(crate) fn barrier(modifiers: &[Modifier], operands: &Operands<'_>) -> Option<Meaning> {
    let reduce = |reduction| Some(BarrierArrival::Reduce(reduction, operands.predicate(2)?));
    let arrival = match modifiers {
        [M::Sync] => BarrierArrival::Wait,
        [M::Arv] => BarrierArrival::Arrive,
        [M::Red, M::Popc] => reduce(BarrierReduction::Count)?,
        [M::Red, M::And] => reduce(BarrierReduction::All)?,
        [M::Red, M::Or] => reduce(BarrierReduction::Any)?,
        _ => return None,
    };
    let [number, threads] = barrier_operands(operands)?;
    Some(Meaning::Barrier {
        number,
        threads,
        arrival,
    })
}

/// Number and thread count of a barrier. If both are registers, they are in bits 15:0 and 27:16: compilers pack them
/// (kernel `barrier_named`), but leave a single register operand unpacked.
fn barrier_operands(operands: &Operands<'_>) -> Option<[Expr; 2]> {
    let [number, threads] = [operands.word(0)?, operands.word(1)?];
    let is_register = |index: usize| {
        let operand = operands.reads.get(index);
        operand.is_some_and(|operand| matches!(operand.value, OperandValue::Reg(_)))
    };
    if !(is_register(0) && is_register(1)) {
        return Some([number, threads]);
    }
    Some([
        and(number, Expr::Const(0xffff)),
        and(shr(threads, Expr::Const(16)), Expr::Const(0xfff)),
    ])
}

/// Registers of an operand, the lowest word first; `None` is RZ.
pub(crate) fn registers(operand: &Operand) -> Option<impl Iterator<Item = Option<u8>> + use<>> {
    let OperandValue::Reg(first) = operand.value else {
        return None;
    };
    let count = operand.count.max(1);
    if let Some(first) = first {
        // The whole group must exist, since the sum in the iterator has no check.
        register_after(first, count - 1)?;
    }
    Some((0..count).map(move |n| first.map(|first| first + n)))
}

/// Address of an operand `[register+offset]`.
pub(crate) fn address(operand: &Operand, long: bool) -> Option<Address> {
    let OperandValue::Memory { base, offset } = operand.value else {
        return None;
    };
    // The offset is sign-extended to 64 bits: its high word is added with the carry below.
    let low_offset = Expr::Const(offset as u32);
    let register = |n: u8| Expr::Cell(Cell::gpr(n));
    let low = match base {
        None => low_offset.clone(),
        Some(n) => add(register(n), low_offset.clone()),
    };
    if !long {
        return Some(Address::short(low));
    }
    let high_offset = Expr::Const((offset >> 32) as u32);
    let high = match base {
        None => high_offset,
        Some(n) => {
            let high = Expr::Cell(register_after(n, 1)?);
            let carry = Expr::ternary(TernaryOp::Carry, register(n), low_offset, Expr::Const(0));
            add(add(high, high_offset), carry)
        }
    };
    Some(Address {
        low,
        high: Some(high),
        buffer: None,
        second_half: None,
    })
}

/// LDC: loads one word, two words, or a part of a word from `c[bank][base+offset]`.
pub(crate) fn constants(modifiers: &[Modifier], operands: &Operands<'_>) -> Option<Meaning> {
    let OperandValue::ConstIndexed { bank, base, offset } = operands.reads.first()?.value else {
        return None;
    };
    let address = |more: i32| {
        let offset = Expr::Const(offset.wrapping_add(more) as u32);
        match base {
            None => offset,
            Some(n) => add(Expr::Cell(Cell::gpr(n)), offset),
        }
    };
    let word = |more| Expr::Constant(bank, address(more).into());
    // Part of the aligned word that the low bits of the address select.
    let part = |mask: u32| {
        let aligned = and(address(0), Expr::Const(!3));
        let shift = shl(and(address(0), Expr::Const(mask)), Expr::Const(3));
        shr(Expr::Constant(bank, aligned.into()), shift)
    };
    let signed = |op, value| Expr::unary(op, value);
    match modifiers {
        [] => operands.set_register(word(0)),
        [M::B64] => operands.set_register_pair(|half| match half {
            WordHalf::Low => word(0),
            WordHalf::High => word(4),
        }),
        [M::U8] => operands.set_register(and(part(3), Expr::Const(0xff))),
        [M::S8] => operands.set_register(signed(UnaryOp::SignExtend8, part(3))),
        [M::U16] => operands.set_register(and(part(2), Expr::Const(0xffff))),
        [M::S16] => operands.set_register(signed(UnaryOp::SignExtend16, part(2))),
        _ => None,
    }
}
