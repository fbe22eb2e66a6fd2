//! Bound of a kernel: control flow, facts, integer program (IPET), and the report made from them.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Instant;

use warpbound_analyse::Reason;
use warpbound_analyse::indirect::IndirectTargets;
use warpbound_analyse::loops::Loops;
use warpbound_base::{CodeAddr, Deadline, Diagnostic};
use warpbound_bound::facts::format_call;
use warpbound_bound::{
    Certified, Effort, Ipet, KernelFacts, LoopName, LoopNumbers, Never, RowId, SolveOutcome,
    StatedCounts, solve,
};
use warpbound_load::Kernel;
use warpbound_report::bound::{
    BlockCount, BoundAssumption, CodePlace, ExternalCall, KernelBound, LoopReport, Origin,
    PathEdge, Status,
};
use warpbound_simt::NodeId;
use warpbound_simt::counts::CountVar;
use warpbound_simt::warp::DivergenceOrder;

use crate::facts::{loop_line, shared_header_note};
use crate::graph::calls;
use crate::prepared::{Prepared, loop_names};
use crate::{BoundOptions, FactReading, KernelFlow, LaunchContext, Session};

impl Session {
    /// Computes the bound of one kernel, or the reason why it has none.
    ///
    /// # Errors
    ///
    /// The block does not suit the kernel, or the facts contradict each other or name code that the kernel does not
    /// have. Facts about other code are ignored here; [`Session::check_facts`] reports them.
    pub fn bound(
        &self,
        kernel: &Kernel,
        options: &BoundOptions,
    ) -> Result<KernelBound, Diagnostic> {
        let prepared = match self.prepare(kernel) {
            Ok(prepared) => prepared,
            Err(why) => return Ok(self.refused_bound(&kernel.name, &why)),
        };
        let launch = options
            .launch(kernel, self.image.isa())
            .map_err(|d| self.locate(d))?;
        let start = Instant::now();
        let limits = options.limits();
        let flow = KernelFlow::analyse(&prepared.code, &launch, &options.model, &limits);
        let seconds = start.elapsed().as_secs_f64();
        let mut report = KernelBound {
            lanes: launch.live_lanes(),
            block: launch.block,
            code: kernel.code_digest(),
            cfg_seconds: options.timing.then_some(seconds),
            ..self.empty_bound(&kernel.name)
        };
        let mut flow = match flow {
            Ok(flow) => flow,
            Err(refusal) if refusal.reason == Reason::TimeLimit => {
                report.reason = Some(time_limit_reason(options));
                return Ok(report);
            }
            Err(refusal) => {
                report.reason = Some(refusal.reason.to_string());
                report.reason_at = Some(prepared.location_of(refusal.at));
                report.reason_source = prepared.source(refusal.at);
                return Ok(report);
            }
        };
        if options.reading == FactReading::Paper {
            flow = flow.with_paper_reading(&prepared.code, &launch);
        }
        let question = BoundQuery {
            prepared: &prepared,
            flow: &flow,
            launch: &launch,
            options,
            deadline: limits.deadline,
            facts: options
                .facts
                .find([&kernel.name, &report.name], &report.code),
            names: loop_names(&flow.loops),
        };
        question
            .solve_into(&mut report)
            .map_err(|d| self.locate(d.in_kernel(kernel.demangled())))?;
        Ok(report)
    }
}

/// Returns the reason why a kernel that exceeded the time limit has no bound.
fn time_limit_reason(options: &BoundOptions) -> String {
    let seconds = options.time_limit.unwrap_or_default().as_secs_f64();
    format!("not done within the time limit of {seconds} s (--time-limit)")
}

impl Session {
    /// Returns the report of an unreadable kernel.
    pub(crate) fn refused_bound(&self, name: &str, why: &Diagnostic) -> KernelBound {
        let message = match &why.hint {
            Some(hint) => format!("{}; {hint}", why.message),
            None => why.message.clone(),
        };
        KernelBound {
            reason: Some(message),
            reason_at: why.location.position.clone(),
            ..self.empty_bound(name)
        }
    }

    /// Returns a report with the names of a kernel and no result.
    fn empty_bound(&self, name: &str) -> KernelBound {
        KernelBound {
            name: warpbound_load::demangle(name),
            symbol: name.to_owned(),
            image: self.number,
            isa: self.image.isa().to_string(),
            status: Status::Refused,
            reason: None,
            reason_at: None,
            reason_source: None,
            bound: None,
            unit: "instructions",
            worst_path_value: None,
            integrality_gap: None,
            lanes: 0,
            block: None,
            code: String::new(),
            loops: Vec::new(),
            external_calls: Vec::new(),
            worst_path: Vec::new(),
            divergent_branches: Vec::new(),
            divergence_edges: Vec::new(),
            assumptions: Vec::new(),
            notes: Vec::new(),
            missing_facts: Vec::new(),
            never: Vec::new(),
            nodes: 0,
            edges: 0,
            cfg_seconds: None,
        }
    }
}

/// Inputs of the bound of one kernel.
struct BoundQuery<'a> {
    prepared: &'a Prepared<'a>,
    flow: &'a KernelFlow,
    launch: &'a LaunchContext,
    options: &'a BoundOptions,
    deadline: Deadline,
    facts: Option<&'a KernelFacts>,
    names: Vec<LoopName>,
}

impl BoundQuery<'_> {
    /// Solves the integer program and completes the report.
    fn solve_into(&self, report: &mut KernelBound) -> Result<(), Diagnostic> {
        let stated = match self.facts {
            Some(facts) => facts.numbers(&self.names)?,
            None => vec![LoopNumbers::default(); self.names.len()],
        };
        let bounds: Vec<Option<u64>> = stated
            .iter()
            // A total implies a bound per entry (SOUNDNESS 5.6); the default is for loops without any fact.
            .map(|numbers| numbers.per_entry().or(self.options.loop_default))
            .collect();
        let totals: Vec<Option<u64>> = stated.iter().map(|numbers| numbers.total).collect();
        let never = self.excluded(report)?;
        let costs = self.external_costs(report)?;
        self.describe_flow(report);
        self.describe_loops(report, &stated, &bounds);
        if self.is_call_cost_missing(report) {
            return Ok(());
        }
        let cost = |node: NodeId| {
            let own = self.flow.thread.space.block(node).instructions;
            own.saturating_add(costs.get(&node).copied().unwrap_or(0))
        };
        let counts = StatedCounts {
            bounds: &bounds,
            totals: &totals,
            never: &never,
        };
        let ipet = Ipet::with_facts(&self.flow.counts, cost, counts).map_err(|too_large| {
            let name = self
                .names
                .get(too_large.fact)
                .map_or("?", |n| n.id.as_str());
            Diagnostic::new(format!(
                "the bound of loop {name} is too large to compute with"
            ))
        })?;
        let effort = Effort {
            deadline: self.deadline,
            ..Effort::default()
        };
        // `solve` returns only bounds that the certificate checker has accepted (SOUNDNESS 5.11).
        match solve(&ipet.model, effort) {
            SolveOutcome::Bounded(certified) => {
                self.describe_bound(report, &ipet, &certified, &costs);
                self.describe_assumptions(report);
            }
            SolveOutcome::Unbounded(_) => {
                report.status = Status::Unbounded;
                let missing = report
                    .loops
                    .iter()
                    .filter(|l| l.origin == Origin::Missing)
                    .count();
                report.reason = Some(match missing {
                    0 => "the count rows leave a count without limit".to_owned(),
                    1 => "1 loop has no bound".to_owned(),
                    n => format!("{n} loops have no bound"),
                });
            }
            SolveOutcome::Infeasible(conflict) => {
                return Err(contradiction(&ipet, &conflict.rows));
            }
            SolveOutcome::SolverFailed(_) if self.deadline.is_past() => {
                report.reason = Some(time_limit_reason(self.options));
            }
            SolveOutcome::SolverFailed(why) => report.reason = Some(why.to_string()),
        }
        Ok(())
    }

    /// Whether the cost of a called function outside the file is missing; if so, reports the call and the missing
    /// facts.
    fn is_call_cost_missing(&self, report: &mut KernelBound) -> bool {
        let unknown: Vec<&ExternalCall> = report
            .external_calls
            .iter()
            .filter(|call| call.instructions.is_none())
            .collect();
        let Some(call) = unknown.first() else {
            return false;
        };
        report.reason = Some(format!("call of {}, whose cost is unknown", call.name));
        report.reason_at = Some(call.at.clone());
        report.reason_source = call.source.clone();
        let names: BTreeSet<&str> = unknown.iter().map(|c| c.name.as_str()).collect();
        let lines = names.into_iter().map(format_call);
        report.missing_facts.extend(lines);
        true
    }

    /// Returns the count variables that each `never` statement excludes, and reports the statements.
    fn excluded(
        &self,
        report: &mut KernelBound,
    ) -> Result<Vec<(String, Vec<CountVar>)>, Diagnostic> {
        let Some(facts) = self.facts else {
            return Ok(Vec::new());
        };
        let never: Vec<Never> = facts.never().collect();
        let excluded = self.flow.excluded_counts(&self.prepared.code, &never);
        for (number, (text, counts)) in excluded.iter().enumerate() {
            // A statement that excludes no count has a wrong address; ignoring it would hide the mistake.
            if counts.is_empty() {
                let message = match never.get(number) {
                    Some(Never::Step { .. }) => {
                        format!("no step leads from {}", text.replace("->", "to"))
                    }
                    _ => format!("no instruction that can be reached is at {text}"),
                };
                let diagnostic =
                    Diagnostic::new(message).hint("`warpbound cfg` shows blocks and steps");
                return Err(facts.locate_never(number, diagnostic));
            }
        }
        report.never = excluded.iter().map(|(text, _)| text.clone()).collect();
        Ok(excluded)
    }

    /// Returns the costs of calls of functions outside the file, by calling node, and reports the calls.
    fn external_costs(
        &self,
        report: &mut KernelBound,
    ) -> Result<BTreeMap<NodeId, u64>, Diagnostic> {
        // A misspelled name in the facts must not pass as a fact about nothing.
        let called = self.flow.external_names();
        if let Some(facts) = self.facts
            && let Some(call) = facts.calls().iter().find(|c| !called.contains(&c.name))
        {
            return Err(facts.locate_call(
                call,
                Diagnostic::new(format!(
                    "the kernel calls no {} outside the file",
                    call.name
                )),
            ));
        }
        let mut costs = BTreeMap::new();
        let space = &self.flow.thread.space;
        for id in space.ids() {
            // Where lanes may disagree on the callee, each lane costs a call (SOUNDNESS 2, `external-call`).
            let lanes = self.launch.live_lanes();
            let Some((name, callees)) = self.flow.external_callees(id, lanes) else {
                continue;
            };
            let stated = self.facts.and_then(|facts| facts.call(name));
            let instructions = stated.or(self.options.call_default);
            // An unknown cost counts 0 here; `is_call_cost_missing` then withholds the bound.
            let cost = instructions.unwrap_or(0).saturating_mul(callees);
            costs.insert(id, cost);
            let at = self.prepared.addr(space.block(id).last);
            report.external_calls.push(ExternalCall {
                at: self.prepared.location_of(at),
                source: self.prepared.source(at),
                name: name.to_owned(),
                instructions,
            });
        }
        Ok(costs)
    }

    /// Reports the size of the graph, its divergent branches and its divergence edges.
    fn describe_flow(&self, report: &mut KernelBound) {
        let KernelFlow { thread, warp, .. } = self.flow;
        let space = &thread.space;
        let at = |id: NodeId| self.prepared.addr(space.block(id).last);
        report.nodes = space.ids().filter(|&id| warp.state(id).is_some()).count();
        report.edges = warp.edges().count();
        let merged: BTreeSet<String> = space
            .shared_calls
            .values()
            .filter(|call| !call.recursive)
            .map(|call| {
                self.prepared
                    .function_name_at(self.prepared.addr(call.callee))
            })
            .collect();
        if !merged.is_empty() {
            let names: Vec<String> = merged.into_iter().collect();
            report.notes.push(format!(
                "too many calling contexts: calls of {} share one, which makes the bound coarser",
                names.join(", ")
            ));
        }
        let loops = self.names.iter().zip(&self.flow.loops.sites);
        let shared = loops.filter_map(|(name, site)| shared_header_note(self.prepared, name, site));
        report.notes.extend(shared);
        let scattered: BTreeSet<CodeAddr> = warp.divergent_calls.iter().map(|&id| at(id)).collect();
        if !scattered.is_empty() {
            let locations = scattered.into_iter();
            let locations: Vec<String> =
                locations.map(|at| self.prepared.location_of(at)).collect();
            report.notes.push(format!(
                "the lanes of a warp may call up to {} different functions at {}",
                self.launch.live_lanes(),
                locations.join(", ")
            ));
        }
        let branches: BTreeSet<(CodeAddr, Vec<String>)> = warp
            .divergent
            .iter()
            .map(|&id| (at(id), calls(self.prepared, self.flow, id)))
            .collect();
        report.divergent_branches = branches
            .into_iter()
            .map(|(at, calls)| CodePlace {
                at: self.prepared.location_of(at),
                source: self.prepared.source(at),
                calls,
            })
            .collect();
        let edges: BTreeSet<(CodeAddr, CodeAddr)> = warp
            .divergence_edges(thread)
            .filter_map(|(from, step)| {
                let to = self.prepared.addr(space.block(step.to?).first);
                Some((at(from), to))
            })
            .collect();
        report.divergence_edges = edges
            .into_iter()
            .map(|(from, to)| PathEdge {
                from: self.prepared.location_of(from),
                to: self.prepared.location_of(to),
            })
            .collect();
    }

    /// Reports the loops with their facts, and the missing facts.
    fn describe_loops(
        &self,
        report: &mut KernelBound,
        stated: &[LoopNumbers],
        bounds: &[Option<u64>],
    ) {
        let together = |fact: usize| {
            let of_fact = self.flow.loops.loops.iter().zip(&self.flow.counts.lockstep);
            of_fact
                .filter(|(l, _)| l.fact == fact)
                .all(|(_, together)| *together)
        };
        for (fact, (name, site)) in self.names.iter().zip(&self.flow.loops.sites).enumerate() {
            let source = self.prepared.source(name.at);
            let bound = bounds.get(fact).copied().flatten();
            let numbers = stated.get(fact).copied().unwrap_or_default();
            let origin = match (numbers.per_entry(), bound) {
                (Some(_), _) => Origin::Facts,
                (_, Some(_)) => Origin::LoopDefault,
                _ => Origin::Missing,
            };
            if origin == Origin::Missing {
                let line = loop_line(self.prepared, name, site).format_line();
                report.missing_facts.push(line);
            }
            report.loops.push(LoopReport {
                id: name.id.clone(),
                at: self.prepared.location_of(name.at),
                source,
                depth: site.depth,
                bound,
                total: numbers.total,
                origin,
                lockstep: self.options.reading == FactReading::Simt && together(fact),
                headers: site.headers.iter().map(ToString::to_string).collect(),
                recursion: site
                    .recursion
                    .map(|op| self.prepared.function_name_at(self.prepared.addr(op))),
                contexts: site.contexts,
            });
        }
    }

    /// Reports the certified bound and the blocks of the worst path.
    fn describe_bound(
        &self,
        report: &mut KernelBound,
        ipet: &Ipet,
        certified: &Certified,
        external: &BTreeMap<NodeId, u64>,
    ) {
        let positive = |value: i128| u128::try_from(value).ok();
        report.status = Status::Bounded;
        report.bound = positive(certified.bound);
        report.worst_path_value = certified.witness_value.and_then(positive);
        report.integrality_gap = certified.gap.and_then(positive);
        let space = &self.flow.thread.space;
        let mut executions: Vec<_> = self
            .flow
            .counts
            .executions
            .iter()
            .map(|(&node, arriving)| {
                let calls = calls(self.prepared, self.flow, node);
                (calls, space.block(node).first, node, arriving)
            })
            .collect();
        executions.sort_by(|a, b| (&a.0, a.1).cmp(&(&b.0, b.1)));
        let loops = self.loops_around();
        let mut cycle_loops: Option<BTreeMap<NodeId, Vec<String>>> = None;
        for (calls, first, node, arriving) in executions {
            let counts = arriving
                .iter()
                .filter_map(|var| certified.witness_of(*ipet.vars.get(var.0)?));
            let count: u128 = counts.sum();
            if count == 0 {
                continue;
            }
            let block = space.block(node);
            let first = self.prepared.addr(first);
            let instructions = block
                .instructions
                .saturating_add(external.get(&node).copied().unwrap_or(0));
            report.worst_path.push(BlockCount {
                from: self.prepared.location(block.first),
                to: self.prepared.last_location(block),
                source: self.prepared.source(first),
                function: self.prepared.function(first),
                calls,
                loops: match loops.get(&node) {
                    Some(names) => names.clone(),
                    None if count > 1 => cycle_loops
                        .get_or_insert_with(|| self.loops_of_warp_cycles())
                        .get(&node)
                        .cloned()
                        .unwrap_or_default(),
                    None => Vec::new(),
                },
                instructions,
                count,
                total: count.saturating_mul(instructions.into()),
            });
        }
    }

    /// Returns the names of the loops around each node, outermost first.
    fn loops_around(&self) -> BTreeMap<NodeId, Vec<String>> {
        let mut sorted: Vec<_> = self.flow.loops.loops.iter().collect();
        // A nested loop has fewer nodes than the loop around it.
        sorted.sort_by_key(|l| std::cmp::Reverse(l.body.len()));
        let mut around: BTreeMap<NodeId, Vec<String>> = BTreeMap::new();
        for l in sorted {
            let Some(name) = self.names.get(l.fact) else {
                continue;
            };
            for &node in &l.body {
                around.entry(node).or_default().push(name.id.clone());
            }
        }
        around
    }

    /// Returns, for each node of a loop of the warp-level graph, the outermost thread-level loops inside the innermost
    /// warp-level loop that contains any. If lanes leave a loop at different times, the warp returns to the loop from
    /// the code after it, so the warp-level loop also contains that code.
    fn loops_of_warp_cycles(&self) -> BTreeMap<NodeId, Vec<String>> {
        let KernelFlow {
            thread,
            warp,
            loops,
            ..
        } = self.flow;
        let mut of_warp = Loops::of_warp(&self.prepared.code, thread, warp).loops;
        // Inner loops come last and overwrite the entries of outer ones.
        of_warp.sort_by_key(|l| std::cmp::Reverse(l.body.len()));
        let mut cycle_loops = BTreeMap::new();
        for of_warp in of_warp {
            let body: BTreeSet<NodeId> = of_warp.body.iter().copied().collect();
            let is_inside = |l: usize| {
                let headers = loops.loops.get(l).map(|l| l.headers.as_slice());
                headers.is_some_and(|headers| headers.iter().all(|header| body.contains(header)))
            };
            let outermost = (0..loops.loops.len()).filter(|&l| {
                let parent = loops.parents.get(l).copied().flatten();
                is_inside(l) && !parent.is_some_and(is_inside)
            });
            let facts: BTreeSet<usize> = outermost
                .filter_map(|l| Some(loops.loops.get(l)?.fact))
                .collect();
            let names = facts.iter().filter_map(|&fact| self.names.get(fact));
            let names: Vec<String> = names.map(|name| name.id.clone()).collect();
            if names.is_empty() {
                continue;
            }
            for node in body {
                cycle_loops.insert(node, names.clone());
            }
        }
        cycle_loops
    }

    /// Lists the assumptions of the bound: the execution, the user's statements, the model, and the code.
    fn describe_assumptions(&self, report: &mut KernelBound) {
        let lanes = match self.launch.block {
            Some([x, y, z]) => format!("blocks have {x} x {y} x {z} threads"),
            None => format!("a warp has at most {} threads", self.launch.live_lanes()),
        };
        let mut all = vec![
            assumption(
                "undisturbed",
                "no trap, fault, debugger or preemption makes the warp issue more instructions",
            ),
            assumption("lanes", lanes),
        ];
        self.add_stated_assumptions(report, &mut all);
        self.add_model_assumptions(&mut all);
        self.add_code_assumptions(report, &mut all);
        report.assumptions.append(&mut all);
    }

    /// Adds the statements of the user that the bound depends on.
    fn add_stated_assumptions(&self, report: &KernelBound, all: &mut Vec<BoundAssumption>) {
        let origin = |origin| report.loops.iter().any(|l| l.origin == origin);
        let signed = self.facts.and_then(|facts| facts.signed_off_by.as_ref());
        let signed = signed.map_or(String::new(), |name| format!("; signed off by {name}"));
        if origin(Origin::Facts) {
            let text = format!("the bounds of the facts file hold for every input{signed}");
            all.push(assumption("loop-facts", text));
        }
        if !report.never.is_empty() {
            let steps = report.never.join(", ");
            let text = format!("no thread executes {steps}, for any input{signed}");
            all.push(assumption("never", text));
        }
        if let (true, Some(default)) = (origin(Origin::LoopDefault), self.options.loop_default) {
            let text = format!(
                "loops without a fact run their header at most {default} times per entry and thread"
            );
            all.push(assumption("loop-default", text));
        }
        if self.options.reading == FactReading::Paper {
            all.push(assumption(
                "paper-flow",
                "loop bounds are bounds of the warp-level loops, including lanes that iterate separately",
            ));
        }
    }

    /// Adds the properties of the hardware that the analyses of the warp have used.
    fn add_model_assumptions(&self, all: &mut Vec<BoundAssumption>) {
        let first = match self.options.model.order {
            // The analysis follows both orders, so nothing is assumed.
            DivergenceOrder::Any => None,
            DivergenceOrder::TakenFirst => Some(("taken-first", "take it")),
            DivergenceOrder::FallThroughFirst => Some(("fall-through-first", "do not take it")),
        };
        if let Some((id, lanes)) = first.filter(|_| !self.flow.warp.divergent.is_empty()) {
            let text = format!("after a divergent branch the lanes that {lanes} run first");
            all.push(assumption(id, text));
        }
        let used = &self.flow.warp.used;
        for (is_used, id, text) in [
            (
                used.stable_global,
                "stable-global",
                "lanes that load one address of global memory with one instruction get the same word",
            ),
            (
                used.virtual_id,
                "virtual-id",
                "all bits of SR_VIRTID are the same in the lanes of a warp",
            ),
            (
                used.condition_code,
                "condition-code",
                "only instructions whose disassembly names the condition code read or write it",
            ),
        ] {
            if is_used {
                all.push(assumption(id, text));
            }
        }
    }

    /// Adds the assumptions about indirect calls and about functions outside the file.
    fn add_code_assumptions(&self, report: &KernelBound, all: &mut Vec<BoundAssumption>) {
        for (op, targets) in &self.flow.thread.indirect {
            if let IndirectTargets::Code { ops, assumed: true } = targets {
                let names: Vec<String> = ops
                    .iter()
                    .map(|&op| self.prepared.function_name_at(self.prepared.addr(op)))
                    .collect();
                let text = format!(
                    "the indirect call at {} reaches only functions whose addresses are in the constants: {}",
                    self.prepared.location(*op),
                    names.join(", ")
                );
                all.push(assumption("call-table", text));
            }
        }
        let calls: BTreeMap<&str, Option<u64>> = report
            .external_calls
            .iter()
            .map(|call| (call.name.as_str(), call.instructions))
            .collect();
        for (name, instructions) in calls {
            let text = format!(
                "each call of {name} issues at most {} instructions and returns with all its lanes",
                instructions.unwrap_or(0)
            );
            all.push(assumption("external-call", text));
        }
    }
}

/// Returns the diagnostic of facts that exclude each other, with the rows of the user's statements among `rows`.
fn contradiction(ipet: &Ipet, rows: &[RowId]) -> Diagnostic {
    let labels: Vec<&str> = rows
        .iter()
        .filter_map(|&row| Some(ipet.model.row(row)?.label.as_str()))
        .filter(|label| {
            ["loop", "never", "lanes that pass"]
                .iter()
                .any(|&about| label.starts_with(about))
        })
        .collect();
    Diagnostic::new(format!(
        "the facts contradict each other: no execution obeys them all ({})",
        labels.join(", ")
    ))
}

fn assumption(id: &'static str, text: impl Into<String>) -> BoundAssumption {
    let text = text.into();
    BoundAssumption { id, text }
}
