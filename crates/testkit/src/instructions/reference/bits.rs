//! Reference of logic operations, shifts, bit fields and byte permutations, bit by bit.

use super::{InstrCase, InstrOutputs};

pub(super) fn outputs(case: &InstrCase<'_>) -> Option<InstrOutputs> {
    match case.spelling.mnemonic {
        "LOP" | "LOP32I" => logic(case),
        "LOP3" => table(case),
        "SHL" => case.write_register(i128::from(case.operand_bits(0)) << amount(case, 32)),
        "SHR" => shift_right(case),
        "SHF" => funnel(case),
        "BFE" => extract(case),
        "BFI" => insert(case),
        "POPC" => case.write_register(
            (0..32)
                .filter(|&at| bit(inverted_if_marked(case, 0), at))
                .count() as i128,
        ),
        "FLO" => highest(case),
        "PRMT" => permute(case),
        "SEL" => case.write_register(
            case.operand_bits(if case.predicate(2) { 0 } else { 1 })
                .into(),
        ),
        "MOV" | "MOV32I" => moved(case),
        _ => None,
    }
}

fn bit(value: u32, at: u32) -> bool {
    at < 32 && value >> at & 1 == 1
}

fn from_bits(of: impl Fn(u32) -> bool) -> u32 {
    (0..32).map(|at| u32::from(of(at)) << at).sum()
}

/// Bits of an operand, complemented if it has a tilde.
fn inverted_if_marked(case: &InstrCase<'_>, index: usize) -> u32 {
    let value = case.operand_bits(index);
    match case.reads[index].invert {
        true => u32::MAX - value,
        false => value,
    }
}

/// Writes a value to the register, its flags to the condition code, and its comparison with 0 to the predicate.
fn tested(case: &InstrCase<'_>, value: u32) -> Option<InstrOutputs> {
    let mut out = case.write_bits(value, case.has(".X"));
    let cells = case.written_predicates();
    let is_zero = value == 0 && (!case.has(".X") || case.zero());
    let truth = if case.has(".Z") {
        is_zero
    } else if case.has(".NZ") {
        !is_zero
    } else if case.has(".T") {
        true
    } else {
        return cells.iter().all(Option::is_none).then_some(out);
    };
    out.extend(cells.into_iter().flatten().map(|cell| (cell, truth.into())));
    Some(out)
}

fn logic(case: &InstrCase<'_>) -> Option<InstrOutputs> {
    let (a, b) = (inverted_if_marked(case, 0), inverted_if_marked(case, 1));
    let operator = *case.spelling.modifiers.first()?;
    let value = from_bits(|at| match operator {
        ".AND" => bit(a, at) && bit(b, at),
        ".OR" => bit(a, at) || bit(b, at),
        ".XOR" => bit(a, at) != bit(b, at),
        _ => bit(b, at),
    });
    tested(case, value)
}

fn table(case: &InstrCase<'_>) -> Option<InstrOutputs> {
    let words = [0, 1, 2].map(|index| case.operand_bits(index));
    let table = case.immediate(3)?;
    let value = from_bits(|at| {
        let number = words
            .iter()
            .fold(0, |n, &word| n * 2 + u32::from(bit(word, at)));
        bit(table, number)
    });
    tested(case, value)
}

fn amount(case: &InstrCase<'_>, most: u32) -> u32 {
    let given = case.operand_bits(1);
    match case.has(".W") {
        true => given % most,
        false => given.min(most),
    }
}

/// Operand of shifts and bit fields; bit-reversed with `.BREV`.
fn reversed_if_marked(case: &InstrCase<'_>) -> u32 {
    let a = case.operand_bits(0);
    match case.has(".BREV") {
        true => from_bits(|at| bit(a, 31 - at)),
        false => a,
    }
}

fn shift_right(case: &InstrCase<'_>) -> Option<InstrOutputs> {
    let (a, by) = (reversed_if_marked(case), amount(case, 32));
    let filled = !case.has(".U32") && bit(a, 31);
    let value = from_bits(|at| match at + by {
        index @ 0..32 => bit(a, index),
        _ => filled,
    });
    case.write_register(value.into())
}

fn funnel(case: &InstrCase<'_>) -> Option<InstrOutputs> {
    let long = case.has(".U64") || case.has(".S64");
    let by = i64::from(amount(case, if long { 64 } else { 32 }));
    let (low, high) = (case.operand_bits(0), case.operand_bits(2));
    let at = |index: i64| match index {
        ..0 => false,
        0..32 => bit(low, index as u32),
        32..64 => bit(high, index as u32 - 32),
        _ => case.has(".S64") && bit(high, 31),
    };
    let value = from_bits(|index| match (case.has(".L"), case.has(".HI")) {
        (true, _) => at(i64::from(index) + 32 - by),
        (false, false) => at(i64::from(index) + by),
        (false, true) => at(i64::from(index) + 32 + by),
    });
    case.write_register(value.into())
}

fn field(case: &InstrCase<'_>) -> (u32, u32) {
    let field = case.operand_bits(1);
    (field & 0xff, field >> 8 & 0xff)
}

fn extract(case: &InstrCase<'_>) -> Option<InstrOutputs> {
    let (a, (position, length)) = (reversed_if_marked(case), field(case));
    let sign = length > 0 && !case.has(".U32") && bit(a, (position + length - 1).min(31));
    let value = from_bits(|at| match at < length && position + at < 32 {
        true => bit(a, position + at),
        false => sign,
    });
    Some(case.write_bits(value, false))
}

fn insert(case: &InstrCase<'_>) -> Option<InstrOutputs> {
    let (a, base, (position, length)) = (case.operand_bits(0), case.operand_bits(2), field(case));
    let value = from_bits(|at| match at >= position && at < position + length {
        true => bit(a, at - position),
        false => bit(base, at),
    });
    Some(case.write_bits(value, false))
}

fn highest(case: &InstrCase<'_>) -> Option<InstrOutputs> {
    let value = inverted_if_marked(case, 0);
    let looked_for = case.has(".U32") || !bit(value, 31);
    let found = (0..32u32).rev().find(|&at| bit(value, at) == looked_for);
    case.write_register(match found {
        None => u32::MAX.into(),
        Some(at) if case.has(".SH") => i128::from(31 - at),
        Some(at) => at.into(),
    })
}

fn permute(case: &InstrCase<'_>) -> Option<InstrOutputs> {
    let (a, choice, b) = (
        case.operand_bits(0),
        case.operand_bits(1),
        case.operand_bits(2),
    );
    let mut bytes = [0; 8];
    for (at, byte) in bytes.iter_mut().enumerate() {
        *byte = (if at < 4 { a } else { b }) >> (8 * (at % 4)) & 0xff;
    }
    let n = (choice & 3) as usize;
    let mode = case.spelling.modifiers.first().copied().unwrap_or("");
    let of = |index: usize| match mode {
        ".F4E" => bytes[n + index],
        ".B4E" => bytes[(n + 8 - index) % 8],
        ".RC8" => bytes[n],
        ".ECL" => bytes[index.max(n)],
        ".ECR" => bytes[index.min(n)],
        ".RC16" => bytes[(n % 2) * 2 + index % 2],
        _ => {
            let digit = (choice >> (4 * index) & 15) as usize;
            match (digit > 7, bytes[digit % 8]) {
                (true, 128..) => 0xff,
                (true, _) => 0,
                (false, byte) => byte,
            }
        }
    };
    case.write_register(
        (0..4)
            .map(|index| i128::from(of(index)) << (8 * index))
            .sum(),
    )
}

/// Reference of MOV: lanes of a quad outside the mask keep the old value.
fn moved(case: &InstrCase<'_>) -> Option<InstrOutputs> {
    let lanes = case.immediate(1)?;
    let cell = case.register()?;
    let value = match bit(lanes, case.inputs.lane % 4) {
        true => case.operand_bits(0),
        false => case.inputs.registers[cell.index()],
    };
    case.write_register(value.into())
}
