//! Times of an access to shared memory. For example, a load with two bank conflicts holds the memory for its transaction
//! and two conflicts, and its data are present after the latency.

use warpbound_machine::Parameter;

use crate::memory::{AccessDirection, AccessTimes, SpaceLimits};
use crate::numbers::MachineNumbers;
use crate::state::{Layout, Part, TimeVector};

/// Times of shared memory.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct SharedTimes {
    latency: i64,
    /// For 32, 64 and 128 bits.
    base: [i64; 3],
    conflict: i64,
    transaction: i64,
    sources: i64,
    atomic: i64,
    atomic_thread: i64,
}

impl SharedTimes {
    pub(crate) fn new(numbers: &MachineNumbers) -> SharedTimes {
        let milli = |parameter| numbers.milli(parameter);
        SharedTimes {
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
        }
    }

    /// Advances the times by an access to shared memory.
    pub(crate) fn access(
        &self,
        vector: &mut TimeVector,
        layout: &Layout,
        start: i64,
        direction: AccessDirection,
        bytes: u32,
        space: &SpaceLimits,
    ) -> AccessTimes {
        let conflicts = i64::from(space.conflicts) * self.conflict;
        let mut occupied = conflicts + i64::from(space.requests) * self.transaction;
        let mut atomic = 0;
        if direction == AccessDirection::Atomic {
            let serial = i64::from(space.same_word) * self.atomic_thread;
            atomic = self.atomic + serial;
            occupied += serial;
        }
        let begin = start.max(vector.get(Part::Shared));
        vector.set(Part::Shared, begin + occupied);
        // An earlier atomic operation of the warp must be complete before its next access is served.
        let served = begin.max(vector.get(Part::SharedServed));
        vector.set(Part::SharedServed, served + atomic);
        vector.delay_memory(layout, served);
        let base = self.base[match bytes {
            16 => 2,
            8 => 1,
            _ => 0,
        }];
        AccessTimes {
            sources: served + self.sources + conflicts,
            done: served + self.latency + base + conflicts + atomic,
        }
    }

    /// Service of an access to shared memory.
    pub(crate) fn service(&self, direction: AccessDirection, space: &SpaceLimits) -> i64 {
        let serial = match direction {
            AccessDirection::Atomic => i64::from(space.same_word) * self.atomic_thread,
            _ => 0,
        };
        let conflicts = i64::from(space.conflicts) * self.conflict;
        conflicts + i64::from(space.requests) * self.transaction + serial
    }

    /// Time for which an atomic operation on shared memory makes the warp's later accesses hold their unit, beyond
    /// its service.
    pub(crate) fn atomic(&self) -> i64 {
        self.atomic
    }
}
