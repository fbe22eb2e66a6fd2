//! Running error analysis (Higham, "Accuracy and Stability of Numerical Algorithms", 3.3): a number with a bound on the
//! distance of a kernel's float that is computed in the same steps.
//!
//! Each operation propagates the errors of its operands and rounds once, by at most half a unit in the last place. A
//! multiplication and an addition that the compiler fuses round once instead of twice, so the bound still holds. The
//! reference computes in `f64`, whose own rounding is part of the bound.

use std::ops::{Add, Div, Mul, Neg, Sub};

use super::Float;

/// A number with the maximum distance of the kernel's float from it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Rounded {
    value: f64,
    error: f64,
    /// Unit roundoff of the kernel's floats; 0 for a constant that all floats represent exactly.
    unit: f64,
}

/// Unit roundoff of the reference's floats.
const REFERENCE_UNIT: f64 = f64::UNIT;

impl Rounded {
    /// Constant that all floats represent exactly.
    pub(super) fn exact(value: f64) -> Rounded {
        Rounded {
            value,
            error: 0.0,
            unit: 0.0,
        }
    }

    /// Input that the kernel holds exactly.
    pub(super) fn of<F: Float>(value: F) -> Rounded {
        Rounded {
            unit: F::UNIT,
            ..Rounded::exact(value.to_f64())
        }
    }

    /// Integer that the kernel converts to a single.
    pub(super) fn converted(value: i64) -> Rounded {
        Rounded::exact(0.0).round(value as f64, 0.0, f32::UNIT)
    }

    /// Rounds a result with the propagated error `error`.
    fn round(self, value: f64, error: f64, unit: f64) -> Rounded {
        // The rounding error of a subnormal result is absolute.
        let least = match unit == REFERENCE_UNIT {
            true => f64::from_bits(1),
            false => f32::from_bits(1).into(),
        };
        Rounded {
            value,
            error: error + (unit + REFERENCE_UNIT) * (value.abs() + error) + least,
            unit,
        }
    }

    fn unit(self, other: Rounded) -> f64 {
        self.unit.max(other.unit)
    }

    /// Returns the square root, correctly rounded.
    pub(super) fn sqrt(self) -> Rounded {
        let root = self.value.sqrt();
        let error = match self.value > self.error {
            true => self.error / (root + (self.value - self.error).sqrt()),
            false => (self.value + self.error).sqrt(),
        };
        self.round(root, error, self.unit)
    }

    /// Returns the exponential.
    ///
    /// Source: CUDA C++ Programming Guide, "Mathematical Functions": at most 2 units in the last place in single
    /// precision, 1 in double. A unit in the last place is at most two of what rounding may do.
    pub(super) fn exp(self) -> Rounded {
        let value = self.value.exp();
        let exact = self.round(value, value * self.error.exp_m1(), self.unit);
        Rounded {
            error: exact.error + 4.0 * (self.unit + REFERENCE_UNIT) * value,
            ..exact
        }
    }

    /// Returns the absolute value, which is exact.
    pub(super) fn abs(self) -> Rounded {
        Rounded {
            value: self.value.abs(),
            ..self
        }
    }

    /// Returns the larger number, which is exact.
    pub(super) fn max(self, other: Rounded) -> Rounded {
        Rounded {
            value: self.value.max(other.value),
            error: self.error.max(other.error),
            unit: self.unit(other),
        }
    }

    /// Whether this number is smaller in the kernel for any rounding.
    pub(super) fn is_surely_below(self, other: Rounded) -> bool {
        self.value + self.error < other.value - other.error
    }

    /// Returns the number.
    pub(super) fn value(self) -> f64 {
        self.value
    }
}

impl Add for Rounded {
    type Output = Rounded;

    fn add(self, other: Rounded) -> Rounded {
        let value = self.value + other.value;
        self.round(value, self.error + other.error, self.unit(other))
    }
}

impl Sub for Rounded {
    type Output = Rounded;

    fn sub(self, other: Rounded) -> Rounded {
        self + -other
    }
}

impl Neg for Rounded {
    type Output = Rounded;

    fn neg(self) -> Rounded {
        Rounded {
            value: -self.value,
            ..self
        }
    }
}

impl Mul for Rounded {
    type Output = Rounded;

    fn mul(self, other: Rounded) -> Rounded {
        let (a, b) = (self.value.abs(), other.value.abs());
        let error = a * other.error + b * self.error + self.error * other.error;
        self.round(self.value * other.value, error, self.unit(other))
    }
}

impl Div for Rounded {
    type Output = Rounded;

    fn div(self, other: Rounded) -> Rounded {
        let least = other.value.abs() - other.error;
        assert!(least > 0.0, "the divisor may be zero");
        let value = self.value / other.value;
        let error = (self.error + value.abs() * other.error) / least;
        self.round(value, error, self.unit(other))
    }
}

/// Returns the expected contents of a buffer and the largest error of its numbers.
///
/// Panics if that is more than a thousandth of the largest number: nothing would be compared.
pub(super) fn expected_contents<F: Float>(numbers: &[Rounded]) -> (Vec<F>, f64) {
    let largest = numbers.iter().fold(0f64, |m, n| m.max(n.value.abs()));
    let most = numbers.iter().fold(0f64, |most, n| {
        // The expected number itself is rounded.
        most.max(n.error + n.unit * n.value.abs())
    });
    assert!(
        most <= 1e-3 * largest,
        "errors up to {most} of numbers up to {largest}"
    );
    (numbers.iter().map(|n| F::from_f64(n.value)).collect(), most)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Singles that are computed step by step stay within the bound, and the bound is at most a few times the observed
    /// error.
    #[test]
    fn bounds_hold_and_are_tight() {
        let mut rng = fastrand::Rng::with_seed(5);
        let mut nearest = f64::INFINITY;
        for _ in 0..100_000 {
            let [a, b, c, d] = [(); 4].map(|()| rng.f32() * 4.0 + 0.125);
            let [ra, rb, rc, rd] = [a, b, c, d].map(Rounded::of);
            let found = (a * b - c) / d + (a + d).sqrt();
            let fused = a.mul_add(b, -c) / d + (a + d).sqrt();
            let bound = (ra * rb - rc) / rd + (ra + rd).sqrt();
            for float in [found, fused] {
                let off = (f64::from(float) - bound.value).abs();
                assert!(off <= bound.error, "{a} {b} {c} {d}: {off} {bound:?}");
                nearest = nearest.min(bound.error / off);
            }
        }
        assert!(nearest < 3.0, "{nearest}");
    }
}
