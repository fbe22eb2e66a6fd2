//! Exchange of values between lanes through the crossbar of LDS, without an access to memory. For example,
//! `ds_swizzle_b32 v0, v1 offset:swizzle(SWAP,1)` gives each lane the value of its neighbour.

use warpbound_isa::SpecialReg;
use warpbound_isa::amd::WAVE_LANES;

use super::plus;
use crate::gcn3::operands::Operands;
use crate::{BinaryOp, Cell, Expr, Meaning, TernaryOp};

/// ds_swizzle_b32: a permutation of each four lanes, or of each 32 lanes by bits of their numbers.
pub(super) fn swizzle(o: &Operands<'_>, offset: u32) -> Option<Meaning> {
    const QUADS: u32 = 0x8000;
    let own = || Expr::Special(SpecialReg::LaneId);
    let and = |a, mask| Expr::binary(BinaryOp::And, a, Expr::Const(mask));
    let lane = if offset & QUADS != 0 {
        if offset & 0x7f00 != 0 {
            return None;
        }
        // Two bits of the offset select the source of each lane of four.
        let shift = Expr::binary(BinaryOp::Shl, and(own(), 3), Expr::Const(1));
        let chosen = Expr::binary(BinaryOp::Shr, Expr::Const(offset & 0xff), shift);
        Expr::binary(BinaryOp::Or, and(own(), 0x3c), and(chosen, 3))
    } else {
        let [mask, ones, flipped] = [0, 5, 10].map(|bit| offset >> bit & 0x1f);
        // The permutation is within 32 lanes, so bit 5 of the lane number stays.
        let kept = and(own(), mask | 0x20);
        let or = Expr::binary(BinaryOp::Or, kept, Expr::Const(ones));
        Expr::binary(BinaryOp::Xor, or, Expr::Const(flipped))
    };
    from_active_lane(o, 0, lane)
}

/// ds_bpermute_b32: the value of the lane whose number, times 4, is the address plus the offset.
pub(super) fn bpermute(o: &Operands<'_>, offset: u32) -> Option<Meaning> {
    let sum = plus(o.word(0, 0)?, offset);
    let number = Expr::binary(BinaryOp::Shr, sum, Expr::Const(2));
    let lane = Expr::binary(BinaryOp::And, number, Expr::Const(63));
    from_active_lane(o, 1, lane)
}

/// ds_permute_b32: each active lane sends its value to the lane whose number, times 4, is the address plus the
/// offset. If several send to one lane, the highest one counts. A lane that receives nothing gets 0.
pub(super) fn permute(o: &Operands<'_>, offset: u32) -> Option<Meaning> {
    // `FromLane` reads registers only; a constant has no lanes.
    let (Expr::Cell(address), Expr::Cell(data)) = (o.word(0, 0)?, o.word(1, 0)?) else {
        return None;
    };
    let mut value = Expr::Const(0);
    for lane in 0..WAVE_LANES {
        let lane = Expr::Const(lane);
        let sum = plus(Expr::FromLane(address, lane.clone().into()), offset);
        let number = Expr::binary(BinaryOp::Shr, sum, Expr::Const(2));
        let to = Expr::binary(BinaryOp::And, number, Expr::Const(63));
        let is_here = Expr::binary(BinaryOp::Eq, to, Expr::Special(SpecialReg::LaneId));
        let is_active = Expr::lane_bit(Cell::EXEC_WORDS, lane.clone());
        let sends = Expr::binary(BinaryOp::And, is_here, is_active);
        let sent = Expr::FromLane(data, lane.into());
        // Later lanes override earlier ones, so the highest one counts.
        value = Expr::ternary(TernaryOp::Select, sends, sent, value);
    }
    Some(Meaning::set(o.dest_cell(0, 0)?, value))
}

/// Assignment of the value that a source has in a lane; 0 if the lane is not active.
fn from_active_lane(o: &Operands<'_>, source: usize, lane: Expr) -> Option<Meaning> {
    let Expr::Cell(cell) = o.word(source, 0)? else {
        return None;
    };
    let is_active = Expr::lane_bit(Cell::EXEC_WORDS, lane.clone());
    let value = Expr::FromLane(cell, lane.into());
    let value = Expr::ternary(TernaryOp::Select, is_active, value, Expr::Const(0));
    Some(Meaning::set(o.dest_cell(0, 0)?, value))
}
