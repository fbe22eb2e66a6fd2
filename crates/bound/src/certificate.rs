//! The claim that a number bounds a model, in a form that can be checked without solving anything.
//!
//! Nothing here shares code with the solver: it reads the model, works in arbitrary precision and may be read as the
//! definition of what a bound is.

use num_bigint::BigInt;
use num_rational::BigRational;
use num_traits::{Signed, Zero};
use warpbound_base::Diagnostic;

use crate::model::{IntegerProgram, Relation};

/// Evidence for an upper bound of a [`Model`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Certificate {
    /// The claim: no integer point of the model has a larger objective.
    pub bound: i128,
    /// One multiplier per row. Adding up the rows, each times its multiplier, must give a row that implies the bound.
    pub multipliers: Vec<BigRational>,
    /// An integer point of the model, one value per variable, where one is known: the bound is no lower than its
    /// objective.
    pub witness: Option<Vec<u128>>,
}

/// Checks `certificate` against `model` exactly; returns the bound.
///
/// 1. Each multiplier λ of a `<=` row is at least 0, of a `>=` row at most 0. Then every point x of the model has
///    `Σ λ_i (row_i · x) <= Σ λ_i rhs_i`.
/// 2. For each variable j the excess `r_j = cost_j - Σ λ_i a_ij` is at most 0, or j has an upper bound u_j. Because
///    `0 <= x_j <= u_j`, `cost · x <= Σ λ_i rhs_i + Σ max(r_j, 0) u_j`.
/// 3. Costs and x are integers, so the floor of the right side bounds the objective: the claim must not be lower.
/// 4. The witness obeys every row and bound, and its objective does not exceed the claim.
///
/// # Errors
/// What does not hold, naming the row or variable.
pub fn verify(model: &IntegerProgram, certificate: &Certificate) -> Result<i128, Diagnostic> {
    let costs: Vec<i64> = model.vars().iter().map(|var| var.cost).collect();
    let implied = implied_bound(model, &costs, &certificate.multipliers)?;
    if implied.floor().to_integer() > BigInt::from(certificate.bound) {
        return Err(Diagnostic::new(format!(
            "the multipliers imply only {implied}, not the claimed bound {}",
            certificate.bound
        )));
    }
    if let Some(witness) = &certificate.witness {
        let value = evaluate(model, witness)?;
        if value > BigInt::from(certificate.bound) {
            return Err(Diagnostic::new(format!(
                "the witness reaches {value}, beyond the claimed bound {}",
                certificate.bound
            )));
        }
    }
    Ok(certificate.bound)
}

/// Checks that `multipliers` prove that no point obeys the rows of `model`: with all costs 0 they would imply an
/// objective below 0, yet it is 0 everywhere.
///
/// # Errors
/// What does not hold.
pub fn verify_infeasible(model: &IntegerProgram, multipliers: &[BigRational]) -> Result<(), Diagnostic> {
    let costs = vec![0; model.vars().len()];
    if implied_bound(model, &costs, multipliers)?.is_negative() {
        Ok(())
    } else {
        Err(Diagnostic::new(
            "the multipliers do not make the rows contradict each other",
        ))
    }
}

/// Checks that `direction` is a ray: from any point of `model`, adding it any number of times obeys every row and
/// bound and gains each time.
///
/// # Errors
/// What does not hold.
pub fn verify_ray(model: &IntegerProgram, direction: &[BigRational]) -> Result<(), Diagnostic> {
    if direction.len() != model.vars().len() {
        return Err(Diagnostic::new("the ray has not one value per variable"));
    }
    let mut gain = BigRational::zero();
    for (var, value) in model.vars().iter().zip(direction) {
        if value.is_negative() || (value.is_positive() && var.upper.is_some()) {
            return Err(Diagnostic::new(format!(
                "the ray leaves the bounds of [{}]",
                var.label
            )));
        }
        gain += value * BigInt::from(var.cost);
    }
    if !gain.is_positive() {
        return Err(Diagnostic::new("the ray gains nothing"));
    }
    for row in model.rows() {
        let mut slope = BigRational::zero();
        for &(var, coefficient) in &row.terms {
            let value = direction
                .get(var.index())
                .ok_or_else(|| foreign_variable(&row.label))?;
            slope += value * BigInt::from(coefficient);
        }
        let obeyed = match row.relation {
            Relation::Le => !slope.is_positive(),
            Relation::Ge => !slope.is_negative(),
            Relation::Eq => slope.is_zero(),
        };
        if !obeyed {
            return Err(Diagnostic::new(format!(
                "the ray leaves row `{}`",
                row.label
            )));
        }
    }
    Ok(())
}

/// Steps 1 and 2 of [`verify`]: the largest objective that the weighted sum of the rows admits.
///
/// # Errors
/// A multiplier of the wrong sign, or a variable that may grow without end.
pub fn implied_bound(
    model: &IntegerProgram,
    costs: &[i64],
    multipliers: &[BigRational],
) -> Result<BigRational, Diagnostic> {
    if multipliers.len() != model.rows().len() || costs.len() != model.vars().len() {
        return Err(Diagnostic::new(format!(
            "{} multipliers and {} costs for {} rows and {} variables",
            multipliers.len(),
            costs.len(),
            model.rows().len(),
            model.vars().len()
        )));
    }
    let mut total = BigRational::zero();
    let mut excess: Vec<BigRational> = costs
        .iter()
        .map(|&cost| BigRational::from_integer(cost.into()))
        .collect();
    for (row, multiplier) in model.rows().iter().zip(multipliers) {
        let wrong_sign = match row.relation {
            Relation::Le => multiplier.is_negative(),
            Relation::Ge => multiplier.is_positive(),
            Relation::Eq => false,
        };
        if wrong_sign {
            return Err(Diagnostic::new(format!(
                "the multiplier {multiplier} of row `{}` has the wrong sign",
                row.label
            )));
        }
        if multiplier.is_zero() {
            continue;
        }
        total += multiplier * BigInt::from(row.rhs);
        for &(var, coefficient) in &row.terms {
            let of_var = excess
                .get_mut(var.index())
                .ok_or_else(|| foreign_variable(&row.label))?;
            *of_var -= multiplier * BigInt::from(coefficient);
        }
    }
    for (var, excess) in model.vars().iter().zip(excess) {
        if !excess.is_positive() {
            continue;
        }
        match var.upper {
            Some(upper) => total += excess * BigInt::from(upper),
            None => {
                return Err(Diagnostic::new(format!(
                    "the multipliers do not pay for [{}]: {excess} per unit is left",
                    var.label
                )));
            }
        }
    }
    Ok(total)
}

/// The objective of an integer point that obeys every row and bound of `model`.
///
/// # Errors
/// The first row or bound that the point violates.
pub fn evaluate(model: &IntegerProgram, point: &[u128]) -> Result<BigInt, Diagnostic> {
    if point.len() != model.vars().len() {
        return Err(Diagnostic::new(format!(
            "a point of {} values for {} variables",
            point.len(),
            model.vars().len()
        )));
    }
    let mut objective = BigInt::zero();
    for (var, &value) in model.vars().iter().zip(point) {
        if var.upper.is_some_and(|upper| value > u128::from(upper)) {
            return Err(Diagnostic::new(format!(
                "[{}] = {value} is above its bound",
                var.label
            )));
        }
        objective += BigInt::from(value) * var.cost;
    }
    for row in model.rows() {
        let mut left = BigInt::zero();
        for &(var, coefficient) in &row.terms {
            let value = point.get(var.index()).ok_or_else(|| foreign_variable(&row.label))?;
            left += BigInt::from(*value) * coefficient;
        }
        let right = BigInt::from(row.rhs);
        let obeyed = match row.relation {
            Relation::Le => left <= right,
            Relation::Ge => left >= right,
            Relation::Eq => left == right,
        };
        if !obeyed {
            return Err(Diagnostic::new(format!(
                "row `{}` is violated: {left} {} {right} does not hold",
                row.label, row.relation
            )));
        }
    }
    Ok(objective)
}

fn foreign_variable(row: &str) -> Diagnostic {
    Diagnostic::new(format!("row `{row}` names a variable of another model"))
}
