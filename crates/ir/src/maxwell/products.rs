//! Products.

use warpbound_isa::View;

use super::flags::CarrySum;
use super::number::{RangedInt, SIGNED};
use super::operands::{Operands, add, and, low_half, or, shl, shr};
use crate::{BinaryOp, Expr, Meaning, UnaryOp};

pub(super) fn meaning(view: &View, operands: &Operands<'_>) -> Option<Meaning> {
    let modifiers = view.modifiers.as_slice();
    match view.mnemonic {
        "XMAD" => multiply_halves(modifiers, operands),
        "IMUL" | "IMUL32I" => operands.set_register(product(modifiers, operands)?),
        "IMAD" | "IMAD32I" => multiply_and_add(modifiers, operands),
        _ => None,
    }
}

/// XMAD: the product of two halves, and a third operand.
fn multiply_halves(modifiers: &[&str], operands: &Operands<'_>) -> Option<Meaning> {
    let (mut shifted, mut merged) = (false, false);
    let (mut signed_a, mut signed_b, mut mode) = (false, false, "");
    for &modifier in modifiers {
        match modifier {
            ".PSL" => shifted = true,
            ".MRG" => merged = true,
            ".S16.U16" => signed_a = true,
            ".U16.S16" => signed_b = true,
            ".S16.S16" => (signed_a, signed_b) = (true, true),
            ".CLO" | ".CHI" | ".CBCC" | ".CSFU" => mode = modifier,
            _ => return None,
        }
    }
    let half = |place, signed| {
        let (value, part) = operands.selected(place)?;
        let value = match part {
            "" => value,
            ".H1" => shr(value, Expr::Const(16)),
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
    // What the condition code gets, or gives with `.X`, is not seen in what the compiler writes.
    if minus || operands.sets_cc() {
        return None;
    }
    let third = match mode {
        "" => third,
        ".CLO" => low_half(third, false),
        ".CHI" => shr(third, Expr::Const(16)),
        ".CSFU" if signed_a && signed_b && !shifted && !merged => sign_correction(third, operands)?,
        ".CSFU" => return None,
        _ => add(third, b_high.clone()),
    };
    let sum = add(product, third);
    operands.set_register(match merged {
        false => sum,
        true => or(low_half(sum, false), b_high),
    })
}

/// The third operand of XMAD.CSFU, which adds the product of high halves with sign to the rest of a 64-bit product. The
/// rest comes as a sum of two products of a half with sign and one without, of which IADD3.RS takes the upper part as if
/// neither had a sign: that is too large by 2^16 for each of the two that is negative, so once for each high half that is
/// negative where the other operand's low half is not 0. (Experiment: the compiler's high word of a product with sign is
/// right for all operands only so. It always multiplies the high halves.)
fn sign_correction(third: Expr, operands: &Operands<'_>) -> Option<Expr> {
    let ((a, a_part), (b, b_part)) = (operands.selected(0)?, operands.selected(1)?);
    if a_part != ".H1" || b_part != ".H1" {
        return None;
    }
    let excess = |high: Expr, low: Expr| {
        let some = Expr::binary(BinaryOp::Ne, low_half(low, false), Expr::Const(0));
        shl(and(shr(high, Expr::Const(31)), some), Expr::Const(16))
    };
    let excess = add(excess(a.clone(), b.clone()), excess(b, a));
    Some(Expr::binary(BinaryOp::Sub, third, excess))
}

/// The product of the first two operands: its low word or its high one.
fn product(modifiers: &[&str], operands: &Operands<'_>) -> Option<Expr> {
    let (signs, rest) = match modifiers {
        [".U32.U32", rest @ ..] => ([false; 2], rest),
        [".U32.S32", rest @ ..] => ([false, true], rest),
        [".S32.U32", rest @ ..] => ([true, false], rest),
        rest => ([true; 2], rest),
    };
    let high = match rest {
        [] => false,
        [".HI"] => true,
        _ => return None,
    };
    let (a, b) = (operands.signed(0)?, operands.signed(1)?);
    if !high {
        let product = Expr::binary(BinaryOp::Mul, a.0, b.0);
        return Some(match a.1 != b.1 {
            true => Expr::unary(UnaryOp::Neg, product),
            false => product,
        });
    }
    // Of what the minus is taken, the product or an operand, is not known.
    if a.1 || b.1 {
        return None;
    }
    Some(match signs {
        [false, false] => Expr::binary(BinaryOp::MulHighU, a.0, b.0),
        [true, true] => Expr::binary(BinaryOp::MulHighS, a.0, b.0),
        // Without signs, less 2^32 times the other where the one with a sign is negative.
        [signed_a, _] => {
            let (sign, other) = if signed_a { (&a.0, &b.0) } else { (&b.0, &a.0) };
            let sign = Expr::binary(BinaryOp::Sar, sign.clone(), Expr::Const(31));
            let excess = and(sign, other.clone());
            let high = Expr::binary(BinaryOp::MulHighU, a.0, b.0);
            Expr::binary(BinaryOp::Sub, high, excess)
        }
    })
}

/// The product and the third operand, and the carry with `.X` (PTX manual, `mad.cc`, `madc`).
fn multiply_and_add(modifiers: &[&str], operands: &Operands<'_>) -> Option<Meaning> {
    if let [".HI", ".SAT"] = modifiers {
        let third = operands.signed(2)?;
        if third.1 || operands.sets_cc() {
            return None;
        }
        let product = RangedInt::word(product(&[".HI"], operands)?, true);
        let sum = product.plus(&RangedInt::word(third.0, true))?;
        return operands.set_register(sum.clamped(SIGNED)?.low());
    }
    let (extended, rest) = match modifiers {
        [rest @ .., ".X"] => (true, rest),
        rest => (false, rest),
    };
    let third = operands.signed(2)?;
    let negated = operands.is_negated(0) || third.1;
    // How a minus goes with a chain is not known.
    if negated && (extended || operands.sets_cc()) {
        return None;
    }
    let product = product(rest, operands)?;
    CarrySum::of((product, false), third, extended)?.result(operands)
}
