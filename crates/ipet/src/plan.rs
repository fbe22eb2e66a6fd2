//! Plans of measurement: linear forms with the minimum total weight whose measurement gives all wanted forms.
//!
//! Unknowns are numbers of events. Some linear forms of them are 0 in every run (*equalities*), some are *known*
//! beforehand, some can be measured at a cost (*candidates*), some are wanted (*targets*). A target follows from
//! measurements if and only if it is a linear combination of equalities, known and measured forms. For example, if a
//! node is entered as often as it is left by two edges, the count of one edge follows from a counter on the node and
//! a counter on the other edge.
//!
//! Sets of candidates that are independent of each other, of the equalities and of the known forms are the
//! independent sets of a linear matroid. So the greedy choice by weight is a basis of minimum weight. Every form that
//! follows from any choice follows from this basis. Counters on the edges outside a spanning tree (Knuth and
//! Stevenson 1973, Ball and Larus 1994) are the case where the equalities are the flow of a graph. In such a basis
//! each target has exactly one combination. Probes that occur in no target's combination are dropped ([`find_plan`]).
//!
//! [`certificate`] checks a plan without the search.

pub mod certificate;
mod echelon;
mod whole;

use std::collections::{BTreeMap, BTreeSet};

use num_rational::BigRational;
use num_traits::ToPrimitive;

use crate::exact::Rational;
use echelon::Echelon;
pub use whole::whole_factors;

/// Exact factor of a form in a combination.
pub type Multiplier = BigRational;

/// Linear form `Σ factor · unknown` with integer factors; no factor is 0, unknowns ascend.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug, Default)]
pub struct LinearForm {
    terms: Vec<(usize, i64)>,
}

impl LinearForm {
    /// Sums terms; a sum that leaves the range of a word gives `None`.
    pub fn sum(terms: impl IntoIterator<Item = (usize, i64)>) -> Option<LinearForm> {
        let mut sums: BTreeMap<usize, i64> = BTreeMap::new();
        for (unknown, factor) in terms {
            let sum = sums.entry(unknown).or_default();
            // A wrapped factor would prove a wrong count, so the form is refused.
            *sum = sum.checked_add(factor)?;
        }
        let terms = sums.into_iter().filter(|&(_, factor)| factor != 0);
        Some(LinearForm {
            terms: terms.collect(),
        })
    }

    /// Unknowns with their factors, ascending.
    pub fn terms(&self) -> &[(usize, i64)] {
        &self.terms
    }
}

/// Form that can be measured.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Measurable {
    /// The form.
    pub form: LinearForm,
    /// Cost of measuring it, in any unit.
    pub weight: u64,
}

/// Problem: what is equal, known, measurable and wanted.
#[derive(Clone, Debug, Default)]
pub struct PlanProblem {
    /// Forms that are 0 in every run.
    pub equalities: Vec<LinearForm>,
    /// Forms whose values need no measurement.
    pub known: Vec<LinearForm>,
    /// Forms that can be measured.
    pub candidates: Vec<Measurable>,
    /// Forms whose values are wanted.
    pub targets: Vec<LinearForm>,
}

/// Combination of equalities, known and measured forms; terms are indices in the lists of the [`PlanProblem`] with
/// factors, ascending, none of them 0.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Derivation {
    /// Factors of equalities.
    pub equalities: Vec<(usize, Multiplier)>,
    /// Factors of known forms.
    pub known: Vec<(usize, Multiplier)>,
    /// Factors of measured candidates.
    pub probes: Vec<(usize, Multiplier)>,
}

impl Derivation {
    /// Returns the value of the derived form from the values of the known and the measured forms; measured values may
    /// be negative. Equalities contribute 0. `None` if a value is missing, or if the sum is no count: negative, a
    /// fraction, or above 64 bits.
    pub fn value(
        &self,
        known: impl Fn(usize) -> Option<u64>,
        counter: impl Fn(usize) -> Option<i128>,
    ) -> Option<u64> {
        let mut sum = Rational::ZERO;
        let known = self
            .known
            .iter()
            .map(|(at, by)| (known(*at).map(i128::from), by));
        let probes = self.probes.iter().map(|(at, by)| (counter(*at), by));
        for (value, by) in known.chain(probes) {
            let value = Rational::int(value?);
            sum = sum.add(&value.mul(&Rational::big(by.clone())));
        }
        sum.to_count()?.to_u64()
    }
}

/// Choice of candidates, with the proof that all targets follow.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct MeasurementPlan {
    /// Candidates to measure, ascending.
    pub probes: Vec<usize>,
    /// For each target, its combination.
    pub derivations: Vec<Derivation>,
}

/// Target that does not follow even if all candidates are measured, by its index.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct NotDerivable(pub usize);

/// Source of a row of the echelon form.
#[derive(Clone, Copy)]
enum Origin {
    Equality(usize),
    Known(usize),
    Probe(usize),
}

/// Finds candidates that give all targets, together with the equalities and the known forms.
///
/// If the targets include a form for each candidate, no set with a smaller weight suffices. For fewer targets the
/// result has the probes of a minimum-weight basis that the targets need: no probe can be left out, but another basis
/// may need less.
///
/// # Errors
///
/// A target does not follow from all candidates together.
pub fn find_plan(problem: &PlanProblem) -> Result<MeasurementPlan, NotDerivable> {
    let mut order: Vec<usize> = (0..problem.candidates.len()).collect();
    // The sort is stable, so candidates of equal weight keep their order and the plan is reproducible.
    order.sort_by_key(|&at| problem.candidates.get(at).map(|c| c.weight));
    let found = derive_in_order(problem, &order);
    let missing = found.iter().position(Option::is_none);
    if let Some(target) = missing {
        return Err(NotDerivable(target));
    }
    let derivations: Vec<Derivation> = found.into_iter().flatten().collect();
    let used = derivations.iter().flat_map(|derivation| &derivation.probes);
    let probes: BTreeSet<usize> = used.map(|(at, _)| *at).collect();
    Ok(MeasurementPlan {
        probes: probes.into_iter().collect(),
        derivations,
    })
}

/// Derives the targets that follow from the equalities, the known forms and all candidates, which are all measured.
/// Returns the plan for these targets, and their indices.
pub fn plan_with_all(problem: &PlanProblem) -> (MeasurementPlan, Vec<usize>) {
    let order: Vec<usize> = (0..problem.candidates.len()).collect();
    let found = derive_in_order(problem, &order);
    let found = found.into_iter().enumerate();
    let (targets, derivations) = found.filter_map(|(at, found)| Some((at, found?))).unzip();
    let plan = MeasurementPlan {
        probes: order,
        derivations,
    };
    (plan, targets)
}

/// Expresses each target in the basis that the candidates in this order give.
fn derive_in_order(problem: &PlanProblem, order: &[usize]) -> Vec<Option<Derivation>> {
    let (mut echelon, mut origins) = free_rows(problem);
    for &at in order {
        let Some(candidate) = problem.candidates.get(at) else {
            continue;
        };
        // A candidate that depends on the rows so far needs no counter, because its value follows from them.
        if echelon.insert(&rationals(&candidate.form)) {
            origins.push(Origin::Probe(at));
        }
    }
    let targets = problem.targets.iter();
    targets
        .map(|target| {
            let mut derivation = Derivation::default();
            for (row, factor) in echelon.express(&rationals(target))? {
                let (terms, at) = match *origins.get(row)? {
                    Origin::Equality(at) => (&mut derivation.equalities, at),
                    Origin::Known(at) => (&mut derivation.known, at),
                    Origin::Probe(at) => (&mut derivation.probes, at),
                };
                terms.push((at, factor.to_big()));
            }
            derivation.equalities.sort_by_key(|term| term.0);
            derivation.known.sort_by_key(|term| term.0);
            derivation.probes.sort_by_key(|term| term.0);
            Some(derivation)
        })
        .collect()
}

/// Returns the echelon form of the rows that cost nothing, with the origin of each row.
fn free_rows(problem: &PlanProblem) -> (Echelon, Vec<Origin>) {
    let forms = problem.equalities.iter().chain(&problem.known);
    let (echelon, kept) = Echelon::of_rows(forms.map(rationals).collect());
    let equalities = problem.equalities.len();
    let origin = |row: usize| match row.checked_sub(equalities) {
        None => Origin::Equality(row),
        Some(known) => Origin::Known(known),
    };
    (echelon, kept.into_iter().map(origin).collect())
}

/// Returns the terms of a form as exact numbers.
fn rationals(form: &LinearForm) -> Vec<(usize, Rational)> {
    let terms = form.terms.iter();
    terms
        .map(|&(unknown, factor)| (unknown, Rational::int(i128::from(factor))))
        .collect()
}

#[cfg(test)]
mod tests;
