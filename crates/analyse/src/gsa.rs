//! Gated single assignment over the thread-level graph (`abstract-cta-2014` 3.1).
//!
//! Each value has one definition. A gate at a join has the deciding branches as operands: γ at the join of branches
//! and at an operation that is executed conditionally, μ at the header of a loop, η where a value leaves the loop
//! that computed it. So control dependences become data dependences, and chains of operands lead from a branch to
//! everything that can influence it. For example, after `if (p) x = 1; else x = 2;` the value of `x` is a γ with the
//! operands 1, 2 and the outcome of the branch.
//!
//! Values are created on demand, each once. Joins are placed at iterated dominance frontiers (Cytron et al.,
//! "Efficiently Computing Static Single Assignment Form", 1991), cell by cell and only for requested cells.

use std::collections::HashMap;

use warpbound_graph::LoopIndex;
use warpbound_ir::{Cell, Code, OpIndex};
use warpbound_simt::NodeId;

use crate::dependence::{Dependence, JoinEdges};
use crate::thread_cfg::ThreadCfg;

/// Index of a value of a [`Gsa`].
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct ValueId(pub u32);

impl ValueId {
    /// The value's position in tables indexed by value.
    pub fn index(self) -> usize {
        self.0 as usize
    }
}

/// Definition of a value.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Definition {
    /// The content of the cell when the kernel begins.
    Entry(Cell),
    /// The result of the operation where its condition holds.
    Op(NodeId, OpIndex),
    /// γ of an operation with a condition: its result, or the previous content of the cell.
    Conditional(NodeId, OpIndex, Cell),
    /// The content of any cell after the call of a function outside the file, at the end of the node.
    Callee(NodeId),
    /// γ at the beginning of a node where branches join.
    Gamma(NodeId, Cell),
    /// μ at the header of a loop.
    Mu(NodeId, Cell),
    /// η: the value of the cell, after the loop.
    Eta(LoopIndex, ValueId, Cell),
    /// Choice among edges by which a thread reaches a join. This and the following are operands of gates, which no
    /// cell holds.
    JoinEdge(NodeId, JoinEdges),
    /// The iteration and the exit by which a thread leaves a loop.
    LoopExit(LoopIndex),
    /// The successor that a thread takes at the end of the node.
    BranchOutcome(NodeId),
}

/// Operand of a value.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Input {
    /// The value.
    pub value: ValueId,
    /// The cell from which it is read; `None` for values that no cell holds.
    pub cell: Option<Cell>,
    /// Whether it selects one of the other inputs, or the iteration of the loop that computed them. Such
    /// inputs are left out where all others are the same value, which then does not depend on them.
    pub is_gate: bool,
}

/// Gated single assignment form of a kernel: the requested values and all that they depend on.
pub struct Gsa<'a> {
    code: &'a Code,
    thread: &'a ThreadCfg,
    dependence: &'a Dependence,
    writes: Writes,
    /// Reaching definitions by cell, computed on demand.
    reaching: Vec<Option<Reaching>>,
    ids: HashMap<Definition, ValueId>,
    values: Vec<(Definition, Vec<Input>)>,
    /// Number of values, from the first, that have their inputs.
    completed: usize,
}

impl<'a> Gsa<'a> {
    /// The form without any values, of the code as one lane executes it.
    pub fn new(code: &'a Code, thread: &'a ThreadCfg, dependence: &'a Dependence) -> Self {
        let code = thread.lane_code(code);
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

    /// The control dependence from which the gates are made.
    pub fn dependence(&self) -> &'a Dependence {
        self.dependence
    }

    /// Number of values.
    pub fn len(&self) -> usize {
        self.values.len()
    }

    /// Whether there are no values.
    pub fn is_empty(&self) -> bool {
        self.values.is_empty()
    }

    /// Definition of a value.
    pub fn definition(&self, id: ValueId) -> Definition {
        self.values[id.index()].0
    }

    /// Operands of a value; filled in by [`Gsa::complete_inputs`].
    pub fn inputs(&self, id: ValueId) -> &[Input] {
        &self.values[id.index()].1
    }

    /// All values.
    pub fn ids(&self) -> impl Iterator<Item = ValueId> + use<> {
        (0..self.values.len() as u32).map(ValueId)
    }

    /// Returns the value of `cell` before operation `at` of `node`.
    pub fn value_before(&mut self, node: NodeId, at: OpIndex, cell: Cell) -> ValueId {
        let written = self.writes.last(self.block(node), cell, at);
        let found = match written {
            Some(op) => self.written(node, op, cell),
            None => self.value_at_start(node, cell),
        };
        self.through_loop_exits(found, cell, node)
    }

    /// Returns the result of an operation where its condition holds.
    pub fn result_of(&mut self, node: NodeId, at: OpIndex) -> ValueId {
        self.value(Definition::Op(node, at))
    }

    /// Returns the value of the choice of successor at the end of `node`.
    pub fn branch_outcome(&mut self, node: NodeId) -> ValueId {
        self.value(Definition::BranchOutcome(node))
    }

    /// Returns the operands of a μ: the values that enter the loop, and the values of the previous iteration.
    pub fn entering_and_closing(&mut self, node: NodeId, cell: Cell) -> [Vec<ValueId>; 2] {
        let mut found = [Vec::new(), Vec::new()];
        // The start of the kernel enters its first node without an edge.
        if node == self.thread.entry {
            found[0].push(self.value(Definition::Entry(cell)));
        }
        for (choice, sources) in self.dependence.incoming_edges(node.index()) {
            let values = self.arriving_values(node, cell, &sources);
            found[usize::from(choice == JoinEdges::Closing)].extend(values);
        }
        found
    }

    /// Returns the value of a cell that reaches a join by the edge from `source`.
    pub fn arriving_value(&mut self, join: NodeId, cell: Cell, source: NodeId) -> ValueId {
        let end = self.value_at_end(source, cell);
        self.through_loop_exits(end, cell, join)
    }

    /// Creates everything that the requested values depend on.
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

    /// The value of `cell` after an operation that writes it.
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

    /// The value of `cell` at the beginning of `node`.
    fn value_at_start(&mut self, node: NodeId, cell: Cell) -> ValueId {
        let reaching = self.reaching(cell);
        if reaching.joins(node.index()) {
            return self.join(node, cell);
        }
        // Without a join at `node`, one definition reaches it on all paths: the one at the end of its immediate
        // dominator.
        let above = self.dependence.dominators.immediate(node.index());
        match above {
            Some(above) => self.value_at_end(NodeId(above as u32), cell),
            None => self.value(Definition::Entry(cell)),
        }
    }

    /// The value of `cell` at the end of `node`.
    fn value_at_end(&mut self, node: NodeId, cell: Cell) -> ValueId {
        let position = self.dependence.dominators.span(node.index()).0;
        let reaching = self.reaching(cell);
        let above = reaching.closest(position);
        let is_join = reaching.joins(above);
        let above = NodeId(above as u32);
        // A call ends its node, so its callee writes after all operations of the block.
        if self.writes.is_call(above) {
            return self.value(Definition::Callee(above));
        }
        let end = OpIndex(u32::MAX);
        match self.writes.last(self.block(above), cell, end) {
            Some(op) => self.written(above, op, cell),
            None if is_join => self.join(above, cell),
            None => self.value(Definition::Entry(cell)),
        }
    }

    /// The γ or μ of `cell` at the beginning of `node`.
    fn join(&mut self, node: NodeId, cell: Cell) -> ValueId {
        let is_header = self
            .dependence
            .loops
            .innermost(node.index())
            .is_some_and(|l| {
                let headers = &self.dependence.loops.get(l).headers;
                headers.binary_search(&node.index()).is_ok()
            });
        // Each header of an irreducible loop gets a μ, although only a single one separates entries from back edges.
        self.value(match is_header {
            true => Definition::Mu(node, cell),
            false => Definition::Gamma(node, cell),
        })
    }

    /// A value of `cell` as read in `node`: through an η for each loop that contains the definition and not `node`.
    fn through_loop_exits(&mut self, value: ValueId, cell: Cell, node: NodeId) -> ValueId {
        let loops = &self.dependence.loops;
        let mut value = value;
        let mut around = match self.definition(value) {
            Definition::Entry(_) => None,
            Definition::Op(at, _)
            | Definition::Conditional(at, ..)
            | Definition::Callee(at)
            | Definition::Gamma(at, _)
            | Definition::Mu(at, _)
            | Definition::JoinEdge(at, _)
            | Definition::BranchOutcome(at) => loops.innermost(at.index()),
            Definition::Eta(left, ..) | Definition::LoopExit(left) => loops.get(left).parent,
        };
        while let Some(left) = around.filter(|&l| !loops.get(l).contains(node.index())) {
            value = self.value(Definition::Eta(left, value, cell));
            around = loops.get(left).parent;
        }
        value
    }

    /// Finds the operands of a definition, creating their values.
    fn find_inputs(&mut self, definition: Definition) -> Vec<Input> {
        let operand = |cell, value| Input {
            value,
            cell: Some(cell),
            is_gate: false,
        };
        let mut inputs = Vec::new();
        match definition {
            // Values from outside the code.
            Definition::Entry(_) | Definition::Callee(_) => {}
            Definition::Op(node, at) => {
                if let Some(op) = self.code.get(at) {
                    self.add_reads(node, at, op.reads.iter().copied(), false, &mut inputs);
                }
            }
            Definition::Conditional(node, at, cell) => {
                if let Some(op) = self.code.get(at) {
                    let new = self.value(Definition::Op(node, at));
                    let old = self.value_before(node, at, cell);
                    inputs.extend([operand(cell, new), operand(cell, old)]);
                    self.add_reads(node, at, op.condition.cells(), true, &mut inputs);
                }
            }
            Definition::Gamma(node, cell) | Definition::Mu(node, cell) => {
                for (choice, sources) in self.dependence.incoming_edges(node.index()) {
                    self.add_join_operands(node, cell, choice, &sources, &mut inputs);
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
            Definition::JoinEdge(node, choice) => {
                for (add_join_operands, sources) in self.dependence.incoming_edges(node.index()) {
                    if add_join_operands == choice {
                        let branches = self.dependence.gates(node.index(), choice, &sources);
                        inputs.extend(self.branch_outcomes(&branches));
                    }
                }
            }
            Definition::LoopExit(left) => {
                let branches = self.dependence.exit_branches(left);
                inputs.extend(self.branch_outcomes(&branches));
            }
            Definition::BranchOutcome(node) => {
                let decision = self
                    .dependence
                    .decision(self.code, self.thread, node.index());
                let last = self.thread.space.block(node).last;
                let cells = decision.map(|d| d.cells).unwrap_or_default();
                self.add_reads(node, last, cells.into_iter(), false, &mut inputs);
            }
        }
        inputs
    }

    fn add_reads(
        &mut self,
        node: NodeId,
        at: OpIndex,
        cells: impl Iterator<Item = Cell>,
        is_gate: bool,
        inputs: &mut Vec<Input>,
    ) {
        for cell in cells {
            inputs.push(Input {
                value: self.value_before(node, at, cell),
                cell: Some(cell),
                is_gate,
            });
        }
    }

    fn branch_outcomes(&mut self, branches: &[usize]) -> Vec<Input> {
        let outcome = |&branch: &usize| gate(self.branch_outcome(NodeId(branch as u32)));
        branches.iter().map(outcome).collect()
    }

    /// The values of a cell that arrive at `node` over the edges from `sources`, each once.
    fn arriving_values(&mut self, node: NodeId, cell: Cell, sources: &[usize]) -> Vec<ValueId> {
        let mut values: Vec<ValueId> = sources
            .iter()
            .map(|&source| self.arriving_value(node, cell, NodeId(source as u32)))
            .collect();
        values.sort_unstable();
        values.dedup();
        values
    }

    /// Adds the operands of a join for the edges from `sources`, and the gate that selects one if they differ.
    fn add_join_operands(
        &mut self,
        node: NodeId,
        cell: Cell,
        choice: JoinEdges,
        sources: &[usize],
        inputs: &mut Vec<Input>,
    ) {
        let values = self.arriving_values(node, cell, sources);
        inputs.extend(values.iter().map(|&value| Input {
            value,
            cell: Some(cell),
            is_gate: false,
        }));
        // Equal operands need no gate: the value does not depend on the edge.
        if values.len() > 1 {
            inputs.push(gate(self.value(Definition::JoinEdge(node, choice))));
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

/// Writes of cells, by block and by cell.
struct Writes {
    /// For each block, its pairs of a cell and an operation that writes it, ascending.
    blocks: Vec<Vec<(Cell, OpIndex)>>,
    /// For each cell, the nodes that write it, ascending.
    nodes: Vec<Vec<usize>>,
    /// For each node, whether it ends with the call of a function outside the file, which may write all cells.
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
            // `last` searches by the cell, then by the operation.
            found.sort_unstable();
            found
        };
        let blocks: Vec<Vec<(Cell, OpIndex)>> = (0..space.blocks.len()).map(written).collect();
        let mut nodes: Vec<Vec<usize>> = vec![Vec::new(); Cell::COUNT];
        let mut calls = vec![false; space.len()];
        for node in space.ids().filter(|&node| thread.is_reached(node)) {
            let resolved = thread.resolved[node.index()].as_ref();
            if resolved.is_some_and(|r| r.external.is_some()) {
                // The callee may write every cell.
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
        let after = list.partition_point(|&write| write < (cell, end));
        let (found, at) = *list.get(after.checked_sub(1)?)?;
        (found == cell).then_some(at)
    }
}

/// Reaching definitions of one cell: for each node, the closest definition or join above it in the dominator tree.
struct Reaching {
    /// Nodes at whose beginning several definitions join, ascending.
    joins: Vec<usize>,
    /// Pairs, ascending, of a position in the preorder of the dominator tree and the closest node at or above it that
    /// defines or joins the cell; valid up to the next pair's position.
    closest: Vec<(u32, usize)>,
}

impl Reaching {
    fn run(dependence: &Dependence, defined: &[usize], entry: usize) -> Reaching {
        let dominators = &dependence.dominators;
        let all = defined.iter().copied().chain([entry]);
        // The kernel's entry defines every cell.
        let joins = dominators.iterated_frontier(&dependence.graph, all.clone());
        let mut nodes: Vec<usize> = all
            .chain(joins.iter().copied())
            .filter(|&node| dominators.is_reached(node))
            .collect();
        nodes.sort_unstable_by_key(|&node| dominators.span(node).0);
        nodes.dedup();
        let mut closest = Vec::with_capacity(nodes.len() * 2);
        // Nodes whose subtrees contain the current position, outermost first.
        let mut around: Vec<usize> = Vec::new();
        for node in nodes {
            let (begin, _) = dominators.span(node);
            // Subtrees are nested or disjoint, so where one ends, the one around it holds the closest definition
            // again.
            while let Some(&inner) = around.last() {
                let end = dominators.span(inner).1;
                if end > begin {
                    break;
                }
                around.pop();
                closest.extend(around.last().map(|&outer| (end, outer)));
            }
            closest.push((begin, node));
            around.push(node);
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

    /// The closest node that defines or joins the cell, at or above the node with this position.
    fn closest(&self, position: u32) -> usize {
        let after = self.closest.partition_point(|&(at, _)| at <= position);
        let found = after.checked_sub(1).and_then(|i| self.closest.get(i));
        found.map_or(0, |&(_, node)| node)
    }
}
