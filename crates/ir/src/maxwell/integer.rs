//! Integer arithmetic.

use warpbound_isa::View;

use super::flags::Sum;
use super::operands::{Operands, add, and, low_half, or, shl, shr};
use crate::{BinaryOp, Expr, Meaning, TernaryOp, UnaryOp};

pub(super) fn meaning(view: &View, operands: &Operands<'_>) -> Option<Meaning> {
    let modifiers = view.modifiers.as_slice();
    match view.mnemonic {
        "IADD" | "IADD32I" => sum(modifiers, operands),
        "IADD3" => sum_of_three(modifiers, operands),
        "ISCADD" | "ISCADD32I" if modifiers.is_empty() => {
            let (a, minus) = operands.signed(0)?;
            let shifted = shl(a, Expr::Const(operands.number(2)?));
            Sum::of((shifted, minus), operands.signed(1)?, false)?.result(operands)
        }
        "LEA" => scaled_address(modifiers, operands),
        "XMAD" => multiply_halves(modifiers, operands),
        "IMUL" | "IMUL32I" => operands.result(product(modifiers, operands)?),
        "IMAD" | "IMAD32I" => {
            let product = product(modifiers, operands)?;
            Sum::of((product, false), operands.signed(2)?, false)?.result(operands)
        }
        "IMNMX" => {
            let (smaller, larger) = match modifiers {
                [] => (BinaryOp::MinS, BinaryOp::MaxS),
                [".U32"] => (BinaryOp::MinU, BinaryOp::MaxU),
                _ => return None,
            };
            let of = |op| Some(Expr::binary(op, operands.word(0)?, operands.word(1)?));
            operands.result(match operands.predicate(2)? {
                Expr::Const(0) => of(larger)?,
                Expr::Const(_) => of(smaller)?,
                choice => Expr::ternary(TernaryOp::Select, choice, of(smaller)?, of(larger)?),
            })
        }
        "I2I" => operands.result(converted(modifiers, operands)?),
        _ => None,
    }
}

fn sum(modifiers: &[&str], operands: &Operands<'_>) -> Option<Meaning> {
    let (a, b) = (operands.signed(0)?, operands.signed(1)?);
    match modifiers {
        [] => Sum::of(a, b, false)?.result(operands),
        [".X"] => Sum::of(a, b, true)?.result(operands),
        [".PO"] => Sum::plus_one(a.0, b.0).result(operands),
        _ => None,
    }
}

fn sum_of_three(modifiers: &[&str], operands: &Operands<'_>) -> Option<Meaning> {
    let right_shifted = match modifiers {
        [] => false,
        [".RS"] => true,
        _ => return None,
    };
    let mut parts = Vec::with_capacity(3);
    for place in 0..3 {
        let (value, part) = match operands.signed(place) {
            Some((value, minus)) => {
                // Spelled without a sign, unlike the immediates of all similar instructions; nothing says
                // whether the 20 bits are extended by their first.
                if matches!(value, Expr::Const(n) if place == 1 && n & 1 << 19 != 0) {
                    return None;
                }
                let value = if minus {
                    Expr::unary(UnaryOp::Neg, value)
                } else {
                    value
                };
                (value, "")
            }
            None => operands.selected(place)?,
        };
        parts.push(match part {
            "" => value,
            ".H0" => low_half(value, false),
            ".H1" => shr(value, Expr::Const(16)),
            _ => return None,
        });
    }
    let [a, b, c] = <[Expr; 3]>::try_from(parts).ok()?;
    let first = add(a.clone(), b.clone());
    if !right_shifted {
        return operands.result(add(first, c));
    }
    // The sum of the first two has 33 bits: compilers make the high words of products with it, which are right only
    // if its carry is kept (experiment: unsigned division).
    let carry = Expr::ternary(TernaryOp::Carry, a, b, Expr::Const(0));
    let shifted = or(shr(first, Expr::Const(16)), shl(carry, Expr::Const(16)));
    operands.result(add(shifted, c))
}

/// `(a << s) + b`, or the high word of that of a pair of words.
fn scaled_address(modifiers: &[&str], operands: &Operands<'_>) -> Option<Meaning> {
    let (a, minus) = operands.signed(0)?;
    match modifiers {
        [] => {
            let shifted = shl(a, Expr::Const(operands.number(2)?));
            Sum::of((shifted, minus), operands.signed(1)?, false)?.result(operands)
        }
        [".HI"] | [".HI", ".X"] if !minus => {
            let shift = Expr::Const(operands.number(3)?);
            let high = Expr::ternary(TernaryOp::FunnelLeft, a, operands.word(2)?, shift);
            let extended = modifiers.len() == 2;
            Sum::of((high, false), operands.signed(1)?, extended)?.result(operands)
        }
        _ => None,
    }
}

/// XMAD: the product of two halves, and a third operand.
fn multiply_halves(modifiers: &[&str], operands: &Operands<'_>) -> Option<Meaning> {
    let (mut shifted, mut merged, mut extended) = (false, false, false);
    let (mut signed_a, mut signed_b, mut mode) = (false, false, "");
    for &modifier in modifiers {
        match modifier {
            ".PSL" => shifted = true,
            ".MRG" => merged = true,
            ".X" => extended = true,
            ".S16.U16" => signed_a = true,
            ".U16.S16" => signed_b = true,
            ".S16.S16" => (signed_a, signed_b) = (true, true),
            ".CLO" | ".CHI" | ".CBCC" => mode = modifier,
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
    let third = match mode {
        _ if minus => return None,
        "" => third,
        ".CLO" => low_half(third, false),
        ".CHI" => shr(third, Expr::Const(16)),
        // Two sums: which of their carries the condition code gets is not known.
        _ if operands.sets_cc() || extended => return None,
        _ => add(third, b_high.clone()),
    };
    let sum = Sum::of((product, false), (third, false), extended)?;
    match merged {
        false => sum.result(operands),
        true => operands.result(or(low_half(sum.value(), false), b_high)),
    }
}

/// The product of the first two operands: its low word or its high one.
fn product(modifiers: &[&str], operands: &Operands<'_>) -> Option<Expr> {
    let high = match modifiers {
        [] | [".U32.U32"] => None,
        [".U32.U32", ".HI"] => Some(BinaryOp::MulHighU),
        [".HI"] => Some(BinaryOp::MulHighS),
        _ => return None,
    };
    let (a, b) = (operands.signed(0)?, operands.signed(1)?);
    match high {
        Some(op) if !a.1 && !b.1 => Some(Expr::binary(op, a.0, b.0)),
        Some(_) => None,
        None => Some(Expr::binary(
            BinaryOp::Mul,
            operands.word(0)?,
            operands.word(1)?,
        )),
    }
}

/// I2I to 32 bits.
fn converted(modifiers: &[&str], operands: &Operands<'_>) -> Option<Expr> {
    let [".U32" | ".S32", from] = modifiers else {
        return None;
    };
    let operand = operands.reads.first()?;
    let (value, part) = operands.unsigned_part(0)?;
    let place = match part {
        "" => 0,
        ".B1" => 8,
        ".B2" | ".H1" => 16,
        ".B3" => 24,
        _ => return None,
    };
    let value = match place {
        0 => value,
        place => shr(value, Expr::Const(place)),
    };
    let value = match *from {
        ".U8" => and(value, Expr::Const(0xff)),
        ".S8" => Expr::unary(UnaryOp::SignExtend8, value),
        ".U16" => low_half(value, false),
        ".S16" => low_half(value, true),
        ".U32" | ".S32" => value,
        _ => return None,
    };
    let value = match operand.absolute {
        true => Expr::unary(UnaryOp::AbsS, value),
        false => value,
    };
    Some(match operand.negate {
        true => Expr::unary(UnaryOp::Neg, value),
        false => value,
    })
}
