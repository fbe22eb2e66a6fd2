//! Lines of code and of constants: whether they are present when an instruction needs them (SOUNDNESS 11.3).
//!
//! A line is *persistent* in a cache if all lines that the kernel can bring into its set fit. For example, three
//! lines of code in a set of four ways are persistent. A persistent line that every path has requested earlier is
//! present. The first request for a persistent line misses. This miss is part of the instruction's wait if the
//! instruction is issued at most once; otherwise it is counted once for the kernel.

use std::collections::{BTreeMap, BTreeSet};

use warpbound_machine::Parameter;

use crate::numbers::{MILLI, MachineNumbers};
use crate::state::{Part, TimeVector};

/// Wait for lines of code or constants.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) struct LineWait {
    /// Whether a line may be absent, or in flight.
    pub(crate) waits: bool,
    /// Time from the request to the arrival, without contention.
    pub(crate) latency: i64,
    /// Additional time after slice and DRAM are free, because a prefetched line may follow others.
    pub(crate) backlog: i64,
    /// Whether the request may reach the L2 cache, and DRAM.
    pub(crate) reaches_l2: bool,
    pub(crate) reaches_dram: bool,
    /// Service of the lines at a slice and at DRAM. The wait lasts longer by this service.
    pub(crate) service: (i64, i64),
    /// Part of `service` that every execution takes. Lines that stay are not in it: the SM requests them once,
    /// whichever warp waits first.
    pub(crate) each_service: (i64, i64),
}

impl LineWait {
    /// Advances the servers by the request of the next instruction's line. Returns the arrival of the line, `None` if
    /// it is present.
    pub(crate) fn arrival(&self, vector: &mut TimeVector) -> Option<i64> {
        let at = vector.get(Part::Requested);
        self.waits.then(|| self.arrival_from(vector, at))
    }

    /// Advances the servers by a request at a time; returns its arrival.
    pub(crate) fn arrival_from(&self, vector: &mut TimeVector, at: i64) -> i64 {
        if !self.reaches_l2 {
            return at + self.latency;
        }
        let mut free = vector.get(Part::Slice);
        // A line that may come from DRAM waits for its bus as well.
        if self.reaches_dram {
            free = free.max(vector.get(Part::Dram));
        }
        // A request that is counted elsewhere occupies nothing here.
        for (part, service) in [(Part::Slice, self.service.0), (Part::Dram, self.service.1)] {
            if service > 0 {
                vector.raise(part, at.max(free) + service);
            }
        }
        at.max(crate::memory::floor(free) + self.backlog) + self.latency
    }

    /// Returns the wait for either line, whichever is later.
    pub(crate) fn or(self, other: LineWait) -> LineWait {
        LineWait {
            waits: self.waits || other.waits,
            latency: self.latency.max(other.latency),
            backlog: self.backlog.max(other.backlog),
            reaches_l2: self.reaches_l2 || other.reaches_l2,
            reaches_dram: self.reaches_dram || other.reaches_dram,
            service: (
                self.service.0.max(other.service.0),
                self.service.1.max(other.service.1),
            ),
            each_service: (
                self.each_service.0.max(other.each_service.0),
                self.each_service.1.max(other.each_service.1),
            ),
        }
    }

    /// Returns the wait for several lines that are requested one after the other, each with this wait.
    pub(crate) fn repeated(self, lines: i64) -> LineWait {
        let (slice, dram) = self.service;
        let (each_slice, each_dram) = self.each_service;
        LineWait {
            // The last line waits for the service of the others.
            latency: self.latency + (lines - 1) * (slice + dram),
            service: (lines * slice, lines * dram),
            each_service: (lines * each_slice, lines * each_dram),
            ..self
        }
    }

    /// Returns the wait for the lines of both.
    fn and(self, other: LineWait) -> LineWait {
        let (late, early) = match self.latency >= other.latency {
            true => (self, other),
            false => (other, self),
        };
        LineWait {
            waits: self.waits || other.waits,
            // The other line may be served first.
            latency: late.latency + early.service.0 + early.service.1,
            backlog: self.backlog.max(other.backlog),
            reaches_l2: self.reaches_l2 || other.reaches_l2,
            reaches_dram: self.reaches_dram || other.reaches_dram,
            service: (
                self.service.0 + other.service.0,
                self.service.1 + other.service.1,
            ),
            each_service: (
                self.each_service.0 + other.each_service.0,
                self.each_service.1 + other.each_service.1,
            ),
        }
    }
}

/// Waits for several lines at the same time.
pub(crate) fn all(waits: impl IntoIterator<Item = LineWait>) -> LineWait {
    let waits = waits.into_iter().filter(|wait| wait.waits);
    waits.reduce(LineWait::and).unwrap_or_default()
}

/// Shape of a cache: parameters of its bytes, its line and its ways.
pub(crate) type CacheShape = [Parameter; 3];

/// Returns the numbers of the lines of `line` bytes that hold ranges of bytes.
pub(crate) fn lines_of(ranges: &[(u64, u64)], line: u64) -> BTreeSet<u64> {
    let ranges = ranges.iter().filter(|(first, end)| first < end);
    ranges
        .flat_map(|(first, end)| first / line..=(end - 1) / line)
        .collect()
}

/// Returns the members of `lines` (line numbers of the cache) that stay in a cache for every value of its shape once
/// they are in it.
pub(crate) fn persistent_lines(
    lines: &BTreeSet<u64>,
    numbers: &MachineNumbers,
    [bytes, line, ways]: CacheShape,
) -> BTreeSet<u64> {
    let line = numbers.slow(line).max(1);
    let (bytes, most_bytes) = numbers.range(bytes);
    kept_in_each_shape(
        lines,
        (bytes / line, most_bytes / line),
        numbers.range(ways),
    )
}

/// Returns the members of `lines` that stay in each cache whose number of lines and ways are in these ranges. For example,
/// lines 0 and 8 stay in caches of 8 to 32 lines with 2 ways, but not with 1 to 2 ways, because a cache of 8 lines and one way
/// has both in set 0.
fn kept_in_each_shape(lines: &BTreeSet<u64>, sizes: (u64, u64), ways: (u64, u64)) -> BTreeSet<u64> {
    let (Some(first), Some(last)) = (lines.first(), lines.last()) else {
        return BTreeSet::new();
    };
    // With at least as many sets as lines from the first to the last one, each line has a set of its own.
    let span = last - first + 1;
    // The fewest ways count for each number of sets.
    let mut ways_of_sets: BTreeMap<u64, u64> = BTreeMap::new();
    let mut places = 0;
    for ways in ways.0.max(1)..=ways.1.max(1) {
        let sets = [sizes.0, sizes.1].map(|size| (size / ways).max(1));
        let sets = sets[0]..=sets[1].min(span - 1);
        places += 1 + (sets.clone().count() as u64).saturating_mul(lines.len() as u64);
        // To presume no line present is sound: each request then waits as for a miss.
        if places > MOST_PLACES {
            return BTreeSet::new();
        }
        for sets in sets {
            ways_of_sets.entry(sets).or_insert(ways);
        }
    }
    let mut persistent = lines.clone();
    for (sets, ways) in ways_of_sets {
        let mut count = vec![0; sets as usize];
        for line in lines {
            count[(line % sets) as usize] += 1;
        }
        // The machine has one of the shapes, so a line must fit into its set in all of them.
        persistent.retain(|line| count[(line % sets) as usize] <= ways);
    }
    persistent
}

/// Maximum number of places that are tried, one for each line and each shape of a cache. A cache that needs more is taken to
/// keep nothing.
const MOST_PLACES: u64 = 1 << 26;

/// Two levels of caches of an SM for code or constants.
pub(crate) struct LineCaches {
    /// Bytes of a line of the first and of the second cache.
    pub(crate) line: [u64; 2],
    /// Persistent lines of each cache.
    persistent: [BTreeSet<u64>; 2],
    /// Latency of a request that hits the second cache, and of a request that misses it; both without the latency of
    /// the first cache. Either may be the longer one.
    second: i64,
    beyond: i64,
    /// Whether other warps request lines as well.
    among_others: bool,
    /// Upper bound on the delay of a prefetched line against a line that is requested when it is needed, from the
    /// request of the line that it was prefetched with.
    prefetched: i64,
    /// Bound on the same delay without the services of the lines before it, which keep slices and DRAM busy.
    after_others: i64,
    /// Service of a line at a slice and at DRAM.
    service: (i64, i64),
    reaches_dram: bool,
}

/// Time by which a line that was prefetched may arrive later than if it is requested now.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Lateness {
    /// At most this time, which contains the services of the lines before it.
    Of(i64),
    /// Of the line that is prefetched last, without the services of lines, which count elsewhere.
    OfLast,
}

/// Latencies of a [`LineCaches`].
pub(crate) struct LineLatencies {
    /// Hit in the second cache, and miss of both.
    pub(crate) second: i64,
    pub(crate) beyond: i64,
    /// Upper bound on the delay of a prefetched line, from the request that it was prefetched with.
    pub(crate) prefetched: i64,
    /// Bound on the same delay without the services of the lines before it.
    pub(crate) after_others: i64,
    /// Service of a line of the second cache at a slice and at DRAM.
    pub(crate) service: (i64, i64),
    /// Whether the L2 cache may miss it.
    pub(crate) reaches_dram: bool,
    /// Whether other warps request lines as well.
    pub(crate) among_others: bool,
}

impl LineCaches {
    /// Prepares the caches for addresses that may be requested of each of them, as ranges of bytes.
    pub(crate) fn new(
        ranges: [&[(u64, u64)]; 2],
        numbers: &MachineNumbers,
        shapes: [CacheShape; 2],
        latencies: LineLatencies,
    ) -> LineCaches {
        let line = shapes.map(|[_, line, _]| numbers.slow(line).max(1));
        let persistent = [0, 1].map(|level| {
            let lines = lines_of(ranges[level], line[level]);
            persistent_lines(&lines, numbers, shapes[level])
        });
        LineCaches {
            line,
            persistent,
            second: latencies.second,
            beyond: latencies.beyond,
            among_others: latencies.among_others,
            prefetched: latencies.prefetched,
            after_others: latencies.after_others,
            service: latencies.service,
            reaches_dram: latencies.reaches_dram,
        }
    }

    /// Whether a line of the second cache stays there.
    pub(crate) fn stays_in_second(&self, line: u64) -> bool {
        self.persistent[1].contains(&line)
    }

    /// Whether a line of the first cache stays there.
    pub(crate) fn stays_in_first(&self, line: u64) -> bool {
        self.persistent[0].contains(&line)
    }

    /// Whether a line that misses in the first cache may be part of a line that is on its way to the second, because
    /// another warp has requested another part of it. If the lines of both caches have the same size, both are
    /// requested at the same time.
    fn may_join(&self) -> bool {
        self.among_others && self.line[0] != self.line[1]
    }

    /// Longest latency of a request for a line that misses in the first cache. The line may be absent from the second
    /// cache, present there, or on its way.
    fn absent(&self) -> i64 {
        match self.may_join() {
            // It arrives in the second cache first.
            true => self.beyond + self.second,
            false => self.beyond.max(self.second),
        }
    }

    /// Returns the wait for the line at an address. `requested` says for each cache whether every path to here has
    /// requested its line, `once` whether the instruction is issued at most once; otherwise a first miss is added to
    /// `counted`. `late` is the time by which a prefetched line may still arrive later.
    pub(crate) fn wait(
        &self,
        address: u64,
        requested: [bool; 2],
        once: bool,
        late: Lateness,
        node: usize,
        counted: &mut FirstMisses,
    ) -> LineWait {
        // After slices and DRAM are free, a line may arrive as late as the last one.
        let (late, last) = match late {
            Lateness::Of(late) => (late, self.prefetched),
            Lateness::OfLast => (self.after_others, self.after_others),
        };
        let lines = self.line.map(|size| address / size);
        let [first, second] = [0, 1].map(|level| self.persistent[level].contains(&lines[level]));
        // With least-recently-used replacement a persistent line stays once it is there (SOUNDNESS 11.3).
        if first && requested[0] {
            return LineWait::default();
        }
        let hits_second = second && requested[1];
        let counts = !once && (first || second);
        if counts {
            let group = counted.groups.entry(lines[1]).or_default();
            group.is_absent |= !hits_second;
            group.each_misses |= !second;
            group.late = group.late.max(late);
            group.nodes.insert(node);
            if first {
                group.first.insert(lines[0]);
            }
        }
        let latency = match (hits_second, counts, first) {
            // The line may be in the second cache, or not.
            (false, false, _) => self.absent() + late,
            // The first request is counted, the others hit the first cache.
            (_, true, true) => 0,
            _ => self.second + late,
        };
        LineWait {
            waits: true,
            latency,
            // A line that the first cache may have lost comes from the second, after its arrival there.
            backlog: (last + if first { 0 } else { self.second } - late).max(0),
            reaches_l2: !hits_second,
            reaches_dram: !hits_second && self.reaches_dram,
            // A hit in the second cache takes neither slice nor DRAM, and a counted miss has its service in its own
            // cost.
            service: if hits_second || counts {
                (0, 0)
            } else {
                self.service
            },
            each_service: match first || second {
                true => (0, 0),
                false => self.service,
            },
        }
    }

    /// Bound on the additional delay by persistent lines that other warps request first. A warp finds each of these
    /// lines in flight at most once; the request was made at most `lead` later than a request of its own, and the
    /// line prefetched after the maximum number of others. Only lines of `needed`, ranges of bytes, are waited for, and of
    /// these not the `covered` ones. Waits for slices and DRAM are left out.
    pub(crate) fn in_flight(
        &self,
        lead: i64,
        needed: &[(u64, u64)],
        covered: &BTreeSet<u64>,
    ) -> i64 {
        let of_level = |level: usize| -> BTreeSet<u64> {
            let needed = lines_of(needed, self.line[level]);
            needed
                .intersection(&self.persistent[level])
                .filter(|line| !covered.contains(line))
                .copied()
                .collect()
        };
        let [first, second] = [0, 1].map(of_level);
        let lines = match self.line[0] == self.line[1] {
            // A line of the first cache arrives in both.
            true => first.union(&second).count(),
            false => first.len() + second.len(),
        };
        lines as i64 * (self.after_others + lead)
    }

    /// Returns the wait for the line at an address if other warps request lines as well. The first request of a
    /// persistent line, whichever warp makes it, is added to `counted`, unless each wait `pays_in_full`. It is `loaded` if
    /// the second cache has it when the launch begins. Any other line may be in flight for another warp, whose request may
    /// be made up to `lead` later than a request that is made now.
    pub(crate) fn wait_among_others(
        &self,
        address: u64,
        loaded: bool,
        lead: i64,
        pays_in_full: bool,
        node: usize,
        counted: &mut FirstMisses,
    ) -> LineWait {
        let lines = self.line.map(|size| address / size);
        let persists = |level: usize| self.persistent[level].contains(&lines[level]);
        let [first, second] = [0, 1].map(|level| !pays_in_full && persists(level));
        let late = self.after_others + lead;
        if first || second {
            let group = counted.groups.entry(lines[1]).or_default();
            group.is_absent |= !(second && loaded);
            group.each_misses |= !second;
            group.late = late;
            group.nodes.insert(node);
            if first {
                group.first.insert(lines[0]);
            }
        }
        match (first, second) {
            // All waits for this line lie within its first request, which is counted once.
            (true, _) => LineWait::default(),
            (false, true) => LineWait {
                waits: true,
                latency: self.second + late,
                ..LineWait::default()
            },
            // The first cache may have lost a line that is on its way to the second: it comes from there afterwards.
            (false, false) => LineWait {
                waits: true,
                latency: self.beyond + self.second + late,
                backlog: 0,
                reaches_l2: true,
                reaches_dram: self.reaches_dram,
                service: self.service,
                each_service: self.service,
            },
        }
    }

    /// Times of the first misses, each counted once, with the nodes that may pay for them.
    pub(crate) fn first_misses(&self, counted: &FirstMisses) -> Vec<(Vec<usize>, i64)> {
        let cost = |group: &MissGroup| {
            let lines = group.first.len() as i64;
            let service = self.service.0 + self.service.1;
            let second = self.second + group.late;
            // If one part of a line of the second cache is requested first, the other parts come from the second
            // cache.
            let further = match self.may_join() {
                true => lines,
                false => (lines - 1).max(0),
            };
            match (group.is_absent, group.each_misses) {
                (true, true) => lines.max(1) * (self.absent() + group.late + service),
                (true, false) => {
                    self.beyond.max(self.second) + group.late + service + further * second
                }
                (false, _) => lines * second,
            }
        };
        let groups = counted.groups.values();
        groups
            .map(|group| (group.nodes.iter().copied().collect(), cost(group)))
            .collect()
    }
}

/// First misses that are counted once for a kernel.
#[derive(Default)]
pub(crate) struct FirstMisses {
    /// By line of the second cache.
    groups: BTreeMap<u64, MissGroup>,
}

/// First misses of the lines of the first cache that are in one line of the second.
#[derive(Default)]
struct MissGroup {
    first: BTreeSet<u64>,
    /// Whether the line of the second cache may be absent.
    is_absent: bool,
    /// Whether the second cache may lose the line between these misses.
    each_misses: bool,
    /// Upper bound on the delay of a prefetched line.
    late: i64,
    /// Nodes that may be the first to request it.
    nodes: BTreeSet<usize>,
}

/// Returns the time of a transfer, in whole cycles rounded up. For example, 128 bytes at 64,000 bytes per 1000 cycles
/// take 2 cycles.
pub(crate) fn transfer(bytes: u64, per_kilocycle: u64) -> i64 {
    (bytes * 1000).div_ceil(per_kilocycle.max(1)) as i64 * MILLI
}

#[cfg(test)]
mod tests;
