//! Static divergence analysis: which branches, loads and barriers may find different values, or only
//! some of the lanes, and why (`abstract-cta-2014` section 3.1).
//!
//! A value is divergent when it may differ between lanes that read it together. It is so when it comes
//! from a source (what a lane has of its own), when an operand is, or when a gate is and decides between
//! different operands; everything else is uniform. Over [`Gsa`] that is reachability, so the shortest way
//! from a source explains a divergent value.
//!
//! The method takes for granted that lanes which part at a branch meet again in the same round of the
//! loops that they stay in ([`crate::meeting`] says how, and where the machine may do otherwise), and that
//! shared and global memory is not written between the moments at which they load from it apart. No bound
//! rests on either.

use std::collections::{BTreeMap, BTreeSet, HashMap, VecDeque};

use warpbound_ir::{Cell, Code, ControlEffect, Op, OpIndex, ValueDependence};
use warpbound_isa::instr::MemorySpace;
use warpbound_simt::NodeId;

use crate::agreement::{AgreementRule, LaunchContext, agreeing_at_entry};
use crate::dependence::Dependence;
use crate::gsa::{Definition, Gsa, Input, ValueId};
use crate::thread_cfg::{ThreadCfg, indirect_base};

/// Why a value is divergent that no other value makes so.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum DivergenceSource {
    /// Nothing is known of what the cell holds when the kernel begins.
    Entry,
    /// The operation gives each lane a value of its own.
    Lane,
    /// A special register that differs between lanes, by its number.
    Special(u8),
    /// Memory that may hold something else for each lane, or at each moment.
    Load(MemorySpace),
    /// A function outside the file may leave anything.
    Callee,
    /// Which stack entry is resumed depends on the way that a lane has come.
    Stack,
}

/// What a link of a chain is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum LinkRole {
    /// The cell when the kernel begins.
    Entry,
    /// The operation writes the cell.
    Written,
    /// The operation writes the cell in lanes for which its condition holds: a γ.
    Conditional,
    /// γ of the cell, before the operation.
    Gamma,
    /// μ of the cell, before the operation.
    Mu,
    /// η of the cell, behind the loop with a header at the operation.
    Eta,
    /// The operation calls a function outside the file.
    Callee,
    /// The operation decides which way lanes go.
    BranchOutcome,
}

/// One step of a chain.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Link {
    /// What it is.
    pub role: LinkRole,
    /// The operation.
    pub at: OpIndex,
    /// The node that contains it.
    pub node: NodeId,
    /// The cell that holds the value.
    pub cell: Option<Cell>,
}

/// From something divergent back to a source.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Chain {
    /// The node in which the operation is that the chain explains.
    pub node: NodeId,
    /// Its steps.
    pub links: Vec<Link>,
    /// Why the last of them is divergent.
    pub source: DivergenceSource,
}

/// What an operation is asked for.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum QueryKind {
    /// A control operation with a condition, or an indirect jump: do the lanes go the same way?
    Branch,
    /// A load: do the lanes load from the same address?
    Load,
    /// A barrier: do the lanes wait at the same one, all of them or none?
    Barrier,
}

/// What is known of one operation, in all contexts.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct OpDivergence {
    /// The operation.
    pub at: OpIndex,
    /// What it is asked for.
    pub kind: QueryKind,
    /// Cells that answer: of the predicate or the jump, of the address, of the barrier's operands.
    pub cells: Vec<Cell>,
    /// Nodes that contain it, ascending: one for each context.
    pub nodes: Vec<NodeId>,
    /// Nodes in which lanes that come here together may find different values in the cells.
    pub divergent: BTreeSet<NodeId>,
    /// Why, where that is shortest to say.
    pub chain: Option<Chain>,
    /// For nodes in which they may, a branch before it that has sorted the lanes by just this value, so
    /// that lanes which come here together may hold the same after all.
    pub split: BTreeMap<NodeId, OpIndex>,
    /// Nodes in which it may be executed by some of the live lanes only: its guard is divergent, or a
    /// branch that decides whether it is reached.
    pub partial: BTreeSet<NodeId>,
    /// Why, where that is shortest to say.
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
        let asked = ask(code, thread, dependence, &mut gsa);
        gsa.complete_inputs();
        let spread = Spread::run(code, thread, dependence, launch, &gsa);
        let parted = Parted::run(dependence, &gsa, &spread);
        let sorted = Sorted::run(&gsa);
        let mut items: BTreeMap<(OpIndex, QueryKind), OpDivergence> = BTreeMap::new();
        for question in &asked {
            let item = items
                .entry((question.at, question.kind))
                .or_insert_with(|| OpDivergence {
                    at: question.at,
                    kind: question.kind,
                    cells: question.values.iter().filter_map(|v| v.cell).collect(),
                    nodes: Vec::new(),
                    divergent: BTreeSet::new(),
                    chain: None,
                    split: BTreeMap::new(),
                    partial: BTreeSet::new(),
                    partial_chain: None,
                });
            item.nodes.push(question.node);
            let chain = |inputs: &[Input]| spread.chain(&gsa, thread, question.node, inputs);
            if let Some(found) = chain(&question.values) {
                item.divergent.insert(question.node);
                if let Some(branch) = sorted.before(dependence, &spread, question) {
                    let last = thread.space.block(branch).last;
                    item.split.insert(question.node, last);
                }
                shorter(&mut item.chain, found);
            }
            let way = parted.by[question.node.index()].map(|value| Input {
                value,
                cell: None,
                is_gate: true,
            });
            if let Some(found) = chain(&question.guard).or_else(|| chain(way.as_slice())) {
                item.partial.insert(question.node);
                shorter(&mut item.partial_chain, found);
            }
        }
        Divergence {
            items: items.into_values().collect(),
            values: gsa.len(),
        }
    }
}

fn shorter(known: &mut Option<Chain>, found: Chain) {
    if known
        .as_ref()
        .is_none_or(|k| k.links.len() > found.links.len())
    {
        *known = Some(found);
    }
}

/// What is asked for of one operation in one node.
struct Question {
    node: NodeId,
    at: OpIndex,
    kind: QueryKind,
    values: Vec<Input>,
    /// Values of a guard that is not among them.
    guard: Vec<Input>,
}

/// The cells that decide where lanes go behind the control operation that ends `node`; none where there
/// is nothing to decide.
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
        let ways = dependence.graph.successors(node.index()).len();
        let alone = if op.condition.is_always() { 1 } else { 2 };
        if is_call || ways > alone {
            cells.extend(indirect_base(&op.control));
        }
    }
    cells
}

/// Every question about the code, and the gates of everything that parts lanes.
fn ask(
    code: &Code,
    thread: &ThreadCfg,
    dependence: &Dependence,
    gsa: &mut Gsa<'_>,
) -> Vec<Question> {
    let mut asked = Vec::new();
    for node in thread.space.ids().filter(|&node| thread.is_reached(node)) {
        let block = thread.space.block(node);
        for at in block.ops() {
            let Some(op) = code.get(at).filter(|op| !op.condition.is_never()) else {
                continue;
            };
            let mut read = |cells: &mut dyn Iterator<Item = Cell>| -> Vec<Input> {
                let input = |cell| Input {
                    value: gsa.before(node, at, cell),
                    cell: Some(cell),
                    is_gate: false,
                };
                cells.map(input).collect()
            };
            let deciding = deciding_cells(op, thread, dependence, node);
            if !deciding.is_empty() {
                asked.push(Question {
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
                asked.push(Question {
                    node,
                    at,
                    kind,
                    values: read(&mut op.reads.iter().copied()),
                    guard: read(&mut op.condition.cells()),
                });
            }
        }
        if dependence.graph.successors(node.index()).len() > 1 {
            gsa.branch_outcome(node);
        }
    }
    asked
}

/// Why a value became divergent.
#[derive(Clone, Copy)]
enum Cause {
    Source(DivergenceSource),
    Input(Input),
}

/// Which values are divergent, and why each became so first.
struct Spread {
    causes: Vec<Option<Cause>>,
}

impl Spread {
    /// Breadth first from the sources, so that causes lead back by shortest ways.
    fn run(
        code: &Code,
        thread: &ThreadCfg,
        dependence: &Dependence,
        launch: &LaunchContext,
        gsa: &Gsa<'_>,
    ) -> Spread {
        let source = |value| source(code, thread, dependence, launch, gsa.definition(value));
        let mut causes: Vec<Option<Cause>> = vec![None; gsa.len()];
        let mut waiting: VecDeque<ValueId> = VecDeque::new();
        for value in gsa.ids() {
            if let Some(found) = source(value) {
                causes[value.index()] = Some(Cause::Source(found));
                waiting.push_back(value);
            }
        }
        // Where a value is an input, by value: offsets into a list of (user, input).
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
        while let Some(value) = waiting.pop_front() {
            let (first, end) = (offsets[value.index()], offsets[value.index() + 1]);
            for &(user, nth) in &uses[first as usize..end as usize] {
                if causes[user.index()].is_some() || is_immune(code, launch, gsa, user) {
                    continue;
                }
                let input = gsa.inputs(user)[nth as usize];
                causes[user.index()] = Some(Cause::Input(input));
                waiting.push_back(user);
            }
        }
        Spread { causes }
    }

    fn is_divergent(&self, value: ValueId) -> bool {
        self.causes[value.index()].is_some()
    }

    /// The chain of the first divergent one of `inputs`; none where all are uniform.
    fn chain(
        &self,
        gsa: &Gsa<'_>,
        thread: &ThreadCfg,
        node: NodeId,
        inputs: &[Input],
    ) -> Option<Chain> {
        let mut input = *inputs.iter().find(|i| self.is_divergent(i.value))?;
        let mut links: Vec<Link> = Vec::new();
        loop {
            let definition = gsa.definition(input.value);
            let cause = self.causes[input.value.index()]?;
            let place = |node, at: OpIndex, role| {
                let cell = input.cell;
                Some(Link {
                    role,
                    at,
                    node,
                    cell,
                })
            };
            let first = |node, role| place(node, thread.space.block(node).first, role);
            let last = |node, role| place(node, thread.space.block(node).last, role);
            links.extend(match definition {
                Definition::Entry(_) => first(thread.entry, LinkRole::Entry),
                Definition::Op(node, at) => place(node, at, LinkRole::Written),
                // The operation itself is the next link where the value that it writes is the cause.
                Definition::Conditional(node, at, _) => match cause {
                    Cause::Input(next) if gsa.definition(next.value).is_op_at(at) => None,
                    _ => place(node, at, LinkRole::Conditional),
                },
                Definition::Callee(node) => last(node, LinkRole::Callee),
                Definition::Gamma(node, _) => first(node, LinkRole::Gamma),
                Definition::Mu(node, _) => first(node, LinkRole::Mu),
                Definition::Eta(left, ..) => {
                    let header = gsa.dependence().loops.get(left).headers.first();
                    header.and_then(|&header| first(NodeId(header as u32), LinkRole::Eta))
                }
                Definition::BranchOutcome(node) => last(node, LinkRole::BranchOutcome),
                Definition::Choice(..) | Definition::LoopExit(_) => None,
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

/// What lanes find is equal whatever they read.
fn is_immune(code: &Code, launch: &LaunchContext, gsa: &Gsa<'_>, value: ValueId) -> bool {
    match gsa.definition(value) {
        Definition::Op(_, at) => code
            .get(at)
            .is_some_and(|op| launch.agreement_rule(op.value) == AgreementRule::Always),
        _ => false,
    }
}

/// The source that a value is.
fn source(
    code: &Code,
    thread: &ThreadCfg,
    dependence: &Dependence,
    launch: &LaunchContext,
    definition: Definition,
) -> Option<DivergenceSource> {
    match definition {
        Definition::Entry(cell) => {
            let agrees = agreeing_at_entry(code).contains(cell.index());
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
            decision.by_stack.then_some(DivergenceSource::Stack)
        }
        _ => None,
    }
}

/// Where some of the live lanes may be missing.
struct Parted {
    /// For each node, which way it was that others went.
    by: Vec<Option<ValueId>>,
}

impl Parted {
    fn run(dependence: &Dependence, gsa: &Gsa<'_>, spread: &Spread) -> Parted {
        let len = dependence.exit();
        let mut depends: Vec<Vec<usize>> = vec![Vec::new(); len];
        for node in 0..len {
            for &branch in &dependence.live_controllers[node] {
                depends[branch].push(node);
            }
        }
        let mut by: Vec<Option<ValueId>> = vec![None; len];
        let mut waiting = VecDeque::new();
        for value in gsa.ids().filter(|&value| spread.is_divergent(value)) {
            if let Definition::BranchOutcome(branch) = gsa.definition(value) {
                waiting.push_back((branch.index(), value));
            }
        }
        while let Some((branch, value)) = waiting.pop_front() {
            for &node in &depends[branch] {
                if by[node].is_none() {
                    by[node] = Some(value);
                    waiting.push_back((node, value));
                }
            }
        }
        Parted { by }
    }
}

/// Which branches go by which values.
struct Sorted {
    by: HashMap<ValueId, Vec<NodeId>>,
}

impl Sorted {
    fn run(gsa: &Gsa<'_>) -> Sorted {
        let mut by: HashMap<ValueId, Vec<NodeId>> = HashMap::new();
        for way in gsa.ids() {
            if let (Definition::BranchOutcome(branch), [input]) =
                (gsa.definition(way), gsa.inputs(way))
            {
                by.entry(input.value).or_default().push(branch);
            }
        }
        Sorted { by }
    }

    /// The last branch that is surely passed before and goes by the one divergent value asked for.
    fn before(
        &self,
        dependence: &Dependence,
        spread: &Spread,
        question: &Question,
    ) -> Option<NodeId> {
        let mut divergent = question.values.iter().map(|input| input.value);
        let value = divergent.find(|&value| spread.is_divergent(value))?;
        if divergent.any(|other| other != value && spread.is_divergent(other)) {
            return None;
        }
        let here = question.node.index();
        let above = |branch: &&NodeId| {
            branch.index() != here && dependence.dominators.dominates(branch.index(), here)
        };
        let all = self.by.get(&value)?.iter().filter(above);
        let closest = all.max_by_key(|branch| dependence.dominators.span(branch.index()).0);
        closest.copied()
    }
}
