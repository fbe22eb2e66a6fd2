//! Sums, products and FMA in all roundings.

use warpbound_ir::float::single::{self, Scale};
use warpbound_ir::float::{Flush, Format, Rounding, double};

use super::reference::{self, Random, Value, flush as flushed, specials};

const FLUSHES: [Flush; 3] = [Flush::Keep, Flush::Ftz, Flush::Fmz];

fn single_flushed(x: u64, flush: Flush) -> u64 {
    match flush {
        Flush::Keep => x,
        _ => flushed(Format::Single, x),
    }
}

fn is_zero(x: u64) -> bool {
    x << 33 == 0
}

/// Expected result as a single.
fn finished(x: Option<u64>, flush: Flush) -> u32 {
    x.map_or(0x7fff_ffff, |x| single_flushed(x, flush) as u32)
}

fn check_single_pair(a: u64, b: u64) {
    for flush in FLUSHES {
        let (x, y) = (single_flushed(a, flush), single_flushed(b, flush));
        for rounding in Rounding::ALL {
            let at = format!("{a:08x} {b:08x} {rounding:?} {flush:?}");
            let value = |x| Value::of(Format::Single, x);
            let sum = reference::sum(Format::Single, &value(x), &value(y), rounding);
            let got = single::add(a as u32, b as u32, rounding, flush);
            assert_eq!(got, finished(sum, flush), "add {at}");
            for scale in Scale::ALL {
                let formats = (Format::Single, Format::Single);
                let product = reference::fma(formats, x, y, scale as i64, None, rounding);
                let expected = if flush == Flush::Fmz && (is_zero(x) || is_zero(y)) {
                    0
                } else {
                    finished(product, flush)
                };
                let got = single::mul(a as u32, b as u32, scale, rounding, flush);
                assert_eq!(got, expected, "mul {scale:?} {at}");
            }
        }
    }
}

fn check_single_triple(a: u64, b: u64, c: u64, roundings: &[Rounding]) {
    for flush in FLUSHES {
        let operands = [a, b, c].map(|x| single_flushed(x, flush));
        let [mut x, mut y, z] = operands;
        if flush == Flush::Fmz && (is_zero(x) || is_zero(y)) {
            (x, y) = (0, 0);
        }
        for &rounding in roundings {
            let formats = (Format::Single, Format::Single);
            let sum = reference::fma(formats, x, y, 0, Some(z), rounding);
            let got = single::fma(a as u32, b as u32, c as u32, rounding, flush);
            let expected = finished(sum, flush);
            assert_eq!(
                got, expected,
                "fma {a:08x} {b:08x} {c:08x} {rounding:?} {flush:?}"
            );
        }
    }
}

#[test]
fn single_sums_and_products() {
    let edges = specials(Format::Single);
    for &a in &edges {
        for &b in &edges {
            check_single_pair(a, b);
        }
    }
    let mut random = Random(1);
    for _ in 0..10_000 {
        let (a, b) = (
            random.pattern(Format::Single),
            random.pattern(Format::Single),
        );
        check_single_pair(a, b);
    }
}

#[test]
fn single_fma_of_edges() {
    let edges = specials(Format::Single);
    for (i, &a) in edges.iter().enumerate() {
        for &b in &edges[i..] {
            for &c in &edges {
                check_single_triple(a, b, c, &[Rounding::Nearest]);
            }
        }
    }
    // The other roundings on every fifth triple.
    let mut random = Random(2);
    for &a in &edges {
        for &b in &edges {
            for &c in &edges {
                if random.below(5) == 0 {
                    check_single_triple(a, b, c, &Rounding::ALL[1..]);
                }
            }
        }
    }
}

/// A third operand close to minus the product, or to half a unit of it.
fn opposite(random: &mut Random, format: Format, product: u64) -> u64 {
    let sign = 1 << (format.width() - 1);
    let near = product ^ sign;
    match random.below(4) {
        0 => near.wrapping_add(random.below(5)).wrapping_sub(2),
        1 => near,
        _ => {
            let step = if format == Format::Single { 23 } else { 52 };
            let down = (step - 2 + random.below(5)) << step;
            near.wrapping_sub(down) ^ (random.below(2) * sign)
        }
    }
}

#[test]
fn single_fma_at_random() {
    let mut random = Random(3);
    for _ in 0..20_000 {
        let (a, b) = (
            random.pattern(Format::Single),
            random.pattern(Format::Single),
        );
        let c = if random.below(2) == 0 {
            random.pattern(Format::Single)
        } else {
            let product = single::mul_nearest(a as u32, b as u32, Flush::Keep);
            opposite(&mut random, Format::Single, product.into()) & 0xffff_ffff
        };
        check_single_triple(a, b, c, &Rounding::ALL);
    }
}

/// The host's FMA is one rounding too; many more operands than the slow reference can take.
#[test]
fn single_fma_as_the_host() {
    let mut random = Random(4);
    for _ in 0..300_000 {
        let [a, b, c] = [(); 3].map(|()| random.pattern(Format::Single) as u32);
        let [x, y, z] = [a, b, c].map(f32::from_bits);
        let host = x.mul_add(y, z);
        let got = single::fma_nearest(a, b, c, Flush::Keep);
        let expected = if host.is_nan() {
            single::NAN
        } else {
            host.to_bits()
        };
        assert_eq!(got, expected, "{a:08x} {b:08x} {c:08x}");
    }
}

fn double_nan(operands: &[u64]) -> u64 {
    let is_nan = |x: &&u64| f64::from_bits(**x).is_nan();
    match operands.iter().find(is_nan) {
        Some(x) => x | 1 << 51,
        None => 0xfff8_0000_0000_0000,
    }
}

fn check_double_pair(a: u64, b: u64) {
    for rounding in Rounding::ALL {
        let value = |x| Value::of(Format::Double, x);
        let sum = reference::sum(Format::Double, &value(a), &value(b), rounding);
        let expected = sum.unwrap_or_else(|| double_nan(&[a, b]));
        assert_eq!(
            double::add(a, b, rounding),
            expected,
            "add {a:x} {b:x} {rounding:?}"
        );
        let product = reference::fma((Format::Double, Format::Double), a, b, 0, None, rounding);
        let expected = product.unwrap_or_else(|| double_nan(&[a, b]));
        assert_eq!(
            double::mul(a, b, rounding),
            expected,
            "mul {a:x} {b:x} {rounding:?}"
        );
    }
}

fn check_double_triple(a: u64, b: u64, c: u64) {
    for rounding in Rounding::ALL {
        let sum = reference::fma((Format::Double, Format::Double), a, b, 0, Some(c), rounding);
        let expected = sum.unwrap_or_else(|| double_nan(&[a, b, c]));
        let got = double::fma(a, b, c, rounding);
        assert_eq!(got, expected, "fma {a:x} {b:x} {c:x} {rounding:?}");
    }
}

#[test]
fn double_sums_and_products() {
    let edges = specials(Format::Double);
    for &a in &edges {
        for &b in &edges {
            check_double_pair(a, b);
        }
    }
    let mut random = Random(5);
    for _ in 0..10_000 {
        let (a, b) = (
            random.pattern(Format::Double),
            random.pattern(Format::Double),
        );
        check_double_pair(a, b);
    }
}

#[test]
fn double_fma() {
    let edges = specials(Format::Double);
    let mut random = Random(6);
    for &a in &edges {
        for &b in &edges {
            for &c in &edges {
                if random.below(6) == 0 {
                    check_double_triple(a, b, c);
                }
            }
        }
    }
    for _ in 0..10_000 {
        let (a, b) = (
            random.pattern(Format::Double),
            random.pattern(Format::Double),
        );
        let c = if random.below(2) == 0 {
            random.pattern(Format::Double)
        } else {
            let product = double::mul(a, b, Rounding::Nearest);
            opposite(&mut random, Format::Double, product)
        };
        check_double_triple(a, b, c);
    }
}

#[test]
fn nan_payloads_of_doubles() {
    let (quiet, signalling) = (0x7ff8_0000_0000_1234, 0xfff0_0000_0000_0005u64);
    let made_quiet = 0xfff8_0000_0000_0005;
    let one = 1f64.to_bits();
    assert_eq!(double::add(quiet, signalling, Rounding::Nearest), quiet);
    assert_eq!(double::add(signalling, quiet, Rounding::Up), made_quiet);
    assert_eq!(double::mul(one, signalling, Rounding::Nearest), made_quiet);
    assert_eq!(double::fma(one, one, quiet, Rounding::Nearest), quiet);
    let infinity = f64::INFINITY.to_bits();
    assert_eq!(double::mul(0, infinity, Rounding::Zero), double::NAN);
}
