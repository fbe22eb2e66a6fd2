//! Handwritten digits and a three-layer perceptron that classifies them, computed in `f64`: the reference for
//! `kernels/cuda/perceptron.cu`, after Adalbert, Carle, Rochange, "PasTiS" (ERTS 2022), section V.

use std::path::Path;

use warpbound_launch::NpyArray;

use crate::kernels::LaunchNumber;

/// Width and height of an image, in pixels.
pub const SIDE: usize = 8;

/// Maximum brightness of a pixel.
pub const MAX_BRIGHTNESS: u8 = 16;

/// Width and height of an enlarged image, in pixels, as in MNIST.
pub const LARGE_SIDE: usize = 28;

/// Number of classes: digits, and outputs of the network.
pub const CLASSES: usize = 10;

/// Number of images.
pub const IMAGES: usize = 1797;

/// Images with their labels.
pub struct Digits {
    /// `IMAGES` times `SIDE` rows of `SIDE` pixels of 0 to [`MAX_BRIGHTNESS`].
    pixels: Vec<u8>,
    /// The digit of each image.
    labels: Vec<u8>,
}

impl Digits {
    /// Reads `digits.images.npy` and `digits.labels.npy` from a directory.
    ///
    /// # Errors
    ///
    /// The file and what is wrong with it.
    pub fn read(dir: &Path) -> Result<Digits, String> {
        let pixels: Vec<u8> = read(&dir.join("digits.images.npy"), &[IMAGES, SIDE, SIDE])?;
        let labels: Vec<u8> = read(&dir.join("digits.labels.npy"), &[IMAGES])?;
        Digits::from_parts(pixels, labels)
    }

    /// Images with their labels, checked.
    ///
    /// # Errors
    ///
    /// A wrong number of images or labels, a pixel brighter than [`MAX_BRIGHTNESS`], or a label that is not a class.
    pub fn from_parts(pixels: Vec<u8>, labels: Vec<u8>) -> Result<Digits, String> {
        if labels.len() != IMAGES || pixels.len() != IMAGES * SIDE * SIDE {
            return Err(format!(
                "{} pixels and {} labels are not {IMAGES} images",
                pixels.len(),
                labels.len()
            ));
        }
        if pixels.iter().any(|&pixel| pixel > MAX_BRIGHTNESS) {
            return Err(format!("a pixel is brighter than {MAX_BRIGHTNESS}"));
        }
        if labels.iter().any(|&label| usize::from(label) >= CLASSES) {
            return Err("a label is not a digit".to_owned());
        }
        Ok(Digits { pixels, labels })
    }

    /// Writes the two files to a directory.
    ///
    /// # Errors
    ///
    /// The file and what is wrong with it.
    pub fn write(&self, dir: &Path) -> Result<(), String> {
        write(
            &dir.join("digits.images.npy"),
            &[IMAGES, SIDE, SIDE],
            &self.pixels,
        )?;
        write(&dir.join("digits.labels.npy"), &[IMAGES], &self.labels)
    }

    /// The digit of each image.
    pub fn labels(&self) -> &[u8] {
        &self.labels
    }

    /// Returns the images as inputs of a network with `inputs` inputs, from dark 0 to bright 1: original size for 64,
    /// enlarged for 784, else `None`.
    pub fn inputs(&self, inputs: usize) -> Option<Vec<Vec<f32>>> {
        let scale: fn(&[u8]) -> Vec<f32> = match inputs {
            64 => |image| image.iter().map(|&p| f32::from(p) / 16.0).collect(),
            784 => enlarge,
            _ => return None,
        };
        Some(self.pixels.chunks(SIDE * SIDE).map(scale).collect())
    }
}

/// Whether an image is held out from training, as test data: every fifth.
pub fn is_held_out(image: usize) -> bool {
    image % 5 == 4
}

/// Enlarges an image by bilinear interpolation between the centres of pixels; the border is extended outwards.
fn enlarge(image: &[u8]) -> Vec<f32> {
    // The centre of pixel i lies at (2 i + 1) / 7 of a small pixel, that is (4 i - 5) / 14 after the first centre.
    let parts = |i: usize| {
        let at = (4 * i as i64 - 5).clamp(0, 14 * (SIDE as i64 - 1)) as usize;
        let low = (at / 14).min(SIDE - 2);
        [(low, 14 - (at - 14 * low)), (low + 1, at - 14 * low)]
    };
    let mut out = Vec::with_capacity(LARGE_SIDE * LARGE_SIDE);
    for y in 0..LARGE_SIDE {
        for x in 0..LARGE_SIDE {
            let mut sum = 0;
            for (row, high) in parts(y) {
                for (column, wide) in parts(x) {
                    let pixel = image.get(row * SIDE + column).copied().unwrap_or(0);
                    sum += high * wide * usize::from(pixel);
                }
            }
            out.push((sum as f64 / (14.0 * 14.0 * f64::from(MAX_BRIGHTNESS))) as f32);
        }
    }
    out
}

/// A dense layer.
#[derive(Clone, Debug)]
pub struct Dense {
    /// Number of inputs.
    pub inputs: usize,
    /// Number of outputs.
    pub outputs: usize,
    /// `wide` rows of `narrow` weights.
    pub weights: Vec<f32>,
    /// `narrow` numbers.
    pub biases: Vec<f32>,
}

impl Dense {
    /// Returns each weighted sum with its bias, before activation, and the sum of the magnitudes of its terms, which
    /// bounds the error of any other order of addition (Higham, "Accuracy and Stability of Numerical Algorithms", 4.2).
    pub fn sums(&self, inputs: &[f64]) -> Vec<(f64, f64)> {
        let mut sums: Vec<(f64, f64)> = self
            .biases
            .iter()
            .map(|&bias| (bias.into(), f64::from(bias).abs()))
            .collect();
        for (row, &input) in self.weights.chunks(self.outputs).zip(inputs) {
            for ((sum, magnitude), &weight) in sums.iter_mut().zip(row) {
                let term = f64::from(weight) * input;
                *sum += term;
                *magnitude += term.abs();
            }
        }
        sums
    }
}

/// Three-layer perceptron.
#[derive(Clone, Debug)]
pub struct Network {
    /// The layers, from input to output.
    pub layers: [Dense; 3],
}

impl Network {
    /// Layer widths, inputs first, of the networks in the repository.
    pub const SIZES: [[usize; 4]; 2] = [[64, 128, 64, CLASSES], [784, 128, 64, CLASSES]];

    /// Reads the network of these layer widths from its directory in `dir`.
    ///
    /// # Errors
    ///
    /// The file and what is wrong with it.
    pub fn read(dir: &Path, sizes: [usize; 4]) -> Result<Network, String> {
        let dir = dir.join(Network::name(sizes));
        let layer = |number: usize, wide: usize, narrow: usize| {
            Ok::<_, String>(Dense {
                inputs: wide,
                outputs: narrow,
                weights: read(&dir.join(format!("weights{number}.npy")), &[wide, narrow])?,
                biases: read(&dir.join(format!("biases{number}.npy")), &[narrow])?,
            })
        };
        let [a, b, c, d] = sizes;
        Ok(Network {
            layers: [layer(1, a, b)?, layer(2, b, c)?, layer(3, c, d)?],
        })
    }

    /// Writes the network to its directory in `dir`.
    ///
    /// # Errors
    ///
    /// The file and what is wrong with it.
    pub fn write(&self, dir: &Path) -> Result<(), String> {
        let [first, second, third] = &self.layers;
        let sizes = [first.inputs, second.inputs, third.inputs, third.outputs];
        let dir = dir.join(Network::name(sizes));
        std::fs::create_dir_all(&dir).map_err(|error| format!("{}: {error}", dir.display()))?;
        for (number, layer) in (1..).zip(&self.layers) {
            let weights = dir.join(format!("weights{number}.npy"));
            write(&weights, &[layer.inputs, layer.outputs], &layer.weights)?;
            let biases = dir.join(format!("biases{number}.npy"));
            write(&biases, &[layer.outputs], &layer.biases)?;
        }
        Ok(())
    }

    /// Returns the outputs of the last layer. The paper has a ReLU after all three layers; `is_last_active` selects it
    /// for the last one.
    pub fn outputs(&self, inputs: &[f32], is_last_active: bool) -> Vec<f64> {
        let mut numbers: Vec<f64> = inputs.iter().map(|&n| n.into()).collect();
        for (number, layer) in self.layers.iter().enumerate() {
            let is_active = number < 2 || is_last_active;
            let sums = layer.sums(&numbers);
            numbers = sums
                .into_iter()
                .map(|(sum, _)| if is_active { sum.max(0.0) } else { sum })
                .collect();
        }
        numbers
    }

    /// Name of the directory of a network.
    fn name([a, b, c, d]: [usize; 4]) -> String {
        format!("{a}-{b}-{c}-{d}")
    }
}

/// Returns the class with the highest output; of equal ones, the first.
pub fn class_of(outputs: &[f64]) -> usize {
    let mut best = 0;
    for (class, output) in outputs.iter().enumerate() {
        if outputs.get(best).is_some_and(|highest| output > highest) {
            best = class;
        }
    }
    best
}

fn read<T: LaunchNumber>(path: &Path, shape: &[usize]) -> Result<Vec<T>, String> {
    let fault = |problem: String| format!("{}: {problem}", path.display());
    let contents = std::fs::read(path).map_err(|error| fault(error.to_string()))?;
    let array = NpyArray::from_npy(&contents).map_err(|error| fault(error.to_string()))?;
    let expected: Vec<u64> = shape.iter().map(|&size| size as u64).collect();
    if array.element != T::ELEMENT || array.shape != expected {
        return Err(fault(format!(
            "{:?} of {:?}, not {expected:?} of {:?}",
            array.shape,
            array.element,
            T::ELEMENT
        )));
    }
    let numbers = array.bytes.chunks(T::ELEMENT.size());
    Ok(numbers.map(T::from_bytes).collect())
}

fn write<T: LaunchNumber>(path: &Path, shape: &[usize], numbers: &[T]) -> Result<(), String> {
    let array = NpyArray {
        element: T::ELEMENT,
        shape: shape.iter().map(|&size| size as u64).collect(),
        bytes: numbers.iter().flat_map(|number| number.bytes()).collect(),
    };
    std::fs::write(path, array.to_npy()).map_err(|error| format!("{}: {error}", path.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn enlarging_keeps_flat_images_and_straight_slopes() {
        assert!(enlarge(&[12; 64]).iter().all(|&p| p == 0.75));
        let slope: Vec<u8> = (0..64).map(|at| 2 * (at % 8)).collect();
        let large = enlarge(&slope);
        for (at, &found) in large.iter().enumerate() {
            let middle = ((at % 28) as f64 + 0.5) * 8.0 / 28.0 - 0.5;
            let expected = middle.clamp(0.0, 7.0) * 2.0 / 16.0;
            assert!((f64::from(found) - expected).abs() < 1e-7, "pixel {at}");
        }
    }
}
