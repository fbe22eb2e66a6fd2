//! Names of the parts of operations in text. Printer and parser share each table, so that text can be read back.

use warpbound_base::Named;

use crate::float::convert::{IntegerType, IntegralRounding};
use crate::float::gcn::GcnFunction;
use crate::float::single::Scale;
use crate::float::special::SpecialFunction;
use crate::float::{Comparison, Flush, Format, Rounding};
use crate::{
    AtomicKind, AtomicOp, BarrierReduction, BinaryOp, ElementFormat, ImageKind, MatchMode,
    OutOfBounds, ShuffleMode, SumFormat, SumRule, UnaryOp, VoteMode, WarpReduction, Width,
    WordHalf,
};

/// Returns the name in text, for types that also have other names.
pub(super) fn name<T: Named>(value: T) -> &'static str {
    value.name()
}

/// Implements [`Named`] for a type by a table.
macro_rules! names {
    ($type:ident, $($value:ident $name:literal)+) => {
        impl Named for $type {
            const ALL: &'static [($type, &'static str)] = &[$(($type::$value, $name)),+];
        }
    };
}

names!(UnaryOp,
    Neg "neg" Not "not" AbsS "abs" Popc "popc" HighestOne "highest_one" HighestNonSign "highest_non_sign"
    Reverse "reverse" SignExtend8 "sign_extend8" SignExtend16 "sign_extend16"
);
names!(BinaryOp,
    Add "add" Sub "sub" Mul "mul" DivS "div_s" RemS "rem_s" And "and" Or "or" Xor "xor" Shl "shl" Shr "shr"
    Sar "sar" MulHighU "mul_high_u" MulHighS "mul_high_s" LtU "lt_u" LeU "le_u" LtS "lt_s" LeS "le_s" Eq "eq"
    Ne "ne" MinU "min_u" MaxU "max_u" MinS "min_s" MaxS "max_s"
);
names!(ShuffleMode, Index "index" Up "up" Down "down" Butterfly "butterfly");
names!(MatchMode, Any "any" All "all");
names!(VoteMode, All "all" Any "any" Same "same");
names!(WarpReduction, First "first" Sum "sum" MinUnsigned "min_unsigned" MaxUnsigned "max_unsigned"
    MinSigned "min_signed" MaxSigned "max_signed" And "and" Or "or" Xor "xor");
names!(Width, U8 "u8" S8 "s8" U16 "u16" S16 "s16" Words "words");
names!(WordHalf, Low "low" High "high");
names!(BarrierReduction, Count "count" All "all" Any "any");
names!(AtomicOp,
    Add "add" Sub "sub" ReverseSub "reverse_sub" Min "min" Max "max" Increment "increment" Decrement "decrement" And "and" Or "or" Xor "xor"
    Exchange "exchange" CompareSwap "compare_swap" TestedSwap "tested_swap" MaskedOr "masked_or"
);
names!(ImageKind, D1 "1d" D2 "2d" D3 "3d" Layered1 "1d_layered" Layered2 "2d_layered");
names!(OutOfBounds, Zero "zero" Clamp "clamp" Trap "trap");
names!(Rounding, Nearest "nearest" Down "down" Up "up" Zero "zero");
names!(Flush, Keep "keep" Ftz "ftz" Fmz "fmz");
names!(Scale, D8 "d8" D4 "d4" D2 "d2" One "one" M2 "m2" M4 "m4" M8 "m8");
names!(Comparison,
    F "false" Lt "lt" Eq "eq" Le "le" Gt "gt" Ne "ne" Ge "ge" Num "num" Nan "nan" Ltu "ltu" Equ "equ" Leu "leu"
    Gtu "gtu" Neu "neu" Geu "geu" T "true"
);
names!(Format, Half "f16" Single "f32" Double "f64");
names!(IntegerType,
    U8 "u8" U16 "u16" U32 "u32" U64 "u64" S8 "s8" S16 "s16" S32 "s32" S64 "s64"
);
names!(IntegralRounding, Nearest "nearest" Floor "floor" Ceil "ceil" Trunc "trunc");
names!(SpecialFunction,
    Cos "cos" Sin "sin" Ex2 "ex2" Lg2 "lg2" Rcp "rcp" Rsq "rsq" Rcp64h "rcp64h" Rsq64h "rsq64h" Sqrt "sqrt"
);

/// Names of the functions that have no parameter of their own.
impl Named for GcnFunction {
    const ALL: &'static [(GcnFunction, &'static str)] = &[
        (GcnFunction::Add, "add"),
        (GcnFunction::Mul, "mul"),
        (GcnFunction::MulLegacy, "mul_legacy"),
        (GcnFunction::Mad, "mad"),
        (GcnFunction::MadLegacy, "mad_legacy"),
        (GcnFunction::Fma, "fma"),
        (GcnFunction::Min, "min"),
        (GcnFunction::Max, "max"),
        (GcnFunction::Min3, "min3"),
        (GcnFunction::Max3, "max3"),
        (GcnFunction::Med3, "med3"),
        (GcnFunction::Clamp, "clamp"),
        (GcnFunction::ClampNumber, "clamp_number"),
        (GcnFunction::Class, "class"),
        (GcnFunction::RoundEven, "round_even"),
        (GcnFunction::Trunc, "trunc"),
        (GcnFunction::Ceil, "ceil"),
        (GcnFunction::Floor, "floor"),
        (GcnFunction::Fract, "fract"),
        (GcnFunction::FrexpExponent, "frexp_exponent"),
        (GcnFunction::FrexpMantissa, "frexp_mantissa"),
        (GcnFunction::Ldexp, "ldexp"),
        (GcnFunction::Rcp, "rcp"),
        (GcnFunction::Rsq, "rsq"),
        (GcnFunction::Sqrt, "sqrt"),
        (GcnFunction::Exp, "exp"),
        (GcnFunction::Log, "log"),
        (GcnFunction::Sin, "sin"),
        (GcnFunction::Cos, "cos"),
        (GcnFunction::DivScale, "div_scale"),
        (GcnFunction::DivScaleFlag, "div_scale_flag"),
        (GcnFunction::DivFmasScaled, "div_fmas_scaled"),
        (GcnFunction::DivFixup, "div_fixup"),
    ];
}

names!(ElementFormat,
    F16 "f16" Bf16 "bf16" Tf32 "tf32" E4m3 "e4m3" E5m2 "e5m2" F64 "f64" S8 "s8" U8 "u8" S4 "s4" U4 "u4" Bit "bit"
);
names!(SumFormat, F16 "f16" F32 "f32" F64 "f64" S32 "s32");

/// Aligned sums have the names of what units do: products of a block, bits of the fraction.
impl Named for SumRule {
    const ALL: &'static [(SumRule, &'static str)] = &[
        (SumRule::aligned(4, 23), "aligned4_23"),
        (SumRule::aligned(4, 24), "aligned4_24"),
        (SumRule::aligned(8, 24), "aligned8_24"),
        (SumRule::aligned(8, 25), "aligned8_25"),
        (SumRule::aligned(16, 13), "aligned16_13"),
        (SumRule::aligned(16, 25), "aligned16_25"),
        (SumRule::Fused, "fused"),
        (SumRule::Wrapping, "wrapping"),
        (SumRule::Saturating, "saturating"),
        (SumRule::CountCommon, "count_common"),
        (SumRule::CountDifferent, "count_different"),
    ];
}

impl Named for AtomicKind {
    const ALL: &'static [(AtomicKind, &'static str)] = &[
        (AtomicKind::U32, "u32"),
        (AtomicKind::S32, "s32"),
        (AtomicKind::U64, "u64"),
        (AtomicKind::S64, "s64"),
        (AtomicKind::F32, "f32"),
        (AtomicKind::F64, "f64"),
        (AtomicKind::LdsF32(Flush::Keep), "lds_f32"),
        (AtomicKind::LdsF32(Flush::Ftz), "lds_f32_ftz"),
        (AtomicKind::LdsF64(Flush::Keep), "lds_f64"),
        (AtomicKind::LdsF64(Flush::Ftz), "lds_f64_ftz"),
        (AtomicKind::F16x2(Flush::Keep), "f16x2"),
        (AtomicKind::F16x2(Flush::Ftz), "f16x2_ftz"),
        (AtomicKind::F16x2(Flush::Fmz), "f16x2_fmz"),
    ];
}
