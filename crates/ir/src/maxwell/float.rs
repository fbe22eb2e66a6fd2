//! Single- and double-precision arithmetic and comparisons, MUFU, RRO, FCHK. For example, `FADD.FTZ.RM R0, R1, -R2`
//! is an addition with flushed subnormals, rounded down, whose second operand is negated first.

use warpbound_isa::nvidia::{Modifier, Modifier as M};

use super::compare::{combine_predicates, mask, set_predicates};
use super::flags::result_flags;
use super::modifier_reader::ModifierReader;
use crate::float::special::SpecialFunction;
use crate::float::{Comparison, FloatOp, Rounding};
use crate::nvidia::operands::Operands;
use crate::{Cell, Expr, Meaning, TernaryOp};

/// FSET: a mask from the comparison of two singles.
pub(crate) fn single_set(modifiers: &[Modifier], operands: &Operands<'_>) -> Option<Meaning> {
    let mut modifiers = ModifierReader::of(modifiers);
    let as_float = modifiers.take(M::Bf);
    let truth = single_comparison(&mut modifiers, operands)?;
    set_mask(truth, as_float, modifiers, operands)
}

/// FSETP: two predicates from the comparison of two singles.
pub(crate) fn single_set_predicates(
    modifiers: &[Modifier],
    operands: &Operands<'_>,
) -> Option<Meaning> {
    let mut modifiers = ModifierReader::of(modifiers);
    let truth = single_comparison(&mut modifiers, operands)?;
    combine_and_set(truth, modifiers, operands)
}

/// DSET: a mask from the comparison of two doubles.
pub(crate) fn double_set(modifiers: &[Modifier], operands: &Operands<'_>) -> Option<Meaning> {
    let mut modifiers = ModifierReader::of(modifiers);
    let as_float = modifiers.take(M::Bf);
    let truth = double_comparison(&mut modifiers, operands)?;
    set_mask(truth, as_float, modifiers, operands)
}

/// DSETP: two predicates from the comparison of two doubles.
pub(crate) fn double_set_predicates(
    modifiers: &[Modifier],
    operands: &Operands<'_>,
) -> Option<Meaning> {
    let mut modifiers = ModifierReader::of(modifiers);
    let truth = double_comparison(&mut modifiers, operands)?;
    combine_and_set(truth, modifiers, operands)
}

fn single_comparison(modifiers: &mut ModifierReader<'_>, operands: &Operands<'_>) -> Option<Expr> {
    let comparison = modifiers.comparison()?;
    let op = FloatOp::CompareSingle(comparison, modifiers.flush());
    Some(Expr::float(op, [operands.single(0)?, operands.single(1)?]))
}

fn double_comparison(modifiers: &mut ModifierReader<'_>, operands: &Operands<'_>) -> Option<Expr> {
    let op = FloatOp::CompareDouble(modifiers.comparison()?);
    Some(Expr::float(op, doubles::<2>(operands)?))
}

/// RRO: range reduction for a special function.
pub(crate) fn range_reduction(modifiers: &[Modifier], operands: &Operands<'_>) -> Option<Meaning> {
    let op = match modifiers {
        [M::Sincos] => FloatOp::ReduceAngle,
        [M::Ex2] => FloatOp::ReduceExponent,
        _ => return None,
    };
    operands.set_register(Expr::float(op, [operands.single(0)?]))
}

/// FCHK: whether a division needs the slow path.
pub(crate) fn division_check(modifiers: &[Modifier], operands: &Operands<'_>) -> Option<Meaning> {
    let [M::Divide] = modifiers else {
        return None;
    };
    let words = [operands.single(0)?, operands.single(1)?];
    let truth = Expr::float(FloatOp::NeedsSlowPath, words);
    let predicate = operands.predicates().first().copied().flatten();
    Some(Meaning::Set(
        predicate.map(|cell| (cell, truth)).into_iter().collect(),
    ))
}

/// FADD.
pub(crate) fn single_sum(modifiers: &[Modifier], operands: &Operands<'_>) -> Option<Meaning> {
    let mut modifiers = ModifierReader::of(modifiers);
    let flush = modifiers.flush();
    let op = FloatOp::AddSingle(modifiers.rounding(), flush);
    single_result(op, 2, modifiers, operands)
}

/// FMUL.
pub(crate) fn single_product(modifiers: &[Modifier], operands: &Operands<'_>) -> Option<Meaning> {
    let mut modifiers = ModifierReader::of(modifiers);
    // Modifiers must be taken in the order of printing.
    let (flush, scale) = (modifiers.flush(), modifiers.scale());
    let op = FloatOp::MulSingle(scale, modifiers.rounding(), flush);
    single_result(op, 2, modifiers, operands)
}

/// FFMA.
pub(crate) fn single_fma(modifiers: &[Modifier], operands: &Operands<'_>) -> Option<Meaning> {
    let mut modifiers = ModifierReader::of(modifiers);
    let flush = modifiers.flush();
    let op = FloatOp::FmaSingle(modifiers.rounding(), flush);
    single_result(op, 3, modifiers, operands)
}

/// Assigns the result of an operation on the first `count` operands, possibly clamped.
fn single_result(
    op: FloatOp,
    count: usize,
    mut modifiers: ModifierReader<'_>,
    operands: &Operands<'_>,
) -> Option<Meaning> {
    let saturates = modifiers.take(M::Sat);
    modifiers.finish()?;
    let words: Option<Vec<Expr>> = (0..count).map(|index| operands.single(index)).collect();
    operands.set_register(saturated(Expr::float(op, words?), saturates))
}

/// FMNMX: the minimum if the predicate holds, else the maximum.
pub(crate) fn single_min_max(modifiers: &[Modifier], operands: &Operands<'_>) -> Option<Meaning> {
    let mut modifiers = ModifierReader::of(modifiers);
    let flush = modifiers.flush();
    modifiers.finish()?;
    let of = |op| Some(Expr::float(op, [operands.single(0)?, operands.single(1)?]));
    let (smaller, larger) = (FloatOp::MinSingle(flush), FloatOp::MaxSingle(flush));
    operands.set_register(match operands.predicate(2)? {
        // A constant predicate is common (`PT`), and then one operation suffices.
        Expr::Const(0) => of(larger)?,
        Expr::Const(_) => of(smaller)?,
        choice => Expr::ternary(TernaryOp::Select, choice, of(smaller)?, of(larger)?),
    })
}

/// FCMP: the first operand if the comparison of the third one with 0 holds, else the second.
pub(crate) fn single_select(modifiers: &[Modifier], operands: &Operands<'_>) -> Option<Meaning> {
    let mut modifiers = ModifierReader::of(modifiers);
    // The text has no modifier for `.GT`.
    let comparison = modifiers.comparison().unwrap_or(Comparison::Gt);
    let flush = modifiers.flush();
    modifiers.finish()?;
    let op = FloatOp::CompareSingle(comparison, flush);
    let truth = Expr::float(op, [operands.single(2)?, Expr::Const(0)]);
    let (a, b) = (operands.single(0)?, operands.single(1)?);
    operands.set_register(Expr::ternary(TernaryOp::Select, truth, a, b))
}

/// DADD.
pub(crate) fn double_sum(modifiers: &[Modifier], operands: &Operands<'_>) -> Option<Meaning> {
    let op = FloatOp::AddDouble(only_rounding(modifiers)?);
    double_result(op, doubles::<2>(operands)?, operands)
}

/// DMUL.
pub(crate) fn double_product(modifiers: &[Modifier], operands: &Operands<'_>) -> Option<Meaning> {
    let op = FloatOp::MulDouble(only_rounding(modifiers)?);
    double_result(op, doubles::<2>(operands)?, operands)
}

/// DFMA.
pub(crate) fn double_fma(modifiers: &[Modifier], operands: &Operands<'_>) -> Option<Meaning> {
    let op = FloatOp::FmaDouble(only_rounding(modifiers)?);
    double_result(op, doubles::<3>(operands)?, operands)
}

/// Rounding of an instruction without other modifiers.
fn only_rounding(modifiers: &[Modifier]) -> Option<Rounding> {
    let mut modifiers = ModifierReader::of(modifiers);
    let rounding = modifiers.rounding();
    modifiers.finish()?;
    Some(rounding)
}

fn double_result(op: FloatOp, words: Vec<Expr>, operands: &Operands<'_>) -> Option<Meaning> {
    operands.set_register_pair(|half| Expr::Float(op, words.clone().into(), half))
}

/// DMNMX: the minimum if the predicate holds, else the maximum.
pub(crate) fn double_min_max(operands: &Operands<'_>) -> Option<Meaning> {
    let words = doubles::<2>(operands)?;
    let choice = operands.predicate(2)?;
    operands.set_register_pair(|half| {
        let of = |op| Expr::Float(op, words.clone().into(), half);
        match &choice {
            Expr::Const(0) => of(FloatOp::MaxDouble),
            Expr::Const(_) => of(FloatOp::MinDouble),
            choice => Expr::ternary(
                TernaryOp::Select,
                choice.clone(),
                of(FloatOp::MinDouble),
                of(FloatOp::MaxDouble),
            ),
        }
    })
}

/// MUFU: a special function of a single, or of the high word of a double.
pub(crate) fn special_function(modifiers: &[Modifier], operands: &Operands<'_>) -> Option<Meaning> {
    let mut modifiers = ModifierReader::of(modifiers);
    let function = special_function_named(modifiers.next()?)?;
    let saturates = modifiers.take(M::Sat);
    modifiers.finish()?;
    // The high word of a double is not a single, so it cannot be clamped.
    if saturates && matches!(function, SpecialFunction::Rcp64h | SpecialFunction::Rsq64h) {
        return None;
    }
    let value = Expr::float(FloatOp::Special(function), [operands.single(0)?]);
    operands.set_register(saturated(value, saturates))
}

/// Function of MUFU that a modifier names.
pub(crate) fn special_function_named(name: Modifier) -> Option<SpecialFunction> {
    let mut functions = FUNCTIONS.iter();
    functions.find(|(known, _)| *known == name).map(|row| row.1)
}

/// Functions of MUFU by modifier.
const FUNCTIONS: [(Modifier, SpecialFunction); 9] = [
    (M::Cos, SpecialFunction::Cos),
    (M::Sin, SpecialFunction::Sin),
    (M::Ex2, SpecialFunction::Ex2),
    (M::Lg2, SpecialFunction::Lg2),
    (M::Rcp, SpecialFunction::Rcp),
    (M::Rsq, SpecialFunction::Rsq),
    (M::Rcp64h, SpecialFunction::Rcp64h),
    (M::Rsq64h, SpecialFunction::Rsq64h),
    (M::Sqrt, SpecialFunction::Sqrt),
];

pub(crate) fn saturated(value: Expr, saturates: bool) -> Expr {
    match saturates {
        true => Expr::float(FloatOp::SaturateSingle, [value]),
        false => value,
    }
}

/// Words of the first `N` operands, each a double.
fn doubles<const N: usize>(operands: &Operands<'_>) -> Option<Vec<Expr>> {
    let mut words = Vec::with_capacity(2 * N);
    for index in 0..N {
        words.extend(operands.double(index)?);
    }
    Some(words)
}

/// Assigns a truth value combined with a predicate to two predicates.
fn combine_and_set(
    truth: Expr,
    mut modifiers: ModifierReader<'_>,
    operands: &Operands<'_>,
) -> Option<Meaning> {
    let combine = modifiers.next()?;
    modifiers.finish()?;
    set_predicates(truth, combine, operands.predicate(2)?, operands)
}

/// Assigns a truth value combined with a predicate to a register, as a mask or as a float.
fn set_mask(
    truth: Expr,
    as_float: bool,
    mut modifiers: ModifierReader<'_>,
    operands: &Operands<'_>,
) -> Option<Meaning> {
    let combine = modifiers.next()?;
    modifiers.finish()?;
    let third = operands.predicate(2)?;
    let yes = if as_float { 1.0f32.to_bits() } else { u32::MAX };
    let value = mask(combine_predicates(combine, truth, third)?, yes);
    if !operands.sets_cc() {
        return operands.set_register(value);
    }
    // A mask has the flags of an integer.
    let register = operands.only_register()?.map(|cell| (cell, value.clone()));
    let flags = (Cell::CC, result_flags(value));
    Some(Meaning::Set(register.into_iter().chain([flags]).collect()))
}
