//! The state of a warp.

use warpbound_ir::Question;
use warpbound_simt::concrete::ActivationStack;

use super::Size;
use super::lanes::{LANES, Mask, LaneValues, gather};
use super::program::{ValueSlot, Dest, ExtraRegister, Program};

/// A warp: 4 bytes for each register and thread, 16 more for its place and its condition code, and a hundred or two for
/// all of its threads.
pub(crate) struct Warp {
    pub(crate) stack: ActivationStack<u32>,
    /// The number of its first thread in the block.
    pub(super) first_thread: u32,
    /// General registers, then the rows of [`Own`].
    pub(super) rows: Vec<LaneValues>,
    pub(super) predicates: [Mask; 8],
    /// Local memory of the lanes, one behind the other; empty until somebody uses it.
    pub(super) local: Vec<u8>,
    /// The barrier at which it waits.
    pub(crate) barrier_wait: Option<Wait>,
    /// What the last question at a barrier was answered with.
    pub(super) barrier_result: u32,
}

/// A warp waits at a barrier.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Wait {
    /// The barrier.
    pub(super) barrier: u32,
    /// For how many threads; `None` is all that have not left.
    pub(super) threads: Option<u32>,
    /// The instruction.
    pub(super) at: u32,
    /// What it asks, in how many of its threads that holds, and of how many.
    pub(super) reduction: Option<(Question, u32, u32)>,
}

/// Threads that were at a barrier and went on.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct ArrivedThreads {
    /// The barrier.
    pub(super) barrier: u32,
    /// How many threads.
    pub(super) threads: u32,
    /// How many the barrier is for.
    pub(super) expected: u32,
}

impl Warp {
    /// A warp at the beginning of a kernel; registers hold 0.
    pub(super) fn new(program: &Program<'_>, entry: u32, number: u32, block: Size) -> Warp {
        let [x, y, _] = block;
        let first = number * LANES as u32;
        let count = (block.iter().product::<u32>() - first).min(LANES as u32);
        let mut rows = vec![[0; LANES]; program.registers + ExtraRegister::COUNT];
        for (axis, place) in [
            (0, |thread, x, _| thread % x),
            (1, |thread, x, y| thread / x % y),
            (2, |thread, x, y| thread / x / y),
        ] as [(u8, fn(u32, u32, u32) -> u32); 3]
        {
            let row = &mut rows[program.registers + ExtraRegister::ThreadIndex(axis).index()];
            *row = std::array::from_fn(|lane| place(first + lane as u32, x, y));
        }
        Warp {
            stack: ActivationStack::new(entry, u64::from(u32::MAX >> (32 - count))),
            first_thread: first,
            rows,
            predicates: [0; 8],
            local: Vec::new(),
            barrier_wait: None,
            barrier_result: 0,
        }
    }

    /// The lane's place in its block.
    pub(super) fn thread_index(&self, registers: usize, lane: usize) -> Size {
        [0, 1, 2].map(|axis| self.rows[registers + ExtraRegister::ThreadIndex(axis).index()][lane])
    }

    /// Writes a row in some lanes.
    #[inline(always)]
    pub(super) fn write(&mut self, to: Dest, row: &LaneValues, taken: Mask) {
        match to {
            Dest::Register(own) => blend(&mut self.rows[usize::from(own)], row, taken),
            Dest::Predicate(number) => self.write_predicate(number, gather(row), taken),
        }
    }

    /// Writes a predicate in some lanes.
    #[inline(always)]
    pub(super) fn write_predicate(&mut self, number: u8, holds: Mask, taken: Mask) {
        let mask = &mut self.predicates[usize::from(number & 7)];
        *mask = *mask & !taken | holds & taken;
    }
}

#[inline(always)]
fn blend(old: &mut LaneValues, new: &LaneValues, taken: Mask) {
    if taken == Mask::MAX {
        *old = *new;
        return;
    }
    for (lane, (old, new)) in old.iter_mut().zip(new).enumerate() {
        *old = if taken >> lane & 1 == 1 { *new } else { *old };
    }
}

/// The rows that an operation can read.
pub(super) struct Rows<'a> {
    pub(super) warp: &'a [LaneValues],
    pub(super) grid: &'a [LaneValues],
    pub(super) block: &'a [LaneValues],
    pub(super) scratch: &'a [LaneValues],
}

impl<'a> Rows<'a> {
    #[inline(always)]
    pub(super) fn get(&self, at: ValueSlot) -> &'a LaneValues {
        match at {
            ValueSlot::Warp(row) => &self.warp[usize::from(row)],
            ValueSlot::Grid(row) => &self.grid[usize::from(row)],
            ValueSlot::Block(axis) => &self.block[usize::from(axis)],
            ValueSlot::Scratch(row) => &self.scratch[usize::from(row)],
        }
    }
}
