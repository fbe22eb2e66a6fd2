//! Reference of sums of quotients and remainders, computed by nested calls.

use warpbound_launch::LaunchFile;

use super::{Row, TestLaunch};

pub(super) const KERNELS: &[Row] = &[("call_depth2", "call_depth2", launch)];

fn launch(number: u64) -> LaunchFile {
    let mut rng = fastrand::Rng::with_seed(number);
    let shape = [(1, 32, 3), (2, 45, 0), (1, 1, 9)].get(number as usize);
    let (blocks, threads, count) = shape
        .copied()
        .unwrap_or_else(|| (rng.usize(1..4), rng.usize(1..80), rng.i32(0..12)));
    let values: Vec<i32> = (0..blocks * threads)
        .map(|_| rng.i32(-1_000_000..1_000_000))
        .collect();
    let part = |x: i32, y: i32| x % y + x / (y + 1);
    let results: Vec<i32> = values
        .iter()
        .map(|&value| {
            let sum = (2..2 + count).fold(value, |sum, y| sum + part(sum, y));
            match sum % 2 {
                0 => sum,
                _ => part(sum, count + 1),
            }
        })
        .collect();
    TestLaunch::of("call_depth2", [blocks as u32, 1, 1], [threads as u32, 1, 1])
        .input("in", &values)
        .output("out", &vec![0; values.len()], &results)
        .value("n", count)
        .finish()
}
