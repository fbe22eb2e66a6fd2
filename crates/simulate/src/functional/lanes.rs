//! Rows of 32 values, one for each lane, and what is done with them.

use warpbound_ir::{BinaryOp, TernaryOp, UnaryOp};

/// Lanes of a warp.
pub(super) const LANES: usize = 32;

/// The lanes of a warp as bits, or what is true in each.
pub(super) type Mask = u32;

/// A value for each lane.
pub(super) type Row = [u32; LANES];

pub(super) fn unary(op: UnaryOp, a: &Row) -> Row {
    // One loop for each operation, so that the compiler can make vector instructions of it.
    macro_rules! all {
        ($($op:ident)*) => {
            match op {
                $(UnaryOp::$op => std::array::from_fn(|lane| UnaryOp::$op.apply(a[lane])),)*
            }
        };
    }
    all!(Neg Not AbsS Popc HighestOne HighestOther Reverse SignExtend8 SignExtend16)
}

pub(super) fn binary(op: BinaryOp, a: &Row, b: &Row) -> Row {
    macro_rules! all {
        ($($op:ident)*) => {
            match op {
                $(BinaryOp::$op => {
                    std::array::from_fn(|lane| BinaryOp::$op.apply(a[lane], b[lane]).unwrap_or(0))
                })*
            }
        };
    }
    all!(Add Sub Mul MulHighU MulHighS DivS RemS And Or Xor Shl Shr Sar LtS LeS LtU LeU Eq Ne
         MinU MaxU MinS MaxS)
}

pub(super) fn ternary(op: TernaryOp, a: &Row, b: &Row, c: &Row) -> Row {
    macro_rules! all {
        ($($op:ident)*) => {
            match op {
                $(TernaryOp::$op => {
                    std::array::from_fn(|lane| TernaryOp::$op.apply(a[lane], b[lane], c[lane]))
                })*
                TernaryOp::Lut(_) => {
                    std::array::from_fn(|lane| op.apply(a[lane], b[lane], c[lane]))
                }
            }
        };
    }
    all!(Select Carry FunnelRight FunnelLeft Permute)
}

/// 1 in the lanes of a mask, else 0.
pub(super) fn spread(mask: Mask) -> Row {
    std::array::from_fn(|lane| mask >> lane & 1)
}

/// The lanes in which a value is not 0.
pub(super) fn gather(row: &Row) -> Mask {
    let mut mask = 0;
    for (lane, &value) in row.iter().enumerate() {
        mask |= Mask::from(value != 0) << lane;
    }
    mask
}

/// The lanes of a mask, ascending.
pub(super) fn lanes_of(mut mask: Mask) -> impl Iterator<Item = usize> {
    std::iter::from_fn(move || {
        let lane = mask.trailing_zeros() as usize;
        (mask != 0).then(|| {
            mask &= mask - 1;
            lane
        })
    })
}
