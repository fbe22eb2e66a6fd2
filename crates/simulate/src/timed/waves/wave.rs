//! Timing state of a wave or of a split.

use smallvec::SmallVec;
use warpbound_ir::Cell;

use super::super::event::Stall;
use super::super::warp::{Warp, WarpState};
use super::counters::Counters;
use super::pipelines::Issuer;

/// Turns of a SIMD: the cycles when it issues.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Turns {
    /// SIMDs of the compute unit, which take turns.
    pub(super) simds: u64,
    /// Number of the SIMD.
    pub(super) simd: u64,
}

impl Turns {
    /// Returns the first turn, not before a cycle. For example, SIMD 1 of four has its turns in cycles 1, 5, 9 and so
    /// on, and its first turn from cycle 2 on is 5.
    #[inline(always)]
    pub(super) fn from(self, cycle: u64) -> u64 {
        let phase = cycle % self.simds;
        let wait = match phase <= self.simd {
            true => self.simd - phase,
            false => self.simds + self.simd - phase,
        };
        cycle.saturating_add(wait)
    }
}

/// Merge that a split waits for: its sibling has the same one.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct MergeRecord {
    pub(super) id: u64,
    /// Slot of the sibling.
    pub(super) sibling: u32,
    /// Instruction before which they merge.
    pub(super) at: u32,
    /// Whether this is the split that goes on.
    pub(super) goes_on: bool,
}

/// Wave or split.
pub(super) type Wave = Warp<WaveState>;

/// Timing state that only waves and splits have.
#[derive(Clone, Debug)]
pub(in crate::timed) struct WaveState {
    pub(super) turns: Turns,
    /// Base slot of its wave: its own, unless it is a split.
    pub(super) base: u32,
    /// Cycle from which the value of each cell can be read.
    pub(super) cells: Vec<u64>,
    pub(super) counters: Counters,
    /// Merges that it waits for, the next one last.
    pub(super) records: SmallVec<[MergeRecord; 2]>,
    /// Waits for its sibling before the instruction of the last record.
    pub(super) is_parked: bool,
}

impl WarpState for WaveState {
    /// A wave can issue in turns of its SIMD only.
    #[inline(always)]
    fn first_turn(&self, cycle: u64) -> u64 {
        self.turns.from(cycle)
    }
}

impl WaveState {
    /// Returns the state of a wave that starts in a base slot.
    pub(super) fn new(turns: Turns, base: u32) -> WaveState {
        WaveState {
            turns,
            base,
            cells: vec![0; Cell::COUNT],
            counters: Counters::default(),
            records: SmallVec::new(),
            is_parked: false,
        }
    }

    /// Sets the cycle from which the value of a cell can be read.
    #[inline(always)]
    pub(super) fn write(&mut self, cell: Cell, cycle: u64) {
        if let Some(own) = self.cells.get_mut(cell.index()) {
            *own = cycle;
        }
    }
}

impl Wave {
    /// Delays the wave beyond the turn in which it issues, in cycle `now`, because it issues once in a turn.
    #[inline(always)]
    pub(super) fn wait_for_next_turn(&mut self, now: u64) {
        self.wait(now + self.own.turns.simds, Stall::Issue);
    }

    /// The wave as the issuer of an instruction.
    pub(super) fn issuer(&self) -> Issuer {
        Issuer {
            slot: self.place.slot,
            base: self.own.base,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Turns of all SIMDs from all cycles, against a search.
    #[test]
    fn turns_of_a_simd() {
        for simds in 1..6 {
            for simd in 0..simds {
                let turns = Turns { simds, simd };
                for cycle in 0..40 {
                    let found = (cycle..).find(|cycle| cycle % simds == simd);
                    assert_eq!(Some(turns.from(cycle)), found);
                }
            }
        }
    }
}
