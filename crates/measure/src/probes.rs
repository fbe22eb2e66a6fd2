//! Plans of probes: which counters of blocks suffice, the proof that all wanted counts follow from them, and the
//! reconstruction of the counts.
//!
//! For example, if block A branches to B or C and 100 warps start in A, a counter in B that reads 37 gives 63
//! executions of C (SOUNDNESS 16).

mod counters;
mod decode;
mod launch_digest;
mod search;
mod sums;
pub mod system;

use std::sync::Arc;

use warpbound_analyse::LaunchContext;
use warpbound_base::{CodeAddr, Diagnostic, Family};
use warpbound_bounds::assumptions::warp_graph_assumptions;
use warpbound_ipet::plan::{LinearForm, PlanProblem};
use warpbound_ir::OpIndex;
use warpbound_isa::instr::MemorySpace;
use warpbound_launch::LaunchFile;
use warpbound_load::Kernel;
use warpbound_query::{BoundOptions, KernelFlow, Prepared, Session, StatedLaunches};
use warpbound_runs::metrics::space_of;

use crate::predict::predict;
use crate::{PredictOptions, Prediction};

pub use counters::ProbeCounters;
pub use decode::DecodedCounts;
pub use decode::decode_counters;
pub use decode::decoded;
pub use launch_digest::launch_digest;
use search::WantedForms;
use system::{ProbeSystem, holds_in_every_run};
pub use warpbound_report::probe_plan::{
    DerivedCount, KnownBlockCount, Probe, ProbeMetric, ProbePlan, ProbeQuantity, ProbeSum,
    ProbedBlocks, WantedCount,
};

/// Options of a plan of probes.
#[derive(Clone, Debug, Default)]
pub struct ProbeOptions {
    /// Statements about launches, and the model of the warp.
    pub bound: BoundOptions,
    /// Launch that the plan is for; it has the block size of `bound`.
    pub launch: Option<Arc<LaunchFile>>,
    /// Rule by which blocks get probes.
    pub rule: ProbedBlocks,
    /// Wanted counts; an empty list means [`ProbeMetric::Counts`].
    pub metrics: Vec<ProbeMetric>,
    /// Whether each probe has a counter of its own, even if fewer counters of sums would do.
    pub each: bool,
    /// Limits of the prediction of counts, which a plan for a launch uses.
    pub predict: PredictOptions,
}

/// Fails if a plan is not for the code of a kernel.
pub(crate) fn check_code(plan: &ProbePlan, kernel: &Kernel) -> Result<(), Diagnostic> {
    let digest = kernel.code_digest();
    if plan.code == digest {
        return Ok(());
    }
    let message = format!("the plan is for code {}, this is {digest}", plan.code);
    let hint = "make the plan of this build, or give the build that it was made for";
    Err(Diagnostic::new(message).hint(hint))
}

impl ProbeOptions {
    /// Returns the options of a plan, for a launch if one is given.
    pub fn for_launch(
        launch: Option<&LaunchFile>,
        rule: ProbedBlocks,
        metrics: Vec<ProbeMetric>,
    ) -> ProbeOptions {
        let launch = launch.cloned().map(Arc::new);
        ProbeOptions {
            bound: BoundOptions {
                block: launch.as_ref().map(|launch| launch.block),
                launches: StatedLaunches {
                    file: launch.clone(),
                    ..StatedLaunches::default()
                },
                ..BoundOptions::default()
            },
            launch,
            rule,
            metrics,
            ..ProbeOptions::default()
        }
    }
}

/// Kernel with its count rows and what else a plan needs of it.
pub(crate) struct PlannedKernel<'a> {
    pub(crate) prepared: &'a Prepared<'a>,
    pub(crate) flow: KernelFlow,
    pub(crate) system: ProbeSystem,
}

/// Assumption of plans with counts that are known for one launch.
const COUNTS_OF_THIS_LAUNCH: &str = "counts-of-this-launch: the counters are of the launch that the plan was made for: its grid, parameters and contents of buffers";

/// Both quantities of a block.
const QUANTITIES: [ProbeQuantity; 2] = [ProbeQuantity::Issues, ProbeQuantity::Lanes];

/// Plans the probes of a kernel. The plan has passed the check of its certificate.
///
/// # Errors
///
/// The kernel is refused or calls functions outside the file, or the launch does not suit it.
pub fn probe_plan(
    session: &Session,
    kernel: &Kernel,
    options: &ProbeOptions,
) -> Result<ProbePlan, Diagnostic> {
    let prepared = session.prepare_measured(kernel)?;
    let knowledge = session.launch(kernel, &options.bound)?;
    let planned = planned_kernel(session, &prepared, &knowledge.context, &options.bound)?;
    let prediction = match &options.launch {
        // The rule `All` trusts nothing but counters, so it needs no prediction.
        Some(launch) if options.rule != ProbedBlocks::All => {
            Some(predict(session, &prepared, launch, &options.predict))
        }
        _ => None,
    };
    let (prediction, why_none) = match prediction {
        Some(Ok(prediction)) => (Some(prediction), None),
        // A plan needs no prediction; without one it only has more probes.
        Some(Err(why)) => (None, Some(format!("no count is predicted: {why}"))),
        None => (None, None),
    };
    let isa = session.image.isa().to_string();
    let plan = planned.plan(&isa, &knowledge.context, options, prediction.as_ref());
    let plan = plan.map(|mut plan| {
        plan.notes.extend(why_none);
        let buffers = prediction.map_or(Vec::new(), |prediction| prediction.buffers);
        if !buffers.is_empty() {
            let buffers = buffers.join(", ");
            plan.notes.push(format!(
                "predicted counts rest on the contents of {buffers} as given"
            ));
        }
        plan
    });
    plan.map_err(|d| session.locate(d.in_kernel(kernel.demangled())))
}

/// Returns the relations between the counts of the blocks of a kernel.
///
/// # Errors
///
/// As [`probe_plan`].
pub fn probe_system(
    session: &Session,
    kernel: &Kernel,
    options: &BoundOptions,
) -> Result<ProbeSystem, Diagnostic> {
    let prepared = session.prepare_measured(kernel)?;
    let knowledge = session.launch(kernel, options)?;
    let planned = planned_kernel(session, &prepared, &knowledge.context, options)?;
    Ok(planned.system)
}

/// Analyses a kernel for a plan.
pub(crate) fn planned_kernel<'a>(
    session: &Session,
    prepared: &'a Prepared<'a>,
    context: &LaunchContext,
    options: &BoundOptions,
) -> Result<PlannedKernel<'a>, Diagnostic> {
    let fail =
        |diagnostic: Diagnostic| session.locate(diagnostic.in_kernel(prepared.kernel.demangled()));
    if prepared.family() == Family::MiniSimt {
        return Err(fail(Diagnostic::new(
            "plans of probes are for GPU kernels, this is mini-SIMT",
        )));
    }
    let flow = session.flow(prepared, context, options)?;
    // The flow of lanes would be no equality if lanes ended in unknown code.
    if let Some(name) = flow.external_names().first() {
        let message = format!("calls {name}, which is not in the file: its lanes may end there");
        return Err(fail(Diagnostic::new(message)));
    }
    let system = ProbeSystem::new(&prepared.code, &flow, holds_in_every_run);
    let system = system.ok_or_else(|| fail(Diagnostic::new("a factor exceeds a word")))?;
    Ok(PlannedKernel {
        prepared,
        flow,
        system,
    })
}

impl PlannedKernel<'_> {
    fn plan(
        &self,
        isa: &str,
        context: &LaunchContext,
        options: &ProbeOptions,
        prediction: Option<&Prediction>,
    ) -> Result<ProbePlan, Diagnostic> {
        let mut metrics = options.metrics.clone();
        // The plan lists each metric once, in an order that does not depend on the caller.
        metrics.sort_unstable();
        metrics.dedup();
        if metrics.is_empty() {
            metrics.push(ProbeMetric::Counts);
        }
        let launch = options.launch.as_deref();
        let (warps, threads) = launch
            .and_then(|launch| launched(launch, context.warp_width))
            .unzip();
        let assumptions = warp_graph_assumptions(&self.flow.warp.used);
        let mut plan = ProbePlan {
            schema: ProbePlan::SCHEMA.to_owned(),
            kernel: self.prepared.kernel.demangled(),
            isa: isa.to_owned(),
            code: self.prepared.kernel.code_digest(),
            block: context.block,
            warp_width: context.warp_width,
            rule: options.rule,
            blocks: self.system.blocks.len(),
            equalities: self.system.equalities.len(),
            warps,
            threads,
            known: Vec::new(),
            launch: launch.map(launch_digest),
            probes: Vec::new(),
            sums: Vec::new(),
            derived: Vec::new(),
            assumptions: assumptions
                .map(|a| format!("{}: {}", a.id, a.text))
                .collect(),
            metrics,
            notes: Vec::new(),
        };
        let wanted = self.wanted(&plan.metrics)?;
        if let Some(prediction) = prediction {
            plan.known = self.known_counts(prediction);
        }
        self.find_probes(&mut plan, &wanted)?;
        let has_costly_counters = match self.prepared.family() {
            Family::Maxwell => true,
            // The lanes of a wave share a scalar counter, so a counter costs no more than a sum.
            Family::Volta | Family::Gcn3 | Family::MiniSimt => false,
        };
        if !options.each && has_costly_counters {
            sums::add_up(&mut plan)?;
        }
        if !plan.known.is_empty() {
            plan.assumptions.push(COUNTS_OF_THIS_LAUNCH.to_owned());
        }
        // The search is not trusted: the same check runs again when counters are decoded.
        self.verify(&plan)?;
        Ok(plan)
    }

    /// Returns the address of a block.
    pub(crate) fn addr(&self, first: OpIndex) -> CodeAddr {
        self.prepared.addr(first)
    }

    /// Returns the form of a quantity of the block at an address.
    pub(crate) fn form_at(&self, at: u32, quantity: ProbeQuantity) -> Option<&LinearForm> {
        let first = self.prepared.code.at(CodeAddr(at))?;
        Some(self.system.blocks.get(&first)?.of(quantity))
    }

    /// Returns the form of a wanted count.
    fn wanted_form(&self, wanted: &WantedCount) -> Option<LinearForm> {
        let weighted = |quantity, weight: &dyn Fn(OpIndex) -> Option<i64>| {
            let mut terms = Vec::new();
            for (&first, forms) in &self.system.blocks {
                let weight = weight(first)?;
                let of = forms.of(quantity).terms();
                terms.extend(
                    of.iter()
                        .map(|&(unknown, factor)| (unknown, factor * weight)),
                );
            }
            LinearForm::sum(terms)
        };
        match *wanted {
            WantedCount::Block(at, quantity) => self.form_at(at, quantity).cloned(),
            WantedCount::Instructions(quantity) => weighted(quantity, &|first| {
                i64::try_from(self.system.blocks.get(&first)?.instructions).ok()
            }),
            WantedCount::GlobalAccesses(quantity) => weighted(quantity, &|first| {
                i64::try_from(self.global_accesses(first)).ok()
            }),
        }
    }

    /// Returns the number of instructions of a block that access global memory.
    fn global_accesses(&self, first: OpIndex) -> usize {
        let blocks = &self.flow.thread.space;
        let mut nodes = blocks.ids().map(|node| blocks.block(node));
        let Some(block) = nodes.find(|block| block.first == first) else {
            return 0;
        };
        let is_global = |op: &OpIndex| space_of(self.prepared, *op) == Some(MemorySpace::Global);
        block.ops().filter(is_global).count()
    }

    /// Lists the wanted counts of metrics with their forms.
    fn wanted(&self, metrics: &[ProbeMetric]) -> Result<WantedForms, Diagnostic> {
        let sums_lanes = metrics.contains(&ProbeMetric::Activity);
        if sums_lanes && self.prepared.family() == Family::Gcn3 {
            let message = "the active lanes of a wave change within blocks: the activity does not follow from counts of blocks";
            return Err(Diagnostic::new(message));
        }
        let blocks = self.system.blocks.keys().map(|&first| self.addr(first).0);
        let blocks: Vec<u32> = blocks.collect();
        let mut names = Vec::new();
        for metric in metrics {
            match metric {
                ProbeMetric::Counts => {
                    let both =
                        |&at: &u32| QUANTITIES.map(|quantity| WantedCount::Block(at, quantity));
                    names.extend(blocks.iter().flat_map(both));
                }
                ProbeMetric::Activity => {
                    names.extend(QUANTITIES.map(WantedCount::Instructions));
                }
                ProbeMetric::Memory => names.extend([
                    WantedCount::Instructions(ProbeQuantity::Issues),
                    WantedCount::GlobalAccesses(ProbeQuantity::Issues),
                ]),
            }
        }
        names.sort_unstable();
        names.dedup();
        let forms = names.into_iter().map(|name| {
            let form = self.wanted_form(&name);
            let form = form.ok_or_else(|| Diagnostic::new("a factor exceeds a word"))?;
            Ok((name, form))
        });
        forms.collect()
    }

    /// Returns the problem that a plan claims to solve, with its probes as the candidates.
    fn problem_of(&self, plan: &ProbePlan) -> Result<PlanProblem, Diagnostic> {
        let block = |at: u32, quantity| {
            let form = self.form_at(at, quantity).cloned();
            form.ok_or_else(|| {
                let message = format!(
                    "the plan names a block at {}, where none begins",
                    CodeAddr(at)
                );
                Diagnostic::new(message)
            })
        };
        // Factors of known counts refer to this order: warps, threads, then the predicted counts.
        let mut known = vec![self.system.warps.clone(), self.system.threads.clone()];
        for count in &plan.known {
            known.push(block(count.at, count.quantity)?);
        }
        let probes = plan
            .probes
            .iter()
            .map(|probe| block(probe.at, probe.quantity));
        let probes = probes.collect::<Result<Vec<_>, Diagnostic>>()?;
        let forms = match plan.sums.is_empty() {
            // With sums the counters are the sums, and the certificate is about them.
            true => probes,
            false => sums::forms(plan, &probes)?,
        };
        let candidates = forms
            .into_iter()
            // The check of a certificate reads no weights.
            .map(|form| warpbound_ipet::plan::Measurable { form, weight: 0 });
        let targets = plan.derived.iter().map(|derived| {
            let form = self.wanted_form(&derived.of);
            form.ok_or_else(|| {
                Diagnostic::new("the plan names a count that the kernel does not have")
            })
        });
        Ok(PlanProblem {
            equalities: self.system.equalities.clone(),
            known,
            candidates: candidates.collect(),
            targets: targets.collect::<Result<Vec<_>, Diagnostic>>()?,
        })
    }
}

/// Returns the warps and threads of a launch; `None` if they exceed 64 bits. For example, 3 blocks of 40 threads have
/// 6 warps of 32 lanes and 120 threads.
pub(crate) fn launched(launch: &LaunchFile, warp_width: u32) -> Option<(u64, u64)> {
    let product = |size: [u32; 3]| {
        let mut sizes = size.iter().map(|&n| u64::from(n));
        sizes.try_fold(1u64, u64::checked_mul)
    };
    let (blocks, threads) = (product(launch.grid)?, product(launch.block)?);
    let warps = threads.div_ceil(u64::from(warp_width.max(1)));
    Some((blocks.checked_mul(warps)?, blocks.checked_mul(threads)?))
}
