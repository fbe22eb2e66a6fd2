//! Reference of a kernel whose lanes call different functions.

use warpbound_launch::LaunchFile;

use super::super::{Row, TestLaunch};

pub(super) const KERNELS: &[Row] = &[("calls_divergent", "calls_divergent", calls_divergent)];

fn halve(x: i32, salt: i32) -> i32 {
    (x / 2).wrapping_add(salt ^ x)
}

fn climb(x: i32, salt: i32) -> i32 {
    (0..=salt & 3).fold(x, |sum, j| sum.wrapping_add(halve(sum, j) & 0xff))
}

fn calls_divergent(number: u64) -> LaunchFile {
    let mut rng = fastrand::Rng::with_seed(number);
    let (groups, items, rounds) = match number {
        0 => (1, 64, 3),
        1 => (2, 100, 5),
        2 => (1, 3, 0),
        _ => (rng.usize(1..4), rng.usize(1..150), rng.i32(0..9)),
    };
    let numbers: Vec<i32> = (0..groups * items).map(|_| rng.i32(0..100_000)).collect();
    let of = |i: usize, start: i32| {
        (0..rounds).fold(start, |x: i32, round| match (x as u32 >> 3) % 3 {
            0 => halve(x, round),
            1 => climb(x, i as i32),
            _ => x.wrapping_mul(31).wrapping_add(round),
        })
    };
    let end: Vec<i32> = numbers.iter().enumerate().map(|(i, &x)| of(i, x)).collect();
    TestLaunch::of(
        "calls_divergent",
        [groups as u32, 1, 1],
        [items as u32, 1, 1],
    )
    .input("in", &numbers)
    .output("out", &vec![0; end.len()], &end)
    .value("rounds", rounds)
    .finish()
}
