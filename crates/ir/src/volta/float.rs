//! Floating-point operations that Maxwell does not have in this form. For example, `MUFU.EX2` has a float as its operand,
//! and `MUFU.SIN` an angle in turns.

use warpbound_isa::nvidia::{Modifier, Modifier as M};
use warpbound_isa::{Operand, OperandValue};

use super::integer::either;
use crate::float::special::SpecialFunction;
use crate::float::{Comparison, FloatOp, Flush, single};
use crate::maxwell::float::{saturated, special_function_named};
use crate::maxwell::half;
use crate::maxwell::modifier_reader::ModifierReader;
use crate::nvidia::operands::Operands;
use crate::{Expr, Meaning, TernaryOp};

/// FSEL: one of two singles, by a predicate.
pub(super) fn select(operands: &Operands<'_>) -> Option<Meaning> {
    let [a, b] = [operands.single(0)?, operands.single(1)?];
    operands.set_register(Expr::ternary(
        TernaryOp::Select,
        operands.predicate(2)?,
        a,
        b,
    ))
}

/// Minimum or maximum of two singles: a number if one is a NaN, but with `.NAN` a NaN.
fn smaller_or_larger(op: FloatOp, flush: Flush, propagates: bool, a: Expr, b: Expr) -> Expr {
    let chosen = Expr::float(op, [a.clone(), b.clone()]);
    if !propagates {
        return chosen;
    }
    // Without `.NAN` a NaN loses against a number, which is the operation that all GPUs have.
    let compare = FloatOp::CompareSingle(Comparison::Nan, flush);
    let is_nan = Expr::float(compare, [a, b]);
    Expr::ternary(TernaryOp::Select, is_nan, Expr::Const(single::NAN), chosen)
}

/// FMNMX: the minimum if the predicate holds, else the maximum.
pub(super) fn min_max(modifiers: &[Modifier], operands: &Operands<'_>) -> Option<Meaning> {
    min_max_of(2, modifiers, operands)
}

/// FMNMX3: minimum or maximum of three singles.
pub(super) fn min_max_of_three(modifiers: &[Modifier], operands: &Operands<'_>) -> Option<Meaning> {
    min_max_of(3, modifiers, operands)
}

fn min_max_of(count: usize, modifiers: &[Modifier], operands: &Operands<'_>) -> Option<Meaning> {
    let mut modifiers = ModifierReader::of(modifiers);
    let flush = modifiers.flush();
    let propagates = modifiers.take(M::Nan);
    modifiers.finish()?;
    let of = |op: FloatOp| {
        let rest = (1..count).map(|index| operands.single(index));
        rest.fold(operands.single(0), |found, next| {
            Some(smaller_or_larger(op, flush, propagates, found?, next?))
        })
    };
    // One instruction stands for minimum and maximum; a constant predicate leaves one of them.
    let choice = operands.predicate(count)?;
    operands.set_register(either(
        choice,
        of(FloatOp::MinSingle(flush))?,
        of(FloatOp::MaxSingle(flush))?,
    ))
}

/// FCHK: whether a division needs the slow path.
pub(super) fn division_check(operands: &Operands<'_>) -> Option<Meaning> {
    let words = [operands.single(0)?, operands.single(1)?];
    let truth = Expr::float(FloatOp::NeedsSlowPath, words);
    let predicate = operands.predicates().first().copied().flatten();
    Some(Meaning::Set(
        predicate.map(|cell| (cell, truth)).into_iter().collect(),
    ))
}

/// MUFU: a special function of a single, or of the high word of a double. Unlike on Maxwell, no RRO precedes it.
pub(super) fn special_function(modifiers: &[Modifier], operands: &Operands<'_>) -> Option<Meaning> {
    let mut modifiers = ModifierReader::of(modifiers);
    let function = special_function_named(modifiers.next()?)?;
    modifiers.finish()?;
    let given = match operands.reads.first()?.value {
        // Functions of doubles read the high word.
        OperandValue::Double(bits) => Expr::Const((bits >> 32) as u32),
        _ => operands.single(0)?,
    };
    // The reductions are operations of their own, which RRO executes on GPUs that have it.
    let reduced = match function {
        SpecialFunction::Sin | SpecialFunction::Cos => Expr::float(FloatOp::ReduceTurns, [given]),
        SpecialFunction::Ex2 => Expr::float(FloatOp::ReduceExponent, [given]),
        _ => given,
    };
    let value = Expr::float(FloatOp::Special(function), [reduced]);
    operands.set_register(saturated(value, false))
}

/// HFMA2. Compilers use one that adds two constants to a product of zeros as a move. The product is -0, so that the sum has
/// the bits of the constant, except for NaNs.
pub(super) fn half_fma(modifiers: &[Modifier], operands: &Operands<'_>) -> Option<Meaning> {
    // `.MMA` names the unit that executes it.
    let rest = match modifiers {
        [M::Mma, rest @ ..] => rest,
        rest => rest,
    };
    match moved_constant(operands) {
        Some(word) if rest.is_empty() => operands.set_register(word),
        _ => half::fma(rest, operands),
    }
}

/// Word of two halves that are added to a product of zeros.
fn moved_constant(operands: &Operands<'_>) -> Option<Expr> {
    let [a, b, high, low, ..] = operands.reads.as_slice() else {
        return None;
    };
    let is_zero = |operand: &Operand| operand.value == OperandValue::Reg(None) && !operand.absolute;
    if !is_zero(a) || !is_zero(b) || a.negate == b.negate {
        return None;
    }
    // A sum makes a NaN quiet and canonical, so that it is no move.
    let half = |operand: &Operand| match operand.value {
        OperandValue::Half(bits) => {
            let is_nan = bits & 0x7c00 == 0x7c00 && bits & 0x3ff != 0;
            (!is_nan && !operand.negate).then_some(u32::from(bits))
        }
        _ => None,
    };
    Some(Expr::Const(half(high)? << 16 | half(low)?))
}
