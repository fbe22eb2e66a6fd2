//! Comparisons and predicates.

use smallvec::SmallVec;
use warpbound_isa::View;

use super::flags::Sum;
use super::operands::{Operands, and, flipped, or};
use crate::{BinaryOp, Cell, Expr, Meaning, TernaryOp};

pub(super) fn meaning(view: &View, operands: &Operands<'_>) -> Option<Meaning> {
    let modifiers = view.modifiers.as_slice();
    match view.mnemonic {
        "ISETP" => {
            let (truth, combine) = compared(modifiers, operands)?;
            both_predicates(truth, combine, operands.predicate(2)?, operands)
        }
        "ISET" => {
            let (yes, modifiers) = match modifiers {
                [".BF", rest @ ..] => (1.0f32.to_bits(), rest),
                rest => (u32::MAX, rest),
            };
            let (truth, combine) = compared(modifiers, operands)?;
            let truth = combined(combine, truth, operands.predicate(2)?)?;
            operands.result(mask(truth, yes))
        }
        "ICMP" => {
            let (op, modifiers) = modifiers.split_first()?;
            let signed = match modifiers {
                [] => true,
                [".U32"] => false,
                _ => return None,
            };
            let truth = relation(op, signed, operands.word(2)?, Expr::Const(0))?;
            let (a, b) = (operands.word(0)?, operands.word(1)?);
            operands.result(Expr::ternary(TernaryOp::Select, truth, a, b))
        }
        "PSETP" => {
            let [first, second] = modifiers else {
                return None;
            };
            let truth = combined(first, operands.predicate(0)?, operands.predicate(1)?)?;
            both_predicates(truth, second, operands.predicate(2)?, operands)
        }
        "PSET" => {
            let (yes, modifiers) = match modifiers {
                [".BF", rest @ ..] => (1.0f32.to_bits(), rest),
                rest => (u32::MAX, rest),
            };
            let [first, second] = modifiers else {
                return None;
            };
            let truth = combined(first, operands.predicate(0)?, operands.predicate(1)?)?;
            let truth = combined(second, truth, operands.predicate(2)?)?;
            operands.result(mask(truth, yes))
        }
        _ => None,
    }
}

/// The comparison of the first two operands, and how it is combined with a predicate.
fn compared<'m>(modifiers: &[&'m str], operands: &Operands<'_>) -> Option<(Expr, &'m str)> {
    let (op, rest) = modifiers.split_first()?;
    let (combine, rest) = rest.split_last()?;
    let (signed, rest) = match rest {
        [".U32", rest @ ..] => (false, rest),
        rest => (true, rest),
    };
    let truth = match rest {
        [] => relation(op, signed, operands.word(0)?, operands.word(1)?)?,
        [".X"] => chained_relation(op, signed, operands)?,
        _ => return None,
    };
    Some((truth, combine))
}

/// 1 where `a op b`, else 0.
fn relation(op: &str, signed: bool, a: Expr, b: Expr) -> Option<Expr> {
    let (less, not_more) = match signed {
        true => (BinaryOp::LtS, BinaryOp::LeS),
        false => (BinaryOp::LtU, BinaryOp::LeU),
    };
    Some(match op {
        ".F" => Expr::Const(0),
        ".T" => Expr::Const(1),
        ".LT" => Expr::binary(less, a, b),
        ".LE" => Expr::binary(not_more, a, b),
        ".GT" => Expr::binary(less, b, a),
        ".GE" => Expr::binary(not_more, b, a),
        ".EQ" => Expr::binary(BinaryOp::Eq, a, b),
        ".NE" => Expr::binary(BinaryOp::Ne, a, b),
        _ => return None,
    })
}

/// The comparison of numbers of several words, whose lower words the condition code compared by their
/// difference.
fn chained_relation(op: &str, signed: bool, operands: &Operands<'_>) -> Option<Expr> {
    let (a, b) = (operands.signed(0)?, operands.signed(1)?);
    if a.1 || b.1 {
        return None;
    }
    let difference = Sum::of(a, (b.0, true), true)?;
    let (sign, overflow) = difference.sign_and_overflow();
    let less = match signed {
        true => Expr::binary(BinaryOp::Xor, sign, overflow),
        // What is not carried out is borrowed.
        false => flipped(difference.carry_out()),
    };
    let equal = difference.is_zero();
    Some(match op {
        ".F" => Expr::Const(0),
        ".T" => Expr::Const(1),
        ".LT" => less,
        ".GE" => flipped(less),
        ".EQ" => equal,
        ".NE" => flipped(equal),
        ".LE" => or(less, equal),
        ".GT" => flipped(or(less, equal)),
        _ => return None,
    })
}

pub(super) fn combined(op: &str, a: Expr, b: Expr) -> Option<Expr> {
    Some(match op {
        ".AND" => and(a, b),
        ".OR" => or(a, b),
        ".XOR" => Expr::binary(BinaryOp::Xor, a, b),
        _ => return None,
    })
}

/// The first predicate gets the truth combined with a third one, the second what its contrary gives.
pub(super) fn both_predicates(
    truth: Expr,
    combine: &str,
    third: Expr,
    operands: &Operands<'_>,
) -> Option<Meaning> {
    let values = [
        combined(combine, truth.clone(), third.clone())?,
        combined(combine, flipped(truth), third)?,
    ];
    let cells = operands.predicates();
    let writes: SmallVec<[(Cell, Expr); 2]> = cells
        .into_iter()
        .zip(values)
        .filter_map(|(cell, value)| Some((cell?, value)))
        .collect();
    Some(Meaning::Set(writes))
}

/// `yes` for 1, 0 for 0.
pub(super) fn mask(truth: Expr, yes: u32) -> Expr {
    Expr::ternary(TernaryOp::Select, truth, Expr::Const(yes), Expr::Const(0))
}
