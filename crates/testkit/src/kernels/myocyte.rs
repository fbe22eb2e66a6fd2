//! Heart muscle cells after Beeler and Reuter, "Reconstruction of the action potential of ventricular myocardial fibres"
//! (J. Physiol. 1977), with the gates' exact solution at constant voltage in each step (Rush and Larsen 1978).

use warpbound_load::LaunchFile;

use super::rounding::Float;
use super::{TestLaunch, Row};

pub(super) const KERNELS: &[Row] = &[
    (
        "myocyte",
        "void myocyte::advance<double>(double*, double*, double*, double const*, double const*, int, int, int, double)",
        advance::<f64>,
    ),
    (
        "myocyte",
        "void myocyte::advance<float>(float*, float*, float*, float const*, float const*, int, int, int, float)",
        advance::<f32>,
    ),
];

/// A cell.
#[derive(Clone, Copy)]
struct Cell {
    /// In mV.
    voltage: f64,
    /// Concentration inside, in mol/l.
    calcium: f64,
    /// How open gates are, 0 to 1: m, h, j, d, f, x1.
    gates: [f64; 6],
}

/// The constants of a gate's rate in the paper's form (C1 exp(C2 (V + C3)) + C4 (V + C5)) / (exp(C6 (V + C3)) + C7).
type Rate = [f64; 7];

/// Opening and closing of each gate: the paper's table.
const RATES: [[Rate; 2]; 6] = [
    [
        [0.0, 0.0, 47.0, -1.0, 47.0, -0.1, -1.0],
        [40.0, -0.056, 72.0, 0.0, 0.0, 0.0, 0.0],
    ],
    [
        [0.126, -0.25, 77.0, 0.0, 0.0, 0.0, 0.0],
        [1.7, 0.0, 22.5, 0.0, 0.0, -0.082, 1.0],
    ],
    [
        [0.055, -0.25, 78.0, 0.0, 0.0, -0.2, 1.0],
        [0.3, 0.0, 32.0, 0.0, 0.0, -0.1, 1.0],
    ],
    [
        [0.095, -0.01, -5.0, 0.0, 0.0, -0.072, 1.0],
        [0.07, -0.017, 44.0, 0.0, 0.0, 0.05, 1.0],
    ],
    [
        [0.012, -0.008, 28.0, 0.0, 0.0, 0.15, 1.0],
        [0.0065, -0.02, 30.0, 0.0, 0.0, -0.2, 1.0],
    ],
    [
        [0.0005, 0.083, 50.0, 0.0, 0.0, 0.057, 1.0],
        [0.0013, -0.06, 20.0, 0.0, 0.0, -0.04, 1.0],
    ],
];

/// A rate in 1/ms; where it is 0 / 0, its limit.
fn rate([c1, c2, c3, c4, c5, c6, c7]: Rate, v: f64) -> f64 {
    if c7 == -1.0 && (v + c3).abs() < 1e-3 {
        return c4 / c6;
    }
    (c1 * (c2 * (v + c3)).exp() + c4 * (v + c5)) / ((c6 * (v + c3)).exp() + c7)
}

impl Cell {
    /// The state after `dt` ms, in which gates run as long as `gate_dt`.
    fn after(self, stimulus: f64, dt: f64, gate_dt: f64) -> Cell {
        let v = self.voltage;
        let [m, h, j, d, f, x] = self.gates;
        let exp = |factor: f64, beyond: f64| (factor * (v + beyond)).exp();
        let linear = match 0.04 * (v + 23.0) {
            early if early.abs() < 1e-4 => 5.0,
            early => 0.2 * (v + 23.0) / -(-early).exp_m1(),
        };
        let potassium =
            0.35 * (4.0 * (exp(0.04, 85.0) - 1.0) / (exp(0.08, 53.0) + exp(0.04, 53.0)) + linear);
        let delayed = x * 0.8 * (exp(0.04, 77.0) - 1.0) / exp(0.04, 35.0);
        let sodium = (4.0 * m.powi(3) * h * j + 0.003) * (v - 50.0);
        let rest = -82.3 - 13.0287 * self.calcium.ln();
        let slow = 0.09 * d * f * (v - rest);
        let mut gates = self.gates;
        for (gate, [opening, closing]) in gates.iter_mut().zip(RATES) {
            let (opening, closing) = (rate(opening, v), rate(closing, v));
            let end = opening / (opening + closing);
            *gate = end + (*gate - end) * (-gate_dt * (opening + closing)).exp();
        }
        Cell {
            voltage: v - dt * (potassium + delayed + sodium + slow - stimulus),
            calcium: self.calcium + dt * (-1e-7 * slow + 0.07 * (1e-7 - self.calcium)),
            gates,
        }
    }
}

fn advance<F: Float>(number: u64) -> LaunchFile {
    let mut rng = fastrand::Rng::with_seed(number);
    let (cells, steps, stimulated, block) = match number {
        0 => (64, 5, 2, 32),
        1 => (77, 20, 10, 64),
        2 => (1, 1, 0, 32),
        _ => (rng.usize(1..150), rng.i32(1..12), rng.i32(0..12), 32),
    };
    let dt = F::of(0.01);
    // Numbers that both kernels can hold.
    let held = |number: f64| F::of(f64::from(number as f32));
    let (mut stimulus, mut celsius, mut start) = (Vec::new(), Vec::new(), Vec::new());
    for cell in 0..cells {
        let voltage = match cell % 8 {
            // Where rates are 0 / 0.
            6 => -23.0,
            7 => -47.0,
            _ => -90.0 + 100.0 * rng.f64(),
        };
        stimulus.push(held(if rng.bool() { 50.0 * rng.f64() } else { 0.0 }));
        celsius.push(held(35.0 + 4.0 * rng.f64()));
        start.push(Cell {
            voltage: held(voltage).wide(),
            calcium: held(1e-7 * (1.0 + 10.0 * rng.f64())).wide(),
            gates: [(); 6].map(|()| held(0.01 + 0.98 * rng.f64()).wide()),
        });
    }
    let end: Vec<Cell> = start
        .iter()
        .zip(stimulus.iter().zip(&celsius))
        .map(|(&cell, (stimulus, celsius))| {
            let gate_dt = dt.wide() * 3f64.powf((celsius.wide() - 37.0) / 10.0);
            (0..steps).fold(cell, |cell, step| {
                let now = if step < stimulated {
                    stimulus.wide()
                } else {
                    0.0
                };
                cell.after(now, dt.wide(), gate_dt)
            })
        })
        .collect();
    let numbers = |cells: &[Cell], of: &dyn Fn(&Cell) -> f64| -> Vec<F> {
        cells.iter().map(|cell| F::of(of(cell))).collect()
    };
    let gates = |cells: &[Cell]| -> Vec<F> {
        (0..6)
            .flat_map(|gate| numbers(cells, &|cell| cell.gates[gate]))
            .collect()
    };
    let voltage = |cell: &Cell| cell.voltage;
    let calcium = |cell: &Cell| cell.calcium;
    // In each step: the voltage is rounded (below 128), and 0.01 ms of a current below 500 whose factors have up to 60
    // roundings: exponents below 30, with as many times the error, then the exponential's own. Gates follow voltages by
    // less than their own size; calcium by less than 0.01 x 1e-7 x 0.09 of them. Both take up to 60 roundings of their
    // own. In so short a time, errors less than double.
    let roundings = |each: f64| 2.0 * f64::from(steps) * each * F::UNIT;
    let name = F::NAME;
    let kernel = format!(
        "void myocyte::advance<{name}>({name}*, {name}*, {name}*, {name} const*, {name} const*, int, int, int, {name})"
    );
    TestLaunch::of(
        &kernel,
        [cells.div_ceil(block) as u32, 1, 1],
        [block as u32, 1, 1],
    )
    .near(
        "voltages",
        &numbers(&start, &voltage),
        &numbers(&end, &voltage),
        0.0,
        roundings(128.0 + 0.01 * 500.0 * 60.0),
    )
    .near(
        "calciums",
        &numbers(&start, &calcium),
        &numbers(&end, &calcium),
        roundings(60.0),
        0.0,
    )
    .near("gates", &gates(&start), &gates(&end), 0.0, roundings(60.0))
    .input("stimulus", &stimulus)
    .input("celsius", &celsius)
    .value("cells", cells as i32)
    .value("steps", steps)
    .value("stimulated", stimulated)
    .value("dt", dt)
    .done()
}
