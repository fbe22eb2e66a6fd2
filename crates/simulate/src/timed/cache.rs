//! Caches of lines with sectors; the least recently used line makes room.

/// Which lines and sectors a cache holds, and from which cycle on.
#[derive(Clone, Debug)]
pub(super) struct Cache {
    line_bits: u32,
    sets: u64,
    ways: usize,
    /// For each set and way, the number of its line plus one; 0 is empty.
    tags: Vec<u64>,
    lines: Vec<Line>,
    uses: u64,
}

/// A line of a cache.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Line {
    /// Sectors that are there or on their way.
    pub(super) valid: u32,
    /// Sectors that memory does not have yet.
    pub(super) dirty: u32,
    /// From when on all of them are there.
    pub(super) ready: u64,
    used: u64,
}

/// A line that a cache was asked for.
pub(super) struct Found<'a> {
    /// The line; it has no sectors when it was not there.
    pub(super) line: &'a mut Line,
    /// Dirty sectors of the line that made room.
    pub(super) evicted: u32,
}

impl Cache {
    /// `line` is a power of two.
    pub(super) fn new(bytes: u64, line: u64, ways: u64) -> Cache {
        let ways = ways.max(1);
        let sets = (bytes / line.max(1) / ways).max(1);
        let all = (sets * ways) as usize;
        Cache {
            line_bits: line.max(1).trailing_zeros(),
            sets,
            ways: ways as usize,
            tags: vec![0; all],
            lines: vec![Line::default(); all],
            uses: 0,
        }
    }

    /// The line of an address; it gets a place when it has none.
    #[inline]
    pub(super) fn find(&mut self, address: u64) -> Found<'_> {
        let number = address >> self.line_bits;
        let tag = number + 1;
        self.uses += 1;
        let first = (number % self.sets) as usize * self.ways;
        let tags = &mut self.tags[first..first + self.ways];
        let lines = &mut self.lines[first..first + self.ways];
        if let Some(way) = tags.iter().position(|&known| known == tag) {
            let line = &mut lines[way];
            line.used = self.uses;
            return Found { line, evicted: 0 };
        }
        let mut way = 0;
        for (other, line) in lines.iter().enumerate() {
            if line.used < lines[way].used {
                way = other;
            }
        }
        tags[way] = tag;
        let line = &mut lines[way];
        let evicted = line.dirty.count_ones();
        *line = Line {
            used: self.uses,
            ..Line::default()
        };
        Found { line, evicted }
    }

    /// Sectors of the line of an address are no longer there.
    pub(super) fn drop(&mut self, address: u64, sectors: u32) {
        let number = address >> self.line_bits;
        let first = (number % self.sets) as usize * self.ways;
        for place in first..first + self.ways {
            if self.tags[place] == number + 1 {
                self.lines[place].valid &= !sectors;
            }
        }
    }

    /// Asks for all of a line: when it is there, or `None` when it is not and comes now; [`Cache::arrives`] says when.
    #[inline]
    pub(super) fn whole(&mut self, address: u64) -> Option<u64> {
        let line = self.find(address).line;
        let there = line.valid != 0;
        line.valid = 1;
        there.then_some(line.ready)
    }

    /// The line that was asked for arrives at a cycle.
    pub(super) fn arrives(&mut self, address: u64, at: u64) {
        self.find(address).line.ready = at;
    }
}

#[cfg(test)]
mod tests {
    use super::Cache;

    /// 4 lines of 64 bytes in 2 sets of 2 ways.
    fn small() -> Cache {
        Cache::new(256, 64, 2)
    }

    #[test]
    fn the_least_recently_used_line_makes_room() {
        let mut cache = small();
        for address in [0, 128] {
            assert_eq!(cache.whole(address), None);
        }
        assert_eq!(cache.whole(63), Some(0));
        // Lines 0, 2 and 4 are in the same set: 2 goes.
        assert_eq!(cache.whole(256), None);
        assert_eq!(cache.whole(0), Some(0));
        assert_eq!(cache.whole(128), None);
        // The other set is not touched by any of that.
        assert_eq!(cache.whole(64), None);
        assert_eq!(cache.whole(64), Some(0));
    }

    #[test]
    fn dirty_sectors_leave_with_their_line() {
        let mut cache = small();
        cache.find(0).line.dirty = 0b101;
        assert_eq!(cache.find(128).evicted, 0);
        assert_eq!(cache.find(256).evicted, 2);
        assert_eq!(cache.find(256).line.dirty, 0);
    }

    #[test]
    fn sectors_can_be_dropped() {
        let mut cache = small();
        cache.find(0).line.valid = 0b11;
        cache.drop(32, 0b01);
        cache.drop(4096, 0b11);
        assert_eq!(cache.find(0).line.valid, 0b10);
    }

    #[test]
    fn lines_on_their_way_are_there_later() {
        let mut cache = small();
        assert_eq!(cache.whole(0), None);
        cache.arrives(0, 77);
        assert_eq!(cache.whole(0), Some(77));
    }
}
