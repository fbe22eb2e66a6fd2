//! Reference of branches on two comparisons, and of 128-bit additions.

use std::collections::BTreeSet;

use warpbound_launch::LaunchFile;

use super::{Row, TestLaunch};

pub(super) const KERNELS: &[Row] = &[
    ("cc_branch", "cc_branch", branches),
    ("cc_branch", "carry_chain", carry_chain),
];

fn shape(number: u64, rng: &mut fastrand::Rng) -> (usize, usize) {
    let shape = [(1, 32), (3, 37), (1, 1)].get(number as usize).copied();
    shape.unwrap_or_else(|| (rng.usize(1..4), rng.usize(1..80)))
}

/// Sides of the branches that a thread takes.
#[derive(Clone, Copy, PartialEq)]
enum Side {
    /// The numbers differ, and the first is less than twice the second.
    Small,
    /// The numbers differ, and it is not.
    Large,
    /// The numbers are equal and positive.
    Same,
    /// The numbers are equal and not positive: nothing is written.
    None,
}

impl Side {
    fn of(x: f32, y: f32) -> Side {
        match (x == y, x < 2.0 * y) {
            (false, true) => Side::Small,
            (false, false) => Side::Large,
            (true, true) => Side::Same,
            (true, false) => Side::None,
        }
    }

    /// Offsets from its own cell of the cells that a thread on this side writes.
    fn writes(self) -> &'static [usize] {
        match self {
            Side::Small => &[0, 1, 5],
            Side::Large => &[0, 2],
            Side::Same => &[5],
            Side::None => &[],
        }
    }
}

fn branches(number: u64) -> LaunchFile {
    let mut rng = fastrand::Rng::with_seed(number);
    let (blocks, threads) = shape(number, &mut rng);
    let all: usize = blocks * threads;
    let n = rng.usize(1..40);
    let mut float = || match rng.usize(0..12) {
        0 => [f32::INFINITY, 3e38, -3e38, 1e-45, -0.0][rng.usize(0..5)],
        1 => f32::NAN,
        _ => (rng.f32() - 0.4) * 1000.0,
    };
    let mut a: Vec<f32> = (0..all + n + 1).map(|_| float()).collect();
    let mut b: Vec<f32> = (0..all + 2).map(|_| float()).collect();
    let mut taken = BTreeSet::new();
    for i in 0..all {
        if rng.usize(0..5) == 0 {
            a[i] = b[i];
        }
        // No two threads write one cell: a thread that would gets numbers with which it writes nothing.
        let cells = Side::of(a[i], b[i]).writes().iter().map(|by| i + by);
        match cells.clone().any(|cell| taken.contains(&cell)) {
            true => (a[i], b[i]) = (-2.5, -2.5),
            false => taken.extend(cells),
        }
    }
    let start = vec![-77.0f32; all + 5];
    let mut out = start.clone();
    for i in 0..all {
        let (x, y) = (a[i], b[i]);
        let side = Side::of(x, y);
        match side {
            Side::Small => {
                out[i] = a[i + n];
                out[i + 1] = (x as i32 / n as i32) as f32;
            }
            Side::Large => {
                out[i] = canonical(b[i + 2] + a[n]);
                out[i + 2] = canonical(x * y);
            }
            Side::Same | Side::None => {}
        }
        if matches!(side, Side::Small | Side::Same) {
            out[i + 5] = 9.0;
        }
    }
    TestLaunch::of("cc_branch", [blocks as u32, 1, 1], [threads as u32, 1, 1])
        .input("a", &a)
        .input("b", &b)
        .output("out", &start, &out)
        .value("n", n as i32)
        .finish()
}

/// Replaces a NaN by the canonical one, which is the only NaN that arithmetic produces.
fn canonical(result: f32) -> f32 {
    match result.is_nan() {
        true => f32::from_bits(0x7fff_ffff),
        false => result,
    }
}

fn carry_chain(number: u64) -> LaunchFile {
    let mut rng = fastrand::Rng::with_seed(number);
    let (blocks, threads) = shape(number, &mut rng);
    let all: usize = blocks * threads;
    // After all sums.
    let n = 4 * all + rng.usize(0..9);
    // All threads with a carry write the same number to one cell.
    let lowest = (rng.u32(..), rng.u32(..));
    let replaced = |number: u128, low: u32| number >> 32 << 32 | u128::from(low);
    let mut pairs = Vec::new();
    let mut sums: Vec<u32> = Vec::new();
    let mut last = 77;
    for _ in 0..all {
        let (mut a, mut b) = (rng.u128(..), rng.u128(..));
        if rng.bool() {
            // A carry through all words, with or without one from the lowest.
            b = u128::MAX - a + rng.u128(0..2);
        }
        if rng.bool() {
            (a, b) = (replaced(a, lowest.0), replaced(b, lowest.1));
        } else if a.checked_add(b).is_none() {
            // The sum of two halves has no carry.
            (a, b) = (a >> 1, b >> 1);
        }
        let (sum, is_carry) = a.overflowing_add(b);
        let mut words = words(sum);
        if is_carry {
            words[0] /= n as u32;
            last = words[0] % (n as u32 + 1);
        }
        pairs.push((a, b));
        sums.extend(words);
    }
    let a: Vec<u32> = pairs.iter().flat_map(|(a, _)| words(*a)).collect();
    let b: Vec<u32> = pairs.iter().flat_map(|(_, b)| words(*b)).collect();
    sums.resize(n, 77);
    sums.push(last);
    TestLaunch::of("carry_chain", [blocks as u32, 1, 1], [threads as u32, 1, 1])
        .input("a", &a)
        .input("b", &b)
        .output("out", &vec![77; n + 1], &sums)
        .value("n", n as i32)
        .finish()
}

/// Words of a number, lowest first.
fn words(number: u128) -> [u32; 4] {
    std::array::from_fn(|at| (number >> (32 * at)) as u32)
}
