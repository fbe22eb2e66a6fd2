//! References of kernels that compute with singles and doubles, element by element.

use fastrand::Rng;
use warpbound_launch::LaunchFile;

use super::super::{Row, TestLaunch};

pub(super) const KERNELS: &[Row] = &[
    ("division_mode", "division_mode", division_mode),
    ("f32_special", "f32_exact", f32_exact),
    ("f32_special", "f32_special", f32_special),
    ("f64_mix", "f64_mix", f64_mix),
    ("saxpy", "saxpy", saxpy),
];

/// Draws numbers of groups and of work-items of a group.
fn shape(number: u64, rng: &mut Rng) -> (usize, usize) {
    match number {
        0 => (1, 64),
        1 => (3, 70),
        2 => (1, 5),
        _ => (rng.usize(1..5), rng.usize(1..150)),
    }
}

/// Draws numbers of magnitudes from 1/1000 to 1000.
fn moderate(rng: &mut Rng, count: usize) -> Vec<f32> {
    let number = |rng: &mut Rng| {
        let magnitude = ((rng.f32() - 0.5) * 19.9).exp2();
        if rng.bool() { magnitude } else { -magnitude }
    };
    (0..count).map(|_| number(rng)).collect()
}

fn division_mode(number: u64) -> LaunchFile {
    let mut rng = Rng::with_seed(number);
    let (groups, items) = shape(number, &mut rng);
    let (a, b) = (
        moderate(&mut rng, groups * items),
        moderate(&mut rng, groups * items),
    );
    let end: Vec<f32> = a.iter().zip(&b).map(|(a, b)| a / b).collect();
    TestLaunch::of("division_mode", [groups as u32, 1, 1], [items as u32, 1, 1])
        .input("a", &a)
        .input("b", &b)
        .output("out", &vec![0.0; end.len()], &end)
        .finish()
}

fn saxpy(number: u64) -> LaunchFile {
    let mut rng = Rng::with_seed(number);
    let (groups, items) = shape(number, &mut rng);
    let count = rng.usize(1..3 * groups * items);
    let a = moderate(&mut rng, 1)[0];
    let (x, y) = (moderate(&mut rng, count), moderate(&mut rng, count));
    // The hardware rounds the product and the sum (v_mac_f32).
    let end: Vec<f32> = x.iter().zip(&y).map(|(x, y)| a * x + y).collect();
    TestLaunch::of("saxpy", [groups as u32, 1, 1], [items as u32, 1, 1])
        .input("x", &x)
        .output("y", &y, &end)
        .value("a", a)
        .value("count", count as i32)
        .finish()
}

/// Splits a number into a fraction of 1/2 to 1 and a power of two.
fn fraction_and_exponent(x: f64) -> (f64, i32) {
    let exponent = (x.to_bits() >> 52 & 0x7ff) as i32 - 1022;
    (x / f64::from(exponent).exp2(), exponent)
}

fn f64_mix(number: u64) -> LaunchFile {
    let mut rng = Rng::with_seed(number);
    let (groups, items) = shape(number, &mut rng);
    let mut numbers = || -> Vec<f64> {
        (0..groups * items)
            .map(|_| match rng.u32(0..8) {
                0 => f64::from(rng.i32(1..200)) + 0.5,
                1 => -f64::from(rng.i32(1..200)),
                _ => (rng.f64() - 0.5) * 20_000.0,
            })
            .collect()
    };
    let (a, b) = (numbers(), numbers());
    let of = |x: f64, y: f64| {
        let mut sum = x.mul_add(y, 1.5) + x.min(y) - x.max(2.0);
        sum += x.floor() - y.trunc() + x.round_ties_even() + y.ceil();
        let scaled = x * f64::from(y as i32 & 15).exp2();
        sum += scaled + fraction_and_exponent(y).0 + f64::from(fraction_and_exponent(x).1);
        if x < y {
            sum -= f64::from(x as f32) + f64::from(x as i32);
        }
        sum
    };
    let end: Vec<f64> = a.iter().zip(&b).map(|(&x, &y)| of(x, y)).collect();
    let whole: Vec<i32> = a
        .iter()
        .zip(&b)
        .map(|(x, &y)| y as i32 + x.abs() as i32)
        .collect();
    TestLaunch::of("f64_mix", [groups as u32, 1, 1], [items as u32, 1, 1])
        .input("a", &a)
        .input("b", &b)
        .output("out", &vec![0.0; end.len()], &end)
        .output("whole", &vec![0; end.len()], &whole)
        .finish()
}

fn f32_special(number: u64) -> LaunchFile {
    let mut rng = Rng::with_seed(number);
    let (groups, items) = shape(number, &mut rng);
    let count = rng.usize(1..=groups * items);
    let numbers: Vec<f32> = (0..count)
        .map(|_| ((rng.f32() - 0.5) * 13.0).exp2())
        .collect();
    let all = |functions: &[fn(f64) -> f64]| -> Vec<f32> {
        let of = |function: &fn(f64) -> f64| -> Vec<f32> {
            numbers.iter().map(|&x| function(x.into()) as f32).collect()
        };
        functions.iter().flat_map(of).collect()
    };
    let powers = all(&[|x| 1.0 / x, |x| 1.0 / x.sqrt(), f64::sqrt, f64::exp2]);
    let waves = all(&[
        f64::log2,
        |x| (x * std::f64::consts::TAU).sin(),
        |x| (x * std::f64::consts::TAU).cos(),
    ]);
    let parts: Vec<f32> = numbers
        .iter()
        .map(|&x| x - x.floor() + fraction_and_exponent(x.into()).0 as f32)
        .collect();
    // One unit in the last place of powers (GCN3 ISA manual); sine and cosine are of a turn with an absolute error.
    let unit = f64::from(f32::EPSILON) * 1.01;
    TestLaunch::of("f32_special", [groups as u32, 1, 1], [items as u32, 1, 1])
        .input("in", &numbers)
        .output_within("powers", &vec![0.0; 4 * count], &powers, unit, 0.0)
        .output_within("waves", &vec![0.0; 3 * count], &waves, unit, 2e-6)
        .output("parts", &vec![0.0; count], &parts)
        .value("count", count as i32)
        .finish()
}

fn f32_exact(number: u64) -> LaunchFile {
    let mut rng = Rng::with_seed(number);
    let (groups, items) = shape(number, &mut rng);
    let (a, b) = (
        moderate(&mut rng, groups * items),
        moderate(&mut rng, groups * items),
    );
    let of = |x: f32, y: f32| {
        let mut sum = x.floor() + y.ceil() - x.trunc() + y.round_ties_even();
        let mut three = [x, y, 1.0];
        three.sort_unstable_by(f32::total_cmp);
        sum += three[1] + (-x).max(y.abs());
        sum += (x + y).clamp(0.0, 1.0) * 4.0;
        sum + ((x as i32) as f32 + (y.abs() as u32) as f32)
    };
    let end: Vec<f32> = a.iter().zip(&b).map(|(&x, &y)| of(x, y)).collect();
    let packed: Vec<u32> = a
        .iter()
        .zip(&b)
        .map(|(x, y)| {
            let flags = u32::from(x < y) | u32::from(x >= y) << 1 | u32::from(x != y) << 2;
            (*x as i32 as u32 & 0xff) << 8 | flags
        })
        .collect();
    TestLaunch::of("f32_exact", [groups as u32, 1, 1], [items as u32, 1, 1])
        .input("a", &a)
        .input("b", &b)
        .output("out", &vec![0.0; end.len()], &end)
        .output("packed", &vec![0; end.len()], &packed)
        .finish()
}
