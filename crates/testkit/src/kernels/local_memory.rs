//! Reference of sorting groups of 24 numbers in local memory.

use warpbound_launch::LaunchFile;

use super::{Row, TestLaunch};

pub(super) const KERNELS: &[Row] = &[("local_memory", "local_memory", launch)];

/// Number of elements that a thread sorts.
const GROUP: usize = 24;

fn launch(number: u64) -> LaunchFile {
    let mut rng = fastrand::Rng::with_seed(number);
    let shape = [(1, 32), (2, 19), (1, 1)].get(number as usize).copied();
    let (blocks, threads) = shape.unwrap_or_else(|| (rng.usize(1..3), rng.usize(1..50)));
    let values: Vec<i32> = (0..blocks * threads * GROUP)
        .map(|_| match number % 2 {
            0 => rng.i32(..),
            _ => rng.i32(-5..5),
        })
        .collect();
    let mut sorted = values.clone();
    for group in sorted.chunks_mut(GROUP) {
        group.sort_unstable();
    }
    TestLaunch::of(
        "local_memory",
        [blocks as u32, 1, 1],
        [threads as u32, 1, 1],
    )
    .input("in", &values)
    .output("out", &vec![0; values.len()], &sorted)
    .finish()
}
