//! Multifunction unit: RRO and MUFU.
//!
//! The unit interpolates between values in tables (`interpolation.rs`), and this module computes the same bits. Sources:
//!
//! * an H200, 2^20 operands of each function (`xtask recordings --special`);
//! * B. Carleton (github.com/bcarlet/ptx-math), all operands on GPUs of architectures 5.x to 7.5: `.RCP`, `.RSQ`, `.LG2`,
//!   `.SQRT` from 6.x on, `.EX2` with its RRO, `.SIN` and `.COS` without their RRO.
//!
//! Other GPUs are assumed to give the same. The published bounds of errors hold:
//!
//! | MUFU | error, as published |
//! |---|---|
//! | `.RCP` | 1 ulp |
//! | `.RSQ` | relative 2^-22.9 |
//! | `.SQRT` | relative 2^-23 |
//! | `.LG2` | absolute 2^-22 in (0.5, 2), else relative 2^-22 |
//! | `.EX2` after RRO | 2 ulp |
//! | `.SIN`, `.COS` after RRO | absolute 2^-20.5 up to 2 pi, 2^-14.7 up to 100 pi |
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
//! For GPUs with RRO, compilers put an RRO before each MUFU `.SIN`, `.COS` and `.EX2` (in our kernels `float_mix`). Later
//! MUFUs take the exponent of 2 and the angle in turns themselves. The result of RRO is not a
//! floating-point number but sign, eight bits (30:23) and a fraction of 23 bits:
//!
//! | | bits 30:23 | fraction |
//! |---|---|---|
//! | `.SINCOS` | quarter turns modulo 4 | of a quarter turn, rounded down |
//! | `.EX2` | integer part of the magnitude | of the magnitude, rounded down |
//! | both | `0x80` NaN, `0x81` infinite (for `.EX2` also from 128 on) | 0 |
//!
//! For `.SINCOS` this is the form found by B. Carleton; the chip reduces angles less precisely, this module exactly. The sign
//! bit is where a float has it, so that the modifiers of MUFU's operand act on
//! it. The results of MUFU `.SIN`, `.COS` and `.EX2` for other operands follow from the form. For example, RRO.SINCOS
//! of the single nearest to pi/2 gives one quarter turn and the fraction 0, and MUFU.SIN of it is 1.

mod coefficients;
mod interpolation;

use super::exact::Unpacked;
use super::single::{self, NAN};
use super::{Flush, Format, fixed};

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

/// Operand with subnormal numbers flushed.
fn operand(x: u32) -> Unpacked {
    Unpacked::unpack(Format::Single, single::flushed(x, Flush::Ftz).into())
}

/// Bits of the fraction of a single.
const FRACTION: u32 = 23;

/// Fraction and exponent of a normal number, which is 1 and the fraction, times two to the exponent.
fn parts(x: u32) -> (u32, i32) {
    (x & 0x7f_ffff, (x >> FRACTION & 0xff) as i32 - 127)
}

/// A single; a zero of its sign below the normal numbers, an infinity above them.
fn pack(sign: u32, exponent: i32, fraction: u32) -> u32 {
    match exponent + 127 {
        ..=0 => sign,
        255.. => sign | INFINITY,
        field => sign | (field as u32) << FRACTION | fraction,
    }
}

/// MUFU.RCP: 1/x; ±Inf for ±0, ±0 for ±Inf.
pub fn rcp(x: u32) -> u32 {
    let sign = x & SIGN;
    match operand(x) {
        Unpacked::Nan => NAN,
        Unpacked::Infinite(_) => sign,
        Unpacked::Finite(x) if x.significand == 0 => sign | INFINITY,
        Unpacked::Finite(_) => {
            let (fraction, exponent) = parts(x);
            let (fraction, down) = reciprocal(fraction);
            pack(sign, -exponent - down, fraction)
        }
    }
}

/// Fraction of 1/x for x in [1, 2), and by how much its exponent is below 0.
fn reciprocal(fraction: u32) -> (u32, i32) {
    let sum = interpolation::RCP.sum(fraction, false);
    // Only 1 itself has a reciprocal that is not below 1.
    match sum >> interpolation::RCP.one {
        0 => (interpolation::RCP.fraction_of(sum << 1), 1),
        _ => (interpolation::RCP.fraction_of(sum), 0),
    }
}

/// MUFU.SQRT: the square root; ±0 for ±0, NaN for other negative numbers.
pub fn sqrt(x: u32) -> u32 {
    match operand(x) {
        Unpacked::Nan | Unpacked::Infinite(true) => NAN,
        Unpacked::Infinite(false) => INFINITY,
        Unpacked::Finite(number) if number.significand == 0 => x & SIGN,
        Unpacked::Finite(number) if number.negative => NAN,
        Unpacked::Finite(_) => {
            let (fraction, exponent) = parts(x);
            let sum = interpolation::SQRT.sum(fraction, exponent & 1 != 0);
            // An odd exponent leaves a factor of 2 to the table, and the shift rounds down.
            pack(0, exponent >> 1, interpolation::SQRT.fraction_of(sum))
        }
    }
}

/// MUFU.RSQ: 1/sqrt x; ±Inf for ±0, NaN for other negative numbers.
pub fn rsq(x: u32) -> u32 {
    match operand(x) {
        Unpacked::Nan | Unpacked::Infinite(true) => NAN,
        Unpacked::Infinite(false) => 0,
        Unpacked::Finite(number) if number.significand == 0 => x & SIGN | INFINITY,
        Unpacked::Finite(number) if number.negative => NAN,
        Unpacked::Finite(_) => {
            let (fraction, exponent) = parts(x);
            let (fraction, down) = reciprocal_root(fraction, exponent & 1 != 0);
            pack(0, -(exponent >> 1) - down, fraction)
        }
    }
}

/// Fraction of 1/sqrt x for x in [1, 2), or in [2, 4) with an odd exponent, and by how much its exponent is below 0.
fn reciprocal_root(fraction: u32, is_odd: bool) -> (u32, i32) {
    // Powers of 4 are the only numbers whose root has no exponent below half of theirs.
    if fraction == 0 && !is_odd {
        return (0, 0);
    }
    let sum = interpolation::RSQRT.sum(fraction, is_odd);
    (interpolation::RSQRT.fraction_of(sum << 1), 1)
}

/// MUFU.LG2: the binary logarithm; -Inf for ±0, NaN for negative numbers.
pub fn lg2(x: u32) -> u32 {
    /// Bits of the sum that are cut off before it is normalised.
    const CUT: u32 = 20;
    match operand(x) {
        Unpacked::Nan | Unpacked::Infinite(true) => NAN,
        Unpacked::Infinite(false) => INFINITY,
        Unpacked::Finite(number) if number.significand == 0 => SIGN | INFINITY,
        Unpacked::Finite(number) if number.negative => NAN,
        Unpacked::Finite(_) => {
            let (fraction, exponent) = parts(x);
            // The sum for 1 is not exactly 0, but the result is.
            if fraction == 0 && exponent == 0 {
                return 0;
            }
            let unit = interpolation::LG2.one;
            // The sum is below 2, and exponents are below 128, so the result has less than 64 bits.
            let sum =
                interpolation::LG2.sum(fraction, false) as i64 + (i64::from(exponent) << unit);
            let sign = if exponent < 0 { SIGN } else { 0 };
            normalised(sign, sum.unsigned_abs() >> CUT << CUT, unit)
        }
    }
}

/// Single of a sum whose bit `unit` stands for 1. Bits below the fraction are cut off.
fn normalised(sign: u32, sum: u64, unit: u32) -> u32 {
    if sum == 0 {
        return sign;
    }
    let leading = u64::BITS - 1 - sum.leading_zeros();
    let fraction = match leading.checked_sub(FRACTION) {
        Some(down) => sum >> down,
        None => sum << (FRACTION - leading),
    };
    pack(
        sign,
        leading as i32 - unit as i32,
        fraction as u32 & 0x7f_ffff,
    )
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

/// MUFU.SIN of an angle from [`reduce_angle`] or [`reduce_turns`]; a zero of the operand's sign for zeros, NaN for NaNs and
/// infinities.
pub fn sin(x: u32) -> u32 {
    let quadrant = x >> FRACTION;
    // In odd quadrants sin(quarter + x) = sin(quarter - x); the complement is that, but for the last unit.
    let angle = if quadrant & 1 == 0 { x } else { !x };
    let negative = (x & SIGN != 0) != (quadrant & 2 != 0);
    sine(x, angle, negative)
}

/// MUFU.COS of an angle from [`reduce_angle`] or [`reduce_turns`]; 1 for zeros, NaN for NaNs and infinities.
pub fn cos(x: u32) -> u32 {
    let quadrant = x >> FRACTION;
    let angle = if quadrant & 1 == 0 { !x } else { x };
    sine(x, angle, (quadrant + 1) & 2 != 0)
}

/// Sine of a fraction of a quarter turn in the low bits of `angle`, with a sign; NaN if `x` stands for one.
fn sine(x: u32, angle: u32, negative: bool) -> u32 {
    // Bit 30 marks NaNs and infinities, whose sine is a NaN.
    if x & RANGE_NAN != 0 {
        return NAN;
    }
    let sign = if negative { SIGN } else { 0 };
    let sum = interpolation::SIN.sum(angle & 0x7f_ffff, false);
    normalised(sign, sum, interpolation::SIN.one)
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
        // The product is exact, and the conversion cuts its fraction off.
        sign | (f64::from(magnitude) * f64::from(1 << FRACTION)) as u32
    }
}

/// MUFU.EX2 of a number from [`reduce_exponent`]: 2^x; +Inf from 128 on, +0 below -126.
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
    let (whole, fraction) = ((magnitude >> FRACTION) as i32, magnitude & 0x7f_ffff);
    // The complement of a fraction stands for 1 less it, but for the last unit.
    let (whole, fraction) = match (negative, fraction) {
        (false, _) => (whole, fraction),
        (true, 0) => (-whole, 0),
        (true, fraction) => (-whole - 1, !fraction & 0x7f_ffff),
    };
    let sum = interpolation::EX2.sum(fraction, false);
    pack(0, whole, interpolation::EX2.fraction_of(sum))
}

/// Bits of the fraction of a double in its high word.
const HIGH_FRACTION: u32 = 20;

/// Exponent of the high word of a double, and its fraction with as many bits as one of a single.
fn high_parts(x: u32) -> (u32, i32) {
    let fraction = x & 0xf_ffff;
    let exponent = (x >> HIGH_FRACTION & 0x7ff) as i32 - 1023;
    (fraction << (FRACTION - HIGH_FRACTION), exponent)
}

/// High word of a double; a zero of its sign below the normal numbers.
fn pack_high(sign: u32, exponent: i32, fraction: u32) -> u32 {
    match exponent + 1023 {
        ..=0 => sign,
        field => sign | (field as u32) << HIGH_FRACTION | fraction >> (FRACTION - HIGH_FRACTION),
    }
}

/// Operand of a function of high words, with subnormal numbers flushed.
fn high_operand(x: u32) -> Unpacked {
    let flushed = Format::Double.flushed(u64::from(x) << 32);
    Unpacked::unpack(Format::Double, flushed)
}

/// Infinite double, its high word.
const HIGH_INFINITY: u32 = 0x7ff0_0000;

/// MUFU.RCP64H: the high word of 1/x for the double x with this high word and a low word of 0; ±Inf
/// for zeros and subnormal numbers, ±0 for results that would be subnormal.
pub fn rcp64h(x: u32) -> u32 {
    let sign = x & SIGN;
    match high_operand(x) {
        Unpacked::Nan => NAN,
        Unpacked::Infinite(_) => sign,
        Unpacked::Finite(number) if number.significand == 0 => sign | HIGH_INFINITY,
        Unpacked::Finite(_) => {
            let (fraction, exponent) = high_parts(x);
            let (fraction, down) = reciprocal(fraction);
            pack_high(sign, -exponent - down, fraction)
        }
    }
}

/// MUFU.RSQ64H: the high word of 1/sqrt x for the double x with this high word and a low word of 0;
/// ±Inf for zeros and subnormal numbers, NaN for other negative numbers.
pub fn rsq64h(x: u32) -> u32 {
    match high_operand(x) {
        Unpacked::Nan | Unpacked::Infinite(true) => NAN,
        Unpacked::Infinite(false) => 0,
        Unpacked::Finite(number) if number.significand == 0 => x & SIGN | HIGH_INFINITY,
        Unpacked::Finite(number) if number.negative => NAN,
        Unpacked::Finite(_) => {
            let (fraction, exponent) = high_parts(x);
            let (fraction, down) = reciprocal_root(fraction, exponent & 1 != 0);
            pack_high(0, -(exponent >> 1) - down, fraction)
        }
    }
}
