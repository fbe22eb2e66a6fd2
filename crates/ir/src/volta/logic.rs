//! Moves, shifts, look-up tables, selections, bit fields and predicates. For example, `PLOP3.LUT P0, PT, P1, P2, PT, 0x80,
//! 0x0` sets P0 to the conjunction of P1 and P2.

use smallvec::SmallVec;
use warpbound_isa::nvidia::{Modifier, Modifier as M, OperandWord, Part, REGISTERS};
use warpbound_isa::{Operand, OperandValue, RegisterKind};

use super::plain;
use crate::maxwell::logic as maxwell;
use crate::nvidia::operands::{Operands, add, and, or, register_after, shl, shr, uniform_after};
use crate::{BinaryOp, Cell, Expr, Meaning, TernaryOp, UnaryOp, WordHalf};

/// MOV. A mask of the lanes of a quad is an operand; only the full one is a move.
pub(super) fn moved(modifiers: &[Modifier], operands: &Operands<'_>) -> Option<Meaning> {
    if let [M::B64] = modifiers {
        let [low, high] = operands.long(0)?;
        return set_pair(operands, low, high);
    }
    plain(modifiers)?;
    const ALL_LANES: u32 = 15;
    let is_full = operands.reads.len() == 1 || operands.immediate(1) == Some(ALL_LANES);
    operands.set_register(operands.word(0).filter(|_| is_full)?)
}

/// Assigns two words to the pair of registers that is written.
pub(super) fn set_pair(operands: &Operands<'_>, low: Expr, high: Expr) -> Option<Meaning> {
    operands.set_register_pair(|half| match half {
        WordHalf::Low => low.clone(),
        WordHalf::High => high.clone(),
    })
}

/// SEL: one of two values, by a predicate.
pub(super) fn select(modifiers: &[Modifier], operands: &Operands<'_>) -> Option<Meaning> {
    if let [M::B64] = modifiers {
        let choice = operands.predicate(2)?;
        let [a, b] = [operands.long(0)?, operands.long(1)?];
        let of = |a: &Expr, b: &Expr| {
            Expr::ternary(TernaryOp::Select, choice.clone(), a.clone(), b.clone())
        };
        return set_pair(operands, of(&a[0], &b[0]), of(&a[1], &b[1]));
    }
    plain(modifiers)?;
    maxwell::select(operands)
}

/// SHF: funnel shift of a pair of words, the first operand below the third. Without `.HI` the result is the low word. The
/// amount saturates at the width of the type, unless `.W` takes its low bits (PTX manual, `shf`; Mesa's compiler for this
/// family, which tests it on GPUs).
pub(super) fn shift(modifiers: &[Modifier], operands: &Operands<'_>) -> Option<Meaning> {
    let (left, rest) = match modifiers {
        [M::L, rest @ ..] => (true, rest),
        [M::R, rest @ ..] => (false, rest),
        _ => return None,
    };
    let (wraps, rest) = match rest {
        [M::W, rest @ ..] => (true, rest),
        rest => (false, rest),
    };
    let (takes_high, kind) = match rest {
        [kind, M::Hi] => (true, kind),
        [kind] => (false, kind),
        _ => return None,
    };
    let (bits, signed) = match kind {
        M::U32 => (32, false),
        M::S32 => (32, true),
        M::U64 => (64, false),
        M::S64 => (64, true),
        _ => return None,
    };
    let amount = match (wraps, operands.word(1)?) {
        (true, amount) => and(amount, Expr::Const(bits - 1)),
        (false, Expr::Const(amount)) => Expr::Const(amount.min(bits)),
        // Shifts of 64 bits give 0 from 64 on, and shifts of one word from 32 on.
        (false, amount) if bits == 64 || left != takes_high => amount,
        (false, amount) => Expr::binary(BinaryOp::MinU, amount, Expr::Const(bits)),
    };
    let (low, high) = (operands.word(0)?, operands.word(2)?);
    operands.set_register(match (left, takes_high) {
        (true, false) => shl(low, amount),
        (true, true) => Expr::ternary(TernaryOp::FunnelLeft, low, high, amount),
        (false, true) if signed => Expr::binary(BinaryOp::Sar, high, amount),
        (false, true) => shr(high, amount),
        (false, false) if signed && bits == 64 => maxwell::arithmetic_funnel(low, high, amount),
        (false, false) => Expr::ternary(TernaryOp::FunnelRight, low, high, amount),
    })
}

/// LOP3: look-up table of three words, bit by bit. A predicate that is written holds if the word is not 0, or if the one
/// that is read holds; with `.PAND`, if both do.
pub(super) fn look_up(modifiers: &[Modifier], operands: &Operands<'_>) -> Option<Meaning> {
    let combine = match modifiers {
        [M::Lut] => BinaryOp::Or,
        [M::Lut, M::Pand] => BinaryOp::And,
        _ => return None,
    };
    let table = u8::try_from(operands.immediate(3)?).ok()?;
    let words = [operands.word(0)?, operands.word(1)?, operands.word(2)?];
    let value = look_up_bits(table, &words, u32::MAX);
    let mut values = SmallVec::new();
    if let Some(Some(cell)) = operands.predicates().first().copied() {
        let is_set = Expr::binary(BinaryOp::Ne, value.clone(), Expr::Const(0));
        values.push((
            cell,
            match (combine, operands.predicate(4)?) {
                (BinaryOp::Or, Expr::Const(0)) | (BinaryOp::And, Expr::Const(1)) => is_set,
                (combine, other) => Expr::binary(combine, is_set, other),
            },
        ));
    }
    values.extend(operands.register()?.map(|cell| (cell, value)));
    Some(Meaning::Set(values))
}

/// PLOP3: two look-up tables of three predicates, with the numbering of LOP3. For example, the table 0x80 is their
/// conjunction.
pub(super) fn predicate_look_up(
    modifiers: &[Modifier],
    operands: &Operands<'_>,
) -> Option<Meaning> {
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

/// BREV.
pub(super) fn reversed(operands: &Operands<'_>) -> Option<Meaning> {
    operands.set_register(Expr::unary(UnaryOp::Reverse, operands.word(0)?))
}

/// Number of low bits that an operand states, at most 32, or with `.W` below it.
fn bit_count(wraps: bool, operand: Expr) -> Expr {
    match wraps {
        true => and(operand, Expr::Const(31)),
        false => Expr::binary(BinaryOp::MinU, operand, Expr::Const(32)),
    }
}

/// Mask of `count` low ones, at most 32.
fn ones(count: Expr) -> Expr {
    Expr::binary(BinaryOp::Sub, shl(Expr::Const(1), count), Expr::Const(1))
}

/// Whether `.W` is the only modifier; fails for others.
fn wraps(modifiers: &[Modifier]) -> Option<bool> {
    match modifiers {
        [] => Some(false),
        [M::W] => Some(true),
        _ => None,
    }
}

/// SGXT: the low bits of a word, extended by their sign or with zeros (PTX manual, `szext`). No bits give 0.
pub(super) fn extension(modifiers: &[Modifier], operands: &Operands<'_>) -> Option<Meaning> {
    let (rest, signed) = match modifiers {
        [rest @ .., M::U32] => (rest, false),
        rest => (rest, true),
    };
    let count = bit_count(wraps(rest)?, operands.word(1)?);
    let value = operands.word(0)?;
    if !signed {
        return operands.set_register(and(value, ones(count)));
    }
    let above = Expr::binary(BinaryOp::Sub, Expr::Const(32), count);
    operands.set_register(Expr::binary(
        BinaryOp::Sar,
        shl(value, above.clone()),
        above,
    ))
}

/// BMSK: ones from a position on (PTX manual, `bmsk`).
pub(super) fn bit_mask(modifiers: &[Modifier], operands: &Operands<'_>) -> Option<Meaning> {
    let wraps = wraps(modifiers)?;
    let [position, count] = [operands.word(0)?, operands.word(1)?];
    let mask = ones(bit_count(wraps, count));
    operands.set_register(shl(mask, bit_count(wraps, position)))
}

/// Number of predicates in `PR`, which excludes PT.
const PREDICATES: u8 = REGISTERS.count(RegisterKind::Predicate) as u8;

/// P2R: inserts the predicates that the mask selects into a register.
pub(super) fn predicates_to_register(operands: &Operands<'_>) -> Option<Meaning> {
    // The predicates are the first operand.
    let mask = operands.immediate(2)?;
    // Whether bits above the last predicate clear bits of the register is not known.
    if mask >> PREDICATES != 0 {
        return None;
    }
    let of = |number: u8| shl(Expr::Cell(Cell::pred(number)), Expr::Const(number.into()));
    let mut selected = (0..PREDICATES).filter(|number| mask >> number & 1 == 1);
    let first = selected.next().map_or(Expr::Const(0), of);
    // Predicates are 0 or 1, so no two of them share a bit.
    let bits = selected.fold(first, |bits, number| add(bits, of(number)));
    operands.set_register(or(and(operands.word(1)?, Expr::Const(!mask)), bits))
}

/// R2P: assigns the bits of a byte of a register to the predicates that the mask selects.
pub(super) fn register_to_predicates(operands: &Operands<'_>) -> Option<Meaning> {
    let (value, part) = operands.selected(0)?;
    let from = match part {
        Part::Whole => 0,
        Part::B1 => 8,
        Part::B2 => 16,
        Part::B3 => 24,
        _ => return None,
    };
    let mask = operands.immediate(1)?;
    let bit = |number: u8| {
        let moved = shr(value.clone(), Expr::Const(from + u32::from(number)));
        (Cell::pred(number), and(moved, Expr::Const(1)))
    };
    let selected = (0..PREDICATES).filter(|number| mask >> number & 1 == 1);
    Some(Meaning::Set(selected.map(bit).collect()))
}

/// CS2R of the special register that is zero. Compilers clear two registers with it.
pub(super) fn zeros(operands: &Operands<'_>) -> Option<Meaning> {
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
pub(super) fn set_registers(
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
