//! Claims of the analyses about each step of a warp, and the check of a step against them.
//!
//! For example, the analysis claims that the active lanes agree on R4 before an operation. Whenever a warp is about
//! to execute the operation, the check compares R4 in its active lanes. The state is checked before each operation,
//! the edge after the last operation of a block (SOUNDNESS 9.2).

use std::collections::BTreeMap;
use std::fmt;
use std::ops::Range;

use warpbound_analyse::LaunchContext;
use warpbound_analyse::access::{AccessClass, StatedAccess};
use warpbound_analyse::agreement::{GuardedWrites, UsedAssumptions, apply_data_effect};
use warpbound_analyse::context::ContextId;
use warpbound_analyse::indirect::IndirectJump;
use warpbound_analyse::program_space::ContextBlock;
use warpbound_analyse::stated_data::RangedLoad;
use warpbound_ipet::{Never, NeverIndex};
use warpbound_ir::{Cell, Code, OpIndex};
use warpbound_simt::activation_stack::{ActivationStack, StackEntry};
use warpbound_simt::groups::{ACTIVE, GroupRelation};
use warpbound_simt::warp::{CellSet, ControlOp, Via, WarpState};
use warpbound_simt::{EntryId, EntrySite, Mask, NodeId, Tag};

use super::loops::LoopIndex;
use warpbound_query::KernelFlow;

/// Maximum number of stack entries, from the top, that are compared pairwise. All pairs of a deep recursion would
/// take too long.
const MAX_DEPTH: usize = 32;

/// Program point with a label that observers attach, such as a calling context.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Point<C> {
    /// The operation.
    pub op: OpIndex,
    /// The label.
    pub label: C,
}

/// Program point in a calling context.
pub type ClaimPoint = Point<ContextId>;

/// Kind of claim.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Claim {
    /// Warps execute only nodes of the graph.
    Node,
    /// The lanes of a group hold equal values in a cell (`warp-cfg-2023` 3.3).
    Agreement,
    /// The stack contains only entries of the stack graph, in its order (3.1).
    Stack,
    /// Relations between groups of lanes (3.2).
    Relation,
    /// Warps take only edges of the graph.
    Edge,
    /// Effects of instructions on the activation stack.
    Machine,
    /// Requests, transactions, sectors, lines and conflicts of memory accesses.
    Access,
    /// The user's facts about memory accesses.
    AccessFact,
    /// Ranges of the numbers in buffers.
    Data,
    /// Vector accesses of waves stay out of what the runtime owns, unless they follow its pointers (`runtime-memory`).
    RuntimeMemory,
}

impl Claim {
    /// Returns the name in reports.
    pub fn name(self) -> &'static str {
        match self {
            Claim::Node => "node",
            Claim::Agreement => "agreement",
            Claim::Stack => "stack",
            Claim::Relation => "relation",
            Claim::Edge => "edge",
            Claim::Machine => "machine",
            Claim::Access => "access",
            Claim::AccessFact => "fact",
            Claim::Data => "data",
            Claim::RuntimeMemory => "runtime-memory",
        }
    }
}

/// Step of a warp that contradicts a claim.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Violation {
    /// Kind of the claim.
    pub claim: Claim,
    /// Operation that the warp was about to execute.
    pub at: OpIndex,
    /// Description, one clause.
    pub message: String,
}

impl fmt::Display for Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

/// Claims about the warps of a launch.
pub struct Claims<'a> {
    /// Code of the kernel.
    pub code: &'a Code,
    /// Facts of the launch that the analyses used.
    pub launch: LaunchContext,
    /// Control flow of the kernel.
    pub flow: KernelFlow,
    /// Classes of memory accesses in the launch that is run (`warpbound_bounds::access::access_classes`). An
    /// operation without a class is not compared.
    pub accesses: BTreeMap<OpIndex, AccessClass>,
    /// Counts of accesses that the user states.
    pub stated_accesses: BTreeMap<OpIndex, StatedAccess>,
    /// Loads of values whose range the launch states.
    pub loaded: BTreeMap<OpIndex, RangedLoad>,
    /// Addresses that no vector access of the launch touches, as its bound in cycles assumes.
    pub runtime_memory: Vec<Range<u64>>,
    /// First operation of the block of each operation.
    first: Vec<OpIndex>,
    /// Cells that the code names. Agreement on another cell decides nothing, and comparing hundreds of them before each
    /// instruction takes most of the time of an audit.
    named: CellSet,
    /// Cells on which the active lanes agree before each operation: by node, then by operation of its block.
    active_agreement: Vec<Vec<CellSet>>,
    /// Loops by header node.
    pub(crate) loops: LoopIndex,
    /// The user's `never` statements about blocks and edges, and their number.
    never: NeverIndex,
    never_statements: usize,
}

impl<'a> Claims<'a> {
    /// Collects the claims of `flow` about `code`.
    pub fn new(code: &'a Code, launch: LaunchContext, flow: KernelFlow) -> Self {
        let mut claims = Claims {
            code,
            launch,
            flow,
            accesses: BTreeMap::new(),
            stated_accesses: BTreeMap::new(),
            runtime_memory: Vec::new(),
            loaded: BTreeMap::new(),
            first: Vec::new(),
            named: CellSet::default(),
            active_agreement: Vec::new(),
            loops: LoopIndex::default(),
            never: NeverIndex::default(),
            never_statements: 0,
        };
        claims.refresh();
        claims
    }

    /// Adds the user's `never` statements.
    #[must_use]
    pub fn with_never(mut self, never: &[Never]) -> Self {
        self.never = NeverIndex::new(never);
        self.never_statements = never.len();
        self
    }

    /// Returns the number of `never` statements.
    pub(crate) fn never_count(&self) -> usize {
        self.never_statements
    }

    /// Returns the numbers of the `never` statements that a thread violates by a step `from` one node `to` another;
    /// `from` is `None` at the start of the thread.
    pub fn violated_never(
        &self,
        from: Option<NodeId>,
        to: NodeId,
    ) -> impl Iterator<Item = usize> + use<'_> {
        // Every lane asks at every block, so the usual case without statements must be cheap.
        let found = (!self.never.is_empty())
            .then(|| self.flow.violated_never(self.code, &self.never, from, to));
        found.into_iter().flatten()
    }

    /// Recomputes derived data after a test has changed the public fields.
    pub fn refresh(&mut self) {
        let KernelFlow { thread, warp, .. } = &self.flow;
        let agreements = |node| {
            let mut list = Vec::new();
            let Some(mut state) = warp.state(node).cloned() else {
                return list;
            };
            // Complementary writes lie in one block (SOUNDNESS 4.4), so each block begins without a half.
            let (mut halves, mut used) = (GuardedWrites::default(), UsedAssumptions::default());
            let code = thread.lane_code(self.code);
            for op in thread.space.block(node).ops() {
                list.push(*state.agreement(ACTIVE));
                if let Some(op) = code.get(op) {
                    apply_data_effect(&mut state, op, &self.launch, &mut halves, &mut used);
                }
            }
            list
        };
        self.active_agreement = thread.space.ids().map(agreements).collect();
        // The lanes of a wave execute code of their own.
        self.named = named_cells(self.code);
        self.named.union(&named_cells(thread.lane_code(self.code)));
        let mut block_starts = OpIndex::default();
        let first_of = |op| {
            if thread.space.blocks.starting_at(op).is_some() {
                // Operations come in order, so the last start that was seen is the start of the current block.
                block_starts = op;
            }
            block_starts
        };
        let ops = (0..self.code.ops.len() as u32).map(OpIndex);
        self.first = ops.map(first_of).collect();
        self.loops = LoopIndex::of(&self.flow);
    }

    /// Adds the claim that the active lanes agree on a cell before an operation: a planted fault that tests use.
    pub fn claim_agreement(&mut self, at: OpIndex, cell: Cell) {
        for node in self.flow.thread.space.ids() {
            let first = self.flow.thread.space.block(node).first;
            let nth = at.index().checked_sub(first.index());
            let list = self.active_agreement.get_mut(node.index());
            if let Some(set) = nth.and_then(|nth| list?.get_mut(nth)) {
                set.insert(cell.index());
            }
        }
    }

    /// Returns the node that starts at a point.
    pub fn node_of(&self, point: ClaimPoint) -> Option<NodeId> {
        let space = &self.flow.thread.space;
        let block = space.blocks.starting_at(point.op)?;
        let context = point.label;
        space.find(ContextBlock { block, context })
    }

    /// Returns the node whose block contains a point.
    pub fn node_around(&self, point: ClaimPoint) -> Option<NodeId> {
        let op = *self.first.get(point.op.index())?;
        self.node_of(Point { op, ..point })
    }

    /// Returns the calling context of the lanes that the indirect jump at a point takes to an operation.
    ///
    /// A context is a name that the graph gives to what follows a jump (SOUNDNESS 5.10). So the context comes from
    /// the node of that operation among the jump's targets. Without such a node the context stays, and the check of
    /// the step finds no edge.
    pub fn context_after_jump(&self, at: ClaimPoint, to: OpIndex) -> ContextId {
        let space = &self.flow.thread.space;
        let resolved = self
            .node_around(at)
            .and_then(|here| self.flow.thread.resolved.get(here.index())?.as_ref());
        let targets: &[NodeId] = match resolved.map(|control| &control.op) {
            Some(ControlOp::IndirectJump { targets, .. }) => targets,
            _ => &[],
        };
        targets
            .iter()
            .find(|&&node| space.block(node).first == to)
            .map_or(at.label, |&node| space.node(node).context)
    }

    /// Whether the next operation lies in the same block.
    pub(crate) fn is_inside(&self, op: OpIndex) -> bool {
        self.first
            .get(op.index() + 1)
            .is_some_and(|&first| first <= op)
    }

    /// Returns the abstract entry that a stack entry belongs to, if the analyses know one.
    fn entry_id(&self, entry: &StackEntry<ClaimPoint>) -> Option<EntryId> {
        self.flow.thread.space.entries.find(EntrySite {
            pushed_by: self.node_around(entry.pushed_by)?,
            resume: self.node_of(entry.next)?,
            tag: entry.tag,
            reconvergence: None,
        })
    }

    /// Checks the claims about the state of a warp that is about to execute the top of its stack. `agree` returns
    /// whether lanes hold equal values in a cell.
    pub fn check_state(
        &self,
        stack: &ActivationStack<ClaimPoint>,
        agree: &dyn Fn(Cell, Mask) -> bool,
        found: &mut Vec<Violation>,
    ) {
        let Some(top) = stack.top() else {
            return;
        };
        let Some((here, nth)) = self.check_active(top.next, top.mask, agree, found) else {
            return;
        };
        // Claims about pending entries are claims about the beginning of a block (SOUNDNESS 9.2).
        let Some(state) = self.flow.warp.state(here).filter(|_| nth == 0) else {
            return;
        };
        let mut add = |claim, message| {
            let at = top.next.op;
            found.push(Violation { claim, at, message });
        };
        let disagreed = |agreed: &CellSet, mask| self.disagreed_cells(agreed, mask, agree);
        let mut groups = vec![(ACTIVE, top.mask)];
        let mut ids = Vec::new();
        for entry in stack.pending().iter().rev() {
            let id = self.entry_id(entry);
            let slot = id.and_then(|id| state.stack().slot(id));
            let (Some(id), Some(slot)) = (id, slot) else {
                let message = format!(
                    "a {} is on the stack, which is claimed to be impossible",
                    entry_text(entry)
                );
                // The order below cannot be compared with an entry that the graph does not have.
                return add(Claim::Stack, message);
            };
            // Entries are collected from the top down, the direction of paths in the stack graph (SOUNDNESS 4.1).
            ids.push(id);
            // The check of the order below needs all entries, so collecting goes on without pairwise comparisons.
            if ids.len() > MAX_DEPTH {
                continue;
            }
            groups.push((slot, entry.mask));
            for cell in disagreed(state.agreement(slot), entry.mask) {
                let lanes = entry_text(entry);
                let message = format!("the lanes of a {lanes} are claimed to agree on {cell}");
                add(Claim::Agreement, message);
            }
        }
        check_nesting(stack, &mut add);
        if !state.stack().contains(&ids) {
            let message = "the entries on the stack have an order that is claimed to be impossible"
                .to_owned();
            add(Claim::Stack, message);
        }
        check_relations(state, &groups, &mut add);
    }

    /// Checks the claims about lanes that are about to execute an operation together. Returns the node around it, and the
    /// number of the operation in the node; `None` if the graph has no such node.
    pub fn check_active(
        &self,
        point: ClaimPoint,
        lanes: Mask,
        agree: &dyn Fn(Cell, Mask) -> bool,
        found: &mut Vec<Violation>,
    ) -> Option<(NodeId, usize)> {
        let at = point.op;
        let mut add = |claim, message| found.push(Violation { claim, at, message });
        let node = self.node_around(point);
        let Some(here) = node.filter(|here| self.flow.warp.state(*here).is_some()) else {
            let message = "the graph has no node here that a warp executes".to_owned();
            add(Claim::Node, message);
            return None;
        };
        let nth = at.index() - self.flow.thread.space.block(here).first.index();
        let agreed = self.active_agreement.get(here.index());
        let Some(agreed) = agreed.and_then(|agreed| agreed.get(nth)) else {
            let message = "the block of the node has no operation here".to_owned();
            add(Claim::Node, message);
            return None;
        };
        for cell in self.disagreed_cells(agreed, lanes, agree) {
            let message = format!("the active lanes are claimed to agree on {cell}");
            add(Claim::Agreement, message);
        }
        Some((here, nth))
    }

    /// Returns the cells on which lanes do not agree, of those on which they are claimed to.
    fn disagreed_cells(
        &self,
        agreed: &CellSet,
        lanes: Mask,
        agree: &dyn Fn(Cell, Mask) -> bool,
    ) -> Vec<Cell> {
        let mut compared = *agreed;
        compared.intersect(&self.named);
        let mut disagreed = Vec::new();
        compared.for_each(|index| {
            let cell = Cell::from_index(index);
            disagreed.extend(cell.filter(|&cell| !agree(cell, lanes)));
        });
        disagreed
    }

    /// Checks the step that a warp has taken from the last operation of a block. `exhausted`: all lanes have left the
    /// running entry.
    pub fn check_step(
        &self,
        before: &ActivationStack<ClaimPoint>,
        after: &ActivationStack<ClaimPoint>,
        exhausted: bool,
        found: &mut Vec<Violation>,
    ) {
        let Some(top) = before.top() else {
            return;
        };
        let at = top.next.op;
        let mut add = |claim, message| found.push(Violation { claim, at, message });
        let Some(here) = self.node_around(top.next) else {
            // `check_state` has reported it.
            return;
        };
        // Edges leave from the last operation of a block, so the steps before it have no claim.
        if self.flow.thread.space.block(here).last != at {
            return;
        }
        let next = after.top();
        let to = next.and_then(|next| self.node_of(next.next));
        let target = match next {
            Some(next) => self.op_address(next.next.op),
            None => "the end".to_owned(),
        };
        if next.is_some() && to.is_none() {
            let message = format!("the step to {target} is no edge: no node begins there");
            return add(Claim::Edge, message);
        }
        // `Via::Resume` names the entry that the pop made active (SOUNDNESS 4.1); `Via::Walk` is a step of active
        // lanes. The end of a warp resumes no entry, so its edge is a walk.
        let via = if exhausted && to.is_some() {
            // The entry that runs now, as it was before the pop made it the active one. By nesting (SOUNDNESS 3.2),
            // only the uppermost entries can become empty, so the remaining entries keep their indices.
            let entry = before.pending().get(after.pending().len()).or(before.top());
            match entry.and_then(|entry| self.entry_id(entry)) {
                Some(id) => Via::Resume(id),
                None => {
                    let message = format!("the step to {target} is no edge: it resumes no entry");
                    return add(Claim::Edge, message);
                }
            }
        } else {
            Via::Walk
        };
        let mut pushed = Vec::new();
        // An entry is exhausted by a pop or an exit, and neither pushes.
        if !exhausted {
            for entry in after.pending().iter().skip(before.pending().len()) {
                match self.entry_id(entry) {
                    Some(id) => pushed.push(id),
                    None => {
                        let message =
                            format!("it pushes a {}, which is no entry", entry_text(entry));
                        add(Claim::Stack, message);
                    }
                }
            }
        }
        let steps = self.flow.warp.graph.steps.get(here.index());
        let steps = || steps.into_iter().flatten();
        let matches_edge = |step: &&_| is_step(step, to, via);
        let known = steps()
            .filter(matches_edge)
            .any(|step| pushed.iter().all(|id| step.pushes.contains(id)));
        let manner = match via {
            Via::Walk => "by active lanes",
            Via::Resume(_) => "by resuming pending lanes",
        };
        if !known {
            let with = match pushed.len() {
                0 => String::new(),
                n => format!(" with {n} pushed"),
            };
            let message = format!("the step to {target} {manner}{with} is no edge");
            add(Claim::Edge, message);
        }
        // Count rows count pushes by edge, so an edge without the push must not stand for an edge with it.
        let exact = steps()
            .filter(matches_edge)
            .any(|step| pushed.is_empty() == step.pushes.is_empty());
        if known && !exact {
            let message = format!("the pushes of the step to {target} are not on the edge");
            add(Claim::Edge, message);
        }
    }

    /// Returns the step between two stacks: from the node whose block the operation ends, to the next node or to the
    /// end of the warp. `None` inside a block, and where the graph has no node.
    pub fn step_between(
        &self,
        before: &ActivationStack<ClaimPoint>,
        after: &ActivationStack<ClaimPoint>,
    ) -> Option<(NodeId, Option<NodeId>)> {
        let top = before.top()?;
        let here = self.node_around(top.next)?;
        if self.flow.thread.space.block(here).last != top.next.op {
            return None;
        }
        let to = match after.top() {
            Some(next) => Some(self.node_of(next.next)?),
            None => None,
        };
        Some((here, to))
    }

    fn op_address(&self, op: OpIndex) -> String {
        match self.code.get(op) {
            Some(op) => op.addr.to_string(),
            None => format!("#{}", op.0),
        }
    }
}

/// Returns the cells that operations read or write.
fn named_cells(code: &Code) -> CellSet {
    let mut named = CellSet::default();
    for op in &code.ops {
        let base = IndirectJump::of(&op.control).and_then(|jump| jump.base);
        let read = op.reads.iter().copied().chain(op.condition.cells());
        for cell in read.chain(op.writes.iter().copied()).chain(base) {
            named.insert(cell.index());
        }
    }
    named
}

/// Whether an edge has this destination and this kind.
fn is_step(step: &warpbound_simt::warp::WarpStep, to: Option<NodeId>, via: Via) -> bool {
    step.to == to && step.via == via
}

/// Formats the kind of a stack entry for messages.
fn entry_text(entry: &StackEntry<ClaimPoint>) -> String {
    match entry.tag {
        Tag::Nil => "group of pending lanes".to_owned(),
        tag => format!("{} entry", tag.name()),
    }
}

/// Checks the nesting of lanes that `StackGraph::filter` relies on (SOUNDNESS 3.2): a pending group is disjoint from
/// the lanes above it, a tagged entry contains them.
fn check_nesting(stack: &ActivationStack<ClaimPoint>, add: &mut dyn FnMut(Claim, String)) {
    let deeper = stack.pending().len().saturating_sub(MAX_DEPTH);
    for (depth, lower) in stack.pending().iter().enumerate().skip(deeper) {
        let above = stack.pending().iter().skip(depth + 1).chain(stack.top());
        let nested = |upper: &StackEntry<ClaimPoint>| match lower.tag {
            Tag::Nil => upper.mask & lower.mask == 0,
            _ => upper.mask & !lower.mask == 0,
        };
        if !above.into_iter().all(nested) {
            let message = format!("the lanes of a {} are not nested", entry_text(lower));
            add(Claim::Stack, message);
        }
    }
}

/// Checks the claimed relations between all pairs of groups (`warp-cfg-2023` 3.2).
fn check_relations(
    state: &WarpState,
    groups: &[(usize, Mask)],
    add: &mut dyn FnMut(Claim, String),
) {
    for (i, &(a, lanes_a)) in groups.iter().enumerate() {
        for (j, &(b, lanes_b)) in groups.iter().enumerate() {
            if i == j {
                continue;
            }
            // All ordered pairs are compared, because the relations are not symmetric: a subset of b says nothing of
            // b in a.
            let claimed = state.groups().get(a, b);
            let holds = [
                (GroupRelation::SUBSET, lanes_a & !lanes_b == 0, "within"),
                (
                    GroupRelation::DISJOINT,
                    lanes_a & lanes_b == 0,
                    "disjoint from",
                ),
                (
                    GroupRelation::EXCEEDS,
                    lanes_a & !lanes_b != 0,
                    "not within",
                ),
            ];
            for (relation, holds, words) in holds {
                if claimed.has(relation) && !holds {
                    let message = format!("group {a} of lanes is claimed to be {words} group {b}");
                    add(Claim::Relation, message);
                }
            }
        }
    }
}
