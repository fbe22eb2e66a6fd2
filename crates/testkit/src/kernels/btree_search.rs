//! Reference of look-ups in a B+tree: those in a sorted map.

use std::collections::BTreeMap;

use warpbound_launch::LaunchFile;

use super::{Row, TestLaunch};

pub(super) const KERNELS: &[Row] = &[
    ("btree_search", "btree_find", find),
    ("btree_search", "btree_range", range),
];

/// Number of slots of a node.
const SLOTS: usize = 32;

/// B+tree in the layout of the kernels.
pub(super) struct Tree {
    pub(super) keys: Vec<i32>,
    pub(super) slots: Vec<i32>,
    /// Successor of each leaf; -1 for the last one.
    pub(super) next: Vec<i32>,
    pub(super) levels: i32,
}

/// Entries of a node that is not yet laid out: pairs of key and slot.
type Entries = Vec<(i32, i32)>;

impl Tree {
    /// Builds a tree over the entries of a map, with nodes of random fill. The root is node 0: nodes are laid out level
    /// by level.
    pub(super) fn of(map: &BTreeMap<i32, i32>, rng: &mut fastrand::Rng) -> Tree {
        let mut split = |entries: &[(i32, i32)]| -> Vec<Entries> {
            let mut rest = entries;
            let mut nodes = Vec::new();
            while !rest.is_empty() {
                let count = rng.usize(SLOTS / 2..=SLOTS).min(rest.len());
                nodes.push(rest[..count].to_vec());
                rest = &rest[count..];
            }
            nodes
        };
        let entries: Entries = map.iter().map(|(&key, &value)| (key, value)).collect();
        // From the leaves up: a slot of an inner level is a position in the next lower level.
        let mut levels = vec![split(&entries)];
        while levels.last().is_some_and(|level| level.len() > 1) {
            let below = &levels[levels.len() - 1];
            let parents: Entries = below
                .iter()
                .enumerate()
                .map(|(position, node)| (node[0].0, position as i32))
                .collect();
            levels.push(split(&parents));
        }
        levels.reverse();
        let mut tree = Tree {
            keys: Vec::new(),
            slots: Vec::new(),
            next: Vec::new(),
            levels: levels.len() as i32,
        };
        let mut first_below = 0;
        for (depth, level) in levels.iter().enumerate() {
            first_below += level.len() as i32;
            let is_leaf = depth + 1 == levels.len();
            for (position, node) in level.iter().enumerate() {
                let is_last = position + 1 == level.len();
                tree.next.push(match is_leaf && !is_last {
                    true => tree.next.len() as i32 + 1,
                    false => -1,
                });
                for index in 0..SLOTS {
                    let (key, slot) = node.get(index).copied().unwrap_or((i32::MAX, -7));
                    let is_child = !is_leaf && index < node.len();
                    tree.keys.push(key);
                    tree.slots
                        .push(if is_child { first_below + slot } else { slot });
                }
            }
        }
        tree
    }
}

fn map(rng: &mut fastrand::Rng, entries: usize) -> BTreeMap<i32, i32> {
    let most = 4 * entries as i32 + 10;
    (0..entries)
        .map(|_| (rng.i32(-most..most), rng.i32(0..)))
        .collect()
}

/// Numbers of entries of the tree and of queries.
fn sizes(number: u64, rng: &mut fastrand::Rng) -> (usize, usize) {
    match number {
        // A root that is a leaf; three levels; four levels.
        0 => (20, 8),
        1 => (700, 30),
        2 => (20_000, 61),
        _ => (rng.usize(1..3000), rng.usize(1..40)),
    }
}

fn find(number: u64) -> LaunchFile {
    let mut rng = fastrand::Rng::with_seed(number);
    let (entries, queries) = sizes(number, &mut rng);
    let map = map(&mut rng, entries);
    let tree = Tree::of(&map, &mut rng);
    let present: Vec<i32> = map.keys().copied().collect();
    let wanted: Vec<i32> = (0..queries)
        .map(|_| match rng.bool() {
            true => present[rng.usize(..present.len())],
            false => rng.i32(..i32::MAX),
        })
        .collect();
    let found: Vec<i32> = wanted
        .iter()
        .map(|key| map.get(key).copied().unwrap_or(-1))
        .collect();
    TestLaunch::of("btree_find", [queries.div_ceil(3) as u32, 1, 1], [96, 1, 1])
        .input("keys", &tree.keys)
        .input("slots", &tree.slots)
        .value("levels", tree.levels)
        .input("queries", &wanted)
        .output("found", &vec![0; queries], &found)
        .value("count", queries as i32)
        .finish()
}

fn range(number: u64) -> LaunchFile {
    let mut rng = fastrand::Rng::with_seed(number);
    let (entries, queries) = sizes(number, &mut rng);
    let map = map(&mut rng, entries);
    let tree = Tree::of(&map, &mut rng);
    let most = 4 * entries as i32 + 20;
    let ranges: Vec<(i32, i32)> = (0..queries)
        .map(|_| {
            let low = rng.i32(-most..most);
            // Some ranges are empty, some reversed.
            (low, low + rng.i32(-5..most.min(400)))
        })
        .collect();
    let answers: Vec<(i32, i64)> = ranges
        .iter()
        .map(|&(low, high)| {
            let inside = map.iter().filter(|&(&key, _)| low <= key && key < high);
            let weighted = inside.zip(1i64..).map(|((_, &value), n)| (n, value));
            weighted.fold((0, 0), |(_, sum), (n, value)| {
                (n as i32, sum + i64::from(value) * n)
            })
        })
        .collect();
    let (counts, sums): (Vec<i32>, Vec<i64>) = answers.into_iter().unzip();
    let flat: Vec<i32> = ranges.iter().flat_map(|&(a, b)| [a, b]).collect();
    TestLaunch::of(
        "btree_range",
        [queries.div_ceil(20) as u32, 1, 1],
        [20, 1, 1],
    )
    .input("keys", &tree.keys)
    .input("slots", &tree.slots)
    .input("next", &tree.next)
    .value("levels", tree.levels)
    .input("ranges", &flat)
    .output("counts", &vec![-1; queries], &counts)
    .output("sums", &vec![-1; queries], &sums)
    .value("count", queries as i32)
    .finish()
}
