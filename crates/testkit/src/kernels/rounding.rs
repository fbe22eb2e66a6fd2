//! Error bounds of a kernel's floats against a reference that computes in `f64`.

use super::LaunchNumber;

/// Floating-point type of kernels.
pub trait Float: LaunchNumber {
    /// Unit roundoff: half the distance from 1 to the next float, the maximum relative error of one rounding.
    const UNIT: f64;

    /// Name of the type in kernel names.
    const NAME: &'static str;

    /// Returns the nearest float.
    fn from_f64(number: f64) -> Self;

    /// Returns the same number as a double.
    fn to_f64(self) -> f64;
}

impl Float for f32 {
    const UNIT: f64 = f32::EPSILON as f64 / 2.0;
    const NAME: &'static str = "float";

    fn from_f64(number: f64) -> f32 {
        number as f32
    }

    fn to_f64(self) -> f64 {
        self.into()
    }
}

impl Float for f64 {
    const UNIT: f64 = f64::EPSILON / 2.0;
    const NAME: &'static str = "double";

    fn from_f64(number: f64) -> f64 {
        number
    }

    fn to_f64(self) -> f64 {
        self
    }
}

/// Sum of products (or of single numbers), with the quantities that bound its error.
#[derive(Clone, Copy, Default)]
pub(super) struct ErrorSum {
    /// The sum, in `f64`.
    pub value: f64,
    /// Sum of the magnitudes of the terms.
    magnitude: f64,
    terms: usize,
}

impl ErrorSum {
    /// Adds up some terms.
    pub(super) fn of(terms: impl IntoIterator<Item = f64>) -> ErrorSum {
        let mut sum = ErrorSum::default();
        terms.into_iter().for_each(|term| sum.add(term));
        sum
    }

    /// Adds a term.
    pub(super) fn add(&mut self, term: f64) {
        self.value += term;
        self.magnitude += term.abs();
        self.terms += 1;
    }

    /// Maximum difference of two sums of the same terms, for any order of additions, with products rounded or fused: in
    /// each of the two sums a term takes part in at most `terms` roundings, one of its product and one of the result
    /// (Higham, "Accuracy and Stability of Numerical Algorithms", 4.2).
    pub(super) fn error<F: Float>(&self) -> f64 {
        2.0 * (self.terms + 2) as f64 * F::UNIT * self.magnitude
    }
}

/// Returns the rounded sums and the largest of their errors.
pub(super) fn rounded<F: Float>(sums: &[ErrorSum]) -> (Vec<F>, f64) {
    let numbers = sums.iter().map(|sum| F::from_f64(sum.value)).collect();
    let error = sums.iter().map(ErrorSum::error::<F>).fold(0.0, f64::max);
    (numbers, error)
}

/// Draws `count` floats between -1 and 1.
pub(super) fn signed<F: Float>(rng: &mut fastrand::Rng, count: usize) -> Vec<F> {
    (0..count)
        .map(|_| F::from_f64(f64::from(rng.f32() * 2.0 - 1.0)))
        .collect()
}
