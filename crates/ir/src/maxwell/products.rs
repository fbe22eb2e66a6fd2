//! Integer multiplication: XMAD, IMUL, IMAD. For example, compilers build the product of two words from three XMADs:
//! low times low, and both mixed products shifted by 16.

use warpbound_isa::nvidia::{Modifier, Modifier as M, Part};

use super::flags::CarrySum;
use super::number::{RangedInt, SIGNED};
use crate::nvidia::operands::{Operands, add, and, low_half, or, shl, shr};
use crate::{BinaryOp, Expr, Meaning, UnaryOp};

/// IMUL: low or high word of a product.
pub(super) fn multiply(modifiers: &[Modifier], operands: &Operands<'_>) -> Option<Meaning> {
    operands.set_register(product(modifiers, operands)?)
}

/// XMAD: product of two 16-bit halves plus a third operand.
pub(super) fn multiply_halves(modifiers: &[Modifier], operands: &Operands<'_>) -> Option<Meaning> {
    let (mut shifted, mut merged) = (false, false);
    let (signed_a, signed_b, rest) = match modifiers {
        [M::S16, M::U16, rest @ ..] => (true, false, rest),
        [M::U16, M::S16, rest @ ..] => (false, true, rest),
        [M::S16, M::S16, rest @ ..] => (true, true, rest),
        rest => (false, false, rest),
    };
    let mut mode = None;
    for &modifier in rest {
        match modifier {
            M::Psl => shifted = true,
            M::Mrg => merged = true,
            M::Clo | M::Chi | M::Cbcc | M::Csfu => mode = Some(modifier),
            _ => return None,
        }
    }
    let half = |index, signed| {
        let (value, part) = operands.selected(index)?;
        let value = match part {
            Part::Whole => value,
            Part::H1 => shr(value, Expr::Const(16)),
            _ => return None,
        };
        Some(low_half(value, signed))
    };
    let product = Expr::binary(BinaryOp::Mul, half(0, signed_a)?, half(1, signed_b)?);
    let product = match shifted {
        true => shl(product, Expr::Const(16)),
        false => product,
    };
    let (b, _) = operands.selected(1)?;
    let b_high = shl(b, Expr::Const(16));
    let (third, minus) = operands.signed(2)?;
    // The effect of `.CC` and `.X` is not known; compilers do not emit them.
    if minus || operands.sets_cc() {
        return None;
    }
    let third = match mode {
        None => third,
        Some(M::Clo) => low_half(third, false),
        Some(M::Chi) => shr(third, Expr::Const(16)),
        Some(M::Csfu) if signed_a && signed_b && !shifted && !merged => {
            sign_correction(third, operands)?
        }
        // Compilers emit it only in the form above.
        Some(M::Csfu) => return None,
        _ => add(third, b_high.clone()),
    };
    let sum = add(product, third);
    operands.set_register(match merged {
        false => sum,
        true => or(low_half(sum, false), b_high),
    })
}

/// Third operand of XMAD.CSFU, with the sign correction of the last step of a signed 64-bit product.
///
/// XMAD.CSFU adds the signed product of the high halves to the rest of the product. The rest is the sum of two
/// products of a signed and an unsigned half, and IADD3.RS takes its upper part as if both were unsigned. It is
/// therefore too large by 2^16 for each negative product of the two, that is, for each negative high half whose
/// partner's low half is not 0. (Experiment: only then is the compiler's high word of a signed product right for all
/// operands. It always multiplies the high halves.)
/// 0. (Experiment: only then is the compiler's high word of a signed product right for all operands. It always
/// multiplies the high halves.)
fn sign_correction(third: Expr, operands: &Operands<'_>) -> Option<Expr> {
    let ((a, a_part), (b, b_part)) = (operands.selected(0)?, operands.selected(1)?);
    if (a_part, b_part) != (Part::H1, Part::H1) {
        return None;
    }
    let excess = |high: Expr, low: Expr| {
        let some = Expr::binary(BinaryOp::Ne, low_half(low, false), Expr::Const(0));
        shl(and(shr(high, Expr::Const(31)), some), Expr::Const(16))
    };
    let excess = add(excess(a.clone(), b.clone()), excess(b, a));
    Some(Expr::binary(BinaryOp::Sub, third, excess))
}

/// Low or high word of the product of the first two operands.
fn product(modifiers: &[Modifier], operands: &Operands<'_>) -> Option<Expr> {
    let (signs, rest) = match modifiers {
        [M::U32, M::U32, rest @ ..] => ([false; 2], rest),
        [M::U32, M::S32, rest @ ..] => ([false, true], rest),
        [M::S32, M::U32, rest @ ..] => ([true, false], rest),
        rest => ([true; 2], rest),
    };
    let high = match rest {
        [] => false,
        [M::Hi] => true,
        _ => return None,
    };
    let (a, b) = (operands.signed(0)?, operands.signed(1)?);
    if !high {
        let product = Expr::binary(BinaryOp::Mul, a.0, b.0);
        // The low word does not depend on signedness, and two negations cancel.
        return Some(match a.1 != b.1 {
            true => Expr::unary(UnaryOp::Neg, product),
            false => product,
        });
    }
    // It is not known whether the negation applies to an operand or to the product, which differ in the high word.
    if a.1 || b.1 {
        return None;
    }
    Some(match signs {
        [false, false] => Expr::binary(BinaryOp::MulHighU, a.0, b.0),
        [true, true] => Expr::binary(BinaryOp::MulHighS, a.0, b.0),
        // Unsigned product, minus 2^32 times the unsigned factor if the signed one is negative.
        [signed_a, _] => {
            let (sign, other) = if signed_a { (&a.0, &b.0) } else { (&b.0, &a.0) };
            let sign = Expr::binary(BinaryOp::Sar, sign.clone(), Expr::Const(31));
            let excess = and(sign, other.clone());
            let high = Expr::binary(BinaryOp::MulHighU, a.0, b.0);
            Expr::binary(BinaryOp::Sub, high, excess)
        }
    })
}

/// IMAD: product plus third operand, plus the carry flag with `.X` (PTX manual, `mad.cc`, `madc`).
pub(super) fn multiply_and_add(modifiers: &[Modifier], operands: &Operands<'_>) -> Option<Meaning> {
    if let [M::Hi, M::Sat] = modifiers {
        let third = operands.signed(2)?;
        if third.1 || operands.sets_cc() {
            return None;
        }
        let product = RangedInt::word(product(&[M::Hi], operands)?, true);
        let sum = product.plus(&RangedInt::word(third.0, true))?;
        return operands.set_register(sum.clamped(&SIGNED)?.low());
    }
    let (extended, rest) = match modifiers {
        [rest @ .., M::X] => (true, rest),
        rest => (false, rest),
    };
    let (third, minus_third) = operands.signed(2)?;
    let negated = operands.is_negated(0) || minus_third;
    // The effect of a negation in a chain is not known.
    if negated && (extended || operands.sets_cc()) {
        return None;
    }
    let product = product(rest, operands)?;
    CarrySum::of(product, false, third, minus_third, extended)?.result(operands)
}
