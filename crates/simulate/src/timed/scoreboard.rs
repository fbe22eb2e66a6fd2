//! The six scoreboards of a warp: each counts what is outstanding.

use smallvec::SmallVec;

/// A scoreboard: when each of the results arrives that it counts.
#[derive(Clone, Debug, Default)]
pub(super) struct Scoreboard {
    outstanding: SmallVec<[u64; 3]>,
    /// The last one is from memory.
    pub(super) is_memory: bool,
}

impl Scoreboard {
    /// It counts one more at a cycle, which arrives at another.
    pub(super) fn raise(&mut self, now: u64, done: u64, is_memory: bool) {
        self.outstanding.retain(|other| *other > now);
        self.outstanding.push(done);
        self.is_memory = is_memory;
    }

    /// When it counts nothing.
    pub(super) fn clear(&self) -> u64 {
        self.outstanding.iter().copied().max().unwrap_or(0)
    }

    /// When it counts at most so many.
    pub(super) fn at_most(&self, most: u8) -> u64 {
        let mut times = self.outstanding.clone();
        times.sort_unstable_by(|a, b| b.cmp(a));
        times.get(usize::from(most)).copied().unwrap_or(0)
    }
}

#[cfg(test)]
mod tests {
    use super::Scoreboard;

    #[test]
    fn counts() {
        let mut scoreboard = Scoreboard::default();
        assert_eq!((scoreboard.clear(), scoreboard.at_most(0)), (0, 0));
        scoreboard.raise(1, 30, true);
        scoreboard.raise(2, 50, true);
        scoreboard.raise(3, 40, true);
        assert_eq!(scoreboard.clear(), 50);
        let waits = [0, 1, 2, 3].map(|most| scoreboard.at_most(most));
        assert_eq!(waits, [50, 40, 30, 0]);
        // What has arrived does not count.
        scoreboard.raise(45, 60, true);
        assert_eq!([0, 1, 2].map(|most| scoreboard.at_most(most)), [60, 50, 0]);
    }
}
