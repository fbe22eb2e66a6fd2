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
use crate::nvidia::operands::{Operands, add, register_after, shl, uniform_after};
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
        Opcode::Plop3 | Opcode::Uplop3 => predicate_look_up(m, o),
        Opcode::Sel | Opcode::Usel => plain(m).and_then(|()| logic::select(o)),
        Opcode::Isetp | Opcode::Uisetp => compare::integer_set_predicates(m, o),
        Opcode::Iabs => plain(m).and_then(|()| absolute(o)),
        Opcode::Imnmx | Opcode::Uimnmx | Opcode::Vimnmx | Opcode::Uvimnmx => min_max(m, o),
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

/// LOP3: look-up table of three words, bit by bit.
fn look_up(modifiers: &[Modifier], operands: &Operands<'_>) -> Option<Meaning> {
    let [M::Lut] = modifiers else { return None };
    let table = u8::try_from(operands.immediate(3)?).ok()?;
    let words = [operands.word(0)?, operands.word(1)?, operands.word(2)?];
    operands.set_register(look_up_bits(table, &words, u32::MAX))
}

/// PLOP3: two look-up tables of three predicates, with the numbering of LOP3. For example, the table 0x80 is their
/// conjunction.
fn predicate_look_up(modifiers: &[Modifier], operands: &Operands<'_>) -> Option<Meaning> {
    let [M::Lut] = modifiers else { return None };
    let [a, b, c] = [0, 1, 2].map(|index| operands.predicate(index));
    let predicates = [a?, b?, c?];
    let written = operands.predicates();
    let mut values = SmallVec::new();
    for (index, cell) in written.into_iter().enumerate() {
        let table = u8::try_from(operands.immediate(3 + index)?).ok()?;
        if let Some(cell) = cell {
            values.push((cell, look_up_bits(table, &predicates, 1)));
        }
    }
    Some(Meaning::Set(values))
}

/// Value of a table at three operands, bit by bit. The first operand is the highest bit of an index. All bits of an
/// operand are bits of `ones`. Compilers' tables are mostly copies, negations and conjunctions of a few operands, the
/// others being constant, so these have expressions of their own.
fn look_up_bits(table: u8, operands: &[Expr; 3], ones: u32) -> Expr {
    let bit_of = |operand: &Expr| match operand {
        Expr::Const(0) => Some(0),
        Expr::Const(value) if *value == ones => Some(1),
        _ => None,
    };
    let is_open = |index: &usize| bit_of(&operands[*index]).is_none();
    let open: SmallVec<[usize; 3]> = (0..3).filter(is_open).collect();
    // Values of the table where the open operands are the bits of a number, the last one the lowest bit.
    let value_at = |number: usize| {
        let place = (0..3).fold(0, |place, index| {
            let rank = open.iter().rev().position(|&at| at == index);
            let open_bit = rank.map(|rank| number >> rank & 1);
            place << 1 | open_bit.or(bit_of(&operands[index])).unwrap_or_default()
        });
        table >> place & 1
    };
    let values: SmallVec<[u8; 8]> = (0..1 << open.len()).map(value_at).collect();
    let of = |index: usize| operands[open[index]].clone();
    let not = |expr: Expr| Expr::binary(BinaryOp::Xor, expr, Expr::Const(ones));
    match values.as_slice() {
        [first, rest @ ..] if rest.iter().all(|value| value == first) => {
            Expr::Const(if *first == 0 { 0 } else { ones })
        }
        [0, 1] => of(0),
        [1, 0] if ones == u32::MAX => Expr::unary(UnaryOp::Not, of(0)),
        [1, 0] => not(of(0)),
        [0, 0, 0, 1] => Expr::binary(BinaryOp::And, of(0), of(1)),
        [0, 1, 1, 1] => Expr::binary(BinaryOp::Or, of(0), of(1)),
        [0, 1, 1, 0] => Expr::binary(BinaryOp::Xor, of(0), of(1)),
        _ => {
            let [a, b, c] = operands.clone();
            let bits = Expr::ternary(TernaryOp::Lut(table), a, b, c);
            match ones {
                u32::MAX => bits,
                _ => Expr::binary(BinaryOp::And, bits, Expr::Const(ones)),
            }
        }
    }
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
    match operands.reads.as_slice() {
        [source] if source.value == zero => set_registers(operands, |_| Some(Expr::Const(0))),
        _ => None,
    }
}

/// Meaning that assigns a value to each register of a group that is written; `None` if a number has no value, or if a
/// predicate is written, too.
fn set_registers(
    operands: &Operands<'_>,
    value_of: impl Fn(u8) -> Option<Expr>,
) -> Option<Meaning> {
    let is_group = |operand: &&&Operand| {
        matches!(
            operand.value,
            OperandValue::Reg(_) | OperandValue::Uniform(_)
        )
    };
    let mut groups = operands.writes.iter().filter(is_group);
    let (dest, None) = (groups.next()?, groups.next()) else {
        return None;
    };
    if operands.predicates().iter().any(Option::is_some) {
        return None;
    }
    let cell_of: &dyn Fn(u8) -> Option<Cell> = match dest.value {
        OperandValue::Reg(Some(first)) => &move |number| register_after(first, number),
        OperandValue::Uniform(Some(first)) => &move |number| uniform_after(first, number),
        // Results in RZ and URZ are discarded.
        _ => return Some(Meaning::nothing()),
    };
    let values = (0..dest.count).map(|number| Some((cell_of(number)?, value_of(number)?)));
    Some(Meaning::Set(values.collect::<Option<SmallVec<_>>>()?))
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

/// LDC, ULDC and LDCU of whole words.
fn constant(modifiers: &[Modifier], operands: &Operands<'_>) -> Option<Meaning> {
    let count = match modifiers {
        [] => 1,
        [M::B64] => 2,
        [M::B128] => 4,
        _ => return None,
    };
    let Expr::Constant(bank, address) = operands.word(0)? else {
        return None;
    };
    set_registers(operands, |number| {
        let more = 4 * u32::from(number);
        let at = match (&*address, more) {
            (address, 0) => address.clone(),
            (Expr::Const(address), more) => Expr::Const(address.wrapping_add(more)),
            (address, more) => add(address.clone(), Expr::Const(more)),
        };
        (number < count).then(|| Expr::Constant(bank, at.into()))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Value of an expression over three predicates or registers.
    fn value(expr: &Expr, words: [u32; 3]) -> u32 {
        let of = |expr: &Expr| value(expr, words);
        match expr {
            Expr::Const(value) => *value,
            Expr::Cell(cell) => {
                let is_it =
                    |number: &u8| *cell == Cell::pred(*number) || *cell == Cell::gpr(*number);
                let number = (0..3).find(is_it).expect("a predicate or a register");
                words[usize::from(number)]
            }
            Expr::Unary(UnaryOp::Not, a) => !of(a),
            Expr::Binary(BinaryOp::And, a, b) => of(a) & of(b),
            Expr::Binary(BinaryOp::Or, a, b) => of(a) | of(b),
            Expr::Binary(BinaryOp::Xor, a, b) => of(a) ^ of(b),
            Expr::Ternary(TernaryOp::Lut(table), a, b, c) => by_bits(*table, [of(a), of(b), of(c)]),
            other => panic!("{other:?}"),
        }
    }

    fn by_bits(table: u8, [a, b, c]: [u32; 3]) -> u32 {
        let index = |at: u32| (a >> at & 1) << 2 | (b >> at & 1) << 1 | c >> at & 1;
        (0..32).fold(0, |word, at| {
            word | (u32::from(table) >> index(at) & 1) << at
        })
    }

    #[test]
    fn tables_of_predicates_have_their_values() {
        let not = |expr| Expr::binary(BinaryOp::Xor, expr, Expr::Const(1));
        let operand = |number: u8, kind: usize| match kind {
            0 => Expr::Const(0),
            1 => Expr::Const(1),
            2 => Expr::Cell(Cell::pred(number)),
            _ => not(Expr::Cell(Cell::pred(number))),
        };
        for (table, kinds) in (0..=255u8).flat_map(|table| (0..64).map(move |k| (table, k))) {
            let predicates = [0, 1, 2].map(|n| operand(n, kinds >> (2 * usize::from(n)) & 3));
            let found = look_up_bits(table, &predicates, 1);
            for bits in 0..8 {
                let words = [bits & 1, bits >> 1 & 1, bits >> 2 & 1];
                let inputs = [0, 1, 2].map(|n| value(&predicates[n], words));
                let expected = by_bits(table, inputs) & 1;
                assert_eq!(
                    value(&found, words),
                    expected,
                    "{table:#x} {predicates:?} {bits}"
                );
            }
        }
    }

    #[test]
    fn tables_of_words_have_their_values() {
        let operand = |number: u8, kind: usize| match kind {
            0 => Expr::Const(0),
            1 => Expr::Const(u32::MAX),
            2 => Expr::Cell(Cell::gpr(number)),
            _ => Expr::Const(0x0ff0_1234),
        };
        let words = [0xf0f0_5a5a, 0xcccc_3c3c, 0xaaaa_9669];
        for (table, kinds) in (0..=255u8).flat_map(|table| (0..64).map(move |k| (table, k))) {
            let operands = [0, 1, 2].map(|n| operand(n, kinds >> (2 * usize::from(n)) & 3));
            let inputs = [0, 1, 2].map(|n| value(&operands[n], words));
            let found = value(&look_up_bits(table, &operands, u32::MAX), words);
            assert_eq!(found, by_bits(table, inputs), "{table:#x} {operands:?}");
        }
    }
}
