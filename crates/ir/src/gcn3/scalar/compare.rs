//! Scalar comparisons (SOPC) and instructions with a constant of 16 bits (SOPK). For example, `s_cmpk_lt_i32 s0,
//! 0xffff` compares s0 with -1, and `s_cmpk_lt_u32` with 65535.

use warpbound_isa::Reg;
use warpbound_isa::amd::GcnOpcode;

use super::arithmetic::sum_overflows;
use super::{ConditionCode, condition_code, set};
use crate::gcn3::expressions::*;
use crate::gcn3::operands::Operands;
use crate::{Cell, Expr, Meaning};
use GcnOpcode as Op;

/// Returns the meaning of a comparison; `None` if it is unknown.
pub(super) fn meaning(opcode: GcnOpcode, o: &Operands<'_>) -> Option<Meaning> {
    let bit = |count| Some(low_bits(o.word(1, 0)?, count));
    let holds = match opcode {
        Op::SBitcmp0B32 => eq(tested([o.word(0, 0)?, constant(0)], bit(5)?), constant(0)),
        Op::SBitcmp1B32 => tested([o.word(0, 0)?, constant(0)], bit(5)?),
        Op::SBitcmp0B64 => eq(tested(o.pair(0)?, bit(6)?), constant(0)),
        Op::SBitcmp1B64 => tested(o.pair(0)?, bit(6)?),
        Op::SCmpEqU64 => eq64(o.pair(0)?, o.pair(1)?),
        Op::SCmpLgU64 => eq(eq64(o.pair(0)?, o.pair(1)?), constant(0)),
        _ => relation(opcode)?(o.word(0, 0)?, o.word(1, 0)?),
    };
    Some(Meaning::set(condition_code(), holds))
}

/// Bit of a pair.
fn tested(words: WordPair, bit: Expr) -> Expr {
    let [low, _] = shr64(words, bit);
    low_bits(low, 1)
}

/// Relation of two words that a comparison tests.
fn relation(opcode: GcnOpcode) -> Option<fn(Expr, Expr) -> Expr> {
    Some(match opcode {
        Op::SCmpEqI32 | Op::SCmpEqU32 | Op::SCmpkEqI32 | Op::SCmpkEqU32 => eq,
        Op::SCmpLgI32 | Op::SCmpLgU32 | Op::SCmpkLgI32 | Op::SCmpkLgU32 => ne,
        Op::SCmpGtI32 | Op::SCmpkGtI32 => |a, b| lt_s(b, a),
        Op::SCmpGeI32 | Op::SCmpkGeI32 => |a, b| le_s(b, a),
        Op::SCmpLtI32 | Op::SCmpkLtI32 => lt_s,
        Op::SCmpLeI32 | Op::SCmpkLeI32 => le_s,
        Op::SCmpGtU32 | Op::SCmpkGtU32 => |a, b| lt_u(b, a),
        Op::SCmpGeU32 | Op::SCmpkGeU32 => |a, b| le_u(b, a),
        Op::SCmpLtU32 | Op::SCmpkLtU32 => lt_u,
        Op::SCmpLeU32 | Op::SCmpkLeU32 => le_u,
        _ => return None,
    })
}

/// Returns the meaning of an instruction with a constant of 16 bits; `None` if it is unknown.
pub(super) fn with_constant(opcode: GcnOpcode, o: &Operands<'_>) -> Option<Meaning> {
    let signed = |index| Some(constant(o.immediate(index)? as u16 as i16 as u32));
    let code = || Expr::Cell(condition_code());
    let none = ConditionCode::NoValue;
    match opcode {
        Op::SMovkI32 => set(o, [signed(0)?], none),
        Op::SCmovkI32 => set(o, [select(code(), signed(1)?, o.word(0, 0)?)], none),
        Op::SAddkI32 => {
            let [a, b] = [o.word(0, 0)?, signed(1)?];
            let overflow = sum_overflows(a.clone(), b.clone());
            set(o, [add(a, b)], ConditionCode::Is(overflow))
        }
        // Sources differ on whether it writes SCC, so SCC is written without a value.
        Op::SMulkI32 => set(o, [mul(o.word(0, 0)?, signed(1)?)], none),
        Op::SSetregB32 => set_mode(o, o.word(1, 0)?),
        Op::SSetregImm32B32 => set_mode(o, constant(o.immediate(1)?)),
        _ => {
            // Unsigned comparisons zero-extend the constant.
            let is_unsigned = opcode.name().ends_with("u32");
            let constant = match is_unsigned {
                true => constant(o.immediate(1)? & 0xffff),
                false => signed(1)?,
            };
            let holds = relation(opcode)?(o.word(0, 0)?, constant);
            Some(Meaning::set(condition_code(), holds))
        }
    }
}

/// Bits of a hardware register that an instruction names (GCN3 manual, "S_SETREG_B32").
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct HardwareField {
    register: u32,
    first: u32,
    bits: u32,
}

impl HardwareField {
    /// Number of MODE among the hardware registers.
    const MODE: u32 = 1;
    /// Bits of MODE from here on change the addressing of registers, and whether vector instructions execute.
    const MODE_ADDRESSING: u32 = 27;

    fn of(code: u32) -> HardwareField {
        HardwareField {
            register: code & 63,
            first: code >> 6 & 31,
            bits: (code >> 11 & 31) + 1,
        }
    }

    fn is_mode(self) -> bool {
        self.register == Self::MODE
    }

    fn reaches_addressing(self) -> bool {
        self.first + self.bits > Self::MODE_ADDRESSING
    }
}

/// Whether s_setreg writes bits of MODE that change the addressing of registers by later instructions or whether they
/// execute, or writes another hardware register, whose bits may include SCC or EXEC (STATUS).
pub(super) fn writes_addressing(o: &Operands<'_>) -> bool {
    let field = o.immediate(0).map(HardwareField::of);
    // Without a known field it could be any register.
    field.is_none_or(|field| !field.is_mode() || field.reaches_addressing())
}

/// s_setreg: sets a field of MODE to the lowest bits of a value.
fn set_mode(o: &Operands<'_>, value: Expr) -> Option<Meaning> {
    let field = HardwareField::of(o.immediate(0)?);
    if !field.is_mode() || field.reaches_addressing() {
        return None;
    }
    let mode = Cell::of(Reg::MODE);
    // A field below bit 27 has at most 27 bits, so the shift is in range.
    let mask = (1u32 << field.bits) - 1;
    let kept = and(Expr::Cell(mode), constant(!(mask << field.first)));
    let new = shl(and(value, constant(mask)), constant(field.first));
    Some(Meaning::set(mode, or(kept, new)))
}
