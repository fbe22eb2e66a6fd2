//! Dense layers with random weights; `crates/testkit/tests/it/perceptron.rs` runs trained ones one behind the other.

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

/// A dense layer with its numbers as the kernel has them.
pub struct DenseLayer<F> {
    /// How many numbers come in.
    pub wide: usize,
    /// How many go out.
    pub narrow: usize,
    /// `wide` rows of `narrow` weights.
    pub weights: Vec<F>,
    /// `narrow` numbers.
    pub biases: Vec<F>,
    /// Whether numbers below 0 become 0.
    pub is_active: bool,
}

impl<F: Float> DenseLayer<F> {
    /// The launch for some inputs, rows of `wide`, with the outputs it expects.
    pub fn launch(&self, inputs: &[F]) -> GridFile {
        let (wide, narrow) = (self.wide, self.narrow);
        let batch = inputs.len() / wide;
        let mut sums = Vec::with_capacity(batch * narrow);
        for input in inputs.chunks(wide) {
            let mut row: Vec<Sum> = self.biases.iter().map(|b| Sum::of([b.wide()])).collect();
            for (weights, input) in self.weights.chunks(narrow).zip(input) {
                for (sum, weight) in row.iter_mut().zip(weights) {
                    sum.add(weight.wide() * input.wide());
                }
            }
            sums.extend(row);
        }
        // Cutting off below 0 brings numbers no further apart.
        let (mut outputs, error) = rounded::<F>(&sums);
        if self.is_active {
            for output in &mut outputs {
                *output = F::of(output.wide().max(0.0));
            }
        }
        let (name, is_active) = (F::NAME, self.is_active);
        let kernel = format!(
            "void perceptron::layer<{name}, {is_active}>({name} const*, {name} const*, {name} const*, {name}*, int, int, int)"
        );
        let blocks = [narrow.div_ceil(16) as u32, batch.div_ceil(16) as u32, 1];
        Launch::of(&kernel, blocks, [16, 16, 1])
            .input("inputs", inputs)
            .input("weights", &self.weights)
            .input("biases", &self.biases)
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
    let layer = DenseLayer {
        wide,
        narrow,
        weights: signed(&mut rng, wide * narrow),
        biases: signed(&mut rng, narrow),
        is_active,
    };
    layer.launch(&inputs)
}
