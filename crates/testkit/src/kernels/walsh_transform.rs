//! Reference of Walsh-Hadamard transforms, and of products in place.

use warpbound_launch::LaunchFile;

use super::rounding::signed;
use super::{Row, TestLaunch};

pub(super) const KERNELS: &[Row] = &[
    ("walsh_transform", "walsh_modulate", modulate),
    ("walsh_transform", "walsh_block", transform),
];

/// Numbers are small integers, so that all sums are exact.
fn transform(number: u64) -> LaunchFile {
    let mut rng = fastrand::Rng::with_seed(number);
    let (blocks, log) = match number {
        0 => (1, 2),
        1 => (3, 7),
        2 => (2, 10),
        _ => (rng.usize(1..4), rng.u32(2..10)),
    };
    let size = 1usize << log;
    let numbers: Vec<i32> = (0..blocks * size).map(|_| rng.i32(-99..100)).collect();
    let out: Vec<f32> =
        numbers
            .chunks(size)
            .flat_map(|chunk| {
                // Output k adds input i with the sign of the parity of i & k.
                (0..size).map(|k| {
                    let terms = chunk.iter().enumerate().map(|(i, &number)| {
                        match (i & k).count_ones() % 2 {
                            0 => number,
                            _ => -number,
                        }
                    });
                    terms.sum::<i32>() as f32
                })
            })
            .collect();
    let numbers: Vec<f32> = numbers.into_iter().map(|n| n as f32).collect();
    TestLaunch::of(
        "walsh_block",
        [blocks as u32, 1, 1],
        [size as u32 / 4, 1, 1],
    )
    .dynamic_shared(4 * size as u32)
    .input("in", &numbers)
    .output("out", &vec![0.0; out.len()], &out)
    .value("log2n", log as i32)
    .finish()
}

fn modulate(number: u64) -> LaunchFile {
    let mut rng = fastrand::Rng::with_seed(number);
    let (blocks, block, count) = match number {
        0 => (2, 32, 64),
        1 => (2, 48, 333),
        2 => (1, 64, 3),
        _ => (rng.u32(1..5), rng.u32(1..100), rng.usize(1..700)),
    };
    let a: Vec<f32> = signed(&mut rng, count);
    let b: Vec<f32> = signed(&mut rng, count);
    let pairs = a.iter().zip(&b);
    let products: Vec<f32> = pairs
        .map(|(&a, &b)| (f64::from(a) * f64::from(b) / count as f64) as f32)
        .collect();
    // Four roundings: the reciprocal, two products, and the reference.
    let relative = 4.0 * f64::from(f32::EPSILON) / 2.0;
    TestLaunch::of("walsh_modulate", [blocks, 1, 1], [block, 1, 1])
        .output_within("a", &a, &products, relative, 0.0)
        .input("b", &b)
        .value("n", count as i32)
        .finish()
}
