//! Reference of calls through function pointers that data select.

use fastrand::Rng;
use warpbound_launch::LaunchFile;

use super::{Row, TestLaunch};

pub(super) const KERNELS: &[Row] = &[
    ("function_pointer", "function_pointer", by_data),
    ("function_pointer", "function_pointer_uniform", by_launch),
];

/// Numbers of blocks and of threads of a block, and a small positive parameter.
fn sizes(number: u64, rng: &mut Rng) -> (usize, usize, usize) {
    match number {
        0 => (1, 32, 32),
        1 => (3, 77, 5),
        2 => (1, 1, 1),
        _ => (rng.usize(1..4), rng.usize(1..100), rng.usize(1..40)),
    }
}

/// Returns the number of subtractions of `step` until the rest is not positive.
fn steps(x: i32, step: i32) -> i32 {
    (x.max(0) as u32).div_ceil(step as u32) as i32
}

fn by_data(number: u64) -> LaunchFile {
    let mut rng = Rng::with_seed(number);
    let (blocks, threads, n) = sizes(number, &mut rng);
    let numbers: Vec<i32> = (0..blocks * threads + n)
        .map(|_| rng.i32(-200..200))
        .collect();
    let y = n as i32;
    let ends: Vec<i32> = numbers
        .iter()
        .zip(&numbers[n..])
        .map(|(&choice, &x)| match choice as u32 % 3 {
            0 => x + 3 * y,
            1 => x / y,
            _ => steps(x, y),
        })
        .collect();
    TestLaunch::of(
        "function_pointer",
        [blocks as u32, 1, 1],
        [threads as u32, 1, 1],
    )
    .input("in", &numbers)
    .output("out", &vec![0; ends.len()], &ends)
    .value("n", y)
    .finish()
}

fn by_launch(number: u64) -> LaunchFile {
    let mut rng = Rng::with_seed(number);
    let (blocks, threads, n) = sizes(number, &mut rng);
    let which = number as i32 % 2;
    let numbers: Vec<i32> = (0..blocks * threads).map(|_| rng.i32(-200..200)).collect();
    let y = n as i32;
    let ends: Vec<i32> = numbers
        .iter()
        .map(|&x| 1 + if which == 0 { x / y } else { steps(x, y) })
        .collect();
    TestLaunch::of(
        "function_pointer_uniform",
        [blocks as u32, 1, 1],
        [threads as u32, 1, 1],
    )
    .input("in", &numbers)
    .output("out", &vec![0; ends.len()], &ends)
    .value("n", y)
    .value("which", which)
    .finish()
}
