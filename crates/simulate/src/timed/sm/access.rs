//! Timing of the memory accesses of a warp: shared memory, local memory and global memory.

use warpbound_isa::instr::MemorySpace;
use warpbound_isa::nvidia::ExecUnit;
use warpbound_machine::Parameter;
use warpbound_simt::{ExecutionModel, Mask};
use warpbound_timing::L1Use;

use super::super::access::{SharedOutcome, has_equal_addresses};
use super::super::event::EventListener;
use super::super::l1_path::{AccessOutcome, WarpAccess};
use super::super::l2::{L2Cache, LOCAL_BASE};
use super::super::parameters::UsedParameters;
use super::probe::ProbedAccess;
use super::shared_memory::same_word_degree;
use super::{Sm, SmContext, SmWarp};
use crate::functional::{AccessKind, NVIDIA_LANES, space_of};

impl<'r, E: ExecutionModel<u32>> Sm<'r, E> {
    /// Executes the access of the instruction just issued, from cycle `start`. Returns the cycles when its sources
    /// have been read and its result is present.
    pub(super) fn access<L: EventListener>(
        &mut self,
        start: u64,
        l1: L1Use,
        warp: &mut SmWarp,
        gpu: &mut SmContext<'_, 'r, L, E>,
    ) -> (u64, u64) {
        let Some(access) = gpu.probe.access else {
            // No lane takes part.
            return (start + 1, start + 1);
        };
        let (mut sources, mut done) = (start + 1, start + 1);
        for (space, lanes) in split_by_space(&access, &mut gpu.probe.addresses) {
            // The access does not reach this space.
            if lanes == 0 {
                continue;
            }
            let access = ProbedAccess {
                taken: lanes,
                ..access
            };
            let (sources_read, completed) = match space {
                MemorySpace::Shared => self.access_shared(start, access, warp, gpu),
                _ => self.access_global(start, space, l1, access, warp, gpu),
            };
            // The instruction is complete when the parts in all spaces are.
            sources = sources.max(sources_read);
            done = done.max(completed);
        }
        (sources, done)
    }

    /// Occupies the load/store lanes of the warp's sub-partition until the memory accepts an access: back pressure of a
    /// busy memory on the issue of further accesses.
    fn hold_lsu(&mut self, until: u64, warp: &SmWarp, parameters: &UsedParameters) {
        let scheduler = &mut self.schedulers[warp.place.scheduler as usize];
        scheduler.extend_occupancy(ExecUnit::Lsu, until, parameters);
    }

    /// Accesses shared memory. The duration is 22 + base + 2 per conflict (`pastis-2022`, III.B).
    fn access_shared<L: EventListener>(
        &mut self,
        start: u64,
        access: ProbedAccess,
        warp: &mut SmWarp,
        gpu: &mut SmContext<'_, 'r, L, E>,
    ) -> (u64, u64) {
        let parameters = gpu.parameters;
        let section = *self.own.shared_section.get(parameters);
        let addresses = &gpu.probe.addresses;
        let found = section
            .banks
            .transactions(access.size, addresses, access.taken);
        let base = parameters.get(match access.size {
            16 => Parameter::SharedBase128,
            8 => Parameter::SharedBase64,
            _ => Parameter::SharedBase32,
        });
        let conflicts = u64::from(found.conflicts) * section.conflict;
        let mut occupied = conflicts + u64::from(found.all - found.conflicts) * section.transaction;
        let (mut atomic, mut same_word) = (0, 0);
        if access.kind == AccessKind::Atomic {
            // Lanes that access one word are served one after the other.
            same_word = same_word_degree(addresses, access.taken);
            let serial = u64::from(same_word) * parameters.get(Parameter::SharedAtomicThread);
            atomic = parameters.get(Parameter::SharedAtomic) + serial;
            occupied += serial;
        }
        // Accesses are served in the order of issue, and an access of a warp after its own atomic operations.
        let served = self
            .own
            .shared_memory
            .reserve(warp.last_issue, start, occupied)
            .max(warp.own.shared_served);
        warp.own.shared_served = served + atomic;
        self.hold_lsu(served, warp, parameters);
        let done = served + section.latency + base + conflicts + atomic;
        let outcome = SharedOutcome {
            kind: access.kind,
            size: access.size,
            transactions: found.all,
            conflicts: found.conflicts,
            same_word,
            done,
        };
        gpu.report_shared(warp, &outcome);
        (served + section.sources + conflicts, done)
    }

    /// Accesses global or local memory.
    fn access_global<L: EventListener>(
        &mut self,
        start: u64,
        space: MemorySpace,
        l1: L1Use,
        access: ProbedAccess,
        warp: &mut SmWarp,
        gpu: &mut SmContext<'_, 'r, L, E>,
    ) -> (u64, u64) {
        let parameters = gpu.parameters;
        let addresses = &gpu.probe.addresses;
        let is_load = access.kind == AccessKind::Load;
        let is_atomic = access.kind == AccessKind::Atomic;
        // Short-circuit: the parameter is read, and reported as used, only where it decides.
        let cached = match l1 {
            L1Use::Always => true,
            L1Use::Plain | L1Use::Transient => {
                is_load && parameters.get(Parameter::L1AllLoads) != 0
            }
            L1Use::Never => false,
        };
        let request = WarpAccess {
            kind: access.kind,
            size: access.size,
            addresses,
            taken: access.taken,
            // The L2 cache executes atomic operations.
            cached: cached && !is_atomic,
            contended: is_atomic && has_equal_addresses(addresses, access.taken),
            unit: l1_unit_of(warp, self, parameters),
        };
        let outcome = match space {
            MemorySpace::Local => {
                let bytes = gpu.launch.local;
                self.access_local(start, &request, warp, bytes, &mut gpu.l2)
            }
            _ => self.l1_path.access(start, &request, &mut gpu.l2),
        };
        // The last request is accepted within a cycle, whose end frees the lanes.
        self.hold_lsu(outcome.accepted + 1, warp, parameters);
        let done = outcome.done;
        // Atomic operations write as well: fences wait for them.
        if !is_load {
            warp.own.stores_done = warp.own.stores_done.max(done);
        }
        gpu.report_memory(warp, space, access.kind, &outcome);
        let sources = outcome.accepted + parameters.get(Parameter::L1Sources);
        (sources, done)
    }

    /// Accesses local memory. For example, byte 8 of lane 3 is at byte 2 · 128 + 12 of the warp's local memory.
    fn access_local(
        &mut self,
        start: u64,
        request: &WarpAccess<'_>,
        warp: &SmWarp,
        bytes_per_lane: u32,
        l2: &mut L2Cache<'_>,
    ) -> AccessOutcome {
        let lanes = NVIDIA_LANES as u64;
        let bytes_of_warp = u64::from(bytes_per_lane).next_multiple_of(4) * lanes;
        // Each warp slot of the GPU has local memory of its own.
        let slot = u64::from(self.number) * self.own.slots + u64::from(warp.place.slot);
        let addresses: [u64; NVIDIA_LANES] = std::array::from_fn(|lane| {
            // Addresses of lanes that do not take part are undefined, and the sums below could overflow.
            let offset = match request.taken >> lane & 1 {
                1 => request.addresses[lane],
                _ => 0,
            };
            let row = offset / 4 * (4 * lanes);
            LOCAL_BASE + slot * bytes_of_warp + row + lane as u64 * 4 + offset % 4
        });
        let first_words = WarpAccess {
            addresses: &addresses,
            ..*request
        };
        self.access_words(start, &first_words, l2)
    }
}

/// Splits the lanes of an access by memory space; generic addresses become addresses within their space.
fn split_by_space(access: &ProbedAccess, addresses: &mut [u64]) -> [(MemorySpace, Mask); 3] {
    let mut lanes = [
        (MemorySpace::Shared, 0),
        (MemorySpace::Local, 0),
        (MemorySpace::Global, 0),
    ];
    // One entry has all lanes, whatever its space; `access` skips the entries without lanes.
    if access.space != MemorySpace::Generic {
        lanes[0] = (access.space, access.taken);
        return lanes;
    }
    for (lane, address) in addresses.iter_mut().enumerate() {
        if access.taken >> lane & 1 == 0 {
            continue;
        }
        let (space, base) = space_of(access.space, *address);
        *address -= base;
        let index = match space {
            MemorySpace::Shared => 0,
            MemorySpace::Local => 1,
            _ => 2,
        };
        lanes[index].1 |= 1 << lane;
    }
    lanes
}

/// L1 unit of a warp: sub-partitions share the units, with two units one for each pair of neighbours (`pastis-2022`,
/// II.B). For example, with four sub-partitions and two units, sub-partitions 2 and 3 use unit 1.
pub(super) fn l1_unit_of<E: ExecutionModel<u32>>(
    warp: &SmWarp,
    sm: &Sm<'_, E>,
    parameters: &UsedParameters,
) -> usize {
    let units = sm.l1_path.units(parameters);
    warp.place.scheduler as usize * units / sm.schedulers.len().max(1)
}
