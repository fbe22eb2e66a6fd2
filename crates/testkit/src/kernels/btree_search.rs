//! Look-ups in a B+tree against those in a sorted map.

use std::collections::BTreeMap;

use warpbound_load::LaunchFile;

use super::{TestLaunch, Row};

pub(super) const KERNELS: &[Row] = &[
    ("btree_search", "btree_find", find),
    ("btree_search", "btree_range", range),
];

/// Places of a node.
const PLACES: usize = 32;

/// A tree as the kernels read it.
struct Tree {
    keys: Vec<i32>,
    slots: Vec<i32>,
    /// The leaf behind a leaf; -1 behind the last one.
    next: Vec<i32>,
    levels: i32,
}

/// Entries of a node before it gets its place: a key and a slot each.
type Entries = Vec<(i32, i32)>;

impl Tree {
    /// Nodes of random fullness over the entries of a map. The root is node 0, so nodes are laid out level by level.
    fn of(map: &BTreeMap<i32, i32>, rng: &mut fastrand::Rng) -> Tree {
        let mut split = |entries: &[(i32, i32)]| -> Vec<Entries> {
            let mut rest = entries;
            let mut nodes = Vec::new();
            while !rest.is_empty() {
                let count = rng.usize(PLACES / 2..=PLACES).min(rest.len());
                nodes.push(rest[..count].to_vec());
                rest = &rest[count..];
            }
            nodes
        };
        let entries: Entries = map.iter().map(|(&key, &value)| (key, value)).collect();
        // From the leaves up; a slot of an inner level is a position in the level below.
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
                for place in 0..PLACES {
                    let (key, slot) = node.get(place).copied().unwrap_or((i32::MAX, -7));
                    let is_child = !is_leaf && place < node.len();
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

/// Entries of the tree and queries.
fn sizes(number: u64, rng: &mut fastrand::Rng) -> (usize, usize) {
    match number {
        // The root is a leaf; three levels; four.
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
        .done()
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
            // Some are empty, some are the wrong way round.
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
    .done()
}
