//! How far a kernel's floats may lie from a reference that computes in `f64`.

use super::LaunchNumber;

/// A float that kernels compute with.
pub trait Float: LaunchNumber {
    /// Half the distance from 1 to the next float: by how much of itself one rounding changes a number.
    const UNIT: f64;

    /// How kernels' names spell it.
    const NAME: &'static str;

    /// The nearest float.
    fn of(number: f64) -> Self;

    /// The same number.
    fn wide(self) -> f64;
}

impl Float for f32 {
    const UNIT: f64 = f32::EPSILON as f64 / 2.0;
    const NAME: &'static str = "float";

    fn of(number: f64) -> f32 {
        number as f32
    }

    fn wide(self) -> f64 {
        self.into()
    }
}

impl Float for f64 {
    const UNIT: f64 = f64::EPSILON / 2.0;
    const NAME: &'static str = "double";

    fn of(number: f64) -> f64 {
        number
    }

    fn wide(self) -> f64 {
        self
    }
}

/// A sum of products (or of single numbers), and what its error depends on.
#[derive(Clone, Copy, Default)]
pub(super) struct Sum {
    /// The sum, in `f64`.
    pub value: f64,
    /// The sum of the terms' magnitudes.
    magnitude: f64,
    terms: usize,
}

impl Sum {
    /// The sum of some terms.
    pub(super) fn of(terms: impl IntoIterator<Item = f64>) -> Sum {
        let mut sum = Sum::default();
        terms.into_iter().for_each(|term| sum.add(term));
        sum
    }

    /// Adds a term.
    pub(super) fn add(&mut self, term: f64) {
        self.value += term;
        self.magnitude += term.abs();
        self.terms += 1;
    }

    /// How far two sums of the same terms may lie apart, whatever the order of additions and whether products are rounded
    /// on their own: no term takes part in more than `terms` roundings, one of its product and one of the result, in each
    /// of the two sums (Higham, "Accuracy and Stability of Numerical Algorithms", 4.2).
    pub(super) fn error<F: Float>(&self) -> f64 {
        2.0 * (self.terms + 2) as f64 * F::UNIT * self.magnitude
    }
}

/// The sums rounded, and the largest of their errors.
pub(super) fn rounded<F: Float>(sums: &[Sum]) -> (Vec<F>, f64) {
    let numbers = sums.iter().map(|sum| F::of(sum.value)).collect();
    let error = sums.iter().map(Sum::error::<F>).fold(0.0, f64::max);
    (numbers, error)
}

/// So many floats between -1 and 1.
pub(super) fn signed<F: Float>(rng: &mut fastrand::Rng, count: usize) -> Vec<F> {
    (0..count)
        .map(|_| F::of(f64::from(rng.f32() * 2.0 - 1.0)))
        .collect()
}
