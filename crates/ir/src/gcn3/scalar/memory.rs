//! Scalar memory (SMEM): the wave loads the same words for all lanes. For example, `s_load_dwordx2 s[0:1], s[4:5],
//! 0x10` loads the 64-bit argument at offset 16 if `s[4:5]` holds the address of the arguments.

use warpbound_isa::SpecialReg;
use warpbound_isa::amd::{GcnOpcode, GcnValue, GcnView};
use warpbound_isa::instr::MemorySpace;

use crate::gcn3::expressions::{add, carry, constant};
use crate::gcn3::operands::Operands;
use crate::{Address, Cell, Expr, Meaning, Width};
use GcnOpcode as Op;

/// Returns the meaning; `None` if it is unknown: stores, loads from buffers, whose descriptor limits the offset, and
/// the clock of the whole device.
pub(super) fn meaning(view: &GcnView, o: &Operands<'_>) -> Option<Meaning> {
    match view.opcode {
        Op::SLoadDword
        | Op::SLoadDwordx2
        | Op::SLoadDwordx4
        | Op::SLoadDwordx8
        | Op::SLoadDwordx16 => load(o),
        // The clock of the compute unit.
        Op::SMemtime => o.set(
            [SpecialReg::ClockLow, SpecialReg::ClockHigh].map(Expr::Special),
            [],
        ),
        Op::SDcacheInv
        | Op::SDcacheWb
        | Op::SDcacheInvVol
        | Op::SDcacheWbVol
        | Op::SAtcProbe
        | Op::SAtcProbeBuffer => Some(Meaning::nothing()),
        _ => None,
    }
}

/// Load of words. The two lowest bits of the address are ignored (GCN3 manual, "Scalar memory reads").
fn load(o: &Operands<'_>) -> Option<Meaning> {
    let [low, high] = o.pair(0)?;
    let offset = match o.source(1)?.value {
        GcnValue::Immediate(bytes) => constant(bytes),
        _ => o.word(1, 0)?,
    };
    let words = 0..o.dest(0)?.dwords;
    let dests: Option<Vec<Option<Cell>>> = words
        .map(|word| Some(Some(o.dest_cell(0, word)?)))
        .collect();
    let address = match offset {
        Expr::Const(0) => [low, high],
        offset => {
            // The offset is unsigned, so only a carry reaches the high word.
            let above = carry(low.clone(), offset.clone(), constant(0));
            [add(low, offset), add(high, above)]
        }
    };
    let [low, high] = address;
    Some(Meaning::Load {
        dests: dests?.into(),
        width: Width::Words,
        space: MemorySpace::Global,
        address: Address {
            low,
            high: Some(high),
            buffer: None,
            second_half: None,
        },
    })
}
