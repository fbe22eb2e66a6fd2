//! Sums and differences with a carry in each lane, 64-bit products and sums. For example, `v_add_u32 v0, vcc, v1, v2`
//! writes the sums to v0 and a mask of the lanes with a carry to VCC.

use warpbound_isa::amd::{GcnOpcode, GcnView};

use crate::gcn3::expressions::*;
use crate::gcn3::operands::Operands;
use crate::{Cell, Expr, Meaning, WordHalf};
use GcnOpcode as Op;

/// Returns the meaning; `None` if it is unknown or the instruction is another one.
pub(super) fn meaning(view: &GcnView, o: &Operands<'_>) -> Option<Meaning> {
    if view.modifiers.omod != 0 || !o.has_plain_sources() {
        return None;
    }
    match view.opcode {
        Op::VMadU64U32 | Op::VMadI64I32 if !view.modifiers.clamp => product(view.opcode, o),
        Op::VAddU32 | Op::VAddcU32 => {
            let [a, b, c] = terms(view.opcode, o)?;
            let sum = add(add(a.clone(), b.clone()), c.clone());
            with_carry(view, o, sum, carry(a, b, c), constant(u32::MAX))
        }
        Op::VSubU32 | Op::VSubrevU32 | Op::VSubbU32 | Op::VSubbrevU32 => {
            let [a, b, c] = terms(view.opcode, o)?;
            let difference = sub(sub(a.clone(), b.clone()), c.clone());
            let borrowed = match c {
                // Without a borrow in, a comparison gives a simpler expression.
                Expr::Const(0) => lt_u(a, b),
                c => borrow(a, b, c),
            };
            with_carry(view, o, difference, borrowed, constant(0))
        }
        _ => None,
    }
}

/// Terms of a sum or difference, the carry last.
fn terms(opcode: GcnOpcode, o: &Operands<'_>) -> Option<[Expr; 3]> {
    let [a, b] = [o.word(0, 0)?, o.word(1, 0)?];
    let [a, b] = match opcode {
        Op::VSubrevU32 | Op::VSubbrevU32 => [b, a],
        _ => [a, b],
    };
    let c = match opcode {
        Op::VAddcU32 | Op::VSubbU32 | Op::VSubbrevU32 => o.mask_bit(2)?,
        _ => constant(0),
    };
    Some([a, b, c])
}

/// Result and mask of carries. With clamp, the result is `limit` if there is a carry. It is not documented whether
/// the mask then has the carry, so it is written without a value.
fn with_carry(
    view: &GcnView,
    o: &Operands<'_>,
    result: Expr,
    carried: Expr,
    limit: Expr,
) -> Option<Meaning> {
    match view.modifiers.clamp {
        // Documents do not cover parts of clamped results.
        true if view.modifiers.sdwa.is_some() => None,
        true => o.set([select(carried, limit, result)], []),
        false => o.set([result], mask(o, carried)?),
    }
}

/// Mask of the lanes whose condition holds, in the second destination.
fn mask(o: &Operands<'_>, holds: Expr) -> Option<[(Cell, Expr); 2]> {
    let words = [WordHalf::Low, WordHalf::High];
    let [low, high] = words.map(|half| Expr::Ballot(holds.clone().into(), half));
    Some([(o.dest_cell(1, 0)?, low), (o.dest_cell(1, 1)?, high)])
}

/// v_mad_u64_u32, v_mad_i64_i32: 64-bit sum of a product and the third source.
fn product(opcode: GcnOpcode, o: &Operands<'_>) -> Option<Meaning> {
    let [a, b] = [o.word(0, 0)?, o.word(1, 0)?];
    let [low, high] = o.pair(2)?;
    let is_signed = opcode == Op::VMadI64I32;
    let above = match is_signed {
        true => mul_high_s(a.clone(), b.clone()),
        false => mul_high_u(a.clone(), b.clone()),
    };
    let below = mul(a, b);
    let carried = carry(below.clone(), low.clone(), constant(0));
    let sum = [
        add(below, low),
        add(add(above.clone(), high.clone()), carried.clone()),
    ];
    // Manuals do not define the carry of a signed sum.
    match is_signed {
        true => o.set(sum, []),
        false => o.set(sum, mask(o, carry(above, high, carried))?),
    }
}
