//! Names of floating-point operations in text: `f32.add.down.ftz`, `convert.f32.s32.trunc`.
//!
//! Modifiers for the common case (to nearest, subnormals kept, no scale) are left out.

use warpbound_base::Named;

use crate::float::convert::{IntegerType, IntegralRounding};
use crate::float::gcn::{GcnFloat, GcnFunction, GcnMode};
use crate::float::single::Scale;
use crate::float::special::SpecialFunction;
use crate::float::{Comparison, FloatOp, Flush, Format, Rounding};

/// Returns the name of an operation with its modifiers.
pub(super) fn print(op: FloatOp) -> String {
    let mut words: Vec<&str> = Vec::new();
    let mut add = |word: &'static str| words.push(word);
    match op {
        FloatOp::AddSingle(..) => add("f32.add"),
        FloatOp::MulSingle(..) => add("f32.mul"),
        FloatOp::FmaSingle(..) => add("f32.fma"),
        FloatOp::MinSingle(_) => add("f32.min"),
        FloatOp::MaxSingle(_) => add("f32.max"),
        FloatOp::CompareSingle(..) => add("f32.compare"),
        FloatOp::SaturateSingle => add("f32.saturate"),
        FloatOp::AddDouble(_) => add("f64.add"),
        FloatOp::MulDouble(_) => add("f64.mul"),
        FloatOp::FmaDouble(_) => add("f64.fma"),
        FloatOp::MinDouble => add("f64.min"),
        FloatOp::MaxDouble => add("f64.max"),
        FloatOp::CompareDouble(_) => add("f64.compare"),
        FloatOp::AddHalf(_) => add("f16.add"),
        FloatOp::MulHalf(_) => add("f16.mul"),
        FloatOp::FmaHalf(_) => add("f16.fma"),
        FloatOp::AddSinglesToHalf(_) => add("f16.add_singles"),
        FloatOp::MulSinglesToHalf(_) => add("f16.mul_singles"),
        FloatOp::FmaSinglesToHalf(_) => add("f16.fma_singles"),
        FloatOp::CompareHalf(..) => add("f16.compare"),
        FloatOp::SaturateHalf => add("f16.saturate"),
        FloatOp::WidenHalf(_) => add("f16.widen"),
        FloatOp::AddBfloat => add("bf16.add"),
        FloatOp::MulBfloat => add("bf16.mul"),
        FloatOp::FmaBfloat => add("bf16.fma"),
        FloatOp::SingleToBfloat(_) => add("bf16.of_single"),
        FloatOp::Special(_) => add("mufu"),
        FloatOp::ReduceAngle => add("reduce_angle"),
        FloatOp::ReduceTurns => add("reduce_turns"),
        FloatOp::ReduceExponent => add("reduce_exponent"),
        FloatOp::NeedsSlowPath => add("needs_slow_path"),
        FloatOp::ToIntegral { .. } => add("round"),
        // The two formats after the name tell these conversions apart.
        FloatOp::ToFormat { .. } | FloatOp::ToInteger { .. } | FloatOp::FromInteger { .. } => {
            add("convert");
        }
        FloatOp::Gcn(GcnFloat {
            function, format, ..
        }) => {
            add("gcn");
            add(format.name());
            match function {
                // These functions have a parameter, which becomes a word of its own.
                GcnFunction::Compare(comparison) => {
                    add("compare");
                    add(comparison.name());
                }
                GcnFunction::Convert(to) => {
                    add("convert");
                    add(to.name());
                }
                _ => add(function.name()),
            }
        }
    }
    add_modifiers(op, &mut words);
    words.join(".")
}

/// Adds the modifiers of an operation.
fn add_modifiers(op: FloatOp, words: &mut Vec<&'static str>) {
    match op {
        FloatOp::MulSingle(scale, ..) => words.extend(unless(scale, Scale::One)),
        FloatOp::CompareSingle(comparison, _)
        | FloatOp::CompareHalf(comparison, _)
        | FloatOp::CompareDouble(comparison) => words.push(comparison.name()),
        FloatOp::Special(function) => words.push(function.name()),
        FloatOp::ToFormat { from, to, .. } => words.extend([from.name(), to.name()]),
        FloatOp::ToIntegral {
            format, integral, ..
        } => {
            words.push(format.name());
            words.extend(unless(integral, IntegralRounding::Nearest));
        }
        FloatOp::ToInteger {
            from, to, integral, ..
        } => {
            words.extend([from.name(), to.name()]);
            words.extend(unless(integral, IntegralRounding::Nearest));
        }
        FloatOp::FromInteger { from, to, .. } => words.extend([from.name(), to.name()]),
        _ => {}
    }
    words.extend(unless(rounding(op), Rounding::Nearest));
    words.extend(unless(flush(op), Flush::Keep));
    if let FloatOp::FromInteger {
        absolute, negate, ..
    } = op
    {
        words.extend(absolute.then_some("abs"));
        words.extend(negate.then_some("neg"));
    }
    if let FloatOp::Gcn(GcnFloat { mode, .. }) = op {
        words.extend(mode.flush_operands.then_some("flush_operands"));
        words.extend(mode.flush_results.then_some("flush_results"));
    }
    if let FloatOp::ToFormat { saturate, .. } | FloatOp::ToIntegral { saturate, .. } = op {
        words.extend(saturate.then_some("sat"));
    }
}

/// Name of a modifier; `None` for the common case.
fn unless<T: Named>(value: T, common: T) -> Option<&'static str> {
    (value != common).then(|| value.name())
}

/// Rounding mode of an operation; to nearest if it has none.
fn rounding(op: FloatOp) -> Rounding {
    match op {
        FloatOp::AddSingle(rounding, _)
        | FloatOp::MulSingle(_, rounding, _)
        | FloatOp::FmaSingle(rounding, _)
        | FloatOp::AddDouble(rounding)
        | FloatOp::MulDouble(rounding)
        | FloatOp::FmaDouble(rounding)
        | FloatOp::SingleToBfloat(rounding)
        | FloatOp::ToFormat { rounding, .. }
        | FloatOp::FromInteger { rounding, .. } => rounding,
        FloatOp::Gcn(operation) => operation.mode.rounding,
        _ => Rounding::Nearest,
    }
}

/// Treatment of subnormal numbers by an operation; they are kept if it has none.
fn flush(op: FloatOp) -> Flush {
    match op {
        FloatOp::AddSingle(_, flush)
        | FloatOp::MulSingle(_, _, flush)
        | FloatOp::FmaSingle(_, flush)
        | FloatOp::MinSingle(flush)
        | FloatOp::MaxSingle(flush)
        | FloatOp::CompareSingle(_, flush)
        | FloatOp::AddHalf(flush)
        | FloatOp::MulHalf(flush)
        | FloatOp::FmaHalf(flush)
        | FloatOp::AddSinglesToHalf(flush)
        | FloatOp::MulSinglesToHalf(flush)
        | FloatOp::FmaSinglesToHalf(flush)
        | FloatOp::CompareHalf(_, flush)
        | FloatOp::WidenHalf(flush)
        | FloatOp::ToFormat { flush, .. }
        | FloatOp::ToIntegral { flush, .. }
        | FloatOp::ToInteger { flush, .. } => flush,
        _ => Flush::Keep,
    }
}

/// Returns the operation with a name as [`print()`] writes it.
pub(super) fn parse(text: &str) -> Option<FloatOp> {
    let words: Vec<&str> = text.split('.').collect();
    let op = parse_loosely(&words)?;
    // Refuses modifiers that the operation does not have, and modifiers in another order.
    (print(op) == text).then_some(op)
}

/// Returns the operation on bfloat16 that a word names.
fn bfloat_operation(name: &str, rounding: Rounding) -> Option<FloatOp> {
    Some(match name {
        "add" => FloatOp::AddBfloat,
        "mul" => FloatOp::MulBfloat,
        "fma" => FloatOp::FmaBfloat,
        "of_single" => FloatOp::SingleToBfloat(rounding),
        _ => return None,
    })
}

/// Returns the operation that the words name, ignoring other words.
fn parse_loosely(words: &[&str]) -> Option<FloatOp> {
    let has = |word: &str| words.contains(&word);
    let rounding = find::<Rounding>(words).unwrap_or_default();
    let flush = find::<Flush>(words).unwrap_or_default();
    let integral = find::<IntegralRounding>(words).unwrap_or_default();
    let scale = find::<Scale>(words).unwrap_or_default();
    // Words are searched for anywhere, because printing the result again checks their order.
    let comparison = find::<Comparison>(words);
    let word = |index: usize| words.get(index).copied().unwrap_or_default();
    let (from, to) = (Format::from_name(word(1)), Format::from_name(word(2)));
    Some(match (word(0), word(1)) {
        ("f32", "add") => FloatOp::AddSingle(rounding, flush),
        ("f32", "mul") => FloatOp::MulSingle(scale, rounding, flush),
        ("f32", "fma") => FloatOp::FmaSingle(rounding, flush),
        ("f32", "min") => FloatOp::MinSingle(flush),
        ("f32", "max") => FloatOp::MaxSingle(flush),
        ("f32", "compare") => FloatOp::CompareSingle(comparison?, flush),
        ("f32", "saturate") => FloatOp::SaturateSingle,
        ("f64", "add") => FloatOp::AddDouble(rounding),
        ("f64", "mul") => FloatOp::MulDouble(rounding),
        ("f64", "fma") => FloatOp::FmaDouble(rounding),
        ("f64", "min") => FloatOp::MinDouble,
        ("f64", "max") => FloatOp::MaxDouble,
        ("f64", "compare") => FloatOp::CompareDouble(comparison?),
        ("f16", "add") => FloatOp::AddHalf(flush),
        ("f16", "mul") => FloatOp::MulHalf(flush),
        ("f16", "fma") => FloatOp::FmaHalf(flush),
        ("f16", "add_singles") => FloatOp::AddSinglesToHalf(flush),
        ("f16", "mul_singles") => FloatOp::MulSinglesToHalf(flush),
        ("f16", "fma_singles") => FloatOp::FmaSinglesToHalf(flush),
        ("f16", "compare") => FloatOp::CompareHalf(comparison?, flush),
        ("f16", "saturate") => FloatOp::SaturateHalf,
        ("f16", "widen") => FloatOp::WidenHalf(flush),
        ("bf16", name) => bfloat_operation(name, rounding)?,
        ("mufu", function) => FloatOp::Special(SpecialFunction::from_name(function)?),
        ("reduce_angle", _) => FloatOp::ReduceAngle,
        ("reduce_turns", _) => FloatOp::ReduceTurns,
        ("reduce_exponent", _) => FloatOp::ReduceExponent,
        ("needs_slow_path", _) => FloatOp::NeedsSlowPath,
        ("gcn", _) => FloatOp::Gcn(GcnFloat {
            function: match word(2) {
                "compare" => GcnFunction::Compare(Comparison::from_name(word(3))?),
                "convert" => GcnFunction::Convert(Format::from_name(word(3))?),
                name => GcnFunction::from_name(name)?,
            },
            format: from?,
            mode: GcnMode {
                rounding,
                flush_operands: has("flush_operands"),
                flush_results: has("flush_results"),
            },
        }),
        ("round", _) => FloatOp::ToIntegral {
            format: from?,
            integral,
            flush,
            saturate: has("sat"),
        },
        ("convert", integer) => match (from, to) {
            (Some(from), Some(to)) => FloatOp::ToFormat {
                from,
                to,
                rounding,
                flush,
                saturate: has("sat"),
            },
            // The names of formats and integer types differ, so the types decide the direction.
            (Some(from), None) => FloatOp::ToInteger {
                from,
                to: IntegerType::from_name(word(2))?,
                integral,
                flush,
            },
            (None, to) => FloatOp::FromInteger {
                from: IntegerType::from_name(integer)?,
                to: to?,
                rounding,
                absolute: has("abs"),
                negate: has("neg"),
            },
        },
        _ => return None,
    })
}

/// Returns the first word that names a value of a type.
fn find<T: Named>(words: &[&str]) -> Option<T> {
    words.iter().find_map(|word| T::from_name(word))
}
