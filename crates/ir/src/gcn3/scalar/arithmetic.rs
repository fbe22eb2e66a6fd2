//! Scalar instructions with two sources (SOP2). For example, `s_add_u32` sets SCC to the carry, and `s_add_i32` to
//! the signed overflow.

use warpbound_isa::amd::GcnOpcode;

use super::{ConditionCode, condition_code, set};
use crate::gcn3::expressions::*;
use crate::gcn3::operands::Operands;
use crate::{Expr, Meaning, UnaryOp};
use GcnOpcode as Op;

/// Returns the meaning; `None` if it is unknown.
pub(super) fn meaning(opcode: GcnOpcode, o: &Operands<'_>) -> Option<Meaning> {
    if let Some((operation, is_wide)) = logic(opcode) {
        return match is_wide {
            false => set(o, [operation(o.word(0, 0)?, o.word(1, 0)?)], NON_ZERO),
            true => set(o, logic64(operation, o.pair(0)?, o.pair(1)?), NON_ZERO),
        };
    }
    sum(opcode, o)
        .or_else(|| choice(opcode, o))
        .or_else(|| shift(opcode, o))
        .or_else(|| bit_fields(opcode, o))
}

const NON_ZERO: ConditionCode = ConditionCode::NonZero;

/// Bitwise operation of two words.
pub(super) type Logic = fn(Expr, Expr) -> Expr;

/// Bitwise operation, and whether it has 64 bits.
pub(super) fn logic(opcode: GcnOpcode) -> Option<(Logic, bool)> {
    let (operation, is_wide): (Logic, bool) = match opcode {
        Op::SAndB32 => (and, false),
        Op::SAndB64 | Op::SAndSaveexecB64 => (and, true),
        Op::SOrB32 => (or, false),
        Op::SOrB64 | Op::SOrSaveexecB64 => (or, true),
        Op::SXorB32 => (xor, false),
        Op::SXorB64 | Op::SXorSaveexecB64 => (xor, true),
        Op::SAndn2B32 => (and_not, false),
        Op::SAndn2B64 | Op::SAndn2SaveexecB64 => (and_not, true),
        Op::SOrn2B32 => (or_not, false),
        Op::SOrn2B64 | Op::SOrn2SaveexecB64 => (or_not, true),
        Op::SNandB32 => (nand, false),
        Op::SNandB64 | Op::SNandSaveexecB64 => (nand, true),
        Op::SNorB32 => (nor, false),
        Op::SNorB64 | Op::SNorSaveexecB64 => (nor, true),
        Op::SXnorB32 => (xnor, false),
        Op::SXnorB64 | Op::SXnorSaveexecB64 => (xnor, true),
        _ => return None,
    };
    Some((operation, is_wide))
}

/// 64-bit bitwise operation, word by word.
pub(super) fn logic64(operation: Logic, [a, b]: WordPair, [c, d]: WordPair) -> WordPair {
    [operation(a, c), operation(b, d)]
}

/// Signed overflow of a sum.
pub(super) fn sum_overflows(a: Expr, b: Expr) -> Expr {
    let sum = add(a.clone(), b.clone());
    // A sum overflows exactly if its sign differs from the signs of both operands.
    shr(and(xor(a, sum.clone()), xor(b, sum)), constant(31))
}

/// Signed overflow of a difference.
fn difference_overflows(a: Expr, b: Expr) -> Expr {
    let difference = sub(a.clone(), b.clone());
    // A difference overflows exactly if the signs of the operands differ and the result has not the sign of the
    // first.
    shr(and(xor(a.clone(), b), xor(a, difference)), constant(31))
}

/// Sums, differences, products.
fn sum(opcode: GcnOpcode, o: &Operands<'_>) -> Option<Meaning> {
    let [a, b] = [o.word(0, 0)?, o.word(1, 0)?];
    let [x, y] = [a.clone(), b.clone()];
    let code = || Expr::Cell(condition_code());
    let (value, code) = match opcode {
        Op::SAddU32 => (add(a, b), carry(x, y, constant(0))),
        Op::SAddI32 => (add(a, b), sum_overflows(x, y)),
        Op::SAddcU32 => (add(add(a, b), code()), carry(x, y, code())),
        Op::SSubU32 => (sub(a, b), lt_u(x, y)),
        Op::SSubI32 => (sub(a, b), difference_overflows(x, y)),
        Op::SSubbU32 => (sub(sub(a, b), code()), borrow(x, y, code())),
        Op::SMulI32 => return set(o, [mul(a, b)], ConditionCode::NoValue),
        Op::SAbsdiffI32 => return set(o, [unary(UnaryOp::AbsS, sub(a, b))], NON_ZERO),
        _ => return None,
    };
    set(o, [value], ConditionCode::Is(code))
}

/// Minima, maxima, choices by SCC.
fn choice(opcode: GcnOpcode, o: &Operands<'_>) -> Option<Meaning> {
    let [a, b] = [o.word(0, 0)?, o.word(1, 0)?];
    let [x, y] = [a.clone(), b.clone()];
    let code = || Expr::Cell(condition_code());
    let (value, code) = match opcode {
        Op::SMinI32 => (min_s(a, b), ConditionCode::Is(lt_s(x, y))),
        Op::SMinU32 => (min_u(a, b), ConditionCode::Is(lt_u(x, y))),
        // Manuals differ on SCC if both are equal: the GCN3 manual states `>`, later ones `>=`.
        Op::SMaxI32 => (max_s(a, b), ConditionCode::NoValue),
        Op::SMaxU32 => (max_u(a, b), ConditionCode::NoValue),
        Op::SCselectB32 => (select(code(), a, b), ConditionCode::NoValue),
        Op::SCselectB64 => {
            let ([a, above_a], [b, above_b]) = (o.pair(0)?, o.pair(1)?);
            let words = [select(code(), a, b), select(code(), above_a, above_b)];
            return set(o, words, ConditionCode::NoValue);
        }
        _ => return None,
    };
    set(o, [value], code)
}

/// Shifts. The amount is taken modulo the number of bits of the value.
fn shift(opcode: GcnOpcode, o: &Operands<'_>) -> Option<Meaning> {
    let word = |operation: Logic| {
        let amount = low_bits(o.word(1, 0)?, 5);
        set(o, [operation(o.word(0, 0)?, amount)], NON_ZERO)
    };
    let pair = |operation: fn(WordPair, Expr) -> WordPair| {
        let amount = low_bits(o.word(1, 0)?, 6);
        set(o, operation(o.pair(0)?, amount), NON_ZERO)
    };
    match opcode {
        Op::SLshlB32 => word(shl),
        Op::SLshrB32 => word(shr),
        Op::SAshrI32 => word(sar),
        Op::SLshlB64 => pair(shl64),
        Op::SLshrB64 => pair(shr64),
        Op::SAshrI64 => pair(sar64),
        _ => None,
    }
}

/// Bit fields: extraction, with the offset in the low half of the second source and the width from bit 16 on, and
/// masks.
fn bit_fields(opcode: GcnOpcode, o: &Operands<'_>) -> Option<Meaning> {
    let [a, b] = [o.word(0, 0)?, o.word(1, 0)?];
    // Widths up to 64 need seven bits.
    let width = field(b.clone(), 16, 7);
    let word = |signed| {
        let value = bit_field(a.clone(), low_bits(b.clone(), 5), width.clone(), signed);
        set(o, [value], NON_ZERO)
    };
    let pair = |signed| {
        let right = if signed { sar64 } else { shr64 };
        // The field is shifted to the top and back, which extends it by its sign or by zeros.
        let unused = sub(constant(64), min_u(width.clone(), constant(64)));
        let from_offset = right(o.pair(0)?, low_bits(b.clone(), 6));
        let top = shl64(from_offset, unused.clone());
        set(o, right(top, unused), NON_ZERO)
    };
    match opcode {
        Op::SBfeU32 => word(false),
        Op::SBfeI32 => word(true),
        Op::SBfeU64 => pair(false),
        Op::SBfeI64 => pair(true),
        Op::SBfmB32 => {
            let mask = shl(ones(low_bits(a, 5)), low_bits(b, 5));
            set(o, [mask], ConditionCode::NoValue)
        }
        Op::SBfmB64 => {
            let mask = shl64(ones64(low_bits(a, 6)), low_bits(b, 6));
            set(o, mask, ConditionCode::NoValue)
        }
        _ => None,
    }
}
