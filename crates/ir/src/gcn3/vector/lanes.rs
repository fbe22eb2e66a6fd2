//! Exchange of lanes: DPP, reads and writes of single lanes. For example, `row_shr:1` gives each lane of a row of 16
//! the value of the lane below; the first lane of the row has no valid source.

use warpbound_isa::SpecialReg;
use warpbound_isa::amd::{Dpp, GcnOpcode, GcnView};

use crate::gcn3::expressions::{
    WordPair, add, and, constant, eq, field, le_u, low_bits, lowest_one64, lt_u, or, select, shl,
    shr, sub, xor,
};
use crate::gcn3::operands::{Operands, register};
use crate::{Cell, Expr, Meaning};

/// Lanes of a row.
const ROW: u32 = 16;
/// Last lane.
const LAST: u32 = 63;

fn own_lane() -> Expr {
    Expr::Special(SpecialReg::LaneId)
}

/// Position of the own lane in its row.
fn position() -> Expr {
    low_bits(own_lane(), 4)
}

/// First lane of the own row.
fn row_start() -> Expr {
    and(own_lane(), constant(0x30))
}

/// Exchange of lanes by DPP: the source of each lane's value, and the lanes that are written.
#[derive(Debug)]
pub(in crate::gcn3) struct Exchange {
    /// Source lane; any number if it is out of bounds.
    lane: Expr,
    /// Whether the source lane exists and is active.
    valid: Expr,
    dpp: Dpp,
}

impl Exchange {
    /// Exchange with modifiers; `None` if GCN3 does not define the control (GCN3 manual, "DPP").
    pub(in crate::gcn3) fn of(dpp: &Dpp) -> Option<Exchange> {
        let (lane, in_bounds) = source_lane(dpp.ctrl)?;
        let active = Expr::lane_bit(Cell::EXEC_WORDS, lane.clone());
        Some(Exchange {
            valid: match in_bounds {
                Some(in_bounds) => and(in_bounds, active),
                None => active,
            },
            lane,
            dpp: *dpp,
        })
    }

    /// Value that a lane reads.
    pub(in crate::gcn3) fn source(&self, cell: Cell) -> Option<Expr> {
        let value = Expr::FromLane(cell, self.lane.clone().into());
        cell.is_per_lane().then(|| match self.dpp.bound_ctrl {
            true => select(self.valid.clone(), value, constant(0)),
            // Lanes without a valid source are not written, so any value will do.
            false => value,
        })
    }

    /// Whether the own lane is written; `None` if all lanes are.
    pub(super) fn writes(&self) -> Option<Expr> {
        let selected = |mask: u8, number: Expr| {
            let bit = low_bits(shr(constant(mask.into()), number), 1);
            (mask != 0xf).then_some(bit)
        };
        let conditions = [
            selected(self.dpp.row_mask, shr(own_lane(), constant(4))),
            selected(self.dpp.bank_mask, field(own_lane(), 2, 2)),
            (!self.dpp.bound_ctrl).then(|| self.valid.clone()),
        ];
        // Without any condition, all lanes are written.
        conditions.into_iter().flatten().reduce(and)
    }
}

/// Source lane of an exchange, and the condition that it is in bounds, if it may be out of bounds.
fn source_lane(ctrl: u16) -> Option<(Expr, Option<Expr>)> {
    let ctrl = u32::from(ctrl);
    let in_row = |position| or(row_start(), position);
    let rotated = |distance| low_bits(add(own_lane(), constant(distance)), 6);
    Some(match ctrl {
        // A permutation in each group of four lanes.
        0..=0xff => {
            let digit = shl(low_bits(own_lane(), 2), constant(1));
            let lane = low_bits(shr(constant(ctrl), digit), 2);
            (or(and(own_lane(), constant(0x3c)), lane), None)
        }
        // row_shl: from the lanes above.
        0x101..=0x10f => {
            let from = add(position(), constant(ctrl - 0x100));
            (
                add(own_lane(), constant(ctrl - 0x100)),
                Some(lt_u(from, constant(ROW))),
            )
        }
        // row_shr: from the lanes below.
        0x111..=0x11f => {
            let distance = constant(ctrl - 0x110);
            (
                sub(own_lane(), distance.clone()),
                Some(le_u(distance, position())),
            )
        }
        // row_ror.
        0x121..=0x12f => {
            let from = low_bits(sub(position(), constant(ctrl - 0x120)), 4);
            (in_row(from), None)
        }
        // wave_shl, wave_rol, wave_shr, wave_ror, by one lane.
        0x130 => (
            add(own_lane(), constant(1)),
            Some(lt_u(own_lane(), constant(LAST))),
        ),
        0x134 => (rotated(1), None),
        0x138 => (
            sub(own_lane(), constant(1)),
            Some(le_u(constant(1), own_lane())),
        ),
        0x13c => (rotated(LAST), None),
        // row_mirror, row_half_mirror.
        0x140 => (xor(own_lane(), constant(15)), None),
        0x141 => (xor(own_lane(), constant(7)), None),
        // row_bcast:15: the last lane of the row below.
        0x142 => (
            sub(row_start(), constant(1)),
            Some(le_u(constant(ROW), own_lane())),
        ),
        // row_bcast:31: lane 31, in the upper half.
        0x143 => (constant(31), Some(le_u(constant(32), own_lane()))),
        _ => return None,
    })
}

/// v_readlane, v_writelane, v_readfirstlane.
pub(super) fn meaning(view: &GcnView, o: &Operands<'_>) -> Option<Meaning> {
    let dest = o.dest_cell(0, 0)?;
    let vector = |index| {
        let cell = register(o.source(index)?, 0)?;
        cell.is_per_lane().then_some(cell)
    };
    // Values and lane numbers must be scalar: a vector register would have one per lane.
    let word = |index| match vector(index) {
        Some(_) => None,
        None => o.word(index, 0),
    };
    let value = match view.opcode {
        GcnOpcode::VReadlaneB32 if !dest.is_per_lane() => {
            Expr::FromLane(vector(0)?, low_bits(word(1)?, 6).into())
        }
        GcnOpcode::VReadfirstlaneB32 if !dest.is_per_lane() => {
            let exec: WordPair = Cell::EXEC_WORDS.map(Expr::Cell);
            // If no lane is active, lane 0 is read.
            let first = lowest_one64(exec, constant(0));
            Expr::FromLane(vector(0)?, first.into())
        }
        // The destination is the first source.
        GcnOpcode::VWritelaneB32 if dest.is_per_lane() => {
            let is_written = eq(own_lane(), low_bits(word(2)?, 6));
            select(is_written, word(1)?, Expr::Cell(dest))
        }
        _ => return None,
    };
    Some(Meaning::set(dest, value))
}
