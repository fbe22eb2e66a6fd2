//! Single- and double-precision arithmetic and comparisons, MUFU, RRO, FCHK.

use warpbound_isa::View;

use super::compare::{combine_predicates, mask, set_predicates};
use super::flags::result_flags;
use super::operands::Operands;
use crate::float::special::SpecialFunction;
use crate::float::{Comparison, FloatOp, Flush, Rounding, single};
use crate::{Cell, Expr, Meaning, TernaryOp};

pub(super) fn meaning(view: &View, operands: &Operands<'_>) -> Option<Meaning> {
    // Unknown: the condition code of a float result. FSET and DSET write a mask, whose flags are those of an integer.
    if operands.sets_cc() && !matches!(view.mnemonic, "FSET" | "DSET") {
        return None;
    }
    let mut modifiers = Modifiers::of(view.modifiers.as_slice());
    match view.mnemonic {
        "FADD" | "FADD32I" | "FMUL" | "FMUL32I" | "FFMA" | "FFMA32I" => {
            single_arithmetic(view.mnemonic, modifiers, operands)
        }
        "FMNMX" => single_min_max(modifiers, operands),
        "FCMP" => single_select(modifiers, operands),
        "FSET" | "FSETP" => {
            let as_float = modifiers.take(".BF");
            let comparison = modifiers.comparison()?;
            let op = FloatOp::CompareSingle(comparison, modifiers.flush());
            let truth = Expr::float(op, [operands.single(0)?, operands.single(1)?]);
            set(view, truth, as_float, modifiers, operands)
        }
        "DSET" | "DSETP" => {
            let as_float = modifiers.take(".BF");
            let op = FloatOp::CompareDouble(modifiers.comparison()?);
            let truth = Expr::float(op, doubles::<2>(operands)?);
            set(view, truth, as_float, modifiers, operands)
        }
        "DADD" | "DMUL" | "DFMA" => double_arithmetic(view.mnemonic, modifiers, operands),
        "DMNMX" => {
            modifiers.finish()?;
            double_min_max(operands)
        }
        "MUFU" => special_function(modifiers, operands),
        "RRO" => {
            let op = match modifiers.next()? {
                ".SINCOS" => FloatOp::ReduceAngle,
                ".EX2" => FloatOp::ReduceExponent,
                _ => return None,
            };
            operands.set_register(Expr::float(op, [operands.single(0)?]))
        }
        "FCHK" => {
            let [".DIVIDE"] = view.modifiers.as_slice() else {
                return None;
            };
            let words = [operands.single(0)?, operands.single(1)?];
            let truth = Expr::float(FloatOp::NeedsSlowPath, words);
            let predicate = operands.predicates().first().copied().flatten();
            Some(Meaning::Set(
                predicate.map(|cell| (cell, truth)).into_iter().collect(),
            ))
        }
        _ => None,
    }
}

/// FADD, FMUL, FFMA.
fn single_arithmetic(
    mnemonic: &str,
    mut modifiers: Modifiers<'_>,
    operands: &Operands<'_>,
) -> Option<Meaning> {
    let flush = modifiers.flush();
    // Modifiers are taken in the order in which they are printed.
    let scale = match mnemonic {
        "FMUL" | "FMUL32I" => modifiers.scale(),
        _ => single::Scale::One,
    };
    let rounding = modifiers.rounding();
    let saturates = modifiers.take(".SAT");
    modifiers.finish()?;
    let mut words = vec![operands.single(0)?, operands.single(1)?];
    let op = match mnemonic {
        "FADD" | "FADD32I" => FloatOp::AddSingle(rounding, flush),
        "FMUL" | "FMUL32I" => FloatOp::MulSingle(scale, rounding, flush),
        _ => {
            words.push(operands.single(2)?);
            FloatOp::FmaSingle(rounding, flush)
        }
    };
    operands.set_register(saturated(Expr::float(op, words), saturates))
}

/// FMNMX: the minimum if the predicate holds, else the maximum.
fn single_min_max(mut modifiers: Modifiers<'_>, operands: &Operands<'_>) -> Option<Meaning> {
    let flush = modifiers.flush();
    modifiers.finish()?;
    let of = |op| Some(Expr::float(op, [operands.single(0)?, operands.single(1)?]));
    let (smaller, larger) = (FloatOp::MinSingle(flush), FloatOp::MaxSingle(flush));
    operands.set_register(match operands.predicate(2)? {
        Expr::Const(0) => of(larger)?,
        Expr::Const(_) => of(smaller)?,
        choice => Expr::ternary(TernaryOp::Select, choice, of(smaller)?, of(larger)?),
    })
}

/// FCMP: the first operand if the third one compares with 0 as asked for, else the second.
fn single_select(mut modifiers: Modifiers<'_>, operands: &Operands<'_>) -> Option<Meaning> {
    // The text has no modifier for `.GT`.
    let comparison = modifiers.comparison().unwrap_or(Comparison::Gt);
    let flush = modifiers.flush();
    modifiers.finish()?;
    let op = FloatOp::CompareSingle(comparison, flush);
    let truth = Expr::float(op, [operands.single(2)?, Expr::Const(0)]);
    let (a, b) = (operands.single(0)?, operands.single(1)?);
    operands.set_register(Expr::ternary(TernaryOp::Select, truth, a, b))
}

/// DADD, DMUL, DFMA.
fn double_arithmetic(
    mnemonic: &str,
    mut modifiers: Modifiers<'_>,
    operands: &Operands<'_>,
) -> Option<Meaning> {
    let rounding = modifiers.rounding();
    modifiers.finish()?;
    let (op, words) = match mnemonic {
        "DADD" => (FloatOp::AddDouble(rounding), doubles::<2>(operands)?),
        "DMUL" => (FloatOp::MulDouble(rounding), doubles::<2>(operands)?),
        _ => (FloatOp::FmaDouble(rounding), doubles::<3>(operands)?),
    };
    operands.set_register_pair(|half| Expr::Float(op, words.clone().into(), half))
}

/// DMNMX: the minimum if the predicate holds, else the maximum.
fn double_min_max(operands: &Operands<'_>) -> Option<Meaning> {
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
fn special_function(mut modifiers: Modifiers<'_>, operands: &Operands<'_>) -> Option<Meaning> {
    let name = modifiers.next()?;
    let function = FUNCTIONS.iter().find(|(spelled, _)| *spelled == name)?.1;
    let saturates = modifiers.take(".SAT");
    modifiers.finish()?;
    // The high word of a double is not a single, so it cannot be clamped.
    if saturates && matches!(function, SpecialFunction::Rcp64h | SpecialFunction::Rsq64h) {
        return None;
    }
    let value = Expr::float(FloatOp::Special(function), [operands.single(0)?]);
    operands.set_register(saturated(value, saturates))
}

/// Functions of MUFU by modifier.
const FUNCTIONS: [(&str, SpecialFunction); 9] = [
    (".COS", SpecialFunction::Cos),
    (".SIN", SpecialFunction::Sin),
    (".EX2", SpecialFunction::Ex2),
    (".LG2", SpecialFunction::Lg2),
    (".RCP", SpecialFunction::Rcp),
    (".RSQ", SpecialFunction::Rsq),
    (".RCP64H", SpecialFunction::Rcp64h),
    (".RSQ64H", SpecialFunction::Rsq64h),
    (".SQRT", SpecialFunction::Sqrt),
];

/// Modifiers of an instruction, consumed from the left.
pub(super) struct Modifiers<'m> {
    rest: &'m [&'static str],
}

impl<'m> Modifiers<'m> {
    pub(super) fn of(rest: &'m [&'static str]) -> Modifiers<'m> {
        Modifiers { rest }
    }

    /// Takes the next modifier.
    pub(super) fn next(&mut self) -> Option<&'static str> {
        let (first, rest) = self.rest.split_first()?;
        self.rest = rest;
        Some(first)
    }

    /// Takes the next modifier if it is `name`; returns whether it was.
    pub(super) fn take(&mut self, name: &str) -> bool {
        let is = self.rest.first() == Some(&name);
        if is {
            self.rest = self.rest.get(1..).unwrap_or_default();
        }
        is
    }

    /// Fails unless all modifiers have been taken.
    pub(super) fn finish(&self) -> Option<()> {
        self.rest.is_empty().then_some(())
    }

    /// Takes the next modifier if it is one of several, and returns its value, else `otherwise`.
    fn one_of<T: Copy>(&mut self, spellings: &[(&str, T)], otherwise: T) -> T {
        for &(name, value) in spellings {
            if self.take(name) {
                return value;
            }
        }
        otherwise
    }

    pub(super) fn flush(&mut self) -> Flush {
        let names = [(".FTZ", Flush::Ftz), (".FMZ", Flush::Fmz)];
        self.one_of(&names, Flush::Keep)
    }

    pub(super) fn rounding(&mut self) -> Rounding {
        let names = [
            (".RM", Rounding::Down),
            (".RP", Rounding::Up),
            (".RZ", Rounding::Zero),
        ];
        self.one_of(&names, Rounding::Nearest)
    }

    fn scale(&mut self) -> single::Scale {
        use single::Scale;
        let names = [
            (".D2", Scale::D2),
            (".D4", Scale::D4),
            (".D8", Scale::D8),
            (".M2", Scale::M2),
            (".M4", Scale::M4),
            (".M8", Scale::M8),
        ];
        self.one_of(&names, Scale::One)
    }

    pub(super) fn comparison(&mut self) -> Option<Comparison> {
        let number = COMPARISONS.iter().position(|spelled| self.take(spelled))?;
        Comparison::ALL.get(number).copied()
    }
}

/// Modifiers of the comparisons, by number.
const COMPARISONS: [&str; 16] = [
    ".F", ".LT", ".EQ", ".LE", ".GT", ".NE", ".GE", ".NUM", ".NAN", ".LTU", ".EQU", ".LEU", ".GTU",
    ".NEU", ".GEU", ".T",
];

pub(super) fn saturated(value: Expr, saturates: bool) -> Expr {
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

/// FSET, FSETP, DSET, DSETP: assigns a truth value combined with a predicate to a register or to two predicates.
fn set(
    view: &View,
    truth: Expr,
    as_float: bool,
    mut modifiers: Modifiers<'_>,
    operands: &Operands<'_>,
) -> Option<Meaning> {
    let combine = modifiers.next()?;
    modifiers.finish()?;
    let third = operands.predicate(2)?;
    if view.mnemonic.ends_with('P') {
        return set_predicates(truth, combine, third, operands);
    }
    let yes = if as_float { 1.0f32.to_bits() } else { u32::MAX };
    let value = mask(combine_predicates(combine, truth, third)?, yes);
    if !operands.sets_cc() {
        return operands.set_register(value);
    }
    let register = operands.only_register()?.map(|cell| (cell, value.clone()));
    let flags = (Cell::CC, result_flags(value));
    Some(Meaning::Set(register.into_iter().chain([flags]).collect()))
}
