//! Conversions with a floating-point side: F2F, F2I, I2F. (I2I is in [`super::resize`].)

use warpbound_isa::{Operand, OperandValue, View};

use super::float::Modifiers;
use super::operands::{Operands, and, shr, with_sign, word_of};
use crate::float::convert::{IntegerType, IntegralRounding};
use crate::float::{FloatOp, Format};
use crate::{Expr, Meaning};

pub(super) fn meaning(view: &View, operands: &Operands<'_>) -> Option<Meaning> {
    if operands.sets_cc() {
        return None;
    }
    let mut modifiers = Modifiers::of(view.modifiers.as_slice());
    let operand = operands.reads.first()?;
    match view.mnemonic {
        "F2F" => {
            let flush = modifiers.flush();
            let (to, from) = (format(modifiers.next()?)?, format(modifiers.next()?)?);
            let op = match integral(&mut modifiers) {
                Some(integral) if from == to => FloatOp::ToIntegral {
                    format: to,
                    integral,
                    flush,
                    saturate: modifiers.take(".SAT"),
                },
                Some(_) => return None,
                None => FloatOp::ToFormat {
                    from,
                    to,
                    rounding: modifiers.rounding(),
                    flush,
                    saturate: modifiers.take(".SAT"),
                },
            };
            modifiers.finish()?;
            result(op, float_words(operand, from)?, to.width(), operands)
        }
        "F2I" => {
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
        "I2F" => {
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
        _ => None,
    }
}

/// Assigns a result of 32 or 64 bits to one or two registers.
fn result(op: FloatOp, words: Vec<Expr>, width: u32, operands: &Operands<'_>) -> Option<Meaning> {
    match width {
        64 => operands.set_register_pair(|half| Expr::Float(op, words.clone().into(), half)),
        _ => operands.set_register(Expr::float(op, words)),
    }
}

fn format(name: &str) -> Option<Format> {
    Some(match name {
        ".F16" => Format::Half,
        ".F32" => Format::Single,
        ".F64" => Format::Double,
        _ => return None,
    })
}

fn integer(name: &str) -> Option<IntegerType> {
    const NAMES: [&str; 8] = [".U8", ".U16", ".U32", ".U64", ".S8", ".S16", ".S32", ".S64"];
    let number = NAMES.iter().position(|spelled| *spelled == name)?;
    IntegerType::ALL.get(number).copied()
}

fn integral(modifiers: &mut Modifiers<'_>) -> Option<IntegralRounding> {
    let names = [
        (".ROUND", IntegralRounding::Nearest),
        (".FLOOR", IntegralRounding::Floor),
        (".CEIL", IntegralRounding::Ceil),
        (".TRUNC", IntegralRounding::Trunc),
    ];
    let found = names.iter().find(|(name, _)| modifiers.take(name));
    found.map(|(_, integral)| *integral)
}

/// Words of a float, with absolute value and negation.
fn float_words(operand: &Operand, format: Format) -> Option<Vec<Expr>> {
    let words = match (operand.value, format) {
        (OperandValue::Half(bits), Format::Half) => vec![Expr::Const(bits.into())],
        (OperandValue::Single(bits), Format::Single) => vec![Expr::Const(bits)],
        (OperandValue::Double(bits), Format::Double) => {
            vec![Expr::Const(bits as u32), Expr::Const((bits >> 32) as u32)]
        }
        (_, Format::Double) => vec![word_of(operand, 0)?, word_of(operand, 1)?],
        _ => vec![word_of(operand, 0)?],
    };
    let words = match (operand.select, format) {
        ("", _) => words,
        (".H1", Format::Half) => words
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
fn integer_words(operand: &Operand, kind: IntegerType) -> Option<Vec<Expr>> {
    let count = kind.width().div_ceil(32) as u8;
    let words = match operand.value {
        OperandValue::Int(value) => (0..count)
            .map(|number| Some(Expr::Const((value >> (32 * number)) as u32)))
            .collect::<Option<Vec<Expr>>>()?,
        _ => (0..count)
            .map(|number| word_of(operand, number))
            .collect::<Option<Vec<Expr>>>()?,
    };
    let shift = match (operand.select, kind.width()) {
        ("", _) => return Some(words),
        (".B1", 8) => 8,
        (".B2", 8) => 16,
        (".B3", 8) => 24,
        (".H1", 16) => 16,
        _ => return None,
    };
    let used = Expr::Const(u32::MAX >> (32 - kind.width()));
    let shifted = |word| and(shr(word, Expr::Const(shift)), used.clone());
    Some(words.into_iter().map(shifted).collect())
}
