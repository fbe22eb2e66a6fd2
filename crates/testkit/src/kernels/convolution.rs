//! Reference of a row filter with its coefficients in constant memory, and of saxpy.

use warpbound_launch::LaunchFile;

use super::{Row, TestLaunch};

pub(super) const KERNELS: &[Row] = &[
    ("convolution", "convolve_rows", convolve_rows),
    ("convolution", "saxpy", saxpy),
];

/// Draws `count` floats between -1 and 1, so that products and short sums have moderate size.
fn floats(rng: &mut fastrand::Rng, count: usize) -> Vec<f32> {
    (0..count).map(|_| rng.f32() * 2.0 - 1.0).collect()
}

fn convolve_rows(number: u64) -> LaunchFile {
    let mut rng = fastrand::Rng::with_seed(number);
    let (width, height, radius) = match number {
        0 => (64, 2, 1),
        1 => (70, 3, 2),
        2 => (5, 1, 1),
        _ => (rng.usize(1..150), rng.usize(1..4), rng.usize(0..5)),
    };
    let (image, taps) = (floats(&mut rng, width * height), floats(&mut rng, 17));
    let pixel = |at: usize| {
        let (x, row) = (at % width, &image[at / width * width..][..width]);
        let terms = taps.iter().enumerate().map(|(tap, &factor)| {
            let from = x as i64 + (tap as i64 - 8) * radius as i64;
            let value = usize::try_from(from).ok().and_then(|from| row.get(from));
            f64::from(value.copied().unwrap_or(0.0)) * f64::from(factor)
        });
        terms.sum::<f64>() as f32
    };
    let result: Vec<f32> = (0..width * height).map(pixel).collect();
    // Seventeen terms of at most 1, each rounded once with its sum of at most 17: 17 * 17 * 2^-24.
    let blocks = [width.div_ceil(64) as u32, height as u32, 1];
    TestLaunch::of("convolve_rows", blocks, [64, 1, 1])
        .input("in", &image)
        .output_within("out", &vec![0.0; width * height], &result, 0.0, 2e-5)
        .value("width", width as i32)
        .value("radius", radius as i32)
        .variable("taps", &taps, None)
        .finish()
}

fn saxpy(number: u64) -> LaunchFile {
    let mut rng = fastrand::Rng::with_seed(number);
    let n = [1, 128, 333].get(number as usize).copied();
    let n = n.unwrap_or_else(|| rng.usize(1..1000));
    let factor = rng.f32() * 8.0 - 4.0;
    let (x, y) = (floats(&mut rng, n), floats(&mut rng, n));
    // One rounding: the compiler emits a fused multiply-add.
    let result: Vec<f32> = x
        .iter()
        .zip(&y)
        .map(|(x, y)| factor.mul_add(*x, *y))
        .collect();
    TestLaunch::of("saxpy", [n.div_ceil(128) as u32, 1, 1], [128, 1, 1])
        .value("a", factor)
        .input("x", &x)
        .output("y", &y, &result)
        .value("n", n as i32)
        .finish()
}
