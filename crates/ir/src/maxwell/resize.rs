//! I2I: conversion of a part of a register to an integer of another size. For example, `I2I.S8.S32.SAT R0, R1` clamps
//! R1 to -128 to 127, and without `.SAT` it takes the low byte.

use warpbound_isa::nvidia::{Modifier, Modifier as M, Part};

use super::flags::set_with_flags;
use super::number::{RangedInt, SIGNED, UNSIGNED, extract_part};
use crate::nvidia::operands::{Operands, and};
use crate::{Expr, Meaning, UnaryOp};

/// Width in bits and signedness of an integer type.
fn format(modifier: Modifier) -> Option<(u32, bool)> {
    Some(match modifier {
        M::U8 => (8, false),
        M::S8 => (8, true),
        M::U16 => (16, false),
        M::S16 => (16, true),
        M::U32 => (32, false),
        M::S32 => (32, true),
        _ => return None,
    })
}

/// I2I.
pub(super) fn resize(modifiers: &[Modifier], operands: &Operands<'_>) -> Option<Meaning> {
    let (to, from, saturated) = match modifiers {
        [to, from] => (*to, *from, false),
        [to, from, M::Sat] => (*to, *from, true),
        _ => return None,
    };
    let ((to_bits, to_signed), (bits, signed)) = (format(to)?, format(from)?);
    let operand = operands.reads.first()?;
    let (value, part) = operands.part_without_sign(0)?;
    let at = match (part, bits) {
        (Part::Whole, _) => 0,
        (Part::B1, 8) => 8,
        (Part::B2, 8) | (Part::H1, 16) => 16,
        (Part::B3, 8) => 24,
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
        // The result is truncated and sign-extended (`xtask expressions`: minus a short).
        let word = match (to_bits, to_signed) {
            (32, _) => word,
            (8, true) => Expr::unary(UnaryOp::SignExtend8, word),
            (_, true) => Expr::unary(UnaryOp::SignExtend16, word),
            (bits, false) => and(word, Expr::Const((1 << bits) - 1)),
        };
        return set_with_flags(word, false, operands);
    }
    // It is not known whether intermediate results have 33 bits, as the magnitude of the smallest number needs.
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
        (bits, true) => -(1 << (bits - 1))..=(1 << (bits - 1)) - 1,
        (bits, false) => 0..=(1 << bits) - 1,
    };
    // Assumption: the bits above a short result are copies of its sign, as in other instructions. Compilers extend a
    // short result before they use these bits.
    let clamped: RangedInt = value.clamped(&range)?;
    set_with_flags(clamped.low(), false, operands)
}
