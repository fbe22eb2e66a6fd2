//! Meaning of instructions from Volta to Blackwell, as far as control flow needs them: integer arithmetic, comparisons,
//! logic, moves and constants (sources: the PTX manual for operations that SASS shares with it; the output of compilers).
//!
//! As in [`crate::maxwell`], a function matches modifiers exactly: an instruction with a modifier that no arm matches has
//! no meaning, and its results are unknown to analyses. For example, `IADD3.X` has none, because carries in predicates
//! are not followed.

use smallvec::SmallVec;
use warpbound_isa::nvidia::{Modifier, Modifier as M, Opcode, OperandWord};
use warpbound_isa::{Operand, OperandValue, View};

use crate::maxwell::{compare, logic};
use crate::nvidia::operands::{Operands, add, register_after, shl};
use crate::{BinaryOp, Cell, Expr, Meaning, TernaryOp, UnaryOp};

/// Returns the meaning of an instruction; `None` if it is unknown.
pub(crate) fn meaning(view: &View) -> Option<Meaning> {
    let o = &Operands::new(view);
    let m = view.modifiers.as_slice();
    match view.opcode {
        Opcode::Mov | Opcode::Umov => moved(m, o),
        Opcode::Iadd3 | Opcode::Uiadd3 => sum_of_three(m, o),
        Opcode::Iadd | Opcode::Viadd => sum(m, o),
        Opcode::Imad | Opcode::Uimad => product_and_sum(m, o),
        Opcode::Lea | Opcode::Ulea => scaled_sum(m, o),
        Opcode::Shf | Opcode::Ushf => shift(m, o),
        Opcode::Lop3 | Opcode::Ulop3 => look_up(m, o),
        Opcode::Sel | Opcode::Usel => plain(m).and_then(|()| logic::select(o)),
        Opcode::Isetp | Opcode::Uisetp => compare::integer_set_predicates(m, o),
        Opcode::Iabs => plain(m).and_then(|()| absolute(o)),
        Opcode::Imnmx | Opcode::Vimnmx => min_max(m, o),
        Opcode::Viaddmnmx => sum_min_max(m, o),
        Opcode::Popc | Opcode::Upopc => plain(m).and_then(|()| logic::population(o)),
        Opcode::Cs2r => zeros(o),
        Opcode::Hfma2 => half_constants(m, o),
        Opcode::Ldc | Opcode::Uldc | Opcode::Ldcu => constant(m, o),

        // Control operations, fences and waits have no effect on data.
        Opcode::Nop
        | Opcode::Membar
        | Opcode::Depbar
        | Opcode::Bra
        | Opcode::Brx
        | Opcode::Jmp
        | Opcode::Jmx
        | Opcode::Bssy
        | Opcode::Bsync
        | Opcode::Break
        | Opcode::Call
        | Opcode::Ret
        | Opcode::Warpsync
        | Opcode::Yield
        | Opcode::Nanosleep
        | Opcode::Exit => Some(Meaning::nothing()),

        // Not modelled yet.
        _ => None,
    }
}

/// Fails unless an instruction has no modifiers.
fn plain(modifiers: &[Modifier]) -> Option<()> {
    modifiers.is_empty().then_some(())
}

/// MOV. A mask of the lanes of a quad is an operand; only the full one is a move.
fn moved(modifiers: &[Modifier], operands: &Operands<'_>) -> Option<Meaning> {
    plain(modifiers)?;
    const ALL_LANES: u32 = 15;
    let is_full = operands.reads.len() == 1 || operands.immediate(1) == Some(ALL_LANES);
    operands.set_register(operands.word(0).filter(|_| is_full)?)
}

/// IADD3 without carries.
fn sum_of_three(modifiers: &[Modifier], operands: &Operands<'_>) -> Option<Meaning> {
    plain(modifiers)?;
    let [a, b, c] = [operands.word(0)?, operands.word(1)?, operands.word(2)?];
    operands.set_register(add(add(a, b), c))
}

/// IADD and VIADD of words.
fn sum(modifiers: &[Modifier], operands: &Operands<'_>) -> Option<Meaning> {
    plain(modifiers)?;
    operands.set_register(add(operands.word(0)?, operands.word(1)?))
}

/// IMAD: the low word of a product, which does not depend on signs, and a sum. The disassembler prints simple products
/// with the modifiers MOV, IADD and SHL.
fn product_and_sum(modifiers: &[Modifier], operands: &Operands<'_>) -> Option<Meaning> {
    let rest = match modifiers {
        [M::Mov | M::Iadd | M::Shl, rest @ ..] => rest,
        rest => rest,
    };
    if !matches!(rest, [] | [M::U32]) {
        return None;
    }
    let [a, b, c] = [operands.word(0)?, operands.word(1)?, operands.word(2)?];
    operands.set_register(add(Expr::binary(BinaryOp::Mul, a, b), c))
}

/// LEA of words: a shifted operand and another.
fn scaled_sum(modifiers: &[Modifier], operands: &Operands<'_>) -> Option<Meaning> {
    plain(modifiers)?;
    // The third operand is read by `.HI` only.
    let shift = operands.immediate(3)?;
    let shifted = shl(operands.word(0)?, Expr::Const(shift));
    operands.set_register(add(shifted, operands.word(1)?))
}

/// SHF that shifts one word: to the left from the low word, or to the right from the high word.
fn shift(modifiers: &[Modifier], operands: &Operands<'_>) -> Option<Meaning> {
    // The low word of a shift to the left does not depend on the high one, nor the high word of a shift to the right
    // on the low one.
    let amount = operands.word(1)?;
    operands.set_register(match modifiers {
        [M::L, M::U32] => shl(operands.word(0)?, amount),
        [M::R, M::U32, M::Hi] => Expr::binary(BinaryOp::Shr, operands.word(2)?, amount),
        [M::R, M::S32, M::Hi] => Expr::binary(BinaryOp::Sar, operands.word(2)?, amount),
        _ => return None,
    })
}

/// LOP3: look-up table of three words.
fn look_up(modifiers: &[Modifier], operands: &Operands<'_>) -> Option<Meaning> {
    let [M::Lut] = modifiers else { return None };
    let table = u8::try_from(operands.immediate(3)?).ok()?;
    let [a, b, c] = [operands.word(0)?, operands.word(1)?, operands.word(2)?];
    operands.set_register(Expr::ternary(TernaryOp::Lut(table), a, b, c))
}

/// IABS.
fn absolute(operands: &Operands<'_>) -> Option<Meaning> {
    let value = operands.word(0)?;
    let negative = Expr::unary(UnaryOp::Neg, value.clone());
    operands.set_register(Expr::binary(BinaryOp::MaxS, value, negative))
}

/// IMNMX and VIMNMX of words: the minimum if the predicate holds, else the maximum.
fn min_max(modifiers: &[Modifier], operands: &Operands<'_>) -> Option<Meaning> {
    let (smaller, larger) = match modifiers {
        [] => (BinaryOp::MinS, BinaryOp::MaxS),
        [M::U32] => (BinaryOp::MinU, BinaryOp::MaxU),
        _ => return None,
    };
    let of = |op| Some(Expr::binary(op, operands.word(0)?, operands.word(1)?));
    operands.set_register(match operands.predicate(2)? {
        Expr::Const(0) => of(larger)?,
        Expr::Const(_) => of(smaller)?,
        choice => Expr::ternary(TernaryOp::Select, choice, of(smaller)?, of(larger)?),
    })
}

/// VIADDMNMX of unsigned words: the minimum of a sum and a word if the predicate holds, else the maximum. Compilers
/// subtract the first case of a switch with it, so that the sum wraps around.
fn sum_min_max(modifiers: &[Modifier], operands: &Operands<'_>) -> Option<Meaning> {
    let [M::U32] = modifiers else { return None };
    let sum = add(operands.word(0)?, operands.word(1)?);
    let op = match operands.predicate(3)? {
        Expr::Const(0) => BinaryOp::MaxU,
        Expr::Const(_) => BinaryOp::MinU,
        _ => return None,
    };
    operands.set_register(Expr::binary(op, sum, operands.word(2)?))
}

/// CS2R of the special register that is zero. Compilers clear two registers with it.
fn zeros(operands: &Operands<'_>) -> Option<Meaning> {
    let zero = OperandValue::Word {
        word: OperandWord::Zero,
        text: "SRZ",
    };
    let ([dest], [source]) = (operands.writes.as_slice(), operands.reads.as_slice()) else {
        return None;
    };
    let OperandValue::Reg(first) = dest.value else {
        return None;
    };
    if source.value != zero {
        return None;
    }
    let cells = (0..dest.count).map(|number| register_after(first?, number));
    let writes = match first {
        Some(_) => cells.collect::<Option<SmallVec<_>>>()?,
        None => SmallVec::<[Cell; 2]>::new(),
    };
    Some(Meaning::Set(
        writes
            .into_iter()
            .map(|cell| (cell, Expr::Const(0)))
            .collect(),
    ))
}

/// HFMA2 that adds two constants to a product of zeros, which compilers use as a move. The product is -0, so that the sum
/// has the bits of the constant, except for NaNs.
fn half_constants(modifiers: &[Modifier], operands: &Operands<'_>) -> Option<Meaning> {
    if !matches!(modifiers, [] | [M::Mma]) {
        return None;
    }
    let [a, b, high, low, rest @ ..] = operands.reads.as_slice() else {
        return None;
    };
    let is_zero = |operand: &Operand| operand.value == OperandValue::Reg(None) && !operand.absolute;
    let is_unused = |operand: &&Operand| !operand.shown;
    if !is_zero(a) || !is_zero(b) || a.negate == b.negate || !rest.iter().all(is_unused) {
        return None;
    }
    let half = |operand: &Operand| match operand.value {
        OperandValue::Half(bits) => {
            let is_nan = bits & 0x7c00 == 0x7c00 && bits & 0x3ff != 0;
            (!is_nan && !operand.negate).then_some(u32::from(bits))
        }
        _ => None,
    };
    operands.set_register(Expr::Const(half(high)? << 16 | half(low)?))
}

/// LDC, ULDC and LDCU of one word.
fn constant(modifiers: &[Modifier], operands: &Operands<'_>) -> Option<Meaning> {
    plain(modifiers)?;
    operands.set_register(operands.word(0)?)
}
