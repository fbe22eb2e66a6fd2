//! Reference of a neural-network layer with 16 hidden units: sums of 16 products, and the update of the weights.

use warpbound_launch::LaunchFile;

use super::rounding::{ErrorSum, rounded, signed};
use super::{Row, TestLaunch};

pub(super) const KERNELS: &[Row] = &[
    ("backprop", "backprop_adjust", adjust),
    ("backprop", "backprop_forward", forward),
];

/// Number of hidden units, and of inputs of a block.
const UNITS: usize = 16;

/// Number of blocks of 16 inputs, and length of a row of weights, which exceeds the number of units in launch 2.
fn size(number: u64, rng: &mut fastrand::Rng) -> (usize, usize) {
    match number {
        0 => (1, UNITS),
        1 => (5, UNITS),
        2 => (3, 21),
        _ => (rng.usize(1..10), UNITS + rng.usize(0..8)),
    }
}

fn forward(number: u64) -> LaunchFile {
    let mut rng = fastrand::Rng::with_seed(number);
    let (blocks, hidden) = size(number, &mut rng);
    let input: Vec<f32> = signed(&mut rng, blocks * UNITS);
    let weights: Vec<f32> = signed(&mut rng, blocks * UNITS * hidden);
    let partial: Vec<ErrorSum> = (0..blocks * hidden)
        .map(|at| match (at / hidden, at % hidden) {
            (block, unit) if unit < UNITS => ErrorSum::of((0..UNITS).map(|line| {
                let source = block * UNITS + line;
                f64::from(input[source]) * f64::from(weights[source * hidden + unit])
            })),
            _ => ErrorSum::default(),
        })
        .collect();
    let (partial, error) = rounded::<f32>(&partial);
    TestLaunch::of("backprop_forward", [1, blocks as u32, 1], [16, 16, 1])
        .input("input", &input)
        .input("weights", &weights)
        .output_within("partial", &vec![0.0; partial.len()], &partial, 0.0, error)
        .value("hidden", hidden as i32)
        .finish()
}

fn adjust(number: u64) -> LaunchFile {
    let mut rng = fastrand::Rng::with_seed(number);
    let (blocks, hidden) = size(number, &mut rng);
    let delta: Vec<f32> = signed(&mut rng, UNITS);
    let input: Vec<f32> = signed(&mut rng, blocks * UNITS);
    let weights: Vec<f32> = signed(&mut rng, blocks * UNITS * hidden);
    let momentum: Vec<f32> = signed(&mut rng, blocks * UNITS * hidden);
    let (rate, inertia) = (f64::from(0.3f32), f64::from(0.3f32));
    let mut new_weights = weights.clone();
    let mut new_momentum = momentum.clone();
    for (source, &input) in input.iter().enumerate() {
        for (unit, &delta) in delta.iter().enumerate() {
            let at = source * hidden + unit;
            let step = rate * f64::from(delta);
            let change = step * f64::from(input) + inertia * f64::from(momentum[at]);
            // The first row belongs to the bias, which is updated a second time.
            let bias = match source {
                0 => step + inertia * change,
                _ => 0.0,
            };
            new_weights[at] = (f64::from(weights[at]) + change + bias) as f32;
            new_momentum[at] = change as f32;
        }
    }
    // All numbers are below 4, and each results from at most ten roundings.
    let error = 10.0 * 4.0 * f64::from(f32::EPSILON) / 2.0;
    TestLaunch::of("backprop_adjust", [1, blocks as u32, 1], [16, 16, 1])
        .input("delta", &delta)
        .input("input", &input)
        .output_within("weights", &weights, &new_weights, 0.0, error)
        .output_within("momentum", &momentum, &new_momentum, 0.0, error)
        .value("hidden", hidden as i32)
        .finish()
}
