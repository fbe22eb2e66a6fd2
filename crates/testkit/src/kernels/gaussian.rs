//! Reference of one step of Gaussian elimination.

use warpbound_launch::LaunchFile;

use super::rounding::signed;
use super::{Row, TestLaunch};

pub(super) const KERNELS: &[Row] = &[
    ("gaussian", "gaussian_multipliers", multipliers),
    ("gaussian", "gaussian_update", update),
];

/// Number of equations, and index of the step.
fn size(number: u64, rng: &mut fastrand::Rng) -> (usize, usize) {
    match number {
        0 => (16, 0),
        1 => (37, 5),
        2 => (50, 48),
        _ => {
            let size = rng.usize(2..48);
            (size, rng.usize(0..size))
        }
    }
}

/// Draws a matrix whose diagonal is far from 0.
fn matrix(rng: &mut fastrand::Rng, size: usize) -> Vec<f32> {
    let mut matrix: Vec<f32> = signed(rng, size * size);
    for number in matrix.iter_mut().step_by(size + 1) {
        *number += 2.0 * number.signum();
    }
    matrix
}

fn multipliers(number: u64) -> LaunchFile {
    let mut rng = fastrand::Rng::with_seed(number);
    let (size, t) = size(number, &mut rng);
    let matrix = matrix(&mut rng, size);
    let start: Vec<f32> = signed(&mut rng, size * size);
    let mut end = start.clone();
    for row in t + 1..size {
        // Division is correctly rounded, so the quotient is exact to the bit.
        end[row * size + t] = matrix[row * size + t] / matrix[t * size + t];
    }
    TestLaunch::of(
        "gaussian_multipliers",
        [size.div_ceil(32) as u32, 1, 1],
        [32, 1, 1],
    )
    .output("multipliers", &start, &end)
    .input("matrix", &matrix)
    .value("size", size as i32)
    .value("t", t as i32)
    .finish()
}

fn update(number: u64) -> LaunchFile {
    let mut rng = fastrand::Rng::with_seed(number);
    let (size, t) = size(number, &mut rng);
    let matrix = matrix(&mut rng, size);
    let multipliers: Vec<f32> = signed(&mut rng, size * size);
    let right: Vec<f32> = signed(&mut rng, size);
    let (mut new_matrix, mut new_right) = (matrix.clone(), right.clone());
    let less = |number: f32, factor: f32, other: f32| {
        (f64::from(number) - f64::from(factor) * f64::from(other)) as f32
    };
    for row in t + 1..size {
        let factor = multipliers[row * size + t];
        for column in t..size {
            let at = row * size + column;
            new_matrix[at] = less(matrix[at], factor, matrix[t * size + column]);
        }
        new_right[row] = less(right[row], factor, right[t]);
    }
    // At most two roundings: of the product, below 3, unless fused, and of the difference, below 6.
    let error = (3.0 + 2.0 * 6.0) * f64::from(f32::EPSILON) / 2.0;
    let blocks = size.div_ceil(8) as u32;
    TestLaunch::of("gaussian_update", [blocks, blocks, 1], [8, 8, 1])
        .input("multipliers", &multipliers)
        .output_within("matrix", &matrix, &new_matrix, 0.0, error)
        .output_within("right", &right, &new_right, 0.0, error)
        .value("size", size as i32)
        .value("t", t as i32)
        .finish()
}
