//! `cargo xtask train-perceptron`: trains the digit perceptrons.

use std::fs;

use anyhow::{Context, anyhow, bail};
use warpbound_testkit::perceptron::{
    CLASSES, Dense, Digits, IMAGES, MAX_BRIGHTNESS, Network, SIDE, class_of, is_held_out,
};

use crate::repository::Repository;

pub(crate) const HELP: &str = "\
usage: cargo xtask train-perceptron [--digits FILE]

Trains the networks 64-128-64-10 and 784-128-64-10 on the digit images in kernels/data/perceptron and writes their
weights there. Every fifth image is held out; prints the number of correctly classified images of each part, and the least
margin of the highest output. Same images, same weights (on machines with the same exponential function).

  --digits FILE   first rebuild the image files from scikit-learn's digits.csv (unpacked: 64 pixels and the digit a line)";

/// Number of passes over the images.
const EPOCHS: usize = 60;

/// Number of images between two updates of the weights.
const BATCH: usize = 32;

/// Step size, decay rates and epsilon of Adam (Kingma, Ba 2014); the step size falls linearly to zero.
const STEP: f64 = 2e-3;
const FIRST_DECAY: f64 = 0.9;
const SECOND_DECAY: f64 = 0.999;
const EPSILON: f64 = 1e-8;

/// Share of a weight that is added to its gradient.
const WEIGHT_DECAY: f64 = 1e-4;

/// Minimum of the highest output of every image, so that the paper's ReLU after the last layer does not change it.
const LEAST_HIGHEST: f64 = 1.0;

pub(crate) fn run(repository: &Repository, arguments: &[String]) -> anyhow::Result<()> {
    let dir = repository.root().join("kernels/data/perceptron");
    match arguments {
        [] => {}
        [flag, file] if flag == "--digits" => {
            let text = fs::read_to_string(file).with_context(|| format!("cannot read {file}"))?;
            let digits = parse_csv(&text).with_context(|| file.clone())?;
            fs::create_dir_all(&dir)?;
            digits.write(&dir).map_err(|what| anyhow!(what))?;
        }
        _ => bail!("unknown arguments {arguments:?}"),
    }
    let digits = Digits::read(&dir).map_err(|what| anyhow!(what))?;
    for sizes in Network::SIZES {
        let inputs = digits
            .inputs(sizes[0])
            .context("no images of the network's size")?;
        let network = train(sizes, &inputs, digits.labels());
        network.write(&dir).map_err(|what| anyhow!(what))?;
        report(sizes, &network, &inputs, digits.labels());
    }
    Ok(())
}

/// Parses the images of scikit-learn's file.
fn parse_csv(text: &str) -> anyhow::Result<Digits> {
    let mut pixels = Vec::with_capacity(IMAGES * SIDE * SIDE);
    let mut labels = Vec::with_capacity(IMAGES);
    for (number, line) in text.lines().enumerate() {
        let numbers: Result<Vec<u8>, _> = line.split(',').map(|n| n.trim().parse()).collect();
        let mut numbers = numbers.with_context(|| format!("line {}", number + 1))?;
        let (Some(label), true) = (numbers.pop(), numbers.len() == SIDE * SIDE) else {
            bail!("line {} is not an image", number + 1);
        };
        pixels.extend(numbers);
        labels.push(label);
    }
    Digits::from_parts(pixels, labels)
        .map_err(|what| anyhow!("{what} (pixels are 0 to {MAX_BRIGHTNESS})"))
}

/// Layer in training: parameters in `f64`, and Adam's two moving averages of each gradient.
struct Layer {
    wide: usize,
    narrow: usize,
    /// Weights by row, then the biases as a last row.
    numbers: Vec<f64>,
    gradient: Vec<f64>,
    first: Vec<f64>,
    second: Vec<f64>,
}

impl Layer {
    /// Weights from a normal distribution of variance 2 / `wide` (He 2015), biases zero.
    fn random(rng: &mut fastrand::Rng, wide: usize, narrow: usize) -> Layer {
        let spread = (2.0 / wide as f64).sqrt();
        // The sum of twelve uniform numbers is nearly normally distributed.
        let mut normal = || (0..12).map(|_| rng.f64()).sum::<f64>() - 6.0;
        let mut numbers: Vec<f64> = (0..wide * narrow).map(|_| normal() * spread).collect();
        numbers.resize((wide + 1) * narrow, 0.0);
        let zeros = vec![0.0; numbers.len()];
        Layer {
            wide,
            narrow,
            numbers,
            gradient: zeros.clone(),
            first: zeros.clone(),
            second: zeros,
        }
    }

    fn forward(&self, inputs: &[f64]) -> Vec<f64> {
        let (weights, biases) = self.numbers.split_at(self.wide * self.narrow);
        let mut sums = biases.to_vec();
        for (row, &input) in weights.chunks(self.narrow).zip(inputs) {
            for (sum, weight) in sums.iter_mut().zip(row) {
                *sum += weight * input;
            }
        }
        sums
    }

    /// Back-propagation: adds to the gradient and returns the gradient of the inputs.
    fn backward(&mut self, inputs: &[f64], change: &[f64]) -> Vec<f64> {
        let mut back = Vec::with_capacity(self.wide);
        let rows = self.numbers.chunks(self.narrow);
        for ((row, gradient), &input) in rows
            .zip(self.gradient.chunks_mut(self.narrow))
            .zip(inputs.iter().chain(&[1.0]))
        {
            let mut sum = 0.0;
            for ((weight, slot), delta) in row.iter().zip(gradient).zip(change) {
                sum += weight * delta;
                *slot += input * delta;
            }
            back.push(sum);
        }
        back.truncate(self.wide);
        back
    }

    /// Performs the `time`th step of Adam with the mean gradient of some images.
    fn step(&mut self, images: usize, time: i32, rate: f64) {
        let slow = rate * (1.0 - SECOND_DECAY.powi(time)).sqrt() / (1.0 - FIRST_DECAY.powi(time));
        let averages = self.first.iter_mut().zip(&mut self.second);
        for ((number, slot), (first, second)) in self
            .numbers
            .iter_mut()
            .zip(&mut self.gradient)
            .zip(averages)
        {
            let gradient = *slot / images as f64 + WEIGHT_DECAY * *number;
            *first = FIRST_DECAY * *first + (1.0 - FIRST_DECAY) * gradient;
            *second = SECOND_DECAY * *second + (1.0 - SECOND_DECAY) * gradient * gradient;
            *number -= slow * *first / (second.sqrt() + EPSILON);
            *slot = 0.0;
        }
    }

    fn rounded(&self) -> Dense {
        let (weights, biases) = self.numbers.split_at(self.wide * self.narrow);
        let round = |numbers: &[f64]| numbers.iter().map(|&n| n as f32).collect();
        Dense {
            inputs: self.wide,
            outputs: self.narrow,
            weights: round(weights),
            biases: round(biases),
        }
    }
}

/// Trains a network on the images that are not held out, with the cross-entropy of the softmax of the outputs as loss.
fn train(sizes: [usize; 4], inputs: &[Vec<f32>], labels: &[u8]) -> Network {
    let mut rng = fastrand::Rng::with_seed(sizes[0] as u64);
    let [a, b, c, d] = sizes;
    let mut layers = [(a, b), (b, c), (c, d)].map(|(w, n)| Layer::random(&mut rng, w, n));
    let mut order: Vec<(Vec<f64>, usize)> = inputs
        .iter()
        .zip(labels)
        .enumerate()
        .filter(|&(image, _)| !is_held_out(image))
        .map(|(_, (input, &label))| (input.iter().map(|&n| n.into()).collect(), label.into()))
        .collect();
    let mut time = 0;
    for epoch in 0..EPOCHS {
        rng.shuffle(&mut order);
        let rate = STEP * (1.0 - epoch as f64 / EPOCHS as f64);
        for batch in order.chunks(BATCH) {
            for (input, label) in batch {
                backpropagate(&mut layers, input, *label);
            }
            time += 1;
            layers
                .iter_mut()
                .for_each(|layer| layer.step(batch.len(), time, rate));
        }
    }
    // A common shift of all outputs does not change their softmax.
    let [first, second, mut third] = layers.map(|layer| layer.rounded());
    let network = |third: &Dense| Network {
        layers: [first.clone(), second.clone(), third.clone()],
    };
    let plain = network(&third);
    let least = inputs
        .iter()
        .map(|input| {
            let outputs = plain.outputs(input, false);
            outputs.into_iter().fold(f64::NEG_INFINITY, f64::max)
        })
        .fold(f64::INFINITY, f64::min);
    let shift = (LEAST_HIGHEST - least).max(0.0).ceil() as f32;
    third.biases.iter_mut().for_each(|bias| *bias += shift);
    network(&third)
}

fn backpropagate([first, second, third]: &mut [Layer; 3], input: &[f64], label: usize) {
    let relu = |sums: Vec<f64>| -> Vec<f64> { sums.into_iter().map(|s| s.max(0.0)).collect() };
    let one = relu(first.forward(input));
    let two = relu(second.forward(&one));
    let mut change = third.forward(&two);
    let highest = change.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    change.iter_mut().for_each(|o| *o = (*o - highest).exp());
    let total: f64 = change.iter().sum();
    change.iter_mut().for_each(|o| *o /= total);
    if let Some(right) = change.get_mut(label) {
        *right -= 1.0;
    }
    let passed = |back: Vec<f64>, numbers: &[f64]| -> Vec<f64> {
        let pairs = back.into_iter().zip(numbers);
        pairs.map(|(b, &n)| if n > 0.0 { b } else { 0.0 }).collect()
    };
    let change = passed(third.backward(&two, &change), &two);
    let change = passed(second.backward(&one, &change), &one);
    first.backward(input, &change);
}

fn report(sizes: [usize; 4], network: &Network, inputs: &[Vec<f32>], labels: &[u8]) {
    let (mut right, mut all) = ([0u32; 2], [0u32; 2]);
    let mut margin = f64::INFINITY;
    for (image, (input, &label)) in inputs.iter().zip(labels).enumerate() {
        let outputs = network.outputs(input, true);
        let class = class_of(&outputs);
        let part = usize::from(is_held_out(image));
        all[part] += 1;
        right[part] += u32::from(class == usize::from(label));
        for other in (0..CLASSES).filter(|&other| other != class) {
            margin = margin.min(outputs[class] - outputs[other]);
        }
    }
    println!(
        "{sizes:?}: {} of {} trained images, {} of {} held out ({:.2} %); least margin {margin:.3e}",
        right[0],
        all[0],
        right[1],
        all[1],
        100.0 * f64::from(right[1]) / f64::from(all[1]),
    );
}
