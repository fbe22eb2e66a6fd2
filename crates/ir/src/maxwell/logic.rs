//! Bitwise logic, shifts, bit fields, permutations and moves. For example, `LOP3.LUT R0, R1, R2, R3, 0x96` is the
//! exclusive or of three words: bit n of the table is the result for the input bits n.

use warpbound_isa::SpecialReg;
use warpbound_isa::nvidia::{Modifier, Modifier as M};

use super::flags::{flags_write, set_with_flags, zero};
use crate::nvidia::operands::{Operands, add, and, logical_not, not, or, shl, shr};
use crate::{BinaryOp, Expr, Meaning, TernaryOp, UnaryOp};

/// SEL: one of two values, by a predicate.
pub(crate) fn select(operands: &Operands<'_>) -> Option<Meaning> {
    let (choice, a, b) = (operands.predicate(2)?, operands.word(0)?, operands.word(1)?);
    operands.set_register(Expr::ternary(TernaryOp::Select, choice, a, b))
}

/// LOP3: look-up table of three values.
pub(crate) fn look_up(modifiers: &[Modifier], operands: &Operands<'_>) -> Option<Meaning> {
    let [M::Lut, rest @ ..] = modifiers else {
        return None;
    };
    let (chained, test) = split_chained(rest);
    let table = u8::try_from(operands.immediate(3)?).ok()?;
    let [a, b, c] = [operands.word(0)?, operands.word(1)?, operands.word(2)?];
    set_with_test(
        Expr::ternary(TernaryOp::Lut(table), a, b, c),
        chained,
        test,
        operands,
    )
}

/// SHL.
pub(crate) fn shift_left(modifiers: &[Modifier], operands: &Operands<'_>) -> Option<Meaning> {
    let amount = shift_amount(operands.word(1)?, modifiers)?;
    operands.set_register(shl(operands.word(0)?, amount))
}

/// POPC.
pub(crate) fn population(operands: &Operands<'_>) -> Option<Meaning> {
    operands.set_register(Expr::unary(UnaryOp::Popc, operands.bits(0)?))
}

/// PRMT: permutation of bytes.
pub(crate) fn permute(modifiers: &[Modifier], operands: &Operands<'_>) -> Option<Meaning> {
    let [a, choice, b] = [operands.word(0)?, operands.word(1)?, operands.word(2)?];
    let choice = match modifiers {
        [] => choice,
        [mode] => permute_selector(*mode, choice)?,
        _ => return None,
    };
    operands.set_register(Expr::ternary(TernaryOp::Permute, a, choice, b))
}

/// LOP: a bitwise operation on two operands, possibly inverted.
pub(crate) fn bitwise(modifiers: &[Modifier], operands: &Operands<'_>) -> Option<Meaning> {
    let (op, modifiers) = modifiers.split_first()?;
    let (chained, test) = split_chained(modifiers);
    let (a, b) = (operands.bits(0)?, operands.bits(1)?);
    let value = match op {
        M::And => and(a, b),
        M::Or => or(a, b),
        M::Xor => Expr::binary(BinaryOp::Xor, a, b),
        M::PassB => b,
        _ => return None,
    };
    set_with_test(value, chained, test, operands)
}

/// SHR: logical or arithmetic right shift, with `.BREV` of the reversed bits.
pub(crate) fn shift_right(modifiers: &[Modifier], operands: &Operands<'_>) -> Option<Meaning> {
    let (op, rest) = match modifiers {
        [M::U32, rest @ ..] => (BinaryOp::Shr, rest),
        rest => (BinaryOp::Sar, rest),
    };
    let (value, rest) = match rest {
        [rest @ .., M::Brev] => (Expr::unary(UnaryOp::Reverse, operands.word(0)?), rest),
        rest => (operands.word(0)?, rest),
    };
    let amount = shift_amount(operands.word(1)?, rest)?;
    operands.set_register(Expr::binary(op, value, amount))
}

/// BFE: bit field of the first operand, with `.BREV` of its reversed bits.
pub(crate) fn field_extract(modifiers: &[Modifier], operands: &Operands<'_>) -> Option<Meaning> {
    let (signed, rest) = match modifiers {
        [M::U32, rest @ ..] => (false, rest),
        rest => (true, rest),
    };
    let a = match rest {
        [] => operands.word(0)?,
        [M::Brev] => Expr::unary(UnaryOp::Reverse, operands.word(0)?),
        _ => return None,
    };
    set_with_flags(extract_field(a, operands.word(1)?, signed), false, operands)
}

/// BFI: the third operand with a bit field replaced by the first.
pub(crate) fn field_insert(operands: &Operands<'_>) -> Option<Meaning> {
    let (position, length) = field(operands.word(1)?);
    let mask = shl(ones(length), position.clone());
    let kept = and(operands.word(2)?, not(mask.clone()));
    let inserted = and(shl(operands.word(0)?, position), mask);
    set_with_flags(or(kept, inserted), false, operands)
}

/// FLO: position of the highest one, or of the highest bit that differs from the sign.
pub(crate) fn find_leading_one(modifiers: &[Modifier], operands: &Operands<'_>) -> Option<Meaning> {
    let (op, rest) = match modifiers {
        [M::U32, rest @ ..] => (UnaryOp::HighestOne, rest),
        rest => (UnaryOp::HighestNonSign, rest),
    };
    let found = Expr::unary(op, operands.bits(0)?);
    operands.set_register(match rest {
        [] => found,
        // Shift amount that moves the bit to the top.
        [M::Sh] => {
            let none = Expr::binary(BinaryOp::Eq, found.clone(), Expr::Const(u32::MAX));
            let shift = Expr::binary(BinaryOp::Sub, Expr::Const(31), found.clone());
            Expr::ternary(TernaryOp::Select, none, found, shift)
        }
        _ => return None,
    })
}

/// MOV. The second operand is the mask of the lanes of each quad that are written.
pub(crate) fn mov(operands: &Operands<'_>) -> Option<Meaning> {
    let value = operands.word(0)?;
    let lanes = match operands.reads.get(1) {
        Some(_) => operands.immediate(1)?,
        None => 15,
    };
    if lanes == 15 {
        return operands.set_register(value);
    }
    let position = and(Expr::Special(SpecialReg::LaneId), Expr::Const(3));
    let written = and(shr(Expr::Const(lanes), position), Expr::Const(1));
    let old = match operands.register()? {
        Some(cell) => Expr::Cell(cell),
        None => Expr::Const(0),
    };
    operands.set_register(Expr::ternary(TernaryOp::Select, written, value, old))
}

/// Selector digits of PRMT with a mode: four digits for each value of the two low bits of its operand (PTX manual,
/// `prmt`).
fn permute_selector(mode: Modifier, operand: Expr) -> Option<Expr> {
    let by_value: [u32; 4] = match mode {
        M::F4e => [0x3210, 0x4321, 0x5432, 0x6543],
        M::B4e => [0x5670, 0x6701, 0x7012, 0x0123],
        M::Rc8 => [0x0000, 0x1111, 0x2222, 0x3333],
        M::Ecl => [0x3210, 0x3211, 0x3222, 0x3333],
        M::Ecr => [0x0000, 0x1110, 0x2210, 0x3210],
        M::Rc16 => [0x1010, 0x3232, 0x1010, 0x3232],
        _ => return None,
    };
    let [zero, one, two, three] = by_value.map(Expr::Const);
    let bit = |at| and(shr(operand.clone(), Expr::Const(at)), Expr::Const(1));
    let odd = |yes, no| Expr::ternary(TernaryOp::Select, bit(0), yes, no);
    Some(Expr::ternary(
        TernaryOp::Select,
        bit(1),
        odd(three, two),
        odd(one, zero),
    ))
}

/// Splits off `.X`, which chains the condition code of the lower words.
fn split_chained(modifiers: &[Modifier]) -> (bool, &[Modifier]) {
    match modifiers {
        [M::X, rest @ ..] => (true, rest),
        rest => (false, rest),
    }
}

/// Assigns a value to the register, its test for zero to the predicate, and its zero and sign flags to the condition
/// code.
fn set_with_test(
    value: Expr,
    chained: bool,
    test: &[Modifier],
    operands: &Operands<'_>,
) -> Option<Meaning> {
    if test.is_empty() {
        // The predicate is PT, or it is set to false: two public shader translators differ, so it gets no value.
        return set_with_flags(value, chained, operands);
    }
    let own = Expr::binary(BinaryOp::Eq, value.clone(), Expr::Const(0));
    // A chained test includes the lower words: compilers test 64-bit numbers this way (`xtask expressions`).
    let is_zero = if chained { and(own, zero()) } else { own };
    let truth = match test {
        [M::T] => Expr::Const(1),
        [M::Z] => is_zero,
        [M::Nz] => logical_not(is_zero),
        _ => return None,
    };
    let flags = flags_write(value.clone(), chained, operands);
    let register = operands.register()?.map(|cell| (cell, value));
    let predicate = operands.predicates().first().copied().flatten();
    let predicate = predicate.map(|cell| (cell, truth));
    Some(Meaning::Set(
        register.into_iter().chain(predicate).chain(flags).collect(),
    ))
}

/// Shift amount: with `.W` only its low five bits.
fn shift_amount(amount: Expr, modifiers: &[Modifier]) -> Option<Expr> {
    match modifiers {
        [] => Some(amount),
        [M::W] => Some(and(amount, Expr::Const(31))),
        _ => None,
    }
}

/// SHF: funnel shift of a pair of words. The amount saturates at 32, or at 64 for 64-bit types, unless `.W` takes its
/// low bits (PTX manual, `shf`; experiment: 64-bit shifts). A left shift gives the high word. A right shift gives the
/// low word, and with `.HI` the high word (Mesa's compiler for Maxwell, which tests it on GPUs; experiment: 64-bit
/// shifts of old compilers). `.HI` does not exist for left shifts.
pub(crate) fn funnel(modifiers: &[Modifier], operands: &Operands<'_>) -> Option<Meaning> {
    let (op, rest) = match modifiers {
        [M::L, rest @ ..] => (TernaryOp::FunnelLeft, rest),
        [M::R, rest @ ..] => (TernaryOp::FunnelRight, rest),
        _ => return None,
    };
    let (wrapped, rest) = match rest {
        [M::W, rest @ ..] => (true, rest),
        rest => (false, rest),
    };
    let (takes_high, rest) = match rest {
        [rest @ .., M::Hi] => (true, rest),
        rest => (false, rest),
    };
    let (long, signed) = match rest {
        [] => (false, false),
        [M::U64] => (true, false),
        // The sign makes no difference to a left shift.
        [M::S64] => (true, op == TernaryOp::FunnelRight),
        _ => return None,
    };
    if takes_high && op == TernaryOp::FunnelLeft {
        return None;
    }
    let given = operands.word(1)?;
    let amount = match (wrapped, long) {
        (true, false) => and(given, Expr::Const(31)),
        (true, true) => and(given, Expr::Const(63)),
        (false, false) => Expr::binary(BinaryOp::MinU, given, Expr::Const(32)),
        // The funnel shift itself gives 0 from 64 on.
        (false, true) => given,
    };
    let (low, high) = (operands.word(0)?, operands.word(2)?);
    if takes_high {
        let shift = match signed {
            true => BinaryOp::Sar,
            false => BinaryOp::Shr,
        };
        return operands.set_register(Expr::binary(shift, high, amount));
    }
    operands.set_register(match signed {
        true => arithmetic_funnel(low, high, amount),
        false => Expr::ternary(op, low, high, amount),
    })
}

/// Low word of a 64-bit number that is shifted to the right with its sign.
pub(crate) fn arithmetic_funnel(low: Expr, high: Expr, amount: Expr) -> Expr {
    let shifted = Expr::ternary(TernaryOp::FunnelRight, low, high.clone(), amount.clone());
    // From 32 on, the result is the high word shifted further, with its sign.
    let beyond = Expr::binary(BinaryOp::Sub, amount.clone(), Expr::Const(32));
    let far = Expr::binary(BinaryOp::Sar, high, beyond);
    let near = Expr::binary(BinaryOp::LtU, amount, Expr::Const(32));
    Expr::ternary(TernaryOp::Select, near, shifted, far)
}

/// Position and length of a bit field: the two low bytes of an operand.
fn field(operand: Expr) -> (Expr, Expr) {
    let byte = |value| and(value, Expr::Const(0xff));
    (byte(operand.clone()), byte(shr(operand, Expr::Const(8))))
}

/// Mask of `count` low ones, at most 32.
fn ones(count: Expr) -> Expr {
    Expr::binary(BinaryOp::Sub, shl(Expr::Const(1), count), Expr::Const(1))
}

/// BFE: bit field of a value (PTX manual, `bfe`). In a signed field, bits above the top are copies of the sign. For
/// example, the signed field at position 4 of length 4 of 0xf0 is -1.
fn extract_field(value: Expr, operand: Expr, signed: bool) -> Expr {
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
    // A field that reaches beyond bit 31 takes its sign from that bit.
    let to_the_top = Expr::binary(BinaryOp::Sar, value, position);
    let fits = Expr::binary(BinaryOp::LeU, end, Expr::Const(32));
    let some = Expr::ternary(TernaryOp::Select, fits, inside, to_the_top);
    // A field of length 0 has no sign bit.
    Expr::ternary(TernaryOp::Select, length, some, Expr::Const(0))
}
