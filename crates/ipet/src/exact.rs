use std::cmp::Ordering;

use num_bigint::BigInt;
use num_rational::BigRational;
use num_traits::{Signed, ToPrimitive, Zero};

/// Exact rational number: two machine words while they suffice, arbitrary precision otherwise.
///
/// The form is canonical (lowest terms, positive denominator, `Big` only where `Small` cannot hold it), so derived
/// equality is equality of numbers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Rational {
    /// `num / den`; `num` is never `i64::MIN`, so negation cannot overflow.
    Small { num: i64, den: i64 },
    /// Any number that two words cannot hold.
    Big(Box<BigRational>),
}

impl Rational {
    pub(crate) const ZERO: Rational = Rational::Small { num: 0, den: 1 };
    pub(crate) const ONE: Rational = Rational::Small { num: 1, den: 1 };

    pub(crate) fn int(value: i128) -> Rational {
        match i64::try_from(value) {
            Ok(num) if num != i64::MIN => Rational::Small { num, den: 1 },
            _ => Rational::Big(Box::new(BigRational::from_integer(BigInt::from(value)))),
        }
    }

    /// Reduces `num / den` to lowest terms; `den` must be positive.
    fn ratio(num: i128, den: i128) -> Rational {
        // Divisions of single words are several times faster than of 128 bits.
        if let (Ok(num), Ok(den)) = (i64::try_from(num), i64::try_from(den))
            && num != i64::MIN
        {
            let divisor = gcd_of_words(num.unsigned_abs(), den.unsigned_abs()).max(1) as i64;
            return Rational::Small {
                num: num / divisor,
                den: den / divisor,
            };
        }
        let divisor = gcd(num.unsigned_abs(), den.unsigned_abs()).max(1) as i128;
        Rational::lowest(num / divisor, den / divisor)
    }

    /// Makes `num / den`, which must already be in lowest terms; `den` must be positive.
    fn lowest(num: i128, den: i128) -> Rational {
        match (i64::try_from(num), i64::try_from(den)) {
            (Ok(num), Ok(den)) if num != i64::MIN => Rational::Small { num, den },
            _ => Rational::Big(Box::new(BigRational::new_raw(num.into(), den.into()))),
        }
    }

    pub(crate) fn big(value: BigRational) -> Rational {
        match (value.numer().to_i64(), value.denom().to_i64()) {
            (Some(num), Some(den)) if num != i64::MIN => Rational::Small { num, den },
            _ => Rational::Big(Box::new(value)),
        }
    }

    pub(crate) fn to_big(&self) -> BigRational {
        match self {
            Rational::Small { num, den } => {
                BigRational::new_raw(BigInt::from(*num), BigInt::from(*den))
            }
            Rational::Big(value) => (**value).clone(),
        }
    }

    /// Converts to a count; `None` for negative numbers, fractions and numbers of more than 128 bits.
    pub(crate) fn to_count(&self) -> Option<u128> {
        match self {
            Rational::Small { num, den: 1 } => u128::try_from(*num).ok(),
            Rational::Small { .. } => None,
            Rational::Big(value) if value.is_integer() => value.numer().to_u128(),
            Rational::Big(_) => None,
        }
    }

    pub(crate) fn is_zero(&self) -> bool {
        matches!(self, Rational::Small { num: 0, .. })
    }

    pub(crate) fn signum(&self) -> i32 {
        match self {
            Rational::Small { num, .. } => num.signum() as i32,
            Rational::Big(value) if value.is_negative() => -1,
            // Canonical form: zero is `Small`.
            Rational::Big(_) => 1,
        }
    }

    pub(crate) fn is_positive(&self) -> bool {
        self.signum() > 0
    }

    pub(crate) fn is_negative(&self) -> bool {
        self.signum() < 0
    }

    pub(crate) fn is_unit(&self) -> bool {
        matches!(
            self,
            Rational::Small {
                num: 1 | -1,
                den: 1
            }
        )
    }

    pub(crate) fn neg(&self) -> Rational {
        match self {
            Rational::Small { num, den } => Rational::Small {
                num: -num,
                den: *den,
            },
            // The range of `Small` is symmetric, so the negation does not fit it either.
            Rational::Big(value) => Rational::Big(Box::new(-&**value)),
        }
    }

    /// Absolute value.
    pub(crate) fn abs(&self) -> Rational {
        if self.is_negative() {
            self.neg()
        } else {
            self.clone()
        }
    }

    pub(crate) fn add(&self, other: &Rational) -> Rational {
        if let (Rational::Small { num: a, den: b }, Rational::Small { num: c, den: d }) =
            (self, other)
        {
            let (a, b, c, d) = (
                i128::from(*a),
                i128::from(*b),
                i128::from(*c),
                i128::from(*d),
            );
            // Each product is below 2^126 in magnitude.
            return if b == 1 || d == 1 {
                // In lowest terms: with b = 1 the sum is (a*d + c)/d, and a factor of d in the numerator would divide
                // c, but c/d is in lowest terms. Likewise with d = 1.
                Rational::lowest(a * d + c * b, b * d)
            } else {
                Rational::ratio(a * d + c * b, b * d)
            };
        }
        Rational::big(self.to_big() + other.to_big())
    }

    pub(crate) fn sub(&self, other: &Rational) -> Rational {
        self.add(&other.neg())
    }

    pub(crate) fn mul(&self, other: &Rational) -> Rational {
        if self.is_zero() || other.is_zero() {
            return Rational::ZERO;
        }
        if let (Rational::Small { num: a, den: b }, Rational::Small { num: c, den: d }) =
            (self, other)
        {
            // A numerator shares factors only with the other's denominator, as both are in lowest terms.
            let across = |num: i64, den: i64| match den {
                1 => (num, 1),
                _ => {
                    let divisor =
                        gcd_of_words(num.unsigned_abs(), den.unsigned_abs()).max(1) as i64;
                    (num / divisor, den / divisor)
                }
            };
            let ((a, d), (c, b)) = (across(*a, *d), across(*c, *b));
            return Rational::lowest(i128::from(a) * i128::from(c), i128::from(b) * i128::from(d));
        }
        Rational::big(self.to_big() * other.to_big())
    }

    /// `self -= a * b`, the inner step of every elimination.
    pub(crate) fn sub_mul(&mut self, a: &Rational, b: &Rational) {
        if let (
            Rational::Small { num, den: 1 },
            Rational::Small { num: x, den: 1 },
            Rational::Small { num: y, den: 1 },
        ) = (&mut *self, a, b)
            && let Some(value) = x
                .checked_mul(*y)
                .and_then(|product| num.checked_sub(product))
            && value != i64::MIN
        {
            *num = value;
            return;
        }
        *self = self.sub(&a.mul(b));
    }

    /// `1 / self`; `None` for zero.
    pub(crate) fn recip(&self) -> Option<Rational> {
        match self {
            Rational::Small { num: 0, .. } => None,
            Rational::Small { num, den } => Some(Rational::Small {
                num: den * num.signum(),
                den: num.abs(),
            }),
            Rational::Big(value) => Some(Rational::big(value.recip())),
        }
    }

    /// Approximates as a float, for choices that affect only speed.
    pub(crate) fn approximate(&self) -> f64 {
        match self {
            Rational::Small { num, den } => *num as f64 / *den as f64,
            Rational::Big(value) => value.to_f64().unwrap_or(f64::MAX),
        }
    }
}

impl PartialOrd for Rational {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Rational {
    fn cmp(&self, other: &Self) -> Ordering {
        match (self, other) {
            (Rational::Small { num: a, den: b }, Rational::Small { num: c, den: d }) => {
                // Denominators are positive, so cross products keep the order; a product of two words fits 128 bits.
                (i128::from(*a) * i128::from(*d)).cmp(&(i128::from(*c) * i128::from(*b)))
            }
            _ => {
                let difference = self.to_big() - other.to_big();
                if difference.is_zero() {
                    Ordering::Equal
                } else if difference.is_negative() {
                    Ordering::Less
                } else {
                    Ordering::Greater
                }
            }
        }
    }
}

fn gcd(mut a: u128, mut b: u128) -> u128 {
    while b != 0 {
        if let (Ok(a), Ok(b)) = (u64::try_from(a), u64::try_from(b)) {
            return u128::from(gcd_of_words(a, b));
        }
        (a, b) = (b, a % b);
    }
    a
}

fn gcd_of_words(mut a: u64, mut b: u64) -> u64 {
    while b != 0 {
        (a, b) = (b, a % b);
    }
    a
}

/// Number with an infinitesimal part: `value + perturbation * ε`, with ε below every positive number.
///
/// With perturbed bounds, degenerate steps of the simplex method move by a multiple of ε instead of 0, which prevents
/// cycling (perturbation method, Charnes 1952). For example, `0 + 3ε` is above 0 and below every positive number, so
/// a step of this length counts as progress.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Perturbed {
    pub(crate) value: Rational,
    pub(crate) perturbation: Rational,
}

impl Perturbed {
    pub(crate) const ZERO: Perturbed = Perturbed {
        value: Rational::ZERO,
        perturbation: Rational::ZERO,
    };

    pub(crate) fn unperturbed(value: Rational) -> Perturbed {
        Perturbed {
            value,
            perturbation: Rational::ZERO,
        }
    }

    pub(crate) fn is_zero(&self) -> bool {
        self.value.is_zero() && self.perturbation.is_zero()
    }

    pub(crate) fn sub(&self, other: &Perturbed) -> Perturbed {
        Perturbed {
            value: self.value.sub(&other.value),
            perturbation: self.perturbation.sub(&other.perturbation),
        }
    }

    pub(crate) fn add(&self, other: &Perturbed) -> Perturbed {
        Perturbed {
            value: self.value.add(&other.value),
            perturbation: self.perturbation.add(&other.perturbation),
        }
    }

    /// Compares `self` with `other * factor`.
    pub(crate) fn cmp_scaled(&self, other: &Perturbed, factor: &Rational) -> Ordering {
        // The infinitesimal parts decide only between equal values, since ε is below every positive number.
        let value = self.value.cmp(&other.value.mul(factor));
        value.then_with(|| self.perturbation.cmp(&other.perturbation.mul(factor)))
    }

    pub(crate) fn scale(&self, factor: &Rational) -> Perturbed {
        Perturbed {
            value: self.value.mul(factor),
            perturbation: self.perturbation.mul(factor),
        }
    }

    /// `self -= step * factor`.
    pub(crate) fn sub_mul(&mut self, step: &Perturbed, factor: &Rational) {
        self.value.sub_mul(&step.value, factor);
        self.perturbation.sub_mul(&step.perturbation, factor);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Compares every operation with the arbitrary-precision one, also where words overflow.
    #[test]
    fn operations_agree_with_big_rationals() {
        let words = [
            0i64,
            1,
            -1,
            2,
            3,
            -7,
            32,
            1_000_000_000,
            i64::MAX,
            -i64::MAX,
            i64::MAX - 1,
        ];
        let mut values = Vec::new();
        for &num in &words {
            for den in [1i64, 2, 3, 999_999_937, i64::MAX] {
                values.push(Rational::ratio(num.into(), den.into()));
            }
        }
        values.push(Rational::int(i128::MAX));
        values.push(Rational::int(i64::MIN.into()));
        for a in &values {
            assert_eq!(a.neg().to_big(), -a.to_big());
            match a.recip() {
                Some(r) => assert_eq!(r.to_big(), a.to_big().recip()),
                None => assert!(a.to_big().is_zero()),
            }
            for b in &values {
                assert_eq!(a.add(b).to_big(), a.to_big() + b.to_big());
                assert_eq!(a.mul(b).to_big(), a.to_big() * b.to_big());
                assert_eq!(a.cmp(b), a.to_big().cmp(&b.to_big()));
                assert_eq!(a == b, a.to_big() == b.to_big());
                let mut c = a.clone();
                c.sub_mul(b, a);
                assert_eq!(c.to_big(), a.to_big() - a.to_big() * b.to_big());
            }
        }
    }
}
