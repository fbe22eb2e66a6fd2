//! Division as compilers write it for GCN3: v_div_scale, v_rcp, v_fma, v_div_fmas, v_div_fixup give the quotient of IEEE
//! 754.

use warpbound_ir::float::gcn::{GcnFunction as F, GcnMode};
use warpbound_ir::float::{Format, Rounding};

use super::gcn::apply;
use super::reference::{self, Dyadic, Random, Value, flush, infinity, specials};

/// Modes of the steps between v_div_scale and v_div_fmas, and of the others.
#[derive(Clone, Copy)]
struct Division {
    format: Format,
    outer: GcnMode,
    inner: GcnMode,
}

impl Division {
    fn of(self, a: u64, b: u64) -> u64 {
        let outer =
            |function, numbers: &[u64]| apply(function, self.format, self.outer, numbers, None);
        let negated = |x: u64| x ^ 1 << (self.format.width() - 1);
        let fma = |a, b, c| apply(F::Fma, self.format, self.inner, &[a, b, c], None);
        let mul = |a, b| apply(F::Mul, self.format, self.inner, &[a, b], None);
        let denominator = outer(F::DivScale, &[b, b, a]);
        let numerator = outer(F::DivScale, &[a, b, a]);
        let flag = outer(F::DivScaleFlag, &[a, b, a]) == 1;
        assert_eq!(flag, outer(F::DivScaleFlag, &[b, b, a]) == 1);
        let minus = negated(denominator);
        let one = reference::round(
            self.format,
            &Dyadic { n: 1.into(), e: 0 },
            false,
            Rounding::Nearest,
        );
        let mode = match self.format {
            Format::Single => GcnMode::FLUSH,
            _ => self.outer,
        };
        let mut inverse = apply(F::Rcp, self.format, mode, &[denominator], None);
        let steps = if self.format == Format::Double { 2 } else { 1 };
        for _ in 0..steps {
            let error = fma(minus, inverse, one);
            inverse = fma(error, inverse, inverse);
        }
        let mut quotient = mul(numerator, inverse);
        if self.format == Format::Single {
            let rest = fma(minus, quotient, numerator);
            quotient = fma(rest, inverse, quotient);
        }
        let rest = fma(minus, quotient, numerator);
        let function = if flag { F::DivFmasScaled } else { F::Fma };
        let sum = outer(function, &[rest, inverse, quotient]);
        outer(F::DivFixup, &[sum, b, a])
    }

    /// Quotient of IEEE 754 by long division; `None` is a NaN.
    fn expected(self, a: u64, b: u64) -> Option<u64> {
        let flushed = |x| match self.outer.flush_operands {
            true => flush(self.format, x),
            false => x,
        };
        let [a, b] = [a, b].map(|x| Value::of(self.format, flushed(x)));
        let negative = a.negative() != b.negative();
        let is_zero = |x: &Dyadic| x.n == 0.into();
        let quotient = match (&a, &b) {
            (Value::Nan, _) | (_, Value::Nan) => return None,
            (Value::Infinite { .. }, Value::Infinite { .. }) => return None,
            (Value::Infinite { .. }, _) => infinity(self.format, negative),
            (_, Value::Infinite { .. }) => flushed_zero(self.format, negative),
            (Value::Finite { number: a, .. }, Value::Finite { number: b, .. }) => {
                match (is_zero(a), is_zero(b)) {
                    (true, true) => return None,
                    (false, true) => infinity(self.format, negative),
                    _ => {
                        // Bits below the quotient's last, and one that stands for the rest.
                        let shifted = &a.n << 200usize;
                        let whole = &shifted / &b.n;
                        let is_exact = &whole * &b.n == shifted;
                        let sticky = if is_exact { 0 } else { 1 };
                        let sign = if negative { -1 } else { 1 };
                        let number = Dyadic {
                            n: whole * 2 + sticky * sign,
                            e: a.e - b.e - 201,
                        };
                        let nearest = Rounding::Nearest;
                        reference::round(self.format, &number, negative, nearest)
                    }
                }
            }
        };
        Some(match self.outer.flush_results {
            true => flush(self.format, quotient),
            false => quotient,
        })
    }

    /// Whether the last remainder is no subnormal number that v_div_fmas flushes: it has up to 49 bits less than the
    /// numerator.
    fn has_exact_rest(self, a: u64) -> bool {
        !self.outer.flush_operands || a >> 23 & 0xff > 49
    }

    fn check(self, a: u64, b: u64) {
        let got = self.of(a, b);
        match self.expected(a, b) {
            Some(expected) if self.has_exact_rest(a) => {
                assert_eq!(got, expected, "{a:x} / {b:x}, {:?}", self.outer);
            }
            Some(expected) => assert!(got.abs_diff(expected) <= 1, "{a:x} / {b:x}"),
            None => assert!(
                matches!(Value::of(self.format, got), Value::Nan),
                "{a:x} / {b:x}"
            ),
        }
    }
}

fn flushed_zero(format: Format, negative: bool) -> u64 {
    u64::from(negative) << (format.width() - 1)
}

fn check(format: Format, outer: GcnMode) {
    let division = Division {
        format,
        outer,
        inner: GcnMode::KEEP,
    };
    let edges = specials(format);
    for &a in &edges {
        for &b in &edges {
            division.check(a, b);
        }
    }
    let mut random = Random(7);
    for _ in 0..50_000 {
        division.check(random.pattern(format), random.pattern(format));
    }
}

#[test]
fn singles_with_subnormal_numbers() {
    check(Format::Single, GcnMode::KEEP);
}

/// MODE keeps subnormal numbers only between v_div_scale and v_div_fmas.
#[test]
fn singles_without_subnormal_numbers() {
    check(Format::Single, GcnMode::FLUSH);
}

#[test]
fn doubles() {
    check(Format::Double, GcnMode::KEEP);
}
