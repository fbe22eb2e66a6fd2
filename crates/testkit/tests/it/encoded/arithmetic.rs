//! References of arithmetic and comparisons of singles and doubles: the host's arithmetic for rounding to nearest, big
//! integers for other rounding modes.

use warpbound_ir::float::{Format, Rounding};

use super::operands::{
    FinalState, InitialState, SINGLE_NAN, combine, comparison, holds, is_spelled_nan,
};
use super::reference::{Value, flush, fma, sum};
use super::text::Instruction;

pub(crate) const MNEMONICS: [&str; 17] = [
    "FADD", "FADD32I", "FMUL", "FMUL32I", "FFMA", "FFMA32I", "FMNMX", "FCMP", "FSET", "FSETP",
    "DADD", "DMUL", "DFMA", "DMNMX", "DSET", "DSETP", "FCHK",
];

pub(crate) fn rounding(instruction: &Instruction) -> Rounding {
    let is = |name| instruction.has(name);
    match (is("RM"), is("RP"), is("RZ")) {
        (true, _, _) => Rounding::Down,
        (_, true, _) => Rounding::Up,
        (_, _, true) => Rounding::Zero,
        _ => Rounding::Nearest,
    }
}

/// Returns the state after an instruction; `None` if its text does not determine it.
pub(crate) fn after(before: &InitialState<'_>) -> Option<FinalState> {
    let i = before.instruction;
    Some(match i.mnemonic.as_str() {
        "FADD" | "FADD32I" => before.set_register(finished(i, add(before))),
        "FMUL" | "FMUL32I" => before.set_register(finished(i, multiply(before))),
        "FFMA" | "FFMA32I" => before.set_register(finished(i, multiply_add(before))),
        "FMNMX" => {
            let [a, b] = singles(before);
            let wants_smaller = before.truth(3);
            before.set_register(chosen_single(a, b, wants_smaller))
        }
        "FCMP" => {
            if is_spelled_nan(before.operand(2)) {
                return None;
            }
            let test = subnormals(before, before.single(3));
            let order = f32::from_bits(test).partial_cmp(&0.0);
            let index = if holds(comparison(i).unwrap_or("GT"), order) {
                1
            } else {
                2
            };
            before.set_register(before.single(index))
        }
        "FSET" | "DSET" => {
            let truth = combine(i, compared(before, 1)?, before.truth(3));
            let yes = if i.has("BF") {
                0x3f80_0000
            } else {
                0xffff_ffff
            };
            before.set_register(if truth { yes } else { 0 })
        }
        "FSETP" | "DSETP" => {
            let truth = compared(before, 2)?;
            let third = before.truth(4);
            return before.set_predicates([combine(i, truth, third), combine(i, !truth, third)]);
        }
        "FCHK" => {
            let [a, b] = [1, 2].map(|index| before.single(index));
            let exponent = |x: u32| i64::from(x >> 23 & 0xff);
            // Quotients of normal numbers of moderate size take the fast path, special operands never do; between them
            // the hardware's choice is unknown.
            let middling = |x: u32| (100..=150).contains(&exponent(x));
            let special = |x: u32| matches!(exponent(x), 0 | 255);
            let slow = match (special(a) || special(b), middling(a) && middling(b)) {
                (true, _) => true,
                (_, true) => false,
                _ => return None,
            };
            let mut state = before.state.clone();
            if let super::text::Base::Predicate(number) = before.operand(0).base {
                state.set_predicate(number, slow);
            }
            state.into()
        }
        "DADD" | "DMUL" | "DFMA" => double_arithmetic(before)?,
        "DMNMX" => {
            let [a, b] = doubles(before)?;
            before.sets_double(chosen_double(a, b, before.truth(3)))
        }
        _ => return None,
    })
}

/// Flushes a subnormal operand to zero if the instruction requires it.
fn subnormals(before: &InitialState<'_>, x: u32) -> u32 {
    let i = before.instruction;
    match i.has("FTZ") || i.has("FMZ") {
        true => flush(Format::Single, x.into()) as u32,
        false => x,
    }
}

fn singles<const N: usize>(before: &InitialState<'_>) -> [u32; N] {
    std::array::from_fn(|n| subnormals(before, before.single(n + 1)))
}

/// Returns the result with subnormals flushed and saturation applied.
fn finished(i: &Instruction, (result, flushes): (Option<u32>, bool)) -> u32 {
    let result = match result {
        None => SINGLE_NAN,
        Some(x) if flushes => flush(Format::Single, x.into()) as u32,
        Some(x) => x,
    };
    if !i.has("SAT") {
        return result;
    }
    let x = f32::from_bits(result);
    if x > 1.0 {
        1f32.to_bits()
    } else if x > 0.0 {
        result
    } else {
        0
    }
}

fn flushes(before: &InitialState<'_>) -> bool {
    before.instruction.has("FTZ") || before.instruction.has("FMZ")
}

fn number(x: f32) -> Option<u32> {
    (!x.is_nan()).then_some(x.to_bits())
}

fn add(before: &InitialState<'_>) -> (Option<u32>, bool) {
    let [a, b] = singles(before);
    let result = match rounding(before.instruction) {
        Rounding::Nearest => number(f32::from_bits(a) + f32::from_bits(b)),
        directed => {
            let value = |x: u32| Value::of(Format::Single, x.into());
            sum(Format::Single, &value(a), &value(b), directed).map(|x| x as u32)
        }
    };
    (result, flushes(before))
}

/// Whether `.FMZ` makes a product zero: zero times any number.
fn is_fmz_zero(before: &InitialState<'_>, a: u32, b: u32) -> bool {
    before.instruction.has("FMZ") && (f32::from_bits(a) == 0.0 || f32::from_bits(b) == 0.0)
}

fn multiply(before: &InitialState<'_>) -> (Option<u32>, bool) {
    let [a, b] = singles(before);
    if is_fmz_zero(before, a, b) {
        return (Some(0), false);
    }
    let i = before.instruction;
    let scales = [
        ("D2", -1),
        ("D4", -2),
        ("D8", -3),
        ("M2", 1),
        ("M4", 2),
        ("M8", 3),
    ];
    let scale = scales.iter().find(|(name, _)| i.has(name));
    let result = match (rounding(i), scale) {
        (Rounding::Nearest, None) => number(f32::from_bits(a) * f32::from_bits(b)),
        (rounding, scale) => {
            let scale = scale.map_or(0, |(_, scale)| *scale);
            let formats = (Format::Single, Format::Single);
            fma(formats, a.into(), b.into(), scale, None, rounding).map(|x| x as u32)
        }
    };
    (result, flushes(before))
}

fn multiply_add(before: &InitialState<'_>) -> (Option<u32>, bool) {
    let [mut a, mut b, c] = singles(before);
    if is_fmz_zero(before, a, b) {
        (a, b) = (0, 0);
    }
    let [x, y, z] = [a, b, c].map(f32::from_bits);
    let result = match rounding(before.instruction) {
        Rounding::Nearest => number(x.mul_add(y, z)),
        directed => {
            let formats = (Format::Single, Format::Single);
            fma(formats, a.into(), b.into(), 0, Some(c.into()), directed).map(|x| x as u32)
        }
    };
    (result, flushes(before))
}

fn chosen_single(a: u32, b: u32, wants_smaller: bool) -> u32 {
    let (x, y) = (f32::from_bits(a), f32::from_bits(b));
    match (x.is_nan(), y.is_nan()) {
        (true, true) => SINGLE_NAN,
        (true, false) => b,
        (false, true) => a,
        _ if (x.total_cmp(&y).is_lt()) == wants_smaller => a,
        _ => b,
    }
}

fn doubles<const N: usize>(before: &InitialState<'_>) -> Option<[u64; N]> {
    let known = (1..=N).all(|index| !is_spelled_nan(before.operand(index)));
    known.then(|| std::array::from_fn(|n| before.double(n + 1)))
}

/// Returns the first NaN among the operands, made quiet.
fn double_nan(operands: &[u64]) -> u64 {
    let nan = operands.iter().find(|x| f64::from_bits(**x).is_nan());
    nan.map_or(0xfff8_0000_0000_0000, |x| x | 1 << 51)
}

fn double_arithmetic(before: &InitialState<'_>) -> Option<FinalState> {
    let i = before.instruction;
    let rounding = rounding(i);
    let formats = (Format::Double, Format::Double);
    let float = f64::from_bits;
    let nearest = |x: f64| (!x.is_nan()).then_some(x.to_bits());
    let (operands, result): (Vec<u64>, Option<u64>) = match i.mnemonic.as_str() {
        "DADD" => {
            let [a, b] = doubles(before)?;
            let value = |x| Value::of(Format::Double, x);
            let result = match rounding {
                Rounding::Nearest => nearest(float(a) + float(b)),
                _ => sum(Format::Double, &value(a), &value(b), rounding),
            };
            (vec![a, b], result)
        }
        "DMUL" => {
            let [a, b] = doubles(before)?;
            let result = match rounding {
                Rounding::Nearest => nearest(float(a) * float(b)),
                _ => fma(formats, a, b, 0, None, rounding),
            };
            (vec![a, b], result)
        }
        _ => {
            let [a, b, c] = doubles(before)?;
            let result = match rounding {
                Rounding::Nearest => nearest(float(a).mul_add(float(b), float(c))),
                _ => fma(formats, a, b, 0, Some(c), rounding),
            };
            (vec![a, b, c], result)
        }
    };
    Some(before.sets_double(result.unwrap_or_else(|| double_nan(&operands))))
}

fn chosen_double(a: u64, b: u64, wants_smaller: bool) -> u64 {
    let (x, y) = (f64::from_bits(a), f64::from_bits(b));
    match (x.is_nan(), y.is_nan()) {
        (true, true) => double_nan(&[a]),
        (true, false) => b,
        (false, true) => a,
        _ if (x.total_cmp(&y).is_lt()) == wants_smaller => a,
        _ => b,
    }
}

/// Compares two adjacent operands, by the index of the first.
fn compared(before: &InitialState<'_>, first: usize) -> Option<bool> {
    let i = before.instruction;
    let order = if i.mnemonic.starts_with('F') {
        let [a, b] = [first, first + 1]
            .map(|index| f32::from_bits(subnormals(before, before.single(index))));
        a.partial_cmp(&b)
    } else {
        if is_spelled_nan(before.operand(first + 1)) {
            return None;
        }
        let [a, b] = [first, first + 1].map(|index| f64::from_bits(before.double(index)));
        a.partial_cmp(&b)
    };
    Some(holds(comparison(i)?, order))
}
