//! Reference of sums over the odd rows of the upper right triangle of a matrix.

use fastrand::Rng;
use warpbound_launch::LaunchFile;

use super::{Row, TestLaunch};

pub(super) const KERNELS: &[Row] = &[("triangle_sum", "triangle_sum", launch)];

fn launch(number: u64) -> LaunchFile {
    let mut rng = Rng::with_seed(number);
    // Not all threads reach each barrier, so there is a single warp.
    let c = match number {
        0 => 32,
        1 => 13,
        2 => 1,
        _ => rng.usize(1..33),
    };
    let matrix: Vec<f32> = (0..c * c).map(|_| rng.f32() * 2.0 - 1.0).collect();
    let sums: Vec<f32> = (0..c)
        .map(|column| {
            (0..=column).fold(0.0, |sum, row| {
                let counted = if row % (column + 1) == 0 {
                    sum + 1.0
                } else {
                    sum
                };
                match row % 2 {
                    0 => counted,
                    _ => counted + matrix[row * c + column],
                }
            })
        })
        .collect();
    TestLaunch::of("triangle_sum", [1; 3], [c as u32, 1, 1])
        .input("matrix", &matrix)
        .output("sums", &vec![0.0; c], &sums)
        .value("c", c as i32)
        .finish()
}
