//! Elementary functions in fixed point, with integers only.
//!
//! A `u64` x stands for x / 2^64 unless said otherwise. Each step truncates, which costs less than
//! 2^-64 and is damped by the steps after it; the series stop where the next term is below 2^-65.

use super::exact::Exact;

/// ln 2.
const LN_2: u64 = 0xb172_17f7_d1cf_79ac;
/// 2 / ln 2, times 2^62.
const TWO_OVER_LN_2: u64 = 0xb8aa_3b29_5c17_f0bc;
/// Pi / 2, times 2^63.
const HALF_PI: u64 = 0xc90f_daa2_2168_c235;
/// 2 / pi: the first 256 bits behind the point, and 64 zeros before it.
const TWO_OVER_PI: [u64; 5] = [
    0,
    0xa2f9_836e_4e44_1529,
    0xfc27_57d1_f534_ddc0,
    0xdb62_9599_3c43_9041,
    0xfe51_63ab_debb_c561,
];

/// A quarter turn in the unit of [`turned`] and [`sine`].
pub(super) const QUARTER: u32 = 1 << 23;

#[inline(always)]
fn times(a: u64, b: u64) -> u64 {
    ((u128::from(a) * u128::from(b)) >> 64) as u64
}

/// 2^`fraction` - 1, with an error of at most 2^-61.
pub(super) fn power_of_two(fraction: u64) -> u64 {
    // e^y - 1 = y (1 + y/2 (1 + y/3 (...))); the variable holds what is added to each 1.
    let y = times(fraction, LN_2);
    let mut inner = 0;
    for k in (2..=20).rev() {
        let term = y / k;
        inner = term + times(term, inner);
    }
    y + times(y, inner)
}

/// The binary logarithm of `significand` * 2^`exponent`, where the significand has its leading bit
/// at 23; relative error at most 2^-59.
pub(super) fn logarithm(exponent: i32, significand: u32) -> Exact {
    // sqrt 2 * 2^23, roughly: the fraction of the logarithm is then at most about 1/2.
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
    // 2 / ln 2 * (atanh s) / s, times 2^62; times the difference, still to be divided by the sum.
    let factor = TWO_OVER_LN_2 + times(TWO_OVER_LN_2, inner);
    let product = u128::from(factor) * u128::from(difference);
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

/// The angle `significand` * 2^`exponent` (in radians; the significand below 2^24) in units of
/// 1/2^23 of a quarter turn, rounded down, modulo a full turn. Exact: 103 more bits decide.
pub(super) fn turned(exponent: i32, significand: u32) -> u32 {
    // The bits of 2/pi that count: from weight 2^24 in the result downwards.
    let first = 62 + exponent;
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

/// The sine of an angle of at most a quarter turn ([`QUARTER`]); relative error at most 2^-60.
pub(super) fn sine(angle: u32) -> Exact {
    if angle > QUARTER / 2 {
        cosine_of_small(QUARTER - angle)
    } else {
        sine_of_small(angle)
    }
}

/// y/(first(first+1)) (1 - y/((first+2)(first+3)) (1 - ...)), with y the square of the angle.
fn alternating(angle: u32, first: u64) -> u64 {
    let radians = ((u128::from(angle) * u128::from(HALF_PI)) >> 22) as u64;
    let square = times(radians, radians);
    let mut inner = 0;
    for k in (0..=9).rev() {
        let term = square / ((first + 2 * k) * (first + 2 * k + 1));
        inner = term - times(term, inner);
    }
    inner
}

fn sine_of_small(angle: u32) -> Exact {
    let radians = u128::from(angle) * u128::from(HALF_PI);
    // Leading bit at 62, for the product with at most 2^64.
    let place = 127 - radians.leading_zeros().min(127) as i32;
    let normal = if place > 62 {
        radians >> (place - 62)
    } else {
        radians << (62 - place)
    };
    Exact {
        negative: false,
        exponent: place - 62 - 63 - 23 - 64,
        significand: normal * ((1 << 64) - u128::from(alternating(angle, 2))),
    }
}

fn cosine_of_small(angle: u32) -> Exact {
    Exact {
        negative: false,
        exponent: -64,
        significand: (1 << 64) - u128::from(alternating(angle, 1)),
    }
}
