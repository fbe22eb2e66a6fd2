//! State of a lone warp as a vector of absolute times.
//!
//! All times of a run are at most the components of this vector, which a transfer function for each instruction
//! advances. Transfer functions are monotone, and a delay of all components by whole cycles delays their results by
//! as many (SOUNDNESS 11.1). For example, if the release of a scoreboard moves from 40 to 45, no component after the
//! next instruction is earlier.

use warpbound_base::GroupedCode;

use crate::numbers::MILLI;

/// Number of scoreboards of a warp. The counters of a wave take the place of the first ones.
pub(crate) const SCOREBOARDS: usize = GroupedCode::WITH_THREE_SLOTS.scoreboards as usize;

/// Age limit in cycles: older times are raised to this time before the next possible issue. That is later than they
/// are, and too early to delay anything.
const HORIZON: i64 = 1 << 11;

/// Components of a time vector that always exist.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(usize)]
pub(crate) enum Part {
    /// Last issue, or the start of the warp.
    LastIssue,
    /// First possible issue of the next instruction, as far as known.
    Ready,
    /// Cycle of the request of the next instruction and its constants: the last issue, or the release of a barrier.
    Requested,
    /// Completion of the last instruction that may have used the pipe `Fxu`, and `Fmai`.
    Fxu,
    Fmai,
    /// Completion of the last and of the second last instruction of either pipe.
    LastPipe,
    SecondLastPipe,
    /// Shared memory of the SM is free.
    Shared,
    /// Shared memory has served the warp's last access, an atomic operation included.
    SharedServed,
    /// The counter of barrier arrivals is free.
    Barrier,
    /// The tags of the L1 unit, the port to the L2 cache, its slices and DRAM are free.
    Tags,
    Port,
    Slice,
    Dram,
    /// The page tables have been walked for all translations on their way.
    Translated,
    /// Latest arrival of a line that a load from a constant bank has requested.
    LoadedConstants,
    /// Latest completion of a load from global or local memory.
    Loaded,
    /// Latest arrival of sectors from DRAM.
    Arrived,
    /// Latest completion of an atomic operation on global memory.
    Atomic,
    /// The L2 cache has accepted all stores.
    Stored,
    /// First of the scoreboards, or of the registers of a wave.
    Scoreboards,
}

/// Parts before the scoreboards.
const FIXED: usize = Part::Scoreboards as usize;

/// Numbers of the components of a time vector that differ between kernels, machines and kinds of code.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) struct LayoutShape {
    /// Whether each counter of outstanding results has a release time of its own, as scoreboards do.
    pub(crate) has_releases: bool,
    /// Registers with times of their own.
    pub(crate) registers: usize,
    /// Units with departures, the entries of each, and the unit of memory accesses.
    pub(crate) queues: usize,
    pub(crate) queue: usize,
    pub(crate) memory_queue: usize,
    /// Outstanding results kept for each scoreboard or counter.
    pub(crate) counted: usize,
    /// Accesses kept in the windows of loads and stores.
    pub(crate) loads: usize,
    pub(crate) stores: usize,
    /// Whether some load may hit the L1 cache, and wait for a line in flight.
    pub(crate) hits_l1: bool,
}

/// Positions of the components of a kernel's time vectors.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Layout {
    pub(crate) shape: LayoutShape,
    len: usize,
    /// Oldest time of a vector, relative to the next possible issue, in thousandths of cycles.
    pub(crate) horizon: i64,
}

impl Layout {
    pub(crate) fn new(shape: LayoutShape) -> Layout {
        let mut layout = Layout {
            shape,
            len: 0,
            horizon: -HORIZON * MILLI,
        };
        layout.len = layout.window(true).end;
        layout
    }

    /// Position of the release times of scoreboards.
    fn releases(&self) -> std::ops::Range<usize> {
        let count = if self.shape.has_releases {
            SCOREBOARDS
        } else {
            0
        };
        FIXED..FIXED + count
    }

    /// Position of the times of registers.
    fn registers(&self) -> std::ops::Range<usize> {
        let first = self.releases().end;
        first..first + self.shape.registers
    }

    /// Position of the departures from a unit, latest first.
    fn departures(&self, unit: usize) -> std::ops::Range<usize> {
        let first = self.registers().end + unit * self.shape.queue;
        first..first + self.shape.queue
    }

    /// Position of the outstanding results of a scoreboard or counter, latest first.
    fn outstanding(&self, scoreboard: usize) -> std::ops::Range<usize> {
        let first = self.departures(self.shape.queues).start + scoreboard * self.shape.counted;
        first..first + self.shape.counted
    }

    /// Position of the completions of the last accesses of a window, latest first.
    fn window(&self, stores: bool) -> std::ops::Range<usize> {
        let first = self.outstanding(SCOREBOARDS).start;
        let LayoutShape {
            loads, stores: all, ..
        } = self.shape;
        match stores {
            false => first..first + loads,
            true => first + loads..first + loads + all,
        }
    }

    /// Scoreboard or counter that a position belongs to.
    pub(crate) fn scoreboard_at(&self, position: usize) -> Option<usize> {
        let releases = self.releases();
        if releases.contains(&position) {
            return Some(position - releases.start);
        }
        let lists = self.outstanding(0).start..self.outstanding(SCOREBOARDS).start;
        // If scoreboards have release times, instructions are charged for these.
        (!self.shape.has_releases && lists.contains(&position))
            .then(|| (position - lists.start) / self.shape.counted.max(1))
    }

    /// Whether a position belongs to a result that is pending for long: a scoreboard, the results that it counts, a
    /// translation, a load or an atomic operation.
    pub(crate) fn is_pending(&self, position: usize) -> bool {
        let parts = [Part::Arrived, Part::Translated, Part::Loaded, Part::Atomic];
        parts.iter().any(|&part| part as usize == position)
            || self.releases().contains(&position)
            || (self.outstanding(0).start..self.window(false).start).contains(&position)
    }

    /// Term of the cause of a wait for a component, for the terms of a report.
    pub(crate) fn cause(&self, position: usize) -> crate::Term {
        use crate::Term;
        if position >= self.window(false).start {
            return Term::GlobalMemory;
        }
        match position {
            p if p == Part::Shared as usize || p == Part::SharedServed as usize => {
                Term::SharedMemory
            }
            p if p == Part::Barrier as usize => Term::Synchronisation,
            p if p == Part::LoadedConstants as usize => Term::Constants,
            p if p == Part::Requested as usize => Term::Fetch,
            p if (Part::Tags as usize..=Part::Stored as usize).contains(&p) => Term::GlobalMemory,
            _ => Term::Dependencies,
        }
    }
}

/// Times of a lone warp, in thousandths of cycles, at the positions of a [`Layout`].
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct TimeVector(pub(crate) Vec<i64>);

impl TimeVector {
    /// Returns the vector of a warp that starts at a time; nothing else has happened.
    pub(crate) fn start(layout: &Layout, at: i64) -> TimeVector {
        let mut vector = TimeVector(vec![at + layout.horizon; layout.len]);
        // Registers are kept at the next possible issue or later, see `settle_registers`.
        vector.0[layout.registers()].fill(at);
        vector.set(Part::LastIssue, at);
        vector.set(Part::Ready, at);
        vector.set(Part::Requested, at);
        vector
    }

    pub(crate) fn get(&self, part: Part) -> i64 {
        self.0[part as usize]
    }

    pub(crate) fn set(&mut self, part: Part, at: i64) {
        self.0[part as usize] = at;
    }

    /// Raises a component to a time.
    pub(crate) fn raise(&mut self, part: Part, at: i64) {
        let known = &mut self.0[part as usize];
        *known = (*known).max(at);
    }

    /// Release time of a scoreboard.
    pub(crate) fn scoreboard(&self, number: usize) -> i64 {
        self.0[FIXED + number]
    }

    /// Raises a scoreboard that is released at a time.
    pub(crate) fn raise_scoreboard(&mut self, layout: &Layout, number: usize, at: i64) {
        let known = &mut self.0[FIXED + number];
        *known = (*known).max(at);
        insert_latest(&mut self.0[layout.outstanding(number)], at);
    }

    /// Adds an outstanding result of a counter, which is complete at a time.
    pub(crate) fn count(&mut self, layout: &Layout, counter: usize, at: i64) {
        insert_latest(&mut self.0[layout.outstanding(counter)], at);
    }

    /// Raises all outstanding results of a counter to the latest of them.
    pub(crate) fn level_counter(&mut self, layout: &Layout, counter: usize) {
        let kept = &mut self.0[layout.outstanding(counter)];
        if let Some(&latest) = kept.first() {
            kept.fill(latest);
        }
    }

    /// Time of a register.
    pub(crate) fn register(&self, layout: &Layout, number: usize) -> i64 {
        self.0
            .get(layout.registers().start + number)
            .copied()
            // A register without a time delays nothing; half the minimum cannot overflow in sums.
            .unwrap_or(i64::MIN / 2)
    }

    /// Sets the time of a register.
    pub(crate) fn set_register(&mut self, layout: &Layout, number: usize, at: i64) {
        if let Some(known) = self.0[layout.registers()].get_mut(number) {
            *known = at;
        }
    }

    /// Raises the times of all registers that delay nothing to the next possible issue.
    pub(crate) fn settle_registers(&mut self, layout: &Layout) {
        let ready = self.get(Part::Ready);
        for known in &mut self.0[layout.registers()] {
            *known = (*known).max(ready);
        }
    }

    /// Time at which the count of a scoreboard is at most `most`.
    pub(crate) fn scoreboard_to(&self, layout: &Layout, number: usize, most: usize) -> i64 {
        let kept = &self.0[layout.outstanding(number)];
        // Counts above the number of kept results are no wait: the layout keeps one more than any `DEPBAR` names.
        kept.get(most).copied().unwrap_or(i64::MIN / 2)
    }

    /// Times at which a queued unit accepts an instruction into its queue, and at which it has finished all.
    pub(crate) fn queue(&self, layout: &Layout, unit: usize) -> Option<(i64, i64)> {
        let departures = &self.0[layout.departures(unit)];
        Some((*departures.last()?, *departures.first()?))
    }

    /// Adds the departure of an instruction from a queued unit.
    pub(crate) fn depart(&mut self, layout: &Layout, unit: usize, at: i64) {
        let departures = &mut self.0[layout.departures(unit)];
        // A unit serves its queue in order, so the new departure is the latest.
        departures.rotate_right(1);
        if let Some(first) = departures.first_mut() {
            *first = at;
        }
    }

    /// Delays the departure of the last memory access from its unit.
    pub(crate) fn delay_memory(&mut self, layout: &Layout, until: i64) {
        let range = layout.departures(layout.shape.memory_queue);
        if let Some(first) = self.0[range].first_mut() {
            *first = (*first).max(until);
        }
    }

    /// Time at which all accesses of a window except `left` are complete; all of them if the window keeps fewer.
    pub(crate) fn window(&self, layout: &Layout, stores: bool, left: usize) -> i64 {
        let kept = &self.0[layout.window(stores)];
        kept.get(left)
            .or(kept.last())
            .copied()
            .unwrap_or(i64::MIN / 2)
    }

    /// Adds the completion of an access to its window.
    pub(crate) fn enter_window(&mut self, layout: &Layout, stores: bool, done: i64) {
        insert_latest(&mut self.0[layout.window(stores)], done);
    }

    /// Lowers the scoreboards of a mask, which nothing waits for, to the oldest time.
    pub(crate) fn forget_scoreboards(&mut self, layout: &Layout, mask: u8) {
        // No component is older, so a forgotten scoreboard never decides the cost of a step.
        let never = self.get(Part::Ready) + layout.horizon;
        for number in (0..SCOREBOARDS).filter(|number| mask >> number & 1 == 1) {
            if layout.shape.has_releases {
                self.0[FIXED + number] = never;
            }
            self.0[layout.outstanding(number)].fill(never);
        }
    }

    /// Moves the origin of time to the next possible issue, a whole number of turns. Times that are too old to matter
    /// become equal.
    pub(crate) fn rebase(&mut self, layout: &Layout, turn: i64) {
        // Transfer functions shift with whole turns only, so a vector must be moved by whole turns.
        let origin = (self.get(Part::Ready) + turn - 1).div_euclid(turn) * turn;
        for time in &mut self.0 {
            *time = (*time - origin).max(layout.horizon);
        }
    }
}

impl TimeVector {
    /// Returns the vector in another layout. Lists that are longer there go on with their last time, which is not too
    /// early.
    pub(crate) fn in_layout(&self, own: &Layout, other: &Layout) -> TimeVector {
        let mut converted = TimeVector::start(other, 0);
        let fixed = own.registers().end;
        converted.0[..fixed].copy_from_slice(&self.0[..fixed]);
        let lists = |layout: &Layout| -> Vec<std::ops::Range<usize>> {
            let queues = (0..layout.shape.queues).map(|unit| layout.departures(unit));
            let outstanding = (0..SCOREBOARDS).map(|number| layout.outstanding(number));
            let windows = [false, true].map(|stores| layout.window(stores));
            queues.chain(outstanding).chain(windows).collect()
        };
        for (from, to) in lists(own).into_iter().zip(lists(other)) {
            let known = &self.0[from];
            for (number, time) in converted.0[to].iter_mut().enumerate() {
                if let Some(known) = known.get(number).or(known.last()) {
                    *time = *known;
                }
            }
        }
        for time in &mut converted.0 {
            *time = (*time).max(other.horizon);
        }
        converted
    }
}

/// Inserts a time into times in descending order and drops the earliest. For example, 7 into [9, 5, 3] gives [9, 7,
/// 5].
fn insert_latest(latest: &mut [i64], at: i64) {
    let mut at = at;
    for known in latest {
        if *known < at {
            std::mem::swap(known, &mut at);
        }
    }
}
