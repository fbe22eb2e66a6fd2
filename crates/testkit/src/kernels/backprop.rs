//! A layer of a neural network with 16 hidden units: sums of 16 products, and the weights' change.

use warpbound_load::LaunchFile;

use super::rounding::{Sum, rounded, signed};
use super::{TestLaunch, Row};

pub(super) const KERNELS: &[Row] = &[
    ("backprop", "backprop_adjust", adjust),
    ("backprop", "backprop_forward", forward),
];

/// Hidden units, and inputs of a block.
const UNITS: usize = 16;

/// Blocks of 16 inputs, and numbers in a row of weights: more than there are units in the last of the chosen.
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
    let partial: Vec<Sum> = (0..blocks * hidden)
        .map(|at| match (at / hidden, at % hidden) {
            (block, unit) if unit < UNITS => Sum::of((0..UNITS).map(|line| {
                let source = block * UNITS + line;
                f64::from(input[source]) * f64::from(weights[source * hidden + unit])
            })),
            _ => Sum::default(),
        })
        .collect();
    let (partial, error) = rounded::<f32>(&partial);
    TestLaunch::of("backprop_forward", [1, blocks as u32, 1], [16, 16, 1])
        .input("input", &input)
        .input("weights", &weights)
        .near("partial", &vec![0.0; partial.len()], &partial, 0.0, error)
        .value("hidden", hidden as i32)
        .done()
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
            // The first row is that of the bias, which changes a second time.
            let bias = match source {
                0 => step + inertia * change,
                _ => 0.0,
            };
            new_weights[at] = (f64::from(weights[at]) + change + bias) as f32;
            new_momentum[at] = change as f32;
        }
    }
    // All numbers are below 4, and at most ten roundings lead to one.
    let error = 10.0 * 4.0 * f64::from(f32::EPSILON) / 2.0;
    TestLaunch::of("backprop_adjust", [1, blocks as u32, 1], [16, 16, 1])
        .input("delta", &delta)
        .input("input", &input)
        .near("weights", &weights, &new_weights, 0.0, error)
        .near("momentum", &momentum, &new_momentum, 0.0, error)
        .value("hidden", hidden as i32)
        .done()
}
