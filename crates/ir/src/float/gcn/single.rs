//! Singles rounded to nearest, without branches, so that a loop over the lanes of a wave compiles to vector instructions
//! where the modes are constant inside it.

use super::GcnMode;
use crate::float::Flush;
use crate::float::single::{self, rounded_to_odd};

/// [`super::GcnFunction::Add`], to nearest.
#[inline(always)]
pub fn add_nearest(a: u32, b: u32, mode: GcnMode) -> u32 {
    let (a, b) = (operand(a, mode), operand(b, mode));
    finish(f32::from_bits(a) + f32::from_bits(b), [a, b, b], mode)
}

/// [`super::GcnFunction::Mul`], to nearest.
#[inline(always)]
pub fn mul_nearest(a: u32, b: u32, mode: GcnMode) -> u32 {
    let (a, b) = (operand(a, mode), operand(b, mode));
    finish(f32::from_bits(a) * f32::from_bits(b), [a, b, b], mode)
}

/// [`super::GcnFunction::Fma`], to nearest.
#[inline(always)]
pub fn fma_nearest(a: u32, b: u32, c: u32, mode: GcnMode) -> u32 {
    let operands = [a, b, c].map(|x| operand(x, mode));
    let [a, b, c] = operands.map(|x| f64::from(f32::from_bits(x)));
    // The product of two 24-bit significands is exact in f64.
    finish(rounded_to_odd(a * b, c) as f32, operands, mode)
}

#[inline(always)]
fn operand(x: u32, mode: GcnMode) -> u32 {
    single::flushed(x, flush(mode.flush_operands))
}

#[inline(always)]
fn flush(flushes: bool) -> Flush {
    match flushes {
        true => Flush::Ftz,
        false => Flush::Keep,
    }
}

/// Result of an operation on operands, of which the last may be there twice.
#[inline(always)]
fn finish(result: f32, [a, b, c]: [u32; 3], mode: GcnMode) -> u32 {
    const QUIET: u32 = 0x0040_0000;
    const INVALID: u32 = 0xffc0_0000;
    let is_nan = |x: u32| f32::from_bits(x).is_nan();
    let nan = if is_nan(c) { c | QUIET } else { INVALID };
    let nan = if is_nan(b) { b | QUIET } else { nan };
    let nan = if is_nan(a) { a | QUIET } else { nan };
    let number = single::flushed(result.to_bits(), flush(mode.flush_results));
    if result.is_nan() { nan } else { number }
}
