//! Reference of the LU decomposition of a 16 x 16 block on the diagonal of a matrix, with L of unit diagonal.

use warpbound_launch::LaunchFile;

use super::rounding::signed;
use super::{Row, TestLaunch};

pub(super) const KERNELS: &[Row] = &[("lud_diagonal", "lud_diagonal", lud)];

const SIDE: usize = 16;

fn lud(number: u64) -> LaunchFile {
    let mut rng = fastrand::Rng::with_seed(number);
    let (width, offset) = match number {
        0 => (16, 0),
        1 => (48, 16),
        2 => (37, 21),
        _ => {
            let width = rng.usize(SIDE..60);
            (width, rng.usize(0..=width - SIDE))
        }
    };
    let mut matrix: Vec<f32> = signed(&mut rng, width * width);
    for number in matrix.iter_mut().step_by(width + 1) {
        *number += 16.0 * number.signum();
    }
    let at = |row: usize, column: usize| (offset + row) * width + offset + column;
    let mut wide: Vec<f64> = matrix.iter().map(|&n| n.into()).collect();
    // Elimination by rows: each row minus multiples of the rows above it.
    for row in 1..SIDE {
        for pivot in 0..row {
            let factor = wide[at(row, pivot)] / wide[at(pivot, pivot)];
            wide[at(row, pivot)] = factor;
            for column in pivot + 1..SIDE {
                wide[at(row, column)] -= factor * wide[at(pivot, column)];
            }
        }
    }
    let factors: Vec<f32> = wide.iter().map(|&n| n as f32).collect();
    // The diagonal dominates its row, so factors are below 1/8 and the errors of one row propagate to the next by a
    // factor below 15/8 in all; an element takes at most 16 steps of two roundings of numbers below 20.
    let error = 4.0 * 16.0 * 2.0 * 20.0 * f64::from(f32::EPSILON) / 2.0;
    TestLaunch::of("lud_diagonal", [1; 3], [SIDE as u32, 1, 1])
        .output_within("matrix", &matrix, &factors, 0.0, error)
        .value("width", width as i32)
        .value("offset", offset as i32)
        .finish()
}
