//! Control dependence in the thread-level graph: which branches decide what.
//!
//! Control dependence is that of Ferrante, Ottenstein and Warren ("The Program Dependence Graph and
//! Its Use in Optimization", 1987), by postdominators. Calls are part of the graph (nodes are blocks
//! in a context), so the dependence crosses calls and returns.

use warpbound_graph::{Digraph, Dominators, LoopForest, LoopIndex};
use warpbound_ir::{Cell, Code};
use warpbound_simt::NodeId;
use warpbound_simt::warp::ControlOp;

use crate::thread::{ThreadCfg, indirect_base};

/// What decides where a thread goes on behind a node with several successors.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Decision {
    /// Cells read by the condition or by the jump.
    pub cells: Vec<Cell>,
    /// The stack decides as well: SYNC, BRK, CONT or RET may resume at several places.
    pub by_stack: bool,
}

/// The edges of a join between which a choice is asked for.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Choice {
    /// All edges.
    All,
    /// Those that enter the loop of which the node is the header.
    Entering,
    /// Those that close it.
    Closing,
}

/// Dominators, loops and control dependence of a thread-level graph.
///
/// Nodes are numbers of [`NodeId`]s; one more, the last, is the virtual exit.
#[derive(Clone, Debug)]
pub struct Dependence {
    /// The graph, with the virtual exit.
    pub graph: Digraph,
    /// Every edge turned round.
    pub reversed: Digraph,
    /// Dominators, from the kernel's entry.
    pub dominators: Dominators,
    /// Postdominators, from the virtual exit.
    pub postdominators: Dominators,
    /// Postdominators if a conditional EXIT, taken, is no way, unless there is no other.
    pub live_postdominators: Dominators,
    /// Loops.
    pub loops: LoopForest,
    /// For each node, the nodes with several successors that decide directly whether it is executed,
    /// ascending.
    pub controllers: Vec<Vec<usize>>,
    /// The same if a conditional EXIT, taken, is no way: what decides for lanes that are still live.
    pub live_controllers: Vec<Vec<usize>>,
}

impl Dependence {
    /// Finds them.
    pub fn run(thread: &ThreadCfg) -> Dependence {
        let exit = thread.space.len();
        let entry = thread.entry.index();
        let reached = |from: NodeId| thread.is_reached(from);
        let edges = thread
            .edges()
            .filter(|&(from, _)| reached(from))
            .map(|(from, step)| (from.index(), step.to.map_or(exit, NodeId::index)));
        let graph = Digraph::new(exit + 1, edges);
        let (postdominators, controllers) = controllers_of(exit, graph.edges());
        let conditional =
            |&(from, to): &(usize, usize)| to == exit && graph.successors(from).len() > 1;
        let without = Digraph::new(exit + 1, graph.edges().filter(|edge| !conditional(edge)));
        // A loop that is left by conditional EXITs only keeps them: else it would never end.
        let ends = without.reversed().reachable([exit]);
        let stays = |edge: &(usize, usize)| !conditional(edge) || !ends[edge.0];
        let (live_postdominators, live_controllers) =
            controllers_of(exit, graph.edges().filter(stays));
        Dependence {
            reversed: graph.reversed(),
            dominators: Dominators::run(&graph, entry),
            postdominators,
            live_postdominators,
            loops: LoopForest::run(&graph, entry),
            controllers,
            live_controllers,
            graph,
        }
    }

    /// The virtual exit.
    pub fn exit(&self) -> usize {
        self.graph.len() - 1
    }

    /// Where all lanes that part at `node` surely come again: its immediate postdominator, which may be
    /// the virtual exit.
    pub fn meeting(&self, node: usize) -> usize {
        let found = self.postdominators.immediate(node);
        found.unwrap_or_else(|| self.exit())
    }

    /// Where those come again that do not leave by a conditional EXIT.
    pub fn live_meeting(&self, node: usize) -> usize {
        let found = self.live_postdominators.immediate(node);
        found.unwrap_or_else(|| self.exit())
    }

    /// What decides at a node with several successors; `None` at others.
    pub fn decision(&self, code: &Code, thread: &ThreadCfg, node: usize) -> Option<Decision> {
        let ways = self.graph.successors(node);
        if ways.len() < 2 {
            return None;
        }
        let resolved = thread.resolved.get(node)?.as_ref()?;
        let mut decision = Decision::default();
        let condition = resolved.condition;
        let mut others = ways.len();
        if !condition.is_always() && !condition.is_never() {
            decision.cells.extend(condition.cells());
            others -= 1;
        }
        match &resolved.op {
            ControlOp::Scatter { .. } => {
                let last = code.get(thread.space.block(NodeId(node as u32)).last)?;
                decision.cells.extend(indirect_base(&last.control));
            }
            ControlOp::Unwind(_) => decision.by_stack = others > 1,
            _ => {}
        }
        Some(decision)
    }

    /// How the edges to `node` are told apart: the header of a loop that is entered there only has
    /// edges that enter it, and edges that close it; all other joins have edges of one kind.
    ///
    /// Each part is the edges' sources, ascending.
    pub fn parts(&self, node: usize) -> Vec<(Choice, Vec<usize>)> {
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
                vec![(Choice::Entering, entering), (Choice::Closing, closing)]
            }
            None => vec![(Choice::All, sources)],
        }
    }

    /// The loop that is entered at `node` only.
    pub fn header_of(&self, node: usize) -> Option<LoopIndex> {
        let index = self.loops.innermost(node)?;
        (self.loops.get(index).headers == [node]).then_some(index)
    }

    /// The branches that decide by which of the edges from `sources` the node `join` is reached:
    /// those on which the sources are control dependent, directly or not, back to the join's immediate
    /// dominator (to the join itself for edges that close its loop), all of whose lanes come by together.
    pub fn gates(&self, join: usize, choice: Choice, sources: &[usize]) -> Vec<usize> {
        let top = match choice {
            Choice::Closing => join,
            _ => self.dominators.immediate(join).unwrap_or(join),
        };
        let inside = |branch: usize| self.dominators.dominates(top, branch);
        self.closure(sources, |node| node != top, inside)
    }

    /// The branches that decide in which round, and by which way, a lane leaves a loop: those with an
    /// edge out of it, and those inside on which they are control dependent.
    pub fn leaving(&self, index: LoopIndex) -> Vec<usize> {
        let found = self.loops.get(index);
        let leaves = |&&node: &&usize| {
            let ways = self.graph.successors(node);
            ways.iter().any(|&to| !found.contains(to))
        };
        let exits: Vec<usize> = found.body.iter().filter(leaves).copied().collect();
        self.closure(&exits, |_| true, |branch| found.contains(branch))
    }

    /// Branches among `nodes` and among what they depend on; not beyond nodes that are not `open`, and
    /// only branches `inside`. Ascending.
    fn closure(
        &self,
        nodes: &[usize],
        open: impl Fn(usize) -> bool,
        inside: impl Fn(usize) -> bool,
    ) -> Vec<usize> {
        let mut found: Vec<usize> = Vec::new();
        let mut seen = std::collections::HashSet::new();
        let mut waiting: Vec<usize> = Vec::new();
        for &node in nodes {
            if seen.insert(node) {
                waiting.push(node);
            }
        }
        while let Some(node) = waiting.pop() {
            if self.graph.successors(node).len() > 1 && inside(node) {
                found.push(node);
            }
            if !open(node) {
                continue;
            }
            for &branch in &self.controllers[node] {
                if inside(branch) && seen.insert(branch) {
                    waiting.push(branch);
                }
            }
        }
        found.sort_unstable();
        found
    }
}

/// Postdominators, and for each node those that decide directly whether it is executed, in the graph of
/// `edges` between the nodes up to the virtual exit `exit`.
fn controllers_of(
    exit: usize,
    edges: impl Iterator<Item = (usize, usize)>,
) -> (Dominators, Vec<Vec<usize>>) {
    let graph = Digraph::new(exit + 1, edges);
    let last = graph.edges().filter(|&(_, to)| to == exit);
    let inside = graph.edges().filter(|&(_, to)| to != exit);
    let postdominators = Dominators::post(&Digraph::new(exit, inside), last.map(|(from, _)| from));
    let mut controllers = vec![Vec::new(); exit + 1];
    for branch in 0..exit {
        let ways = graph.successors(branch);
        if ways.len() < 2 {
            continue;
        }
        let meeting = postdominators.immediate(branch);
        for &way in ways {
            let mut at = Some(way);
            while let Some(node) = at.filter(|_| at != meeting) {
                // The ways may have the rest in common.
                if controllers[node].last() == Some(&branch) {
                    break;
                }
                controllers[node].push(branch);
                at = postdominators.immediate(node);
            }
        }
    }
    (postdominators, controllers)
}
