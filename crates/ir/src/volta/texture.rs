//! Textures and surfaces: TEX, TXD, TLD, TLD4, TXQ, SULD, SUST.
//!
//! The assignment of operands to registers was found by experiments, as for [`crate::maxwell`]. Up to Ada, `.SCR` marks forms
//! whose coordinates and other operands fill two groups of two registers, one after the other; else the first group has the
//! coordinates, and the second the rest. The object is in a register (`.B`), in a uniform register, or in constant bank 0. For
//! example, `TEX.SCR.LL R6, R4, R8, R10, 0x0, 0x58, 2D` reads the coordinates R8 and R9 and the level R10, and writes two
//! components from R4 on, and two from R6 on.

use smallvec::SmallVec;
use warpbound_isa::nvidia::{Modifier, Modifier as M, OperandWord};
use warpbound_isa::{Operand, OperandRole, OperandValue, Reg, View};

use super::memory::is_order;
use crate::maxwell::surface;
use crate::maxwell::texture::{RegisterSequence, gather_op, kind, short_layer};
use crate::nvidia::operands::{Operands, register_after};
use crate::{Cell, Expr, ImageKind, Meaning, TextureOp, TextureRead};

/// Registers of `.SCR` forms: in groups of two.
const SHORT_GROUP: usize = 2;

/// Operands of a texture instruction.
struct TextureOperands {
    /// Object in a uniform register or in constant bank 0; `None` if it is in a register of the second group.
    object: Option<Expr>,
    first: RegisterSequence,
    second: RegisterSequence,
    word: OperandWord,
    dests: SmallVec<[(u8, Cell); 4]>,
}

impl TextureOperands {
    fn of(view: &View, operands: &Operands<'_>, bindless: bool) -> Option<TextureOperands> {
        // A predicate that is written tells of texels that are not there.
        if operands.predicates().iter().any(Option::is_some) {
            return None;
        }
        let mut groups = operands
            .reads
            .iter()
            .filter_map(|o| RegisterSequence::of(o));
        let first = groups.next()?;
        let second = groups.next().unwrap_or_else(RegisterSequence::zeros);
        let word = operands
            .reads
            .iter()
            .find_map(|operand| match operand.value {
                OperandValue::Word { word, .. } if word != OperandWord::Absent => Some(word),
                _ => None,
            })?;
        let numbers: SmallVec<[u32; 3]> = operands
            .reads
            .iter()
            .filter_map(|operand| match operand.value {
                OperandValue::Int(number) => Some(number as u32),
                _ => None,
            })
            .collect();
        let uniform = operands
            .reads
            .iter()
            .find_map(|operand| match operand.value {
                OperandValue::Uniform(Some(n)) => Some(Expr::Cell(Cell::of(Reg::uniform(n)))),
                _ => None,
            });
        let object = match (bindless, uniform, numbers.as_slice()) {
            (true, None, [_]) => None,
            (false, Some(object), _) => Some(object),
            // Bank, word of the bank, mask of components.
            (false, None, [0, slot, _]) => {
                Some(Expr::Constant(0, Expr::Const(slot.checked_mul(4)?).into()))
            }
            _ => return None,
        };
        Some(TextureOperands {
            object,
            first,
            second,
            word,
            dests: dests(view, *numbers.last()?)?,
        })
    }
}

/// Components that an instruction writes: the first two of the mask from the second register on, the others from the first
/// one on.
fn dests(view: &View, mask: u32) -> Option<SmallVec<[(u8, Cell); 4]>> {
    let is_dest = |operand: &&Operand| operand.role == OperandRole::ReadWrite;
    let mut registers =
        view.operands
            .iter()
            .filter(is_dest)
            .filter_map(|operand| match operand.value {
                OperandValue::Reg(register) => Some(register),
                _ => None,
            });
    let (others, first) = (registers.next()?, registers.next()?);
    let components = (0..4u8).filter(|component| mask >> component & 1 == 1);
    let mut dests = SmallVec::new();
    for (n, component) in (0u8..).zip(components) {
        let (register, offset) = match n {
            0 | 1 => (first, n),
            _ => (others, n - 2),
        };
        if let Some(register) = register {
            dests.push((component, register_after(register, offset)?));
        }
    }
    Some(dests)
}

/// Modifiers of a texture instruction.
#[derive(Default)]
struct TextureModifiers {
    /// `.SCR`
    short: bool,
    /// `.B`: the object is in a register.
    bindless: bool,
    /// `.LL`: explicit level of detail.
    level: bool,
}

impl TextureModifiers {
    fn of(modifiers: &[Modifier]) -> Option<TextureModifiers> {
        let mut flags = TextureModifiers::default();
        for modifier in modifiers {
            match modifier {
                M::Scr => flags.short = true,
                M::B => flags.bindless = true,
                M::Ll => flags.level = true,
                // Level 0, and missing derivatives.
                M::Lz | M::Ndv | M::Nodep => {}
                _ => return None,
            }
        }
        Some(flags)
    }
}

/// TEX.
pub(super) fn sample(view: &View, operands: &Operands<'_>) -> Option<Meaning> {
    read(TextureOp::Sample, &view.modifiers, view, operands)
}

/// TLD.
pub(super) fn texel(view: &View, operands: &Operands<'_>) -> Option<Meaning> {
    read(TextureOp::Texel, &view.modifiers, view, operands)
}

/// TLD4. The component stands after `.SCR`.
pub(super) fn gather(view: &View, operands: &Operands<'_>) -> Option<Meaning> {
    let (short, rest) = match view.modifiers.as_slice() {
        [M::Scr, rest @ ..] => (&[M::Scr][..], rest),
        rest => (&[][..], rest),
    };
    let (op, rest) = gather_op(rest)?;
    let modifiers: Vec<Modifier> = short.iter().chain(rest).copied().collect();
    read(op, &modifiers, view, operands)
}

fn read(
    op: TextureOp,
    modifiers: &[Modifier],
    view: &View,
    operands: &Operands<'_>,
) -> Option<Meaning> {
    let flags = TextureModifiers::of(modifiers)?;
    let texture = TextureOperands::of(view, operands, flags.bindless)?;
    let (mut first, mut second) = (texture.first, texture.second);
    let kind = kind(texture.word)?;
    // The result of a level out of range is not known.
    if op == TextureOp::Texel && flags.level {
        return None;
    }
    let object = match texture.object {
        Some(object) => object,
        None => second.take()?,
    };
    let of_first = match flags.short {
        true => first_group(kind, &flags),
        false => usize::MAX,
    };
    let mut taken = 0;
    let mut next = || {
        taken += 1;
        match taken <= of_first {
            true => first.take(),
            false => second.take(),
        }
    };
    let layer = match kind.is_layered() {
        true => Some(short_layer(next()?)),
        false => None,
    };
    let coordinates: Option<SmallVec<[Expr; 3]>> = (0..kind.dimensions()).map(|_| next()).collect();
    // The level follows the coordinates of a short form, and begins the second group of others.
    let level = match flags.level {
        true => Some(second.take()?),
        false => None,
    };
    Some(Meaning::Texture(Box::new(TextureRead {
        op,
        kind,
        handle: object,
        coordinates: coordinates?,
        layer,
        level,
        offsets: SmallVec::new(),
        dests: texture.dests,
    })))
}

/// Number of registers in the first group of a short form: both groups have one register if there are two operands.
fn first_group(kind: ImageKind, flags: &TextureModifiers) -> usize {
    let others = [kind.is_layered(), flags.level, flags.bindless];
    let others = others.iter().filter(|&&is_there| is_there).count();
    match kind.dimensions() + others {
        2 => 1,
        _ => SHORT_GROUP,
    }
}

/// TXD: the first group has the coordinates, the second the derivatives, from which the hardware chooses the level.
pub(super) fn sample_gradient(view: &View, operands: &Operands<'_>) -> Option<Meaning> {
    if !view.modifiers.is_empty() {
        return None;
    }
    let texture = TextureOperands::of(view, operands, false)?;
    let kind = kind(texture.word).filter(|kind| !kind.is_layered())?;
    let mut first = texture.first;
    Some(Meaning::Texture(Box::new(TextureRead {
        op: TextureOp::Sample,
        kind,
        handle: texture.object?,
        coordinates: first.take_many(kind.dimensions())?,
        layer: None,
        level: None,
        offsets: SmallVec::new(),
        dests: texture.dests,
    })))
}

/// TXQ: size of a texture.
pub(super) fn size_query(view: &View, operands: &Operands<'_>) -> Option<Meaning> {
    let texture = TextureOperands::of(view, operands, false)?;
    if !view.modifiers.is_empty() || texture.word != OperandWord::TextureSize {
        return None;
    }
    let mut first = texture.first;
    Some(Meaning::TextureSize {
        handle: texture.object?,
        level: first.take()?,
        dests: texture.dests,
    })
}

/// Modifiers of a surface instruction without those that order accesses.
fn without_order(modifiers: &[Modifier]) -> Vec<Modifier> {
    let kept = modifiers.iter().filter(|modifier| !is_order(**modifier));
    kept.copied().collect()
}

/// SULD.
pub(super) fn surface_load(modifiers: &[Modifier], operands: &Operands<'_>) -> Option<Meaning> {
    surface::load(&without_order(modifiers), operands)
}

/// SUST.
pub(super) fn surface_store(modifiers: &[Modifier], operands: &Operands<'_>) -> Option<Meaning> {
    let modifiers = without_order(modifiers);
    let words = match () {
        () if modifiers.contains(&M::B128) => 4,
        () if modifiers.contains(&M::B64) => 2,
        () => 1,
    };
    surface::store_words(&modifiers, operands, words)
}
