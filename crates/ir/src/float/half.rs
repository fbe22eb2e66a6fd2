//! Half precision: HADD2, HMUL2, HFMA2, HSET2, HSETP2, one of the two halves at a time.
//!
//! The instructions round to nearest only. With `.F32`, an operand or the result is a single. An operand of each kind
//! becomes a single exactly ([`widen`]). A single result is computed by the functions of [`single`], and a half
//! result of single operands by [`add_singles`] and the functions after it. The meaning of `.F32` is an assumption,
//! because only its spelling is known.

use super::single::rounded_to_odd;
use super::{Comparison, Flush, Format, single};

const SIGN: u16 = 0x8000;

/// The NaN of every result.
///
/// Source: folded so by ptxas 12.4 (`cvt.rn.f16.f32`).
pub const NAN: u16 = 0x7fff;

/// `|x|`: the sign bit cleared, also of a NaN.
#[inline(always)]
pub fn absolute(x: u16) -> u16 {
    x & !SIGN
}

/// `-x`: the sign bit inverted, also of a NaN.
#[inline(always)]
pub fn negate(x: u16) -> u16 {
    x ^ SIGN
}

/// Flushes a subnormal `x` to a zero of the same sign, unless `flush` keeps it.
///
/// Source: PTX ISA, "Half Precision Floating-Point Instructions", `.ftz`.
#[inline(always)]
pub fn flushed(x: u16, flush: Flush) -> u16 {
    let subnormal = u16::from(x & 0x7c00 == 0).wrapping_neg();
    x & !(subnormal & flush.mask() as u16 & !SIGN)
}

/// `.SAT`: clamps to [0, 1]. NaNs and negative numbers, including -0, become +0.
///
/// Source: PTX ISA, "add", "mul", "fma" for `.f16` (`.sat`).
#[inline(always)]
pub fn saturated(x: u16) -> u16 {
    Format::Half.saturated(x.into()) as u16
}

/// Converts to a single, exactly. NaNs become [`single::NAN`].
///
/// Source: PTX ISA, "cvt".
#[inline(always)]
pub fn widen(x: u16) -> u32 {
    let magnitude = u32::from(x & !SIGN);
    let sign = u32::from(x & SIGN) << 16;
    // The fields of a half, moved to the wider format, give a number too small by a factor of 2^112.
    let scaled = f32::from_bits(magnitude << 13) * f32::from_bits((112 + 127) << 23);
    let number = if magnitude >= 0x7c00 {
        0x7f80_0000
    } else {
        scaled.to_bits()
    };
    if magnitude > 0x7c00 {
        single::NAN
    } else {
        number | sign
    }
}

/// HADD2: a + b, rounded to nearest.
///
/// Source: PTX ISA, "add" for `.f16`.
#[inline(always)]
pub fn add(a: u16, b: u16, flush: Flush) -> u16 {
    let (a, b) = (flushed(a, flush), flushed(b, flush));
    add_singles(widen(a), widen(b), flush)
}

/// HMUL2: a * b, rounded to nearest.
///
/// Source: PTX ISA, "mul" for `.f16`.
#[inline(always)]
pub fn mul(a: u16, b: u16, flush: Flush) -> u16 {
    let (a, b) = (flushed(a, flush), flushed(b, flush));
    mul_singles(widen(a), widen(b), flush)
}

/// HFMA2: a * b + c, rounded once, to nearest.
///
/// Source: PTX ISA, "fma" for `.f16`.
#[inline(always)]
pub fn fma(a: u16, b: u16, c: u16, flush: Flush) -> u16 {
    let (a, b, c) = (flushed(a, flush), flushed(b, flush), flushed(c, flush));
    fma_singles(widen(a), widen(b), widen(c), flush)
}

/// HADD2 of singles with a half result: the exact a + b, rounded once, to nearest. Subnormal singles are kept
/// (assumption); flushing concerns only the result.
#[inline(always)]
pub fn add_singles(a: u32, b: u32, flush: Flush) -> u16 {
    let single = |x: u32| f64::from(f32::from_bits(x));
    narrow(rounded_to_odd(single(a), single(b)), flush)
}

/// HMUL2 of singles with a half result: the exact a * b, rounded once, to nearest; otherwise as [`add_singles`].
#[inline(always)]
pub fn mul_singles(a: u32, b: u32, flush: Flush) -> u16 {
    if flush == Flush::Fmz && (a << 1 == 0 || b << 1 == 0) {
        return 0;
    }
    let single = |x: u32| f64::from(f32::from_bits(x));
    narrow(single(a) * single(b), flush)
}

/// HFMA2 of singles with a half result: the exact a * b + c, rounded once, to nearest; otherwise as [`add_singles`].
#[inline(always)]
pub fn fma_singles(a: u32, b: u32, c: u32, flush: Flush) -> u16 {
    let legacy = flush == Flush::Fmz && (a << 1 == 0 || b << 1 == 0);
    let (a, b) = if legacy { (0, 0) } else { (a, b) };
    let single = |x: u32| f64::from(f32::from_bits(x));
    narrow(rounded_to_odd(single(a) * single(b), single(c)), flush)
}

/// Rounds to half, to nearest.
#[inline(always)]
fn narrow(x: f64, flush: Flush) -> u16 {
    let sign = (x.to_bits() >> 48) as u32 & 0x8000;
    let magnitude = x.abs();
    let bits = magnitude.to_bits();
    // The last bit of the sum has the weight 2^-24 of subnormal halves, so the addition rounds to it.
    const ANCHOR: f64 = (1u64 << 28) as f64;
    let subnormal = (magnitude + ANCHOR)
        .to_bits()
        .wrapping_sub(ANCHOR.to_bits()) as u32;
    // Removes 42 bits, rounding to nearest even. A carry goes into the exponent, as it must.
    let rounded = (bits.wrapping_add((1 << 41) - 1 + (bits >> 42 & 1)) >> 42) as u32;
    // Large numbers become infinity. For subnormal halves the difference wraps, and the selection below drops it.
    let normal = rounded.wrapping_sub((1023 - 15) << 10).min(0x7c00);
    // Halves below 2^-14 are subnormal.
    let small = magnitude < 1.0 / f64::from(1 << 14);
    let number = sign | if small { subnormal } else { normal };
    let result = if x.is_nan() { NAN } else { number as u16 };
    flushed(result, flush)
}

/// HSET2 and HSETP2: whether the comparison holds.
///
/// Source: PTX ISA, "setp" for `.f16`; subnormal operands are flushed first with `.ftz`.
#[inline(always)]
pub fn compare(comparison: Comparison, a: u16, b: u16, flush: Flush) -> bool {
    let (a, b) = (flushed(a, flush), flushed(b, flush));
    comparison.holds(f32::from_bits(widen(a)), f32::from_bits(widen(b)))
}
