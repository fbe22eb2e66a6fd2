//! Elementary functions in fixed point, with integers only.
//!
//! A `u64` x stands for x / 2^64 unless stated otherwise; for example, 0x8000_0000_0000_0000 is 1/2. Each step
//! truncates, which costs less than 2^-64, and later steps damp the error. A series ends when the next term is below
//! 2^-65. Only integers are used, so results do not depend on the host.

use super::exact::Exact;

/// ln 2.
const LN_2: u64 = 0xb172_17f7_d1cf_79ac;
/// 2 / ln 2, times 2^62.
const TWO_OVER_LN_2: u64 = 0xb8aa_3b29_5c17_f0bc;
/// 2 / pi: the first 256 fraction bits, after 64 zeros.
const TWO_OVER_PI: [u64; 5] = [
    0,
    0xa2f9_836e_4e44_1529,
    0xfc27_57d1_f534_ddc0,
    0xdb62_9599_3c43_9041,
    0xfe51_63ab_debb_c561,
];

#[inline(always)]
fn times(a: u64, b: u64) -> u64 {
    ((u128::from(a) * u128::from(b)) >> 64) as u64
}

/// Computes 2^`fraction` - 1 with an error of at most 2^-61.
pub(super) fn power_of_two(fraction: u64) -> u64 {
    // e^y - 1 = y (1 + y/2 (1 + y/3 (...))). The variable holds the part that is added to each 1.
    let y = times(fraction, LN_2);
    let mut inner = 0;
    for k in (2..=20).rev() {
        let term = y / k;
        inner = term + times(term, inner);
    }
    y + times(y, inner)
}

/// Computes the binary logarithm of `significand` * 2^`exponent`, with a relative error of at most 2^-59. The
/// significand must have its leading bit at position 23.
pub(super) fn logarithm(exponent: i32, significand: u32) -> Exact {
    // Roughly sqrt 2 * 2^23, so that the fraction of the logarithm is at most about 1/2.
    let upper = significand > 11_863_283;
    let exponent = exponent + 23 + i32::from(upper);
    let one = 1u64 << (23 + u32::from(upper));
    // log2 m = 2 / ln 2 * atanh s, s = (m - 1) / (m + 1).
    let difference = u64::from(significand).abs_diff(one);
    let sum = u64::from(significand) + one;
    let s = ((u128::from(difference) << 64) / u128::from(sum)) as u64;
    let square = times(s, s);
    let mut inner = 0;
    for k in (1..=13).rev() {
        inner = times(square, u64::MAX / (2 * k + 1) + inner);
    }
    // 2 / ln 2 * (atanh s) / s, times 2^62. It is multiplied by the difference; the division by the sum follows.
    let factor = TWO_OVER_LN_2 + times(TWO_OVER_LN_2, inner);
    let product = u128::from(factor) * u128::from(difference);
    // Near 1 the logarithm is small, and a fraction of 64 bits would lose its relative accuracy.
    if exponent == 0 {
        let up = product.leading_zeros();
        Exact {
            negative: upper,
            exponent: -62 - up as i32,
            significand: (product << up.min(127)) / u128::from(sum),
        }
    } else {
        let fraction = ((product << 2) / u128::from(sum)) as i128;
        let value = (i128::from(exponent) << 64) + if upper { -fraction } else { fraction };
        Exact {
            negative: value < 0,
            exponent: -64,
            significand: value.unsigned_abs(),
        }
    }
}

/// Converts the angle `significand` * 2^`exponent` (in radians, with the significand below 2^24) to units of 1/2^23
/// of a quarter turn, rounded down, modulo a full turn. Exact: the product with 2/pi has 103 more bits (Payne and
/// Hanek 1983). For example, the single nearest to pi/2, which is slightly larger, gives 2^23.
pub(super) fn turned(exponent: i32, significand: u32) -> u32 {
    // Only bits of 2/pi with a weight of 2^24 or less in the result count, because higher ones add full turns.
    let first = 62 + exponent;
    // The angle is below 2^-39, which is less than one unit.
    if first < 0 {
        return 0;
    }
    let (word, bit) = (first as usize / 64, first as u32 % 64);
    let at = |word: usize| TWO_OVER_PI.get(word).copied().unwrap_or(0);
    let high = u128::from(at(word)) << 64 | u128::from(at(word + 1));
    let low = if bit == 0 {
        0
    } else {
        at(word + 2) >> (64 - bit)
    };
    let window = high << bit | u128::from(low);
    (window.wrapping_mul(significand.into()) >> 103) as u32
}

#[cfg(test)]
mod tests {
    //! Against 256 bits, by other formulas.

    use num_bigint::BigInt;
    use num_traits::{Signed, Zero};

    use super::*;

    const BITS: usize = 256;

    fn one() -> BigInt {
        BigInt::from(1) << BITS
    }

    fn exact(x: Exact) -> BigInt {
        let shift = x.exponent + BITS as i32;
        let n = BigInt::from(x.significand) << shift.max(0) >> (-shift).max(0);
        if x.negative { -n } else { n }
    }

    /// |got / expected - 1| <= 2^-bits
    fn close(got: &BigInt, expected: &BigInt, bits: usize) -> bool {
        (got - expected).abs() << bits <= expected.abs()
    }

    /// Machin's formula.
    fn pi() -> BigInt {
        let atan = |n: u32| {
            let (mut power, mut sum, mut k) = (one() / n, BigInt::zero(), 0);
            while !power.is_zero() {
                let term: BigInt = &power / (2 * k + 1);
                sum += if k % 2 == 0 { term } else { -term };
                power /= n * n;
                k += 1;
            }
            sum
        };
        atan(5) * 16 - atan(239) * 4
    }

    /// 2^x for 0 <= x < 1 by its bits and repeated square roots.
    fn power(x: &BigInt) -> BigInt {
        let (mut root, mut product) = (one() * 2, one());
        for bit in 1..=64 {
            root = BigInt::sqrt(&(root << BITS));
            if x.bit((BITS - bit) as u64) {
                product = (product * &root) >> BITS;
            }
        }
        product
    }

    /// SplitMix64's finalizer.
    fn mixed(x: u64) -> u64 {
        let x = x.wrapping_mul(0x9e37_79b9_7f4a_7c15);
        let x = (x ^ (x >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        x ^ (x >> 31)
    }

    #[test]
    fn constants() {
        let two_over_pi: BigInt = (one() << (BITS + 1)) / pi();
        for (i, word) in TWO_OVER_PI[1..].iter().enumerate() {
            let expected: BigInt = (&two_over_pi >> (192 - 64 * i)) & BigInt::from(u64::MAX);
            // The reference is a few units of 2^-256 off.
            let distance = (expected - BigInt::from(*word)).abs();
            assert!(distance < if i == 3 { 1 << 20 } else { 1 }.into());
        }
        // 2^(1 / ln 2) = e = 1/0! + 1/1! + ...
        let (mut e, mut term) = (BigInt::zero(), one());
        for k in 1..60 {
            e += &term;
            term /= k;
        }
        let reciprocal = BigInt::from(TWO_OVER_LN_2) << (BITS - 63);
        let raised = power(&(&reciprocal - one())) * 2;
        assert!(close(&raised, &e, 62));
        let product = BigInt::from(LN_2) * BigInt::from(TWO_OVER_LN_2);
        assert!(close(&product, &(BigInt::from(1) << 127), 62));
    }

    #[test]
    fn powers() {
        for i in 0..2_000 {
            let x = mixed(i) >> (i % 50);
            let expected = power(&(BigInt::from(x) << (BITS - 64)));
            let got = one() + (BigInt::from(power_of_two(x)) << (BITS - 64));
            assert!(close(&got, &expected, 61), "{x:x}");
        }
    }

    #[test]
    fn logarithms() {
        for i in 0..2_000 {
            // Some at the ends of [1, 2).
            let fraction =
                (mixed(i) >> 41 >> (i % 23)) as u32 ^ if i % 3 == 0 { 0x7f_ffff } else { 0 };
            let exponent = [-23, -24, 0, 90, -149][i as usize % 5];
            let significand = 1 << 23 | fraction;
            // Squaring doubles the logarithm.
            let mut x = BigInt::from(significand) << (BITS - 23);
            let mut expected = BigInt::from(exponent + 23);
            for _ in 0..110 {
                x = (&x * &x) >> BITS;
                expected *= 2;
                if x >= one() * 2 {
                    x /= 2;
                    expected += 1;
                }
            }
            let expected = expected << (BITS - 110);
            let got = exact(logarithm(exponent, significand));
            assert!(close(&got, &expected, 59), "{exponent} {significand:x}");
        }
    }
}
