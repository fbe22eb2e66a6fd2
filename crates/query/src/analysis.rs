//! Analysed kernels: what the stages from code to count rows find, made once for a task and shared by all that it does.

use std::sync::Arc;
use std::time::Instant;

use warpbound_analyse::{LaunchContext, Refusal};
use warpbound_base::{Deadline, Diagnostic};
use warpbound_load::Kernel;

use crate::{
    BoundOptions, FactReading, KernelAccesses, KernelFlow, LaunchKnowledge, Prepared, Session,
};

/// Kernel with its operations, the launches that a task is about, and its control flow.
///
/// Tasks take it by reference. For example, a page of HTML has the bound, the accesses, the divergence and the graph of a
/// kernel, all from one analysis.
pub struct KernelAnalysis<'a> {
    /// Image with the kernel.
    pub session: &'a Session,
    /// Decoded instructions and operations.
    pub prepared: Arc<Prepared<'a>>,
    /// Statements of the user.
    pub options: &'a BoundOptions,
    /// Launches that the results are about.
    pub knowledge: LaunchKnowledge,
    /// Time at which the analyses stop.
    pub deadline: Deadline,
    /// Seconds that the construction of the graphs took.
    pub seconds: f64,
    flow: Result<KernelFlow, Refusal>,
}

/// References to what is known of a kernel: to the parts of a [`KernelAnalysis`], or to the same kernel with other statements
/// about its launches.
#[derive(Clone, Copy)]
pub struct AnalysedKernel<'a> {
    /// Image with the kernel.
    pub session: &'a Session,
    /// Decoded instructions and operations.
    pub prepared: &'a Prepared<'a>,
    /// Statements of the user.
    pub options: &'a BoundOptions,
    /// Launches that the results are about.
    pub knowledge: &'a LaunchKnowledge,
    /// Control flow.
    pub flow: &'a KernelFlow,
    /// Time at which the analyses stop.
    pub deadline: Deadline,
}

impl<'a> KernelAnalysis<'a> {
    /// Analyses the control flow of a prepared kernel.
    ///
    /// # Errors
    ///
    /// See [`Session::launch`]. A kernel whose control flow is refused is no error here: see [`KernelAnalysis::parts`].
    pub fn new(
        session: &'a Session,
        prepared: Arc<Prepared<'a>>,
        options: &'a BoundOptions,
    ) -> Result<KernelAnalysis<'a>, Diagnostic> {
        let knowledge = session.launch(prepared.kernel, options)?;
        let limits = options.limits();
        let (code, context) = (&prepared.code, &knowledge.context);
        let start = Instant::now();
        let flow = KernelFlow::analyse(code, context, &options.model, &limits);
        let seconds = start.elapsed().as_secs_f64();
        let flow = match options.reading {
            FactReading::Simt => flow,
            FactReading::Paper => flow.map(|flow| flow.with_paper_reading(code, context)),
        };
        Ok(KernelAnalysis {
            session,
            options,
            deadline: limits.deadline,
            seconds,
            flow,
            prepared,
            knowledge,
        })
    }

    /// Returns the control flow with the facts about launches that it is about, or the reason why it is refused.
    pub fn into_flow(self) -> Result<(LaunchContext, KernelFlow), Refusal> {
        Ok((self.knowledge.context, self.flow?))
    }

    /// Returns references to all parts, or the reason why the analyses cannot follow the control flow.
    pub fn parts(&self) -> Result<AnalysedKernel<'_>, &Refusal> {
        Ok(AnalysedKernel {
            session: self.session,
            prepared: &self.prepared,
            options: self.options,
            knowledge: &self.knowledge,
            flow: self.flow.as_ref()?,
            deadline: self.deadline,
        })
    }

    /// Returns references to all parts of a kernel that is not refused.
    ///
    /// # Errors
    ///
    /// The kernel is refused; the diagnostic names file, kernel, address and source line.
    pub fn followed(&self) -> Result<AnalysedKernel<'_>, Diagnostic> {
        let (session, prepared) = (self.session, &self.prepared);
        self.parts()
            .map_err(|refusal| session.refusal_diagnostic(prepared, refusal.clone()))
    }
}

impl<'a> AnalysedKernel<'a> {
    /// Returns the accesses of the kernel, found at the first call; none for code without memory units (mini-SIMT).
    pub fn accesses(&self) -> &'a KernelAccesses {
        let LaunchKnowledge {
            context,
            ranges,
            accesses,
        } = self.knowledge;
        // Kept with the launches, because other launches of the same kernel have other addresses.
        accesses.get_or_init(|| KernelAccesses::find(self.prepared, self.flow, context, ranges))
    }
}

impl Session {
    /// Prepares a kernel and analyses its control flow.
    ///
    /// # Errors
    ///
    /// See [`Session::prepare`] and [`Session::launch`].
    pub fn analyse<'a>(
        &'a self,
        kernel: &'a Kernel,
        options: &'a BoundOptions,
    ) -> Result<KernelAnalysis<'a>, Diagnostic> {
        KernelAnalysis::new(self, Arc::new(self.prepare(kernel)?), options)
    }
}
