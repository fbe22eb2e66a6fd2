//! Half precision: against the reference, and against the crate `half`.

use ::half::f16;
use warpbound_ir::float::{Flush, Format, Rounding, convert, half};

use super::reference::{self, Random, Value, flush as flushed, specials};

const FLUSHES: [Flush; 3] = [Flush::Keep, Flush::Ftz, Flush::Fmz];

fn apply(x: u64, flush: Flush) -> u64 {
    match flush {
        Flush::Keep => x,
        _ => flushed(Format::Half, x),
    }
}

fn finished(x: Option<u64>, flush: Flush) -> u16 {
    x.map_or(0x7fff, |x| apply(x, flush) as u16)
}

fn check(a: u64, b: u64, c: u64) {
    let nearest = Rounding::Nearest;
    for flush in FLUSHES {
        let [x, y, z] = [a, b, c].map(|x| apply(x, flush));
        let at = format!("{a:04x} {b:04x} {c:04x} {flush:?}");
        let value = |x| Value::of(Format::Half, x);
        let sum = reference::sum(Format::Half, &value(x), &value(y), nearest);
        let got = half::add(a as u16, b as u16, flush);
        assert_eq!(got, finished(sum, flush), "add {at}");
        let legacy = flush == Flush::Fmz && (x << 49 == 0 || y << 49 == 0);
        let (x, y) = if legacy { (0, 0) } else { (x, y) };
        let formats = (Format::Half, Format::Half);
        let product = reference::fma(formats, x, y, 0, None, nearest);
        let got = half::mul(a as u16, b as u16, flush);
        assert_eq!(got, finished(product, flush), "mul {at}");
        let sum = reference::fma(formats, x, y, 0, Some(z), nearest);
        let got = half::fma(a as u16, b as u16, c as u16, flush);
        assert_eq!(got, finished(sum, flush), "fma {at}");
    }
}

#[test]
fn arithmetic() {
    let edges = specials(Format::Half);
    for &a in &edges {
        for &b in &edges {
            for &c in &edges {
                check(a, b, c);
            }
        }
    }
    let mut random = Random(30);
    for _ in 0..30_000 {
        let [a, b, c] = [(); 3].map(|()| random.pattern(Format::Half));
        check(a, b, c);
    }
}

#[test]
fn from_singles() {
    let mut random = Random(31);
    let formats = (Format::Single, Format::Half);
    let nearest = Rounding::Nearest;
    for _ in 0..20_000 {
        // Exponents where the results are halves.
        let [a, b, c] = [(); 3].map(|()| {
            let x = random.pattern(Format::Single);
            if random.below(4) == 0 {
                x
            } else {
                x & 0x807f_ffff | (112 + random.below(30)) << 23
            }
        });
        let value = |x| Value::of(Format::Single, x);
        let at = format!("{a:08x} {b:08x} {c:08x}");
        let sum = reference::sum(Format::Half, &value(a), &value(b), nearest);
        let got = half::add_singles(a as u32, b as u32, Flush::Keep);
        assert_eq!(got, finished(sum, Flush::Keep), "add {at}");
        let product = reference::fma(formats, a, b, 0, None, nearest);
        let got = half::mul_singles(a as u32, b as u32, Flush::Keep);
        assert_eq!(got, finished(product, Flush::Keep), "mul {at}");
        let sum = reference::fma(formats, a, b, 0, Some(c), nearest);
        let got = half::fma_singles(a as u32, b as u32, c as u32, Flush::Keep);
        assert_eq!(got, finished(sum, Flush::Keep), "fma {at}");
    }
    assert_eq!(half::mul_singles(0x7fc0_0000, 0x8000_0000, Flush::Fmz), 0);
    assert_eq!(
        half::fma_singles(0x7fc0_0000, 0, 0x3f80_0000, Flush::Fmz),
        0x3c00
    );
}

#[test]
fn conversions_as_the_crate_half() {
    let convert =
        |x, from, to| convert::float_to_float(x, from, to, Rounding::Nearest, Flush::Keep, false);
    for bits in 0..=u16::MAX {
        let x = f16::from_bits(bits);
        if x.is_nan() {
            assert_eq!(half::widen(bits), 0x7fff_ffff);
            continue;
        }
        assert_eq!(half::widen(bits), x.to_f32().to_bits());
        let single = convert(bits.into(), Format::Half, Format::Single);
        assert_eq!(single as u32, x.to_f32().to_bits());
        let double = convert(bits.into(), Format::Half, Format::Double);
        assert_eq!(double, x.to_f64().to_bits());
    }
    let mut random = Random(32);
    for _ in 0..50_000 {
        let bits = random.pattern(Format::Single);
        let near = bits & 0x807f_ffff | (100 + random.below(45)) << 23;
        for bits in [bits, near] {
            let x = f32::from_bits(bits as u32);
            if !x.is_nan() {
                let got = convert(bits, Format::Single, Format::Half);
                assert_eq!(got as u16, f16::from_f32(x).to_bits(), "{bits:x}");
                // Wider doubles are in the tests against the reference: on x86-64 the crate goes
                // through single and rounds twice.
                let wide = f64::from(x).to_bits();
                let got = convert(wide, Format::Double, Format::Half);
                assert_eq!(got as u16, f16::from_f32(x).to_bits(), "{wide:x}");
            }
        }
    }
}
