//! Reference of dense layers with random weights; the test `perceptron` runs trained layers in sequence.

use warpbound_launch::LaunchFile;

use super::rounding::{ErrorSum, Float, rounded, signed};
use super::{Row, TestLaunch};

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

/// Dense layer with numbers of the kernel's type.
pub struct DenseLayer<F> {
    /// Number of inputs.
    pub inputs: usize,
    /// Number of outputs.
    pub outputs: usize,
    /// `wide` rows of `narrow` weights.
    pub weights: Vec<F>,
    /// `narrow` numbers.
    pub biases: Vec<F>,
    /// Whether a ReLU follows.
    pub has_relu: bool,
}

impl<F: Float> DenseLayer<F> {
    /// The launch for some inputs, rows of `wide`, with the outputs it expects.
    pub fn launch(&self, inputs: &[F]) -> LaunchFile {
        let (wide, narrow) = (self.inputs, self.outputs);
        let batch = inputs.len() / wide;
        let mut sums = Vec::with_capacity(batch * narrow);
        for input in inputs.chunks(wide) {
            let mut row: Vec<ErrorSum> = self
                .biases
                .iter()
                .map(|b| ErrorSum::of([b.to_f64()]))
                .collect();
            for (weights, input) in self.weights.chunks(narrow).zip(input) {
                for (sum, weight) in row.iter_mut().zip(weights) {
                    sum.add(weight.to_f64() * input.to_f64());
                }
            }
            sums.extend(row);
        }
        // A ReLU does not increase the distance of two numbers.
        let (mut outputs, error) = rounded::<F>(&sums);
        if self.has_relu {
            for output in &mut outputs {
                *output = F::from_f64(output.to_f64().max(0.0));
            }
        }
        let (name, is_active) = (F::NAME, self.has_relu);
        let kernel = format!(
            "void perceptron::layer<{name}, {is_active}>({name} const*, {name} const*, {name} const*, {name}*, int, int, int)"
        );
        let blocks = [narrow.div_ceil(16) as u32, batch.div_ceil(16) as u32, 1];
        TestLaunch::of(&kernel, blocks, [16, 16, 1])
            .input("inputs", inputs)
            .input("weights", &self.weights)
            .input("biases", &self.biases)
            .output_within(
                "outputs",
                &vec![F::from_f64(-1.0); batch * narrow],
                &outputs,
                0.0,
                error,
            )
            .value("batch", batch as i32)
            .value("wide", wide as i32)
            .value("narrow", narrow as i32)
            .finish()
    }
}

fn layer<F: Float>(number: u64, is_active: bool) -> LaunchFile {
    let mut rng = fastrand::Rng::with_seed(number);
    let (batch, wide, narrow) = match number {
        0 => (16, 64, 32),
        1 => (3, 37, 10),
        2 => (21, 100, 17),
        _ => (rng.usize(1..40), rng.usize(1..80), rng.usize(1..40)),
    };
    let inputs: Vec<F> = signed(&mut rng, batch * wide);
    let layer = DenseLayer {
        inputs: wide,
        outputs: narrow,
        weights: signed(&mut rng, wide * narrow),
        biases: signed(&mut rng, narrow),
        has_relu: is_active,
    };
    layer.launch(&inputs)
}
