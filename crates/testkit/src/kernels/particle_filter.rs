//! Reference of a particle filter that tracks a bright disc.

use warpbound_launch::LaunchFile;

use super::rounding::{ErrorSum, rounded};
use super::{Row, TestLaunch};

pub(super) const KERNELS: &[Row] = &[
    ("particle_filter", "particle_resample", resample),
    ("particle_filter", "particle_scan", scan),
    ("particle_filter", "particle_likelihood", likelihood),
];

fn likelihood(number: u64) -> LaunchFile {
    let mut rng = fastrand::Rng::with_seed(number);
    let (particles, width, height, radius) = match number {
        0 => (64, 32, 32, 3),
        1 => (77, 40, 19, 5),
        2 => (3, 1, 1, 0),
        _ => (
            rng.usize(1..200),
            rng.i32(1..60),
            rng.i32(1..60),
            rng.i32(0..6),
        ),
    };
    let (dark, bright, variance) = (60.0f32, 190.0f32, 3000.0f32);
    let image: Vec<u8> = (0..width * height).map(|_| rng.u8(..)).collect();
    // Some particles are outside the image, some exactly between pixels.
    let mut coordinates = |size: i32| -> Vec<f32> {
        (0..particles)
            .map(|_| rng.i32(-8..2 * size + 8) as f32 / 2.0)
            .collect()
    };
    let (xs, ys) = (coordinates(width), coordinates(height));
    let mut steepest = 0.0f64;
    let weights: Vec<f32> = xs
        .iter()
        .zip(&ys)
        .map(|(x, y)| {
            let (x, y) = (x.round_ties_even() as i32, y.round_ties_even() as i32);
            let near = -radius..=radius;
            let (mut sum, mut pixels) = (0.0f64, 0);
            for (dx, dy) in near
                .clone()
                .flat_map(|dy| near.clone().map(move |dx| (dx, dy)))
            {
                if dx.pow(2) + dy.pow(2) <= radius.pow(2) {
                    let (x, y) = ((x + dx).clamp(0, width - 1), (y + dy).clamp(0, height - 1));
                    let value = f64::from(image[(y * width + x) as usize]);
                    sum += (value - f64::from(dark)).powi(2) - (value - f64::from(bright)).powi(2);
                    pixels += 1;
                }
            }
            let exponent = sum / (2.0 * f64::from(variance) * f64::from(pixels));
            steepest = steepest.max(exponent.abs());
            exponent.exp() as f32
        })
        .collect();
    // Sums are exact integers. The exponent has two roundings, CUDA's expf an error of up to two units in the last
    // place (four roundings); two more are for the reference and terms of higher order.
    let relative = (2.0 * steepest + 6.0) * f64::from(f32::EPSILON) / 2.0;
    TestLaunch::of(
        "particle_likelihood",
        [particles.div_ceil(64) as u32, 1, 1],
        [64, 1, 1],
    )
    .input("image", &image)
    .input("xs", &xs)
    .input("ys", &ys)
    .output_within("weights", &vec![-1.0; particles], &weights, relative, 0.0)
    .value("particles", particles as i32)
    .value("width", width)
    .value("height", height)
    .value("radius", radius)
    .value("dark", dark)
    .value("bright", bright)
    .value("variance", variance)
    .finish()
}

fn scan(number: u64) -> LaunchFile {
    let mut rng = fastrand::Rng::with_seed(number);
    let (block, particles) = match number {
        0 => (128, 128),
        1 => (1000, 777),
        2 => (32, 1),
        _ => {
            let block = rng.usize(1..600);
            (block, rng.usize(1..=block))
        }
    };
    let weights: Vec<f32> = (0..particles).map(|_| rng.f32()).collect();
    let mut sum = ErrorSum::default();
    let sums: Vec<ErrorSum> = weights
        .iter()
        .map(|&weight| {
            sum.add(weight.into());
            sum
        })
        .collect();
    let (sums, error) = rounded::<f32>(&sums);
    TestLaunch::of("particle_scan", [1; 3], [block as u32, 1, 1])
        .input("weights", &weights)
        .output_within("sums", &vec![-1.0; particles], &sums, 0.0, error)
        .value("particles", particles as i32)
        .finish()
}

/// Weights are small integers and marks have few bits, so that no comparison depends on rounding and ties occur.
fn resample(number: u64) -> LaunchFile {
    let mut rng = fastrand::Rng::with_seed(number);
    let particles = match number {
        0 => 64,
        1 => 333,
        2 => 1,
        _ => rng.usize(1..800),
    };
    // Some particles have weight 0 and so no copy.
    let weights: Vec<u32> = (0..particles)
        .map(|_| rng.u32(0..9).saturating_sub(2))
        .collect();
    let sums: Vec<u32> = weights
        .iter()
        .scan(0, |sum, weight| {
            *sum += weight;
            Some(*sum)
        })
        .collect();
    let total = sums.last().copied().unwrap_or(0);
    // In eighths.
    let spacing = 8 * total / particles as u32;
    let first = rng.u32(0..=spacing);
    let parents: Vec<i32> = (0..particles as u32)
        .map(|particle| {
            let mark = first + particle * spacing;
            let parent = sums.iter().position(|&sum| 8 * sum > mark);
            parent.unwrap_or(particles - 1) as i32
        })
        .collect();
    let mut coordinates = || -> Vec<f32> { (0..particles).map(|_| 50.0 * rng.f32()).collect() };
    let (xs, ys) = (coordinates(), coordinates());
    let copied = |coordinates: &[f32]| -> Vec<f32> {
        parents
            .iter()
            .map(|&parent| coordinates[parent as usize])
            .collect()
    };
    let sums: Vec<f32> = sums.into_iter().map(|sum| sum as f32).collect();
    let empty = vec![-1.0; particles];
    TestLaunch::of(
        "particle_resample",
        [particles.div_ceil(128) as u32, 1, 1],
        [128, 1, 1],
    )
    .input("sums", &sums)
    .input("xs", &xs)
    .input("ys", &ys)
    .output("new_xs", &empty, &copied(&xs))
    .output("new_ys", &empty, &copied(&ys))
    .output("parents", &vec![-1; particles], &parents)
    .value("particles", particles as i32)
    .value("first", first as f32 / 8.0)
    .value("spacing", spacing as f32 / 8.0)
    .finish()
}
