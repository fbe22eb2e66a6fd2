//! FCHK: condition for the slow path of single-precision division.

use super::single;

/// FCHK.DIVIDE: whether a / b needs the slow path.
///
/// Compilers divide by `y = MUFU.RCP(b)`, one Newton step, `q = a * y`, the remainder `a - b * q`
/// and one correction, each step an FFMA, and call a subroutine where this predicate is true. The
/// short sequence is right if every step is exact enough, which needs: both operands normal numbers
/// (MUFU flushes subnormals, a zero quotient would lose its sign), `1 / b` normal, the quotient
/// normal with a margin on both sides, and a remainder that is a multiple of the smallest subnormal.
/// The predicate is false only where all of this holds by the exponents.
///
/// Source: the sequence in our kernels (`f32_division`); NVIDIA does not publish the exact condition
/// of the hardware (assumption: this one). The subroutine handles every pair, so that any larger set
/// gives the same quotients; only the time differs. The operands count after their modifiers.
#[inline]
pub fn needs_slow_path(a: u32, b: u32) -> bool {
    let exponent = |x: u32| (single::absolute(x) >> 23) as i32;
    let (a, b) = (exponent(a), exponent(b));
    let normal = 1..=254;
    // Biased exponents: b below 2^126; the remainder has the weight 2^(a - 127 - 47) at least.
    !(normal.contains(&a)
        && normal.contains(&b)
        && b <= 252
        && a >= 27
        && (-124..=125).contains(&(a - b)))
}
