//! Reference of matrix transposition.

use fastrand::Rng;
use warpbound_launch::LaunchFile;

use super::{Row, TestLaunch};

pub(super) const KERNELS: &[Row] = &[
    ("transpose", "transpose", in_tiles),
    ("transpose", "transpose_naive", of_any_size),
];

/// Number of rows and columns of a block's tile.
const TILE: usize = 32;

/// Launches with whole tiles only.
fn in_tiles(number: u64) -> LaunchFile {
    let mut rng = Rng::with_seed(number);
    let (columns, rows) = match number {
        0 => (1, 1),
        1 => (3, 2),
        2 => (1, 4),
        _ => (rng.usize(1..4), rng.usize(1..4)),
    };
    launch("transpose", &mut rng, columns * TILE, rows * TILE)
}

fn of_any_size(number: u64) -> LaunchFile {
    let mut rng = Rng::with_seed(number);
    let (width, height) = match number {
        0 => (TILE, TILE),
        1 => (70, 33),
        2 => (1, 41),
        _ => (rng.usize(1..80), rng.usize(1..80)),
    };
    launch("transpose_naive", &mut rng, width, height)
}

fn launch(kernel: &str, rng: &mut Rng, width: usize, height: usize) -> LaunchFile {
    // Any bits, since they are only copied.
    let matrix: Vec<f32> = (0..width * height)
        .map(|_| f32::from_bits(rng.u32(..)))
        .collect();
    let transposed: Vec<f32> = (0..width * height)
        .map(|at| matrix[at % height * width + at / height])
        .collect();
    let blocks = [width, height].map(|size| size.div_ceil(TILE) as u32);
    TestLaunch::of(kernel, [blocks[0], blocks[1], 1], [TILE as u32, 8, 1])
        .input("in", &matrix)
        .output("out", &vec![0.0; matrix.len()], &transposed)
        .value("width", width as i32)
        .value("height", height as i32)
        .finish()
}
