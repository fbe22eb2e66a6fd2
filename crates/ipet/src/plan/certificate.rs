//! Check of a plan of measurement: each target is the sum of forms that its derivation claims.
//!
//! The checker shares no function with the search ([`super::find_plan`]); it may be read as the definition of a plan.

use std::collections::{BTreeMap, BTreeSet};

use num_bigint::BigInt;
use num_rational::BigRational;
use num_traits::Zero;
use warpbound_base::Diagnostic;

use super::{Derivation, LinearForm, MeasurementPlan, PlanProblem};

/// Checks that each target t is `Σ λ_i · equality_i + Σ κ_j · known_j + Σ μ_k · probe_k` by its derivation, exactly,
/// and that every probe with a multiplier is measured. Then the value of t is `Σ κ_j · value_j + Σ μ_k · counter_k`
/// in every run where the equalities hold and the known values are right.
///
/// # Errors
///
/// Names the target, and an unknown whose factor differs, or a form that does not exist or is not measured.
pub fn verify_plan(problem: &PlanProblem, plan: &MeasurementPlan) -> Result<(), Diagnostic> {
    let measured: BTreeSet<usize> = plan.probes.iter().copied().collect();
    if plan.derivations.len() != problem.targets.len() {
        let (wanted, has) = (problem.targets.len(), plan.derivations.len());
        let message = format!("{wanted} counts are wanted, and the plan derives {has}");
        return Err(Diagnostic::new(message));
    }
    for (number, (target, derivation)) in problem.targets.iter().zip(&plan.derivations).enumerate()
    {
        let fault = |what: String| Diagnostic::new(format!("derivation {number}: {what}"));
        if let Some((probe, _)) = derivation
            .probes
            .iter()
            .find(|(k, _)| !measured.contains(k))
        {
            return Err(fault(format!("candidate {probe} is not measured")));
        }
        let sum = multiplied_out(problem, derivation).map_err(fault)?;
        let mut difference = sum;
        add(
            &mut difference,
            &BigRational::from(BigInt::from(-1)),
            target,
        );
        // Equal values in some runs do not suffice: the forms must be equal in every unknown.
        if let Some((unknown, value)) = difference.iter().find(|(_, value)| !value.is_zero()) {
            return Err(fault(format!("unknown {unknown} is off by {value}")));
        }
    }
    Ok(())
}

/// Returns the factor of each unknown in the sum of a derivation.
fn multiplied_out(
    problem: &PlanProblem,
    derivation: &Derivation,
) -> Result<BTreeMap<usize, BigRational>, String> {
    let mut sum = BTreeMap::new();
    for (at, factor) in &derivation.equalities {
        let form = problem.equalities.get(*at);
        let form = form.ok_or_else(|| format!("equality {at} does not exist"))?;
        add(&mut sum, factor, form);
    }
    for (at, factor) in &derivation.known {
        let form = problem.known.get(*at);
        let form = form.ok_or_else(|| format!("known count {at} does not exist"))?;
        add(&mut sum, factor, form);
    }
    for (at, factor) in &derivation.probes {
        let candidate = problem.candidates.get(*at);
        let candidate = candidate.ok_or_else(|| format!("candidate {at} does not exist"))?;
        add(&mut sum, factor, &candidate.form);
    }
    Ok(sum)
}

/// Adds `factor · form`.
fn add(sum: &mut BTreeMap<usize, BigRational>, factor: &BigRational, form: &LinearForm) {
    for &(unknown, value) in form.terms() {
        let term = factor * BigRational::from(BigInt::from(value));
        *sum.entry(unknown).or_insert_with(BigRational::zero) += term;
    }
}
