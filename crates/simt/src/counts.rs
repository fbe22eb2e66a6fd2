//! What the SIMT rules imply for how often a warp executes each node: labelled linear rows.
//!
//! Unknowns are counts of warp steps (`x`) and of thread steps (`y`, summed over the lanes of the
//! warp). Three families of rows tie them together, beside flow conservation:
//!
//! * *thread flow*: each arrival of the warp over a thread-level edge carries at least one lane,
//!   so `x ≤ y`; the `y` carry the loop facts, which are per thread;
//! * *pops ≤ pushes* for each stack entry;
//! * *together*: where no lane that waits since the loop was entered can reach the header inside
//!   the loop, the lanes of later header executions are among those of earlier ones, so the warp
//!   executes the header at most `B` times for each time it enters the loop.
//!
//! Why each holds is argued in the project's `SOUNDNESS.md`.

use std::collections::{BTreeMap, BTreeSet};

use crate::warp::{WarpStep, Via, WarpState};
use crate::{EntryId, EntryTable, NodeId};

/// Index of a variable of a [`CountSystem`].
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct CountVar(pub usize);

/// What a variable counts.
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

/// A coefficient: a number, or a number times the bound of a loop fact.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Factor {
    /// This number.
    Number(i64),
    /// This number times the bound of the fact.
    TimesBound(i64, usize),
    /// This number times the total of the fact.
    TimesTotal(i64, usize),
}

/// Relation of the sum of a row's terms to its right side.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum RowRelation {
    /// At most.
    AtMost,
    /// Exactly.
    Exactly,
}

/// Which rule a row comes from.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Family {
    /// The warp or its lanes start once.
    Start,
    /// What enters a node leaves it.
    Flow,
    /// A warp step carries at least one lane.
    ThreadFlow,
    /// An entry is resumed at most as often as pushed.
    Pops,
    /// Loop fact, per thread.
    LoopPerThread,
    /// Loop fact, per warp-level entry of the loop.
    LoopTogether,
    /// Loop fact read as a bound of the warp-level loop.
    LoopOfWarp,
    /// Total of a loop, per thread.
    TotalPerThread,
    /// Total of a loop whose lanes stay together in the whole run.
    TotalTogether,
    /// Lanes that pass a branch which the thread's place in its block decides.
    Passing,
}

impl Family {
    /// Why rows of this family hold, in one clause.
    pub fn reason(self) -> &'static str {
        match self {
            Family::Start => "the kernel is entered once by the live lanes",
            Family::Flow => "what enters a node leaves it",
            Family::ThreadFlow => "each warp step carries at least one lane",
            Family::Pops => "an entry is resumed at most as often as it was pushed",
            Family::LoopPerThread => "loop fact: header executions per entry of each thread",
            Family::LoopTogether => "lanes that iterate together: the fact holds for the warp",
            Family::LoopOfWarp => "loop fact, taken as a bound of the warp-level loop",
            Family::TotalPerThread => "total of a loop: header executions of each thread",
            Family::TotalTogether => {
                "lanes that leave the loop do not come back: the total holds for the warp"
            }
            Family::Passing => {
                "the thread's place in its block decides which lanes go this way, each at most once"
            }
        }
    }
}

/// `Σ factor·variable  relation  constant`.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct CountRow {
    /// Terms.
    pub terms: Vec<(CountVar, Factor)>,
    /// Relation.
    pub relation: RowRelation,
    /// Right side.
    pub constant: i64,
    /// The rule.
    pub family: Family,
    /// What the row is about.
    pub label: String,
}

/// A loop of the thread-level graph for counting.
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
    /// Where the steps begin.
    pub from: NodeId,
    /// The steps, of which a lane takes one, once; or none.
    pub steps: Vec<WarpStep>,
    /// The most lanes of any warp that take one of them.
    pub lanes: u64,
}

/// Everything the rows are made of.
pub struct CountInput<'a> {
    /// The most live lanes of a warp.
    pub lanes: u64,
    /// Steps that only some of them take.
    pub limits: &'a [LaneLimit],
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
    /// What is known when the warp is at a node.
    pub state: &'a dyn Fn(NodeId) -> Option<&'a WarpState>,
}

/// Variables and rows.
#[derive(Clone, Debug, Default)]
pub struct CountSystem {
    /// What each variable counts.
    pub variables: Vec<CountKind>,
    /// Rows.
    pub rows: Vec<CountRow>,
    /// For each node, the variables whose sum is how often the warp executes it.
    pub executions: BTreeMap<NodeId, Vec<CountVar>>,
    /// For each loop of the input: the warp's lanes iterate it together.
    pub together: Vec<bool>,
}

impl CountSystem {
    /// Builds the system.
    pub fn run(input: &CountInput<'_>) -> CountSystem {
        let mut builder = Builder {
            input,
            system: CountSystem::default(),
        };
        let threads = builder.variables(input.thread, CountKind::ThreadStart, CountKind::ThreadStep);
        let warps = builder.variables(input.warp, CountKind::WarpStart, CountKind::WarpStep);
        let lanes = i64::try_from(input.lanes).unwrap_or(i64::MAX);
        builder.start(threads.start, RowRelation::AtMost, lanes, "lanes");
        builder.start(warps.start, RowRelation::Exactly, 1, "warp");
        builder.conserve(&threads, "thread");
        builder.conserve(&warps, "warp");
        builder.thread_flow(&threads, &warps);
        builder.pops(&threads, &warps);
        for counted in input.loops {
            builder.per_entry(counted, &threads, Family::LoopPerThread);
            builder.together(counted, &threads, &warps);
        }
        builder.totals(&threads, &warps);
        builder.passing(&threads);
        builder.system.executions = warps.arriving;
        builder.system
    }

    /// The system of `warp-cfg-2023` section 4, for comparison: the flow of the warp alone, each
    /// loop of the warp-level graph (`input.loops`) bounded by its fact. A fact about one thread
    /// does not bound a warp whose lanes iterate apart, so this is sound only for facts that
    /// are stated for the warp.
    pub fn of_paper(input: &CountInput<'_>) -> CountSystem {
        let mut builder = Builder {
            input,
            system: CountSystem::default(),
        };
        let warps = builder.variables(input.warp, CountKind::WarpStart, CountKind::WarpStep);
        builder.start(warps.start, RowRelation::Exactly, 1, "warp");
        builder.conserve(&warps, "warp");
        for counted in input.loops {
            builder.per_entry(counted, &warps, Family::LoopOfWarp);
        }
        builder.system.executions = warps.arriving;
        builder.system
    }

    /// Number of variables.
    pub fn len(&self) -> usize {
        self.variables.len()
    }

    /// No variables.
    pub fn is_empty(&self) -> bool {
        self.variables.is_empty()
    }
}

/// Steps of one level with their variables.
struct Level {
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
    fn variable(&mut self, counted: CountKind) -> CountVar {
        self.system.variables.push(counted);
        CountVar(self.system.variables.len() - 1)
    }

    fn row(
        &mut self,
        family: Family,
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

    fn variables(
        &mut self,
        steps: &[Vec<WarpStep>],
        start: CountKind,
        counted: fn(NodeId, WarpStep) -> CountKind,
    ) -> Level {
        let start = self.variable(start);
        let mut level = Level {
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
                let var = self.variable(counted(from, step.clone()));
                level.leaving.entry(from).or_default().push(var);
                if let Some(to) = step.to {
                    level.arriving.entry(to).or_default().push(var);
                }
                if let Via::Resume(id) = step.via {
                    level.pops.entry(id).or_default().push((from, var));
                }
                for &id in &step.pushes {
                    level.pushes.entry(id).or_default().push(var);
                }
                level.steps.push((from, step.clone(), var));
            }
        }
        level
    }

    fn start(&mut self, start: CountVar, relation: RowRelation, count: i64, name: &str) {
        self.row(
            Family::Start,
            format!("{name} start"),
            vec![(start, Factor::Number(1))],
            relation,
            count,
        );
    }

    fn conserve(&mut self, level: &Level, name: &str) {
        for (&node, arriving) in &level.arriving {
            let mut terms: Vec<_> = sum(arriving, 1).collect();
            if let Some(leaving) = level.leaving.get(&node) {
                terms.extend(sum(leaving, -1));
            }
            self.row(
                Family::Flow,
                format!("{name} flow of node {}", node.0),
                terms,
                RowRelation::Exactly,
                0,
            );
        }
    }

    /// `x ≤ y` for every thread-level edge, arrivals by a later resume included.
    fn thread_flow(&mut self, threads: &Level, warps: &Level) {
        #[derive(PartialEq, Eq, PartialOrd, Ord, Clone, Copy)]
        enum Edge {
            Walk(NodeId, NodeId),
            Unwind(EntryId),
        }
        let entries = self.input.entries;
        let edge_of = |from: NodeId, step: &WarpStep| {
            let to = step.to?;
            Some(match step.via {
                Via::Walk => Edge::Walk(from, to),
                Via::Resume(id) => {
                    let entry = entries.get(id);
                    match entry.left() {
                        Some(from) => Edge::Walk(from, entry.resume),
                        None => Edge::Unwind(id),
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
                Edge::Unwind(id) => {
                    let entry = entries.get(id);
                    format!("lanes that {} to {}", entry.tag.name(), entry.resume.0)
                }
            };
            self.row(Family::ThreadFlow, label, terms, RowRelation::AtMost, 0);
        }
    }

    fn pops(&mut self, threads: &Level, warps: &Level) {
        for (id, entry) in self.input.entries.iter() {
            let shared = self.input.shared_returns.contains(&id);
            for level in [Some(warps), shared.then_some(threads)]
                .into_iter()
                .flatten()
            {
                let Some(pops) = level.pops.get(&id) else {
                    continue;
                };
                let mut terms: Vec<_> = pops.iter().map(|&(_, v)| (v, Factor::Number(1))).collect();
                terms.extend(sum(level.pushes.get(&id).map_or(&[], Vec::as_slice), -1));
                self.row(
                    Family::Pops,
                    format!("{} to {}", entry.tag.name(), entry.resume.0),
                    terms,
                    RowRelation::AtMost,
                    0,
                );
            }
        }
    }

    /// `Σ headers ≤ B · entries of the loop`, at one level.
    fn per_entry(&mut self, counted: &CountedLoop, level: &Level, family: Family) {
        let mut entering = Vec::new();
        if counted.contains(self.input.entry) {
            entering.push(level.start);
        }
        for (from, step, var) in &level.steps {
            let crosses = step.to.is_some_and(|to| counted.contains(to));
            // A return into the loop from a shared context goes on with the call made there.
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
        self.loop_row(counted, level, entering, family);
    }

    /// `Σ x(headers) ≤ B · x(warp-level entries of the loop)`, where the lanes iterate together.
    fn together(&mut self, counted: &CountedLoop, threads: &Level, warps: &Level) {
        let entries = self.input.entries;
        let together = counted.headers.iter().all(|&header| {
            // A header that the warp never reaches holds nothing back.
            (self.input.state)(header).is_none_or(|state| {
                state.stack().ids().iter().all(|&id| {
                    let entry = entries.get(id);
                    !(counted.contains(entry.pushed_by) && counted.contains(entry.resume))
                })
            })
        });
        self.system.together.push(together);
        if !together {
            return;
        }
        let stays_inside = |id: EntryId| {
            let entry = entries.get(id);
            let leaves_inside = match entry.left() {
                Some(from) => counted.contains(from),
                None => threads
                    .pops
                    .get(&id)
                    .is_none_or(|pops| pops.iter().all(|&(from, _)| counted.contains(from))),
            };
            counted.contains(entry.pushed_by) && leaves_inside
        };
        let mut entering = Vec::new();
        if counted.contains(self.input.entry) {
            entering.push(warps.start);
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
                entering.push(*var);
            }
        }
        self.loop_row(counted, warps, entering, Family::LoopTogether);
    }

    /// For each fact, `Σ y(headers) ≤ T · y(start)`; and `Σ x(headers) ≤ T`, where no lane that waits while the warp is at a
    /// header can come to a header again.
    fn totals(&mut self, threads: &Level, warps: &Level) {
        let mut facts: BTreeMap<usize, BTreeSet<NodeId>> = BTreeMap::new();
        for counted in self.input.loops {
            facts
                .entry(counted.fact)
                .or_default()
                .extend(&counted.headers);
        }
        let mut before: BTreeMap<NodeId, Vec<NodeId>> = BTreeMap::new();
        for (from, step, _) in &threads.steps {
            if let Some(to) = step.to {
                before.entry(to).or_default().push(*from);
            }
        }
        for (fact, headers) in facts {
            self.total_row(threads, &headers, fact, Family::TotalPerThread);
            if self.waiting_lanes_stay_away(&headers, &before) {
                self.total_row(warps, &headers, fact, Family::TotalTogether);
            }
        }
    }

    /// Tells if from no entry that is pending while the warp is at one of the headers a thread comes to any of them.
    fn waiting_lanes_stay_away(
        &self,
        headers: &BTreeSet<NodeId>,
        before: &BTreeMap<NodeId, Vec<NodeId>>,
    ) -> bool {
        let entries = self.input.entries;
        let states = headers.iter().filter_map(|&h| (self.input.state)(h));
        let resumed: BTreeSet<NodeId> = states
            .flat_map(|state| state.stack().ids())
            .map(|&id| entries.get(id).resume)
            .collect();
        if resumed.is_empty() {
            return true;
        }
        let mut reaching = headers.clone();
        let mut rest: Vec<NodeId> = headers.iter().copied().collect();
        while let Some(node) = rest.pop() {
            if resumed.contains(&node) {
                return false;
            }
            let more = before.get(&node).into_iter().flatten();
            rest.extend(more.filter(|&&from| reaching.insert(from)));
        }
        true
    }

    fn total_row(
        &mut self,
        level: &Level,
        headers: &BTreeSet<NodeId>,
        fact: usize,
        family: Family,
    ) {
        let arriving = headers
            .iter()
            .filter_map(|header| level.arriving.get(header));
        let mut terms: Vec<_> = arriving.flat_map(|vars| sum(vars, 1)).collect();
        terms.push((level.start, Factor::TimesTotal(-1, fact)));
        let header = headers.first().map_or(0, |h| h.0);
        let label = format!("loop total of node {header}");
        self.row(family, label, terms, RowRelation::AtMost, 0);
    }

    /// `Σ y(steps) ≤ lanes` for steps that only some lanes take.
    fn passing(&mut self, threads: &Level) {
        let limits: BTreeMap<(NodeId, &WarpStep), usize> = self
            .input
            .limits
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
        let mut terms = vec![Vec::new(); self.input.limits.len()];
        for (from, step, var) in &threads.steps {
            if let Some(&number) = limits.get(&(*from, step)) {
                terms[number].push((*var, Factor::Number(1)));
            }
        }
        for (limit, terms) in self.input.limits.iter().zip(terms) {
            let label = format!("lanes that pass node {}", limit.from.0);
            let lanes = i64::try_from(limit.lanes).unwrap_or(i64::MAX);
            self.row(Family::Passing, label, terms, RowRelation::AtMost, lanes);
        }
    }

    fn loop_row(
        &mut self,
        counted: &CountedLoop,
        level: &Level,
        entering: Vec<CountVar>,
        family: Family,
    ) {
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
        self.row(
            family,
            format!("loop of node {header}"),
            terms,
            RowRelation::AtMost,
            0,
        );
    }
}

fn sum(vars: &[CountVar], factor: i64) -> impl Iterator<Item = (CountVar, Factor)> + '_ {
    vars.iter().map(move |&v| (v, Factor::Number(factor)))
}
