//! Timing state of a wave or of a split.

use smallvec::SmallVec;
use warpbound_ir::Cell;
use warpbound_simt::Mask;

use super::super::event::{Stall, StallCycles, WarpPlace};
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

/// Timing state of a wave or of a split.
#[derive(Clone, Debug)]
pub(super) struct Wave {
    pub(super) place: WarpPlace,
    pub(super) turns: Turns,
    /// Index of its group among the groups of the compute unit.
    pub(super) resident: usize,
    /// Index in the functional state of its group.
    pub(super) index: usize,
    /// Base slot of its wave: its own, unless it is a split.
    pub(super) base: u32,
    /// Instruction that it issues next, and the lanes active then.
    pub(super) at: u32,
    pub(super) active: Mask,
    /// Cycle of its last issue, or of its start.
    pub(super) last_issue: u64,
    /// First turn when it can issue, as far as that depends on the wave itself.
    pub(super) ready: u64,
    /// Stall cycles between `last_issue` and `ready`, by reason.
    pub(super) stalls: StallCycles,
    /// Cycle from which the value of each cell can be read.
    pub(super) cells: Vec<u64>,
    pub(super) counters: Counters,
    /// Instruction line in its instruction buffer.
    pub(super) line: Option<u64>,
    /// Merges that it waits for, the next one last.
    pub(super) records: SmallVec<[MergeRecord; 2]>,
    /// Waits for its sibling before the instruction of the last record.
    pub(super) is_parked: bool,
}

impl Wave {
    /// Returns a wave that starts in cycle `now` at an instruction, with some lanes.
    pub(super) fn new(
        place: WarpPlace,
        turns: Turns,
        resident: usize,
        index: usize,
        at: u32,
        active: Mask,
        now: u64,
    ) -> Wave {
        Wave {
            place,
            turns,
            resident,
            index,
            base: place.slot,
            at,
            active,
            last_issue: now,
            ready: now,
            stalls: [0; 7],
            cells: vec![0; Cell::COUNT],
            counters: Counters::default(),
            line: None,
            records: SmallVec::new(),
            is_parked: false,
        }
    }

    /// Starts the wait for the next issue after an issue, or a start, in cycle `now`: a wave issues once in a turn.
    pub(super) fn restart(&mut self, now: u64) {
        self.last_issue = now;
        self.ready = now;
        self.stalls = [0; 7];
        self.wait(now + self.turns.simds, Stall::Issue);
    }

    /// Delays the wave until a turn of its SIMD, the first from a cycle on. The cycles after the current `ready` are
    /// charged to `reason`, so that every cycle has one reason: the first one that delays the wave past that cycle.
    #[inline(always)]
    pub(super) fn wait(&mut self, until: u64, reason: Stall) {
        if until > self.ready {
            // A wave can issue in turns of its SIMD only.
            let turn = self.turns.from(until);
            self.stalls[reason as usize] += turn - self.ready;
            self.ready = turn;
        }
    }

    /// The wave as the issuer of an instruction.
    pub(super) fn issuer(&self) -> Issuer {
        Issuer {
            slot: self.place.slot,
            base: self.base,
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
