//! bfloat16: against singles and doubles of the host and exact sums, with a rounding of their own.

use num_bigint::BigInt;
use warpbound_ir::float::{Rounding, bfloat};

use super::reference::{Dyadic, Random, choose};

/// Patterns with special numbers at both ends of the range.
const EDGES: [u16; 20] = [
    0x0000, 0x0001, 0x0002, 0x007f, 0x0080, 0x0081, 0x00ff, 0x3f7f, 0x3f80, 0x3f81, 0x4000, 0x4340,
    0x7f00, 0x7f7e, 0x7f7f, 0x7f80, 0x7f81, 0x7fc0, 0x7fff, 0x1234,
];

/// Number of a finite pattern as n * 2^e: 7 bits of fraction, the least unit 2^-133.
fn number(x: u16) -> Option<Dyadic> {
    let field = i64::from(x >> 7 & 0xff);
    let fraction = i64::from(x & 0x7f);
    let magnitude = match field {
        0xff => return None,
        0 => fraction,
        _ => fraction + 0x80,
    };
    let negative = x >> 15 == 1;
    let n = BigInt::from(if negative { -magnitude } else { magnitude });
    let e = field.max(1) - 134;
    Some(Dyadic { n, e })
}

/// Patterns of the finite numbers without a sign in ascending order, then the pattern of infinity.
fn rounded(exact: &Dyadic, zero_is_negative: bool, rounding: Rounding) -> u16 {
    let zero = BigInt::from(0);
    if exact.n == zero {
        return u16::from(zero_is_negative) << 15;
    }
    let sign = u16::from(exact.n < zero) << 15;
    let magnitude = Dyadic {
        n: BigInt::from(exact.n.magnitude().clone()),
        e: exact.e,
    };
    // Unit of the numbers with as many bits, the least one at most.
    let unit = (magnitude.n.bits() as i64 + magnitude.e - 8).max(-133);
    let (low, rest) = magnitude.floor(unit);
    let of_magnitude = match (rounding, sign == 0) {
        (Rounding::Up, false) | (Rounding::Down, true) => Rounding::Zero,
        (Rounding::Up, true) | (Rounding::Down, false) => Rounding::Up,
        (other, _) => other,
    };
    let units = choose(low, &rest, unit, of_magnitude);
    let units: u64 = u64::try_from(units).expect("at most 256");
    // A count of 256 units is the first number of the next exponent, and counts below 128 are subnormal.
    let above = (unit + 133) as u64 * 128;
    let pattern = above + units;
    let largest = match of_magnitude {
        Rounding::Zero => 0x7f7f,
        _ => 0x7f80,
    };
    sign | pattern.min(largest) as u16
}

fn is_nan(x: u16) -> bool {
    x & 0x7fff > 0x7f80
}

/// The host's single of a pattern: exact for products and sums with infinities and NaNs, whose value alone is compared.
fn single(x: u16) -> f32 {
    f32::from_bits(u32::from(x) << 16)
}

/// Compares with the exact result, or with the host's if an operand is infinite or a NaN.
fn check(got: u16, exact: Option<(Dyadic, bool)>, host: f32, at: &str) {
    match exact {
        Some((exact, zero_is_negative)) => {
            let expected = rounded(&exact, zero_is_negative, Rounding::Nearest);
            assert_eq!(got, expected, "{at}");
        }
        None if host.is_nan() => assert_eq!(got, 0x7fff, "{at}"),
        None => {
            assert!(host.is_infinite(), "{at}");
            assert_eq!(u32::from(got) << 16, host.to_bits(), "{at}");
        }
    }
}

fn check_all(a: u16, b: u16, c: u16) {
    let at = format!("{a:04x} {b:04x} {c:04x}");
    let negative = |x: u16| x >> 15 == 1;
    let (x, y, z) = (number(a), number(b), number(c));
    // An exact zero is negative only if both summands are.
    let of_sum = |one: bool, other: bool| one && other;
    let both = x.clone().zip(y.clone());
    let product_sign = negative(a) != negative(b);
    let sum = both
        .clone()
        .map(|(x, y)| (x.plus(&y), of_sum(negative(a), negative(b))));
    check(bfloat::add(a, b), sum, single(a) + single(b), &at);
    let product = both.map(|(x, y)| x.times(&y));
    let rounded_product = product.clone().map(|product| (product, product_sign));
    check(
        bfloat::mul(a, b),
        rounded_product,
        single(a) * single(b),
        &at,
    );
    let fused = product
        .zip(z)
        .map(|(product, z)| (product.plus(&z), of_sum(product_sign, negative(c))));
    let host = f64::from(single(a)) * f64::from(single(b)) + f64::from(single(c));
    check(bfloat::fma(a, b, c), fused, host as f32, &at);
}

#[test]
fn arithmetic_is_exact_and_rounded_once() {
    let signed = EDGES.iter().flat_map(|&x| [x, x | 0x8000]);
    let edges: Vec<u16> = signed.collect();
    for &a in &edges {
        for &b in &edges {
            for &c in &edges {
                check_all(a, b, c);
            }
        }
    }
    let mut random = Random(60);
    for _ in 0..100_000 {
        let bits = random.bits();
        let [a, b, c] = [0, 16, 32].map(|at| (bits >> at) as u16);
        check_all(a, b, c);
        // A third number near the product, so that sums cancel and lie near the middle of two numbers.
        let near = bfloat::mul(a, b) ^ 0x8000;
        check_all(
            a,
            b,
            near.wrapping_add((bits >> 48) as u16 & 7).wrapping_sub(3),
        );
        let far = 0x80 * (4 + (bits >> 52) as u16 % 9);
        check_all(a, b, near.wrapping_sub(far));
    }
}

#[test]
fn singles_are_rounded() {
    let mut random = Random(61);
    let edges = EDGES.iter().flat_map(|&high| {
        let low = [0, 1, 0x7fff, 0x8000, 0x8001, 0xffff];
        low.map(|low| u32::from(high) << 16 | low)
    });
    let edges = edges.flat_map(|x| [x, x | 1 << 31]);
    let drawn = (0..200_000).map(|_| random.bits() as u32);
    for x in edges.collect::<Vec<u32>>().into_iter().chain(drawn) {
        let value = f32::from_bits(x);
        for rounding in Rounding::ALL {
            let got = bfloat::from_single(x, rounding);
            if value.is_nan() {
                assert_eq!(got, 0x7fff, "{x:08x}");
                continue;
            }
            if value.is_infinite() {
                assert_eq!(u32::from(got) << 16, x);
                continue;
            }
            // 23 bits of fraction, the least unit 2^-149.
            let field = i64::from(x >> 23 & 0xff);
            let hidden = i64::from(field != 0) << 23;
            let magnitude = i64::from(x & 0x7f_ffff) + hidden;
            let n = BigInt::from(if x >> 31 == 1 { -magnitude } else { magnitude });
            let e = field.max(1) - 150;
            let expected = rounded(&Dyadic { n, e }, x >> 31 == 1, rounding);
            assert_eq!(got, expected, "{x:08x} {rounding:?}");
        }
        assert!(is_nan(bfloat::NAN));
    }
}
