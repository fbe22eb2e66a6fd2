//! References of F2F, F2I and I2F, on big integers.

use num_bigint::BigInt;
use num_traits::{Signed, ToPrimitive};
use warpbound_ir::float::{Format, Rounding};

use super::arithmetic::rounding;
use super::operands::{FinalState, InitialState, integer_of, is_spelled_nan, signed, single_of};
use super::reference::{Dyadic, Value, choose, flush, infinity, round};
use super::text::Base;

pub(crate) const MNEMONICS: [&str; 3] = ["F2F", "F2I", "I2F"];

/// Returns the state after an instruction; `None` if its text does not determine it.
pub(crate) fn after(before: &InitialState<'_>) -> Option<FinalState> {
    let i = before.instruction;
    let mut names = i.modifiers.iter().filter(|m| *m != "FTZ");
    let (to, from) = (names.next()?.as_str(), names.next()?.as_str());
    if is_spelled_nan(before.operand(1)) {
        return None;
    }
    match i.mnemonic.as_str() {
        "F2F" => {
            let (to, from) = (format(to)?, format(from)?);
            let bits = conversion(before, from, to, float(before, from));
            Some(sets(before, to.width(), bits))
        }
        "F2I" => {
            let (to, from) = (Integer::of(to)?, format(from)?);
            let bits = to_integer(before, from, to, float(before, from));
            Some(sets(before, to.width, bits))
        }
        _ => {
            let (to, from) = (format(to)?, Integer::of(from)?);
            let number = integer(before, from);
            let negative = number.is_negative();
            let bits = round(to, &Dyadic { n: number, e: 0 }, negative, rounding(i));
            Some(sets(before, to.width(), bits))
        }
    }
}

fn sets(before: &InitialState<'_>, width: u32, bits: u64) -> FinalState {
    match width {
        64 => before.sets_double(bits),
        _ => before.set_register(bits as u32),
    }
}

fn format(name: &str) -> Option<Format> {
    match name {
        "F16" => Some(Format::Half),
        "F32" => Some(Format::Single),
        "F64" => Some(Format::Double),
        _ => None,
    }
}

/// Returns the bits of the operand with its signs applied.
fn float(before: &InitialState<'_>, format: Format) -> u64 {
    let operand = before.operand(1);
    match format {
        Format::Double => before.double(1),
        Format::Single => before.single(1).into(),
        Format::Half => {
            let bits = match &operand.base {
                // Through a single, whose text has all digits.
                Base::Number(text) => half::f16::from_f32(f32::from_bits(single_of(text)))
                    .to_bits()
                    .into(),
                _ => before.word(operand, 0),
            };
            let bits = if operand.is("H1") { bits >> 16 } else { bits };
            u64::from(signed(bits & 0xffff, operand, 1 << 15))
        }
    }
}

fn subnormals(before: &InitialState<'_>, format: Format, bits: u64) -> u64 {
    match before.instruction.has("FTZ") && format == Format::Single {
        true => flush(format, bits),
        false => bits,
    }
}

fn conversion(before: &InitialState<'_>, from: Format, to: Format, bits: u64) -> u64 {
    let i = before.instruction;
    let bits = subnormals(before, from, bits);
    let whole = [
        ("ROUND", Rounding::Nearest),
        ("FLOOR", Rounding::Down),
        ("CEIL", Rounding::Up),
        ("TRUNC", Rounding::Zero),
    ];
    let whole = whole.iter().find(|(name, _)| i.has(name));
    let result = match (Value::of(from, bits), whole) {
        (Value::Nan, _) => nan(from, to, bits),
        (Value::Infinite { negative }, _) => infinity(to, negative),
        (Value::Finite { negative, number }, None) => {
            subnormals(before, to, round(to, &number, negative, rounding(i)))
        }
        (Value::Finite { negative, number }, Some((_, rounding))) => {
            let (low, rest) = number.floor(0);
            let n = choose(low, &rest, 0, *rounding);
            round(to, &Dyadic { n, e: 0 }, negative, Rounding::Zero)
        }
    };
    if !i.has("SAT") {
        return result;
    }
    let one = round(to, &Dyadic { n: 1.into(), e: 0 }, false, Rounding::Zero);
    match Value::of(to, result) {
        Value::Nan => 0,
        value if value.negative() => 0,
        _ => result.min(one),
    }
}

/// Converts a NaN to another format (module documentation of `warpbound_ir::float::convert`).
fn nan(from: Format, to: Format, bits: u64) -> u64 {
    let payload = |bits: u64| (bits & 0x7f_ffff) << 29 | (bits >> 31 & 1) << 63;
    match (from, to) {
        (_, Format::Half) => 0x7fff,
        (Format::Half | Format::Single, Format::Single) => 0x7fff_ffff,
        (Format::Half, Format::Double) => 0x7fff_ffff_e000_0000,
        (Format::Single, Format::Double) => payload(bits) | 0x7ff8_0000_0000_0000,
        (Format::Double, Format::Double) => bits | 1 << 51,
        (Format::Double, Format::Single) => bits >> 63 << 31 | 0x7fc0_0000 | bits << 12 >> 12 >> 29,
    }
}

/// Integer type.
#[derive(Clone, Copy)]
struct Integer {
    width: u32,
    is_signed: bool,
}

impl Integer {
    fn of(name: &str) -> Option<Integer> {
        Some(Integer {
            width: name.get(1..)?.parse().ok()?,
            is_signed: name.starts_with('S'),
        })
    }

    fn limits(self) -> (BigInt, BigInt) {
        let one = BigInt::from(1);
        match self.is_signed {
            true => (-(&one << (self.width - 1)), (&one << (self.width - 1)) - 1),
            false => (0.into(), (&one << self.width) - 1),
        }
    }
}

fn to_integer(before: &InitialState<'_>, from: Format, to: Integer, bits: u64) -> u64 {
    let i = before.instruction;
    let bits = subnormals(before, from, bits);
    let rounding = match (i.has("FLOOR"), i.has("CEIL"), i.has("TRUNC")) {
        (true, _, _) => Rounding::Down,
        (_, true, _) => Rounding::Up,
        (_, _, true) => Rounding::Zero,
        _ => Rounding::Nearest,
    };
    let (least, most) = to.limits();
    let n = match Value::of(from, bits) {
        Value::Nan if from != Format::Double && to.width <= 32 => 0.into(),
        Value::Nan if to.is_signed => least,
        Value::Nan => BigInt::from(1) << (to.width - 1),
        Value::Infinite { negative: true } => least,
        Value::Infinite { negative: false } => most,
        Value::Finite { number, .. } => {
            let (low, rest) = number.floor(0);
            choose(low, &rest, 0, rounding).clamp(least, most)
        }
    };
    n.to_i128().expect("at most 64 bits") as u64
}

/// Returns the operand of I2F as a number with its signs applied.
fn integer(before: &InitialState<'_>, from: Integer) -> BigInt {
    let operand = before.operand(1);
    let bits: u64 = match integer_of(operand) {
        Some(value) => value as u64,
        None if from.width == 64 => {
            let [low, high] = [0, 1].map(|nth| u64::from(before.word(operand, nth)));
            high << 32 | low
        }
        None => before.word(operand, 0).into(),
    };
    let index = match operand.suffixes.first().map(String::as_str) {
        None => 0,
        Some("B1") => 8,
        Some("B2") => 16,
        Some("B3") => 24,
        Some("H1") => 16,
        other => unreachable!("{other:?}"),
    };
    let bits = bits >> index;
    let unused = 64 - from.width;
    let number: BigInt = match from.is_signed {
        true => ((bits << unused) as i64 >> unused).into(),
        false => (bits << unused >> unused).into(),
    };
    let number = if operand.bars { number.abs() } else { number };
    if operand.minus { -number } else { number }
}
