//! Instrumentation points of a wave, and the graph of the ways between them (`wavefront-splitting-2022` 5.2.3).
//!
//! A point is an operation whose issue a trace records. Every cycle of the control flow has a point, so that a way
//! between two points executes no operation twice. For example, a loop of one block has a point at its first
//! operation, a join, and one at its last, the end of a round.

use std::collections::{BTreeMap, BTreeSet};

use warpbound_base::Named;
use warpbound_graph::{Digraph, LoopForest};
use warpbound_ir::{Cell, Code, OpIndex};
use warpbound_isa::Reg;
use warpbound_simt::NodeId;
use warpbound_simt::warp::WarpStep;

use crate::branch_sites::BranchSite;
use crate::thread_cfg::ThreadCfg;

/// Reason why an operation is an instrumentation point.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum PointKind {
    /// The kernel starts with it.
    Start,
    /// Two paths meet before it.
    Join,
    /// A branch on a mask: lanes may diverge.
    Branch,
    /// End of a round of a loop.
    LoopBack,
    /// The wave ends with it.
    End,
}

impl Named for PointKind {
    const ALL: &'static [(PointKind, &'static str)] = &[
        (PointKind::Start, "start"),
        (PointKind::Join, "join"),
        (PointKind::Branch, "branch"),
        (PointKind::LoopBack, "loop-back"),
        (PointKind::End, "end"),
    ];
}

/// Operation, in a calling context, whose issues are recorded.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct InstrumentationPoint {
    /// Node of the operation: the first or the last one of its block.
    pub node: NodeId,
    /// Operation.
    pub at: OpIndex,
    /// Reasons, ascending, at least one.
    pub kinds: BTreeSet<PointKind>,
}

/// Way from one point to the next.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct PointEdge {
    /// Number of the point at which it begins.
    pub from: usize,
    /// First node after the node of `from`, if `from` is the last operation of its block: parallel edges differ in
    /// it.
    pub via: Option<NodeId>,
    /// Number of the next point.
    pub to: usize,
    /// Nodes whose operations some path of the edge executes between the points.
    pub may_execute: BTreeSet<NodeId>,
    /// Nodes whose operations every path of the edge executes between the points.
    pub executes: BTreeSet<NodeId>,
    /// Whether it leads to the header of a loop from inside the loop.
    pub closes_loop: bool,
}

/// Branch on EXEC that may split a wave, with the node after it on either side.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ExecBranch {
    /// Number of its point.
    pub point: usize,
    /// First node if a lane is active.
    pub active: NodeId,
    /// First node if none is.
    pub empty: NodeId,
    /// Number of the branch that decides about the other arm, if this one is the first of an if-else: no lane takes
    /// both arms.
    pub other_arm: Option<usize>,
}

/// Graph of the instrumentation points of a kernel: its IPG.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct PointGraph {
    /// Points, by node and operation.
    pub points: Vec<InstrumentationPoint>,
    /// Edges, ascending.
    pub edges: Vec<PointEdge>,
    /// Branches on EXEC of the kinds split and skip, by point.
    pub branches: Vec<ExecBranch>,
    /// Number of the point at the start of the kernel.
    pub start: usize,
    /// Number of the first edge from each point, and the number of all edges.
    first_edges: Vec<usize>,
}

impl PointGraph {
    /// Builds the graph for the steps of a wave between the nodes of `thread`. `sites` are the branches with their
    /// kinds, see [`crate::branch_sites::classify`]. `None` if the kernel has no operation.
    pub fn build(
        code: &Code,
        thread: &ThreadCfg,
        steps: &[Vec<WarpStep>],
        sites: &BTreeMap<OpIndex, BranchSite>,
    ) -> Option<PointGraph> {
        let flow = Flow::new(thread, steps);
        let mut found = BTreeMap::new();
        flow.find_points(sites, &mut found);
        let points: Vec<InstrumentationPoint> = found
            .into_iter()
            .map(|((node, at), kinds)| InstrumentationPoint { node, at, kinds })
            .collect();
        let numbers: BTreeMap<(NodeId, OpIndex), usize> = points
            .iter()
            .enumerate()
            .map(|(number, point)| ((point.node, point.at), number))
            .collect();
        let mut edges = Vec::new();
        for (from, point) in points.iter().enumerate() {
            flow.add_edges(from, point, &numbers, &mut edges);
        }
        edges.sort_unstable();
        let first = thread.space.block(thread.entry).first;
        let start = *numbers.get(&(thread.entry, first))?;
        // The edges are sorted by the points at which they begin.
        let first_edges = (0..=points.len())
            .map(|point| edges.partition_point(|edge| edge.from < point))
            .collect();
        let mut graph = PointGraph {
            points,
            edges,
            branches: Vec::new(),
            start,
            first_edges,
        };
        graph.branches = graph.exec_branches(code, thread, sites);
        Some(graph)
    }

    /// Returns the numbers of the edges from a point.
    pub fn leaving(&self, point: usize) -> std::ops::Range<usize> {
        let at = |index: usize| self.first_edges.get(index).copied().unwrap_or_default();
        at(point)..at(point + 1)
    }

    /// Returns the edges from a point, with their numbers.
    pub fn edges_from(&self, point: usize) -> impl Iterator<Item = (usize, &PointEdge)> {
        let range = self.leaving(point);
        let first = range.start;
        let edges = self.edges.get(range).unwrap_or_default();
        (first..).zip(edges)
    }

    /// Finds the branches on EXEC that may split, and pairs the two branches of an if-else: the code that the first
    /// one skips ends at the second one, whose lanes were not active at the first (`wavefront-splitting-2022`, Figure
    /// 4.4).
    fn exec_branches(
        &self,
        code: &Code,
        thread: &ThreadCfg,
        sites: &BTreeMap<OpIndex, BranchSite>,
    ) -> Vec<ExecBranch> {
        let mut branches: Vec<ExecBranch> = Vec::new();
        for (number, point) in self.points.iter().enumerate() {
            let kind = sites.get(&point.at);
            if !matches!(kind, Some(BranchSite::Split | BranchSite::Skip)) {
                continue;
            }
            let sides = sides_of_exec_branch(code, thread, point.node);
            branches.extend(sides.map(|(active, empty)| ExecBranch {
                point: number,
                active,
                empty,
                other_arm: None,
            }));
        }
        let by_node: BTreeMap<NodeId, usize> = branches
            .iter()
            .enumerate()
            .filter_map(|(number, branch)| Some((self.points.get(branch.point)?.node, number)))
            .collect();
        for branch in &mut branches {
            let at = self.points.get(branch.point).map(|point| point.at);
            let kind = at.and_then(|at| sites.get(&at));
            // Only a split has another arm; a skip leaves out code that no lane would execute.
            if kind == Some(&BranchSite::Split) {
                branch.other_arm = by_node.get(&branch.empty).copied();
            }
        }
        branches
    }
}

/// Returns the nodes after a branch on EXEC: if a lane is active, and if none is.
fn sides_of_exec_branch(code: &Code, thread: &ThreadCfg, node: NodeId) -> Option<(NodeId, NodeId)> {
    let resolved = thread.resolved.get(node.index())?.as_ref()?;
    let last = code.get(thread.space.block(node).last)?;
    if resolved.condition.guard? != Cell::of(Reg::EXEC) || last.condition.is_always() {
        return None;
    }
    let next = resolved.next?;
    let steps = thread.steps.get(node.index())?.iter();
    let taken = steps.filter_map(|step| step.to).find(|&to| to != next)?;
    // A negated condition holds if no lane is active.
    Some(match resolved.condition.negated {
        true => (next, taken),
        false => (taken, next),
    })
}

/// Control flow between nodes.
struct Flow<'a> {
    thread: &'a ThreadCfg,
    graph: Digraph,
    /// Whether the wave may end at the end of each node.
    ends: Vec<bool>,
    is_reached: Vec<bool>,
    /// Edges of the graph from a node of a loop to a header of that loop; each cycle has one.
    back: BTreeSet<(usize, usize)>,
}

impl<'a> Flow<'a> {
    fn new(thread: &'a ThreadCfg, steps: &[Vec<WarpStep>]) -> Flow<'a> {
        let len = thread.space.len();
        let mut ends = vec![false; len];
        let mut edges = Vec::new();
        for (from, steps) in steps.iter().enumerate().take(len) {
            for step in steps {
                match step.to {
                    Some(to) => edges.push((from, to.index())),
                    None => ends[from] = true,
                }
            }
        }
        edges.sort_unstable();
        // Several steps may lead to one node, by jumps and by entries that resume.
        edges.dedup();
        let graph = Digraph::new(len, edges);
        let is_reached = graph.reachable([thread.entry.index()]);
        let mut back = BTreeSet::new();
        for (_, body) in LoopForest::build(&graph, thread.entry.index()).loops() {
            for &node in &body.body {
                let next = graph.successors(node).iter();
                let headers = next.filter(|to| body.headers.binary_search(to).is_ok());
                back.extend(headers.map(|&to| (node, to)));
            }
        }
        Flow {
            thread,
            graph,
            ends,
            is_reached,
            back,
        }
    }

    /// Adds the points of the reached nodes.
    fn find_points(
        &self,
        sites: &BTreeMap<OpIndex, BranchSite>,
        found: &mut BTreeMap<(NodeId, OpIndex), BTreeSet<PointKind>>,
    ) {
        let reversed = self.graph.reversed();
        let mut add = |node: usize, is_last: bool, kind: PointKind| {
            let node = NodeId(node as u32);
            let block = self.thread.space.block(node);
            let at = if is_last { block.last } else { block.first };
            found.entry((node, at)).or_default().insert(kind);
        };
        add(self.thread.entry.index(), false, PointKind::Start);
        for node in (0..self.ends.len()).filter(|&node| self.is_reached[node]) {
            let from = reversed.successors(node).iter();
            if from.filter(|&&from| self.is_reached[from]).count() > 1 {
                add(node, false, PointKind::Join);
            }
            let last = self.thread.space.block(NodeId(node as u32)).last;
            // A branch on a register of the wave sends all lanes the same way, so none diverges there.
            let is_branch = matches!(
                sites.get(&last),
                Some(BranchSite::Split | BranchSite::Skip | BranchSite::Mask)
            );
            if is_branch {
                add(node, true, PointKind::Branch);
            }
            if self.ends[node] {
                add(node, true, PointKind::End);
            }
        }
        // Each cycle has a back edge, so points at the sources of back edges cut all cycles.
        for &(node, _) in &self.back {
            add(node, true, PointKind::LoopBack);
        }
    }

    /// Adds the edges from a point.
    fn add_edges(
        &self,
        from: usize,
        point: &InstrumentationPoint,
        numbers: &BTreeMap<(NodeId, OpIndex), usize>,
        edges: &mut Vec<PointEdge>,
    ) {
        let block = self.thread.space.block(point.node);
        let next = self.graph.successors(point.node.index());
        if point.at == block.last {
            for next in next {
                let via = NodeId(*next as u32);
                self.search(from, point.node, Some(via), &[*next], numbers, edges);
            }
            return;
        }
        // A point at the start of a block: the way leads through the block.
        match numbers.get(&(point.node, block.last)) {
            Some(&to) => {
                let inside = BTreeSet::from([point.node]);
                edges.push(PointEdge {
                    from,
                    via: None,
                    to,
                    may_execute: inside.clone(),
                    executes: inside,
                    closes_loop: false,
                });
            }
            None => self.search(from, point.node, None, next, numbers, edges),
        }
    }

    /// Adds an edge to each point that is the next one on a path which enters a node of `first`.
    fn search(
        &self,
        from: usize,
        here: NodeId,
        via: Option<NodeId>,
        first: &[usize],
        numbers: &BTreeMap<(NodeId, OpIndex), usize>,
        edges: &mut Vec<PointEdge>,
    ) {
        // No cycle is without a point, so the passed nodes have an order.
        let mut passed = BTreeSet::new();
        let mut reached = BTreeMap::new();
        let mut pending: Vec<usize> = first.to_vec();
        while let Some(next) = pending.pop() {
            let node = NodeId(next as u32);
            let block = self.thread.space.block(node);
            let points = [block.first, block.last].map(|at| numbers.get(&(node, at)));
            match points {
                // The first operation comes first, whatever point ends the node.
                [Some(&to), _] => {
                    reached.insert(to, (next, false));
                }
                [None, Some(&to)] => {
                    reached.insert(to, (next, true));
                }
                [None, None] => {
                    if passed.insert(next) {
                        pending.extend(self.graph.successors(next));
                    }
                }
            }
        }
        for (to, (last, executes_last)) in reached {
            let leads_on = |node: &usize| self.passes(&[*node], last, None, &passed);
            let on_a_way: Vec<usize> = passed.iter().copied().filter(leads_on).collect();
            let mut own: Vec<NodeId> = Vec::new();
            own.extend(via.is_none().then_some(here));
            own.extend(executes_last.then_some(NodeId(last as u32)));
            let nodes = |nodes: Vec<usize>| {
                let all = nodes.into_iter().map(|node| NodeId(node as u32));
                all.chain(own.iter().copied()).collect()
            };
            // A node is on every path if none leads past it.
            let always = on_a_way
                .iter()
                .copied()
                .filter(|&node| !self.passes(first, last, Some(node), &passed));
            let executes = nodes(always.collect());
            edges.push(PointEdge {
                from,
                via,
                to,
                may_execute: nodes(on_a_way),
                executes,
                closes_loop: via.is_some() && self.back.contains(&(here.index(), last)),
            });
        }
    }

    /// Whether a path leads from one of the nodes `first` over `passed` ones to `last`, without the node `without`.
    fn passes(
        &self,
        first: &[usize],
        last: usize,
        without: Option<usize>,
        passed: &BTreeSet<usize>,
    ) -> bool {
        let mut seen = BTreeSet::new();
        let mut pending: Vec<usize> = first.to_vec();
        while let Some(node) = pending.pop() {
            if node == last {
                return true;
            }
            if Some(node) != without && passed.contains(&node) && seen.insert(node) {
                pending.extend(self.graph.successors(node));
            }
        }
        false
    }
}
