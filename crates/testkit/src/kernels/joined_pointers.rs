//! Reference of one of two sums, selected by the parity of the thread.

use warpbound_launch::LaunchFile;

use super::{Row, TestLaunch};

pub(super) const KERNELS: &[Row] = &[("joined_pointers", "joined_pointers", launch)];

fn launch(number: u64) -> LaunchFile {
    let mut rng = fastrand::Rng::with_seed(number);
    let shape = [(1, 32, 7), (2, 37, 0), (1, 1, -1)].get(number as usize);
    let random = (rng.usize(1..4), rng.usize(1..80), rng.i32(-40..40));
    let &(blocks, threads, n) = shape.unwrap_or(&random);
    let start = vec![-77; blocks * threads];
    let sums = (0..blocks).flat_map(|_| 0..threads as i32).map(|t| {
        let terms = 0..(n + t).max(0);
        match t % 2 {
            1 => terms.fold(0, |sum: i32, i| sum.wrapping_mul(7).wrapping_add(i)),
            _ => terms.fold(1, |sum: i32, i| sum.wrapping_mul(3) ^ i),
        }
    });
    let out: Vec<i32> = sums.collect();
    TestLaunch::of(
        "joined_pointers",
        [blocks as u32, 1, 1],
        [threads as u32, 1, 1],
    )
    .output("out", &start, &out)
    .value("n", n)
    .finish()
}
