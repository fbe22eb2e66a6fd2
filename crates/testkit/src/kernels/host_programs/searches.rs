//! Programs that search: a graph level by level, and a B+tree.

use std::collections::{BTreeMap, VecDeque};

use warpbound_base::Diagnostic;

use super::super::TestLaunch;
use super::super::btree_search::Tree;
use super::{HostDevice, HostProgram, check_equal, groups, input};

pub(super) const BFS: HostProgram = HostProgram {
    name: "bfs",
    source: "bfs",
    inputs: [
        input("4096 vertices", 4096),
        input("16384 vertices", 16_384),
        input("65536 vertices", 65_536),
    ],
    choices: "random undirected edges, 2 to 4 drawn for each vertex; groups of 256",
    run: bfs,
};

pub(super) const BTREE: HostProgram = HostProgram {
    name: "b+tree",
    source: "btree_search",
    inputs: [
        input("100 elements", 100),
        input("1000 elements", 1000),
        input("10000 elements", 10_000),
    ],
    choices: "as many queries of one key and of a range as elements; nodes of 32 keys; groups of 256",
    run: btree,
};

fn bfs(vertices: usize, device: &mut HostDevice<'_>) -> Result<(), Diagnostic> {
    let mut rng = fastrand::Rng::with_seed(4);
    let mut neighbours: Vec<Vec<i32>> = vec![Vec::new(); vertices];
    for vertex in 0..vertices {
        for _ in 0..rng.usize(2..=4) {
            let other = rng.usize(0..vertices);
            neighbours[vertex].push(other as i32);
            neighbours[other].push(vertex as i32);
        }
    }
    let (mut nodes, mut edges) = (Vec::new(), Vec::<i32>::new());
    for targets in &neighbours {
        nodes.extend([edges.len() as i32, targets.len() as i32]);
        edges.extend(targets);
    }
    let mut expected = vec![-1; vertices];
    expected[0] = 0;
    let mut queue = VecDeque::from([0]);
    while let Some(vertex) = queue.pop_front() {
        for &target in &neighbours[vertex] {
            let target = target as usize;
            if expected[target] < 0 {
                expected[target] = expected[vertex] + 1;
                queue.push_back(target);
            }
        }
    }
    let mut frontier = vec![0u8; vertices];
    frontier[0] = 1;
    let (mut visited, mut next) = (frontier.clone(), vec![0u8; vertices]);
    let mut cost = vec![-1; vertices];
    cost[0] = 0;
    let grid = groups(vertices, 256);
    loop {
        let end = device.launch(
            TestLaunch::of("bfs_expand", grid, [256, 1, 1])
                .input("nodes", &nodes)
                .input("edges", &edges)
                .scratch("frontier", &frontier)
                .scratch("next", &next)
                .input("visited", &visited)
                .scratch("cost", &cost)
                .value("count", vertices as i32),
        )?;
        frontier = end.read("frontier")?;
        next = end.read("next")?;
        cost = end.read("cost")?;
        let end = device.launch(
            TestLaunch::of("bfs_advance", grid, [256, 1, 1])
                .scratch("frontier", &frontier)
                .scratch("next", &next)
                .scratch("visited", &visited)
                .scratch("again", &[0u8])
                .value("count", vertices as i32),
        )?;
        frontier = end.read("frontier")?;
        next = end.read("next")?;
        visited = end.read("visited")?;
        if end.read::<u8>("again")? == [0] {
            return check_equal("cost", &cost, &expected);
        }
    }
}

fn btree(elements: usize, device: &mut HostDevice<'_>) -> Result<(), Diagnostic> {
    let mut rng = fastrand::Rng::with_seed(5);
    let most = 4 * elements as i32;
    let mut map = BTreeMap::new();
    while map.len() < elements {
        map.insert(rng.i32(0..most), rng.i32(0..));
    }
    let tree = Tree::of(&map, &mut rng);
    let wanted: Vec<i32> = (0..elements).map(|_| rng.i32(0..most)).collect();
    let found: Vec<i32> = wanted
        .iter()
        .map(|key| map.get(key).copied().unwrap_or(-1))
        .collect();
    device.launch(
        TestLaunch::of("btree_find", groups(32 * elements, 256), [256, 1, 1])
            .input("keys", &tree.keys)
            .input("slots", &tree.slots)
            .value("levels", tree.levels)
            .input("queries", &wanted)
            .output("found", &vec![0; elements], &found)
            .value("count", elements as i32),
    )?;
    let ranges: Vec<(i32, i32)> = (0..elements)
        .map(|_| {
            let low = rng.i32(0..most);
            (low, low + rng.i32(0..400))
        })
        .collect();
    let (counts, sums): (Vec<i32>, Vec<i64>) = ranges
        .iter()
        .map(|&(low, high)| {
            let numbered = map.range(low..high).zip(1i64..);
            numbered.fold((0, 0), |(_, sum), ((_, &value), number)| {
                (number as i32, sum + i64::from(value) * number)
            })
        })
        .unzip();
    let flat: Vec<i32> = ranges.iter().flat_map(|&(low, high)| [low, high]).collect();
    device.launch(
        TestLaunch::of("btree_range", groups(elements, 256), [256, 1, 1])
            .input("keys", &tree.keys)
            .input("slots", &tree.slots)
            .input("next", &tree.next)
            .value("levels", tree.levels)
            .input("ranges", &flat)
            .output("counts", &vec![-1; elements], &counts)
            .output("sums", &vec![-1i64; elements], &sums)
            .value("count", elements as i32),
    )?;
    Ok(())
}
