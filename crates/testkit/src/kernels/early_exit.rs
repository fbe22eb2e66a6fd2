//! Reference of threads that exit early.

use warpbound_launch::LaunchFile;

use super::{Row, TestLaunch};

pub(super) const KERNELS: &[Row] = &[("early_exit", "early_exit", launch)];

/// Length of the input, which all numbers of a path to 1 index; starts whose path exceeds it are not used.
const INPUT_LENGTH: usize = 400;

fn launch(number: u64) -> LaunchFile {
    let mut rng = fastrand::Rng::with_seed(number);
    let shape = [(2, 32, 50), (3, 37, 80), (1, 1, 1)].get(number as usize);
    let (blocks, threads, n) = shape.copied().unwrap_or_else(|| {
        let (blocks, threads) = (rng.usize(1..4), rng.usize(1..80));
        (blocks, threads, rng.usize(1..=blocks * threads))
    });
    let short: Vec<i32> = (0..INPUT_LENGTH as i32)
        .filter(|&start| collatz_sequence(start).all(|at| at < INPUT_LENGTH as i32))
        .collect();
    let values: Vec<i32> = (0..INPUT_LENGTH)
        .map(|_| match rng.usize(0..4) {
            0 => -rng.i32(1..INPUT_LENGTH as i32),
            _ => short[rng.usize(0..short.len())],
        })
        .collect();
    let start = vec![-77; blocks * threads];
    let mut out = start.clone();
    for (i, &value) in values.iter().enumerate().take(n) {
        out[i] = match value {
            ..0 => values[-value as usize] / n as i32,
            _ => {
                let own =
                    collatz_sequence(value).find(|&at| at > 1 && values[at as usize] == i as i32);
                own.unwrap_or(value.min(1) - values[0])
            }
        };
    }
    TestLaunch::of("early_exit", [blocks as u32, 1, 1], [threads as u32, 1, 1])
        .input("in", &values)
        .output("out", &start, &out)
        .value("n", n as i32)
        .finish()
}

/// Returns the Collatz sequence from a number to 1.
fn collatz_sequence(start: i32) -> impl Iterator<Item = i32> {
    std::iter::successors(Some(start), |&at| match at {
        ..=1 => None,
        _ if at % 2 == 0 => Some(at / 2),
        _ => Some(3 * at + 1),
    })
}
