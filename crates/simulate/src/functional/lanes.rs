//! Rows of 32 values, one for each lane, and what is done with them.

use warpbound_ir::float::single::{self, Scale};
use warpbound_ir::float::{FloatOp, Flush, Rounding};
use warpbound_ir::{BinaryOp, Half, TernaryOp, UnaryOp};

/// Lanes of a warp.
pub(super) const LANES: usize = 32;

/// The lanes of a warp as bits, or what is true in each.
pub(super) type Mask = u32;

/// A value for each lane.
pub(super) type LaneValues = [u32; LANES];

pub(super) fn unary(op: UnaryOp, a: &LaneValues) -> LaneValues {
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

pub(super) fn binary(op: BinaryOp, a: &LaneValues, b: &LaneValues) -> LaneValues {
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

pub(super) fn ternary(op: TernaryOp, a: &LaneValues, b: &LaneValues, c: &LaneValues) -> LaneValues {
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

/// A floating-point operation: its low words, and its high ones where they are wanted. Words beyond those that it reads
/// do not matter.
pub(super) fn float(
    op: FloatOp,
    words: [&LaneValues; FloatOp::MOST_WORDS],
    low: &mut LaneValues,
    high: Option<&mut LaneValues>,
) {
    let [a, b, c, ..] = words;
    // The frequent operations have loops of their own, in which nothing is decided again for each lane.
    macro_rules! each_flush {
        ($flush:ident, |$lane:ident, $known:ident| $value:expr) => {
            match $flush {
                Flush::Keep => {
                    const $known: Flush = Flush::Keep;
                    *low = std::array::from_fn(|$lane| $value);
                }
                Flush::Ftz => {
                    const $known: Flush = Flush::Ftz;
                    *low = std::array::from_fn(|$lane| $value);
                }
                Flush::Fmz => {
                    const $known: Flush = Flush::Fmz;
                    *low = std::array::from_fn(|$lane| $value);
                }
            }
        };
    }
    match op {
        FloatOp::AddSingle(Rounding::Nearest, flush) => {
            each_flush!(flush, |lane, KNOWN| single::add_nearest(
                a[lane], b[lane], KNOWN
            ));
        }
        FloatOp::MulSingle(Scale::One, Rounding::Nearest, flush) => {
            each_flush!(flush, |lane, KNOWN| single::mul_nearest(
                a[lane], b[lane], KNOWN
            ));
        }
        FloatOp::FmaSingle(Rounding::Nearest, flush) => {
            each_flush!(flush, |lane, KNOWN| single::fma_nearest(
                a[lane], b[lane], c[lane], KNOWN
            ));
        }
        FloatOp::MinSingle(flush) => {
            each_flush!(flush, |lane, KNOWN| single::min(a[lane], b[lane], KNOWN));
        }
        FloatOp::MaxSingle(flush) => {
            each_flush!(flush, |lane, KNOWN| single::max(a[lane], b[lane], KNOWN));
        }
        FloatOp::CompareSingle(comparison, flush) => {
            each_flush!(flush, |lane, KNOWN| single::compare(
                comparison, a[lane], b[lane], KNOWN
            )
            .into());
        }
        FloatOp::SaturateSingle => *low = a.map(single::saturated),
        _ => {
            let [a, b, c, d, e, f] = words;
            let mut unwanted = [0; LANES];
            let high = high.unwrap_or(&mut unwanted);
            for lane in 0..LANES {
                let words = [a[lane], b[lane], c[lane], d[lane], e[lane], f[lane]];
                let value = op.apply(words);
                low[lane] = Half::Low.of(value);
                high[lane] = Half::High.of(value);
            }
        }
    }
}

/// 1 in the lanes of a mask, else 0.
pub(super) fn spread(mask: Mask) -> LaneValues {
    std::array::from_fn(|lane| mask >> lane & 1)
}

/// The lanes in which a value is not 0.
pub(super) fn gather(row: &LaneValues) -> Mask {
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
