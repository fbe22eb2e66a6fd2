//! A warp in time.

use warpbound_ir::Cell;

use super::event::{Stall, StallCycles, WarpPlace};
use super::scoreboard::Scoreboards;

/// A warp in time.
pub(super) struct Warp {
    pub(super) place: WarpPlace,
    /// Which of the blocks of its SM it belongs to.
    pub(super) resident: usize,
    /// The instruction that it issues next, and the lanes that are active then.
    pub(super) at: u32,
    pub(super) active: u32,
    /// When it issued last, or began.
    pub(super) issued: u64,
    /// From when on it can issue, as far as it depends on itself.
    pub(super) ready: u64,
    /// What it has waited for until then.
    pub(super) waited: StallCycles,
    pub(super) scoreboards: Scoreboards,
    /// When its cells are written, and whether from memory: for the scoreboard of all registers.
    pub(super) cells: Vec<(u64, bool)>,
    /// The line of instructions that it has.
    pub(super) line: Option<u64>,
    /// When the second level has all that it has stored.
    pub(super) stored: u64,
    /// When shared memory has done its atomic operations: its accesses come in their order.
    pub(super) shared: u64,
}

impl Warp {
    /// It begins at a cycle; `watches` says whether all its registers are watched, `counted` whether its code asks how many
    /// results are outstanding.
    pub(super) fn new(
        place: WarpPlace,
        resident: usize,
        (at, active): (u32, u32),
        now: u64,
        watches: bool,
        counted: bool,
    ) -> Warp {
        Warp {
            place,
            resident,
            at,
            active,
            issued: now,
            ready: now,
            waited: [0; 7],
            scoreboards: Scoreboards::new(counted),
            cells: vec![(0, false); if watches { Cell::COUNT } else { 0 }],
            line: None,
            stored: 0,
            shared: 0,
        }
    }

    /// It has issued at a cycle.
    pub(super) fn restart(&mut self, now: u64) {
        self.issued = now;
        self.ready = now;
        self.waited = [0; 7];
    }

    /// It cannot issue before a cycle, for a reason.
    #[inline(always)]
    pub(super) fn wait(&mut self, until: u64, reason: Stall) {
        if until > self.ready {
            self.waited[reason as usize] += until - self.ready;
            self.ready = until;
        }
    }
}
