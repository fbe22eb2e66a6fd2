//! Control dependence in the thread-level graph: which branches decide what.
//!
//! Control dependence is that of Ferrante, Ottenstein and Warren ("The Program Dependence Graph and
//! Its Use in Optimization", 1987), by postdominators. Calls are part of the graph (nodes are blocks
//! in a context), so the dependence crosses calls and returns.

use warpbound_graph::{Digraph, Dominators, Loop, LoopForest, LoopIndex};
use warpbound_ir::{Cell, Code};
use warpbound_simt::NodeId;
use warpbound_simt::warp::ControlOp;

use crate::thread_cfg::{ThreadCfg, indirect_base};

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
pub enum JoinEdges {
    /// All edges.
    All,
    /// Those that enter the loop of which the node is the header.
    Entering,
    /// Those that close it.
    Closing,
}

/// Dominators, loops and control dependence of a thread-level graph.
///
/// A branch decides whether a node is executed at all, or whether it is in this round of a loop around
/// both; either is control dependence here. A round ends where the loop is closed or left.
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
    /// Loops.
    pub loops: LoopForest,
    /// For each node, the nodes with several successors that decide directly whether it is executed,
    /// ascending.
    pub controllers: Vec<Vec<usize>>,
    /// The same if a conditional EXIT, taken, is no way: what decides for lanes that are still live.
    pub live_controllers: Vec<Vec<usize>>,
    /// For each node, where lanes that part there and do not leave by a conditional EXIT surely come
    /// again.
    live_meetings: Vec<Option<usize>>,
}

impl Dependence {
    /// Finds them.
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
        // A loop that is left by conditional EXITs only keeps them: else it would never end.
        let ends = Digraph::new(exit + 1, without).reversed().reachable([exit]);
        let dies = |from: usize, to: usize| conditional(from, to) && ends[from];

        let whole = |_: usize, to: usize| if to == exit { Way::Ends } else { Way::GoesOn };
        let live = |ways: &dyn Fn(usize, usize) -> Way, from, to| match dies(from, to) {
            true => Way::None,
            false => ways(from, to),
        };
        let all: Vec<usize> = (0..exit).collect();
        let mut controllers = vec![Vec::new(); exit + 1];
        let mut live_controllers = controllers.clone();
        Scope::run(&graph, &all, whole).add_controllers(&mut controllers);
        let living = Scope::run(&graph, &all, |from, to| live(&whole, from, to));
        living.add_controllers(&mut live_controllers);
        let loops = LoopForest::build(&graph, entry);
        for (_, round) in loops.loops() {
            let ways = |_: usize, to: usize| match round.contains(to) && !is_header(round, to) {
                true => Way::GoesOn,
                false => Way::Ends,
            };
            Scope::run(&graph, &round.body, ways).add_controllers(&mut controllers);
            Scope::run(&graph, &round.body, |from, to| live(&ways, from, to))
                .add_controllers(&mut live_controllers);
        }
        for list in controllers.iter_mut().chain(&mut live_controllers) {
            list.sort_unstable();
            list.dedup();
        }
        Dependence {
            reversed: graph.reversed(),
            dominators: Dominators::compute(&graph, entry),
            loops,
            controllers,
            live_controllers,
            live_meetings: (0..exit).map(|node| living.meeting(node)).collect(),
            graph,
        }
    }

    /// The virtual exit.
    pub fn exit(&self) -> usize {
        self.graph.len() - 1
    }

    /// Where lanes that part at `node` and do not leave by a conditional EXIT surely come again: its
    /// immediate postdominator among them, which may be the virtual exit.
    pub fn live_reconvergence(&self, node: usize) -> usize {
        let found = self.live_meetings.get(node).copied().flatten();
        found.unwrap_or_else(|| self.exit())
    }

    /// Where lanes that part at `branch` in a round of the loop, and stay in the loop, come together: in
    /// this round, or at its headers.
    pub fn iteration_reconvergence(
        &self,
        index: LoopIndex,
        branches: &[usize],
    ) -> Vec<(usize, usize)> {
        let mut pairs = Vec::new();
        if branches.is_empty() {
            return pairs;
        }
        let round = self.loops.get(index);
        let scope = Scope::run(&self.graph, &round.body, |_, to| {
            match (round.contains(to), is_header(round, to)) {
                (true, false) => Way::GoesOn,
                (true, true) => Way::Ends,
                (false, _) => Way::None,
            }
        });
        for &branch in branches {
            match scope.meeting(branch) {
                Some(meeting) => pairs.push((branch, meeting)),
                None => pairs.extend(round.headers.iter().map(|&header| (branch, header))),
            }
        }
        pairs
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
            ControlOp::IndirectJump { .. } => {
                let last = code.get(thread.space.block(NodeId(node as u32)).last)?;
                decision.cells.extend(indirect_base(&last.control));
            }
            ControlOp::Pop(_) => decision.by_stack = others > 1,
            _ => {}
        }
        Some(decision)
    }

    /// How the edges to `node` are told apart: the header of a loop that is entered there only has
    /// edges that enter it, and edges that close it; all other joins have edges of one kind.
    ///
    /// Each part is the edges' sources, ascending.
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

    /// The loop that is entered at `node` only.
    pub fn header_of(&self, node: usize) -> Option<LoopIndex> {
        let index = self.loops.innermost(node)?;
        (self.loops.get(index).headers == [node]).then_some(index)
    }

    /// The branches that decide by which of the edges from `sources` the node `join` is reached:
    /// those on which the sources are control dependent, directly or not, back to the join's immediate
    /// dominator (to the join itself for edges that close its loop), all of whose lanes come by together.
    pub fn gates(&self, join: usize, choice: JoinEdges, sources: &[usize]) -> Vec<usize> {
        let top = match choice {
            JoinEdges::Closing => join,
            _ => self.dominators.immediate(join).unwrap_or(join),
        };
        let inside = |branch: usize| self.dominators.dominates(top, branch);
        self.closure(sources, |node| node != top, inside)
    }

    /// The branches that decide in which round, and by which way, a lane leaves a loop: those with an
    /// edge out of it, and those inside on which they are control dependent.
    pub fn exit_branches(&self, index: LoopIndex) -> Vec<usize> {
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

fn is_header(found: &Loop, node: usize) -> bool {
    found.headers.binary_search(&node).is_ok()
}

/// What an edge is in a [`Scope`].
#[derive(Clone, Copy, PartialEq, Eq)]
enum Way {
    /// It leads to another node of the scope.
    GoesOn,
    /// The scope ends with it.
    Ends,
    /// It is not looked at.
    None,
}

/// Some nodes, how lanes go on between them, and where the ways from each come together.
struct Scope<'a> {
    nodes: &'a [usize],
    /// By position in `nodes`; the end is one more.
    graph: Digraph,
    postdominators: Dominators,
}

impl<'a> Scope<'a> {
    /// `nodes` ascending; `ways` says what an edge of `graph` from one of them is.
    fn run(graph: &Digraph, nodes: &'a [usize], ways: impl Fn(usize, usize) -> Way) -> Scope<'a> {
        let end = nodes.len();
        let mut edges = Vec::new();
        for (at, &from) in nodes.iter().enumerate() {
            for &to in graph.successors(from) {
                match (ways(from, to), nodes.binary_search(&to)) {
                    (Way::GoesOn, Ok(to)) => edges.push((at, to)),
                    (Way::Ends, _) => edges.push((at, end)),
                    _ => {}
                }
            }
        }
        let inside = edges.iter().copied().filter(|&(_, to)| to != end);
        let last = edges.iter().filter(|&&(_, to)| to == end);
        Scope {
            nodes,
            postdominators: Dominators::compute_post(
                &Digraph::new(end, inside),
                last.map(|&(from, _)| from),
            ),
            graph: Digraph::new(end + 1, edges),
        }
    }

    /// Where all ways from a node come together first; `None` at the end.
    fn meeting(&self, node: usize) -> Option<usize> {
        let at = self.nodes.binary_search(&node).ok()?;
        let meeting = self.postdominators.immediate(at)?;
        self.nodes.get(meeting).copied()
    }

    /// Adds, to the list of each node, the nodes that decide directly whether it is executed.
    fn add_controllers(&self, lists: &mut [Vec<usize>]) {
        for (branch, &name) in self.nodes.iter().enumerate() {
            let ways = self.graph.successors(branch);
            if ways.len() < 2 {
                continue;
            }
            let meeting = self.postdominators.immediate(branch);
            for &way in ways {
                let mut at = Some(way);
                while let Some(position) = at.filter(|_| at != meeting) {
                    let Some(&node) = self.nodes.get(position) else {
                        break;
                    };
                    // The ways may have the rest in common.
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
