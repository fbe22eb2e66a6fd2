//! Loads, stores, barriers, and what does nothing to data.

use smallvec::SmallVec;
use warpbound_isa::instr::Space;
use warpbound_isa::{Operand, Value, View};

use super::operands::{Operands, add};
use crate::{Address, Cell, Expr, Meaning, TernaryOp, Width};

pub(super) fn meaning(view: &View, operands: &Operands<'_>) -> Option<Meaning> {
    let (space, loads) = match view.mnemonic {
        // Control operations, fences and waits: nothing happens to data.
        "NOP" | "MEMBAR" | "DEPBAR" | "BRA" | "SSY" | "SYNC" | "PBK" | "BRK" | "PCNT" | "CONT"
        | "CAL" | "PRET" | "RET" | "EXIT" => return Some(Meaning::Set(SmallVec::new())),
        "BAR" if view.modifiers == [".SYNC"] => {
            return Some(Meaning::Barrier {
                number: operands.word(0)?,
                threads: operands.word(1)?,
            });
        }
        "LDC" if view.modifiers.is_empty() => {
            return operands.result(constant(operands.reads.first()?)?);
        }
        "LDG" => (Space::Global, true),
        "LDS" => (Space::Shared, true),
        "LDL" => (Space::Local, true),
        "STG" => (Space::Global, false),
        "STS" => (Space::Shared, false),
        "STL" => (Space::Local, false),
        _ => return None,
    };
    let mut width = Width::Words;
    let mut long = false;
    for modifier in &view.modifiers {
        width = match *modifier {
            ".E" => {
                long = true;
                width
            }
            // How the caches are used, and of shared memory that no other lane writes meanwhile.
            ".CG" | ".CI" | ".CV" | ".LU" | ".CS" | ".WT" => width,
            ".64" | ".128" | ".U.32" | ".U.64" | ".U.128" => Width::Words,
            ".U8" | ".U.U8" => Width::U8,
            ".S8" | ".U.S8" => Width::S8,
            ".U16" | ".U.U16" => Width::U16,
            ".S16" | ".U.S16" => Width::S16,
            _ => return None,
        };
    }
    // A predicate that is written or read as well belongs to sparse textures.
    if loads {
        let ([dest], [from]) = (operands.writes.as_slice(), operands.reads.as_slice()) else {
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
        let [to, from] = operands.reads.as_slice() else {
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

/// The registers of an operand, lowest word first; `None` inside for RZ.
fn registers(operand: &Operand) -> Option<impl Iterator<Item = Option<u8>> + use<>> {
    let Value::Reg(first) = operand.value else {
        return None;
    };
    let count = operand.count.max(1);
    if first.is_some_and(|first| u16::from(first) + u16::from(count) > 255) {
        return None;
    }
    Some((0..count).map(move |n| first.map(|first| first + n)))
}

/// `[register+offset]`.
fn address(operand: &Operand, long: bool) -> Option<Address> {
    let Value::Memory { base, offset } = operand.value else {
        return None;
    };
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
            let high = register(n.checked_add(1).filter(|&next| next < 255)?);
            let carry = Expr::ternary(TernaryOp::Carry, register(n), low_offset, Expr::Const(0));
            add(add(high, high_offset), carry)
        }
    };
    Some(Address {
        low,
        high: Some(high),
    })
}

/// `c[bank][base+offset]`, one word.
fn constant(operand: &Operand) -> Option<Expr> {
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
