//! Certificates: evidence that a number bounds an integer program, which can be checked without solving it (weak
//! duality of linear programming).
//!
//! The checker shares no code with the solver: it reads the program and computes in arbitrary precision. It may be
//! read as the definition of a bound. For example, the objective `2*x` with the row `x <= 3` has the multiplier 2:
//! twice the row says `2*x <= 6`, so the bound is 6.

use num_bigint::BigInt;
use num_rational::BigRational;
use num_traits::{Signed, Zero};
use warpbound_base::Diagnostic;

use crate::model::{IntegerProgram, Relation};

/// Evidence for an upper bound of an [`IntegerProgram`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Certificate {
    /// Claimed bound: no integer point of the program has a larger objective.
    pub bound: i128,
    /// Multipliers, one for each row. The sum of the rows, each times its multiplier, must imply the bound.
    pub multipliers: Vec<BigRational>,
    /// Witness: an integer point of the program, one value for each variable, if one is known. Its objective is a lower
    /// bound of the optimum.
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
///
/// Names the step that does not hold, with the row or variable.
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

/// Checks that `multipliers` prove that no point satisfies the rows of `model` (Farkas' lemma): with all costs 0 they
/// would imply an objective below 0, yet it is 0 everywhere.
///
/// # Errors
///
/// Names the condition that does not hold.
pub fn verify_infeasible(
    model: &IntegerProgram,
    multipliers: &[BigRational],
) -> Result<(), Diagnostic> {
    let costs = vec![0; model.vars().len()];
    if implied_bound(model, &costs, multipliers)?.is_negative() {
        Ok(())
    } else {
        Err(Diagnostic::new(
            "the multipliers do not make the rows contradict each other",
        ))
    }
}

/// Checks that `direction` is a ray: added to any point of `model` any number of times, it violates no row or bound
/// and increases the objective each time.
///
/// # Errors
///
/// Names the condition that does not hold.
pub fn verify_ray(model: &IntegerProgram, direction: &[BigRational]) -> Result<(), Diagnostic> {
    if direction.len() != model.vars().len() {
        return Err(Diagnostic::new("the ray has not one value per variable"));
    }
    let mut gain = BigRational::zero();
    for (var, value) in model.vars().iter().zip(direction) {
        // Enough repetitions of a move would pass 0, or any upper bound.
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

/// Computes the largest objective that the weighted sum of the rows admits: steps 1 and 2 of [`verify`].
///
/// # Errors
///
/// Fails on a multiplier of the wrong sign, or a variable that may grow without limit.
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
        // Step 1: a multiplier of the wrong sign would reverse the inequality of its row.
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
        // Step 2: variables are not negative, so an excess of at most 0 adds nothing to the objective.
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

/// Computes the objective of an integer point that satisfies every row and bound of `model`.
///
/// # Errors
///
/// Names the first row or bound that the point violates.
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
        // Values are unsigned, so only the upper bound can be violated.
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
            let value = point
                .get(var.index())
                .ok_or_else(|| foreign_variable(&row.label))?;
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
