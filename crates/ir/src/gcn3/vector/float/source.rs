//! Sources and results of floating-point instructions. For example, the source `-|v1|` of a single is v1 with bit 31
//! cleared and then set, and the inline constant 1.0 of a half is 0x3c00.

use warpbound_isa::amd::{GcnModifiers, GcnValue};

use crate::float::gcn::{GcnFloat, GcnFunction, GcnMode};
use crate::float::{FloatOp, Format};
use crate::gcn3::mode::ModeState;
use crate::gcn3::operands::{self, Operands};
use crate::{BinaryOp, Cell, Expr, Meaning, WordHalf};

/// Format of an instruction, from the end of its name.
pub(super) fn format(name: &str) -> Option<Format> {
    Some(match name {
        "f16" => Format::Half,
        "f32" => Format::Single,
        "f64" => Format::Double,
        _ => return None,
    })
}

/// Floating-point instruction: operands, modifiers, modes.
pub(super) struct FloatInstr<'a> {
    pub(super) modifiers: &'a GcnModifiers,
    pub(super) o: &'a Operands<'a>,
    pub(super) mode: ModeState,
}

impl FloatInstr<'_> {
    /// Modes of arithmetic in a format.
    pub(super) fn mode(&self, format: Format) -> Option<GcnMode> {
        match format {
            Format::Single => self.mode.single(),
            Format::Half | Format::Double => self.mode.double(),
        }
    }

    /// Words of a source in a format, with its modifiers.
    pub(super) fn number(&self, index: usize, format: Format) -> Option<Vec<Expr>> {
        let source = self.o.source(index)?;
        // Sign extension concerns integers only.
        if source.sext {
            return None;
        }
        let mut words = self.without_modifiers(index, format)?;
        let high = words.pop()?;
        let sign = match format {
            Format::Half => 0x8000,
            Format::Single | Format::Double => 0x8000_0000,
        };
        let high = match source.abs {
            true => Expr::binary(BinaryOp::And, high, Expr::Const(!sign)),
            false => high,
        };
        words.push(match source.neg {
            true => Expr::binary(BinaryOp::Xor, high, Expr::Const(sign)),
            false => high,
        });
        Some(words)
    }

    fn without_modifiers(&self, index: usize, format: Format) -> Option<Vec<Expr>> {
        let words = |bits: u64| match format {
            Format::Half => vec![Expr::Const(bits as u32 & 0xffff)],
            Format::Single => vec![Expr::Const(bits as u32)],
            Format::Double => [WordHalf::Low, WordHalf::High]
                .map(|half| Expr::Const(half.of(bits)))
                .into(),
        };
        match (self.o.source(index)?.value, format) {
            (GcnValue::Int(value), _) => Some(words(i64::from(value) as u64)),
            (GcnValue::InlineFloat(number), _) => Some(words(inline_number(number, format)?)),
            // The literal of a double is its high word; the low word is 0.
            (GcnValue::Literal(value), Format::Double) => Some(words(u64::from(value) << 32)),
            (GcnValue::Literal(value) | GcnValue::Immediate(value), _) => Some(words(value.into())),
            (_, Format::Double) => Some(vec![self.o.word(index, 0)?, self.o.word(index, 1)?]),
            (_, Format::Half | Format::Single) => Some(vec![self.o.word(index, 0)?]),
        }
    }

    /// Word of a source that is an integer, of 16 bits for halves. SDWA selects and extends it. Inline floats have no
    /// defined value as 16-bit integers.
    pub(super) fn integer(&self, index: usize, format: Format) -> Option<Expr> {
        let source = self.o.source(index)?;
        let is_undefined =
            format == Format::Half && matches!(source.value, GcnValue::InlineFloat(_));
        match source.neg || source.abs || is_undefined {
            true => None,
            false => self.o.word(index, 0),
        }
    }

    /// Words of several sources in a format, one after the other.
    pub(super) fn numbers(&self, indices: &[usize], format: Format) -> Option<Vec<Expr>> {
        let mut words = Vec::new();
        for &index in indices {
            words.extend(self.number(index, format)?);
        }
        Some(words)
    }

    /// Succeeds if NaNs become quiet and `omod` is ignored.
    pub(super) fn require_ieee(&self) -> Option<()> {
        self.mode.is_ieee()?.then_some(())
    }

    /// Succeeds if no modifier changes a result that is no float.
    pub(super) fn require_no_output_modifiers(&self) -> Option<()> {
        (!self.modifiers.clamp && self.modifiers.omod == 0).then_some(())
    }

    /// Assignment of a float to the first destination; `word` returns each of its words.
    pub(super) fn set(&self, format: Format, word: impl Fn(WordHalf) -> Expr) -> Option<Meaning> {
        self.require_ieee()?;
        let halves = match format {
            Format::Double => &[WordHalf::Low, WordHalf::High][..],
            Format::Half | Format::Single => &[WordHalf::Low],
        };
        let clamp = match self.modifiers.clamp {
            false => None,
            // The bit DX10_CLAMP of MODE decides what a NaN becomes.
            true if self.mode.clamps_nan()? => Some(GcnFunction::Clamp),
            true => Some(GcnFunction::ClampNumber),
        };
        let clamped = |half| match clamp {
            None => word(half),
            Some(function) => {
                // The clamp compares whole numbers, so each word of its result depends on both words.
                let words: Vec<Expr> = halves.iter().map(|half| word(*half)).collect();
                apply(function, format, GcnMode::KEEP, &words, half)
            }
        };
        let cell = |number| self.o.dest_cell(0, number);
        let assignments = (0..)
            .zip(halves)
            .map(|(number, half)| Some((cell(number)?, clamped(*half))));
        Some(Meaning::Set(assignments.collect::<Option<_>>()?))
    }

    /// Assignment of the result of a function to the first destination.
    pub(super) fn set_function(
        &self,
        function: GcnFunction,
        format: Format,
        mode: GcnMode,
        words: &[Expr],
    ) -> Option<Meaning> {
        self.set(format, |half| apply(function, format, mode, words, half))
    }

    /// Assignment of a word to the first destination.
    pub(super) fn set_word(&self, value: Expr) -> Option<Meaning> {
        Some(Meaning::set(self.o.dest_cell(0, 0)?, value))
    }

    /// Assignments of the mask of active lanes whose value is not 0, to a pair of scalar cells.
    pub(super) fn ballot(&self, dest: usize, value: &Expr) -> Option<[(Cell, Expr); 2]> {
        let operand = self.o.dest(dest)?;
        let word = |number, half| {
            let cell = operands::register(operand, number)?;
            let is_scalar = matches!(operand.value, GcnValue::Scalar(_));
            is_scalar.then(|| (cell, Expr::Ballot(value.clone().into(), half)))
        };
        Some([word(0, WordHalf::Low)?, word(1, WordHalf::High)?])
    }
}

/// One word of the result of a function.
pub(super) fn apply(
    function: GcnFunction,
    format: Format,
    mode: GcnMode,
    words: &[Expr],
    half: WordHalf,
) -> Expr {
    let operation = GcnFloat {
        function,
        format,
        mode,
    };
    Expr::Float(FloatOp::Gcn(operation), words.into(), half)
}

/// Inline constant in a format.
fn inline_number(number: u8, format: Format) -> Option<u64> {
    let single = operands::inline_single(number)?;
    Some(match (number, format) {
        // 1/(2 pi) in each format (LLVM, `OPERAND_REG_INLINE_C_FP16`, `OPERAND_REG_INLINE_C_FP64`).
        (248, Format::Half) => 0x3118,
        (248, Format::Double) => 0x3fc4_5f30_6dc9_c882,
        (_, Format::Single) => single.into(),
        (_, Format::Double) => f64::from(f32::from_bits(single)).to_bits(),
        // The other constants are powers of two, so only the bias of the exponent differs.
        (_, Format::Half) => {
            let exponent = (single >> 23 & 0xff) - (127 - 15);
            u64::from(single >> 16 & 0x8000 | exponent << 10)
        }
    })
}
