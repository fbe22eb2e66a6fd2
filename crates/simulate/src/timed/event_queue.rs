//! Calendar queue of the simulator: events (cycle, id), earliest cycle first.
//!
//! Nearly all events are due within a few cycles. These are bits in a ring of sets, one set per cycle; the rest are
//! in a binary heap (R. Brown, "Calendar queues", CACM 31(10), 1988, with a heap for the later years). For example,
//! in cycle 100 an event of cycle 163 goes to the ring, and one of cycle 164 to the heap.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// Cycle of an event that depends on another warp: a warp at a barrier, a scheduler without ready warps.
pub(super) const NEVER: u64 = u64::MAX;

/// Cycles covered by the ring: more than most instructions delay their warp, and bits of [`EventQueue::occupied`].
const RING_CYCLES: u64 = 64;

/// Calendar queue of (cycle, id): earliest cycle first, lowest id first within a cycle.
///
/// Invariant: no event in the ring is due before `now` or after `now + RING_CYCLES - 1`, so that a cycle modulo
/// `RING_CYCLES` identifies its set.
pub(super) struct EventQueue {
    /// Cycle of the last event taken.
    now: u64,
    /// Set of ids for each cycle of the ring.
    ring: Vec<u64>,
    /// Words of a set.
    words: usize,
    /// Mask of the cycles of the ring that have events.
    occupied: u64,
    /// Events that were due after the ring when they were added.
    far: BinaryHeap<Reverse<(u64, u32)>>,
}

impl EventQueue {
    /// Returns an empty queue for ids below a limit.
    pub(super) fn new(limit: u32) -> EventQueue {
        let words = (limit as usize).div_ceil(64).max(1);
        EventQueue {
            now: 0,
            ring: vec![0; words * RING_CYCLES as usize],
            words,
            occupied: 0,
            far: BinaryHeap::new(),
        }
    }

    /// Adds an event at a cycle that is not before the last event taken. A duplicate in the ring has no effect.
    pub(super) fn push(&mut self, cycle: u64, id: u32) {
        if cycle - self.now < RING_CYCLES {
            let set = (cycle % RING_CYCLES) as usize;
            self.ring[set * self.words + id as usize / 64] |= 1 << (id % 64);
            self.occupied |= 1 << set;
        } else {
            self.far.push(Reverse((cycle, id)));
        }
    }

    /// Removes and returns the first event.
    pub(super) fn pop(&mut self) -> Option<(u64, u32)> {
        let near = self.first_ring_cycle();
        let next = match (near, self.far.peek()) {
            (None, None) => return None,
            (Some(cycle), None) => cycle,
            (None, Some(Reverse((cycle, _)))) => *cycle,
            // An event of the heap may have come nearer than all events of the ring since it was added.
            (Some(near), Some(Reverse((far, _)))) => near.min(*far),
        };
        self.now = next;
        // Events of this cycle move from the heap to the ring, which then has all of them and orders them by id.
        while let Some(&Reverse((cycle, id))) = self.far.peek()
            && cycle == next
        {
            self.far.pop();
            self.push(cycle, id);
        }
        let set = (next % RING_CYCLES) as usize;
        let words = &mut self.ring[set * self.words..(set + 1) * self.words];
        let word = words.iter().position(|word| *word != 0)?;
        let bit = words[word].trailing_zeros();
        words[word] &= words[word] - 1;
        if words[word..].iter().all(|word| *word == 0) {
            self.occupied &= !(1 << set);
        }
        Some((next, word as u32 * 64 + bit))
    }

    /// Returns the first cycle of the ring that has events.
    fn first_ring_cycle(&self) -> Option<u64> {
        // Bit 0 becomes the set of `now`, before which the ring has no event (invariant).
        let from_now = self.occupied.rotate_right((self.now % RING_CYCLES) as u32);
        (from_now != 0).then(|| self.now + u64::from(from_now.trailing_zeros()))
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    /// Random events come in the order of a sorted set.
    #[test]
    fn in_the_order_of_time() {
        let mut random = fastrand::Rng::with_seed(3);
        let mut queue = EventQueue::new(200);
        let mut expected = BTreeSet::new();
        let mut now = 0;
        for _ in 0..50_000 {
            if random.u32(0..2) == 0 || expected.is_empty() {
                // Distances of up to 511 cycles, so that some events go to the heap.
                let distance = 1 << random.u32(0..10);
                let entry = (now + random.u64(0..distance), random.u32(0..200));
                // Each entry once, because a duplicate in the ring has no effect.
                if expected.insert(entry) {
                    queue.push(entry.0, entry.1);
                }
            } else {
                let first = expected.pop_first();
                assert_eq!(queue.pop(), first);
                now = first.unwrap().0;
            }
        }
        while let Some(first) = expected.pop_first() {
            assert_eq!(queue.pop(), Some(first));
        }
        assert_eq!(queue.pop(), None);
    }
}
