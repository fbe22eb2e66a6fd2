//! Surfaces: SULD.D.BA, SUST.D.BA, SURED.D.BA.
//!
//! Formatted accesses (`.P`), which address texels instead of bytes, have no meaning, because CUDA C does not use
//! them. The same holds for SUATOM, which PTX cannot express, and for `1D_BUFFER`.
//!
//! For example, `surf2Dwrite` of a word stores at a byte offset x and a row y; with `.TRAP`, an access outside ends
//! the launch.

use smallvec::SmallVec;
use warpbound_isa::nvidia::{BracketOperand, Modifier, Modifier as M};
use warpbound_isa::{OperandValue, Reg};

use super::memory::registers;
use crate::nvidia::operands::{Operands, register_after};
use crate::{
    AtomicKind, AtomicOp, Cell, Expr, ImageKind, Meaning, OutOfBounds, SurfaceAccess, SurfaceOp,
    Width,
};

/// SULD.
pub(crate) fn load(modifiers: &[Modifier], operands: &Operands<'_>) -> Option<Meaning> {
    let (target, rest) = SurfaceTarget::of(modifiers, operands)?;
    // If there are two destinations, the first is a predicate, PT.
    let ([dest] | [_, dest]) = operands.writes.as_slice() else {
        return None;
    };
    let dests = registers(dest)?.map(|register| register.map(Cell::gpr));
    Some(target.access(SurfaceOp::Load(dests.collect()), size(rest)?))
}

/// SUST.
pub(crate) fn store(modifiers: &[Modifier], operands: &Operands<'_>) -> Option<Meaning> {
    let (target, rest) = SurfaceTarget::of(modifiers, operands)?;
    Some(target.access(SurfaceOp::Store(values(operands)?), size(rest)?))
}

/// SUST of the first `words` values of the group that its row names.
pub(crate) fn store_words(
    modifiers: &[Modifier],
    operands: &Operands<'_>,
    words: usize,
) -> Option<Meaning> {
    let (target, rest) = SurfaceTarget::of(modifiers, operands)?;
    let values = values(operands)?.into_iter().take(words);
    Some(target.access(SurfaceOp::Store(values.collect()), size(rest)?))
}

/// SURED.
pub(crate) fn reduce(modifiers: &[Modifier], operands: &Operands<'_>) -> Option<Meaning> {
    let (target, rest) = SurfaceTarget::of(modifiers, operands)?;
    let (op, kind) = reduction(rest)?;
    // The table names the largest group of registers, so the surplus is cut off.
    let words = values(operands)?.into_iter().take(kind.size() / 4);
    let op = SurfaceOp::Reduce(op, kind, words.collect());
    Some(target.access(op, Width::Words))
}

/// Values of a store or reduction.
fn values(operands: &Operands<'_>) -> Option<SmallVec<[Expr; 4]>> {
    let value = |r: Option<u8>| r.map_or(Expr::Const(0), |r| Expr::Cell(Cell::gpr(r)));
    let mut sources = operands.reads.iter().skip(1);
    sources.find_map(|operand| Some(registers(operand)?.map(value).collect()))
}

/// Surface and position in it.
struct SurfaceTarget {
    kind: ImageKind,
    out_of_bounds: OutOfBounds,
    handle: Expr,
    coordinates: SmallVec<[Expr; 3]>,
    layer: Option<Expr>,
}

impl SurfaceTarget {
    /// Returns the target and the modifiers that do not belong to it.
    fn of<'m>(
        modifiers: &'m [Modifier],
        operands: &Operands<'_>,
    ) -> Option<(SurfaceTarget, &'m [Modifier])> {
        // A destination predicate is for sparse surfaces, which are not supported.
        if operands.predicates().iter().any(Option::is_some) {
            return None;
        }
        let [M::D, M::Ba, dimension, rest @ ..] = modifiers else {
            return None;
        };
        let kind = match dimension {
            M::Dim1 => ImageKind::D1,
            M::Dim1Array => ImageKind::Layered1,
            M::Dim2 => ImageKind::D2,
            M::Dim2Array => ImageKind::Layered2,
            M::Dim3 => ImageKind::D3,
            _ => return None,
        };
        let (out_of_bounds, rest) = match rest {
            [rest @ .., M::Ign] => (OutOfBounds::Zero, rest),
            [rest @ .., M::Trap] => (OutOfBounds::Trap, rest),
            rest => (OutOfBounds::Clamp, rest),
        };
        let mut sources = operands.reads.iter();
        let base = sources.find_map(|operand| match operand.value {
            OperandValue::Memory { base, offset: 0 } => Some(base),
            OperandValue::Address(BracketOperand {
                base: Some(base),
                uniform: None,
                offset: 0,
                suffix: "",
                ..
            }) => Some(base),
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
        let uniform = operands
            .reads
            .iter()
            .find_map(|operand| match operand.value {
                OperandValue::Uniform(Some(n)) => Some(Expr::Cell(Cell::of(Reg::uniform(n)))),
                _ => None,
            });
        let handle = match operands.reads.last()?.value {
            _ if uniform.is_some() => uniform?,
            OperandValue::Reg(first) => register(first, 0)?,
            OperandValue::Int(slot) => {
                let slot = u32::try_from(slot).ok()?;
                Expr::Constant(0, Expr::Const(slot.checked_mul(4)?).into())
            }
            _ => return None,
        };
        let target = SurfaceTarget {
            kind,
            out_of_bounds,
            handle,
            coordinates,
            layer,
        };
        Some((target, rest))
    }

    fn access(self, op: SurfaceOp, width: Width) -> Meaning {
        Meaning::Surface(Box::new(SurfaceAccess {
            op,
            width,
            kind: self.kind,
            handle: self.handle,
            coordinates: self.coordinates,
            layer: self.layer,
            out_of_bounds: self.out_of_bounds,
        }))
    }
}

/// Register `number` registers after `first`.
fn register(first: Option<u8>, number: u8) -> Option<Expr> {
    Some(match first {
        None => Expr::Const(0),
        Some(first) => Expr::Cell(register_after(first, number)?),
    })
}

fn size(modifiers: &[Modifier]) -> Option<Width> {
    let mut width = Width::Words;
    for modifier in modifiers {
        width = match *modifier {
            // Cache operators do not change the data.
            M::Cg | M::Ci | M::Cs | M::Cv | M::Wt => width,
            M::B64 | M::B128 => Width::Words,
            M::U8 => Width::U8,
            M::S8 => Width::S8,
            M::U16 => Width::U16,
            M::S16 => Width::S16,
            _ => return None,
        };
    }
    Some(width)
}

fn reduction(modifiers: &[Modifier]) -> Option<(AtomicOp, AtomicKind)> {
    let (op, kinds) = modifiers.split_first()?;
    let op = match *op {
        M::Add => AtomicOp::Add,
        M::Min => AtomicOp::Min,
        M::Max => AtomicOp::Max,
        M::And => AtomicOp::And,
        M::Or => AtomicOp::Or,
        _ => return None,
    };
    let kind = match kinds {
        [] => AtomicKind::U32,
        [M::S32] => AtomicKind::S32,
        [M::U64] => AtomicKind::U64,
        _ => return None,
    };
    // `apply` returns `None` if the operation does not exist for the type.
    op.apply(kind, 0, 0, 0)?;
    Some((op, kind))
}
