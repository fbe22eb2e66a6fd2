//! Integral numbers, fractions, exponents and mantissas. For example, v_frexp_exp of 6 is 3 and v_frexp_mant is 0.75,
//! because 6 = 0.75 * 2^3.

use super::{Arithmetic, GcnFunction};
use crate::float::convert::{self, IntegralRounding};
use crate::float::exact::{self, Exact, Unpacked};
use crate::float::{Flush, Format};

impl Arithmetic {
    /// v_rndne, v_trunc, v_ceil, v_floor. Zeros keep the sign of the operand.
    pub(super) fn integral(self, function: GcnFunction, x: u64) -> u64 {
        let x = self.operand(x);
        let rounding = match function {
            GcnFunction::Trunc => IntegralRounding::Trunc,
            GcnFunction::Ceil => IntegralRounding::Ceil,
            GcnFunction::Floor => IntegralRounding::Floor,
            _ => IntegralRounding::Nearest,
        };
        match self.format.is_nan(x) {
            true => self.nan_of(&[x]),
            false => convert::float_to_integral(x, self.format, rounding, Flush::Keep, false),
        }
    }

    /// v_fract: a - floor a, at most the largest number below 1 (LLVM, `amdgcn_fract`). Infinities and NaNs give a
    /// NaN with the sign of the operand (CLRX documentation).
    pub(super) fn fract(self, x: u64) -> u64 {
        let x = self.operand(x);
        if self.format.is_nan(x) {
            return self.nan_of(&[x]);
        }
        if self.is_infinite(x) {
            return x | self.quiet_bit();
        }
        let floor = self.integral(GcnFunction::Floor, x) ^ self.format.sign();
        let format = self.format;
        let fraction = exact::add(format, format, x, floor, self.mode.rounding);
        let fraction = self.result(fraction.unwrap_or_default());
        match self.is_zero(fraction) {
            true => 0,
            // The exact fraction of a small negative number may round to 1.
            false => fraction.min(self.format.one() - 1),
        }
    }

    /// Exponent e of a finite number m * 2^e with |m| in [0.5, 1); `None` for zeros, infinities and NaNs.
    fn binary_exponent(self, x: u64) -> Option<i32> {
        match self.unpack(x) {
            Unpacked::Finite(Exact {
                exponent,
                significand,
                ..
            }) if significand != 0 => Some(exponent + 128 - significand.leading_zeros() as i32),
            _ => None,
        }
    }

    /// v_frexp_exp.
    pub(super) fn frexp_exponent(self, x: u64) -> u32 {
        let exponent = self.binary_exponent(self.operand(x)).unwrap_or(0) as u32;
        match self.format {
            // The result for halves has 16 bits, in the low half of the word.
            Format::Half => exponent & 0xffff,
            Format::Single | Format::Double => exponent,
        }
    }

    /// v_frexp_mant.
    pub(super) fn frexp_mantissa(self, x: u64) -> u64 {
        let x = self.operand(x);
        match (self.binary_exponent(x), self.unpack(x)) {
            (Some(exponent), Unpacked::Finite(number)) => self.round(Exact {
                exponent: number.exponent - exponent,
                ..number
            }),
            (_, Unpacked::Nan) => self.nan_of(&[x]),
            _ => x,
        }
    }

    /// v_ldexp, rounded once.
    pub(super) fn ldexp(self, x: u64, power: u32) -> u64 {
        // Every number becomes zero or infinite by a larger change, and the exponent must not overflow.
        const MOST: i32 = 5000;
        let power = match self.format {
            Format::Half => i32::from(power as i16),
            Format::Single | Format::Double => power as i32,
        };
        self.scaled(self.operand(x), power.clamp(-MOST, MOST))
    }

    /// x * 2^power, rounded once.
    pub(super) fn scaled(self, x: u64, power: i32) -> u64 {
        match self.unpack(x) {
            Unpacked::Finite(number) => self.round(Exact {
                exponent: number.exponent + power,
                ..number
            }),
            Unpacked::Infinite(_) => x,
            Unpacked::Nan => self.nan_of(&[x]),
        }
    }
}
