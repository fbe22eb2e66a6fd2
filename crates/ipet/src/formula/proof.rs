//! Search for proofs that a polynomial is at least 0 in a region.

use std::collections::{BTreeMap, BTreeSet};

use warpbound_base::Deadline;

use super::certificate::{ConditionFactors, FormulaRegion};
use super::polynomial::{Monomial, Polynomial};
use crate::exact::Rational;
use crate::linear::LinearProgram;
use crate::model::Relation;
use crate::simplex::{Simplex, SimplexOutcome};

/// Maximum number of factors that a search considers, and of steps of the solver.
const MAX_FACTORS: usize = 120;
const MAX_PIVOTS: usize = 2000;

/// Finds factors of the region's conditions that prove that `polynomial` is at least 0 there: no factors if the
/// minimum values of the symbols suffice. `None` if the search finds no proof. For example, n - m - 2 has the factor
/// 1 for the condition n - m - 3 >= 0, because the difference is 1.
pub(super) fn factors_for(
    polynomial: &Polynomial,
    region: &FormulaRegion,
) -> Option<ConditionFactors> {
    let target = polynomial.shifted(&region.least);
    if target.has_no_negative_term() {
        return Some(ConditionFactors::new());
    }
    let conditions: Vec<Polynomial> = (region.conditions.iter())
        .map(|condition| condition.shifted(&region.least))
        .collect();
    // Unknown: how often each product of a monomial with a condition is used.
    let mut unknowns: Vec<(usize, Monomial, Polynomial)> = Vec::new();
    for (number, condition) in conditions.iter().enumerate() {
        let mut quotients = BTreeSet::from([Monomial::new()]);
        for (divisor, _) in condition.terms() {
            quotients.extend(
                target
                    .terms()
                    .filter_map(|(whole, _)| quotient(whole, divisor)),
            );
        }
        for monomial in quotients {
            let mut factor = Polynomial::default();
            factor.add_term(monomial.clone(), num_traits::One::one());
            unknowns.push((number, monomial, factor.times(condition)));
        }
    }
    // Fewer factors can only lose proofs: a claim without a proof is not made.
    unknowns.truncate(MAX_FACTORS);
    let amounts = solve(&target, &unknowns)?;
    let mut factors: BTreeMap<usize, Polynomial> = BTreeMap::new();
    for ((number, monomial, _), amount) in unknowns.into_iter().zip(amounts) {
        factors
            .entry(number)
            .or_default()
            .add_term(monomial, amount.to_big());
    }
    let used = factors.into_iter().filter(|(_, factor)| !factor.is_zero());
    Some(used.collect())
}

/// Finds amounts, none negative, such that `target` minus the sum of the products has no negative term.
fn solve(target: &Polynomial, products: &[(usize, Monomial, Polynomial)]) -> Option<Vec<Rational>> {
    let mut rows: BTreeMap<&Monomial, usize> = BTreeMap::new();
    let all = products.iter().map(|(_, _, product)| product);
    for (monomial, _) in all.chain([target]).flat_map(Polynomial::terms) {
        let next = rows.len();
        rows.entry(monomial).or_insert(next);
    }
    let mut rhs = vec![Rational::ZERO; rows.len()];
    for (monomial, coefficient) in target.terms() {
        *rhs.get_mut(*rows.get(monomial)?)? = Rational::big(coefficient.clone());
    }
    let column = |product: &Polynomial| {
        let terms = product.terms();
        let mut column: Vec<(usize, Rational)> = terms
            .filter_map(|(m, c)| Some((*rows.get(m)?, Rational::big(c.clone()))))
            .collect();
        column.sort_by_key(|(row, _)| *row);
        column
    };
    let linear = LinearProgram {
        columns: products
            .iter()
            .map(|(_, _, product)| column(product))
            .collect(),
        upper: vec![None; products.len()],
        // Among the proofs, one with few and small factors.
        cost: vec![Rational::int(-1); products.len()],
        relation: vec![Relation::Le; rhs.len()],
        rhs,
    };
    let mut simplex = Simplex::new(&linear, MAX_PIVOTS, Deadline::default())?;
    match simplex.run() {
        SimplexOutcome::Optimal => Some(simplex.point()),
        _ => None,
    }
}

/// Quotient `whole / divisor`, if the divisor divides it.
fn quotient(whole: &Monomial, divisor: &Monomial) -> Option<Monomial> {
    let mut rest = whole.clone();
    for symbol in divisor {
        let at = rest.iter().position(|s| s == symbol)?;
        rest.remove(at);
    }
    Some(rest)
}
