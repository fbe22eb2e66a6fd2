//! Which warp issues next.

use std::collections::VecDeque;

/// Round robin over the warps that are ready.
pub(crate) struct RoundRobin {
    /// Bit `w` of the words: warp `w` is ready.
    ready: Vec<u64>,
    last: usize,
    /// Warps that will be ready: cycle, warp. One queue for each latency, so that each is in order of time.
    later: Vec<(u64, VecDeque<(u64, usize)>)>,
}

impl RoundRobin {
    /// All of `warps` are ready; the first one is next.
    pub(crate) fn new(warps: usize) -> RoundRobin {
        let mut scheduler = RoundRobin {
            ready: vec![0; warps.div_ceil(64)],
            last: warps.saturating_sub(1),
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

    pub(crate) fn suspend(&mut self, warp: usize) {
        self.ready[warp / 64] &= !(1 << (warp % 64));
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

    /// The first warp behind the last one that is ready at `now`.
    pub(crate) fn next(&mut self, now: u64) -> Option<usize> {
        for queue in 0..self.later.len() {
            while let Some(&(at, warp)) = self.later[queue].1.front()
                && at <= now
            {
                self.later[queue].1.pop_front();
                self.wake(warp);
            }
        }
        let (word, bit) = (self.last / 64, self.last % 64);
        let behind = self.ready.get(word)? & u64::MAX.checked_shl(bit as u32 + 1).unwrap_or(0);
        let found = if behind != 0 {
            word * 64 + behind.trailing_zeros() as usize
        } else {
            let words = self.ready.len();
            let round = (1..=words).map(|step| (word + step) % words);
            let next = round
                .into_iter()
                .find_map(|w| (self.ready[w] != 0).then(|| (w, self.ready[w])));
            let (word, bits) = next?;
            word * 64 + bits.trailing_zeros() as usize
        };
        self.last = found;
        Some(found)
    }

    /// The next cycle at which a warp becomes ready, and that warp.
    pub(crate) fn next_wake(&self) -> Option<(u64, usize)> {
        self.later
            .iter()
            .filter_map(|(_, queue)| queue.front().copied())
            .min()
    }
}
