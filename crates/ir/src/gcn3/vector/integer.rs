//! Integer instructions with a result of one word or two, in each lane. For example, `v_lshlrev_b32 v0, 3, v1` shifts
//! v1 by 3, because the first source is the amount.

mod bytes;
mod halves;

use warpbound_isa::SpecialReg;
use warpbound_isa::amd::{GcnOpcode, GcnView};

use crate::gcn3::expressions::*;
use crate::gcn3::operands::Operands;
use crate::{Expr, Meaning, TernaryOp, UnaryOp};
use GcnOpcode as Op;

/// Returns the meaning; `None` if it is unknown or not an integer instruction.
pub(super) fn meaning(view: &GcnView, o: &Operands<'_>) -> Option<Meaning> {
    let opcode = view.opcode;
    match opcode {
        Op::VNop | Op::VClrexcp => return Some(Meaning::nothing()),
        Op::VCndmaskB32 => return choice(view, o),
        _ => {}
    }
    // Before the test for modifiers, because sums of halves support `clamp`.
    if let Some(value) = halves::word(view, o) {
        return o.set([value], []);
    }
    if !o.is_plain() {
        return None;
    }
    if let Some(words) = shift64(opcode, o) {
        return o.set(words, []);
    }
    if let Some(words) = bytes::at_four_places(opcode, o) {
        return o.set(words, []);
    }
    let value = one_source(opcode, o)
        .or_else(|| two_sources(opcode, o))
        .or_else(|| products(opcode, o))
        .or_else(|| three_sources(opcode, o))
        .or_else(|| bytes::word(opcode, o))?;
    o.set([value], [])
}

/// v_cndmask_b32: the second source in lanes of the mask, else the first. Negation and absolute value act as on
/// singles.
fn choice(view: &GcnView, o: &Operands<'_>) -> Option<Meaning> {
    const SIGN: u32 = 1 << 31;
    if view.modifiers.clamp || view.modifiers.omod != 0 {
        return None;
    }
    let word = |index| {
        let (operand, word) = (o.source(index)?, o.word(index, 0)?);
        let word = match operand.abs {
            true => and(word, constant(!SIGN)),
            false => word,
        };
        Some(match operand.neg {
            true => xor(word, constant(SIGN)),
            false => word,
        })
    };
    o.set([select(o.mask_bit(2)?, word(1)?, word(0)?)], [])
}

/// Instructions with one source.
fn one_source(opcode: GcnOpcode, o: &Operands<'_>) -> Option<Expr> {
    let a = o.word(0, 0)?;
    Some(match opcode {
        Op::VMovB32 => a,
        Op::VNotB32 => not(a),
        Op::VBfrevB32 => unary(UnaryOp::Reverse, a),
        Op::VFfbhU32 => leading_zeros(a),
        Op::VFfblB32 => lowest_one(a),
        Op::VFfbhI32 => leading_signs(a),
        _ => return None,
    })
}

/// Instructions with two sources, other than products.
fn two_sources(opcode: GcnOpcode, o: &Operands<'_>) -> Option<Expr> {
    let [a, b] = [o.word(0, 0)?, o.word(1, 0)?];
    let ones_of = |a| unary(UnaryOp::Popc, a);
    Some(match opcode {
        Op::VAndB32 => and(a, b),
        Op::VOrB32 => or(a, b),
        Op::VXorB32 => xor(a, b),
        Op::VMinI32 => min_s(a, b),
        Op::VMaxI32 => max_s(a, b),
        Op::VMinU32 => min_u(a, b),
        Op::VMaxU32 => max_u(a, b),
        // The first source is the amount, modulo 32.
        Op::VLshlrevB32 => shl(b, low_bits(a, 5)),
        Op::VLshrrevB32 => shr(b, low_bits(a, 5)),
        Op::VAshrrevI32 => sar(b, low_bits(a, 5)),
        Op::VBfmB32 => shl(ones(low_bits(a, 5)), low_bits(b, 5)),
        Op::VBcntU32B32 => add(ones_of(a), b),
        Op::VMbcntLoU32B32 => {
            // Lanes 32 and above have all lanes of the low word below them.
            let [below, _] = lanes_below();
            add(counted(a, below, min_u(own_lane(), constant(32))), b)
        }
        Op::VMbcntHiU32B32 => {
            let [_, below] = lanes_below();
            let all = sub(max_u(own_lane(), constant(32)), constant(32));
            add(counted(a, below, all), b)
        }
        Op::VCvtPkU16U32 => packed(min_u(a, constant(0xffff)), min_u(b, constant(0xffff))),
        Op::VCvtPkI16I32 => {
            let limited = |a| min_s(max_s(a, constant(-0x8000i32 as u32)), constant(0x7fff));
            packed(limited(a), limited(b))
        }
        _ => return None,
    })
}

fn own_lane() -> Expr {
    Expr::Special(SpecialReg::LaneId)
}

/// Mask of the lanes below the own one.
fn lanes_below() -> WordPair {
    ones64(own_lane())
}

/// Number of lanes that are in both words of masks; `all` is the number of lanes of the second one.
fn counted(mask: Expr, below: Expr, all: Expr) -> Expr {
    match mask {
        // Compilers compute the lane number with a mask of all ones: the result is then a sum that analyses
        // understand.
        Expr::Const(u32::MAX) => all,
        mask => unary(UnaryOp::Popc, and(mask, below)),
    }
}

/// Word of two halves.
pub(super) fn packed(low: Expr, high: Expr) -> Expr {
    or(low_bits(low, 16), shl(high, constant(16)))
}

/// Products of words and of numbers of 24 bits.
fn products(opcode: GcnOpcode, o: &Operands<'_>) -> Option<Expr> {
    let [a, b] = [o.word(0, 0)?, o.word(1, 0)?];
    let signed = |a| sar(shl(a, constant(8)), constant(8));
    let unsigned = |a| low_bits(a, 24);
    Some(match opcode {
        Op::VMulLoU32 => mul(a, b),
        Op::VMulHiU32 => mul_high_u(a, b),
        Op::VMulHiI32 => mul_high_s(a, b),
        Op::VMulI32I24 => mul(signed(a), signed(b)),
        Op::VMulHiI32I24 => mul_high_s(signed(a), signed(b)),
        Op::VMulU32U24 => mul(unsigned(a), unsigned(b)),
        Op::VMulHiU32U24 => mul_high_u(unsigned(a), unsigned(b)),
        Op::VMadI32I24 => add(mul(signed(a), signed(b)), o.word(2, 0)?),
        Op::VMadU32U24 => add(mul(unsigned(a), unsigned(b)), o.word(2, 0)?),
        _ => return None,
    })
}

/// Instructions with three sources, other than products.
fn three_sources(opcode: GcnOpcode, o: &Operands<'_>) -> Option<Expr> {
    let [a, b, c] = [o.word(0, 0)?, o.word(1, 0)?, o.word(2, 0)?];
    let shifted = |by| ternary(TernaryOp::FunnelRight, b.clone(), a.clone(), by);
    // The median is the third number, limited to the range between the two others.
    let median = |min: fn(Expr, Expr) -> Expr, max: fn(Expr, Expr) -> Expr| {
        let (least, greatest) = (min(a.clone(), b.clone()), max(a.clone(), b.clone()));
        max(least, min(greatest, c.clone()))
    };
    Some(match opcode {
        Op::VBfeU32 => bit_field(a, low_bits(b, 5), low_bits(c, 5), false),
        Op::VBfeI32 => bit_field(a, low_bits(b, 5), low_bits(c, 5), true),
        // Bits of the second source where the first has ones, else bits of the third.
        Op::VBfiB32 => ternary(TernaryOp::Lut(0b1100_1010), a, b, c),
        Op::VAlignbitB32 => shifted(low_bits(c, 5)),
        // Manuals differ on the bits of the amount: two, or five.
        Op::VAlignbyteB32 => match c {
            Expr::Const(bytes @ 0..=3) => shifted(constant(8 * bytes)),
            _ => return None,
        },
        Op::VMin3I32 => min_s(min_s(a, b), c),
        Op::VMin3U32 => min_u(min_u(a, b), c),
        Op::VMax3I32 => max_s(max_s(a, b), c),
        Op::VMax3U32 => max_u(max_u(a, b), c),
        Op::VMed3I32 => median(min_s, max_s),
        Op::VMed3U32 => median(min_u, max_u),
        _ => return None,
    })
}

/// 64-bit shifts by the first source, modulo 64.
fn shift64(opcode: GcnOpcode, o: &Operands<'_>) -> Option<WordPair> {
    let shift = match opcode {
        Op::VLshlrevB64 => shl64,
        Op::VLshrrevB64 => shr64,
        Op::VAshrrevI64 => sar64,
        _ => return None,
    };
    Some(shift(o.pair(1)?, low_bits(o.word(0, 0)?, 6)))
}
