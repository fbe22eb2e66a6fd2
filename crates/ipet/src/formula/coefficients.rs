//! Search for multipliers by their coefficients: a linear program of its own, for programs whose optimal bases have no
//! polynomials as multipliers although other multipliers are as good.

use std::collections::BTreeMap;

use num_bigint::BigInt;
use num_rational::BigRational;
use num_traits::One;
use warpbound_base::Deadline;

use super::certificate::FormulaRegion;
use super::polynomial::{Monomial, Polynomial};
use super::program::SymbolicProgram;
use crate::exact::Rational;
use crate::linear::LinearProgram;
use crate::model::Relation;
use crate::simplex::{Simplex, SimplexOutcome};

/// Maximum number of unknown coefficients.
const MAX_UNKNOWNS: usize = 1200;

/// Maximum number of simplex steps.
const MAX_PIVOTS: usize = 2000;

/// Maximum number of symbols for which all products are tried. For more symbols only products of up to two are tried.
const MAX_SYMBOLS: usize = 3;

/// Finds multipliers that have no negative coefficient in the distances from the minimum values of a region, and that
/// pay for every variable coefficient by coefficient. Such multipliers are valid in the whole region; among them, the
/// bound of the result is smallest at `point`. `None` if there are none, or if the program is too large.
pub(super) fn multipliers_at(
    program: &SymbolicProgram,
    region: &FormulaRegion,
    point: &[u64],
    deadline: Deadline,
) -> Option<Vec<Polynomial>> {
    let products = products(program.symbols());
    let unknowns = unknowns(program, &products);
    if unknowns.len() > MAX_UNKNOWNS {
        return None;
    }
    let linear = conditions(program, region, point, &unknowns);
    let mut simplex = Simplex::new(&linear, MAX_PIVOTS, deadline)?;
    match simplex.run() {
        SimplexOutcome::Optimal => {}
        _ => return None,
    }
    let mut multipliers = vec![Polynomial::default(); program.base().rows().len()];
    for (unknown, amount) in unknowns.iter().zip(simplex.point()) {
        let mut term = Polynomial::default();
        term.add_term(
            unknown.product.clone(),
            amount.to_big() * BigInt::from(unknown.sign),
        );
        let multiplier = multipliers.get_mut(unknown.row)?;
        *multiplier = multiplier.plus(&term);
    }
    // From distances back to symbols.
    let back = |symbol: usize| {
        let least = region.least.get(symbol).copied()?;
        Some(Polynomial::symbol(symbol).minus(&Polynomial::integer(least.into())))
    };
    multipliers.iter().map(|m| m.substituted(back)).collect()
}

/// Coefficient of a product in the multiplier of a row, times a sign.
struct UnknownCoefficient {
    row: usize,
    product: Monomial,
    sign: i8,
}

/// Products of different symbols.
fn products(symbols: usize) -> Vec<Monomial> {
    let mut products = vec![Monomial::new()];
    for symbol in 0..symbols {
        let longer: Vec<Monomial> = products
            .iter()
            .filter(|product| symbols <= MAX_SYMBOLS || product.len() < 2)
            .map(|product| [product.as_slice(), &[symbol]].concat())
            .collect();
        products.extend(longer);
    }
    products
}

fn unknowns(program: &SymbolicProgram, products: &[Monomial]) -> Vec<UnknownCoefficient> {
    let mut unknowns = Vec::new();
    for (row, constraint) in program.base().rows().iter().enumerate() {
        let signs: &[i8] = match constraint.relation {
            Relation::Le => &[1],
            Relation::Ge => &[-1],
            // Unknowns are at least 0, so a multiplier of any sign is a difference of two.
            Relation::Eq => &[1, -1],
        };
        for &sign in signs {
            unknowns.extend(products.iter().map(|product| UnknownCoefficient {
                row,
                product: product.clone(),
                sign,
            }));
        }
    }
    unknowns
}

/// Linear program of the coefficients. It has a row for each product in what is paid for each variable.
fn conditions(
    program: &SymbolicProgram,
    region: &FormulaRegion,
    point: &[u64],
    unknowns: &[UnknownCoefficient],
) -> LinearProgram {
    let base = program.base();
    let distance: Vec<BigInt> = (point.iter().zip(&region.least))
        .map(|(value, least)| BigInt::from(*value) - BigInt::from(*least))
        .collect();
    let mut rows: BTreeMap<(usize, Monomial), usize> = BTreeMap::new();
    // A variable that costs something must be paid for, also if nothing pays for it.
    for (var, _) in base.vars().iter().enumerate() {
        let next = rows.len();
        rows.insert((var, Monomial::new()), next);
    }
    let mut columns = Vec::with_capacity(unknowns.len());
    let mut cost = Vec::with_capacity(unknowns.len());
    for unknown in unknowns {
        let mut product = Polynomial::default();
        let sign = BigRational::from_integer(unknown.sign.into());
        product.add_term(unknown.product.clone(), sign);
        let mut column: BTreeMap<usize, Rational> = BTreeMap::new();
        for (var, coefficient) in coefficients(program, unknown.row) {
            let paid = coefficient.shifted(&region.least).times(&product);
            for (monomial, number) in paid.terms() {
                let next = rows.len();
                let row = *rows.entry((var, monomial.clone())).or_insert(next);
                column.insert(row, Rational::big(number.clone()));
            }
        }
        columns.push(column.into_iter().collect());
        let rhs = base.rows().get(unknown.row).map_or(0, |row| row.rhs);
        // The solver maximises, so the value of the bound at the point is negated.
        let value = product.value(&distance) * BigInt::from(-rhs);
        cost.push(Rational::big(value));
    }
    let mut rhs = vec![Rational::ZERO; rows.len()];
    for ((var, monomial), row) in &rows {
        let cost = base.vars().get(*var).map_or(0, |var| var.cost);
        if let (true, Some(rhs)) = (monomial.is_empty(), rhs.get_mut(*row)) {
            *rhs = Rational::int(cost.into());
        }
    }
    LinearProgram {
        upper: vec![None; columns.len()],
        columns,
        cost,
        relation: vec![Relation::Ge; rhs.len()],
        rhs,
    }
}

/// Coefficients of a row by variable.
fn coefficients(program: &SymbolicProgram, row: usize) -> BTreeMap<usize, Polynomial> {
    let mut sums: BTreeMap<usize, Polynomial> = BTreeMap::new();
    let mut add = |var: usize, more: Polynomial| {
        let sum = sums.entry(var).or_default();
        *sum = sum.plus(&more);
    };
    let constraint = program.base().rows().get(row);
    for (var, number) in constraint.into_iter().flat_map(|row| &row.terms) {
        add(var.index(), Polynomial::integer((*number).into()));
    }
    for (var, symbol, number) in program.slopes(row) {
        let number = BigRational::one() * BigInt::from(number);
        add(var.index(), Polynomial::symbol(symbol).scaled(&number));
    }
    sums
}
