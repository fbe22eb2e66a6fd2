//! Longest path between instrumentation points by implicit path enumeration (`wavefront-splitting-2022` 5.2.3 to
//! 5.2.5).
//!
//! The times are observed, so the result is an [`Estimated`] number, whatever is proven about the counts. The rows of
//! [`Ipet`] have the flow facts and the flow of the kernel. They also hold for the path of a split, which begins with
//! the path of the waves that it was split from.
//!
//! For example, let the edge from the end of an iteration to the header of a loop with bound 10 have 5 observed
//! cycles. It counts at most 9 times for each entry, 45 cycles.

use std::collections::BTreeMap;

use warpbound_base::{Cycles, Diagnostic, Estimated, Observed};
use warpbound_simt::NodeId;
use warpbound_simt::counts::{CountKind, CountSystem, CountedLoop};

use crate::ipet::Ipet;
use crate::model::{IntegerProgram, Relation, VarId};
use crate::solve::{Certified, Effort, SolveOutcome, solve};

/// Edge between two points with its observed time.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct MeasuredEdge {
    /// Number of its first point.
    pub from: usize,
    /// First node after the node of `from`, if `from` is the last operation of its node.
    pub via: Option<NodeId>,
    /// Number of its last point.
    pub to: usize,
    /// Largest observed time; `None` excludes the edge.
    pub time: Option<Observed<Cycles>>,
}

/// Points and the edges between them.
#[derive(Clone, Copy, Debug)]
pub struct MeasuredGraph<'a> {
    /// Node of each point.
    pub nodes: &'a [NodeId],
    /// Edges.
    pub edges: &'a [MeasuredEdge],
    /// Loops. The last operation of a node with an edge to a header of its loop is a point, and so is the first
    /// operation of the header.
    pub loops: &'a [CountedLoop],
    /// Maximum number of header executions for each entry, by the facts of the loops.
    pub bounds: &'a [Option<u64>],
}

impl MeasuredGraph<'_> {
    /// Node of a point.
    fn node(&self, point: usize) -> Option<NodeId> {
        self.nodes.get(point).copied()
    }

    /// For each edge, whether a path of a query may have it.
    fn reached(&self, start: PathStart<'_>) -> Vec<bool> {
        let mut leaving = vec![Vec::new(); self.nodes.len()];
        for (number, edge) in self.edges.iter().enumerate() {
            if edge.time.is_some()
                && let Some(leaving) = leaving.get_mut(edge.from)
            {
                leaving.push(number);
            }
        }
        let mut reached = vec![false; self.edges.len()];
        let mut pending = match start {
            PathStart::Point(point) => leaving.get(point).cloned().unwrap_or_default(),
            PathStart::Edge(first) => first.to_vec(),
        };
        while let Some(number) = pending.pop() {
            let (Some(edge), Some(reached)) = (self.edges.get(number), reached.get_mut(number))
            else {
                continue;
            };
            if edge.time.is_some() && !std::mem::replace(reached, true) {
                pending.extend(leaving.get(edge.to).into_iter().flatten());
            }
        }
        reached
    }
}

/// Beginning of a path.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum PathStart<'a> {
    /// A point.
    Point(usize),
    /// One of these edges from one point, by their numbers.
    Edge(&'a [usize]),
}

/// Edges of the arms of an if-else. A wave executes at most one of the arms in each execution of the branch.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ExclusiveArms {
    /// Name in the rows.
    pub label: String,
    /// Numbers of the edges from the first branch into its arm, and from the second branch into the other.
    pub arms: Vec<usize>,
    /// Numbers of all edges from the first branch.
    pub executions: Vec<usize>,
}

/// Paths among which the longest is sought.
#[derive(Clone, Copy, Debug)]
pub struct PathQuery<'a> {
    /// Beginning.
    pub start: PathStart<'a>,
    /// Points where the path may end.
    pub ends: &'a [usize],
    /// Pairs of arms that are never both executed.
    pub exclusive: &'a [ExclusiveArms],
}

/// Longest path.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct LongestPath {
    /// Time of the path. It is no bound, because the times of the edges are observations.
    pub time: Estimated<Cycles>,
    /// Executions of each edge on a path of that time; `None` if no integral path was found.
    pub counts: Option<Vec<u128>>,
}

/// Reason why there is no longest path.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum NoLongestPath {
    /// A loop has no bound.
    Unbounded,
    /// No path with edges of known time leads from the start to an end.
    NoPath,
    /// The solver gave up, or a number is too large.
    Failed(Diagnostic),
}

/// Finds the longest path of a query. `ipet` has the rows of `system` with the flow facts; its costs are ignored.
///
/// # Errors
///
/// There is no longest path, or it is not found.
pub fn longest_path(
    ipet: &Ipet<Cycles>,
    system: &CountSystem,
    graph: MeasuredGraph<'_>,
    query: PathQuery<'_>,
    effort: Effort,
) -> Result<LongestPath, NoLongestPath> {
    let program = PathProgram::new(ipet, system, graph, query)?;
    match solve(&program.model, effort) {
        SolveOutcome::Bounded(certified) => program.found(&certified),
        SolveOutcome::Unbounded(_) => Err(NoLongestPath::Unbounded),
        SolveOutcome::Infeasible(_) => Err(NoLongestPath::NoPath),
        SolveOutcome::SolverFailed(why) => Err(NoLongestPath::Failed(why)),
    }
}

/// Integer program of a query.
struct PathProgram {
    model: IntegerProgram,
    /// Variables of each edge: its executions on the path, with a variable of its own for the execution as the first
    /// edge.
    edges: Vec<Vec<VarId>>,
}

impl PathProgram {
    fn new(
        ipet: &Ipet<Cycles>,
        system: &CountSystem,
        graph: MeasuredGraph<'_>,
        query: PathQuery<'_>,
    ) -> Result<PathProgram, NoLongestPath> {
        let mut program = PathProgram {
            model: ipet.model().clone(),
            edges: Vec::with_capacity(graph.edges.len()),
        };
        for index in 0..program.model.vars().len() {
            // The objective is the time of the path; the counts of the kernel only restrict it.
            program.model.set_cost(VarId(index as u32), 0);
        }
        let first = match query.start {
            PathStart::Point(_) => &[],
            PathStart::Edge(edges) => edges,
        };
        let reached = graph.reached(query.start);
        for (number, (edge, reached)) in graph.edges.iter().zip(reached).enumerate() {
            let edge = MeasuredEdge {
                time: edge.time.filter(|_| reached),
                ..*edge
            };
            let vars = program.add_edge(number, &edge, first.contains(&number))?;
            program.edges.push(vars);
        }
        program.add_flow(graph, query);
        program.add_links(ipet, system, graph, query);
        program.add_loops(graph, query)?;
        for pair in query.exclusive {
            let arms = program.terms(&pair.arms, 1);
            let all = program.terms(&pair.executions, -1);
            let label = format!("one arm at {}", pair.label);
            let reason = "a split has lanes of one arm only";
            let terms = arms.into_iter().chain(all);
            program.model.add_row(label, reason, terms, Relation::Le, 0);
        }
        Ok(program)
    }

    /// Adds the variables of an edge.
    fn add_edge(
        &mut self,
        number: usize,
        edge: &MeasuredEdge,
        may_begin: bool,
    ) -> Result<Vec<VarId>, NoLongestPath> {
        let too_large = || NoLongestPath::Failed(Diagnostic::new("a time has more than 63 bits"));
        let (cost, upper) = match edge.time {
            Some(time) => (i64::try_from(time.0.0).map_err(|_| too_large())?, None),
            // The upper bound excludes the edge and keeps the numbers of the others.
            None => (0, Some(0)),
        };
        let mut vars = vec![self.model.add_var(format!("edge {number}"), cost, upper)];
        if may_begin {
            let upper = upper.or(Some(1));
            vars.push(
                self.model
                    .add_var(format!("first edge {number}"), cost, upper),
            );
        }
        Ok(vars)
    }

    /// Returns the sum of the variables of edges, times a factor.
    fn terms(&self, edges: &[usize], factor: i64) -> Vec<(VarId, i64)> {
        let vars = edges.iter().filter_map(|&edge| self.edges.get(edge));
        vars.flatten().map(|&var| (var, factor)).collect()
    }

    /// Adds the flow of one path: each point is left as often as it is reached, except for the start and the end.
    fn add_flow(&mut self, graph: MeasuredGraph<'_>, query: PathQuery<'_>) {
        let mut ends = Vec::new();
        for point in 0..graph.nodes.len() {
            let mut terms = Vec::new();
            for (edge, vars) in graph.edges.iter().zip(&self.edges) {
                if edge.to == point {
                    terms.extend(vars.iter().map(|&var| (var, 1)));
                }
                // The first edge begins the path, so nothing arrives at its source, see `PathStart::Edge`.
                if edge.from == point {
                    terms.extend(vars.iter().take(1).map(|&var| (var, -1)));
                }
            }
            if query.ends.contains(&point) {
                let end = self
                    .model
                    .add_var(format!("end at point {point}"), 0, Some(1));
                terms.push((end, -1));
                ends.push((end, 1));
            }
            let begins = query.start == PathStart::Point(point);
            self.model.add_row(
                format!("flow of point {point}"),
                "a path leaves each point as often as it arrives",
                terms,
                Relation::Eq,
                if begins { -1 } else { 0 },
            );
        }
        let reason = "a path has one end";
        self.model.add_row("end", reason, ends, Relation::Eq, 1);
        if let PathStart::Edge(edges) = query.start {
            let vars = edges
                .iter()
                .filter_map(|&edge| self.edges.get(edge)?.get(1));
            let terms: Vec<_> = vars.map(|&var| (var, 1)).collect();
            let reason = "a path has one start";
            self.model.add_row("start", reason, terms, Relation::Eq, 1);
        }
    }

    /// Adds the rows that connect the path with the counts of the kernel. A launch wave takes its whole path. A split
    /// takes a part of the path of a wave, and passes no point and takes no step more often than that wave.
    fn add_links(
        &mut self,
        ipet: &Ipet<Cycles>,
        system: &CountSystem,
        graph: MeasuredGraph<'_>,
        query: PathQuery<'_>,
    ) {
        let (relation, reason) = match query.start {
            PathStart::Point(_) => (Relation::Eq, "the path is the way of a wave"),
            PathStart::Edge(_) => (Relation::Le, "the path is a part of the way of a wave"),
        };
        let mut arriving = vec![Vec::new(); graph.nodes.len()];
        let mut leaving: BTreeMap<(NodeId, NodeId), Vec<(VarId, i64)>> = BTreeMap::new();
        for (edge, vars) in graph.edges.iter().zip(&self.edges) {
            let terms = vars.iter().map(|&var| (var, 1));
            if let Some(arriving) = arriving.get_mut(edge.to) {
                arriving.extend(terms.clone());
            }
            if let (Some(via), Some(from)) = (edge.via, graph.nodes.get(edge.from)) {
                leaving.entry((*from, via)).or_default().extend(terms);
            }
        }
        for (point, (node, mut terms)) in graph.nodes.iter().zip(arriving).enumerate() {
            let executions = system.executions.get(node).into_iter().flatten();
            let count = executions.filter_map(|&var| ipet.variable(var));
            terms.extend(count.map(|var| (var, -1)));
            let begins = query.start == PathStart::Point(point);
            let limit = if begins { -1 } else { 0 };
            let label = format!("executions of point {point}");
            self.model
                .add_row(label, reason, terms, Relation::Le, limit);
        }
        let mut steps: BTreeMap<(NodeId, NodeId), Vec<VarId>> = BTreeMap::new();
        for (var, kind) in ipet.variables().zip(&system.variables) {
            if let CountKind::WarpStep(from, step) = kind
                && let Some(to) = step.to
            {
                steps.entry((*from, to)).or_default().push(var);
            }
        }
        for ((from, to), mut terms) in leaving {
            let taken = steps.get(&(from, to)).into_iter().flatten();
            terms.extend(taken.map(|&var| (var, -1)));
            let label = format!("steps {} → {}", from.0, to.0);
            self.model.add_row(label, reason, terms, relation, 0);
        }
    }

    /// Adds the bounds of the loops on the path itself. The rounds of a loop belong to the entries of the loop on
    /// this path. A start inside the loop counts as an entry.
    fn add_loops(
        &mut self,
        graph: MeasuredGraph<'_>,
        query: PathQuery<'_>,
    ) -> Result<(), NoLongestPath> {
        let start = match query.start {
            PathStart::Point(point) => graph.node(point),
            PathStart::Edge(edges) => {
                let first = edges.first().and_then(|&edge| graph.edges.get(edge));
                first.and_then(|edge| graph.node(edge.from))
            }
        };
        for counted in graph.loops {
            let Some(bound) = graph.bounds.get(counted.fact).copied().flatten() else {
                continue;
            };
            // An entry executes the header once, so at most `bound - 1` rounds follow it.
            let rounds = i64::try_from(bound.saturating_sub(1)).map_err(|_| {
                NoLongestPath::Failed(Diagnostic::new("a loop bound has more than 63 bits"))
            })?;
            let contains = |node: NodeId| counted.body.binary_search(&node).is_ok();
            let mut terms = Vec::new();
            for (edge, vars) in graph.edges.iter().zip(&self.edges) {
                let (Some(from), Some(to)) = (graph.node(edge.from), graph.node(edge.to)) else {
                    continue;
                };
                let is_round = contains(from) && edge.via == Some(to);
                // A header may have a point at its end as well.
                let is_entry = !contains(from) && contains(to);
                if counted.headers.contains(&to) && is_round {
                    terms.extend(vars.iter().map(|&var| (var, 1)));
                } else if is_entry {
                    terms.extend(vars.iter().map(|&var| (var, -rounds)));
                }
            }
            let begins_inside = i128::from(start.is_some_and(contains));
            self.model.add_row(
                format!("rounds of loop {}", counted.fact),
                "stated or derived: executions of the header for each entry",
                terms,
                Relation::Le,
                begins_inside * i128::from(rounds),
            );
        }
        Ok(())
    }

    /// Returns the path of a solution.
    fn found(&self, certified: &Certified) -> Result<LongestPath, NoLongestPath> {
        let time = u64::try_from(certified.bound).map_err(|_| {
            NoLongestPath::Failed(Diagnostic::new("the longest path has more than 64 bits"))
        })?;
        let count = |vars: &Vec<VarId>| {
            let counts = vars.iter().map(|&var| certified.witness_of(var));
            counts.sum::<Option<u128>>()
        };
        Ok(LongestPath {
            time: Estimated(Cycles(time)),
            counts: self.edges.iter().map(count).collect(),
        })
    }
}
