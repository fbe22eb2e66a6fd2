//! Reference of loops with branches and breaks in their bodies.

use warpbound_launch::LaunchFile;

use super::{Row, TestLaunch};

pub(super) const KERNELS: &[Row] = &[
    ("loop_repush", "loop_repush", branch),
    ("loop_repush", "loop_repush_break", with_break),
];

fn shape(number: u64, rng: &mut fastrand::Rng) -> (usize, usize, usize) {
    let shape = [(1, 32, 6), (3, 37, 1), (1, 1, 9)].get(number as usize);
    let shape = shape.copied();
    shape.unwrap_or_else(|| (rng.usize(1..4), rng.usize(1..80), rng.usize(0..10)))
}

fn launch(
    kernel: &str,
    (blocks, threads, n): (usize, usize, usize),
    values: &[i32],
    result: impl Fn(usize) -> i32,
) -> LaunchFile {
    let start = vec![-77; blocks * threads];
    let out = match n {
        0 => start.clone(),
        _ => (0..start.len()).map(result).collect(),
    };
    TestLaunch::of(kernel, [blocks as u32, 1, 1], [threads as u32, 1, 1])
        .input("in", values)
        .output("out", &start, &out)
        .value("n", n as i32)
        .finish()
}

fn branch(number: u64) -> LaunchFile {
    let mut rng = fastrand::Rng::with_seed(number);
    let (blocks, threads, n) = shape(number, &mut rng);
    let values: Vec<i32> = (0..(blocks * threads).max(64))
        .map(|_| rng.i32(-5_000..5_000))
        .collect();
    let result = |i: usize| {
        (0..n).fold(values[i], |value, j| match (value ^ j as i32) & 1 {
            0 => 3 * value + values[j] % (j as i32 + 5),
            _ => value / (j as i32 + 3) + values[(value & 63) as usize],
        })
    };
    launch("loop_repush", (blocks, threads, n), &values, result)
}

/// Length of the input of `with_break`.
const INPUT_LENGTH: usize = 600;

fn with_break(number: u64) -> LaunchFile {
    let mut rng = fastrand::Rng::with_seed(number);
    let (blocks, threads, n) = shape(number, &mut rng);
    loop {
        let values: Vec<i32> = (0..INPUT_LENGTH).map(|_| rng.i32(-2..64)).collect();
        let results: Option<Vec<i32>> = (0..blocks * threads)
            .map(|i| result_with_break(&values, i, n))
            .collect();
        // A thread rarely reads past the end of the input; such draws are discarded.
        if let Some(results) = results {
            let result = |i: usize| results[i];
            return launch("loop_repush_break", (blocks, threads, n), &values, result);
        }
    }
}

/// Returns the result of a thread; `None` if it reads past the end of the input.
fn result_with_break(values: &[i32], thread: usize, n: usize) -> Option<i32> {
    let mut value = *values.get(thread)?;
    for j in 0..n {
        let mut k = 0;
        while (k as i32) < value {
            if *values.get(k)? == thread as i32 {
                value += (k / (j + 3)) as i32;
                break;
            }
            value ^= *values.get(k + j)?;
            k += 1;
        }
    }
    Some(value)
}
