//! Reference of distances to a point, and of the five smallest numbers of each thread's share.

use warpbound_launch::LaunchFile;

use super::{Row, TestLaunch};

pub(super) const KERNELS: &[Row] = &[
    ("nearest_neighbour", "nearest_few", few),
    ("nearest_neighbour", "nearest_distances", distances),
];

/// Number of results that a thread keeps, and the initial value of each.
const KEPT: usize = 5;
const INITIAL_DISTANCE: f32 = 3.0e38;

fn few(number: u64) -> LaunchFile {
    let mut rng = fastrand::Rng::with_seed(number);
    let (blocks, block, count) = match number {
        0 => (1, 32, 32 * 9),
        1 => (2, 48, 1000),
        2 => (1, 64, 70),
        _ => (rng.u32(1..4), rng.u32(1..100), rng.usize(1..1500)),
    };
    let threads = (blocks * block) as usize;
    // Few distinct numbers, so that ties occur.
    let distances: Vec<f32> = (0..count).map(|_| rng.u16(0..500).into()).collect();
    let best: Vec<f32> = (0..threads)
        .flat_map(|thread| {
            let mut share: Vec<f32> = distances
                .iter()
                .skip(thread)
                .step_by(threads)
                .copied()
                .collect();
            share.sort_by(f32::total_cmp);
            share.resize(share.len().max(KEPT), INITIAL_DISTANCE);
            share.truncate(KEPT);
            share
        })
        .collect();
    TestLaunch::of("nearest_few", [blocks, 1, 1], [block, 1, 1])
        .input("distances", &distances)
        .output("best", &vec![0.0; best.len()], &best)
        .value("count", count as i32)
        .finish()
}

fn distances(number: u64) -> LaunchFile {
    let mut rng = fastrand::Rng::with_seed(number);
    let (grid, count) = match number {
        0 => ([2, 1, 1], 128),
        1 => ([2, 3, 1], 333),
        2 => ([1, 1, 1], 1),
        _ => ([rng.u32(1..4), rng.u32(1..4), 1], rng.usize(1..700)),
    };
    let most = (grid[0] * grid[1] * 64) as usize;
    let mut degrees = |range: f32| rng.f32() * 2.0 * range - range;
    let (latitude, longitude) = (degrees(90.0), degrees(180.0));
    let mut records: Vec<f32> = (0..2 * count)
        .map(|at| degrees(if at % 2 == 0 { 90.0 } else { 180.0 }))
        .collect();
    // One record lies at the point itself.
    records[0] = latitude;
    records[1] = longitude;
    let mut far = vec![-1.0f32; count];
    for (distance, record) in far.iter_mut().zip(records.chunks(2)).take(most) {
        let dx = f64::from(latitude) - f64::from(record[0]);
        let dy = f64::from(longitude) - f64::from(record[1]);
        *distance = dx.hypot(dy) as f32;
    }
    // All terms are positive; the root halves the errors of the differences (twice), squares and sum, and is rounded.
    let relative = 4.0 * f64::from(f32::EPSILON) / 2.0;
    TestLaunch::of("nearest_distances", grid, [64, 1, 1])
        .input("records", &records)
        .output_within("distances", &vec![-1.0; count], &far, relative, 0.0)
        .value("count", count as i32)
        .value("latitude", latitude)
        .value("longitude", longitude)
        .finish()
}
