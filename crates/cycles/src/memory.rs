//! Memory accesses as the times of a lone warp see them: limits of what an access causes, and its completion.
//!
//! * `times`: service times and latencies of the memory system.
//! * `path`: an access to global or local memory on its way through tags, window, port, slice and DRAM.
//! * `shared`: an access to shared memory.

pub(crate) mod path;
pub(crate) mod shared;
pub(crate) mod times;

use smallvec::SmallVec;
use warpbound_isa::instr::MemorySpace;

use crate::kernel::KeepingCache;
use crate::numbers::MILLI;

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
    /// Whether the L1 cache is looked up, and keeps what it has loaded until the launch ends.
    pub stays_in_l1: bool,
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
    /// Cache whose misses of sectors of global memory are counted apart.
    pub(crate) counts_misses: Option<KeepingCache>,
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
