//! Reference of atomic operations on shared cells.

use warpbound_launch::LaunchFile;

use super::{Row, TestLaunch};

pub(super) const KERNELS: &[Row] = &[
    ("atomics", "atomics", one_thread_or_many),
    ("atomics", "cas_loop", product),
    ("atomics", "spin_lock", lock),
];

fn one_thread_or_many(number: u64) -> LaunchFile {
    match number {
        0 => one_thread(number),
        1 => mixed(number),
        2 => alike(number),
        _ => [one_thread, mixed, alike][number as usize % 3](number),
    }
}

/// Returns the final contents of `bits` and `sum`; a sum of small integers is the same in every order.
fn bits_and_sum(values: &[i32], bits: &[u32; 8], sum: f32) -> ([u32; 8], f32) {
    let mut bits = *bits;
    for value in values {
        bits[value.rem_euclid(8) as usize] |= 1 << value.rem_euclid(32);
    }
    (bits, sum + values.iter().sum::<i32>() as f32)
}

/// Launch of a single thread: the result is determined, and the compare-and-swap may succeed.
fn one_thread(number: u64) -> LaunchFile {
    let mut rng = fastrand::Rng::with_seed(number);
    let n = rng.usize(1..9);
    let value = rng.i32(-20..20);
    let start: Vec<i32> = (0..=n).map(|_| rng.i32(value - 1..=value + 1)).collect();
    let mut out = start.clone();
    out[0] = value;
    out[n] = start[0] + value.min(n as i32) + start[n];
    build(&[value], (1, 1), n, &mut rng, &start, Some(&out))
}

/// Launch with any values: the order of tickets is not determined, so `out` is not compared.
fn mixed(number: u64) -> LaunchFile {
    let mut rng = fastrand::Rng::with_seed(number);
    let (blocks, threads) = match number {
        1 => (3, 37),
        _ => (rng.usize(1..4), rng.usize(1..80)),
    };
    let all: usize = blocks * threads;
    let n = all + rng.usize(0..9);
    let values: Vec<i32> = (0..all).map(|_| rng.i32(-1000..1000)).collect();
    let start = vec![5; n + all];
    build(&values, (blocks, threads), n, &mut rng, &start, None)
}

/// Launch of one block whose threads all have the same value, so that their order does not matter.
fn alike(number: u64) -> LaunchFile {
    let mut rng = fastrand::Rng::with_seed(number);
    let threads = match number {
        2 => 77,
        _ => rng.usize(1..130),
    };
    let n = threads + rng.usize(0..9);
    let value = rng.i32(-1000..1000);
    let low = value.min(n as i32);
    // The cell at n differs from the threads' value, so the compare-and-swap fails.
    let found = value + rng.i32(1..50);
    let mut start = vec![-low; n];
    start.extend((0..threads).map(|_| rng.i32(..)));
    start[n] = found;
    let mut out = start.clone();
    out[..threads].fill(value);
    out[n..].fill(found);
    let values = vec![value; threads];
    build(&values, (1, threads), n, &mut rng, &start, Some(&out))
}

fn build(
    values: &[i32],
    (blocks, threads): (usize, usize),
    n: usize,
    rng: &mut fastrand::Rng,
    start: &[i32],
    out: Option<&[i32]>,
) -> LaunchFile {
    let bits = std::array::from_fn(|_| 1 << rng.u32(0..32));
    let sum = rng.i32(-100..100) as f32;
    let (bits_end, sum_end) = bits_and_sum(values, &bits, sum);
    let launch = TestLaunch::of("atomics", [blocks as u32, 1, 1], [threads as u32, 1, 1]);
    let launch = launch.input("in", values);
    let launch = match out {
        Some(end) => launch.output("out", start, end),
        None => launch.scratch("out", start),
    };
    launch
        .output("bits", &bits, &bits_end)
        .output("sum", &[sum], &[sum_end])
        .value("n", n as i32)
        .finish()
}

fn product(number: u64) -> LaunchFile {
    let mut rng = fastrand::Rng::with_seed(number);
    let shape = [(1, 32), (3, 37), (1, 1)].get(number as usize).copied();
    let (blocks, threads) = shape.unwrap_or_else(|| (rng.usize(1..4), rng.usize(1..50)));
    // Powers of two whose products stay normal: the result is the same in every order.
    let (mut least, mut most) = (0, 0);
    let factors: Vec<f32> = (0..blocks * threads)
        .map(|_| {
            let power = match rng.usize(0..4) {
                0 => rng.i32(-1..2),
                _ => 0,
            };
            let power = match power {
                -1 if least > -100 => {
                    least -= 1;
                    -1
                }
                1 if most < 100 => {
                    most += 1;
                    1
                }
                _ => 0,
            };
            let sign = if rng.bool() { 1.0 } else { -1.0 };
            sign * f32::powi(2.0, power)
        })
        .collect();
    let start = rng.f32() + 1.0;
    let end = factors
        .iter()
        .fold(start, |product, factor| product * factor);
    TestLaunch::of("cas_loop", [blocks as u32, 1, 1], [threads as u32, 1, 1])
        .input("in", &factors)
        .output("cell", &[start.to_bits()], &[end.to_bits()])
        .finish()
}

fn lock(number: u64) -> LaunchFile {
    let mut rng = fastrand::Rng::with_seed(number);
    let (blocks, threads) = match number {
        0 => (1, 32),
        1 => (5, 45),
        2 => (1, 1),
        _ => (rng.usize(1..6), rng.usize(1..80)),
    };
    // The first block changes the dividend of all blocks; with several blocks the quotient must not change.
    let (first, n) = match (blocks, rng.bool()) {
        (1, _) => (rng.i32(..), rng.i32(2..100)),
        (_, true) => (rng.i32(..), 1),
        (_, false) => (0, rng.i32(2..100)),
    };
    let mut start: Vec<i32> = (0..blocks).map(|_| rng.i32(..)).collect();
    start[0] = first;
    TestLaunch::of("spin_lock", [blocks as u32, 1, 1], [threads as u32, 1, 1])
        .output("lock", &[0], &[0])
        .output("data", &start, &vec![first / n; blocks])
        .value("n", n)
        .finish()
}
