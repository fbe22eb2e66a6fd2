//! Textures: TEX, TEXS, TXD, TLD, TLDS, TLD4, TLD4S, TXQ.
//!
//! The assignment of operands to registers was found by experiments: NVIDIA's compiler and assembler on CUDA C and
//! PTX with distinguishable operands. Forms that no tried source produces have no meaning: cube maps, multisamples,
//! halves as results, offsets for each texel, clamps of the level, and short forms for 1D textures with a level.
//! Depth comparisons depend on the sampler's comparison, which CUDA cannot express. For example, `TEX R0, R2, 0x8,
//! 2D, 0xf` reads the coordinates R2 and R3, takes the texture object from word 8 of bank 0, and writes four
//! components from R0 on.

use smallvec::{SmallVec, smallvec};
use warpbound_isa::nvidia::{Modifier, Modifier as M, OperandWord, TextureDimension};
use warpbound_isa::{Operand, OperandValue};

use crate::nvidia::operands::{Operands, and, register_after};
use crate::{BinaryOp, Cell, Expr, ImageKind, Meaning, TextureOp, TextureRead};

/// Consecutive registers of an operand, consumed one by one.
pub(crate) struct RegisterSequence {
    /// Next register; `None` is RZ, and then all of them are.
    next: Option<u8>,
    left: u8,
}

impl RegisterSequence {
    /// All registers are RZ.
    pub(crate) fn zeros() -> RegisterSequence {
        RegisterSequence {
            next: None,
            left: u8::MAX,
        }
    }

    pub(crate) fn of(operand: &Operand) -> Option<RegisterSequence> {
        match operand.value {
            OperandValue::Reg(next) => Some(RegisterSequence {
                next,
                left: operand.count.max(1),
            }),
            _ => None,
        }
    }

    pub(crate) fn take(&mut self) -> Option<Expr> {
        self.left = self.left.checked_sub(1)?;
        let Some(register) = self.next else {
            return Some(Expr::Const(0));
        };
        let cell = register_after(register, 0)?;
        self.next = Some(register + 1);
        Some(Expr::Cell(cell))
    }

    pub(crate) fn take_many(&mut self, count: usize) -> Option<SmallVec<[Expr; 3]>> {
        (0..count).map(|_| self.take()).collect()
    }
}

/// Modifiers of a texture instruction.
#[derive(Default)]
struct TextureModifiers {
    /// `.B`: the handle is in a register.
    bindless: bool,
    /// `.AOFFI`: texel offsets.
    offsets: bool,
    /// `.LL`: explicit level of detail.
    level: bool,
    /// `.LB`: bias of the level of detail.
    bias: bool,
    /// `.CL`: an integer level is clamped to the range.
    clamps: bool,
}

impl TextureModifiers {
    fn of(modifiers: &[Modifier]) -> Option<TextureModifiers> {
        let mut flags = TextureModifiers::default();
        for modifier in modifiers {
            match modifier {
                M::B => flags.bindless = true,
                M::Aoffi => flags.offsets = true,
                M::Ll => flags.level = true,
                M::Lb => flags.bias = true,
                M::Cl => flags.clamps = true,
                // Level 0, issue hints, and missing derivatives have no effect on the result.
                M::Lz | M::Nodep | M::T | M::P | M::Ndv => {}
                _ => return None,
            }
        }
        Some(flags)
    }
}

/// Form of a texture instruction.
#[derive(Clone, Copy, PartialEq, Eq)]
enum TextureForm {
    /// All operands in two groups of registers, without derivatives (TEX, TLD, TLD4, TXQ).
    Long,
    /// As [`TextureForm::Long`], with derivatives (TXD).
    Gradient,
    /// Two groups of two registers, and a component list instead of a mask (TEXS, TLDS, TLD4S).
    Short,
}

/// TEX.
pub(crate) fn sample(modifiers: &[Modifier], operands: &Operands<'_>) -> Option<Meaning> {
    long_form(TextureOp::Sample, TextureForm::Long, modifiers, operands)
}

/// TXD.
pub(crate) fn sample_gradient(modifiers: &[Modifier], operands: &Operands<'_>) -> Option<Meaning> {
    long_form(
        TextureOp::Sample,
        TextureForm::Gradient,
        modifiers,
        operands,
    )
}

/// TLD.
pub(crate) fn texel(modifiers: &[Modifier], operands: &Operands<'_>) -> Option<Meaning> {
    long_form(TextureOp::Texel, TextureForm::Long, modifiers, operands)
}

/// TLD4.
pub(crate) fn gather(modifiers: &[Modifier], operands: &Operands<'_>) -> Option<Meaning> {
    let (op, modifiers) = gather_op(modifiers)?;
    long_form(op, TextureForm::Long, modifiers, operands)
}

/// TEXS.
pub(crate) fn short_sample(modifiers: &[Modifier], operands: &Operands<'_>) -> Option<Meaning> {
    short_form(TextureOp::Sample, modifiers, operands)
}

/// TLDS.
pub(crate) fn short_texel(modifiers: &[Modifier], operands: &Operands<'_>) -> Option<Meaning> {
    short_form(TextureOp::Texel, modifiers, operands)
}

/// TLD4S.
pub(crate) fn short_gather(modifiers: &[Modifier], operands: &Operands<'_>) -> Option<Meaning> {
    let (op, modifiers) = gather_op(modifiers)?;
    short_form(op, modifiers, operands)
}

/// Operation of a gather, from the component in its first modifier, and the other modifiers.
pub(crate) fn gather_op(modifiers: &[Modifier]) -> Option<(TextureOp, &[Modifier])> {
    let (first, rest) = modifiers.split_first()?;
    let component = match first {
        M::R => 0,
        M::G => 1,
        M::B => 2,
        M::A => 3,
        _ => return None,
    };
    Some((TextureOp::Gather(component), rest))
}

/// Source operands of a texture instruction.
struct TextureOperands {
    /// Texture object in constant bank 0; `None` if it is in a register.
    constant: Option<Expr>,
    first: RegisterSequence,
    second: Option<RegisterSequence>,
    /// Words such as the dimension and the components.
    words: SmallVec<[OperandWord; 3]>,
    /// Last integer: the component mask, except in short forms.
    mask: u32,
}

impl TextureOperands {
    fn of(
        form: TextureForm,
        flags: &TextureModifiers,
        operands: &Operands<'_>,
    ) -> Option<TextureOperands> {
        // A destination predicate is for sparse textures, which are not supported.
        if operands.predicates().iter().any(Option::is_some) {
            return None;
        }
        let words = operands
            .reads
            .iter()
            .filter_map(|operand| match operand.value {
                OperandValue::Word { word, .. } if word != OperandWord::Absent => Some(word),
                _ => None,
            })
            .collect();
        let numbers: SmallVec<[u32; 2]> = operands
            .reads
            .iter()
            .filter_map(|operand| match operand.value {
                OperandValue::Int(number) => Some(number as u32),
                _ => None,
            })
            .collect();
        let short = form == TextureForm::Short;
        // Long forms print the mask after the slot, short forms have component names instead.
        let slot = match numbers.as_slice() {
            [slot] if short => Some(*slot),
            [slot, _] if !short && !flags.bindless => Some(*slot),
            // The handle is then the first register of a group.
            [_] if flags.bindless => None,
            _ => return None,
        };
        let mut groups = operands
            .reads
            .iter()
            .filter_map(|o| RegisterSequence::of(o));
        Some(TextureOperands {
            // The texture object is a parameter or another constant: the slot is a word index of bank 0.
            constant: slot.map(|slot| Expr::Constant(0, Expr::Const(4 * slot).into())),
            first: groups.next()?,
            second: groups.next(),
            words,
            mask: *numbers.last()?,
        })
    }
}

/// TXQ: size of a texture.
pub(crate) fn size_query(modifiers: &[Modifier], operands: &Operands<'_>) -> Option<Meaning> {
    let flags = TextureModifiers::of(modifiers)?;
    let mut texture = TextureOperands::of(TextureForm::Long, &flags, operands)?;
    let [OperandWord::TextureSize] = texture.words.as_slice() else {
        return None;
    };
    let handle = match texture.constant {
        Some(constant) => constant,
        None => texture.first.take()?,
    };
    Some(Meaning::TextureSize {
        handle,
        level: texture.first.take()?,
        dests: masked_dests(operands, texture.mask)?,
    })
}

/// Meaning of the forms with all operands in two register groups. The first group has the coordinates and the second
/// the rest. With derivatives (TXD), the second has the derivatives and the first all others.
fn long_form(
    op: TextureOp,
    form: TextureForm,
    modifiers: &[Modifier],
    operands: &Operands<'_>,
) -> Option<Meaning> {
    let flags = TextureModifiers::of(modifiers)?;
    let texture = TextureOperands::of(form, &flags, operands)?;
    let (mut first, mut second) = (texture.first, texture.second?);
    let kind = kind(*texture.words.first()?)?;
    let gradient = form == TextureForm::Gradient;
    // The result of a level out of range without `.CL` is not known; compilers do not emit it.
    if op == TextureOp::Texel && flags.level && !flags.clamps {
        return None;
    }
    let handle = match texture.constant {
        Some(constant) => constant,
        None if gradient => first.take()?,
        None => second.take()?,
    };
    // With derivatives, the layer comes last, in the low half of a register whose high half has the offsets.
    let mut layer = match kind.is_layered() && !gradient {
        true => Some(first.take()?),
        false => None,
    };
    let coordinates = first.take_many(kind.dimensions())?;
    let mut level = None;
    let mut offsets = SmallVec::new();
    if gradient {
        if kind.is_layered() || flags.offsets {
            let word = first.take()?;
            if flags.offsets {
                offsets = signed_fields(&word, 16, 4, kind.dimensions());
            }
            layer = kind.is_layered().then_some(word);
        }
    } else {
        if flags.level {
            level = Some(second.take()?);
        }
        // Hardware chooses the level if there is a bias, so its register is only consumed.
        if flags.bias {
            second.take()?;
        }
        if flags.offsets {
            let word = second.take()?;
            offsets = match op {
                TextureOp::Gather(_) => gather_offsets(&word, kind.dimensions()),
                _ => signed_fields(&word, 0, 4, kind.dimensions()),
            };
        }
    }
    Some(Meaning::Texture(Box::new(TextureRead {
        op,
        kind,
        handle,
        coordinates,
        layer: layer.map(short_layer),
        level,
        offsets,
        dests: masked_dests(operands, texture.mask)?,
    })))
}

/// Meaning of the short forms, whose two groups of two registers have a different layout for each combination.
fn short_form(op: TextureOp, modifiers: &[Modifier], operands: &Operands<'_>) -> Option<Meaning> {
    let flags = TextureModifiers::of(modifiers)?;
    let texture = TextureOperands::of(TextureForm::Short, &flags, operands)?;
    let (mut a, mut b) = (texture.first, texture.second?);
    // A gather prints neither dimension nor components: it is always of a plane, and writes all.
    let (kind, components) = match op {
        TextureOp::Gather(_) => (ImageKind::D2, 0b1111),
        TextureOp::Sample | TextureOp::Texel => {
            let (Some(&dimension), Some(&OperandWord::Components(components))) =
                (texture.words.first(), texture.words.last())
            else {
                return None;
            };
            (kind(dimension)?, components)
        }
    };
    let mut layer = None;
    let mut level = None;
    let mut offsets = SmallVec::new();
    let coordinates = match (op, kind, flags.level, flags.offsets) {
        (TextureOp::Sample, ImageKind::D2, false, false)
        | (TextureOp::Gather(_), ImageKind::D2, false, false) => smallvec![a.take()?, b.take()?],
        (TextureOp::Sample, ImageKind::D2, true, false) => {
            level = Some(b.take()?);
            a.take_many(2)?
        }
        (TextureOp::Sample, ImageKind::Layered2, false, false) => {
            layer = Some(a.take()?);
            smallvec![a.take()?, b.take()?]
        }
        (TextureOp::Sample | TextureOp::Texel, ImageKind::D3, false, false) => {
            smallvec![a.take()?, a.take()?, b.take()?]
        }
        (TextureOp::Texel, ImageKind::D1, false, false) => smallvec![a.take()?],
        (TextureOp::Texel, ImageKind::D2, false, false) => smallvec![a.take()?, b.take()?],
        (TextureOp::Texel, ImageKind::D2, false, true) => {
            offsets = signed_fields(&b.take()?, 0, 4, 2);
            a.take_many(2)?
        }
        (TextureOp::Texel, ImageKind::Layered2, false, false) => {
            layer = Some(a.take()?);
            b.take_many(2)?
        }
        (TextureOp::Gather(_), ImageKind::D2, false, true) => {
            offsets = gather_offsets(&b.take()?, 2);
            a.take_many(2)?
        }
        _ => return None,
    };
    Some(Meaning::Texture(Box::new(TextureRead {
        op,
        kind,
        // Short forms always have a slot.
        handle: texture.constant?,
        coordinates,
        layer: layer.map(short_layer),
        level,
        offsets,
        dests: short_form_dests(components, operands)?,
    })))
}

pub(crate) fn kind(word: OperandWord) -> Option<ImageKind> {
    let OperandWord::Dimension(dimension) = word else {
        return None;
    };
    Some(match dimension {
        TextureDimension::One => ImageKind::D1,
        TextureDimension::Two => ImageKind::D2,
        TextureDimension::Three => ImageKind::D3,
        TextureDimension::OneArray => ImageKind::Layered1,
        TextureDimension::TwoArray => ImageKind::Layered2,
        TextureDimension::ThreeArray | TextureDimension::Cube | TextureDimension::CubeArray => {
            return None;
        }
    })
}

/// Layer number in the low 16 bits; compilers saturate it beforehand.
pub(crate) fn short_layer(word: Expr) -> Expr {
    and(word, Expr::Const(0xffff))
}

/// Signed bit field of a word.
fn signed_field(word: &Expr, first: u32, bits: u32) -> Expr {
    let high = Expr::binary(BinaryOp::Shl, word.clone(), Expr::Const(32 - first - bits));
    Expr::binary(BinaryOp::Sar, high, Expr::Const(32 - bits))
}

/// Consecutive signed bit fields of a word.
fn signed_fields(word: &Expr, first: u32, bits: u32, count: usize) -> SmallVec<[Expr; 3]> {
    let positions = (0..).map(|n| first + bits * n).take(count);
    positions
        .map(|first| signed_field(word, first, bits))
        .collect()
}

/// Offsets of a gather: signed 6-bit fields in the bytes of a word.
fn gather_offsets(word: &Expr, count: usize) -> SmallVec<[Expr; 3]> {
    let positions = (0..).map(|n| 8 * n).take(count);
    positions
        .map(|first| signed_field(word, first, 6))
        .collect()
}

/// Destinations from a component mask: consecutive registers for the components in the mask.
fn masked_dests(operands: &Operands<'_>, mask: u32) -> Option<SmallVec<[(u8, Cell); 4]>> {
    let first = operands.register()?;
    let components = (0..4u8).filter(|component| mask >> component & 1 == 1);
    // A destination in RZ discards all components.
    let Some(cell) = first else {
        return Some(SmallVec::new());
    };
    let first = cell.register().number;
    (0..)
        .zip(components)
        .map(|(n, component)| Some((component, register_after(first, n)?)))
        .collect()
}

/// Destinations of the short forms. The first two components go to the pair of registers printed last, the others to
/// the pair printed first.
fn short_form_dests(components: u8, operands: &Operands<'_>) -> Option<SmallVec<[(u8, Cell); 4]>> {
    let components = (0..4u8).filter(|component| components >> component & 1 == 1);
    let mut registers = operands.writes.iter().filter_map(|o| match o.value {
        OperandValue::Reg(register) => Some(register),
        _ => None,
    });
    let (others, first) = (registers.next()?, registers.next()?);
    let destination = |n: usize| match n {
        0 | 1 => (first, n as u8),
        _ => (others, n as u8 - 2),
    };
    let mut dests = SmallVec::new();
    for (n, component) in components.enumerate() {
        if let (Some(register), offset) = destination(n) {
            dests.push((component, register_after(register, offset)?));
        }
    }
    Some(dests)
}

#[cfg(test)]
mod tests;
