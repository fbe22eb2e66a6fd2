//! Steps of division: v_div_scale, v_div_fmas, v_div_fixup. For example, the flag of v_div_scale goes to VCC, and
//! v_div_fmas reads the bit of the own lane.

use warpbound_isa::Reg;

use super::source::{FloatInstr, apply};
use crate::float::gcn::GcnFunction;
use crate::float::{Format, Rounding};
use crate::{Cell, Expr, Meaning, TernaryOp, WordHalf};

/// Returns the meaning of a step by its name without `v_div_` and the format.
pub(super) fn meaning(instr: &FloatInstr<'_>, name: &str, format: Format) -> Option<Meaning> {
    let mode = instr.mode(format)?;
    let words = instr.numbers(&[0, 1, 2], format)?;
    let of = |function, half| apply(function, format, mode, &words, half);
    match name {
        "scale" => {
            instr.require_no_output_modifiers()?;
            let flag = of(GcnFunction::DivScaleFlag, WordHalf::Low);
            let masks = instr.ballot(1, &flag)?;
            let scaled = instr.set_function(GcnFunction::DivScale, format, mode, &words)?;
            let Meaning::Set(mut assignments) = scaled else {
                return None;
            };
            assignments.extend(masks);
            Some(Meaning::Set(assignments))
        }
        "fmas" => {
            let flag = Expr::own_bit(Cell::of(Reg::VCC).mask_words()?);
            instr.set(format, |half| {
                let [scaled, plain] = [GcnFunction::DivFmasScaled, GcnFunction::Fma];
                let (scaled, plain) = (of(scaled, half), of(plain, half));
                Expr::ternary(TernaryOp::Select, flag.clone(), scaled, plain)
            })
        }
        // In other modes, the results of underflow and overflow are not known.
        "fixup" if mode.rounding == Rounding::Nearest => {
            instr.set_function(GcnFunction::DivFixup, format, mode, &words)
        }
        _ => None,
    }
}
