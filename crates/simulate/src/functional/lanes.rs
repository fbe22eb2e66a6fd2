//! Operations on values of all 32 lanes of a warp.

use warpbound_ir::float::single::{self, Scale};
use warpbound_ir::float::{FloatOp, Flush, Rounding};
use warpbound_ir::{BinaryOp, TernaryOp, UnaryOp, WordHalf};

/// Lanes of a warp.
pub(super) const LANES: usize = 32;

/// A set of lanes, or a truth value per lane: bit n is lane n.
pub(super) type Mask = u32;

/// One 32-bit value per lane.
pub(super) type LaneValues = [u32; LANES];

/// Applies a unary operation in all lanes.
pub(super) fn unary(op: UnaryOp, a: &LaneValues) -> LaneValues {
    // One loop per operation, so that the compiler can vectorize each.
    macro_rules! all {
        ($($op:ident)*) => {
            match op {
                $(UnaryOp::$op => std::array::from_fn(|lane| UnaryOp::$op.apply(a[lane])),)*
            }
        };
    }
    all!(Neg Not AbsS Popc HighestOne HighestNonSign Reverse SignExtend8 SignExtend16)
}

/// Applies a binary operation in all lanes; a division by zero gives 0.
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

/// Applies a ternary operation in all lanes.
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

/// Applies a floating-point operation in all lanes; stores the low words of the results in `low` and, if given, the
/// high words in `high`. The operation ignores `words` past its operand count.
pub(super) fn float(
    op: FloatOp,
    words: [&LaneValues; FloatOp::MAX_WORDS],
    low: &mut LaneValues,
    high: Option<&mut LaneValues>,
) {
    let [a, b, c, ..] = words;
    // Frequent operations have loops of their own with constant rounding and flush modes, so that no lane branches on
    // them and the loops vectorize.
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
                low[lane] = WordHalf::Low.of(value);
                high[lane] = WordHalf::High.of(value);
            }
        }
    }
}

/// Expands a mask to lane values: 1 in its lanes, else 0.
pub(super) fn spread(mask: Mask) -> LaneValues {
    std::array::from_fn(|lane| mask >> lane & 1)
}

/// Mask of the lanes whose value is not 0.
pub(super) fn gather(row: &LaneValues) -> Mask {
    let mut mask = 0;
    for (lane, &value) in row.iter().enumerate() {
        mask |= Mask::from(value != 0) << lane;
    }
    mask
}

/// Iterates over the lanes of a mask, ascending.
pub(super) fn lanes_of(mut mask: Mask) -> impl Iterator<Item = usize> {
    std::iter::from_fn(move || {
        let lane = mask.trailing_zeros() as usize;
        (mask != 0).then(|| {
            mask &= mask - 1;
            lane
        })
    })
}
