//! Integer comparisons and operations on predicates. For example, `ISETP.LT.AND P0, P1, R0, R1, P2` sets P0 to (R0 <
//! R1) and P2, and P1 to !(R0 < R1) and P2.

use smallvec::SmallVec;
use warpbound_isa::OperandValue;
use warpbound_isa::RegisterKind;
use warpbound_isa::nvidia::{Modifier, Modifier as M, Part, REGISTERS};

use super::flags::{CarrySum, cc_test_named, set_with_flags};
use crate::nvidia::operands::{Operands, add, and, logical_not, not, or, shl, shr};
use crate::{BinaryOp, Cell, Expr, Meaning, TernaryOp};

/// ISETP: two predicates from a comparison.
pub(crate) fn integer_set_predicates(
    modifiers: &[Modifier],
    operands: &Operands<'_>,
) -> Option<Meaning> {
    let (truth, combine) = comparison(modifiers, operands)?;
    set_predicates(truth, combine, operands.predicate(2)?, operands)
}

/// ISET: a mask from a comparison. The condition code describes the mask, also after a chain of comparisons. Old
/// compilers compare 64-bit words with `IADD RZ.CC` and `ISET.LT.U32.X RZ.CC`, and branch by `CC.NEU` if the
/// comparison holds. If the zero flag depended on the lower words too, unequal ones would take the branch.
pub(crate) fn integer_set(modifiers: &[Modifier], operands: &Operands<'_>) -> Option<Meaning> {
    let (yes, modifiers) = truth_value(modifiers);
    let (truth, combine) = comparison(modifiers, operands)?;
    let truth = combine_predicates(combine, truth, operands.predicate(2)?)?;
    set_with_flags(mask(truth, yes), false, operands)
}

/// ICMP: the first operand if the comparison of the third one with 0 holds, else the second.
pub(crate) fn integer_select(modifiers: &[Modifier], operands: &Operands<'_>) -> Option<Meaning> {
    let (&op, modifiers) = modifiers.split_first()?;
    let signed = match modifiers {
        [] => true,
        [M::U32] => false,
        _ => return None,
    };
    let truth = relation(op, signed, operands.word(2)?, Expr::Const(0))?;
    let (a, b) = (operands.word(0)?, operands.word(1)?);
    operands.set_register(Expr::ternary(TernaryOp::Select, truth, a, b))
}

/// PSETP: two predicates from three.
pub(crate) fn predicate_set_predicates(
    modifiers: &[Modifier],
    operands: &Operands<'_>,
) -> Option<Meaning> {
    let &[first, second] = modifiers else {
        return None;
    };
    let truth = combine_predicates(first, operands.predicate(0)?, operands.predicate(1)?)?;
    set_predicates(truth, second, operands.predicate(2)?, operands)
}

/// PSET: a mask from three predicates.
pub(crate) fn predicate_set(modifiers: &[Modifier], operands: &Operands<'_>) -> Option<Meaning> {
    let (yes, modifiers) = truth_value(modifiers);
    let &[first, second] = modifiers else {
        return None;
    };
    let truth = combine_predicates(first, operands.predicate(0)?, operands.predicate(1)?)?;
    let truth = combine_predicates(second, truth, operands.predicate(2)?)?;
    set_with_flags(mask(truth, yes), false, operands)
}

/// CSET: a mask from a test of the condition code.
pub(crate) fn code_set(modifiers: &[Modifier], operands: &Operands<'_>) -> Option<Meaning> {
    let (yes, modifiers) = truth_value(modifiers);
    let &[test, combine] = modifiers else {
        return None;
    };
    let truth = combine_predicates(combine, cc_test_named(test)?, operands.predicate(0)?)?;
    set_with_flags(mask(truth, yes), false, operands)
}

/// CSETP: two predicates from a test of the condition code.
pub(crate) fn code_set_predicates(
    modifiers: &[Modifier],
    operands: &Operands<'_>,
) -> Option<Meaning> {
    let &[test, combine] = modifiers else {
        return None;
    };
    let third = operands.predicate(0)?;
    set_predicates(cc_test_named(test)?, combine, third, operands)
}

/// Value that stands for true in a mask, 1.0 with `.BF`, else all ones; and the modifiers after it.
fn truth_value(modifiers: &[Modifier]) -> (u32, &[Modifier]) {
    match modifiers {
        [M::Bf, rest @ ..] => (1.0f32.to_bits(), rest),
        rest => (u32::MAX, rest),
    }
}

/// Truth of the comparison of the first two operands, and the operator that combines it with a predicate.
fn comparison(modifiers: &[Modifier], operands: &Operands<'_>) -> Option<(Expr, Modifier)> {
    let (&op, rest) = modifiers.split_first()?;
    let (&combine, rest) = rest.split_last()?;
    let (signed, rest) = match rest {
        [M::U32, rest @ ..] => (false, rest),
        rest => (true, rest),
    };
    let truth = match rest {
        [] => relation(op, signed, operands.word(0)?, operands.word(1)?)?,
        [M::X] => chained_relation(op, signed, operands)?,
        _ => return None,
    };
    Some((truth, combine))
}

/// 1 if `a op b`, else 0.
pub(crate) fn relation(op: Modifier, signed: bool, a: Expr, b: Expr) -> Option<Expr> {
    let (less, not_more) = match signed {
        true => (BinaryOp::LtS, BinaryOp::LeS),
        false => (BinaryOp::LtU, BinaryOp::LeU),
    };
    Some(match op {
        M::F => Expr::Const(0),
        M::T => Expr::Const(1),
        M::Lt => Expr::binary(less, a, b),
        M::Le => Expr::binary(not_more, a, b),
        M::Gt => Expr::binary(less, b, a),
        M::Ge => Expr::binary(not_more, b, a),
        M::Eq => Expr::binary(BinaryOp::Eq, a, b),
        M::Ne => Expr::binary(BinaryOp::Ne, a, b),
        _ => return None,
    })
}

/// Comparison of multi-word numbers. The condition code holds the flags of the difference of the lower words.
fn chained_relation(op: Modifier, signed: bool, operands: &Operands<'_>) -> Option<Expr> {
    let (a, minus_a) = operands.signed(0)?;
    let (b, minus_b) = operands.signed(1)?;
    // The subtraction inverts the second operand, and the effect of another sign on the chain is not known.
    if minus_a || minus_b {
        return None;
    }
    let difference = CarrySum::of(a, false, b, true, true)?;
    let (sign, overflow) = difference.sign_and_overflow();
    let less = match signed {
        // If the difference overflows, its sign is the wrong one.
        true => Expr::binary(BinaryOp::Xor, sign, overflow),
        // A subtraction borrows exactly if it has no carry out.
        false => logical_not(difference.carry_out()),
    };
    relation_of(op, less, difference.is_zero())
}

/// Truth of a comparison, from whether the first operand is less and whether both are equal.
pub(crate) fn relation_of(op: Modifier, less: Expr, equal: Expr) -> Option<Expr> {
    Some(match op {
        M::F => Expr::Const(0),
        M::T => Expr::Const(1),
        M::Lt => less,
        M::Ge => logical_not(less),
        M::Eq => equal,
        M::Ne => logical_not(equal),
        M::Le => or(less, equal),
        M::Gt => logical_not(or(less, equal)),
        _ => return None,
    })
}

pub(crate) fn combine_predicates(op: Modifier, a: Expr, b: Expr) -> Option<Expr> {
    Some(match op {
        M::And => and(a, b),
        M::Or => or(a, b),
        M::Xor => Expr::binary(BinaryOp::Xor, a, b),
        _ => return None,
    })
}

/// Assigns `truth op third` to the first predicate and `!truth op third` to the second.
pub(crate) fn set_predicates(
    truth: Expr,
    combine: Modifier,
    third: Expr,
    operands: &Operands<'_>,
) -> Option<Meaning> {
    let values = [
        combine_predicates(combine, truth.clone(), third.clone())?,
        combine_predicates(combine, logical_not(truth), third)?,
    ];
    let cells = operands.predicates();
    let writes: SmallVec<[(Cell, Expr); 2]> = cells
        .into_iter()
        .zip(values)
        .filter_map(|(cell, value)| Some((cell?, value)))
        .collect();
    Some(Meaning::Set(writes))
}

/// Maps a truth value to `yes` or 0.
pub(crate) fn mask(truth: Expr, yes: u32) -> Expr {
    Expr::ternary(TernaryOp::Select, truth, Expr::Const(yes), Expr::Const(0))
}

/// Number of predicates in `PR`, which excludes PT.
const PREDICATES: u8 = REGISTERS.count(RegisterKind::Predicate) as u8;
/// Number of flags in `CC`.
const FLAGS: u8 = 4;

/// Number of bits of the `PR` or `CC` operand.
fn predicate_count<'o>(
    mut operands: impl Iterator<Item = &'o warpbound_isa::Operand>,
) -> Option<u8> {
    operands.find_map(|operand| match operand.value {
        OperandValue::AllPreds(_) => Some(PREDICATES),
        OperandValue::ConditionCode => Some(FLAGS),
        _ => None,
    })
}

/// First bit of a selected byte.
fn byte_at(part: Part) -> Option<u32> {
    Some(match part {
        Part::Whole => 0,
        Part::B1 => 8,
        Part::B2 => 16,
        Part::B3 => 24,
        _ => return None,
    })
}

/// P2R: inserts the predicates or flags that the mask selects into a byte of the register.
pub(crate) fn predicates_to_register(
    modifiers: &[Modifier],
    operands: &Operands<'_>,
) -> Option<Meaning> {
    let from = match modifiers {
        [] => 0,
        [M::B1] => 8,
        [M::B2] => 16,
        [M::B3] => 24,
        _ => return None,
    };
    let count = predicate_count(operands.reads.iter().copied())?;
    let mask = operands.immediate(2)?;
    // Unknown: whether mask bits above the last predicate clear bits of the register.
    if mask >> count != 0 {
        return None;
    }
    let bits = match count {
        FLAGS => Expr::Cell(Cell::CC),
        count => (1..count).fold(Expr::Cell(Cell::pred(0)), |bits, n| {
            let shift = Expr::Const(n.into());
            // Predicates are 0 or 1, so no two summands share a bit.
            add(bits, shl(Expr::Cell(Cell::pred(n)), shift))
        }),
    };
    let bits = shl(and(bits, Expr::Const(mask)), Expr::Const(from));
    // Bits of the register outside the mask are kept.
    let kept = and(operands.word(1)?, Expr::Const(!(mask << from)));
    operands.set_register(or(kept, bits))
}

/// R2P: assigns the bits of a byte of the register to the predicates or flags that the mask selects.
pub(crate) fn register_to_predicates(operands: &Operands<'_>) -> Option<Meaning> {
    let count = predicate_count(operands.writes.iter().copied())?;
    let (value, part) = operands.selected(0)?;
    let from = byte_at(part)?;
    let mask = operands.word(1)?;
    if count == FLAGS {
        let mask = and(mask, Expr::Const(15));
        let new = and(shr(value, Expr::Const(from)), mask.clone());
        let old = and(Expr::Cell(Cell::CC), not(mask));
        return Some(Meaning::set(Cell::CC, or(old, new)));
    }
    let bit = |value: &Expr, at: u32| {
        let moved = shr(value.clone(), Expr::Const(at));
        and(moved, Expr::Const(1))
    };
    let mut writes = SmallVec::new();
    for n in 0..count {
        let cell = Cell::pred(n);
        let new = bit(&value, from + u32::from(n));
        let written = match &mask {
            // A constant mask writes only its predicates, so analyses keep what they know of the others.
            Expr::Const(mask) if mask >> n & 1 == 0 => continue,
            Expr::Const(_) => new,
            mask => Expr::ternary(
                TernaryOp::Select,
                bit(mask, n.into()),
                new,
                Expr::Cell(cell),
            ),
        };
        writes.push((cell, written));
    }
    Some(Meaning::Set(writes))
}
