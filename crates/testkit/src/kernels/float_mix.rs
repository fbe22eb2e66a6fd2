//! Reference of functions of singles within their published error bounds, and of doubles bit for bit.

use std::f64::consts::{PI, SQRT_2};

use fastrand::Rng;
use warpbound_launch::LaunchFile;

use super::{Row, TestLaunch};

pub(super) const KERNELS: &[Row] = &[
    ("float_mix", "float_mix", float_mix),
    ("float_mix", "float_sine", float_sine),
];

/// Maximum of a unit in the last place relative to its single.
const ULP: f64 = f32::EPSILON as f64;

fn sizes(number: u64, rng: &mut Rng) -> (usize, usize) {
    match number {
        0 => (1, 32),
        1 => (3, 77),
        2 => (1, 1),
        _ => (rng.usize(1..4), rng.usize(1..100)),
    }
}

fn float_mix(number: u64) -> LaunchFile {
    let mut rng = Rng::with_seed(number);
    let (blocks, threads) = sizes(number, &mut rng);
    // Small numbers, since the second branch requires y > 2 (x y + n).
    let n = rng.usize(1..4);
    let numbers: Vec<f32> = (0..blocks * threads + n)
        .map(|_| match rng.bool() {
            true => 0.01 + rng.f32(),
            false => 0.01 + rng.f32() * 6.0,
        })
        .collect();
    let pairs = || numbers.iter().zip(&numbers[n..]);
    let wide: Vec<f64> = pairs().map(|(&x, &y)| wide(x, y, n)).collect();
    let narrow: Vec<(f64, f64)> = pairs().map(|(&x, &y)| narrow(x, y, n)).collect();
    let most = narrow.iter().map(|&(_, error)| error).fold(0.0, f64::max);
    let narrow: Vec<f32> = narrow.iter().map(|&(value, _)| value as f32).collect();
    TestLaunch::of("float_mix", [blocks as u32, 1, 1], [threads as u32, 1, 1])
        .input("in", &numbers)
        .output_within("out", &vec![0.0; narrow.len()], &narrow, 0.0, most)
        .output("wide", &vec![0.0; wide.len()], &wide)
        .value("n", n as i32)
        .finish()
}

/// Returns a result in singles and its maximum error.
///
/// Source of the bounds: PTX ISA, `sin.approx` and `cos.approx` (angles up to 2 pi); CUDA C++ Programming Guide,
/// "Mathematical Functions", `__expf`, `__logf` and `rsqrtf`.
fn narrow(x: f32, y: f32, n: usize) -> (f64, f64) {
    let product = f64::from(x * y);
    let (saturated, truncated) = (f64::from(y.clamp(0.0, 1.0)), f64::from((x * y).trunc()));
    let (x, y) = (f64::from(x), f64::from(y));
    assert!(
        x < 2.0 * PI && y < 2.0 * PI,
        "the bounds are of small angles"
    );
    let (exp, log, root) = (x.exp(), y.ln(), 1.0 / x.sqrt());
    let fast = [x.sin(), y.cos(), exp * log, root];
    let angle = (-20.5f64).exp2();
    let exp_error = (2.0 + (1.173 * x).floor()) * ULP * exp;
    let log_error = match (0.5..=2.0).contains(&y) {
        true => (-21.41f64).exp2(),
        false => 3.0 * ULP * log.abs(),
    };
    let fast_error =
        2.0 * angle + exp_error * log.abs() + (exp + exp_error) * log_error + 2.0 * ULP * root;
    let exact = [
        x.min(y),
        -x.max(y),
        x.round_ties_even(),
        y.floor(),
        truncated,
        x * y,
        n as f64,
        x.floor(),
        saturated,
    ];
    // The fast part is added twice: at the end, and in the multiplication that rounds towards zero.
    let terms = || fast.iter().chain(&fast).chain(&exact);
    let magnitude = terms().map(|term| term.abs()).sum::<f64>() + product.abs();
    // A term is rounded at most once per operation, and one operation has an error of a whole unit.
    let rounding = (terms().count() as f64 + 1.0) / 2.0 * ULP * magnitude;
    (terms().sum(), 2.0 * fast_error + rounding)
}

/// Returns a result in doubles.
fn wide(x: f32, y: f32, n: usize) -> f64 {
    let (x, y) = (f64::from(x), f64::from(y));
    // The product of two singles is exact in a double.
    let d = x * y + n as f64;
    let e = d.max(y) - d.min(3.0);
    match d < e {
        true => product_plus_one_down(d, e),
        false => e + d.trunc(),
    }
}

/// Returns `a b + 1`, rounded down once, for numbers from 1 to 256.
fn product_plus_one_down(a: f64, b: f64) -> f64 {
    /// Maximum number of fraction bits of a double that is at least 1.
    const FRACTION: u32 = f64::MANTISSA_DIGITS - 1;
    let integer = |number: f64| {
        assert!((1.0..256.0).contains(&number), "{number}");
        (number * (1u64 << FRACTION) as f64) as i128
    };
    let sum = integer(a) * integer(b) + (1 << (2 * FRACTION));
    let surplus = i128::BITS - sum.leading_zeros() - f64::MANTISSA_DIGITS;
    (sum >> surplus) as f64 * f64::from(surplus as i32 - 2 * FRACTION as i32).exp2()
}

fn float_sine(number: u64) -> LaunchFile {
    let mut rng = Rng::with_seed(number);
    let (blocks, threads) = sizes(number, &mut rng);
    let numbers: Vec<f32> = (0..blocks * threads)
        .map(|at| match (number, at) {
            (0, 0) => 0.0,
            (0, 1) => 1.0,
            (0, 2) => f32::INFINITY,
            // This power of a negative number is NaN.
            (0, 3) => -2.0,
            (2, _) => SQRT_2 as f32,
            // The range reduction of angles above about 100000 is a loop.
            _ => rng.f32() * 10f32.powi(rng.i32(-3..9)),
        })
        .collect();
    let ends: Vec<f32> = numbers
        .iter()
        .map(|&x| f64::from(x))
        .map(|x| (x.sin() + x.powf(1.5)) as f32)
        .collect();
    // Source: CUDA C++ Programming Guide, "Mathematical Functions": sinf 2 units in the last place, powf 4. The power
    // is at most the magnitude of the sum plus 1; the sum and the reference are each rounded.
    let part = (2.0 + 4.0 + 1.0) * ULP;
    TestLaunch::of("float_sine", [blocks as u32, 1, 1], [threads as u32, 1, 1])
        .input("in", &numbers)
        .output_within("out", &vec![0.0; ends.len()], &ends, part, part)
        .finish()
}
