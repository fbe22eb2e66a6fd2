//! Double precision: DADD, DMUL, DFMA, DMNMX, comparisons. For example, `DADD.RZ` of 1 and 2^-53 is 1, and `DADD.RP`
//! is the next number above 1.
//!
//! Subnormal numbers are always kept (PTX ISA, "Floating-Point Instructions").

use super::{Comparison, Format, Rounding, exact};

const SIGN: u64 = Format::Double.sign();
const QUIET: u64 = 1 << 51;

/// NaN of a result without a NaN among its operands.
///
/// Source: CUDA `math_constants.h` (`CUDART_NAN`); that the hardware returns it is an assumption.
pub const NAN: u64 = Format::Double.nan();

/// `|x|`: the sign bit cleared, also of a NaN (as [`single::absolute`](super::single::absolute)).
#[inline(always)]
pub fn absolute(x: u64) -> u64 {
    x & !SIGN
}

/// `-x`: the sign bit inverted, also of a NaN (as [`single::negate`](super::single::negate)).
#[inline(always)]
pub fn negate(x: u64) -> u64 {
    x ^ SIGN
}

/// DADD: a + b.
///
/// Source: PTX ISA, "add" (IEEE 754 binary64).
#[inline]
pub fn add(a: u64, b: u64, rounding: Rounding) -> u64 {
    // The host rounds to nearest as IEEE 754 requires, and much faster than exact arithmetic.
    if rounding == Rounding::Nearest {
        return canonical(f64::from_bits(a) + f64::from_bits(b), [a, b, 0]);
    }
    let sum = exact::add(Format::Double, Format::Double, a, b, rounding);
    sum.unwrap_or_else(|| nan_of([a, b, 0]))
}

/// DMUL: a * b.
///
/// Source: PTX ISA, "mul" (IEEE 754 binary64).
#[inline]
pub fn mul(a: u64, b: u64, rounding: Rounding) -> u64 {
    if rounding == Rounding::Nearest {
        return canonical(f64::from_bits(a) * f64::from_bits(b), [a, b, 0]);
    }
    let product = exact::mul(Format::Double, Format::Double, a, b, 0, rounding);
    product.unwrap_or_else(|| nan_of([a, b, 0]))
}

/// DFMA: a * b + c, rounded once.
///
/// Source: PTX ISA, "fma" (IEEE 754 binary64).
#[inline]
pub fn fma(a: u64, b: u64, c: u64, rounding: Rounding) -> u64 {
    if rounding == Rounding::Nearest {
        let [x, y, z] = [a, b, c].map(f64::from_bits);
        return canonical(x.mul_add(y, z), [a, b, c]);
    }
    let sum = exact::fma(Format::Double, Format::Double, [a, b, c], rounding);
    sum.unwrap_or_else(|| nan_of([a, b, c]))
}

#[inline]
fn canonical(x: f64, operands: [u64; 3]) -> u64 {
    if x.is_nan() {
        nan_of(operands)
    } else {
        x.to_bits()
    }
}

/// The first NaN among the operands, made quiet, or [`NAN`].
#[cold]
fn nan_of(operands: [u64; 3]) -> u64 {
    let nan = operands.into_iter().find(|x| Format::Double.is_nan(*x));
    nan.map_or(NAN, |x| x | QUIET)
}

/// DMNMX with a true predicate: the smaller operand, where -0 is smaller than +0. If one operand is a NaN, the other
/// operand; if both are, the first NaN, made quiet (assumption).
///
/// Source: PTX ISA, "min".
#[inline]
pub fn min(a: u64, b: u64) -> u64 {
    choose(a, b, |a, b| a < b)
}

/// DMNMX with a false predicate: the larger operand; otherwise as [`min`].
///
/// Source: PTX ISA, "max".
#[inline]
pub fn max(a: u64, b: u64) -> u64 {
    choose(a, b, |a, b| a > b)
}

#[inline]
fn choose(a: u64, b: u64, first: impl Fn(i64, i64) -> bool) -> u64 {
    // Maps the bits to signed integers in the order of the numbers, with -0 before +0.
    let key = |x: u64| x as i64 ^ ((x as i64 >> 63) as u64 >> 1) as i64;
    match (Format::Double.is_nan(a), Format::Double.is_nan(b)) {
        (true, true) => nan_of([a, b, 0]),
        (true, false) => b,
        (false, true) => a,
        (false, false) if first(key(a), key(b)) => a,
        (false, false) => b,
    }
}

/// DSET and DSETP: whether the comparison holds.
///
/// Source: PTX ISA, "setp".
#[inline(always)]
pub fn compare(comparison: Comparison, a: u64, b: u64) -> bool {
    comparison.holds(f64::from_bits(a), f64::from_bits(b))
}
