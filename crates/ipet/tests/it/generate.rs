//! Random structured programs as integer programs, with their longest path computed on the structure itself.
#![allow(
    dead_code,
    unreachable_pub,
    reason = "shared by tests and benchmarks, each of which uses a part"
)]

use warpbound_ipet::{IntegerProgram, Relation, VarId};

/// A small reproducible random source (splitmix64).
pub struct Random(pub u64);

impl Random {
    pub fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// Uniform in `low..=high`.
    pub fn between(&mut self, low: i64, high: i64) -> i64 {
        low + (self.next() % (high - low + 1) as u64) as i64
    }
}

/// A structured program.
pub enum Region {
    Block {
        cost: i64,
    },
    Sequence(Vec<Region>),
    Branch {
        cost: i64,
        arms: Vec<Region>,
    },
    /// The header runs at most `bound` times per entry, the body once less.
    Loop {
        cost: i64,
        bound: i64,
        body: Box<Region>,
    },
}

impl Region {
    /// A random program of about `size` blocks whose loops nest at most `depth` deep.
    pub fn random(random: &mut Random, size: usize, depth: usize, most: i64) -> Region {
        if size <= 1 {
            return Region::Block {
                cost: random.between(1, 100),
            };
        }
        match random.between(0, 9) {
            0..=4 => {
                let parts = random.between(2, 5) as usize;
                Region::Sequence(
                    (0..parts)
                        .map(|_| Region::random(random, size / parts, depth, most))
                        .collect(),
                )
            }
            5..=7 => {
                let arms = random.between(1, 3) as usize;
                Region::Branch {
                    cost: random.between(1, 100),
                    arms: (0..arms)
                        .map(|_| Region::random(random, (size - 1) / arms, depth, most))
                        .chain((arms == 1).then_some(Region::Sequence(Vec::new())))
                        .collect(),
                }
            }
            _ if depth > 0 => Region::Loop {
                cost: random.between(1, 100),
                bound: random.between(1, most),
                body: Box::new(Region::random(random, size - 1, depth - 1, most)),
            },
            _ => Region::random(random, size / 2, depth, most),
        }
    }

    /// The cost of the longest path.
    pub fn longest(&self) -> i128 {
        match self {
            Region::Block { cost } => i128::from(*cost),
            Region::Sequence(parts) => parts.iter().map(Region::longest).sum(),
            Region::Branch { cost, arms } => {
                i128::from(*cost) + arms.iter().map(Region::longest).max().unwrap_or(0)
            }
            Region::Loop { cost, bound, body } => {
                i128::from(*cost) * i128::from(*bound) + i128::from(bound - 1) * body.longest()
            }
        }
    }
}

/// A control-flow graph laid out from a region.
#[derive(Default)]
pub struct Graph {
    pub cost: Vec<i64>,
    pub edges: Vec<(usize, usize)>,
    /// Header, bound, edges that enter from outside.
    pub loops: Vec<(usize, i64, Vec<usize>)>,
}

impl Graph {
    pub fn of(region: &Region) -> Graph {
        let mut graph = Graph::default();
        let entry = graph.node(0);
        let exit = graph.lay(region, entry);
        let last = graph.node(0);
        graph.edges.push((exit, last));
        graph
    }

    fn node(&mut self, cost: i64) -> usize {
        self.cost.push(cost);
        self.cost.len() - 1
    }

    /// Lays `region` after node `from`; returns its last node.
    fn lay(&mut self, region: &Region, from: usize) -> usize {
        match region {
            Region::Block { cost } => {
                let node = self.node(*cost);
                self.edges.push((from, node));
                node
            }
            Region::Sequence(parts) => parts.iter().fold(from, |last, part| self.lay(part, last)),
            Region::Branch { cost, arms } => {
                let fork = self.node(*cost);
                self.edges.push((from, fork));
                let ends: Vec<usize> = arms.iter().map(|arm| self.lay(arm, fork)).collect();
                let join = self.node(0);
                for end in ends {
                    self.edges.push((end, join));
                }
                join
            }
            Region::Loop { cost, bound, body } => {
                let header = self.node(*cost);
                let entering = self.edges.len();
                self.edges.push((from, header));
                self.loops.push((header, *bound, vec![entering]));
                let end = self.lay(body, header);
                self.edges.push((end, header));
                header
            }
        }
    }

    /// Adds a flow of `value` units: node and edge counts with conservation. The last node is the exit.
    pub fn flow(
        &self,
        model: &mut IntegerProgram,
        name: &str,
        value: i128,
        costly: bool,
    ) -> (Vec<VarId>, Vec<VarId>) {
        let nodes: Vec<VarId> = (0..self.cost.len())
            .map(|n| {
                model.add_var(
                    format!("{name} node {n}"),
                    if costly { self.cost[n] } else { 0 },
                    None,
                )
            })
            .collect();
        let edges: Vec<VarId> = self
            .edges
            .iter()
            .map(|(a, b)| model.add_var(format!("{name} edge {a}->{b}"), 0, None))
            .collect();
        for (n, &node) in nodes.iter().enumerate() {
            let inflow = self.edges.iter().zip(&edges).filter(|((_, b), _)| *b == n);
            let terms = inflow.map(|(_, &e)| (e, -1)).chain([(node, 1)]);
            let rhs = if n == 0 { value } else { 0 };
            model.add_row(format!("{name} in {n}"), "flow", terms, Relation::Eq, rhs);
            let outflow = self.edges.iter().zip(&edges).filter(|((a, _), _)| *a == n);
            let terms = outflow.map(|(_, &e)| (e, -1)).chain([(node, 1)]);
            let rhs = if n + 1 == nodes.len() { value } else { 0 };
            model.add_row(format!("{name} out {n}"), "flow", terms, Relation::Eq, rhs);
        }
        (nodes, edges)
    }

    pub fn bound_loops(&self, model: &mut IntegerProgram, nodes: &[VarId], edges: &[VarId]) {
        for (header, bound, entering) in &self.loops {
            let terms = entering
                .iter()
                .map(|&e| (edges[e], -bound))
                .chain([(nodes[*header], 1)]);
            model.add_row(
                format!("loop {header}"),
                "loop bound",
                terms,
                Relation::Le,
                0,
            );
        }
    }

    /// One path with loop bounds: the plain IPET of the region.
    pub fn path_model(&self) -> IntegerProgram {
        let mut model = IntegerProgram::new();
        let (nodes, edges) = self.flow(&mut model, "x", 1, true);
        self.bound_loops(&mut model, &nodes, &edges);
        model
    }

    /// A thread flow of `width` with loop bounds, and a warp flow that stays below it.
    pub fn warp_model(&self, width: i128) -> IntegerProgram {
        let mut model = IntegerProgram::new();
        let (threads, thread_edges) = self.flow(&mut model, "y", width, false);
        self.bound_loops(&mut model, &threads, &thread_edges);
        let mut warp = Vec::new();
        for (n, &thread) in threads.iter().enumerate() {
            let x = model.add_var(format!("x node {n}"), self.cost[n], None);
            model.add_row(
                format!("x {n} <= y {n}"),
                "each warp step runs a thread",
                [(x, 1), (thread, -1)],
                Relation::Le,
                0,
            );
            warp.push(x);
        }
        let mut warp_edges = Vec::new();
        for (e, (a, b)) in self.edges.iter().enumerate() {
            let x = model.add_var(format!("x edge {a}->{b}"), 0, None);
            warp_edges.push(x);
            model.add_row(
                format!("x edge {e} <= y edge {e}"),
                "each warp step runs a thread",
                [(x, 1), (thread_edges[e], -1)],
                Relation::Le,
                0,
            );
            model.add_row(
                format!("x edge {e} from"),
                "an edge starts at its node",
                [(x, 1), (warp[*a], -1)],
                Relation::Le,
                0,
            );
            model.add_row(
                format!("x edge {e} to"),
                "an edge ends at its node",
                [(x, 1), (warp[*b], -1)],
                Relation::Le,
                0,
            );
        }
        for (n, &x) in warp.iter().enumerate().skip(1) {
            let arriving = self
                .edges
                .iter()
                .zip(&warp_edges)
                .filter(|((_, b), _)| *b == n);
            let terms: Vec<_> = arriving.map(|(_, &e)| (e, -1)).chain([(x, 1)]).collect();
            model.add_row(
                format!("x {n} in"),
                "a node is reached by an edge",
                terms,
                Relation::Le,
                0,
            );
        }
        model
    }
}
