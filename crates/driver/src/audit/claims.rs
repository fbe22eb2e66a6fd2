//! What the analyses claim of every step of a warp, and whether one step is as they claim.

use std::fmt;

use warpbound_analyse::LaunchContext;
use warpbound_analyse::agreement::{Halves, Used, apply};
use warpbound_analyse::context::ContextId;
use warpbound_analyse::space::ContextBlock;
use warpbound_bound::{Never, NeverIndex};
use warpbound_ir::{Cell, Code, OpIndex};
use warpbound_simt::concrete::{ActivationStack, Mask, StackEntry};
use warpbound_simt::groups::{ACTIVE, GroupRelation};
use warpbound_simt::warp::{CellSet, Via, WarpState};
use warpbound_simt::{EntrySite, EntryId, NodeId, Tag};

use super::loops::LoopIndex;
use crate::KernelFlow;

/// So many of the uppermost entries of a stack are compared with each other: recursion without end would take for ever.
const DEEPEST: usize = 32;

/// A program point with a label that observers attach (a calling context).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Point<C> {
    /// The operation.
    pub op: OpIndex,
    /// The label.
    pub label: C,
}

/// A point in a calling context.
pub type ClaimPoint = Point<ContextId>;

/// What kind of claim a warp contradicts.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Claim {
    /// The nodes of the graph are all that is executed.
    Node,
    /// The lanes of a group hold equal values in a cell.
    Agreement,
    /// The entries on the stack and their order.
    Stack,
    /// How groups of lanes lie to each other.
    Relation,
    /// The steps of the graph are all that is done.
    Edge,
    /// What instructions make of the activation stack.
    Machine,
}

impl Claim {
    /// A name for reports.
    pub fn name(self) -> &'static str {
        match self {
            Claim::Node => "node",
            Claim::Agreement => "agreement",
            Claim::Stack => "stack",
            Claim::Relation => "relation",
            Claim::Edge => "edge",
            Claim::Machine => "machine",
        }
    }
}

/// A warp did something that the analyses exclude.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Violation {
    /// What is contradicted.
    pub claim: Claim,
    /// The operation that the warp was about to execute.
    pub at: OpIndex,
    /// One clause.
    pub what: String,
}

impl fmt::Display for Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.what)
    }
}

/// Everything that is claimed of the warps of a launch.
pub struct Claims<'a> {
    /// The program.
    pub code: &'a Code,
    /// The launch.
    pub launch: LaunchContext,
    /// Its control flow.
    pub flow: KernelFlow,
    /// For each operation, the first one of its block.
    first: Vec<OpIndex>,
    /// For each node, on which cells the active lanes agree before each operation of its block.
    active: Vec<Vec<CellSet>>,
    /// Which loops a node is in and heads.
    pub(crate) loops: LoopIndex,
    /// The user's statements about blocks and steps that no thread executes, and their number.
    never: NeverIndex,
    statements: usize,
}

impl<'a> Claims<'a> {
    /// The claims of `flow` about `code`.
    pub fn new(code: &'a Code, launch: LaunchContext, flow: KernelFlow) -> Self {
        let mut claims = Claims {
            code,
            launch,
            flow,
            first: Vec::new(),
            active: Vec::new(),
            loops: LoopIndex::default(),
            never: NeverIndex::default(),
            statements: 0,
        };
        claims.refresh();
        claims
    }

    /// Adds what no thread does, as a user states it.
    #[must_use]
    pub fn with_never(mut self, never: &[Never]) -> Self {
        self.never = NeverIndex::new(never);
        self.statements = never.len();
        self
    }

    /// The number of statements of what no thread does.
    pub(crate) fn never_count(&self) -> usize {
        self.statements
    }

    /// The numbers of the statements that a thread contradicts which comes to a node, from another if it does not begin there.
    pub fn contradicted(
        &self,
        from: Option<NodeId>,
        to: NodeId,
    ) -> impl Iterator<Item = usize> + use<'_> {
        let found = (!self.never.is_empty())
            .then(|| self.flow.contradicted(self.code, &self.never, from, to));
        found.into_iter().flatten()
    }

    /// Computes again what is derived from the public parts, after a test has changed them.
    pub fn refresh(&mut self) {
        let KernelFlow { thread, warp, .. } = &self.flow;
        let agreements = |node| {
            let mut list = Vec::new();
            let Some(mut state) = warp.state(node).cloned() else {
                return list;
            };
            let (mut halves, mut used) = (Halves::default(), Used::default());
            for op in thread.space.block(node).ops() {
                list.push(*state.agreement(ACTIVE));
                if let Some(op) = self.code.get(op) {
                    apply(&mut state, op, &self.launch, &mut halves, &mut used);
                }
            }
            list
        };
        self.active = thread.space.ids().map(agreements).collect();
        let mut first = OpIndex::default();
        let first_of = |op| {
            if thread.space.blocks.starting_at(op).is_some() {
                first = op;
            }
            first
        };
        let ops = (0..self.code.ops.len() as u32).map(OpIndex);
        self.first = ops.map(first_of).collect();
        self.loops = LoopIndex::of(&self.flow);
    }

    /// Claims that the active lanes agree on a cell whenever they are about to execute an operation, which a test does
    /// to see that it is noticed.
    pub fn claim_agreement(&mut self, at: OpIndex, cell: Cell) {
        for node in self.flow.thread.space.ids() {
            let first = self.flow.thread.space.block(node).first;
            let nth = at.index().checked_sub(first.index());
            let list = self.active.get_mut(node.index());
            if let Some(set) = nth.and_then(|nth| list?.get_mut(nth)) {
                set.insert(cell.index());
            }
        }
    }

    /// The node that begins at a point.
    pub fn node_of(&self, point: ClaimPoint) -> Option<NodeId> {
        let space = &self.flow.thread.space;
        let block = space.blocks.starting_at(point.op)?;
        let context = point.label;
        space.find(ContextBlock { block, context })
    }

    /// The node in whose block a point lies.
    pub fn node_around(&self, point: ClaimPoint) -> Option<NodeId> {
        let op = *self.first.get(point.op.index())?;
        self.node_of(Point { op, ..point })
    }

    /// The operation behind it lies in the same block.
    pub(crate) fn is_inside(&self, op: OpIndex) -> bool {
        self.first
            .get(op.index() + 1)
            .is_some_and(|&first| first <= op)
    }

    fn entry_id(&self, stage: &StackEntry<ClaimPoint>) -> Option<EntryId> {
        self.flow.thread.space.entries.find(EntrySite {
            pushed_by: self.node_around(stage.pushed_by)?,
            resume: self.node_of(stage.next)?,
            tag: stage.tag,
            meets: None,
        })
    }

    /// Checks what is claimed of a warp that is about to execute the top of its stack. `agree` tells whether lanes hold
    /// equal values in a cell.
    pub fn check_state(
        &self,
        stack: &ActivationStack<ClaimPoint>,
        agree: &dyn Fn(Cell, Mask) -> bool,
        found: &mut Vec<Violation>,
    ) {
        let Some(top) = stack.top() else {
            return;
        };
        let mut tell = |claim, what| {
            let at = top.next.op;
            found.push(Violation { claim, at, what });
        };
        let node = self.node_around(top.next);
        let state = node.and_then(|here| Some((here, self.flow.warp.state(here)?)));
        let Some((here, state)) = state else {
            let what = "no node of the graph that a warp executes lies here".to_owned();
            return tell(Claim::Node, what);
        };
        let first = self.flow.thread.space.block(here).first;
        let nth = top.next.op.index() - first.index();
        let Some(agreed) = self.active.get(here.index()).and_then(|l| l.get(nth)) else {
            let what = "no operation of the node's block lies here".to_owned();
            return tell(Claim::Node, what);
        };
        let disagreed = |agreed: &CellSet, mask| -> Vec<Cell> {
            let cells = agreed.iter().map_while(Cell::from_index);
            cells.filter(|&cell| !agree(cell, mask)).collect()
        };
        for cell in disagreed(agreed, top.mask) {
            let what = format!("the active lanes are said to agree on {cell}");
            tell(Claim::Agreement, what);
        }
        if nth > 0 {
            return;
        }
        let mut groups = vec![(ACTIVE, top.mask)];
        let mut ids = Vec::new();
        for stage in stack.pending().iter().rev() {
            let id = self.entry_id(stage);
            let slot = id.and_then(|id| state.stack().slot(id));
            let (Some(id), Some(slot)) = (id, slot) else {
                let what = format!(
                    "a {} is on the stack, which is said not to be",
                    spell(stage)
                );
                return tell(Claim::Stack, what);
            };
            ids.push(id);
            if ids.len() > DEEPEST {
                continue;
            }
            groups.push((slot, stage.mask));
            for cell in disagreed(state.agreement(slot), stage.mask) {
                let lanes = spell(stage);
                let what = format!("the lanes of a {lanes} are said to agree on {cell}");
                tell(Claim::Agreement, what);
            }
        }
        check_nesting(stack, &mut tell);
        if !state.stack().contains(&ids) {
            let what = "entries lie on the stack in an order that is said not to be".to_owned();
            tell(Claim::Stack, what);
        }
        check_relations(state, &groups, &mut tell);
    }

    /// Checks the step that a warp has taken from the last operation of a block. `exhausted`: the running entry was left
    /// by all its lanes.
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
        let mut tell = |claim, what| found.push(Violation { claim, at, what });
        let Some(here) = self.node_around(top.next) else {
            // Told when the warp came here.
            return;
        };
        if self.flow.thread.space.block(here).last != at {
            return;
        }
        let next = after.top();
        let to = next.and_then(|next| self.node_of(next.next));
        let place = match next {
            Some(next) => self.spell_op(next.next.op),
            None => "the end".to_owned(),
        };
        if next.is_some() && to.is_none() {
            let what = format!("the step to {place} is no edge: no node begins there");
            return tell(Claim::Edge, what);
        }
        let via = if exhausted && to.is_some() {
            // The stage that runs now, as it was before it became NIL.
            let stage = before.pending().get(after.pending().len()).or(before.top());
            match stage.and_then(|stage| self.entry_id(stage)) {
                Some(id) => Via::Resume(id),
                None => {
                    let what = format!("the step to {place} is no edge: it resumes no entry");
                    return tell(Claim::Edge, what);
                }
            }
        } else {
            Via::Walk
        };
        let mut pushed = Vec::new();
        if !exhausted {
            for stage in after.pending().iter().skip(before.pending().len()) {
                match self.entry_id(stage) {
                    Some(id) => pushed.push(id),
                    None => {
                        let what = format!("it pushes a {}, which is no entry", spell(stage));
                        tell(Claim::Stack, what);
                    }
                }
            }
        }
        let steps = self.flow.warp.steps.get(here.index());
        let steps = || steps.into_iter().flatten();
        let leads = |step: &&_| leads(step, to, via);
        let known = steps()
            .filter(leads)
            .any(|step| pushed.iter().all(|id| step.pushes.contains(id)));
        let how = match via {
            Via::Walk => "on foot",
            Via::Resume(_) => "by taking up lanes that wait",
        };
        if !known {
            let with = match pushed.len() {
                0 => String::new(),
                n => format!(" with {n} pushed"),
            };
            let what = format!("the step to {place} {how}{with} is no edge");
            tell(Claim::Edge, what);
        }
        // Pushes are counted on edges: an edge without the push must not stand for one with it.
        let exact = steps()
            .filter(leads)
            .any(|step| pushed.is_empty() == step.pushes.is_empty());
        if known && !exact {
            let what = format!("the pushes of the step to {place} are not on the edge");
            tell(Claim::Edge, what);
        }
    }

    fn spell_op(&self, op: OpIndex) -> String {
        match self.code.get(op) {
            Some(op) => op.addr.to_string(),
            None => format!("#{}", op.0),
        }
    }
}

fn leads(step: &warpbound_simt::warp::WarpStep, to: Option<NodeId>, via: Via) -> bool {
    step.to == to && step.via == via
}

fn spell(stage: &StackEntry<ClaimPoint>) -> String {
    match stage.tag {
        Tag::Nil => "group of lanes that wait for others".to_owned(),
        tag => format!("{} entry", tag.name()),
    }
}

/// The invariant that `StackGraph::filter` rests on.
fn check_nesting(stack: &ActivationStack<ClaimPoint>, tell: &mut dyn FnMut(Claim, String)) {
    let deeper = stack.pending().len().saturating_sub(DEEPEST);
    for (depth, lower) in stack.pending().iter().enumerate().skip(deeper) {
        let above = stack.pending().iter().skip(depth + 1).chain(stack.top());
        let nested = |upper: &StackEntry<ClaimPoint>| match lower.tag {
            Tag::Nil => upper.mask & lower.mask == 0,
            _ => upper.mask & !lower.mask == 0,
        };
        if !above.into_iter().all(nested) {
            let what = format!("the lanes of a {} are not nested", spell(lower));
            tell(Claim::Stack, what);
        }
    }
}

fn check_relations(
    state: &WarpState,
    groups: &[(usize, Mask)],
    tell: &mut dyn FnMut(Claim, String),
) {
    for (i, &(a, lanes_a)) in groups.iter().enumerate() {
        for (j, &(b, lanes_b)) in groups.iter().enumerate() {
            if i == j {
                continue;
            }
            let claimed = state.groups().get(a, b);
            let holds = [
                (GroupRelation::SUBSET, lanes_a & !lanes_b == 0, "within"),
                (GroupRelation::DISJOINT, lanes_a & lanes_b == 0, "apart from"),
                (GroupRelation::EXCEEDS, lanes_a & !lanes_b != 0, "not within"),
            ];
            for (relation, holds, words) in holds {
                if claimed.has(relation) && !holds {
                    let what = format!("group {a} of lanes is said to be {words} group {b}");
                    tell(Claim::Relation, what);
                }
            }
        }
    }
}
