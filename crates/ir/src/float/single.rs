//! Single precision: FADD, FMUL, FFMA, FMNMX, comparisons.
//!
//! The functions that end in `_nearest` have no branches, so that a loop over the lanes of a warp compiles to vector
//! instructions, also on x86-64 without extensions. They are twice as fast if `flush` is a constant inside the loop:
//! match on it outside. The other functions take the rounding as an argument, and call the fast ones for rounding to
//! nearest. For example, FADD.RM of 1 and 2^-30 is 1, and FADD.RP the next single.

use super::{Comparison, Flush, Format, Rounding, exact};

const SIGN: u32 = 0x8000_0000;
const INFINITY: u32 = 0x7f80_0000;
/// The NaN of every result.
///
/// Source: CUDA `math_constants.h` (`CUDART_NAN_F`); folded so by ptxas 12.4. PTX calls it
/// unspecified.
pub const NAN: u32 = 0x7fff_ffff;
const ONE: u32 = 0x3f80_0000;

/// `|x|`: the sign bit cleared, also of a NaN.
///
/// Source: PTX ISA, "abs"; that NaNs keep the other bits is an assumption.
#[inline(always)]
pub fn absolute(x: u32) -> u32 {
    x & !SIGN
}

/// `-x`: the sign bit inverted, also of a NaN.
///
/// Source: PTX ISA, "neg"; that NaNs keep the other bits is an assumption.
#[inline(always)]
pub fn negate(x: u32) -> u32 {
    x ^ SIGN
}

/// Flushes a subnormal `x` to a zero of the same sign, unless `flush` keeps it.
///
/// Source: PTX ISA, "Floating-Point Instructions", `.ftz`.
#[inline(always)]
pub fn flushed(x: u32, flush: Flush) -> u32 {
    let subnormal = u32::from(x & INFINITY == 0).wrapping_neg();
    x & !(subnormal & flush.mask() & !SIGN)
}

/// `.SAT`: clamps to [0, 1]. NaNs and negative numbers, including -0, become +0.
///
/// Source: PTX ISA, "add", "mul", "fma" (`.sat`); that -0 becomes +0 is an assumption.
#[inline(always)]
pub fn saturated(x: u32) -> u32 {
    let above = if x > ONE { ONE } else { x };
    // As unsigned numbers, NaNs and all negative numbers are above +Inf.
    if x > INFINITY { 0 } else { above }
}

/// Replaces the host's NaNs.
#[inline(always)]
fn canonical(x: f32) -> u32 {
    if x.is_nan() { NAN } else { x.to_bits() }
}

/// FADD rounded to nearest: a + b.
///
/// Source: PTX ISA, "add" (IEEE 754 binary32).
#[inline(always)]
pub fn add_nearest(a: u32, b: u32, flush: Flush) -> u32 {
    let (a, b) = (flushed(a, flush), flushed(b, flush));
    flushed(canonical(f32::from_bits(a) + f32::from_bits(b)), flush)
}

/// FMUL rounded to nearest: a * b.
///
/// Source: PTX ISA, "mul" (IEEE 754 binary32); [`Flush::Fmz`] as described there.
#[inline(always)]
pub fn mul_nearest(a: u32, b: u32, flush: Flush) -> u32 {
    let (a, b) = (flushed(a, flush), flushed(b, flush));
    let product = canonical(f32::from_bits(a) * f32::from_bits(b));
    flushed(product, flush) & !(zero_factor(a, b) & flush.zero_mask())
}

/// FFMA rounded to nearest: a * b + c, rounded once.
///
/// Source: PTX ISA, "fma" (IEEE 754 binary32); [`Flush::Fmz`] makes the product +0.
#[inline(always)]
pub fn fma_nearest(a: u32, b: u32, c: u32, flush: Flush) -> u32 {
    let (a, b, c) = (flushed(a, flush), flushed(b, flush), flushed(c, flush));
    // With `.FMZ`, both factors become +0, so their product is +0 even for infinities and NaNs.
    let factor = !(zero_factor(a, b) & flush.zero_mask());
    let (a, b) = (a & factor, b & factor);
    // The product of two 24-bit significands is exact in f64.
    let product = f64::from(f32::from_bits(a)) * f64::from(f32::from_bits(b));
    let sum = rounded_to_odd(product, f64::from(f32::from_bits(c)));
    flushed(canonical(sum as f32), flush)
}

/// Computes a + b rounded to odd: an inexact sum becomes the one of its two neighbours whose last bit is one.
/// Rounding it again, to nearest and to at most 51 bits, gives the same as rounding the exact sum (Boldo and
/// Melquiond, "Emulation of FMA and correctly rounded sums: proved algorithms using rounding to odd", 2008). Knuth's
/// TwoSum gives the error of the sum.
///
/// For products and sums of f32 values, no step overflows or loses bits below the smallest number.
#[inline(always)]
pub(super) fn rounded_to_odd(a: f64, b: f64) -> f64 {
    let sum = a + b;
    let of_b = sum - a;
    let error = (a - (sum - of_b)) + (b - of_b);
    // Negative if the sum is too far from zero, positive if it is too near, 0 if it is exact, and a NaN if an operand
    // is infinite or a NaN.
    let beyond = error * sum;
    let back = u64::from(beyond < 0.0).wrapping_neg();
    let inexact = u64::from((beyond < 0.0) | (beyond > 0.0));
    // One step towards zero if the sum is too far from it; then the last bit is set.
    f64::from_bits(sum.to_bits().wrapping_add(back) | inexact)
}

/// Mask of all ones if one of the two is a zero.
#[inline(always)]
fn zero_factor(a: u32, b: u32) -> u32 {
    u32::from((a & !SIGN == 0) | (b & !SIGN == 0)).wrapping_neg()
}

/// FADD: a + b.
///
/// Source: PTX ISA, "add".
#[inline(always)]
pub fn add(a: u32, b: u32, rounding: Rounding, flush: Flush) -> u32 {
    if rounding == Rounding::Nearest {
        add_nearest(a, b, flush)
    } else {
        add_directed(a, b, rounding, flush)
    }
}

#[inline(never)]
fn add_directed(a: u32, b: u32, rounding: Rounding, flush: Flush) -> u32 {
    let [a, b] = [a, b].map(|x| flushed(x, flush).into());
    let sum = exact::add(Format::Single, Format::Single, a, b, rounding);
    finish(sum, flush)
}

/// Scale of FMUL: exponent of the power of two that multiplies the exact product before it is rounded.
///
/// Source: spellings by NVIDIA's disassembler (`.D2` divides by 2, `.M8` multiplies by 8); that the
/// scale comes before the rounding is an assumption.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
#[repr(i8)]
pub enum Scale {
    /// `.D8`
    D8 = -3,
    /// `.D4`
    D4 = -2,
    /// `.D2`
    D2 = -1,
    /// No suffix.
    #[default]
    One = 0,
    /// `.M2`
    M2 = 1,
    /// `.M4`
    M4 = 2,
    /// `.M8`
    M8 = 3,
}

impl Scale {
    /// All scales, in the order of the encoding (list `fscale`, see [`float`](super)).
    pub const ALL: [Scale; 7] = [
        Scale::One,
        Scale::D2,
        Scale::D4,
        Scale::D8,
        Scale::M8,
        Scale::M4,
        Scale::M2,
    ];
}

/// FMUL: a * b * 2^scale, rounded once.
///
/// Source: PTX ISA, "mul"; [`Scale`].
#[inline(always)]
pub fn mul(a: u32, b: u32, scale: Scale, rounding: Rounding, flush: Flush) -> u32 {
    if rounding != Rounding::Nearest {
        mul_directed(a, b, scale, rounding, flush)
    } else if scale == Scale::One {
        mul_nearest(a, b, flush)
    } else {
        mul_scaled_nearest(a, b, scale, flush)
    }
}

/// FMUL with a scale, rounded to nearest.
#[inline(always)]
fn mul_scaled_nearest(a: u32, b: u32, scale: Scale, flush: Flush) -> u32 {
    let (a, b) = (flushed(a, flush), flushed(b, flush));
    let factor = f64::from_bits(((1023 + scale as i64) as u64) << 52);
    // Product and scaled product are exact in f64, so only the conversion below rounds.
    let product = f64::from(f32::from_bits(a)) * f64::from(f32::from_bits(b)) * factor;
    let product = flushed(canonical(product as f32), flush);
    product & !(zero_factor(a, b) & flush.zero_mask())
}

#[inline(never)]
fn mul_directed(a: u32, b: u32, scale: Scale, rounding: Rounding, flush: Flush) -> u32 {
    let (a, b) = (flushed(a, flush), flushed(b, flush));
    if zero_factor(a, b) & flush.zero_mask() != 0 {
        return 0;
    }
    let (a, b) = (a.into(), b.into());
    let scale = scale as i32;
    let product = exact::mul(Format::Single, Format::Single, a, b, scale, rounding);
    finish(product, flush)
}

/// FFMA: a * b + c, rounded once.
///
/// Source: PTX ISA, "fma".
#[inline(always)]
pub fn fma(a: u32, b: u32, c: u32, rounding: Rounding, flush: Flush) -> u32 {
    if rounding == Rounding::Nearest {
        fma_nearest(a, b, c, flush)
    } else {
        fma_directed(a, b, c, rounding, flush)
    }
}

#[inline(never)]
fn fma_directed(a: u32, b: u32, c: u32, rounding: Rounding, flush: Flush) -> u32 {
    let [a, b, c] = [a, b, c].map(|x| flushed(x, flush));
    let factor = !(zero_factor(a, b) & flush.zero_mask());
    let operands = [(a & factor).into(), (b & factor).into(), c.into()];
    let sum = exact::fma(Format::Single, Format::Single, operands, rounding);
    finish(sum, flush)
}

fn finish(bits: Option<u64>, flush: Flush) -> u32 {
    bits.map_or(NAN, |bits| flushed(bits as u32, flush))
}

/// FMNMX with a true predicate: the smaller operand, where -0 is smaller than +0. If one operand is a NaN, the other
/// operand; if both are, [`NAN`].
///
/// Source: PTX ISA, "min"; meaning of the predicate: kernels with CUDA's `fminf`.
#[inline(always)]
pub fn min(a: u32, b: u32, flush: Flush) -> u32 {
    choose(a, b, flush, |a, b| a < b)
}

/// FMNMX with a false predicate: the larger operand; otherwise as [`min`].
///
/// Source: PTX ISA, "max".
#[inline(always)]
pub fn max(a: u32, b: u32, flush: Flush) -> u32 {
    choose(a, b, flush, |a, b| a > b)
}

#[inline(always)]
fn choose(a: u32, b: u32, flush: Flush, first: impl Fn(i32, i32) -> bool) -> u32 {
    let (a, b) = (flushed(a, flush), flushed(b, flush));
    // Signed integers in the order of the numbers that the patterns represent.
    let key = |x: u32| x as i32 ^ ((x as i32 >> 31) as u32 >> 1) as i32;
    let chosen = if first(key(a), key(b)) { a } else { b };
    let number = if is_nan(b) { a } else { chosen };
    let number = if is_nan(a) { b } else { number };
    if is_nan(a) & is_nan(b) { NAN } else { number }
}

#[inline(always)]
fn is_nan(x: u32) -> bool {
    x & !SIGN > INFINITY
}

/// FSET, FSETP and the test of FCMP (whose second operand is 0): whether the comparison holds.
///
/// Source: PTX ISA, "setp"; subnormal operands are flushed first with `.ftz`.
#[inline(always)]
pub fn compare(comparison: Comparison, a: u32, b: u32, flush: Flush) -> bool {
    let (a, b) = (flushed(a, flush), flushed(b, flush));
    comparison.holds(f32::from_bits(a), f32::from_bits(b))
}
