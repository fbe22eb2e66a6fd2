//! Reference of integer operations, each from its definition on wide integers or bits.

use warpbound_launch::LaunchFile;

use super::{Row, TestLaunch};

pub(super) const KERNELS: &[Row] = &[("integer_mix", "integer_mix", launch)];

fn launch(number: u64) -> LaunchFile {
    let mut rng = fastrand::Rng::with_seed(number);
    let shape = [(1, 32), (3, 21), (1, 1)].get(number as usize).copied();
    let (blocks, threads) = shape.unwrap_or_else(|| (rng.usize(1..4), rng.usize(1..80)));
    let n: usize = blocks * threads;
    let mut values: Vec<i32> = (0..3 * n)
        .map(|_| match rng.usize(0..6) {
            0 => rng.i32(-40..40),
            1 => [0, -1, i32::MIN, i32::MAX, 1 << 24][rng.usize(0..5)],
            _ => rng.i32(..),
        })
        .collect();
    for i in (0..n).filter(|i| i % 5 == 0) {
        values[i + n] = values[i];
    }
    let of = |i: usize| (values[i], values[i + n], values[i + 2 * n]);
    let narrow: Vec<i32> = (0..n).map(|i| mix(of(i)) as i32).collect();
    let wide: Vec<i64> = (0..n).map(|i| wide(of(i)) as i64).collect();
    TestLaunch::of("integer_mix", [blocks as u32, 1, 1], [threads as u32, 1, 1])
        .input("in", &values)
        .output("out", &vec![0; n], &narrow)
        .output("wide", &vec![0i64; n], &wide)
        .value("n", n as i32)
        .finish()
}

/// Low 32 bits of a number.
fn low(number: i128) -> u32 {
    number as u32
}

/// Sign-extends the low bits of a number.
fn signed(number: u32, bits: u32) -> i128 {
    let rest = i128::from(number) & ((1 << bits) - 1);
    match rest >> (bits - 1) {
        0 => rest,
        _ => rest - (1 << bits),
    }
}

/// Byte of a number, by index from the lowest.
fn byte(number: u32, at: u32) -> u32 {
    number >> (8 * at) & 0xff
}

fn mix((a, b, c): (i32, i32, i32)) -> u32 {
    let (x, y, z) = (i128::from(a), i128::from(b), i128::from(c));
    let (a, b, c) = (a as u32, b as u32, c as u32);
    let both = u128::from(b) << 32 | u128::from(a);
    // The low three bits of each nibble select a byte of the two numbers.
    let permuted = (0..4).fold(0, |result, at| {
        let selector = c >> (4 * at) & 0x7;
        let selected = (both >> (8 * selector)) as u32 & 0xff;
        result | selected << (8 * at)
    });
    let mut result = i128::from(permuted);

    let leading = (0..32).find(|at| a >> (31 - at) & 1 == 1).unwrap_or(32);
    let first = (0..32).find(|at| b >> at & 1 == 1).map_or(0, |at| at + 1);
    let reversed = (0..32).fold(0u32, |bits, at| bits | (c >> at & 1) << (31 - at));
    result += i128::from(leading) + i128::from(first) + i128::from(reversed);

    let chosen = (0..32).fold(0, |bits, at| {
        let from = if a >> at & 1 == 1 { b } else { c };
        bits | from & (1 << at)
    });
    result = i128::from(low(result) ^ chosen);
    result += x.min(y) - y.max(z);

    let left = both << (c % 32) >> 32;
    let right = (u128::from(c) << 32 | u128::from(b)) >> (a % 32);
    result += i128::from(left as u32) + i128::from(right as u32);

    result += 2 * z;
    result += (0..4)
        .map(|at| signed(byte(a, at), 8) * signed(byte(b, at), 8))
        .sum::<i128>();
    result += signed(a, 16) * signed(byte(b, 0), 8) + signed(a >> 16, 16) * signed(byte(b, 1), 8);

    result += (x * y) >> 32;
    result += signed(b, 24) * signed(c, 24);
    result += (x - y).abs() + z;
    result += (x + z) >> 1;

    let differences = (0..4).fold(0, |bits, at| {
        bits | byte(a, at).abs_diff(byte(b, at)) << (8 * at)
    });
    result += i128::from(differences) + i128::from(a.abs_diff(b)) + z;

    let field = signed(low(x >> (b % 32)), 5);
    let position = c % 32;
    let mask = 0x7f_u32 << position;
    low(result) & !mask | low(field) << position & mask
}

fn wide((a, b, c): (i32, i32, i32)) -> u64 {
    let (x, y, z) = (i128::from(a), i128::from(b), i128::from(c));
    // Shift amounts are taken modulo 64.
    let shift = |by: i32| by.rem_euclid(64) as u32;
    let w = ((x << shift(b)) + ((z * y) >> shift(a))) as i64;
    let rest = match a == b {
        true => (w >> 3) as u64,
        false => w as u64 >> 5,
    };
    (w as u64).wrapping_mul(w as u64).wrapping_add(rest)
}
