//! References of kernels that compute with integers and halves, element by element.

use half::f16;
use warpbound_launch::LaunchFile;

use super::super::{Row, TestLaunch};

pub(super) const KERNELS: &[Row] = &[
    ("bit_tricks", "bit_tricks", bit_tricks),
    ("bytes_sdwa", "bytes_sdwa", bytes_sdwa),
    ("half_arithmetic", "half_arithmetic", half_arithmetic),
    ("i64_mix", "i64_mix", i64_mix),
    ("scalar_mix", "scalar_mix", scalar_mix),
    ("vector_add", "vector_add", vector_add),
];

/// Draws numbers of groups and of work-items of a group.
fn shape(number: u64, rng: &mut fastrand::Rng) -> (usize, usize) {
    match number {
        0 => (1, 64),
        1 => (3, 70),
        2 => (1, 5),
        _ => (rng.usize(1..5), rng.usize(1..150)),
    }
}

/// Starts a launch with one work-item an element; returns the number of elements too.
fn launch(kernel: &str, number: u64, rng: &mut fastrand::Rng) -> (TestLaunch, usize) {
    let (groups, items) = shape(number, rng);
    let launch = TestLaunch::of(kernel, [groups as u32, 1, 1], [items as u32, 1, 1]);
    (launch, groups * items)
}

/// Draws words. Some are small, zero, or have few bits set.
fn words(rng: &mut fastrand::Rng, count: usize) -> Vec<u32> {
    let word = |rng: &mut fastrand::Rng| match rng.u32(0..6) {
        0 => rng.u32(0..4),
        1 => 1 << rng.u32(0..32),
        2 => !rng.u32(0..300),
        _ => rng.u32(..),
    };
    (0..count).map(|_| word(rng)).collect()
}

fn vector_add(number: u64) -> LaunchFile {
    let mut rng = fastrand::Rng::with_seed(number);
    let (launch, all) = launch("vector_add", number, &mut rng);
    let count = rng.usize(1..=all);
    let mut numbers = || -> Vec<i32> { (0..count).map(|_| rng.i32(..)).collect() };
    let (a, b) = (numbers(), numbers());
    let sums: Vec<i32> = a.iter().zip(&b).map(|(a, &b)| a.wrapping_add(b)).collect();
    launch
        .input("a", &a)
        .input("b", &b)
        .output("out", &vec![0; count], &sums)
        .value("count", count as i32)
        .finish()
}

fn mixed_bits(x: u32, y: u32, z: u32) -> u32 {
    let bytes = |word: u32| word.to_le_bytes();
    let field =
        |word: i32, at: u32, width: u32| (word >> (at & 31)) << (32 - width) >> (32 - width);
    let pair = |high: u32, low: u32| u64::from(high) << 32 | u64::from(low);
    let (mut sad8, mut masked, mut lerp) = (z, z, [0; 4]);
    let words = bytes(x).into_iter().zip(bytes(y)).zip(bytes(z));
    for (((p, q), r), lerp) in words.zip(&mut lerp) {
        sad8 = sad8.wrapping_add(p.abs_diff(q).into());
        if q != 0 {
            masked = masked.wrapping_add(p.abs_diff(q).into());
        }
        let up = u16::from(r & 1);
        *lerp = ((u16::from(p) + u16::from(q) + up) >> 1) as u8;
    }
    let low_half = (y as u16).abs_diff(z as u16);
    let high_half = ((y >> 16) as u16).abs_diff((z >> 16) as u16);
    let sad16 = x
        .wrapping_add(low_half.into())
        .wrapping_add(high_half.into());
    let both = pair(x, y).to_le_bytes();
    let chosen = bytes(z & 0x0707_0707).map(|at| both[usize::from(at)]);
    let mut sum = (x >> (y & 31) & 31).wrapping_add(field(y as i32, z, 7) as u32);
    sum ^= (x & y) | (!x & z);
    sum = sum.wrapping_add((pair(x, y) >> (z & 31)) as u32 ^ (pair(y, z) >> (8 * (x & 3))) as u32);
    let counts = x.leading_zeros() + y.trailing_zeros() + z.count_ones();
    sum = sum.wrapping_add(x.reverse_bits()).wrapping_add(counts);
    sum ^= u32::from_le_bytes(chosen);
    sum = sum
        .wrapping_add(sad8)
        .wrapping_add(sad16)
        .wrapping_add(masked);
    sum ^= u32::from_le_bytes(lerp);
    let high = |product: i128| (product >> 32) as u32;
    sum = sum
        .wrapping_add(high(i128::from(x) * i128::from(y)))
        .wrapping_add(high(i128::from(y as i32) * i128::from(z as i32)));
    let small = (x & 0xff_ffff).wrapping_mul(y & 0xff_ffff);
    sum = sum.wrapping_add(small).wrapping_add(z);
    let mut ordered = [x as i32, y as i32, z as i32];
    ordered.sort_unstable();
    sum ^ ordered[1] as u32
}

fn bit_tricks(number: u64) -> LaunchFile {
    let mut rng = fastrand::Rng::with_seed(number);
    let (launch, count) = launch("bit_tricks", number, &mut rng);
    let (a, b, c) = (
        words(&mut rng, count),
        words(&mut rng, count),
        words(&mut rng, count),
    );
    let end: Vec<u32> = (0..count).map(|i| mixed_bits(a[i], b[i], c[i])).collect();
    launch
        .input("a", &a)
        .input("b", &b)
        .input("c", &c)
        .output("out", &vec![0; count], &end)
        .finish()
}

fn mixed_bytes(x: u32, y: u32) -> u32 {
    let mut bytes = [0; 4];
    for (byte, (p, q)) in bytes
        .iter_mut()
        .zip(x.to_le_bytes().into_iter().zip(y.to_le_bytes()))
    {
        let mean = (u16::from(p) + u16::from(q)).div_ceil(2) as u8;
        *byte = mean.wrapping_add(p.wrapping_mul(q) ^ p.wrapping_sub(q));
    }
    let low = (x as u16)
        .wrapping_mul((y >> 16) as u16)
        .wrapping_add((x >> 16) as u16);
    let high = (((x >> 16) as i16) >> 3).wrapping_sub(y as i16) as u16;
    u32::from_le_bytes(bytes) ^ (u32::from(high) << 16 | u32::from(low))
}

fn bytes_sdwa(number: u64) -> LaunchFile {
    let mut rng = fastrand::Rng::with_seed(number);
    let (launch, count) = launch("bytes_sdwa", number, &mut rng);
    let (a, b) = (words(&mut rng, count), words(&mut rng, count));
    let end: Vec<u32> = (0..count).map(|i| mixed_bytes(a[i], b[i])).collect();
    launch
        .input("a", &a)
        .input("b", &b)
        .output("out", &vec![0; count], &end)
        .finish()
}

fn i64_mix(number: u64) -> LaunchFile {
    let mut rng = fastrand::Rng::with_seed(number);
    let (launch, count) = launch("i64_mix", number, &mut rng);
    let mut numbers = || -> Vec<i64> {
        let number = |rng: &mut fastrand::Rng| match rng.bool() {
            true => rng.i64(..),
            false => rng.i64(-300..300),
        };
        (0..count).map(|_| number(&mut rng)).collect()
    };
    let (a, b, start) = (numbers(), numbers(), numbers());
    let of = |x: i64, y: i64, start: i64| {
        let by = (y & 63) as u32;
        let shifted = (x << by).wrapping_add((x as u64 >> (63 - by)) as i64);
        let mut result = shifted.wrapping_sub(y >> (by / 2));
        result ^= x.wrapping_mul(y);
        if x < y {
            result = result.wrapping_add(start.wrapping_mul(x.wrapping_sub(y)));
        }
        let is_larger = i64::from(y as u64 > result as u64);
        result.wrapping_add(is_larger * 1_000_003)
    };
    let end: Vec<i64> = (0..count).map(|i| of(a[i], b[i], start[i])).collect();
    launch
        .input("a", &a)
        .input("b", &b)
        .output("out", &start, &end)
        .finish()
}

fn mixed_scalars(group: u32, a: u32, b: u32, wide: u64) -> u64 {
    let x = a.wrapping_add(group.wrapping_mul(0x9e37_79b9));
    let y = b ^ group;
    let greater = if x as i32 > y as i32 { x } else { y };
    let sum = (x >> (y & 31) & 0x7ff)
        .wrapping_add(x.reverse_bits())
        .wrapping_add(y.count_ones() + x.trailing_zeros())
        .wrapping_add(y.leading_zeros())
        .wrapping_add(x.min(y))
        .wrapping_sub(greater);
    let mut z = wide
        .wrapping_add(x.into())
        .wrapping_mul(3)
        .wrapping_sub(y.into());
    z ^= z << (x & 63);
    z = z.wrapping_add((z as i64 >> (y & 63)) as u64);
    let counts = z.count_ones() + z.trailing_zeros() + z.leading_zeros();
    z = z.wrapping_add(counts.into());
    match x & 4 {
        0 => z = z.wrapping_sub(u64::from(sum % (x | 1)) << 20),
        _ => z ^= u64::from(sum / (y | 1)),
    }
    for _ in 0..group & 7 {
        z = z.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        if z >> 63 == 1 {
            z ^= wide;
        }
    }
    z.wrapping_add(sum.into())
}

fn scalar_mix(number: u64) -> LaunchFile {
    let mut rng = fastrand::Rng::with_seed(number);
    let (groups, items) = match number {
        0 => (9, 64),
        1 => (3, 65),
        2 => (1, 1),
        _ => (rng.usize(1..12), rng.usize(1..130)),
    };
    let (a, b, wide) = (words(&mut rng, 1)[0], words(&mut rng, 1)[0], rng.u64(..));
    let end: Vec<i64> = (0..groups)
        .map(|group| mixed_scalars(group as u32, a, b, wide) as i64)
        .collect();
    TestLaunch::of("scalar_mix", [groups as u32, 1, 1], [items as u32, 1, 1])
        .output("out", &vec![-1; groups], &end)
        .value("a", a)
        .value("b", b)
        .value("wide", wide)
        .finish()
}

/// Draws finite halves, some of them subnormal, whose sums and products are finite.
fn halves(rng: &mut fastrand::Rng, count: usize) -> Vec<f16> {
    let half = |rng: &mut fastrand::Rng| match rng.u32(0..4) {
        0 => f16::from_bits(rng.u16(..) & 0x83ff),
        _ => f16::from_f32((rng.f32() - 0.5) * 300.0),
    };
    (0..count).map(|_| half(rng)).collect()
}

fn half_arithmetic(number: u64) -> LaunchFile {
    let mut rng = fastrand::Rng::with_seed(number);
    let (launch, count) = launch("half_arithmetic", number, &mut rng);
    let (a, b) = (halves(&mut rng, count), halves(&mut rng, count));
    let bits = |halves: &[f16]| -> Vec<u16> { halves.iter().map(|half| half.to_bits()).collect() };
    // Sums and products of halves are exact as doubles, so each is rounded once.
    let of = |operation: fn(f64, f64) -> f64| -> Vec<f16> {
        let pairs = a.iter().zip(&b);
        pairs
            .map(|(&a, &b)| f16::from_f64(operation(a.into(), b.into())))
            .collect()
    };
    let (sums, products) = (of(|a, b| a + b), of(|a, b| a * b));
    let wide: Vec<f32> = a
        .iter()
        .zip(&b)
        .map(|(a, b)| match a < b {
            true => a.to_f32() + b.to_f32(),
            false => a.to_f32() * 2.0,
        })
        .collect();
    let nothing = vec![0xabcdu16; count];
    launch
        .input("a", &bits(&a))
        .input("b", &bits(&b))
        .output("sums", &nothing, &bits(&sums))
        .output("products", &nothing, &bits(&products))
        .output("wide", &vec![-1.0; count], &wide)
        .finish()
}
