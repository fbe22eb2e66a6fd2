//! Surfaces: SULD.D.BA, SUST.D.BA, SURED.D.BA.
//!
//! Formatted accesses (`.P`), which address texels instead of bytes, have no meaning: CUDA C does not use them. Neither
//! have SUATOM, which PTX cannot express, and `1D_BUFFER`.

use smallvec::SmallVec;
use warpbound_isa::{OperandValue, View};

use super::memory::registers;
use super::operands::Operands;
use crate::{
    AtomicKind, AtomicOp, Cell, Expr, ImageKind, Meaning, OutOfBounds, SurfaceAccess, SurfaceOp,
    Width,
};

pub(super) fn meaning(view: &View, operands: &Operands<'_>) -> Option<Meaning> {
    if !matches!(view.mnemonic, "SULD" | "SUST" | "SURED") {
        return None;
    }
    // A destination predicate is for sparse surfaces, which are not supported.
    if operands.predicates().iter().any(Option::is_some) {
        return None;
    }
    let [".D", ".BA", dimension, rest @ ..] = view.modifiers.as_slice() else {
        return None;
    };
    let kind = match *dimension {
        ".1D" => ImageKind::D1,
        ".1D_ARRAY" => ImageKind::Layered1,
        ".2D" => ImageKind::D2,
        ".2D_ARRAY" => ImageKind::Layered2,
        ".3D" => ImageKind::D3,
        _ => return None,
    };
    let (outside, rest) = match rest {
        [rest @ .., ".IGN"] => (OutOfBounds::Zero, rest),
        [rest @ .., ".TRAP"] => (OutOfBounds::Trap, rest),
        rest => (OutOfBounds::Clamp, rest),
    };
    let mut sources = operands.reads.iter();
    let base = sources.find_map(|operand| match operand.value {
        OperandValue::Memory { base, offset: 0 } => Some(base),
        _ => None,
    })?;
    let mut coordinates = SmallVec::new();
    for number in 0..kind.dimensions() as u8 {
        coordinates.push(register(base, number)?);
    }
    let layer = match kind.is_layered() {
        true => Some(register(base, kind.dimensions() as u8)?),
        false => None,
    };
    // The surface object is in a register, or in constant bank 0 at a word index.
    let handle = match operands.reads.last()?.value {
        OperandValue::Reg(first) => register(first, 0)?,
        OperandValue::Int(slot) => {
            let slot = u32::try_from(slot).ok()?;
            Expr::Constant(0, Expr::Const(slot.checked_mul(4)?).into())
        }
        _ => return None,
    };
    let (op, width) = match view.mnemonic {
        "SULD" => {
            let [dest] = operands.writes.as_slice() else {
                // With a predicate that is PT.
                let [_, dest] = operands.writes.as_slice() else {
                    return None;
                };
                return access(
                    SurfaceOp::Load(registers(dest)?.map(|r| r.map(Cell::gpr)).collect()),
                    size(rest)?,
                    (kind, outside, handle, coordinates, layer),
                );
            };
            let dests = registers(dest)?.map(|register| register.map(Cell::gpr));
            (SurfaceOp::Load(dests.collect()), size(rest)?)
        }
        name => {
            let values = operands.reads.iter().skip(1).find_map(|operand| {
                let list = registers(operand)?;
                let value = |r: Option<u8>| r.map_or(Expr::Const(0), |r| Expr::Cell(Cell::gpr(r)));
                Some(list.map(value).collect::<SmallVec<[Expr; 4]>>())
            })?;
            match name {
                "SUST" => (SurfaceOp::Store(values), size(rest)?),
                _ => {
                    let (op, kind) = reduction(rest)?;
                    let words = values.into_iter().take(kind.size() / 4).collect();
                    (SurfaceOp::Reduce(op, kind, words), Width::Words)
                }
            }
        }
    };
    access(op, width, (kind, outside, handle, coordinates, layer))
}

type Target = (
    ImageKind,
    OutOfBounds,
    Expr,
    SmallVec<[Expr; 3]>,
    Option<Expr>,
);

fn access(op: SurfaceOp, width: Width, target: Target) -> Option<Meaning> {
    let (kind, outside, handle, coordinates, layer) = target;
    Some(Meaning::Surface(Box::new(SurfaceAccess {
        op,
        width,
        kind,
        handle,
        coordinates,
        layer,
        out_of_bounds: outside,
    })))
}

/// Register `number` registers after `first`.
fn register(first: Option<u8>, number: u8) -> Option<Expr> {
    Some(match first {
        None => Expr::Const(0),
        Some(first) => Expr::Cell(Cell::gpr(first.checked_add(number).filter(|&r| r < 255)?)),
    })
}

fn size(modifiers: &[&str]) -> Option<Width> {
    let mut width = Width::Words;
    for modifier in modifiers {
        width = match *modifier {
            // Cache operators do not change the data.
            ".CG" | ".CI" | ".CS" | ".CV" | ".WT" => width,
            ".64" | ".128" => Width::Words,
            ".U8" => Width::U8,
            ".S8" => Width::S8,
            ".U16" => Width::U16,
            ".S16" => Width::S16,
            _ => return None,
        };
    }
    Some(width)
}

fn reduction(modifiers: &[&str]) -> Option<(AtomicOp, AtomicKind)> {
    let (op, kinds) = modifiers.split_first()?;
    let op = match *op {
        ".ADD" => AtomicOp::Add,
        ".MIN" => AtomicOp::Min,
        ".MAX" => AtomicOp::Max,
        ".AND" => AtomicOp::And,
        ".OR" => AtomicOp::Or,
        _ => return None,
    };
    let kind = match kinds {
        [] => AtomicKind::U32,
        [".S32"] => AtomicKind::S32,
        [".U64"] => AtomicKind::U64,
        _ => return None,
    };
    // `apply` returns `None` if the operation does not exist for the type.
    op.apply(kind, 0, 0, 0)?;
    Some((op, kind))
}
