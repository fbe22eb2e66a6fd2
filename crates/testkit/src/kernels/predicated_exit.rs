//! Reference of sums of quotients by the threads that do not exit.

use warpbound_launch::LaunchFile;

use super::{Row, TestLaunch};

pub(super) const KERNELS: &[Row] = &[("predicated_exit", "predicated_exit", launch)];

/// Length of the input, which the function's results index.
const INPUT_LENGTH: usize = 4_000;

fn launch(number: u64) -> LaunchFile {
    let mut rng = fastrand::Rng::with_seed(number);
    let shape = [(2, 32, 50), (3, 37, 111), (1, 1, 2)].get(number as usize);
    let (blocks, threads, n) = shape.copied().unwrap_or_else(|| {
        let (blocks, threads) = (rng.usize(1..4), rng.usize(1..80));
        // With n = 1 the function may not return.
        (blocks, threads, rng.usize(2..blocks * threads + 3))
    });
    let values: Vec<i32> = (0..INPUT_LENGTH)
        .map(|_| match rng.usize(0..6) {
            0 => 0,
            1 => rng.i32(-600..600),
            2 => rng.i32(0..600).min(n as i32),
            _ => rng.i32(n as i32..600),
        })
        .collect();
    let start = vec![-77; blocks * threads + n];
    let mut out = start.clone();
    for (i, &value) in values.iter().enumerate().take(n.min(blocks * threads)) {
        if value != 0 {
            let sum = sum_of_quotients(value, n as i32);
            out[i] = sum;
            out[i + n] = values[sum as usize];
        }
    }
    TestLaunch::of(
        "predicated_exit",
        [blocks as u32, 1, 1],
        [threads as u32, 1, 1],
    )
    .input("in", &values)
    .output("out", &start, &out)
    .value("n", n as i32)
    .finish()
}

/// Returns the sum of a number and its quotients by powers of `base` that exceed 1; 0 for a number below `base`, and
/// three times the partial sum as soon as its bit 6 is set.
fn sum_of_quotients(number: i32, base: i32) -> i32 {
    if number < base {
        return 0;
    }
    let mut sum = 0;
    let mut quotient = number;
    loop {
        sum += quotient;
        quotient /= base;
        match (quotient, sum & 64) {
            (..2, _) => return sum,
            (_, 0) => {}
            _ => return 3 * sum,
        }
    }
}
