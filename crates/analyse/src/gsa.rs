//! Gated single assignment over the thread-level graph (`abstract-cta-2014` section 3.1).
//!
//! Each value has one definition. Where values meet, a gate says what decides between them: γ at the
//! join of branches and at an operation that is executed conditionally, μ at the header of a loop, η
//! where a value leaves the loop that it was computed in. So control dependences become data
//! dependences, and chains of operands lead from a branch to everything that can influence it.
//!
//! Values are made when they are asked for, each once. Joins are placed where iterated dominance
//! frontiers say that definitions meet, one cell at a time and only for cells that are asked for.

use std::collections::HashMap;

use warpbound_graph::LoopIndex;
use warpbound_ir::{Cell, Code, OpIndex};
use warpbound_simt::NodeId;

use crate::dependence::{Dependence, JoinEdges};
use crate::thread_cfg::ThreadCfg;

/// A value of a [`Gsa`].
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct ValueId(pub u32);

impl ValueId {
    /// As an index.
    pub fn index(self) -> usize {
        self.0 as usize
    }
}

/// Where a value comes from.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Definition {
    /// What the cell holds when the kernel begins.
    Entry(Cell),
    /// What the operation writes where its condition holds.
    Op(NodeId, OpIndex),
    /// γ of an operation with a condition: what it writes, or what the cell held before.
    Conditional(NodeId, OpIndex, Cell),
    /// Whatever a function outside the file leaves, called at the end of the node.
    Callee(NodeId),
    /// γ at the beginning of a node where branches join.
    Gamma(NodeId, Cell),
    /// μ at the header of a loop.
    Mu(NodeId, Cell),
    /// η: the value of the cell, behind the loop.
    Eta(LoopIndex, ValueId, Cell),
    /// By which of some edges a thread comes to a node where values meet. No cell holds it, and no cell
    /// holds what follows: they are what gates are made of.
    Choice(NodeId, JoinEdges),
    /// In which round, and by which way, a thread leaves a loop.
    LoopExit(LoopIndex),
    /// Which way a thread goes on behind the node.
    BranchOutcome(NodeId),
}

/// A value that another depends on.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Input {
    /// The value.
    pub value: ValueId,
    /// The cell that it is read from, where it is the value of one.
    pub cell: Option<Cell>,
    /// It decides which of the other inputs counts, or in which round of a loop that was computed. Such
    /// inputs are left out where all others are the same value, since then nothing depends on them.
    pub is_gate: bool,
}

/// The gated single assignment form of a kernel, as far as it was asked for.
pub struct Gsa<'a> {
    code: &'a Code,
    thread: &'a ThreadCfg,
    dependence: &'a Dependence,
    writes: Writes,
    /// By cell.
    reaching: Vec<Option<Reaching>>,
    ids: HashMap<Definition, ValueId>,
    values: Vec<(Definition, Vec<Input>)>,
    /// So many values have their inputs.
    completed: usize,
}

impl<'a> Gsa<'a> {
    /// Nothing is asked for yet.
    pub fn new(code: &'a Code, thread: &'a ThreadCfg, dependence: &'a Dependence) -> Self {
        Gsa {
            code,
            thread,
            dependence,
            writes: Writes::run(code, thread),
            reaching: (0..Cell::COUNT).map(|_| None).collect(),
            ids: HashMap::new(),
            values: Vec::new(),
            completed: 0,
        }
    }

    /// The control dependence that the gates come from.
    pub fn dependence(&self) -> &'a Dependence {
        self.dependence
    }

    /// Number of values made.
    pub fn len(&self) -> usize {
        self.values.len()
    }

    /// Nothing was asked for.
    pub fn is_empty(&self) -> bool {
        self.values.is_empty()
    }

    /// Where a value comes from.
    pub fn definition(&self, id: ValueId) -> Definition {
        self.values[id.index()].0
    }

    /// What a value depends on; complete after [`Gsa::complete`].
    pub fn inputs(&self, id: ValueId) -> &[Input] {
        &self.values[id.index()].1
    }

    /// All values made.
    pub fn ids(&self) -> impl Iterator<Item = ValueId> + use<> {
        (0..self.values.len() as u32).map(ValueId)
    }

    /// The value that `cell` holds when operation `at` of `node` is about to be executed.
    pub fn before(&mut self, node: NodeId, at: OpIndex, cell: Cell) -> ValueId {
        let written = self.writes.last(self.block(node), cell, at);
        let found = match written {
            Some(op) => self.written(node, op, cell),
            None => self.at_start(node, cell),
        };
        self.outside(found, cell, node)
    }

    /// Which way a thread goes on behind `node`.
    pub fn branch_outcome(&mut self, node: NodeId) -> ValueId {
        self.value(Definition::BranchOutcome(node))
    }

    /// The operands of a μ: the values that enter the loop, and those that come from the iteration before.
    pub fn entering_and_closing(&mut self, node: NodeId, cell: Cell) -> [Vec<ValueId>; 2] {
        let mut found = [Vec::new(), Vec::new()];
        if node == self.thread.entry {
            found[0].push(self.value(Definition::Entry(cell)));
        }
        for (choice, sources) in self.dependence.incoming_edges(node.index()) {
            let values = self.arriving(node, cell, &sources);
            found[usize::from(choice == JoinEdges::Closing)].extend(values);
        }
        found
    }

    /// Makes everything that the values asked for depend on.
    pub fn complete_inputs(&mut self) {
        while let Some(&(definition, _)) = self.values.get(self.completed) {
            let inputs = self.find_inputs(definition);
            self.values[self.completed].1 = inputs;
            self.completed += 1;
        }
    }

    fn value(&mut self, definition: Definition) -> ValueId {
        *self.ids.entry(definition).or_insert_with(|| {
            self.values.push((definition, Vec::new()));
            ValueId(self.values.len() as u32 - 1)
        })
    }

    fn block(&self, node: NodeId) -> usize {
        self.thread.space.node(node).block
    }

    /// What `cell` holds behind an operation that writes it.
    fn written(&mut self, node: NodeId, op: OpIndex, cell: Cell) -> ValueId {
        let conditional = self
            .code
            .get(op)
            .is_some_and(|op| !op.condition.is_always());
        self.value(match conditional {
            true => Definition::Conditional(node, op, cell),
            false => Definition::Op(node, op),
        })
    }

    fn reaching(&mut self, cell: Cell) -> &Reaching {
        let slot = &mut self.reaching[cell.index()];
        slot.get_or_insert_with(|| {
            Reaching::run(
                self.dependence,
                self.writes.nodes(cell),
                self.thread.entry.index(),
            )
        })
    }

    /// What `cell` holds at the beginning of `node`.
    fn at_start(&mut self, node: NodeId, cell: Cell) -> ValueId {
        let reaching = self.reaching(cell);
        if reaching.joins(node.index()) {
            return self.join(node, cell);
        }
        let above = self.dependence.dominators.immediate(node.index());
        match above {
            Some(above) => self.at_end(NodeId(above as u32), cell),
            None => self.value(Definition::Entry(cell)),
        }
    }

    /// What `cell` holds at the end of `node`.
    fn at_end(&mut self, node: NodeId, cell: Cell) -> ValueId {
        let position = self.dependence.dominators.span(node.index()).0;
        let reaching = self.reaching(cell);
        let place = reaching.closest(position);
        let is_join = reaching.joins(place);
        let place = NodeId(place as u32);
        if self.writes.is_call(place) {
            return self.value(Definition::Callee(place));
        }
        let end = OpIndex(u32::MAX);
        match self.writes.last(self.block(place), cell, end) {
            Some(op) => self.written(place, op, cell),
            None if is_join => self.join(place, cell),
            None => self.value(Definition::Entry(cell)),
        }
    }

    fn join(&mut self, node: NodeId, cell: Cell) -> ValueId {
        let is_header = self
            .dependence
            .loops
            .innermost(node.index())
            .is_some_and(|l| {
                let headers = &self.dependence.loops.get(l).headers;
                headers.binary_search(&node.index()).is_ok()
            });
        self.value(match is_header {
            true => Definition::Mu(node, cell),
            false => Definition::Gamma(node, cell),
        })
    }

    /// A value of `cell` seen from `node`: through an η for each loop that it has left since it was
    /// defined.
    fn outside(&mut self, value: ValueId, cell: Cell, node: NodeId) -> ValueId {
        let loops = &self.dependence.loops;
        let mut value = value;
        let mut around = match self.definition(value) {
            Definition::Entry(_) => None,
            Definition::Op(at, _)
            | Definition::Conditional(at, ..)
            | Definition::Callee(at)
            | Definition::Gamma(at, _)
            | Definition::Mu(at, _)
            | Definition::Choice(at, _)
            | Definition::BranchOutcome(at) => loops.innermost(at.index()),
            Definition::Eta(left, ..) | Definition::LoopExit(left) => loops.get(left).parent,
        };
        while let Some(left) = around.filter(|&l| !loops.get(l).contains(node.index())) {
            value = self.value(Definition::Eta(left, value, cell));
            around = loops.get(left).parent;
        }
        value
    }

    fn find_inputs(&mut self, definition: Definition) -> Vec<Input> {
        let operand = |cell, value| Input {
            value,
            cell: Some(cell),
            is_gate: false,
        };
        let mut inputs = Vec::new();
        match definition {
            // Sources: nothing in the code explains them.
            Definition::Entry(_) | Definition::Callee(_) => {}
            Definition::Op(node, at) => {
                if let Some(op) = self.code.get(at) {
                    self.read(node, at, op.reads.iter().copied(), false, &mut inputs);
                }
            }
            Definition::Conditional(node, at, cell) => {
                if let Some(op) = self.code.get(at) {
                    let new = self.value(Definition::Op(node, at));
                    let old = self.before(node, at, cell);
                    inputs.extend([operand(cell, new), operand(cell, old)]);
                    self.read(node, at, op.condition.cells(), true, &mut inputs);
                }
            }
            Definition::Gamma(node, cell) | Definition::Mu(node, cell) => {
                for (choice, sources) in self.dependence.incoming_edges(node.index()) {
                    self.part(node, cell, choice, &sources, &mut inputs);
                }
                if node == self.thread.entry {
                    let first = self.value(Definition::Entry(cell));
                    inputs.push(operand(cell, first));
                }
            }
            Definition::Eta(left, value, cell) => {
                inputs.push(operand(cell, value));
                inputs.push(gate(self.value(Definition::LoopExit(left))));
            }
            Definition::Choice(node, choice) => {
                for (part, sources) in self.dependence.incoming_edges(node.index()) {
                    if part == choice {
                        let branches = self.dependence.gates(node.index(), choice, &sources);
                        inputs.extend(self.ways(&branches));
                    }
                }
            }
            Definition::LoopExit(left) => {
                let branches = self.dependence.exit_branches(left);
                inputs.extend(self.ways(&branches));
            }
            Definition::BranchOutcome(node) => {
                let decision = self
                    .dependence
                    .decision(self.code, self.thread, node.index());
                let last = self.thread.space.block(node).last;
                let cells = decision.map(|d| d.cells).unwrap_or_default();
                self.read(node, last, cells.into_iter(), false, &mut inputs);
            }
        }
        inputs
    }

    fn read(
        &mut self,
        node: NodeId,
        at: OpIndex,
        cells: impl Iterator<Item = Cell>,
        is_gate: bool,
        inputs: &mut Vec<Input>,
    ) {
        for cell in cells {
            inputs.push(Input {
                value: self.before(node, at, cell),
                cell: Some(cell),
                is_gate,
            });
        }
    }

    fn ways(&mut self, branches: &[usize]) -> Vec<Input> {
        let way = |&branch: &usize| gate(self.branch_outcome(NodeId(branch as u32)));
        branches.iter().map(way).collect()
    }

    /// The values of a cell that come to `node` over the edges from `sources`, each once.
    fn arriving(&mut self, node: NodeId, cell: Cell, sources: &[usize]) -> Vec<ValueId> {
        let mut values: Vec<ValueId> = sources
            .iter()
            .map(|&source| {
                let end = self.at_end(NodeId(source as u32), cell);
                self.outside(end, cell, node)
            })
            .collect();
        values.sort_unstable();
        values.dedup();
        values
    }

    /// Operands of a join for the edges from `sources`, and what decides between them if they differ.
    fn part(
        &mut self,
        node: NodeId,
        cell: Cell,
        choice: JoinEdges,
        sources: &[usize],
        inputs: &mut Vec<Input>,
    ) {
        let values = self.arriving(node, cell, sources);
        inputs.extend(values.iter().map(|&value| Input {
            value,
            cell: Some(cell),
            is_gate: false,
        }));
        if values.len() > 1 {
            inputs.push(gate(self.value(Definition::Choice(node, choice))));
        }
    }
}

fn gate(value: ValueId) -> Input {
    Input {
        value,
        cell: None,
        is_gate: true,
    }
}

/// Which operations and nodes write which cells.
struct Writes {
    /// For each block (cell, operation), ascending.
    blocks: Vec<Vec<(Cell, OpIndex)>>,
    /// For each cell the nodes that write it, ascending.
    nodes: Vec<Vec<usize>>,
    /// Nodes that end with the call of a function outside the file.
    calls: Vec<bool>,
}

impl Writes {
    fn run(code: &Code, thread: &ThreadCfg) -> Writes {
        let space = &thread.space;
        let written = |index: usize| {
            let mut found = Vec::new();
            for at in space.blocks.get(index).ops() {
                if let Some(op) = code.get(at).filter(|op| !op.condition.is_never()) {
                    found.extend(op.writes.iter().map(|&cell| (cell, at)));
                }
            }
            found.sort_unstable();
            found
        };
        let blocks: Vec<Vec<(Cell, OpIndex)>> = (0..space.blocks.len()).map(written).collect();
        let mut nodes: Vec<Vec<usize>> = vec![Vec::new(); Cell::COUNT];
        let mut calls = vec![false; space.len()];
        for node in space.ids().filter(|&node| thread.is_reached(node)) {
            let resolved = thread.resolved[node.index()].as_ref();
            if resolved.is_some_and(|r| r.external.is_some()) {
                calls[node.index()] = true;
                nodes.iter_mut().for_each(|list| list.push(node.index()));
                continue;
            }
            for (cell, _) in &blocks[space.node(node).block] {
                let list = &mut nodes[cell.index()];
                if list.last() != Some(&node.index()) {
                    list.push(node.index());
                }
            }
        }
        Writes {
            blocks,
            nodes,
            calls,
        }
    }

    fn nodes(&self, cell: Cell) -> &[usize] {
        &self.nodes[cell.index()]
    }

    fn is_call(&self, node: NodeId) -> bool {
        self.calls.get(node.index()).copied().unwrap_or_default()
    }

    /// The last operation of a block before `end` that writes `cell`.
    fn last(&self, block: usize, cell: Cell, end: OpIndex) -> Option<OpIndex> {
        let list = &self.blocks[block];
        let behind = list.partition_point(|&write| write < (cell, end));
        let (found, at) = *list.get(behind.checked_sub(1)?)?;
        (found == cell).then_some(at)
    }
}

/// Which definition of a cell reaches which node.
struct Reaching {
    /// Nodes at whose beginning definitions meet, ascending.
    joins: Vec<usize>,
    /// The closest node that defines the cell, or where definitions meet, from each position of the
    /// preorder of the dominator tree on.
    closest: Vec<(u32, usize)>,
}

impl Reaching {
    fn run(dependence: &Dependence, defined: &[usize], entry: usize) -> Reaching {
        let dominators = &dependence.dominators;
        let all = defined.iter().copied().chain([entry]);
        let joins = dominators.iterated_frontier(&dependence.graph, all.clone());
        let mut places: Vec<usize> = all
            .chain(joins.iter().copied())
            .filter(|&node| dominators.is_reached(node))
            .collect();
        places.sort_unstable_by_key(|&node| dominators.span(node).0);
        places.dedup();
        let mut closest = Vec::with_capacity(places.len() * 2);
        let mut around: Vec<usize> = Vec::new();
        for place in places {
            let (begin, _) = dominators.span(place);
            while let Some(&inner) = around.last() {
                let end = dominators.span(inner).1;
                if end > begin {
                    break;
                }
                around.pop();
                closest.extend(around.last().map(|&outer| (end, outer)));
            }
            closest.push((begin, place));
            around.push(place);
        }
        while let Some(inner) = around.pop() {
            let end = dominators.span(inner).1;
            closest.extend(around.last().map(|&outer| (end, outer)));
        }
        Reaching { joins, closest }
    }

    fn joins(&self, node: usize) -> bool {
        self.joins.binary_search(&node).is_ok()
    }

    /// The closest such node at or above the node with this position.
    fn closest(&self, position: u32) -> usize {
        let behind = self.closest.partition_point(|&(at, _)| at <= position);
        let found = behind.checked_sub(1).and_then(|i| self.closest.get(i));
        found.map_or(0, |&(_, node)| node)
    }
}
