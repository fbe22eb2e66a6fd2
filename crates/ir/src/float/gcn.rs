//! Floating-point operations of GCN3's vector ALU: one function for the three formats, with modes as in the register
//! MODE. For example, with rounding up, v_add_f32 of 1 and 2^-30 is the next single above 1.
//!
//! Numbers are bit patterns in the low bits of a `u64`. Results agree with IEEE 754 wherever it fixes them. The
//! host's arithmetic is used as in the other modules.
//!
//! | what | value | source |
//! |---|---|---|
//! | NaN, no NaN operand | quiet, sign set, other bits 0 (`0xffc00000`) | GCN3 manual, V_DIV_FIXUP; else assumed |
//! | NaN, else | the first NaN operand, made quiet | GCN3 manual, "IEEE"; *the first* is an assumption |
//! | subnormal numbers | zeros of the same sign if MODE says so | LLVM, "AMDGPU backend", FLOAT_DENORM_MODE |
//! | subnormal results | judged after rounding | assumption |
//!
//! The bit IEEE of MODE is set, because callers evaluate nothing else: signalling NaNs become quiet.

mod arithmetic;
mod divide;
mod scale;
pub mod single;
mod special;

use super::exact::{self, Exact, Unpacked};
use super::{Comparison, Format, Rounding};

/// Modes of arithmetic in a format.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct GcnMode {
    /// Rounding of results.
    pub rounding: Rounding,
    /// Whether subnormal operands count as zeros.
    pub flush_operands: bool,
    /// Whether subnormal results become zeros.
    pub flush_results: bool,
}

impl GcnMode {
    /// To nearest, without subnormal numbers: the modes of instructions that do not read the register.
    pub const FLUSH: GcnMode = GcnMode {
        rounding: Rounding::Nearest,
        flush_operands: true,
        flush_results: true,
    };

    /// To nearest, with subnormal numbers.
    pub const KEEP: GcnMode = GcnMode {
        rounding: Rounding::Nearest,
        flush_operands: false,
        flush_results: false,
    };
}

/// Function of the vector ALU.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum GcnFunction {
    /// a + b.
    Add,
    /// a * b.
    Mul,
    /// a * b; the product with a zero factor is +0, whatever the other factor is.
    MulLegacy,
    /// a * b + c, with the product and the sum rounded separately.
    Mad,
    /// As [`GcnFunction::Mad`], with the product of [`GcnFunction::MulLegacy`].
    MadLegacy,
    /// a * b + c, rounded once.
    Fma,
    /// Minimum, where -0 is below +0. If one operand is a quiet NaN, the number; a signalling NaN, made quiet, takes
    /// precedence.
    Min,
    /// Maximum, as [`GcnFunction::Min`].
    Max,
    /// Minimum of three.
    Min3,
    /// Maximum of three.
    Max3,
    /// Median of three; their minimum if one is a NaN.
    Med3,
    /// Clamp to [0, 1]; -0 is kept, and a NaN becomes 0.
    Clamp,
    /// As [`GcnFunction::Clamp`], but NaNs are kept.
    ClampNumber,
    /// Whether the class of a is in the mask in the next word. Its bits are: signalling NaN, quiet NaN, -Inf,
    /// negative normal, negative subnormal, -0, +0, positive subnormal, positive normal, +Inf. Subnormal operands are
    /// never flushed.
    Class,
    /// Integer to nearest, ties to even.
    RoundEven,
    /// Integer towards zero.
    Trunc,
    /// Integer up.
    Ceil,
    /// Integer down.
    Floor,
    /// a - floor a, below 1.
    Fract,
    /// Exponent e of a = m * 2^e with |m| in [0.5, 1), as a 32-bit integer (halves: 16 bits in the low half). 0 for
    /// zeros, infinities and NaNs.
    FrexpExponent,
    /// The m of [`GcnFunction::FrexpExponent`]. Zeros, infinities and NaNs are unchanged.
    FrexpMantissa,
    /// a * 2^n, with the integer n in the next word (halves: of 16 bits).
    Ldexp,
    /// 1 / a.
    Rcp,
    /// 1 / sqrt a.
    Rsq,
    /// sqrt a.
    Sqrt,
    /// 2^a.
    Exp,
    /// Binary logarithm.
    Log,
    /// Sine of a turns; 0 if |a| > 256.
    Sin,
    /// Cosine of a turns; 1 if |a| > 256.
    Cos,
    /// Operand a (which is b or c) of the division c / b, scaled so that all of its steps stay within the normal
    /// numbers.
    DivScale,
    /// Whether the quotient of the numbers from [`GcnFunction::DivScale`] must be scaled.
    DivScaleFlag,
    /// a * b + c, scaled as the flag requires.
    DivFmasScaled,
    /// Quotient c / b with its sign and the special cases, from the approximation a.
    DivFixup,
    /// Comparison of two numbers: 1 or 0.
    Compare(Comparison),
    /// The number in another format.
    Convert(Format),
}

/// Function of the vector ALU with its format and modes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct GcnFloat {
    /// Function.
    pub function: GcnFunction,
    /// Format of the operands.
    pub format: Format,
    /// Modes; functions that do not depend on them have [`GcnMode::KEEP`].
    pub mode: GcnMode,
}

impl GcnFloat {
    /// Number of words that the function reads.
    pub const fn words(self) -> usize {
        use GcnFunction as F;
        let number = self.format.width().div_ceil(32) as usize;
        match self.function {
            F::Add | F::Mul | F::MulLegacy | F::Min | F::Max | F::Compare(_) => 2 * number,
            F::Class | F::Ldexp => number + 1,
            F::Mad
            | F::MadLegacy
            | F::Fma
            | F::Min3
            | F::Max3
            | F::Med3
            | F::DivScale
            | F::DivScaleFlag
            | F::DivFmasScaled
            | F::DivFixup => 3 * number,
            F::Clamp
            | F::ClampNumber
            | F::RoundEven
            | F::Trunc
            | F::Ceil
            | F::Floor
            | F::Fract
            | F::FrexpExponent
            | F::FrexpMantissa
            | F::Rcp
            | F::Rsq
            | F::Sqrt
            | F::Exp
            | F::Log
            | F::Sin
            | F::Cos
            | F::Convert(_) => number,
        }
    }

    /// Whether the result has 64 bits.
    pub const fn is_wide(self) -> bool {
        match self.function {
            GcnFunction::Convert(to) => to.width() == 64,
            GcnFunction::FrexpExponent => false,
            // A truth value is one word, whatever the format of its operands.
            _ => self.format.width() == 64 && !self.is_truth(),
        }
    }

    /// Whether the result is 0 or 1.
    pub const fn is_truth(self) -> bool {
        matches!(
            self.function,
            GcnFunction::Class | GcnFunction::DivScaleFlag | GcnFunction::Compare(_)
        )
    }

    /// Computes the result, in the low word if it has at most 32 bits.
    #[inline]
    pub fn apply(self, words: [u32; super::FloatOp::MAX_WORDS]) -> u64 {
        use GcnFunction as F;
        let arithmetic = Arithmetic {
            format: self.format,
            mode: self.mode,
        };
        // Halves ignore the upper bits of their words.
        let [a, b, c] = [0, 1, 2].map(|index| match self.format {
            Format::Half => u64::from(words[index] & 0xffff),
            Format::Single => u64::from(words[index]),
            Format::Double => u64::from(words[2 * index]) | u64::from(words[2 * index + 1]) << 32,
        });
        // An integer operand follows the number, which takes two words as a double.
        let next = match self.format {
            Format::Double => words[2],
            Format::Half | Format::Single => words[1],
        };
        let all = [a, b, c];
        match self.function {
            F::Add => arithmetic.add(a, b),
            F::Mul => arithmetic.mul(a, b),
            F::MulLegacy => arithmetic.mul_legacy(a, b),
            // Not fused: the product is rounded before the addition.
            F::Mad => arithmetic.add(arithmetic.mul(a, b), c),
            F::MadLegacy => arithmetic.add(arithmetic.mul_legacy(a, b), c),
            F::Fma => arithmetic.fma(all),
            F::Min => arithmetic.min(a, b),
            F::Max => arithmetic.max(a, b),
            F::Min3 => arithmetic.min(arithmetic.min(a, b), c),
            F::Max3 => arithmetic.max(arithmetic.max(a, b), c),
            F::Med3 => arithmetic.median(all),
            F::Clamp => arithmetic.clamp(a, true),
            F::ClampNumber => arithmetic.clamp(a, false),
            F::Class => arithmetic.is_of_class(a, next).into(),
            F::Compare(comparison) => arithmetic.compare(comparison, a, b).into(),
            F::Convert(to) => arithmetic.convert(to, a),
            F::RoundEven | F::Trunc | F::Ceil | F::Floor => arithmetic.integral(self.function, a),
            F::Fract => arithmetic.fract(a),
            F::FrexpExponent => arithmetic.frexp_exponent(a).into(),
            F::FrexpMantissa => arithmetic.frexp_mantissa(a),
            F::Ldexp => arithmetic.ldexp(a, next),
            F::Rcp | F::Rsq | F::Sqrt | F::Exp | F::Log | F::Sin | F::Cos => {
                arithmetic.special(self.function, a)
            }
            F::DivScale => arithmetic.div_scale(all).0,
            F::DivScaleFlag => arithmetic.div_scale(all).1.into(),
            F::DivFmasScaled => arithmetic.div_fmas_scaled(all),
            F::DivFixup => arithmetic.div_fixup(all),
        }
    }
}

/// Format and modes of an operation.
#[derive(Clone, Copy)]
struct Arithmetic {
    format: Format,
    mode: GcnMode,
}

impl Arithmetic {
    /// Operand, flushed if the modes require it.
    #[inline(always)]
    fn operand(self, x: u64) -> u64 {
        match self.mode.flush_operands {
            true => self.format.flushed(x),
            false => x,
        }
    }

    /// Result, flushed if the modes require it.
    #[inline(always)]
    fn result(self, x: u64) -> u64 {
        match self.mode.flush_results {
            true => self.format.flushed(x),
            false => x,
        }
    }

    /// Rounds a number to the format.
    fn round(self, x: Exact) -> u64 {
        self.result(x.round(self.format, self.mode.rounding))
    }

    /// NaN of an operation whose operands have no NaN.
    fn invalid(self) -> u64 {
        self.format.sign() | self.format.infinity() | self.quiet_bit()
    }

    fn quiet_bit(self) -> u64 {
        1 << (self.format.fraction() - 1)
    }

    /// The first NaN among the operands, made quiet, or the NaN of an invalid operation.
    #[cold]
    fn nan_of(self, operands: &[u64]) -> u64 {
        let nan = operands.iter().find(|x| self.format.is_nan(**x));
        nan.map_or(self.invalid(), |x| x | self.quiet_bit())
    }

    fn is_signalling(self, x: u64) -> bool {
        self.format.is_nan(x) && x & self.quiet_bit() == 0
    }

    fn is_negative(self, x: u64) -> bool {
        x & self.format.sign() != 0
    }

    /// Pattern without the sign.
    fn magnitude(self, x: u64) -> u64 {
        x & (self.format.sign() - 1)
    }

    fn is_zero(self, x: u64) -> bool {
        self.magnitude(x) == 0
    }

    fn is_infinite(self, x: u64) -> bool {
        self.magnitude(x) == self.format.infinity()
    }

    /// Biased exponent.
    fn exponent(self, x: u64) -> i32 {
        (self.magnitude(x) >> self.format.fraction()) as i32
    }

    fn unpack(self, x: u64) -> Unpacked {
        Unpacked::unpack(self.format, x)
    }

    fn infinity(self, negative: bool) -> u64 {
        exact::infinity(self.format, negative)
    }
}
