//! Reference of the nearest centre of each point, and of points stored by dimension.

use warpbound_launch::LaunchFile;

use super::{Row, TestLaunch};

pub(super) const KERNELS: &[Row] = &[
    ("kmeans", "kmeans_assign", assign),
    ("kmeans", "kmeans_swap", swap),
];

/// Numbers of points, dimensions and clusters.
fn size(number: u64, rng: &mut fastrand::Rng) -> (usize, usize, usize) {
    match number {
        0 => (64, 2, 3),
        1 => (100, 7, 5),
        2 => (333, 3, 1),
        _ => (rng.usize(1..1000), rng.usize(1..12), rng.usize(1..10)),
    }
}

fn launch(kernel: &str, points: usize) -> TestLaunch {
    TestLaunch::of(kernel, [points.div_ceil(64) as u32, 1, 1], [64, 1, 1])
}

/// Coordinates are small integers, so that distances are exact in `f32` and ties occur, which the first centre wins.
fn assign(number: u64) -> LaunchFile {
    let mut rng = fastrand::Rng::with_seed(number);
    let (points, dimensions, clusters) = size(number, &mut rng);
    let mut numbers = |count: usize| -> Vec<i32> { (0..count).map(|_| rng.i32(-20..20)).collect() };
    let (features, centres) = (numbers(points * dimensions), numbers(clusters * dimensions));
    let membership: Vec<i32> = (0..points)
        .map(|point| {
            let distance = |cluster: &usize| -> i32 {
                (0..dimensions)
                    .map(|d| features[d * points + point] - centres[cluster * dimensions + d])
                    .map(|delta| delta * delta)
                    .sum()
            };
            (0..clusters).min_by_key(distance).unwrap_or(0) as i32
        })
        .collect();
    let floats = |numbers: &[i32]| -> Vec<f32> { numbers.iter().map(|&n| n as f32).collect() };
    launch("kmeans_assign", points)
        .input("features", &floats(&features))
        .input("centres", &floats(&centres))
        .output("membership", &vec![-7; points], &membership)
        .value("points", points as i32)
        .value("clusters", clusters as i32)
        .value("dimensions", dimensions as i32)
        .finish()
}

fn swap(number: u64) -> LaunchFile {
    let mut rng = fastrand::Rng::with_seed(number);
    let (points, dimensions, _) = size(number, &mut rng);
    let by_point: Vec<f32> = (0..points * dimensions).map(|_| rng.f32()).collect();
    let by_dimension: Vec<f32> = (0..points * dimensions)
        .map(|at| by_point[at % points * dimensions + at / points])
        .collect();
    launch("kmeans_swap", points)
        .input("by_point", &by_point)
        .output("by_dimension", &vec![0.0; by_point.len()], &by_dimension)
        .value("points", points as i32)
        .value("dimensions", dimensions as i32)
        .finish()
}
