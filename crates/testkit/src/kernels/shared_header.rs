//! Reference of a sum over two nested loops.

use warpbound_launch::LaunchFile;

use super::{Row, TestLaunch};

pub(super) const KERNELS: &[Row] = &[("shared_header", "shared_header", launch)];

fn launch(number: u64) -> LaunchFile {
    let mut rng = fastrand::Rng::with_seed(number);
    let shape = [(32, 10, 10), (37, 1, 4), (1, 5, 0)].get(number as usize);
    let random = (rng.usize(1..80), rng.i32(1..12), rng.i32(-1..12));
    let &(threads, n, m) = shape.unwrap_or(&random);
    let start = vec![-77; threads];
    let steps = n * m.max(1);
    let sum = |t: i32| (0..steps).fold(0, |sum: i32, _| sum.wrapping_mul(3).wrapping_add(t));
    let out: Vec<i32> = (0..threads as i32).map(sum).collect();
    TestLaunch::of("shared_header", [1, 1, 1], [threads as u32, 1, 1])
        .output("out", &start, &out)
        .value("n", n)
        .value("m", m)
        .finish()
}
