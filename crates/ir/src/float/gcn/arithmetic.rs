//! Sums, products, minima and maxima, comparisons, classes, conversions between formats. For example, v_mul_legacy of
//! 0 and infinity is +0, and v_mul of them a NaN.

use super::{Arithmetic, GcnMode, single};
use crate::float::exact::{self, Unpacked};
use crate::float::{Comparison, Format, Rounding};

impl Arithmetic {
    /// v_add: a + b.
    #[inline(always)]
    pub(super) fn add(self, a: u64, b: u64) -> u64 {
        let (a, b) = (self.operand(a), self.operand(b));
        let sum = match (self.format, self.mode.rounding) {
            // The common case has no branches, so that a loop over the lanes can be vectorised.
            (Format::Single, Rounding::Nearest) => {
                single_number(single::add_number(a as u32, b as u32, self.mode))
            }
            (Format::Double, Rounding::Nearest) => double(f64::from_bits(a) + f64::from_bits(b)),
            (format, rounding) => exact::add(format, format, a, b, rounding),
        };
        self.finish(sum, &[a, b])
    }

    /// v_mul: a * b.
    #[inline(always)]
    pub(super) fn mul(self, a: u64, b: u64) -> u64 {
        let (a, b) = (self.operand(a), self.operand(b));
        let product = match (self.format, self.mode.rounding) {
            (Format::Single, Rounding::Nearest) => {
                single_number(single::mul_number(a as u32, b as u32, self.mode))
            }
            (Format::Double, Rounding::Nearest) => double(f64::from_bits(a) * f64::from_bits(b)),
            (format, rounding) => exact::mul(format, format, a, b, 0, rounding),
        };
        self.finish(product, &[a, b])
    }

    /// v_mul_legacy: a * b, or +0 with a zero factor.
    pub(super) fn mul_legacy(self, a: u64, b: u64) -> u64 {
        match self.is_zero(self.operand(a)) || self.is_zero(self.operand(b)) {
            true => 0,
            false => self.mul(a, b),
        }
    }

    /// v_fma: a * b + c, rounded once.
    #[inline(always)]
    pub(super) fn fma(self, operands: [u64; 3]) -> u64 {
        let operands = operands.map(|x| self.operand(x));
        let sum = match (self.format, self.mode.rounding) {
            (Format::Single, Rounding::Nearest) => {
                let [a, b, c] = operands.map(|x| x as u32);
                single_number(single::fma_number(a, b, c, self.mode))
            }
            (format, rounding) => exact::fma(format, format, operands, rounding),
        };
        self.finish(sum, &operands)
    }

    /// Result of an operation; `None` stands for a NaN.
    #[inline(always)]
    pub(super) fn finish(self, result: Option<u64>, operands: &[u64]) -> u64 {
        match result {
            Some(result) => self.result(result),
            None => self.nan_of(operands),
        }
    }

    /// v_min. Subnormal numbers are treated as the modes say. For single precision these must be [`GcnMode::KEEP`],
    /// because minima and maxima of GCN3 do not flush (LLVM, `supportsMinMaxDenormModes`).
    pub(super) fn min(self, a: u64, b: u64) -> u64 {
        self.choose(a, b, |a, b| a < b)
    }

    /// v_max, as [`Arithmetic::min`].
    pub(super) fn max(self, a: u64, b: u64) -> u64 {
        self.choose(a, b, |a, b| a > b)
    }

    fn choose(self, a: u64, b: u64, first: impl Fn(i64, i64) -> bool) -> u64 {
        let (a, b) = (self.operand(a), self.operand(b));
        // With the bit IEEE set, a signalling NaN is the result even if the other operand is a number.
        if self.is_signalling(a) || self.is_signalling(b) {
            let nan = if self.is_signalling(a) { a } else { b };
            return nan | self.quiet_bit();
        }
        match (self.format.is_nan(a), self.format.is_nan(b)) {
            (true, _) => b,
            (false, true) => a,
            (false, false) => match first(self.order(a), self.order(b)) {
                true => self.result(a),
                false => self.result(b),
            },
        }
    }

    /// Integer in the order of the numbers, -0 before +0.
    fn order(self, x: u64) -> i64 {
        let magnitude = self.magnitude(x) as i64;
        match self.is_negative(x) {
            // -0 has the magnitude 0 and becomes -1, so it comes before +0.
            true => !magnitude,
            false => magnitude,
        }
    }

    /// v_med3.
    pub(super) fn median(self, [a, b, c]: [u64; 3]) -> u64 {
        if [a, b, c].iter().any(|x| self.format.is_nan(*x)) {
            // Hardware returns the minimum here (GCN3 manual, V_MED3_F32).
            return self.min(self.min(a, b), c);
        }
        let (low, high) = (self.min(a, b), self.max(a, b));
        self.max(low, self.min(high, c))
    }

    /// Output modifier `clamp`.
    pub(super) fn clamp(self, x: u64, clamps_nan: bool) -> u64 {
        match self.format.is_nan(x) {
            true if clamps_nan => 0,
            true => x,
            false if self.is_negative(x) && !self.is_zero(x) => 0,
            false if !self.is_negative(x) && x > self.format.one() => self.format.one(),
            false => x,
        }
    }

    /// v_cmp_class.
    pub(super) fn is_of_class(self, x: u64, mask: u32) -> bool {
        let bit = if self.format.is_nan(x) {
            u32::from(!self.is_signalling(x))
        } else {
            let kind = match self.exponent(x) {
                // The bits of the mask are symmetric: negative classes ascend from 2, positive ones descend from 9.
                _ if self.is_infinite(x) => 0,
                _ if self.is_zero(x) => 3,
                0 => 2,
                _ => 1,
            };
            match self.is_negative(x) {
                true => 2 + kind,
                false => 9 - kind,
            }
        };
        mask >> bit & 1 != 0
    }

    /// v_cmp: subnormal operands count as zeros where the modes flush operands (assumption).
    pub(super) fn compare(self, comparison: Comparison, a: u64, b: u64) -> bool {
        let (a, b) = (self.operand(a), self.operand(b));
        let number = |x: u64| match self.format {
            Format::Half => f64::from(f32::from_bits(crate::float::half::widen(x as u16))),
            Format::Single => f64::from(f32::from_bits(x as u32)),
            Format::Double => f64::from_bits(x),
        };
        comparison.holds(number(a), number(b))
    }

    /// v_cvt between formats. Sign and leading bits of a NaN remain, and it becomes quiet (assumption). The modes
    /// state the rounding; whether results are flushed is judged in the new format.
    pub(super) fn convert(self, to: Format, x: u64) -> u64 {
        let x = self.operand(x);
        let target = Arithmetic {
            format: to,
            mode: GcnMode {
                // The operand is flushed already, in its own format.
                flush_operands: false,
                ..self.mode
            },
        };
        match self.unpack(x) {
            Unpacked::Nan => {
                let payload = self.magnitude(x) & !self.format.infinity();
                let (from, into) = (self.format.fraction(), to.fraction());
                let payload = match into >= from {
                    true => payload << (into - from),
                    false => payload >> (from - into),
                };
                let sign = if self.is_negative(x) { to.sign() } else { 0 };
                sign | to.infinity() | target.quiet_bit() | payload
            }
            Unpacked::Infinite(negative) => target.infinity(negative),
            Unpacked::Finite(number) => target.round(number),
        }
    }
}

fn single_number(x: u32) -> Option<u64> {
    (!single::is_nan(x)).then(|| x.into())
}

fn double(x: f64) -> Option<u64> {
    (!x.is_nan()).then(|| x.to_bits())
}
