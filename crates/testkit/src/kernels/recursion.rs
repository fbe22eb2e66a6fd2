//! Reference of recursive and mutually recursive functions.

use fastrand::Rng;
use warpbound_launch::LaunchFile;

use super::{Row, TestLaunch};

pub(super) const KERNELS: &[Row] = &[
    ("recursion", "recursion", fibonacci),
    ("recursion", "mutual_recursion", mutual),
];

/// Stack of a thread in bytes: CUDA's default. The cubins state a size of 0, since compilers cannot bound the depth of
/// the calls.
const STACK: u32 = 1024;

/// Numbers of blocks and of threads of a block, and limit of the depth.
fn sizes(number: u64, rng: &mut Rng) -> (usize, usize, i32) {
    match number {
        0 => (1, 32, 8),
        1 => (2, 45, 10),
        2 => (1, 1, 1),
        _ => (rng.usize(1..3), rng.usize(1..70), rng.i32(1..9)),
    }
}

fn launch(
    kernel: &str,
    (blocks, threads, depth): (usize, usize, i32),
    numbers: &[i32],
    ends: &[i32],
) -> LaunchFile {
    TestLaunch::of(kernel, [blocks as u32, 1, 1], [threads as u32, 1, 1])
        .input("in", numbers)
        .output("out", &vec![-1; ends.len()], ends)
        .value("depth", depth)
        .stack(STACK)
        .finish()
}

fn fibonacci(number: u64) -> LaunchFile {
    let mut rng = Rng::with_seed(number);
    let sizes = sizes(number, &mut rng);
    let numbers: Vec<i32> = (0..sizes.0 * sizes.1).map(|_| rng.i32(-99..1000)).collect();
    let ends: Vec<i32> = numbers
        .iter()
        .map(|number| match number % sizes.2 {
            // A Fibonacci number below index 2 equals its index.
            k if k < 2 => k,
            k => (1..k).fold((0, 1), |(a, b), _| (b, a + b)).1,
        })
        .collect();
    launch("recursion", sizes, &numbers, &ends)
}

fn mutual(number: u64) -> LaunchFile {
    let mut rng = Rng::with_seed(number);
    let sizes = sizes(number, &mut rng);
    let numbers: Vec<i32> = (0..sizes.0 * sizes.1).map(|_| rng.i32(0..1000)).collect();
    let ends: Vec<i32> = numbers
        .iter()
        .enumerate()
        .map(|(i, number)| {
            let k = number % sizes.2;
            // On the way down, calls of even depth multiply by 3, the others by 5; the innermost call has depth k.
            let salt = (0..k).fold(i as i32, |salt, depth| {
                salt.wrapping_mul([3, 5][depth as usize % 2])
            });
            let last = if k % 2 == 0 {
                salt
            } else {
                salt.wrapping_neg()
            };
            // On return.
            (0..k).rev().fold(last, |value, depth| match depth % 2 {
                0 => value.wrapping_add(1),
                _ => value.wrapping_mul(2),
            })
        })
        .collect();
    launch("mutual_recursion", sizes, &numbers, &ends)
}
