//! Longest paths of waves and splits over observed times: with the splits that the runs show, and for the
//! configurations of `wavefront-splitting-2022` 5.2.4. Where a wave always splits it executes one arm of an if-else;
//! otherwise both arms are on its path.

use std::collections::{BTreeMap, BTreeSet};

use warpbound_analyse::instrumentation::{ExecBranch, PointGraph, PointKind};
use warpbound_base::{Cycles, Diagnostic, Observed};
use warpbound_ipet::{
    Effort, ExclusiveArms, Ipet, LongestPath, MeasuredEdge, MeasuredGraph, NoLongestPath,
    PathQuery, PathStart, longest_path,
};
use warpbound_simt::NodeId;

use super::traces::{SplitOrigin, Traces};
use warpbound_bounds::bound::FlowFacts;
use warpbound_query::KernelFlow;

/// Maximum number of ways to a point that the search for skipped code follows.
const MOST_WAYS: usize = 64;

/// Searches for longest paths in the graph of a kernel.
pub(crate) struct PathFinder<'a> {
    pub(crate) graph: &'a PointGraph,
    flow: &'a KernelFlow,
    /// Count rows with the flow facts.
    ipet: Ipet<Cycles>,
    /// Node of each point.
    nodes: Vec<NodeId>,
    /// Bounds of the loops, by fact.
    bounds: Vec<Option<u64>>,
    /// Points where the kernel ends.
    pub(crate) ends: Vec<usize>,
}

impl<'a> PathFinder<'a> {
    /// Prepares the searches.
    ///
    /// # Errors
    ///
    /// A flow fact is too large to compute with.
    pub(crate) fn new(
        graph: &'a PointGraph,
        flow: &'a KernelFlow,
        facts: &FlowFacts,
    ) -> Result<PathFinder<'a>, Diagnostic> {
        // Times are on edges between points; of the program only the rows are used.
        let ipet = Ipet::with_step_costs(&flow.counts, |_| None, facts.stated());
        let too_large = |_| Diagnostic::new("a loop bound is too large to compute with");
        let is_end = |point: &usize| {
            let point = graph.points.get(*point);
            point.is_some_and(|point| point.kinds.contains(&PointKind::End))
        };
        Ok(PathFinder {
            graph,
            flow,
            ipet: ipet.map_err(too_large)?,
            nodes: graph.points.iter().map(|point| point.node).collect(),
            bounds: facts.bounds.clone(),
            ends: (0..graph.points.len()).filter(is_end).collect(),
        })
    }

    /// Returns the edges with the observed times of `traces`, except the edges that `excludes` accepts.
    pub(crate) fn measured(
        &self,
        traces: &Traces,
        excludes: impl Fn(usize) -> bool,
    ) -> Vec<MeasuredEdge> {
        self.with_times(|edge| traces.time(edge).filter(|_| !excludes(edge)))
    }

    fn with_times(&self, time: impl Fn(usize) -> Option<Observed<Cycles>>) -> Vec<MeasuredEdge> {
        let edges = self.graph.edges.iter().enumerate();
        edges
            .map(|(number, edge)| MeasuredEdge {
                from: edge.from,
                via: edge.via,
                to: edge.to,
                time: time(number),
            })
            .collect()
    }

    /// Returns the longest path of a split from its origin to one of `ends`.
    pub(crate) fn longest(
        &self,
        edges: &[MeasuredEdge],
        origin: SplitOrigin,
        ends: &[usize],
        exclusive: &[ExclusiveArms],
    ) -> Result<LongestPath, NoLongestPath> {
        let first;
        let start = match origin {
            SplitOrigin::Launch => PathStart::Point(self.graph.start),
            SplitOrigin::Child(point) => {
                first = self.first_edges(point);
                PathStart::Edge(&first)
            }
        };
        let query = PathQuery {
            start,
            ends,
            exclusive,
        };
        let graph = MeasuredGraph {
            nodes: &self.nodes,
            edges,
            loops: &self.flow.loops.loops,
            bounds: &self.bounds,
        };
        longest_path(
            &self.ipet,
            &self.flow.counts,
            graph,
            query,
            Effort::default(),
        )
    }

    /// Returns the edges on which a child leaves the branch at which it was split off. No lane of the child is active
    /// there, so it takes the side without active lanes.
    fn first_edges(&self, point: usize) -> Vec<usize> {
        match self.branch_at(point) {
            Some(branch) => self.side(point, branch.empty),
            None => self.graph.leaving(point).collect(),
        }
    }

    fn branch_at(&self, point: usize) -> Option<&ExecBranch> {
        let branches = &self.graph.branches;
        branches.iter().find(|branch| branch.point == point)
    }

    /// Returns the edges from a point to a node.
    fn side(&self, point: usize, via: NodeId) -> Vec<usize> {
        let edges = self.graph.edges_from(point);
        let to = edges.filter(|(_, edge)| edge.via == Some(via));
        to.map(|(number, _)| number).collect()
    }

    /// Returns the if-elses where a wave executes at most one arm: it always splits at the first branch if its lanes
    /// disagree. `splits_always` receives the number of a branch.
    pub(crate) fn exclusive_arms(
        &self,
        splits_always: impl Fn(usize) -> bool,
    ) -> Vec<ExclusiveArms> {
        let mut all = Vec::new();
        for (number, branch) in self.graph.branches.iter().enumerate() {
            let other = branch
                .other_arm
                .and_then(|other| self.graph.branches.get(other));
            // A branch without another arm only skips code, so nothing is exclusive.
            let Some(other) = other else {
                continue;
            };
            if !splits_always(number) {
                continue;
            }
            // If the lanes agree, the wave takes one arm and skips the other; if they disagree, each split does.
            let mut arms = self.side(branch.point, branch.active);
            arms.extend(self.side(other.point, other.active));
            all.push(ExclusiveArms {
                label: format!("point {}", branch.point),
                arms,
                executions: self.graph.leaving(branch.point).collect(),
            });
        }
        all
    }

    /// Returns the edges that no run has passed and that may lie on a path from `origin` which is longer than all
    /// paths over passed edges.
    ///
    /// An edge that skips code is not missing if the runs have passed another way that executes the same code and the
    /// skipped code. That way is taken to be no faster (`wavefront-splitting-2022` 5.2.4: c ≤ b and e ≤ d). For
    /// example, the edge from a branch past its arm is not missing if a run has executed the arm. Edges that the flow
    /// facts exclude are not missing either.
    pub(crate) fn missing(
        &self,
        traces: &Traces,
        origin: SplitOrigin,
        exclusive: &[ExclusiveArms],
    ) -> Vec<usize> {
        let unseen: Vec<usize> = self
            .reachable(origin)
            .into_iter()
            .filter(|&edge| traces.time(edge).is_none() && !self.skips_seen_code(traces, edge))
            .collect();
        if unseen.is_empty() {
            return unseen;
        }
        // Missing edges cost one cycle and passed ones nothing, so the longest path is 0 exactly if the rows allow no
        // path over a missing edge. `unseen` is ascending, as the binary search needs.
        let seen = |edge: usize| {
            let time = u64::from(unseen.binary_search(&edge).is_ok());
            let is_known = time > 0 || traces.time(edge).is_some();
            is_known.then_some(Observed(Cycles(time)))
        };
        let edges = self.with_times(seen);
        match self.longest(&edges, origin, &self.ends, exclusive) {
            // Without a longest path, any missing edge may be needed.
            Ok(path) if path.time.0 == Cycles(0) => Vec::new(),
            Err(NoLongestPath::NoPath) => Vec::new(),
            _ => unseen,
        }
    }

    /// Returns the edges on all ways from an origin, in ascending order.
    fn reachable(&self, origin: SplitOrigin) -> Vec<usize> {
        let mut pending: Vec<usize> = match origin {
            SplitOrigin::Launch => self.graph.leaving(self.graph.start).collect(),
            SplitOrigin::Child(point) => self.first_edges(point),
        };
        let mut reached = BTreeSet::new();
        while let Some(edge) = pending.pop() {
            if reached.insert(edge)
                && let Some(edge) = self.graph.edges.get(edge)
            {
                pending.extend(self.graph.leaving(edge.to));
            }
        }
        reached.into_iter().collect()
    }

    /// Whether the runs have passed another forward way between the points of an edge that executes all code which
    /// the edge may execute.
    pub(crate) fn skips_seen_code(&self, traces: &Traces, edge: usize) -> bool {
        // An edge that closes a loop begins another round, and no forward way replaces it.
        let Some(skip) = self.graph.edges.get(edge).filter(|skip| !skip.closes_loop) else {
            return false;
        };
        // For each point, what the ways to it lack of the code of the edge. A way that lacks a subset makes one that
        // lacks more useless.
        let mut lacks: BTreeMap<usize, Vec<BTreeSet<NodeId>>> = BTreeMap::new();
        let mut pending = vec![(skip.from, skip.may_execute.clone())];
        while let Some((point, left)) = pending.pop() {
            for (number, next) in self.graph.edges_from(point) {
                if traces.time(number).is_none() || next.closes_loop {
                    continue;
                }
                let left: BTreeSet<NodeId> = left.difference(&next.executes).copied().collect();
                if next.to == skip.to {
                    if left.is_empty() {
                        return true;
                    }
                    continue;
                }
                let known = lacks.entry(next.to).or_default();
                let is_new = !known.iter().any(|known| known.is_subset(&left));
                // Nested branches have exponentially many ways. If the limit hides a way, the edge only counts as
                // missing.
                if is_new && known.len() < MOST_WAYS {
                    known.push(left.clone());
                    pending.push((next.to, left));
                }
            }
        }
        false
    }

    /// Returns the longest path of the split with a place in the configurations of the thesis. There a wave splits
    /// once at each of the first marks in the order of their addresses, and executes one arm of each. Place 0 is the
    /// launch wave, and place `j` is the child of mark `j`. `marks` are numbers of branches. Edges that no run has
    /// passed have no time, and are left out.
    pub(crate) fn longest_of_configuration(
        &self,
        traces: &Traces,
        marks: &[usize],
        place: usize,
    ) -> Result<LongestPath, NoLongestPath> {
        let mut excluded = BTreeSet::new();
        let mut origin = SplitOrigin::Launch;
        for (number, &mark) in marks.iter().enumerate() {
            let Some(branch) = self.graph.branches.get(mark) else {
                continue;
            };
            let other = branch
                .other_arm
                .and_then(|other| self.graph.branches.get(other));
            // The child has the lanes of the other arm; all other splits have the lanes of the first arm.
            let is_child = number + 1 == place;
            let (not_first, not_second) = match is_child {
                true => (branch.active, other.map(|other| other.empty)),
                false => (branch.empty, other.map(|other| other.active)),
            };
            excluded.extend(self.side(branch.point, not_first));
            if let (Some(other), Some(via)) = (other, not_second) {
                excluded.extend(self.side(other.point, via));
            }
            if is_child {
                origin = SplitOrigin::Child(branch.point);
            }
        }
        let edges = self.measured(traces, |edge| excluded.contains(&edge));
        self.longest(&edges, origin, &self.ends, &[])
    }
}
