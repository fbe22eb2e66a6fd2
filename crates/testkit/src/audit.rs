//! Compares what a warp does with everything that the analyses claim.

use std::collections::BTreeMap;

use warpbound_analyse::agreement::{Used, apply};
use warpbound_analyse::context::{ContextId, Contexts};
use warpbound_analyse::indirect::IndirectTargets;
use warpbound_analyse::loops::Loops;
use warpbound_analyse::space::Node;
use warpbound_analyse::thread::Limits;
use warpbound_analyse::{Launch, Refusal, ThreadCfg, WarpCfg};
use warpbound_bound::{Effort, Ipet, Outcome, solve};
use warpbound_driver::Flow;
use warpbound_ir::{Cell, Code, Control, OpIndex};
use warpbound_isa::Token;
use warpbound_simt::concrete::{ActivationStack, Mask, Stage};
use warpbound_simt::counts::CountSystem;
use warpbound_simt::groups::{ACTIVE, Relation};
use warpbound_simt::warp::{Model, Via, WarpState};
use warpbound_simt::{Entry, EntryId, NodeId, Tag};

use crate::execute::{Ending, Event, Labels, NoLabels, Point, RunSeed, Warp};

/// All analyses of one program.
pub struct Analysed<'a> {
    /// The program.
    pub code: &'a Code,
    /// The launch.
    pub launch: Launch,
    /// Thread-level graph.
    pub thread: ThreadCfg,
    /// Warp-level graph.
    pub warp: WarpCfg,
    /// Loops.
    pub loops: Loops,
    /// Count rows.
    pub counts: CountSystem,
    /// Subtracted from each loop bound that a run shows, for planted faults.
    pub less: u64,
    /// For each node, the state before each operation of its block.
    states: BTreeMap<NodeId, Vec<WarpState>>,
}

impl<'a> Analysed<'a> {
    /// Analyses `code`.
    pub fn run(
        code: &'a Code,
        launch: Launch,
        model: &Model,
        limits: &Limits,
    ) -> Result<Self, Refusal> {
        let Flow {
            thread,
            warp,
            loops,
            counts,
        } = Flow::run(code, &launch, model, limits)?;
        let mut analysed = Analysed {
            code,
            launch,
            thread,
            warp,
            loops,
            counts,
            less: 0,
            states: BTreeMap::new(),
        };
        analysed.refresh();
        Ok(analysed)
    }

    /// Recomputes what is derived from the public parts, after a test changed them.
    pub fn refresh(&mut self) {
        let mut states = BTreeMap::new();
        for node in self.thread.space.ids() {
            let Some(state) = self.warp.state(node) else {
                continue;
            };
            let mut state = state.clone();
            let mut used = Used::default();
            let mut list = Vec::new();
            for op in self.thread.space.block(node).ops() {
                list.push(state.clone());
                if let Some(op) = self.code.get(op) {
                    apply(&mut state, op, &self.launch, &mut used);
                }
            }
            states.insert(node, list);
        }
        self.states = states;
    }

    fn assumes_call_targets(&self) -> bool {
        let assumed =
            |t: &IndirectTargets| matches!(t, IndirectTargets::Code { assumed: true, .. });
        self.thread.indirect.values().any(assumed)
    }

    /// The bound in warp instructions for these loop facts; `None` when there is none.
    pub fn bound(&self, facts: &[Option<u64>]) -> Option<i128> {
        let cost = |node| self.thread.space.block(node).instructions;
        let ipet = Ipet::new(&self.counts, cost, facts).ok()?;
        match solve(
            &ipet.model,
            Effort {
                nodes: 0,
                ..Effort::default()
            },
        ) {
            Outcome::Bounded(certified) => Some(certified.bound),
            _ => None,
        }
    }
}

/// What an audit of one run found.
#[derive(Clone, Debug, Default)]
pub struct Findings {
    /// The warp did something that an analysis excludes.
    pub violations: Vec<String>,
    /// A lane's trace in the warp differs from its trace alone.
    pub mismatches: Vec<String>,
    /// Executed warp instructions, and the bound for the run's own loop facts, when it finished.
    pub executed_and_bound: Option<(u64, Option<i128>)>,
    /// How the run ended.
    pub ending: Option<Ending>,
    /// The warp diverged at least once.
    pub diverged: bool,
}

struct ContextLabels {
    contexts: Contexts,
}

impl Labels for ContextLabels {
    type Label = ContextId;
    fn start(&self) -> ContextId {
        Contexts::KERNEL
    }
    fn call(&mut self, caller: ContextId, site: OpIndex, callee: OpIndex) -> ContextId {
        self.contexts.enter(caller, site, callee).context()
    }
}

type P = Point<ContextId>;

/// Counts header executions per loop entry, as the loop facts define them.
#[derive(Clone)]
struct LoopCounter {
    /// Current count for each loop of the graph.
    running: Vec<u64>,
    /// Largest count seen for each site.
    most: Vec<u64>,
    /// Counts saved at calls into shared contexts.
    frames: Vec<(NodeId, Vec<u64>)>,
    at: Option<NodeId>,
}

impl Analysed<'_> {
    fn node_of(&self, point: P) -> Option<NodeId> {
        let block = self.thread.space.blocks.starting_at(point.op)?;
        self.thread.space.find(Node {
            block,
            context: point.label,
        })
    }

    /// The node whose block ends with the operation of `point`.
    fn node_ending(&self, point: P) -> Option<NodeId> {
        let mut op = point.op;
        loop {
            if let Some(block) = self.thread.space.blocks.starting_at(op) {
                let context = point.label;
                return self.thread.space.find(Node { block, context });
            }
            op = OpIndex(op.0.checked_sub(1)?);
        }
    }

    fn entry_id(&self, stage: &Stage<P>) -> Option<EntryId> {
        self.thread.space.entries.find(Entry {
            pushed_by: self.node_ending(stage.pushed_by)?,
            resume: self.node_of(stage.next)?,
            tag: stage.tag,
            meets: None,
        })
    }

    /// One run, audited. `solo_lanes` lanes are run alone and compared.
    pub fn audit(&self, run: RunSeed, solo_lanes: usize, with_bound: bool) -> Findings {
        let mut findings = Findings::default();
        let labels = ContextLabels {
            contexts: self.thread.space.contexts.clone(),
        };
        let mut warp = Warp::new(self.code, &self.launch, run, labels);
        let width = self.launch.warp_width as usize;
        let mut traces: Vec<Vec<OpIndex>> = vec![Vec::new(); width];
        let mut counters = vec![
            LoopCounter {
                running: vec![0; self.loops.loops.len()],
                most: vec![0; self.loops.sites.len()],
                frames: Vec::new(),
                at: None,
            };
            width
        ];
        let ending = warp.run(|event| {
            if let Some(top) = event.before.top() {
                for lane in lanes(top.mask) {
                    traces[lane].push(top.next.op);
                    if let Some(node) = self.node_of(top.next) {
                        self.count_loops(&mut counters[lane], node);
                    }
                }
                findings.diverged |= event.after.pending().len() > event.before.pending().len()
                    && event.after.top().is_some_and(|t| t.mask != top.mask);
            }
            if findings.violations.len() < 5 {
                self.check(event, &mut findings.violations);
            }
        });
        findings.ending = Some(ending);
        match ending {
            Ending::Finished | Ending::Cut => {}
            // The function that an unknown pointer names need not exist: nothing is claimed of it.
            Ending::Stuck if self.assumes_call_targets() => {}
            other => findings
                .violations
                .push(format!("accepted program ended with {other:?}")),
        }
        if ending == Ending::Finished {
            // A lane alone needs no stack rule: it is what a faulty machine is compared with.
            let alone = RunSeed { fault: None, ..run };
            let live: Vec<usize> = lanes(run.lanes).collect();
            for turn in 0..solo_lanes.min(live.len()) {
                let lane = live[(run.seed as usize).wrapping_add(turn * 7) % live.len()];
                let votes = &warp.votes()[lane];
                let mut solo = Vec::new();
                Warp::solo(self.code, &self.launch, alone, lane, votes, NoLabels)
                    .run(|e| solo.extend(e.before.top().map(|t| t.next.op)));
                if solo != traces[lane] {
                    findings.mismatches.push(format!(
                        "lane {lane} executes {} operations in the warp and {} alone",
                        traces[lane].len(),
                        solo.len()
                    ));
                }
            }
            if with_bound {
                let facts: Vec<Option<u64>> = (0..self.loops.sites.len())
                    .map(|site| counters.iter().map(|c| c.most[site]).max())
                    .map(|most| Some(most?.saturating_sub(self.less)))
                    .collect();
                let executed = warp.steps() as u64;
                let bound = self.bound(&facts);
                if bound.is_none_or(|b| i128::from(executed) > b) {
                    findings.violations.push(format!(
                        "{executed} warp instructions executed, bound {bound:?} with facts {facts:?}"
                    ));
                }
                findings.executed_and_bound = Some((executed, bound));
            }
        }
        findings
    }

    fn count_loops(&self, counter: &mut LoopCounter, node: NodeId) {
        let from = counter.at.replace(node);
        let from = from.map(|from| self.shared_call_frames(counter, from, node));
        for (i, counted) in self.loops.loops.iter().enumerate() {
            if !counted.headers.contains(&node) {
                continue;
            }
            let inside = from.is_some_and(|f| counted.body.binary_search(&f).is_ok());
            counter.running[i] = if inside { counter.running[i] + 1 } else { 1 };
            let most = &mut counter.most[counted.fact];
            *most = (*most).max(counter.running[i]);
        }
    }

    /// A call into a shared context suspends the loops around it; its return goes on with them. Returns
    /// where the lane comes from: behind such a return, the call.
    fn shared_call_frames(&self, counter: &mut LoopCounter, from: NodeId, to: NodeId) -> NodeId {
        let space = &self.thread.space;
        let last = self.code.get(space.block(from).last).map(|op| &op.control);
        match last {
            Some(Control::Call(_) | Control::Push(Token::Ret, _))
                if space.shared_calls.contains_key(&from) =>
            {
                counter.frames.push((from, counter.running.clone()));
                from
            }
            Some(Control::Unwind(Token::Ret)) => {
                let returns_to = |pusher: NodeId| {
                    space
                        .entries
                        .iter()
                        .any(|(_, e)| e.tag == Tag::Ret && e.pushed_by == pusher && e.resume == to)
                };
                let Some((pusher, saved)) = counter
                    .frames
                    .last()
                    .filter(|(pusher, _)| returns_to(*pusher))
                    .cloned()
                else {
                    return from;
                };
                counter.frames.pop();
                for (i, counted) in self.loops.loops.iter().enumerate() {
                    let callee_inside = space.shared_calls.get(&pusher).is_some_and(|call| {
                        counted
                            .body
                            .iter()
                            .any(|&n| space.block(n).first == call.callee)
                    });
                    if !callee_inside && counted.body.binary_search(&pusher).is_ok() {
                        counter.running[i] = saved[i];
                    }
                }
                pusher
            }
            _ => from,
        }
    }

    fn check(&self, event: &Event<'_, ContextId>, violations: &mut Vec<String>) {
        let Some(top) = event.before.top() else {
            return;
        };
        let point = top.next;
        let Some(here) = self.node_ending(point) else {
            violations.push(format!("op {} is in no node", point.op.0));
            return;
        };
        let block = self.thread.space.block(here);
        let nth = (point.op.0 - block.first.0) as usize;
        let Some(state) = self.states.get(&here).and_then(|s| s.get(nth)) else {
            violations.push(format!("node {} is not reached by the analysis", here.0));
            return;
        };
        self.check_agreement(state, ACTIVE, top.mask, event.cells, here, violations);
        if nth == 0 {
            self.check_stack(state, event.before, event.cells, here, violations);
        }
        if point.op == block.last {
            self.check_step(event, here, violations);
        }
    }

    fn check_agreement(
        &self,
        state: &WarpState,
        group: usize,
        mask: Mask,
        cells: &[Vec<u64>],
        here: NodeId,
        violations: &mut Vec<String>,
    ) {
        let agreed = state.agreement(group);
        for cell in agreed.iter().take_while(|&c| c < Cell::COUNT) {
            let mut values = lanes(mask).map(|lane| cells[lane][cell]);
            let first = values.next();
            if values.any(|value| Some(value) != first) {
                let cell = Cell::from_index(cell);
                violations.push(format!(
                    "node {}: group {group} is said to agree on {cell:?}",
                    here.0
                ));
            }
        }
    }

    fn check_stack(
        &self,
        state: &WarpState,
        stack: &ActivationStack<P>,
        cells: &[Vec<u64>],
        here: NodeId,
        violations: &mut Vec<String>,
    ) {
        // Slot and lanes of the active group and of every pending entry, top first.
        let mut groups = vec![(ACTIVE, stack.top().map_or(0, |t| t.mask))];
        let mut ids = Vec::new();
        for stage in stack.pending().iter().rev() {
            let slot = self.entry_id(stage).and_then(|id| {
                ids.push(id);
                state.stack().slot(id)
            });
            let Some(slot) = slot else {
                violations.push(format!("node {}: {stage:?} is no abstract entry", here.0));
                return;
            };
            groups.push((slot, stage.mask));
            self.check_agreement(state, slot, stage.mask, cells, here, violations);
        }
        // The invariant that `StackGraph::filter` rests on.
        for (depth, lower) in stack.pending().iter().enumerate() {
            let above = stack.pending().iter().skip(depth + 1).chain(stack.top());
            let nested = |upper: &Stage<P>| match lower.tag {
                Tag::Nil => upper.mask & lower.mask == 0,
                _ => upper.mask & !lower.mask == 0,
            };
            if !above.into_iter().all(nested) {
                violations.push(format!("node {}: {lower:?} is not nested", here.0));
            }
        }
        if !state.stack().contains(&ids) {
            violations.push(format!("node {}: stack {ids:?} is not abstracted", here.0));
        }
        for (i, &(a, lanes_a)) in groups.iter().enumerate() {
            for (j, &(b, lanes_b)) in groups.iter().enumerate() {
                if i == j {
                    continue;
                }
                let claimed = state.groups().get(a, b);
                let false_claims = [
                    (Relation::SUBSET, lanes_a & !lanes_b == 0),
                    (Relation::DISJOINT, lanes_a & lanes_b == 0),
                    (Relation::EXCEEDS, lanes_a & !lanes_b != 0),
                ]
                .into_iter()
                .filter(|&(facts, holds)| claimed.has(facts) && !holds);
                for (facts, _) in false_claims {
                    violations.push(format!(
                        "node {}: group {a} {facts:?} group {b} is false",
                        here.0
                    ));
                }
            }
        }
    }

    fn check_step(&self, event: &Event<'_, ContextId>, here: NodeId, violations: &mut Vec<String>) {
        let after = event.after.top();
        let to = after.and_then(|t| self.node_of(t.next));
        if after.is_some() && to.is_none() {
            violations.push(format!("node {}: goes on at no node", here.0));
            return;
        }
        let via = if event.exhausted && to.is_some() {
            // The stage that runs now, as it was before it became NIL.
            let depth = event.after.pending().len();
            let id = event
                .before
                .pending()
                .get(depth)
                .or(event.before.top())
                .and_then(|stage| self.entry_id(stage));
            match id {
                Some(id) => Via::Resume(id),
                None => {
                    violations.push(format!("node {}: resumes an unknown entry", here.0));
                    return;
                }
            }
        } else {
            Via::Walk
        };
        let mut pushed = Vec::new();
        if !event.exhausted {
            for stage in event
                .after
                .pending()
                .iter()
                .skip(event.before.pending().len())
            {
                match self.entry_id(stage) {
                    Some(id) => pushed.push(id),
                    None => violations.push(format!("node {}: pushes {stage:?}", here.0)),
                }
            }
        }
        let known = self.warp.steps[here.index()].iter().any(|step| {
            step.to == to && step.via == via && pushed.iter().all(|id| step.pushes.contains(id))
        });
        if !known {
            violations.push(format!(
                "node {}: step to {to:?} via {via:?} pushing {pushed:?} is no edge",
                here.0
            ));
        }
        // Pushes are counted on edges: an edge without the push must not stand for one with it.
        let exact = self.warp.steps[here.index()].iter().any(|step| {
            step.to == to && step.via == via && (pushed.is_empty() == step.pushes.is_empty())
        });
        if known && !exact {
            violations.push(format!("node {}: pushes are not on the edge", here.0));
        }
    }
}

pub(crate) fn lanes(mask: Mask) -> impl Iterator<Item = usize> {
    let mut rest = mask;
    std::iter::from_fn(move || {
        let lane = rest.trailing_zeros() as usize;
        (rest != 0).then(|| {
            rest &= rest - 1;
            lane
        })
    })
}
