//! Sums of probes: if fewer counts are wanted than there are probes, each wanted count has one counter, to which each
//! probe adds its factor.
//!
//! A wanted count is `κ · known + Σ μ_k · probe_k` (SOUNDNESS 16.2). Let `s` be the smallest number that makes
//! all `s · μ_k` whole. Then the counter `Σ s μ_k · probe_k` gives the count. It is a linear form of the unknowns like
//! a probe, and the certificate is checked with it instead of the probes (counters with increments on chords: Ball and
//! Larus 1994). For example, `probe_0 / 2 - probe_1` becomes a counter with the factors 1 and -2, and the count is
//! half of it.

use warpbound_base::Diagnostic;
use warpbound_ipet::plan::{LinearForm, whole_factors};
use warpbound_report::ProbePlan;
use warpbound_report::probe_plan::ProbeSum;

/// Replaces the counters of a plan by sums if there are fewer sums.
///
/// # Errors
///
/// A factor of the plan is not a number.
pub(super) fn add_up(plan: &mut ProbePlan) -> Result<(), Diagnostic> {
    let mut sums: Vec<ProbeSum> = Vec::new();
    let mut factors = Vec::new();
    for derived in &plan.derived {
        let terms = super::decode::factors(&derived.probes)?;
        if terms.is_empty() {
            factors.push(Vec::new());
            continue;
        }
        // A factor beyond 31 bits: the plan stays valid with a counter for each probe.
        let Some((sum, factor)) = whole_factors(&terms) else {
            return Ok(());
        };
        // Counts with proportional factors share a counter.
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

/// Returns the linear forms of the sums; `probes` has the forms of the probes.
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
