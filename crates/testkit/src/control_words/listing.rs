//! Programs written line by line, with loops and regions where lanes diverge.

use warpbound_base::CodeAddr;

use super::generate::{BUFFERS, COUNTERS, GLOBAL, LANE, LOCAL, SCRATCH, SHARED, addr_of};
use super::slot::{Slot, layout};
use super::words::{self, Operand};
use super::{ControlWordProgram, CountedHeader};

/// Position of a line, bound later.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Place(usize);

/// Program while it is written; each instruction has a stall of one cycle unless its slot is changed.
#[derive(Default)]
pub(super) struct Listing {
    lines: Vec<(u64, Slot, Option<Place>)>,
    places: Vec<usize>,
    loops: Vec<(Place, usize, u64)>,
    depth: usize,
}

impl Listing {
    /// Returns a program that has read its lane number and the addresses of its buffers.
    pub(super) fn new() -> Listing {
        let mut listing = Listing::default();
        listing.op(words::special(LANE, words::LANE));
        for (at, to) in (0..4).zip(BUFFERS[0]..) {
            listing.op(words::mov(to, Operand::Constant(0, 0x140 + 4 * at)));
        }
        listing
    }

    /// Appends an instruction; returns its slot.
    pub(super) fn op(&mut self, word: u64) -> &mut Slot {
        self.lines.push((word, Slot::PLAIN, None));
        let last = self.lines.len() - 1;
        &mut self.lines[last].1
    }

    /// Slot of an instruction by its number.
    pub(super) fn slot(&mut self, number: usize) -> &mut Slot {
        &mut self.lines[number].1
    }

    /// Appends an instruction that refers to a place.
    pub(super) fn op_to(&mut self, word: u64, to: Place) {
        self.lines.push((word, Slot::PLAIN, Some(to)));
    }

    /// Number of instructions.
    pub(super) fn len(&self) -> usize {
        self.lines.len()
    }

    /// Returns a place to be bound.
    pub(super) fn place(&mut self) -> Place {
        self.places.push(usize::MAX);
        Place(self.places.len() - 1)
    }

    /// Binds a place to the next instruction.
    pub(super) fn bind(&mut self, place: Place) {
        self.places[place.0] = self.lines.len();
    }

    /// Sets the addresses of accesses to global memory to a buffer, `1 << shift` bytes from lane to lane.
    pub(super) fn global(&mut self, buffer: usize, shift: u32) {
        self.global_at(buffer, words::shift_left(SCRATCH, LANE, shift));
    }

    /// The same with the index of the lane in its warp, where [`LANE`] has the index of the thread.
    pub(super) fn global_of_lane(&mut self, buffer: usize, shift: u32) {
        self.op(words::and(SCRATCH, LANE, 31));
        self.global_at(buffer, words::shift_left(SCRATCH, SCRATCH, shift));
    }

    /// Sets the addresses of accesses to global memory to a buffer; `offset` computes the distances.
    fn global_at(&mut self, buffer: usize, offset: u64) {
        let base = BUFFERS[buffer];
        self.op(offset);
        self.op(words::add_low(GLOBAL, base, SCRATCH));
        self.op(words::add_high(GLOBAL + 1, base + 1, words::RZ));
    }

    /// Sets the addresses of accesses to shared and to local memory.
    pub(super) fn shared_and_local(&mut self, shared: u32, local: u32) {
        self.op(words::shift_left(SHARED, LANE, shared));
        self.op(words::shift_left(LOCAL, LANE, local));
    }

    /// Appends `count` instructions of fixed latency that take `cycles` each.
    pub(super) fn chain(&mut self, count: usize, cycles: u8) {
        for _ in 0..count {
            self.op(words::add_number(40, 40, 1)).code = cycles;
        }
    }

    /// Appends an instruction that waits for scoreboards.
    pub(super) fn wait(&mut self, mask: u8) {
        self.op(words::add_number(41, 41, 1)).waits = mask;
    }

    /// Appends a loop with a count.
    pub(super) fn repeat(&mut self, count: u32, body: impl FnOnce(&mut Listing)) {
        let counter = COUNTERS[self.depth];
        self.op(words::mov32(counter, 0));
        let header = self.place();
        self.bind(header);
        self.depth += 1;
        body(self);
        self.depth -= 1;
        self.op(words::add_number(counter, counter, 1));
        let predicate = self.depth as u8;
        self.op(words::compare(
            words::LESS,
            predicate,
            counter,
            count as i32,
        ));
        let latch = self.lines.len();
        self.op_to(words::guarded(words::BRANCH, predicate, false), header);
        self.loops.push((header, latch, count.into()));
    }

    /// Appends a region that the lanes below 16 and the others execute one after the other.
    pub(super) fn diverge(
        &mut self,
        low: impl FnOnce(&mut Listing),
        high: impl FnOnce(&mut Listing),
    ) {
        let (other, end) = (self.place(), self.place());
        self.op(words::compare(words::LESS, 3, LANE, 16));
        self.op_to(words::PUSH_SYNC, end);
        self.op_to(words::guarded(words::BRANCH, 3, true), other);
        low(self);
        self.op(words::SYNC);
        self.bind(other);
        high(self);
        self.op(words::SYNC);
        self.bind(end);
    }

    /// Appends what warps execute unless their number modulo 4 compares with another one. [`LANE`] has the index of the
    /// thread.
    pub(super) fn unless_warp(
        &mut self,
        (comparison, warp): (u64, u32),
        body: impl FnOnce(&mut Listing),
    ) {
        let (skip, end) = (self.place(), self.place());
        self.op(words::and(SCRATCH, LANE, 0x60));
        let skips = words::compare(comparison, 2, SCRATCH, 32 * warp as i32);
        self.op(skips).code = 6;
        self.op_to(words::PUSH_SYNC, end);
        self.op_to(words::guarded(words::BRANCH, 2, false), skip);
        body(self);
        self.op(words::SYNC);
        self.bind(skip);
        self.op(words::SYNC);
        self.bind(end);
    }

    /// Returns the program, ended by `EXIT`.
    pub(super) fn finish(self) -> ControlWordProgram {
        self.finish_with(Slot::PLAIN)
    }

    /// Returns the program, ended by `EXIT` with a slot.
    pub(super) fn finish_with(mut self, end: Slot) -> ControlWordProgram {
        *self.op(words::EXIT) = end;
        let places = &self.places;
        let word = |(number, &(word, slot, to)): (usize, &(u64, Slot, Option<Place>))| match to {
            Some(to) => {
                let next = i64::from(addr_of(number)) + 8;
                let distance = i64::from(addr_of(places[to.0])) - next;
                (words::to_target(word, distance), slot)
            }
            None => (word, slot),
        };
        let instrs: Vec<(u64, Slot)> = self.lines.iter().enumerate().map(word).collect();
        let of_loop = |&(header, latch, per_entry): &(Place, usize, u64)| CountedHeader {
            header: CodeAddr(addr_of(places[header.0])),
            latch: CodeAddr(addr_of(latch)),
            per_entry,
        };
        let mut loops: Vec<CountedHeader> = self.loops.iter().map(of_loop).collect();
        loops.sort_by_key(|fact| fact.header);
        ControlWordProgram {
            seed: 0,
            code: layout(&instrs, words::NOP),
            loops,
            threads: 32,
            limit: 8,
        }
    }
}
