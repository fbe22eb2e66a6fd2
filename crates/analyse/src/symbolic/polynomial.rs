//! Polynomials with coefficients in a ring, in normal form: equal polynomials compare equal.

use std::fmt::Debug;
use std::hash::Hash;

use smallvec::SmallVec;

/// Coefficients of polynomials.
pub(crate) trait Coefficient: Copy + Eq + Debug + Hash {
    const ZERO: Self;
    const ONE: Self;
    /// Sum; `None` if the number is not represented.
    fn sum(self, other: Self) -> Option<Self>;
    /// Product; `None` if the number is not represented.
    fn product(self, other: Self) -> Option<Self>;
}

/// Words: numbers modulo 2³².
impl Coefficient for u32 {
    const ZERO: u32 = 0;
    const ONE: u32 = 1;

    fn sum(self, other: u32) -> Option<u32> {
        Some(self.wrapping_add(other))
    }

    fn product(self, other: u32) -> Option<u32> {
        Some(self.wrapping_mul(other))
    }
}

/// Integers, as long as they are small.
impl Coefficient for i128 {
    const ZERO: i128 = 0;
    const ONE: i128 = 1;

    fn sum(self, other: i128) -> Option<i128> {
        self.checked_add(other)
    }

    fn product(self, other: i128) -> Option<i128> {
        self.checked_mul(other)
    }
}

/// Product of unknowns, ascending; the empty product is 1.
pub(crate) type Monomial<K> = SmallVec<[K; 2]>;

/// Maximum number of terms of a polynomial, and of unknowns of a product; larger ones are not formed.
const MAX_TERMS: usize = 24;
const MAX_DEGREE: usize = 4;

/// Sum of products of unknowns `K` with coefficients `C` other than 0, in the order of the products.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(crate) struct Polynomial<K, C> {
    terms: Vec<(Monomial<K>, C)>,
}

impl<K: Ord + Copy + Debug, C: Coefficient> Polynomial<K, C> {
    /// The polynomial without unknowns.
    pub(crate) fn constant(value: C) -> Self {
        // Zero has no terms, so that equal polynomials compare equal.
        let terms = match value == C::ZERO {
            true => Vec::new(),
            false => vec![(Monomial::new(), value)],
        };
        Polynomial { terms }
    }

    /// The polynomial of one unknown.
    pub(crate) fn unknown(of: K) -> Self {
        Polynomial {
            terms: vec![(SmallVec::from_elem(of, 1), C::ONE)],
        }
    }

    /// Its terms.
    pub(crate) fn terms(&self) -> &[(Monomial<K>, C)] {
        &self.terms
    }

    /// The value, if there are no unknowns.
    pub(crate) fn as_constant(&self) -> Option<C> {
        match self.terms.as_slice() {
            [] => Some(C::ZERO),
            [(unknowns, value)] if unknowns.is_empty() => Some(*value),
            _ => None,
        }
    }

    /// The unknown, if the polynomial is one.
    pub(crate) fn as_unknown(&self) -> Option<K> {
        match self.terms.as_slice() {
            [(unknowns, coefficient)] if *coefficient == C::ONE => match unknowns.as_slice() {
                [only] => Some(*only),
                _ => None,
            },
            _ => None,
        }
    }

    /// Coefficient of a product.
    pub(crate) fn coefficient(&self, of: &[K]) -> C {
        let found = self.terms.iter().find(|(unknowns, _)| **unknowns == *of);
        found.map_or(C::ZERO, |(_, coefficient)| *coefficient)
    }

    /// Its unknowns, each at least once.
    pub(crate) fn unknowns(&self) -> impl Iterator<Item = K> + '_ {
        self.terms
            .iter()
            .flat_map(|(unknowns, _)| unknowns.iter().copied())
    }

    /// The sum with a multiple of another polynomial.
    pub(crate) fn plus(&self, other: &Self, times: C) -> Option<Self> {
        let mut terms = Vec::with_capacity(self.terms.len() + other.terms.len());
        // Both lists are in order, so one pass merges them.
        let (mut mine, mut theirs) = (self.terms.iter().peekable(), other.terms.iter().peekable());
        loop {
            let next = match (mine.peek(), theirs.peek()) {
                (None, None) => break,
                (Some((a, _)), Some((b, _))) if a == b => {
                    let (unknowns, a) = mine.next()?;
                    let (_, b) = theirs.next()?;
                    (unknowns.clone(), a.sum(b.product(times)?)?)
                }
                (Some((a, _)), Some((b, _))) if a < b => mine.next()?.clone(),
                (Some(_), None) => mine.next()?.clone(),
                _ => {
                    let (unknowns, b) = theirs.next()?;
                    (unknowns.clone(), b.product(times)?)
                }
            };
            if next.1 != C::ZERO {
                terms.push(next);
            }
        }
        (terms.len() <= MAX_TERMS).then_some(Polynomial { terms })
    }

    /// The product with a constant.
    pub(crate) fn scaled(&self, by: C) -> Option<Self> {
        Self::constant(C::ZERO).plus(self, by)
    }

    /// The product.
    pub(crate) fn times(&self, other: &Self) -> Option<Self> {
        let mut sum = Self::constant(C::ZERO);
        for (unknowns, coefficient) in &other.terms {
            let mut row = Vec::with_capacity(self.terms.len());
            for (mine, own) in &self.terms {
                let mut product: Monomial<K> = mine.iter().chain(unknowns).copied().collect();
                if product.len() > MAX_DEGREE {
                    return None;
                }
                product.sort_unstable();
                row.push((product, own.product(*coefficient)?));
            }
            // Different products stay different when multiplied by the same unknowns.
            row.sort_unstable_by(|a, b| a.0.cmp(&b.0));
            // A product of coefficients other than 0 may be 0 modulo 2³², for example 2¹⁶·2¹⁶.
            row.retain(|(_, coefficient)| *coefficient != C::ZERO);
            sum = sum.plus(&Polynomial { terms: row }, C::ONE)?;
        }
        Some(sum)
    }

    /// Substitutes a polynomial for an unknown.
    pub(crate) fn substituted(&self, unknown: K, by: &Self) -> Option<Self> {
        self.substituted_all(&[(unknown, by.clone())])
    }

    /// Substitutes polynomials for several unknowns, all at once.
    pub(crate) fn substituted_all(&self, replaced: &[(K, Self)]) -> Option<Self> {
        let mut sum = Self::constant(C::ZERO);
        for (unknowns, coefficient) in &self.terms {
            let mut term = Self::constant(*coefficient);
            for unknown in unknowns {
                let by = replaced.iter().find(|(of, _)| of == unknown);
                term = match by {
                    Some((_, by)) => term.times(by)?,
                    None => term.times(&Polynomial::unknown(*unknown))?,
                };
            }
            sum = sum.plus(&term, C::ONE)?;
        }
        Some(sum)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    type Words = Polynomial<u8, u32>;

    #[test]
    fn the_order_of_operations_does_not_matter() {
        let [x, y, z] = [0u8, 1, 2].map(Words::unknown);
        let left = x.plus(&y, 3).and_then(|s| s.times(&z)).unwrap();
        let right = (z.times(&y).and_then(|p| p.scaled(3)))
            .and_then(|p| p.plus(&x.times(&z).unwrap(), 1))
            .unwrap();
        assert_eq!(left, right);
        assert_eq!(left.coefficient(&[1, 2]), 3);
    }

    #[test]
    fn what_is_a_multiple_of_two_to_the_32_vanishes() {
        let x = Words::unknown(0);
        let high = x.scaled(1 << 16).unwrap();
        assert_eq!(high.times(&high).unwrap().as_constant(), Some(0));
        assert_eq!(x.plus(&x, u32::MAX).unwrap().as_constant(), Some(0));
    }

    #[test]
    fn a_substitution_follows_powers() {
        let [x, y] = [0u8, 1].map(Words::unknown);
        let square = x.times(&x).unwrap().plus(&y, 1).unwrap();
        let two = Words::constant(2);
        let expected = y.plus(&Words::constant(4), 1).unwrap();
        assert_eq!(square.substituted(0, &two).unwrap(), expected);
    }
}
