//! Reconstruction of counts from a plan and its counters, by the combinations of the certificate and nothing else.
//! For example, with C = A - B, 100 known executions of A and a counter of 37 in B, C is 63.

use std::collections::BTreeMap;

use crate::probes::planned_kernel;
use warpbound_analyse::LaunchContext;
use warpbound_base::{CodeAddr, Diagnostic};
use warpbound_ipet::plan::certificate::verify_plan;
use warpbound_ipet::plan::{Derivation, MeasurementPlan, Multiplier};
use warpbound_isa::instr::MemorySpace;
use warpbound_launch::LaunchFile;
use warpbound_load::Kernel;
use warpbound_report::probe_plan::{ProbeQuantity, WantedCount};
use warpbound_report::{DecodedReport, DecodedValue, ProbePlan};

use super::{PlannedKernel, ProbeCounters, check_code, launch_digest, launched};
use warpbound_query::own_code::own_ops;
use warpbound_query::{BoundOptions, Prepared, Session};
use warpbound_runs::{block_counts::BlockCount, block_counts::BlockCounts};
use warpbound_runs::{metrics::MetricsBasis, metrics::metrics_with, metrics::space_of};

/// Counts that follow from the counters of a plan.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct DecodedCounts {
    /// Counts of the blocks where both quantities are wanted.
    pub blocks: BlockCounts,
    /// Value of each wanted count.
    pub values: BTreeMap<WantedCount, u64>,
}

/// Reconstructs the counts of a launch from the counters of a plan.
///
/// The numbers of warps and threads come from `launch`, or else from the plan. The rows are made from the code again,
/// and the plan must prove its combinations from them.
///
/// # Errors
///
/// Plan or counters are of other code, a proof does not hold, the launch is not the plan's, or a reconstructed value
/// is no count.
pub fn decode_counters(
    session: &Session,
    kernel: &Kernel,
    plan: &ProbePlan,
    counters: &ProbeCounters,
    launch: Option<&LaunchFile>,
) -> Result<DecodedCounts, Diagnostic> {
    let (_, counts) = decode_with_code(session, kernel, plan, counters, launch)?;
    Ok(counts)
}

/// Reconstructs counts, see [`decode_counters`]. Returns the decoded and lifted kernel as well.
fn decode_with_code<'a>(
    session: &'a Session,
    kernel: &'a Kernel,
    plan: &ProbePlan,
    counters: &ProbeCounters,
    launch: Option<&LaunchFile>,
) -> Result<(Prepared<'a>, DecodedCounts), Diagnostic> {
    let fail = |d: Diagnostic| session.locate(d.in_kernel(kernel.demangled()));
    check_code(plan, kernel).map_err(fail)?;
    counters.check(plan).map_err(fail)?;
    let prepared = session.prepare_measured(kernel)?;
    let context = LaunchContext {
        warp_width: plan.warp_width,
        block: plan.block,
        ..LaunchContext::default()
    };
    let planned = planned_kernel(session, &prepared, &context, &BoundOptions::default())?;
    // The plan is a file, so its proof is checked again and not trusted.
    planned.verify(plan).map_err(fail)?;
    if let Some(launch) = launch {
        session.check_launch(kernel, launch)?;
    }
    let start = starts(plan, launch).map_err(fail)?;
    let counts = planned
        .values(plan, &counters.values, start)
        .map_err(fail)?;
    Ok((prepared, counts))
}

/// Reports the counts that follow from the counters of a plan, with the metrics where all counts of blocks do.
///
/// # Errors
///
/// As [`decode_counters`].
pub fn decoded(
    session: &Session,
    kernel: &Kernel,
    plan: &ProbePlan,
    counters: &ProbeCounters,
    launch: Option<&LaunchFile>,
) -> Result<DecodedReport, Diagnostic> {
    if counters.are_paper_sums(plan) {
        return decoded_paper_sums(session, kernel, plan, counters);
    }
    let (prepared, decoded) = decode_with_code(session, kernel, plan, counters, launch)?;
    let basis = MetricsBasis {
        block_threads: plan
            .block
            .map(|block| block.iter().map(|&axis| u64::from(axis)).product()),
        ..MetricsBasis::default()
    };
    // The space of a generic address is known only when it is accessed, and counters do not show it.
    let own = own_ops(kernel, &prepared.code);
    let is_generic = own
        .into_iter()
        .any(|at| space_of(&prepared, at) == Some(MemorySpace::Generic));
    let metrics = || metrics_with(&prepared, &decoded.blocks, plan.warp_width, &basis);
    let values = decoded.values.iter().map(|(of, &value)| DecodedValue {
        count: name_of(of),
        block: match of {
            WantedCount::Block(at, quantity) => Some((*at, *quantity)),
            WantedCount::Instructions(_) | WantedCount::GlobalAccesses(_) => None,
        },
        source: match of {
            WantedCount::Block(at, _) => prepared.source(CodeAddr(*at)),
            WantedCount::Instructions(_) | WantedCount::GlobalAccesses(_) => None,
        },
        value,
    });
    Ok(DecodedReport {
        schema: DecodedReport::SCHEMA,
        kernel: kernel.demangled(),
        code: plan.code.clone(),
        counters: plan.counters(),
        values: values.collect(),
        metrics: (!decoded.blocks.blocks.is_empty()).then(metrics),
        activity_factor: decoded.activity_factor(plan.warp_width),
        memory_intensity: decoded.memory_intensity().filter(|_| !is_generic),
        memory_intensity_unknown: (is_generic && decoded.memory_intensity().is_some())
            .then_some("instructions with generic addresses may access global memory"),
        only_blocks: None,
    })
}

/// Reports the paper's two sums over the blocks with probes: instructions times active lanes, and instructions times
/// lanes of a warp.
fn decoded_paper_sums(
    session: &Session,
    kernel: &Kernel,
    plan: &ProbePlan,
    counters: &ProbeCounters,
) -> Result<DecodedReport, Diagnostic> {
    let fail = |d: Diagnostic| session.locate(d.in_kernel(kernel.demangled()));
    check_code(plan, kernel).map_err(fail)?;
    counters.check_sums().map_err(fail)?;
    let &[active, all] = counters.values.as_slice() else {
        let message = format!("there are {} sums, not two", counters.values.len());
        return Err(fail(Diagnostic::new(message)));
    };
    let value = |count: &str, value| DecodedValue {
        count: count.to_owned(),
        block: None,
        source: None,
        value,
    };
    let blocks = plan.probed_blocks();
    Ok(DecodedReport {
        schema: DecodedReport::SCHEMA,
        kernel: kernel.demangled(),
        code: plan.code.clone(),
        counters: counters.values.len(),
        values: vec![
            value("instructions times active lanes", active),
            value("instructions times lanes of a warp", all),
        ],
        metrics: None,
        activity_factor: (all > 0).then(|| active as f64 / all as f64),
        memory_intensity: None,
        memory_intensity_unknown: None,
        only_blocks: (blocks < plan.blocks).then_some([blocks, plan.blocks]),
    })
}

impl DecodedCounts {
    /// Returns the active lanes over all lanes of the issued instructions, if the plan has these sums instead of
    /// counts of blocks.
    fn activity_factor(&self, warp_width: u32) -> Option<f64> {
        let lanes = *self
            .values
            .get(&WantedCount::Instructions(ProbeQuantity::Lanes))?;
        let issues = *self
            .values
            .get(&WantedCount::Instructions(ProbeQuantity::Issues))?;
        (issues > 0).then(|| lanes as f64 / (f64::from(warp_width) * issues as f64))
    }

    /// Returns the share of the issued instructions that access global memory, if the plan has these sums.
    fn memory_intensity(&self) -> Option<f64> {
        let accesses = WantedCount::GlobalAccesses(ProbeQuantity::Issues);
        let accesses = *self.values.get(&accesses)?;
        let issues = *self
            .values
            .get(&WantedCount::Instructions(ProbeQuantity::Issues))?;
        (issues > 0).then(|| accesses as f64 / issues as f64)
    }
}

impl PlannedKernel<'_> {
    /// Checks each combination of a plan against the rows of the kernel.
    pub(super) fn verify(&self, plan: &ProbePlan) -> Result<(), Diagnostic> {
        let derivations = plan.derived.iter().map(|derived| {
            Ok(Derivation {
                equalities: factors(&derived.equalities)?,
                known: factors(&derived.known)?,
                probes: factors(&derived.probes)?,
            })
        });
        let claimed = MeasurementPlan {
            probes: (0..plan.counters()).collect(),
            derivations: derivations.collect::<Result<Vec<_>, Diagnostic>>()?,
        };
        verify_plan(&self.problem_of(plan)?, &claimed)
    }

    /// Computes the values of the wanted counts.
    fn values(
        &self,
        plan: &ProbePlan,
        counters: &[u64],
        start: [Option<u64>; 2],
    ) -> Result<DecodedCounts, Diagnostic> {
        let known = |at: usize| match at.checked_sub(start.len()) {
            None => start.get(at).copied().flatten(),
            Some(at) => plan.known.get(at).map(|known| known.value),
        };
        let mut decoded = DecodedCounts::default();
        for derived in &plan.derived {
            let derivation = Derivation {
                // Equalities are 0 in every run, so they add nothing to a value.
                equalities: Vec::new(),
                known: factors(&derived.known)?,
                probes: factors(&derived.probes)?,
            };
            let needs_launch = derivation.known.iter().any(|(at, _)| known(*at).is_none());
            if needs_launch {
                let message = "the plan is not for a single launch, so the launch that was measured is needed";
                return Err(Diagnostic::new(message).hint("give --launch"));
            }
            let value = derivation.value(known, |slot| {
                let counter = counters.get(slot).copied()?;
                Some(match plan.sums.is_empty() {
                    true => i128::from(counter),
                    // Sums are in two's complement.
                    false => i128::from(counter as i64),
                })
            });
            // A negative number or a fraction is no count of a run that ended (SOUNDNESS 16.1).
            let value = value.ok_or_else(|| {
                let of = name_of(&derived.of);
                Diagnostic::new(format!(
                    "the counters contradict each other: {of} would be no count"
                ))
                .hint("they are of another launch, of a run that did not end, or damaged")
            })?;
            decoded.values.insert(derived.of.clone(), value);
        }
        for &first in self.system.blocks.keys() {
            let at = self.addr(first).0;
            let value = |quantity| {
                let value = decoded.values.get(&WantedCount::Block(at, quantity));
                value.copied()
            };
            let both = value(ProbeQuantity::Issues).zip(value(ProbeQuantity::Lanes));
            if let Some((issues, lanes)) = both {
                let count = BlockCount { issues, lanes };
                decoded.blocks.blocks.insert(first, count);
            }
        }
        Ok(decoded)
    }
}

/// Parses factors.
pub(super) fn factors(terms: &[(usize, String)]) -> Result<Vec<(usize, Multiplier)>, Diagnostic> {
    let factor = |(at, text): &(usize, String)| {
        let factor = text.parse::<Multiplier>();
        let factor = factor.map_err(|_| Diagnostic::new(format!("{text:?} is no factor")))?;
        Ok((*at, factor))
    };
    terms.iter().map(factor).collect()
}

/// Returns the warps and threads of the launch that was measured.
fn starts(plan: &ProbePlan, launch: Option<&LaunchFile>) -> Result<[Option<u64>; 2], Diagnostic> {
    let Some(launch) = launch else {
        return Ok([plan.warps, plan.threads]);
    };
    if plan.block.is_some_and(|block| block != launch.block) {
        let message = format!(
            "the plan is for blocks of {:?} threads, the launch has {:?}",
            plan.block.unwrap_or_default(),
            launch.block
        );
        return Err(Diagnostic::new(message));
    }
    let start = launched(launch, plan.warp_width);
    let (warps, threads) = start.unzip();
    let differs = |planned: Option<u64>, now| planned.is_some() && planned != now;
    if differs(plan.warps, warps) || differs(plan.threads, threads) {
        return Err(Diagnostic::new("the plan is for a launch of another size"));
    }
    let digest = launch_digest(launch);
    // Predicted counts depend on parameters and contents as well as on the size.
    if let Some(planned) = plan.launch.as_ref().filter(|of| **of != digest) {
        let message = format!("the plan is for launch {planned}, this is {digest}");
        let hint =
            "its parameters or the contents of its buffers differ; make a plan for this launch";
        return Err(Diagnostic::new(message).hint(hint));
    }
    Ok([warps, threads])
}

/// Returns a wanted count as a noun phrase.
fn name_of(wanted: &WantedCount) -> String {
    match wanted {
        WantedCount::Block(at, quantity) => {
            format!("{} of the block at {}", quantity.name(), CodeAddr(*at))
        }
        WantedCount::Instructions(quantity) => format!("instructions in {}", quantity.name()),
        WantedCount::GlobalAccesses(quantity) => {
            format!("accesses of global memory in {}", quantity.name())
        }
    }
}
