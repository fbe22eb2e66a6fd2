//! Comparisons and classes: v_cmp, v_cmpx. For example, v_cmp_nlt_f32 holds for a NaN, and v_cmp_ge_f32 does not.

use smallvec::SmallVec;

use super::source::{FloatInstr, apply, format};
use crate::float::gcn::{GcnFunction, GcnMode};
use crate::float::{Comparison, Rounding};
use crate::{Cell, Expr, Meaning, WordHalf};

/// Returns the meaning of a comparison by its name without `v_cmp_`; `None` if it compares integers. For v_cmpx,
/// which also writes EXEC, `sets_exec` is true.
pub(super) fn meaning(instr: &FloatInstr<'_>, name: &str, sets_exec: bool) -> Option<Meaning> {
    let (name, format_name) = name.rsplit_once('_')?;
    let format = format(format_name)?;
    instr.require_no_output_modifiers()?;
    let truth = if name == "class" {
        let mut words = instr.number(0, format)?;
        words.push(instr.integer(1, format)?);
        apply(
            GcnFunction::Class,
            format,
            GcnMode::KEEP,
            &words,
            WordHalf::Low,
        )
    } else {
        let function = GcnFunction::Compare(comparison(name)?);
        let mode = GcnMode {
            // The result is no float, so these modes have no effect; fixed ones make equal expressions equal.
            rounding: Rounding::Nearest,
            flush_results: false,
            ..instr.mode(format)?
        };
        let words = instr.numbers(&[0, 1], format)?;
        apply(function, format, mode, &words, WordHalf::Low)
    };
    let mut assignments: SmallVec<[(Cell, Expr); 2]> = instr.ballot(0, &truth)?.into();
    if sets_exec {
        let halves = [WordHalf::Low, WordHalf::High];
        for (cell, half) in Cell::EXEC_WORDS.into_iter().zip(halves) {
            // The destination may itself be EXEC, which must not be assigned twice.
            if assignments.iter().all(|(written, _)| *written != cell) {
                assignments.push((cell, Expr::Ballot(truth.clone().into(), half)));
            }
        }
    }
    Some(Meaning::Set(assignments))
}

/// Comparison by its name. The letter `n` negates, so the comparison holds for NaNs too.
fn comparison(name: &str) -> Option<Comparison> {
    Some(match name {
        "f" => Comparison::F,
        "lt" => Comparison::Lt,
        "eq" => Comparison::Eq,
        "le" => Comparison::Le,
        "gt" => Comparison::Gt,
        "lg" => Comparison::Ne,
        "ge" => Comparison::Ge,
        "o" => Comparison::Num,
        "u" => Comparison::Nan,
        "nge" => Comparison::Ltu,
        "nlg" => Comparison::Equ,
        "ngt" => Comparison::Leu,
        "nle" => Comparison::Gtu,
        "neq" => Comparison::Neu,
        "nlt" => Comparison::Geu,
        "tru" => Comparison::T,
        _ => return None,
    })
}
