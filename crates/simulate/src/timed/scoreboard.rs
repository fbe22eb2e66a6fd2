//! The six scoreboards of a warp: each counts what is outstanding.

use smallvec::SmallVec;

/// How many a warp has.
pub(super) const COUNT: usize = 6;

/// The scoreboards of a warp.
#[derive(Clone, Debug, Default)]
pub(super) struct Scoreboards {
    /// When each counts nothing.
    clear: [u64; COUNT],
    /// A bit for each whose last one is from memory.
    memory: u8,
    /// When each of the results arrives that they count; empty where no instruction asks how many there are.
    outstanding: Vec<SmallVec<[u64; 4]>>,
}

impl Scoreboards {
    /// `counted` says whether some instruction asks how many are outstanding.
    pub(super) fn new(counted: bool) -> Scoreboards {
        Scoreboards {
            outstanding: vec![SmallVec::new(); if counted { COUNT } else { 0 }],
            ..Scoreboards::default()
        }
    }

    /// One counts one more at a cycle, which arrives at another.
    pub(super) fn raise(&mut self, number: usize, now: u64, done: u64, is_memory: bool) {
        self.clear[number] = self.clear[number].max(done);
        self.memory = self.memory & !(1 << number) | u8::from(is_memory) << number;
        if let Some(outstanding) = self.outstanding.get_mut(number) {
            outstanding.retain(|other| *other > now);
            outstanding.push(done);
        }
    }

    /// When one counts nothing, and whether its last one is from memory.
    pub(super) fn clear(&self, number: usize) -> (u64, bool) {
        (self.clear[number], self.memory >> number & 1 == 1)
    }

    /// When one counts at most so many, and whether its last one is from memory.
    pub(super) fn at_most(&self, number: usize, most: u8) -> (u64, bool) {
        let (_, is_memory) = self.clear(number);
        let mut times = self.outstanding.get(number).cloned().unwrap_or_default();
        times.sort_unstable_by(|a, b| b.cmp(a));
        let time = times.get(usize::from(most)).copied();
        (time.unwrap_or(0), is_memory)
    }
}

#[cfg(test)]
mod tests {
    use super::Scoreboards;

    #[test]
    fn counts() {
        let mut scoreboards = Scoreboards::new(true);
        assert_eq!(scoreboards.clear(2), (0, false));
        assert_eq!(scoreboards.at_most(2, 0), (0, false));
        scoreboards.raise(2, 1, 30, true);
        scoreboards.raise(2, 2, 50, true);
        scoreboards.raise(2, 3, 40, true);
        scoreboards.raise(3, 3, 90, false);
        assert_eq!(scoreboards.clear(2), (50, true));
        assert_eq!(scoreboards.clear(3), (90, false));
        let waits = [0, 1, 2, 3].map(|most| scoreboards.at_most(2, most).0);
        assert_eq!(waits, [50, 40, 30, 0]);
        // What has arrived does not count.
        scoreboards.raise(2, 45, 60, true);
        let waits = [0, 1, 2].map(|most| scoreboards.at_most(2, most).0);
        assert_eq!(waits, [60, 50, 0]);
    }
}
