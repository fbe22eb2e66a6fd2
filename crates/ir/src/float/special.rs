//! Multifunction unit: RRO and MUFU.
//!
//! NVIDIA publishes error bounds, not the bits. The functions here are rounded correctly, with the exceptions in the
//! table. They differ from a chip in the last bits; both are within the published bound:
//!
//! | MUFU | hardware, as published | here |
//! |---|---|---|
//! | `.RCP` | 1 ulp | correctly rounded |
//! | `.RSQ` | relative 2^-22.9 | correctly rounded |
//! | `.SQRT` | relative 2^-23 | correctly rounded |
//! | `.LG2` | absolute 2^-22 in (0.5, 2), else relative 2^-22 | 0.5 + 2^-33 ulp |
//! | `.EX2` after RRO | 2 ulp | 1.2 ulp (0.7 of it from RRO, which rounds to 2^-23) |
//! | `.SIN`, `.COS` after RRO | absolute 2^-20.5 up to 2 pi, 2^-14.7 up to 100 pi | absolute 2^-22 everywhere |
//! | `.RCP64H`, `.RSQ64H` | none | relative 2^-21 |
//!
//! Source of the bounds and of the results for zeros, infinities and NaNs: PTX ISA, `rcp`, `sqrt`, `rsqrt`, `lg2`,
//! `ex2`, `sin`, `cos` (`.approx`), `rcp.approx.ftz.f64`, `rsqrt.approx.ftz.f64`. The bound of `.SQRT` is from the
//! CUDA C++ Programming Guide (`sqrt.approx`).
//!
//! MUFU has no `.FTZ`: it always flushes subnormal operands and results to zeros.
//! Source: without `.ftz`, ptxas 12.4 scales the operands of `rcp`, `rsqrt`, `sqrt` and
//! `lg2` below 2^-126 (for `rcp` also those above 2^126) and halves the operand of `ex2` below -126.
//!
//! # RRO
//!
//! Compilers put an RRO before each MUFU `.SIN`, `.COS` and `.EX2` (in our kernels `float_mix`; only for Volta
//! and later, they multiply by 1/(2 pi) instead). Its result is not a
//! floating-point number but sign, eight bits (30:23) and a fraction of 23 bits:
//!
//! | | bits 30:23 | fraction |
//! |---|---|---|
//! | `.SINCOS` | quarter turns modulo 4 | of a quarter turn, rounded down |
//! | `.EX2` | integer part of the magnitude | of the magnitude, rounded to nearest |
//! | both | `0x80` NaN, `0x81` infinite (for `.EX2` also from 128 on) | 0 |
//!
//! For `.SINCOS` this is the form found by B. Carleton, whose models agree with sm_5x and sm_6x for every operand
//! (github.com/bcarlet/ptx-math); the chip reduces large angles less precisely, this module exactly. The same form
//! for `.EX2` is an assumption. The sign bit is where a float has it, so that the modifiers of MUFU's operand act on
//! it. The results of MUFU `.SIN`, `.COS` and `.EX2` for other operands follow from the form. For example, RRO.SINCOS
//! of the single nearest to pi/2 gives one quarter turn and the fraction 0, and MUFU.SIN of it is 1.

use super::exact::{Exact, Unpacked};
use super::single::{self, NAN};
use super::{Flush, Format, Rounding, fixed};

const SIGN: u32 = 0x8000_0000;
const INFINITY: u32 = 0x7f80_0000;
const RANGE_NAN: u32 = 0x80 << 23;
const RANGE_INFINITE: u32 = 0x81 << 23;

/// Function of MUFU.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum SpecialFunction {
    /// Cosine of an angle from [`reduce_angle`].
    Cos,
    /// Sine of an angle from [`reduce_angle`].
    Sin,
    /// 2^x, for x from [`reduce_exponent`].
    Ex2,
    /// Binary logarithm.
    Lg2,
    /// 1/x.
    Rcp,
    /// 1/sqrt x.
    Rsq,
    /// High word of 1/x, for the high word of a double x.
    Rcp64h,
    /// High word of 1/sqrt x, for the high word of a double x.
    Rsq64h,
    /// Square root (not in the first architecture of the family).
    Sqrt,
}

impl SpecialFunction {
    /// All functions, in the order of the encoding (list `mufu`, see [`float`](super)).
    pub const ALL: [SpecialFunction; 9] = [
        SpecialFunction::Cos,
        SpecialFunction::Sin,
        SpecialFunction::Ex2,
        SpecialFunction::Lg2,
        SpecialFunction::Rcp,
        SpecialFunction::Rsq,
        SpecialFunction::Rcp64h,
        SpecialFunction::Rsq64h,
        SpecialFunction::Sqrt,
    ];

    /// MUFU, without `.SAT` (which is [`single::saturated`]).
    pub fn apply(self, x: u32) -> u32 {
        match self {
            SpecialFunction::Cos => cos(x),
            SpecialFunction::Sin => sin(x),
            SpecialFunction::Ex2 => ex2(x),
            SpecialFunction::Lg2 => lg2(x),
            SpecialFunction::Rcp => rcp(x),
            SpecialFunction::Rsq => rsq(x),
            SpecialFunction::Rcp64h => rcp64h(x),
            SpecialFunction::Rsq64h => rsq64h(x),
            SpecialFunction::Sqrt => sqrt(x),
        }
    }
}

/// Operand as a double, with subnormal numbers flushed.
fn operand(x: u32) -> f64 {
    f64::from(f32::from_bits(single::flushed(x, Flush::Ftz)))
}

/// Rounds to single, with NaNs made canonical and subnormal results flushed.
fn result(x: f64) -> u32 {
    if x.is_nan() {
        NAN
    } else {
        single::flushed((x as f32).to_bits(), Flush::Ftz)
    }
}

/// MUFU.RCP: 1/x; ±Inf for ±0, ±0 for ±Inf. Correctly rounded: a quotient of singles rounded to 53
/// bits and then to 24 is rounded as if once (Figueroa, "When is double rounding innocuous?", 1995).
pub fn rcp(x: u32) -> u32 {
    result(1.0 / operand(x))
}

/// MUFU.SQRT: the square root; ±0 for ±0, NaN for other negative numbers. Correctly rounded, as
/// [`rcp`].
pub fn sqrt(x: u32) -> u32 {
    result(operand(x).sqrt())
}

/// MUFU.RSQ: 1/sqrt x; ±Inf for ±0, NaN for other negative numbers. Correctly rounded: tested for
/// every significand with exponents of both parities.
pub fn rsq(x: u32) -> u32 {
    // The host's sqrt(-0) is -0, so 1/sqrt(-0) is -Inf, as on the GPU.
    result(1.0 / operand(x).sqrt())
}

/// MUFU.LG2: the binary logarithm; -Inf for ±0, NaN for negative numbers.
pub fn lg2(x: u32) -> u32 {
    let x = single::flushed(x, Flush::Ftz);
    match Unpacked::unpack(Format::Single, x.into()) {
        Unpacked::Nan | Unpacked::Infinite(true) => NAN,
        Unpacked::Infinite(false) => INFINITY,
        Unpacked::Finite(x) if x.significand == 0 => SIGN | INFINITY,
        Unpacked::Finite(x) if x.negative => NAN,
        Unpacked::Finite(x) => round(fixed::logarithm(x.exponent, x.significand as u32)),
    }
}

fn round(x: Exact) -> u32 {
    let bits = x.round(Format::Single, Rounding::Nearest) as u32;
    single::flushed(bits, Flush::Ftz)
}

/// RRO.SINCOS: an angle in radians as quarter turns (module documentation). The reduction is exact
/// for every angle; a fraction of a quarter turn below 2^-23 is cut off.
pub fn reduce_angle(x: u32) -> u32 {
    let sign = x & SIGN;
    match Unpacked::unpack(Format::Single, x.into()) {
        Unpacked::Nan => sign | RANGE_NAN,
        Unpacked::Infinite(_) => sign | RANGE_INFINITE,
        Unpacked::Finite(x) => sign | fixed::turned(x.exponent, x.significand as u32),
    }
}

/// An angle in turns, in the form of [`reduce_angle`]. Compilers for Volta and later multiply an angle by 1/(2 pi)
/// before MUFU. For example, 0.25 becomes one quarter turn and the fraction 0.
pub fn reduce_turns(x: u32) -> u32 {
    /// Bits of a fraction, with two for the quarters above it, and with the quarters of a turn.
    const SCALE: i32 = 23 + 2;
    let sign = x & SIGN;
    match Unpacked::unpack(Format::Single, x.into()) {
        Unpacked::Nan => sign | RANGE_NAN,
        Unpacked::Infinite(_) => sign | RANGE_INFINITE,
        Unpacked::Finite(x) => {
            let (shift, significand) = (x.exponent + SCALE, x.significand as u64);
            // Bits above the quarters are whole turns.
            let quarters = match u32::try_from(shift) {
                Ok(left) => significand.checked_shl(left).unwrap_or(0),
                Err(_) => significand.checked_shr(shift.unsigned_abs()).unwrap_or(0),
            };
            sign | quarters as u32 & ((1 << SCALE) - 1)
        }
    }
}

/// MUFU.SIN of an angle from [`reduce_angle`]; a zero of the operand's sign for zeros, NaN for NaNs
/// and infinities. Correctly rounded for the reduced angle.
pub fn sin(x: u32) -> u32 {
    turn(x, 0, x & SIGN != 0)
}

/// MUFU.COS of an angle from [`reduce_angle`]; 1 for zeros, NaN for NaNs and infinities. Correctly
/// rounded for the reduced angle.
pub fn cos(x: u32) -> u32 {
    turn(x, 1, false)
}

fn turn(x: u32, quarters: u32, negative: bool) -> u32 {
    // Bit 30 marks NaNs and infinities, whose sine is a NaN.
    if x & RANGE_NAN != 0 {
        return NAN;
    }
    // Only the two low bits count, so the sign above them does no harm.
    let quadrant = (x >> 23) + quarters;
    let fraction = x & (fixed::QUARTER - 1);
    // In odd quadrants sin(quarter + x) = sin(quarter - x).
    let sine = fixed::sine(if quadrant & 1 == 0 {
        fraction
    } else {
        fixed::QUARTER - fraction
    });
    round(Exact {
        negative: negative != (quadrant & 2 != 0),
        ..sine
    })
}

/// RRO.EX2: a number as sign, integer part and fraction (module documentation).
pub fn reduce_exponent(x: u32) -> u32 {
    let sign = x & SIGN;
    let magnitude = f32::from_bits(x & !SIGN);
    if magnitude.is_nan() {
        sign | RANGE_NAN
    } else if magnitude >= 128.0 {
        sign | RANGE_INFINITE
    } else {
        // Rounds to a multiple of 2^-23, because the sum is in [2^29, 2^30), where doubles have that unit.
        const ANCHOR: f64 = (1u64 << 29) as f64;
        let rounded = (f64::from(magnitude) + ANCHOR) - ANCHOR;
        sign | (rounded * f64::from(1 << 23)) as u32
    }
}

/// MUFU.EX2 of a number from [`reduce_exponent`]: 2^x; +Inf from 128 on, +0 below -126. Correctly
/// rounded for the reduced number.
pub fn ex2(x: u32) -> u32 {
    let negative = x & SIGN != 0;
    let magnitude = x & !SIGN;
    if magnitude & RANGE_NAN != 0 {
        return match (magnitude & RANGE_INFINITE == RANGE_INFINITE, negative) {
            (false, _) => NAN,
            (true, false) => INFINITY,
            (true, true) => 0,
        };
    }
    let value = if negative {
        -(magnitude as i32)
    } else {
        magnitude as i32
    };
    // Two's complement and the arithmetic shift below round down, so the fraction is in [0, 1) for either sign.
    let fraction = (value & 0x7f_ffff) as u64;
    round(Exact {
        negative: false,
        exponent: (value >> 23) - 64,
        significand: (1 << 64) + u128::from(fixed::power_of_two(fraction << 41)),
    })
}

/// MUFU.RCP64H: the high word of 1/x for the double x with this high word and a low word of 0; ±Inf
/// for zeros and subnormal numbers, ±0 for results that would be subnormal.
pub fn rcp64h(x: u32) -> u32 {
    high_word(1.0 / high_operand(x))
}

/// MUFU.RSQ64H: the high word of 1/sqrt x for the double x with this high word and a low word of 0;
/// ±Inf for zeros and subnormal numbers, NaN for other negative numbers.
pub fn rsq64h(x: u32) -> u32 {
    high_word(1.0 / high_operand(x).sqrt())
}

fn high_operand(x: u32) -> f64 {
    f64::from_bits(Format::Double.flushed(u64::from(x) << 32))
}

/// Rounds to the twenty fraction bits of the high word.
fn high_word(x: f64) -> u32 {
    if x.is_nan() {
        return NAN;
    }
    let bits = Format::Double.flushed(x.to_bits());
    // A carry out of the fraction increments the exponent, as the encoding requires.
    ((bits + (1 << 31)) >> 32) as u32
}
