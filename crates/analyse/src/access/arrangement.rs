//! Arrangement of the threads of a block in warps, as byte offsets of the lanes from a common base.

use std::collections::BTreeSet;

/// Offset of the address of each lane that holds a thread, modulo 2⁶⁴.
pub(super) type LaneOffsets = Vec<Option<u64>>;

/// Lanes of a warp that may take part.
pub(super) type LaneMask = Vec<bool>;

/// Bytes after which the counts of an access repeat when its base moves: a multiple of the bytes of a line and of the
/// bytes over which the banks are spread, both banks of words (32·4) and banks of bytes (32).
pub(super) const PERIOD: u64 = 128;

/// Maximum number of threads of a block (CUDA C++ Programming Guide, compute capabilities).
const MOST_THREADS: u64 = 1024;

/// Distance between two runs of lanes that have no address in common, a multiple of the period.
const FAR: u64 = 1 << 40;

/// Lanes that may take part in an access.
#[derive(Clone, Copy)]
pub(super) struct TakingLanes<'a> {
    /// Threads of a block in x, y, z, if known.
    pub(super) block: Option<[u32; 3]>,
    /// Lanes of a warp.
    pub(super) lanes: usize,
    /// Maximum number of lanes that take part if the block is unknown.
    pub(super) live: usize,
    /// Threads of the block that may take part, by number; all may without it.
    pub(super) executing: Option<&'a [bool]>,
}

impl TakingLanes<'_> {
    /// Returns the offsets of the lanes of every warp of a block that may take part, for coefficients of the thread
    /// index in x, y, z.
    ///
    /// Without a known block, returns the offsets for warps of every block. This is `None` where an offset depends on
    /// y or z, because then there are too many warps to list, or grows by too much in x.
    pub(super) fn offsets(&self, coefficients: [i64; 3]) -> Option<Vec<LaneOffsets>> {
        match self.block {
            Some(block) => self.warps_of_block(block, coefficients),
            // All lanes have one address, whatever the shape of the block.
            None if coefficients == [0; 3] => Some(vec![vec![Some(0); self.lanes]]),
            None => {
                let [x, 0, 0] = coefficients else {
                    return None;
                };
                // Indices below 2⁸ then have offsets below `FAR`, so that the two runs of lanes stay apart.
                (x.unsigned_abs() < FAR >> 8).then(|| rows_of_any_width(x, self.lanes))
            }
        }
    }

    /// Returns the masks of the lanes that may take part in an access of any kind, one for each warp of the block.
    pub(super) fn masks(&self) -> BTreeSet<LaneMask> {
        let warps = self
            .block
            .and_then(|block| self.warps_of_block(block, [0; 3]));
        let is_there = |lane: &Option<u64>| lane.is_some();
        match warps {
            Some(warps) => warps
                .iter()
                .map(|warp| warp.iter().map(is_there).collect())
                .collect(),
            None => BTreeSet::from([(0..self.lanes).map(|lane| lane < self.live).collect()]),
        }
    }

    /// Returns the offsets of the warps of a block. A warp has threads with consecutive numbers, x + y·X + z·X·Y.
    fn warps_of_block(&self, block: [u32; 3], coefficients: [i64; 3]) -> Option<Vec<LaneOffsets>> {
        let [width, height, depth] = block.map(u64::from);
        let plane = width.checked_mul(height)?;
        let threads = plane.checked_mul(depth)?;
        // No launch has a larger block.
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
            let lane = |thread: u64| {
                let executes = self
                    .executing
                    .and_then(|threads| threads.get(thread as usize));
                let is_possible = thread < threads && executes.is_none_or(|&executes| executes);
                is_possible.then(|| offset(thread))
            };
            (first..first + self.lanes as u64).map(lane).collect()
        };
        Some((0..threads).step_by(self.lanes).map(warp).collect())
    }
}

/// Returns the offsets of the warps of blocks of any width, for a coefficient of x.
///
/// If rows have at least as many threads as a warp, a warp crosses at most one end of a row. It then consists of a
/// run of consecutive indices and a run that begins with 0. For example, with 40 threads per row the second warp of
/// 32 lanes has the indices 32 to 39 and 0 to 23. The first run begins anywhere, but only its remainder modulo the
/// period counts. It is placed far away from the second run, which never makes a count smaller.
fn rows_of_any_width(coefficient: i64, lanes: usize) -> Vec<LaneOffsets> {
    let offset = |index: u64| index.wrapping_mul(coefficient as u64);
    let mut all = Vec::new();
    let lanes = lanes as u64;
    // A warp may hold several rows that are shorter than it, and begin anywhere in one.
    for width in 1..lanes {
        all.extend((0..width).map(|first| -> LaneOffsets {
            let indices = (first..first + lanes).map(|index| index % width);
            indices.map(|index| Some(offset(index))).collect()
        }));
    }
    // After `period` threads the offset has changed by a multiple of `PERIOD`, and the counts repeat.
    let zeros = coefficient.unsigned_abs().trailing_zeros();
    let period = (PERIOD >> zeros.min(PERIOD.trailing_zeros())).max(1);
    for length in 1..=lanes {
        all.extend((0..period).map(|first| -> LaneOffsets {
            let of_lane = |lane: u64| match lane < length {
                true => FAR.wrapping_add(offset(first + lane)),
                false => offset(lane - length),
            };
            (0..lanes).map(|lane| Some(of_lane(lane))).collect()
        }));
    }
    all
}

/// Returns the warps up to shifts by multiples of `modulus`. Shifted warps have the same counts, because the caller
/// tries all bases with the same remainder modulo `modulus`. The first offset of each returned warp is below
/// `modulus`.
pub(super) fn distinct(offsets: &[LaneOffsets], modulus: u64) -> BTreeSet<LaneOffsets> {
    let normalized = |warp: &LaneOffsets| {
        let first = warp.iter().flatten().next().copied().unwrap_or(0);
        let shift = first - first % modulus;
        let shifted = warp
            .iter()
            .map(|offset| Some((*offset)?.wrapping_sub(shift)));
        shifted.collect()
    };
    offsets.iter().map(normalized).collect()
}

/// Returns the bytes between consecutive lanes, if they are the same in all warps.
pub(super) fn stride(offsets: &[LaneOffsets]) -> Option<i64> {
    let mut found = None;
    for warp in offsets {
        for pair in warp.windows(2) {
            // A lane without a thread has no address to compare.
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
