//! Control dependence in the thread-level graph.
//!
//! Control dependence is defined by postdominators, as by Ferrante, Ottenstein and Warren ("The Program Dependence
//! Graph and Its Use in Optimization", 1987), here also within one iteration of each loop. For example, in
//! `loop { if (p) break; x; }` the node `x` depends on the branch. Calls are part of the graph (nodes are blocks in a
//! context), so the dependence crosses calls and returns.

use warpbound_graph::{Digraph, Dominators, Loop, LoopForest, LoopIndex};
use warpbound_ir::{Cell, Code};
use warpbound_simt::NodeId;
use warpbound_simt::warp::ControlOp;

use crate::thread_cfg::{ThreadCfg, indirect_base};

/// Operands that choose the successor of a node.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Decision {
    /// Cells read by the condition or by the jump.
    pub cells: Vec<Cell>,
    /// Whether the stack decides as well: SYNC, BRK, CONT or RET may resume at several nodes.
    pub by_stack: bool,
    /// Whether each lane may go on at any of the nodes, whatever cells hold.
    pub freely: bool,
}

/// Subset of the incoming edges of a join.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum JoinEdges {
    /// All edges.
    All,
    /// Edges that enter the loop whose only header is the node.
    Entering,
    /// Back edges of that loop.
    Closing,
}

/// Dominators, loops and control dependence of a thread-level graph.
///
/// A branch decides whether a node is executed at all, or whether it is executed in this iteration of a loop around
/// both; either is control dependence here. An iteration ends at a back edge or at an exit of the loop.
///
/// Nodes are numbers of [`NodeId`]s; the number after the last is the virtual exit.
#[derive(Clone, Debug)]
pub struct Dependence {
    /// The graph, with the virtual exit.
    pub graph: Digraph,
    /// The graph with every edge reversed.
    pub reversed: Digraph,
    /// Dominators, from the kernel's entry.
    pub dominators: Dominators,
    /// Loops.
    pub loops: LoopForest,
    /// For each node, the nodes with several successors that decide directly whether it is executed,
    /// ascending.
    pub controllers: Vec<Vec<usize>>,
    /// The same lists without the edges of conditional EXITs: control dependence of lanes that do not exit.
    pub live_controllers: Vec<Vec<usize>>,
    /// For each node, its immediate postdominator in the graph without the edges of conditional EXITs.
    live_reconvergence: Vec<Option<usize>>,
}

impl Dependence {
    /// Computes dominators, loops and control dependence for a thread-level graph.
    pub fn compute(thread: &ThreadCfg) -> Dependence {
        let exit = thread.space.len();
        let entry = thread.entry.index();
        let reached = |from: NodeId| thread.is_reached(from);
        let edges = thread
            .edges()
            .filter(|&(from, _)| reached(from))
            .map(|(from, step)| (from.index(), step.to.map_or(exit, NodeId::index)));
        let graph = Digraph::new(exit + 1, edges);
        let conditional = |from: usize, to| to == exit && graph.successors(from).len() > 1;
        let without = graph.edges().filter(|&(from, to)| !conditional(from, to));
        // A loop that only conditional EXITs leave keeps their edges: else its nodes would have no postdominator.
        let ends = Digraph::new(exit + 1, without).reversed().reachable([exit]);
        let dies = |from: usize, to: usize| conditional(from, to) && ends[from];

        let whole = |_: usize, to: usize| match to == exit {
            true => EdgeRole::Leaves,
            false => EdgeRole::Inside,
        };
        let live = |roles: &dyn Fn(usize, usize) -> EdgeRole, from, to| match dies(from, to) {
            true => EdgeRole::Ignored,
            false => roles(from, to),
        };
        let all: Vec<usize> = (0..exit).collect();
        let mut controllers = vec![Vec::new(); exit + 1];
        let mut live_controllers = controllers.clone();
        Subgraph::new(&graph, &all, whole).add_controllers(&mut controllers);
        let of_live_lanes = Subgraph::new(&graph, &all, |from, to| live(&whole, from, to));
        of_live_lanes.add_controllers(&mut live_controllers);
        let loops = LoopForest::build(&graph, entry);
        for (_, body) in loops.loops() {
            let roles = |_: usize, to: usize| match body.contains(to) && !is_header(body, to) {
                true => EdgeRole::Inside,
                false => EdgeRole::Leaves,
            };
            Subgraph::new(&graph, &body.body, roles).add_controllers(&mut controllers);
            Subgraph::new(&graph, &body.body, |from, to| live(&roles, from, to))
                .add_controllers(&mut live_controllers);
        }
        for list in controllers.iter_mut().chain(&mut live_controllers) {
            list.sort_unstable();
            // The whole graph and the loops around a node may name the same branch.
            list.dedup();
        }
        Dependence {
            reversed: graph.reversed(),
            dominators: Dominators::compute(&graph, entry),
            loops,
            controllers,
            live_controllers,
            live_reconvergence: (0..exit)
                .map(|node| of_live_lanes.immediate_postdominator(node))
                .collect(),
            graph,
        }
    }

    /// The virtual exit.
    pub fn exit(&self) -> usize {
        self.graph.len() - 1
    }

    /// Node at which lanes that diverge at `node`, and do not take a conditional EXIT, reconverge: the immediate
    /// postdominator on their paths, which may be the virtual exit.
    pub fn live_reconvergence(&self, node: usize) -> usize {
        let found = self.live_reconvergence.get(node).copied().flatten();
        found.unwrap_or_else(|| self.exit())
    }

    /// Pairs of a branch and a node at which lanes that diverge at the branch, and stay in the loop, reconverge: in
    /// the same iteration, or at the headers.
    pub fn iteration_reconvergence(
        &self,
        index: LoopIndex,
        branches: &[usize],
    ) -> Vec<(usize, usize)> {
        let mut pairs = Vec::new();
        if branches.is_empty() {
            return pairs;
        }
        let body = self.loops.get(index);
        let iteration = Subgraph::new(&self.graph, &body.body, |_, to| {
            match (body.contains(to), is_header(body, to)) {
                (true, false) => EdgeRole::Inside,
                (true, true) => EdgeRole::Leaves,
                // Lanes that leave the loop need not reconverge in it.
                (false, _) => EdgeRole::Ignored,
            }
        });
        for &branch in branches {
            match iteration.immediate_postdominator(branch) {
                Some(point) => pairs.push((branch, point)),
                // No node is on all paths of the iteration, so only at a header do all lanes meet.
                None => pairs.extend(body.headers.iter().map(|&header| (branch, header))),
            }
        }
        pairs
    }

    /// Operands that choose the successor of a node; `None` for nodes with fewer than two.
    pub fn decision(&self, code: &Code, thread: &ThreadCfg, node: usize) -> Option<Decision> {
        let successors = self.graph.successors(node);
        if successors.len() < 2 {
            return None;
        }
        let resolved = thread.resolved.get(node)?.as_ref()?;
        let mut decision = Decision::default();
        let condition = resolved.condition;
        // Successors of lanes for which the condition holds.
        let mut others = successors.len();
        if !condition.is_always() && !condition.is_never() {
            decision.cells.extend(condition.cells());
            others -= 1;
        }
        match &resolved.op {
            ControlOp::IndirectJump { .. } => {
                let last = code.get(thread.space.block(NodeId(node as u32)).last)?;
                decision.cells.extend(indirect_base(&last.control));
                decision.freely = last.control.lets_lanes_choose();
            }
            // Without the next node, the pop itself must have several targets.
            ControlOp::Pop(_) => decision.by_stack = others > 1,
            _ => {}
        }
        Some(decision)
    }

    /// Partition of the edges to `node`: for the only header of a loop, the edges that enter it and the back edges; for
    /// all other joins, one set. Each set is given by the edges' sources, ascending.
    pub fn incoming_edges(&self, node: usize) -> Vec<(JoinEdges, Vec<usize>)> {
        let sources: Vec<usize> = self
            .reversed
            .successors(node)
            .iter()
            .copied()
            .filter(|&p| self.dominators.is_reached(p))
            .collect();
        match self.header_of(node) {
            Some(index) => {
                let body = self.loops.get(index);
                let (closing, entering) = sources.iter().partition(|&&p| body.contains(p));
                vec![
                    (JoinEdges::Entering, entering),
                    (JoinEdges::Closing, closing),
                ]
            }
            None => vec![(JoinEdges::All, sources)],
        }
    }

    /// The loop whose only header is `node`.
    pub fn header_of(&self, node: usize) -> Option<LoopIndex> {
        let index = self.loops.innermost(node)?;
        (self.loops.get(index).headers == [node]).then_some(index)
    }

    /// Branches that decide by which of the edges from `sources` control reaches the node `join`: branches on which
    /// the sources are transitively control dependent, back to the join's immediate dominator, or to the join itself
    /// for back edges. All paths to the join pass that node, so branches before it choose nothing.
    pub fn gates(&self, join: usize, choice: JoinEdges, sources: &[usize]) -> Vec<usize> {
        let top = match choice {
            JoinEdges::Closing => join,
            _ => self.dominators.immediate(join).unwrap_or(join),
        };
        let inside = |branch: usize| self.dominators.dominates(top, branch);
        self.closure(sources, |node| node != top, inside)
    }

    /// Branches that decide after how many iterations, and by which exit, a lane leaves a loop: branches with an edge
    /// out of it, and branches inside on which these are control dependent.
    pub fn exit_branches(&self, index: LoopIndex) -> Vec<usize> {
        let found = self.loops.get(index);
        let leaves = |&&node: &&usize| {
            let successors = self.graph.successors(node);
            successors.iter().any(|&to| !found.contains(to))
        };
        let exits: Vec<usize> = found.body.iter().filter(leaves).copied().collect();
        self.closure(&exits, |_| true, |branch| found.contains(branch))
    }

    /// Branches among `nodes` and among the nodes that they transitively depend on, ascending. Nodes that are not
    /// `open` are not followed, branches that are not `inside` are left out.
    fn closure(
        &self,
        nodes: &[usize],
        open: impl Fn(usize) -> bool,
        inside: impl Fn(usize) -> bool,
    ) -> Vec<usize> {
        let mut found: Vec<usize> = Vec::new();
        let mut seen = std::collections::HashSet::new();
        let mut worklist: Vec<usize> = Vec::new();
        for &node in nodes {
            if seen.insert(node) {
                worklist.push(node);
            }
        }
        while let Some(node) = worklist.pop() {
            if self.graph.successors(node).len() > 1 && inside(node) {
                found.push(node);
            }
            if !open(node) {
                continue;
            }
            for &branch in &self.controllers[node] {
                if inside(branch) && seen.insert(branch) {
                    worklist.push(branch);
                }
            }
        }
        found.sort_unstable();
        found
    }
}

fn is_header(found: &Loop, node: usize) -> bool {
    found.headers.binary_search(&node).is_ok()
}

/// Role of an edge in a [`Subgraph`].
#[derive(Clone, Copy, PartialEq, Eq)]
enum EdgeRole {
    /// Leads to another node of the subgraph.
    Inside,
    /// Leads to the subgraph's virtual exit.
    Leaves,
    /// Is not an edge of the subgraph.
    Ignored,
}

/// Subgraph with a virtual exit, and its postdominators.
struct Subgraph<'a> {
    nodes: &'a [usize],
    /// Graph over positions in `nodes`; the virtual exit is the last node.
    graph: Digraph,
    postdominators: Dominators,
}

impl<'a> Subgraph<'a> {
    /// The subgraph of `nodes` (ascending) with the edges of `graph` in their roles.
    fn new(
        graph: &Digraph,
        nodes: &'a [usize],
        role: impl Fn(usize, usize) -> EdgeRole,
    ) -> Subgraph<'a> {
        let end = nodes.len();
        let mut edges = Vec::new();
        for (at, &from) in nodes.iter().enumerate() {
            for &to in graph.successors(from) {
                match (role(from, to), nodes.binary_search(&to)) {
                    (EdgeRole::Inside, Ok(to)) => edges.push((at, to)),
                    (EdgeRole::Leaves, _) => edges.push((at, end)),
                    _ => {}
                }
            }
        }
        let inside = edges.iter().copied().filter(|&(_, to)| to != end);
        let last = edges.iter().filter(|&&(_, to)| to == end);
        Subgraph {
            nodes,
            postdominators: Dominators::compute_post(
                &Digraph::new(end, inside),
                last.map(|&(from, _)| from),
            ),
            graph: Digraph::new(end + 1, edges),
        }
    }

    /// The immediate postdominator of a node; `None` if it is the virtual exit.
    fn immediate_postdominator(&self, node: usize) -> Option<usize> {
        let at = self.nodes.binary_search(&node).ok()?;
        let point = self.postdominators.immediate(at)?;
        self.nodes.get(point).copied()
    }

    /// Adds, to the list of each node, the nodes on which it is directly control dependent.
    ///
    /// Ferrante et al. 1987: for an edge A → B, the nodes from B up the postdominator tree to, not including, the
    /// immediate postdominator of A depend on A.
    fn add_controllers(&self, lists: &mut [Vec<usize>]) {
        for (branch, &name) in self.nodes.iter().enumerate() {
            let successors = self.graph.successors(branch);
            if successors.len() < 2 {
                continue;
            }
            let end = self.postdominators.immediate(branch);
            for &successor in successors {
                let mut at = Some(successor);
                while let Some(position) = at.filter(|_| at != end) {
                    let Some(&node) = self.nodes.get(position) else {
                        break;
                    };
                    // An earlier successor of the branch has added the rest of the path.
                    if lists[node].last() == Some(&name) {
                        break;
                    }
                    lists[node].push(name);
                    at = self.postdominators.immediate(position);
                }
            }
        }
    }
}
