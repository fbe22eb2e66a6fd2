//! Reference of barriers with a reduction, and of named barriers.

use warpbound_launch::LaunchFile;

use super::{Row, TestLaunch};

pub(super) const KERNELS: &[Row] = &[
    ("barrier_kinds", "barrier_reduce", reduce),
    ("barrier_kinds", "barrier_named", named),
];

fn reduce(number: u64) -> LaunchFile {
    let mut rng = fastrand::Rng::with_seed(number);
    let shape = [(4, 64), (3, 45), (1, 1)].get(number as usize).copied();
    let (blocks, threads) = shape.unwrap_or_else(|| (rng.usize(1..6), rng.usize(1..=64)));
    let n = rng.usize(1..200);
    let mut values = Vec::new();
    for _ in 0..blocks {
        // Blocks with and without a zero, and blocks all of whose numbers exceed their count; -1 is excluded.
        let (least, most) = [(-400, 400), (0, 3), (70, 400), (-9, 9)][rng.usize(0..4)];
        let one = || match rng.i32(least..most) {
            -1 => 1,
            value => value,
        };
        values.extend(std::iter::repeat_with(one).take(threads));
    }
    // The kernel reads a number at n, and one at the count of larger ones.
    let all = values.len();
    values.extend((all..(n + 1).max(threads + 1)).map(|_| rng.i32(-400..400)));
    // With a negative number, a thread with 0 could read before the input.
    values[n] = values[n].abs();
    let results: Vec<i32> = values[..all]
        .chunks(threads)
        .flat_map(|block| {
            let larger = block.iter().filter(|value| **value > n as i32).count() as i32;
            let mut results = vec![larger; threads];
            if block.contains(&0) {
                for (result, value) in results.iter_mut().zip(block) {
                    *result += values[n] / (value + 1);
                }
            }
            if block
                .iter()
                .zip(&results)
                .all(|(value, result)| value > result)
            {
                for result in &mut results {
                    *result *= values[*result as usize] % n as i32;
                }
            }
            results
        })
        .collect();
    TestLaunch::of(
        "barrier_reduce",
        [blocks as u32, 1, 1],
        [threads as u32, 1, 1],
    )
    .input("in", &values)
    .output("out", &vec![0; all], &results)
    .value("n", n as i32)
    .finish()
}

fn named(number: u64) -> LaunchFile {
    let mut rng = fastrand::Rng::with_seed(number);
    let rounds = [5, 1, 2].get(number as usize).copied();
    let rounds = rounds.unwrap_or_else(|| rng.usize(1..12));
    // The first warp may reach the last barrier before the second warp leaves barrier 1, so the last one must differ
    // from it.
    let which = match rng.i32(0..16) {
        1 => 15,
        which => which,
    };
    let letters: Vec<i32> = (0..32 * rounds).map(|_| rng.i32(..)).collect();
    let sum = |lane: usize| {
        let own = letters.iter().skip(lane).step_by(32);
        own.fold(0i32, |sum, letter| sum.wrapping_add(*letter))
    };
    let last = letters.len() - 32;
    let out: Vec<i32> = (0..32)
        .map(sum)
        .chain(letters[last..].iter().copied())
        .chain(letters[last..].iter().copied())
        .collect();
    TestLaunch::of("barrier_named", [1; 3], [64, 1, 1])
        .input("in", &letters)
        .output("out", &[0; 96], &out)
        .value("rounds", rounds as i32)
        .value("which", which)
        .finish()
}
