//! Timing state of a warp.

use warpbound_ir::Cell;
use warpbound_simt::Mask;

use super::event::{Stall, StallCycles, WarpPlace};
use super::scoreboard::Scoreboards;

/// Timing state of a warp.
pub(super) struct Warp {
    pub(super) place: WarpPlace,
    /// Index of its block among the blocks of the SM.
    pub(super) resident: usize,
    /// Instruction that it issues next, and the lanes active then.
    pub(super) at: u32,
    pub(super) active: Mask,
    /// Cycle of its last issue, or of its start.
    pub(super) last_issue: u64,
    /// First cycle when it can issue, as far as that depends on the warp itself.
    pub(super) ready: u64,
    /// Stall cycles between `last_issue` and `ready`, by reason.
    pub(super) stalls: StallCycles,
    pub(super) scoreboards: Scoreboards,
    /// Cycle when each cell is written, and whether by a memory access: the register scoreboard. Empty with control
    /// words.
    pub(super) cells: Vec<(u64, bool)>,
    /// Instruction line in its instruction buffer.
    pub(super) line: Option<u64>,
    /// Cycle when the L2 cache has accepted all its stores.
    pub(super) stores_done: u64,
    /// Cycle when shared memory has served its last access, an atomic operation included: its accesses are served
    /// in order.
    pub(super) shared_served: u64,
}

/// Models of readiness that the code and the setup of a run need.
#[derive(Clone, Copy, Debug)]
pub(super) struct Tracking {
    /// A register scoreboard decides when operands are ready.
    pub(super) cells: bool,
    /// The code has `DEPBAR` instructions, which wait for counts of scoreboards.
    pub(super) counts: bool,
}

impl Warp {
    /// Returns a warp that starts in cycle `now` at an instruction, with some lanes.
    pub(super) fn new(
        place: WarpPlace,
        resident: usize,
        at: u32,
        active: Mask,
        now: u64,
        tracking: Tracking,
    ) -> Warp {
        Warp {
            place,
            resident,
            at,
            active,
            last_issue: now,
            ready: now,
            stalls: [0; 7],
            scoreboards: Scoreboards::new(tracking.counts),
            cells: vec![(0, false); if tracking.cells { Cell::COUNT } else { 0 }],
            line: None,
            stores_done: 0,
            shared_served: 0,
        }
    }

    /// Starts the wait for the next issue after an issue in cycle `now`.
    pub(super) fn restart(&mut self, now: u64) {
        self.last_issue = now;
        self.ready = now;
        self.stalls = [0; 7];
    }

    /// Delays the warp until a cycle. The cycles after the current `ready` are charged to `reason`, so that every
    /// cycle has one reason: the first one that delays the warp past that cycle. For example, if a scoreboard delays
    /// a ready warp until cycle 10, and its unit until cycle 12, the unit is charged 2 cycles.
    #[inline(always)]
    pub(super) fn wait(&mut self, until: u64, reason: Stall) {
        if until > self.ready {
            self.stalls[reason as usize] += until - self.ready;
            self.ready = until;
        }
    }
}
