//! Short sequences whose waits are easily counted wrong. Random code contains them too, but rarely.

use super::generate::{Lanes, ProgramDraft, Space};
use super::slot::{Raises, SCOREBOARDS};
use super::words;

impl ProgramDraft<'_> {
    /// Writes one of the sequences.
    pub(super) fn idiom(&mut self, depth: usize) {
        match self.rng.u8(0..14) {
            0 => self.raised_twice(),
            1 => self.raised_in_loop(),
            2 => self.awaited_in_loop(),
            3 => self.split_pair(),
            4 => self.load_across_branch(depth),
            5 => self.store_burst(),
            6 => self.wide_accesses(),
            7 => self.atomic_then_load(),
            8..=9 => self.full_queue(),
            10 => self.drain_after_load(),
            11..=12 => self.depbar_chain(),
            _ => self.chain_of_pairs(),
        }
    }

    fn scoreboard(&mut self) -> u8 {
        self.rng.u8(0..SCOREBOARDS)
    }

    /// Writes a load that raises a scoreboard.
    fn raising_load(&mut self, scoreboard: u8) {
        let space = self.pick(&[Space::Global, Space::Global, Space::Shared, Space::Local]);
        self.load(space).write = Some(scoreboard);
    }

    /// Writes arithmetic that waits for a scoreboard.
    fn waiting(&mut self, scoreboard: u8) {
        let (to, a) = (self.data(4), self.data(4));
        let word = words::add_number(to, a, 1);
        self.emit(word, Raises::Nothing).waits |= 1 << scoreboard;
    }

    fn raised_twice(&mut self) {
        let scoreboard = self.scoreboard();
        for _ in 0..self.rng.usize(2..5) {
            self.raising_load(scoreboard);
        }
        self.waiting(scoreboard);
    }

    fn raised_in_loop(&mut self) {
        let scoreboard = self.scoreboard();
        self.loop_around(|draft| draft.raising_load(scoreboard));
        self.waiting(scoreboard);
    }

    fn awaited_in_loop(&mut self) {
        let scoreboard = self.scoreboard();
        self.raising_load(scoreboard);
        self.loop_around(|draft| {
            draft.arithmetic();
            draft.waiting(scoreboard);
            if draft.rng.bool() {
                draft.raising_load(scoreboard);
            }
        });
    }

    /// Writes a pair whose second instruction waits for a load.
    fn split_pair(&mut self) {
        let scoreboard = self.scoreboard();
        self.raising_load(scoreboard);
        let (to, a) = (self.data(4), self.data(4));
        self.emit(words::add_number(to, a, 1), Raises::Nothing).code = 16;
        self.waiting(scoreboard);
    }

    /// Writes a load before a conditional or in it, and the wait after it.
    fn load_across_branch(&mut self, depth: usize) {
        let scoreboard = self.scoreboard();
        self.raising_load(scoreboard);
        if depth < 2 {
            self.conditional(depth);
        }
        self.waiting(scoreboard);
    }

    /// Writes more stores than a small window takes, without waits.
    fn store_burst(&mut self) {
        let space = self.pick(&[Space::Global, Space::Global, Space::Global, Space::Shared]);
        let shift = self.rng.u32(2..9);
        self.set_address(space, Lanes::Strided(shift), 4);
        for nth in 0..self.rng.u32(33..40) {
            let slot = self.store_at(space, 64 * nth, 4);
            (slot.waits, slot.code) = (0, 1);
        }
    }

    /// Writes accesses of several words a lane.
    fn wide_accesses(&mut self) {
        let space = self.pick(&[Space::Global, Space::Global, Space::Local, Space::Shared]);
        let bytes = self.pick(&[8, 16, 16]);
        let lanes = match self.rng.bool() {
            true => Lanes::Uniform,
            false => Lanes::Random,
        };
        self.set_address(space, lanes, bytes);
        for nth in 0..self.rng.u32(1..5) {
            match self.rng.bool() {
                true => self.load_at(space, 16 * nth, bytes),
                false => self.store_at(space, 16 * nth, bytes),
            };
        }
    }

    /// Writes atomic operations and loads of the same lines.
    fn atomic_then_load(&mut self) {
        let space = self.pick(&[Space::Global, Space::Global, Space::Shared]);
        let shift = self.rng.u32(2..6);
        self.set_address(space, Lanes::Strided(shift), 4);
        for _ in 0..self.rng.usize(1..3) {
            self.atomic_at(space, 0);
        }
        let scoreboard = self.scoreboard();
        self.load_at(space, 0, 4).write = Some(scoreboard);
        self.waiting(scoreboard);
    }

    /// Writes more instructions for one unit than its queue takes, a cycle apart.
    fn full_queue(&mut self) {
        let kind = self.rng.u8(0..4);
        for _ in 0..self.rng.usize(6..12) {
            let (to, a, number) = (self.data(8), self.data(8), self.rng.usize(..));
            let word = match kind {
                0 => words::special_function(number, to, a),
                1 => words::double(number, to, a, a, to),
                2 => words::half(number, to, a, a, to),
                _ => words::shuffle(0, to, a, 3),
            };
            let slot = self.emit(word, Raises::ReadAndWrite);
            (slot.waits, slot.code) = (0, 1);
        }
    }

    /// Writes an instruction with code 0 after a load.
    fn drain_after_load(&mut self) {
        let scoreboard = self.scoreboard();
        self.raising_load(scoreboard);
        let (to, a) = (self.data(4), self.data(4));
        let slot = self.emit(words::add_number(to, a, 1), Raises::Nothing);
        (slot.waits, slot.code) = (0, 0);
    }

    /// Writes loads that raise one scoreboard, then waits for all but some of them.
    fn depbar_chain(&mut self) {
        let scoreboard = self.scoreboard();
        let loads = self.rng.u8(2..7);
        for _ in 0..loads {
            self.raising_load(scoreboard);
        }
        for most in (0..loads).rev() {
            if most < 4 || self.rng.bool() {
                let word = words::depbar(scoreboard, most, 0);
                self.emit(word, Raises::Nothing).waits = 0;
            }
            if self.rng.bool() {
                self.arithmetic();
            }
        }
    }

    /// Writes instructions that all pair with the next one.
    fn chain_of_pairs(&mut self) {
        for nth in 0..self.rng.usize(2..7) {
            match nth % 2 {
                0 => self.arithmetic(),
                _ => self.other_unit(),
            }
            self.set_last_code(16);
        }
    }
}
