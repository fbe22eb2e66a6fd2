//! Comparison of RRO and MUFU with integers of some hundred bits.

use std::sync::OnceLock;

use num_bigint::BigInt;
use num_integer::Integer;
use num_traits::{Signed, Zero};
use warpbound_ir::float::special::{
    cos, ex2, lg2, rcp, rcp64h, reduce_angle, reduce_exponent, rsq, rsq64h, sin, sqrt,
};
use warpbound_ir::float::{Format, single};

use super::reference::{Dyadic, Random, Value};

/// Fixed point: a number n represents n / 2^BITS.
const BITS: usize = 400;

fn one() -> BigInt {
    BigInt::from(1) << BITS
}

/// Machin: pi = 16 atan(1/5) - 4 atan(1/239).
fn pi() -> &'static BigInt {
    static PI: OnceLock<BigInt> = OnceLock::new();
    PI.get_or_init(|| {
        let atan = |n: u32| {
            let mut power = one() / n;
            let mut sum = BigInt::zero();
            let mut k = 0;
            while !power.is_zero() {
                let term: BigInt = &power / (2 * k + 1);
                sum += if k % 2 == 0 { term } else { -term };
                power /= n * n;
                k += 1;
            }
            sum
        };
        atan(5) * 16 - atan(239) * 4
    })
}

/// Taylor, for any angle: reduced to [-pi, pi] first.
fn sine(angle: &BigInt) -> BigInt {
    let turn = pi() * 2;
    let mut x = angle.mod_floor(&turn);
    if &x > pi() {
        x -= &turn;
    }
    let square: BigInt = (&x * &x) >> BITS;
    let mut term = x;
    let mut sum = BigInt::zero();
    let mut k = 1;
    while !term.is_zero() {
        sum += &term;
        let product: BigInt = (&term * &square) >> BITS;
        term = -product / (2 * k * (2 * k + 1));
        k += 1;
        if term == (-1).into() {
            break;
        }
    }
    sum
}

/// 2^x for x in [0, 1): the product of the roots 2^(1/2), 2^(1/4), ... that its bits select.
fn power_of_two(fraction: &BigInt) -> BigInt {
    static ROOTS: OnceLock<Vec<BigInt>> = OnceLock::new();
    let roots = ROOTS.get_or_init(|| {
        let mut root = one() * 2;
        (0..64)
            .map(|_| {
                let square: BigInt = &root << BITS;
                root = square.sqrt();
                root.clone()
            })
            .collect()
    });
    let mut product = one();
    for (bit, root) in roots.iter().enumerate() {
        if fraction.bit((BITS - 1 - bit) as u64) {
            product = (product * root) >> BITS;
        }
    }
    product
}

/// log2 of x in [1, 2), 120 bits of it: squaring doubles the logarithm.
fn logarithm(x: &BigInt) -> BigInt {
    let mut x = x.clone();
    let mut log = BigInt::zero();
    for _ in 0..120 {
        x = (&x * &x) >> BITS;
        log <<= 1;
        if x.bits() as usize > BITS + 1 {
            x >>= 1;
            log += 1;
        }
    }
    log << (BITS - 120)
}

fn number(bits: u32) -> Dyadic {
    match Value::of(Format::Single, bits.into()) {
        Value::Finite { number, .. } => number,
        other => unreachable!("{bits:08x}: {other:?}"),
    }
}

/// In units of 2^-BITS; exact for what is tested here.
fn fixed(x: &Dyadic) -> BigInt {
    let shift = x.e + BITS as i64;
    if shift >= 0 {
        &x.n << shift as usize
    } else {
        &x.n >> (-shift) as usize
    }
}

/// The distance of a result from the exact value, in units of its last place.
fn ulps(result: u32, exact: &BigInt) -> f64 {
    let x = number(result);
    let distance = (fixed(&x) - exact).abs();
    let unit = (x.e + BITS as i64) as usize;
    // 2^-40 of a unit is fine enough.
    let scaled: BigInt = (distance << 40) >> unit;
    i64::try_from(scaled).map_or(f64::INFINITY, |x| x as f64 / (1u64 << 40) as f64)
}

/// The same for a distance that counts absolutely.
fn distance(result: u32, exact: &BigInt) -> f64 {
    let distance: BigInt = (fixed(&number(result)) - exact).abs() >> (BITS - 60);
    i64::try_from(distance).map_or(f64::INFINITY, |x| x as f64 / (1u64 << 60) as f64)
}

/// Positive normal numbers: powers of two with neighbours, then random ones of every binade.
fn normals(seed: u64, count: usize) -> Vec<u32> {
    let mut random = Random(seed);
    let mut all = Vec::new();
    for exponent in 1..255u32 {
        let power = exponent << 23;
        all.extend([power, power + 1, power | 0x7f_ffff, power | 0x40_0000]);
    }
    all.extend((0..count).map(|i| {
        let exponent = 1 + (i as u32 % 254);
        exponent << 23 | (random.bits() as u32 & 0x7f_ffff)
    }));
    all
}

/// Error of a result relative to the exact value.
fn relative(result: u32, exact: &BigInt) -> f64 {
    let distance: BigInt = ((fixed(&number(result)) - exact).abs() << 60) / exact.abs();
    i64::try_from(distance).map_or(f64::INFINITY, |x| x as f64 / (1u64 << 60) as f64)
}

#[test]
fn reciprocal_within_its_bound() {
    for x in normals(50, 12_000) {
        let exact = (BigInt::from(1) << (2 * BITS)) / fixed(&number(x));
        let result = rcp(x);
        assert_eq!(rcp(x | 1 << 31), result | 1 << 31);
        if exact < fixed(&number(0x0080_0000)) {
            assert_eq!(result, 0, "{x:08x}");
        } else {
            assert!(ulps(result, &exact) <= 1.0, "{x:08x} {result:08x}");
        }
    }
}

/// The published bounds: 2^-23 and 2^-22.9.
fn check_roots(x: u32) {
    let exact = (fixed(&number(x)) << BITS).sqrt();
    assert!(relative(sqrt(x), &exact) <= 0.5f64.powi(23), "sqrt {x:08x}");
    let exact = (BigInt::from(1) << (2 * BITS)) / exact;
    assert!(relative(rsq(x), &exact) <= 0.5f64.powf(22.9), "rsq {x:08x}");
}

#[test]
fn roots_within_their_bounds() {
    for x in normals(51, 12_000) {
        check_roots(x);
    }
}

/// 1/sqrt x for all significands and both parities of the exponent, by squares in 128 bits.
#[test]
fn reciprocal_roots_of_all_significands() {
    for x in 0x3f80_0000..0x4080_0000u32 {
        // x = m * 2^-23 or 2^-22, result r * 2^-24 or 2^-25: compares (2 r ± 1)^2 m with a power of 2.
        let m = u128::from(x & 0x7f_ffff | 0x80_0000);
        let odd = x >= 0x4000_0000;
        let result = rsq(x);
        let exponent = (result >> 23) as i32;
        let r = u128::from(result & 0x7f_ffff | 0x80_0000);
        // result^2 x = 1: r^2 2^(2 (exponent - 150)) m 2^(-23 + odd) = 1; times 4 for half units. The
        // error is below four of them.
        let power = 2 - 2 * (exponent - 150) + 23 - i32::from(odd);
        let target = 1u128 << power;
        assert!((2 * r - 4) * (2 * r - 4) * m < target, "{x:08x}");
        assert!((2 * r + 4) * (2 * r + 4) * m > target, "{x:08x}");
    }
}

#[test]
fn logarithm_within_its_bound() {
    let mut random = Random(52);
    let mut all = normals(52, 8_000);
    // Close to 1, where the result is small.
    for step in 0..200 {
        all.extend([0x3f80_0001 + step, 0x3f7f_ffff - step]);
        all.extend([
            0x3f80_0000 + random.below(1 << 20) as u32,
            0x3f80_0000 - random.below(1 << 20) as u32,
        ]);
    }
    let bound = 0.5f64.powi(22);
    for x in all {
        let significand = BigInt::from(x & 0x7f_ffff | 0x80_0000) << (BITS - 23);
        let exact = logarithm(&significand) + (BigInt::from((x >> 23) as i32 - 127) << BITS);
        if x == 0x3f80_0000 {
            assert_eq!(lg2(x), 0);
        } else if (0.5..2.0).contains(&f32::from_bits(x)) {
            assert!(distance(lg2(x), &exact) <= bound, "{x:08x}");
        } else {
            assert!(relative(lg2(x), &exact) <= bound, "{x:08x}");
        }
    }
}

#[test]
fn powers_of_two() {
    let mut random = Random(53);
    let mut all: Vec<u32> = (0..260).map(|x| ((x - 130) as f32).to_bits()).collect();
    all.extend((0..12_000u32).map(|i| {
        let exponent = 90 + i % 45;
        (random.bits() as u32 & 0x807f_ffff) | exponent << 23
    }));
    let (mut worst, mut worst_rounding) = (0f64, 0f64);
    for x in all {
        let value = f32::from_bits(x);
        let result = ex2(reduce_exponent(x));
        if value >= 128.0 {
            assert_eq!(result, f32::INFINITY.to_bits(), "{value}");
            continue;
        }
        if value < -126.0 {
            assert_eq!(result, 0, "{value}");
            continue;
        }
        let exact = |x: &BigInt| {
            let (whole, fraction) = x.div_mod_floor(&one());
            let whole = i32::try_from(whole).unwrap();
            let power = power_of_two(&fraction);
            if whole >= 0 {
                power << whole
            } else {
                power >> -whole
            }
        };
        worst = worst.max(ulps(result, &exact(&fixed(&number(x)))));
        // And of the reduced number.
        let reduced = reduce_exponent(x);
        let magnitude = BigInt::from(reduced & 0x7fff_ffff) << (BITS - 23);
        let signed = if reduced >> 31 == 0 {
            magnitude
        } else {
            -magnitude
        };
        worst_rounding = worst_rounding.max(ulps(result, &exact(&signed)));
    }
    assert!(worst_rounding <= 2.0, "{worst_rounding}");
    assert!(worst <= 2.0, "{worst}");
}

/// Every fraction, against 128 bits of another formula.
#[test]
fn powers_of_two_of_all_fractions() {
    // 2^(i/2^12) and 2^(j/2^23), with 124 fraction bits.
    let table = |count: u32, unit: usize| -> Vec<u128> {
        (0..count)
            .map(|i| {
                let exact = power_of_two(&(BigInt::from(i) << (BITS - unit)));
                u128::try_from(exact >> (BITS - 124)).unwrap()
            })
            .collect()
    };
    let (coarse, fine) = (table(1 << 12, 12), table(1 << 11, 23));
    for fraction in 0..1u32 << 23 {
        let (a, b) = (
            coarse[(fraction >> 11) as usize],
            fine[(fraction & 0x7ff) as usize],
        );
        // a * b from the leading 64 bits and the next 64 of each.
        let (ah, al, bh, bl) = (
            a >> 64,
            a & u128::from(u64::MAX),
            b >> 64,
            b & u128::from(u64::MAX),
        );
        let middle = ((ah * bl) >> 60) + ((al * bh) >> 60);
        let product = ((ah * bh) << 4) + middle; // 124 fraction bits
        let result = ex2(fraction);
        let r = u128::from(result & 0x7f_ffff | 0x80_0000) << 101;
        assert_eq!(result >> 23, 127);
        assert!(r.abs_diff(product) < 1 << 102, "{fraction:x}");
    }
}

#[test]
fn angles_are_reduced_exactly() {
    let quarter = pi() / 2;
    for x in normals(54, 12_000) {
        let units: BigInt = (fixed(&number(x)) << 23) / &quarter;
        let expected = u32::try_from(units % (1 << 25)).unwrap();
        assert_eq!(reduce_angle(x), expected, "{x:08x}");
        assert_eq!(reduce_angle(x | 1 << 31), expected | 1 << 31);
    }
}

#[test]
fn sine_and_cosine() {
    let quarter = pi() / 2;
    let mut random = Random(55);
    let bound = 0.5f64.powf(20.5);
    let mut angles = normals(55, 3_000);
    angles.extend(
        (0..7_000)
            .map(|_| (random.bits() % 1_000_000) as f32 / 1500.0)
            .map(f32::to_bits),
    );
    for x in angles {
        let x = x | (random.below(2) as u32) << 31;
        let angle = fixed(&number(x));
        let reduced = reduce_angle(x);
        assert!(distance(sin(reduced), &sine(&angle)) < bound, "sin {x:08x}");
        let exact = sine(&(&angle + &quarter));
        assert!(distance(cos(reduced), &exact) < bound, "cos {x:08x}");
    }
    // Of the reduced angle.
    for i in 0..10_000 {
        let units = match i {
            0..64 => i,
            64..128 => (1 << 23) + 64 - i,
            128..512 => (i % 8) << 22 | i >> 3,
            _ => random.below(1 << 25) as u32,
        };
        let angle: BigInt = (BigInt::from(units) * &quarter) >> 23;
        for (result, exact) in [
            (sin(units), sine(&angle)),
            (cos(units), sine(&(&angle + &quarter))),
        ] {
            // For an exact 0 the reference is a few units off.
            // The complement of an angle is one unit less than the distance from a quarter turn.
            if result & 0x7fff_ffff == 0 {
                let bits = BITS - 21;
                assert!(exact.bits() < bits as u64, "{units:x}");
            } else {
                let error = distance(result, &exact);
                assert!(error < 0.5f64.powi(21), "{units:x} {result:08x}");
            }
        }
    }
}

#[test]
fn high_words() {
    let mut random = Random(56);
    for _ in 0..20_000 {
        let x = random.bits() as u32;
        let wide = f64::from_bits(u64::from(x) << 32);
        let check = |got: u32, exact: f64| {
            if exact.is_nan() {
                assert_eq!(got, 0x7fff_ffff);
            } else if exact.is_infinite() || exact.abs() < f64::MIN_POSITIVE {
                let expected = if exact.is_infinite() {
                    exact
                } else {
                    0f64.copysign(exact)
                };
                assert_eq!(got, (expected.to_bits() >> 32) as u32);
            } else {
                let got = f64::from_bits(u64::from(got) << 32);
                assert!(
                    (got / exact - 1.0).abs() <= 1.0 / f64::from(1 << 20),
                    "{x:x}"
                );
            }
        };
        let flushed = if wide.is_subnormal() {
            0f64.copysign(wide)
        } else {
            wide
        };
        check(rcp64h(x), 1.0 / flushed);
        check(rsq64h(x), 1.0 / flushed.sqrt());
    }
}

type Function = Box<dyn Fn(u32) -> u32>;

/// PTX ISA, the tables of `rcp`, `sqrt`, `rsqrt`, `lg2`, `ex2`, `sin`, `cos`; subnormals as zeros.
#[test]
#[allow(clippy::too_many_lines, reason = "a table: one row per operand")]
fn special_operands() {
    const NAN: u32 = single::NAN;
    const ONE: u32 = 0x3f80_0000;
    const INF: u32 = 0x7f80_0000;
    const MINUS: u32 = 0x8000_0000;
    let through_angle = |f: fn(u32) -> u32| move |x| f(reduce_angle(x));
    let operands = [
        MINUS | INF,
        MINUS | ONE,
        MINUS | 1,
        MINUS,
        0,
        1,
        INF,
        0x7fc0_1234,
        0xff80_0001,
    ];
    let table: [(&str, Function, [u32; 9]); 7] = [
        (
            "rcp",
            Box::new(rcp),
            [
                MINUS,
                MINUS | ONE,
                MINUS | INF,
                MINUS | INF,
                INF,
                INF,
                0,
                NAN,
                NAN,
            ],
        ),
        (
            "sqrt",
            Box::new(sqrt),
            [NAN, NAN, MINUS, MINUS, 0, 0, INF, NAN, NAN],
        ),
        (
            "rsq",
            Box::new(rsq),
            [NAN, NAN, MINUS | INF, MINUS | INF, INF, INF, 0, NAN, NAN],
        ),
        (
            "lg2",
            Box::new(lg2),
            [
                NAN,
                NAN,
                MINUS | INF,
                MINUS | INF,
                MINUS | INF,
                MINUS | INF,
                INF,
                NAN,
                NAN,
            ],
        ),
        (
            "ex2",
            Box::new(|x| ex2(reduce_exponent(x))),
            [0, 0x3f00_0000, ONE, ONE, ONE, ONE, INF, NAN, NAN],
        ),
        (
            "sin",
            Box::new(through_angle(sin)),
            [NAN, 0xbf57_6aa4, MINUS, MINUS, 0, 0, NAN, NAN, NAN],
        ),
        (
            "cos",
            Box::new(through_angle(cos)),
            [NAN, 0x3f0a_5140, ONE, ONE, ONE, ONE, NAN, NAN, NAN],
        ),
    ];
    for (name, function, expected) in table {
        for (x, expected) in operands.into_iter().zip(expected) {
            let got = function(x);
            // sin 1 and cos 1 up to the reduction.
            let close = x == MINUS | ONE && got.abs_diff(expected) < 8;
            assert!(got == expected || close, "{name} {x:08x}: {got:08x}");
        }
    }
    let high = |f: fn(u32) -> u32| {
        [
            0xfff0_0000,
            0x8000_0001,
            MINUS,
            0,
            1,
            0x7ff0_0000,
            0x7ff8_0000,
        ]
        .map(f)
    };
    let (inf, minus) = (0x7ff0_0000, 0xfff0_0000);
    assert_eq!(high(rcp64h), [MINUS, minus, minus, inf, inf, 0, NAN]);
    assert_eq!(high(rsq64h), [NAN, minus, minus, inf, inf, 0, NAN]);
    assert_eq!(rsq64h(0xbff0_0000), NAN);
}

/// Checks that the modifiers of MUFU's operand act on the sign of RRO's result.
#[test]
fn operand_modifiers_after_reduction() {
    for x in normals(57, 1_000) {
        let reduced = reduce_angle(x);
        assert_eq!(sin(single::negate(reduced)), single::negate(sin(reduced)));
        assert_eq!(cos(single::negate(reduced)), cos(reduced));
        let negated = reduce_exponent(single::negate(x));
        assert_eq!(single::negate(negated), reduce_exponent(x));
    }
}
