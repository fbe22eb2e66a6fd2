//! Reference of digit sums: base ten for odd numbers, another base for even ones.

use warpbound_launch::LaunchFile;

use super::{Row, TestLaunch};

pub(super) const KERNELS: &[Row] = &[("call_both_sides", "call_both_sides", launch)];

/// Maximum base of the even numbers, which is at least the number of threads and the decimal digit sum of some odd
/// number.
const MAX_BASE: usize = 80;

fn launch(number: u64) -> LaunchFile {
    let mut rng = fastrand::Rng::with_seed(number);
    let shape = [(1, 32), (2, 35), (1, 1)].get(number as usize).copied();
    let (blocks, threads) = shape.unwrap_or_else(|| (rng.usize(1..3), rng.usize(1..40)));
    let all: usize = blocks * threads;
    let base = all.max(2) + rng.usize(0..=MAX_BASE - all.max(2));
    let mut values: Vec<i32> = (0..all).map(|_| rng.i32(-50..i32::MAX)).collect();
    values.extend((all..all + base).map(|_| rng.i32(-50..i32::MAX)));
    // The thread of an even number also writes the next cell, which the next thread may write: both must write the
    // same.
    for i in 1..all {
        if values[i - 1] % 2 == 0 && values[i] % 2 != 0 {
            match rng.bool() {
                true => {
                    values[i] = odd_number_with_digit_sum(base, &mut rng);
                    values[i - 1 + base] = base.pow(rng.u32(0..4)) as i32;
                }
                false => {
                    values[i] = -1 - 2 * rng.i32(0..9);
                    values[i - 1 + base] = -rng.i32(0..9);
                }
            }
        }
    }
    let start = vec![-77; all + 1];
    let mut out = start.clone();
    for i in 0..all {
        match values[i] % 2 {
            0 => out[i + 1] = digit_sum(values[i + base], base) * base as i32,
            _ => out[i] = digit_sum(values[i], 10),
        }
    }
    TestLaunch::of(
        "call_both_sides",
        [blocks as u32, 1, 1],
        [threads as u32, 1, 1],
    )
    .input("in", &values)
    .output("out", &start, &out)
    .value("n", base as i32)
    .finish()
}

/// Returns the digit sum of a number; 0 for negative ones.
fn digit_sum(value: i32, base: usize) -> i32 {
    let mut rest = value.max(0) as usize;
    let mut sum = 0;
    while rest > 0 {
        sum += (rest % base) as i32;
        rest /= base;
    }
    sum
}

/// Returns a random odd number with this decimal digit sum, from 1 to 81.
fn odd_number_with_digit_sum(sum: usize, rng: &mut fastrand::Rng) -> i32 {
    let mut digits = [0; 9];
    digits[0] = 1;
    for _ in 1..sum {
        // Increases the last digit by two, taking one from another digit.
        let free: Vec<usize> = (1..9).filter(|&at| digits[at] < 9).collect();
        match rng.choice(&free) {
            Some(&at) => digits[at] += 1,
            None => digits[0] += 1,
        }
    }
    if digits[0] % 2 == 0 {
        digits[0] += 1;
        digits[8] -= 1;
    }
    digits
        .iter()
        .rev()
        .fold(0, |number, digit| 10 * number + digit)
}
