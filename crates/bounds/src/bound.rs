//! Bound of a kernel: control flow, facts, integer program (IPET), and the report made from them.
//!
//! For example, a loop of 3 instructions that a warp executes at most 10 times, followed by 3 more instructions, has
//! a bound of 33 instructions if its lanes leave the loop together. The bound in cycles and the profile of a launch
//! are parts of the same report.

mod assumptions;
mod cycles;
mod divergence;
mod external_calls;
pub mod flow_facts;
pub mod formula;
mod library;
pub(crate) mod profile_report;
mod query;
mod set;
mod worst_path;

pub use formula::{formula, symbolic_program};
pub use library::bounds;
pub use set::bound_set;

use crate::access_of;
use crate::bound::formula::formula_report;
use query::BoundQuery;
use std::sync::Arc;
use warpbound_analyse::{Reason, Refusal};
use warpbound_base::{Diagnostic, Instructions};
use warpbound_ipet::{Contradiction, Effort, Ipet, NumberTooLarge, StatedCounts, Verdict};
use warpbound_load::Kernel;
use warpbound_report::BoundAssumption;
use warpbound_report::MachineCodeReport;
use warpbound_report::bound::{BoundVerdict, KernelBound};
use warpbound_simt::NodeId;
use warpbound_simt::counts::CountVar;

use warpbound_analyse::LaunchContext;
use warpbound_query::prepared::Prepared;
use warpbound_query::{
    AnalysedKernel, BoundOptions, CfgLevel, KernelAnalysis, KernelFlow, Session, divergence_of,
    graph_of, listing_of,
};

use external_calls::ExternalCalls;

/// Computes the bound of one kernel, or the reason why it has none.
///
/// # Errors
///
/// The block does not suit the kernel, or the facts contradict each other or name code that the kernel does not
/// have. Facts about other code are ignored here; [`Session::check_facts`] reports them.
pub fn bound(
    session: &Session,
    kernel: &Kernel,
    options: &BoundOptions,
) -> Result<KernelBound, Diagnostic> {
    let prepared = match options.cycles.is_some() {
        true => session.prepare_timed(kernel),
        false => session.prepare(kernel),
    };
    match prepared {
        Ok(prepared) => bound_of(&KernelAnalysis::new(session, Arc::new(prepared), options)?),
        Err(why) => Ok(refused_bound(session, &kernel.name, &why)),
    }
}

/// Computes the bound of an analysed kernel, see [`bound`].
///
/// # Errors
///
/// See [`bound`].
pub fn bound_of(analysis: &KernelAnalysis<'_>) -> Result<KernelBound, Diagnostic> {
    let report = verdict_of(analysis)?;
    let options = analysis.options;
    let machine_code = options
        .machine_code
        .then(|| machine_code(analysis, &report));
    Ok(KernelBound {
        cfg_seconds: options.timing.then_some(analysis.seconds),
        machine_code,
        ..report
    })
}

/// Returns the machine code of a kernel with the findings at its instructions; those of analyses that refuse the
/// kernel are absent.
fn machine_code(analysis: &KernelAnalysis<'_>, bound: &KernelBound) -> MachineCodeReport {
    let accesses = access_of(analysis).ok();
    let operations = divergence_of(analysis).ok();
    MachineCodeReport::new(
        listing_of(&analysis.prepared),
        bound,
        accesses.as_ref().map_or(&[], |report| &report.accesses),
        operations.as_ref().map_or(&[], |report| &report.items),
        graph_of(analysis, CfgLevel::Warp).ok(),
    )
}

/// Computes the bound of an analysed kernel without its machine code, or reports its refusal.
fn verdict_of(analysis: &KernelAnalysis<'_>) -> Result<KernelBound, Diagnostic> {
    let (session, prepared) = (analysis.session, &analysis.prepared);
    match analysis.parts() {
        Ok(analysed) => bound_of_parts(analysed),
        Err(refusal) => {
            let refused = refused(prepared, refusal, analysis.options);
            let launch = &analysis.knowledge.context;
            let verdict = Verdict::Refused(refused);
            Ok(launched_verdict(session, prepared.kernel, launch, &verdict))
        }
    }
}

/// Computes the bound of a kernel whose control flow is known, without its machine code.
///
/// # Errors
///
/// See [`bound`].
pub fn bound_of_parts(analysed: AnalysedKernel<'_>) -> Result<KernelBound, Diagnostic> {
    let (session, kernel) = (analysed.session, analysed.prepared.kernel);
    let (formula, formula_reason) = formula_report(analysed);
    let head = |verdict: &Verdict<Instructions>| KernelBound {
        formula: formula.clone(),
        formula_reason: formula_reason.clone(),
        ..launched_verdict(session, kernel, &analysed.knowledge.context, verdict)
    };
    BoundQuery::new(analysed)
        .report(head)
        .map_err(|d| session.locate(d.in_kernel(kernel.demangled())))
}

/// Returns a report with the names of a kernel, its launches and the verdict on it.
fn launched_verdict(
    session: &Session,
    kernel: &Kernel,
    launch: &LaunchContext,
    verdict: &Verdict<Instructions>,
) -> KernelBound {
    KernelBound {
        lanes: launch.live_lanes(),
        block: launch.block,
        code: kernel.code_digest(),
        ..verdict_report(session, &kernel.name, verdict)
    }
}

/// Returns the numbers about loops and the excluded code of a bound.
///
/// # Errors
///
/// The facts contradict each other or name code that the kernel does not have.
pub fn flow_facts(analysed: AnalysedKernel<'_>) -> Result<FlowFacts, Diagnostic> {
    let AnalysedKernel {
        session, prepared, ..
    } = analysed;
    let query = BoundQuery::new(analysed);
    let locate = |d: Diagnostic| session.locate(d.in_kernel(prepared.kernel.demangled()));
    let loops = query.loop_facts().map_err(locate)?;
    Ok(FlowFacts {
        bounds: loops.bounds(),
        totals: loops.totals(),
        never: query.excluded().map_err(locate)?,
    })
}

/// Returns the report of an unreadable kernel.
pub fn refused_bound(session: &Session, name: &str, why: &Diagnostic) -> KernelBound {
    verdict_report(session, name, &Verdict::Refused(why.clone()))
}

/// Returns a report with the names of a kernel and the verdict on it.
fn verdict_report(session: &Session, name: &str, verdict: &Verdict<Instructions>) -> KernelBound {
    KernelBound {
        name: warpbound_load::demangle(name),
        symbol: name.to_owned(),
        image: session.number,
        isa: session.image.isa().to_string(),
        verdict: reported_verdict(verdict),
        lanes: 0,
        family: session.family().unwrap_or_default(),
        block: None,
        code: String::new(),
        profile: None,
        loops: Vec::new(),
        external_calls: Vec::new(),
        worst_path: Vec::new(),
        divergent_branches: Vec::new(),
        divergence_edges: Vec::new(),
        assumptions: Vec::new(),
        notes: Vec::new(),
        missing_facts: Vec::new(),
        machine_code: None,
        never: Vec::new(),
        formula: None,
        formula_reason: None,
        cycles: None,
        nodes: 0,
        edges: 0,
        cfg_seconds: None,
    }
}

/// Returns the reason why the control flow of a kernel is not known.
fn refused(prepared: &Prepared<'_>, refusal: &Refusal, options: &BoundOptions) -> Diagnostic {
    if refusal.reason == Reason::TimeLimit {
        return past_time_limit(options);
    }
    let why = Diagnostic::new(refusal.reason.to_string());
    let mut why = why.at(prepared.location_of(refusal.at));
    why.location.source = prepared.source(refusal.at);
    why
}

/// Returns the reason why a kernel that exceeded the time limit has no bound.
fn past_time_limit(options: &BoundOptions) -> Diagnostic {
    let seconds = options.time_limit.unwrap_or_default().as_secs_f64();
    Diagnostic::new(format!(
        "not done within the time limit of {seconds} s (--time-limit)"
    ))
}

/// Converts a verdict to its report.
fn reported_verdict(verdict: &Verdict<Instructions>) -> BoundVerdict {
    match verdict {
        Verdict::Bounded(bound) => BoundVerdict::Bounded {
            bound: bound.upper_bound().limit().0,
            worst_path_value: bound.worst_path().map(|path| path.value().0),
        },
        Verdict::Unbounded { missing_bounds } => BoundVerdict::Unbounded {
            reason: match missing_bounds {
                0 => "the count rows leave a count without limit".to_owned(),
                1 => "1 loop has no bound".to_owned(),
                n => format!("{n} loops have no bound"),
            },
        },
        Verdict::Refused(why) => BoundVerdict::Refused {
            reason: match &why.hint {
                Some(hint) => format!("{}; {hint}", why.message),
                None => why.message.clone(),
            },
            at: why.location.position.clone(),
            source: why.location.source.clone(),
        },
    }
}

/// Flow facts of a bound, by loop.
///
/// For example, a loop that a fact limits to 10 header executions per entry and 40 in the whole run has the bound 10
/// and the total 40.
#[derive(Clone, Debug)]
pub struct FlowFacts {
    /// Bounds per entry.
    pub bounds: Vec<Option<u64>>,
    /// Totals.
    pub totals: Vec<Option<u64>>,
    /// Excluded code, with the counts that are 0.
    pub never: Vec<(String, Vec<CountVar>)>,
}

impl FlowFacts {
    /// Returns the facts in the form that the integer program reads.
    pub fn stated(&self) -> StatedCounts<'_> {
        StatedCounts {
            bounds: &self.bounds,
            totals: &self.totals,
            never: &self.never,
        }
    }
}

impl BoundQuery<'_> {
    /// Solves the integer program and returns the report. `head` returns the part that is the same for all verdicts.
    fn report(
        &self,
        head: impl Fn(&Verdict<Instructions>) -> KernelBound,
    ) -> Result<KernelBound, Diagnostic> {
        let facts = self.loop_facts()?;
        let excluded = self.excluded()?;
        let external = self.external_calls()?;
        let stated = StatedCounts {
            bounds: &facts.bounds(),
            totals: &facts.totals(),
            never: &excluded,
        };
        let mut verdict = self.verdict(stated, &external)?;
        let mut cycles = self.cycles(stated);
        let mut profile = self.profile(&facts.bounds())?;
        if let Some(profile) = &mut profile {
            verdict = profile.verdict(verdict)?;
        }
        let decides = profile.as_ref().filter(|profile| profile.report.decides);
        let loops = self.loops(&facts);
        let never: Vec<String> = excluded.into_iter().map(|(text, _)| text).collect();
        let mut missing_facts = self.missing_loop_facts(&facts);
        missing_facts.extend(external.missing_facts());
        // The profile has bounded the launch without these facts.
        if decides.is_some() {
            missing_facts.clear();
        }
        let (mut worst_path, mut assumptions) = (Vec::new(), Vec::new());
        let in_cycles = cycles.as_ref().is_some_and(|cycles| cycles.bound.is_some());
        if let Verdict::Bounded(bound) = &verdict
            && let Some(path) = bound.worst_path()
        {
            worst_path = self.worst_path(path, &external);
        }
        // Without a bound nothing rests on an assumption.
        if matches!(verdict, Verdict::Bounded(_)) || in_cycles {
            assumptions = self.assumptions(&loops, &never, &external.calls);
            assumptions.extend(decides.iter().flat_map(|profile| profile.assumptions()));
        }
        if let Some(cycles) = &mut cycles {
            // Both bounds are in one report, so what they share is listed once.
            let is_new = |own: &BoundAssumption| !assumptions.contains(own);
            cycles.assumptions.retain(is_new);
        }
        let KernelFlow { thread, warp, .. } = self.analysed.flow;
        let reached = |id: &NodeId| warp.state(*id).is_some();
        Ok(KernelBound {
            profile: profile.map(|profile| profile.report),
            loops,
            external_calls: external.calls,
            worst_path,
            divergent_branches: self.divergent_branches(),
            divergence_edges: self.divergence_edges(),
            assumptions,
            notes: self.notes(),
            missing_facts,
            never,
            cycles,
            nodes: thread.space.ids().filter(reached).count(),
            edges: warp.edges().count(),
            ..head(&verdict)
        })
    }

    /// Solves the integer program.
    fn verdict(
        &self,
        stated: StatedCounts<'_>,
        external: &ExternalCalls,
    ) -> Result<Verdict<Instructions>, Diagnostic> {
        if let Some(refusal) = external.refusal() {
            return Ok(Verdict::Refused(refusal));
        }
        let cost = |node| Instructions(self.cost(node, external).into());
        let ipet = Ipet::with_facts(&self.analysed.flow.counts, cost, stated)
            .map_err(|too_large| self.too_large(too_large))?;
        let effort = Effort {
            deadline: self.analysed.deadline,
            ..Effort::default()
        };
        match ipet.solve(effort).map_err(|c| contradiction(&c))? {
            // The solver refuses when it runs out of time, but only this reason names the option that sets the limit.
            Verdict::Refused(_) if self.analysed.deadline.is_past() => {
                Ok(Verdict::Refused(past_time_limit(self.analysed.options)))
            }
            verdict => Ok(verdict),
        }
    }

    /// Returns the warp instructions that one execution of a node issues, with the function that it calls.
    fn cost(&self, node: NodeId, external: &ExternalCalls) -> u64 {
        let own = self.analysed.flow.thread.space.block(node).instructions;
        // A saturated cost does not fit into the integer program, which is an error there.
        own.saturating_add(external.costs.get(&node).copied().unwrap_or(0))
    }

    /// Returns the diagnostic of a number that is too large for the integer program.
    fn too_large(&self, number: NumberTooLarge) -> Diagnostic {
        Diagnostic::new(match number {
            NumberTooLarge::LoopFact(fact) => {
                let name = self.names.get(fact).map_or("?", |name| &name.id);
                format!("the bound of loop {name} is too large to compute with")
            }
            NumberTooLarge::Cost(node) => {
                let block = self.analysed.flow.thread.space.block(node);
                let at = self.analysed.prepared.location(block.last);
                format!("the cost of the block that ends at {at} is too large to compute with")
            }
        })
    }
}

/// Returns the diagnostic of facts that exclude each other.
fn contradiction(contradiction: &Contradiction) -> Diagnostic {
    Diagnostic::new(format!(
        "the facts contradict each other, or the kernel never ends: no execution obeys them all ({})",
        contradiction.rows.join(", ")
    ))
}
