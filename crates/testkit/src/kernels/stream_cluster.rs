//! Reference of the savings by one more centre in a clustering (the gain of O'Callaghan, Mishra, Meyerson, Guha,
//! Motwani, "Streaming-data algorithms for high-quality clustering", 2002). All numbers are small integers, so that
//! sums of floats are exact in any order.

use warpbound_launch::LaunchFile;

use super::{Row, TestLaunch};

pub(super) const KERNELS: &[Row] = &[
    ("stream_cluster", "stream_close", close),
    ("stream_cluster", "stream_gain", gain),
];

fn floats(numbers: &[i32]) -> Vec<f32> {
    numbers.iter().map(|&n| n as f32).collect()
}

fn gain(number: u64) -> LaunchFile {
    let mut rng = fastrand::Rng::with_seed(number);
    let (points, dimensions, centres, block) = match number {
        0 => (64, 2, 3, 64),
        1 => (333, 9, 7, 96),
        2 => (5, 40, 1, 32),
        _ => (
            rng.usize(1..1000),
            rng.usize(1..12),
            rng.usize(1..20),
            32 * rng.usize(1..5),
        ),
    };
    let mut numbers =
        |count: usize, most: i32| -> Vec<i32> { (0..count).map(|_| rng.i32(0..most)).collect() };
    let coordinates = numbers(points * dimensions, 8);
    let weights: Vec<i32> = numbers(points, 4).into_iter().map(|w| w + 1).collect();
    // Centres are points. A point is assigned to a centre by the index of that centre, which is also its slot for
    // savings.
    let centre_points = numbers(centres, points as i32);
    let assigned = numbers(points, centres as i32);
    let candidate = numbers(1, points as i32)[0];
    let distance = |a: usize, b: usize| -> i32 {
        (0..dimensions)
            .map(|d| coordinates[d * points + a] - coordinates[d * points + b])
            .map(|delta| delta * delta)
            .sum()
    };
    let costs: Vec<i32> = (0..points)
        .map(|point| {
            weights[point] * distance(point, centre_points[assigned[point] as usize] as usize)
        })
        .collect();
    let mut moves = vec![0; points];
    let mut savings_of_centre = vec![0; centres];
    let mut savings = 0;
    for point in 0..points {
        let price = weights[point] * distance(point, candidate as usize) - costs[point];
        if price < 0 {
            moves[point] = 1;
            savings -= price;
        } else {
            savings_of_centre[assigned[point] as usize] -= price;
        }
    }
    TestLaunch::of(
        "stream_gain",
        [points.div_ceil(block) as u32, 1, 1],
        [block as u32, 1, 1],
    )
    .input("coordinates", &floats(&coordinates))
    .input("weights", &floats(&weights))
    .input("costs", &floats(&costs))
    .input("centres", &assigned)
    .output("moves", &vec![-1; points], &moves)
    .output(
        "savings_of_centre",
        &vec![0.0; centres],
        &floats(&savings_of_centre),
    )
    .output("savings", &[0.0f32], &[savings as f32])
    .value("points", points as i32)
    .value("dimensions", dimensions as i32)
    .value("candidate", candidate)
    .finish()
}

fn close(number: u64) -> LaunchFile {
    let mut rng = fastrand::Rng::with_seed(number);
    let centres = match number {
        0 => 32,
        1 => 77,
        2 => 1,
        _ => rng.usize(1..300),
    };
    let opening_cost = 500;
    let prices: Vec<i32> = (0..centres).map(|_| -rng.i32(0..1000)).collect();
    let gains: Vec<i32> = prices.iter().map(|price| price + opening_cost).collect();
    let closed: Vec<i32> = gains.iter().map(|&gain| i32::from(gain > 0)).collect();
    let saved: i32 = gains.iter().filter(|&&gain| gain > 0).sum();
    TestLaunch::of(
        "stream_close",
        [centres.div_ceil(32) as u32, 1, 1],
        [32, 1, 1],
    )
    .input("savings_of_centre", &floats(&prices))
    .output("closed", &vec![-1; centres], &closed)
    .output("savings", &[7.0f32], &[(7 + saved) as f32])
    .output("closed_count", &[2], &[2 + closed.iter().sum::<i32>()])
    .value("centres", centres as i32)
    .value("opening_cost", opening_cost as f32)
    .finish()
}
