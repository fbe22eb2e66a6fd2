//! Conversions with a floating-point side: F2F, F2I, I2F. (I2I is in [`super::resize`].) For example,
//! `F2I.S32.F32.TRUNC R0, R1` has the modifiers destination, source, rounding, in this order.

use warpbound_isa::nvidia::{Modifier, Modifier as M, Part};
use warpbound_isa::{Operand, OperandValue};

use super::modifier_reader::ModifierReader;
use crate::float::convert::{IntegerType, IntegralRounding};
use crate::float::{FloatOp, Format};
use crate::nvidia::operands::{Operands, and, shr, with_sign, word_of};
use crate::{Expr, Meaning};

/// F2F: between floating-point formats, or to an integral value of the same format.
pub(crate) fn float_to_float(modifiers: &[Modifier], operands: &Operands<'_>) -> Option<Meaning> {
    let mut modifiers = ModifierReader::of(modifiers);
    let operand = operands.reads.first()?;
    let flush = modifiers.flush();
    let (to, from) = (format(modifiers.next()?)?, format(modifiers.next()?)?);
    let op = match integral(&mut modifiers) {
        // Rounding to an integer together with a change of format is not modelled.
        Some(integral) if from == to => FloatOp::ToIntegral {
            format: to,
            integral,
            flush,
            saturate: modifiers.take(M::Sat),
        },
        Some(_) => return None,
        None => FloatOp::ToFormat {
            from,
            to,
            rounding: modifiers.rounding(),
            flush,
            saturate: modifiers.take(M::Sat),
        },
    };
    modifiers.finish()?;
    result(op, float_words(operand, from)?, to.width(), operands)
}

/// F2I.
pub(crate) fn float_to_integer(modifiers: &[Modifier], operands: &Operands<'_>) -> Option<Meaning> {
    let mut modifiers = ModifierReader::of(modifiers);
    let operand = operands.reads.first()?;
    let flush = modifiers.flush();
    let (to, from) = (integer(modifiers.next()?)?, format(modifiers.next()?)?);
    let integral = integral(&mut modifiers).unwrap_or(IntegralRounding::Nearest);
    modifiers.finish()?;
    let op = FloatOp::ToInteger {
        from,
        to,
        integral,
        flush,
    };
    result(op, float_words(operand, from)?, to.width(), operands)
}

/// I2F.
pub(crate) fn integer_to_float(modifiers: &[Modifier], operands: &Operands<'_>) -> Option<Meaning> {
    let mut modifiers = ModifierReader::of(modifiers);
    let operand = operands.reads.first()?;
    let (to, from) = (format(modifiers.next()?)?, integer(modifiers.next()?)?);
    let rounding = modifiers.rounding();
    modifiers.finish()?;
    let op = FloatOp::FromInteger {
        from,
        to,
        rounding,
        absolute: operand.absolute,
        negate: operand.negate,
    };
    result(op, integer_words(operand, from)?, to.width(), operands)
}

/// Assigns a result of 32 or 64 bits to one or two registers.
pub(crate) fn result(
    op: FloatOp,
    words: Vec<Expr>,
    width: u32,
    operands: &Operands<'_>,
) -> Option<Meaning> {
    match width {
        64 => operands.set_register_pair(|half| Expr::Float(op, words.clone().into(), half)),
        _ => operands.set_register(Expr::float(op, words)),
    }
}

pub(crate) fn format(modifier: Modifier) -> Option<Format> {
    Some(match modifier {
        M::F16 => Format::Half,
        M::F32 => Format::Single,
        M::F64 => Format::Double,
        _ => return None,
    })
}

pub(crate) fn integer(modifier: Modifier) -> Option<IntegerType> {
    const TYPES: [Modifier; 8] = [M::U8, M::U16, M::U32, M::U64, M::S8, M::S16, M::S32, M::S64];
    let number = TYPES.iter().position(|known| *known == modifier)?;
    IntegerType::ALL.get(number).copied()
}

pub(crate) fn integral(modifiers: &mut ModifierReader<'_>) -> Option<IntegralRounding> {
    let names = [
        (M::Round, IntegralRounding::Nearest),
        (M::Floor, IntegralRounding::Floor),
        (M::Ceil, IntegralRounding::Ceil),
        (M::Trunc, IntegralRounding::Trunc),
    ];
    let found = names.iter().find(|(name, _)| modifiers.take(*name));
    found.map(|(_, integral)| *integral)
}

/// Words of a float, with absolute value and negation.
pub(crate) fn float_words(operand: &Operand, format: Format) -> Option<Vec<Expr>> {
    let words = match (operand.value, format) {
        (OperandValue::Half(bits), Format::Half) => vec![Expr::Const(bits.into())],
        (OperandValue::Single(bits), Format::Single) => vec![Expr::Const(bits)],
        (OperandValue::Double(bits), Format::Double) => {
            vec![Expr::Const(bits as u32), Expr::Const((bits >> 32) as u32)]
        }
        (_, Format::Double) => vec![word_of(operand, 0)?, word_of(operand, 1)?],
        _ => vec![word_of(operand, 0)?],
    };
    let words = match (operand.part, format) {
        (Part::Whole, _) => words,
        (Part::H1, Format::Half) => words
            .into_iter()
            .map(|word| shr(word, Expr::Const(16)))
            .collect(),
        _ => return None,
    };
    // The sign bit is in the last word.
    let sign = 1 << ((format.width() - 1) % 32);
    let mut words = words;
    let last = words.pop()?;
    words.push(with_sign(last, operand, sign));
    Some(words)
}

/// Words of an integer, with the selected part shifted down.
pub(crate) fn integer_words(operand: &Operand, kind: IntegerType) -> Option<Vec<Expr>> {
    let count = kind.width().div_ceil(32) as u8;
    let words = match operand.value {
        OperandValue::Int(value) => (0..count)
            .map(|number| Some(Expr::Const((value >> (32 * number)) as u32)))
            .collect::<Option<Vec<Expr>>>()?,
        _ => (0..count)
            .map(|number| word_of(operand, number))
            .collect::<Option<Vec<Expr>>>()?,
    };
    let shift = match (operand.part, kind.width()) {
        (Part::Whole, _) => return Some(words),
        (Part::B1, 8) => 8,
        (Part::B2, 8) => 16,
        (Part::B3, 8) => 24,
        (Part::H1, 16) => 16,
        _ => return None,
    };
    let used = Expr::Const(u32::MAX >> (32 - kind.width()));
    let shifted = |word| and(shr(word, Expr::Const(shift)), used.clone());
    Some(words.into_iter().map(shifted).collect())
}
