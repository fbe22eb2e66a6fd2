//! The state of a warp.

use warpbound_ir::BarrierReduction;
use warpbound_simt::{ExecutionModel, Mask};

use super::lanes::{LaneValues, blend, gather};
use super::program::{Dest, ExtraRegister, PREDICATE_MASKS, Program, RegisterRows, ValueSlot};
use super::{Launch, Size};

/// State of a warp of `W` lanes that diverge by the rules of `E`. Its size is 4 bytes per register and thread, 16 bytes
/// per thread for [`ExtraRegister`]s, and two to three hundred bytes per warp.
pub(crate) struct Warp<E, const W: usize> {
    /// State in the execution model; points are operation indices.
    pub(crate) model: E,
    /// Linear index of its first thread in the block.
    pub(super) first_thread: u32,
    /// Number of its threads: a split has a part of the threads of its wave, a merged split none.
    pub(super) threads: u32,
    /// General registers, then [`ExtraRegister`]s.
    pub(super) rows: Vec<LaneValues<W>>,
    pub(super) predicates: [Mask; PREDICATE_MASKS],
    /// Words of the warp, by number; none if the program names none.
    pub(super) words: Vec<u32>,
    /// Local memory of the lanes, lane after lane; allocated at the first access.
    pub(super) local: Vec<u8>,
    /// Pending barrier, if the warp is blocked.
    pub(crate) barrier_wait: Option<Wait>,
    /// Result of the last barrier reduction.
    pub(super) barrier_result: u32,
}

/// Barrier at which a warp is blocked.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Wait {
    /// Number of the barrier.
    pub(super) barrier: u32,
    /// Expected number of threads; `None` for all that have not exited.
    pub(super) threads: Option<u32>,
    /// Index of the barrier operation.
    pub(super) at: u32,
    /// Reduction: the question, the number of threads whose predicate is true, and the number of all threads.
    pub(super) reduction: Option<(BarrierReduction, u32, u32)>,
}

/// Threads that arrived at a barrier without waiting (`barrier.arrive`).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct ArrivedThreads {
    /// Number of the barrier.
    pub(super) barrier: u32,
    /// Number of threads that arrived.
    pub(super) threads: u32,
    /// Number of threads that the barrier expects.
    pub(super) expected: u32,
}

impl<E: ExecutionModel<u32>, const W: usize> Warp<E, W> {
    /// Returns a warp of the block `index` at the kernel's entry; registers without a defined value hold 0.
    pub(super) fn new(program: &Program<'_, W>, launch: &Launch, index: Size, number: u32) -> Self {
        let (entry, block) = (program.code.entry.0, launch.block);
        let [x, y, _] = block;
        let first = number * W as u32;
        // At least 1, because a block has no warp without threads; so the shift below is by less than 64.
        let count = (block.iter().product::<u32>() - first).min(W as u32);
        let mut rows = vec![[0; W]; program.registers.count() + ExtraRegister::COUNT];
        // CUDA numbers the threads of a block x + y·X + z·X·Y; a warp has consecutive ones (SOUNDNESS 5.9).
        for (axis, place) in [
            (0, |thread, x, _| thread % x),
            (1, |thread, x, y| thread / x % y),
            (2, |thread, x, y| thread / x / y),
        ] as [(u8, fn(u32, u32, u32) -> u32); 3]
        {
            let row = &mut rows[program.registers.extra(ExtraRegister::ThreadIndex(axis))];
            *row = std::array::from_fn(|lane| place(first + lane as u32, x, y));
        }
        let active = Mask::MAX >> (64 - count);
        let mut warp = Self {
            model: E::new(entry, active, program.order),
            first_thread: first,
            threads: count,
            rows,
            predicates: [0; PREDICATE_MASKS],
            words: vec![0; program.words],
            local: Vec::new(),
            barrier_wait: None,
            barrier_result: 0,
        };
        if let Some(entry) = &launch.wave_entry {
            for (number, value) in entry.scalars(index, number) {
                warp.set_word(number, value);
            }
            // The code may name fewer registers than the launch defines.
            let rows = warp.rows.iter_mut().take(program.registers.vectors());
            for (row, values) in rows.zip(entry.vectors(number)) {
                for (to, from) in row.iter_mut().zip(values) {
                    *to = from;
                }
            }
        }
        warp
    }

    /// Value of a word of the warp; 0 if there is none.
    #[inline(always)]
    pub(super) fn word(&self, number: u8) -> u32 {
        self.words.get(usize::from(number)).copied().unwrap_or(0)
    }

    /// The mask in two words of the warp.
    #[inline(always)]
    pub(super) fn mask(&self, [low, high]: [u8; 2]) -> Mask {
        Mask::from(self.word(low)) | Mask::from(self.word(high)) << 32
    }

    /// Writes a word of the warp.
    #[inline(always)]
    pub(super) fn set_word(&mut self, number: u8, value: u32) {
        if let Some(word) = self.words.get_mut(usize::from(number)) {
            *word = value;
        }
    }

    /// Writes a mask to two words of the warp.
    #[inline(always)]
    pub(super) fn set_mask(&mut self, [low, high]: [u8; 2], mask: Mask) {
        self.set_word(low, mask as u32);
        self.set_word(high, (mask >> 32) as u32);
    }

    /// Thread index of a lane in its block.
    pub(super) fn thread_index(&self, registers: RegisterRows, lane: usize) -> Size {
        [0, 1, 2].map(|axis| self.rows[registers.extra(ExtraRegister::ThreadIndex(axis))][lane])
    }

    /// Writes lane values in the `taken` lanes.
    #[inline(always)]
    pub(super) fn write(&mut self, to: Dest, row: &LaneValues<W>, taken: Mask) {
        match to {
            Dest::Register(own) => blend(&mut self.rows[usize::from(own)], row, taken),
            Dest::Predicate(number) => self.write_predicate(number, gather(row), taken),
            Dest::Ballot(words) => {
                let mask = gather(row) & taken;
                for (word, value) in words.into_iter().zip([mask, mask >> 32]) {
                    if let Some(number) = word {
                        self.set_word(number, value as u32);
                    }
                }
            }
            Dest::Word(number) => self.set_word(number, row[0]),
        }
    }

    /// Writes a predicate in the `taken` lanes.
    #[inline(always)]
    pub(super) fn write_predicate(&mut self, number: u8, holds: Mask, taken: Mask) {
        let mask = &mut self.predicates[usize::from(number) % PREDICATE_MASKS];
        *mask = *mask & !taken | holds & taken;
    }
}

/// Values that an operation can read.
pub(super) struct Rows<'a, const W: usize> {
    pub(super) warp: &'a [LaneValues<W>],
    pub(super) grid: &'a [LaneValues<W>],
    pub(super) block: &'a [LaneValues<W>],
    pub(super) scratch: &'a [LaneValues<W>],
}

impl<'a, const W: usize> Rows<'a, W> {
    /// Returns the values of a slot.
    #[inline(always)]
    pub(super) fn get(&self, at: ValueSlot) -> &'a LaneValues<W> {
        match at {
            ValueSlot::Warp(row) => &self.warp[usize::from(row)],
            ValueSlot::Grid(row) => &self.grid[usize::from(row)],
            ValueSlot::Block(axis) => &self.block[usize::from(axis)],
            ValueSlot::Scratch(row) => &self.scratch[usize::from(row)],
            // Only operations that are executed once have such slots, and read them one by one.
            ValueSlot::Word(_) => const { &[0; W] },
        }
    }
}
