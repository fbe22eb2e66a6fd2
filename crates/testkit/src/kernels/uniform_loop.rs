//! Reference of loops that all threads of a block run equally often.

use fastrand::Rng;
use warpbound_launch::LaunchFile;

use super::{Row, TestLaunch};

pub(super) const KERNELS: &[Row] = &[
    ("uniform_loop", "uniform_loop", by_parameter),
    ("uniform_loop", "uniform_constant_loop", by_constant),
    ("uniform_loop", "uniform_shared_loop", by_shared),
];

/// Numbers of blocks and of threads of a block.
fn sizes(number: u64, rng: &mut Rng) -> (usize, usize) {
    match number {
        0 => (1, 32),
        1 => (5, 77),
        2 => (1, 1),
        _ => (rng.usize(1..9), rng.usize(1..70)),
    }
}

fn of(kernel: &str, (blocks, threads): (usize, usize)) -> TestLaunch {
    TestLaunch::of(kernel, [blocks as u32, 1, 1], [threads as u32, 1, 1])
}

fn by_parameter(number: u64) -> LaunchFile {
    let mut rng = Rng::with_seed(number);
    let sizes @ (blocks, threads) = sizes(number, &mut rng);
    let count = blocks * threads;
    let n = [3, 10, 0].get(number as usize).copied();
    let n = n.unwrap_or_else(|| rng.usize(0..12));
    let length = (count + n.saturating_sub(1) * threads).max(blocks);
    let numbers: Vec<f32> = (0..length).map(|_| rng.f32() * 4.0 - 2.0).collect();
    let ends: Vec<f32> = (0..count)
        .map(|i| {
            let mut sum = (0..n).fold(0.0, |sum, j| sum + numbers[i + j * threads]);
            let mut j = i / threads;
            while j > 0 {
                sum *= numbers[j];
                j /= 2;
            }
            // Halving is exact, so fusing it with the addition changes nothing.
            (0..10u8).fold(sum, |sum, j| sum * 0.5 + f32::from(j))
        })
        .collect();
    of("uniform_loop", sizes)
        .input("in", &numbers)
        .output("out", &vec![0.0; count], &ends)
        .value("n", n as i32)
        .finish()
}

fn by_constant(number: u64) -> LaunchFile {
    let mut rng = Rng::with_seed(number);
    let sizes = sizes(number, &mut rng);
    let count = sizes.0 * sizes.1;
    // Number of leading positive entries, of 16.
    let rounds = match number {
        0 => 16,
        1 => 7,
        2 => 0,
        _ => rng.usize(0..17),
    };
    let steps: [i32; 16] = std::array::from_fn(|at| match at == rounds {
        true => -rng.i32(0..9),
        false => rng.i32(1..40),
    });
    let numbers: Vec<f32> = (0..count + 40).map(|_| rng.f32() * 4.0 - 2.0).collect();
    let ends: Vec<f32> = (0..count)
        .map(|i| {
            let taken = steps[..rounds].iter();
            taken.fold(0.0, |sum, &step| sum + numbers[i + step as usize])
        })
        .collect();
    of("uniform_constant_loop", sizes)
        .input("in", &numbers)
        .output("out", &vec![-1.0; count], &ends)
        .variable("steps", &steps, None)
        .finish()
}

fn by_shared(number: u64) -> LaunchFile {
    let mut rng = Rng::with_seed(number);
    let sizes @ (blocks, threads) = sizes(number, &mut rng);
    let count = blocks * threads;
    let mut numbers: Vec<i32> = (0..count + 20).map(|_| rng.i32(..)).collect();
    // The first numbers are also the limits of the blocks.
    for limit in &mut numbers[..blocks] {
        *limit = rng.i32(-3..20);
    }
    let ends: Vec<i32> = (0..count)
        .map(|i| {
            let limit = numbers[i / threads].max(0) as usize;
            numbers[i..i + limit].iter().fold(0, |all, one| all ^ one)
        })
        .collect();
    of("uniform_shared_loop", sizes)
        .input("in", &numbers)
        .output("out", &vec![-1; count], &ends)
        .finish()
}
