//! Operations of GCN3's vector ALU.

use warpbound_ir::float::gcn::{GcnFloat, GcnFunction, GcnFunction as F, GcnMode};
use warpbound_ir::float::{Comparison, FloatOp, Format, Rounding};

use super::reference::{self, Dyadic, Random, Value, flush, infinity, specials};

const FORMATS: [Format; 3] = [Format::Half, Format::Single, Format::Double];

fn modes() -> Vec<GcnMode> {
    let mut modes = Vec::new();
    for rounding in Rounding::ALL {
        for denormals in 0..4 {
            modes.push(GcnMode {
                rounding,
                flush_operands: denormals & 1 != 0,
                flush_results: denormals & 2 != 0,
            });
        }
    }
    modes
}

/// Result of a function on numbers of a format, and words after them.
pub(super) fn apply(
    function: GcnFunction,
    format: Format,
    mode: GcnMode,
    numbers: &[u64],
    last: Option<u32>,
) -> u64 {
    let operation = FloatOp::Gcn(GcnFloat {
        function,
        format,
        mode,
    });
    let mut words = Vec::new();
    for number in numbers {
        words.push(*number as u32);
        if format == Format::Double {
            words.push((number >> 32) as u32);
        }
    }
    words.extend(last);
    assert_eq!(words.len(), operation.words(), "{operation:?}");
    let mut all = [0; FloatOp::MAX_WORDS];
    all[..words.len()].copy_from_slice(&words);
    operation.apply(all)
}

fn is_nan(format: Format, x: u64) -> bool {
    matches!(Value::of(format, x), Value::Nan)
}

/// Quiet bit by format.
fn quiet(format: Format) -> u64 {
    match format {
        Format::Half => 0x200,
        Format::Single => 0x40_0000,
        Format::Double => 1 << 51,
    }
}

/// Expected result of an operation; `None` is a NaN.
fn finished(format: Format, mode: GcnMode, result: Option<u64>, operands: &[u64]) -> u64 {
    match result {
        Some(result) if mode.flush_results => flush(format, result),
        Some(result) => result,
        None => match operands.iter().find(|x| is_nan(format, **x)) {
            Some(nan) => nan | quiet(format),
            None => match format {
                Format::Half => 0xfe00,
                Format::Single => 0xffc0_0000,
                Format::Double => 0xfff8_0000_0000_0000,
            },
        },
    }
}

fn operand(format: Format, mode: GcnMode, x: u64) -> u64 {
    match mode.flush_operands {
        true => flush(format, x),
        false => x,
    }
}

/// Checks with edges and random operands.
fn each_triple(format: Format, count: usize, mut check: impl FnMut([u64; 3])) {
    let edges = specials(format);
    let mut random = Random(17);
    for &a in &edges {
        for &b in &edges {
            check([a, b, random.pattern(format)]);
        }
    }
    for _ in 0..count {
        let mut pattern = || random.pattern(format);
        check([pattern(), pattern(), pattern()]);
    }
}

#[test]
fn sums_and_products_are_rounded_and_flushed_as_the_modes_say() {
    for format in FORMATS {
        for mode in modes() {
            each_triple(format, 1000, |all| {
                let [a, b, c] = all.map(|x| operand(format, mode, x));
                let value = |x| Value::of(format, x);
                let formats = (format, format);
                let rounding = mode.rounding;
                let sum = reference::sum(format, &value(a), &value(b), rounding);
                let product = reference::fma(formats, a, b, 0, None, rounding);
                let fused = reference::fma(formats, a, b, 0, Some(c), rounding);
                let expect = |result, operands: &[u64]| finished(format, mode, result, operands);
                let got = |function, count| apply(function, format, mode, &all[..count], None);
                let at = format!("{all:x?} {format:?} {mode:?}");
                assert_eq!(got(F::Add, 2), expect(sum, &[a, b]), "add {at}");
                let product = expect(product, &[a, b]);
                assert_eq!(got(F::Mul, 2), product, "mul {at}");
                assert_eq!(got(F::Fma, 3), expect(fused, &[a, b, c]), "fma {at}");
                let product = operand(format, mode, product);
                let unfused = reference::sum(format, &value(product), &value(c), rounding);
                let unfused = expect(unfused, &[product, c]);
                assert_eq!(got(F::Mad, 3), unfused, "mad {at}");
                let is_zero = |x: u64| x << (64 - format.width() + 1) == 0;
                if is_zero(a) || is_zero(b) {
                    assert_eq!(got(F::MulLegacy, 2), 0, "mul_legacy {at}");
                } else {
                    assert_eq!(got(F::MulLegacy, 2), got(F::Mul, 2), "mul_legacy {at}");
                }
            });
        }
    }
}

/// Order of numbers that are no NaNs, -0 before +0.
fn key(format: Format, x: u64) -> i128 {
    let sign = 1i128 << (format.width() - 1);
    let x = i128::from(x);
    if x & sign != 0 { sign - 1 - x } else { x }
}

#[test]
fn minima_and_maxima_prefer_numbers_to_quiet_nans() {
    for format in FORMATS {
        each_triple(format, 5000, |all| {
            let [a, b, c] = all;
            let got =
                |function, numbers: &[u64]| apply(function, format, GcnMode::KEEP, numbers, None);
            let at = format!("{all:x?} {format:?}");
            let signalling = |x: u64| is_nan(format, x) && x & quiet(format) == 0;
            let pair = |larger: bool| {
                if signalling(a) {
                    a | quiet(format)
                } else if signalling(b) {
                    b | quiet(format)
                } else if is_nan(format, a) {
                    b
                } else {
                    let takes_first = (key(format, a) < key(format, b)) != larger;
                    match is_nan(format, b) || takes_first {
                        true => a,
                        false => b,
                    }
                }
            };
            assert_eq!(got(F::Min, &[a, b]), pair(false), "min {at}");
            assert_eq!(got(F::Max, &[a, b]), pair(true), "max {at}");
            if all.iter().all(|x| !is_nan(format, *x)) {
                let mut sorted = all;
                sorted.sort_by_key(|x| key(format, *x));
                assert_eq!(got(F::Min3, &all), sorted[0], "min3 {at}");
                assert_eq!(got(F::Med3, &all), sorted[1], "med3 {at}");
                assert_eq!(got(F::Max3, &all), sorted[2], "max3 {at}");
            } else {
                assert_eq!(got(F::Med3, &all), got(F::Min3, &all), "med3 {at}");
                assert_eq!(
                    got(F::Min3, &all),
                    got(F::Min, &[got(F::Min, &[a, b]), c]),
                    "{at}"
                );
            }
        });
    }
}

#[test]
fn clamp_keeps_zero_to_one() {
    let clamp = |x: f32| apply(F::Clamp, Format::Single, GcnMode::KEEP, &[bits(x)], None);
    for (x, expected) in [
        (0.5, 0.5),
        (-0.0, -0.0),
        (-1e-40, 0.0),
        (-3.0, 0.0),
        (1.0, 1.0),
        (1.5, 1.0),
        (f32::INFINITY, 1.0),
        (f32::NAN, 0.0),
    ] {
        assert_eq!(clamp(x), bits(expected), "{x}");
    }
    let nan = 0x7fc0_1234;
    let number = apply(F::ClampNumber, Format::Single, GcnMode::KEEP, &[nan], None);
    assert_eq!(number, nan);
}

fn bits(x: f32) -> u64 {
    x.to_bits().into()
}

/// Patterns of singles, halves and doubles of each class, by the bit of the class.
#[test]
fn each_number_has_one_class() {
    let patterns: [(Format, [u64; 10]); 3] = [
        (
            Format::Half,
            [
                0x7c01, 0xfe00, 0xfc00, 0xc000, 0x8001, 0x8000, 0, 0x3ff, 0x400, 0x7c00,
            ],
        ),
        (
            Format::Single,
            [
                0xff80_0001,
                0x7fc0_0000,
                0xff80_0000,
                0x8080_0000,
                0x807f_ffff,
                0x8000_0000,
                0,
                1,
                0x7f7f_ffff,
                0x7f80_0000,
            ],
        ),
        (
            Format::Double,
            [
                0x7ff0_0000_0000_0001,
                0xfff8_0000_0000_0000,
                0xfff0_0000_0000_0000,
                0xc000_0000_0000_0000,
                0x8000_0000_0000_0001,
                0x8000_0000_0000_0000,
                0,
                0x000f_ffff_ffff_ffff,
                0x0010_0000_0000_0000,
                0x7ff0_0000_0000_0000,
            ],
        ),
    ];
    for (format, numbers) in patterns {
        for (class, number) in numbers.into_iter().enumerate() {
            for bit in 0..10 {
                let mask = 1 << bit | 0xffff_fc00;
                let got = apply(F::Class, format, GcnMode::FLUSH, &[number], Some(mask));
                assert_eq!(got, u64::from(bit == class), "{number:x} {bit}");
            }
        }
    }
}

#[test]
fn comparisons_flush_operands_as_the_modes_say() {
    let compare = |comparison, mode, a: f32, b: f32| {
        let numbers = [bits(a), bits(b)];
        apply(F::Compare(comparison), Format::Single, mode, &numbers, None) == 1
    };
    let tiny = f32::from_bits(1);
    assert!(compare(Comparison::Gt, GcnMode::KEEP, tiny, 0.0));
    assert!(!compare(Comparison::Gt, GcnMode::FLUSH, tiny, 0.0));
    assert!(compare(Comparison::Eq, GcnMode::FLUSH, -tiny, tiny));
    assert!(compare(Comparison::Ltu, GcnMode::KEEP, f32::NAN, 1.0));
    assert!(!compare(Comparison::Ne, GcnMode::KEEP, f32::NAN, 1.0));
    let numbers = [0x8001, 0];
    let half = F::Compare(Comparison::Lt);
    assert_eq!(apply(half, Format::Half, GcnMode::KEEP, &numbers, None), 1);
}

#[test]
fn conversions_round_once() {
    for from in FORMATS {
        for to in FORMATS.into_iter().filter(|to| *to != from) {
            for mode in modes() {
                each_triple(from, 300, |[x, ..]| {
                    let got = apply(F::Convert(to), from, mode, &[x], None);
                    let expected = match Value::of(from, operand(from, mode, x)) {
                        Value::Nan => {
                            assert!(is_nan(to, got) && got & quiet(to) != 0, "{x:x}");
                            return;
                        }
                        Value::Infinite { negative } => infinity(to, negative),
                        Value::Finite { negative, number } => {
                            reference::round(to, &number, negative, mode.rounding)
                        }
                    };
                    let expected = operand(
                        to,
                        GcnMode {
                            flush_operands: mode.flush_results,
                            ..mode
                        },
                        expected,
                    );
                    assert_eq!(got, expected, "{x:x} {from:?} {to:?} {mode:?}");
                });
            }
        }
    }
}

#[test]
fn integral_numbers_and_fractions_are_the_hosts() {
    let single = |function, x: f32| {
        let got = apply(function, Format::Single, GcnMode::KEEP, &[bits(x)], None);
        f32::from_bits(got as u32)
    };
    each_triple(Format::Single, 20_000, |[x, ..]| {
        let x = f32::from_bits(x as u32);
        if x.is_nan() {
            return;
        }
        for (function, expected) in [
            (F::Trunc, x.trunc()),
            (F::Ceil, x.ceil()),
            (F::Floor, x.floor()),
            (F::RoundEven, x.round_ties_even()),
        ] {
            assert_eq!(
                single(function, x).to_bits(),
                expected.to_bits(),
                "{function:?} {x:e}"
            );
        }
        if x.is_finite() {
            let expected = (x - x.floor()).min(1.0 - f32::EPSILON / 2.0);
            assert_eq!(single(F::Fract, x).to_bits(), expected.to_bits(), "{x:e}");
        } else {
            assert!(single(F::Fract, x).is_nan());
        }
    });
    let down = GcnMode {
        rounding: Rounding::Down,
        ..GcnMode::KEEP
    };
    assert_eq!(apply(F::Fract, Format::Single, down, &[bits(3.0)], None), 0);
    let flushed = apply(F::Ceil, Format::Single, GcnMode::FLUSH, &[1], None);
    assert_eq!(flushed, 0);
}

#[test]
fn mantissas_times_powers_are_the_numbers() {
    for format in FORMATS {
        each_triple(format, 3000, |[x, power, _]| {
            let got = |function, last| apply(function, format, GcnMode::KEEP, &[x], last);
            let exponent = got(F::FrexpExponent, None) as u32;
            let mantissa = got(F::FrexpMantissa, None);
            let Value::Finite { negative, number } = Value::of(format, x) else {
                assert_eq!(exponent, 0);
                return;
            };
            let is_zero = x << (65 - format.width()) == 0;
            if is_zero {
                assert_eq!((exponent, mantissa), (0, x));
            } else {
                let Value::Finite {
                    number: fraction, ..
                } = Value::of(format, mantissa)
                else {
                    panic!("{x:x}");
                };
                let bits = fraction.n.bits() as i64 + fraction.e;
                assert_eq!(bits, 0, "{x:x}: in [0.5, 1)");
                let last = Some(exponent);
                let back = apply(F::Ldexp, format, GcnMode::KEEP, &[mantissa], last);
                assert_eq!(back, x);
            }
            let power = (power as u32 % 300).wrapping_sub(150);
            let scaled = Dyadic {
                n: number.n,
                e: number.e + i64::from(power as i32),
            };
            let expected = reference::round(format, &scaled, negative, Rounding::Nearest);
            assert_eq!(got(F::Ldexp, Some(power)), expected, "{x:x} {power}");
        });
    }
}

fn special(function: GcnFunction, x: f32) -> f32 {
    let got = apply(function, Format::Single, GcnMode::FLUSH, &[bits(x)], None);
    f32::from_bits(got as u32)
}

#[test]
fn quotients_and_roots_are_rounded_correctly() {
    each_triple(Format::Single, 20_000, |[x, ..]| {
        let x = f32::from_bits(flush(Format::Single, x) as u32);
        let flushed = |x: f32| f32::from_bits(flush(Format::Single, bits(x)) as u32);
        for (function, expected) in [(F::Rcp, flushed(1.0 / x)), (F::Sqrt, x.sqrt())] {
            let got = special(function, x);
            if expected.is_nan() {
                assert!(got.is_nan(), "{function:?} {x:e}");
            } else {
                assert_eq!(got.to_bits(), expected.to_bits(), "{function:?} {x:e}");
            }
        }
    });
    let invalid = special(F::Sqrt, -1.0);
    assert_eq!(invalid.to_bits(), 0xffc0_0000);
    assert_eq!(special(F::Rsq, 0.25), 2.0);
    let rcp = |x: f64| {
        let got = apply(F::Rcp, Format::Double, GcnMode::KEEP, &[x.to_bits()], None);
        f64::from_bits(got)
    };
    assert_eq!(rcp(3.0), 1.0 / 3.0);
    let half = |x| apply(F::Rcp, Format::Half, GcnMode::KEEP, &[x], None);
    assert_eq!([half(0x4000), half(0x8000)], [0x3800, 0xfc00]);
}

/// Within the bounds of the module's documentation, against the host's library with double precision.
#[test]
fn exponentials_logarithms_and_sines_are_close() {
    let mut random = Random(3);
    let ulp = |x: f64| {
        let x = (x as f32).abs().max(f32::MIN_POSITIVE);
        f64::from(f32::from_bits(x.to_bits() + 1)) - f64::from(x)
    };
    for _ in 0..20_000 {
        let unit = (random.bits() >> 11) as f64 / 2f64.powi(53);
        let x = ((unit - 0.5) * 250.0) as f32;
        let wide = f64::from(x);
        let exp = wide.exp2();
        let error = (f64::from(special(F::Exp, x)) - exp).abs();
        assert!(error <= 0.51 * ulp(exp), "2^{x}");
        let positive = f32::from_bits((random.bits() as u32 & 0x7f7f_ffff).max(0x80_0000));
        let log = f64::from(positive).log2();
        let error = (f64::from(special(F::Log, positive)) - log).abs();
        assert!(error <= 0.51 * ulp(log) + 1e-15, "log2 {positive:e}");
        let turns = (wide % 1.0) * std::f64::consts::TAU;
        for (function, expected) in [(F::Sin, turns.sin()), (F::Cos, turns.cos())] {
            let error = (f64::from(special(function, x)) - expected).abs();
            // The host's angle has an error of its own.
            let bound = 0.51 * ulp(expected) + 1e-15;
            assert!(error <= bound, "{function:?} {x} turns");
        }
    }
    let tiny = special(F::Sin, 1e-20);
    assert_eq!(tiny, (1e-20f32 as f64 * std::f64::consts::TAU) as f32);
    assert_eq!([special(F::Sin, 300.0), special(F::Cos, 300.0)], [0.0, 1.0]);
    assert_eq!(special(F::Log, 1.0).to_bits(), 0);
    assert_eq!(special(F::Log, 0.0), f32::NEG_INFINITY);
    assert_eq!(special(F::Exp, -127.0), 0.0);
    assert_eq!(special(F::Exp, 128.0), f32::INFINITY);
    assert!(special(F::Sin, f32::INFINITY).is_nan());
    let half = |function, x| apply(function, Format::Half, GcnMode::KEEP, &[x], None);
    assert_eq!(half(F::Exp, 0x4200), 0x4800);
    assert_eq!(half(F::Log, 0x4800), 0x4200);
    assert_eq!(half(F::Sin, 0x3400), 0x3c00);
    let quarters = [0.25, 0.5, 0.75, 1.0, -0.25];
    assert_eq!(
        quarters.map(|x| special(F::Sin, x)),
        [1.0, 0.0, -1.0, 0.0, -1.0]
    );
    assert_eq!(
        quarters.map(|x| special(F::Cos, x)),
        [0.0, -1.0, 0.0, 1.0, 0.0]
    );
}
