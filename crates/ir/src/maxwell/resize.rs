//! I2I: conversion of a part of a register to an integer of another size.

use warpbound_isa::View;

use super::flags::set_with_flags;
use super::number::{RangedInt, SIGNED, UNSIGNED, extract_part};
use super::operands::{Operands, and};
use crate::{Expr, Meaning, UnaryOp};

/// Width in bits and signedness of an integer type.
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
        // The result is truncated and extended with its sign (`xtask expressions`: minus a short).
        let word = match (to_bits, to_signed) {
            (32, _) => word,
            (8, true) => Expr::unary(UnaryOp::SignExtend8, word),
            (_, true) => Expr::unary(UnaryOp::SignExtend16, word),
            (bits, false) => and(word, Expr::Const((1 << bits) - 1)),
        };
        return set_with_flags(word, false, operands);
    }
    // Unknown: whether intermediate results have 33 bits, as the magnitude of the smallest number needs.
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
    // Assumption: the bits above a short result are copies of its sign, as for other instructions. Compilers extend a
    // short result before they use the bits above it.
    let clamped: RangedInt = value.clamped(range)?;
    set_with_flags(clamped.low(), false, operands)
}
