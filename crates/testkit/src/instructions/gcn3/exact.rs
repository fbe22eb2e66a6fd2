//! Floats as exact numbers, and their rounding to a format.

use super::FloatKind;

/// A float of any format.
#[derive(Clone, Copy, Debug)]
pub(super) enum Number {
    /// Not a number; whether it signals.
    Nan(bool),
    /// An infinity; whether it is negative.
    Infinite(bool),
    Finite(Exact),
}

/// `mantissa` × 2^`exponent`, and something less than a unit of the mantissa if `has_rest`.
#[derive(Clone, Copy, Debug)]
pub(super) struct Exact {
    pub(super) negative: bool,
    pub(super) mantissa: u128,
    pub(super) exponent: i32,
    pub(super) has_rest: bool,
}

/// Rounding direction, as MODE has it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Rounding {
    Even,
    Up,
    Down,
    Zero,
}

impl Rounding {
    pub(super) fn of(bits: u32) -> Rounding {
        match bits & 3 {
            0 => Rounding::Even,
            1 => Rounding::Up,
            2 => Rounding::Down,
            _ => Rounding::Zero,
        }
    }
}

impl FloatKind {
    pub(super) fn bits(self) -> u32 {
        match self {
            FloatKind::F16 => 16,
            FloatKind::F32 => 32,
            FloatKind::F64 => 64,
        }
    }

    /// Bits of the fraction.
    pub(super) fn fraction(self) -> u32 {
        match self {
            FloatKind::F16 => 10,
            FloatKind::F32 => 23,
            FloatKind::F64 => 52,
        }
    }

    pub(super) fn bias(self) -> i32 {
        match self {
            FloatKind::F16 => 15,
            FloatKind::F32 => 127,
            FloatKind::F64 => 1023,
        }
    }

    /// The largest exponent field, which infinities have.
    fn top(self) -> u64 {
        (1 << (self.bits() - 1 - self.fraction())) - 1
    }

    pub(super) fn infinity(self, negative: bool) -> u64 {
        self.sign(negative) | self.top() << self.fraction()
    }

    pub(super) fn quiet_nan(self) -> u64 {
        self.infinity(false) | 1 << (self.fraction() - 1)
    }

    pub(super) fn sign(self, negative: bool) -> u64 {
        u64::from(negative) << (self.bits() - 1)
    }

    /// Exponent of the lowest bit of subnormal numbers.
    fn least(self) -> i32 {
        1 - self.bias() - self.fraction() as i32
    }

    /// The exponent field.
    pub(super) fn field(self, bits: u64) -> u64 {
        bits >> self.fraction() & self.top()
    }

    pub(super) fn decode(self, bits: u64) -> Number {
        let negative = bits >> (self.bits() - 1) & 1 == 1;
        let fraction = bits & ((1 << self.fraction()) - 1);
        let field = self.field(bits);
        if field == self.top() {
            return match fraction {
                0 => Number::Infinite(negative),
                _ => Number::Nan(fraction >> (self.fraction() - 1) == 0),
            };
        }
        let (mantissa, exponent) = match field {
            0 => (fraction, self.least()),
            _ => (
                fraction | 1 << self.fraction(),
                self.least() + field as i32 - 1,
            ),
        };
        Number::Finite(Exact::new(negative, mantissa.into(), exponent))
    }

    /// Whether the bits are a subnormal number.
    pub(super) fn is_subnormal(self, bits: u64) -> bool {
        self.field(bits) == 0 && bits & ((1 << self.fraction()) - 1) != 0
    }

    /// The number with a zero in place of a subnormal one.
    pub(super) fn flushed(self, bits: u64) -> u64 {
        match self.is_subnormal(bits) {
            true => bits & self.sign(true),
            false => bits,
        }
    }

    /// Rounds a number.
    pub(super) fn round(self, x: Exact, rounding: Rounding) -> u64 {
        let sign = self.sign(x.negative);
        if x.mantissa == 0 {
            assert!(!x.has_rest, "a rest has bits above it");
            return sign;
        }
        let top_bit = 127 - x.mantissa.leading_zeros() as i32;
        let lowest = (x.exponent + top_bit - self.fraction() as i32).max(self.least());
        let shift = lowest - x.exponent;
        let (mut kept, order) = if shift <= 0 {
            assert!(!x.has_rest, "a rest is below all kept bits");
            (x.mantissa << -shift, None)
        } else if shift > 127 {
            (0, Some(std::cmp::Ordering::Less))
        } else {
            let rest = x.mantissa & ((1 << shift) - 1);
            let half = 1u128 << (shift - 1);
            let order = match (rest.cmp(&half), x.has_rest) {
                (std::cmp::Ordering::Equal, true) => std::cmp::Ordering::Greater,
                (order, _) => order,
            };
            (
                x.mantissa >> shift,
                (rest != 0 || x.has_rest).then_some(order),
            )
        };
        let is_up = match (order, rounding) {
            (None, _) | (_, Rounding::Zero) => false,
            (Some(order), Rounding::Even) => order.is_gt() || order.is_eq() && kept & 1 == 1,
            (_, Rounding::Up) => !x.negative,
            (_, Rounding::Down) => x.negative,
        };
        kept += u128::from(is_up);
        // A carry out of the fraction raises the exponent field, as the encoding is contiguous.
        let field = (lowest - self.least()) as u128;
        let encoded = (field << self.fraction()) + kept;
        if encoded >= u128::from(self.infinity(false)) {
            let stays_finite = match rounding {
                Rounding::Even => false,
                Rounding::Zero => true,
                Rounding::Up => x.negative,
                Rounding::Down => !x.negative,
            };
            return sign | (self.infinity(false) - u64::from(stays_finite));
        }
        sign | encoded as u64
    }
}

impl Exact {
    pub(super) fn new(negative: bool, mantissa: u128, exponent: i32) -> Exact {
        Exact {
            negative,
            mantissa,
            exponent,
            has_rest: false,
        }
    }

    pub(super) fn integer(value: i128) -> Exact {
        Exact::new(value < 0, value.unsigned_abs(), 0)
    }

    pub(super) fn is_zero(self) -> bool {
        self.mantissa == 0 && !self.has_rest
    }

    /// The product; mantissas have at most 64 bits.
    pub(super) fn times(self, other: Exact) -> Exact {
        Exact::new(
            self.negative != other.negative,
            self.mantissa * other.mantissa,
            self.exponent + other.exponent,
        )
    }

    /// The sum; mantissas have at most 120 bits, and the one of less than 60 bits is below the other where they are
    /// far apart. An exact zero has the sign that the rounding gives it.
    pub(super) fn plus(self, other: Exact, rounding: Rounding) -> Exact {
        if self.is_zero() && other.is_zero() {
            let negative = match self.negative == other.negative {
                true => self.negative,
                false => rounding == Rounding::Down,
            };
            return Exact::new(negative, 0, 0);
        }
        if self.is_zero() {
            return other;
        }
        if other.is_zero() {
            return self;
        }
        let top = |x: Exact| x.exponent + 128 - x.mantissa.leading_zeros() as i32;
        let (high, low) = if top(self) >= top(other) {
            (self, other)
        } else {
            (other, self)
        };
        // The higher one fills 126 bits, so that a sum fits and what is lost of the lower one is a rest.
        let room = high.mantissa.leading_zeros() as i32 - 2;
        let exponent = high.exponent - room;
        let wide = high.mantissa << room;
        let down = exponent - low.exponent;
        let (aligned, has_rest) = match down {
            ..=0 => (low.mantissa << -down, false),
            1..128 => (low.mantissa >> down, low.mantissa & ((1 << down) - 1) != 0),
            _ => (0, true),
        };
        if high.negative == low.negative {
            return Exact {
                negative: high.negative,
                mantissa: wide + aligned,
                exponent,
                has_rest,
            };
        }
        // With a rest, the difference is less than this one by less than a unit: it is one unit less, and a rest.
        let lowered = aligned + u128::from(has_rest);
        match wide.cmp(&lowered) {
            std::cmp::Ordering::Equal => Exact::new(rounding == Rounding::Down, 0, 0),
            std::cmp::Ordering::Greater => Exact {
                negative: high.negative,
                mantissa: wide - lowered,
                exponent,
                has_rest,
            },
            std::cmp::Ordering::Less => Exact {
                negative: low.negative,
                mantissa: lowered - wide,
                exponent,
                has_rest,
            },
        }
    }

    /// The integer next to it in a direction; `None` if it has more than 120 bits.
    pub(super) fn to_integer(self, rounding: Rounding) -> Option<i128> {
        let magnitude = if self.exponent >= 0 {
            if self.mantissa != 0 && self.exponent > self.mantissa.leading_zeros() as i32 - 8 {
                return None;
            }
            match self.mantissa {
                0 => 0,
                mantissa => mantissa << self.exponent,
            }
        } else {
            let shift = -self.exponent;
            let (whole, rest, half) = match shift {
                ..=127 => (
                    self.mantissa >> shift,
                    self.mantissa & ((1 << shift) - 1),
                    1u128 << (shift - 1),
                ),
                _ => (0, self.mantissa, u128::MAX),
            };
            let is_up = rest != 0
                && match rounding {
                    Rounding::Zero => false,
                    Rounding::Up => !self.negative,
                    Rounding::Down => self.negative,
                    Rounding::Even => rest > half || rest == half && whole & 1 == 1,
                };
            whole + u128::from(is_up)
        };
        let value = i128::try_from(magnitude).ok()?;
        Some(if self.negative { -value } else { value })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The host's arithmetic rounds to even with subnormal numbers: the same operations agree with it.
    #[test]
    fn arithmetic_agrees_with_the_host() {
        let mut rng = fastrand::Rng::with_seed(1);
        let of = |x: u64| FloatKind::F64.decode(x);
        for _ in 0..200_000 {
            let mut number = || {
                let bits = rng.u64(..);
                match rng.u8(..4) {
                    0 => bits & !(0x7ffu64 << 52) | rng.u64(0x3f0..0x410) << 52,
                    1 => bits & !(0x7ffu64 << 52) | rng.u64(0..4) << 52,
                    2 => bits & (u64::MAX << 40),
                    _ => bits,
                }
            };
            let (a, b, c) = (number(), number(), number());
            let (Number::Finite(x), Number::Finite(y), Number::Finite(z)) = (of(a), of(b), of(c))
            else {
                continue;
            };
            let (fa, fb, fc) = (f64::from_bits(a), f64::from_bits(b), f64::from_bits(c));
            let round = |x| FloatKind::F64.round(x, Rounding::Even);
            assert_eq!(round(x.plus(y, Rounding::Even)), (fa + fb).to_bits());
            assert_eq!(round(x.times(y)), (fa * fb).to_bits());
            let fused = x.times(y).plus(z, Rounding::Even);
            assert_eq!(round(fused), fa.mul_add(fb, fc).to_bits(), "{fa} {fb} {fc}");
            let narrow = FloatKind::F32.round(x, Rounding::Even);
            assert_eq!(narrow, u64::from((fa as f32).to_bits()));
        }
    }

    #[test]
    fn directions() {
        let third = Exact {
            has_rest: true,
            ..Exact::new(false, (1 << 126) / 3, -126)
        };
        let round = |x, rounding| FloatKind::F32.round(x, rounding);
        assert_eq!(round(third, Rounding::Up), 0x3eaa_aaab);
        assert_eq!(round(third, Rounding::Down), 0x3eaa_aaaa);
        let negative = Exact {
            negative: true,
            ..third
        };
        assert_eq!(round(negative, Rounding::Up), 0xbeaa_aaaa);
        assert_eq!(round(negative, Rounding::Down), 0xbeaa_aaab);
        let huge = Exact::new(false, 1, 200);
        assert_eq!(round(huge, Rounding::Even), 0x7f80_0000);
        assert_eq!(round(huge, Rounding::Down), 0x7f7f_ffff);
        let tiny = Exact::new(true, 1, -200);
        assert_eq!(round(tiny, Rounding::Even), 0x8000_0000);
        assert_eq!(round(tiny, Rounding::Down), 0x8000_0001);
        let half = Exact::new(false, 5, -1);
        assert_eq!(half.to_integer(Rounding::Even), Some(2));
        assert_eq!(half.to_integer(Rounding::Up), Some(3));
    }
}
