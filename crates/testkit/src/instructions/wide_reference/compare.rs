//! Comparisons, selections and predicates.

use super::syntax::SourceValue;
use super::{WideCase, WideOutputs};

/// Predicates of a lane besides PT.
const PREDICATES: u8 = 7;

fn holds(relation: &str, a: i128, b: i128) -> Option<bool> {
    Some(match relation {
        "F" => false,
        "T" => true,
        "LT" => a < b,
        "LE" => a <= b,
        "GT" => a > b,
        "GE" => a >= b,
        "EQ" => a == b,
        "NE" => a != b,
        _ => return None,
    })
}

/// ISETP. With `.EX` the operands are high words, and a predicate is the truth of the relation for the low ones: the result
/// is the relation of whole numbers, for any low parts with this truth.
pub(super) fn set_predicates(case: &WideCase<'_>) -> Option<WideOutputs> {
    let (&relation, rest) = case.instr.modifiers.split_first()?;
    let mut rest: &[&str] = rest;
    let (mut bits, mut signed) = (32, true);
    if let [kind @ ("U32" | "U64" | "S64"), others @ ..] = rest {
        (bits, signed) = (if *kind == "U32" { 32 } else { 64 }, *kind == "S64");
        rest = others;
    }
    let (combine, extends) = match rest {
        [combine] => (*combine, false),
        [combine, "EX"] => (*combine, true),
        _ => return None,
    };
    let (mut a, mut b) = (case.number(0, bits, signed)?, case.number(1, bits, signed)?);
    if extends {
        let low = case.predicate(3)?;
        let parts = [(0, 0), (0, 1), (1, 0)];
        let mut parts = parts.into_iter();
        let (x, y) = parts.find(|&(x, y)| holds(relation, x, y) == Some(low))?;
        (a, b) = (2 * a + x, 2 * b + y);
    }
    let truth = holds(relation, a, b)?;
    let third = case.predicate(2)?;
    let combined = |truth: bool| {
        Some(match combine {
            "AND" => truth && third,
            "OR" => truth || third,
            "XOR" => truth != third,
            _ => return None,
        })
    };
    let mut out = WideOutputs::new();
    case.write_predicates(&[combined(truth)?, combined(!truth)?], &mut out);
    Some(out)
}

/// PLOP3: the bit of each table whose number the three predicates form.
pub(super) fn predicate_look_up(case: &WideCase<'_>) -> Option<WideOutputs> {
    case.knows_only(&["LUT"])?;
    let mut number = 0;
    for index in 0..3 {
        number = 2 * number + u32::from(case.predicate(index)?);
    }
    let of = |index| Some(case.immediate(index)? >> number & 1 == 1);
    let mut out = WideOutputs::new();
    case.write_predicates(&[of(3)?, of(4)?], &mut out);
    Some(out)
}

/// SEL.
pub(super) fn select(case: &WideCase<'_>) -> Option<WideOutputs> {
    case.knows_only(&["64"])?;
    let bits = if case.has("64") { 64 } else { 32 };
    let chosen = if case.predicate(2)? { 0 } else { 1 };
    case.write_only(case.value(chosen, bits)?, bits)
}

/// P2R: the bits of the mask come from the predicates, and all others from the register.
pub(super) fn predicates_to_register(case: &WideCase<'_>) -> Option<WideOutputs> {
    case.knows_only(&[])?;
    let SourceValue::AllPredicates = case.operand(0)?.value else {
        return None;
    };
    let (old, mask) = (case.word(1)?, case.immediate(2)?);
    let mut result = 0;
    for at in 0..32u8 {
        let of_register = old >> at & 1 == 1;
        let is_set = match (mask >> at & 1 == 1, at < PREDICATES) {
            (false, _) => of_register,
            (true, true) => case.inputs.predicates[usize::from(at)],
            (true, false) => return None,
        };
        result += i128::from(is_set) << at;
    }
    case.write_only(result, 32)
}

/// R2P: the predicates of the mask become the bits of a byte of the register.
pub(super) fn register_to_predicates(case: &WideCase<'_>) -> Option<WideOutputs> {
    case.knows_only(&[])?;
    let byte = match case.operand(0)?.suffix {
        "" | "B0" => 0,
        "B1" => 1,
        "B2" => 2,
        "B3" => 3,
        _ => return None,
    };
    let (bits, mask) = (case.word(0)?.to_le_bytes()[byte], case.immediate(1)?);
    let selected = (0..PREDICATES).filter(|at| mask >> at & 1 == 1);
    let writes = selected.map(|at| (warpbound_ir::Cell::pred(at), u32::from(bits >> at & 1)));
    Some(writes.collect())
}
