//! Linear constraints on execution counts of a warp that follow from the SIMT rules: labelled rows for IPET.
//!
//! Variables are counts of warp steps (`x`) and of thread steps (`y`, summed over the lanes of the warp). In addition
//! to flow conservation, these families of rows relate them:
//!
//! * *thread flow*: each arrival of the warp over a thread-level edge carries at least one lane,
//!   so `x ≤ y`; the `y` carry the loop facts, which are per thread;
//! * *pops ≤ pushes* for each stack entry;
//! * *lockstep*: where no pending lane can reach a loop's header inside the loop, the lanes of each header execution
//!   are a subset of the lanes of the one before, so the warp executes the header at most `B` times for each time it
//!   enters the loop;
//! * *guarded lanes*: steps that the thread index guards carry few lanes.
//!
//! For example, let each of the 32 lanes of a warp enter a loop with the bound 10 once. The row
//! `y(headers) ≤ 10 · y(entries)` admits 320 header executions of the warp. If the loop is in lockstep and the warp
//! enters it once, the row `x(headers) ≤ 10 · x(events)` admits 10.
//!
//! `warp-cfg-2023` 4 has the flow of the warp alone ([`CountSystem::of_paper`]). SOUNDNESS 5 argues that each row
//! holds in every run.

mod row;

use std::collections::{BTreeMap, BTreeSet};

use crate::warp::{Via, WarpStep};
use crate::{EntryId, EntryTable, NodeId};

pub use row::{CountRow, Factor, RowFamily, RowRelation};

/// Index of a variable of a [`CountSystem`].
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct CountVar(pub usize);

/// Event counted by a variable.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum CountKind {
    /// The warp starts (always 1).
    WarpStart,
    /// The warp takes a step.
    WarpStep(NodeId, WarpStep),
    /// Lanes start.
    ThreadStart,
    /// Lanes take a step.
    ThreadStep(NodeId, WarpStep),
}

/// Loop of the thread-level graph, with the fact that bounds it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct CountedLoop {
    /// Header nodes.
    pub headers: Vec<NodeId>,
    /// All nodes, ascending.
    pub body: Vec<NodeId>,
    /// Number of the fact that bounds it.
    pub fact: usize,
}

impl CountedLoop {
    fn contains(&self, node: NodeId) -> bool {
        self.body.binary_search(&node).is_ok()
    }
}

/// Thread-level steps that only some lanes of a warp take.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct LaneLimit {
    /// Source node of the steps.
    pub from: NodeId,
    /// Steps; each lane takes at most one of them, and at most once.
    pub steps: Vec<WarpStep>,
    /// Maximum number of lanes of any warp that take one of them.
    pub lanes: u64,
}

/// Input of [`CountSystem::build`]: both graphs, their loops and states.
pub struct CountInput<'a> {
    /// Maximum number of live lanes of a warp.
    pub lanes: u64,
    /// Steps that only some of these lanes take.
    pub lane_limits: &'a [LaneLimit],
    /// First node.
    pub entry: NodeId,
    /// Thread-level steps by source node.
    pub thread: &'a [Vec<WarpStep>],
    /// Warp-level steps by source node.
    pub warp: &'a [Vec<WarpStep>],
    /// Stack entries.
    pub entries: &'a EntryTable,
    /// Loops of the thread-level graph.
    pub loops: &'a [CountedLoop],
    /// Return entries of calls into a context that other calls enter as well.
    pub shared_returns: &'a BTreeSet<EntryId>,
    /// Entries that may be pending while the warp executes a node; none if it never does.
    pub pending: &'a dyn Fn(NodeId) -> &'a [EntryId],
}

/// Variables and rows.
#[derive(Clone, Debug, Default)]
pub struct CountSystem {
    /// Event counted by each variable.
    pub variables: Vec<CountKind>,
    /// Rows.
    pub rows: Vec<CountRow>,
    /// For each node, the variables whose sum is the warp's executions of it.
    pub executions: BTreeMap<NodeId, Vec<CountVar>>,
    /// For each loop of the input, whether the warp's lanes iterate it in lockstep.
    pub lockstep: Vec<bool>,
}

impl CountSystem {
    /// Builds the system of SOUNDNESS 5.
    pub fn build(input: &CountInput<'_>) -> CountSystem {
        let mut builder = Builder {
            input,
            system: CountSystem::default(),
        };
        let threads =
            builder.add_level(input.thread, CountKind::ThreadStart, CountKind::ThreadStep);
        let warps = builder.add_level(input.warp, CountKind::WarpStart, CountKind::WarpStep);
        // A right side that is too large only weakens the row, so a saturated number is sound.
        let lanes = i64::try_from(input.lanes).unwrap_or(i64::MAX);
        // At most, not exactly, the live lanes: other warps of the block may have fewer (SOUNDNESS 5.1).
        builder.add_start_row(threads.start, RowRelation::AtMost, lanes, "lanes");
        builder.add_start_row(warps.start, RowRelation::Exactly, 1, "warp");
        builder.add_flow_rows(&threads, "thread");
        builder.add_flow_rows(&warps, "warp");
        builder.add_thread_flow_rows(&threads, &warps);
        builder.add_pop_rows(&threads, &warps);
        for counted in input.loops {
            builder.add_loop_bound_row(counted, &threads, RowFamily::LoopPerThread);
            let lockstep = builder.iterates_in_lockstep(counted);
            builder.system.lockstep.push(lockstep);
            if lockstep {
                builder.add_lockstep_bound_row(counted, &threads, &warps);
            }
        }
        builder.add_loop_total_rows(&threads, &warps);
        builder.add_guarded_lane_rows(&threads);
        builder.system.executions = warps.arriving;
        builder.system
    }

    /// Builds the system of `warp-cfg-2023` 4, for comparison: the flow of the warp alone, with each loop of the
    /// warp-level graph (`input.loops`) bounded by its fact. A fact about one thread does not bound a warp whose
    /// lanes iterate separately, so this system is sound only for facts that are stated for the warp.
    pub fn of_paper(input: &CountInput<'_>) -> CountSystem {
        let mut builder = Builder {
            input,
            system: CountSystem::default(),
        };
        let warps = builder.add_level(input.warp, CountKind::WarpStart, CountKind::WarpStep);
        builder.add_start_row(warps.start, RowRelation::Exactly, 1, "warp");
        builder.add_flow_rows(&warps, "warp");
        for counted in input.loops {
            builder.add_loop_bound_row(counted, &warps, RowFamily::LoopOfWarp);
        }
        builder.system.executions = warps.arriving;
        builder.system
    }

    /// Builds the system of one thread: flow, returns from shared contexts, and loop bounds per entry (SOUNDNESS 13).
    pub fn of_thread(input: &CountInput<'_>) -> CountSystem {
        let mut builder = Builder {
            input,
            system: CountSystem::default(),
        };
        let threads =
            builder.add_level(input.thread, CountKind::ThreadStart, CountKind::ThreadStep);
        // The system is about one thread, so it has neither lanes nor steps of a warp.
        builder.add_start_row(threads.start, RowRelation::Exactly, 1, "thread");
        builder.add_flow_rows(&threads, "thread");
        for (id, _) in input.entries.iter() {
            if input.shared_returns.contains(&id) {
                builder.add_pop_row(&threads, id);
            }
        }
        for counted in input.loops {
            builder.add_loop_bound_row(counted, &threads, RowFamily::LoopPerThread);
        }
        builder.system.executions = threads.arriving;
        builder.system
    }

    /// Number of variables.
    pub fn len(&self) -> usize {
        self.variables.len()
    }

    /// Whether there are no variables.
    pub fn is_empty(&self) -> bool {
        self.variables.is_empty()
    }
}

/// Steps of the thread-level or warp-level graph with their variables.
struct LevelVariables {
    start: CountVar,
    steps: Vec<(NodeId, WarpStep, CountVar)>,
    arriving: BTreeMap<NodeId, Vec<CountVar>>,
    leaving: BTreeMap<NodeId, Vec<CountVar>>,
    /// For each entry, the steps that resume it, with their source.
    pops: BTreeMap<EntryId, Vec<(NodeId, CountVar)>>,
    /// For each entry, the steps that may push it.
    pushes: BTreeMap<EntryId, Vec<CountVar>>,
}

struct Builder<'a, 'b> {
    input: &'b CountInput<'a>,
    system: CountSystem,
}

impl Builder<'_, '_> {
    fn add_variable(&mut self, counted: CountKind) -> CountVar {
        self.system.variables.push(counted);
        CountVar(self.system.variables.len() - 1)
    }

    fn add_row(
        &mut self,
        family: RowFamily,
        label: String,
        terms: Vec<(CountVar, Factor)>,
        relation: RowRelation,
        constant: i64,
    ) {
        self.system.rows.push(CountRow {
            terms,
            relation,
            constant,
            family,
            label,
        });
    }

    /// Adds a variable for the start and one for each step of a graph.
    fn add_level(
        &mut self,
        steps: &[Vec<WarpStep>],
        start: CountKind,
        counted: fn(NodeId, WarpStep) -> CountKind,
    ) -> LevelVariables {
        let start = self.add_variable(start);
        let mut level = LevelVariables {
            start,
            steps: Vec::new(),
            arriving: BTreeMap::from([(self.input.entry, vec![start])]),
            leaving: BTreeMap::new(),
            pops: BTreeMap::new(),
            pushes: BTreeMap::new(),
        };
        for (from, steps) in steps.iter().enumerate() {
            let from = NodeId(from as u32);
            for step in steps {
                let var = self.add_variable(counted(from, step.clone()));
                level.leaving.entry(from).or_default().push(var);
                if let Some(to) = step.to {
                    level.arriving.entry(to).or_default().push(var);
                }
                if let Via::Resume(id) = step.via {
                    level.pops.entry(id).or_default().push((from, var));
                }
                // A divergent outcome of a branch is a step of its own, which pushes each of its entries at most once.
                for &id in &step.pushes {
                    level.pushes.entry(id).or_default().push(var);
                }
                level.steps.push((from, step.clone(), var));
            }
        }
        level
    }

    fn add_start_row(&mut self, start: CountVar, relation: RowRelation, count: i64, name: &str) {
        self.add_row(
            RowFamily::Start,
            format!("{name} start"),
            vec![(start, Factor::Number(1))],
            relation,
            count,
        );
    }

    /// Adds `Σ arriving = Σ leaving` for each node.
    fn add_flow_rows(&mut self, level: &LevelVariables, name: &str) {
        for (&node, arriving) in &level.arriving {
            let mut terms: Vec<_> = sum(arriving, 1).collect();
            // Without leaving steps the arrivals are 0: the abstract warp ends at nodes that no thread reaches.
            if let Some(leaving) = level.leaving.get(&node) {
                terms.extend(sum(leaving, -1));
            }
            self.add_row(
                RowFamily::Flow,
                format!("{name} flow of node {}", node.0),
                terms,
                RowRelation::Exactly,
                0,
            );
        }
    }

    /// Adds `x ≤ y` for every thread-level edge, arrivals by a later resume included (SOUNDNESS 5.2).
    fn add_thread_flow_rows(&mut self, threads: &LevelVariables, warps: &LevelVariables) {
        #[derive(PartialEq, Eq, PartialOrd, Ord, Clone, Copy)]
        enum Edge {
            Walk(NodeId, NodeId),
            Pop(EntryId),
        }
        let entries = self.input.entries;
        // A resumed entry with a single predecessor carries lanes of that edge; the lanes of any other popped to it.
        let edge_of = |from: NodeId, step: &WarpStep| {
            let to = step.to?;
            Some(match step.via {
                Via::Walk => Edge::Walk(from, to),
                Via::Resume(id) => {
                    let entry = entries.get(id);
                    match entry.predecessor() {
                        Some(from) => Edge::Walk(from, entry.resume),
                        None => Edge::Pop(id),
                    }
                }
            })
        };
        let mut sums: BTreeMap<Edge, Vec<(CountVar, Factor)>> = BTreeMap::new();
        for (level, factor) in [(warps, 1), (threads, -1)] {
            for (from, step, var) in &level.steps {
                if let Some(edge) = edge_of(*from, step) {
                    sums.entry(edge)
                        .or_default()
                        .push((*var, Factor::Number(factor)));
                }
            }
        }
        for (edge, terms) in sums {
            let label = match edge {
                Edge::Walk(from, to) => format!("lanes on {} → {}", from.0, to.0),
                Edge::Pop(id) => {
                    let entry = entries.get(id);
                    format!("lanes that {} to {}", entry.tag.name(), entry.resume.0)
                }
            };
            self.add_row(RowFamily::ThreadFlow, label, terms, RowRelation::AtMost, 0);
        }
    }

    /// Adds `pops ≤ pushes` for each entry of the warp. Returns from shared contexts get such a row for lanes too,
    /// since lanes could otherwise return to callers that never called (SOUNDNESS 5.3, 5.10).
    fn add_pop_rows(&mut self, threads: &LevelVariables, warps: &LevelVariables) {
        for (id, _) in self.input.entries.iter() {
            self.add_pop_row(warps, id);
            if self.input.shared_returns.contains(&id) {
                self.add_pop_row(threads, id);
            }
        }
    }

    /// Adds `pops ≤ pushes` of an entry for one level, if it is ever resumed there.
    fn add_pop_row(&mut self, level: &LevelVariables, id: EntryId) {
        let Some(pops) = level.pops.get(&id) else {
            return;
        };
        let entry = self.input.entries.get(id);
        let mut terms: Vec<_> = pops.iter().map(|&(_, v)| (v, Factor::Number(1))).collect();
        // An entry that is resumed and never pushed gets a row without pushes: its resumptions are 0.
        terms.extend(sum(level.pushes.get(&id).map_or(&[], Vec::as_slice), -1));
        self.add_row(
            RowFamily::Pops,
            format!("{} to {}", entry.tag.name(), entry.resume.0),
            terms,
            RowRelation::AtMost,
            0,
        );
    }

    /// Adds `Σ headers ≤ B · entries of the loop` for one level (SOUNDNESS 5.4).
    fn add_loop_bound_row(
        &mut self,
        counted: &CountedLoop,
        level: &LevelVariables,
        family: RowFamily,
    ) {
        let mut entering = Vec::new();
        if counted.contains(self.input.entry) {
            entering.push(level.start);
        }
        for (from, step, var) in &level.steps {
            let crosses = step.to.is_some_and(|to| counted.contains(to));
            // A return from a shared context continues the call made at its push, not a new entry of the loop.
            let from = match step.via {
                Via::Resume(id) if self.input.shared_returns.contains(&id) => {
                    self.input.entries.get(id).pushed_by
                }
                _ => *from,
            };
            if crosses && !counted.contains(from) {
                entering.push(*var);
            }
        }
        self.add_loop_row(counted, level, entering, family);
    }

    /// Whether the lanes iterate a loop in lockstep: no header has a pending entry that was pushed in the loop and
    /// resumes in it (SOUNDNESS 5.5).
    fn iterates_in_lockstep(&self, counted: &CountedLoop) -> bool {
        let entries = self.input.entries;
        counted.headers.iter().all(|&header| {
            (self.input.pending)(header).iter().all(|&id| {
                let entry = entries.get(id);
                !(counted.contains(entry.pushed_by) && counted.contains(entry.resume))
            })
        })
    }

    /// Adds `Σ x(headers) ≤ B · x(events)` for a loop in lockstep, with the events of SOUNDNESS 5.5.
    fn add_lockstep_bound_row(
        &mut self,
        counted: &CountedLoop,
        threads: &LevelVariables,
        warps: &LevelVariables,
    ) {
        let entries = self.input.entries;
        // Whether the entry is pushed in the loop and its lanes come to it only from inside. Then its resumption is
        // no event, because the lanes never left the loop.
        let stays_inside = |id: EntryId| {
            let entry = entries.get(id);
            let arrives_from_inside = match entry.predecessor() {
                Some(from) => counted.contains(from),
                None => threads
                    .pops
                    .get(&id)
                    .is_none_or(|pops| pops.iter().all(|&(from, _)| counted.contains(from))),
            };
            counted.contains(entry.pushed_by) && arrives_from_inside
        };
        let mut events = Vec::new();
        if counted.contains(self.input.entry) {
            events.push(warps.start);
        }
        for (from, step, var) in &warps.steps {
            if !step.to.is_some_and(|to| counted.contains(to)) {
                continue;
            }
            let inside = match step.via {
                Via::Walk => counted.contains(*from),
                Via::Resume(id) => stays_inside(id),
            };
            if !inside {
                events.push(*var);
            }
        }
        self.add_loop_row(counted, warps, events, RowFamily::LoopLockstep);
    }

    /// Adds `Σ y(headers) ≤ T · y(start)` for each fact. Adds also `Σ x(headers) ≤ T`, if no lane that is pending
    /// while the warp executes a header can return to one (SOUNDNESS 5.6, 5.7).
    fn add_loop_total_rows(&mut self, threads: &LevelVariables, warps: &LevelVariables) {
        // A total counts the header executions in all contexts together, so the loops of one fact share a row.
        let mut facts: BTreeMap<usize, BTreeSet<NodeId>> = BTreeMap::new();
        for counted in self.input.loops {
            facts
                .entry(counted.fact)
                .or_default()
                .extend(&counted.headers);
        }
        let mut predecessors: BTreeMap<NodeId, Vec<NodeId>> = BTreeMap::new();
        for (from, step, _) in &threads.steps {
            if let Some(to) = step.to {
                predecessors.entry(to).or_default().push(*from);
            }
        }
        for (fact, headers) in facts {
            self.add_loop_total_row(threads, &headers, fact, RowFamily::TotalPerThread);
            if self.pending_lanes_cannot_return(&headers, &predecessors) {
                self.add_loop_total_row(warps, &headers, fact, RowFamily::TotalLockstep);
            }
        }
    }

    /// Whether no entry that is pending while the warp is at one of the headers resumes where a thread can reach a
    /// header.
    fn pending_lanes_cannot_return(
        &self,
        headers: &BTreeSet<NodeId>,
        predecessors: &BTreeMap<NodeId, Vec<NodeId>>,
    ) -> bool {
        let entries = self.input.entries;
        let pending = headers.iter().flat_map(|&h| (self.input.pending)(h));
        let resumed: BTreeSet<NodeId> = pending.map(|&id| entries.get(id).resume).collect();
        // Without pending lanes, every inactive lane has exited, and exited lanes never return.
        if resumed.is_empty() {
            return true;
        }
        // Backward reachability from the headers in the thread-level graph.
        // A resumed lane follows a path of that graph, whatever the other lanes do (SOUNDNESS 5.7).
        let mut reaching = headers.clone();
        let mut worklist: Vec<NodeId> = headers.iter().copied().collect();
        while let Some(node) = worklist.pop() {
            if resumed.contains(&node) {
                return false;
            }
            let more = predecessors.get(&node).into_iter().flatten();
            worklist.extend(more.filter(|&&from| reaching.insert(from)));
        }
        true
    }

    fn add_loop_total_row(
        &mut self,
        level: &LevelVariables,
        headers: &BTreeSet<NodeId>,
        fact: usize,
        family: RowFamily,
    ) {
        let arriving = headers
            .iter()
            .filter_map(|header| level.arriving.get(header));
        let mut terms: Vec<_> = arriving.flat_map(|vars| sum(vars, 1)).collect();
        terms.push((level.start, Factor::TimesTotal(-1, fact)));
        let header = headers.first().map_or(0, |h| h.0);
        let label = format!("loop total of node {header}");
        self.add_row(family, label, terms, RowRelation::AtMost, 0);
    }

    /// Adds `Σ y(steps) ≤ lanes` for steps that only some lanes take (SOUNDNESS 5.9).
    fn add_guarded_lane_rows(&mut self, threads: &LevelVariables) {
        let limits: BTreeMap<(NodeId, &WarpStep), usize> = self
            .input
            .lane_limits
            .iter()
            .enumerate()
            .flat_map(|(number, limit)| {
                let steps = limit.steps.iter();
                steps.map(move |step| ((limit.from, step), number))
            })
            .collect();
        if limits.is_empty() {
            return;
        }
        let mut terms = vec![Vec::new(); self.input.lane_limits.len()];
        for (from, step, var) in &threads.steps {
            if let Some(&number) = limits.get(&(*from, step)) {
                terms[number].push((*var, Factor::Number(1)));
            }
        }
        for (limit, terms) in self.input.lane_limits.iter().zip(terms) {
            let label = format!("lanes that pass node {}", limit.from.0);
            // A larger right side weakens the row, so saturation is sound.
            let lanes = i64::try_from(limit.lanes).unwrap_or(i64::MAX);
            self.add_row(
                RowFamily::GuardedLanes,
                label,
                terms,
                RowRelation::AtMost,
                lanes,
            );
        }
    }

    /// Adds `Σ arrivals at headers ≤ B · Σ entering`.
    fn add_loop_row(
        &mut self,
        counted: &CountedLoop,
        level: &LevelVariables,
        entering: Vec<CountVar>,
        family: RowFamily,
    ) {
        // A step that enters the loop at a header is on both sides.
        let mut factors: BTreeMap<CountVar, Vec<Factor>> = BTreeMap::new();
        for header in &counted.headers {
            for &var in level.arriving.get(header).into_iter().flatten() {
                factors.entry(var).or_default().push(Factor::Number(1));
            }
        }
        for var in entering {
            factors
                .entry(var)
                .or_default()
                .push(Factor::TimesBound(-1, counted.fact));
        }
        let terms = factors
            .into_iter()
            .flat_map(|(var, factors)| factors.into_iter().map(move |f| (var, f)))
            .collect();
        let header = counted.headers.first().map_or(0, |h| h.0);
        self.add_row(
            family,
            format!("loop of node {header}"),
            terms,
            RowRelation::AtMost,
            0,
        );
    }
}

/// Terms with the same factor for all variables.
fn sum(vars: &[CountVar], factor: i64) -> impl Iterator<Item = (CountVar, Factor)> + '_ {
    vars.iter().map(move |&v| (v, Factor::Number(factor)))
}
