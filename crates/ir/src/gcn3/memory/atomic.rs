//! Atomic operations on LDS, flat addresses and buffers. For example, `flat_atomic_add v0, v[1:2], v3 glc` returns
//! the old value in v0; without glc it has no destination.

use warpbound_isa::instr::MemorySpace;

use super::{dests, words};
use crate::float::Flush;
use crate::float::gcn::GcnMode;
use crate::gcn3::mode::ModeState;
use crate::gcn3::operands::Operands;
use crate::{Address, AtomicKind, AtomicOp, Expr, Meaning};

/// Operation on global memory, by the name after `atomic_`. With a destination, it returns the old value.
pub(super) fn in_memory(
    name: &str,
    o: &Operands<'_>,
    data: Vec<Expr>,
    space: MemorySpace,
    address: Address,
) -> Option<Meaning> {
    let (name, is_wide) = match name.strip_suffix("_x2") {
        Some(name) => (name, true),
        None => (name, false),
    };
    let (op, is_signed) = match name {
        "swap" => (AtomicOp::Exchange, false),
        "cmpswap" => (AtomicOp::CompareSwap, false),
        "add" => (AtomicOp::Add, false),
        "sub" => (AtomicOp::Sub, false),
        "smin" => (AtomicOp::Min, true),
        "umin" => (AtomicOp::Min, false),
        "smax" => (AtomicOp::Max, true),
        "umax" => (AtomicOp::Max, false),
        "and" => (AtomicOp::And, false),
        "or" => (AtomicOp::Or, false),
        "xor" => (AtomicOp::Xor, false),
        "inc" => (AtomicOp::Increment, false),
        "dec" => (AtomicOp::Decrement, false),
        _ => return None,
    };
    let kind = kind(is_wide, is_signed);
    let operands = match op {
        // The new value comes first, then the compared one.
        AtomicOp::CompareSwap => {
            let half = data.len() / 2;
            let (new, compared) = data.split_at_checked(half)?;
            [compared, new].concat()
        }
        _ => data,
    };
    atomic(o, op, kind, space, address, operands)
}

/// Operation on LDS by its name after `ds_` without `_rtn`.
pub(super) fn in_lds(
    name: &str,
    o: &Operands<'_>,
    mode: ModeState,
    address: Address,
) -> Option<Meaning> {
    let (name, number) = name.rsplit_once('_')?;
    let number_kind = match number {
        "u32" | "b32" => kind(false, false),
        "i32" => kind(false, true),
        "u64" | "b64" => kind(true, false),
        "i64" => kind(true, true),
        // MODE decides about subnormals, so unknown contents of MODE leave the operation without a meaning.
        "f32" => AtomicKind::LdsF32(flush(mode.single()?)?),
        "f64" => AtomicKind::LdsF64(flush(mode.double()?)?),
        _ => return None,
    };
    let is_float = number.starts_with('f');
    let op = match name {
        "add" => AtomicOp::Add,
        "min" => AtomicOp::Min,
        "max" => AtomicOp::Max,
        // Here the compared value comes first, unlike in global memory.
        "cmpst" => AtomicOp::CompareSwap,
        _ if is_float => return None,
        "sub" => AtomicOp::Sub,
        "rsub" => AtomicOp::ReverseSub,
        "inc" => AtomicOp::Increment,
        "dec" => AtomicOp::Decrement,
        "and" => AtomicOp::And,
        "or" => AtomicOp::Or,
        "xor" => AtomicOp::Xor,
        "mskor" => AtomicOp::MaskedOr,
        "wrxchg" => AtomicOp::Exchange,
        _ => return None,
    };
    let mut operands = words(o, 1)?;
    if matches!(op, AtomicOp::MaskedOr | AtomicOp::CompareSwap) {
        operands.extend(words(o, 2)?);
    }
    atomic(o, op, number_kind, MemorySpace::Shared, address, operands)
}

/// Treatment of subnormals in LDS. `None` for modes that flush only operands or only results, because no document
/// covers them.
fn flush(mode: GcnMode) -> Option<Flush> {
    match (mode.flush_operands, mode.flush_results) {
        (false, false) => Some(Flush::Keep),
        (true, true) => Some(Flush::Ftz),
        _ => None,
    }
}

fn kind(is_wide: bool, is_signed: bool) -> AtomicKind {
    match (is_wide, is_signed) {
        (false, false) => AtomicKind::U32,
        (false, true) => AtomicKind::S32,
        (true, false) => AtomicKind::U64,
        (true, true) => AtomicKind::S64,
    }
}

fn atomic(
    o: &Operands<'_>,
    op: AtomicOp,
    kind: AtomicKind,
    space: MemorySpace,
    address: Address,
    operands: Vec<Expr>,
) -> Option<Meaning> {
    let size = kind.size() / 4;
    let values = match op {
        AtomicOp::CompareSwap | AtomicOp::MaskedOr => 2,
        _ => 1,
    };
    // Only the position of a word says to which operand it belongs.
    if operands.len() != values * size {
        return None;
    }
    let returned = match o.dest(0) {
        Some(_) => size as u8,
        None => 0,
    };
    Some(Meaning::Atomic {
        dests: dests(o, returned)?,
        op,
        kind,
        space,
        address,
        operands: operands.into(),
    })
}
