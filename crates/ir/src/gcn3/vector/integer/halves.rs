//! Integers of 16 bits. The high half of the destination becomes 0 (LLVM, zero-extension of results of 16 bits on
//! gfx8). For example, v_add_u16 of 0xffff and 1 is 0, and 0xffff with clamp.

use warpbound_isa::amd::{GcnOpcode, GcnView};

use crate::Expr;
use crate::gcn3::expressions::*;
use crate::gcn3::operands::Operands;
use GcnOpcode as Op;

/// Result; `None` if it is unknown or the instruction is another one.
pub(super) fn word(view: &GcnView, o: &Operands<'_>) -> Option<Expr> {
    let limited = limited(view, o);
    if limited.is_some() || !o.is_plain() {
        return limited;
    }
    let unsigned = |index| o.half(index, false);
    let signed = |index| o.half(index, true);
    let amount = || Some(low_bits(o.half(0, false)?, 4));
    let value = match view.opcode {
        Op::VAddU16 => add(unsigned(0)?, unsigned(1)?),
        Op::VSubU16 => sub(unsigned(0)?, unsigned(1)?),
        Op::VSubrevU16 => sub(unsigned(1)?, unsigned(0)?),
        Op::VMulLoU16 => mul(unsigned(0)?, unsigned(1)?),
        Op::VMadU16 | Op::VMadI16 => {
            let product = mul(unsigned(0)?, unsigned(1)?);
            add(product, unsigned(2)?)
        }
        Op::VLshlrevB16 => shl(unsigned(1)?, amount()?),
        Op::VLshrrevB16 => shr(unsigned(1)?, amount()?),
        Op::VAshrrevI16 => sar(signed(1)?, amount()?),
        Op::VMinU16 => min_u(unsigned(0)?, unsigned(1)?),
        Op::VMaxU16 => max_u(unsigned(0)?, unsigned(1)?),
        Op::VMinI16 => min_s(signed(0)?, signed(1)?),
        Op::VMaxI16 => max_s(signed(0)?, signed(1)?),
        _ => return None,
    };
    Some(low_bits(value, 16))
}

/// Sums and differences that are clamped to 16-bit numbers.
fn limited(view: &GcnView, o: &Operands<'_>) -> Option<Expr> {
    let modifiers = &view.modifiers;
    let is_plain = modifiers.omod == 0 && modifiers.sdwa.is_none() && o.has_plain_sources();
    if !modifiers.clamp || !is_plain {
        return None;
    }
    let [a, b] = [o.half(0, false)?, o.half(1, false)?];
    // At least 0.
    let difference = |a: Expr, b: Expr| sub(max_u(a, b.clone()), b);
    match view.opcode {
        Op::VAddU16 => Some(min_u(add(a, b), constant(0xffff))),
        Op::VSubU16 => Some(difference(a, b)),
        Op::VSubrevU16 => Some(difference(b, a)),
        _ => None,
    }
}
