//! Dense layers with random weights; `crates/testkit/tests/perceptron.rs` runs trained ones one behind the other.

use warpbound_load::GridFile;

use super::rounding::{Float, Sum, rounded, signed};
use super::{Launch, Row};

pub(super) const KERNELS: &[Row] = &[
    (
        "perceptron",
        "void perceptron::layer<float, false>(float const*, float const*, float const*, float*, int, int, int)",
        |number| layer::<f32>(number, false),
    ),
    (
        "perceptron",
        "void perceptron::layer<float, true>(float const*, float const*, float const*, float*, int, int, int)",
        |number| layer::<f32>(number, true),
    ),
    (
        "perceptron",
        "void perceptron::layer<double, false>(double const*, double const*, double const*, double*, int, int, int)",
        |number| layer::<f64>(number, false),
    ),
    (
        "perceptron",
        "void perceptron::layer<double, true>(double const*, double const*, double const*, double*, int, int, int)",
        |number| layer::<f64>(number, true),
    ),
];

/// The kernel's name.
pub(crate) fn kernel<F: Float>(is_active: bool) -> String {
    let name = F::NAME;
    format!(
        "void perceptron::layer<{name}, {is_active}>({name} const*, {name} const*, {name} const*, {name}*, int, int, int)"
    )
}

fn layer<F: Float>(number: u64, is_active: bool) -> GridFile {
    let mut rng = fastrand::Rng::with_seed(number);
    let (batch, wide, narrow) = match number {
        0 => (16, 64, 32),
        1 => (3, 37, 10),
        2 => (21, 100, 17),
        _ => (rng.usize(1..40), rng.usize(1..80), rng.usize(1..40)),
    };
    let inputs: Vec<F> = signed(&mut rng, batch * wide);
    let weights: Vec<F> = signed(&mut rng, wide * narrow);
    let biases: Vec<F> = signed(&mut rng, narrow);
    let sums: Vec<Sum> = (0..batch * narrow)
        .map(|at| {
            let (image, column) = (at / narrow, at % narrow);
            let terms = (0..wide)
                .map(|k| inputs[image * wide + k].wide() * weights[k * narrow + column].wide());
            Sum::of(terms.chain([biases[column].wide()]))
        })
        .collect();
    // Cutting off below 0 brings numbers no further apart.
    let (mut outputs, error) = rounded::<F>(&sums);
    if is_active {
        for output in &mut outputs {
            *output = F::of(output.wide().max(0.0));
        }
    }
    let blocks = [narrow.div_ceil(16) as u32, batch.div_ceil(16) as u32, 1];
    Launch::of(&kernel::<F>(is_active), blocks, [16, 16, 1])
        .input("inputs", &inputs)
        .input("weights", &weights)
        .input("biases", &biases)
        .near(
            "outputs",
            &vec![F::of(-1.0); batch * narrow],
            &outputs,
            0.0,
            error,
        )
        .value("batch", batch as i32)
        .value("wide", wide as i32)
        .value("narrow", narrow as i32)
        .done()
}
