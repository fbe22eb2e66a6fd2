//! References of MUFU and RRO: the host's functions in double precision, with error bounds.

use std::f64::consts::{FRAC_PI_2, LN_2};

use super::operands::{FinalState, InitialState, SINGLE_NAN, Tolerance};

pub(crate) const MNEMONICS: [&str; 2] = ["MUFU", "RRO"];

/// Tolerance in units in the last place. The published bounds of the relative errors are at most 2^-22.9 (PTX ISA, `rsqrt`).
const ULPS: f64 = 2.2;

/// Published absolute error of sines and cosines of small angles (PTX ISA, `sin`).
const SINE_ERROR: f64 = 6.743_495_761_743_046e-7; // 2^-20.5

/// Published absolute error of logarithms of numbers near 1 (PTX ISA, `lg2`).
const LOGARITHM_ERROR: f64 = 2.384_185_791_015_625e-7; // 2^-22

/// Maximum compared angle; above it the host's value of a quarter turn is too coarse.
const WIDEST: f64 = 65536.0;

/// Returns the state after an instruction; `None` if its result for the operand is unspecified.
pub(crate) fn after(before: &InitialState<'_>) -> Option<FinalState> {
    let x = before.single(1);
    match before.instruction.mnemonic.as_str() {
        "RRO" => reduced(before, x),
        _ => Some(function(before, x)),
    }
}

/// Reference of RRO: sign, integer part in bits 30:23, fraction of 23 bits; 128 for a NaN, 129 for an infinity.
fn reduced(before: &InitialState<'_>, x: u32) -> Option<FinalState> {
    let value = f64::from(f32::from_bits(x));
    let sign = x & 1 << 31;
    let of = |magnitude: u32| Some(before.set_register(sign | magnitude));
    if value.is_nan() {
        return of(0x4000_0000);
    }
    let unit = f64::from(1 << 23);
    if before.instruction.has("EX2") {
        return match value.abs() >= 128.0 {
            true => of(0x4080_0000),
            // The fraction is truncated (B. Carleton, see `ir/src/float/special.rs`).
            false => of((value.abs() * unit) as u32),
        };
    }
    if value.is_infinite() {
        return of(0x4080_0000);
    }
    if value.abs() > WIDEST {
        return None;
    }
    let turns = value.abs() / FRAC_PI_2;
    let units = turns % 4.0 * unit;
    // A value close to a whole number of units may be truncated to either side.
    let near = (units - units.round()).abs() < 1e-4;
    if near { None } else { of(units as u32) }
}

/// Value of a result of RRO: integer part and fraction, or a special number.
fn parts(x: u32) -> f64 {
    let magnitude = x & 0x7fff_ffff;
    let negative = x >> 31 == 1;
    let value = if magnitude & 0x4080_0000 == 0x4080_0000 {
        f64::INFINITY
    } else if magnitude & 0x4000_0000 != 0 {
        f64::NAN
    } else {
        f64::from(magnitude) / f64::from(1 << 23)
    };
    if negative { -value } else { value }
}

fn function(before: &InitialState<'_>, x: u32) -> FinalState {
    let i = before.instruction;
    let single = f32::from_bits(x);
    let zeroed = if single.is_subnormal() {
        0f32.copysign(single)
    } else {
        single
    };
    let value = f64::from(zeroed);
    let has = |name| i.has(name);
    if has("RCP64H") || has("RSQ64H") {
        return high_word(before, x);
    }
    let (exact, absolute) = if has("RCP") {
        (1.0 / value, 0.0)
    } else if has("RSQ") {
        (1.0 / value.sqrt(), 0.0)
    } else if has("SQRT") {
        (value.sqrt(), 0.0)
    } else if has("LG2") {
        (
            if value == 0.0 {
                f64::NEG_INFINITY
            } else {
                value.log2()
            },
            if (0.5..2.0).contains(&value) && value != 1.0 {
                LOGARITHM_ERROR
            } else {
                0.0
            },
        )
    } else if has("EX2") {
        ((parts(x) * LN_2).exp(), 0.0)
    } else {
        let turns = parts(x);
        let quarters = if has("COS") { 1.0 } else { 0.0 };
        // Two turns stay two turns: the sign bit precedes the integer part.
        let angle = turns.abs() % 4.0 * FRAC_PI_2;
        let sine = (angle + quarters * FRAC_PI_2).sin();
        let odd = turns.is_sign_negative() && quarters == 0.0;
        (if odd { -sine } else { sine }, SINE_ERROR)
    };
    result(before, exact, absolute)
}

/// Returns the host's result, flushed and saturated.
fn result(before: &InitialState<'_>, exact: f64, absolute: f64) -> FinalState {
    let saturates = before.instruction.has("SAT");
    if exact.is_nan() {
        return before.set_register(if saturates { 0 } else { SINGLE_NAN });
    }
    let least = f64::from(f32::MIN_POSITIVE);
    // A result at the limit of the subnormal numbers may be flushed or not.
    let (exact, absolute) = match exact.abs() {
        magnitude if magnitude < least * (1.0 - 1e-7) && absolute == 0.0 => {
            (0f64.copysign(exact), 0.0)
        }
        magnitude if magnitude < least * (1.0 + 1e-7) => (exact, absolute + least),
        _ => (exact, absolute),
    };
    let exact = if saturates {
        exact.clamp(0.0, 1.0)
    } else {
        exact
    };
    if exact == 0.0 && absolute == 0.0 || exact.is_infinite() {
        let exact = if saturates { exact.abs() } else { exact };
        return before.set_register((exact as f32).to_bits());
    }
    let magnitude = (exact.abs() as f32).to_bits();
    let ulp = f64::from(f32::from_bits(magnitude + 1)) - f64::from(f32::from_bits(magnitude));
    if ulp.is_infinite() {
        return before.set_register((exact as f32).to_bits());
    }
    before.set_register_within(Tolerance::Number(exact, absolute + ULPS * ulp))
}

/// Reference of functions on the high words of doubles, with a relative error of 2^-20 (NVIDIA states none).
fn high_word(before: &InitialState<'_>, x: u32) -> FinalState {
    let wide = f64::from_bits(u64::from(x) << 32);
    let wide = if wide.is_subnormal() {
        0f64.copysign(wide)
    } else {
        wide
    };
    let exact = match before.instruction.has("RCP64H") {
        true => 1.0 / wide,
        false if wide == 0.0 => 1.0 / wide,
        false => 1.0 / wide.sqrt(),
    };
    let exact = match exact.abs() {
        magnitude if magnitude < f64::MIN_POSITIVE => 0f64.copysign(exact),
        _ => exact,
    };
    let nothing = exact == 0.0 || exact.is_infinite();
    match () {
        () if exact.is_nan() => before.set_register(SINGLE_NAN),
        () if nothing => before.set_register((exact.to_bits() >> 32) as u32),
        () => {
            // Compared as the high word of a double, in units of that word.
            let high = (exact.to_bits() >> 32) as u32;
            before.set_register_within(Tolerance::Word(high, 2))
        }
    }
}
