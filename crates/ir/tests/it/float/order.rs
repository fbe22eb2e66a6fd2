//! Minimum, maximum, comparisons, saturation.

use std::cmp::Ordering;

use warpbound_ir::float::{Comparison, Flush, Format, double, half, single};

use super::reference::{Random, Value, flush, specials};

/// `None` if unordered; zeros are equal.
fn order(format: Format, a: u64, b: u64) -> Option<Ordering> {
    Some(match (Value::of(format, a), Value::of(format, b)) {
        (Value::Nan, _) | (_, Value::Nan) => return None,
        (Value::Finite { number: x, .. }, Value::Finite { number: y, .. }) => x.compare(&y),
        (Value::Infinite { negative: x }, Value::Infinite { negative: y }) => y.cmp(&x),
        (Value::Infinite { negative: true }, _) | (_, Value::Infinite { negative: false }) => {
            Ordering::Less
        }
        _ => Ordering::Greater,
    })
}

/// By the spelling of the condition.
fn holds(comparison: Comparison, order: Option<Ordering>) -> bool {
    let name = format!("{comparison:?}").to_lowercase();
    match name.as_str() {
        "f" => return false,
        "t" => return true,
        "num" => return order.is_some(),
        "nan" => return order.is_none(),
        _ => {}
    }
    let Some(order) = order else {
        return name.ends_with('u');
    };
    match name.trim_end_matches('u') {
        "lt" => order == Ordering::Less,
        "eq" => order == Ordering::Equal,
        "le" => order != Ordering::Greater,
        "gt" => order == Ordering::Greater,
        "ne" => order != Ordering::Equal,
        "ge" => order != Ordering::Less,
        _ => unreachable!("{name}"),
    }
}

fn pairs(format: Format, seed: u64) -> Vec<(u64, u64)> {
    let edges = specials(format);
    let mut pairs = Vec::new();
    for &a in &edges {
        pairs.extend(edges.iter().map(|b| (a, *b)));
    }
    let mut random = Random(seed);
    for _ in 0..10_000 {
        let a = random.pattern(format);
        let b = match random.below(4) {
            0 => a,
            1 => a ^ 1 << (format.width() - 1),
            _ => random.pattern(format),
        };
        pairs.push((a, b));
    }
    pairs
}

#[test]
fn comparisons() {
    for (a, b) in pairs(Format::Single, 10) {
        for (flushing, x, y) in [
            (Flush::Keep, a, b),
            (
                Flush::Ftz,
                flush(Format::Single, a),
                flush(Format::Single, b),
            ),
        ] {
            let order = order(Format::Single, x, y);
            for comparison in Comparison::ALL {
                let got = single::compare(comparison, a as u32, b as u32, flushing);
                assert_eq!(got, holds(comparison, order), "{comparison:?} {a:x} {b:x}");
            }
        }
    }
    for (a, b) in pairs(Format::Double, 11) {
        let order = order(Format::Double, a, b);
        for comparison in Comparison::ALL {
            let got = double::compare(comparison, a, b);
            assert_eq!(got, holds(comparison, order), "{comparison:?} {a:x} {b:x}");
        }
    }
    for (a, b) in pairs(Format::Half, 12) {
        for (flushing, x, y) in [
            (Flush::Keep, a, b),
            (Flush::Ftz, flush(Format::Half, a), flush(Format::Half, b)),
        ] {
            let order = order(Format::Half, x, y);
            for comparison in Comparison::ALL {
                let got = half::compare(comparison, a as u16, b as u16, flushing);
                assert_eq!(got, holds(comparison, order), "{comparison:?} {a:x} {b:x}");
            }
        }
    }
}

/// Minimum and maximum unless both are NaNs; `sign` distinguishes -0 from +0.
fn extremes(format: Format, a: u64, b: u64) -> Option<(u64, u64)> {
    let nan = |x| matches!(Value::of(format, x), Value::Nan);
    let negative = |x| Value::of(format, x).negative();
    match (nan(a), nan(b)) {
        (true, true) => None,
        (true, false) => Some((b, b)),
        (false, true) => Some((a, a)),
        (false, false) => {
            let order = order(format, a, b)?;
            let a_first = order == Ordering::Less || (order == Ordering::Equal && negative(a));
            Some(if a_first { (a, b) } else { (b, a) })
        }
    }
}

#[test]
fn minimum_and_maximum() {
    for (a, b) in pairs(Format::Single, 13) {
        for flushing in [Flush::Keep, Flush::Ftz] {
            let apply = |x| match flushing {
                Flush::Keep => x,
                _ => flush(Format::Single, x),
            };
            let nan = single::NAN.into();
            let (least, greatest) =
                extremes(Format::Single, apply(a), apply(b)).unwrap_or((nan, nan));
            let got = single::min(a as u32, b as u32, flushing);
            assert_eq!(u64::from(got), least, "min {a:x} {b:x}");
            let got = single::max(a as u32, b as u32, flushing);
            assert_eq!(u64::from(got), greatest, "max {a:x} {b:x}");
        }
    }
    for (a, b) in pairs(Format::Double, 14) {
        let nan = a | 1 << 51;
        let (least, greatest) = extremes(Format::Double, a, b).unwrap_or((nan, nan));
        assert_eq!(double::min(a, b), least, "min {a:x} {b:x}");
        assert_eq!(double::max(a, b), greatest, "max {a:x} {b:x}");
    }
}

#[test]
fn saturation() {
    for (a, _) in pairs(Format::Single, 15) {
        let x = f32::from_bits(a as u32);
        let expected = if x > 0.0 { x.min(1.0) } else { 0.0 };
        assert_eq!(single::saturated(a as u32), expected.to_bits(), "{a:x}");
    }
    for a in 0..=u16::MAX {
        let x = ::half::f16::from_bits(a).to_f32();
        let expected = if x > 0.0 { x.min(1.0) } else { 0.0 };
        assert_eq!(single::saturated(half::widen(a)), expected.to_bits());
        let expected = ::half::f16::from_f32(expected).to_bits();
        assert_eq!(half::saturated(a), expected, "{a:x}");
    }
}

#[test]
fn signs() {
    for x in [0, 1, 0x8000_0000, 0x7fc0_0001, 0xffff_ffff, 0x3f80_0000u32] {
        assert_eq!(single::absolute(x), x & 0x7fff_ffff);
        assert_eq!(single::negate(x), x ^ 0x8000_0000);
        let wide = u64::from(x) << 32 | 7;
        assert_eq!(double::absolute(wide) >> 32, u64::from(x & 0x7fff_ffff));
        assert_eq!(double::negate(wide) >> 32, u64::from(x ^ 0x8000_0000));
        let short = (x >> 16) as u16;
        assert_eq!(half::absolute(short), short & 0x7fff);
        assert_eq!(half::negate(short), short ^ 0x8000);
    }
}
