//! Path of an access to global or local memory: an upper limit of the time of one access of a lone warp, from the
//! maximum numbers of requests, lines and sectors that it can cause.
//!
//! Tags, port, slices and DRAM are servers. The simulator's servers fill gaps, and there are several slices. Here
//! each kind is one server in the order of issue, which serves every request at the same time or later
//! (SOUNDNESS 11.2). For example, let a slice take 2 cycles for a sector, and a hit 200 cycles. The last of 4 sectors
//! begins after 6 cycles and arrives after 206.

use warpbound_isa::instr::MemorySpace;

use crate::kernel::KeepingCache;
use crate::memory::times::{MemoryTimes, OtherAccesses};
use crate::memory::{
    AccessDirection, AccessLimits, AccessTimes, AccessWaits, SpaceAccess, SpaceLimits, floor,
};
use crate::numbers::MILLI;
use crate::state::{Layout, Part, TimeVector};

/// Lookups of the lines of an access: the begin of the first and of the last one.
#[derive(Clone, Copy)]
struct Lookups {
    first: i64,
    last: i64,
}

/// Place of an access in the window of sectors in flight.
#[derive(Clone, Copy)]
struct WindowPlace {
    /// The first sector may leave.
    free: i64,
    /// The last request is accepted.
    accepted: i64,
    /// Whether the access alone has more sectors than the window.
    is_exceeded: bool,
}

/// Service of an access at a slice: the begin of the first and of the last sector, and the distance of two.
#[derive(Clone, Copy)]
struct SliceService {
    first: i64,
    each: i64,
    last: i64,
}

impl SpaceAccess<'_> {
    fn is_store(self) -> bool {
        self.direction == AccessDirection::Store
    }

    fn is_local(self) -> bool {
        self.limits.space == MemorySpace::Local
    }

    fn sectors(self) -> i64 {
        i64::from(self.limits.sectors)
    }

    /// Whether its sectors may have to be fetched from DRAM by this access. A store fetches nothing. Local memory is
    /// never presumed to be in the L2 cache, so its misses are not counted once.
    fn is_fetched(self) -> bool {
        self.limits.may_miss && !self.is_store() && self.counts_misses().is_none()
    }

    /// Cache whose misses by this access are counted apart.
    fn counts_misses(self) -> Option<KeepingCache> {
        self.waits.counts_misses.filter(|_| !self.is_local())
    }
}

impl MemoryTimes {
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
        self.shared
            .access(vector, layout, start, direction, bytes, space)
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
        let lookups = self.look_up(vector, start, access);
        let place = self.enter_window(vector, layout, lookups, access, most);
        let port = self.send(vector, place.free, access);
        let slice = self.serve(vector, port, access);
        let fetched = access.is_fetched();
        let mut done = self.transfer(vector, slice, access);
        let unloaded = if fetched {
            self.dram_latency
        } else {
            self.hit(access)
        };
        done = done.max(self.translated(vector, lookups, access) + unloaded);
        if let Some(others) = &self.others {
            done = done.max(self.with_others(others, access, lookups.last, slice.last));
            if others.counts_misses && fetched {
                // No later access pays for these sectors.
                vector.raise(Part::Arrived, done);
            }
        }
        if access.direction == AccessDirection::Atomic {
            done += self.atomic_latency;
        }
        let mut accepted = place.accepted;
        if place.is_exceeded {
            // The access alone exceeds the window: at worst its sectors follow each other.
            let each = done - place.free;
            done += access.sectors() * each;
            accepted = accepted.max(done);
        }
        self.finish(vector, layout, access, accepted, lookups.last, done)
    }

    /// Latency of an access that misses nothing but what is counted apart.
    fn hit(&self, access: SpaceAccess<'_>) -> i64 {
        match access.counts_misses() {
            Some(KeepingCache::L1) => self.l1_hit,
            _ => self.l2_hit,
        }
    }

    /// Looks the lines up in the tags: each request occupies them for at least a cycle, and has at least one line.
    fn look_up(&self, vector: &mut TimeVector, start: i64, access: SpaceAccess<'_>) -> Lookups {
        let first = start.max(vector.get(Part::Tags));
        let lookups = self.lookups(access.limits);
        vector.set(Part::Tags, first + lookups);
        Lookups {
            first,
            last: first + (lookups - MILLI).max(0),
        }
    }

    /// Returns the place in the window of sectors in flight, after the accesses that may not be in flight together
    /// with this one.
    fn enter_window(
        &self,
        vector: &TimeVector,
        layout: &Layout,
        lookups: Lookups,
        access: SpaceAccess<'_>,
        most: [u32; 2],
    ) -> WindowPlace {
        let is_store = access.is_store();
        let left = self.left(is_store, access.limits.sectors, most[usize::from(is_store)]);
        let others = vector.window(layout, is_store, left.unwrap_or(0));
        WindowPlace {
            free: lookups.first.max(others),
            accepted: lookups.last.max(others),
            is_exceeded: left.is_none(),
        }
    }

    /// Sends the sectors through the port of the SM and returns the begin of the first one. At least a cycle per
    /// sector is assumed, so tags never hold the port up (SOUNDNESS 11.2).
    fn send(&self, vector: &mut TimeVector, from: i64, access: SpaceAccess<'_>) -> i64 {
        let first = from.max(vector.get(Part::Port));
        vector.set(Part::Port, first + access.sectors() * self.port());
        first
    }

    /// Serves the sectors at a slice of the L2 cache. A server that is slower than the one before it holds up all of
    /// the access.
    fn serve(&self, vector: &mut TimeVector, from: i64, access: SpaceAccess<'_>) -> SliceService {
        let atomic = match access.direction {
            AccessDirection::Atomic => self.atomic_occupancy,
            _ => 0,
        };
        let own = self.slice + atomic;
        let each = self.port().max(own);
        let first = from.max(vector.get(Part::Slice));
        let end = first + access.sectors() * each;
        vector.set(Part::Slice, end);
        SliceService {
            first,
            each,
            last: floor(end - own),
        }
    }

    /// Transfers the sectors that may be missing from DRAM, and evicted lines to it; returns the time at which the
    /// data of the last sector are present or accepted.
    fn transfer(
        &self,
        vector: &mut TimeVector,
        slice: SliceService,
        access: SpaceAccess<'_>,
    ) -> i64 {
        let space = access.limits;
        let fetched = access.is_fetched();
        let evicted = match space.may_evict {
            true => i64::from(space.lines) * self.evicted_line,
            false => 0,
        };
        let busy = vector.get(Part::Dram);
        let each = slice.each.max(if fetched { self.dram } else { 0 });
        let end = slice.first.max(busy) + access.sectors() * each + evicted;
        let mut done;
        if fetched {
            done = floor(end - self.dram) + self.dram_latency;
            vector.raise(Part::Arrived, done);
        } else {
            // An access to sectors in flight is complete when they have arrived.
            done = (slice.last + self.hit(access)).max(vector.get(Part::Arrived));
        }
        if space.may_miss && access.waits.counts_misses.is_some() && !access.is_store() {
            // A missing sector waits for the sectors requested before; its own time is counted apart.
            done = done.max(floor(busy) + self.hit(access));
        }
        if fetched || space.may_evict {
            vector.set(Part::Dram, end);
        }
        // A store that evicts a line is complete when the bus has accepted the line's sectors.
        if access.is_store() && space.may_evict {
            done = done.max(floor(end));
        }
        done
    }

    /// Returns the time at which the pages of the access are translated.
    fn translated(
        &self,
        vector: &mut TimeVector,
        lookups: Lookups,
        access: SpaceAccess<'_>,
    ) -> i64 {
        let walked = lookups.last + self.walk;
        if access.waits.walks[usize::from(access.is_local())] {
            vector.raise(Part::Translated, walked);
        }
        // A translation on its way delays all accesses to its page.
        let known = vector.get(Part::Translated);
        match access.limits.may_walk {
            true => known.max(walked),
            false => known,
        }
    }

    /// Time until which data that other warps have requested delay an access. Not included are the latency of its own
    /// atomic operation, and waits for sectors from DRAM if these are counted. Its last line is looked up at
    /// `looked_up`, and its last sector is at its slice at `reached`.
    fn with_others(
        &self,
        others: &OtherAccesses,
        access: SpaceAccess<'_>,
        looked_up: i64,
        reached: i64,
    ) -> i64 {
        let (direction, space) = (access.direction, access.limits);
        let (latency, in_l1) = match access.counts_misses() {
            Some(KeepingCache::L2) => (self.l2_hit, others.longest_hit),
            // What is on its way to the L1 cache is counted.
            Some(KeepingCache::L1) => (self.l1_hit, self.l1_hit),
            None if space.may_miss && others.counts_misses => {
                (self.dram_latency + others.lead, others.longest_load)
            }
            None if space.may_miss => (self.dram_latency, others.longest_load),
            None => (self.l2_hit, others.longest_load),
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
        vector.enter_window(layout, access.is_store(), done);
        vector.delay_memory(layout, accepted + MILLI);
        AccessTimes {
            sources: accepted + self.sources,
            done,
        }
    }
}
