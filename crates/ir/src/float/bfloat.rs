//! bfloat16, the high half of a single: HADD2, HMUL2 and HFMA2 with `.BF16_V2`, one number at a time, and conversions to it.
//!
//! The PTX ISA has no `.ftz` and no `.sat` for these numbers, so subnormal numbers are kept. For example, 0x3f80 is 1, and
//! the next larger number, 0x3f81, is 1 + 2^-7.

use super::Rounding;
use super::single::rounded_to_odd;

/// The NaN of every result.
///
/// Source: PTX ISA, "cvt" (to `.bf16`); of sums and products: assumption.
pub const NAN: u16 = 0x7fff;

/// Converts to a single, exactly. A NaN keeps its payload.
#[inline(always)]
pub fn widen(x: u16) -> u32 {
    u32::from(x) << 16
}

/// F2FP to bfloat16: a single, rounded. Subnormal numbers are kept.
///
/// Source: PTX ISA, "cvt" (`.bf16x2.f32`).
#[inline(always)]
pub fn from_single(x: u32, rounding: Rounding) -> u16 {
    if f32::from_bits(x).is_nan() {
        return NAN;
    }
    let negative = x >> 31 == 1;
    // The sum of the magnitude and less than one unit has the rounded number in its high half. A carry goes into the
    // exponent, as it must, and an infinity has no bits below that could carry.
    let added = match (rounding, negative) {
        (Rounding::Nearest, _) => 0x7fff + (x >> 16 & 1),
        (Rounding::Up, false) | (Rounding::Down, true) => 0xffff,
        (Rounding::Up, true) | (Rounding::Down, false) | (Rounding::Zero, _) => 0,
    };
    (x.wrapping_add(added) >> 16) as u16
}

/// HADD2 with `.BF16_V2`: a + b, rounded to nearest.
///
/// Source: PTX ISA, "add" for `.bf16`.
#[inline(always)]
pub fn add(a: u16, b: u16) -> u16 {
    narrow(rounded_to_odd(double(a), double(b)))
}

/// HMUL2 with `.BF16_V2`: a * b, rounded to nearest.
///
/// Source: PTX ISA, "mul" for `.bf16`.
#[inline(always)]
pub fn mul(a: u16, b: u16) -> u16 {
    narrow(double(a) * double(b))
}

/// HFMA2 with `.BF16_V2`: a * b + c, rounded once, to nearest.
///
/// Source: PTX ISA, "fma" for `.bf16`.
#[inline(always)]
pub fn fma(a: u16, b: u16, c: u16) -> u16 {
    // A product has 16 significant bits.
    narrow(rounded_to_odd(double(a) * double(b), double(c)))
}

fn double(x: u16) -> f64 {
    f64::from(f32::from_bits(widen(x)))
}

/// Rounds to nearest. The number is exact, or rounded to odd.
fn narrow(x: f64) -> u16 {
    let nearest = x as f32;
    if nearest.is_nan() {
        return NAN;
    }
    let back = f64::from(nearest);
    // A single that is rounded to odd as well has enough bits for the last rounding, also where both are subnormal.
    let magnitude = nearest.to_bits() - u32::from(back.abs() > x.abs());
    let odd = magnitude | u32::from(back != x);
    from_single(odd, Rounding::Nearest)
}
