//! Reference of the detection of round cells in an image: scores of circles, and dilation.

use std::f64::consts::PI;

use warpbound_launch::LaunchFile;

use super::running_error::{Rounded, expected_contents};
use super::{Row, TestLaunch};

pub(super) const KERNELS: &[Row] = &[
    ("leukocyte", "leukocyte_score", score),
    ("leukocyte", "leukocyte_dilate", dilate),
];

/// Number of points on a circle.
const POINTS: usize = 16;

fn score(number: u64) -> LaunchFile {
    let mut rng = fastrand::Rng::with_seed(number);
    let (width, height, least, most) = match number {
        0 => (16, 16, 2, 3),
        1 => (1, 1, 1, 2),
        2 => (23, 19, 3, 7),
        _ => (rng.usize(1..24), rng.usize(1..20), 1, rng.i32(1..5)),
    };
    let mut gradient =
        || -> Vec<f32> { (0..width * height).map(|_| rng.f32() * 4.0 - 2.0).collect() };
    let (across, down) = (gradient(), gradient());
    // Cosine and sine in single precision; the kernel's zeros are exact.
    let direction = |point: usize| {
        let angle = 2.0 * PI * point as f64 / POINTS as f64;
        let part = |part: f64| if part.abs() < 1e-9 { 0.0 } else { part as f32 };
        (part(angle.cos()), part(angle.sin()))
    };
    let inside = |x: i64, y: i64| {
        let is_inside = (0..width as i64).contains(&x) && (0..height as i64).contains(&y);
        is_inside.then(|| y as usize * width + x as usize)
    };
    let best_at = |pixel: usize| {
        let (x, y) = ((pixel % width) as i64, (pixel / width) as i64);
        let mut best = Rounded::of(0.0f32);
        for radius in least..=most {
            let mut outward = Vec::new();
            for (cosine, sine) in (0..POINTS).map(direction) {
                // One product of singles, rounded to the nearest integer.
                let moved = |part: f32| (radius as f32 * part).round_ties_even() as i64;
                if let Some(at) = inside(x + moved(cosine), y + moved(sine)) {
                    let part = |part: f32, of: &[f32]| Rounded::of(part) * Rounded::of(of[at]);
                    outward.push(part(cosine, &across) + part(sine, &down));
                }
            }
            if outward.len() <= POINTS / 2 {
                continue;
            }
            let count = Rounded::converted(outward.len() as i64);
            let zero = Rounded::of(0.0f32);
            let sum = outward.iter().fold(zero, |sum, &x| sum + x);
            let squares = outward.iter().fold(zero, |sum, &x| sum + x * x);
            let mean = sum / count;
            let others = Rounded::converted(outward.len() as i64 - 1);
            let variance = (squares - sum * mean) / others;
            best = best.max(mean * mean / (variance + Rounded::of(0.0625f32)));
        }
        best
    };
    let scores: Vec<Rounded> = (0..width * height).map(best_at).collect();
    let (end, may) = expected_contents(&scores);
    let blocks = (width * height).div_ceil(64) as u32;
    TestLaunch::of("leukocyte_score", [blocks, 1, 1], [64, 1, 1])
        .input("gradient_x", &across)
        .input("gradient_y", &down)
        .output_within("scores", &vec![-1f32; width * height], &end, 0.0, may)
        .value("width", width as i32)
        .value("height", height as i32)
        .value("least_radius", least)
        .value("most_radius", most)
        .finish()
}

fn dilate(number: u64) -> LaunchFile {
    let mut rng = fastrand::Rng::with_seed(number);
    let (width, height, reach) = match number {
        0 => (16, 8, 1),
        1 => (1, 1, 0),
        2 => (43, 21, 3),
        _ => (rng.usize(1..40), rng.usize(1..30), rng.usize(0..4)),
    };
    let image: Vec<f32> = (0..width * height).map(|_| rng.f32() * 2.0 - 1.0).collect();
    let side = 2 * reach + 1;
    // A disc, or a random mask; an empty mask gives 0.
    let mask: Vec<u8> = (0..side * side)
        .map(|at| {
            let (dx, dy) = ((at % side).abs_diff(reach), (at / side).abs_diff(reach));
            let is_in = match number {
                0..=2 => dx * dx + dy * dy <= reach * reach,
                _ => rng.bool(),
            };
            is_in.into()
        })
        .collect();
    let mut end = vec![-3.0e38f32; width * height];
    // Scatter form of the dilation: each pixel updates the pixels whose mask contains it.
    for (at, &value) in image.iter().enumerate() {
        for (hole, _) in mask.iter().enumerate().filter(|(_, is_in)| **is_in != 0) {
            let x = (at % width + reach).checked_sub(hole % side);
            let y = (at / width + reach).checked_sub(hole / side);
            if let (Some(x), Some(y)) = (x, y)
                && x < width
                && y < height
            {
                end[y * width + x] = end[y * width + x].max(value);
            }
        }
    }
    let grid = [width.div_ceil(16) as u32, height.div_ceil(4) as u32, 1];
    TestLaunch::of("leukocyte_dilate", grid, [16, 4, 1])
        .input("in", &image)
        .input("mask", &mask)
        .output("out", &vec![0f32; width * height], &end)
        .value("width", width as i32)
        .value("height", height as i32)
        .value("reach", reach as i32)
        .finish()
}
