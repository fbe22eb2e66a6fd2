//! Floating-point operations of Maxwell, Pascal and GCN3, on bit patterns.
//!
//! Pure functions on `u16` (half), `u32` (single) and `u64` (double) patterns. Every result is the same on every
//! platform, because nothing depends on the host's NaNs or on its mathematical library. The host's own arithmetic is
//! used only where IEEE 754 fixes the result: sums, products, quotients and square roots of f32 and f64 rounded to
//! nearest, comparisons, and conversions between the two.
//!
//! | module | instructions |
//! |---|---|
//! | [`single`] | FADD FMUL FFMA FMNMX FSET FSETP FCMP and their `32I` forms |
//! | [`double`] | DADD DMUL DFMA DMNMX DSET DSETP |
//! | [`half`] | HADD2 HMUL2 HFMA2 HSET2 HSETP2, one half at a time |
//! | [`bfloat`] | HADD2 HMUL2 HFMA2 with `.BF16_V2`, F2FP (from Ampere on) |
//! | [`convert`] | F2F F2I I2F |
//! | [`special`] | RRO MUFU |
//! | [`divide`] | FCHK |
//! | [`gcn`] | GCN3's vector ALU |
//!
//! The following rules hold for Maxwell and Pascal; [`gcn`] has rules of its own. Where a source is ptxas, it compiles
//! for sm_61. The order of the constants `ALL` is the order of the encoding, in the lists `names` of
//! `isa/nvidia/maxwell.names`.
//!
//! The modifiers `|x|` and `-x` of operands are bit operations ([`single::absolute`], [`single::negate`] and so on),
//! also on NaNs. Apply them first. For example, `-|x|` of a single sets bit 31.
//!
//! # NaNs
//!
//! | results | pattern | source |
//! |---|---|---|
//! | single | `0x7fffffff` | CUDA `math_constants.h` (`CUDART_NAN_F`), constants folded by ptxas 12.4 |
//! | half | `0x7fff` | constants folded by ptxas 12.4 |
//! | double, no NaN among the operands | `0xfff8000000000000` | CUDA `math_constants.h` (`CUDART_NAN`) |
//! | double, else | the first NaN operand, made quiet | PTX ISA, "Floating-Point Instructions" (payloads survive) |
//!
//! That it is the *first* NaN operand of a double is an assumption.
//!
//! # Subnormal numbers
//!
//! [`Flush::Ftz`] replaces subnormal operands and results by zeros of the same sign (PTX ISA, "Floating-Point
//! Instructions"). A result counts as subnormal if it is subnormal after rounding (assumption: no vendor document
//! says whether before or after).

pub mod bfloat;
pub mod convert;
pub mod divide;
pub mod double;
mod exact;
mod fixed;
mod format;
pub mod gcn;
pub mod half;
mod operation;
mod relation;
pub mod single;
pub mod special;

pub use format::Format;
pub use operation::FloatOp;
pub use relation::Comparison;

/// Rounding mode: the choice between the two neighbours of an inexact result.
///
/// Source: PTX ISA, "Floating-Point Instructions", rounding modifiers; spellings by NVIDIA's
/// disassembler.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Rounding {
    /// To nearest, ties to even (no suffix; `.rn` in PTX).
    #[default]
    Nearest,
    /// Towards minus infinity (`.RM`).
    Down,
    /// Towards plus infinity (`.RP`).
    Up,
    /// Towards zero (`.RZ`).
    Zero,
}

impl Rounding {
    /// All modes, in the order of the encoding (list `rnd`).
    pub const ALL: [Rounding; 4] = [
        Rounding::Nearest,
        Rounding::Down,
        Rounding::Up,
        Rounding::Zero,
    ];
}

/// Treatment of subnormal numbers.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Flush {
    /// Subnormal numbers are kept (no suffix).
    #[default]
    Keep,
    /// Subnormal operands and results become zeros of the same sign (`.FTZ`; PTX ISA).
    Ftz,
    /// As [`Flush::Ftz`]; in addition, a product with a zero factor is +0, even if the other factor is an infinity or
    /// a NaN (`.FMZ`; not in PTX, the behaviour that graphics calls *legacy* multiplication; assumption: the product
    /// is +0, never -0).
    Fmz,
}

impl Flush {
    /// All ones unless subnormals are kept.
    #[inline(always)]
    fn mask(self) -> u32 {
        u32::from(self != Flush::Keep).wrapping_neg()
    }

    /// All ones if a zero factor makes a zero product.
    #[inline(always)]
    fn zero_mask(self) -> u32 {
        u32::from(self == Flush::Fmz).wrapping_neg()
    }
}
