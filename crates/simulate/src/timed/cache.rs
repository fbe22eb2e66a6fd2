//! Set-associative cache of lines with sectors, with least-recently-used replacement.
//!
//! Lines are allocated when they are requested; a line carries the cycle when its data arrives, so that later
//! accesses to a line in flight wait for it (a hit on a pending miss). For example, a load that misses in cycle 100
//! and gets its data in cycle 320 sets `ready` to 320, and a load that hits this line in cycle 150 completes no
//! earlier.

use rustc_hash::FxHashMap;

/// Number of ways from which on a hash table finds the lines of a cache, because TLBs have thousands of ways.
const MANY_WAYS: u64 = 64;

/// Set-associative cache: tags, valid and dirty sectors, and arrival times of its lines. It holds no data.
#[derive(Clone, Debug)]
pub(super) struct Cache {
    line_bits: u32,
    sets: u64,
    ways: usize,
    /// Line number plus one for each set and way; 0 is an empty way.
    tags: Vec<u64>,
    lines: Vec<Line>,
    /// Ways in use of each set: the first ones, as lines are never removed.
    used: Vec<usize>,
    /// Way of each tag, in a cache with many ways.
    places: Option<FxHashMap<u64, usize>>,
    /// Number of lookups so far, the clock of replacement.
    lookups: u64,
}

/// Line of a cache.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Line {
    /// Mask of the sectors that are present or in flight.
    pub(super) valid: u32,
    /// Mask of the sectors that DRAM does not have yet.
    pub(super) dirty: u32,
    /// Cycle from which all valid sectors are present.
    pub(super) ready: u64,
    last_use: u64,
}

/// Result of a lookup.
pub(super) struct CacheLookup<'a> {
    /// The line; it has no valid sectors if the lookup missed.
    pub(super) line: &'a mut Line,
    /// Number of dirty sectors of the line that it replaced.
    pub(super) evicted_dirty: u32,
}

impl Cache {
    /// Returns an empty cache; `line` is its line size in bytes, a power of two.
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
            used: vec![0; sets as usize],
            places: (ways >= MANY_WAYS).then(FxHashMap::default),
            lookups: 0,
        }
    }

    /// Looks up the line of an address; a miss allocates it in place of the least recently used line of its set.
    #[inline]
    pub(super) fn lookup(&mut self, address: u64) -> CacheLookup<'_> {
        let number = address >> self.line_bits;
        let tag = number + 1;
        self.lookups += 1;
        let set = (number % self.sets) as usize;
        let first = set * self.ways;
        let tags = &mut self.tags[first..first + self.ways];
        let lines = &mut self.lines[first..first + self.ways];
        let known = match &self.places {
            Some(places) => places.get(&tag).copied(),
            None => tags.iter().position(|&known| known == tag),
        };
        if let Some(way) = known {
            let line = &mut lines[way];
            line.last_use = self.lookups;
            return CacheLookup {
                line,
                evicted_dirty: 0,
            };
        }
        let used = &mut self.used[set];
        let victim = if *used < self.ways {
            *used += 1;
            *used - 1
        } else {
            let ways = lines.iter().enumerate();
            let oldest = ways.min_by_key(|(_, line)| line.last_use);
            oldest.map_or(0, |(way, _)| way)
        };
        if let Some(places) = &mut self.places {
            places.remove(&tags[victim]);
            places.insert(tag, victim);
        }
        tags[victim] = tag;
        let line = &mut lines[victim];
        let evicted_dirty = line.dirty.count_ones();
        *line = Line {
            last_use: self.lookups,
            ..Line::default()
        };
        CacheLookup {
            line,
            evicted_dirty,
        }
    }

    /// Invalidates some sectors of the line of an address.
    pub(super) fn invalidate(&mut self, address: u64, sectors: u32) {
        let number = address >> self.line_bits;
        let first = (number % self.sets) as usize * self.ways;
        for way in first..first + self.ways {
            if self.tags[way] == number + 1 {
                self.lines[way].valid &= !sectors;
            }
        }
    }

    /// Invalidates all sectors of all lines.
    pub(super) fn invalidate_all(&mut self) {
        for line in &mut self.lines {
            line.valid = 0;
        }
    }

    /// Requests a whole line. Returns the cycle from which it is present, or `None` if it missed: the line is in flight
    /// from now on, and the caller sets its arrival with [`Cache::set_ready`].
    #[inline]
    pub(super) fn request_line(&mut self, address: u64) -> Option<u64> {
        let line = self.lookup(address).line;
        let hit = line.valid != 0;
        line.valid = 1;
        hit.then_some(line.ready)
    }

    /// Sets the cycle when a line in flight arrives.
    pub(super) fn set_ready(&mut self, address: u64, at: u64) {
        self.lookup(address).line.ready = at;
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
    fn the_least_recently_used_line_is_replaced() {
        let mut cache = small();
        for address in [0, 128] {
            assert_eq!(cache.request_line(address), None);
        }
        // Byte 63 is in line 0.
        assert_eq!(cache.request_line(63), Some(0));
        // Lines 0, 2 and 4 are in the same set: 2 is replaced.
        assert_eq!(cache.request_line(256), None);
        assert_eq!(cache.request_line(0), Some(0));
        assert_eq!(cache.request_line(128), None);
        // The other set is unaffected.
        assert_eq!(cache.request_line(64), None);
        assert_eq!(cache.request_line(64), Some(0));
    }

    /// A cache of many ways, whose lines a hash table finds, behaves as its definition: a list in the order of last
    /// use.
    #[test]
    fn many_ways_are_replaced_in_the_order_of_use() {
        let mut random = fastrand::Rng::with_seed(7);
        let mut cache = Cache::new(100 * 64, 64, 100);
        let mut order: Vec<u64> = Vec::new();
        for _ in 0..20_000 {
            let line = random.u64(0..150);
            let known = order.iter().position(|&other| other == line);
            assert_eq!(cache.request_line(line * 64).is_some(), known.is_some());
            match known {
                Some(place) => {
                    order.remove(place);
                }
                None if order.len() == 100 => {
                    order.remove(0);
                }
                None => {}
            }
            order.push(line);
        }
    }

    #[test]
    fn dirty_sectors_are_evicted_with_their_line() {
        let mut cache = small();
        cache.lookup(0).line.dirty = 0b101;
        assert_eq!(cache.lookup(128).evicted_dirty, 0);
        assert_eq!(cache.lookup(256).evicted_dirty, 2);
        assert_eq!(cache.lookup(256).line.dirty, 0);
    }

    #[test]
    fn sectors_can_be_invalidated() {
        let mut cache = small();
        cache.lookup(0).line.valid = 0b11;
        cache.invalidate(32, 0b01);
        // A line that the cache does not hold.
        cache.invalidate(4096, 0b11);
        assert_eq!(cache.lookup(0).line.valid, 0b10);
    }

    #[test]
    fn lines_in_flight_are_present_later() {
        let mut cache = small();
        assert_eq!(cache.request_line(0), None);
        cache.set_ready(0, 77);
        assert_eq!(cache.request_line(0), Some(77));
    }
}
