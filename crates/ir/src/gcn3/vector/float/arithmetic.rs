//! Arithmetic, integral numbers, exponents, transcendental functions.

use super::source::{FloatInstr, apply};
use crate::float::gcn::{GcnFunction, GcnMode};
use crate::float::{Format, Rounding};
use crate::{BinaryOp, Expr, Meaning, WordHalf};

/// Returns the meaning of an instruction by its name without `v_` and the format.
pub(super) fn meaning(instr: &FloatInstr<'_>, name: &str, format: Format) -> Option<Meaning> {
    use GcnFunction as F;
    let of = |function, sources: &[usize], mode: GcnMode| {
        instr.set_function(function, format, mode, &instr.numbers(sources, format)?)
    };
    let mode = || instr.mode(format);
    match name {
        "add" => of(F::Add, &[0, 1], mode()?),
        "sub" => difference(instr, format, 1),
        "subrev" => difference(instr, format, 0),
        "mul" => of(F::Mul, &[0, 1], mode()?),
        "mul_legacy" => of(F::MulLegacy, &[0, 1], mode()?),
        // The destination is the first source, and the addend.
        "mac" => of(F::Mad, &[1, 2, 0], unfused(instr, format)?),
        "mad" | "madmk" | "madak" => of(F::Mad, &[0, 1, 2], unfused(instr, format)?),
        "mad_legacy" => of(F::MadLegacy, &[0, 1, 2], unfused(instr, format)?),
        "fma" => of(F::Fma, &[0, 1, 2], mode()?),
        // GCN3 does not flush in minima and maxima (LLVM, `supportsMinMaxDenormModes`).
        "min" => of(F::Min, &[0, 1], GcnMode::KEEP),
        "max" => of(F::Max, &[0, 1], GcnMode::KEEP),
        "min3" => of(F::Min3, &[0, 1, 2], GcnMode::KEEP),
        "max3" => of(F::Max3, &[0, 1, 2], GcnMode::KEEP),
        "med3" => of(F::Med3, &[0, 1, 2], GcnMode::KEEP),
        "rndne" => of(F::RoundEven, &[0], without_rounding(mode()?)),
        "trunc" => of(F::Trunc, &[0], without_rounding(mode()?)),
        "ceil" => of(F::Ceil, &[0], without_rounding(mode()?)),
        "floor" => of(F::Floor, &[0], without_rounding(mode()?)),
        "fract" => of(F::Fract, &[0], mode()?),
        "frexp_mant" => of(F::FrexpMantissa, &[0], without_rounding(mode()?)),
        "frexp_exp_i32" | "frexp_exp_i16" => {
            instr.require_no_output_modifiers()?;
            let mode = without_rounding(mode()?);
            let words = instr.number(0, format)?;
            let word = apply(F::FrexpExponent, format, mode, &words, WordHalf::Low);
            instr.set_word(word)
        }
        "ldexp" => {
            let mut words = instr.number(0, format)?;
            words.push(instr.integer(1, format)?);
            instr.set_function(F::Ldexp, format, mode()?, &words)
        }
        _ => {
            let function = match name {
                // The two differ only in exceptions.
                "rcp" | "rcp_iflag" => F::Rcp,
                "rsq" => F::Rsq,
                "sqrt" => F::Sqrt,
                // The older variants differ in the last bits, within the same error bound.
                "exp" | "exp_legacy" => F::Exp,
                "log" | "log_legacy" => F::Log,
                "sin" => F::Sin,
                "cos" => F::Cos,
                _ => return None,
            };
            let mode = match format {
                Format::Single => GcnMode::FLUSH,
                Format::Half | Format::Double => without_rounding(mode()?),
            };
            of(function, &[0], mode)
        }
    }
}

/// Modes of a function whose rounding MODE does not affect.
fn without_rounding(mode: GcnMode) -> GcnMode {
    GcnMode {
        rounding: Rounding::Nearest,
        ..mode
    }
}

/// Modes of a product and a sum that are rounded separately: v_mad and v_mac flush subnormal singles in every mode
/// (LLVM, `v_mad_f32`). If MODE keeps subnormal halves, their results are unknown.
fn unfused(instr: &FloatInstr<'_>, format: Format) -> Option<GcnMode> {
    let mode = instr.mode(format)?;
    let flushed = GcnMode {
        rounding: mode.rounding,
        ..GcnMode::FLUSH
    };
    (format == Format::Single || mode == flushed).then_some(flushed)
}

/// v_sub and v_subrev: the sum, with the source at the given index negated.
fn difference(instr: &FloatInstr<'_>, format: Format, negated: usize) -> Option<Meaning> {
    let mut words = Vec::new();
    for index in [0, 1] {
        let mut number = instr.number(index, format)?;
        if index == negated {
            // The sign is in the last word, so the negation flips one bit of it.
            let high = number.pop()?;
            let sign = match format {
                Format::Half => 0x8000,
                Format::Single | Format::Double => 0x8000_0000,
            };
            number.push(Expr::binary(BinaryOp::Xor, high, Expr::Const(sign)));
        }
        words.extend(number);
    }
    instr.set_function(GcnFunction::Add, format, instr.mode(format)?, &words)
}
