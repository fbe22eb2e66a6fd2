//! Reference of cosines and sines of doubles of any magnitude.

use fastrand::Rng;
use warpbound_launch::LaunchFile;

use super::{Row, TestLaunch};

pub(super) const KERNELS: &[Row] = &[("f64_trigonometry", "f64_trigonometry", launch)];

/// Relative tolerance: twice the error that the CUDA C++ Programming Guide states for both functions (2 units in the
/// last place of FP64) and the half unit of the reference.
const RELATIVE: f64 = 5.0 * f64::EPSILON;

/// Quadrants and their borders, arguments on both sides of the one from which the slow range reduction is used, and the
/// largest and smallest numbers. Cosine and sine of infinities are NaN.
const CHOSEN: [f64; 16] = [
    0.0,
    -0.0,
    std::f64::consts::FRAC_PI_2,
    -std::f64::consts::PI,
    3.0,
    1e-5,
    105_414.0,
    -105_616.0,
    2_147_483_647.5,
    -2_147_483_648.5,
    1e22,
    f64::MAX,
    f64::MIN_POSITIVE,
    f64::from_bits(1),
    f64::INFINITY,
    f64::NAN,
];

/// Draws an angle of any magnitude; half of them are a few turns.
fn angle(rng: &mut Rng) -> f64 {
    match rng.u32(0..4) {
        0 => f64::from_bits(rng.u64(..)),
        1 => (rng.f64() - 0.5) * 1e12,
        _ => (rng.f64() - 0.5) * 40.0,
    }
}

fn launch(launch: u64) -> LaunchFile {
    let mut rng = Rng::with_seed(launch);
    let (blocks, threads, beyond) = match launch {
        0 => (1, CHOSEN.len(), 0),
        1 => (2, 50, 31),
        2 => (1, 32, 0),
        _ => (rng.usize(1..4), rng.usize(1..100), 0),
    };
    let count = blocks * threads - beyond;
    let angles: Vec<f64> = match launch {
        0 => CHOSEN.to_vec(),
        // All lanes use the slow range reduction.
        2 => (0..count).map(|_| rng.f64() * 1e300).collect(),
        _ => (0..count).map(|_| angle(&mut rng)).collect(),
    };
    let pairs = angles.iter().flat_map(|angle| [angle.cos(), angle.sin()]);
    let pairs: Vec<f64> = pairs.collect();
    let kernel = "f64_trigonometry";
    let launch = TestLaunch::of(kernel, [blocks as u32, 1, 1], [threads as u32, 1, 1]);
    launch
        .input("in", &angles)
        .output_within("out", &vec![0.0; pairs.len()], &pairs, RELATIVE, 0.0)
        .value("n", count as i32)
        .finish()
}
