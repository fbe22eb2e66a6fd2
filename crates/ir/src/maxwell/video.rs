//! Video instructions: arithmetic on bytes and halves of registers (PTX manual, scalar and SIMD video instructions;
//! experiment: the compiler translates each of them to one of these instructions).
//!
//! Intermediate results are exact. For a final minimum or maximum with the third operand of a value that may exceed the
//! destination type, the manual leaves open whether the value is truncated before the comparison: such a form has no
//! meaning.

use warpbound_isa::View;

use super::compare::{relation_of, set_predicates};
use super::number::{RangedInt, SIGNED, UNSIGNED, extract_part};
use super::operands::{Operands, add, and, or, shl};
use crate::{BinaryOp, Expr, Meaning};

pub(super) fn meaning(view: &View, operands: &Operands<'_>) -> Option<Meaning> {
    let mut modifiers = VideoModifiers {
        rest: view.modifiers.as_slice(),
    };
    match view.mnemonic {
        "VADD" => sum(&mut modifiers, operands),
        "VABSDIFF" => difference(&mut modifiers, operands),
        "VMNMX" => min_max(&mut modifiers, operands),
        "VSHL" | "VSHR" => shifted(view.mnemonic == "VSHL", &mut modifiers, operands),
        "VSET" => comparison(&mut modifiers, operands),
        "VSETP" => predicate(&mut modifiers, operands),
        "VMAD" => product_and_sum(&mut modifiers, operands),
        "VABSDIFF4" => differences_of_bytes(&view.modifiers, operands),
        "IDP" => dot_product(&view.modifiers, operands),
        _ => None,
    }
}

/// Modifiers, consumed in the order of printing.
struct VideoModifiers<'m> {
    rest: &'m [&'static str],
}

impl VideoModifiers<'_> {
    /// Takes the next modifier if it is `modifier`; returns whether it was.
    fn take(&mut self, modifier: &str) -> bool {
        let found = self.rest.first() == Some(&modifier);
        if found {
            self.rest = self.rest.get(1..).unwrap_or_default();
        }
        found
    }

    fn next(&mut self) -> Option<&'static str> {
        let (first, rest) = self.rest.split_first()?;
        self.rest = rest;
        Some(first)
    }

    /// Formats of both operands; without modifiers they are 32 bits with the given signs.
    fn formats(&mut self, operands: &Operands<'_>, signs: [bool; 2]) -> Option<[IntFormat; 2]> {
        let whole = |signed| IntFormat { bits: 32, signed };
        let Some(first) = self.rest.first().and_then(|text| IntFormat::named(text)) else {
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
        self.next();
        Some([first, IntFormat::named(self.next()?)?])
    }
}

#[derive(Clone, Copy)]
struct IntFormat {
    bits: u32,
    signed: bool,
}

impl IntFormat {
    fn named(text: &str) -> Option<IntFormat> {
        let (signed, bits) = match text.split_at_checked(2)? {
            (".U", bits) => (false, bits),
            (".S", bits) => (true, bits),
            _ => return None,
        };
        let bits = match bits {
            "8" => 8,
            "16" => 16,
            "32" => 32,
            _ => return None,
        };
        Some(IntFormat { bits, signed })
    }

    /// Selected part of an operand, extended.
    fn of(self, operands: &Operands<'_>, index: usize) -> Option<RangedInt> {
        let (value, select) = operands.part_without_sign(index)?;
        let from = match (select, self.bits) {
            ("", _) => 0,
            (".B1", 8) => 8,
            (".B2", 8) => 16,
            (".B3", 8) => 24,
            (".H1", 16) => 16,
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
    modifiers: &VideoModifiers<'_>,
    operands: &Operands<'_>,
) -> Option<Meaning> {
    let after = match modifiers.rest {
        [] => "",
        [after] => *after,
        _ => return None,
    };
    let range = match (after, signed) {
        (".MRG_16H" | ".MRG_16L", true) => (i16::MIN.into(), i16::MAX.into()),
        (".MRG_16H" | ".MRG_16L", false) => (0, u16::MAX.into()),
        (".MRG_8B0" | ".MRG_8B2", true) => (i8::MIN.into(), i8::MAX.into()),
        (".MRG_8B0" | ".MRG_8B2", false) => (0, u8::MAX.into()),
        (_, true) => SIGNED,
        (_, false) => UNSIGNED,
    };
    let value = if saturated {
        value.clamped(range)?
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
        "" => value.low(),
        ".ACC" => add(value.low(), third),
        ".MIN" | ".MAX" if !value.fits(range) => return None,
        ".MIN" => value.smaller(&RangedInt::word(third, signed))?.low(),
        ".MAX" => value.larger(&RangedInt::word(third, signed))?.low(),
        ".MRG_16H" => inserted(16, 0xffff),
        ".MRG_16L" => inserted(0, 0xffff),
        ".MRG_8B0" => inserted(0, 0xff),
        ".MRG_8B2" => inserted(16, 0xff),
        _ => return None,
    })
}

fn both(
    modifiers: &mut VideoModifiers<'_>,
    operands: &Operands<'_>,
    signs: [bool; 2],
) -> Option<[RangedInt; 2]> {
    let [first, second] = modifiers.formats(operands, signs)?;
    Some([first.of(operands, 0)?, second.of(operands, 1)?])
}

fn sum(modifiers: &mut VideoModifiers<'_>, operands: &Operands<'_>) -> Option<Meaning> {
    let signed = !modifiers.take(".UD");
    let [a, b] = both(modifiers, operands, [true; 2])?;
    let saturated = modifiers.take(".SAT");
    let value = match (operands.is_negated(0), operands.is_negated(1)) {
        (false, false) => a.plus(&b),
        (false, true) => a.minus(&b),
        (true, false) => b.minus(&a),
        (true, true) => None,
    };
    write_result(value?, signed, saturated, modifiers, operands)
}

fn difference(modifiers: &mut VideoModifiers<'_>, operands: &Operands<'_>) -> Option<Meaning> {
    let signed = modifiers.take(".SD");
    let [a, b] = both(modifiers, operands, [true; 2])?;
    let saturated = modifiers.take(".SAT");
    let value = a.minus(&b)?.magnitude()?;
    write_result(value, signed, saturated, modifiers, operands)
}

fn min_max(modifiers: &mut VideoModifiers<'_>, operands: &Operands<'_>) -> Option<Meaning> {
    let signed = !modifiers.take(".UD");
    let [a, b] = both(modifiers, operands, [true; 2])?;
    let value = match modifiers.take(".MX") {
        true => a.larger(&b)?,
        false => a.smaller(&b)?,
    };
    let saturated = modifiers.take(".SAT");
    write_result(value, signed, saturated, modifiers, operands)
}

/// VSHL, VSHR: shift by at most 32, or with `.W` by the low five bits.
fn shifted(
    left: bool,
    modifiers: &mut VideoModifiers<'_>,
    operands: &Operands<'_>,
) -> Option<Meaning> {
    let signed = !modifiers.take(".UD");
    let [format, amount_format] = modifiers.formats(operands, [true, false])?;
    let amount = amount_format.of(operands, 1)?.low();
    let amount = match modifiers.take(".W") {
        true => and(amount, Expr::Const(31)),
        false => amount,
    };
    let saturated = modifiers.take(".SAT");
    let a = format.of(operands, 0)?;
    if left {
        // Unknown: the number of bits kept for the comparison with the bounds.
        let ranged = matches!(modifiers.rest, [".MIN" | ".MAX"]);
        let value = RangedInt::word(shl(a.low(), amount), signed);
        return match saturated || ranged {
            true => None,
            false => write_result(value, signed, false, modifiers, operands),
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
    write_result(value, signed, saturated, modifiers, operands)
}

fn comparison(modifiers: &mut VideoModifiers<'_>, operands: &Operands<'_>) -> Option<Meaning> {
    let op = modifiers.next()?;
    let [a, b] = both(modifiers, operands, [true; 2])?;
    let truth = relation_of(op, a.less(&b), a.equals(&b))?;
    let value = RangedInt::narrow(truth, 1, false);
    write_result(value, false, false, modifiers, operands)
}

fn predicate(modifiers: &mut VideoModifiers<'_>, operands: &Operands<'_>) -> Option<Meaning> {
    let op = modifiers.next()?;
    let [a, b] = both(modifiers, operands, [true; 2])?;
    let combine = modifiers.next()?;
    let truth = relation_of(op, a.less(&b), a.equals(&b))?;
    set_predicates(truth, combine, operands.predicate(2)?, operands)
}

/// VMAD: product plus third operand; signed if any operand is signed or negated.
fn product_and_sum(modifiers: &mut VideoModifiers<'_>, operands: &Operands<'_>) -> Option<Meaning> {
    let [first, second] = modifiers.formats(operands, [true; 2])?;
    let (minus_product, minus_third) = (operands.is_negated(0), operands.is_negated(2));
    let plus_one = modifiers.take(".PO");
    let scale = match modifiers.rest {
        [".SHR_7", ..] => 7,
        [".SHR_15", ..] => 15,
        _ => 0,
    };
    if scale > 0 {
        modifiers.next();
    }
    let saturated = modifiers.take(".SAT");
    if !modifiers.rest.is_empty() {
        return None;
    }
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
        value = value.clamped(if signed { SIGNED } else { UNSIGNED })?;
    }
    operands.set_register(value.low())
}

/// VABSDIFF4 of all bytes in order: the low bytes of the absolute differences, or with `.ACC` their sum plus the third
/// operand. The compiler emits no other form.
fn differences_of_bytes(modifiers: &[&str], operands: &Operands<'_>) -> Option<Meaning> {
    let (signs, modifiers) = match modifiers {
        [".U8.U8", rest @ ..] => ([false; 2], rest),
        [".U8.S8", rest @ ..] => ([false, true], rest),
        [".S8.U8", rest @ ..] => ([true, false], rest),
        rest => ([true; 2], rest),
    };
    let accumulated = match modifiers {
        [] => false,
        [".ACC"] => true,
        _ => return None,
    };
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
fn dot_product(modifiers: &[&str], operands: &Operands<'_>) -> Option<Meaning> {
    let [mode, a_format, b_format] = modifiers else {
        return None;
    };
    let (width, b_from) = match *mode {
        ".4A" => (8, 0),
        ".2A.LO" => (16, 0),
        ".2A.HI" => (16, 16),
        _ => return None,
    };
    let (a_format, b_format) = (IntFormat::named(a_format)?, IntFormat::named(b_format)?);
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
