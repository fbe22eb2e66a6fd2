//! Reference of array sums, one partial sum a block.

use warpbound_launch::LaunchFile;

use super::rounding::{ErrorSum, rounded, signed};
use super::{Row, TestLaunch};

const OF_FLOATS: &str = "void reduction<float, 1024>(float const*, float*, int)";
const OF_INTEGERS: &str = "void reduction<int, 256>(int const*, int*, int)";

pub(super) const KERNELS: &[Row] = &[
    ("reduction", "reduction_tree", tree),
    ("reduction", OF_FLOATS, of_floats),
    ("reduction", OF_INTEGERS, of_integers),
];

/// Numbers of blocks and of elements.
fn size(number: u64, rng: &mut fastrand::Rng) -> (usize, usize) {
    match number {
        0 => (1, 1024),
        1 => (3, 5000),
        2 => (2, 7),
        _ => (rng.usize(1..4), rng.usize(1..8000)),
    }
}

/// Elements that a block adds.
fn share<T: Copy>(numbers: &[T], block: usize, blocks: usize, threads: usize) -> Vec<T> {
    let pieces = numbers.chunks(threads).skip(block).step_by(blocks);
    pieces.flatten().copied().collect()
}

fn of_floats(number: u64) -> LaunchFile {
    let mut rng = fastrand::Rng::with_seed(number);
    let (blocks, count) = size(number, &mut rng);
    let numbers: Vec<f32> = signed(&mut rng, count);
    let sums: Vec<ErrorSum> = (0..blocks)
        .map(|block| {
            ErrorSum::of(
                share(&numbers, block, blocks, 1024)
                    .into_iter()
                    .map(f64::from),
            )
        })
        .collect();
    let (sums, error) = rounded::<f32>(&sums);
    TestLaunch::of(OF_FLOATS, [blocks as u32, 1, 1], [1024, 1, 1])
        .input("in", &numbers)
        .output_within("out", &vec![-1.0; blocks], &sums, 0.0, error)
        .value("count", count as i32)
        .finish()
}

fn of_integers(number: u64) -> LaunchFile {
    let mut rng = fastrand::Rng::with_seed(number);
    let (blocks, count) = size(number, &mut rng);
    let numbers: Vec<i32> = (0..count).map(|_| rng.i32(..)).collect();
    let sums: Vec<i32> = (0..blocks)
        .map(|block| {
            let share = share(&numbers, block, blocks, 256);
            share.into_iter().map(i64::from).sum::<i64>() as i32
        })
        .collect();
    TestLaunch::of(OF_INTEGERS, [blocks as u32, 1, 1], [256, 1, 1])
        .input("in", &numbers)
        .output("out", &vec![-1; blocks], &sums)
        .value("count", count as i32)
        .finish()
}

fn tree(number: u64) -> LaunchFile {
    let mut rng = fastrand::Rng::with_seed(number);
    let (blocks, threads) = match number {
        0 => (2, 64),
        1 => (3, 256),
        2 => (1, 1),
        _ => (rng.usize(1..5), 1 << rng.usize(0..9)),
    };
    let numbers: Vec<f32> = signed(&mut rng, blocks * threads);
    let sums: Vec<ErrorSum> = numbers
        .chunks(threads)
        .map(|chunk| ErrorSum::of(chunk.iter().map(|&n| n.into())))
        .collect();
    let (sums, error) = rounded::<f32>(&sums);
    TestLaunch::of(
        "reduction_tree",
        [blocks as u32, 1, 1],
        [threads as u32, 1, 1],
    )
    .dynamic_shared(4 * threads as u32)
    .input("in", &numbers)
    .output_within("out", &vec![-1.0; blocks], &sums, 0.0, error)
    .finish()
}
