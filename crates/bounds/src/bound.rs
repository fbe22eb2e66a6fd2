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
pub mod profile;
pub(crate) mod profile_report;
mod set;
mod worst_path;

pub use formula::{formula, symbolic_program};
pub use library::bounds;
pub use profile::launch_profile;
pub use profile::with_launch_profiler;
pub use set::bound_set;
use std::time::Instant;

use crate::access::access;
use crate::bound::formula::formula_report;
use warpbound_analyse::{LaunchRanges, Reason, Refusal};
use warpbound_base::{Deadline, Diagnostic, Instructions};
use warpbound_bound::{
    Contradiction, Effort, Ipet, KernelFacts, LoopName, NumberTooLarge, StatedCounts, Verdict,
};
use warpbound_load::Kernel;
use warpbound_report::MachineCodeReport;
use warpbound_report::bound::{BoundAssumption, BoundVerdict, KernelBound};
use warpbound_simt::NodeId;
use warpbound_simt::counts::CountVar;

use warpbound_analyse::LaunchContext;
use warpbound_query::loop_verdicts::LoopVerdicts;
use warpbound_query::{BoundOptions, CfgLevel, FactReading, KernelFlow, LaunchKnowledge, Session};
use warpbound_query::{prepared::Prepared, prepared::loop_names};

pub use assumptions::{lanes_assumption, launch_assumptions, warp_graph_assumptions};
use external_calls::ExternalCalls;
pub(crate) use profile_report::reason_text;

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
    let prepared = match session.prepare(kernel) {
        Ok(prepared) => prepared,
        Err(why) => return Ok(refused_bound(session, &kernel.name, &why)),
    };
    let launch = session.launch(kernel, options)?;
    let start = Instant::now();
    let limits = options.limits();
    let mut flow = KernelFlow::analyse(&prepared.code, &launch.context, &options.model, &limits);
    let seconds = start.elapsed().as_secs_f64();
    if options.reading == FactReading::Paper {
        flow = flow.map(|flow| flow.with_paper_reading(&prepared.code, &launch.context));
    }
    let report = bound_of_flow(
        session,
        &prepared,
        &launch,
        options,
        limits.deadline,
        flow.as_ref(),
    )?;
    let machine_code = match options.machine_code {
        true => Some(machine_code(session, kernel, options, &report)?),
        false => None,
    };
    Ok(KernelBound {
        cfg_seconds: options.timing.then_some(seconds),
        machine_code,
        ..report
    })
}

/// Returns the machine code of a kernel with the findings at its instructions. Analyses that refuse the kernel
/// contribute nothing.
///
/// # Errors
///
/// See [`Session::disassemble`].
fn machine_code(
    session: &Session,
    kernel: &Kernel,
    options: &BoundOptions,
    bound: &KernelBound,
) -> Result<MachineCodeReport, Diagnostic> {
    let listing = session.disassemble(kernel)?;
    let accesses = access(session, kernel, options).ok();
    let operations = session.divergence(kernel, options).ok();
    let graph = session.graph(kernel, CfgLevel::Warp, options).ok();
    Ok(MachineCodeReport::new(
        listing,
        bound,
        accesses.as_ref().map_or(&[], |report| &report.accesses),
        operations.as_ref().map_or(&[], |report| &report.items),
        graph,
    ))
}

/// Computes the bound from the control flow of a kernel, or reports its refusal; see [`Session::bound`].
pub fn bound_of_flow(
    session: &Session,
    prepared: &Prepared<'_>,
    knowledge: &LaunchKnowledge,
    options: &BoundOptions,
    deadline: Deadline,
    flow: Result<&KernelFlow, &Refusal>,
) -> Result<KernelBound, Diagnostic> {
    let (kernel, launch) = (prepared.kernel, &knowledge.context);
    let head = |verdict: &Verdict<Instructions>| KernelBound {
        lanes: launch.live_lanes(),
        block: launch.block,
        code: kernel.code_digest(),
        ..verdict_report(session, &kernel.name, verdict)
    };
    let flow = match flow {
        Ok(flow) => flow,
        Err(refusal) => {
            return Ok(head(&Verdict::Refused(refused(prepared, refusal, options))));
        }
    };
    let (formula, formula_reason) = formula_report(session, prepared, options, deadline, flow);
    let head = |verdict: &Verdict<Instructions>| KernelBound {
        formula: formula.clone(),
        formula_reason: formula_reason.clone(),
        ..head(verdict)
    };
    BoundQuery::new(session, prepared, knowledge, options, deadline, flow)
        .report(head)
        .map_err(|d| session.locate(d.in_kernel(kernel.demangled())))
}

/// Returns the numbers about loops and the excluded code of a bound.
///
/// # Errors
///
/// The facts contradict each other or name code that the kernel does not have.
pub fn flow_facts(
    session: &Session,
    prepared: &Prepared<'_>,
    knowledge: &LaunchKnowledge,
    options: &BoundOptions,
    flow: &KernelFlow,
) -> Result<FlowFacts, Diagnostic> {
    let deadline = options.limits().deadline;
    let query = BoundQuery::new(session, prepared, knowledge, options, deadline, flow);
    let locate = |d: Diagnostic| session.locate(d.in_kernel(prepared.kernel.demangled()));
    let loops = query.loop_facts().map_err(locate)?;
    Ok(FlowFacts {
        bounds: loops.bounds(),
        totals: loops.totals(),
        never: query.excluded().map_err(locate)?,
    })
}

/// Returns the report of an unreadable kernel.
pub(crate) fn refused_bound(session: &Session, name: &str, why: &Diagnostic) -> KernelBound {
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

/// Inputs of the bound of one kernel.
struct BoundQuery<'a> {
    session: &'a Session,
    prepared: &'a Prepared<'a>,
    flow: &'a KernelFlow,
    knowledge: &'a LaunchKnowledge,
    launch: &'a LaunchContext,
    ranges: &'a LaunchRanges,
    options: &'a BoundOptions,
    deadline: Deadline,
    facts: Option<&'a KernelFacts>,
    names: Vec<LoopName>,
    verdicts: LoopVerdicts,
}

impl<'a> BoundQuery<'a> {
    fn new(
        session: &'a Session,
        prepared: &'a Prepared<'a>,
        knowledge: &'a LaunchKnowledge,
        options: &'a BoundOptions,
        deadline: Deadline,
        flow: &'a KernelFlow,
    ) -> BoundQuery<'a> {
        let (kernel, ranges) = (prepared.kernel, &knowledge.ranges);
        BoundQuery {
            session,
            prepared,
            flow,
            knowledge,
            launch: &knowledge.context,
            ranges,
            options,
            deadline,
            facts: options
                .facts
                .find([&*kernel.name, &kernel.demangled()], &kernel.code_digest()),
            names: loop_names(&flow.loops),
            verdicts: LoopVerdicts::derive(prepared, flow, ranges, options, deadline),
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
        let KernelFlow { thread, warp, .. } = self.flow;
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
        let ipet = Ipet::with_facts(&self.flow.counts, cost, stated)
            .map_err(|too_large| self.too_large(too_large))?;
        let effort = Effort {
            deadline: self.deadline,
            ..Effort::default()
        };
        match ipet.solve(effort).map_err(|c| contradiction(&c))? {
            // The solver refuses when it runs out of time, but only this reason names the option that sets the limit.
            Verdict::Refused(_) if self.deadline.is_past() => {
                Ok(Verdict::Refused(past_time_limit(self.options)))
            }
            verdict => Ok(verdict),
        }
    }

    /// Returns the warp instructions that one execution of a node issues, with the function that it calls.
    fn cost(&self, node: NodeId, external: &ExternalCalls) -> u64 {
        let own = self.flow.thread.space.block(node).instructions;
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
                let block = self.flow.thread.space.block(node);
                let at = self.prepared.location(block.last);
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
