//! Conversions between floating-point formats and integers. For example, v_cvt_u32_f32 of -1.5 is 0, and of 1e20 it
//! is 4294967295.

use super::source::{FloatInstr, apply};
use crate::float::convert::{IntegerType, IntegralRounding};
use crate::float::gcn::{GcnFunction, GcnMode};
use crate::float::{Comparison, FloatOp, Flush, Format, Rounding};
use crate::{BinaryOp, Expr, Meaning, TernaryOp, WordHalf};

/// Returns the meaning of a conversion by its name without `v_cvt_`; `None` if none of its numbers is a float.
pub(super) fn meaning(instr: &FloatInstr<'_>, name: &str) -> Option<Meaning> {
    let to_integer = |from, to| to_integer(instr, from, to, IntegralRounding::Trunc);
    let from_integer = |from, to| {
        let rounding = instr.mode(to)?.rounding;
        number_of_integer(instr, instr.integer(0, to)?, from, to, rounding)
    };
    match name {
        "f32_i32" => from_integer(IntegerType::S32, Format::Single),
        "f32_u32" => from_integer(IntegerType::U32, Format::Single),
        "f64_i32" => from_integer(IntegerType::S32, Format::Double),
        "f64_u32" => from_integer(IntegerType::U32, Format::Double),
        "f16_i16" => from_integer(IntegerType::S16, Format::Half),
        "f16_u16" => from_integer(IntegerType::U16, Format::Half),
        "i32_f32" => to_integer(Format::Single, IntegerType::S32),
        "u32_f32" => to_integer(Format::Single, IntegerType::U32),
        "i32_f64" => to_integer(Format::Double, IntegerType::S32),
        "u32_f64" => to_integer(Format::Double, IntegerType::U32),
        "i16_f16" => to_integer(Format::Half, IntegerType::S16),
        "u16_f16" => to_integer(Format::Half, IntegerType::U16),
        "flr_i32_f32" => floor(instr),
        "f16_f32" => between(instr, Format::Single, Format::Half),
        "f32_f16" => between(instr, Format::Half, Format::Single),
        "f32_f64" => between(instr, Format::Double, Format::Single),
        "f64_f32" => between(instr, Format::Single, Format::Double),
        "f32_ubyte0" => byte(instr, 0),
        "f32_ubyte1" => byte(instr, 1),
        "f32_ubyte2" => byte(instr, 2),
        "f32_ubyte3" => byte(instr, 3),
        "off_f32_i4" => sixteenths(instr),
        "pkrtz_f16_f32" => pair_to_zero(instr),
        // Documents disagree on rounding to bytes and to fractions of an integer, and on whether the sum of v_cvt_rpi
        // is rounded.
        _ => None,
    }
}

fn number_of_integer(
    instr: &FloatInstr<'_>,
    word: Expr,
    from: IntegerType,
    to: Format,
    rounding: Rounding,
) -> Option<Meaning> {
    let op = FloatOp::FromInteger {
        from,
        to,
        rounding,
        absolute: false,
        negate: false,
    };
    instr.set(to, |half| Expr::Float(op, [word.clone()].into(), half))
}

fn to_integer(
    instr: &FloatInstr<'_>,
    from: Format,
    to: IntegerType,
    integral: IntegralRounding,
) -> Option<Meaning> {
    instr.require_no_output_modifiers()?;
    let words = instr.number(0, from)?;
    instr.set_word(integer(&words, from, to, integral))
}

/// Integer to which a float is rounded, clamped to the type; a NaN becomes 0. An integer of 16 bits has zeros above.
fn integer(words: &[Expr], from: Format, to: IntegerType, integral: IntegralRounding) -> Expr {
    let op = FloatOp::ToInteger {
        from,
        to,
        integral,
        // Truncation turns subnormal numbers into 0 anyway.
        flush: Flush::Keep,
    };
    let value = Expr::float(op, words.to_vec());
    match (from, to.width()) {
        (_, 16) => Expr::binary(BinaryOp::And, value, Expr::Const(0xffff)),
        // The operation is NVIDIA's, which gives another number for such a NaN.
        (Format::Double, _) => {
            let is_nan = is_nan(words, from);
            Expr::ternary(TernaryOp::Select, is_nan, Expr::Const(0), value)
        }
        _ => value,
    }
}

fn is_nan(words: &[Expr], format: Format) -> Expr {
    let function = GcnFunction::Compare(Comparison::Nan);
    let words = [words, words].concat();
    apply(function, format, GcnMode::KEEP, &words, WordHalf::Low)
}

/// v_cvt_flr: rounds down. NaNs become the largest or smallest integer by their sign (CLRX documentation). Negative
/// subnormal numbers become -1 only if they are kept.
fn floor(instr: &FloatInstr<'_>) -> Option<Meaning> {
    instr.require_no_output_modifiers()?;
    let words = instr.number(0, Format::Single)?;
    let op = FloatOp::ToInteger {
        from: Format::Single,
        to: IntegerType::S32,
        integral: IntegralRounding::Floor,
        flush: match instr.mode(Format::Single)?.flush_operands {
            true => Flush::Ftz,
            false => Flush::Keep,
        },
    };
    let value = Expr::float(op, words.clone());
    let sign = Expr::binary(BinaryOp::Sar, words.first()?.clone(), Expr::Const(31));
    let extreme = Expr::binary(BinaryOp::Xor, sign, Expr::Const(0x7fff_ffff));
    let is_nan = is_nan(&words, Format::Single);
    instr.set_word(Expr::ternary(TernaryOp::Select, is_nan, extreme, value))
}

/// Conversion between formats. Operands and results are flushed by the modes of their own formats.
fn between(instr: &FloatInstr<'_>, from: Format, to: Format) -> Option<Meaning> {
    let mode = mode_between(instr, from, to)?;
    let words = instr.number(0, from)?;
    let function = GcnFunction::Convert(to);
    instr.set(to, |half| apply(function, from, mode, &words, half))
}

fn mode_between(instr: &FloatInstr<'_>, from: Format, to: Format) -> Option<GcnMode> {
    let (source, dest) = (instr.mode(from)?, instr.mode(to)?);
    let rounding = match (from, to) {
        // Exact.
        (_, Format::Double) | (Format::Half, _) => Rounding::Nearest,
        // The rounding of halves (CLRX documentation).
        (_, Format::Half) => dest.rounding,
        // It is not known which of the two roundings applies.
        _ if source.rounding == dest.rounding => dest.rounding,
        _ => return None,
    };
    Some(GcnMode {
        rounding,
        flush_operands: source.flush_operands,
        flush_results: dest.flush_results,
    })
}

/// v_cvt_f32_ubyte: an unsigned byte of a word.
fn byte(instr: &FloatInstr<'_>, number: u32) -> Option<Meaning> {
    let word = instr.integer(0, Format::Single)?;
    let word = match number {
        0 => word,
        _ => Expr::binary(BinaryOp::Shr, word, Expr::Const(8 * number)),
    };
    let rounding = Rounding::Nearest;
    number_of_integer(instr, word, IntegerType::U8, Format::Single, rounding)
}

/// v_cvt_off: a signed integer of 4 bits, divided by 16.
fn sixteenths(instr: &FloatInstr<'_>) -> Option<Meaning> {
    let high = Expr::binary(
        BinaryOp::Shl,
        instr.integer(0, Format::Single)?,
        Expr::Const(28),
    );
    let signed = Expr::binary(BinaryOp::Sar, high, Expr::Const(28));
    let op = FloatOp::FromInteger {
        from: IntegerType::S32,
        to: Format::Single,
        rounding: Rounding::Nearest,
        absolute: false,
        negate: false,
    };
    let words = [Expr::float(op, [signed]), Expr::Const((-4i32) as u32)];
    instr.set_function(GcnFunction::Ldexp, Format::Single, GcnMode::KEEP, &words)
}

/// v_cvt_pkrtz: two halves, rounded towards zero.
fn pair_to_zero(instr: &FloatInstr<'_>) -> Option<Meaning> {
    instr.require_no_output_modifiers()?;
    instr.require_ieee()?;
    let mode = GcnMode {
        rounding: Rounding::Zero,
        flush_operands: instr.mode(Format::Single)?.flush_operands,
        flush_results: instr.mode(Format::Half)?.flush_results,
    };
    let half = |index| {
        let words = instr.number(index, Format::Single)?;
        let function = GcnFunction::Convert(Format::Half);
        Some(apply(function, Format::Single, mode, &words, WordHalf::Low))
    };
    let high = Expr::binary(BinaryOp::Shl, half(1)?, Expr::Const(16));
    instr.set_word(Expr::binary(BinaryOp::Or, half(0)?, high))
}
