//! Operations on values of all lanes of a warp.
//!
//! `W` is the number of lanes, 32 or 64. Masks have 64 bits in both cases; in warps of 32 lanes the upper bits are 0.

use warpbound_ir::float::gcn::{self, GcnFloat, GcnFunction, GcnMode};
use warpbound_ir::float::single::{self, Scale};
use warpbound_ir::float::{FloatOp, Flush, Format, Rounding};
use warpbound_ir::{BinaryOp, TernaryOp, UnaryOp, WordHalf};
use warpbound_simt::Mask;

/// One 32-bit value per lane.
pub(super) type LaneValues<const W: usize> = [u32; W];

/// Lanes per part of a row. Loops over a row and a mask take one part after the other, each with its 32 bits of the
/// mask: the compiler vectorizes them well if the mask is as wide as a value.
const PART: usize = 32;

/// The mask of all lanes.
pub(super) const fn all_lanes<const W: usize>() -> Mask {
    const { assert!(W == 32 || W == 64, "parts of 32 lanes, masks of 64 bits") };
    Mask::MAX >> (64 - W)
}

/// The bits of a mask for each part of a row.
fn parts_of(mask: Mask) -> [u32; 2] {
    [mask as u32, (mask >> PART) as u32]
}

/// Applies a unary operation in all lanes.
pub(super) fn unary<const W: usize>(op: UnaryOp, a: &LaneValues<W>) -> LaneValues<W> {
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
pub(super) fn binary<const W: usize>(
    op: BinaryOp,
    a: &LaneValues<W>,
    b: &LaneValues<W>,
) -> LaneValues<W> {
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
pub(super) fn ternary<const W: usize>(
    op: TernaryOp,
    a: &LaneValues<W>,
    b: &LaneValues<W>,
    c: &LaneValues<W>,
) -> LaneValues<W> {
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
pub(super) fn float<const W: usize>(
    op: FloatOp,
    words: [&LaneValues<W>; FloatOp::MAX_WORDS],
    low: &mut LaneValues<W>,
    high: Option<&mut LaneValues<W>>,
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
    if let FloatOp::Gcn(operation) = op
        && gcn_single(operation, [a, b, c], low)
    {
        return;
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
            let mut unwanted = [0; W];
            let high = high.unwrap_or(&mut unwanted);
            for lane in 0..W {
                let words = [a[lane], b[lane], c[lane], d[lane], e[lane], f[lane]];
                let value = op.apply(words);
                low[lane] = WordHalf::Low.of(value);
                high[lane] = WordHalf::High.of(value);
            }
        }
    }
}

/// Applies a frequent operation of GCN3 on singles in all lanes, with constant modes as above. Returns false, and
/// changes nothing, for other operations.
fn gcn_single<const W: usize>(
    operation: GcnFloat,
    [a, b, c]: [&LaneValues<W>; 3],
    low: &mut LaneValues<W>,
) -> bool {
    use gcn::single::{add_number, fma_number, is_nan, mul_number};
    macro_rules! each_mode {
        ($mode:ident, |$lane:ident, $known:ident| $value:expr) => {
            if $mode == GcnMode::FLUSH {
                const $known: GcnMode = GcnMode::FLUSH;
                *low = std::array::from_fn(|$lane| $value);
            } else {
                const $known: GcnMode = GcnMode::KEEP;
                *low = std::array::from_fn(|$lane| $value);
            }
        };
    }
    if let GcnFloat {
        function: GcnFunction::Compare(comparison),
        format: Format::Single,
        mode,
    } = operation
    {
        // A comparison rounds nothing, so only the flushing of its operands matters.
        let row = |flush| {
            std::array::from_fn(|lane| single::compare(comparison, a[lane], b[lane], flush).into())
        };
        *low = match mode.flush_operands {
            true => row(Flush::Ftz),
            false => row(Flush::Keep),
        };
        return true;
    }
    let GcnFloat {
        function,
        format: Format::Single,
        mode: mode @ (GcnMode::FLUSH | GcnMode::KEEP),
    } = operation
    else {
        return false;
    };
    match function {
        GcnFunction::Add => {
            each_mode!(mode, |lane, KNOWN| add_number(a[lane], b[lane], KNOWN));
        }
        GcnFunction::Mul => {
            each_mode!(mode, |lane, KNOWN| mul_number(a[lane], b[lane], KNOWN));
        }
        GcnFunction::Mad => {
            each_mode!(mode, |lane, KNOWN| add_number(
                mul_number(a[lane], b[lane], KNOWN),
                c[lane],
                KNOWN
            ));
        }
        GcnFunction::Fma => {
            each_mode!(mode, |lane, KNOWN| fma_number(
                a[lane], b[lane], c[lane], KNOWN
            ));
        }
        _ => return false,
    }
    // The functions above are exact for numbers only: which NaN results depends on the operands.
    if low.iter().fold(false, |any, &x| any | is_nan(x)) {
        for lane in 0..W {
            if is_nan(low[lane]) {
                low[lane] = operation.apply([a[lane], b[lane], c[lane], 0, 0, 0]) as u32;
            }
        }
    }
    true
}

/// Expands a mask to lane values: 1 in its lanes, else 0.
pub(super) fn spread<const W: usize>(mask: Mask) -> LaneValues<W> {
    let parts = parts_of(mask);
    std::array::from_fn(|lane| parts[lane / PART] >> (lane % PART) & 1)
}

/// Returns the mask of the lanes whose value is not 0.
pub(super) fn gather<const W: usize>(row: &LaneValues<W>) -> Mask {
    match row.as_chunks::<PART>().0 {
        [low, high] => Mask::from(gather_part(low)) | Mask::from(gather_part(high)) << PART,
        [only] => gather_part(only).into(),
        _ => 0,
    }
}

/// Returns the mask of the lanes of a part whose value is not 0. Never inlined: the compiler would compute in 64 bits
/// and need a third more instructions.
#[inline(never)]
fn gather_part(values: &[u32; PART]) -> u32 {
    let mut mask = 0;
    for (lane, &value) in values.iter().enumerate() {
        mask |= u32::from(value != 0) << lane;
    }
    mask
}

/// Replaces the values of the `taken` lanes.
#[inline(always)]
pub(super) fn blend<const W: usize>(old: &mut LaneValues<W>, new: &LaneValues<W>, taken: Mask) {
    if taken == all_lanes::<W>() {
        *old = *new;
        return;
    }
    let parts = old.as_chunks_mut::<PART>().0.iter_mut();
    let parts = parts.zip(new.as_chunks::<PART>().0);
    for ((old, new), taken) in parts.zip(parts_of(taken)) {
        for (lane, (old, new)) in old.iter_mut().zip(new).enumerate() {
            *old = if taken >> lane & 1 == 1 { *new } else { *old };
        }
    }
}

/// Returns the union of the bits of the values in the taken lanes, and the maximum of these values; 0 without lanes.
/// For example, the values 5 and 6 have the bits 7 and the maximum 6.
#[inline(always)]
pub(super) fn bits_and_most<const W: usize>(row: &LaneValues<W>, taken: Mask) -> (u32, u32) {
    let (mut bits, mut most) = (0, 0);
    for (values, taken) in row.as_chunks::<PART>().0.iter().zip(parts_of(taken)) {
        for (lane, &value) in values.iter().enumerate() {
            let value = if taken >> lane & 1 == 1 { value } else { 0 };
            bits |= value;
            most = most.max(value);
        }
    }
    (bits, most)
}

/// Iterates over the lanes of a mask, ascending.
#[inline]
pub(super) fn lanes_of<const W: usize>(mask: Mask) -> impl Iterator<Item = usize> {
    let [mut low, mut high] = parts_of(mask);
    // Lane by lane of each part, so that the compiler sees that all are below `W`.
    std::iter::from_fn(move || {
        if low != 0 {
            let lane = low.trailing_zeros() as usize;
            low &= low - 1;
            return Some(lane);
        }
        if W > PART && high != 0 {
            let lane = PART + high.trailing_zeros() as usize;
            high &= high - 1;
            return Some(lane);
        }
        None
    })
}

/// Number of lanes of a mask.
#[inline(always)]
pub(super) fn count_lanes<const W: usize>(mask: Mask) -> u64 {
    let [low, high] = parts_of(mask);
    let high = if W > PART { high.count_ones() } else { 0 };
    (low.count_ones() + high).into()
}

#[cfg(test)]
mod tests;
