//! Determinacy: what must be known to compute a value, and so to know which way a branch goes.
//!
//! A value is determined by its *origins*: parameters of the launch, the index and sizes of the block, the index of
//! the thread, loaded data, and everything else (clocks, results of atomics, registers that were never written). A
//! value without any is a constant. For example, `a[threadIdx.x] > 0` has the origins param (the pointer), thread and
//! data.
//!
//! Origins flow as divergence does, over [`Gsa`]: from operands, from conditions, and from the branches that gates
//! select by, so that implicit flows are included. A value that lanes exchange also depends on the active lanes, and
//! so on all branches that decide which lanes are there.
//!
//! Divergence says whether lanes may part at a branch; determinacy says who can know where they go (SOUNDNESS 15).

mod conditions;
mod sources;

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::fmt;

use warpbound_ir::{Cell, Code, ControlEffect, OpIndex};
use warpbound_simt::NodeId;

use crate::dependence::Dependence;
use crate::divergence::deciding_cells;
use crate::gsa::{Definition, Gsa, Input, ValueId};
use crate::thread_cfg::ThreadCfg;

pub use conditions::SymbolicCondition;

/// Set of origins of a value.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub struct Origins(u8);

impl Origins {
    /// No origin: constants.
    pub const CONSTANT: Origins = Origins(0);
    /// Parameters, and other constant memory that a launch fills.
    pub const PARAM: Origins = Origins(1);
    /// Index of the block, sizes of block and grid.
    pub const BLOCK: Origins = Origins(2);
    /// Index of the thread or lane, masks of lanes.
    pub const THREAD: Origins = Origins(4);
    /// Loads from memory that is not constant.
    pub const DATA: Origins = Origins(8);
    /// Clocks, numbers of the machine, results of atomics, unknown initial contents.
    pub const OTHER: Origins = Origins(16);

    /// Each origin with its name, from what is known earliest.
    pub const ALL: [(Origins, &'static str); 5] = [
        (Origins::PARAM, "param"),
        (Origins::BLOCK, "block"),
        (Origins::THREAD, "thread"),
        (Origins::DATA, "data"),
        (Origins::OTHER, "other"),
    ];

    /// Returns the union with another set.
    #[must_use]
    pub const fn with(self, other: Origins) -> Origins {
        Origins(self.0 | other.0)
    }

    /// Returns whether the set has all origins of another one.
    pub const fn has(self, other: Origins) -> bool {
        self.0 & other.0 == other.0
    }

    /// Returns the names of the origins, from what is known earliest.
    pub fn names(self) -> impl Iterator<Item = &'static str> {
        let all = Origins::ALL.into_iter();
        all.filter_map(move |(origin, name)| self.has(origin).then_some(name))
    }
}

impl fmt::Display for Origins {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names: Vec<&str> = self.names().collect();
        match names.is_empty() {
            true => f.write_str("constant"),
            false => f.write_str(&names.join(" + ")),
        }
    }
}

/// Loads from which a value comes.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct LoadSites {
    /// The loads; some of them, if there are too many.
    pub ops: BTreeSet<OpIndex>,
    /// Whether there are more than [`LoadSites::MOST`].
    pub are_more: bool,
}

impl LoadSites {
    /// Maximum number of loads that are listed.
    pub const MOST: usize = 8;

    /// Adds loads; returns whether that changes anything.
    fn append(&mut self, other: &LoadSites) -> bool {
        let before = (self.ops.len(), self.are_more);
        self.are_more |= other.are_more;
        for &at in &other.ops {
            if self.ops.len() < LoadSites::MOST {
                self.ops.insert(at);
            } else {
                // The list is full, but it may have this load already.
                self.are_more |= !self.ops.contains(&at);
            }
        }
        before != (self.ops.len(), self.are_more)
    }
}

/// Link of the explanation of an origin: a value on the way from the branch to its source.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct OriginLink {
    /// The operation; for a gate, the first of its node.
    pub at: OpIndex,
    /// The cell that holds the value, if any does.
    pub cell: Option<Cell>,
    /// Whether the value chooses among others: an implicit flow.
    pub is_gate: bool,
}

/// Knowledge that is needed to evaluate the condition or target of a branch.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Determined {
    /// Origins of the cells that it reads, in all contexts.
    pub origins: Origins,
    /// Loads among them.
    pub loads: LoadSites,
    /// For each origin, links from the branch to a source.
    pub chains: BTreeMap<Origins, Vec<OriginLink>>,
    /// Its condition, in the first of its contexts.
    pub condition: Option<SymbolicCondition>,
}

/// Determinacy of a kernel.
#[derive(Clone, Debug)]
pub struct Determinacy {
    /// Control operations with several successors: what decides where each lane goes.
    pub branches: BTreeMap<OpIndex, Determined>,
    /// Blocks by first operation: what decides whether a thread executes them, and how often.
    pub blocks: BTreeMap<OpIndex, Origins>,
    /// Blocks at the outgoing edges of each branch, by first operation.
    pub successors: BTreeMap<OpIndex, BTreeSet<OpIndex>>,
    /// For the last operation of a block that is not a branch, the block that follows in the first of its contexts.
    pub next: BTreeMap<OpIndex, OpIndex>,
}

/// Planted fault, for tests: a rule that is left out.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum DeterminacyFault {
    /// None.
    #[default]
    None,
    /// Gates select without a condition: implicit flows are dropped.
    NoImplicitFlow,
    /// Special registers of threads count as registers of the block.
    ThreadAsBlock,
    /// Exchanges of lanes do not depend on which lanes are active.
    NoActiveLanes,
}

impl Determinacy {
    /// Analyses a kernel. With `reconverges`, lanes that part at a branch are known to meet where the branch no
    /// longer decides what runs; otherwise each branch may decide which lanes are active anywhere after it.
    pub fn analyse(
        code: &Code,
        thread: &ThreadCfg,
        dependence: &Dependence,
        reconverges: bool,
    ) -> Determinacy {
        let fault = DeterminacyFault::None;
        Determinacy::analyse_with_fault(code, thread, dependence, reconverges, fault)
    }

    /// Like [`Determinacy::analyse`], with a rule left out, to test that tests find it.
    pub fn analyse_with_fault(
        code: &Code,
        thread: &ThreadCfg,
        dependence: &Dependence,
        reconverges: bool,
        fault: DeterminacyFault,
    ) -> Determinacy {
        let mut gsa = Gsa::new(code, thread, dependence);
        let mut branches = Vec::new();
        for node in thread.space.ids().filter(|&node| thread.is_reached(node)) {
            let at = thread.space.block(node).last;
            let Some(op) = code.get(at).filter(|op| op.control != ControlEffect::Next) else {
                continue;
            };
            let cells = deciding_cells(op, thread, dependence, node);
            let splits = dependence.graph.successors(node.index()).len() > 1;
            let outcome = splits.then(|| gsa.branch_outcome(node));
            if splits || !cells.is_empty() {
                let input = |cell| Input {
                    value: gsa.value_before(node, at, cell),
                    cell: Some(cell),
                    is_gate: false,
                };
                let inputs: Vec<Input> = cells.into_iter().map(input).collect();
                let condition = conditions::find(code, &mut gsa, node, at);
                branches.push((node, at, inputs, outcome, condition));
            }
        }
        // Before the inputs are completed, because these values need inputs as well.
        add_writes_of_exchanged(code, thread, &mut gsa);
        gsa.complete_inputs();
        let flow = OriginFlow {
            code,
            thread,
            dependence,
            reconverges,
            fault,
        };
        let values = OriginValues::propagate(&flow, &gsa);
        let mut found = Determinacy {
            branches: BTreeMap::new(),
            blocks: BTreeMap::new(),
            successors: BTreeMap::new(),
            next: next_blocks(thread, dependence),
        };
        for (node, at, mut inputs, outcome, condition) in branches {
            inputs.extend(outcome.map(|value| Input {
                value,
                cell: None,
                is_gate: false,
            }));
            let determined = found.branches.entry(at).or_default();
            values.add_inputs(&gsa, thread, &inputs, determined);
            determined.condition = determined.condition.take().or(condition);
            let successors = dependence.graph.successors(node.index()).iter();
            let blocks = successors.filter(|&&to| to != dependence.exit());
            let blocks = blocks.map(|&to| thread.space.block(NodeId(to as u32)).first);
            let listed = found.successors.entry(at).or_default();
            listed.extend(blocks);
        }
        found.find_blocks(thread, dependence);
        found
    }

    /// Finds the origins that decide the executions of each block: the origins of the branches on which it is control
    /// dependent, transitively.
    fn find_blocks(&mut self, thread: &ThreadCfg, dependence: &Dependence) {
        let reached: Vec<NodeId> = thread
            .space
            .ids()
            .filter(|&node| thread.is_reached(node))
            .collect();
        let mut origins = vec![Origins::CONSTANT; thread.space.len()];
        // Terminates, because each round except the last adds one of five origins to some node.
        let mut changes = true;
        while changes {
            changes = false;
            for node in &reached {
                let controllers = dependence.controllers.get(node.index());
                let mut all = origins[node.index()];
                for &branch in controllers.into_iter().flatten() {
                    let last = thread.space.block(NodeId(branch as u32)).last;
                    let own = self.branches.get(&last).map(|found| found.origins);
                    all = all.with(own.unwrap_or_default()).with(origins[branch]);
                }
                changes |= all != origins[node.index()];
                origins[node.index()] = all;
            }
        }
        for node in reached {
            let block = self.blocks.entry(thread.space.block(node).first);
            let known = block.or_default();
            *known = known.with(origins[node.index()]);
        }
    }

    /// Returns the blocks that the rule of `efficient-instrumentation-2014` (3.1) calls tainted: those at the outgoing
    /// edges of branches whose condition depends on the index of the thread. By first operation.
    pub fn tainted_blocks(&self) -> BTreeSet<OpIndex> {
        let tainted = self.branches.iter();
        let tainted = tainted.filter(|(_, found)| found.origins.has(Origins::THREAD));
        let successors = tainted.filter_map(|(at, _)| self.successors.get(at));
        successors.flatten().copied().collect()
    }
}

/// Creates the values of all writes of cells that shuffles exchange: a lane that is not active may hold any of them.
fn add_writes_of_exchanged(code: &Code, thread: &ThreadCfg, gsa: &mut Gsa<'_>) {
    let exchanged: BTreeSet<Cell> = code.ops.iter().flat_map(sources::exchanged_cells).collect();
    if exchanged.is_empty() {
        return;
    }
    for node in thread.space.ids().filter(|&node| thread.is_reached(node)) {
        for at in thread.space.block(node).ops() {
            let op = code.get(at);
            if op.is_some_and(|op| op.writes.iter().any(|cell| exchanged.contains(cell))) {
                gsa.result_of(node, at);
            }
        }
    }
}

/// For the last operation of each block with one successor, that block.
fn next_blocks(thread: &ThreadCfg, dependence: &Dependence) -> BTreeMap<OpIndex, OpIndex> {
    let mut next = BTreeMap::new();
    for node in thread.space.ids().filter(|&node| thread.is_reached(node)) {
        if let [to] = dependence.graph.successors(node.index())
            && *to != dependence.exit()
        {
            let last = thread.space.block(node).last;
            let to = thread.space.block(NodeId(*to as u32)).first;
            next.entry(last).or_insert(to);
        }
    }
    next
}

/// Rules along which origins flow.
struct OriginFlow<'a> {
    code: &'a Code,
    thread: &'a ThreadCfg,
    dependence: &'a Dependence,
    reconverges: bool,
    fault: DeterminacyFault,
}

impl OriginFlow<'_> {
    /// Branches that decide whether, and how often, a thread executes a node.
    fn deciding_branches(&self, node: NodeId) -> Vec<NodeId> {
        let mut found = BTreeSet::new();
        let mut worklist = vec![node.index()];
        while let Some(node) = worklist.pop() {
            let controllers = self.dependence.controllers.get(node);
            for &branch in controllers.into_iter().flatten() {
                if found.insert(branch) {
                    worklist.push(branch);
                }
            }
        }
        found.into_iter().map(|node| NodeId(node as u32)).collect()
    }

    /// Branches that decide which lanes are active at a node.
    fn splitting_branches(&self, node: NodeId) -> Vec<NodeId> {
        if self.reconverges {
            return self.deciding_branches(node);
        }
        // Without reconvergence, any branch before the node may have split its lanes.
        let before = self.dependence.reversed.reachable([node.index()]);
        let nodes = self.thread.space.ids();
        let branches = nodes.filter(|node| {
            before.get(node.index()).copied().unwrap_or(true)
                && self.dependence.graph.successors(node.index()).len() > 1
        });
        branches.collect()
    }

    /// Cells that a definition may read in lanes that are not active.
    fn exchanged_cells(&self, definition: Definition) -> Vec<Cell> {
        match definition {
            Definition::Op(_, at) if self.fault != DeterminacyFault::NoActiveLanes => self
                .code
                .get(at)
                .map_or(Vec::new(), sources::exchanged_cells),
            _ => Vec::new(),
        }
    }

    /// Results of operations, by the cells that they write.
    fn writes(&self, gsa: &Gsa<'_>) -> BTreeMap<Cell, Vec<ValueId>> {
        let mut writes: BTreeMap<Cell, Vec<ValueId>> = BTreeMap::new();
        for value in gsa.ids() {
            if let Definition::Op(_, at) = gsa.definition(value) {
                let cells = self.code.get(at).map(|op| op.writes.iter());
                for &cell in cells.into_iter().flatten() {
                    writes.entry(cell).or_default().push(value);
                }
            }
        }
        writes
    }

    /// Branches on which a definition depends in addition to the inputs of its gate.
    fn hidden_branches(&self, definition: Definition) -> Vec<NodeId> {
        match definition {
            Definition::Op(node, at) => {
                let exchanges = self.code.get(at).is_some_and(sources::exchanges_lanes);
                match exchanges && self.fault != DeterminacyFault::NoActiveLanes {
                    true => self.splitting_branches(node),
                    false => Vec::new(),
                }
            }
            _ => Vec::new(),
        }
    }

    /// Whether a definition is the choice of the entry where lanes resume. This follows from their paths, and so from
    /// all branches.
    fn is_by_stack(&self, definition: Definition) -> bool {
        let Definition::BranchOutcome(node) = definition else {
            return false;
        };
        let decision = self
            .dependence
            .decision(self.code, self.thread, node.index());
        decision.is_some_and(|decision| decision.by_stack || decision.freely)
    }
}

/// Reason why a value has an origin.
#[derive(Clone, Copy)]
enum OriginCause {
    Source,
    Value(ValueId, Option<Cell>, bool),
}

/// Origins of all values, with the first reason found for each.
struct OriginValues {
    origins: Vec<Origins>,
    loads: Vec<LoadSites>,
    causes: BTreeMap<(Origins, ValueId), OriginCause>,
}

/// Choices that follow from the path of a lane, and so from the outcome of each branch.
struct Paths {
    by_stack: Vec<ValueId>,
}

impl Paths {
    /// The choices that follow from a value because it is the outcome of a branch.
    fn after(&self, definition: Definition) -> &[ValueId] {
        match definition {
            Definition::BranchOutcome(_) => &self.by_stack,
            _ => &[],
        }
    }
}

/// Uses of a value: the value that reads it, from which cell, and whether as a gate.
type Uses = Vec<Vec<(ValueId, Option<Cell>, bool)>>;

impl OriginValues {
    /// Propagates origins breadth first from their sources, so that causes lead back along shortest paths.
    fn propagate(flow: &OriginFlow<'_>, gsa: &Gsa<'_>) -> OriginValues {
        let mut uses: Uses = vec![Vec::new(); gsa.len()];
        let mut outcomes: BTreeMap<NodeId, ValueId> = BTreeMap::new();
        for value in gsa.ids() {
            if let Definition::BranchOutcome(node) = gsa.definition(value) {
                outcomes.insert(node, value);
            }
        }
        let writes = flow.writes(gsa);
        for user in gsa.ids() {
            for cell in flow.exchanged_cells(gsa.definition(user)) {
                for written in writes.get(&cell).into_iter().flatten() {
                    uses[written.index()].push((user, Some(cell), false));
                }
            }
            for input in gsa.inputs(user) {
                if !(input.is_gate && flow.fault == DeterminacyFault::NoImplicitFlow) {
                    uses[input.value.index()].push((user, input.cell, input.is_gate));
                }
            }
            for branch in flow.hidden_branches(gsa.definition(user)) {
                if let Some(outcome) = outcomes.get(&branch) {
                    uses[outcome.index()].push((user, None, true));
                }
            }
        }
        let mut values = OriginValues {
            origins: vec![Origins::CONSTANT; gsa.len()],
            loads: vec![LoadSites::default(); gsa.len()],
            causes: BTreeMap::new(),
        };
        // All branches lead to one value, which no cell holds, and that to the choices by the stack.
        let paths = Paths {
            by_stack: gsa
                .ids()
                .filter(|&value| flow.is_by_stack(gsa.definition(value)))
                .collect(),
        };
        // One origin after the other, so that the causes of each lead back along shortest paths.
        for (origin, _) in Origins::ALL {
            values.propagate_origin(flow, gsa, &uses, &paths, origin);
        }
        values.propagate_loads(flow, gsa, &uses, &paths);
        values
    }

    fn propagate_origin(
        &mut self,
        flow: &OriginFlow<'_>,
        gsa: &Gsa<'_>,
        uses: &Uses,
        paths: &Paths,
        origin: Origins,
    ) {
        let mut worklist = VecDeque::new();
        let mut paths_have_it = false;
        for value in gsa.ids() {
            let own = sources::origins(flow.code, gsa.definition(value), flow.fault);
            if own.has(origin) {
                self.origins[value.index()] = self.origins[value.index()].with(origin);
                self.causes.insert((origin, value), OriginCause::Source);
                worklist.push_back(value);
            }
        }
        while let Some(value) = worklist.pop_front() {
            let mut users = uses[value.index()].clone();
            let after = paths.after(gsa.definition(value));
            if !paths_have_it && !after.is_empty() {
                paths_have_it = true;
                users.extend(after.iter().map(|&user| (user, None, true)));
            }
            for (user, cell, is_gate) in users {
                let known = &mut self.origins[user.index()];
                if !known.has(origin) {
                    *known = known.with(origin);
                    let cause = OriginCause::Value(value, cell, is_gate);
                    self.causes.insert((origin, user), cause);
                    worklist.push_back(user);
                }
            }
        }
    }

    fn propagate_loads(
        &mut self,
        flow: &OriginFlow<'_>,
        gsa: &Gsa<'_>,
        uses: &Uses,
        paths: &Paths,
    ) {
        let mut worklist = VecDeque::new();
        let mut of_paths = LoadSites::default();
        for value in gsa.ids() {
            if let Definition::Op(_, at) = gsa.definition(value)
                && sources::origins(flow.code, gsa.definition(value), flow.fault).has(Origins::DATA)
            {
                self.loads[value.index()].ops.insert(at);
                worklist.push_back(value);
            }
        }
        while let Some(value) = worklist.pop_front() {
            let loads = self.loads[value.index()].clone();
            let mut users: Vec<ValueId> = uses[value.index()].iter().map(|used| used.0).collect();
            let after = paths.after(gsa.definition(value));
            if !after.is_empty() && of_paths.append(&loads) {
                users.extend(after);
            }
            for user in users {
                // Terminates, because the lists only grow, and only up to their limit.
                if self.loads[user.index()].append(&loads) {
                    worklist.push_back(user);
                }
            }
        }
    }

    /// Adds the origins of the inputs of a branch in one node.
    fn add_inputs(
        &self,
        gsa: &Gsa<'_>,
        thread: &ThreadCfg,
        inputs: &[Input],
        determined: &mut Determined,
    ) {
        for input in inputs {
            let origins = self.origins[input.value.index()];
            determined.origins = determined.origins.with(origins);
            determined.loads.append(&self.loads[input.value.index()]);
            for (origin, _) in Origins::ALL {
                if !origins.has(origin) {
                    continue;
                }
                let chain = self.chain(gsa, thread, origin, input);
                let known = determined.chains.get(&origin);
                // The shortest explanation over all inputs and contexts stays.
                if known.is_none_or(|known| known.len() > chain.len()) {
                    determined.chains.insert(origin, chain);
                }
            }
        }
    }

    /// Links from a value to a source of one of its origins.
    fn chain(
        &self,
        gsa: &Gsa<'_>,
        thread: &ThreadCfg,
        origin: Origins,
        input: &Input,
    ) -> Vec<OriginLink> {
        let (mut value, mut cell, mut is_gate) = (input.value, input.cell, input.is_gate);
        let mut links: Vec<OriginLink> = Vec::new();
        // Ends at a source: each cause was found before the value that it explains.
        loop {
            let at = match gsa.definition(value) {
                Definition::Entry(_) => Some(thread.space.block(thread.entry).first),
                Definition::Op(_, at) | Definition::Conditional(_, at, _) => Some(at),
                Definition::Callee(node) | Definition::BranchOutcome(node) => {
                    Some(thread.space.block(node).last)
                }
                Definition::Gamma(node, _) | Definition::Mu(node, _) => {
                    Some(thread.space.block(node).first)
                }
                Definition::Eta(..) | Definition::JoinEdge(..) | Definition::LoopExit(_) => None,
            };
            if let Some(at) = at.filter(|&at| links.last().is_none_or(|last| last.at != at)) {
                links.push(OriginLink { at, cell, is_gate });
            }
            match self.causes.get(&(origin, value)) {
                Some(&OriginCause::Value(next, from, gate)) => {
                    (value, cell, is_gate) = (next, from, gate);
                }
                Some(OriginCause::Source) | None => return links,
            }
        }
    }
}
