//! Steps of division that keep it away from overflow and underflow: v_div_scale, v_div_fmas, v_div_fixup.
//!
//! Source: GCN3 manual. If the denominator is large and the quotient subnormal, the manual scales the denominator up,
//! out of the range. Here it is scaled down, because only then does the sequence of compilers compute a quotient.
//!
//! For example, 1 / 2^127 has a denominator whose reciprocal is subnormal. v_div_scale multiplies it by 2^-64, the
//! steps between compute with normal numbers, and v_div_fmas scales the result back.

use super::Arithmetic;
use crate::float::Format;
use crate::float::exact::{self, Unpacked};

impl Arithmetic {
    /// Exponent of the power of two by which operands are scaled.
    fn step(self) -> i32 {
        match self.format {
            Format::Double => 128,
            Format::Half | Format::Single => 64,
        }
    }

    /// v_div_scale: the scaled operand a, which is the denominator b or the numerator c, and the flag.
    pub(super) fn div_scale(self, operands: [u64; 3]) -> (u64, bool) {
        let [a, b, c] = operands.map(|x| self.operand(x));
        let (gap, tiny) = match self.format {
            Format::Double => (768, 53),
            Format::Half | Format::Single => (96, 23),
        };
        let step = self.step();
        // The instruction is executed once for each operand of the division, and must know which one it scales.
        let is_denominator = a == b;
        if self.is_zero(b) || self.is_zero(c) {
            return (self.invalid(), false);
        }
        let is_large = self.is_subnormal_quotient(self.format.one(), b);
        let is_small_quotient = self.is_subnormal_quotient(c, b);
        let (power, flag) = if self.exponent(c) - self.exponent(b) >= gap {
            (if is_denominator { step } else { 0 }, true)
        } else if self.exponent(b) == 0 {
            (step, false)
        } else if is_large && is_small_quotient {
            (if is_denominator { -step } else { 0 }, true)
        } else if is_large {
            (-step, false)
        } else if is_small_quotient {
            (if is_denominator { 0 } else { step }, true)
        } else if self.exponent(c) <= tiny {
            (step, false)
        } else {
            (0, false)
        };
        let scaled = if power == 0 { a } else { self.scaled(a, power) };
        (scaled, flag)
    }

    /// Whether the exact quotient of two finite numbers other than 0 is below the normal numbers. False for other
    /// operands.
    fn is_subnormal_quotient(self, a: u64, b: u64) -> bool {
        let (Unpacked::Finite(a), Unpacked::Finite(b)) = (self.unpack(a), self.unpack(b)) else {
            return false;
        };
        // a / b < 2^lowest. The significands have at most 53 bits and are shifted so that their leading bits
        // coincide.
        let (up_a, up_b) = (a.significand.leading_zeros(), b.significand.leading_zeros());
        let exponent = (a.exponent - up_a as i32) - (b.exponent - up_b as i32);
        let is_below_one = a.significand << up_a < b.significand << up_b;
        exponent - i32::from(is_below_one) < self.format.lowest()
    }

    /// v_div_fmas with the flag set: the sum times 2^64 (double: 2^128), or divided by it if the addend is below 2
    /// (CLRX documentation), rounded once.
    pub(super) fn div_fmas_scaled(self, operands: [u64; 3]) -> u64 {
        let operands = operands.map(|x| self.operand(x));
        let two = self.format.one() + (1 << self.format.fraction());
        let scale = match self.magnitude(operands[2]) >= two {
            true => self.step(),
            false => -self.step(),
        };
        let sum = exact::scaled_fma(self.format, operands, scale, self.mode.rounding);
        self.finish(sum, &operands)
    }

    /// v_div_fixup: the quotient c / b from its approximation a. Only for rounding to nearest.
    pub(super) fn div_fixup(self, operands: [u64; 3]) -> u64 {
        let [a, b, c] = operands.map(|x| self.operand(x));
        let is_negative = self.is_negative(b) != self.is_negative(c);
        let signed = |x: u64| match is_negative {
            true => x | self.format.sign(),
            false => x,
        };
        if self.format.is_nan(b) || self.format.is_nan(c) {
            return self.nan_of(&[c, b]);
        }
        let both = |holds: fn(Arithmetic, u64) -> bool| holds(self, b) && holds(self, c);
        if both(Arithmetic::is_zero) || both(Arithmetic::is_infinite) {
            return self.invalid();
        }
        if self.is_zero(b) || self.is_infinite(c) {
            return signed(self.format.infinity());
        }
        if self.is_infinite(b) || self.is_zero(c) {
            return signed(0);
        }
        let lowest = match self.format {
            Format::Half => i32::MIN,
            Format::Single => -150,
            Format::Double => -1075,
        };
        // Below half of the smallest subnormal number the quotient rounds to zero.
        if self.exponent(c) - self.exponent(b) < lowest {
            return signed(0);
        }
        match self.format.is_nan(a) {
            true => signed(self.format.infinity()),
            false => self.result(signed(self.magnitude(a))),
        }
    }
}
