//! Exact arithmetic on finite numbers; only [`Exact::round`] rounds. For example, 1.5 is the significand 3 with the
//! exponent -1, and its product with itself is 9 with the exponent -2.

use super::{Format, Rounding};

/// Finite number: ±`significand` * 2^`exponent`. Zero has a sign too.
#[derive(Clone, Copy, Debug)]
pub(super) struct Exact {
    pub(super) negative: bool,
    pub(super) exponent: i32,
    pub(super) significand: u128,
}

/// Value of a bit pattern.
#[derive(Clone, Copy, Debug)]
pub(super) enum Unpacked {
    Nan,
    /// Infinity; whether it is negative.
    Infinite(bool),
    Finite(Exact),
}

impl Unpacked {
    #[inline]
    pub(super) fn unpack(format: Format, bits: u64) -> Unpacked {
        let negative = bits & format.sign() != 0;
        let magnitude = bits & (format.sign() - 1);
        if magnitude > format.infinity() {
            return Unpacked::Nan;
        }
        if magnitude == format.infinity() {
            return Unpacked::Infinite(negative);
        }
        let field = magnitude >> format.fraction();
        // Subnormal numbers have no hidden bit, and the exponent of the smallest normal number.
        let hidden = u64::from(field != 0) << format.fraction();
        Unpacked::Finite(Exact {
            negative,
            exponent: field.max(1) as i32 - 1 + format.lowest() - format.fraction() as i32,
            significand: u128::from(magnitude & ((1 << format.fraction()) - 1) | hidden),
        })
    }

    fn negative(self) -> bool {
        match self {
            Unpacked::Nan => false,
            Unpacked::Infinite(negative) | Unpacked::Finite(Exact { negative, .. }) => negative,
        }
    }
}

impl Exact {
    /// Exponent of the leading bit. The significand must not be 0.
    #[inline]
    fn leading(self) -> i32 {
        self.exponent + 127 - self.significand.leading_zeros() as i32
    }

    /// Computes the product of significands of at most 64 bits.
    #[inline]
    fn times(self, other: Exact) -> Exact {
        Exact {
            negative: self.negative != other.negative,
            exponent: self.exponent + other.exponent,
            significand: self.significand * other.significand,
        }
    }

    /// Computes a number that rounds to any format with a significand of less than 64 bits like the exact sum, for
    /// significands of at most 106 bits. An exact zero sum of numbers with unlike signs is -0 when rounding down,
    /// otherwise +0 (IEEE 754, 6.3).
    fn plus(self, other: Exact, rounding: Rounding) -> Exact {
        if self.significand == 0 && other.significand == 0 {
            let negative = if self.negative == other.negative {
                self.negative
            } else {
                rounding == Rounding::Down
            };
            return Exact { negative, ..self };
        }
        // A zero has no leading bit, which the alignment below needs.
        if self.significand == 0 {
            return other;
        }
        if other.significand == 0 {
            return self;
        }
        let (mut large, mut small) = (self, other);
        if large.leading() < small.leading() {
            (large, small) = (small, large);
        }
        // One bit is for the carry. At least 19 zeros are below the significand, so a bit that is lost never decides
        // about the position of the leading bit.
        let up = large.significand.leading_zeros() - 2;
        large.significand <<= up;
        large.exponent -= up as i32;
        let down = large.exponent - small.exponent;
        small.significand = if down <= 0 {
            small.significand << -down
        } else {
            shifted_right_sticky(small.significand, down as u32)
        };
        if large.negative == small.negative {
            large.significand += small.significand;
        } else if large.significand >= small.significand {
            large.significand -= small.significand;
            if large.significand == 0 {
                large.negative = rounding == Rounding::Down;
            }
        } else {
            large.significand = small.significand - large.significand;
            large.negative = small.negative;
        }
        large
    }

    /// Rounds to a format; returns the bit pattern.
    #[inline]
    pub(super) fn round(self, format: Format, rounding: Rounding) -> u64 {
        let sign = if self.negative { format.sign() } else { 0 };
        if self.significand == 0 {
            return sign;
        }
        let fraction = format.fraction() as i32;
        let unit = self.leading().max(format.lowest()) - fraction;
        let shift = unit - self.exponent;
        let mut kept = if shift <= 0 {
            (self.significand << -shift) as u64
        } else {
            let (kept, rest, half) = if shift < 128 {
                let kept = self.significand >> shift;
                let half = 1u128 << (shift - 1);
                (kept as u64, self.significand ^ (kept << shift), half)
            } else {
                // The number is at most half a unit, and equal to it only if all 128 bits are used.
                let rest = if shift == 128 { self.significand } else { 1 };
                (0, rest, 1 << 127)
            };
            let away = match rounding {
                Rounding::Nearest => rest > half || (rest == half && kept & 1 != 0),
                Rounding::Down => self.negative && rest != 0,
                Rounding::Up => !self.negative && rest != 0,
                Rounding::Zero => false,
            };
            kept + u64::from(away)
        };
        // The hidden bit of `kept` counts as one in the field of the exponent.
        let field = unit - (format.lowest() - fraction);
        if field >= 1 << (format.width() - 1 - format.fraction()) {
            // The shift below would lose bits of such an exponent. The number overflows in every rounding.
            kept = u64::MAX;
        } else {
            kept = kept.saturating_add((field as u64) << fraction);
        }
        if kept >= format.infinity() {
            // A rounding that does not reach infinity gives the largest finite number.
            let reached = match rounding {
                Rounding::Nearest => true,
                Rounding::Down => self.negative,
                Rounding::Up => !self.negative,
                Rounding::Zero => false,
            };
            kept = format.infinity() - u64::from(!reached);
        }
        sign | kept
    }
}

/// Shifts right. The lowest bit becomes a sticky bit, which is one if a one is shifted out. For example, 0b1001
/// shifted by 2 gives 0b11.
#[inline]
pub(super) fn shifted_right_sticky(value: u128, shift: u32) -> u128 {
    if shift >= 128 {
        return u128::from(value != 0);
    }
    let kept = value >> shift;
    kept | u128::from(kept << shift != value)
}

/// Computes a + b, rounded from one format to another; `None` if the result is a NaN.
pub(super) fn add(from: Format, to: Format, a: u64, b: u64, rounding: Rounding) -> Option<u64> {
    sum(
        to,
        Unpacked::unpack(from, a),
        Unpacked::unpack(from, b),
        rounding,
    )
}

/// Computes a * b * 2^`scale`, rounded once; `None` if the result is a NaN.
pub(super) fn mul(
    from: Format,
    to: Format,
    a: u64,
    b: u64,
    scale: i32,
    rounding: Rounding,
) -> Option<u64> {
    match product(Unpacked::unpack(from, a), Unpacked::unpack(from, b)) {
        Unpacked::Nan => None,
        Unpacked::Infinite(negative) => Some(infinity(to, negative)),
        Unpacked::Finite(mut x) => {
            x.exponent += scale;
            Some(x.round(to, rounding))
        }
    }
}

/// Computes a * b + c, rounded once; `None` if the result is a NaN.
pub(super) fn fma(
    from: Format,
    to: Format,
    [a, b, c]: [u64; 3],
    rounding: Rounding,
) -> Option<u64> {
    let product = product(Unpacked::unpack(from, a), Unpacked::unpack(from, b));
    sum(to, product, Unpacked::unpack(from, c), rounding)
}

/// Computes (a * b + c) * 2^scale, rounded once; `None` if the result is a NaN.
pub(super) fn scaled_fma(
    format: Format,
    [a, b, c]: [u64; 3],
    scale: i32,
    rounding: Rounding,
) -> Option<u64> {
    let [a, b, c] = [a, b, c].map(|x| Unpacked::unpack(format, x));
    match (product(a, b), c) {
        (Unpacked::Finite(product), Unpacked::Finite(c)) => {
            let mut sum = product.plus(c, rounding);
            sum.exponent += scale;
            Some(sum.round(format, rounding))
        }
        // Infinities and NaNs do not depend on the scale.
        (product, c) => sum(format, product, c, rounding),
    }
}

fn product(a: Unpacked, b: Unpacked) -> Unpacked {
    let negative = a.negative() != b.negative();
    match (a, b) {
        (Unpacked::Finite(a), Unpacked::Finite(b)) => Unpacked::Finite(a.times(b)),
        (Unpacked::Nan, _) | (_, Unpacked::Nan) => Unpacked::Nan,
        // Zero times infinity.
        (Unpacked::Finite(x), _) | (_, Unpacked::Finite(x)) if x.significand == 0 => Unpacked::Nan,
        _ => Unpacked::Infinite(negative),
    }
}

fn sum(format: Format, a: Unpacked, b: Unpacked, rounding: Rounding) -> Option<u64> {
    match (a, b) {
        (Unpacked::Finite(a), Unpacked::Finite(b)) => {
            Some(a.plus(b, rounding).round(format, rounding))
        }
        (Unpacked::Nan, _) | (_, Unpacked::Nan) => None,
        // Infinity minus infinity.
        (Unpacked::Infinite(a), Unpacked::Infinite(b)) if a != b => None,
        (Unpacked::Infinite(negative), _) | (_, Unpacked::Infinite(negative)) => {
            Some(infinity(format, negative))
        }
    }
}

pub(super) fn infinity(format: Format, negative: bool) -> u64 {
    format.infinity() | if negative { format.sign() } else { 0 }
}
