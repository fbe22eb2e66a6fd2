//! I2I: a part of a register as a number of another size.

use warpbound_isa::View;

use super::flags::set_with_flags;
use super::number::{RangedInt, SIGNED, UNSIGNED, extract_part};
use super::operands::{Operands, and};
use crate::{Expr, Meaning, UnaryOp};

/// A number's size and sign.
fn format(name: &str) -> Option<(u32, bool)> {
    Some(match name {
        ".U8" => (8, false),
        ".S8" => (8, true),
        ".U16" => (16, false),
        ".S16" => (16, true),
        ".U32" => (32, false),
        ".S32" => (32, true),
        _ => return None,
    })
}

pub(super) fn meaning(view: &View, operands: &Operands<'_>) -> Option<Meaning> {
    if view.mnemonic != "I2I" {
        return None;
    }
    let (to, from, saturated) = match view.modifiers.as_slice() {
        [to, from] => (*to, *from, false),
        [to, from, ".SAT"] => (*to, *from, true),
        _ => return None,
    };
    let ((to_bits, to_signed), (bits, signed)) = (format(to)?, format(from)?);
    let operand = operands.reads.first()?;
    let (value, select) = operands.part_without_sign(0)?;
    let at = match (select, bits) {
        ("", _) => 0,
        (".B1", 8) => 8,
        (".B2", 8) | (".H1", 16) => 16,
        (".B3", 8) => 24,
        _ => return None,
    };
    let mut value = extract_part(value, at, bits, signed);
    if !saturated {
        let mut word = value.low();
        if operand.absolute {
            word = Expr::unary(UnaryOp::AbsS, word);
        }
        if operand.negate {
            word = Expr::unary(UnaryOp::Neg, word);
        }
        // What does not fit is cut off, and the sign repeated (`xtask expressions`: minus a short).
        let word = match (to_bits, to_signed) {
            (32, _) => word,
            (8, true) => Expr::unary(UnaryOp::SignExtend8, word),
            (_, true) => Expr::unary(UnaryOp::SignExtend16, word),
            (bits, false) => and(word, Expr::Const((1 << bits) - 1)),
        };
        return set_with_flags(word, false, operands);
    }
    // Whether the magnitude of the smallest number has 33 bits here, and so on, is not known.
    if bits == 32 && (operand.absolute || operand.negate) {
        return None;
    }
    if operand.absolute {
        value = value.magnitude()?;
    }
    if operand.negate {
        value = value.negated()?;
    }
    let range = match (to_bits, to_signed) {
        (32, true) => SIGNED,
        (32, false) => UNSIGNED,
        (bits, true) => (-(1 << (bits - 1)), (1 << (bits - 1)) - 1),
        (bits, false) => (0, (1 << bits) - 1),
    };
    // Compilers repeat the sign of a short result before they use more of the register than it has: bits above are
    // taken to be copies of the sign, as everywhere.
    let clamped: RangedInt = value.clamped(range)?;
    set_with_flags(clamped.low(), false, operands)
}
