//! Bits: logic, shifts, fields, moves.

use warpbound_isa::View;

use super::operands::{Operands, add, and, flipped, not, or, shl, shr};
use crate::{BinaryOp, Expr, Meaning, TernaryOp, UnaryOp};

pub(super) fn meaning(view: &View, operands: &Operands<'_>) -> Option<Meaning> {
    let modifiers = view.modifiers.as_slice();
    match (view.mnemonic, modifiers) {
        // The second operand of MOV says which lanes of a quad are written.
        ("MOV" | "MOV32I", []) if operands.number(1).is_none_or(|lanes| lanes == 15) => {
            operands.result(operands.word(0)?)
        }
        ("SEL", []) => {
            let (choice, a, b) = (operands.predicate(2)?, operands.word(0)?, operands.word(1)?);
            operands.result(Expr::ternary(TernaryOp::Select, choice, a, b))
        }
        ("LOP" | "LOP32I", [op, test @ ..]) => {
            let (a, b) = (operands.bits(0)?, operands.bits(1)?);
            let value = match *op {
                ".AND" => and(a, b),
                ".OR" => or(a, b),
                ".XOR" => Expr::binary(BinaryOp::Xor, a, b),
                ".PASS_B" => b,
                _ => return None,
            };
            with_test(value, test, operands)
        }
        ("LOP3", [".LUT", test @ ..]) => {
            let table = u8::try_from(operands.number(3)?).ok()?;
            let [a, b, c] = [operands.word(0)?, operands.word(1)?, operands.word(2)?];
            with_test(
                Expr::ternary(TernaryOp::Lut(table), a, b, c),
                test,
                operands,
            )
        }
        ("SHL", rest) => {
            let amount = amount(operands.word(1)?, rest, &[])?;
            operands.result(shl(operands.word(0)?, amount))
        }
        ("SHR", [".U32", rest @ ..]) => {
            let amount = amount(operands.word(1)?, rest, &[])?;
            operands.result(shr(operands.word(0)?, amount))
        }
        ("SHR", rest) => {
            let amount = amount(operands.word(1)?, rest, &[])?;
            operands.result(Expr::binary(BinaryOp::Sar, operands.word(0)?, amount))
        }
        ("SHF", [".L", rest @ ..]) => funnel(TernaryOp::FunnelLeft, rest, operands),
        ("SHF", [".R", rest @ ..]) => funnel(TernaryOp::FunnelRight, rest, operands),
        ("BFE", rest) => {
            let (signed, rest) = match rest {
                [".U32", rest @ ..] => (false, rest),
                rest => (true, rest),
            };
            let a = match rest {
                [] => operands.word(0)?,
                [".BREV"] => Expr::unary(UnaryOp::Reverse, operands.word(0)?),
                _ => return None,
            };
            operands.result(extracted(a, operands.word(1)?, signed))
        }
        ("BFI", []) => {
            let (position, length) = field(operands.word(1)?);
            let mask = shl(ones(length), position.clone());
            let kept = and(operands.word(2)?, not(mask.clone()));
            operands.result(or(kept, and(shl(operands.word(0)?, position), mask)))
        }
        ("POPC", []) => operands.result(Expr::unary(UnaryOp::Popc, operands.bits(0)?)),
        ("FLO", rest) => {
            let (op, rest) = match rest {
                [".U32", rest @ ..] => (UnaryOp::HighestOne, rest),
                rest => (UnaryOp::HighestOther, rest),
            };
            let found = Expr::unary(op, operands.bits(0)?);
            operands.result(match rest {
                [] => found,
                // How far to shift the bit to the top.
                [".SH"] => {
                    let nowhere = Expr::binary(BinaryOp::Eq, found.clone(), Expr::Const(u32::MAX));
                    let shift = Expr::binary(BinaryOp::Sub, Expr::Const(31), found.clone());
                    Expr::ternary(TernaryOp::Select, nowhere, found, shift)
                }
                _ => return None,
            })
        }
        ("PRMT", []) => {
            let [a, choice, b] = [operands.word(0)?, operands.word(1)?, operands.word(2)?];
            operands.result(Expr::ternary(TernaryOp::Permute, a, choice, b))
        }
        _ => None,
    }
}

/// The register gets a value; a predicate before it, whether the value is 0, or is not.
fn with_test(value: Expr, test: &[&str], operands: &Operands<'_>) -> Option<Meaning> {
    if test.is_empty() {
        return operands.result(value);
    }
    let is_zero = Expr::binary(BinaryOp::Eq, value.clone(), Expr::Const(0));
    let truth = match test {
        [".Z"] => is_zero,
        [".NZ"] => flipped(is_zero),
        [".T"] => Expr::Const(1),
        _ => return None,
    };
    if operands.sets_cc() {
        return None;
    }
    let register = operands.register()?.map(|cell| (cell, value));
    let predicate = operands.predicates().first().copied().flatten();
    let predicate = predicate.map(|cell| (cell, truth));
    Some(Meaning::Set(
        register.into_iter().chain(predicate).collect(),
    ))
}

/// A shift's amount: of it only the low bits with `.W`.
fn amount(amount: Expr, modifiers: &[&str], others: &[&str]) -> Option<Expr> {
    match modifiers {
        rest if rest == others => Some(amount),
        [".W"] => Some(and(amount, Expr::Const(31))),
        _ => None,
    }
}

/// SHF of a pair of words, by 32 at most unless `.W` takes the low bits of the amount.
fn funnel(op: TernaryOp, modifiers: &[&str], operands: &Operands<'_>) -> Option<Meaning> {
    let given = operands.word(1)?;
    let amount = match modifiers {
        [] => Expr::binary(BinaryOp::MinU, given, Expr::Const(32)),
        [".W"] => and(given, Expr::Const(31)),
        [".U64"] if op == TernaryOp::FunnelRight => {
            Expr::binary(BinaryOp::MinU, given, Expr::Const(63))
        }
        _ => return None,
    };
    operands.result(Expr::ternary(
        op,
        operands.word(0)?,
        operands.word(2)?,
        amount,
    ))
}

/// Position and length of a bit field, from the two low bytes of an operand.
fn field(operand: Expr) -> (Expr, Expr) {
    let byte = |value| and(value, Expr::Const(0xff));
    (byte(operand.clone()), byte(shr(operand, Expr::Const(8))))
}

/// So many ones, at most 32.
fn ones(count: Expr) -> Expr {
    Expr::binary(BinaryOp::Sub, shl(Expr::Const(1), count), Expr::Const(1))
}

/// A bit field of a value. With a sign, bits above the top are copies of the sign.
fn extracted(value: Expr, operand: Expr, signed: bool) -> Expr {
    let (position, length) = field(operand);
    if !signed {
        return and(shr(value, position), ones(length));
    }
    let end = add(position.clone(), length.clone());
    let from_top = |n: Expr| Expr::binary(BinaryOp::Sub, Expr::Const(32), n);
    let inside = Expr::binary(
        BinaryOp::Sar,
        shl(value.clone(), from_top(end.clone())),
        from_top(length.clone()),
    );
    let to_the_top = Expr::binary(BinaryOp::Sar, value, position);
    let fits = Expr::binary(BinaryOp::LeU, end, Expr::Const(32));
    let some = Expr::ternary(TernaryOp::Select, fits, inside, to_the_top);
    Expr::ternary(TernaryOp::Select, length, some, Expr::Const(0))
}
