//! Static divergence analysis (`abstract-cta-2014` 3.1): branches, loads and barriers at which lanes may read different
//! values, or that only some of the lanes may execute, with an explanation.
//!
//! A value is divergent if it may differ between lanes that read it together: if it comes from a source (a value of
//! the lane's own), if an operand is divergent, or if a gate is divergent and selects between different operands; all
//! other values are uniform. For example, after `if (tid < 8) x = 1; else x = 2;` the value of `x` is divergent
//! because the gate is. Over [`Gsa`] that is reachability, so the shortest path from a source explains a divergent
//! value.
//!
//! The method assumes that lanes which diverge at a branch reconverge in the same iteration of the loops that they
//! stay in ([`crate::missed_reconvergence`] checks this against the warp-level graph), and that shared and global
//! memory is not written between the loads of lanes that diverged. No bound rests on either: bounds use
//! [`crate::agreement`], which decides at each node of the warp-level graph.

use std::collections::{BTreeMap, BTreeSet, HashMap, VecDeque};

use warpbound_ir::{Cell, Code, ControlEffect, Op, OpIndex, ValueDependence};
use warpbound_isa::SpecialReg;
use warpbound_isa::instr::MemorySpace;
use warpbound_simt::NodeId;

use crate::agreement::{AgreementRule, LaunchContext, agreeing_at_entry};
use crate::dependence::Dependence;
use crate::gsa::{Definition, Gsa, Input, ValueId};
use crate::thread_cfg::{ThreadCfg, indirect_base};

/// Origin of divergence.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum DivergenceSource {
    /// The initial content of the cell is unknown.
    Entry,
    /// The operation gives each lane a value of its own.
    Lane,
    /// A special register that differs between lanes, by its number.
    Special(SpecialReg),
    /// Memory that may differ for each lane, or over time.
    Load(MemorySpace),
    /// A function outside the file may write any cell.
    Callee,
    /// The resumed stack entry depends on the path of the lane.
    Stack,
    /// Each lane may take either side, whatever its cells hold.
    Choice,
}

/// Kind of a link of a [`Chain`].
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum LinkRole {
    /// Initial content of the cell.
    Entry,
    /// The operation writes the cell.
    Written,
    /// The operation writes the cell in lanes for which its condition holds: a γ.
    Conditional,
    /// γ of the cell, before the operation.
    Gamma,
    /// μ of the cell, before the operation.
    Mu,
    /// η of the cell, after the loop with a header at the operation.
    Eta,
    /// The operation calls a function outside the file.
    Callee,
    /// The operation chooses the successor of each lane.
    BranchOutcome,
}

/// Link of a chain: a value on the path from a source.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Link {
    /// Kind of the link.
    pub role: LinkRole,
    /// The operation.
    pub at: OpIndex,
    /// The node that contains it.
    pub node: NodeId,
    /// The cell that holds the value, if any does.
    pub cell: Option<Cell>,
}

/// Explanation of a divergent value: the path from it back to a source.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Chain {
    /// Node of the operation that the chain explains.
    pub node: NodeId,
    /// Links, from the operation to the source.
    pub links: Vec<Link>,
    /// Origin of the divergence of the last link.
    pub source: DivergenceSource,
}

/// Kind of a divergence query.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum QueryKind {
    /// A control operation with a condition, or an indirect jump: do the lanes take the same successor?
    Branch,
    /// A load: do the lanes load from the same address?
    Load,
    /// A barrier: do the lanes wait at the same one, all of them or none?
    Barrier,
}

/// Divergence of one operation, in all contexts.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct OpDivergence {
    /// The operation.
    pub at: OpIndex,
    /// Kind of the query.
    pub kind: QueryKind,
    /// Cells of the query: of the predicate or the jump, of the address, of the barrier's operands.
    pub cells: Vec<Cell>,
    /// Nodes that contain it, ascending: one for each context.
    pub nodes: Vec<NodeId>,
    /// Nodes whose lanes may read different values from the cells although they arrive together.
    pub divergent: BTreeSet<NodeId>,
    /// Shortest explanation of `divergent`.
    pub chain: Option<Chain>,
    /// For nodes of `divergent`, an earlier branch that has split the lanes by this very value, so
    /// that lanes which arrive together may hold equal values after all.
    pub split: BTreeMap<NodeId, OpIndex>,
    /// Nodes where only some of the live lanes may execute it: its guard is divergent, or a branch that decides
    /// whether it is reached.
    pub partial: BTreeSet<NodeId>,
    /// Shortest explanation of `partial`.
    pub partial_chain: Option<Chain>,
}

/// The divergence of a kernel.
#[derive(Clone, Debug)]
pub struct Divergence {
    /// Branches, loads and barriers that a thread may execute, by address.
    pub items: Vec<OpDivergence>,
    /// Number of values of the gated form that were needed.
    pub values: usize,
}

impl Divergence {
    /// Analyses a kernel.
    pub fn analyse(
        code: &Code,
        thread: &ThreadCfg,
        dependence: &Dependence,
        launch: &LaunchContext,
    ) -> Divergence {
        let mut gsa = Gsa::new(code, thread, dependence);
        let queries = collect_queries(code, thread, dependence, &mut gsa);
        gsa.complete_inputs();
        let divergent = DivergentValues::propagate(code, thread, dependence, launch, &gsa);
        let partial = PartialNodes::find(dependence, &gsa, &divergent);
        let splits = SplitBranches::find(&gsa);
        let mut items: BTreeMap<(OpIndex, QueryKind), OpDivergence> = BTreeMap::new();
        for query in &queries {
            let item = items
                .entry((query.at, query.kind))
                .or_insert_with(|| OpDivergence {
                    at: query.at,
                    kind: query.kind,
                    cells: query.values.iter().filter_map(|v| v.cell).collect(),
                    nodes: Vec::new(),
                    divergent: BTreeSet::new(),
                    chain: None,
                    split: BTreeMap::new(),
                    partial: BTreeSet::new(),
                    partial_chain: None,
                });
            item.nodes.push(query.node);
            let chain = |inputs: &[Input]| divergent.chain(&gsa, thread, query.node, inputs);
            if let Some(found) = chain(&query.values) {
                item.divergent.insert(query.node);
                if let Some(branch) = splits.before(dependence, &divergent, query) {
                    let last = thread.space.block(branch).last;
                    item.split.insert(query.node, last);
                }
                keep_shorter(&mut item.chain, found);
            }
            let outcome = partial.by[query.node.index()].map(|value| Input {
                value,
                cell: None,
                is_gate: true,
            });
            if let Some(found) = chain(&query.guard).or_else(|| chain(outcome.as_slice())) {
                item.partial.insert(query.node);
                keep_shorter(&mut item.partial_chain, found);
            }
        }
        Divergence {
            items: items.into_values().collect(),
            values: gsa.len(),
        }
    }
}

/// Replaces `known` by `found` if that is shorter.
fn keep_shorter(known: &mut Option<Chain>, found: Chain) {
    if known
        .as_ref()
        .is_none_or(|k| k.links.len() > found.links.len())
    {
        *known = Some(found);
    }
}

/// Divergence query: one operation in one node.
struct Query {
    node: NodeId,
    at: OpIndex,
    kind: QueryKind,
    values: Vec<Input>,
    /// Values of its guard, if the guard is not among `values`.
    guard: Vec<Input>,
}

/// Cells that choose the successor of each lane at the control operation that ends `node`; none if there is only one
/// successor.
pub fn deciding_cells(
    op: &Op,
    thread: &ThreadCfg,
    dependence: &Dependence,
    node: NodeId,
) -> Vec<Cell> {
    let mut cells = Vec::new();
    if op.control == ControlEffect::Next {
        return cells;
    }
    if !op.condition.is_never() {
        cells.extend(op.condition.cells());
    }
    if let ControlEffect::Indirect { .. } = op.control {
        let is_call = thread.resolved[node.index()]
            .as_ref()
            .is_some_and(|r| r.external.is_some());
        let successors = dependence.graph.successors(node.index()).len();
        // A condition alone accounts for one more successor.
        let without_register = if op.condition.is_always() { 1 } else { 2 };
        // A callee outside the file is no successor, but the register chooses it.
        if is_call || successors > without_register {
            cells.extend(indirect_base(&op.control));
        }
    }
    cells
}

/// Collects the queries of all operations, and creates the values of all branches.
fn collect_queries(
    code: &Code,
    thread: &ThreadCfg,
    dependence: &Dependence,
    gsa: &mut Gsa<'_>,
) -> Vec<Query> {
    let mut queries = Vec::new();
    for node in thread.space.ids().filter(|&node| thread.is_reached(node)) {
        let block = thread.space.block(node);
        for at in block.ops() {
            let Some(op) = code.get(at).filter(|op| !op.condition.is_never()) else {
                continue;
            };
            let mut read = |cells: &mut dyn Iterator<Item = Cell>| -> Vec<Input> {
                let input = |cell| Input {
                    value: gsa.value_before(node, at, cell),
                    cell: Some(cell),
                    is_gate: false,
                };
                cells.map(input).collect()
            };
            let deciding = deciding_cells(op, thread, dependence, node);
            if !deciding.is_empty() {
                queries.push(Query {
                    node,
                    at,
                    kind: QueryKind::Branch,
                    values: read(&mut deciding.into_iter()),
                    guard: Vec::new(),
                });
            }
            let other = match op.value {
                ValueDependence::Load(_) => Some(QueryKind::Load),
                _ if op.barrier => Some(QueryKind::Barrier),
                _ => None,
            };
            if let Some(kind) = other {
                queries.push(Query {
                    node,
                    at,
                    kind,
                    values: read(&mut op.reads.iter().copied()),
                    guard: read(&mut op.condition.cells()),
                });
            }
        }
        // A return may have several successors without a deciding cell, and nodes depend on it as on any branch.
        if dependence.graph.successors(node.index()).len() > 1 {
            gsa.branch_outcome(node);
        }
    }
    queries
}

/// Reason why a value is divergent.
#[derive(Clone, Copy)]
enum Cause {
    Source(DivergenceSource),
    Input(Input),
}

/// Divergent values, each with the first reason found.
struct DivergentValues {
    causes: Vec<Option<Cause>>,
}

impl DivergentValues {
    /// Propagates divergence breadth first from the sources, so that causes lead back along shortest paths.
    fn propagate(
        code: &Code,
        thread: &ThreadCfg,
        dependence: &Dependence,
        launch: &LaunchContext,
        gsa: &Gsa<'_>,
    ) -> DivergentValues {
        let source =
            |value| divergence_source(code, thread, dependence, launch, gsa.definition(value));
        let mut causes: Vec<Option<Cause>> = vec![None; gsa.len()];
        let mut worklist: VecDeque<ValueId> = VecDeque::new();
        for value in gsa.ids() {
            if let Some(found) = source(value) {
                causes[value.index()] = Some(Cause::Source(found));
                worklist.push_back(value);
            }
        }
        // Uses of each value, in compressed sparse rows: offsets into a list of (user, number of the input).
        let mut offsets = vec![0u32; gsa.len() + 1];
        for input in gsa.ids().flat_map(|user| gsa.inputs(user)) {
            offsets[input.value.index() + 1] += 1;
        }
        for i in 0..gsa.len() {
            offsets[i + 1] += offsets[i];
        }
        let mut ends = offsets.clone();
        let mut uses = vec![(ValueId(0), 0u32); offsets.last().map_or(0, |&n| n as usize)];
        for user in gsa.ids() {
            for (nth, input) in gsa.inputs(user).iter().enumerate() {
                let end = &mut ends[input.value.index()];
                uses[*end as usize] = (user, nth as u32);
                *end += 1;
            }
        }
        // One divergent input makes a value divergent, unless its operation gives equal results for any operands.
        while let Some(value) = worklist.pop_front() {
            let (first, end) = (offsets[value.index()], offsets[value.index() + 1]);
            for &(user, nth) in &uses[first as usize..end as usize] {
                if causes[user.index()].is_some() || is_always_uniform(code, launch, gsa, user) {
                    continue;
                }
                let input = gsa.inputs(user)[nth as usize];
                causes[user.index()] = Some(Cause::Input(input));
                worklist.push_back(user);
            }
        }
        DivergentValues { causes }
    }

    fn is_divergent(&self, value: ValueId) -> bool {
        self.causes[value.index()].is_some()
    }

    /// The chain of the first divergent value of `inputs`; `None` if all are uniform.
    fn chain(
        &self,
        gsa: &Gsa<'_>,
        thread: &ThreadCfg,
        node: NodeId,
        inputs: &[Input],
    ) -> Option<Chain> {
        let mut input = *inputs.iter().find(|i| self.is_divergent(i.value))?;
        let mut links: Vec<Link> = Vec::new();
        // Ends at a source: each cause was found before the value that it explains.
        loop {
            let definition = gsa.definition(input.value);
            let cause = self.causes[input.value.index()]?;
            let link = |node, at: OpIndex, role| {
                let cell = input.cell;
                Some(Link {
                    role,
                    at,
                    node,
                    cell,
                })
            };
            let first = |node, role| link(node, thread.space.block(node).first, role);
            let last = |node, role| link(node, thread.space.block(node).last, role);
            links.extend(match definition {
                Definition::Entry(_) => first(thread.entry, LinkRole::Entry),
                Definition::Op(node, at) => link(node, at, LinkRole::Written),
                // Where its result is the cause, the operation is the next link.
                Definition::Conditional(node, at, _) => match cause {
                    Cause::Input(next) if gsa.definition(next.value).is_op_at(at) => None,
                    _ => link(node, at, LinkRole::Conditional),
                },
                Definition::Callee(node) => last(node, LinkRole::Callee),
                Definition::Gamma(node, _) => first(node, LinkRole::Gamma),
                Definition::Mu(node, _) => first(node, LinkRole::Mu),
                Definition::Eta(left, ..) => {
                    let header = gsa.dependence().loops.get(left).headers.first();
                    header.and_then(|&header| first(NodeId(header as u32), LinkRole::Eta))
                }
                Definition::BranchOutcome(node) => last(node, LinkRole::BranchOutcome),
                Definition::JoinEdge(..) | Definition::LoopExit(_) => None,
            });
            match cause {
                Cause::Source(source) => {
                    return Some(Chain {
                        node,
                        links,
                        source,
                    });
                }
                Cause::Input(next) => input = next,
            }
        }
    }
}

impl Definition {
    fn is_op_at(self, at: OpIndex) -> bool {
        matches!(self, Definition::Op(_, op) if op == at)
    }
}

/// Whether a value is uniform for all operands (a vote, for instance).
fn is_always_uniform(code: &Code, launch: &LaunchContext, gsa: &Gsa<'_>, value: ValueId) -> bool {
    match gsa.definition(value) {
        Definition::Op(_, at) => code
            .get(at)
            .is_some_and(|op| launch.agreement_rule(op.value) == AgreementRule::Always),
        _ => false,
    }
}

/// The origin of divergence, if a definition is one.
fn divergence_source(
    code: &Code,
    thread: &ThreadCfg,
    dependence: &Dependence,
    launch: &LaunchContext,
    definition: Definition,
) -> Option<DivergenceSource> {
    match definition {
        Definition::Entry(cell) => {
            // All lanes read the same value from a register of the warp.
            let agrees = !cell.is_per_lane() || agreeing_at_entry(code).contains(cell.index());
            (!agrees).then_some(DivergenceSource::Entry)
        }
        Definition::Callee(_) => Some(DivergenceSource::Callee),
        Definition::Op(_, at) => {
            let op = code.get(at)?;
            match (launch.agreement_rule(op.value), op.value) {
                (AgreementRule::Never, ValueDependence::Special(register)) => {
                    Some(DivergenceSource::Special(register))
                }
                (AgreementRule::Never, ValueDependence::Load(space)) => {
                    Some(DivergenceSource::Load(space))
                }
                (AgreementRule::Never, _) => Some(DivergenceSource::Lane),
                _ => None,
            }
        }
        Definition::BranchOutcome(node) => {
            let decision = dependence.decision(code, thread, node.index())?;
            match (decision.by_stack, decision.freely) {
                (true, _) => Some(DivergenceSource::Stack),
                (_, true) => Some(DivergenceSource::Choice),
                _ => None,
            }
        }
        _ => None,
    }
}

/// Nodes that only some of the live lanes may execute.
struct PartialNodes {
    /// For each node, the outcome of a divergent branch on which it is control dependent.
    by: Vec<Option<ValueId>>,
}

impl PartialNodes {
    /// Finds the nodes that are transitively control dependent on divergent branches, for lanes that do not exit.
    fn find(dependence: &Dependence, gsa: &Gsa<'_>, divergent: &DivergentValues) -> PartialNodes {
        let len = dependence.exit();
        let mut depends: Vec<Vec<usize>> = vec![Vec::new(); len];
        for node in 0..len {
            // Lanes that took a conditional EXIT are not live, so they make no node partial.
            for &branch in &dependence.live_controllers[node] {
                depends[branch].push(node);
            }
        }
        let mut by: Vec<Option<ValueId>> = vec![None; len];
        let mut worklist = VecDeque::new();
        for value in gsa.ids().filter(|&value| divergent.is_divergent(value)) {
            if let Definition::BranchOutcome(branch) = gsa.definition(value) {
                worklist.push_back((branch.index(), value));
            }
        }
        while let Some((branch, value)) = worklist.pop_front() {
            for &node in &depends[branch] {
                if by[node].is_none() {
                    by[node] = Some(value);
                    worklist.push_back((node, value));
                }
            }
        }
        PartialNodes { by }
    }
}

/// Branches by the only value that their condition depends on.
struct SplitBranches {
    by: HashMap<ValueId, Vec<NodeId>>,
}

impl SplitBranches {
    fn find(gsa: &Gsa<'_>) -> SplitBranches {
        let mut by: HashMap<ValueId, Vec<NodeId>> = HashMap::new();
        for outcome in gsa.ids() {
            // A branch on several values may send lanes one way that differ in one of them.
            if let (Definition::BranchOutcome(branch), [input]) =
                (gsa.definition(outcome), gsa.inputs(outcome))
            {
                by.entry(input.value).or_default().push(branch);
            }
        }
        SplitBranches { by }
    }

    /// The closest dominating branch that depends on the only divergent value of `query`.
    fn before(
        &self,
        dependence: &Dependence,
        divergent: &DivergentValues,
        query: &Query,
    ) -> Option<NodeId> {
        let mut values = query.values.iter().map(|input| input.value);
        let value = values.find(|&value| divergent.is_divergent(value))?;
        if values.any(|other| other != value && divergent.is_divergent(other)) {
            return None;
        }
        let here = query.node.index();
        // The branch that ends the node comes after the query, or is the query itself.
        let above = |branch: &&NodeId| {
            branch.index() != here && dependence.dominators.dominates(branch.index(), here)
        };
        let all = self.by.get(&value)?.iter().filter(above);
        // Dominators of a node lie on one path of the tree, so the last one in preorder is the closest.
        let closest = all.max_by_key(|branch| dependence.dominators.span(branch.index()).0);
        closest.copied()
    }
}
