//! Polynomials with rational coefficients over numbered symbols.

use std::collections::BTreeMap;

use num_bigint::BigInt;
use num_rational::BigRational;
use num_traits::{One, Signed, Zero};

/// Product of symbols, by number, ascending; a power repeats its symbol, and the empty product is 1. For example,
/// `[0, 0, 2]` is the square of symbol 0 times symbol 2.
pub type Monomial = Vec<usize>;

/// Polynomial: a sum of products of symbols, each with a coefficient.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub struct Polynomial {
    /// Coefficients; none is 0.
    terms: BTreeMap<Monomial, BigRational>,
}

impl Polynomial {
    /// Returns the polynomial of a number.
    pub fn constant(number: BigRational) -> Polynomial {
        let mut polynomial = Polynomial::default();
        polynomial.add_term(Monomial::new(), number);
        polynomial
    }

    /// Returns the polynomial of an integer.
    pub fn integer(number: i128) -> Polynomial {
        Polynomial::constant(BigRational::from_integer(number.into()))
    }

    /// Returns the polynomial of a symbol.
    pub fn symbol(symbol: usize) -> Polynomial {
        let mut polynomial = Polynomial::default();
        polynomial.add_term(vec![symbol], BigRational::one());
        polynomial
    }

    /// Makes the polynomial of these terms, whose monomials are sorted.
    pub(super) fn from_checked(mut terms: BTreeMap<Monomial, BigRational>) -> Polynomial {
        terms.retain(|_, coefficient| !coefficient.is_zero());
        Polynomial { terms }
    }

    /// Adds a product of symbols, in any order, with its coefficient.
    pub fn add_term(&mut self, mut monomial: Monomial, coefficient: BigRational) {
        monomial.sort_unstable();
        self.add_sorted(&monomial, coefficient);
    }

    fn add_sorted(&mut self, monomial: &Monomial, coefficient: BigRational) {
        match self.terms.get_mut(monomial) {
            Some(sum) => {
                *sum += coefficient;
                if sum.is_zero() {
                    self.terms.remove(monomial);
                }
            }
            None if coefficient.is_zero() => {}
            None => {
                self.terms.insert(monomial.clone(), coefficient);
            }
        }
    }

    /// Terms, in the order of their monomials.
    pub fn terms(&self) -> impl Iterator<Item = (&Monomial, &BigRational)> {
        self.terms.iter()
    }

    /// Coefficient of a product; `None` if it is 0.
    pub fn coefficient(&self, monomial: &Monomial) -> Option<&BigRational> {
        self.terms.get(monomial)
    }

    /// Whether it is 0.
    pub fn is_zero(&self) -> bool {
        self.terms.is_empty()
    }

    /// The number, if no symbol occurs.
    pub fn number(&self) -> Option<BigRational> {
        match self.terms.len() {
            0 => Some(BigRational::zero()),
            1 => self.terms.get(&Monomial::new()).cloned(),
            _ => None,
        }
    }

    /// Sum of the degrees of the symbols in the largest product.
    pub fn degree(&self) -> usize {
        self.terms.keys().map(Vec::len).max().unwrap_or(0)
    }

    /// Whether no coefficient is negative: then it is at least 0 wherever no symbol is negative.
    pub(crate) fn has_no_negative_term(&self) -> bool {
        self.terms.values().all(|c| !c.is_negative())
    }

    /// Returns the sum.
    #[must_use]
    pub fn plus(&self, other: &Polynomial) -> Polynomial {
        let mut sum = self.clone();
        for (monomial, coefficient) in &other.terms {
            sum.add_sorted(monomial, coefficient.clone());
        }
        sum
    }

    /// Returns the difference.
    #[must_use]
    pub fn minus(&self, other: &Polynomial) -> Polynomial {
        self.plus(&other.scaled(&-BigRational::one()))
    }

    /// Returns the product.
    #[must_use]
    pub fn times(&self, other: &Polynomial) -> Polynomial {
        let mut product = Polynomial::default();
        for (left, a) in &self.terms {
            for (right, b) in &other.terms {
                let mut monomial = left.clone();
                monomial.extend(right);
                product.add_term(monomial, a * b);
            }
        }
        product
    }

    /// Returns the product with a number.
    #[must_use]
    pub fn scaled(&self, factor: &BigRational) -> Polynomial {
        let mut product = Polynomial::default();
        for (monomial, coefficient) in &self.terms {
            product.add_sorted(monomial, coefficient * factor);
        }
        product
    }

    /// Returns the polynomial with another one in the place of each symbol; `None` if a symbol has none.
    pub fn substituted(&self, by: impl Fn(usize) -> Option<Polynomial>) -> Option<Polynomial> {
        let mut sum = Polynomial::default();
        for (monomial, coefficient) in &self.terms {
            let mut product = Polynomial::constant(coefficient.clone());
            for &symbol in monomial {
                product = product.times(&by(symbol)?);
            }
            sum = sum.plus(&product);
        }
        Some(sum)
    }

    /// Returns the polynomial in the distances of the symbols from `origin`.
    pub(crate) fn shifted(&self, origin: &[u64]) -> Polynomial {
        let shifted = |symbol: usize| {
            let origin = origin.get(symbol).copied().unwrap_or(0);
            Some(Polynomial::symbol(symbol).plus(&Polynomial::integer(origin.into())))
        };
        self.substituted(shifted).unwrap_or_default()
    }

    /// Value at a point; a symbol without a value counts as 0.
    pub fn value(&self, point: &[BigInt]) -> BigRational {
        let mut sum = BigRational::zero();
        for (monomial, coefficient) in &self.terms {
            let mut product = coefficient.clone();
            for &symbol in monomial {
                match point.get(symbol) {
                    Some(value) => product *= value,
                    None => product = BigRational::zero(),
                }
            }
            sum += product;
        }
        sum
    }

    /// Common denominator of the coefficients, the smallest one.
    pub fn denominator(&self) -> BigInt {
        let denominators = self.terms.values().map(|c| c.denom().clone());
        denominators.fold(BigInt::one(), |multiple, d| {
            // With a/d in lowest terms, d is what `multiple` lacks.
            let lacking = BigRational::new(multiple.clone(), d).denom().clone();
            multiple * lacking
        })
    }

    /// Returns the positive multiple whose coefficients are integers without a common factor.
    #[must_use]
    pub(crate) fn primitive(&self) -> Polynomial {
        let whole = self.scaled(&BigRational::from_integer(self.denominator()));
        let coefficients = whole.terms.values().map(|c| c.numer().clone());
        let divisor = coefficients.fold(BigInt::zero(), |divisor, c| match divisor.is_zero() {
            true => c.abs(),
            // In lowest terms the denominator has lost the common factor.
            false => {
                let reduced = BigRational::new(c, divisor.clone());
                divisor / reduced.denom()
            }
        });
        match divisor.is_zero() {
            true => whole,
            false => whole.scaled(&BigRational::new(BigInt::one(), divisor)),
        }
    }

    /// Text, such as `4120 + 87*n - n*m`; `name` gives the names of symbols. Coefficients that are no integers are
    /// fractions: `3/2*n`.
    pub fn text(&self, name: impl Fn(usize) -> String) -> String {
        let mut terms: Vec<(&Monomial, &BigRational)> = self.terms.iter().collect();
        // Stable: products of the same degree stay in the order of their symbols.
        terms.sort_by_key(|(monomial, _)| monomial.len());
        let mut text = String::new();
        for (position, (monomial, coefficient)) in terms.into_iter().enumerate() {
            text.push_str(match (position, coefficient.is_negative()) {
                (0, false) => "",
                (0, true) => "-",
                (_, false) => " + ",
                (_, true) => " - ",
            });
            let size = coefficient.abs();
            let mut factors = Vec::new();
            if !size.is_one() || monomial.is_empty() {
                factors.push(size.to_string());
            }
            for run in monomial.chunk_by(|a, b| a == b) {
                if let Some(&symbol) = run.first() {
                    factors.push(match run.len() {
                        1 => name(symbol),
                        power => format!("{}^{power}", name(symbol)),
                    });
                }
            }
            text.push_str(&factors.join("*"));
        }
        if text.is_empty() {
            text.push('0');
        }
        text
    }
}
