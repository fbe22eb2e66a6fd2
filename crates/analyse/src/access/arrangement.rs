//! Arrangement of the threads of a block in warps, as byte offsets of the lanes from a common base.

use std::collections::BTreeSet;

use super::span::LaneMask;
use super::{LANES, LINE_BYTES};
use crate::LaunchContext;

/// Offset of the address of each lane that holds a thread, modulo 2⁶⁴.
pub(super) type LaneOffsets = [Option<u64>; LANES];

/// Greatest number of threads of a block (CUDA C++ Programming Guide, compute capabilities).
const MOST_THREADS: u64 = 1024;

/// Distance between two runs of lanes that have no address in common, a multiple of the bytes of a line.
const FAR: u64 = 1 << 40;

/// Returns the offsets of the lanes of every warp of a block that may take part, for coefficients of the thread index in
/// x, y, z. `executing` has an entry for each thread of the block; all may take part without it.
///
/// Without a block, of every warp of every block; `None` if they are too many to list: where an offset depends on y or
/// z, or grows by too much in x.
pub(super) fn lane_offsets(
    block: Option<[u32; 3]>,
    coefficients: [i64; 3],
    executing: Option<&[bool]>,
) -> Option<Vec<LaneOffsets>> {
    match block {
        Some(block) => warps_of_block(block, coefficients, executing),
        None if coefficients == [0; 3] => Some(vec![[Some(0); LANES]]),
        None => {
            let [x, 0, 0] = coefficients else {
                return None;
            };
            (x.unsigned_abs() < FAR >> 8).then(|| rows_of_any_width(x))
        }
    }
}

/// Returns the offsets of the warps of a block. A warp has 32 threads with consecutive numbers, x + y·X + z·X·Y.
fn warps_of_block(
    block: [u32; 3],
    coefficients: [i64; 3],
    executing: Option<&[bool]>,
) -> Option<Vec<LaneOffsets>> {
    let [width, height, depth] = block.map(u64::from);
    let plane = width.checked_mul(height)?;
    let threads = plane.checked_mul(depth)?;
    // There is no launch of a larger block.
    if threads == 0 || threads > MOST_THREADS {
        return None;
    }
    let offset = |thread: u64| {
        let index = [thread % width, thread / width % height, thread / plane];
        let parts = index.iter().zip(coefficients);
        parts.fold(0u64, |sum, (&index, coefficient)| {
            sum.wrapping_add(index.wrapping_mul(coefficient as u64))
        })
    };
    let warp = |first: u64| {
        std::array::from_fn(|lane| {
            let thread = first + lane as u64;
            let executes = executing.and_then(|threads| threads.get(thread as usize));
            let is_possible = thread < threads && executes.is_none_or(|&executes| executes);
            is_possible.then(|| offset(thread))
        })
    };
    Some((0..threads).step_by(LANES).map(warp).collect())
}

/// Returns the offsets of the warps of blocks of any width, for a coefficient of x.
///
/// In rows of at least 32 threads a warp has at most one end of a row, so that it consists of a run of consecutive
/// indices and one that begins with 0. The first run begins anywhere; its remainder modulo the bytes of a line counts,
/// and it is taken as far away from the second one, which never makes a number smaller.
fn rows_of_any_width(coefficient: i64) -> Vec<LaneOffsets> {
    let offset = |index: u64| index.wrapping_mul(coefficient as u64);
    let mut all = Vec::new();
    for width in 1..LANES as u64 {
        all.extend(
            (0..width).map(|first| {
                std::array::from_fn(|lane| Some(offset((first + lane as u64) % width)))
            }),
        );
    }
    let zeros = coefficient.unsigned_abs().trailing_zeros();
    let period = (LINE_BYTES >> zeros.min(LINE_BYTES.trailing_zeros())).max(1);
    for length in 1..=LANES {
        all.extend((0..period).map(|first| {
            std::array::from_fn(|lane| {
                Some(match lane < length {
                    true => FAR.wrapping_add(offset(first + lane as u64)),
                    false => offset((lane - length) as u64),
                })
            })
        }));
    }
    all
}

/// Returns warps that differ in their numbers if bases with all remainders of one class modulo `modulus` are tried:
/// offsets from the first lane, that of the first lane modulo `modulus`.
pub(super) fn distinct(offsets: &[LaneOffsets], modulus: u64) -> BTreeSet<LaneOffsets> {
    let normalized = |warp: &LaneOffsets| {
        let first = warp.iter().flatten().next().copied().unwrap_or(0);
        let shift = first - first % modulus;
        warp.map(|offset| Some(offset?.wrapping_sub(shift)))
    };
    offsets.iter().map(normalized).collect()
}

/// Returns the masks of the lanes that may take part in an access of any kind, one for each warp of the block.
pub(super) fn lane_masks(launch: &LaunchContext, executing: Option<&[bool]>) -> BTreeSet<LaneMask> {
    let lanes = launch.live_lanes();
    match lane_offsets(launch.block, [0; 3], executing) {
        Some(warps) => warps
            .iter()
            .map(|warp| warp.map(|lane| lane.is_some()))
            .collect(),
        None => BTreeSet::from([std::array::from_fn(|lane| (lane as u64) < lanes)]),
    }
}

/// Returns the bytes between consecutive lanes, if they are the same in all warps.
pub(super) fn stride(offsets: &[LaneOffsets]) -> Option<i64> {
    let mut found = None;
    for warp in offsets {
        for pair in warp.windows(2) {
            let &[Some(one), Some(next)] = pair else {
                continue;
            };
            let step = next.wrapping_sub(one) as i64;
            if *found.get_or_insert(step) != step {
                return None;
            }
        }
    }
    Some(found.unwrap_or(0))
}
