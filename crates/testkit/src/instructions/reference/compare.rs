//! Reference of comparisons, predicate logic and condition-code tests.

use std::cmp::Ordering;

use warpbound_ir::Cell;
use warpbound_isa::OperandValue;

use super::{InstrCase, InstrOutputs, bit_field};

pub(super) fn outputs(case: &InstrCase<'_>) -> Option<InstrOutputs> {
    match case.spelling.mnemonic {
        "ISET" => mask(case, combined(case, 0, compared(case)?, case.predicate(2))?),
        "ISETP" => pair(case, compared(case)?, case.predicate(2)),
        "ICMP" => {
            let order = bit_field(case.operand_bits(2), 0, 32, !case.has(".U32")).cmp(&0);
            let first = holds(case.spelling.modifiers.first()?, order)?;
            case.write_register(case.operand_bits(if first { 0 } else { 1 }).into())
        }
        "PSET" | "PSETP" => {
            let first = combined(case, 1, case.predicate(0), case.predicate(1))?;
            match case.spelling.mnemonic {
                "PSETP" => pair(case, first, case.predicate(2)),
                _ => mask(case, combined(case, 0, first, case.predicate(2))?),
            }
        }
        "CSET" => mask(case, combined(case, 0, tested(case)?, case.predicate(0))?),
        "CSETP" => pair(case, tested(case)?, case.predicate(0)),
        "P2R" => to_register(case),
        "R2P" => from_register(case),
        _ => None,
    }
}

/// Whether a comparison, by its modifier, holds for an order; `None` for another modifier.
pub(super) fn holds(comparison: &str, order: Ordering) -> Option<bool> {
    let orders = match comparison {
        ".F" => "",
        ".LT" => "<",
        ".EQ" => "=",
        ".LE" => "<=",
        ".GT" => ">",
        ".NE" => "<>",
        ".GE" => ">=",
        ".T" => "<=>",
        _ => return None,
    };
    let sign = match order {
        Ordering::Less => '<',
        Ordering::Equal => '=',
        Ordering::Greater => '>',
    };
    Some(orders.contains(sign))
}

fn compared(case: &InstrCase<'_>) -> Option<bool> {
    let comparisons = [".F", ".LT", ".EQ", ".LE", ".GT", ".NE", ".GE", ".T"];
    let mut modifiers = case.spelling.modifiers.iter();
    let comparison = *modifiers.find(|text| comparisons.contains(text))?;
    let [a, b] = [0, 1].map(|index| bit_field(case.operand_bits(index), 0, 32, !case.has(".U32")));
    if !case.has(".X") {
        return holds(comparison, a.cmp(&b));
    }
    // Flags of the lower words: carry if the first is not less, zero if both are equal.
    let difference = a - b - i128::from(!case.carry());
    let same = difference as u32 == 0 && case.zero();
    let less = difference < 0;
    Some(match comparison {
        ".F" => false,
        ".T" => true,
        ".LT" => less,
        ".EQ" => same,
        ".LE" => less || same,
        ".GT" => !(less || same),
        ".NE" => !same,
        _ => !less,
    })
}

/// Combines two truth values by the logic modifier at an index from the end.
fn combined(case: &InstrCase<'_>, from_end: usize, a: bool, b: bool) -> Option<bool> {
    match *case.spelling.modifiers.iter().rev().nth(from_end)? {
        ".AND" => Some(a && b),
        ".OR" => Some(a || b),
        ".XOR" => Some(a != b),
        _ => None,
    }
}

/// Writes a truth value as all ones, or 1.0 with `.BF`, and its flags to the condition code.
fn mask(case: &InstrCase<'_>, truth: bool) -> Option<InstrOutputs> {
    let value = match (truth, case.has(".BF")) {
        (false, _) => 0,
        (true, true) => 0x3f80_0000,
        (true, false) => u32::MAX,
    };
    Some(case.write_bits(value, false))
}

pub(super) fn pair(case: &InstrCase<'_>, truth: bool, third: bool) -> Option<InstrOutputs> {
    let values = [
        combined(case, 0, truth, third)?,
        combined(case, 0, !truth, third)?,
    ];
    let cells = case.written_predicates().into_iter().zip(values);
    let cells = cells.filter_map(|(cell, value)| Some((cell?, value.into())));
    Some(cells.collect())
}

/// Test of the condition code, case by case. Sign and zero together encode "unordered" of floats.
fn tested(case: &InstrCase<'_>) -> Option<bool> {
    let [zero, sign, carry, overflow] = [0, 1, 2, 3].map(|index| case.flag(index));
    let others = [".BF", ".AND", ".OR", ".XOR"];
    let mut modifiers = case.spelling.modifiers.iter();
    let name = *modifiers.find(|text| !others.contains(text))?;
    let unordered = zero && sign;
    Some(match name {
        ".F" => false,
        ".T" => true,
        ".EQ" => zero && !unordered,
        ".NE" => !zero,
        ".EQU" => zero,
        ".NEU" => !zero || unordered,
        ".NUM" => !unordered,
        ".NAN" => unordered,
        ".LT" => (sign && !unordered) != overflow,
        ".LTU" => sign != overflow,
        ".GE" => sign == overflow,
        ".LE" => (overflow || zero) != sign,
        ".LEU" => zero || sign != overflow,
        ".GT" => !zero && sign == overflow,
        ".GTU" => (overflow || zero) == sign,
        ".GEU" => match overflow {
            true => sign && !zero,
            false => !sign || zero,
        },
        ".OFF" => !overflow,
        ".OFT" => overflow,
        ".SFF" => !sign,
        ".SFT" => sign,
        ".LO" => !carry,
        ".HS" => carry,
        ".LS" => !carry || zero,
        ".HI" => carry && !zero,
        ".RLE" => sign || zero,
        ".RGT" => !sign && !zero,
        _ => return None,
    })
}

fn byte(text: &str) -> u32 {
    match text {
        ".B1" => 8,
        ".B2" => 16,
        ".B3" => 24,
        _ => 0,
    }
}

fn to_register(case: &InstrCase<'_>) -> Option<InstrOutputs> {
    let from = byte(case.spelling.modifiers.first().copied().unwrap_or(""));
    let of_flags = case.reads[0].value == OperandValue::ConditionCode;
    let (value, mask) = (case.operand_bits(1), case.immediate(2)?);
    let new = (0..32).map(|at| {
        let inside = at >= from && mask >> (at - from) & 1 == 1;
        let bit = match (inside, of_flags) {
            (false, _) => value >> at & 1 == 1,
            (true, true) => case.flag(at - from),
            (true, false) => case.inputs.predicates[(at - from) as usize],
        };
        u32::from(bit) << at
    });
    case.write_register(new.sum::<u32>().into())
}

fn from_register(case: &InstrCase<'_>) -> Option<InstrOutputs> {
    let from = byte(case.select(0));
    let (value, mask) = (case.operand_bits(0), case.operand_bits(1));
    let named = |n: u32| mask >> n & 1 == 1;
    let new = |n: u32| value >> (from + n) & 1 == 1;
    if case.writes[0].value == OperandValue::ConditionCode {
        let flags = (0..4).map(|n| u32::from(if named(n) { new(n) } else { case.flag(n) }) << n);
        return Some(vec![(Cell::CC, flags.sum())]);
    }
    let all = (0..7u32).filter(|&n| named(n) || case.immediate(1).is_none());
    let value = |n: u32| match named(n) {
        true => new(n),
        false => case.inputs.predicates[n as usize],
    };
    Some(
        all.map(|n| (Cell::pred(n as u8), value(n).into()))
            .collect(),
    )
}
