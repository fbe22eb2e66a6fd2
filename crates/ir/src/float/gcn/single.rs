//! Singles rounded to nearest, without branches, so that a loop over the lanes of a wave compiles to vector
//! instructions if the modes are constant inside it. For example, `add_number(x, y, GcnMode::FLUSH)` in such a loop
//! is a vector addition with a few masks.

use super::GcnMode;
use crate::float::Flush;
use crate::float::single::{self, rounded_to_odd};

/// [`super::GcnFunction::Add`], to nearest; a NaN has any bits.
#[inline(always)]
pub fn add_number(a: u32, b: u32, mode: GcnMode) -> u32 {
    let (a, b) = (operand(a, mode), operand(b, mode));
    result(f32::from_bits(a) + f32::from_bits(b), mode)
}

/// [`super::GcnFunction::Mul`], to nearest; a NaN has any bits.
#[inline(always)]
pub fn mul_number(a: u32, b: u32, mode: GcnMode) -> u32 {
    let (a, b) = (operand(a, mode), operand(b, mode));
    result(f32::from_bits(a) * f32::from_bits(b), mode)
}

/// [`super::GcnFunction::Fma`], to nearest; a NaN has any bits.
#[inline(always)]
pub fn fma_number(a: u32, b: u32, c: u32, mode: GcnMode) -> u32 {
    let number = |x| f64::from(f32::from_bits(operand(x, mode)));
    // The product of two 24-bit significands is exact in f64.
    result(
        rounded_to_odd(number(a) * number(b), number(c)) as f32,
        mode,
    )
}

/// Whether a pattern is a NaN.
#[inline(always)]
pub fn is_nan(x: u32) -> bool {
    x & 0x7fff_ffff > 0x7f80_0000
}

#[inline(always)]
fn operand(x: u32, mode: GcnMode) -> u32 {
    single::flushed(x, flush(mode.flush_operands))
}

#[inline(always)]
fn result(x: f32, mode: GcnMode) -> u32 {
    single::flushed(x.to_bits(), flush(mode.flush_results))
}

#[inline(always)]
fn flush(flushes: bool) -> Flush {
    match flushes {
        true => Flush::Ftz,
        false => Flush::Keep,
    }
}
