//! Reference of arithmetic on pairs of halves: products, sums and comparisons, each rounded once.

use std::array::from_fn;
use std::cmp::Ordering;

use fastrand::Rng;
use half::f16;
use warpbound_launch::LaunchFile;

use super::{Row, TestLaunch};

pub(super) const KERNELS: &[Row] = &[("f16_arithmetic", "f16_arithmetic", launch)];

/// Low and high half of a word.
type Pair = [f16; 2];

/// Initial contents of the result.
const UNTOUCHED: Pair = [f16::MAX, f16::MIN];

fn word([low, high]: Pair) -> u32 {
    u32::from(high.to_bits()) << 16 | u32::from(low.to_bits())
}

/// Returns `a b + c` of finite halves, rounded once to nearest even, by integer arithmetic.
fn multiply_add(a: f16, b: f16, c: f16) -> f16 {
    // Every finite half is a multiple of 2^-24 below 2^16, so the integers are exact.
    let integer = |half: f16| (f64::from(half) * 24f64.exp2()) as i128;
    let sum = integer(a) * integer(b) + (integer(c) << 24);
    if sum == 0 {
        let is_negative = a.is_sign_negative() != b.is_sign_negative() && c.is_sign_negative();
        return if is_negative {
            f16::NEG_ZERO
        } else {
            f16::ZERO
        };
    }
    let magnitude = sum.unsigned_abs();
    // The unit in the last place of a half is at least 2^-24.
    let bits = u128::BITS - magnitude.leading_zeros();
    let surplus = bits.saturating_sub(f16::MANTISSA_DIGITS).max(24);
    let (floor, rest) = (magnitude >> surplus, magnitude % (1 << surplus));
    let up = match rest.cmp(&(1 << (surplus - 1))) {
        Ordering::Less => 0,
        Ordering::Equal => floor % 2,
        Ordering::Greater => 1,
    };
    let rounded = (floor + up) as f64 * f64::from(surplus as i32 - 48).exp2();
    let result = f16::from_f64(if sum < 0 { -rounded } else { rounded });
    assert!(result.is_finite(), "launches have no such large numbers");
    result
}

/// Returns the result of a thread for its pair, and the pairs that it writes before, with their offsets from its own
/// cell.
fn thread(x: Pair, steps: &[Pair]) -> (Pair, Vec<(usize, Pair)>) {
    let mut sum: Pair = [f16::ZERO; 2];
    let mut written = Vec::new();
    for (j, step) in steps.iter().enumerate() {
        let added: Pair = from_fn(|at| multiply_add(x[at], step[at], sum[at]));
        let is_larger = (0..2).all(|at| added[at] > step[at]);
        sum = from_fn(|at| match is_larger {
            // Adding -0 changes no product, not even the sign of a zero.
            true => multiply_add(added[at], x[at], f16::NEG_ZERO),
            false => multiply_add(added[at], f16::ONE, step[at]),
        });
        if is_larger {
            written.push((j, sum));
        }
    }
    (sum, written)
}

/// Draws a pair of numbers of magnitude below 2, some of them subnormal.
fn pair(rng: &mut Rng) -> Pair {
    from_fn(|_| {
        let scale = [1.0, 1.0, 1.0, 1e-2, 1e-5][rng.usize(..5)];
        f16::from_f64((rng.f64() * 4.0 - 2.0) * scale)
    })
}

fn launch(number: u64) -> LaunchFile {
    let mut rng = Rng::with_seed(number);
    let (blocks, threads, n) = match number {
        0 => (1, 32, 1),
        1 => (3, 77, 3),
        2 => (1, 1, 4),
        _ => (rng.usize(1..4), rng.usize(1..100), rng.usize(0..5)),
    };
    let count = blocks * threads;
    let (pairs, end) = loop {
        if let Some(found) = try_launch(&mut rng, count, n) {
            break found;
        }
    };
    let [pairs, end] = [pairs, end].map(|pairs| pairs.into_iter().map(word).collect::<Vec<u32>>());
    TestLaunch::of(
        "f16_arithmetic",
        [blocks as u32, 1, 1],
        [threads as u32, 1, 1],
    )
    .input("in", &pairs)
    .output("out", &vec![word(UNTOUCHED); count + n], &end)
    .value("n", n as i32)
    .finish()
}

/// Draws an input and computes the result; `None` if two threads write one cell, whose final value would depend on
/// their order.
fn try_launch(rng: &mut Rng, count: usize, n: usize) -> Option<(Vec<Pair>, Vec<Pair>)> {
    let mut pairs: Vec<Pair> = (0..n).map(|_| pair(rng)).collect();
    let mut end = vec![None; count + n];
    for i in 0..count {
        let try_pair = |x: Pair, steps: &[Pair], end: &[Option<Pair>]| {
            let (sum, mut written) = thread(x, steps);
            written.retain(|&(j, _)| j > 0);
            let is_free = written
                .iter()
                .all(|&(j, _)| i + j >= count && end[i + j].is_none());
            is_free.then_some((sum, written))
        };
        // The first pairs are the steps of all threads.
        let tries = if i < n { 1 } else { 1000 };
        let (x, (sum, written)) = (0..tries).find_map(|_| {
            let x = if i < n { pairs[i] } else { pair(rng) };
            Some((x, try_pair(x, &pairs[..n], &end)?))
        })?;
        if i >= n {
            pairs.push(x);
        }
        end[i] = Some(sum);
        for (j, sum) in written {
            end[i + j] = Some(sum);
        }
    }
    let end = end.into_iter().map(|pair| pair.unwrap_or(UNTOUCHED));
    Some((pairs, end.collect()))
}
