//! The abstract warp of `abstract-cta-2014`, section 3.2, built from the structure that the loop forest and the
//! postdominators of the thread-level graph show, whatever source it came from.

use warpbound_graph::{Digraph, Dominators, LoopForest, LoopIndex};

/// Part of a block, in the order of execution.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum BlockSegment {
    /// Instructions.
    Time {
        /// Positions of the first and the last.
        span: (u32, u32),
        /// Cycles in which a warp issues them.
        instr: u64,
    },
    /// A memory read that ends the instructions before it, at this position.
    Memory(u32),
    /// A barrier that ends the instructions before it, at this position.
    Barrier(u32),
}

/// What an abstract warp is built from.
pub struct WarpStructure<'a> {
    /// The thread-level graph, without edges to the end.
    pub graph: &'a Digraph,
    /// The first node.
    pub entry: usize,
    /// Nodes from which the kernel ends.
    pub exits: &'a [usize],
    /// What each node does.
    pub segments: &'a [Vec<BlockSegment>],
    /// The lanes of a warp may part at the end of a node.
    pub divergent: &'a dyn Fn(usize) -> bool,
}

/// An element of an abstract warp.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum WarpElement {
    /// A time node.
    Time {
        /// Cycles of its instructions at most (`T_instr`).
        instr: u64,
        /// By how much divergence varies them at most (`T_shift`).
        shift: u64,
        /// Positions of the first and last instruction that it stands for.
        span: (u32, u32),
    },
    /// A memory access node, for the read at this position.
    Memory(u32),
    /// A barrier node, for the barrier at this position.
    Barrier(u32),
    /// A loop.
    Loop {
        /// Which loop of the forest.
        index: LoopIndex,
        /// From the header up to the first branch that may leave the loop: what is executed once more than the
        /// rest.
        head: Vec<WarpElement>,
        /// The rest of an iteration.
        body: Vec<WarpElement>,
    },
}

/// An abstract warp.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct AbstractWarp {
    /// Its elements, in the order of execution.
    pub elements: Vec<WarpElement>,
}

/// The structure cannot be resolved statically at this node.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Unresolved {
    /// The node.
    pub node: usize,
    /// Why, in one clause.
    pub reason: &'static str,
}

impl AbstractWarp {
    /// Builds the abstract warp.
    ///
    /// # Errors
    ///
    /// Where the paper's constructions do not fit: loops with several entries, arms that do not meet.
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

/// Nested arms are walked once for each way to them; beyond this the code is no structured one.
const MAX_STEPS: usize = 1_000_000;

struct WarpBuilder<'a> {
    structure: &'a WarpStructure<'a>,
    loops: &'a LoopForest,
    /// Postdominators of the whole graph, and of the bodies of the loops that are being built: without the edges that
    /// leave them or go back to their header.
    post: Vec<(Option<LoopIndex>, Dominators)>,
    steps: usize,
}

impl WarpBuilder<'_> {
    /// `Join` of what is executed from `from` up to `stop`, which does not belong to it; within a loop, up to the
    /// end of the iteration. Where the loop may be left first, `out` so far is its head, whose length is the result.
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
            let unresolved = |why| Unresolved { node, reason: why };
            self.steps += 1;
            if self.steps > MAX_STEPS {
                return Err(unresolved("too many ways lead through the code"));
            }
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
                // What follows is another time node, even if it is one.
                out.push(HEAD_END);
            }
            node = match inside.as_slice() {
                [] => end,
                [next] if !leaves || within.is_some() => *next,
                ways => self.build_arms(node, ways, stop, within, out)?,
            };
        }
        Ok(head)
    }

    /// Where a node leads to within the iteration, and whether it may leave the loop. The end of an iteration is
    /// the node behind the last.
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

    /// The arms of a branch, and where they meet.
    fn build_arms(
        &mut self,
        node: usize,
        ways: &[usize],
        stop: usize,
        within: Option<LoopIndex>,
        out: &mut Vec<WarpElement>,
    ) -> Result<usize, Unresolved> {
        let post = self.post.last().map(|(_, post)| post);
        let meet = post
            .and_then(|post| post.immediate(node))
            .unwrap_or(self.structure.graph.len());
        let divergent = (self.structure.divergent)(node);
        let mut arms = Vec::new();
        for &way in ways {
            let mut arm = Vec::new();
            if way != meet && way != stop {
                self.build_sequence(way, meet, within, &mut arm)?;
                arm.retain(|element| *element != HEAD_END);
            }
            arms.push(arm);
        }
        lub(arms, divergent, out);
        Ok(meet)
    }

    /// A loop that the warp comes to at `node`; the node behind it.
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
        let outer = self.post.last().map(|(_, post)| post);
        let mut behind = outer.and_then(|post| post.immediate(node));
        while let Some(inside) = behind
            && body.contains(inside)
        {
            behind = outer.and_then(|post| post.immediate(inside));
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
            // Never left by the code that was found: all of it is executed each time.
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
        Ok(behind.unwrap_or(end))
    }
}

/// Keeps the head of a loop and the rest of an iteration apart while it is built.
const HEAD_END: WarpElement = WarpElement::Time {
    instr: 0,
    shift: 0,
    span: (u32::MAX, u32::MAX),
};

/// `Join`: a time node behind a time node is one time node.
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

/// `LUB`: of arms that a warp takes one of, the worst; of arms that its lanes may all take, one after the other.
fn lub(arms: Vec<Vec<WarpElement>>, divergent: bool, out: &mut Vec<WarpElement>) {
    let times: Option<Vec<u64>> = arms.iter().map(|arm| pure_time(arm)).collect();
    match times {
        // Only time: one node.
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
        // The arm with the most stalls, then the most time.
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

/// The time of an arm that is nothing but time.
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
