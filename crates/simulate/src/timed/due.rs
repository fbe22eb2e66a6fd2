//! What is due when: a queue in the order of time.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// Cycles that the near part of the queue covers: longer than most instructions keep a warp.
const NEAR: u64 = 64;

/// Numbers that are due at cycles: the earliest cycle first, in a cycle the lowest number.
///
/// What is due soon, nearly all, is a bit in a set for its cycle; the rest is in a heap.
pub(super) struct EventQueue {
    /// All that is due before is done.
    now: u64,
    /// For each of the next cycles, a bit for each number.
    near: Vec<u64>,
    /// Words for a cycle.
    words: usize,
    /// A bit for each of the next cycles in which something is due.
    cycles: u64,
    far: BinaryHeap<Reverse<(u64, u32)>>,
}

impl EventQueue {
    /// For numbers below a limit.
    pub(super) fn new(limit: u32) -> EventQueue {
        let words = (limit as usize).div_ceil(64).max(1);
        EventQueue {
            now: 0,
            near: vec![0; words * NEAR as usize],
            words,
            cycles: 0,
            far: BinaryHeap::new(),
        }
    }

    /// A number is due at a cycle that is not before the last one taken. Twice at the same cycle is once.
    pub(super) fn push(&mut self, cycle: u64, number: u32) {
        if cycle - self.now < NEAR {
            let place = (cycle % NEAR) as usize;
            self.near[place * self.words + number as usize / 64] |= 1 << (number % 64);
            self.cycles |= 1 << place;
        } else {
            self.far.push(Reverse((cycle, number)));
        }
    }

    /// Takes what is due first.
    pub(super) fn pop(&mut self) -> Option<(u64, u32)> {
        let near = self.first_near();
        let next = match (near, self.far.peek()) {
            (None, None) => return None,
            (Some(cycle), None) => cycle,
            (None, Some(Reverse((cycle, _)))) => *cycle,
            (Some(near), Some(Reverse((far, _)))) => near.min(*far),
        };
        self.now = next;
        // What was far is near now: so the lowest number is first among all that is due in a cycle.
        while let Some(&Reverse((cycle, number))) = self.far.peek()
            && cycle == next
        {
            self.far.pop();
            self.push(cycle, number);
        }
        let place = (next % NEAR) as usize;
        let words = &mut self.near[place * self.words..(place + 1) * self.words];
        let at = words.iter().position(|word| *word != 0)?;
        let bit = words[at].trailing_zeros();
        words[at] &= words[at] - 1;
        if words[at..].iter().all(|word| *word == 0) {
            self.cycles &= !(1 << place);
        }
        Some((next, at as u32 * 64 + bit))
    }

    /// The first of the near cycles in which something is due.
    fn first_near(&self) -> Option<u64> {
        let turned = self.cycles.rotate_right((self.now % NEAR) as u32);
        (turned != 0).then(|| self.now + u64::from(turned.trailing_zeros()))
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    /// The same order as a sorted set gives.
    #[test]
    fn in_the_order_of_time() {
        let mut random = fastrand::Rng::with_seed(3);
        let mut due = EventQueue::new(200);
        let mut expected = BTreeSet::new();
        let mut now = 0;
        for _ in 0..50_000 {
            if random.u32(0..2) == 0 || expected.is_empty() {
                let apart = 1 << random.u32(0..10);
                let entry = (now + random.u64(0..apart), random.u32(0..200));
                if expected.insert(entry) {
                    due.push(entry.0, entry.1);
                }
            } else {
                let first = expected.pop_first();
                assert_eq!(due.pop(), first);
                now = first.unwrap().0;
            }
        }
        while let Some(first) = expected.pop_first() {
            assert_eq!(due.pop(), Some(first));
        }
        assert_eq!(due.pop(), None);
    }
}
