//! Reference of heart muscle cells after Beeler and Reuter, "Reconstruction of the action potential of ventricular
//! myocardial fibres" (J. Physiol. 1977), with the exact solution of the gates at constant voltage in each step (Rush
//! and Larsen 1978).

use warpbound_launch::LaunchFile;

use super::rounding::Float;
use super::{Row, TestLaunch};

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

/// State of a cell.
#[derive(Clone, Copy)]
struct Cell {
    /// Membrane voltage in mV.
    voltage: f64,
    /// Intracellular calcium concentration in mol/l.
    calcium: f64,
    /// Gate variables m, h, j, d, f and x1, from closed 0 to open 1.
    gates: [f64; 6],
}

/// Constants of a gate's rate (C1 exp(C2 (V + C3)) + C4 (V + C5)) / (exp(C6 (V + C3)) + C7), Beeler and Reuter, table
/// 1.
type Rate = [f64; 7];

/// Opening and closing rate of each gate, Beeler and Reuter, table 1.
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

/// Returns a rate in 1/ms; its limit where the quotient is 0 / 0.
fn rate([c1, c2, c3, c4, c5, c6, c7]: Rate, v: f64) -> f64 {
    if c7 == -1.0 && (v + c3).abs() < 1e-3 {
        return c4 / c6;
    }
    (c1 * (c2 * (v + c3)).exp() + c4 * (v + c5)) / ((c6 * (v + c3)).exp() + c7)
}

impl Cell {
    /// Returns the state after `dt` ms, with the gates advanced by `gate_dt`.
    fn advance(self, stimulus: f64, dt: f64, gate_dt: f64) -> Cell {
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

/// Draws stimulus, temperature and initial state of a cell: numbers that singles and doubles both represent exactly.
fn draw_cell<F: Float>(number: usize, rng: &mut fastrand::Rng) -> (F, F, Cell) {
    let single = |number: f64| F::from_f64(f64::from(number as f32));
    let voltage = match number % 8 {
        // Voltages at which rates are 0 / 0.
        6 => -23.0,
        7 => -47.0,
        _ => -90.0 + 100.0 * rng.f64(),
    };
    let stimulus = single(if rng.bool() { 50.0 * rng.f64() } else { 0.0 });
    let celsius = single(35.0 + 4.0 * rng.f64());
    let cell = Cell {
        voltage: single(voltage).to_f64(),
        calcium: single(1e-7 * (1.0 + 10.0 * rng.f64())).to_f64(),
        gates: [(); 6].map(|()| single(0.01 + 0.98 * rng.f64()).to_f64()),
    };
    (stimulus, celsius, cell)
}

fn advance<F: Float>(number: u64) -> LaunchFile {
    let mut rng = fastrand::Rng::with_seed(number);
    let (cells, steps, stimulated, block) = match number {
        0 => (64, 5, 2, 32),
        1 => (77, 20, 10, 64),
        2 => (1, 1, 0, 32),
        _ => (rng.usize(1..150), rng.i32(1..12), rng.i32(0..12), 32),
    };
    let dt = F::from_f64(0.01);
    let (mut stimulus, mut celsius, mut start) = (Vec::new(), Vec::new(), Vec::new());
    for number in 0..cells {
        let (current, temperature, cell) = draw_cell::<F>(number, &mut rng);
        stimulus.push(current);
        celsius.push(temperature);
        start.push(cell);
    }
    let end: Vec<Cell> = start
        .iter()
        .zip(stimulus.iter().zip(&celsius))
        .map(|(&cell, (stimulus, celsius))| {
            let gate_dt = dt.to_f64() * 3f64.powf((celsius.to_f64() - 37.0) / 10.0);
            (0..steps).fold(cell, |cell, step| {
                let now = if step < stimulated {
                    stimulus.to_f64()
                } else {
                    0.0
                };
                cell.advance(now, dt.to_f64(), gate_dt)
            })
        })
        .collect();
    let numbers = |cells: &[Cell], of: &dyn Fn(&Cell) -> f64| -> Vec<F> {
        cells.iter().map(|cell| F::from_f64(of(cell))).collect()
    };
    let gates = |cells: &[Cell]| -> Vec<F> {
        (0..6)
            .flat_map(|gate| numbers(cells, &|cell| cell.gates[gate]))
            .collect()
    };
    let voltage = |cell: &Cell| cell.voltage;
    let calcium = |cell: &Cell| cell.calcium;
    // Error of each step: the rounding of the voltage (below 128), and 0.01 ms of a current below 500 whose factors
    // have up to 60 roundings (exponents below 30 multiply the error by 30, then the exponential adds its own). Gates
    // change with the voltage by less than their own size, calcium by less than 0.01 x 1e-7 x 0.09 of them. Both add up
    // to 60 roundings of their own. In so short a time the errors less than double.
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
    .output_within(
        "voltages",
        &numbers(&start, &voltage),
        &numbers(&end, &voltage),
        0.0,
        roundings(128.0 + 0.01 * 500.0 * 60.0),
    )
    .output_within(
        "calciums",
        &numbers(&start, &calcium),
        &numbers(&end, &calcium),
        roundings(60.0),
        0.0,
    )
    .output_within("gates", &gates(&start), &gates(&end), 0.0, roundings(60.0))
    .input("stimulus", &stimulus)
    .input("celsius", &celsius)
    .value("cells", cells as i32)
    .value("steps", steps)
    .value("stimulated", stimulated)
    .value("dt", dt)
    .finish()
}
