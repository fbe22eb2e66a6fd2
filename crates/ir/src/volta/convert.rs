//! Conversions. Formats that are not printed are single and signed words of 32 bits. For example, `F2I.U64.TRUNC R2, R4`
//! converts a single.

use warpbound_isa::nvidia::{Modifier, Modifier as M};

use crate::float::convert::{IntegerType, IntegralRounding};
use crate::float::{FloatOp, Flush, Format, Rounding};
use crate::maxwell::convert::{float_words, format, integer, integer_words, integral, result};
use crate::maxwell::modifier_reader::ModifierReader;
use crate::nvidia::operands::{Operands, or, shl};
use crate::{Expr, Meaning};

/// Signed words of 32 bits.
fn signed_word() -> Option<IntegerType> {
    integer(M::S32)
}

/// Takes a format if one is next.
fn take_format(modifiers: &mut ModifierReader<'_>) -> Option<Format> {
    let found = modifiers.rest().first().copied().and_then(format);
    if found.is_some() {
        modifiers.next();
    }
    found
}

/// Takes an integer type if one is next.
fn take_integer(modifiers: &mut ModifierReader<'_>) -> Option<IntegerType> {
    let found = modifiers.rest().first().copied().and_then(integer);
    if found.is_some() {
        modifiers.next();
    }
    found
}

/// F2F: between floating-point formats.
pub(super) fn float_to_float(modifiers: &[Modifier], operands: &Operands<'_>) -> Option<Meaning> {
    let mut modifiers = ModifierReader::of(modifiers);
    let operand = operands.reads.first()?;
    let flush = modifiers.flush();
    if modifiers.take(M::Bf16) {
        // Up to sm_90 compilers store the result as a word where a program extends it with zeros.
        let is_single = modifiers.take(M::F32) && flush == Flush::Keep;
        let op = FloatOp::SingleToBfloat(modifiers.rounding());
        modifiers.finish().filter(|()| is_single)?;
        return operands.set_register(Expr::float(op, [operands.single(0)?]));
    }
    let (to, from) = (format(modifiers.next()?)?, format(modifiers.next()?)?);
    let op = FloatOp::ToFormat {
        from,
        to,
        rounding: modifiers.rounding(),
        flush,
        saturate: modifiers.take(M::Sat),
    };
    modifiers.finish()?;
    result(op, float_words(operand, from)?, to.width(), operands)
}

/// F2FP: two singles to a pair of halves or of numbers of bfloat16, the first operand in the high half (PTX manual, `cvt`
/// to `.f16x2` and `.bf16x2`). Up to sm_86 the disassembler prints no format of the operands, nor of halves.
pub(super) fn pack(modifiers: &[Modifier], operands: &Operands<'_>) -> Option<Meaning> {
    let (to_half, rest) = match modifiers {
        [M::PackAb, rest @ ..] | [M::F16, M::F32, M::PackAb, rest @ ..] => (true, rest),
        [M::Bf16, M::PackAb, rest @ ..] | [M::Bf16, M::F32, M::PackAb, rest @ ..] => (false, rest),
        _ => return None,
    };
    let rounding = match rest {
        [] => Rounding::Nearest,
        [M::Rz] => Rounding::Zero,
        _ => return None,
    };
    let op = match to_half {
        true => FloatOp::ToFormat {
            from: Format::Single,
            to: Format::Half,
            rounding,
            flush: Flush::Keep,
            saturate: false,
        },
        false => FloatOp::SingleToBfloat(rounding),
    };
    let [high, low] = [operands.single(0)?, operands.single(1)?].map(|of| Expr::float(op, [of]));
    operands.set_register(or(low, shl(high, Expr::Const(16))))
}

/// FRND: to an integral value of the same format.
pub(super) fn round(modifiers: &[Modifier], operands: &Operands<'_>) -> Option<Meaning> {
    let mut modifiers = ModifierReader::of(modifiers);
    let operand = operands.reads.first()?;
    let flush = modifiers.flush();
    let format = take_format(&mut modifiers).unwrap_or(Format::Single);
    let op = FloatOp::ToIntegral {
        format,
        integral: integral(&mut modifiers).unwrap_or(IntegralRounding::Nearest),
        flush,
        saturate: false,
    };
    modifiers.finish()?;
    result(op, float_words(operand, format)?, format.width(), operands)
}

/// F2I. `.NTZ` prints that a NaN becomes 0, as it does for words without it (PTX manual, `cvt`).
pub(super) fn float_to_integer(modifiers: &[Modifier], operands: &Operands<'_>) -> Option<Meaning> {
    let mut modifiers = ModifierReader::of(modifiers);
    let operand = operands.reads.first()?;
    let flush = modifiers.flush();
    let to = take_integer(&mut modifiers).or_else(signed_word)?;
    let from = take_format(&mut modifiers).unwrap_or(Format::Single);
    let op = FloatOp::ToInteger {
        from,
        to,
        integral: integral(&mut modifiers).unwrap_or(IntegralRounding::Nearest),
        flush,
    };
    let nan_is_zero = modifiers.take(M::Ntz);
    modifiers.finish()?;
    // No document and no code of a compiler shows `.NTZ` with another source, or with results of 64 bits.
    if nan_is_zero && (from != Format::Single || to.width() > 32) {
        return None;
    }
    result(op, float_words(operand, from)?, to.width(), operands)
}

/// F2IP: two floats to a pair of bytes, and a third operand. Compilers convert one float with it, whose byte is the lowest
/// one. No document says where the others go, so both must be zeros.
pub(super) fn float_to_packed_integer(
    modifiers: &[Modifier],
    operands: &Operands<'_>,
) -> Option<Meaning> {
    let mut modifiers = ModifierReader::of(modifiers);
    let to = take_integer(&mut modifiers).filter(|to| to.width() == 8 && !to.signed())?;
    let from = take_format(&mut modifiers).filter(|from| *from == Format::Single)?;
    let integral = integral(&mut modifiers).unwrap_or(IntegralRounding::Nearest);
    let nan_is_zero = modifiers.take(M::Ntz);
    modifiers.finish().filter(|()| nan_is_zero)?;
    let is_zero = |index: usize| operands.bits(index) == Some(Expr::Const(0));
    if !is_zero(0) || !is_zero(2) {
        return None;
    }
    let op = FloatOp::ToInteger {
        from,
        to,
        integral,
        flush: Flush::Keep,
    };
    operands.set_register(Expr::float(op, [operands.single(1)?]))
}

/// I2F.
pub(super) fn integer_to_float(modifiers: &[Modifier], operands: &Operands<'_>) -> Option<Meaning> {
    let mut modifiers = ModifierReader::of(modifiers);
    let to = take_format(&mut modifiers).unwrap_or(Format::Single);
    let from = take_integer(&mut modifiers).or_else(signed_word)?;
    from_integer(to, from, modifiers, operands)
}

/// I2FP: as I2F, executed by another unit.
pub(super) fn integer_to_single(
    modifiers: &[Modifier],
    operands: &Operands<'_>,
) -> Option<Meaning> {
    let mut modifiers = ModifierReader::of(modifiers);
    let to = take_format(&mut modifiers).filter(|format| *format == Format::Single)?;
    let from = take_integer(&mut modifiers)?;
    from_integer(to, from, modifiers, operands)
}

fn from_integer(
    to: Format,
    from: IntegerType,
    mut modifiers: ModifierReader<'_>,
    operands: &Operands<'_>,
) -> Option<Meaning> {
    let operand = operands.reads.first()?;
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
