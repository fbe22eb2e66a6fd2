//! Reference of warp votes.

use fastrand::Rng;
use warpbound_launch::LaunchFile;

use super::{Row, TestLaunch};

pub(super) const KERNELS: &[Row] = &[("vote", "vote", vote), ("vote", "vote_loop", vote_loop)];

/// Numbers of blocks and of warps of a block.
fn sizes(number: u64, rng: &mut Rng) -> (usize, usize) {
    match number {
        0 => (1, 1),
        1 => (3, 3),
        2 => (2, 1),
        _ => (rng.usize(1..4), rng.usize(1..4)),
    }
}

fn of(kernel: &str, (blocks, warps): (usize, usize)) -> TestLaunch {
    TestLaunch::of(kernel, [blocks as u32, 1, 1], [warps as u32 * 32, 1, 1])
}

fn vote(number: u64) -> LaunchFile {
    let mut rng = Rng::with_seed(number);
    let sizes = sizes(number, &mut rng);
    let count = sizes.0 * sizes.1 * 32;
    let n = rng.i32(1..30);
    // Not -1, which would make a divisor zero.
    let spread = [rng.i32(1..5), 1000][rng.usize(..2)];
    let mut numbers: Vec<i32> = (0..count)
        .map(|_| rng.i32(-spread..spread))
        .map(|value| if value == -1 { 0 } else { value })
        .collect();
    // Only in the last warp may all numbers exceed `n`: such a warp writes the cell after it, which the next warp would
    // write too. Its numbers are indices, so some indices must exceed `n`.
    let last = count - 32;
    for warp in numbers[..last].chunks_mut(32) {
        warp[rng.usize(..32)] = rng.i32(-9..-1);
    }
    let all_above = number != 2 && rng.u32(0..4) > 0;
    if all_above {
        numbers[last..].fill_with(|| rng.i32(n + 1..count as i32));
    } else {
        numbers[last + rng.usize(..32)] = rng.i32(-9..-1);
    }
    let start: Vec<i32> = (0..=count).map(|_| rng.i32(..)).collect();
    let mut end = start.clone();
    for (number_of_warp, warp) in numbers.chunks(32).enumerate() {
        let first = number_of_warp * 32;
        let odd = warp.iter().filter(|value| *value % 2 != 0).count() as i32;
        let is_above = warp.iter().all(|&value| value > n);
        let values: Vec<i32> = warp
            .iter()
            .map(|&value| match is_above {
                true => numbers[(value / n) as usize],
                false => odd / (value + 1),
            })
            .collect();
        if is_above {
            // The next lane's result overwrites what a lane writes here, so only the result of the last lane remains.
            end[first + 32] = numbers[warp[31] as usize] % n;
        }
        let positive = values.iter().filter(|&&value| value > 0).count();
        let same = i32::from(positive == 0 || positive == 32);
        for (to, value) in end[first..].iter_mut().zip(values) {
            *to = value.wrapping_add(same);
        }
    }
    of("vote", sizes)
        .input("in", &numbers)
        .output("out", &start, &end)
        .value("n", n)
        .finish()
}

fn vote_loop(number: u64) -> LaunchFile {
    let mut rng = Rng::with_seed(number);
    let sizes = sizes(number, &mut rng);
    let count = sizes.0 * sizes.1 * 32;
    let n = rng.usize(1..20);
    let mut numbers: Vec<i32> = (0..count).map(|_| rng.i32(-100..300)).collect();
    // Positive steps, so that the loop ends.
    for step in &mut numbers[..n] {
        *step = rng.i32(1..60);
    }
    // A warp whose threads have nothing to do.
    if count > 64 {
        numbers[32..64].fill_with(|| -rng.i32(0..100));
    }
    let rounds = |first: i32| {
        let mut value = first;
        let mut rounds = 0;
        while value > 0 {
            value -= numbers[value as usize % n];
            rounds += 1;
        }
        rounds
    };
    let ends: Vec<i32> = numbers
        .chunks(32)
        .flat_map(|warp| {
            let most = warp.iter().map(|&value| rounds(value)).max().unwrap_or(0);
            [most; 32]
        })
        .collect();
    of("vote_loop", sizes)
        .input("in", &numbers)
        .output("out", &vec![-1; count], &ends)
        .value("n", n as i32)
        .finish()
}
