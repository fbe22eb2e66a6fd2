//! Header executions of the lanes of a profiled warp in the loops with a stated bound.

use warpbound_simt::lanes_of;

use super::launch::LaunchValues;
use super::row::LANES;

/// Lower bounds, for each loop with a stated bound and each lane, on the header executions since the loop was entered.
#[derive(Clone, Debug)]
pub(super) struct LoopIterations {
    loops: Vec<LaneCounts>,
    /// Loops where some lane may have a count, as bits; the other loops cost no time.
    counted: u64,
}

/// Counts of the lanes in one loop.
#[derive(Clone, Copy, Debug, Default)]
struct LaneCounts {
    counts: [u64; LANES],
    /// Lanes whose count is above 0; the counts of other lanes are not used.
    lanes: u32,
}

impl LaneCounts {
    fn of_lane(&self, lane: usize) -> u64 {
        match self.lanes >> lane & 1 {
            1 => self.counts[lane],
            _ => 0,
        }
    }
}

impl LoopIterations {
    /// Makes counts for this many loops; those beyond [`LaunchValues::MAX_LOOPS`] are not counted.
    pub(super) fn new(loops: usize) -> LoopIterations {
        LoopIterations {
            loops: vec![LaneCounts::default(); loops.min(LaunchValues::MAX_LOOPS)],
            counted: 0,
        }
    }

    /// Lanes have left the loops that are not in the set of bits `around`.
    pub(super) fn leave_all_but(&mut self, around: u64, lanes: u32) {
        for number in bits_of(self.counted & !around) {
            let Some(counts) = self.loops.get_mut(number) else {
                continue;
            };
            counts.lanes &= !lanes;
            if counts.lanes == 0 {
                self.counted &= !(1 << number);
            }
        }
    }

    /// Counts an execution of the headers of the loops of a set of bits; returns the lanes whose count is above a
    /// bound.
    pub(super) fn count(&mut self, headed: u64, lanes: u32, bound: impl Fn(usize) -> u64) -> u32 {
        let mut over = 0;
        for number in bits_of(headed) {
            let Some(counts) = self.loops.get_mut(number) else {
                continue;
            };
            let bound = bound(number);
            for lane in lanes_of(lanes.into()) {
                let count = counts.of_lane(lane).saturating_add(1);
                counts.counts[lane] = count;
                over |= u32::from(count > bound) << lane;
            }
            counts.lanes |= lanes;
            self.counted |= 1 << number;
        }
        over
    }

    /// Takes the counts of another path in the lanes `new`; in the lanes `both` the smaller ones.
    pub(super) fn absorb(&mut self, other: &LoopIterations, new: u32, both: u32) {
        for number in bits_of(self.counted | other.counted) {
            let pair = self.loops.get_mut(number).zip(other.loops.get(number));
            let Some((counts, more)) = pair else {
                continue;
            };
            for lane in lanes_of((new | both).into()) {
                let more = more.of_lane(lane);
                // The run may have come by either path, so only the smaller count is certain.
                counts.counts[lane] = match new >> lane & 1 {
                    1 => more,
                    _ => more.min(counts.of_lane(lane)),
                };
            }
            counts.lanes =
                counts.lanes & !(new | both) | more.lanes & new | counts.lanes & more.lanes & both;
        }
        self.counted |= other.counted;
    }
}

/// Numbers of the bits of a set.
fn bits_of(mut set: u64) -> impl Iterator<Item = usize> {
    std::iter::from_fn(move || {
        let number = (set != 0).then(|| set.trailing_zeros() as usize)?;
        set &= set - 1;
        Some(number)
    })
}
