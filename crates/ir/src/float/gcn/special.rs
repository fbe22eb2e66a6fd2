//! Transcendental functions.
//!
//! AMD publishes error bounds, not the bits. The functions here are rounded correctly to nearest with the exceptions in the
//! table, so they differ from a chip in the last bits, both within the published bound (GCN3 manual).
//!
//! | function | hardware, as published | here |
//! |---|---|---|
//! | v_rcp, v_rsq, v_sqrt of halves and singles | 1 ulp | correctly rounded |
//! | v_rcp, v_rsq, v_sqrt of doubles | 2^29 ulp | correctly rounded; v_rsq 1 ulp |
//! | v_log | 1 ulp | 0.5 + 2^-33 ulp |
//! | v_exp | 1 ulp | 0.5 + 2^-33 ulp |
//! | v_sin, v_cos | none; the operand within 256 turns | absolute 2^-22 |
//!
//! Singles are flushed whatever the modes are ([`super::GcnMode::FLUSH`]; CLRX documentation).

use super::{Arithmetic, GcnFunction};
use crate::float::exact::{Exact, Unpacked};
use crate::float::{Format, Rounding, fixed, half, special};

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
            GcnFunction::Sin => self.sin(number),
            GcnFunction::Cos => self.cos(number),
            _ => self.narrowed(1.0 / number),
        }
    }

    /// Rounds a double to the format, to nearest. Quotients and roots rounded to 53 bits and then to 24 or 11 are rounded as
    /// if once (Figueroa, "When is double rounding innocuous?", 1995).
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
        if x > LARGEST {
            return self.infinity(false);
        }
        if x < -LARGEST {
            return 0;
        }
        // The shift rounds down: the fraction is in [0, 1) for either sign.
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
        // Normal singles hold halves and the singles that are left.
        match Unpacked::unpack(Format::Single, (x as f32).to_bits().into()) {
            Unpacked::Finite(x) => self.nearest(fixed::logarithm(x.exponent, x.significand as u32)),
            _ => self.infinity(false),
        }
    }

    fn sin(self, turns: f64) -> u64 {
        // Below, the third power of the angle is enough.
        const SMALL: f64 = 1.0 / 4096.0;
        if turns.abs() < SMALL {
            let angle = turns * std::f64::consts::TAU;
            return self.narrowed(angle - angle * angle * angle / 6.0);
        }
        match reduced(turns) {
            Ok(angle) => self.of_single(special::sin(angle)),
            Err(true) => self.invalid(),
            Err(false) => 0,
        }
    }

    fn cos(self, turns: f64) -> u64 {
        match reduced(turns) {
            Ok(angle) => self.of_single(special::cos(angle)),
            Err(true) => self.invalid(),
            Err(false) => self.format.one(),
        }
    }

    fn of_single(self, x: u32) -> u64 {
        self.narrowed(f32::from_bits(x).into())
    }
}

/// Angle in turns in the form of [`special::reduce_angle`]: sign, quarter turns and their fraction. For others, whether they
/// are infinite; if not, they are out of the domain.
fn reduced(turns: f64) -> Result<u32, bool> {
    const DOMAIN: f64 = 256.0;
    if turns.is_infinite() || turns.abs() > DOMAIN {
        return Err(turns.is_infinite());
    }
    let units = (turns.abs() * 4.0 * f64::from(fixed::QUARTER)) as u64;
    let sign = u32::from(turns.is_sign_negative()) << 31;
    Ok(sign | units as u32 & (4 * fixed::QUARTER - 1))
}
