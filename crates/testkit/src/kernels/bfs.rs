//! Reference of one level of a breadth-first search.

use warpbound_launch::LaunchFile;

use super::{Row, TestLaunch};

pub(super) const KERNELS: &[Row] = &[
    ("bfs", "bfs_advance", advance),
    ("bfs", "bfs_expand", expand),
];

/// A graph, and the state of a search after a number of levels.
struct Search {
    /// Index of the first edge and number of edges, for each node.
    nodes: Vec<i32>,
    edges: Vec<i32>,
    /// Distance of each node from the first, if at most `level`; otherwise -1.
    cost: Vec<i32>,
    /// Distance of each node after all levels.
    full: Vec<i32>,
    level: i32,
    block: u32,
}

impl Search {
    fn of(number: u64) -> Search {
        let mut rng = fastrand::Rng::with_seed(number);
        let (count, most_edges, level, block) = match number {
            0 => (1, 0, 0, 32),
            1 => (100, 4, 2, 64),
            2 => (259, 9, 1, 128),
            _ => (
                rng.usize(2..1500),
                rng.usize(1..8),
                rng.i32(0..5),
                32 * rng.u32(1..5),
            ),
        };
        let (mut nodes, mut edges) = (Vec::new(), Vec::new());
        for _ in 0..count {
            let degree = rng.usize(0..=most_edges);
            nodes.extend([edges.len() as i32, degree as i32]);
            edges.extend((0..degree).map(|_| rng.i32(0..count as i32)));
        }
        // A buffer has at least one element.
        if edges.is_empty() {
            edges.push(0);
        }
        let mut full = vec![-1; count];
        full[0] = 0;
        let mut queue = std::collections::VecDeque::from([0]);
        while let Some(node) = queue.pop_front() {
            let (first, degree) = (nodes[2 * node] as usize, nodes[2 * node + 1] as usize);
            for &target in &edges[first..first + degree] {
                let target = target as usize;
                if full[target] < 0 {
                    full[target] = full[node] + 1;
                    queue.push_back(target);
                }
            }
        }
        let cost = full
            .iter()
            .map(|&cost| if cost <= level { cost } else { -1 })
            .collect();
        Search {
            nodes,
            edges,
            cost,
            full,
            level,
            block,
        }
    }

    fn launch(&self, kernel: &str) -> TestLaunch {
        let blocks = (self.cost.len() as u32).div_ceil(self.block);
        TestLaunch::of(kernel, [blocks, 1, 1], [self.block, 1, 1])
    }

    /// Returns a byte for each node: whether its distance is in the range.
    fn marks(&self, distances: std::ops::RangeInclusive<i32>) -> Vec<u8> {
        let marks = self.full.iter();
        marks.map(|cost| distances.contains(cost).into()).collect()
    }

    fn none(&self) -> Vec<u8> {
        vec![0; self.cost.len()]
    }
}

fn expand(number: u64) -> LaunchFile {
    let search = Search::of(number);
    let reached: Vec<i32> = search
        .full
        .iter()
        .map(|&cost| if cost <= search.level + 1 { cost } else { -1 })
        .collect();
    let (now, then) = (search.level, search.level + 1);
    search
        .launch("bfs_expand")
        .input("nodes", &search.nodes)
        .input("edges", &search.edges)
        .output("frontier", &search.marks(now..=now), &search.none())
        .output("next", &search.none(), &search.marks(then..=then))
        .input("visited", &search.marks(0..=now))
        .output("cost", &search.cost, &reached)
        .value("count", search.cost.len() as i32)
        .finish()
}

fn advance(number: u64) -> LaunchFile {
    let search = Search::of(number);
    let (now, then) = (search.level, search.level + 1);
    let next = search.marks(then..=then);
    let again = next.iter().copied().max().unwrap_or(0);
    search
        .launch("bfs_advance")
        .output("frontier", &search.none(), &next)
        .output("next", &next, &search.none())
        .output("visited", &search.marks(0..=now), &search.marks(0..=then))
        .output("again", &[0u8], &[again])
        .value("count", search.cost.len() as i32)
        .finish()
}
