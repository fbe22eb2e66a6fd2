//! Origins that a definition has by itself, without the origins of its operands.

use std::cell::Cell as Slot;

use warpbound_base::{Family, LaunchBlock};
use warpbound_ir::{Cell, Code, ControlEffect, Expr, Meaning, Op, ValueDependence};
use warpbound_isa::SpecialReg;
use warpbound_isa::instr::MemorySpace;

use super::{DeterminacyFault, Origins};
use crate::gsa::Definition;

/// Returns the origins of a definition.
pub(super) fn origins(code: &Code, definition: Definition, fault: DeterminacyFault) -> Origins {
    let found = match definition {
        // No document gives the initial contents of registers.
        Definition::Entry(_) | Definition::Callee(_) => Origins::OTHER,
        Definition::Op(_, at) => code.get(at).map_or(Origins::OTHER, |op| of_op(code, op)),
        _ => Origins::CONSTANT,
    };
    match fault == DeterminacyFault::ThreadAsBlock && found.has(Origins::THREAD) {
        true => Origins::BLOCK,
        false => found,
    }
}

/// Whether the result of an operation in a lane depends on other lanes, and so on which lanes are active.
pub(super) fn exchanges_lanes(op: &Op) -> bool {
    match &op.meaning {
        Some(
            Meaning::Shuffle { .. }
            | Meaning::Vote { .. }
            | Meaning::Reduce { .. }
            | Meaning::Match { .. }
            | Meaning::FirstLane { .. }
            | Meaning::MatrixProduct(_)
            | Meaning::MatrixTranspose(_)
            | Meaning::MatrixAccess(_),
        ) => true,
        Some(Meaning::Set(sets)) => sets.iter().any(|(_, value)| {
            any_part(value, |part| {
                matches!(part, Expr::Ballot(..) | Expr::FromLane(..))
            })
        }),
        _ => matches!(op.value, ValueDependence::Uniform | ValueDependence::Lane),
    }
}

/// Cells whose values a shuffle takes from other lanes, which may not be active.
pub(super) fn exchanged_cells(op: &Op) -> Vec<Cell> {
    let mut cells = Vec::new();
    if let Some(Meaning::Shuffle { value, .. }) = &op.meaning {
        value.for_each_cell(&|_| true, &mut |cell| cells.push(cell));
    }
    cells
}

fn of_op(code: &Code, op: &Op) -> Origins {
    let by_meaning = match &op.meaning {
        Some(Meaning::Set(sets)) => {
            let values = sets.iter().map(|(_, value)| of_expr(code, value));
            values.fold(Origins::CONSTANT, Origins::with)
        }
        Some(Meaning::Shuffle {
            value, lane, limit, ..
        }) => {
            // The lane's own number selects the lane that it reads.
            let parts = [value, lane, limit].map(|part| of_expr(code, part));
            parts.into_iter().fold(Origins::THREAD, Origins::with)
        }
        // The mask of the lanes of a warp: the last warp of a block may have fewer.
        Some(Meaning::Vote {
            ballot: Some(_),
            predicate,
            ..
        }) => of_expr(code, predicate).with(Origins::THREAD),
        Some(Meaning::Vote { predicate, .. }) => of_expr(code, predicate),
        // The last warp of a block may have fewer lanes.
        Some(Meaning::Reduce { value, .. } | Meaning::FirstLane { value, .. }) => {
            of_expr(code, value).with(Origins::THREAD)
        }
        // The mask differs among lanes with different values.
        Some(Meaning::Match { words, .. }) => {
            let words = words.iter().map(|word| of_expr(code, word));
            words.fold(Origins::THREAD, Origins::with)
        }
        Some(Meaning::Load { space, address, .. }) => {
            let high = address.high.as_ref().map(|high| of_expr(code, high));
            let address = of_expr(code, &address.low).with(high.unwrap_or_default());
            address.with(of_load(*space))
        }
        // Each lane holds a part of its own of the result.
        Some(Meaning::MatrixProduct(product)) => {
            let words = product.a.iter().chain(&product.b).chain(&product.c);
            let words = words.map(|word| of_expr(code, word));
            words.fold(Origins::THREAD, Origins::with)
        }
        Some(Meaning::MatrixTranspose(transpose)) => {
            of_expr(code, &transpose.value).with(Origins::THREAD)
        }
        Some(Meaning::MatrixAccess(access)) => {
            let address = of_expr(code, &access.address.low).with(Origins::THREAD);
            address.with(of_load(MemorySpace::Shared))
        }
        // Results of atomics depend on the order of threads.
        Some(Meaning::Atomic { .. }) => Origins::DATA.with(Origins::OTHER),
        Some(Meaning::Texture(_) | Meaning::Surface(_)) => Origins::DATA,
        // Sizes of textures are given by the launch.
        Some(Meaning::TextureSize { .. }) => Origins::PARAM,
        // The result joins the predicates of all threads of the block.
        Some(Meaning::BarrierResult { .. }) => Origins::DATA.with(Origins::OTHER),
        // These write no cell.
        Some(
            Meaning::Store { .. }
            | Meaning::MemoryCopy(_)
            | Meaning::Barrier { .. }
            | Meaning::Meet(_)
            | Meaning::Part
            | Meaning::Ask(_)
            | Meaning::AnyLane(_)
            | Meaning::Trap,
        ) => Origins::CONSTANT,
        None => Origins::CONSTANT,
    };
    let by_kind = match op.value {
        // Operands in constant memory are not among the cells that it reads.
        ValueDependence::Function if op.meaning.is_none() && !op.writes.is_empty() => {
            match op.control {
                ControlEffect::Next => Origins::PARAM.with(Origins::OTHER),
                _ => Origins::CONSTANT,
            }
        }
        ValueDependence::Function => Origins::CONSTANT,
        ValueDependence::Load(space) => of_load(space),
        ValueDependence::Special(register) => of_special(register),
        ValueDependence::Uniform | ValueDependence::Lane => match op.meaning {
            Some(_) => Origins::CONSTANT,
            None => Origins::OTHER,
        },
    };
    by_meaning.with(by_kind)
}

/// Origins of the contents of a memory space.
fn of_load(space: MemorySpace) -> Origins {
    match space {
        MemorySpace::Constant => Origins::PARAM,
        _ => Origins::DATA,
    }
}

fn of_special(register: SpecialReg) -> Origins {
    match register {
        _ if register.differs_between_lanes() => Origins::THREAD,
        SpecialReg::BlockIndex(_) | SpecialReg::BlockSize | SpecialReg::BlockInCluster => {
            Origins::BLOCK
        }
        SpecialReg::SharedSize | SpecialReg::StackLimit | SpecialReg::SharedWindowHigh => {
            Origins::PARAM
        }
        // The machine, clocks, and registers without a meaning.
        _ => Origins::OTHER,
    }
}

/// Origins of the parts of an expression that are not cells.
fn of_expr(code: &Code, expr: &Expr) -> Origins {
    let found = Slot::new(Origins::CONSTANT);
    let add = |origins| found.set(found.get().with(origins));
    expr.for_each_cell(
        &|part| {
            match part {
                Expr::ThreadId | Expr::Ballot(..) => add(Origins::THREAD),
                Expr::Special(register) => add(of_special(*register)),
                Expr::Constant(bank, address) => add(of_constant(code, *bank, address)),
                _ => {}
            }
            true
        },
        &mut |_| {},
    );
    found.get()
}

/// Whether a part of an expression, or all of it, satisfies a condition.
fn any_part(expr: &Expr, condition: impl Fn(&Expr) -> bool) -> bool {
    let found = Slot::new(false);
    expr.for_each_cell(
        &|part| {
            found.set(found.get() || condition(part));
            true
        },
        &mut |_| {},
    );
    found.get()
}

/// Origins of a word of constant memory, without the origins of its address, which come with the cells of the
/// address.
fn of_constant(code: &Code, bank: u8, address: &Expr) -> Origins {
    // The binary fixes the words of such a bank.
    if code.constants.iter().any(|(fixed, _)| *fixed == bank) {
        return Origins::CONSTANT;
    }
    match address {
        Expr::Const(at) => match is_size(code, bank, *at) {
            Some(true) => Origins::BLOCK,
            Some(false) => Origins::PARAM,
            None => Origins::PARAM.with(Origins::BLOCK),
        },
        // A computed address may lie in the sizes as well.
        _ => Origins::PARAM.with(Origins::BLOCK),
    }
}

/// Whether a byte of a constant bank belongs to the size of the block or of the grid (SOUNDNESS 5.9); `None` if the
/// architecture decides.
fn is_size(code: &Code, bank: u8, at: u32) -> Option<bool> {
    let banks = code.family.facts().constant_banks;
    if banks.is_none_or(|banks| bank != banks.launch) {
        return Some(false);
    }
    match code.family {
        Family::Maxwell => Some(LaunchBlock::OF_GROUPED_CODE.is_size(at)),
        Family::Volta | Family::Gcn3 | Family::MiniSimt => None,
    }
}
