//! Times of memory accesses: an upper limit of the time of one access of a lone warp, from the maximum numbers of
//! requests, lines and sectors that it can cause.
//!
//! Tags, port, slices and DRAM are servers. The simulator's servers fill gaps, and there are several slices. Here
//! each kind is one server in the order of issue, which serves every request at the same time or later
//! (SOUNDNESS 11.2). For example, let a slice take 2 cycles for a sector, and a hit 200 cycles. The last of 4 sectors
//! begins after 6 cycles and arrives after 206.

use std::collections::BTreeMap;

use smallvec::SmallVec;
use warpbound_ir::OpIndex;
use warpbound_isa::instr::MemorySpace;
use warpbound_machine::Parameter;

use crate::numbers::{MILLI, MachineNumbers};
use crate::state::{Layout, Part, TimeVector};

/// Direction of an access.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum AccessDirection {
    /// Load.
    Load,
    /// Store.
    Store,
    /// Atomic operation.
    Atomic,
}

/// Upper bounds on what one execution of an access causes in one memory space.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct SpaceLimits {
    /// Shared, local or global memory.
    pub space: MemorySpace,
    /// Requests; of shared memory, pools.
    pub requests: u32,
    /// Lines of all requests.
    pub lines: u32,
    /// Sectors of all requests.
    pub sectors: u32,
    /// Bank conflicts of shared memory.
    pub conflicts: u32,
    /// Maximum number of threads that access the same word: the serial part of an atomic operation on shared memory.
    pub same_word: u32,
    /// Whether the sectors may be missing in the L2 cache.
    pub may_miss: bool,
    /// Whether the translation of each line may have to be fetched. Otherwise translations that are missing once are
    /// counted apart.
    pub may_walk: bool,
    /// Whether a line of the L2 cache may be evicted for each line accessed.
    pub may_evict: bool,
    /// Whether the L1 cache may be looked up.
    pub may_hit_l1: bool,
}

/// Upper bounds on what one execution of an access causes.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct AccessLimits {
    /// Direction.
    pub direction: AccessDirection,
    /// Bytes per lane.
    pub bytes: u32,
    /// Whether some lane takes part in each execution.
    pub always: bool,
    /// Limits for each space that its lanes may access, in the order of the simulator: shared, local, global.
    pub spaces: SmallVec<[SpaceLimits; 1]>,
}

/// Waits of an access at one node.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) struct AccessWaits {
    /// Whether it may walk the page table of global, and of local memory. Translations that are missing otherwise are
    /// counted.
    pub(crate) walks: [bool; 2],
    /// Whether waits for sectors of global memory from DRAM are counted.
    pub(crate) counts_misses: bool,
}

/// Access to one memory space.
#[derive(Clone, Copy, Debug)]
pub(crate) struct SpaceAccess<'a> {
    /// Direction.
    pub(crate) direction: AccessDirection,
    /// Waits at its node.
    pub(crate) waits: AccessWaits,
    /// Limits of what it causes in the space.
    pub(crate) limits: &'a SpaceLimits,
}

/// Completion of an access, in thousandths of cycles.
#[derive(Clone, Copy, Debug)]
pub(crate) struct AccessTimes {
    /// Its source registers have been read.
    pub(crate) sources: i64,
    /// Its result is present.
    pub(crate) done: i64,
}

/// Returns the whole cycles of a time.
pub(crate) fn floor(milli: i64) -> i64 {
    milli.div_euclid(MILLI) * MILLI
}

/// Service times of the memory system, in thousandths of cycles.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct MemoryTimes {
    tags_per_cycle: u64,
    /// Service of a sector at the port, at a slice and at DRAM.
    port: i64,
    slice: i64,
    dram: i64,
    /// Service of the write-back of an evicted line.
    evicted_line: i64,
    atomic_occupancy: i64,
    l1_hit: i64,
    l2_hit: i64,
    dram_latency: i64,
    atomic_latency: i64,
    walk: i64,
    sources: i64,
    /// Maximum number of sectors in flight, of loads and of stores.
    capacity: [u64; 2],
    shared: SharedTimes,
    /// Effects of the accesses of other warps.
    others: Option<OtherAccesses>,
}

/// Effects of other warps' accesses on an access, apart from servers and windows: data in flight.
#[derive(Clone, PartialEq, Eq, Debug)]
struct OtherAccesses {
    /// Time by which their requests may be made later than a request that is simulated after them.
    lead: i64,
    /// Whether some of them are atomic operations on global memory, for which reads of the same line wait.
    atomics: bool,
    /// Longest time from the lookup of the L1 cache to the data of any load, for which a hit may wait.
    longest_load: i64,
    /// Longest such time of a load whose sectors are in the L2 cache.
    longest_hit: i64,
    /// Whether waits for sectors from DRAM are counted, except for accesses that are executed at most once.
    counts_misses: bool,
}

/// Times of shared memory.
#[derive(Clone, PartialEq, Eq, Debug)]
struct SharedTimes {
    latency: i64,
    /// For 32, 64 and 128 bits.
    base: [i64; 3],
    conflict: i64,
    transaction: i64,
    sources: i64,
    atomic: i64,
    atomic_thread: i64,
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
            shared: SharedTimes {
                latency: milli(Parameter::SharedLatency),
                base: [
                    milli(Parameter::SharedBase32),
                    milli(Parameter::SharedBase64),
                    milli(Parameter::SharedBase128),
                ],
                conflict: milli(Parameter::SharedConflict),
                transaction: milli(Parameter::SharedTransaction),
                sources: milli(Parameter::SharedSources),
                atomic: milli(Parameter::SharedAtomic),
                atomic_thread: milli(Parameter::SharedAtomicThread),
            },
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

    /// Service of an access to shared memory.
    pub(crate) fn shared_service(&self, direction: AccessDirection, space: &SpaceLimits) -> i64 {
        let times = &self.shared;
        let serial = match direction {
            AccessDirection::Atomic => i64::from(space.same_word) * times.atomic_thread,
            _ => 0,
        };
        let conflicts = i64::from(space.conflicts) * times.conflict;
        conflicts + i64::from(space.requests) * times.transaction + serial
    }

    /// Time for which an atomic operation on shared memory makes the warp's later accesses hold their unit, beyond
    /// its service.
    pub(crate) fn shared_atomic(&self) -> i64 {
        self.shared.atomic
    }

    /// Service of a sector at the port of an SM.
    pub(crate) fn port(&self) -> i64 {
        self.port.max(MILLI)
    }

    /// Time for which an access occupies the tags: each request for at least a cycle.
    fn lookups(&self, space: &SpaceLimits) -> i64 {
        let (lines, requests) = (u64::from(space.lines), u64::from(space.requests));
        // The sum of ⌈lines / tags⌉ over the requests is at most this, and no request needs more than a cycle per
        // line.
        let lookups =
            lines.min((lines + requests * (self.tags_per_cycle - 1)) / self.tags_per_cycle);
        lookups as i64 * MILLI
    }

    /// Service of a line of code or constants of `sectors` sectors at a slice, and at DRAM if it may miss.
    pub(crate) fn line_service(&self, sectors: i64, may_miss: bool) -> (i64, i64) {
        let dram = if may_miss { sectors * self.dram } else { 0 };
        (sectors * self.slice, dram)
    }

    /// Time by which a sector that is missing in the L2 cache delays an access, and those after it.
    pub(crate) fn missing_sector(&self) -> i64 {
        self.dram_latency - self.l2_hit + self.dram
    }

    /// Service of the write-back of a line at DRAM.
    pub(crate) fn evicted_line(&self) -> i64 {
        self.evicted_line
    }

    /// Additional latency of a line that is missing in the L2 cache.
    pub(crate) fn beyond_l2(&self) -> i64 {
        self.dram_latency - self.l2_hit
    }

    /// Latency of a hit in the L2 cache.
    pub(crate) fn l2_hit(&self) -> i64 {
        self.l2_hit
    }

    /// Time of a walk of a page table.
    pub(crate) fn walk(&self) -> i64 {
        self.walk
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
    fn left(&self, stores: bool, own: u32, most: u32) -> Option<usize> {
        let rest = self.capacity[usize::from(stores)].checked_sub(own.into())?;
        Some((rest / u64::from(most.max(1))) as usize)
    }

    /// Advances the times by an access that its unit starts at `start`.
    pub(crate) fn access(
        &self,
        vector: &mut TimeVector,
        layout: &Layout,
        start: i64,
        limits: &AccessLimits,
        waits: AccessWaits,
        most: [u32; 2],
    ) -> AccessTimes {
        // An access without an active lane takes a cycle in its unit (SOUNDNESS 11.1).
        let mut times = AccessTimes {
            sources: start + MILLI,
            done: start + MILLI,
        };
        for space in &limits.spaces {
            let found = match space.space {
                MemorySpace::Shared => {
                    let (direction, bytes) = (limits.direction, limits.bytes);
                    self.shared(vector, layout, start, direction, bytes, space)
                }
                _ => {
                    let access = SpaceAccess {
                        direction: limits.direction,
                        waits,
                        limits: space,
                    };
                    self.global(vector, layout, start, access, most)
                }
            };
            times.sources = times.sources.max(found.sources);
            times.done = times.done.max(found.done);
        }
        times
    }

    /// Advances the times by an access to shared memory.
    pub(crate) fn shared(
        &self,
        vector: &mut TimeVector,
        layout: &Layout,
        start: i64,
        direction: AccessDirection,
        bytes: u32,
        space: &SpaceLimits,
    ) -> AccessTimes {
        let times = &self.shared;
        let conflicts = i64::from(space.conflicts) * times.conflict;
        let mut occupied = conflicts + i64::from(space.requests) * times.transaction;
        let mut atomic = 0;
        if direction == AccessDirection::Atomic {
            let serial = i64::from(space.same_word) * times.atomic_thread;
            atomic = times.atomic + serial;
            occupied += serial;
        }
        let begin = start.max(vector.get(Part::Shared));
        vector.set(Part::Shared, begin + occupied);
        // An earlier atomic operation of the warp must be complete before its next access is served.
        let served = begin.max(vector.get(Part::SharedServed));
        vector.set(Part::SharedServed, served + atomic);
        vector.delay_memory(layout, served);
        let base = times.base[match bytes {
            16 => 2,
            8 => 1,
            _ => 0,
        }];
        AccessTimes {
            sources: served + times.sources + conflicts,
            done: served + times.latency + base + conflicts + atomic,
        }
    }

    /// Advances the times by an access to global or local memory; `most` has the maximum number of sectors of any
    /// load and store.
    pub(crate) fn global(
        &self,
        vector: &mut TimeVector,
        layout: &Layout,
        start: i64,
        access: SpaceAccess<'_>,
        most: [u32; 2],
    ) -> AccessTimes {
        let SpaceAccess {
            direction,
            waits,
            limits: space,
        } = access;
        let is_local = space.space == MemorySpace::Local;
        let is_store = direction == AccessDirection::Store;
        let is_atomic = direction == AccessDirection::Atomic;
        let sectors = i64::from(space.sectors);
        // Tags: each request occupies them for at least a cycle, and has at least one line.
        let first = start.max(vector.get(Part::Tags));
        let lookups = self.lookups(space);
        let last = first + (lookups - MILLI).max(0);
        vector.set(Part::Tags, first + lookups);
        // Window: the accesses that may be in flight together with this one.
        let left = self.left(is_store, space.sectors, most[usize::from(is_store)]);
        let others = vector.window(layout, is_store, left.unwrap_or(0));
        let free = first.max(others);
        let mut accepted = last.max(others);
        // Servers, one after the other: a server that is slower than the one before it holds up all of the access.
        // At least a cycle per sector is assumed at the port, so tags never hold it up (SOUNDNESS 11.2).
        let port = self.port.max(MILLI);
        let port_first = free.max(vector.get(Part::Port));
        let port_end = port_first + sectors * port;
        let slice_own = self.slice + if is_atomic { self.atomic_occupancy } else { 0 };
        let slice = port.max(slice_own);
        let slice_first = port_first.max(vector.get(Part::Slice));
        let slice_end = slice_first + sectors * slice;
        let slice_last = floor(slice_end - slice_own.min(slice));
        let evicted = match space.may_evict {
            true => i64::from(space.lines) * self.evicted_line,
            false => 0,
        };
        // Local memory is never presumed to be in the L2 cache, so its misses are not counted once.
        let fetched = space.may_miss && !is_store && (is_local || !waits.counts_misses);
        let dram = slice.max(if fetched { self.dram } else { 0 });
        let dram_first = slice_first.max(vector.get(Part::Dram));
        let dram_end = dram_first + sectors * dram + evicted;
        let (mut done, unloaded) = match fetched {
            true => (
                floor(dram_end - self.dram) + self.dram_latency,
                self.dram_latency,
            ),
            false => (slice_last + self.l2_hit, self.l2_hit),
        };
        if fetched {
            vector.raise(Part::Arrived, done);
        }
        if !fetched {
            // An access to sectors in flight is complete when they have arrived.
            done = done.max(vector.get(Part::Arrived));
        }
        if space.may_miss && waits.counts_misses && !is_store {
            // A missing sector waits for the sectors requested before; its own time is counted apart.
            done = done.max(floor(vector.get(Part::Dram)) + self.l2_hit);
        }
        if fetched || space.may_evict {
            vector.set(Part::Dram, dram_end);
        }
        // A store that evicts a line is complete when the bus has accepted the line's sectors.
        if is_store && space.may_evict {
            done = done.max(floor(dram_end));
        }
        if space.may_walk {
            done = done.max(last + self.walk + unloaded);
        }
        if waits.walks[usize::from(is_local)] {
            vector.raise(Part::Translated, last + self.walk);
        }
        // A translation on its way delays all accesses to its page.
        done = done.max(vector.get(Part::Translated) + unloaded);
        if let Some(others) = &self.others {
            let counted = !is_local && waits.counts_misses;
            done = done.max(self.beside(others, access, counted, last, slice_last));
            if others.counts_misses && fetched {
                // No later access pays for these sectors.
                vector.raise(Part::Arrived, done);
            }
        }
        if is_atomic {
            done += self.atomic_latency;
        }
        if left.is_none() {
            // The access alone exceeds the window: at worst its sectors follow each other.
            let each = done - free;
            done += sectors * each;
            accepted = accepted.max(done);
        }
        vector.set(Part::Port, port_end);
        vector.set(Part::Slice, slice_end);
        self.finish(vector, layout, access, accepted, last, done)
    }

    /// Time until which data that other warps have requested delay an access. Not included are the latency of its own
    /// atomic operation, and waits for sectors from DRAM if these are `counted`. Its last line is looked up at
    /// `looked_up`, and its last sector is at its slice at `reached`.
    fn beside(
        &self,
        others: &OtherAccesses,
        access: SpaceAccess<'_>,
        counted: bool,
        looked_up: i64,
        reached: i64,
    ) -> i64 {
        let (direction, space) = (access.direction, access.limits);
        let (latency, in_l1) = match counted {
            true => (self.l2_hit, others.longest_hit),
            false if space.may_miss && others.counts_misses => {
                (self.dram_latency + others.lead, others.longest_load)
            }
            false if space.may_miss => (self.dram_latency, others.longest_load),
            false => (self.l2_hit, others.longest_load),
        };
        let waits_for_atomics = direction == AccessDirection::Load && others.atomics;
        let atomics = if waits_for_atomics {
            self.atomic_latency
        } else {
            0
        };
        let mut done = reached + latency + atomics;
        if space.may_walk {
            done = done.max(looked_up + others.lead + self.walk + latency);
        }
        if space.may_hit_l1 {
            done = done.max(looked_up + in_l1);
        }
        done
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

    /// Enters the completion of an access to global or local memory.
    fn finish(
        &self,
        vector: &mut TimeVector,
        layout: &Layout,
        access: SpaceAccess<'_>,
        accepted: i64,
        looked_up: i64,
        mut done: i64,
    ) -> AccessTimes {
        let (direction, space) = (access.direction, access.limits);
        match direction {
            AccessDirection::Load => {
                // Reads wait for atomic operations on their line.
                done = done.max(vector.get(Part::Atomic));
                if space.may_hit_l1 {
                    // A hit on a line in flight waits for it.
                    done = done
                        .max(looked_up + self.l1_hit)
                        .max(vector.get(Part::Loaded));
                }
            }
            AccessDirection::Store => vector.raise(Part::Stored, done),
            AccessDirection::Atomic => {
                vector.raise(Part::Stored, done);
                vector.raise(Part::Atomic, done);
            }
        }
        // Only loads bring lines into the L1 cache; one that misses brings the lines that others hit.
        if direction == AccessDirection::Load && layout.shape.hits_l1 {
            vector.raise(Part::Loaded, done);
        }
        // Sectors hold their places until the access is complete, so the window is left at `done`.
        vector.enter_window(layout, direction == AccessDirection::Store, done);
        vector.delay_memory(layout, accepted + MILLI);
        AccessTimes {
            sources: accepted + self.sources,
            done,
        }
    }
}

/// Maximum number of accesses that a window keeps. Older ones are taken to complete together with the oldest one
/// kept.
const MOST_WINDOW: u64 = 64;
