//! Reference of lists, tables and structures that hold addresses.

use fastrand::Rng;
use warpbound_launch::LaunchFile;

use super::{Row, TestLaunch};

pub(super) const KERNELS: &[Row] = &[
    ("pointers", "list_sums", lists),
    ("pointers", "row_sums", rows),
    ("pointers", "weighted", weighted),
];

/// Size of a node in bytes: the address of the next node, and a value.
const NODE: u64 = 16;

/// Numbers of blocks, of threads of a block, and of threads that have work.
fn sizes(launch: u64, rng: &mut Rng) -> (u32, u32, usize) {
    match launch {
        0 => (1, 32, 32),
        1 => (2, 40, 57),
        2 => (1, 1, 1),
        _ => {
            let (blocks, threads) = (rng.u32(1..3), rng.u32(1..70));
            (blocks, threads, rng.usize(1..=(blocks * threads) as usize))
        }
    }
}

fn lists(launch: u64) -> LaunchFile {
    let mut rng = Rng::with_seed(launch);
    let (blocks, threads, count) = sizes(launch, &mut rng);
    let lengths: Vec<usize> = (0..count).map(|_| rng.usize(0..9)).collect();
    let all: usize = lengths.iter().sum();
    // Nodes of a list are scattered.
    let mut node_order: Vec<u64> = (0..all as u64).collect();
    rng.shuffle(&mut node_order);
    let values: Vec<i64> = (0..all).map(|_| rng.i64(-1000..1000)).collect();
    let mut nodes = vec![0i64; 2 * all.max(1)];
    let mut sums = Vec::with_capacity(count);
    let mut links: Vec<(&str, u64, u64)> = Vec::new();
    let mut rest = node_order.iter().zip(&values);
    for (number, &length) in lengths.iter().enumerate() {
        let (mut holder, mut at) = ("heads", 8 * number as u64);
        let mut sum = 0;
        for (&node, &value) in rest.by_ref().take(length) {
            nodes[2 * node as usize + 1] = value;
            sum += value;
            links.push((holder, at, NODE * node));
            (holder, at) = ("nodes", NODE * node);
        }
        sums.push(sum);
    }
    let launch = TestLaunch::of("list_sums", [blocks, 1, 1], [threads, 1, 1])
        .input("heads", &vec![0u64; count])
        .output("out", &vec![0i64; count], &sums)
        .value("n", count as i32)
        .extra_buffer("nodes", &nodes);
    let linked = links
        .into_iter()
        .fold(launch, |launch, (holder, at, node)| {
            launch.pointer(holder, at, "nodes", node)
        });
    linked.finish()
}

fn rows(launch: u64) -> LaunchFile {
    let mut rng = Rng::with_seed(launch);
    let (blocks, threads, count) = sizes(launch, &mut rng);
    let lengths: Vec<i32> = (0..count).map(|_| rng.i32(0..12)).collect();
    let numbers: Vec<i32> = (0..200).map(|_| rng.i32(-99..99)).collect();
    let starts: Vec<usize> = lengths
        .iter()
        .map(|&length| rng.usize(0..=numbers.len() - length as usize))
        .collect();
    let pairs = starts.iter().zip(&lengths);
    let sums: Vec<i32> = pairs
        .map(|(&start, &length)| numbers[start..start + length as usize].iter().sum())
        .collect();
    let mut table = vec![0; 24];
    table[..4].copy_from_slice(&(count as i32).to_le_bytes());
    let launch = TestLaunch::of("row_sums", [blocks, 1, 1], [threads, 1, 1])
        .structure("table", table)
        .output("out", &vec![0i32; count], &sums)
        .extra_buffer("rows", &vec![0u64; count])
        .extra_buffer("lengths", &lengths)
        .extra_buffer("numbers", &numbers)
        .pointer("table", 8, "rows", 0)
        .pointer("table", 16, "lengths", 0);
    let starts = starts.into_iter().enumerate();
    let filled = starts.fold(launch, |launch, (row, start)| {
        launch.pointer("rows", 8 * row as u64, "numbers", 4 * start as u64)
    });
    filled.finish()
}

fn weighted(launch: u64) -> LaunchFile {
    let mut rng = Rng::with_seed(launch);
    let (blocks, threads, count) = sizes(launch, &mut rng);
    let numbers: Vec<f32> = (0..count).map(|_| rng.f32()).collect();
    let (scale, offset) = (rng.f32(), rng.i32(-9..9));
    let results = numbers.iter().map(|x| x.mul_add(scale, offset as f32));
    let results: Vec<f32> = results.collect();
    TestLaunch::of("weighted", [blocks, 1, 1], [threads, 1, 1])
        .input("in", &numbers)
        .output("out", &vec![0f32; count], &results)
        .value("n", count as i32)
        .variable("settings", &[offset, 0, 0, 0], None)
        .extra_buffer("scale", &[scale])
        .pointer("settings", 8, "scale", 0)
        .finish()
}
