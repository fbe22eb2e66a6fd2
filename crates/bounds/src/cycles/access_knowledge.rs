//! Facts about a launch that decide the limits of its accesses: initial contents of the L2 cache, what caches keep, memories
//! that exist.

use warpbound_analyse::access::{AccessClass, AccessCounts};
use warpbound_cycles::{AccessDirection, AccessLimits, MachineNumbers, SpaceLimits, Translations};
use warpbound_isa::instr::MemorySpace;
use warpbound_launch::Launch;
use warpbound_machine::Parameter;
use warpbound_timing::L1Use;

use super::CacheState;
use super::launch_memory::{LaunchMemory, PageCount, lanes};

/// Facts about a launch that decide the limits of accesses.
pub(super) struct AccessKnowledge {
    caches: CacheState,
    pub(super) memory: Option<LaunchMemory>,
    /// Whether plain loads from global memory may look up the L1 cache.
    may_loads_be_cached: bool,
    /// Whether they do.
    pub(super) are_all_loads_cached: bool,
    /// Whether the launch has shared memory, and local memory. An access to memory that it does not have ends the
    /// run.
    has_shared: bool,
    has_local: bool,
    /// Maximum number of lanes of a warp that have a thread.
    pub(super) lanes: u32,
}

impl AccessKnowledge {
    /// Collects the facts about a launch, if it is stated.
    pub(super) fn of(
        launch: Option<&Launch>,
        memory: Option<LaunchMemory>,
        numbers: &MachineNumbers,
        caches: CacheState,
    ) -> AccessKnowledge {
        let lanes_of_block = launch.map_or(u32::MAX, |launch| {
            let threads = launch.block.iter().map(|&n| u64::from(n)).product::<u64>();
            // The minimum with the lanes of a warp makes the size of a larger block irrelevant.
            u32::try_from(threads.max(1)).unwrap_or(u32::MAX)
        });
        AccessKnowledge {
            caches,
            memory,
            // Without a launch, both memories may exist.
            has_shared: launch.is_none_or(|launch| launch.shared > 0),
            has_local: launch.is_none_or(|launch| launch.local > 0),
            may_loads_be_cached: numbers.range(Parameter::L1AllLoads).1 != 0,
            are_all_loads_cached: numbers.range(Parameter::L1AllLoads).0 != 0,
            lanes: lanes_of_block.min(lanes(numbers) as u32),
        }
    }
}

impl AccessKnowledge {
    /// Whether everything but local memory is in the L2 cache.
    pub(super) fn is_warm(&self) -> bool {
        self.caches == CacheState::Warm && self.memory.is_some_and(|memory| memory.fits)
    }

    /// Whether a line of the L2 cache may be evicted for each line that is accessed.
    pub(super) fn may_evict(&self) -> bool {
        self.memory.is_none_or(|memory| !memory.fits)
    }

    /// Returns the limits of an access.
    pub(super) fn limits(
        &self,
        class: &AccessClass,
        direction: AccessDirection,
        l1: L1Use,
    ) -> AccessLimits {
        let order = [MemorySpace::Shared, MemorySpace::Local, MemorySpace::Global];
        let spaces = order.into_iter().filter_map(|space| {
            // An access to memory that the launch does not have ends the run, so it takes no time (SOUNDNESS 11.2).
            let exists = match space {
                MemorySpace::Shared => self.has_shared,
                MemorySpace::Local => self.has_local,
                _ => true,
            };
            let counts = class.limit(space).filter(|_| exists)?;
            Some(self.space_limits(class, direction, l1, space, counts))
        });
        AccessLimits {
            direction,
            bytes: class.shape.bytes,
            always: false,
            spaces: spaces.collect(),
        }
    }

    fn space_limits(
        &self,
        class: &AccessClass,
        direction: AccessDirection,
        l1: L1Use,
        space: MemorySpace,
        counts: AccessCounts,
    ) -> SpaceLimits {
        let is_load = direction == AccessDirection::Load;
        let is_local = space == MemorySpace::Local;
        let may_look_up = match l1 {
            L1Use::Always => true,
            L1Use::Transient | L1Use::Plain => self.may_loads_be_cached,
            L1Use::Never => false,
        };
        // A class has the numbers of one access. An instruction with two addresses (ds_read2) makes two, one after
        // the other.
        let of_all = |number: u32| number.saturating_mul(class.shape.parts());
        SpaceLimits {
            space,
            requests: of_all(counts.requests),
            lines: of_all(counts.transactions),
            sectors: of_all(counts.sectors),
            // Machines differ in the width of banks (`lds.bank_shift`), and the worse one counts.
            conflicts: of_all(counts.conflicts.max(counts.byte_conflicts)),
            // Patterns describe rows of lanes, so lanes of different rows may access one word.
            same_word: class.lanes.max(1),
            // Local memory is not in the cache when a launch begins.
            may_miss: is_local || !self.is_warm(),
            may_walk: self.memory.is_none_or(|memory| memory.pages.is_none()),
            may_evict: self.may_evict(),
            // A generic access to local memory looks up the L1 cache as its instruction says.
            may_hit_l1: is_load && (is_local || may_look_up),
            // Whether it does is known with all accesses (`CycleInputs::keep_in_l1`).
            stays_in_l1: false,
        }
    }

    /// Returns the translations of global and of local memory that are missing once.
    pub(super) fn translations(&self) -> [Translations; 2] {
        let Some([buffers, local]) = self.memory.and_then(|memory| memory.pages) else {
            return Default::default();
        };
        let cold = |pages: PageCount| Translations {
            // A page of the second TLB has several pages of the first one. Its first use walks, and the others miss
            // in the first TLB only.
            walks: pages.second,
            first_level: pages.first.saturating_sub(pages.second),
        };
        let of_buffers = match self.caches {
            // The host has just written the buffers, so the second-level TLB has their translations.
            CacheState::Warm => Translations {
                walks: 0,
                first_level: buffers.first,
            },
            CacheState::Cold | CacheState::Any => cold(buffers),
        };
        [of_buffers, cold(local)]
    }
}

#[cfg(test)]
mod tests {
    use warpbound_analyse::access::{AccessPattern, AccessShape};

    use super::*;

    /// A pattern describes a row of lanes: in a block of 1 x 32 threads all lanes of `s[threadIdx.x]` have one word.
    #[test]
    fn lanes_of_a_coalesced_atomic_may_have_one_word() {
        let knowledge = AccessKnowledge {
            caches: CacheState::Any,
            memory: None,
            may_loads_be_cached: false,
            are_all_loads_cached: false,
            has_shared: true,
            has_local: true,
            lanes: 32,
        };
        let class = AccessClass {
            shape: AccessShape::plain(MemorySpace::Shared, 4),
            pattern: AccessPattern::Coalesced,
            limits: vec![(MemorySpace::Shared, AccessCounts::default())],
            lanes: 32,
            is_exact: false,
            needs_block: true,
        };
        let limits = knowledge.limits(&class, AccessDirection::Atomic, L1Use::Plain);
        assert_eq!(limits.spaces[0].same_word, 32);
    }
}
