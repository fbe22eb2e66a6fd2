//! Audit of one warp: a concrete run compared with every claim of the analyses, and with the bound.

use std::collections::{BTreeMap, BTreeSet};

use warpbound_analyse::context::{ContextId, Contexts};
use warpbound_analyse::indirect::IndirectTargets;
use warpbound_analyse::thread_cfg::Limits;
use warpbound_analyse::{LaunchContext, Refusal};
use warpbound_audit::audit::{Claims, LoopCounter};
use warpbound_ipet::{Never, StatedCounts};
use warpbound_ir::{Cell, Code, OpIndex};
use warpbound_query::KernelFlow;
use warpbound_simt::warp::WarpModel;
use warpbound_simt::{Mask, NodeId, lanes_of};

use crate::execute::{Ending, Labels, NoLabels, Point, RunSeed, Warp, WarpEvent, mix};

/// Analysis results of one program, with the errors planted in them.
pub struct Analysed<'a> {
    /// Claims of the analyses.
    pub claims: Claims<'a>,
    /// Number subtracted from each loop bound that a run shows (planted fault).
    pub loop_bound_decrement: u64,
    /// Number subtracted from each loop total that a run shows (planted fault).
    pub loop_total_decrement: u64,
    /// Whether one step that a lane took is stated as never taken (planted fault).
    pub denies_taken_step: bool,
}

impl<'a> Analysed<'a> {
    /// Analyses `code` for a launch.
    ///
    /// # Errors
    ///
    /// The refusal of an analysis that cannot follow the code soundly.
    pub fn run(
        code: &'a Code,
        launch: LaunchContext,
        model: &WarpModel,
        limits: &Limits,
    ) -> Result<Self, Refusal> {
        let flow = KernelFlow::analyse(code, &launch, model, limits)?;
        Ok(Analysed {
            claims: Claims::new(code, launch, flow),
            loop_bound_decrement: 0,
            loop_total_decrement: 0,
            denies_taken_step: false,
        })
    }

    fn assumes_call_targets(&self) -> bool {
        let assumed =
            |t: &IndirectTargets| matches!(t, IndirectTargets::Code { assumed: true, .. });
        self.claims.flow.thread.indirect.values().any(assumed)
    }
}

/// Findings of the audit of one run.
#[derive(Clone, Debug, Default)]
pub struct WarpFindings {
    /// Claims that the run contradicted.
    pub violations: Vec<String>,
    /// Lanes whose trace in the warp differs from their trace when run alone.
    pub mismatches: Vec<String>,
    /// Executed warp instructions and the bound with the run's own loop facts, for a run that finished. A function
    /// outside the file counts [`CALL_COST`] instructions in both.
    pub executed_and_bound: Option<(u64, Option<u128>)>,
    /// Whether the run was cut off and its executed instructions were still compared with the bound.
    pub cut_and_bounded: bool,
    /// End of the run.
    pub ending: Option<Ending>,
    /// Whether the warp diverged at least once.
    pub diverged: bool,
}

/// Warp instructions that a function outside the file is assumed to issue.
pub const CALL_COST: u64 = 50;

/// Labels of operations by calling context.
struct ContextLabels<'a> {
    claims: &'a Claims<'a>,
    contexts: Contexts,
}

impl Labels for ContextLabels<'_> {
    type Label = ContextId;
    fn start(&self) -> ContextId {
        Contexts::KERNEL
    }
    fn call(&mut self, caller: ContextId, site: OpIndex, callee: OpIndex) -> ContextId {
        self.contexts.enter(caller, site, callee).context()
    }
    fn jump(&self, at: Point<ContextId>, to: OpIndex) -> ContextId {
        self.claims.context_after_jump(at, to)
    }
}

/// Counts of one run.
struct RunCounts {
    /// Operations that each lane executed.
    traces: Vec<Vec<OpIndex>>,
    /// For each loop fact, the most header executions per entry by one lane.
    bounds: Vec<u64>,
    /// For each loop fact, the most header executions in all by one lane.
    totals: Vec<u64>,
    /// Executions of each step, summed over lanes.
    taken: BTreeMap<(NodeId, NodeId), u64>,
}

impl Analysed<'_> {
    /// Audits one run. `solo_lanes` of its lanes are also run alone, and their traces compared. With `with_bound`, the
    /// executed instructions are compared with the bound for the loop facts that the run itself shows.
    pub fn audit(&self, run: RunSeed, solo_lanes: usize, with_bound: bool) -> WarpFindings {
        let mut findings = WarpFindings::default();
        let labels = ContextLabels {
            claims: &self.claims,
            contexts: self.claims.flow.thread.space.contexts.clone(),
        };
        let Claims {
            code, launch, flow, ..
        } = &self.claims;
        let mut warp = Warp::new(code, launch, run, labels);
        let width = launch.warp_width as usize;
        let mut counters = vec![LoopCounter::new(&self.claims); width];
        let mut counts = RunCounts {
            traces: vec![Vec::new(); width],
            bounds: vec![0; flow.loops.sites.len()],
            totals: vec![0; flow.loops.sites.len()],
            taken: BTreeMap::new(),
        };
        let ending = warp.run(|event| {
            if let Some(top) = event.before.top() {
                for lane in lanes_of(top.mask) {
                    counts.traces[lane].push(top.next.op);
                    if let Some(node) = self.claims.node_of(top.next) {
                        let from = counters[lane].count(&self.claims, node, |fact, count| {
                            counts.bounds[fact] = counts.bounds[fact].max(count.since_entry);
                            counts.totals[fact] = counts.totals[fact].max(count.total);
                        });
                        if let Some(from) = from {
                            *counts.taken.entry((from, node)).or_default() += 1;
                        }
                    }
                }
                findings.diverged |= event.after.pending().len() > event.before.pending().len()
                    && event.after.top().is_some_and(|t| t.mask != top.mask);
            }
            if findings.violations.len() < 5 {
                self.check_step_claims(event, &mut findings.violations);
            }
        });
        findings.ending = Some(ending);
        self.check_lane_limits(&counts.taken, &mut findings.violations);
        match ending {
            Ending::Finished | Ending::Cut => {
                let votes = warp.votes();
                self.compare_solo_lanes(run, solo_lanes, ending, votes, &counts, &mut findings);
                if with_bound {
                    let executed = warp.steps() as u64 + CALL_COST * warp.external_callees();
                    self.check_bound(run, ending, executed, &counts, &mut findings);
                }
            }
            // An unknown pointer may name no function of the file: the analysis assumes its targets, so nothing is
            // claimed.
            Ending::Stuck if self.assumes_call_targets() => {}
            other => findings
                .violations
                .push(format!("accepted program ended with {other:?}")),
        }
        findings
    }

    /// Runs some lanes alone and compares their traces with those in the warp.
    fn compare_solo_lanes(
        &self,
        run: RunSeed,
        solo_lanes: usize,
        ending: Ending,
        votes: &[Vec<u64>],
        counts: &RunCounts,
        findings: &mut WarpFindings,
    ) {
        let Claims { code, launch, .. } = &self.claims;
        // A single lane never depends on the stack rules, so its trace is right even when the machine has a planted
        // fault.
        let alone = RunSeed { fault: None, ..run };
        let live: Vec<usize> = lanes_of(run.lanes).collect();
        for turn in 0..solo_lanes.min(live.len()) {
            let lane = live[(run.seed as usize).wrapping_add(turn * 7) % live.len()];
            let trace = &counts.traces[lane];
            let mut solo = Vec::new();
            Warp::solo(code, launch, alone, lane, &votes[lane], NoLabels)
                .run(|e| solo.extend(e.before.top().map(|t| t.next.op)));
            // In a warp that was cut off, the lane may have executed fewer operations than alone.
            let compared = match ending {
                Ending::Cut => solo.len().min(trace.len()),
                _ => solo.len(),
            };
            if solo[..compared] != *trace {
                findings.mismatches.push(format!(
                    "lane {lane} executes {} operations in the warp and {} alone",
                    trace.len(),
                    solo.len()
                ));
            }
        }
    }

    /// Compares the executed instructions with the bound for the loop bounds that the run shows; in every second run
    /// that finished, also with the bound for its totals and for steps that it did not take.
    fn check_bound(
        &self,
        run: RunSeed,
        ending: Ending,
        executed: u64,
        counts: &RunCounts,
        findings: &mut WarpFindings,
    ) {
        let Claims {
            code, launch, flow, ..
        } = &self.claims;
        // A run that was cut off can still end on a path that visits each header at most once more.
        let rest = u64::from(ending == Ending::Cut);
        let facts: Vec<Option<u64>> = counts
            .bounds
            .iter()
            .map(|most| Some((most + rest).saturating_sub(self.loop_bound_decrement)))
            .collect();
        let calls = |node| {
            let callees = flow.external_callees(node, launch.live_lanes());
            callees.map_or(0, |(_, callees)| CALL_COST * callees)
        };
        let stated = StatedCounts {
            bounds: &facts,
            ..StatedCounts::default()
        };
        let bound_with = |stated: StatedCounts<'_>| {
            let bound = flow.bound_with(stated, calls);
            bound.map(|bound| bound.limit().0)
        };
        let bound = bound_with(stated);
        match ending {
            Ending::Finished => findings.executed_and_bound = Some((executed, bound)),
            _ => findings.cut_and_bounded = true,
        }
        let totals: Vec<Option<u64>> = counts
            .totals
            .iter()
            .map(|total| Some(total.saturating_sub(self.loop_total_decrement)))
            .collect();
        // Every second run only: solving dominates the time. Lanes that were cut off may still take other steps.
        let more = (run.seed & 1 == 0 && ending == Ending::Finished).then(|| {
            let never = flow.excluded_counts(code, &self.never_taken(&counts.taken, run.seed));
            let stated = StatedCounts {
                bounds: &facts,
                totals: &totals,
                never: &never,
            };
            let used = "totals, steps never taken and facts";
            (bound_with(stated), used)
        });
        for (bound, with) in [(bound, "facts")].into_iter().chain(more) {
            if bound.is_none_or(|b| u128::from(executed) > b) {
                findings.violations.push(format!(
                    "{executed} warp instructions executed, bound {bound:?} with {with} {facts:?} {totals:?}"
                ));
            }
        }
    }

    /// Checks the claims that at most a number of lanes pass a branch on the thread index.
    fn check_lane_limits(
        &self,
        taken: &BTreeMap<(NodeId, NodeId), u64>,
        violations: &mut Vec<String>,
    ) {
        let flow = &self.claims.flow;
        for limit in &flow.lane_limits {
            let steps = flow.thread.steps.get(limit.from.index());
            let to: BTreeSet<NodeId> = limit.steps.iter().filter_map(|step| step.to).collect();
            let others = steps.into_iter().flatten();
            let mut others = others.filter(|step| !limit.steps.contains(step));
            // The counts do not distinguish two steps to one node.
            if others.any(|step| step.to.is_some_and(|node| to.contains(&node))) {
                continue;
            }
            let lanes = to.iter().filter_map(|&to| taken.get(&(limit.from, to)));
            let lanes: u64 = lanes.sum();
            if lanes > limit.lanes {
                violations.push(format!(
                    "{lanes} lanes pass node {}, at most {} are claimed to",
                    limit.from.0, limit.lanes
                ));
            }
        }
    }

    /// Returns about half of the steps of the graph that no lane took. They are statements by address, as a user
    /// states them.
    fn never_taken(&self, taken: &BTreeMap<(NodeId, NodeId), u64>, seed: u64) -> Vec<Never> {
        let Claims { code, flow, .. } = &self.claims;
        let addr = |op| code.get(op).map(|op| op.addr);
        let space = &flow.thread.space;
        let step = |from: NodeId, to: NodeId| {
            Some(Never::Step {
                from: addr(space.block(from).last)?,
                to: addr(space.block(to).first)?,
            })
        };
        // A statement by address covers the step in every calling context.
        let known: BTreeSet<Never> = taken.keys().filter_map(|&(a, b)| step(a, b)).collect();
        let edges = flow.thread.edges();
        let mut never: Vec<Never> = edges
            .filter_map(|(from, edge)| step(from, edge.to?))
            .filter(|never| !known.contains(never))
            .filter(|never| mix(&[seed, 10, statement_key(never)]) & 1 == 0)
            .collect();
        if self.denies_taken_step {
            never.extend(known.into_iter().next());
        }
        never
    }

    fn check_step_claims(&self, event: &WarpEvent<'_, ContextId>, violations: &mut Vec<String>) {
        let mut found = Vec::new();
        let agree = |cell: Cell, mask: Mask| {
            // A loop and no iterators, because tests are built with little optimization and come here for each cell at
            // each step.
            let value = |lanes: Mask| event.cells[lanes.trailing_zeros() as usize][cell.index()];
            let mut rest = mask;
            while rest != 0 {
                if value(rest) != value(mask) {
                    return false;
                }
                rest &= rest - 1;
            }
            true
        };
        self.claims.check_state(event.before, &agree, &mut found);
        self.claims
            .check_step(event.before, event.after, event.exhausted, &mut found);
        let spelled = found.iter().map(|v| format!("op {}: {v}", v.at.0));
        violations.extend(spelled);
    }
}

/// Key of a statement for the random choice.
fn statement_key(never: &Never) -> u64 {
    match *never {
        Never::Block(at) => at.0.into(),
        Never::Step { from, to } => u64::from(from.0) << 32 | u64::from(to.0),
    }
}
