//! Timing of the memory accesses of a warp: shared memory, local memory and global memory.

use warpbound_ir::OpIndex;
use warpbound_isa::instr::MemorySpace;
use warpbound_machine::Parameter;
use warpbound_simt::{Mask, lanes_of};

use super::event::{Event, EventListener};
use super::l1_path::{AccessOutcome, WarpAccess};
use super::l2::{L2Cache, LOCAL_BASE};
use super::outcome::Outcome;
use super::parameters::UsedParameters;
use super::probe::ProbedAccess;
use super::shared_memory::same_word_degree;
use super::sm::{GpuContext, Sm, l1_unit_of};
use super::warp::Warp;
use crate::functional::{AccessKind, NVIDIA_LANES, space_of};
use warpbound_isa::nvidia::ExecUnit;

impl<'r> Sm<'r> {
    /// Executes the access of the instruction just issued, from cycle `start`. Returns the cycles when its sources
    /// have been read and its result is present.
    pub(super) fn access<L: EventListener>(
        &mut self,
        start: u64,
        cached: bool,
        warp: &mut Warp,
        gpu: &mut GpuContext<'_, 'r, L>,
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
                _ => self.access_global(start, space, cached, access, warp, gpu),
            };
            // The instruction is complete when the parts in all spaces are.
            sources = sources.max(sources_read);
            done = done.max(completed);
        }
        (sources, done)
    }

    /// Occupies the load/store lanes of the warp's sub-partition until the memory accepts an access: back pressure of a
    /// busy memory on the issue of further accesses.
    fn hold_lsu(&mut self, until: u64, warp: &Warp, parameters: &UsedParameters) {
        let scheduler = &mut self.schedulers[warp.place.scheduler as usize];
        scheduler.extend_occupancy(ExecUnit::Lsu, until, parameters);
    }

    /// Accesses shared memory. The duration is 22 + base + 2 per conflict (`pastis-2022`, III.B).
    fn access_shared<L: EventListener>(
        &mut self,
        start: u64,
        access: ProbedAccess,
        warp: &mut Warp,
        gpu: &mut GpuContext<'_, 'r, L>,
    ) -> (u64, u64) {
        let parameters = gpu.parameters;
        let section = *self.shared_section.get(parameters);
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
            .shared_memory
            .reserve(warp.last_issue, start, occupied)
            .max(warp.shared_served);
        warp.shared_served = served + atomic;
        self.hold_lsu(served, warp, parameters);
        let done = served + section.latency + base + conflicts + atomic;
        gpu.l2.recorder.record(|| Outcome::Shared {
            kind: access.kind,
            size: access.size,
            transactions: found.all,
            conflicts: found.conflicts,
            same_word,
        });
        let event = Event::Shared {
            warp: warp.place,
            at: OpIndex(warp.at),
            access: access.kind,
            transactions: found.all,
            conflicts: found.conflicts,
            done,
        };
        gpu.listener.event(warp.last_issue, &event);
        (served + section.sources + conflicts, done)
    }

    /// Accesses global or local memory.
    fn access_global<L: EventListener>(
        &mut self,
        start: u64,
        space: MemorySpace,
        cached: bool,
        access: ProbedAccess,
        warp: &mut Warp,
        gpu: &mut GpuContext<'_, 'r, L>,
    ) -> (u64, u64) {
        let parameters = gpu.parameters;
        let addresses = &gpu.probe.addresses;
        let is_load = access.kind == AccessKind::Load;
        let is_atomic = access.kind == AccessKind::Atomic;
        // Short-circuit: the parameter is read, and reported as used, only where it decides.
        let cached = cached || is_load && parameters.get(Parameter::L1AllLoads) != 0;
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
        // Atomic operations write as well: fences and the end of the kernel wait for them.
        if !is_load {
            warp.stores_done = warp.stores_done.max(done);
            gpu.stores_done = gpu.stores_done.max(done);
        }
        let event = Event::Memory {
            warp: warp.place,
            at: OpIndex(warp.at),
            space: match space {
                MemorySpace::Local => MemorySpace::Local,
                _ => MemorySpace::Global,
            },
            access: access.kind,
            requests: outcome.requests,
            sectors: outcome.sectors,
            l1_hits: outcome.l1_hits,
            l1_lookups: outcome.l1_lookups,
            l2_hits: outcome.l2_hits,
            l2_lookups: outcome.l2_lookups,
            dram_sectors: outcome.dram,
            tlb_misses: outcome.tlb_misses,
            done,
        };
        gpu.listener.event(warp.last_issue, &event);
        let sources = outcome.accepted + parameters.get(Parameter::L1Sources);
        (sources, done)
    }

    /// Accesses local memory, word by word. The words of the lanes at one offset are consecutive, so that the access
    /// of a warp to one variable is one line (CUDA C Programming Guide, "Local Memory"). For example, byte 8 of lane
    /// 3 is at byte 2 · 128 + 12 of the warp's local memory.
    fn access_local(
        &mut self,
        start: u64,
        request: &WarpAccess<'_>,
        warp: &Warp,
        bytes_per_lane: u32,
        l2: &mut L2Cache<'_>,
    ) -> AccessOutcome {
        let lanes = NVIDIA_LANES as u64;
        let bytes_of_warp = u64::from(bytes_per_lane).next_multiple_of(4) * lanes;
        // Each warp slot of the GPU has local memory of its own.
        let slot = u64::from(self.number) * self.slots + u64::from(warp.place.slot);
        let mut outcome = AccessOutcome::default();
        for word in 0..u64::from(request.size).div_ceil(4) {
            let addresses: [u64; NVIDIA_LANES] = std::array::from_fn(|lane| {
                // Addresses of lanes that do not take part are undefined, and the sums below could overflow.
                let offset = match request.taken >> lane & 1 {
                    1 => request.addresses[lane] + 4 * word,
                    _ => 0,
                };
                let row = offset / 4 * (4 * lanes);
                LOCAL_BASE + slot * bytes_of_warp + row + lane as u64 * 4 + offset % 4
            });
            let word = WarpAccess {
                size: request.size.min(4),
                addresses: &addresses,
                ..*request
            };
            outcome.add(&self.l1_path.access(start, &word, l2));
        }
        outcome
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

/// Whether several lanes have the same address.
pub(super) fn has_equal_addresses(addresses: &[u64], taken: Mask) -> bool {
    let lanes = || lanes_of(taken);
    lanes().any(|lane| lanes().any(|other| other < lane && addresses[other] == addresses[lane]))
}
