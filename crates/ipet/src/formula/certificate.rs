//! Check of formulas: multipliers that are polynomials in the symbols prove a bound for all values of the symbols in a
//! region (weak duality of linear programming).
//!
//! The check shares no code with the search: it reads the program and the claim, and has its own arithmetic. Only what
//! it accepts becomes a [`Formula`].

use std::collections::BTreeMap;
use std::marker::PhantomData;

use num_bigint::BigInt;
use num_rational::BigRational;
use num_traits::Signed;
use warpbound_base::{Diagnostic, Quantity, UpperBound};

use super::polynomial::{Monomial, Polynomial};
use super::program::SymbolicProgram;
use crate::model::Relation;

/// Inequality that a claim rests on: a polynomial that must be at least 0 in the whole region.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Obligation {
    /// The multiplier of this row has the sign that the row's relation needs.
    Sign(usize),
    /// The multipliers pay for the cost of this variable.
    Dominance(usize),
}

/// Proof of an [`Obligation`] from the conditions of a region. The obligation's polynomial minus the sum of the
/// conditions, each times a polynomial, has no negative term. These factors are polynomials in the distances of the
/// symbols from their minimum values, and have no negative terms themselves.
pub type ConditionFactors = Vec<(usize, Polynomial)>;

/// Region of values of the symbols.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug, Default)]
pub struct FormulaRegion {
    /// Minimum value of each symbol.
    pub least: Vec<u64>,
    /// Polynomials that are at least 0.
    pub conditions: Vec<Polynomial>,
}

/// Claim that a polynomial bounds the objective of a [`SymbolicProgram`] in a region.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct FormulaClaim {
    /// Region.
    pub region: FormulaRegion,
    /// Multipliers, one for each row. The sum of the right sides, each times its multiplier, is the bound.
    pub multipliers: Vec<Polynomial>,
    /// Factors for the obligations that the minimum values of the symbols alone do not imply.
    pub proofs: BTreeMap<Obligation, ConditionFactors>,
}

/// Upper bound of a quantity of every warp of a kernel as a function of symbols, the counts of its loops; made only by
/// [`certify`], from claims that it has checked.
///
/// ```compile_fail,E0451
/// use std::marker::PhantomData;
/// use warpbound_base::Instructions;
/// use warpbound_ipet::formula::Formula;
///
/// let forged = Formula::<Instructions> { pieces: Vec::new(), symbols: 0, quantity: PhantomData };
/// ```
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Formula<Q> {
    pieces: Vec<FormulaPiece>,
    symbols: usize,
    quantity: PhantomData<Q>,
}

/// Polynomial that bounds the quantity in a region.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct FormulaPiece {
    region: FormulaRegion,
    bound: Polynomial,
}

impl FormulaPiece {
    /// Region where the polynomial is a bound.
    pub fn region(&self) -> &FormulaRegion {
        &self.region
    }

    /// Polynomial; the bound is its value, rounded down.
    pub fn bound(&self) -> &Polynomial {
        &self.bound
    }
}

impl<Q: Quantity> Formula<Q> {
    /// Number of symbols.
    pub fn symbols(&self) -> usize {
        self.symbols
    }

    /// Pieces. Their regions may overlap; there each of the polynomials is a bound.
    pub fn pieces(&self) -> &[FormulaPiece] {
        &self.pieces
    }

    /// Bound for these values of the symbols: the smallest bound of the pieces whose region contains them. `None` if
    /// there is none, or if the type of the quantity cannot represent it.
    pub fn at(&self, values: &[u64]) -> Option<UpperBound<Q>> {
        if values.len() != self.symbols {
            return None;
        }
        let point: Vec<BigInt> = values.iter().map(|&value| value.into()).collect();
        let here = self.pieces.iter().filter(|piece| {
            let region = &piece.region;
            let is_large = region.least.iter().zip(values).all(|(least, v)| v >= least);
            let conditions = &mut region.conditions.iter();
            is_large && conditions.all(|c| !c.value(&point).is_negative())
        });
        let bounds = here.map(|piece| piece.bound.value(&point).floor().to_integer());
        // Each piece bounds the program on its own, so the smallest value is a bound too.
        let number = u128::try_from(bounds.min()?).ok()?;
        Q::from_number(number).map(UpperBound::proven)
    }
}

/// Checks each of `claims` against `program` exactly, as described here, and makes the formula from them.
///
/// Symbols are at least their minimum values; t are the distances from these. A polynomial in t without negative
/// terms is at least 0 in the region, and so is the sum of such a polynomial and of conditions of the region, each
/// times such a polynomial. For example, if n is at least 2, then n - 2 is t, which has no negative term.
///
/// 1. The multiplier μ of a `<=` row is at least 0 in the region, of a `>=` row at most 0.
/// 2. For each variable, which is at least 0, the sum of its coefficients, each times the row's multiplier, minus its
///    cost, is at least 0 in the region. So the objective is at most `Σ μ · rhs` there.
///
/// # Errors
///
/// Names the obligation that does not hold, with the row or variable.
pub fn certify<Q: Quantity>(
    program: &SymbolicProgram,
    claims: Vec<FormulaClaim>,
) -> Result<Formula<Q>, Diagnostic> {
    let symbols = program.symbols();
    // The check pays for each variable with multipliers of rows alone, so it cannot use the bound of a variable.
    if let Some(var) = program.base().vars().iter().find(|var| var.upper.is_some()) {
        return Err(Diagnostic::new(format!(
            "[{}] has an upper bound",
            var.label
        )));
    }
    let mut pieces = Vec::with_capacity(claims.len());
    for claim in claims {
        let bound = Polynomial::from_checked(bound_of(program, &claim)?);
        pieces.push(FormulaPiece {
            region: claim.region,
            bound,
        });
    }
    Ok(Formula {
        pieces,
        symbols,
        quantity: PhantomData,
    })
}

/// Coefficients by monomial; some may be 0.
type Terms = BTreeMap<Monomial, BigRational>;

/// Checks a claim; returns the terms of the bound that it implies.
fn bound_of(program: &SymbolicProgram, claim: &FormulaClaim) -> Result<Terms, Diagnostic> {
    let (rows, vars) = (program.base().rows(), program.base().vars());
    let region = &claim.region;
    if claim.multipliers.len() != rows.len() || region.least.len() != program.symbols() {
        return Err(Diagnostic::new(format!(
            "{} multipliers and {} least values for {} rows and {} symbols",
            claim.multipliers.len(),
            region.least.len(),
            rows.len(),
            program.symbols()
        )));
    }
    let factors = claim.proofs.values().flatten().map(|(_, factor)| factor);
    let all = claim
        .multipliers
        .iter()
        .chain(&region.conditions)
        .chain(factors);
    let mut symbols = all.flat_map(|p| p.terms().flat_map(|(monomial, _)| monomial));
    if let Some(symbol) = symbols.find(|&&symbol| symbol >= program.symbols()) {
        return Err(Diagnostic::new(format!("symbol {symbol} does not exist")));
    }
    let mut bound = Terms::new();
    let mut paid = vec![Terms::new(); vars.len()];
    for (index, (row, multiplier)) in rows.iter().zip(&claim.multipliers).enumerate() {
        let sign = match row.relation {
            Relation::Le => 1,
            Relation::Ge => -1,
            // The multiplier of an equation may have any sign.
            Relation::Eq => 0,
        };
        if sign != 0 {
            let mut signed = Terms::new();
            add_product(&mut signed, multiplier, &[], &sign.into());
            prove(signed, region, claim.proofs.get(&Obligation::Sign(index))).map_err(|term| {
                let label = &row.label;
                Diagnostic::new(format!(
                    "the multiplier of row `{label}` may have the wrong sign: {term}"
                ))
            })?;
        }
        add_product(&mut bound, multiplier, &[], &row.rhs.into());
        let foreign = || {
            Diagnostic::new(format!(
                "row `{}` names a variable of another model",
                row.label
            ))
        };
        for &(var, number) in &row.terms {
            let of_var = paid.get_mut(var.index()).ok_or_else(foreign)?;
            add_product(of_var, multiplier, &[], &number.into());
        }
        for (var, symbol, number) in program.slopes(index) {
            let of_var = paid.get_mut(var.index()).ok_or_else(foreign)?;
            add_product(of_var, multiplier, &[symbol], &number.into());
        }
    }
    for (index, (var, mut paid)) in vars.iter().zip(paid).enumerate() {
        *paid.entry(Monomial::new()).or_default() -= BigInt::from(var.cost);
        prove(
            paid,
            region,
            claim.proofs.get(&Obligation::Dominance(index)),
        )
        .map_err(|term| {
            Diagnostic::new(format!(
                "the multipliers may not pay for [{}]: {term}",
                var.label
            ))
        })?;
    }
    Ok(bound)
}

/// Adds `polynomial · monomial · number` to `sum`.
fn add_product(sum: &mut Terms, polynomial: &Polynomial, monomial: &[usize], number: &BigInt) {
    for (own, coefficient) in polynomial.terms() {
        let mut product = [own, monomial].concat();
        product.sort_unstable();
        *sum.entry(product).or_default() += coefficient * number;
    }
}

/// Expands terms in symbols into terms in the distances of the symbols from their minimum values.
fn in_distances<'a>(
    terms: impl IntoIterator<Item = (&'a Monomial, &'a BigRational)>,
    least: &[u64],
) -> Terms {
    let mut sum = Terms::new();
    for (monomial, coefficient) in terms {
        // The product of `least + distance` over the symbols, factor by factor.
        let mut product = Terms::from([(Monomial::new(), coefficient.clone())]);
        for &symbol in monomial {
            // `bound_of` has refused symbols that do not exist, so each has a minimum value.
            let start = BigInt::from(least.get(symbol).copied().unwrap_or(0));
            let mut longer = Terms::new();
            for (so_far, coefficient) in product {
                *longer.entry(so_far.clone()).or_default() += &coefficient * &start;
                let mut with = so_far;
                with.push(symbol);
                *longer.entry(with).or_default() += coefficient;
            }
            product = longer;
        }
        for (monomial, coefficient) in product {
            *sum.entry(monomial).or_default() += coefficient;
        }
    }
    sum
}

/// Checks that `terms`, in symbols, are at least 0 in the region.
///
/// # Errors
///
/// Names the term that is left.
fn prove(
    terms: Terms,
    region: &FormulaRegion,
    factors: Option<&ConditionFactors>,
) -> Result<(), String> {
    let mut rest = in_distances(&terms, &region.least);
    for (condition, factor) in factors.into_iter().flatten() {
        let condition = region.conditions.get(*condition);
        let condition =
            condition.ok_or_else(|| "a condition that the region does not have".to_owned())?;
        if factor
            .terms()
            // Only a factor that is at least 0 in the region keeps the sign of its condition.
            .any(|(_, coefficient)| coefficient.is_negative())
        {
            return Err("a factor with a negative term".to_owned());
        }
        let condition = in_distances(condition.terms(), &region.least);
        for (monomial, coefficient) in factor.terms() {
            for (own, number) in &condition {
                let mut product = [monomial.as_slice(), own].concat();
                product.sort_unstable();
                *rest.entry(product).or_default() -= coefficient * number;
            }
        }
    }
    match rest
        .iter()
        .find(|(_, coefficient)| coefficient.is_negative())
    {
        None => Ok(()),
        Some((monomial, coefficient)) => Err(format!("coefficient {coefficient} of {monomial:?}")),
    }
}
