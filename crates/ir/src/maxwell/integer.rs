//! Integer addition (IADD, IADD3), scaled addresses (ISCADD, LEA), minimum and maximum (IMNMX). For example, `ISCADD
//! R0, R1, R2, 0x2` is R1 * 4 + R2, the address of a word in an array.

use smallvec::smallvec;
use warpbound_isa::OperandValue;
use warpbound_isa::nvidia::{Modifier, Modifier as M, Part};

use super::flags::{
    CarrySum, carry, carry_count_flags, flags_write, order_flags, overflow, sign, zero,
};
use super::number::{RangedInt, SIGNED};
use crate::nvidia::operands::{Operands, add, low_half, not, or, shl, shr};
use crate::{BinaryOp, Cell, Expr, Meaning, TernaryOp, UnaryOp};

/// ISCADD: the sum of a shifted operand and another.
pub(super) fn scaled_sum(modifiers: &[Modifier], operands: &Operands<'_>) -> Option<Meaning> {
    let (a, minus_a) = operands.signed(0)?;
    let shifted = shl(a, Expr::Const(operands.immediate(2)?));
    let (b, minus_b) = operands.signed(1)?;
    match modifiers {
        [] => CarrySum::of(shifted, minus_a, b, minus_b, false)?.result(operands),
        [M::Po] => CarrySum::plus_one(shifted, b).result(operands),
        _ => None,
    }
}

/// IADD.
pub(super) fn sum(modifiers: &[Modifier], operands: &Operands<'_>) -> Option<Meaning> {
    let (a, minus_a) = operands.signed(0)?;
    let (b, minus_b) = operands.signed(1)?;
    match modifiers {
        [] => CarrySum::of(a, minus_a, b, minus_b, false)?.result(operands),
        [M::X] => CarrySum::of(a, minus_a, b, minus_b, true)?.result(operands),
        [M::Po] => CarrySum::plus_one(a, b).result(operands),
        // Clamped to signed 32 bits (PTX manual, `add.sat`).
        [M::Sat] if !operands.sets_cc() => {
            let [x, y] = [a, b].map(|value| RangedInt::word(value, true));
            let sum = match (minus_a, minus_b) {
                (false, false) => x.plus(&y),
                (false, true) => x.minus(&y),
                (true, false) => y.minus(&x),
                // Two minus signs are encoded as `.PO`, so they do not occur here.
                (true, true) => None,
            };
            operands.set_register(sum?.clamped(&SIGNED)?.low())
        }
        _ => None,
    }
}

/// IMNMX: the minimum if the predicate holds, else the maximum.
///
/// For 64-bit numbers, the high words are compared first (`.XHI`). Their order goes to the condition code, which
/// selects the low word (`.XLO`; experiment: the compiler's 64-bit minimum).
pub(super) fn min_max(modifiers: &[Modifier], operands: &Operands<'_>) -> Option<Meaning> {
    let (signed, part) = match modifiers {
        [M::U32, rest @ ..] => (false, rest),
        rest => (true, rest),
    };
    let (a, b) = (operands.word(0)?, operands.word(1)?);
    let (smaller, larger) = match signed {
        true => (BinaryOp::MinS, BinaryOp::MaxS),
        false => (BinaryOp::MinU, BinaryOp::MaxU),
    };
    let of = |op| Expr::binary(op, a.clone(), b.clone());
    let either = |smaller: Expr, larger: Expr| {
        Some(match operands.predicate(2)? {
            Expr::Const(0) => larger,
            Expr::Const(_) => smaller,
            choice => Expr::ternary(TernaryOp::Select, choice, smaller, larger),
        })
    };
    let plain = either(of(smaller), of(larger))?;
    match part {
        [] => operands.set_register(plain),
        [M::Xhi] => {
            let register = operands.only_register()?;
            let mut writes = smallvec![];
            writes.extend(register.map(|cell| (cell, plain)));
            if operands.sets_cc() {
                let less = match signed {
                    true => BinaryOp::LtS,
                    false => BinaryOp::LtU,
                };
                writes.push((Cell::CC, order_flags(of(less), of(BinaryOp::Eq))));
            }
            Some(Meaning::Set(writes))
        }
        // Low words are always compared as unsigned numbers.
        [M::Xlo] if !signed => {
            let by_high_words = either(
                Expr::ternary(TernaryOp::Select, sign(), a.clone(), b.clone()),
                Expr::ternary(TernaryOp::Select, sign(), b.clone(), a.clone()),
            )?;
            operands.set_register(Expr::ternary(
                TernaryOp::Select,
                zero(),
                plain,
                by_high_words,
            ))
        }
        _ => None,
    }
}

/// IADD3: the sum of three operands, where the sum of the first two may be shifted by 16 to either side.
pub(super) fn sum_of_three(modifiers: &[Modifier], operands: &Operands<'_>) -> Option<Meaning> {
    let mut parts = Vec::with_capacity(3);
    let mut minus = [false; 3];
    for (index, minus) in minus.iter_mut().enumerate() {
        let operand = operands.reads.get(index)?;
        let (value, part) = operands.part_without_sign(index)?;
        let value = match (value, operand.value) {
            // A 20-bit immediate is printed unsigned but used signed.
            (Expr::Const(n), OperandValue::Int(_)) => Expr::Const(((n << 12) as i32 >> 12) as u32),
            (value, _) => value,
        };
        let value = match part {
            Part::Whole => value,
            Part::H0 => low_half(value, false),
            Part::H1 => shr(value, Expr::Const(16)),
            _ => return None,
        };
        *minus = operand.negate;
        parts.push(match operand.negate {
            true => Expr::unary(UnaryOp::Neg, value),
            false => value,
        });
    }
    let negated = minus.contains(&true);
    let [a, b, c] = <[Expr; 3]>::try_from(parts).ok()?;
    let first = add(a.clone(), b.clone());
    match modifiers {
        [M::X] if !negated => sum_with_carries([a, b, c], None, operands),
        [] if !negated => sum_with_carries([a, b, c], Some(0), operands),
        // Without flags, negated operands are simply added.
        [] if !operands.sets_cc() => operands.set_register(add(first, c)),
        // A difference is the sum with the complement and, in the lowest word only, a carry in of 1. Compilers
        // subtract 64-bit numbers this way (experiment: a + b - c of `long long`).
        [] | [M::X] => {
            let mut inverted = [a, b, c];
            let mut count = 0;
            for (value, minus) in inverted.iter_mut().zip(minus) {
                if let (true, Expr::Unary(UnaryOp::Neg, plain)) = (minus, &*value) {
                    *value = Expr::unary(UnaryOp::Not, (**plain).clone());
                    count += 1;
                }
            }
            let carried = modifiers.is_empty().then_some(count);
            // With three complements the carry in would be 3, which two flags cannot hold.
            (count < 3).then(|| sum_with_carries(inverted, carried, operands))?
        }
        [M::Ls] => operands.set_register(add(shl(first, Expr::Const(16)), c)),
        // The sum of the first two has 33 bits. Compilers compute high words of products with it, which are right
        // only if the carry is kept (experiment: unsigned division).
        [M::Rs] if !minus[0] && !minus[1] => {
            let carry = Expr::ternary(TernaryOp::Carry, a, b, Expr::Const(0));
            let shifted = or(shr(first, Expr::Const(16)), shl(carry, Expr::Const(16)));
            operands.set_register(add(shifted, c))
        }
        _ => None,
    }
}

/// Sum of three operands and of the carry out of the three lower words, which is 0, 1 or 2.
///
/// Two flags, carry and overflow, store the carry count (experiment: only then is the compiler's 64-bit sum of three
/// right for all operands). No other instruction uses the flags like this. `carried` is the carry in; `None` takes it
/// from the flags.
fn sum_with_carries(
    [a, b, c]: [Expr; 3],
    carried: Option<u32>,
    operands: &Operands<'_>,
) -> Option<Meaning> {
    let extended = carried.is_none();
    let (sum, carries) = (
        add(add(a.clone(), b.clone()), c.clone()),
        Expr::ternary(TernaryOp::Carry, a, b, c),
    );
    let (sum, carries) = match carried {
        Some(0) => (sum, carries),
        _ => {
            let below = match carried {
                Some(number) => Expr::Const(number),
                // The two flags count the carries in unary.
                None => add(carry(), overflow()),
            };
            let more = Expr::ternary(TernaryOp::Carry, sum.clone(), below.clone(), Expr::Const(0));
            (add(sum, below), add(carries, more))
        }
    };
    let register = operands.only_register()?;
    let mut writes = smallvec![];
    writes.extend(register.map(|cell| (cell, sum.clone())));
    if let Some((cell, flags)) = flags_write(sum, extended, operands) {
        writes.push((cell, or(flags, carry_count_flags(carries))));
    }
    Some(Meaning::Set(writes))
}

/// LEA: `(a << s) + b`, or with `.HI` the high word of this sum for a pair of words.
pub(super) fn scaled_address(modifiers: &[Modifier], operands: &Operands<'_>) -> Option<Meaning> {
    let (a, minus) = operands.signed(0)?;
    match modifiers {
        [] => {
            let shifted = shl(a, Expr::Const(operands.immediate(2)?));
            let (b, minus_b) = operands.signed(1)?;
            CarrySum::of(shifted, minus, b, minus_b, false)?.result(operands)
        }
        // High word of the negated pair, shifted. Its chaining with `.X` or with flags is not known.
        [M::Hi] if minus && !operands.sets_cc() => {
            let shift = Expr::Const(operands.immediate(3)?);
            // -(h:l) has the high word !h, plus 1 if l is 0.
            let borrow = Expr::binary(BinaryOp::Eq, a.clone(), Expr::Const(0));
            let high = add(not(operands.word(2)?), borrow);
            let low = Expr::unary(UnaryOp::Neg, a);
            let high = Expr::ternary(TernaryOp::FunnelLeft, low, high, shift);
            operands.set_register(add(high, operands.word(1)?))
        }
        [M::Hi] | [M::Hi, M::X] if !minus => {
            let shift = Expr::Const(operands.immediate(3)?);
            let high = Expr::ternary(TernaryOp::FunnelLeft, a, operands.word(2)?, shift);
            let extended = modifiers.len() == 2;
            let (b, minus_b) = operands.signed(1)?;
            let sum = CarrySum::of(high, false, b, minus_b, extended)?;
            let Some(predicate) = operands.predicates().first().copied().flatten() else {
                return sum.result(operands);
            };
            // Compilers compute the predicate together with the high word of a generic address. They access global
            // memory if it holds, else shared memory (kernel `generic_memory`). The shared window has a high word of
            // 0, so the predicate must be that the sum is not 0.
            let register = operands.register().filter(|_| !operands.sets_cc())?;
            let sums = register.map(|cell| (cell, sum.value()));
            let is_high = Expr::binary(BinaryOp::Ne, sum.value(), Expr::Const(0));
            let writes = sums.into_iter().chain([(predicate, is_high)]);
            Some(Meaning::Set(writes.collect()))
        }
        _ => None,
    }
}
