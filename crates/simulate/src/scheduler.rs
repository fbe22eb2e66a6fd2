//! Which warp issues next.

use std::collections::VecDeque;

use warpbound_machine::Policy;

/// Chooses among the warps that are ready.
pub(crate) struct Scheduler {
    policy: Policy,
    /// Bit `w` of the words: warp `w` is ready.
    ready: Vec<u64>,
    /// The warp that issued last; `None` where the round begins anew.
    last: Option<usize>,
    /// Warps that will be ready: cycle, warp. One queue for each latency, so that each is in order of time.
    later: Vec<(u64, VecDeque<(u64, usize)>)>,
}

impl Scheduler {
    /// All of `warps` are ready; the first one is next.
    pub(crate) fn new(warps: usize, policy: Policy) -> Scheduler {
        let mut scheduler = Scheduler {
            policy,
            ready: vec![0; warps.div_ceil(64)],
            last: None,
            later: Vec::new(),
        };
        for warp in 0..warps {
            scheduler.wake(warp);
        }
        scheduler
    }

    pub(crate) fn wake(&mut self, warp: usize) {
        self.ready[warp / 64] |= 1 << (warp % 64);
    }

    fn is_ready(&self, warp: usize) -> bool {
        let word = self.ready.get(warp / 64);
        word.is_some_and(|word| word >> (warp % 64) & 1 == 1)
    }

    pub(crate) fn suspend(&mut self, warp: usize) {
        self.ready[warp / 64] &= !(1 << (warp % 64));
    }

    /// The round goes on with the first warp.
    pub(crate) fn begin_anew(&mut self) {
        self.last = None;
    }

    /// The warp becomes ready `latency` cycles after `now`.
    pub(crate) fn wake_after(&mut self, warp: usize, now: u64, latency: u64) {
        self.suspend(warp);
        let entry = (now + latency, warp);
        match self.later.iter_mut().find(|(known, _)| *known == latency) {
            Some((_, queue)) => queue.push_back(entry),
            None => self.later.push((latency, VecDeque::from([entry]))),
        }
    }

    /// The warp that issues at `now`, when one is ready.
    pub(crate) fn next(&mut self, now: u64) -> Option<usize> {
        for queue in 0..self.later.len() {
            while let Some(&(at, warp)) = self.later[queue].1.front()
                && at <= now
            {
                self.later[queue].1.pop_front();
                self.wake(warp);
            }
        }
        match (self.policy, self.last) {
            (Policy::LowestFirst, _) => self.begin_anew(),
            (Policy::Greedy, Some(last)) if self.is_ready(last) => return Some(last),
            _ => {}
        }
        let first = self.last.map_or(0, |last| last + 1);
        let found = self.ready_from(first).or_else(|| self.ready_from(0))?;
        self.last = Some(found);
        Some(found)
    }

    /// The first warp from `first` on that is ready.
    fn ready_from(&self, first: usize) -> Option<usize> {
        let mut word = first / 64;
        let mut bits = self.ready.get(word)? & u64::MAX << (first % 64);
        while bits == 0 {
            word += 1;
            bits = *self.ready.get(word)?;
        }
        Some(word * 64 + bits.trailing_zeros() as usize)
    }

    /// The next cycle at which a warp becomes ready, and that warp.
    pub(crate) fn next_wake(&self) -> Option<(u64, usize)> {
        self.later
            .iter()
            .filter_map(|(_, queue)| queue.front().copied())
            .min()
    }
}
