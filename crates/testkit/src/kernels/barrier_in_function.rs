//! Reference of block-wide sums by repeated halving.

use warpbound_launch::LaunchFile;

use super::{Row, TestLaunch};

pub(super) const KERNELS: &[Row] = &[("barrier_in_function", "barrier_in_function", launch)];

fn launch(number: u64) -> LaunchFile {
    let mut rng = fastrand::Rng::with_seed(number);
    // A block whose size is not a power of two omits threads from its sum.
    let shape = [(2, 256), (1, 1), (3, 77)].get(number as usize).copied();
    let (blocks, threads) = shape.unwrap_or_else(|| (rng.usize(1..4), rng.usize(1..=256)));
    let divisor = match rng.i32(-40..40) {
        0 => 1,
        divisor => divisor,
    };
    let values: Vec<i32> = (0..blocks * threads)
        .map(|_| rng.i32(-40_000..40_000))
        .collect();
    let results: Vec<i32> = values
        .chunks(threads)
        .flat_map(|block| {
            let norm: Vec<i32> = block.iter().map(|value| value * value / divisor).collect();
            vec![sum_by_halves(block).wrapping_mul(sum_by_halves(&norm)); threads]
        })
        .collect();
    TestLaunch::of(
        "barrier_in_function",
        [blocks as u32, 1, 1],
        [threads as u32, 1, 1],
    )
    .input("in", &values)
    .output("out", &vec![0; values.len()], &results)
    .value("n", divisor)
    .finish()
}

/// Returns the sum of a halving tree: a part of odd length loses its last number.
fn sum_by_halves(values: &[i32]) -> i32 {
    match values {
        [only] => *only,
        _ => {
            let half = values.len() / 2;
            let pairs = values.iter().zip(&values[half..2 * half]);
            let sums: Vec<i32> = pairs.map(|(a, b)| a.wrapping_add(*b)).collect();
            sum_by_halves(&sums)
        }
    }
}
