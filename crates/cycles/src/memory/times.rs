//! Service times and latencies of the memory system, and the services of an access at each of its servers.

use std::collections::BTreeMap;

use warpbound_ir::OpIndex;
use warpbound_isa::instr::MemorySpace;
use warpbound_machine::Parameter;

use crate::kernel::KeepingCache;
use crate::memory::shared::SharedTimes;
use crate::memory::{AccessDirection, AccessLimits, SpaceLimits};
use crate::numbers::{MILLI, MachineNumbers};

/// Service times of the memory system, in thousandths of cycles.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct MemoryTimes {
    tags_per_cycle: u64,
    /// Service of a sector at the port, at a slice and at DRAM.
    pub(super) port: i64,
    pub(super) slice: i64,
    pub(super) dram: i64,
    /// Service of the write-back of an evicted line.
    pub(super) evicted_line: i64,
    pub(super) atomic_occupancy: i64,
    pub(super) l1_hit: i64,
    pub(super) l2_hit: i64,
    pub(super) dram_latency: i64,
    pub(super) atomic_latency: i64,
    pub(super) walk: i64,
    pub(super) sources: i64,
    /// Maximum number of sectors in flight, of loads and of stores.
    pub(super) capacity: [u64; 2],
    pub(crate) shared: SharedTimes,
    /// Effects of the accesses of other warps.
    pub(super) others: Option<OtherAccesses>,
}

/// Effects of other warps' accesses on an access, apart from servers and windows: data in flight.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct OtherAccesses {
    /// Time by which their requests may be made later than a request that is simulated after them.
    pub(super) lead: i64,
    /// Whether some of them are atomic operations on global memory, for which reads of the same line wait.
    pub(super) atomics: bool,
    /// Longest time from the lookup of the L1 cache to the data of any load, for which a hit may wait.
    pub(super) longest_load: i64,
    /// Longest such time of a load whose sectors are in the L2 cache.
    pub(super) longest_hit: i64,
    /// Whether waits for sectors from DRAM are counted, except for accesses that are executed at most once.
    pub(super) counts_misses: bool,
}

impl MemoryTimes {
    pub(crate) fn new(numbers: &MachineNumbers) -> MemoryTimes {
        let milli = |parameter| numbers.milli(parameter);
        // Rounded up: the simulator rounds the service of a whole request down.
        let transfer = |bytes: u64, bandwidth: Parameter| {
            let bandwidth = numbers.slow(bandwidth).max(1);
            (bytes * 1_000_000).div_ceil(bandwidth) as i64
        };
        let sector = numbers.slow(Parameter::L2Sector).max(1);
        let dram_time = |efficiency: u64| {
            let bandwidth = u128::from(numbers.slow(Parameter::DramBandwidth).max(1));
            // Machine files have values below 2^40, so products of two of them need more than 64 bits.
            let bytes = u128::from(sector) * 1_000_000 * 1000;
            bytes.div_ceil(bandwidth * u128::from(efficiency.max(1))) as i64
        };
        let write = dram_time(numbers.slow(Parameter::DramWrites));
        let turnaround =
            // The division rounds down; the unit that is added keeps the time an upper limit.
            dram_time(1000) * numbers.slow(Parameter::DramTurnaround) as i64 / 1000 + 1;
        let per_line = (numbers.slow(Parameter::L2Line) / sector).max(1) as i64;
        let l2_hit = milli(Parameter::L2Hit);
        MemoryTimes {
            tags_per_cycle: numbers.slow(Parameter::L1Tags).max(1),
            port: transfer(sector, Parameter::SmBandwidth),
            slice: transfer(sector, Parameter::L2Bandwidth),
            dram: dram_time(numbers.slow(Parameter::DramReads)),
            evicted_line: per_line * (write + turnaround),
            atomic_occupancy: milli(Parameter::AtomicOccupancy),
            l1_hit: milli(Parameter::L1Hit),
            l2_hit,
            dram_latency: l2_hit + milli(Parameter::DramBeyond),
            atomic_latency: milli(Parameter::AtomicLatency) + milli(Parameter::AtomicShared),
            // Ranges of these times may overlap, so none of them is presumed to be the longest.
            walk: milli(Parameter::TlbWalk)
                .max(milli(Parameter::TlbL2Miss))
                .max(milli(Parameter::TlbL1Miss)),
            sources: milli(Parameter::L1Sources),
            capacity: [
                numbers.slow(Parameter::L1Misses).max(1),
                numbers.slow(Parameter::L1Stores).max(1),
            ],
            shared: SharedTimes::new(numbers),
            others: None,
        }
    }

    /// Returns the times of accesses in the presence of other warps, which execute the same kernel.
    pub(crate) fn among_others(
        mut self,
        accesses: &BTreeMap<OpIndex, AccessLimits>,
        lead: i64,
        counts_misses: bool,
    ) -> MemoryTimes {
        let all = || {
            let spaces = accesses.values().flat_map(|limits| {
                let spaces = limits.spaces.iter();
                spaces.map(|space| (limits.direction, space))
            });
            spaces.filter(|(_, space)| space.space != MemorySpace::Shared)
        };
        let atomics = all().any(|(direction, _)| direction == AccessDirection::Atomic);
        // `in_flight` reads the effects of others, so it needs them before the longest loads are known.
        self.others = Some(OtherAccesses {
            lead,
            atomics,
            longest_load: 0,
            longest_hit: 0,
            counts_misses,
        });
        let longest = |may_miss: bool| {
            let loads = all().filter(|(direction, _)| *direction == AccessDirection::Load);
            let times = loads.map(|(direction, space)| {
                let space = SpaceLimits {
                    may_miss: may_miss && space.may_miss,
                    ..*space
                };
                self.in_flight(direction, &space)
            });
            times.max().unwrap_or(0) + lead
        };
        let [longest_load, longest_hit] = [true, false].map(longest);
        self.others = Some(OtherAccesses {
            lead,
            atomics,
            longest_load,
            longest_hit,
            counts_misses,
        });
        self
    }

    /// Time by which atomic operations of other warps delay a read of the same line.
    pub(crate) fn atomics_of_others(&self) -> i64 {
        let others = self.others.as_ref();
        match others.is_some_and(|others| others.atomics) {
            true => self.atomic_latency,
            false => 0,
        }
    }

    /// Longest time for which an access that waits for no server and no window is in flight. Its sectors hold places
    /// in a window for at most this time, whatever else is in flight.
    pub(crate) fn in_flight(&self, direction: AccessDirection, space: &SpaceLimits) -> i64 {
        // A hit on data that another access has requested waits no longer than for data of its own.
        let latency = match space.may_miss {
            true => self.dram_latency,
            false => self.l2_hit,
        };
        let is_atomic = direction == AccessDirection::Atomic;
        let others = self.others.as_ref();
        let atomics = is_atomic || others.is_some_and(|others| others.atomics);
        let atomic = if atomics { self.atomic_latency } else { 0 };
        let walk = match space.may_walk {
            true => self.walk + others.map_or(0, |others| others.lead),
            false => 0,
        };
        let load = match others.filter(|_| space.may_hit_l1) {
            Some(others) => others.longest_load,
            None => 0,
        };
        // A request in front may be one that is simulated before it begins.
        let lead = others.map_or(0, |others| others.lead);
        (latency + atomic + walk).max(load) + lead
    }

    /// Sectors of loads, or of stores, that may be in flight.
    pub(crate) fn window(&self, stores: bool) -> u64 {
        self.capacity[usize::from(stores)]
    }

    /// Number of accesses kept in the windows of loads and stores, if each has at most `most` sectors. One more is
    /// kept than fits, so that the oldest of them is the one that has to leave. For example, a window of 32 sectors
    /// keeps 5 accesses of 8.
    pub(crate) fn window_entries(&self, most: [u32; 2]) -> (usize, usize) {
        let entries = |capacity: u64, most: u32| match most {
            0 => 0,
            most => (capacity / u64::from(most) + 1).min(MOST_WINDOW) as usize,
        };
        let [loads, stores] = self.capacity;
        (entries(loads, most[0]), entries(stores, most[1]))
    }

    /// Number of accesses that may be in flight together with an access of `own` sectors, if each has at most `most`;
    /// `None` if the access alone exceeds the window.
    pub(super) fn left(&self, stores: bool, own: u32, most: u32) -> Option<usize> {
        let rest = self.capacity[usize::from(stores)].checked_sub(own.into())?;
        Some((rest / u64::from(most.max(1))) as usize)
    }

    /// Service of an access at the tags and the port of its SM, at a slice, and at DRAM.
    pub(crate) fn services(
        &self,
        direction: AccessDirection,
        space: &SpaceLimits,
    ) -> (i64, i64, i64) {
        let (lines, sectors) = (i64::from(space.lines), i64::from(space.sectors));
        let atomic = match direction {
            AccessDirection::Atomic => self.atomic_occupancy,
            _ => 0,
        };
        // A store fetches nothing (SOUNDNESS 20.2).
        let fetched = match space.may_miss && direction != AccessDirection::Store {
            true => sectors,
            false => 0,
        };
        let evicted = if space.may_evict { lines } else { 0 };
        let tags = self.lookups(space);
        // After the last request is accepted the unit is held for a cycle, even if the port needs less.
        let held = lines * (MILLI - self.port).max(0);
        (
            tags + sectors * self.port + held,
            sectors * (self.slice + atomic),
            self.dram_service(fetched, evicted),
        )
    }

    /// Service of sectors that are read from DRAM, and of lines whose sectors are all written back.
    pub(crate) fn dram_service(&self, read: i64, evicted_lines: i64) -> i64 {
        read * self.dram + evicted_lines * self.evicted_line
    }

    /// Service of a line of code or constants of `sectors` sectors at a slice, and at DRAM if it may miss.
    pub(crate) fn line_service(&self, sectors: i64, may_miss: bool) -> (i64, i64) {
        let dram = if may_miss { sectors * self.dram } else { 0 };
        (sectors * self.slice, dram)
    }

    /// Service of all lines of an access at the tags, the port, a slice and DRAM, one after the other.
    pub(crate) fn served(&self, direction: AccessDirection, space: &SpaceLimits) -> i64 {
        let (lines, sectors) = (i64::from(space.lines), i64::from(space.sectors));
        let atomic = match direction {
            AccessDirection::Atomic => self.atomic_occupancy,
            _ => 0,
        };
        let fetched = match space.may_miss && direction != AccessDirection::Store {
            true => self.dram,
            false => 0,
        };
        let evicted = match space.may_evict {
            true => lines * self.evicted_line,
            false => 0,
        };
        let each = self.port.max(MILLI) + self.slice + atomic + fetched;
        lines.max(space.requests.into()) * MILLI + sectors * each + evicted
    }

    /// Latency of an access of one line that waits for nothing.
    pub(crate) fn latency(&self, direction: AccessDirection, space: &SpaceLimits) -> i64 {
        let fetched = space.may_miss && direction != AccessDirection::Store;
        let latency = match fetched {
            true => self.dram_latency,
            false => self.l2_hit,
        };
        let walk = if space.may_walk { self.walk } else { 0 };
        let atomic = match direction {
            AccessDirection::Atomic => self.atomic_latency,
            _ => 0,
        };
        latency + walk + atomic
    }

    /// Time for which an access occupies the tags: each request for at least a cycle.
    pub(super) fn lookups(&self, space: &SpaceLimits) -> i64 {
        let (lines, requests) = (u64::from(space.lines), u64::from(space.requests));
        // The sum of ⌈lines / tags⌉ over the requests is at most this, and no request needs more than a cycle per
        // line.
        let lookups =
            lines.min((lines + requests * (self.tags_per_cycle - 1)) / self.tags_per_cycle);
        lookups as i64 * MILLI
    }

    /// Service of a sector at the port of an SM.
    pub(crate) fn port(&self) -> i64 {
        self.port.max(MILLI)
    }

    /// Service of a sector at DRAM, if it may be missing in the L2 cache.
    pub(crate) fn sector_of_dram(&self, may_miss: bool) -> i64 {
        if may_miss { self.dram } else { 0 }
    }

    /// Service of the write-back of a line at DRAM.
    pub(crate) fn evicted_line(&self) -> i64 {
        self.evicted_line
    }

    /// Latency of a sector that is missing in a cache, less the latency of a hit there. The sector `may_miss` in the L2 cache.
    pub(crate) fn beyond(&self, cache: KeepingCache, may_miss: bool) -> i64 {
        let latency = match may_miss {
            true => self.dram_latency,
            false => self.l2_hit,
        };
        let hit = match cache {
            KeepingCache::L1 => self.l1_hit,
            KeepingCache::L2 => self.l2_hit,
        };
        (latency - hit).max(0)
    }

    /// Latency of a hit in the L2 cache.
    pub(crate) fn l2_hit(&self) -> i64 {
        self.l2_hit
    }

    /// Time of a walk of a page table.
    pub(crate) fn walk(&self) -> i64 {
        self.walk
    }
}

/// Maximum number of accesses that a window keeps. Older ones are taken to complete together with the oldest one
/// kept.
const MOST_WINDOW: u64 = 64;
