//! Warp scheduler of the mini-SIMT machine: selects the warp that issues next.

use std::collections::VecDeque;

use warpbound_machine::mini::Policy;

/// Selects among the ready warps by a policy; a calendar of queues holds the others.
pub(crate) struct Scheduler {
    policy: Policy,
    /// Bit set of the ready warps.
    ready: Vec<u64>,
    /// The warp that issued last; `None` at the start of a round.
    last: Option<usize>,
    /// Warps that become ready later, with the cycle. One queue per latency: entries are then added in order of time,
    /// so no queue needs sorting.
    pending: Vec<(u64, VecDeque<(u64, usize)>)>,
}

impl Scheduler {
    /// Returns a scheduler of `warps` warps, all ready; warp 0 is next.
    pub(crate) fn new(warps: usize, policy: Policy) -> Scheduler {
        let mut scheduler = Scheduler {
            policy,
            ready: vec![0; warps.div_ceil(64)],
            last: None,
            pending: Vec::new(),
        };
        for warp in 0..warps {
            scheduler.wake(warp);
        }
        scheduler
    }

    /// Makes a warp ready.
    pub(crate) fn wake(&mut self, warp: usize) {
        self.ready[warp / 64] |= 1 << (warp % 64);
    }

    fn is_ready(&self, warp: usize) -> bool {
        let word = self.ready.get(warp / 64);
        word.is_some_and(|word| word >> (warp % 64) & 1 == 1)
    }

    /// Makes a warp not ready.
    pub(crate) fn suspend(&mut self, warp: usize) {
        self.ready[warp / 64] &= !(1 << (warp % 64));
    }

    /// Restarts the round at the first warp.
    pub(crate) fn restart_round(&mut self) {
        self.last = None;
    }

    /// Makes a warp ready `latency` cycles after `now`.
    pub(crate) fn wake_after(&mut self, warp: usize, now: u64, latency: u64) {
        self.suspend(warp);
        let entry = (now + latency, warp);
        // A machine has three latencies, so the search is short.
        match self.pending.iter_mut().find(|(known, _)| *known == latency) {
            Some((_, queue)) => queue.push_back(entry),
            None => self.pending.push((latency, VecDeque::from([entry]))),
        }
    }

    /// Selects the warp that issues at `now`; `None` if none is ready.
    pub(crate) fn next(&mut self, now: u64) -> Option<usize> {
        for queue in 0..self.pending.len() {
            while let Some(&(at, warp)) = self.pending[queue].1.front()
                && at <= now
            {
                self.pending[queue].1.pop_front();
                self.wake(warp);
            }
        }
        match (self.policy, self.last) {
            (Policy::LowestFirst, _) => self.restart_round(),
            (Policy::Greedy, Some(last)) if self.is_ready(last) => return Some(last),
            _ => {}
        }
        let first = self.last.map_or(0, |last| last + 1);
        let found = self.ready_from(first).or_else(|| self.ready_from(0))?;
        self.last = Some(found);
        Some(found)
    }

    /// Returns the first ready warp at or after `first`.
    fn ready_from(&self, first: usize) -> Option<usize> {
        let mut word = first / 64;
        let mut bits = self.ready.get(word)? & u64::MAX << (first % 64);
        while bits == 0 {
            word += 1;
            bits = *self.ready.get(word)?;
        }
        Some(word * 64 + bits.trailing_zeros() as usize)
    }

    /// Returns the next cycle at which a pending warp becomes ready, and that warp.
    pub(crate) fn next_wake(&self) -> Option<(u64, usize)> {
        self.pending
            .iter()
            .filter_map(|(_, queue)| queue.front().copied())
            // If several become ready in one cycle, the one with the lowest number.
            .min()
    }
}
