//! References of arithmetic and comparisons of halves.

use half::f16;
use warpbound_ir::float::{Format, Rounding};

use super::operands::{FinalState, InitialState, combine, comparison, holds, signed};
use super::reference::{Value, flush, fma, sum};
use super::text::{Base, Operand};

pub(crate) const MNEMONICS: [&str; 8] = [
    "HADD2",
    "HADD2_32I",
    "HMUL2",
    "HMUL2_32I",
    "HFMA2",
    "HFMA2_32I",
    "HSET2",
    "HSETP2",
];

const NAN: u16 = 0x7fff;

/// Contribution of an operand to one half of the result.
#[derive(Clone, Copy)]
enum Number {
    Half(u16),
    Single(u32),
}

/// Returns the state after an instruction; `None` if its text does not determine it.
pub(crate) fn after(before: &InitialState<'_>) -> Option<FinalState> {
    let i = before.instruction;
    match i.mnemonic.as_str() {
        "HSET2" => {
            let (operands, third) = operands(before, 1, 2);
            let third = before.truth(third);
            let yes = if i.has("BF") { 0x3c00 } else { 0xffff };
            let half = |lane| match combine(i, compared(before, &operands, lane), third) {
                true => yes,
                false => 0,
            };
            Some(before.set_register(half(0) | half(1) << 16))
        }
        "HSETP2" => {
            let (operands, third) = operands(before, 2, 2);
            let third = before.truth(third);
            let [low, high] = [0, 1].map(|lane| compared(before, &operands, lane));
            let (first, second) = match i.has("H_AND") {
                true => (low && high, !(low && high)),
                false => (low, high),
            };
            before.set_predicates([first, second].map(|truth| combine(i, truth, third)))
        }
        _ => {
            let count = if i.mnemonic.starts_with("HFMA2") {
                3
            } else {
                2
            };
            let (operands, _) = operands(before, 1, count);
            let [low, high] = [0, 1].map(|lane| {
                let numbers: Vec<Number> = operands.iter().map(|pair| pair[lane]).collect();
                u32::from(arithmetic(before, &numbers))
            });
            Some(before.set_register(match i.has("F32") {
                true => widened(low as u16),
                false => low | high << 16,
            }))
        }
    }
}

/// Returns the contributions of `count` operands from an index on to the two halves, and the index after them. A number
/// takes two operands, the high half first.
fn operands(
    before: &InitialState<'_>,
    mut index: usize,
    count: usize,
) -> (Vec<[Number; 2]>, usize) {
    let mut all = Vec::new();
    for _ in 0..count {
        let operand = before.operand(index);
        all.push(match &operand.base {
            Base::Number(high) => {
                index += 1;
                let Base::Number(low) = &before.operand(index).base else {
                    unreachable!("one half of a number: {:?}", before.instruction);
                };
                [low, high].map(|text| Number::Half(half_of(text)))
            }
            _ => lanes(before, operand),
        });
        index += 1;
    }
    (all, index)
}

fn lanes(before: &InitialState<'_>, operand: &Operand) -> [Number; 2] {
    let word = before.word(operand, 0);
    // A constant is a single: for the half 0x2e33 the compiler stores 0x3dc66000.
    if operand.is("F32") || matches!(operand.base, Base::Constant(..)) {
        return [Number::Single(signed(word, operand, 1 << 31)); 2];
    }
    let half = |at: u32| Number::Half(signed(word >> at & 0xffff, operand, 1 << 15) as u16);
    match (operand.is("H0_H0"), operand.is("H1_H1")) {
        (true, _) => [half(0); 2],
        (_, true) => [half(16); 2],
        _ => [half(0), half(16)],
    }
}

fn half_of(text: &str) -> u16 {
    match text {
        "+INF" => f16::INFINITY.to_bits(),
        "-INF" => f16::NEG_INFINITY.to_bits(),
        "+QNAN" => NAN,
        "-QNAN" => NAN | 1 << 15,
        _ => f16::from_f64(text.parse().expect("a number")).to_bits(),
    }
}

/// Flushes a subnormal half to zero if the instruction requires it.
fn flushed(before: &InitialState<'_>, x: u16) -> u16 {
    let i = before.instruction;
    match i.has("FTZ") || i.has("FMZ") {
        true => flush(Format::Half, x.into()) as u16,
        false => x,
    }
}

fn arithmetic(before: &InitialState<'_>, numbers: &[Number]) -> u16 {
    let i = before.instruction;
    // As doubles, in which halves and products of two are exact.
    let patterns: Vec<u64> = numbers
        .iter()
        .map(|number| match number {
            Number::Half(x) => f16::from_bits(flushed(before, *x)).to_f64().to_bits(),
            Number::Single(x) => f64::from(f32::from_bits(*x)).to_bits(),
        })
        .collect();
    let formats = (Format::Double, Format::Half);
    let nearest = Rounding::Nearest;
    let zero = |x: u64| f64::from_bits(x) == 0.0;
    let result = match *patterns.as_slice() {
        [a, b] if i.mnemonic.starts_with("HADD2") => {
            let value = |x| Value::of(Format::Double, x);
            sum(Format::Half, &value(a), &value(b), nearest)
        }
        [a, b] if i.has("FMZ") && (zero(a) || zero(b)) => Some(0),
        [a, b] => fma(formats, a, b, 0, None, nearest),
        [a, b, c] if i.has("FMZ") && (zero(a) || zero(b)) => {
            fma(formats, 0, 0, 0, Some(c), nearest)
        }
        [a, b, c] => fma(formats, a, b, 0, Some(c), nearest),
        _ => unreachable!("{i:?}"),
    };
    let result = result.map_or(NAN, |x| flushed(before, x as u16));
    if !i.has("SAT") {
        return result;
    }
    let x = f16::from_bits(result);
    if x > f16::ONE {
        f16::ONE.to_bits()
    } else if x > f16::ZERO {
        result
    } else {
        0
    }
}

fn widened(x: u16) -> u32 {
    let x = f16::from_bits(x);
    if x.is_nan() {
        0x7fff_ffff
    } else {
        x.to_f32().to_bits()
    }
}

fn compared(before: &InitialState<'_>, operands: &[[Number; 2]], lane: usize) -> bool {
    let number = |operand: &[Number; 2]| match operand[lane] {
        Number::Half(x) => f16::from_bits(flushed(before, x)).to_f32(),
        Number::Single(x) => f32::from_bits(x),
    };
    let [a, b] = operands else {
        unreachable!("two operands: {:?}", before.instruction);
    };
    let name = comparison(before.instruction).expect("a comparison");
    holds(name, number(a).partial_cmp(&number(b)))
}
