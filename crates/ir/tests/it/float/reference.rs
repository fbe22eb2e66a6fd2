//! Reference: numbers n * 2^e with arbitrary-precision integers n, rounding by division, and test operands.

use std::cmp::Ordering;

use num_bigint::BigInt;
use num_integer::Integer;
use num_traits::{Signed, Zero};
use warpbound_ir::float::{Format, Rounding};

/// Precision, least exponent of a unit in the last place, greatest exponent.
fn parameters(format: Format) -> (i64, i64, i64) {
    match format {
        Format::Half => (11, -24, 15),
        Format::Single => (24, -149, 127),
        Format::Double => (53, -1074, 1023),
    }
}

/// n * 2^e.
#[derive(Clone, Debug)]
pub(crate) struct Dyadic {
    pub(crate) n: BigInt,
    pub(crate) e: i64,
}

impl Dyadic {
    pub(crate) fn times(&self, other: &Dyadic) -> Dyadic {
        Dyadic {
            n: &self.n * &other.n,
            e: self.e + other.e,
        }
    }

    pub(crate) fn plus(&self, other: &Dyadic) -> Dyadic {
        let e = self.e.min(other.e);
        let at = |x: &Dyadic| &x.n << (x.e - e) as usize;
        Dyadic {
            n: at(self) + at(other),
            e,
        }
    }

    pub(crate) fn compare(&self, other: &Dyadic) -> Ordering {
        let minus = Dyadic {
            n: -&other.n,
            e: other.e,
        };
        self.plus(&minus).n.cmp(&BigInt::zero())
    }

    /// Integer part in units of 2^`unit`, and the rest.
    pub(crate) fn floor(&self, unit: i64) -> (BigInt, Dyadic) {
        if self.e >= unit {
            let whole = &self.n << (self.e - unit) as usize;
            return (
                whole,
                Dyadic {
                    n: BigInt::zero(),
                    e: unit,
                },
            );
        }
        let divisor = BigInt::from(1) << (unit - self.e) as usize;
        let (whole, rest) = self.n.div_mod_floor(&divisor);
        (whole, Dyadic { n: rest, e: self.e })
    }
}

/// Value of a bit pattern; a zero keeps its sign.
#[derive(Clone, Debug)]
pub(crate) enum Value {
    Nan,
    Infinite { negative: bool },
    Finite { negative: bool, number: Dyadic },
}

impl Value {
    pub(crate) fn of(format: Format, bits: u64) -> Value {
        let (precision, unit, greatest) = parameters(format);
        let negative = bits >> (format.width() - 1) & 1 != 0;
        let fraction = bits & ((1 << (precision - 1)) - 1);
        let field = (bits >> (precision - 1)) as i64 & (2 * greatest + 1);
        if field == 2 * greatest + 1 {
            return if fraction != 0 {
                Value::Nan
            } else {
                Value::Infinite { negative }
            };
        }
        let (n, e) = if field == 0 {
            (fraction, unit)
        } else {
            (fraction + (1 << (precision - 1)), unit + field - 1)
        };
        let n = BigInt::from(n) * if negative { -1 } else { 1 };
        let number = Dyadic { n, e };
        Value::Finite { negative, number }
    }

    pub(crate) fn negative(&self) -> bool {
        match self {
            Value::Nan => false,
            Value::Infinite { negative } | Value::Finite { negative, .. } => *negative,
        }
    }
}

/// The nearest unit among the whole numbers `low` and `low` + 1 by the mode.
pub(crate) fn choose(low: BigInt, rest: &Dyadic, unit: i64, rounding: Rounding) -> BigInt {
    if rest.n.is_zero() {
        return low;
    }
    let up = match rounding {
        Rounding::Down => false,
        Rounding::Up => true,
        Rounding::Zero => low.is_negative(),
        Rounding::Nearest => {
            let half = Dyadic {
                n: 1.into(),
                e: unit - 1,
            };
            match rest.compare(&half) {
                Ordering::Less => false,
                Ordering::Equal => low.is_odd(),
                Ordering::Greater => true,
            }
        }
    };
    low + BigInt::from(u8::from(up))
}

/// The pattern for a number; `negative` is the sign of a zero.
pub(crate) fn round(format: Format, number: &Dyadic, negative: bool, rounding: Rounding) -> u64 {
    let (precision, least, greatest) = parameters(format);
    let sign = 1u64 << (format.width() - 1);
    if number.n.is_zero() {
        return if negative { sign } else { 0 };
    }
    let negative = number.n.is_negative();
    let sign = if negative { sign } else { 0 };
    let unit = (number.n.bits() as i64 + number.e - precision).max(least);
    let (low, rest) = number.floor(unit);
    let chosen = choose(low, &rest, unit, rounding);
    let magnitude = chosen.abs();
    let (magnitude, unit) = if magnitude.bits() as i64 > precision {
        (magnitude / 2, unit + 1)
    } else {
        (magnitude, unit)
    };
    let infinity = ((2 * greatest + 1) as u64) << (precision - 1);
    if unit + precision - 1 > greatest {
        let infinite = match rounding {
            Rounding::Nearest => true,
            Rounding::Zero => false,
            Rounding::Up => !negative,
            Rounding::Down => negative,
        };
        return sign | if infinite { infinity } else { infinity - 1 };
    }
    let n = magnitude.iter_u64_digits().next().unwrap_or(0);
    let field = if n >> (precision - 1) == 0 {
        0
    } else {
        (unit - least + 1) as u64
    };
    sign | field << (precision - 1) | (n & ((1 << (precision - 1)) - 1))
}

pub(crate) fn infinity(format: Format, negative: bool) -> u64 {
    let (precision, _, greatest) = parameters(format);
    u64::from(negative) << (format.width() - 1) | ((2 * greatest + 1) as u64) << (precision - 1)
}

/// a * b * 2^scale + c; without c the sign of a zero is that of the product. `None` for NaNs.
pub(crate) fn fma(
    (from, to): (Format, Format),
    a: u64,
    b: u64,
    scale: i64,
    c: Option<u64>,
    rounding: Rounding,
) -> Option<u64> {
    let (a, b) = (Value::of(from, a), Value::of(from, b));
    let negative = a.negative() != b.negative();
    let product = match (&a, &b) {
        (Value::Nan, _) | (_, Value::Nan) => return None,
        (Value::Finite { number: x, .. }, Value::Finite { number: y, .. }) => {
            let mut number = x.times(y);
            number.e += scale;
            Value::Finite { negative, number }
        }
        (Value::Finite { number, .. }, _) | (_, Value::Finite { number, .. })
            if number.n.is_zero() =>
        {
            return None;
        }
        _ => Value::Infinite { negative },
    };
    let Some(c) = c else {
        return Some(match product {
            Value::Finite { negative, number } => round(to, &number, negative, rounding),
            _ => infinity(to, negative),
        });
    };
    sum(to, &product, &Value::of(from, c), rounding)
}

/// a + b. `None` for NaNs.
pub(crate) fn sum(to: Format, a: &Value, b: &Value, rounding: Rounding) -> Option<u64> {
    match (a, b) {
        (Value::Nan, _) | (_, Value::Nan) => None,
        (Value::Infinite { negative: x }, Value::Infinite { negative: y }) => {
            (x == y).then(|| infinity(to, *x))
        }
        (Value::Infinite { negative }, _) | (_, Value::Infinite { negative }) => {
            Some(infinity(to, *negative))
        }
        (
            Value::Finite {
                negative: p,
                number: x,
            },
            Value::Finite {
                negative: q,
                number: y,
            },
        ) => {
            let zero_sign = if x.n.is_zero() && y.n.is_zero() && p == q {
                *p
            } else {
                rounding == Rounding::Down
            };
            Some(round(to, &x.plus(y), zero_sign, rounding))
        }
    }
}

/// A zero of the same sign for a subnormal number.
pub(crate) fn flush(format: Format, bits: u64) -> u64 {
    let (precision, _, greatest) = parameters(format);
    let sign = bits >> (format.width() - 1) << (format.width() - 1);
    if bits >> (precision - 1) & (2 * greatest + 1) as u64 == 0 {
        sign
    } else {
        bits
    }
}

/// SplitMix64.
pub(crate) struct Random(pub(crate) u64);

impl Random {
    pub(crate) fn bits(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut x = self.0;
        x = (x ^ (x >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        x ^ (x >> 31)
    }

    pub(crate) fn below(&mut self, limit: u64) -> u64 {
        self.bits() % limit
    }

    /// A pattern: any, or close to 1, or with few ones, or subnormal, or special.
    pub(crate) fn pattern(&mut self, format: Format) -> u64 {
        let (precision, _, greatest) = parameters(format);
        let (width, fraction) = (format.width(), precision as u32 - 1);
        let any = self.bits() >> (64 - width);
        let top = any >> (width - 1) << (width - 1);
        let low = any & ((1 << fraction) - 1);
        match self.below(8) {
            0 => top | low,
            1 | 2 => {
                let near = greatest as u64 + self.below(7) - 3;
                top | near << fraction | low
            }
            3 => {
                let sparse =
                    (any & self.bits() & self.bits() & self.bits()) & ((1 << fraction) - 1);
                any >> fraction << fraction | sparse
            }
            4 => {
                let ones = ((1 << fraction) - 1) ^ (1u64 << self.below(fraction.into()));
                any >> fraction << fraction | ones
            }
            5 if self.below(4) == 0 => {
                let all = specials(format);
                all[self.below(all.len() as u64) as usize]
            }
            _ => any,
        }
    }
}

/// Patterns at the edges, both signs: zeros, subnormal and normal limits, numbers around 1, ties,
/// the largest, infinities, NaNs.
pub(crate) fn specials(format: Format) -> Vec<u64> {
    let (precision, _, greatest) = parameters(format);
    let hidden = 1u64 << (precision - 1);
    let one = greatest as u64 * hidden;
    let infinity = (2 * greatest + 1) as u64 * hidden;
    let positive = [
        0,
        1,
        2,
        3,
        hidden / 2,
        hidden / 2 + 1,
        hidden - 1,
        hidden,
        hidden + 1,
        2 * hidden,
        3 * hidden - 1,
        (precision as u64) * hidden,
        one - (precision as u64) * hidden,
        one - hidden,
        one - 1,
        one,
        one + 1,
        one + hidden / 2,
        one + hidden,
        one + (precision as u64) * hidden,
        one + (precision as u64) * hidden + 1,
        infinity - hidden,
        infinity - 2,
        infinity - 1,
        infinity,
        infinity + 1,
        infinity + hidden / 2,
        infinity + hidden - 1,
    ];
    let sign = 1 << (format.width() - 1);
    positive.iter().flat_map(|x| [*x, *x | sign]).collect()
}
