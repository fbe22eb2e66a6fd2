//! Conversions: F2F, F2I, I2F. For example, F2I.S32.F32.TRUNC maps 2.9 to 2, 3e9 to 2147483647, and a NaN to 0.

use super::exact::{self, Exact, Unpacked};
use super::{Flush, Format, Rounding};

/// Rounding mode to an integer.
///
/// Source: PTX ISA, "cvt", integer rounding modifiers (`.rni .rmi .rpi .rzi`).
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum IntegralRounding {
    /// To nearest, ties to even (F2F `.ROUND`, F2I without suffix).
    #[default]
    Nearest,
    /// Down (`.FLOOR`).
    Floor,
    /// Up (`.CEIL`).
    Ceil,
    /// Towards zero (`.TRUNC`).
    Trunc,
}

impl IntegralRounding {
    /// All modes, in the order of the encoding (list `rndt`, see [`float`](super)).
    pub const ALL: [IntegralRounding; 4] = [
        IntegralRounding::Nearest,
        IntegralRounding::Floor,
        IntegralRounding::Ceil,
        IntegralRounding::Trunc,
    ];

    /// Magnitude of the integer to which ±`significand` * 2^`exponent` is rounded.
    #[inline]
    fn magnitude(self, negative: bool, exponent: i32, significand: u64) -> u128 {
        if exponent >= 0 {
            // 2^65 is out of range for every integer type, so a larger exponent makes no difference.
            return u128::from(significand) << exponent.min(65);
        }
        let shift = -exponent as u32;
        let kept = significand.checked_shr(shift).unwrap_or(0);
        let back = kept.checked_shl(shift).unwrap_or(0);
        let rest = significand - back;
        // With a larger shift every significand is less than half a unit.
        let half = 1u64.checked_shl(shift - 1).unwrap_or(u64::MAX);
        let away = match self {
            IntegralRounding::Nearest => rest > half || (rest == half && kept & 1 != 0),
            IntegralRounding::Floor => negative && rest != 0,
            IntegralRounding::Ceil => !negative && rest != 0,
            IntegralRounding::Trunc => false,
        };
        u128::from(kept + u64::from(away))
    }
}

/// Integer type of a conversion.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum IntegerType {
    /// Unsigned, 8 bits.
    U8,
    /// Unsigned, 16 bits.
    U16,
    /// Unsigned, 32 bits.
    U32,
    /// Unsigned, 64 bits.
    U64,
    /// Two's complement, 8 bits.
    S8,
    /// Two's complement, 16 bits.
    S16,
    /// Two's complement, 32 bits.
    S32,
    /// Two's complement, 64 bits.
    S64,
}

impl IntegerType {
    /// All types, in the order of the encoding (list `ifmti`, see [`float`](super)).
    pub const ALL: [IntegerType; 8] = [
        IntegerType::U8,
        IntegerType::U16,
        IntegerType::U32,
        IntegerType::U64,
        IntegerType::S8,
        IntegerType::S16,
        IntegerType::S32,
        IntegerType::S64,
    ];

    /// Width in bits.
    pub const fn width(self) -> u32 {
        match self {
            IntegerType::U8 | IntegerType::S8 => 8,
            IntegerType::U16 | IntegerType::S16 => 16,
            IntegerType::U32 | IntegerType::S32 => 32,
            IntegerType::U64 | IntegerType::S64 => 64,
        }
    }

    /// Whether the type is signed.
    pub const fn signed(self) -> bool {
        matches!(
            self,
            IntegerType::S8 | IntegerType::S16 | IntegerType::S32 | IntegerType::S64
        )
    }

    const fn least(self) -> i128 {
        if self.signed() {
            -(1 << (self.width() - 1))
        } else {
            0
        }
    }

    const fn greatest(self) -> i128 {
        (1 << (self.width() - self.signed() as u32)) - 1
    }

    /// Reads the number in the low [`width`](IntegerType::width) bits; other bits are ignored. The operand modifiers
    /// `|x|` and `-x` of I2F are applied to the number (assumption: without wrapping).
    #[inline]
    pub const fn read(self, bits: u64) -> i128 {
        let unused = 64 - self.width();
        if self.signed() {
            ((bits << unused) as i64 >> unused) as i128
        } else {
            ((bits << unused) >> unused) as i128
        }
    }

    /// Wraps to a number of this type: the low [`width`](IntegerType::width) bits of `value`, extended to 64
    /// bits by its sign.
    #[inline]
    const fn wrap(self, value: i128) -> u64 {
        self.read(value as u64) as u64
    }

    #[inline]
    fn clamp(self, value: i128) -> u64 {
        value.clamp(self.least(), self.greatest()) as u64
    }
}

/// I2F: conversion to a floating-point format. Zero becomes +0. Numbers out of range for a half are rounded according
/// to IEEE 754, to an infinity or to the largest half.
///
/// Source: PTX ISA, "cvt".
#[inline]
pub fn integer_to_float(value: i128, to: Format, rounding: Rounding) -> u64 {
    let exact = Exact {
        negative: value < 0,
        exponent: 0,
        significand: value.unsigned_abs(),
    };
    exact.round(to, rounding)
}

/// F2I: rounds to an integer and clamps it to the range of the type. The result is extended to 64 bits by its sign. A
/// NaN becomes 0 if the source is not a double and the destination has at most 32 bits. Otherwise it becomes the
/// number with only the highest bit set. [`Flush`] concerns a single source only.
///
/// Source: PTX ISA, "cvt", integer notes; older GPUs have no destinations of 8 bits.
pub fn float_to_integer(
    x: u64,
    from: Format,
    to: IntegerType,
    integral: IntegralRounding,
    flush: Flush,
) -> u64 {
    match Unpacked::unpack(from, flushed(x, from, flush)) {
        Unpacked::Nan if from != Format::Double && to.width() <= 32 => 0,
        Unpacked::Nan => to.wrap(1 << (to.width() - 1)),
        Unpacked::Infinite(true) => to.least() as u64,
        Unpacked::Infinite(false) => to.greatest() as u64,
        Unpacked::Finite(x) => {
            // The significand of a finite number of any format has at most 53 bits, so the cast loses nothing.
            let magnitude =
                integral.magnitude(x.negative, x.exponent, x.significand as u64) as i128;
            to.clamp(if x.negative { -magnitude } else { magnitude })
        }
    }
}

/// F2F with `.ROUND`, `.FLOOR`, `.CEIL` or `.TRUNC`: an integral number in the same format. Zeros keep the sign of
/// the operand. NaNs are treated as in [`float_to_float`].
///
/// Source: PTX ISA, "cvt", floating point notes.
pub fn float_to_integral(
    x: u64,
    format: Format,
    integral: IntegralRounding,
    flush: Flush,
    saturate: bool,
) -> u64 {
    let x = flushed(x, format, flush);
    let result = match Unpacked::unpack(format, x) {
        Unpacked::Nan => nan(x, format, format),
        Unpacked::Infinite(_) => x,
        // The unit of the number is at least 1, so it is integral.
        Unpacked::Finite(number) if number.exponent >= 0 => x,
        Unpacked::Finite(number) => {
            let significand = number.significand as u64;
            let exact = Exact {
                negative: number.negative,
                exponent: 0,
                significand: integral.magnitude(number.negative, number.exponent, significand),
            };
            // Exact: a number with fraction bits rounds to an integer that the format can represent.
            exact.round(format, Rounding::Zero)
        }
    };
    if saturate {
        format.saturated(result)
    } else {
        result
    }
}

/// F2F: the number in another format (or the same one), rounded once. [`Flush`] concerns single
/// operands and results only; `.SAT` clamps to [0, 1].
///
/// NaNs become `0x7fff` in a half. From a half they become `0x7fffffff` in a single, which is then widened for a
/// double. Between single and double, the sign and the leading payload bits survive and the NaN becomes quiet. In the
/// same format they are treated as results of arithmetic.
///
/// Source: PTX ISA, "cvt"; the NaNs: constants folded by ptxas 12.4 (between different
/// formats), assumption (same format).
pub fn float_to_float(
    x: u64,
    from: Format,
    to: Format,
    rounding: Rounding,
    flush: Flush,
    saturate: bool,
) -> u64 {
    let x = flushed(x, from, flush);
    let result = match Unpacked::unpack(from, x) {
        Unpacked::Nan => nan(x, from, to),
        Unpacked::Infinite(negative) => exact::infinity(to, negative),
        Unpacked::Finite(number) => flushed(number.round(to, rounding), to, flush),
    };
    if saturate {
        to.saturated(result)
    } else {
        result
    }
}

#[inline]
fn flushed(x: u64, format: Format, flush: Flush) -> u64 {
    if format == Format::Single && flush != Flush::Keep {
        format.flushed(x)
    } else {
        x
    }
}

fn nan(x: u64, from: Format, to: Format) -> u64 {
    const QUIET: u64 = 1 << 51;
    let widened = |x: u64| {
        (x & Format::Single.sign()) << 32
            | Format::Double.infinity()
            | QUIET
            | (x & 0x7f_ffff) << 29
    };
    match (from, to) {
        // Only NaNs between single and double keep their payload.
        (_, Format::Half) | (Format::Half | Format::Single, Format::Single) => to.nan(),
        (Format::Half, Format::Double) => widened(Format::Single.nan()),
        (Format::Single, Format::Double) => widened(x),
        (Format::Double, Format::Double) => x | QUIET,
        (Format::Double, Format::Single) => {
            let sign = (x & Format::Double.sign()) >> 32;
            sign | Format::Single.infinity() | 1 << 22 | ((x >> 29) & 0x7f_ffff)
        }
    }
}
