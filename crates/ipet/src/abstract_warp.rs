//! Abstract warps (`abstract-cta-2014`, section 3.2), built from the loop forest and the postdominators of the
//! thread-level graph instead of the source's syntax.
//!
//! `Join` merges consecutive time nodes, `LUB` merges the arms of a branch. The result is part of an estimate, not of a
//! bound ([`crate::cta`]).

use warpbound_graph::{Digraph, Dominators, LoopForest, LoopIndex};

/// Segment of a basic block, in the order of execution.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum BlockSegment {
    /// Instructions without a stall.
    Time {
        /// Positions of the first and the last instruction.
        span: (u32, u32),
        /// Cycles that a warp needs to issue them.
        instr: u64,
    },
    /// Memory read at this position, after the instructions before it.
    Memory(u32),
    /// Barrier at this position, after the instructions before it.
    Barrier(u32),
}

/// Input for the construction of an abstract warp.
pub struct WarpStructure<'a> {
    /// Thread-level graph, without edges to the end.
    pub graph: &'a Digraph,
    /// Entry node.
    pub entry: usize,
    /// Nodes where the kernel may end.
    pub exits: &'a [usize],
    /// Segments of each node.
    pub segments: &'a [Vec<BlockSegment>],
    /// Whether the lanes of a warp may diverge at the end of a node.
    pub divergent: &'a dyn Fn(usize) -> bool,
}

/// Element of an abstract warp.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum WarpElement {
    /// Time node.
    Time {
        /// Maximum cycles of its instructions (`T_instr`).
        instr: u64,
        /// Maximum variation of these cycles by divergence (`T_shift`).
        shift: u64,
        /// Positions of the first and last instruction that it represents.
        span: (u32, u32),
    },
    /// Memory access node, for the read at this position.
    Memory(u32),
    /// Barrier node, for the barrier at this position.
    Barrier(u32),
    /// Loop.
    Loop {
        /// Index of the loop in the forest.
        index: LoopIndex,
        /// Part from the header up to the first branch that may leave the loop, which is executed once more than the
        /// rest.
        head: Vec<WarpElement>,
        /// Rest of an iteration.
        body: Vec<WarpElement>,
    },
}

/// Abstract warp.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct AbstractWarp {
    /// Elements, in the order of execution.
    pub elements: Vec<WarpElement>,
}

/// Error: the structure cannot be resolved statically at a node.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Unresolved {
    /// Node.
    pub node: usize,
    /// Reason, in one clause.
    pub reason: &'static str,
}

impl AbstractWarp {
    /// Builds the abstract warp.
    ///
    /// # Errors
    ///
    /// Fails where the paper's constructions do not apply: loops with several entries, arms that do not rejoin.
    pub fn construct(
        structure: &WarpStructure<'_>,
        loops: &LoopForest,
    ) -> Result<AbstractWarp, Unresolved> {
        let post = Dominators::compute_post(structure.graph, structure.exits.iter().copied());
        let mut builder = WarpBuilder {
            structure,
            loops,
            post: vec![(None, post)],
            steps: 0,
        };
        let mut elements = Vec::new();
        builder.build_sequence(structure.entry, structure.graph.len(), None, &mut elements)?;
        Ok(AbstractWarp { elements })
    }
}

/// Maximum number of nodes to visit. Nested arms are visited once for each path to them, so unstructured code would
/// take exponentially long.
const MAX_STEPS: usize = 1_000_000;

struct WarpBuilder<'a> {
    structure: &'a WarpStructure<'a>,
    loops: &'a LoopForest,
    /// Postdominators of the whole graph, and of the bodies of the loops under construction, without their exit and
    /// back edges.
    post: Vec<(Option<LoopIndex>, Dominators)>,
    steps: usize,
}

impl WarpBuilder<'_> {
    /// Appends the `Join` of the code from `from` up to but excluding `stop`; within a loop, up to the end of the
    /// iteration. Returns the length of `out` at the first node that may leave the loop: up to there it is the head.
    fn build_sequence(
        &mut self,
        from: usize,
        stop: usize,
        within: Option<LoopIndex>,
        out: &mut Vec<WarpElement>,
    ) -> Result<Option<usize>, Unresolved> {
        let end = self.structure.graph.len();
        let mut node = from;
        let mut head = None;
        while node != stop && node != end {
            let unresolved = |reason| Unresolved { node, reason };
            self.steps += 1;
            if self.steps > MAX_STEPS {
                return Err(unresolved("there are too many paths through the code"));
            }
            // The next loop to build is the outermost one inside `within`; it builds the loops nested in it.
            let mut inner = self.loops.innermost(node);
            while let Some(index) = inner
                && self.loops.get(index).parent != within
                && inner != within
            {
                inner = self.loops.get(index).parent;
            }
            if let Some(index) = inner.filter(|_| inner != within) {
                node = self.build_loop(index, node, out)?;
                continue;
            }
            for piece in self.structure.segments.get(node).into_iter().flatten() {
                join(
                    out,
                    match *piece {
                        BlockSegment::Time { span, instr } => WarpElement::Time {
                            instr,
                            shift: 0,
                            span,
                        },
                        BlockSegment::Memory(at) => WarpElement::Memory(at),
                        BlockSegment::Barrier(at) => WarpElement::Barrier(at),
                    },
                );
            }
            let (inside, leaves) = self.successors(node, within);
            if leaves && head.is_none() {
                head = Some(out.len());
                // Separates the head from the body: `join` does not merge time nodes across it.
                out.push(HEAD_END);
            }
            node = match inside.as_slice() {
                [] => end,
                // In a loop, an exit is no arm: the head ends there, and the iteration goes on.
                [next] if !leaves || within.is_some() => *next,
                successors => self.build_arms(node, successors, stop, within, out)?,
            };
        }
        Ok(head)
    }

    /// Successors of a node within the iteration, and whether it may leave the loop. The end of an iteration is
    /// the index after the last node.
    fn successors(&self, node: usize, within: Option<LoopIndex>) -> (Vec<usize>, bool) {
        let graph = self.structure.graph;
        let end = graph.len();
        let mut inside = Vec::new();
        let mut leaves = false;
        for &next in graph.successors(node) {
            match within.map(|index| self.loops.get(index)) {
                Some(body) if !body.contains(next) => leaves = true,
                Some(body) if body.headers.contains(&next) => inside.push(end),
                _ => inside.push(next),
            }
        }
        if self.structure.exits.contains(&node) {
            match within {
                Some(_) => leaves = true,
                None if inside.is_empty() => {}
                None => inside.push(end),
            }
        }
        inside.sort_unstable();
        inside.dedup();
        (inside, leaves)
    }

    /// Builds the arms of a branch; returns the node where they rejoin, its immediate postdominator.
    fn build_arms(
        &mut self,
        node: usize,
        successors: &[usize],
        stop: usize,
        within: Option<LoopIndex>,
        out: &mut Vec<WarpElement>,
    ) -> Result<usize, Unresolved> {
        let post = self.post.last().map(|(_, post)| post);
        let rejoin = post
            .and_then(|post| post.immediate(node))
            .unwrap_or(self.structure.graph.len());
        let divergent = (self.structure.divergent)(node);
        let mut arms = Vec::new();
        for &first in successors {
            let mut arm = Vec::new();
            if first != rejoin && first != stop {
                self.build_sequence(first, rejoin, within, &mut arm)?;
                arm.retain(|element| *element != HEAD_END);
            }
            arms.push(arm);
        }
        lub(arms, divergent, out);
        Ok(rejoin)
    }

    /// Builds the loop with header `node`; returns the node after the loop.
    fn build_loop(
        &mut self,
        index: LoopIndex,
        node: usize,
        out: &mut Vec<WarpElement>,
    ) -> Result<usize, Unresolved> {
        let body = self.loops.get(index);
        if body.headers != [node] {
            return Err(Unresolved {
                node,
                reason: "the loop has several entries",
            });
        }
        // All exits of the loop rejoin at the first postdominator outside it.
        let outer = self.post.last().map(|(_, post)| post);
        let mut after = outer.and_then(|post| post.immediate(node));
        while let Some(inside) = after
            && body.contains(inside)
        {
            after = outer.and_then(|post| post.immediate(inside));
        }
        let graph = self.structure.graph;
        let end = graph.len();
        let inside =
            |&(from, to): &(usize, usize)| body.contains(from) && body.contains(to) && to != node;
        let iteration = Digraph::new(end, graph.edges().filter(inside));
        let latches = graph
            .edges()
            .filter(|&(from, to)| to == node && body.contains(from))
            .map(|(from, _)| from);
        let post = Dominators::compute_post(&iteration, latches);
        self.post.push((Some(index), post));
        let mut elements = Vec::new();
        let head = self.build_sequence(node, end, Some(index), &mut elements);
        self.post.pop();
        let rest = match head? {
            Some(length) => elements.split_off(length),
            // The loop has no exit, so all of it is executed in every iteration.
            None => Vec::new(),
        };
        let joined = |parts: Vec<WarpElement>| {
            let mut out = Vec::new();
            for part in parts.into_iter().filter(|part| *part != HEAD_END) {
                join(&mut out, part);
            }
            out
        };
        out.push(WarpElement::Loop {
            index,
            head: joined(elements),
            body: joined(rest),
        });
        Ok(after.unwrap_or(end))
    }
}

/// Separator between the head of a loop and the rest of an iteration during construction.
const HEAD_END: WarpElement = WarpElement::Time {
    instr: 0,
    shift: 0,
    span: (u32::MAX, u32::MAX),
};

/// `Join`: appends an element; consecutive time nodes become one.
fn join(out: &mut Vec<WarpElement>, element: WarpElement) {
    if let (
        Some(WarpElement::Time {
            instr: sum,
            shift: shifts,
            span: whole,
        }),
        WarpElement::Time { instr, shift, span },
    ) = (out.last_mut().filter(|last| **last != HEAD_END), &element)
    {
        *sum += instr;
        *shifts += shift;
        *whole = (whole.0.min(span.0), whole.1.max(span.1));
        return;
    }
    out.push(element);
}

/// `LUB`: the worst arm if a warp takes one of them; all arms in sequence if its lanes may take each of them. For
/// example, arms of 3 and 5 cycles become one time node of 5 cycles; if the branch diverges, it has 8 cycles and a
/// shift of 5.
fn lub(arms: Vec<Vec<WarpElement>>, divergent: bool, out: &mut Vec<WarpElement>) {
    let times: Option<Vec<u64>> = arms.iter().map(|arm| pure_time(arm)).collect();
    match times {
        // Only time nodes: merged to one.
        Some(times) => {
            let (least, most, all) = (
                times.iter().min().copied().unwrap_or(0),
                times.iter().max().copied().unwrap_or(0),
                times.iter().sum::<u64>(),
            );
            let instr = if divergent { all } else { most };
            let shift = if divergent { all - least } else { 0 };
            let spans = arms.iter().flatten().filter_map(|element| match element {
                WarpElement::Time { span, .. } => Some(*span),
                _ => None,
            });
            if let Some(span) = spans.reduce(|a, b| (a.0.min(b.0), a.1.max(b.1))) {
                join(out, WarpElement::Time { instr, shift, span });
            }
        }
        None if divergent => {
            for element in arms.into_iter().flatten() {
                join(out, element);
            }
        }
        // The worst arm: the one with the most stalls, then with the most time.
        None => {
            let worst = arms
                .into_iter()
                .max_by_key(|arm| (stall_count(arm), instr_time(arm)));
            for element in worst.into_iter().flatten() {
                join(out, element);
            }
        }
    }
}

/// Time of an arm that has only time nodes.
fn pure_time(arm: &[WarpElement]) -> Option<u64> {
    arm.iter()
        .map(|element| match element {
            WarpElement::Time { instr, .. } => Some(*instr),
            _ => None,
        })
        .sum()
}

fn stall_count(arm: &[WarpElement]) -> usize {
    let of = |element: &WarpElement| match element {
        WarpElement::Time { .. } => 0,
        WarpElement::Memory(_) | WarpElement::Barrier(_) => 1,
        WarpElement::Loop { head, body, .. } => 1 + stall_count(head) + stall_count(body),
    };
    arm.iter().map(of).sum()
}

fn instr_time(arm: &[WarpElement]) -> u64 {
    let of = |element: &WarpElement| match element {
        WarpElement::Time { instr, .. } => *instr,
        WarpElement::Memory(_) | WarpElement::Barrier(_) => 0,
        WarpElement::Loop { head, body, .. } => instr_time(head) + instr_time(body),
    };
    arm.iter().map(of).sum()
}
