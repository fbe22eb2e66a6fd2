//! Reference of a branch with two sides, and of one with a single side.

use warpbound_launch::LaunchFile;

use super::writes::UnorderedWrites;
use super::{Row, TestLaunch};

pub(super) const KERNELS: &[Row] = &[
    ("if_else", "if_else", two_sides),
    ("if_else", "if_only", one_side),
];

fn shape(number: u64, rng: &mut fastrand::Rng) -> (usize, usize) {
    let shape = [(1, 32), (3, 37), (1, 1)].get(number as usize).copied();
    shape.unwrap_or_else(|| (rng.usize(1..4), rng.usize(1..80)))
}

fn two_sides(number: u64) -> LaunchFile {
    let mut rng = fastrand::Rng::with_seed(number);
    let (blocks, threads) = shape(number, &mut rng);
    // The sum of two quotients fits in 32 bits.
    let divisor = rng.i32(2..50);
    let values: Vec<i32> = (0..blocks * threads + 2).map(|_| rng.i32(..)).collect();
    let results: Vec<i32> = values
        .windows(3)
        .map(|window| match window[0] % 2 {
            0 => window[0] / divisor + window[1] / (divisor + 1),
            _ => window[0] % (divisor + 2) - window[2] % (divisor + 3),
        })
        .collect();
    TestLaunch::of("if_else", [blocks as u32, 1, 1], [threads as u32, 1, 1])
        .input("in", &values)
        .output("out", &vec![0; results.len()], &results)
        .value("divisor", divisor)
        .finish()
}

fn one_side(number: u64) -> LaunchFile {
    let mut rng = fastrand::Rng::with_seed(number);
    let (blocks, threads) = shape(number, &mut rng);
    let all: usize = blocks * threads;
    let divisor = rng.i32(2..20);
    // The number of a thread is at most the divisor, or the index, after all threads' numbers, of a number that only
    // this thread reads at first.
    let base = all.max(divisor as usize + 1);
    let mut values: Vec<i32> = (0..2 * base).map(|_| rng.i32(-90..90)).collect();
    for (i, value) in values.iter_mut().enumerate().take(all) {
        *value = match rng.bool() {
            true => (base + i) as i32,
            false => rng.i32(-50..=divisor),
        };
    }
    let result = |values: &[i32], i: usize| match values[i] {
        value if value > divisor => value % divisor + values[(value / divisor) as usize],
        value => value,
    };
    let mut writes = UnorderedWrites::default();
    for i in 0..all {
        let value = values[i];
        if value > divisor {
            // A thread also writes the next thread's cell: both must write the same.
            if i + 1 < all {
                values[value as usize] = divisor * result(&values, i + 1);
            }
            writes.write(i, i + 1, values[value as usize] / divisor);
        }
        writes.write(i, i, result(&values, i));
    }
    let start = vec![-77; all + 1];
    TestLaunch::of("if_only", [blocks as u32, 1, 1], [threads as u32, 1, 1])
        .input("in", &values)
        .output("out", &start, &writes.final_contents(&start))
        .value("divisor", divisor)
        .finish()
}
