//! Textures: TEX, TEXS, TXD, TLD, TLDS, TLD4, TLD4S, TXQ.
//!
//! The assignment of operands to registers was found by experiments: NVIDIA's compiler and assembler on CUDA C and PTX
//! with distinguishable operands. Forms that no source tried produces have no meaning: cube maps, multisamples, halves
//! as results, offsets for each texel, clamps of the level, the short forms for 1D textures with a level. Depth
//! comparisons depend on the sampler's comparison, which CUDA cannot express.

use smallvec::{SmallVec, smallvec};
use warpbound_isa::{Operand, OperandValue, View};

use super::operands::{Operands, and};
use crate::{BinaryOp, Cell, Expr, ImageKind, Meaning, TextureOp, TextureRead};

/// Consecutive registers of an operand, consumed one by one.
struct RegisterSequence {
    /// Next register; `None` is RZ, then all are.
    next: Option<u8>,
    left: u8,
}

impl RegisterSequence {
    fn of(operand: &Operand) -> Option<RegisterSequence> {
        match operand.value {
            OperandValue::Reg(next) => Some(RegisterSequence {
                next,
                left: operand.count.max(1),
            }),
            _ => None,
        }
    }

    fn take(&mut self) -> Option<Expr> {
        self.left = self.left.checked_sub(1)?;
        let Some(register) = self.next else {
            return Some(Expr::Const(0));
        };
        // R255 is RZ, so no group extends past R254.
        if register == 255 {
            return None;
        }
        self.next = Some(register + 1);
        Some(Expr::Cell(Cell::gpr(register)))
    }

    fn take_many(&mut self, count: usize) -> Option<SmallVec<[Expr; 3]>> {
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
    fn of(modifiers: &[&str]) -> Option<TextureModifiers> {
        let mut flags = TextureModifiers::default();
        for name in modifiers.iter().flat_map(|text| text.split('.').skip(1)) {
            match name {
                "B" => flags.bindless = true,
                "AOFFI" => flags.offsets = true,
                "LL" => flags.level = true,
                "LB" => flags.bias = true,
                "CL" => flags.clamps = true,
                // Level 0, issue hints, no derivatives: no effect on the result.
                "LZ" | "NODEP" | "T" | "P" | "NDV" => {}
                _ => return None,
            }
        }
        Some(flags)
    }
}

pub(super) fn meaning(view: &View, operands: &Operands<'_>) -> Option<Meaning> {
    let mut modifiers = view.modifiers.as_slice();
    let mut component = 0;
    if matches!(view.mnemonic, "TLD4" | "TLD4S") {
        let (first, rest) = modifiers.split_first()?;
        component = [".R", ".G", ".B", ".A"].iter().position(|c| c == first)? as u8;
        modifiers = rest;
    }
    let flags = TextureModifiers::of(modifiers)?;
    // A destination predicate is for sparse textures, which are not supported.
    if operands.predicates().iter().any(Option::is_some) {
        return None;
    }
    let texture = TextureOperands::of(view, operands, &flags)?;
    match view.mnemonic {
        "TEX" | "TXD" | "TLD" | "TLD4" => long_form(view, &flags, component, texture, operands),
        "TEXS" | "TLDS" | "TLD4S" => short_form(view, &flags, component, texture, operands),
        "TXQ" => size_query(texture, operands),
        _ => None,
    }
}

/// Source operands of a texture instruction.
struct TextureOperands<'v> {
    /// Texture object in constant bank 0; `None` if it is in a register.
    constant: Option<Expr>,
    first: RegisterSequence,
    second: Option<RegisterSequence>,
    /// Words such as the dimension and the components.
    words: SmallVec<[&'v str; 3]>,
    /// Last integer: the component mask of all but the short forms.
    mask: u32,
}

impl<'v> TextureOperands<'v> {
    fn of(
        view: &View,
        operands: &Operands<'v>,
        modifiers: &TextureModifiers,
    ) -> Option<TextureOperands<'v>> {
        let words = operands
            .reads
            .iter()
            .filter_map(|operand| match operand.value {
                OperandValue::Word(text) if !text.is_empty() => Some(text),
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
        let short = matches!(view.mnemonic, "TEXS" | "TLDS" | "TLD4S");
        let slot = match numbers.as_slice() {
            [slot] if short => Some(*slot),
            [slot, _] if !short && !modifiers.bindless => Some(*slot),
            [_] if modifiers.bindless => None,
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
fn size_query(mut texture: TextureOperands<'_>, operands: &Operands<'_>) -> Option<Meaning> {
    if texture.words.as_slice() != ["TEX_HEADER_DIMENSION"] {
        return None;
    }
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

/// Meaning of the forms with all operands in two register groups: the first has the coordinates, the second the rest;
/// with derivatives (TXD) the second has these and the first all others.
fn long_form(
    view: &View,
    flags: &TextureModifiers,
    component: u8,
    texture: TextureOperands<'_>,
    operands: &Operands<'_>,
) -> Option<Meaning> {
    let (mut first, mut second) = (texture.first, texture.second?);
    let kind = kind(texture.words.first()?)?;
    let gradient = view.mnemonic == "TXD";
    let op = match view.mnemonic {
        "TLD" => TextureOp::Texel,
        "TLD4" => TextureOp::Gather(component),
        _ => TextureOp::Sample,
    };
    // Unknown: the result of a level out of range without `.CL`; compilers do not emit it.
    if op == TextureOp::Texel && flags.level && !flags.clamps {
        return None;
    }
    let handle = match texture.constant {
        Some(constant) => constant,
        None if gradient => first.take()?,
        None => second.take()?,
    };
    // With derivatives the layer comes last, in the low half of a register whose high half has the offsets.
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
fn short_form(
    view: &View,
    flags: &TextureModifiers,
    component: u8,
    texture: TextureOperands<'_>,
    operands: &Operands<'_>,
) -> Option<Meaning> {
    let (mut a, mut b) = (texture.first, texture.second?);
    let (op, kind) = match view.mnemonic {
        "TEXS" => (TextureOp::Sample, kind(texture.words.first()?)?),
        "TLDS" => (TextureOp::Texel, kind(texture.words.first()?)?),
        _ => (TextureOp::Gather(component), ImageKind::D2),
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
        handle: texture.constant?,
        coordinates,
        layer: layer.map(short_layer),
        level,
        offsets,
        dests: short_form_dests(view, operands, &texture.words)?,
    })))
}

fn kind(name: &str) -> Option<ImageKind> {
    Some(match name {
        "1D" => ImageKind::D1,
        "2D" => ImageKind::D2,
        "3D" => ImageKind::D3,
        "ARRAY_1D" => ImageKind::Layered1,
        "ARRAY_2D" => ImageKind::Layered2,
        _ => return None,
    })
}

/// Layer number in the low 16 bits; compilers saturate it beforehand.
fn short_layer(word: Expr) -> Expr {
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

/// Destinations by a component mask: consecutive registers for the components in the mask.
fn masked_dests(operands: &Operands<'_>, mask: u32) -> Option<SmallVec<[(u8, Cell); 4]>> {
    let first = operands.register()?;
    let components = (0..4u8).filter(|component| mask >> component & 1 == 1);
    let Some(cell) = first else {
        return Some(SmallVec::new());
    };
    let first = cell.index() as u8;
    (0..)
        .zip(components)
        .map(|(n, component)| {
            let register = first.checked_add(n).filter(|&r| r < 255)?;
            Some((component, Cell::gpr(register)))
        })
        .collect()
}

/// Destinations of the short forms: the first two components go to the pair of registers printed last, the others to
/// the pair printed first.
fn short_form_dests(
    view: &View,
    operands: &Operands<'_>,
    words: &[&str],
) -> Option<SmallVec<[(u8, Cell); 4]>> {
    let names = match view.mnemonic {
        "TLD4S" => "RGBA",
        _ => words.last()?,
    };
    let components: SmallVec<[u8; 4]> = names
        .chars()
        .map(|name| "RGBA".find(name).map(|index| index as u8))
        .collect::<Option<_>>()?;
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
    for (n, &component) in components.iter().enumerate() {
        if let (Some(register), offset) = destination(n) {
            let register = register.checked_add(offset).filter(|&r| r < 255)?;
            dests.push((component, Cell::gpr(register)));
        }
    }
    Some(dests)
}

#[cfg(test)]
mod tests;
