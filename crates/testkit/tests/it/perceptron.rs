//! Trained three-layer perceptrons that classify digits, one launch per layer, as in "PasTiS" (ERTS 2022), section V.

use std::path::Path;

use warpbound_runs::{FunctionalRun, RunOptions, execute};

use warpbound_query::Session;
use warpbound_testkit::kernels::{DenseLayer, Float};
use warpbound_testkit::perceptron::{Digits, Network, class_of};

/// Chips for which kernels are built.
const CHIPS: [&str; 3] = ["sm_50", "sm_61", "sm_62"];

/// Maximum difference of outputs of up to 60 from those of the reference. The paper reports differences from the 14th
/// decimal digit of probabilities on.
const TOLERANCE_F64: f64 = 5e-14;
const NEAR_F32: f64 = 5e-5;

fn data() -> std::path::PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../kernels/data/perceptron")
}

fn session(chip: &str) -> Session {
    let file = format!("perceptron.{chip}.cubin");
    let path = format!("{}/../../kernels/built/{file}", env!("CARGO_MANIFEST_DIR"));
    let contents = std::fs::read(path).expect("the cubin is in the repository");
    Session::open(&file, &contents).expect("it loads")
}

/// Returns the outputs of the three launches for some images, one row each.
fn outputs<F: Float>(session: &Session, network: &Network, images: &[Vec<f32>]) -> Vec<Vec<f64>> {
    let held =
        |numbers: &[f32]| -> Vec<F> { numbers.iter().map(|&n| F::from_f64(n.into())).collect() };
    let mut numbers: Vec<F> = images.iter().flat_map(|image| held(image)).collect();
    for layer in &network.layers {
        let layer = DenseLayer {
            inputs: layer.inputs,
            outputs: layer.outputs,
            weights: held(&layer.weights),
            biases: held(&layer.biases),
            has_relu: true,
        };
        let launch = layer.launch(&numbers);
        let kernel = session
            .launched_kernel(None, launch.kernel.as_deref())
            .expect("it is there");
        let run = execute(
            session,
            kernel,
            &launch,
            &RunOptions::default(),
            &mut |_| (),
        )
        .and_then(FunctionalRun::as_expected);
        let run = run.map_err(|diagnostic| diagnostic.to_string());
        let run = run.expect("it computes the result of the layer's reference");
        let found = run.memory.buffers().last().expect("there are four");
        assert_eq!(found.name, "outputs");
        numbers = found
            .bytes
            .chunks(size_of::<F>())
            .map(F::from_bytes)
            .collect();
    }
    let rows = numbers.chunks(network.layers[2].outputs);
    rows.map(|row| row.iter().map(|n| n.to_f64()).collect())
        .collect()
}

/// Returns the maximum difference of the outputs of an image from the reference, from the rounding errors of each
/// layer.
fn error_bound(network: &Network, image: &[f32], unit: f64) -> f64 {
    let mut numbers: Vec<f64> = image.iter().map(|&n| n.into()).collect();
    let mut errors = vec![0.0; numbers.len()];
    for layer in &network.layers {
        let sums = layer.sums(&numbers);
        let roundings = 2.0 * (layer.inputs + 3) as f64 * unit;
        let mut next: Vec<f64> = sums.iter().map(|&(_, size)| roundings * size).collect();
        for (row, error) in layer.weights.chunks(layer.outputs).zip(&errors) {
            for (sum, &weight) in next.iter_mut().zip(row) {
                *sum += f64::from(weight).abs() * error;
            }
        }
        errors = next;
        numbers = sums.into_iter().map(|(sum, _)| sum.max(0.0)).collect();
    }
    errors.into_iter().fold(0.0, f64::max)
}

/// Compares the outputs of images with the reference; returns the number of correct classes.
fn compare<F: Float>(
    chip: &str,
    sizes: [usize; 4],
    is_chosen: impl Fn(usize) -> bool,
    near: f64,
) -> usize {
    let network = Network::read(&data(), sizes).expect("the network is in the repository");
    let digits = Digits::read(&data()).expect("the images are in the repository");
    let all = digits.inputs(sizes[0]).expect("images have this size");
    let chosen: Vec<usize> = (0..all.len()).filter(|&image| is_chosen(image)).collect();
    let images: Vec<Vec<f32>> = chosen.iter().map(|&image| all[image].clone()).collect();
    let found = outputs::<F>(&session(chip), &network, &images);
    assert_eq!(found.len(), images.len());
    let (mut right, mut farthest) = (0, 0.0f64);
    for ((number, image), found) in chosen.into_iter().zip(&images).zip(found) {
        let expected = network.outputs(image, true);
        let most = error_bound(&network, image, F::UNIT);
        for (found, expected) in found.iter().zip(&expected) {
            let error = (found - expected).abs();
            farthest = farthest.max(error);
            assert!(
                error <= most.min(near),
                "image {number}: {found}, not {expected}"
            );
        }
        assert_eq!(class_of(&found), class_of(&expected), "image {number}");
        right += usize::from(class_of(&found) == usize::from(digits.labels()[number]));
    }
    println!(
        "{chip} {sizes:?} {}: {right} of {}, farthest {farthest:.1e}",
        F::NAME,
        images.len()
    );
    right
}

#[test]
fn all_small_images_get_their_class_in_double_precision() {
    assert_eq!(
        compare::<f64>("sm_61", Network::SIZES[0], |_| true, TOLERANCE_F64),
        1784
    );
}

#[test]
fn all_small_images_get_their_class_in_single_precision() {
    assert_eq!(
        compare::<f32>("sm_61", Network::SIZES[0], |_| true, NEAR_F32),
        1784
    );
}

#[test]
fn some_large_images_get_their_class() {
    for chip in CHIPS {
        compare::<f64>(
            chip,
            Network::SIZES[1],
            |image| image % 45 == 4,
            TOLERANCE_F64,
        );
        compare::<f32>(chip, Network::SIZES[1], |image| image % 45 == 4, NEAR_F32);
    }
}

#[test]
fn chips_agree_on_small_images() {
    for chip in CHIPS {
        compare::<f64>(
            chip,
            Network::SIZES[0],
            |image| image % 36 == 0,
            TOLERANCE_F64,
        );
        compare::<f32>(chip, Network::SIZES[0], |image| image % 36 == 0, NEAR_F32);
    }
}

#[test]
#[ignore = "takes minutes without optimisation"]
fn all_large_images_get_their_class() {
    assert_eq!(
        compare::<f64>("sm_61", Network::SIZES[1], |_| true, TOLERANCE_F64),
        1788
    );
    assert_eq!(
        compare::<f32>("sm_61", Network::SIZES[1], |_| true, NEAR_F32),
        1788
    );
}
