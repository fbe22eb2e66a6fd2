//! Sums of probes: where fewer counts are wanted than there are probes, a probe adds its factors of each wanted count to
//! one counter per count.
//!
//! A wanted count is `κ · known + Σ μ_k · probe_k` (SOUNDNESS 16.2). With `s` the least number that makes all `s · μ_k`
//! whole, the counter `Σ s μ_k · probe_k` gives it: it is a linear form of the unknowns as a probe is, and the
//! certificate is checked with it in place of the probes (counters with increments on chords: Ball and Larus 1994).

use warpbound_base::Diagnostic;
use warpbound_bound::plan::{LinearForm, whole_factors};
use warpbound_report::ProbePlan;
use warpbound_report::probe_plan::ProbeSum;

/// Replaces the counters of a plan by sums, if these are fewer.
///
/// # Errors
///
/// A factor of the plan is no number.
pub(super) fn add_up(plan: &mut ProbePlan) -> Result<(), Diagnostic> {
    let mut sums: Vec<ProbeSum> = Vec::new();
    let mut factors = Vec::new();
    for derived in &plan.derived {
        let terms = super::decode::factors(&derived.probes)?;
        if terms.is_empty() {
            factors.push(Vec::new());
            continue;
        }
        let Some((sum, factor)) = whole_factors(&terms) else {
            return Ok(());
        };
        let known = sums.iter().position(|known| known.probes == sum);
        let slot = known.unwrap_or(sums.len());
        if known.is_none() {
            sums.push(ProbeSum { probes: sum });
        }
        factors.push(vec![(slot, factor.to_string())]);
    }
    if sums.len() >= plan.probes.len() {
        return Ok(());
    }
    for (derived, factors) in plan.derived.iter_mut().zip(factors) {
        derived.probes = factors;
    }
    plan.sums = sums;
    Ok(())
}

/// Returns the linear forms of the sums, from those of the probes.
///
/// # Errors
///
/// A sum names a probe that the plan does not have, or a factor leaves the range of a word.
pub(super) fn forms(
    plan: &ProbePlan,
    probes: &[LinearForm],
) -> Result<Vec<LinearForm>, Diagnostic> {
    let sums = plan.sums.iter().map(|sum| {
        let mut terms = Vec::new();
        for &(probe, factor) in &sum.probes {
            let form = probes.get(probe).ok_or_else(|| {
                Diagnostic::new(format!(
                    "a sum of the plan names probe {probe}, which it does not have"
                ))
            })?;
            for &(unknown, of) in form.terms() {
                let product = of.checked_mul(factor).ok_or_else(too_large)?;
                terms.push((unknown, product));
            }
        }
        LinearForm::sum(terms).ok_or_else(too_large)
    });
    sums.collect()
}

fn too_large() -> Diagnostic {
    Diagnostic::new("a factor exceeds a word")
}
