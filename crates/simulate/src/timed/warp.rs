//! Timing state of a warp.

use warpbound_simt::Mask;

use super::event::{Stall, StallCycles, WarpPlace};

/// Timing state of a warp that only its family has.
pub(super) trait WarpState {
    /// Returns the first cycle, not before a cycle, when the scheduler of the warp issues.
    #[inline(always)]
    fn first_turn(&self, cycle: u64) -> u64 {
        cycle
    }
}

/// Timing state of a warp.
#[derive(Clone, Debug)]
pub(super) struct Warp<S> {
    pub(super) place: WarpPlace,
    /// Index of its block among the blocks of its multiprocessor.
    pub(super) resident: usize,
    /// Index in the functional state of its block.
    pub(super) index: usize,
    /// Instruction that it issues next, and the lanes active then.
    pub(super) at: u32,
    pub(super) active: Mask,
    /// Cycle of its last issue, or of its start.
    pub(super) last_issue: u64,
    /// First cycle when it can issue, as far as that depends on the warp itself.
    pub(super) ready: u64,
    /// Stall cycles between `last_issue` and `ready`, by reason.
    pub(super) stalls: StallCycles,
    /// Instruction line in its instruction buffer.
    pub(super) line: Option<u64>,
    pub(super) own: S,
}

impl<S: WarpState> Warp<S> {
    /// Starts the wait for the next issue after an issue in cycle `now`.
    #[inline(always)]
    pub(super) fn restart(&mut self, now: u64) {
        self.last_issue = now;
        self.ready = now;
        self.stalls = [0; 7];
    }

    /// Delays the warp until a cycle, or the first one from then on when its scheduler issues. The cycles after the
    /// current `ready` are charged to `reason`, so that every cycle has one reason: the first one that delays the warp
    /// past that cycle. For example, if a scoreboard delays a ready warp until cycle 10, and its unit until cycle 12,
    /// the unit is charged 2 cycles.
    #[inline(always)]
    pub(super) fn wait(&mut self, until: u64, reason: Stall) {
        if until > self.ready {
            let turn = self.own.first_turn(until);
            self.stalls[reason as usize] += turn - self.ready;
            self.ready = turn;
        }
    }
}
