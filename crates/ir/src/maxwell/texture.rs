//! Textures: TEX, TEXS, TXD, TLD, TLDS, TLD4, TLD4S, TXQ.
//!
//! Which register holds what is known from what NVIDIA's compiler and assembler make of CUDA C and PTX whose operands can
//! be told apart. Forms that they did not make of any source tried have no meaning here: cube maps, multisamples, halves
//! as results, offsets for each texel, clamps of the level, the short forms for 1D textures with a level. Comparisons with
//! depths depend on the sampler's comparison, which CUDA has no words for.

use smallvec::{SmallVec, smallvec};
use warpbound_isa::{Operand, OperandValue, View};

use super::operands::{Operands, and};
use crate::{BinaryOp, Cell, Expr, ImageKind, Meaning, TextureRead, TextureOp};

/// Registers one after the other, of which each is taken once.
struct RegisterSequence {
    /// `None` is RZ, of which all are.
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
        // The last register has none behind it.
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

/// What the modifiers say; `None` for one that has no meaning here.
#[derive(Default)]
struct TextureModifiers {
    /// `.B`: the handle is in a register.
    bindless: bool,
    offsets: bool,
    /// `.LL`.
    level: bool,
    /// `.LB`.
    bias: bool,
    /// `.CL`: a level that is an integer stays in range.
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
                // The level is 0; how instructions are issued on which nothing depends; that no derivatives are made.
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
    // A predicate that is written belongs to sparse textures.
    if operands.predicates().iter().any(Option::is_some) {
        return None;
    }
    let words: SmallVec<[&str; 3]> = operands
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
    let mut groups = operands.reads.iter().filter_map(|o| RegisterSequence::of(o));
    let mut first = groups.next()?;
    let second = groups.next();
    let short = matches!(view.mnemonic, "TEXS" | "TLDS" | "TLD4S");
    let slot = match numbers.as_slice() {
        [slot] if short => Some(*slot),
        [slot, _] if !short && !flags.bindless => Some(*slot),
        [_] if flags.bindless => None,
        _ => return None,
    };
    // The object is a parameter, or another constant: the slot counts words of bank 0.
    let constant = slot.map(|slot| Expr::Constant(0, Expr::Const(4 * slot).into()));
    if view.mnemonic == "TXQ" {
        if words.as_slice() != ["TEX_HEADER_DIMENSION"] {
            return None;
        }
        let handle = match constant {
            Some(constant) => constant,
            None => first.take()?,
        };
        return Some(Meaning::TextureSize {
            handle,
            level: first.take()?,
            dests: masked_dests(operands, *numbers.last()?)?,
        });
    }
    let mut second = second?;
    if short {
        let dests = short_form_dests(view, operands, &words)?;
        return short_form(
            view, &flags, component, constant?, first, second, &words, dests,
        );
    }
    let kind = kind(words.first()?)?;
    let gradient = view.mnemonic == "TXD";
    let what = match view.mnemonic {
        "TEX" | "TXD" => TextureOp::Sample,
        "TLD" => TextureOp::Texel,
        "TLD4" => TextureOp::Gather(component),
        _ => return None,
    };
    // Compilers write no level without it that could be out of range.
    if what == TextureOp::Texel && flags.level && !flags.clamps {
        return None;
    }
    let handle = match constant {
        Some(constant) => constant,
        None if gradient => first.take()?,
        None => second.take()?,
    };
    // With derivatives the layer comes last, in the low half of a register; the high one is for offsets.
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
            offsets = match what {
                TextureOp::Gather(_) => gather_offsets(&word, kind.dimensions()),
                _ => signed_fields(&word, 0, 4, kind.dimensions()),
            };
        }
    }
    Some(Meaning::Texture(Box::new(TextureRead {
        op: what,
        kind,
        handle,
        coordinates,
        layer: layer.map(short_layer),
        level,
        offsets,
        dests: masked_dests(operands, *numbers.last()?)?,
    })))
}

/// The short forms, whose two groups of two registers hold different things for each combination.
#[allow(clippy::too_many_arguments)]
fn short_form(
    view: &View,
    flags: &TextureModifiers,
    component: u8,
    handle: Expr,
    mut a: RegisterSequence,
    mut b: RegisterSequence,
    words: &[&str],
    dests: SmallVec<[(u8, Cell); 4]>,
) -> Option<Meaning> {
    let (what, kind) = match view.mnemonic {
        "TEXS" => (TextureOp::Sample, kind(words.first()?)?),
        "TLDS" => (TextureOp::Texel, kind(words.first()?)?),
        _ => (TextureOp::Gather(component), ImageKind::D2),
    };
    let mut layer = None;
    let mut level = None;
    let mut offsets = SmallVec::new();
    let coordinates = match (what, kind, flags.level, flags.offsets) {
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
        op: what,
        kind,
        handle,
        coordinates,
        layer: layer.map(short_layer),
        level,
        offsets,
        dests,
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

/// Compilers saturate layers to 16 bits before.
fn short_layer(word: Expr) -> Expr {
    and(word, Expr::Const(0xffff))
}

/// A signed number of some bits inside a word.
fn signed_field(word: &Expr, first: u32, bits: u32) -> Expr {
    let high = Expr::binary(BinaryOp::Shl, word.clone(), Expr::Const(32 - first - bits));
    Expr::binary(BinaryOp::Sar, high, Expr::Const(32 - bits))
}

/// Signed numbers of some bits, one behind the other.
fn signed_fields(word: &Expr, first: u32, bits: u32, count: usize) -> SmallVec<[Expr; 3]> {
    let places = (0..).map(|n| first + bits * n).take(count);
    places.map(|place| signed_field(word, place, bits)).collect()
}

/// Signed numbers of 6 bits in the bytes of a word.
fn gather_offsets(word: &Expr, count: usize) -> SmallVec<[Expr; 3]> {
    let places = (0..).map(|n| 8 * n).take(count);
    places.map(|place| signed_field(word, place, 6)).collect()
}

/// The components of a mask go to registers one after the other.
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

/// The components of the short forms: the first two go to the register of the lower bits and the one behind it, the
/// others to the register that is printed first and the one behind that.
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
        .map(|name| "RGBA".find(name).map(|place| place as u8))
        .collect::<Option<_>>()?;
    let mut registers = operands.writes.iter().filter_map(|o| match o.value {
        OperandValue::Reg(register) => Some(register),
        _ => None,
    });
    let (others, first) = (registers.next()?, registers.next()?);
    let place = |n: usize| match n {
        0 | 1 => (first, n as u8),
        _ => (others, n as u8 - 2),
    };
    let mut dests = SmallVec::new();
    for (n, &component) in components.iter().enumerate() {
        if let (Some(register), behind) = place(n) {
            let register = register.checked_add(behind).filter(|&r| r < 255)?;
            dests.push((component, Cell::gpr(register)));
        }
    }
    Some(dests)
}

#[cfg(test)]
mod tests;
