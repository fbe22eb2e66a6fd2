//! Floating-point operations of expressions: functions of 32-bit words. For example, `AddDouble` reads four words and
//! gives a result of two, and `CompareSingle` gives one word, 1 or 0.

use super::convert::{self, IntegerType, IntegralRounding};
use super::gcn::GcnFloat;
use super::special::{self, SpecialFunction};
use super::{Comparison, Flush, Format, Rounding, bfloat, divide, double, half, single};

/// Floating-point operation or conversion, with its modifiers.
///
/// Operands and results are words; a 64-bit number takes two, low word first. A half and a
/// bfloat16 are the low 16 bits of a word. The bits above them are ignored in operands and 0 in results.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[allow(
    missing_docs,
    reason = "fields are the arguments of the functions named"
)]
pub enum FloatOp {
    /// [`single::add`]
    AddSingle(Rounding, Flush),
    /// [`single::mul`]
    MulSingle(single::Scale, Rounding, Flush),
    /// [`single::fma`]
    FmaSingle(Rounding, Flush),
    /// [`single::min`]
    MinSingle(Flush),
    /// [`single::max`]
    MaxSingle(Flush),
    /// [`single::compare`]: 1 or 0
    CompareSingle(Comparison, Flush),
    /// [`single::saturated`]
    SaturateSingle,
    /// [`double::add`]
    AddDouble(Rounding),
    /// [`double::mul`]
    MulDouble(Rounding),
    /// [`double::fma`]
    FmaDouble(Rounding),
    /// [`double::min`]
    MinDouble,
    /// [`double::max`]
    MaxDouble,
    /// [`double::compare`]: 1 or 0
    CompareDouble(Comparison),
    /// [`half::add`]
    AddHalf(Flush),
    /// [`half::mul`]
    MulHalf(Flush),
    /// [`half::fma`]
    FmaHalf(Flush),
    /// [`half::add_singles`]
    AddSinglesToHalf(Flush),
    /// [`half::mul_singles`]
    MulSinglesToHalf(Flush),
    /// [`half::fma_singles`]
    FmaSinglesToHalf(Flush),
    /// [`half::compare`]: 1 or 0
    CompareHalf(Comparison, Flush),
    /// [`half::saturated`]
    SaturateHalf,
    /// [`half::widen`], after [`half::flushed`]
    WidenHalf(Flush),
    /// [`bfloat::add`]
    AddBfloat,
    /// [`bfloat::mul`]
    MulBfloat,
    /// [`bfloat::fma`]
    FmaBfloat,
    /// [`bfloat::from_single`]
    SingleToBfloat(Rounding),
    /// [`SpecialFunction::apply`]
    Special(SpecialFunction),
    /// [`special::reduce_angle`]
    ReduceAngle,
    /// [`special::reduce_turns`]
    ReduceTurns,
    /// [`special::reduce_exponent`]
    ReduceExponent,
    /// [`divide::needs_slow_path`]: 1 or 0
    NeedsSlowPath,
    /// [`convert::float_to_float`]
    ToFormat {
        from: Format,
        to: Format,
        rounding: Rounding,
        flush: Flush,
        saturate: bool,
    },
    /// [`convert::float_to_integral`]
    ToIntegral {
        format: Format,
        integral: IntegralRounding,
        flush: Flush,
        saturate: bool,
    },
    /// [`convert::float_to_integer`]
    ToInteger {
        from: Format,
        to: IntegerType,
        integral: IntegralRounding,
        flush: Flush,
    },
    /// [`convert::integer_to_float`], of the number after `absolute` and `negate`
    FromInteger {
        from: IntegerType,
        to: Format,
        rounding: Rounding,
        absolute: bool,
        negate: bool,
    },
    /// [`GcnFloat::apply`]
    Gcn(GcnFloat),
}

impl FloatOp {
    /// Maximum number of words that an operation reads.
    pub const MAX_WORDS: usize = 6;

    /// Number of words that the operation reads.
    pub const fn words(self) -> usize {
        match self {
            FloatOp::AddSingle(..)
            | FloatOp::MulSingle(..)
            | FloatOp::MinSingle(_)
            | FloatOp::MaxSingle(_)
            | FloatOp::CompareSingle(..)
            | FloatOp::AddHalf(_)
            | FloatOp::MulHalf(_)
            | FloatOp::AddSinglesToHalf(_)
            | FloatOp::MulSinglesToHalf(_)
            | FloatOp::CompareHalf(..)
            | FloatOp::AddBfloat
            | FloatOp::MulBfloat
            | FloatOp::NeedsSlowPath => 2,
            FloatOp::FmaSingle(..)
            | FloatOp::FmaHalf(_)
            | FloatOp::FmaSinglesToHalf(_)
            | FloatOp::FmaBfloat => 3,
            FloatOp::AddDouble(_)
            | FloatOp::MulDouble(_)
            | FloatOp::MinDouble
            | FloatOp::MaxDouble
            | FloatOp::CompareDouble(_) => 4,
            FloatOp::FmaDouble(_) => 6,
            FloatOp::SaturateSingle
            | FloatOp::SaturateHalf
            | FloatOp::WidenHalf(_)
            | FloatOp::SingleToBfloat(_)
            | FloatOp::Special(_)
            | FloatOp::ReduceAngle
            | FloatOp::ReduceTurns
            | FloatOp::ReduceExponent => 1,
            FloatOp::ToFormat { from, .. }
            | FloatOp::ToInteger { from, .. }
            | FloatOp::ToIntegral { format: from, .. } => from.width().div_ceil(32) as usize,
            FloatOp::FromInteger { from, .. } => from.width().div_ceil(32) as usize,
            FloatOp::Gcn(operation) => operation.words(),
        }
    }

    /// Whether the result has 64 bits.
    pub const fn is_wide(self) -> bool {
        match self {
            FloatOp::AddDouble(_)
            | FloatOp::MulDouble(_)
            | FloatOp::FmaDouble(_)
            | FloatOp::MinDouble
            | FloatOp::MaxDouble => true,
            FloatOp::ToFormat { to, .. }
            | FloatOp::ToIntegral { format: to, .. }
            | FloatOp::FromInteger { to, .. } => to.width() == 64,
            FloatOp::ToInteger { to, .. } => to.width() == 64,
            FloatOp::Gcn(operation) => operation.is_wide(),
            _ => false,
        }
    }

    /// Whether the result is 0 or 1.
    pub const fn is_truth(self) -> bool {
        match self {
            FloatOp::CompareSingle(..)
            | FloatOp::CompareDouble(_)
            | FloatOp::CompareHalf(..)
            | FloatOp::NeedsSlowPath => true,
            FloatOp::Gcn(operation) => operation.is_truth(),
            _ => false,
        }
    }

    /// Computes the result, in the low word if it has at most 32 bits. Words beyond [`FloatOp::words`] are ignored.
    #[inline]
    pub fn apply(self, words: [u32; FloatOp::MAX_WORDS]) -> u64 {
        let [a, b, c, ..] = words;
        let wide = |index: usize| u64::from(words[index]) | u64::from(words[index + 1]) << 32;
        // The array has six words, so both reads are in range for every operation.
        let (x, y) = (wide(0), wide(2));
        let halves = [a, b, c].map(|word| word as u16);
        let [h, i, j] = halves;
        match self {
            FloatOp::AddSingle(rounding, flush) => single::add(a, b, rounding, flush).into(),
            FloatOp::MulSingle(scale, rounding, flush) => {
                single::mul(a, b, scale, rounding, flush).into()
            }
            FloatOp::FmaSingle(rounding, flush) => single::fma(a, b, c, rounding, flush).into(),
            FloatOp::MinSingle(flush) => single::min(a, b, flush).into(),
            FloatOp::MaxSingle(flush) => single::max(a, b, flush).into(),
            FloatOp::CompareSingle(comparison, flush) => {
                single::compare(comparison, a, b, flush).into()
            }
            FloatOp::SaturateSingle => single::saturated(a).into(),
            FloatOp::AddDouble(rounding) => double::add(x, y, rounding),
            FloatOp::MulDouble(rounding) => double::mul(x, y, rounding),
            FloatOp::FmaDouble(rounding) => double::fma(x, y, wide(4), rounding),
            FloatOp::MinDouble => double::min(x, y),
            FloatOp::MaxDouble => double::max(x, y),
            FloatOp::CompareDouble(comparison) => double::compare(comparison, x, y).into(),
            FloatOp::AddHalf(flush) => half::add(h, i, flush).into(),
            FloatOp::MulHalf(flush) => half::mul(h, i, flush).into(),
            FloatOp::FmaHalf(flush) => half::fma(h, i, j, flush).into(),
            FloatOp::AddSinglesToHalf(flush) => half::add_singles(a, b, flush).into(),
            FloatOp::MulSinglesToHalf(flush) => half::mul_singles(a, b, flush).into(),
            FloatOp::FmaSinglesToHalf(flush) => half::fma_singles(a, b, c, flush).into(),
            FloatOp::CompareHalf(comparison, flush) => {
                half::compare(comparison, h, i, flush).into()
            }
            FloatOp::SaturateHalf => half::saturated(h).into(),
            FloatOp::WidenHalf(flush) => half::widen(half::flushed(h, flush)).into(),
            FloatOp::AddBfloat => bfloat::add(h, i).into(),
            FloatOp::MulBfloat => bfloat::mul(h, i).into(),
            FloatOp::FmaBfloat => bfloat::fma(h, i, j).into(),
            FloatOp::SingleToBfloat(rounding) => bfloat::from_single(a, rounding).into(),
            FloatOp::Special(special) => special.apply(a).into(),
            FloatOp::ReduceAngle => special::reduce_angle(a).into(),
            FloatOp::ReduceTurns => special::reduce_turns(a).into(),
            FloatOp::ReduceExponent => special::reduce_exponent(a).into(),
            FloatOp::NeedsSlowPath => divide::needs_slow_path(a, b).into(),
            FloatOp::ToFormat {
                from,
                to,
                rounding,
                flush,
                saturate,
            } => convert::float_to_float(x & mask(from), from, to, rounding, flush, saturate),
            FloatOp::ToIntegral {
                format,
                integral,
                flush,
                saturate,
            } => convert::float_to_integral(x & mask(format), format, integral, flush, saturate),
            FloatOp::ToInteger {
                from,
                to,
                integral,
                flush,
            } => convert::float_to_integer(x & mask(from), from, to, integral, flush),
            FloatOp::FromInteger {
                from,
                to,
                rounding,
                absolute,
                negate,
            } => {
                let number = from.read(x);
                // `i128` holds the magnitude of every 64-bit number, so nothing wraps.
                let number = if absolute { number.abs() } else { number };
                let number = if negate { -number } else { number };
                convert::integer_to_float(number, to, rounding)
            }
            FloatOp::Gcn(operation) => operation.apply(words),
        }
    }
}

/// Mask of the bits of a number.
const fn mask(format: Format) -> u64 {
    u64::MAX >> (64 - format.width())
}
