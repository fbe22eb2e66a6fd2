//! Reference of correctly rounded quotients of singles.

use fastrand::Rng;
use warpbound_launch::LaunchFile;

use super::{Row, TestLaunch};

pub(super) const KERNELS: &[Row] = &[
    ("f32_division", "f32_division", division),
    ("f32_division", "f32_continued_fraction", continued_fraction),
];

/// Zeros, limits of the subnormal and normal numbers, infinities; no NaN.
const SPECIAL: [f32; 12] = [
    0.0,
    -0.0,
    1.0,
    -3.0,
    f32::from_bits(1),
    -f32::from_bits(0x7f_ffff),
    f32::MIN_POSITIVE,
    f32::MAX,
    f32::MIN,
    f32::EPSILON,
    f32::INFINITY,
    f32::NEG_INFINITY,
];

/// Draws a number that is not a NaN; half of them have magnitudes near 1.
fn number(rng: &mut Rng) -> f32 {
    match rng.u32(0..8) {
        0 => SPECIAL[rng.usize(..SPECIAL.len())],
        1..=3 => loop {
            let any = f32::from_bits(rng.u32(..));
            if !any.is_nan() {
                return any;
            }
        },
        _ => (rng.f32() - 0.5) * 16.0,
    }
}

fn division(launch: u64) -> LaunchFile {
    let mut rng = Rng::with_seed(launch);
    let (blocks, threads) = match launch {
        0 => (1, 32),
        1 => (3, 77),
        2 => (1, SPECIAL.len() * SPECIAL.len()),
        _ => (rng.usize(1..4), rng.usize(1..100)),
    };
    let mut pairs = Vec::new();
    while pairs.len() < blocks * threads {
        let pair: (f32, f32) = match launch {
            2 => {
                let at = pairs.len();
                (SPECIAL[at / SPECIAL.len()], SPECIAL[at % SPECIAL.len()])
            }
            _ => (number(&mut rng), number(&mut rng)),
        };
        // The bits of a NaN result are unspecified: only launch 2 has NaNs.
        if launch == 2 || !(pair.0 / pair.1).is_nan() {
            pairs.push(pair);
        }
    }
    let (a, b): (Vec<f32>, Vec<f32>) = pairs.into_iter().unzip();
    let quotients: Vec<f32> = a.iter().zip(&b).map(|(a, b)| a / b).collect();
    let start = vec![0.0; quotients.len()];
    let of = TestLaunch::of(
        "f32_division",
        [blocks as u32, 1, 1],
        [threads as u32, 1, 1],
    )
    .input("a", &a)
    .input("b", &b);
    match launch {
        // A tolerance far below half a unit in the last place: only NaNs and the signs of zeros may differ.
        2 => of
            .output_within("out", &start, &quotients, 1e-12, 0.0)
            .finish(),
        _ => of.output("out", &start, &quotients).finish(),
    }
}

fn continued_fraction(launch: u64) -> LaunchFile {
    let mut rng = Rng::with_seed(launch);
    let (blocks, threads, n) = match launch {
        0 => (1, 32, 4),
        1 => (3, 77, 9),
        2 => (1, 5, 0),
        _ => (rng.usize(1..4), rng.usize(1..70), rng.usize(0..12)),
    };
    // Neither zero nor infinite, so that no NaN occurs; quotients may be zero or infinite.
    let terms: Vec<f32> = (0..n.max(blocks * threads))
        .map(|_| number(&mut rng))
        .map(|term| if term == 0.0 { 2.5 } else { term })
        .map(|term| if term.is_infinite() { -1e30 } else { term })
        .collect();
    let ends: Vec<f32> = terms[..blocks * threads]
        .iter()
        .map(|&first| terms[..n].iter().fold(first, |value, term| term / value))
        .collect();
    TestLaunch::of(
        "f32_continued_fraction",
        [blocks as u32, 1, 1],
        [threads as u32, 1, 1],
    )
    .input("terms", &terms)
    .output("out", &vec![0.0; ends.len()], &ends)
    .value("n", n as i32)
    .finish()
}
