//! Transcendental functions.
//!
//! AMD publishes error bounds, not the bits. The functions here are rounded correctly to nearest, with the exceptions
//! in the table. They differ from a chip in the last bits; both are within the published bound (GCN3 manual). For
//! example, v_sin of 0.25 is 1, because the operand counts turns.
//!
//! | function | hardware, as published | here |
//! |---|---|---|
//! | v_rcp, v_rsq, v_sqrt of halves and singles | 1 ulp | correctly rounded |
//! | v_rcp, v_rsq, v_sqrt of doubles | 2^29 ulp | correctly rounded; v_rsq 1 ulp |
//! | v_log | 1 ulp | 0.5 + 2^-33 ulp |
//! | v_exp | 1 ulp | 0.5 + 2^-33 ulp |
//! | v_sin, v_cos | none; the operand within 256 turns | 0.51 ulp |
//!
//! Singles are flushed in all modes ([`super::GcnMode::FLUSH`]; CLRX documentation).

use super::{Arithmetic, GcnFunction};
use crate::float::exact::{Exact, Unpacked};
use crate::float::{Format, Rounding, fixed, half};

impl Arithmetic {
    /// One of the functions v_rcp to v_cos.
    pub(super) fn special(self, function: GcnFunction, x: u64) -> u64 {
        let x = self.operand(x);
        if self.format.is_nan(x) {
            return self.nan_of(&[x]);
        }
        let number = match self.format {
            Format::Half => f64::from(f32::from_bits(half::widen(x as u16))),
            Format::Single => f64::from(f32::from_bits(x as u32)),
            Format::Double => f64::from_bits(x),
        };
        match function {
            GcnFunction::Rsq => self.narrowed(1.0 / number.sqrt()),
            GcnFunction::Sqrt => self.narrowed(number.sqrt()),
            GcnFunction::Exp => self.exp(number),
            GcnFunction::Log => self.log(number),
            GcnFunction::Sin => self.sine(number, 0),
            GcnFunction::Cos => self.sine(number, 1),
            _ => self.narrowed(1.0 / number),
        }
    }

    /// Rounds a double to the format, to nearest. Quotients and roots that are rounded to 53 bits and then to 24 or
    /// 11 bits give the same as one rounding (Figueroa, "When is double rounding innocuous?", 1995).
    fn narrowed(self, x: f64) -> u64 {
        match Unpacked::unpack(Format::Double, x.to_bits()) {
            Unpacked::Nan => self.invalid(),
            Unpacked::Infinite(negative) => self.infinity(negative),
            Unpacked::Finite(number) => self.nearest(number),
        }
    }

    fn nearest(self, x: Exact) -> u64 {
        self.result(x.round(self.format, Rounding::Nearest))
    }

    fn exp(self, x: f64) -> u64 {
        const LARGEST: f64 = 200.0;
        // The result leaves the range of a single far earlier; the limit keeps the fixed-point number in range.
        if x > LARGEST {
            return self.infinity(false);
        }
        if x < -LARGEST {
            return 0;
        }
        // Rounding down gives a fraction in [0, 1) for either sign.
        let fixed_point = (x * 2f64.powi(64)).floor() as i128;
        self.nearest(Exact {
            negative: false,
            exponent: (fixed_point >> 64) as i32 - 64,
            significand: (1 << 64) + u128::from(fixed::power_of_two(fixed_point as u64)),
        })
    }

    fn log(self, x: f64) -> u64 {
        if x == 0.0 {
            return self.infinity(true);
        }
        if x < 0.0 {
            return self.invalid();
        }
        // Halves, and singles that are not flushed, are normal singles or become so without loss.
        match Unpacked::unpack(Format::Single, (x as f32).to_bits().into()) {
            Unpacked::Finite(x) => self.nearest(fixed::logarithm(x.exponent, x.significand as u32)),
            _ => self.infinity(false),
        }
    }

    /// Sine of a number of turns, plus quarter turns; 0 or 1 outside the domain.
    fn sine(self, turns: f64, quarters: i32) -> u64 {
        const DOMAIN: f64 = 256.0;
        if turns.is_infinite() {
            return self.invalid();
        }
        if turns.abs() > DOMAIN {
            return if quarters == 0 { 0 } else { self.format.one() };
        }
        if turns == 0.0 && quarters == 0 {
            return self.narrowed(turns);
        }
        // The reduction is exact: in the domain, a single is a multiple of a quarter turn plus a part of at most an
        // eighth.
        let nearest = (turns * 4.0).round_ties_even();
        let angle = (turns - nearest / 4.0) * std::f64::consts::TAU;
        let square = angle * angle;
        // Taylor series up to terms below 2^-54.
        let series = |first: u32| {
            let terms = (0..9).rev().map(|number| f64::from(first + 2 * number));
            terms.fold(0.0, |inner, k| (1.0 - inner) * square / (k * (k + 1.0)))
        };
        let quadrant = (nearest as i32 + quarters) & 3;
        let value = match quadrant & 1 {
            0 => angle * (1.0 - series(2)),
            _ => 1.0 - series(1),
        };
        self.narrowed(if quadrant < 2 { value } else { -value })
    }
}
