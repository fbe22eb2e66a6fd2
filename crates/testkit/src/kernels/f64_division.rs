//! Reference of correctly rounded quotients and square roots of doubles, and of 64-bit integer division.

use fastrand::Rng;
use warpbound_launch::LaunchFile;

use super::{Row, TestLaunch};

pub(super) const KERNELS: &[Row] = &[
    ("f64_division", "f64_division", division),
    ("f64_division", "f64_sqrt_reciprocal", sqrt_reciprocal),
    ("f64_division", "i64_division", integers),
];

/// Zeros, limits of the subnormal and normal numbers, infinities; no NaN.
const SPECIAL: [f64; 12] = [
    0.0,
    -0.0,
    1.0,
    -3.0,
    f64::from_bits(1),
    -f64::from_bits(0xf_ffff_ffff_ffff),
    f64::MIN_POSITIVE,
    f64::MAX,
    f64::MIN,
    f64::EPSILON,
    f64::INFINITY,
    f64::NEG_INFINITY,
];

/// Draws a number that is not a NaN; half of them have magnitudes near 1.
fn number(rng: &mut Rng) -> f64 {
    match rng.u32(0..8) {
        0 => SPECIAL[rng.usize(..SPECIAL.len())],
        1..=3 => loop {
            let any = f64::from_bits(rng.u64(..));
            if !any.is_nan() {
                return any;
            }
        },
        _ => (rng.f64() - 0.5) * 16.0,
    }
}

/// Numbers of blocks and of threads of a block.
fn sizes(launch: u64, rng: &mut Rng) -> (usize, usize) {
    match launch {
        0 => (1, 32),
        1 => (3, 77),
        2 => (1, SPECIAL.len() * SPECIAL.len()),
        _ => (rng.usize(1..4), rng.usize(1..100)),
    }
}

fn of(kernel: &str, (blocks, threads): (usize, usize)) -> TestLaunch {
    TestLaunch::of(kernel, [blocks as u32, 1, 1], [threads as u32, 1, 1])
}

fn division(launch: u64) -> LaunchFile {
    let mut rng = Rng::with_seed(launch);
    let sizes = sizes(launch, &mut rng);
    let mut pairs = Vec::new();
    while pairs.len() < sizes.0 * sizes.1 {
        let pair: (f64, f64) = match launch {
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
    let (a, b): (Vec<f64>, Vec<f64>) = pairs.into_iter().unzip();
    let quotients: Vec<f64> = a.iter().zip(&b).map(|(a, b)| a / b).collect();
    let start = vec![0.0; quotients.len()];
    let of = of("f64_division", sizes).input("a", &a).input("b", &b);
    match launch {
        // A tolerance far below half a unit in the last place: only NaNs and the signs of zeros may differ.
        2 => of
            .output_within("out", &start, &quotients, 1e-20, 0.0)
            .finish(),
        _ => of.output("out", &start, &quotients).finish(),
    }
}

fn sqrt_reciprocal(launch: u64) -> LaunchFile {
    let mut rng = Rng::with_seed(launch);
    let sizes = sizes(launch, &mut rng);
    let rounds = [1, 5, 3].get(launch as usize).copied();
    let rounds = rounds.unwrap_or_else(|| rng.usize(0..9));
    let a: Vec<f64> = (0..sizes.0 * sizes.1)
        .map(|at| match (launch, at) {
            (1, 0) => -0.5,
            (2, _) if at < SPECIAL.len() => SPECIAL[at],
            _ => number(&mut rng),
        })
        .collect();
    let step = |value: f64| match value > 2.0 {
        true => value.sqrt(),
        false => 1.0 / (value + 0.5),
    };
    let ends: Vec<f64> = a
        .iter()
        .map(|&first| (0..rounds).fold(first, |value, _| step(value)))
        .collect();
    of("f64_sqrt_reciprocal", sizes)
        .input("a", &a)
        .output("out", &vec![0.0; a.len()], &ends)
        .value("n", rounds as i32)
        .finish()
}

/// Draws a non-zero integer of random length, with small and extreme ones among them.
fn integer(rng: &mut Rng) -> i64 {
    loop {
        let any = match rng.u32(0..8) {
            0 => [i64::MAX, i64::MIN, 1, 2, i64::from(i32::MIN), 1 << 32][rng.usize(..6)],
            _ => rng.i64(..) >> rng.u32(0..63),
        };
        if any != 0 {
            return any;
        }
    }
}

fn integers(launch: u64) -> LaunchFile {
    let mut rng = Rng::with_seed(launch);
    let sizes = sizes(launch, &mut rng);
    let threads = sizes.0 * sizes.1;
    let mut a: Vec<i64> = (0..threads).map(|_| integer(&mut rng)).collect();
    let b: Vec<i64> = (0..threads).map(|_| integer(&mut rng)).collect();
    // The quotient of the least integer and -1 overflows: it is undefined.
    for (a, divisor) in a.iter_mut().zip(&b) {
        if *divisor == -1 || b[0] == -1 {
            *a = (*a).max(-i64::MAX);
        }
    }
    let ends: Vec<i64> = a
        .iter()
        .zip(&b)
        .map(|(a, divisor)| (a / divisor).wrapping_add(a % b[0]))
        .collect();
    of("i64_division", sizes)
        .input("a", &a)
        .input("b", &b)
        .output("out", &vec![0; threads], &ends)
        .finish()
}
