//! Choice of probes by each rule. For example, the rule of least weight prefers a probe before a loop to one inside
//! the loop, if the counts follow from either. No claim about counts rests on the choice (SOUNDNESS 16.2).

use std::collections::{BTreeMap, BTreeSet};

use warpbound_base::Diagnostic;
use warpbound_ipet::plan::{
    Derivation, LinearForm, Measurable, MeasurementPlan, Multiplier, NotDerivable, PlanProblem,
    find_plan, plan_with_all,
};
use warpbound_ir::OpIndex;
use warpbound_report::ProbePlan;
use warpbound_report::probe_plan::{
    DerivedCount, KnownBlockCount, Probe, ProbeQuantity, ProbedBlocks, WantedCount,
};

use super::{PlannedKernel, QUANTITIES};
use crate::Prediction;
use warpbound_query::divergence::determinacy_of;

/// Wanted counts with their linear forms.
pub(super) type WantedForms = Vec<(WantedCount, LinearForm)>;

/// Cost of counting an execution: one active lane must be chosen.
const ISSUE_COST: u64 = 3;

/// Cost of counting lanes: each active lane counts itself.
const LANE_COST: u64 = 2;

/// Cost of counting lanes in a block whose executions are counted anyway.
const SECOND_COST: u64 = 1;

impl PlannedKernel<'_> {
    /// Fills in the probes and the derivations of a plan.
    pub(super) fn find_probes(
        &self,
        plan: &mut ProbePlan,
        wanted: &WantedForms,
    ) -> Result<(), Diagnostic> {
        let mut problem = PlanProblem {
            equalities: self.system.equalities.clone(),
            known: vec![self.system.warps.clone(), self.system.threads.clone()],
            candidates: Vec::new(),
            targets: Vec::new(),
        };
        for count in &plan.known {
            problem
                .known
                .extend(self.form_at(count.at, count.quantity).cloned());
        }
        let mut order: Vec<(OpIndex, ProbeQuantity)> = QUANTITIES
            .iter()
            .flat_map(|&quantity| {
                self.system
                    .blocks
                    .keys()
                    .map(move |&first| (first, quantity))
            })
            .collect();
        let chosen = match plan.rule {
            ProbedBlocks::Plan => self.least_weight(problem, &order, wanted)?,
            ProbedBlocks::All => {
                // Without equalities and known counts, nothing but the counters is trusted.
                problem.equalities.clear();
                problem.known.clear();
                problem.candidates = self.candidates(&order, &BTreeSet::new());
                problem.targets = wanted.iter().map(|(_, form)| form.clone()).collect();
                find_plan(&problem).map_err(|at| underivable(wanted, at))?
            }
            ProbedBlocks::Tainted => {
                let tainted = determinacy_of(&self.prepared.code, &self.flow).tainted_blocks();
                // The paper's rule does not promise that all counts follow, so the others are named instead of
                // refused.
                order.retain(|(first, _)| tainted.contains(first));
                problem.candidates = self.candidates(&order, &BTreeSet::new());
                problem.targets = wanted.iter().map(|(_, form)| form.clone()).collect();
                let (found, followed) = plan_with_all(&problem);
                let missing = wanted.len() - followed.len();
                if missing > 0 {
                    plan.notes.push(format!(
                        "{missing} of {} wanted counts do not follow from the blocks that this rule probes",
                        wanted.len()
                    ));
                }
                let followed = followed
                    .into_iter()
                    .filter_map(|at| wanted.get(at).cloned());
                self.fill_in(plan, &order, &followed.collect(), &found);
                return Ok(());
            }
        };
        self.fill_in(plan, &order, wanted, &chosen);
        Ok(())
    }

    /// Lists what is predicted, in the order of blocks.
    pub(super) fn known_counts(&self, prediction: &Prediction) -> Vec<KnownBlockCount> {
        let mut known = Vec::new();
        for (first, count) in &prediction.counts {
            // A block that no thread reaches has no form.
            if !self.system.blocks.contains_key(first) {
                continue;
            }
            for (quantity, value) in QUANTITIES.into_iter().zip([count.issues, count.lanes]) {
                known.extend(value.map(|value| KnownBlockCount {
                    at: self.addr(*first).0,
                    quantity,
                    value,
                }));
            }
        }
        known
    }

    /// Finds a basis of least weight for the counts of executions, and then one for the counts of lanes, where a
    /// second counter in a block costs less. No equality relates the two, so the choices are independent.
    fn least_weight(
        &self,
        mut problem: PlanProblem,
        order: &[(OpIndex, ProbeQuantity)],
        wanted: &WantedForms,
    ) -> Result<MeasurementPlan, Diagnostic> {
        let is_of = |number: usize, quantity| order.get(number).is_some_and(|of| of.1 == quantity);
        problem.candidates = self.candidates(order, &BTreeSet::new());
        problem.targets = wanted.iter().map(|(_, form)| form.clone()).collect();
        let first = find_plan(&problem).map_err(|at| underivable(wanted, at))?;
        let issues = first
            .probes
            .iter()
            .filter(|&&at| is_of(at, ProbeQuantity::Issues));
        let probed = issues.filter_map(|&at| order.get(at).map(|of| of.0));
        problem.candidates = self.candidates(order, &probed.collect());
        find_plan(&problem).map_err(|at| underivable(wanted, at))
    }

    /// Lists the counters of all blocks with their costs; in the `probed` blocks executions are counted anyway.
    fn candidates(
        &self,
        order: &[(OpIndex, ProbeQuantity)],
        probed: &BTreeSet<OpIndex>,
    ) -> Vec<Measurable> {
        let candidates = order.iter().filter_map(|(first, quantity)| {
            let forms = self.system.blocks.get(first)?;
            let cost = match quantity {
                ProbeQuantity::Issues => ISSUE_COST,
                ProbeQuantity::Lanes if probed.contains(first) => SECOND_COST,
                ProbeQuantity::Lanes => LANE_COST,
            };
            Some(Measurable {
                form: forms.of(*quantity).clone(),
                weight: cost.saturating_mul(forms.frequency),
            })
        });
        candidates.collect()
    }

    /// Writes what was found to the plan.
    fn fill_in(
        &self,
        plan: &mut ProbePlan,
        order: &[(OpIndex, ProbeQuantity)],
        wanted: &WantedForms,
        found: &MeasurementPlan,
    ) {
        // Slots are in the order of addresses, with both counters of a block together.
        let mut slots: Vec<usize> = found.probes.clone();
        slots.sort_by_key(|&at| order.get(at).copied());
        let slot_of: BTreeMap<usize, usize> = slots
            .iter()
            .enumerate()
            .map(|(slot, &at)| (at, slot))
            .collect();
        let probes = slots.iter().filter_map(|&at| {
            let &(first, quantity) = order.get(at)?;
            let addr = self.addr(first);
            Some(Probe {
                at: addr.0,
                quantity,
                frequency: self.system.blocks.get(&first)?.frequency,
                source: self.prepared.source(addr),
            })
        });
        plan.probes = probes.collect();
        let derived = wanted.iter().zip(&found.derivations);
        let derived = derived.map(|((name, _), derivation)| {
            let Derivation {
                equalities,
                known,
                probes,
            } = derivation;
            let mut slots: Vec<(usize, String)> = probes
                .iter()
                .filter_map(|(at, by)| Some((*slot_of.get(at)?, by.to_string())))
                .collect();
            slots.sort_unstable();
            DerivedCount {
                of: name.clone(),
                equalities: texts(equalities),
                known: texts(known),
                probes: slots,
            }
        });
        plan.derived = derived.collect();
    }
}

/// Returns factors as texts.
fn texts(terms: &[(usize, Multiplier)]) -> Vec<(usize, String)> {
    // Factors are exact fractions, which numbers in JSON cannot hold.
    let terms = terms.iter();
    terms.map(|(at, by)| (*at, by.to_string())).collect()
}

/// Returns the diagnostic of a wanted count that does not follow from all counters. Counts of blocks always follow,
/// because each has a counter.
fn underivable(wanted: &WantedForms, at: NotDerivable) -> Diagnostic {
    let name = wanted.get(at.0).map(|(name, _)| name);
    Diagnostic::new(format!("{name:?} follows from no counters"))
}
