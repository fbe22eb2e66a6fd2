//! Arithmetic of a format of floats: rounding, subnormal numbers, NaNs.

use super::super::FloatKind::{self, F16, F32, F64};
use super::super::exact::{Exact, Number, Rounding};

/// Arithmetic of a format: rounding, and what happens to subnormal numbers.
#[derive(Clone, Copy)]
pub(in crate::instructions::gcn3) struct FloatMode {
    pub(in crate::instructions::gcn3) kind: FloatKind,
    pub(in crate::instructions::gcn3) rounding: Rounding,
    pub(in crate::instructions::gcn3) keeps_inputs: bool,
    pub(in crate::instructions::gcn3) keeps_results: bool,
    /// Whether signalling NaNs become quiet in minima and maxima.
    pub(in crate::instructions::gcn3) is_ieee: bool,
}

impl FloatMode {
    pub(in crate::instructions::gcn3) fn of(kind: FloatKind, mode: u32) -> FloatMode {
        let (rounding, subnormals) = match kind {
            F32 => (mode, mode >> 4),
            F16 | F64 => (mode >> 2, mode >> 6),
        };
        FloatMode {
            kind,
            rounding: Rounding::of(rounding),
            keeps_inputs: subnormals & 1 == 1,
            keeps_results: subnormals & 2 == 2,
            is_ieee: mode >> 9 & 1 == 1,
        }
    }

    /// The same without subnormal numbers.
    pub(in crate::instructions::gcn3) fn flushing(self) -> FloatMode {
        FloatMode {
            keeps_inputs: false,
            keeps_results: false,
            ..self
        }
    }

    pub(in crate::instructions::gcn3) fn input(self, bits: u64) -> Number {
        self.kind.decode(self.operand(bits))
    }

    /// The operand, or a zero in place of a subnormal one.
    pub(in crate::instructions::gcn3) fn operand(self, bits: u64) -> u64 {
        match self.keeps_inputs {
            true => bits,
            false => self.kind.flushed(bits),
        }
    }

    pub(in crate::instructions::gcn3) fn result(self, x: Exact) -> u64 {
        let rounded = self.kind.round(x, self.rounding);
        match self.keeps_results {
            true => rounded,
            false => self.kind.flushed(rounded),
        }
    }

    pub(in crate::instructions::gcn3) fn encode(self, x: Number) -> u64 {
        match x {
            Number::Nan(_) => self.kind.quiet_nan(),
            Number::Infinite(negative) => self.kind.infinity(negative),
            Number::Finite(x) => self.result(x),
        }
    }

    pub(in crate::instructions::gcn3) fn add(self, a: u64, b: u64) -> u64 {
        self.encode(plus(self.input(a), self.input(b), self.rounding))
    }

    pub(in crate::instructions::gcn3) fn mul(self, a: u64, b: u64) -> u64 {
        self.encode(times(self.input(a), self.input(b)))
    }

    pub(in crate::instructions::gcn3) fn fma(self, a: u64, b: u64, c: u64) -> u64 {
        let product = times(self.input(a), self.input(b));
        self.encode(plus(product, self.input(c), self.rounding))
    }

    /// The product is rounded before the sum; subnormal numbers are zeros throughout.
    pub(in crate::instructions::gcn3) fn mad(self, a: u64, b: u64, c: u64) -> u64 {
        let flushing = self.flushing();
        flushing.add(flushing.mul(a, b), c)
    }

    /// A zero, whatever the other factor is.
    pub(in crate::instructions::gcn3) fn mul_legacy(self, a: u64, b: u64) -> u64 {
        let is_zero = |x| matches!(self.input(x), Number::Finite(x) if x.is_zero());
        match is_zero(a) || is_zero(b) {
            true => 0,
            false => self.mul(a, b),
        }
    }

    /// The smaller or the greater number; subnormal numbers are kept on this generation.
    pub(in crate::instructions::gcn3) fn choose(self, a: u64, b: u64, is_max: bool) -> u64 {
        let nan = |x| match self.kind.decode(x) {
            Number::Nan(signals) => Some(signals),
            _ => None,
        };
        match (nan(a), nan(b)) {
            (Some(true), _) | (_, Some(true)) if self.is_ieee => self.kind.quiet_nan(),
            (Some(_), _) => b,
            (_, Some(_)) => a,
            (None, None) => match (rank(self.kind, a) > rank(self.kind, b)) == is_max {
                true => a,
                false => b,
            },
        }
    }

    pub(in crate::instructions::gcn3) fn median(self, a: u64, b: u64, c: u64) -> u64 {
        let is_nan = |x| matches!(self.kind.decode(x), Number::Nan(_));
        if is_nan(a) || is_nan(b) || is_nan(c) {
            return self.choose(self.choose(a, b, false), c, false);
        }
        let mut all = [a, b, c];
        all.sort_by_key(|&x| rank(self.kind, x));
        all[1]
    }

    /// The integer next to the number, as a float; a zero keeps the sign.
    pub(in crate::instructions::gcn3) fn integral(self, bits: u64, rounding: Rounding) -> u64 {
        match self.input(bits) {
            Number::Finite(x) => match x.to_integer(rounding) {
                Some(0) => self.kind.sign(x.negative),
                Some(value) => self.kind.round(Exact::integer(value), Rounding::Even),
                None => bits,
            },
            other => self.encode(other),
        }
    }

    /// The part above the integer below, less than 1.
    pub(in crate::instructions::gcn3) fn fraction(self, bits: u64) -> u64 {
        let Number::Finite(x) = self.input(bits) else {
            return self.kind.quiet_nan();
        };
        let below = x.to_integer(Rounding::Down).map(|n| Exact::integer(-n));
        let part = match below {
            Some(below) if !x.is_zero() => x.plus(below, self.rounding),
            _ => Exact::new(false, 0, 0),
        };
        let one = self.kind.round(Exact::new(false, 1, 0), Rounding::Even);
        match part.mantissa {
            0 => 0,
            _ => self.result(part).min(one - 1),
        }
    }

    pub(in crate::instructions::gcn3) fn scale(self, bits: u64, by: i64) -> u64 {
        match self.input(bits) {
            Number::Finite(x) => {
                let by = by.clamp(-5000, 5000) as i32;
                self.result(Exact {
                    exponent: x.exponent + by,
                    ..x
                })
            }
            other => self.encode(other),
        }
    }
}

/// Position of a number that is no NaN in their order; -0 is before +0.
pub(in crate::instructions::gcn3) fn rank(kind: FloatKind, bits: u64) -> i128 {
    let magnitude = i128::from(bits & !kind.sign(true));
    match bits & kind.sign(true) {
        0 => magnitude,
        _ => -magnitude - 1,
    }
}

pub(in crate::instructions::gcn3) fn plus(a: Number, b: Number, rounding: Rounding) -> Number {
    match (a, b) {
        (Number::Nan(_), _) | (_, Number::Nan(_)) => Number::Nan(false),
        (Number::Infinite(a), Number::Infinite(b)) if a != b => Number::Nan(false),
        (Number::Infinite(sign), _) | (_, Number::Infinite(sign)) => Number::Infinite(sign),
        (Number::Finite(a), Number::Finite(b)) => Number::Finite(a.plus(b, rounding)),
    }
}

pub(in crate::instructions::gcn3) fn times(a: Number, b: Number) -> Number {
    let negative = |x: Number| match x {
        Number::Nan(_) => false,
        Number::Infinite(sign) => sign,
        Number::Finite(x) => x.negative,
    };
    let is_zero = |x: Number| matches!(x, Number::Finite(x) if x.is_zero());
    match (a, b) {
        (Number::Nan(_), _) | (_, Number::Nan(_)) => Number::Nan(false),
        (Number::Finite(a), Number::Finite(b)) => Number::Finite(a.times(b)),
        _ if is_zero(a) || is_zero(b) => Number::Nan(false),
        _ => Number::Infinite(negative(a) != negative(b)),
    }
}

/// Limits a result to 0 to 1; NaN becomes 0 where MODE says so.
pub(in crate::instructions::gcn3) fn clamp(kind: FloatKind, bits: u64, mode: u32) -> u64 {
    let one = kind.round(Exact::new(false, 1, 0), Rounding::Even);
    match kind.decode(bits) {
        Number::Nan(_) if mode >> 8 & 1 == 1 => 0,
        Number::Nan(_) => bits,
        // -0 is not below 0, so it stays.
        _ if bits == kind.sign(true) => bits,
        _ if bits & kind.sign(true) != 0 => 0,
        _ => bits.min(one),
    }
}

pub(in crate::instructions::gcn3) fn is_nan(kind: FloatKind, bits: u64) -> bool {
    matches!(kind.decode(bits), Number::Nan(_))
}
