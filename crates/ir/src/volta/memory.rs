//! Loads, stores, constants and barriers. For example, `LDG.E.64 R2, desc[UR4][R6.64+0x10]` loads two words from the 64-bit
//! address R7:R6 + 16, and `LDS R0, [R2.X4+UR6]` one word from 4 * R2 + UR6.

use smallvec::SmallVec;
use warpbound_isa::instr::MemorySpace;
use warpbound_isa::nvidia::{BaseForm, BracketOperand, Modifier, Modifier as M};
use warpbound_isa::{Operand, OperandValue, Reg};

use super::logic::set_registers;
use crate::maxwell::memory as maxwell;
use crate::maxwell::memory::registers;
use crate::nvidia::operands::{
    Operands, add, and, constant_address, register_after, shl, shr, uniform_after, word_of,
};
use crate::{Address, Cell, Expr, Meaning, TernaryOp, UnaryOp, Width};

/// Whether a modifier states the order or the scope of accesses, or is a hint for caches: neither changes the data.
pub(super) fn is_order(modifier: Modifier) -> bool {
    matches!(
        modifier,
        M::Strong
            | M::Weak
            | M::Constant
            | M::Mmio
            | M::Private
            | M::Cta
            | M::Sm
            | M::Gpu
            | M::Sys
            | M::Vc
            | M::Ef
            | M::El
            | M::Eu
            | M::Lu
            | M::Na
            | M::Ltc64b
            | M::Ltc128b
            | M::Ltc256b
    )
}

/// Width of an access, and whether its address has 64 bits.
fn width(modifiers: &[Modifier]) -> Option<(Width, bool)> {
    let (mut width, mut long) = (Width::Words, false);
    for &modifier in modifiers {
        match modifier {
            M::E => long = true,
            // `.U` promises that no other lane writes the word.
            M::U | M::B64 | M::B128 => {}
            M::U8 => width = Width::U8,
            M::S8 => width = Width::S8,
            M::U16 => width = Width::U16,
            M::S16 => width = Width::S16,
            modifier if is_order(modifier) => {}
            _ => return None,
        }
    }
    Some((width, long))
}

/// Load or store: LD, ST and their variants for one memory space.
pub(super) fn access(
    modifiers: &[Modifier],
    operands: &Operands<'_>,
    space: MemorySpace,
    loads: bool,
) -> Option<Meaning> {
    let (width, long) = width(modifiers)?;
    // Generic and global addresses have 64 bits, the others 32.
    let wants_long = matches!(space, MemorySpace::Generic | MemorySpace::Global);
    if long != wants_long {
        return None;
    }
    let [at, rest @ ..] = operands.reads.as_slice() else {
        return None;
    };
    let address = access_address(at, long)?;
    if loads {
        // A predicate that is written tells of memory that is not there.
        if operands.predicates().iter().any(Option::is_some) {
            return None;
        }
        let mut dests = operands
            .writes
            .iter()
            .filter_map(|operand| registers(operand));
        let dests = dests.next()?.map(|register| register.map(Cell::gpr));
        return Some(Meaning::Load {
            dests: dests.collect(),
            width,
            space,
            address,
        });
    }
    let [from] = rest else { return None };
    let value = |register: Option<u8>| match register {
        Some(n) => Expr::Cell(Cell::gpr(n)),
        None => Expr::Const(0),
    };
    Some(Meaning::Store {
        values: registers(from)?.map(value).collect::<SmallVec<_>>(),
        width,
        space,
        address,
    })
}

/// Address of an operand `[register+uniform register+offset]`. A descriptor, `desc[UR4][R2.64]`, states how caches treat the
/// access, and not where it goes.
pub(super) fn access_address(operand: &Operand, long: bool) -> Option<Address> {
    let OperandValue::Address(given) = operand.value else {
        return None;
    };
    if given.bank.is_some() || !matches!(given.space, "" | "desc") {
        return None;
    }
    match long {
        true => long_address(&given),
        false => short_address(&given),
    }
}

/// Address of 32 bits. The register may be scaled.
fn short_address(given: &BracketOperand) -> Option<Address> {
    let shift = match given.base_form()? {
        BaseForm::Plain => None,
        BaseForm::Shifted(bits) => Some(Expr::Const(bits.into())),
        BaseForm::Pair | BaseForm::Unsigned => return None,
    };
    let base = given.base.flatten().map(|n| Expr::Cell(Cell::gpr(n)));
    let base = base.map(|base| match shift {
        None => base,
        Some(bits) => shl(base, bits),
    });
    let uniform = given.uniform.flatten();
    let uniform = uniform.map(|n| Expr::Cell(Cell::of(Reg::uniform(n))));
    let offset = Expr::Const(given.offset as u32);
    let parts = base.into_iter().chain(uniform);
    Some(Address::short(parts.rev().fold(
        offset,
        |sum, part| match sum {
            Expr::Const(0) => part,
            sum => add(part, sum),
        },
    )))
}

/// Address of 64 bits: a pair of registers, or one without a sign (`.U32`), a pair of uniform registers, and an offset.
fn long_address(given: &BracketOperand) -> Option<Address> {
    let base = match (given.base.flatten(), given.base_form()?) {
        (_, BaseForm::Shifted(_)) => return None,
        (None, _) => None,
        (Some(n), BaseForm::Plain | BaseForm::Pair) => {
            // Turing prints a pair without a suffix unless a uniform register follows.
            Some([Expr::Cell(Cell::gpr(n)), Expr::Cell(register_after(n, 1)?)])
        }
        (Some(n), BaseForm::Unsigned) => Some([Expr::Cell(Cell::gpr(n)), Expr::Const(0)]),
    };
    let uniform = match given.uniform.flatten() {
        None => None,
        Some(n) => Some([
            Expr::Cell(Cell::of(Reg::uniform(n))),
            Expr::Cell(uniform_after(n, 1)?),
        ]),
    };
    let offset = match given.offset {
        0 => None,
        offset => Some([offset, offset >> 32].map(|word| Expr::Const(word as u32))),
    };
    let parts: SmallVec<[[Expr; 2]; 3]> = [base, uniform, offset].into_iter().flatten().collect();
    let [low, high] = match parts.as_slice() {
        [] => [Expr::Const(0), Expr::Const(0)],
        [only] => only.clone(),
        [first, rest @ ..] => {
            let of = |part: usize, half: usize| {
                let given = parts.get(part).map(|words| words[half].clone());
                given.unwrap_or(Expr::Const(0))
            };
            let carry = Expr::ternary(TernaryOp::Carry, of(0, 0), of(1, 0), of(2, 0));
            let sum = |half: usize| {
                rest.iter().fold(first[half].clone(), |sum, words| {
                    add(sum, words[half].clone())
                })
            };
            [sum(0), add(sum(1), carry)]
        }
    };
    Some(Address {
        low,
        high: Some(high),
        buffer: None,
        second_half: None,
    })
}

/// LDC, ULDC and LDCU: words of a constant bank, or a part of one.
pub(super) fn constant(modifiers: &[Modifier], operands: &Operands<'_>) -> Option<Meaning> {
    let [from] = operands.reads.as_slice() else {
        return None;
    };
    let count = match modifiers {
        [] => 1,
        [M::B64] => 2,
        [M::B128] => 4,
        [part] => return constant_part(*part, from, operands),
        _ => return None,
    };
    set_registers(operands, |number| {
        (number < count).then(|| word_of(from, number)).flatten()
    })
}

/// Part of the aligned word that the low bits of the address select.
fn constant_part(part: Modifier, from: &Operand, operands: &Operands<'_>) -> Option<Meaning> {
    let OperandValue::Address(constant) = from.value else {
        return None;
    };
    let (bank, address) = constant_address(&constant)?;
    let of = |mask: u32| {
        let aligned = and(address.clone(), Expr::Const(!3));
        let shift = shl(and(address.clone(), Expr::Const(mask)), Expr::Const(3));
        shr(Expr::Constant(bank, aligned.into()), shift)
    };
    operands.set_register(match part {
        M::U8 => and(of(3), Expr::Const(0xff)),
        M::S8 => Expr::unary(UnaryOp::SignExtend8, of(3)),
        M::U16 => and(of(2), Expr::Const(0xffff)),
        M::S16 => Expr::unary(UnaryOp::SignExtend16, of(2)),
        _ => return None,
    })
}

/// BAR: arrival at a barrier. `.DEFER_BLOCKING` lets the warp go on until it needs the result.
pub(super) fn barrier(modifiers: &[Modifier], operands: &Operands<'_>) -> Option<Meaning> {
    let rest = match modifiers {
        [rest @ .., M::DeferBlocking] => rest,
        rest => rest,
    };
    maxwell::barrier(rest, operands)
}

/// BMOV to a convergence barrier, or from one to RZ: the barriers belong to the control flow. A register that receives one
/// has no known value.
pub(super) fn barrier_move(_: &[Modifier], operands: &Operands<'_>) -> Option<Meaning> {
    let keeps_registers = operands.register().flatten().is_none();
    keeps_registers.then(Meaning::nothing)
}
