//! Scoreboards of a warp (`pastis-2022`, II.D; maxas, "Control Codes").
//!
//! An instruction of variable latency raises a scoreboard, the completion of its result (write scoreboard) or of the
//! reading of its sources (read scoreboard) releases it; instructions that depend on it wait until its count is 0, or
//! for `DEPBAR` until it is small enough. The simulator computes completions when it issues, so a scoreboard is
//! modelled by its release times.

use smallvec::SmallVec;
use warpbound_base::GroupedCode;

/// Number of scoreboards of a warp.
pub(super) const SCOREBOARDS: usize = GroupedCode::WITH_THREE_SLOTS.scoreboards as usize;

/// Scoreboards of a warp.
#[derive(Clone, Debug, Default)]
pub(super) struct Scoreboards {
    /// Cycle when the count of each reaches 0.
    release: [u64; SCOREBOARDS],
    /// Mask of the scoreboards that a memory access raised last.
    memory: u8,
    /// Completion times that each counts; empty if the code has no `DEPBAR`, which waits for counts above 0.
    outstanding: Vec<SmallVec<[u64; 4]>>,
}

impl Scoreboards {
    /// Returns scoreboards of count 0. With `counted` they answer [`Scoreboards::release_cycle_to`].
    pub(super) fn new(counted: bool) -> Scoreboards {
        Scoreboards {
            outstanding: vec![SmallVec::new(); if counted { SCOREBOARDS } else { 0 }],
            ..Scoreboards::default()
        }
    }

    /// Raises a scoreboard in cycle `now`; it is released by this instruction in cycle `done`.
    pub(super) fn raise(&mut self, number: usize, now: u64, done: u64, is_memory: bool) {
        // Results may complete out of order: the count is 0 when the latest has completed.
        self.release[number] = self.release[number].max(done);
        self.memory = self.memory & !(1 << number) | u8::from(is_memory) << number;
        if let Some(outstanding) = self.outstanding.get_mut(number) {
            // A warp issues in the order of time: what is complete now counts for no later wait.
            outstanding.retain(|other| *other > now);
            outstanding.push(done);
        }
    }

    /// Returns the cycle when the count of a scoreboard is 0, and whether a memory access raised it last.
    pub(super) fn release_cycle(&self, number: usize) -> (u64, bool) {
        (self.release[number], self.memory >> number & 1 == 1)
    }

    /// Returns the cycle when the count of a scoreboard is at most `most`, and whether a memory access raised it
    /// last. For example, with completions in cycles 30, 50 and 40 the count is at most 1 from cycle 40 on.
    pub(super) fn release_cycle_to(&self, number: usize, most: u8) -> (u64, bool) {
        let (_, is_memory) = self.release_cycle(number);
        let mut times = self.outstanding.get(number).cloned().unwrap_or_default();
        // Results may complete out of order: the count is `most` when all but the `most` latest have completed.
        times.sort_unstable_by(|a, b| b.cmp(a));
        let time = times.get(usize::from(most)).copied();
        (time.unwrap_or(0), is_memory)
    }
}

#[cfg(test)]
mod tests {
    use super::Scoreboards;

    #[test]
    fn scoreboards_count_outstanding_results() {
        let mut scoreboards = Scoreboards::new(true);
        assert_eq!(scoreboards.release_cycle(2), (0, false));
        assert_eq!(scoreboards.release_cycle_to(2, 0), (0, false));
        scoreboards.raise(2, 1, 30, true);
        scoreboards.raise(2, 2, 50, true);
        scoreboards.raise(2, 3, 40, true);
        scoreboards.raise(3, 3, 90, false);
        assert_eq!(scoreboards.release_cycle(2), (50, true));
        assert_eq!(scoreboards.release_cycle(3), (90, false));
        let waits = [0, 1, 2, 3].map(|most| scoreboards.release_cycle_to(2, most).0);
        assert_eq!(waits, [50, 40, 30, 0]);
        // Completed results do not count.
        scoreboards.raise(2, 45, 60, true);
        let waits = [0, 1, 2].map(|most| scoreboards.release_cycle_to(2, most).0);
        assert_eq!(waits, [60, 50, 0]);
    }
}
