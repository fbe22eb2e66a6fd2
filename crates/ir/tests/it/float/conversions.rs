//! F2F, F2I, I2F.

use num_bigint::BigInt;
use warpbound_ir::float::convert::{
    IntegerType, IntegralRounding, float_to_float, float_to_integer, float_to_integral,
    integer_to_float,
};
use warpbound_ir::float::{Flush, Format, Rounding};

use super::reference::{self, Dyadic, Random, Value, choose, flush as flushed, round, specials};

const FORMATS: [Format; 3] = [Format::Half, Format::Single, Format::Double];

fn patterns(format: Format, seed: u64, count: usize) -> Vec<u64> {
    let mut all = specials(format);
    let mut random = Random(seed);
    all.extend((0..count).map(|_| random.pattern(format)));
    all
}

fn apply(format: Format, x: u64, flush: Flush) -> u64 {
    if format == Format::Single && flush == Flush::Ftz {
        flushed(format, x)
    } else {
        x
    }
}

/// [0, 1], by the host's comparison.
fn saturated(format: Format, x: u64) -> u64 {
    let one = round(format, &Dyadic { n: 1.into(), e: 0 }, false, Rounding::Zero);
    match Value::of(format, x) {
        Value::Nan => 0,
        value if value.negative() => 0,
        Value::Infinite { .. } => one,
        Value::Finite { number, .. } => {
            let limit = Dyadic { n: 1.into(), e: 0 };
            if number.compare(&limit).is_gt() {
                one
            } else {
                x
            }
        }
    }
}

#[test]
fn between_formats() {
    for from in FORMATS {
        for to in FORMATS {
            for x in patterns(from, 20, 10_000) {
                for rounding in Rounding::ALL {
                    for flush in [Flush::Keep, Flush::Ftz] {
                        let operand = apply(from, x, flush);
                        let expected = match Value::of(from, operand) {
                            Value::Nan => continue,
                            Value::Infinite { negative } => reference::infinity(to, negative),
                            Value::Finite { negative, number } => {
                                apply(to, round(to, &number, negative, rounding), flush)
                            }
                        };
                        let at = format!("{from:?} {to:?} {x:x} {rounding:?} {flush:?}");
                        let got = float_to_float(x, from, to, rounding, flush, false);
                        assert_eq!(got, expected, "{at}");
                        let got = float_to_float(x, from, to, rounding, flush, true);
                        assert_eq!(got, saturated(to, expected), "{at} sat");
                    }
                }
            }
        }
    }
}

#[test]
fn nans_between_formats() {
    let convert = |x, from, to| float_to_float(x, from, to, Rounding::Nearest, Flush::Keep, false);
    use Format::{Double, Half, Single};
    // As ptxas 12.4 folds the constants for sm_61.
    for (x, from, to, expected) in [
        (0x7fc0_0123, Single, Double, 0x7ff8_0024_6000_0000),
        (0xff80_0123, Single, Double, 0xfff8_0024_6000_0000),
        (0x7ff8_0000_0000_1234, Double, Single, 0x7fc0_0000),
        (0xfff4_5678_0000_1234, Double, Single, 0xffe2_b3c0),
        (0x7ff0_0000_0000_0001, Double, Single, 0x7fc0_0000),
        (0x7fc0_0123, Single, Half, 0x7fff),
        (0xfff4_5678_0000_1234, Double, Half, 0x7fff),
        (0x7e01, Half, Single, 0x7fff_ffff),
        (0xfd01, Half, Single, 0x7fff_ffff),
        (0xfd01, Half, Double, 0x7fff_ffff_e000_0000),
        // And as this project assumes.
        (0xff80_0123, Single, Single, 0x7fff_ffff),
        (0xfd01, Half, Half, 0x7fff),
        (0xfff0_0000_0000_0001, Double, Double, 0xfff8_0000_0000_0001),
    ] {
        assert_eq!(convert(x, from, to), expected, "{x:x} {from:?} {to:?}");
        let saturated = float_to_float(x, from, to, Rounding::Nearest, Flush::Keep, true);
        assert_eq!(saturated, 0);
    }
}

fn rounding_of(integral: IntegralRounding) -> Rounding {
    match integral {
        IntegralRounding::Nearest => Rounding::Nearest,
        IntegralRounding::Floor => Rounding::Down,
        IntegralRounding::Ceil => Rounding::Up,
        IntegralRounding::Trunc => Rounding::Zero,
    }
}

fn whole(number: &Dyadic, integral: IntegralRounding) -> BigInt {
    let (low, rest) = number.floor(0);
    choose(low, &rest, 0, rounding_of(integral))
}

/// Numbers around the limits of the integer types.
fn near_integers(format: Format) -> Vec<u64> {
    let mut all = Vec::new();
    for power in [0, 7, 8, 15, 16, 31, 32, 63, 64, 65] {
        let number = Dyadic {
            n: 1.into(),
            e: power,
        };
        let bits = round(format, &number, false, Rounding::Zero);
        for step in 0..7 {
            let near = bits + step - 3;
            all.extend([near, near | 1 << (format.width() - 1)]);
        }
    }
    for numerator in 0..40 {
        let number = Dyadic {
            n: numerator.into(),
            e: -2,
        };
        let bits = round(format, &number, false, Rounding::Zero);
        all.extend([bits, bits | 1 << (format.width() - 1)]);
    }
    all
}

#[test]
fn to_integers() {
    for from in FORMATS {
        let mut all = patterns(from, 21, 10_000);
        all.extend(near_integers(from));
        for x in all {
            for flush in [Flush::Keep, Flush::Ftz] {
                let value = Value::of(from, apply(from, x, flush));
                for integral in IntegralRounding::ALL {
                    let exact = match &value {
                        Value::Finite { number, .. } => Some(whole(number, integral)),
                        _ => None,
                    };
                    for to in IntegerType::ALL {
                        let (least, greatest) = limits(to);
                        let expected = match (&value, &exact) {
                            (_, Some(exact)) => exact.clamp(&least, &greatest).clone(),
                            (Value::Infinite { negative: true }, _) => least,
                            (Value::Infinite { negative: false }, _) => greatest,
                            _ if from != Format::Double && to.width() <= 32 => 0.into(),
                            _ if to.signed() => least,
                            _ => BigInt::from(1) << (to.width() - 1),
                        };
                        let got = float_to_integer(x, from, to, integral, flush);
                        assert_eq!(
                            as_big(got, to),
                            expected,
                            "{from:?} {x:x} {integral:?} {to:?}"
                        );
                    }
                }
            }
        }
    }
}

fn limits(to: IntegerType) -> (BigInt, BigInt) {
    let all: BigInt = BigInt::from(1) << to.width();
    if to.signed() {
        let half: BigInt = all / 2;
        (-half.clone(), half - 1)
    } else {
        (0.into(), all - 1)
    }
}

fn as_big(bits: u64, to: IntegerType) -> BigInt {
    if to.signed() {
        BigInt::from(bits as i64)
    } else {
        BigInt::from(bits)
    }
}

#[test]
fn to_integral_numbers() {
    for format in FORMATS {
        let mut all = patterns(format, 22, 10_000);
        all.extend(near_integers(format));
        for x in all {
            for flush in [Flush::Keep, Flush::Ftz] {
                let operand = apply(format, x, flush);
                for integral in IntegralRounding::ALL {
                    let expected = match Value::of(format, operand) {
                        Value::Nan => continue,
                        Value::Infinite { .. } => operand,
                        Value::Finite { negative, number } => {
                            let n = whole(&number, integral);
                            round(format, &Dyadic { n, e: 0 }, negative, Rounding::Zero)
                        }
                    };
                    let at = format!("{format:?} {x:x} {integral:?} {flush:?}");
                    let got = float_to_integral(x, format, integral, flush, false);
                    assert_eq!(got, expected, "{at}");
                    let got = float_to_integral(x, format, integral, flush, true);
                    assert_eq!(got, saturated(format, expected), "{at}");
                }
            }
        }
    }
}

fn integers(seed: u64) -> Vec<u64> {
    let mut random = Random(seed);
    let mut all: Vec<u64> = (0..64)
        .flat_map(|bit| {
            let power = 1u64 << bit;
            [
                power.wrapping_sub(1),
                power,
                power + 1,
                power | power >> 11 | power >> 24,
            ]
        })
        .collect();
    all.extend((0..10_000).map(|_| {
        let bits = random.bits();
        let shifted = bits >> random.below(64);
        if random.below(2) == 0 {
            shifted
        } else {
            shifted.wrapping_neg()
        }
    }));
    all
}

#[test]
fn from_integers() {
    for bits in integers(23) {
        for from in IntegerType::ALL {
            let value = from.read(bits);
            let (least, greatest) = limits(from);
            let big = BigInt::from(value);
            assert!(least <= big && big <= greatest);
            let low: BigInt = (&big - BigInt::from(bits)) % (BigInt::from(1) << from.width());
            assert_eq!(low, 0.into(), "{bits:x} {from:?}");
            for to in FORMATS {
                for rounding in Rounding::ALL {
                    let number = Dyadic {
                        n: big.clone(),
                        e: 0,
                    };
                    let expected = round(to, &number, false, rounding);
                    let got = integer_to_float(value, to, rounding);
                    assert_eq!(got, expected, "{bits:x} {from:?} {to:?} {rounding:?}");
                }
            }
        }
    }
}

#[test]
fn from_integers_as_the_host() {
    for bits in integers(24) {
        let nearest = Rounding::Nearest;
        let unsigned = IntegerType::U64.read(bits);
        let signed = IntegerType::S64.read(bits);
        let single = |x| integer_to_float(x, Format::Single, nearest) as u32;
        assert_eq!(single(unsigned), (bits as f32).to_bits());
        assert_eq!(single(signed), (bits as i64 as f32).to_bits());
        let double = |x| integer_to_float(x, Format::Double, nearest);
        assert_eq!(double(unsigned), (bits as f64).to_bits());
        assert_eq!(double(signed), (bits as i64 as f64).to_bits());
    }
}
