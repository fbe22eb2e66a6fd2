//! Programs on points: clusters and nearest neighbours.

use warpbound_base::Diagnostic;

use super::super::TestLaunch;
use super::{HostDevice, HostProgram, check_near, groups, input};

pub(super) const KMEANS: HostProgram = HostProgram {
    name: "kmeans",
    source: "kmeans",
    inputs: [
        input("100 points", 100),
        input("1000 points", 1000),
        input("10000 points", 10_000),
    ],
    choices: "34 small integers a point, 5 clusters, centres rounded to integers, at most 20 rounds; groups of 256",
    run: cluster,
};

pub(super) const NN: HostProgram = HostProgram {
    name: "nn",
    source: "nearest_neighbour",
    inputs: [
        input("100 entries", 100),
        input("1000 entries", 1000),
        input("10000 entries", 10_000),
    ],
    choices: "the 5 nearest of the share of each of 64 work-items; groups of 256 and of 64",
    run: nearest,
};

fn cluster(points: usize, device: &mut HostDevice<'_>) -> Result<(), Diagnostic> {
    const DIMENSIONS: usize = 34;
    const CLUSTERS: usize = 5;
    let mut rng = fastrand::Rng::with_seed(12);
    // Distances between integers are exact in `f32`.
    let by_point: Vec<i32> = (0..points * DIMENSIONS).map(|_| rng.i32(-20..20)).collect();
    let floats = |numbers: &[i32]| -> Vec<f32> { numbers.iter().map(|&n| n as f32).collect() };
    let by_dimension: Vec<i32> = (0..points * DIMENSIONS)
        .map(|at| by_point[at % points * DIMENSIONS + at / points])
        .collect();
    let launch = |kernel: &str| TestLaunch::of(kernel, groups(points, 256), [256, 1, 1]);
    device.launch(
        launch("kmeans_swap")
            .input("by_point", &floats(&by_point))
            .output(
                "by_dimension",
                &vec![0f32; by_point.len()],
                &floats(&by_dimension),
            )
            .value("points", points as i32)
            .value("dimensions", DIMENSIONS as i32),
    )?;
    let mut centres = by_point[..CLUSTERS * DIMENSIONS].to_vec();
    let mut membership = vec![-1; points];
    for _ in 0..20 {
        let square = |(a, b): (&i32, &i32)| (a - b) * (a - b);
        let nearest = |point: &[i32]| {
            let distance = |centre: &[i32]| point.iter().zip(centre).map(square).sum::<i32>();
            let distances = centres.chunks(DIMENSIONS).map(distance).enumerate();
            distances
                .min_by_key(|&(_, d)| d)
                .map_or(0, |(at, _)| at as i32)
        };
        let next: Vec<i32> = by_point.chunks(DIMENSIONS).map(nearest).collect();
        device.launch(
            launch("kmeans_assign")
                .input("features", &floats(&by_dimension))
                .input("centres", &floats(&centres))
                .output("membership", &membership, &next)
                .value("points", points as i32)
                .value("clusters", CLUSTERS as i32)
                .value("dimensions", DIMENSIONS as i32),
        )?;
        if next == membership {
            break;
        }
        membership = next;
        let mut sums = vec![0; CLUSTERS * DIMENSIONS];
        let mut members = [0; CLUSTERS];
        for (point, &cluster) in by_point.chunks(DIMENSIONS).zip(&membership) {
            let cluster = cluster as usize;
            members[cluster] += 1;
            for (sum, x) in sums[cluster * DIMENSIONS..].iter_mut().zip(point) {
                *sum += x;
            }
        }
        for (at, (centre, sum)) in centres.iter_mut().zip(sums).enumerate() {
            // A cluster without points keeps its centre.
            if let Some(mean) = sum.checked_div(members[at / DIMENSIONS]) {
                *centre = mean;
            }
        }
    }
    Ok(())
}

fn nearest(entries: usize, device: &mut HostDevice<'_>) -> Result<(), Diagnostic> {
    const KEPT: usize = 5;
    let mut rng = fastrand::Rng::with_seed(13);
    let (latitude, longitude) = (30.0f32, 90.0f32);
    let records: Vec<f32> = (0..entries)
        .flat_map(|_| [rng.f32() * 180.0 - 90.0, rng.f32() * 360.0 - 180.0])
        .collect();
    let end = device.launch(
        TestLaunch::of("nearest_distances", groups(entries, 256), [256, 1, 1])
            .input("records", &records)
            .scratch("distances", &vec![-1f32; entries])
            .value("count", entries as i32)
            .value("latitude", latitude)
            .value("longitude", longitude),
    )?;
    let distances: Vec<f32> = end.read("distances")?;
    let end = device.launch(
        TestLaunch::of("nearest_few", [1; 3], [64, 1, 1])
            .input("distances", &distances)
            .scratch("best", &vec![0f32; 64 * KEPT])
            .value("count", entries as i32),
    )?;
    // The host takes the nearest of all.
    let mut best: Vec<f32> = end.read("best")?;
    best.sort_by(f32::total_cmp);
    best.truncate(KEPT);
    let far = |record: &[f32]| {
        (f64::from(record[0]) - f64::from(latitude))
            .hypot(f64::from(record[1]) - f64::from(longitude))
    };
    let mut expected: Vec<f64> = records.chunks(2).map(far).collect();
    expected.sort_by(f64::total_cmp);
    expected.truncate(KEPT);
    check_near("nearest", &best, &expected, 1e-3)
}
