//! Comparisons. For example, `ISETP.GE.U32.AND P0, PT, R2, R4, PT` and `ISETP.GE.AND.EX P0, PT, R3, R5, PT, P0` compare two
//! signed numbers of 64 bits.

use smallvec::SmallVec;
use warpbound_isa::nvidia::{Modifier, Modifier as M};

use super::integer::long_less;
use crate::float::{Comparison, FloatOp};
use crate::maxwell::compare::{relation, relation_of, set_predicates};
use crate::maxwell::float::double_set_predicates as plain_double_set_predicates;
use crate::nvidia::operands::{Operands, and, logical_not, or};
use crate::{BinaryOp, Cell, Expr, Meaning, WordHalf};

/// ISETP: two predicates from a comparison. With `.EX` the operands are the high words, and a predicate is the truth of
/// the same comparison of the low words.
pub(super) fn integer_set_predicates(
    modifiers: &[Modifier],
    operands: &Operands<'_>,
) -> Option<Meaning> {
    let (&op, rest) = modifiers.split_first()?;
    let (extends, rest) = match rest {
        [rest @ .., M::Ex] => (true, rest),
        rest => (false, rest),
    };
    let (&combine, kind) = rest.split_last()?;
    let truth = match (kind, extends) {
        // Later GPUs compare pairs with one instruction instead of a pair with `.EX`.
        ([M::U64 | M::S64], false) => {
            let [a, b] = [operands.long(0)?, operands.long(1)?];
            let equal = |n: usize| Expr::binary(BinaryOp::Eq, a[n].clone(), b[n].clone());
            let less = long_less(&a, &b, kind == [M::S64]);
            relation_of(op, less, and(equal(0), equal(1)))?
        }
        ([] | [M::U32], _) => {
            let signed = kind.is_empty();
            let [a, b] = [operands.word(0)?, operands.word(1)?];
            match extends {
                false => relation(op, signed, a, b)?,
                true => extended(op, signed, [a, b], operands.predicate(3)?)?,
            }
        }
        _ => return None,
    };
    set_predicates(truth, combine, operands.predicate(2)?, operands)
}

/// Truth of a comparison of 64-bit numbers from the high words and the truth of the comparison of the low ones.
fn extended(op: Modifier, signed: bool, [a, b]: [Expr; 2], low: Expr) -> Option<Expr> {
    let of = |op| relation(op, signed, a.clone(), b.clone());
    // The high words decide unless they are equal. So LE of the whole numbers is LT of the high words, or their equality with
    // LE of the low ones.
    let strict = match op {
        M::Eq => return Some(and(of(M::Eq)?, low)),
        M::Ne => return Some(or(of(M::Ne)?, low)),
        M::Lt | M::Le => M::Lt,
        M::Gt | M::Ge => M::Gt,
        _ => return None,
    };
    Some(or(of(strict)?, and(of(M::Eq)?, low)))
}

/// DSETP: two predicates from the comparison of two doubles. With `.MIN` and `.MAX`, the first predicate chooses the first
/// operand, and the second one holds if both are NaNs: compilers select by it, and make the second operand quiet.
pub(super) fn double_set_predicates(
    modifiers: &[Modifier],
    operands: &Operands<'_>,
) -> Option<Meaning> {
    let op = match modifiers {
        [M::Min, M::And] => FloatOp::MinDouble,
        [M::Max, M::And] => FloatOp::MaxDouble,
        _ => return plain_double_set_predicates(modifiers, operands),
    };
    // Compilers combine these predicates with no other one.
    if operands.predicate(2)? != Expr::Const(1) {
        return None;
    }
    let [a, b] = [operands.double(0)?, operands.double(1)?];
    let both: Vec<Expr> = a.iter().chain(&b).cloned().collect();
    // A number is unordered with itself if it is a NaN.
    let is_nan = |number: &[Expr; 2]| {
        let words: Vec<Expr> = number.iter().chain(number).cloned().collect();
        Expr::float(FloatOp::CompareDouble(Comparison::Nan), words)
    };
    let is_first = |half, word: &Expr| {
        let chosen = Expr::Float(op, both.clone().into(), half);
        Expr::binary(BinaryOp::Eq, chosen, word.clone())
    };
    // The minimum has the bits of one operand, so that equal words tell which.
    let first = and(
        is_first(WordHalf::Low, &a[0]),
        is_first(WordHalf::High, &a[1]),
    );
    let truths = [
        and(first, logical_not(is_nan(&a))),
        and(is_nan(&a), is_nan(&b)),
    ];
    let cells = operands.predicates().into_iter().zip(truths);
    let writes: SmallVec<[(Cell, Expr); 2]> = cells
        .filter_map(|(cell, truth)| Some((cell?, truth)))
        .collect();
    Some(Meaning::Set(writes))
}
