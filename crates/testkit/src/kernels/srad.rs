//! Gradients of an image and how strongly each pixel diffuses (Yu, Acton, "Speckle reducing anisotropic diffusion",
//! 2002).

use warpbound_launch::LaunchFile;

use super::{Row, TestLaunch};

pub(super) const KERNELS: &[Row] = &[("srad", "srad_coefficient", coefficient)];

fn coefficient(number: u64) -> LaunchFile {
    let mut rng = fastrand::Rng::with_seed(number);
    let (rows, columns) = match number {
        0 => (16, 16),
        1 => (21, 37),
        2 => (1, 50),
        _ => (rng.usize(1..40), rng.usize(1..40)),
    };
    let noise = 0.25f32;
    let image: Vec<f32> = (0..rows * columns).map(|_| 1.0 + rng.f32()).collect();
    let at = |row: usize, column: usize| image[column.min(columns - 1) * rows + row.min(rows - 1)];
    let mut gradients: [Vec<f32>; 4] = Default::default();
    let mut coefficient = Vec::with_capacity(rows * columns);
    for (pixel, &here) in image.iter().enumerate() {
        let (row, column) = (pixel % rows, pixel / rows);
        let around = [
            at(row.saturating_sub(1), column),
            at(row + 1, column),
            at(row, column.saturating_sub(1)),
            at(row, column + 1),
        ];
        for (gradient, there) in gradients.iter_mut().zip(around) {
            // A difference is correctly rounded, so it is exact to the bit.
            gradient.push(there - here);
        }
        let here = f64::from(here);
        let steps = around.map(|there| (f64::from(there) - here) / here);
        let square: f64 = steps.iter().map(|step| step * step).sum();
        let laplacian: f64 = steps.iter().sum();
        let variation =
            (square / 2.0 - laplacian * laplacian / 16.0) / (1.0 + laplacian / 4.0).powi(2);
        let noise = f64::from(noise);
        let c = 1.0 / (1.0 + (variation - noise) / (noise * (1.0 + noise)));
        coefficient.push(c.clamp(0.0, 1.0) as f32);
    }
    // Pixels are between 1 and 2, so a step is below 1, 1 + laplacian / 4 above 1/2, and the variation below 8 with an
    // error below 8 x 40 roundings; c multiplies this error by c² / (noise (1 + noise)), at most 3.2 since c is at most
    // 1.
    let error = 3.2 * 8.0 * 40.0 * f64::from(f32::EPSILON) / 2.0;
    let zeros = vec![0.0; image.len()];
    let [north, south, west, east] = &gradients;
    TestLaunch::of(
        "srad_coefficient",
        [image.len().div_ceil(64) as u32, 1, 1],
        [64, 1, 1],
    )
    .input("image", &image)
    .output("north", &zeros, north)
    .output("south", &zeros, south)
    .output("west", &zeros, west)
    .output("east", &zeros, east)
    .output_within("coefficient", &zeros, &coefficient, 0.0, error)
    .value("rows", rows as i32)
    .value("columns", columns as i32)
    .value("noise", noise)
    .finish()
}
