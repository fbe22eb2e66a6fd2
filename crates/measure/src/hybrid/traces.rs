//! Traces of waves and splits: the instrumentation points that each of them passes in a run, and the times between
//! them (`wavefront-splitting-2022` 5.2.3, 5.3.2). For example, a wave that passes the points P0, P1 and P0 again at
//! the cycles 10, 50 and 75 gives 40 cycles for the edge P0 → P1 and 25 for P1 → P0.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use warpbound_analyse::ThreadCfg;
use warpbound_analyse::instrumentation::{PointGraph, PointKind};
use warpbound_base::{Cycles, Observed};
use warpbound_ir::OpIndex;
use warpbound_simt::NodeId;
use warpbound_simulate::timed::{Event, EventListener, WarpPlace};

/// Beginning of the trace of a split.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub(crate) enum SplitOrigin {
    /// The kernel's start: a wave as it is dispatched.
    Launch,
    /// Split off at the branch with this point.
    Child(usize),
}

/// End of the trace of a split.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum SplitEnd {
    /// The program's end.
    Program,
    /// Merged into another split after this point; `None` if the split had passed no edge.
    Merged(Option<usize>),
}

/// Wave or split of a run.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct SplitTrace {
    /// Linear index of its group in the grid.
    pub(crate) block: u64,
    /// Number of its launch wave in the group.
    pub(crate) wave: u32,
    /// 0 for a launch wave; otherwise the smallest number that no live split of the launch wave had when this one was
    /// split off.
    pub(crate) place: u32,
    pub(crate) origin: SplitOrigin,
    /// Cycle of its first point.
    pub(crate) first: u64,
    /// Cycle of its last point.
    pub(crate) last: u64,
    pub(crate) end: SplitEnd,
    /// Numbers of the branches where the split may have executed both arms: it was refused to split there, or it was
    /// split off from such a wave before the other arm.
    pub(crate) undivided: BTreeSet<usize>,
}

/// Workgroup of a run.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) struct GroupTrace {
    /// Cycle of the dispatch.
    pub(crate) begins: u64,
    /// Cycle of the end of the last wave.
    pub(crate) ends: u64,
    /// Cycle of the last point of its waves.
    last_point: u64,
}

/// Times of an edge.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) struct EdgeTimes {
    /// Number of passes.
    pub(crate) count: u64,
    /// Largest time.
    pub(crate) most: u64,
}

/// Traces of one or more runs of a kernel.
#[derive(Clone, Debug, Default)]
pub(crate) struct Traces {
    /// Times of the edges of the graph.
    pub(crate) edges: Vec<EdgeTimes>,
    /// Largest time from the last point of the waves of a group to the end of the group.
    pub(crate) tail: u64,
    /// Number of splits at each point.
    pub(crate) splits: BTreeMap<usize, u64>,
    /// Number of refused splits.
    pub(crate) refusals: u64,
    /// Number of merges.
    pub(crate) merges: u64,
}

impl Traces {
    /// Adds the traces of other runs.
    pub(crate) fn merge(&mut self, other: &Traces) {
        self.edges.resize(other.edges.len(), EdgeTimes::default());
        for (edge, other) in self.edges.iter_mut().zip(&other.edges) {
            edge.count += other.count;
            edge.most = edge.most.max(other.most);
        }
        self.tail = self.tail.max(other.tail);
        for (&point, &count) in &other.splits {
            // Counts add up over runs, and times are maxima.
            *self.splits.entry(point).or_default() += count;
        }
        self.refusals += other.refusals;
        self.merges += other.merges;
    }

    /// Largest observed time of an edge; `None` if no run has passed it.
    pub(crate) fn time(&self, edge: usize) -> Option<Observed<Cycles>> {
        let times = self.edges.get(edge).filter(|times| times.count > 0)?;
        Some(Observed(Cycles(times.most)))
    }
}

/// Complete run.
#[derive(Clone, Debug)]
pub(crate) struct RunTrace {
    pub(crate) traces: Traces,
    /// Waves and splits, in the order of their ends.
    pub(crate) members: Vec<SplitTrace>,
    /// Groups, in the order of their dispatch, with their linear indices.
    pub(crate) groups: Vec<(u64, GroupTrace)>,
}

impl RunTrace {
    /// Time from the first point to the end of the last group, when the last compute unit becomes idle.
    pub(crate) fn observed(&self) -> Observed<Cycles> {
        let first = self.members.iter().map(|member| member.first).min();
        let last = self.groups.iter().map(|(_, group)| group.ends).max();
        let cycles = last.zip(first).map(|(last, first)| last - first.min(last));
        Observed(Cycles(cycles.unwrap_or_default()))
    }

    /// Cycle of the first dispatch.
    pub(crate) fn first_dispatch(&self) -> u64 {
        self.groups.first().map_or(0, |(_, group)| group.begins)
    }
}

/// Listener that follows waves and splits through the graph of points.
pub(crate) struct PathTracer<'a> {
    graph: &'a PointGraph,
    /// For each operation, whether it is a point in some context.
    is_point: Vec<bool>,
    /// For each point at the end of a node, the first operations of the next nodes.
    next: Vec<Vec<(OpIndex, NodeId)>>,
    /// For each point, the branch on EXEC there.
    branch_at: Vec<Option<usize>>,
    /// For each branch, the first branch of the if-else whose other arm it decides about.
    first_of: Vec<Option<usize>>,
    walkers: HashMap<(u64, u32, u32), Walker>,
    /// For each launch wave, the places of its live children.
    places: HashMap<(u64, u32), BTreeSet<u32>>,
    groups: HashMap<u64, GroupTrace>,
    dispatched: Vec<u64>,
    members: Vec<SplitTrace>,
    traces: Traces,
    /// First contradiction between the run and the graph.
    error: Option<String>,
}

/// State of a split that has not ended.
#[derive(Clone, Debug)]
struct Walker {
    place: u32,
    origin: SplitOrigin,
    /// Cycle of the first point; `None` before it.
    first: Option<u64>,
    /// Last point and its cycle.
    point: usize,
    since: u64,
    /// Node after the point.
    via: Option<NodeId>,
    /// Whether the split has passed an edge.
    has_moved: bool,
    /// Branches whose own arm the split has executed, and whose other arm is still to be decided.
    arms: BTreeSet<usize>,
    /// See [`SplitTrace::undivided`].
    undivided: BTreeSet<usize>,
}

impl<'a> PathTracer<'a> {
    /// Creates a tracer for runs of the kernel of a graph; `ops` is its number of operations.
    pub(crate) fn new(graph: &'a PointGraph, thread: &ThreadCfg, ops: usize) -> PathTracer<'a> {
        let mut is_point = vec![false; ops];
        let mut next = vec![Vec::new(); graph.points.len()];
        for (number, point) in graph.points.iter().enumerate() {
            if let Some(is_point) = is_point.get_mut(point.at.index()) {
                *is_point = true;
            }
            let vias: BTreeSet<NodeId> = graph
                .edges_from(number)
                .filter_map(|(_, edge)| edge.via)
                .collect();
            next[number] = vias
                .into_iter()
                .map(|via| (thread.space.block(via).first, via))
                .collect();
        }
        let mut branch_at = vec![None; graph.points.len()];
        let mut first_of = vec![None; graph.branches.len()];
        for (number, branch) in graph.branches.iter().enumerate() {
            branch_at[branch.point] = Some(number);
            if let Some(other) = branch.other_arm {
                first_of[other] = Some(number);
            }
        }
        PathTracer {
            graph,
            is_point,
            next,
            branch_at,
            first_of,
            walkers: HashMap::new(),
            places: HashMap::new(),
            groups: HashMap::new(),
            dispatched: Vec::new(),
            members: Vec::new(),
            traces: Traces {
                edges: vec![EdgeTimes::default(); graph.edges.len()],
                ..Traces::default()
            },
            error: None,
        }
    }

    /// Returns the traces of a complete run.
    ///
    /// # Errors
    ///
    /// The run has left the graph, so the control flow is not what the analysis says.
    pub(crate) fn finish(self) -> Result<RunTrace, String> {
        if let Some(error) = self.error {
            return Err(error);
        }
        if !self.walkers.is_empty() {
            return Err(format!("{} waves have not ended", self.walkers.len()));
        }
        let groups = &self.groups;
        let find = |block: u64| groups.get(&block).copied().unwrap_or_default();
        Ok(RunTrace {
            groups: self
                .dispatched
                .iter()
                .map(|&block| (block, find(block)))
                .collect(),
            traces: self.traces,
            members: self.members,
        })
    }

    /// Records the issue of an operation.
    fn issue(&mut self, cycle: u64, warp: &WarpPlace, at: OpIndex) {
        let key = key(warp);
        let is_point = self.is_point.get(at.index()).copied().unwrap_or(false);
        let Some(walker) = self.walkers.get_mut(&key) else {
            let start = self.graph.points.get(self.graph.start);
            if start.is_none_or(|start| start.at != at) {
                self.fail(warp, at);
                return;
            }
            self.walkers
                .insert(key, Walker::launched(self.graph.start, cycle));
            return;
        };
        // A child issues the branch at which it was split off once more; that is its first point.
        if walker.first.is_none() {
            walker.first = Some(cycle);
            walker.since = cycle;
            return;
        }
        if walker.via.is_none() {
            let next = self.next.get(walker.point).map_or(&[][..], Vec::as_slice);
            // The first operation after a point at the end of a node shows which side was taken.
            if !next.is_empty() {
                match next.iter().find(|(first, _)| *first == at) {
                    Some((_, via)) => walker.via = Some(*via),
                    None => {
                        self.fail(warp, at);
                        return;
                    }
                }
            }
        }
        if !is_point {
            return;
        }
        // The operation may be a point in another calling context only.
        let Some((number, to)) = edge_to(self.graph, walker, at) else {
            return;
        };
        let time = cycle - walker.since.min(cycle);
        if let Some(edge) = self.traces.edges.get_mut(number) {
            edge.count += 1;
            edge.most = edge.most.max(time);
        }
        let branch = self.branch_at.get(walker.point).copied().flatten();
        if let Some(branch) = branch {
            let first_of = self.first_of.get(branch).copied().flatten();
            walker.decide(self.graph, branch, first_of);
        }
        walker.point = to;
        walker.since = cycle;
        walker.via = None;
        walker.has_moved = true;
    }

    /// Begins the trace of a child, whose next issue is the branch `at`.
    fn split(&mut self, parent: &WarpPlace, child: &WarpPlace, at: OpIndex) {
        let taken = self.places.entry((child.block, child.warp)).or_default();
        let free = |place: &u32| !taken.contains(place);
        let place = (1..=u32::MAX).find(free).unwrap_or(u32::MAX);
        taken.insert(place);
        let found = self.walkers.get(&key(parent)).and_then(|walker| {
            // The parent has issued the branch in this cycle, or is about to issue it.
            let here = self.graph.points.get(walker.point)?.at == at && walker.via.is_none();
            let point = match here {
                true => Some(walker.point),
                false => {
                    let mut ahead = walker.clone();
                    let next = self.next.get(walker.point)?;
                    if ahead.via.is_none() {
                        ahead.via = next
                            .iter()
                            .find(|(first, _)| *first == at)
                            .map(|(_, via)| *via);
                    }
                    edge_to(self.graph, &ahead, at).map(|(_, to)| to)
                }
            };
            // The child takes over only what is not decided yet: arms that the parent executed before are no part of
            // its path.
            let undivided = walker.undivided.intersection(&walker.arms).copied();
            Some((point?, walker.arms.clone(), undivided.collect()))
        });
        let Some((point, arms, undivided)) = found else {
            // Without the point of the branch the trace of the child could not begin.
            self.fail(parent, at);
            return;
        };
        *self.traces.splits.entry(point).or_default() += 1;
        let walker = Walker {
            place,
            origin: SplitOrigin::Child(point),
            first: None,
            point,
            since: 0,
            via: None,
            has_moved: false,
            arms,
            undivided,
        };
        self.walkers.insert(key(child), walker);
    }

    /// Records that a split goes on undivided.
    fn refuse(&mut self, warp: &WarpPlace, at: OpIndex) {
        self.traces.refusals += 1;
        let graph = self.graph;
        let is_there = |point: usize| graph.points.get(point).is_some_and(|point| point.at == at);
        if let Some(walker) = self.walkers.get_mut(&key(warp)) {
            let branches = graph.branches.iter().enumerate();
            // The event does not have the calling context, so the branch counts in all contexts.
            let refused = branches.filter(|(_, branch)| is_there(branch.point));
            walker.undivided.extend(refused.map(|(number, _)| number));
        }
    }

    /// Ends the trace of a split.
    fn end(&mut self, warp: &WarpPlace, end: impl Fn(Option<usize>) -> SplitEnd) {
        let Some(walker) = self.walkers.remove(&key(warp)) else {
            return;
        };
        // Later splits take the smallest free place.
        if let Some(places) = self.places.get_mut(&(warp.block, warp.warp)) {
            places.remove(&walker.place);
        }
        let end = end(walker.has_moved.then_some(walker.point));
        let point = self.graph.points.get(walker.point);
        // A wave that ends elsewhere has left the graph.
        if end == SplitEnd::Program
            && let Some(point) = point
            && !point.kinds.contains(&PointKind::End)
        {
            self.fail(warp, point.at);
        }
        if end == SplitEnd::Program
            && let Some(group) = self.groups.get_mut(&warp.block)
        {
            group.last_point = group.last_point.max(walker.since);
        }
        self.members.push(SplitTrace {
            block: warp.block,
            wave: warp.warp,
            place: walker.place,
            origin: walker.origin,
            first: walker.first.unwrap_or(walker.since),
            last: walker.since,
            end,
            undivided: walker.undivided,
        });
    }

    fn fail(&mut self, warp: &WarpPlace, at: OpIndex) {
        let WarpPlace {
            block, warp, slot, ..
        } = warp;
        let number = at.0;
        // Later contradictions usually follow from the first one.
        self.error.get_or_insert_with(|| {
            format!(
                "wave {warp} of group {block} (slot {slot}) goes to operation {number}, which the control flow graph excludes"
            )
        });
    }
}

impl Walker {
    /// Creates the state of a wave whose first point is the start of the kernel.
    fn launched(start: usize, cycle: u64) -> Walker {
        Walker {
            place: 0,
            origin: SplitOrigin::Launch,
            first: Some(cycle),
            point: start,
            since: cycle,
            via: None,
            has_moved: false,
            arms: BTreeSet::new(),
            undivided: BTreeSet::new(),
        }
    }

    /// Records the side taken at `branch`, which may decide about the other arm of the branch `first`.
    fn decide(&mut self, graph: &PointGraph, branch: usize, first: Option<usize>) {
        let Some(sides) = graph.branches.get(branch) else {
            return;
        };
        let is_active = self.via == Some(sides.active);
        // Each execution of the first branch decides again.
        self.arms.remove(&branch);
        if is_active && sides.other_arm.is_some() {
            self.arms.insert(branch);
        }
        // Both arms of the if-else were active in one split, so it did not split at the first branch.
        if let Some(first) = first
            && self.arms.remove(&first)
            && is_active
        {
            self.undivided.insert(first);
        }
    }
}

/// Returns the edge on which a split reaches a point with the operation `at`, and the point.
fn edge_to(graph: &PointGraph, walker: &Walker, at: OpIndex) -> Option<(usize, usize)> {
    let mut edges = graph.edges_from(walker.point);
    edges.find_map(|(number, edge)| {
        let to = graph.points.get(edge.to)?;
        (edge.via == walker.via && to.at == at).then_some((number, edge.to))
    })
}

/// Returns the key of a split among the live ones.
fn key(warp: &WarpPlace) -> (u64, u32, u32) {
    (warp.block, warp.warp, warp.slot)
}

impl EventListener for PathTracer<'_> {
    fn event(&mut self, cycle: u64, event: &Event) {
        match event {
            Event::BlockBegins { block, .. } => {
                // Room is computed in the order of dispatch, which the map of groups does not keep.
                self.dispatched.push(*block);
                let group = GroupTrace {
                    begins: cycle,
                    ..GroupTrace::default()
                };
                self.groups.insert(*block, group);
            }
            Event::Issue { warp, at, .. } => self.issue(cycle, warp, *at),
            Event::Split {
                parent, child, at, ..
            } => self.split(parent, child, *at),
            Event::SplitRefused { warp, at, .. } => self.refuse(warp, *at),
            Event::Merge { from, .. } => {
                self.traces.merges += 1;
                self.end(from, SplitEnd::Merged);
            }
            Event::WarpEnds { warp } => self.end(warp, |_| SplitEnd::Program),
            Event::BlockEnds { block, .. } => {
                if let Some(group) = self.groups.get_mut(block) {
                    group.ends = cycle;
                    self.traces.tail = self.traces.tail.max(cycle - group.last_point.min(cycle));
                }
            }
            _ => {}
        }
    }
}
