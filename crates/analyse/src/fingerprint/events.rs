//! Graph of the events of a loop: where it is entered, where its header runs, where the thread ends, and whatever else
//! is observed on the way.
//!
//! A node that is not observed leads to one event only; a branch from which different events are next is observed as
//! well (weak commitment closure: Danicic et al., "A Unifying Theory of Control Dependence and its Application to
//! Arbitrary Program Structures", 2011). So the observed nodes with the edges between them order the events as the
//! whole graph does, except for loops that never end between two events. For example, a branch whose two sides
//! contain no event before they meet leaves no trace.

use std::collections::{BTreeMap, BTreeSet};

use warpbound_graph::Digraph;
use warpbound_simt::NodeId;
use warpbound_simt::counts::CountedLoop;
use warpbound_simt::warp::Via;

use crate::thread_cfg::ThreadCfg;

/// Side of a branch.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) enum Side {
    /// The condition does not hold.
    Falls,
    /// The condition holds, or there is none.
    Taken,
}

/// Kind of a vertex of the graph.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Vertex {
    /// Node of the thread-level graph.
    Node(NodeId),
    /// Entry of the loop from outside.
    Enter,
    /// End of the thread.
    End,
    /// Start of the thread.
    Start,
}

/// Next events of a vertex.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Next {
    None,
    One(usize),
    Several,
}

impl Next {
    fn join(self, other: Next) -> Next {
        match (self, other) {
            (Next::None, next) | (next, Next::None) => next,
            (Next::One(one), Next::One(two)) if one == two => self,
            _ => Next::Several,
        }
    }
}

/// Graph with its observed vertices.
pub(super) struct Events {
    edges: Vec<Vec<(Side, usize)>>,
    vertices: Vec<Vertex>,
    predecessors: Digraph,
    headers: BTreeSet<usize>,
    observed: Vec<bool>,
    /// Vertices whose branch selects the next event.
    decided: BTreeSet<usize>,
    next: Vec<Next>,
}

impl Events {
    /// Vertex at which the thread starts.
    pub(super) fn start(&self) -> usize {
        self.vertices.len() - 1
    }

    /// Builds the graph of one loop, given in all contexts.
    pub(super) fn new(thread: &ThreadCfg, loops: &[&CountedLoop]) -> Events {
        let nodes = thread.space.len();
        let mut vertices: Vec<Vertex> =
            (0..nodes as u32).map(|n| Vertex::Node(NodeId(n))).collect();
        let end = vertices.len();
        vertices.push(Vertex::End);
        // For each header, its vertex of entry and the nodes of its loop.
        let mut entries: BTreeMap<usize, (usize, &[NodeId])> = BTreeMap::new();
        for found in loops {
            for header in &found.headers {
                entries.insert(header.index(), (vertices.len(), &found.body));
                vertices.push(Vertex::Enter);
            }
        }
        let start = vertices.len();
        vertices.push(Vertex::Start);
        let mut edges = vec![Vec::new(); vertices.len()];
        let enter = |from: Option<NodeId>, to: usize| match entries.get(&to) {
            // Only an edge from outside enters the loop; a back edge leads to the header itself.
            Some((entry, body)) if from.is_none_or(|from| body.binary_search(&from).is_err()) => {
                *entry
            }
            _ => to,
        };
        // The kernel may begin with the loop, which no edge enters then.
        edges[start].push((Side::Taken, enter(None, thread.entry.index())));
        for (&header, &(entry, _)) in &entries {
            edges[entry].push((Side::Taken, header));
        }
        for (from, step) in thread.edges() {
            let resolved = thread.resolved.get(from.index()).and_then(Option::as_ref);
            let falls = resolved.is_some_and(|resolved| {
                !resolved.condition.is_always() && step.via == Via::Walk && step.to == resolved.next
            });
            let side = if falls { Side::Falls } else { Side::Taken };
            let to = step.to.map_or(end, |to| enter(Some(from), to.index()));
            if !edges[from.index()].contains(&(side, to)) {
                edges[from.index()].push((side, to));
            }
        }
        edges.iter_mut().for_each(|list| list.sort_unstable());
        let all = edges.iter().enumerate();
        let pairs = all.flat_map(|(from, list)| list.iter().map(move |&(_, to)| (to, from)));
        let mut events = Events {
            predecessors: Digraph::new(vertices.len(), pairs),
            observed: vec![false; vertices.len()],
            headers: entries.keys().copied().collect(),
            decided: BTreeSet::new(),
            next: vec![Next::None; vertices.len()],
            edges,
            vertices,
        };
        events.observed[end] = true;
        for (&header, &(entry, _)) in &entries {
            events.observed[header] = true;
            events.observed[entry] = true;
        }
        events
    }

    /// Observes a node.
    pub(super) fn observe(&mut self, node: NodeId) {
        if let Some(observed) = self.observed.get_mut(node.index()) {
            *observed = true;
        }
    }

    /// Adds the branches from which different events are next, and returns those that are new.
    pub(super) fn close(&mut self) -> Vec<NodeId> {
        let mut added = Vec::new();
        loop {
            self.find_next();
            // Whatever else is added, such a branch leads to different events: on one side the event is known and
            // remains, on the other one another or a later one is next.
            let selects = |&vertex: &usize| {
                let mut sides = self.edges[vertex].iter().map(|&(_, to)| self.event(to));
                !self.decided.contains(&vertex)
                    && self.next[vertex] == Next::Several
                    && sides.any(|next| matches!(next, Next::One(_)))
            };
            let found: Vec<usize> = (0..self.vertices.len()).filter(selects).collect();
            if found.is_empty() {
                return added;
            }
            for vertex in found {
                self.observed[vertex] = true;
                self.decided.insert(vertex);
                if let Vertex::Node(node) = self.vertices[vertex] {
                    added.push(node);
                }
            }
        }
    }

    /// The event at a vertex, or else those after it.
    fn event(&self, vertex: usize) -> Next {
        match self.observed[vertex] {
            true => Next::One(vertex),
            false => self.next[vertex],
        }
    }

    /// Computes the next events of all vertices: a least fixpoint.
    fn find_next(&mut self) {
        self.next.fill(Next::None);
        let observed = self.observed.iter().enumerate().filter(|(_, is)| **is);
        let mut open: Vec<usize> = observed
            .flat_map(|(vertex, _)| self.predecessors.successors(vertex).iter().copied())
            .collect();
        // Terminates, because a vertex only rises from `None` to `One` to `Several`.
        while let Some(vertex) = open.pop() {
            let sides = self.edges[vertex].iter();
            let next = sides.fold(Next::None, |next, &(_, to)| next.join(self.event(to)));
            if next != self.next[vertex] {
                self.next[vertex] = next;
                // The event at an observed vertex is the vertex, whatever comes after it.
                if !self.observed[vertex] {
                    open.extend(self.predecessors.successors(vertex));
                }
            }
        }
    }

    /// Events after a vertex, with the sides that lead to them if its branch selects one; `None` if a side leads to
    /// several, as returns and jump tables may. Valid after [`Events::close`].
    pub(super) fn successors(&self, vertex: usize) -> Option<Vec<(Option<Side>, usize)>> {
        if !self.decided.contains(&vertex) {
            return match self.next[vertex] {
                Next::None => Some(Vec::new()),
                Next::One(next) => Some(vec![(None, next)]),
                Next::Several => None,
            };
        }
        let mut found: BTreeMap<Side, usize> = BTreeMap::new();
        for &(side, to) in &self.edges[vertex] {
            let Next::One(next) = self.event(to) else {
                return None;
            };
            if *found.entry(side).or_insert(next) != next {
                return None;
            }
        }
        Some(
            found
                .into_iter()
                .map(|(side, to)| (Some(side), to))
                .collect(),
        )
    }

    /// Kind of a vertex.
    pub(super) fn vertex(&self, vertex: usize) -> Vertex {
        self.vertices.get(vertex).copied().unwrap_or(Vertex::End)
    }

    /// Whether a vertex is a header of the loop.
    pub(super) fn is_header(&self, vertex: usize) -> bool {
        self.headers.contains(&vertex)
    }

    /// Whether the branch of a vertex selects the next event.
    pub(super) fn is_decided(&self, vertex: usize) -> bool {
        self.decided.contains(&vertex)
    }
}
