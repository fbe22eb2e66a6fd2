//! Video instructions: arithmetic on bytes and halves of registers (PTX manual, scalar and SIMD video instructions;
//! experiment: the compiler translates each of them to one of these instructions). For example, `VADD.U8.U8.SAT R0,
//! R1.B1, R2.B0, R3` adds two bytes.
//!
//! Intermediate results are exact. A final minimum or maximum with the third operand may follow a value that exceeds
//! the destination type. The manual does not state whether the value is truncated before the comparison, so such a
//! form has no meaning.

use warpbound_isa::nvidia::{Modifier, Modifier as M, Part};

use super::compare::{relation_of, set_predicates};
use super::modifier_reader::ModifierReader;
use super::number::{RangedInt, SIGNED, UNSIGNED, extract_part};
use crate::nvidia::operands::{Operands, add, and, or, shl};
use crate::{BinaryOp, Expr, Meaning};

/// Formats of both operands; without modifiers they are 32 bits with the given signs.
fn formats(
    modifiers: &mut ModifierReader<'_>,
    operands: &Operands<'_>,
    signs: [bool; 2],
) -> Option<[IntFormat; 2]> {
    let whole = |signed| IntFormat { bits: 32, signed };
    // Formats are printed for both operands or for none.
    let first = modifiers.rest().first().copied();
    let Some(first) = first.and_then(IntFormat::of_modifier) else {
        // An immediate operand has 16 bits.
        let second = match operands.immediate(1) {
            Some(_) => IntFormat {
                bits: 16,
                signed: signs[1],
            },
            None => whole(signs[1]),
        };
        return Some([whole(signs[0]), second]);
    };
    modifiers.next();
    Some([first, IntFormat::of_modifier(modifiers.next()?)?])
}

/// Integer format of an operand.
#[derive(Clone, Copy)]
struct IntFormat {
    bits: u32,
    signed: bool,
}

impl IntFormat {
    fn of_modifier(modifier: Modifier) -> Option<IntFormat> {
        let (bits, signed) = match modifier {
            M::U8 => (8, false),
            M::S8 => (8, true),
            M::U16 => (16, false),
            M::S16 => (16, true),
            M::U32 => (32, false),
            M::S32 => (32, true),
            _ => return None,
        };
        Some(IntFormat { bits, signed })
    }

    /// Selected part of an operand, extended.
    fn of(self, operands: &Operands<'_>, index: usize) -> Option<RangedInt> {
        let (value, part) = operands.part_without_sign(index)?;
        let from = match (part, self.bits) {
            (Part::Whole, _) => 0,
            (Part::B1, 8) => 8,
            (Part::B2, 8) => 16,
            (Part::B3, 8) => 24,
            (Part::H1, 16) => 16,
            _ => return None,
        };
        if let Expr::Const(n) = value
            && self.bits == 16
        {
            let value = match self.signed {
                true => n as i16 as u32,
                false => n & 0xffff,
            };
            return Some(RangedInt::word(Expr::Const(value), self.signed));
        }
        Some(extract_part(value, from, self.bits, self.signed))
    }
}

/// Clamps the operation's value, combines it with the third operand and assigns it to the register.
fn write_result(
    value: RangedInt,
    signed: bool,
    saturated: bool,
    modifiers: &ModifierReader<'_>,
    operands: &Operands<'_>,
) -> Option<Meaning> {
    // One more operation at most may follow.
    let after = match modifiers.rest() {
        [] => None,
        [after] => Some(*after),
        _ => return None,
    };
    let range = match (after, signed) {
        (Some(M::Mrg16h | M::Mrg16l), true) => i16::MIN.into()..=i16::MAX.into(),
        (Some(M::Mrg16h | M::Mrg16l), false) => 0..=u16::MAX.into(),
        (Some(M::Mrg8b0 | M::Mrg8b2), true) => i8::MIN.into()..=i8::MAX.into(),
        (Some(M::Mrg8b0 | M::Mrg8b2), false) => 0..=u8::MAX.into(),
        (_, true) => SIGNED,
        (_, false) => UNSIGNED,
    };
    let value = if saturated {
        value.clamped(&range)?
    } else {
        value
    };
    let third = operands.word(2)?;
    let inserted = |at: u32, mask: u32| {
        let part = match at {
            0 => and(value.low(), Expr::Const(mask)),
            at => shl(and(value.low(), Expr::Const(mask)), Expr::Const(at)),
        };
        or(and(third.clone(), Expr::Const(!(mask << at))), part)
    };
    operands.set_register(match after {
        None => value.low(),
        Some(M::Acc) => add(value.low(), third),
        // Whether the value is truncated first is not documented (module documentation).
        Some(M::Min | M::Max) if !value.fits(&range) => return None,
        Some(M::Min) => value.smaller(&RangedInt::word(third, signed))?.low(),
        Some(M::Max) => value.larger(&RangedInt::word(third, signed))?.low(),
        Some(M::Mrg16h) => inserted(16, 0xffff),
        Some(M::Mrg16l) => inserted(0, 0xffff),
        Some(M::Mrg8b0) => inserted(0, 0xff),
        Some(M::Mrg8b2) => inserted(16, 0xff),
        _ => return None,
    })
}

fn both(
    modifiers: &mut ModifierReader<'_>,
    operands: &Operands<'_>,
    signs: [bool; 2],
) -> Option<[RangedInt; 2]> {
    let [first, second] = formats(modifiers, operands, signs)?;
    Some([first.of(operands, 0)?, second.of(operands, 1)?])
}

/// VADD.
pub(crate) fn sum(modifiers: &[Modifier], operands: &Operands<'_>) -> Option<Meaning> {
    let mut modifiers = ModifierReader::of(modifiers);
    let signed = !modifiers.take(M::Ud);
    let [a, b] = both(&mut modifiers, operands, [true; 2])?;
    let saturated = modifiers.take(M::Sat);
    let value = match (operands.is_negated(0), operands.is_negated(1)) {
        (false, false) => a.plus(&b),
        (false, true) => a.minus(&b),
        (true, false) => b.minus(&a),
        // Two negations are not modelled.
        (true, true) => None,
    };
    write_result(value?, signed, saturated, &modifiers, operands)
}

/// VABSDIFF.
pub(crate) fn difference(modifiers: &[Modifier], operands: &Operands<'_>) -> Option<Meaning> {
    let mut modifiers = ModifierReader::of(modifiers);
    let signed = modifiers.take(M::Sd);
    let [a, b] = both(&mut modifiers, operands, [true; 2])?;
    let saturated = modifiers.take(M::Sat);
    let value = a.minus(&b)?.magnitude()?;
    write_result(value, signed, saturated, &modifiers, operands)
}

/// VMNMX.
pub(crate) fn min_max(modifiers: &[Modifier], operands: &Operands<'_>) -> Option<Meaning> {
    let mut modifiers = ModifierReader::of(modifiers);
    let signed = !modifiers.take(M::Ud);
    let [a, b] = both(&mut modifiers, operands, [true; 2])?;
    let value = match modifiers.take(M::Mx) {
        true => a.larger(&b)?,
        false => a.smaller(&b)?,
    };
    let saturated = modifiers.take(M::Sat);
    write_result(value, signed, saturated, &modifiers, operands)
}

/// VSHL.
pub(crate) fn shift_left(modifiers: &[Modifier], operands: &Operands<'_>) -> Option<Meaning> {
    shifted(true, ModifierReader::of(modifiers), operands)
}

/// VSHR.
pub(crate) fn shift_right(modifiers: &[Modifier], operands: &Operands<'_>) -> Option<Meaning> {
    shifted(false, ModifierReader::of(modifiers), operands)
}

/// Shift by at most 32, or with `.W` by the low five bits.
fn shifted(
    left: bool,
    mut modifiers: ModifierReader<'_>,
    operands: &Operands<'_>,
) -> Option<Meaning> {
    let signed = !modifiers.take(M::Ud);
    let [format, amount_format] = formats(&mut modifiers, operands, [true, false])?;
    let amount = amount_format.of(operands, 1)?.low();
    let amount = match modifiers.take(M::W) {
        true => and(amount, Expr::Const(31)),
        false => amount,
    };
    let saturated = modifiers.take(M::Sat);
    let a = format.of(operands, 0)?;
    if left {
        // It is not known how many bits are kept for the comparison with the bounds.
        let ranged = matches!(modifiers.rest(), [M::Min | M::Max]);
        let value = RangedInt::word(shl(a.low(), amount), signed);
        return match saturated || ranged {
            true => None,
            false => write_result(value, signed, false, &modifiers, operands),
        };
    }
    let op = match format.signed {
        true => BinaryOp::Sar,
        false => BinaryOp::Shr,
    };
    // A right shift stays in the range of the operand.
    let value = Expr::binary(op, a.low(), amount);
    let value = match format.bits {
        32 => RangedInt::word(value, format.signed),
        bits => RangedInt::narrow(value, bits, format.signed),
    };
    write_result(value, signed, saturated, &modifiers, operands)
}

/// VSET: the truth of a comparison.
pub(crate) fn comparison(modifiers: &[Modifier], operands: &Operands<'_>) -> Option<Meaning> {
    let mut modifiers = ModifierReader::of(modifiers);
    let op = modifiers.next()?;
    let [a, b] = both(&mut modifiers, operands, [true; 2])?;
    let truth = relation_of(op, a.less(&b), a.equals(&b))?;
    // The range 0 to 1 keeps the operations after it exact.
    let value = RangedInt::narrow(truth, 1, false);
    write_result(value, false, false, &modifiers, operands)
}

/// VSETP: two predicates from a comparison.
pub(crate) fn predicate(modifiers: &[Modifier], operands: &Operands<'_>) -> Option<Meaning> {
    let mut modifiers = ModifierReader::of(modifiers);
    let op = modifiers.next()?;
    let [a, b] = both(&mut modifiers, operands, [true; 2])?;
    let combine = modifiers.next()?;
    let truth = relation_of(op, a.less(&b), a.equals(&b))?;
    set_predicates(truth, combine, operands.predicate(2)?, operands)
}

/// VMAD: product plus third operand. It is signed if any operand is signed or negated.
pub(crate) fn product_and_sum(modifiers: &[Modifier], operands: &Operands<'_>) -> Option<Meaning> {
    let mut modifiers = ModifierReader::of(modifiers);
    let [first, second] = formats(&mut modifiers, operands, [true; 2])?;
    let (minus_product, minus_third) = (operands.is_negated(0), operands.is_negated(2));
    let plus_one = modifiers.take(M::Po);
    let scale = match (modifiers.take(M::Shr7), modifiers.take(M::Shr15)) {
        (true, _) => 7,
        (_, true) => 15,
        (false, false) => 0,
    };
    let saturated = modifiers.take(M::Sat);
    modifiers.finish()?;
    let signed = first.signed || second.signed || minus_product || minus_third;
    let product = first.of(operands, 0)?.times(&second.of(operands, 1)?)?;
    let product = match minus_product {
        true => product.negated()?,
        false => product,
    };
    let (third, _) = operands.part_without_sign(2)?;
    let third = RangedInt::word(third, signed);
    let mut value = match minus_third {
        true => product.minus(&third)?,
        false => product.plus(&third)?,
    };
    if plus_one {
        value = value.plus(&RangedInt::word(Expr::Const(1), signed))?;
    }
    if scale > 0 {
        value = value.shifted_right(scale)?;
    }
    if saturated {
        value = value.clamped(if signed { &SIGNED } else { &UNSIGNED })?;
    }
    operands.set_register(value.low())
}

/// VABSDIFF4 of all bytes in order: the low bytes of the absolute differences, or with `.ACC` their sum plus the
/// third operand. Compilers emit no other form.
pub(crate) fn differences_of_bytes(
    modifiers: &[Modifier],
    operands: &Operands<'_>,
) -> Option<Meaning> {
    let (signs, modifiers) = match modifiers {
        [M::U8, M::U8, rest @ ..] => ([false; 2], rest),
        [M::U8, M::S8, rest @ ..] => ([false, true], rest),
        [M::S8, M::U8, rest @ ..] => ([true, false], rest),
        rest => ([true; 2], rest),
    };
    let accumulated = match modifiers {
        [] => false,
        [M::Acc] => true,
        _ => return None,
    };
    // An immediate has 16 bits, not four bytes.
    if operands.immediate(1).is_some() {
        return None;
    }
    let (a, b, third) = (operands.word(0)?, operands.word(1)?, operands.word(2)?);
    let mut result = if accumulated { third } else { Expr::Const(0) };
    for at in [0, 8, 16, 24] {
        let [first, second] = [(&a, signs[0]), (&b, signs[1])]
            .map(|(value, signed)| extract_part(value.clone(), at, 8, signed));
        let distance = first.minus(&second)?.magnitude()?;
        let byte = and(distance.low(), Expr::Const(0xff));
        result = match (accumulated, at) {
            (true, _) => add(result, distance.low()),
            (false, 0) => byte,
            (false, at) => or(result, shl(byte, Expr::Const(at))),
        };
    }
    operands.set_register(result)
}

/// IDP: dot product of bytes, or of halves and bytes, plus the third operand (PTX manual, `dp4a`, `dp2a`).
pub(crate) fn dot_product(modifiers: &[Modifier], operands: &Operands<'_>) -> Option<Meaning> {
    let (width, b_from, formats) = match modifiers {
        [M::A4, formats @ ..] => (8, 0, formats),
        [M::A2, M::Lo, formats @ ..] => (16, 0, formats),
        [M::A2, M::Hi, formats @ ..] => (16, 16, formats),
        _ => return None,
    };
    let &[a_format, b_format] = formats else {
        return None;
    };
    let a_format = IntFormat::of_modifier(a_format)?;
    let b_format = IntFormat::of_modifier(b_format)?;
    if a_format.bits != width || b_format.bits != 8 {
        return None;
    }
    let (a, b) = (operands.word(0)?, operands.word(1)?);
    let mut result = operands.word(2)?;
    for number in 0..32 / width {
        let first = extract_part(a.clone(), number * width, width, a_format.signed);
        let second = extract_part(b.clone(), b_from + number * 8, 8, b_format.signed);
        let product = Expr::binary(BinaryOp::Mul, first.low(), second.low());
        result = add(result, product);
    }
    operands.set_register(result)
}
