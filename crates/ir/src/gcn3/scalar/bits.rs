//! Scalar instructions with one source (SOP1). For example, `s_and_saveexec_b64 s[0:1], vcc` copies EXEC to `s[0:1]`
//! and then clears the lanes of EXEC that are not in VCC.

use warpbound_isa::amd::GcnOpcode;

use super::arithmetic::{logic, logic64};
use super::{ConditionCode, condition_code, non_zero, set};
use crate::gcn3::expressions::*;
use crate::gcn3::operands::Operands;
use crate::{Cell, Expr, Meaning, UnaryOp};
use ConditionCode::{NoValue, NonZero};
use GcnOpcode as Op;

/// Returns the meaning; `None` if it is unknown.
pub(super) fn meaning(opcode: GcnOpcode, o: &Operands<'_>) -> Option<Meaning> {
    match opcode {
        // The control effect of the operation describes them.
        Op::SSetpcB64 | Op::SSwappcB64 => Some(Meaning::nothing()),
        _ if logic(opcode).is_some() => save_exec(opcode, o),
        _ => moved(opcode, o)
            .or_else(|| searched(opcode, o))
            .or_else(|| word(opcode, o))
            .or_else(|| pair(opcode, o)),
    }
}

/// Saves EXEC and replaces it by an operation of the source and EXEC. SCC is 1 if a lane is active then.
fn save_exec(opcode: GcnOpcode, o: &Operands<'_>) -> Option<Meaning> {
    let (operation, _) = logic(opcode)?;
    let exec = Cell::EXEC_WORDS;
    let active = logic64(operation, o.pair(0)?, exec.map(Expr::Cell));
    let code = non_zero(active.clone());
    let further = exec.into_iter().zip(active);
    o.set(
        exec.map(Expr::Cell),
        further.chain([(condition_code(), code)]),
    )
}

/// Moves, and changes of single bits of the destination, which is the first source.
fn moved(opcode: GcnOpcode, o: &Operands<'_>) -> Option<Meaning> {
    let code = || Expr::Cell(condition_code());
    let bit = || o.word(1, 0);
    match opcode {
        Op::SMovB32 => set(o, [o.word(0, 0)?], NoValue),
        Op::SMovB64 => set(o, o.pair(0)?, NoValue),
        Op::SCmovB32 => set(o, [select(code(), o.word(1, 0)?, o.word(0, 0)?)], NoValue),
        Op::SCmovB64 => {
            let ([old, above_old], [new, above_new]) = (o.pair(0)?, o.pair(1)?);
            let words = [
                select(code(), new, old),
                select(code(), above_new, above_old),
            ];
            set(o, words, NoValue)
        }
        Op::SBitset0B32 | Op::SBitset1B32 => {
            let mask = shl(constant(1), low_bits(bit()?, 5));
            let change = if opcode == Op::SBitset0B32 {
                and_not
            } else {
                or
            };
            set(o, [change(o.word(0, 0)?, mask)], NoValue)
        }
        Op::SBitset0B64 | Op::SBitset1B64 => {
            let mask = shl64([constant(1), constant(0)], low_bits(bit()?, 6));
            let change = if opcode == Op::SBitset0B64 {
                and_not
            } else {
                or
            };
            set(o, logic64(change, o.pair(0)?, mask), NoValue)
        }
        _ => None,
    }
}

/// Searches for a bit; all ones if there is none.
fn searched(opcode: GcnOpcode, o: &Operands<'_>) -> Option<Meaning> {
    let word = || o.word(0, 0);
    let pair = || o.pair(0);
    let found = match opcode {
        Op::SFf0I32B32 => lowest_one(not(word()?)),
        Op::SFf0I32B64 => lowest_one64(pair()?.map(not), NONE),
        Op::SFf1I32B32 => lowest_one(word()?),
        Op::SFf1I32B64 => lowest_one64(pair()?, NONE),
        Op::SFlbitI32B32 => leading_zeros(word()?),
        Op::SFlbitI32B64 => leading_zeros64(pair()?),
        Op::SFlbitI32 => leading_signs(word()?),
        Op::SFlbitI32I64 => {
            let [low, high] = pair()?;
            // The exclusive or turns copies of the sign into leading zeros.
            let sign = sar(high.clone(), constant(31));
            leading_zeros64([xor(low, sign.clone()), xor(high, sign)])
        }
        _ => return None,
    };
    set(o, [found], NoValue)
}

/// Functions of one word.
fn word(opcode: GcnOpcode, o: &Operands<'_>) -> Option<Meaning> {
    let a = o.word(0, 0)?;
    let ones = |a| unary(UnaryOp::Popc, a);
    let (value, code) = match opcode {
        Op::SNotB32 => (not(a), NonZero),
        Op::SBrevB32 => (unary(UnaryOp::Reverse, a), NoValue),
        Op::SSextI32I8 => (unary(UnaryOp::SignExtend8, a), NoValue),
        Op::SSextI32I16 => (unary(UnaryOp::SignExtend16, a), NoValue),
        Op::SAbsI32 => (unary(UnaryOp::AbsS, a), NonZero),
        Op::SBcnt0I32B32 => (ones(not(a)), NonZero),
        Op::SBcnt1I32B32 => (ones(a), NonZero),
        // The result is 0 exactly if the source is 0, which makes a simpler expression.
        Op::SWqmB32 => (whole_quads(a.clone()), ConditionCode::Is(non_zero([a]))),
        Op::SQuadmaskB32 => (quads(a.clone()), ConditionCode::Is(non_zero([a]))),
        _ => return None,
    };
    set(o, [value], code)
}

/// Functions of two words.
fn pair(opcode: GcnOpcode, o: &Operands<'_>) -> Option<Meaning> {
    let [low, high] = o.pair(0)?;
    let ones = |low, high| add(unary(UnaryOp::Popc, low), unary(UnaryOp::Popc, high));
    let code = ConditionCode::Is(non_zero([low.clone(), high.clone()]));
    match opcode {
        Op::SNotB64 => set(o, [not(low), not(high)], NonZero),
        Op::SBrevB64 => {
            // Reversing 64 bits also exchanges the words.
            let reverse = |a| unary(UnaryOp::Reverse, a);
            set(o, [reverse(high), reverse(low)], NoValue)
        }
        Op::SBcnt0I32B64 => set(o, [ones(not(low), not(high))], NonZero),
        Op::SBcnt1I32B64 => set(o, [ones(low, high)], NonZero),
        Op::SWqmB64 => set(o, [whole_quads(low), whole_quads(high)], code),
        Op::SQuadmaskB64 => {
            let mask = or(quads(low), shl(quads(high), constant(8)));
            set(o, [mask, constant(0)], code)
        }
        _ => None,
    }
}

/// Lowest bit of each group of four bits: whether one of them is set.
fn any_in_quads(a: Expr) -> Expr {
    let shifted = |by| shr(a.clone(), constant(by));
    let any = or(or(a.clone(), shifted(1)), or(shifted(2), shifted(3)));
    and(any, constant(0x1111_1111))
}

/// All four bits of each group of four with at least one bit set.
fn whole_quads(a: Expr) -> Expr {
    // The bits are four apart, so the products by 15 do not overlap.
    mul(any_in_quads(a), constant(15))
}

/// One bit for each group of four bits: whether one of them is set.
fn quads(a: Expr) -> Expr {
    let bits = any_in_quads(a);
    // Bits 4n move to bits n in three steps; each step halves the number of groups.
    let steps = [(3, 0x0303_0303), (6, 0x000f_000f), (12, 0xff)];
    steps.into_iter().fold(bits, |bits, (by, mask)| {
        and(or(bits.clone(), shr(bits, constant(by))), constant(mask))
    })
}
