//! Counts of loops as expressions in parameters of the launch.

use num_bigint::BigInt;
use num_traits::Signed;
use warpbound_base::{Quantity, UpperBound};

use super::certificate::Formula;
use super::polynomial::Polynomial;

/// Count of a loop in terms of parameters: the maximum of `least` and `⌈numerator / divisor⌉ + added`. For example,
/// the header of `for (i = 0; i < n; i += 4)` has the test, and is executed `max(1, ⌈n / 4⌉ + 1)` times.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct CountExpression {
    /// Minimum count.
    pub least: u64,
    /// Polynomial with integer coefficients over the numbers of the parameters.
    pub numerator: Polynomial,
    /// Divisor; 0 counts as 1.
    pub divisor: u64,
    /// Number added to the quotient.
    pub added: i64,
    /// Parameters with their minimum and maximum values for which the expression is the count.
    pub valid: Vec<(usize, i64, i64)>,
}

impl CountExpression {
    /// Count for these values of the parameters; `None` outside the range of the expression, or if the count has more
    /// than 64 bits.
    pub fn at(&self, parameters: &[i64]) -> Option<u64> {
        for &(parameter, least, most) in &self.valid {
            let value = *parameters.get(parameter)?;
            if value < least || value > most {
                return None;
            }
        }
        let symbols = self.numerator.terms().flat_map(|(monomial, _)| monomial);
        if symbols.max().is_some_and(|&last| last >= parameters.len()) {
            return None;
        }
        let point: Vec<BigInt> = parameters.iter().map(|&value| value.into()).collect();
        let quotient = self.numerator.value(&point) / BigInt::from(self.divisor.max(1));
        let count = quotient.ceil().to_integer() + BigInt::from(self.added);
        // A loop that is entered executes its header at least `least` times.
        if count.is_negative() {
            return Some(self.least);
        }
        u64::try_from(count).ok().map(|count| count.max(self.least))
    }

    /// Quotient plus added number as a polynomial, if there is no division.
    pub(super) fn polynomial(&self) -> Option<Polynomial> {
        let sum = self.numerator.plus(&Polynomial::integer(self.added.into()));
        (self.divisor <= 1).then_some(sum)
    }
}

/// Symbol of a formula: a loop.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct LoopSymbol {
    /// Name, such as `L1`.
    pub name: String,
    /// Its count in terms of parameters; `None` where the count itself is the unknown.
    pub count: Option<CountExpression>,
}

/// Formula whose loops have counts in terms of named parameters.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ParameterFormula<Q> {
    /// Formula in the counts of loops.
    pub formula: Formula<Q>,
    /// Loops, one for each symbol of the formula.
    pub loops: Vec<LoopSymbol>,
    /// Names of the parameters.
    pub parameters: Vec<String>,
    /// Parameters with their minimum and maximum values for which all numbers of the program hold, even if the
    /// parameter occurs in no count.
    pub valid: Vec<(usize, i64, i64)>,
}

impl<Q> ParameterFormula<Q> {
    /// Ranges of parameters, of the program and of all counts; a parameter may have several.
    pub fn ranges(&self) -> impl Iterator<Item = &(usize, i64, i64)> {
        let counts = self.loops.iter().filter_map(|l| l.count.as_ref());
        self.valid
            .iter()
            .chain(counts.flat_map(|count| &count.valid))
    }
}

impl<Q: Quantity> ParameterFormula<Q> {
    /// Bound for these values of the parameters; `None` outside the range of the formula, or if the count of a loop
    /// is no expression in parameters.
    pub fn at(&self, parameters: &[i64]) -> Option<UpperBound<Q>> {
        let is_inside = |&(parameter, least, most): &(usize, i64, i64)| {
            let value = parameters.get(parameter);
            value.is_some_and(|value| (least..=most).contains(value))
        };
        if !self.valid.iter().all(is_inside) {
            return None;
        }
        let counts = self.loops.iter().map(|l| l.count.as_ref()?.at(parameters));
        self.formula.at(&counts.collect::<Option<Vec<u64>>>()?)
    }
}
