//! FCHK: condition for the slow path of single-precision division.

use super::single;

/// FCHK.DIVIDE: whether a / b needs the slow path. For example, 1 / 3 does not, and 1 / 0 and 1 / 2^127 do.
///
/// Compilers divide in a short sequence of FFMAs: `y = MUFU.RCP(b)`, one Newton step, `q = a * y`, the remainder `a -
/// b * q`, and one correction. They call a subroutine if this predicate is true. The short sequence is right if every
/// step is exact enough. This requires that both operands are normal numbers (MUFU flushes subnormals, and a zero
/// quotient would lose its sign), that `1 / b` is normal, that the quotient is normal with a margin on both sides,
/// and that the remainder is a multiple of the smallest subnormal. The predicate is false only if all of this follows
/// from the exponents.
///
/// Source: the sequence in our kernels (`f32_division`). NVIDIA does not publish the exact condition of the hardware
/// (assumption: this one). The subroutine handles every pair, so any larger set gives the same quotients, only in
/// another time. Operands count after their modifiers.
#[inline]
pub fn needs_slow_path(a: u32, b: u32) -> bool {
    let exponent = |x: u32| (single::absolute(x) >> 23) as i32;
    let (a, b) = (exponent(a), exponent(b));
    let normal = 1..=254;
    // Biased exponents. b is below 2^126, so 1 / b is normal; the remainder has a weight of 2^(a - 127 - 47) or more.
    !(normal.contains(&a)
        && normal.contains(&b)
        && b <= 252
        && a >= 27
        && (-124..=125).contains(&(a - b)))
}
