//! Shifts, look-up tables, permutations, bit fields, moves and constants, mostly bit by bit.

use super::syntax::SourceValue;
use super::{WideCase, WideOutputs, low_bits, part};

fn bit(value: u32, at: u32) -> bool {
    value >> at & 1 == 1
}

/// Word with the bits at which a condition holds.
fn word_of(is_set: impl Fn(u32) -> bool) -> i128 {
    (0..32).map(|at| i128::from(is_set(at)) << at).sum()
}

/// SHF: one word of the shifted number of 64 bits that the first and the third operand form.
pub(super) fn shift(case: &WideCase<'_>) -> Option<WideOutputs> {
    case.knows_only(&["L", "R", "W", "U32", "S32", "U64", "S64", "HI"])?;
    let bits = if case.has("U64") || case.has("S64") {
        64
    } else {
        32
    };
    let signed = case.has("S32") || case.has("S64");
    let amount = case.value(1, 32)?;
    let amount = match case.has("W") {
        true => amount % bits,
        false => amount.min(bits),
    };
    let number = case.value(0, 32)? + (case.value(2, 32)? << 32);
    let shifted = match case.has("L") {
        true => low_bits(number, 64) << amount,
        false => part(number, 0, 64, signed) >> amount,
    };
    case.write_only(shifted >> if case.has("HI") { 32 } else { 0 }, 32)
}

/// LOP3. The predicate says whether the result is not 0, combined with the predicate that is read.
pub(super) fn look_up(case: &WideCase<'_>) -> Option<WideOutputs> {
    case.knows_only(&["LUT", "PAND"])?;
    let (a, b, c) = (case.word(0)?, case.word(1)?, case.word(2)?);
    let table = case.immediate(3)?;
    let value = word_of(|at| {
        let [a, b, c] = [a, b, c].map(|word| u32::from(bit(word, at)));
        bit(table, 4 * a + 2 * b + c)
    });
    let mut out = case.write(value, 32);
    if !case.instr.predicates.is_empty() {
        let other = case.predicate(4)?;
        let truth = match case.has("PAND") {
            true => value != 0 && other,
            false => value != 0 || other,
        };
        case.write_predicates(&[truth], &mut out);
    }
    Some(out)
}

/// POPC.
pub(super) fn population(case: &WideCase<'_>) -> Option<WideOutputs> {
    case.knows_only(&[])?;
    let value = case.word(0)?;
    let ones = (0..32).filter(|&at| bit(value, at)).count();
    case.write_only(ones as i128, 32)
}

/// FLO (PTX manual, `bfind`): with `.SH` the distance from the highest bit.
pub(super) fn find_leading_one(case: &WideCase<'_>) -> Option<WideOutputs> {
    case.knows_only(&["U32", "SH"])?;
    let value = case.word(0)?;
    let other = !case.has("U32") && bit(value, 31);
    let found = (0..32).rev().find(|&at| bit(value, at) != other);
    let place = found.map(|at| if case.has("SH") { 31 - at } else { at });
    case.write_only(place.map_or(-1, i128::from), 32)
}

/// BREV.
pub(super) fn reversed(case: &WideCase<'_>) -> Option<WideOutputs> {
    case.knows_only(&[])?;
    let value = case.word(0)?;
    case.write_only(word_of(|at| bit(value, 31 - at)), 32)
}

/// PRMT (PTX manual, `prmt`). The bytes of the first operand have the numbers 0 to 3, and of the third one 4 to 7.
pub(super) fn permute(case: &WideCase<'_>) -> Option<WideOutputs> {
    let number = case.value(0, 32)? + (case.value(2, 32)? << 32);
    let selector = case.word(1)?;
    let from = selector % 4;
    let mut result = 0;
    for place in 0..4 {
        let (byte, replicates) = match case.instr.modifiers.as_slice() {
            [] => {
                let digit = selector >> (4 * place) & 15;
                (digit % 8, digit >= 8)
            }
            ["F4E"] => (from + place, false),
            ["B4E"] => ((8 + from - place) % 8, false),
            ["RC8"] => (from, false),
            ["ECL"] => (from.max(place), false),
            ["ECR"] => (from.min(place), false),
            ["RC16"] => (2 * (from % 2) + place % 2, false),
            _ => return None,
        };
        let chosen = match (replicates, part(number, 8 * byte, 8, true)) {
            (false, byte) => low_bits(byte, 8),
            (true, byte) if byte < 0 => 255,
            (true, _) => 0,
        };
        result += chosen << (8 * place);
    }
    case.write_only(result, 32)
}

/// SGXT (PTX manual, `szext`).
pub(super) fn extension(case: &WideCase<'_>) -> Option<WideOutputs> {
    case.knows_only(&["U32", "W"])?;
    let count = case.word(1)?;
    let count = if case.has("W") {
        count % 32
    } else {
        count.min(32)
    };
    let value = match count {
        0 => 0,
        count => part(case.value(0, 32)?, 0, count, !case.has("U32")),
    };
    case.write_only(value, 32)
}

/// BMSK (PTX manual, `bmsk`).
pub(super) fn bit_mask(case: &WideCase<'_>) -> Option<WideOutputs> {
    case.knows_only(&["W"])?;
    let of = |index| {
        let number = u64::from(case.word(index)?);
        Some(if case.has("W") { number % 32 } else { number })
    };
    let (position, count) = (of(0)?, of(1)?);
    let is_inside = |at| (position..position + count).contains(&u64::from(at));
    case.write_only(word_of(is_inside), 32)
}

/// MOV. A second operand is a mask of lanes; with all lanes it is a plain move.
pub(super) fn moved(case: &WideCase<'_>) -> Option<WideOutputs> {
    case.knows_only(&["64"])?;
    if case.instr.reads.len() > 1 && case.immediate(1) != Some(15) {
        return None;
    }
    let bits = if case.has("64") { 64 } else { 32 };
    case.write_only(case.value(0, bits)?, bits)
}

/// CS2R of SRZ: two registers become 0, or with `.32` one.
pub(super) fn zeros(case: &WideCase<'_>) -> Option<WideOutputs> {
    case.knows_only(&["32"])?;
    match case.operand(0)?.value {
        SourceValue::SpecialZero => case.write_only(0, if case.has("32") { 32 } else { 64 }),
        _ => None,
    }
}

/// LDC, ULDC and LDCU. Bytes and halves are parts of an aligned word.
pub(super) fn loaded_constant(case: &WideCase<'_>) -> Option<WideOutputs> {
    let SourceValue::Constant { bank, .. } = case.operand(0)?.value else {
        return None;
    };
    let byte = case.constant_byte(0)?;
    let (bits, signed) = match case.instr.modifiers.as_slice() {
        [] => (32, false),
        ["64"] => (64, false),
        ["128"] => (128, false),
        ["U8"] => (8, false),
        ["S8"] => (8, true),
        ["U16"] => (16, false),
        ["S16"] => (16, true),
        _ => return None,
    };
    if bits < 32 {
        let word = i128::from(case.inputs.constant(bank, byte - byte % 4));
        let inside = byte % 4 / (bits / 8) * bits;
        return case.write_only(part(word, inside, bits, signed), 32);
    }
    let mut out = WideOutputs::new();
    let Some(first) = case.instr.register else {
        return Some(out);
    };
    for number in 0..bits / 32 {
        let word = case.inputs.constant(bank, byte.wrapping_add(4 * number));
        out.push((first.after(number as u8).cell(), word));
    }
    Some(out)
}
