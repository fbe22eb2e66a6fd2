//! Programs on tables of numbers: a network's training step, Gaussian elimination, sequence alignment.

use warpbound_base::Diagnostic;

use super::super::TestLaunch;
use super::super::rounding::signed;
use super::{HostDevice, HostProgram, check_equal, check_near, input, too_large};

pub(super) const BACKPROP: HostProgram = HostProgram {
    name: "backprop",
    source: "backprop",
    inputs: [
        input("16x16 input layer", 16 * 16),
        input("512x512 input layer", 512 * 512),
        too_large("4096x4096 input layer"),
    ],
    choices: "16 hidden units; the large input has 2 GiB of weights",
    run: backprop,
};

pub(super) const GAUSSIAN: HostProgram = HostProgram {
    name: "gaussian",
    source: "gaussian",
    inputs: [
        input("16 unknowns", 16),
        input("64 unknowns", 64),
        input("256 unknowns", 256),
    ],
    choices: "groups of 64 and of 8x8",
    run: gaussian,
};

pub(super) const NW: HostProgram = HostProgram {
    name: "nw",
    source: "needleman_wunsch",
    inputs: [
        input("16x16 matrix", 16),
        input("64x64 matrix", 64),
        input("256x256 matrix", 256),
    ],
    choices: "a launch for each anti-diagonal of 16x16 tiles, 16 work-items a tile",
    run: alignment,
};

/// Hidden units of the network, and inputs of a group.
const UNITS: usize = 16;

fn backprop(inputs: usize, device: &mut HostDevice<'_>) -> Result<(), Diagnostic> {
    let mut rng = fastrand::Rng::with_seed(1);
    let grid = [1, (inputs / UNITS) as u32, 1];
    let layer: Vec<f32> = signed(&mut rng, inputs);
    let weights: Vec<f32> = signed(&mut rng, inputs * UNITS);
    let momentum: Vec<f32> = signed(&mut rng, inputs * UNITS);
    let end = device.launch(
        TestLaunch::of("backprop_forward", grid, [16, 16, 1])
            .input("input", &layer)
            .input("weights", &weights)
            .scratch("partial", &vec![0f32; inputs])
            .value("hidden", UNITS as i32),
    )?;
    let partial: Vec<f32> = end.read("partial")?;
    let product = |source: usize, unit: usize| {
        f64::from(layer[source]) * f64::from(weights[source * UNITS + unit])
    };
    let sums: Vec<f64> = (0..inputs)
        .map(|at| {
            let (group, unit) = (at / UNITS, at % UNITS);
            let sources = group * UNITS..(group + 1) * UNITS;
            sources.map(|source| product(source, unit)).sum()
        })
        .collect();
    // Sixteen products below 1, each sum below 16.
    check_near(
        "partial",
        &partial,
        &sums,
        16.0 * 16.0 * f64::from(f32::EPSILON),
    )?;
    // The host finishes the sums; the error of a unit is that against a target of 1/2.
    let delta: Vec<f32> = (0..UNITS)
        .map(|unit| {
            let sum: f64 = sums.iter().skip(unit).step_by(UNITS).sum();
            let output = 1.0 / (1.0 + (-sum).exp());
            (output * (1.0 - output) * (0.5 - output)) as f32
        })
        .collect();
    let end = device.launch(
        TestLaunch::of("backprop_adjust", grid, [16, 16, 1])
            .input("delta", &delta)
            .input("input", &layer)
            .scratch("weights", &weights)
            .scratch("momentum", &momentum)
            .value("hidden", UNITS as i32),
    )?;
    let (rate, inertia) = (f64::from(0.3f32), f64::from(0.3f32));
    let change = |at: usize| {
        rate * f64::from(delta[at % UNITS]) * f64::from(layer[at / UNITS])
            + inertia * f64::from(momentum[at])
    };
    let changes: Vec<f64> = (0..momentum.len()).map(change).collect();
    let new_weights: Vec<f64> = (0..weights.len())
        .map(|at| {
            // The first row has the bias as well.
            let bias = match at / UNITS {
                0 => rate * f64::from(delta[at]) + inertia * changes[at],
                _ => 0.0,
            };
            f64::from(weights[at]) + changes[at] + bias
        })
        .collect();
    let error = 1e-5;
    check_near("momentum", &end.read::<f32>("momentum")?, &changes, error)?;
    check_near("weights", &end.read::<f32>("weights")?, &new_weights, error)
}

fn gaussian(size: usize, device: &mut HostDevice<'_>) -> Result<(), Diagnostic> {
    let mut rng = fastrand::Rng::with_seed(2);
    let mut matrix: Vec<f32> = signed(&mut rng, size * size);
    for number in matrix.iter_mut().step_by(size + 1) {
        // A dominant diagonal, so that no pivot is near 0.
        *number += size as f32 * number.signum();
    }
    let mut right: Vec<f32> = signed(&mut rng, size);
    let mut multipliers = vec![0f32; size * size];
    let (first_matrix, first_right) = (matrix.clone(), right.clone());
    for t in 0..size - 1 {
        let end = device.launch(
            TestLaunch::of(
                "gaussian_multipliers",
                [size.div_ceil(64) as u32, 1, 1],
                [64, 1, 1],
            )
            .scratch("multipliers", &multipliers)
            .input("matrix", &matrix)
            .value("size", size as i32)
            .value("t", t as i32),
        )?;
        multipliers = end.read("multipliers")?;
        let groups = size.div_ceil(8) as u32;
        let end = device.launch(
            TestLaunch::of("gaussian_update", [groups, groups, 1], [8, 8, 1])
                .input("multipliers", &multipliers)
                .scratch("matrix", &matrix)
                .scratch("right", &right)
                .value("size", size as i32)
                .value("t", t as i32),
        )?;
        matrix = end.read("matrix")?;
        right = end.read("right")?;
    }
    // Back substitution gives a solution of the equations at the start.
    let mut unknowns = vec![0f64; size];
    for row in (0..size).rev() {
        let known: f64 = (row + 1..size)
            .map(|column| f64::from(matrix[row * size + column]) * unknowns[column])
            .sum();
        unknowns[row] = (f64::from(right[row]) - known) / f64::from(matrix[row * size + row]);
    }
    let sums: Vec<f64> = (0..size)
        .map(|row| {
            let row = &first_matrix[row * size..][..size];
            let products = row.iter().zip(&unknowns).map(|(&a, x)| f64::from(a) * x);
            products.sum()
        })
        .collect();
    check_near("right", &first_right, &sums, 1e-3)
}

/// Rows and columns of a tile.
const TILE: usize = 16;
const GAP: i32 = 10;

fn alignment(length: usize, device: &mut HostDevice<'_>) -> Result<(), Diagnostic> {
    let mut rng = fastrand::Rng::with_seed(3);
    let columns = length + 1;
    let similarity: Vec<i32> = (0..columns * columns).map(|_| rng.i32(-5..15)).collect();
    let mut full = vec![0i32; columns * columns];
    let mut scores = full.clone();
    for at in 0..full.len() {
        let (x, y) = (at % columns, at / columns);
        full[at] = match (x, y) {
            (0, _) => -GAP * y as i32,
            (_, 0) => -GAP * x as i32,
            _ => (full[at - columns - 1] + similarity[at])
                .max(full[at - 1] - GAP)
                .max(full[at - columns] - GAP),
        };
        if x == 0 || y == 0 {
            scores[at] = full[at];
        }
    }
    let tiles = length / TILE;
    for diagonal in 0..2 * tiles - 1 {
        let first = (diagonal + 1).saturating_sub(tiles);
        let count = diagonal.min(tiles - 1) + 1 - first;
        let end = device.launch(
            TestLaunch::of(
                "needleman_wunsch",
                [count as u32, 1, 1],
                [TILE as u32, 1, 1],
            )
            .input("similarity", &similarity)
            .scratch("scores", &scores)
            .value("columns", columns as i32)
            .value("penalty", GAP)
            .value("diagonal", diagonal as i32)
            .value("first_tile", first as i32),
        )?;
        scores = end.read("scores")?;
    }
    check_equal("scores", &scores, &full)
}
