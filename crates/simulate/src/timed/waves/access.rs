//! Timing of the memory accesses of a wave: vector memory, LDS, scalar memory.
//!
//! An access begins when its unit has taken it, and occupies the unit further while the memory does not accept it.

use smallvec::SmallVec;
use warpbound_ir::OpIndex;
use warpbound_isa::instr::MemorySpace;
use warpbound_launch::gcn::{LANES, aperture};
use warpbound_machine::Parameter;
use warpbound_simt::{Mask, lanes_of};
use warpbound_timing::WaveFacts;

use super::super::access::{SharedOutcome, has_equal_addresses};
use super::super::event::{Event, EventListener};
use super::super::l1_path::WarpAccess;
use super::super::l2::LOCAL_BASE;
use super::compute_unit::{ComputeUnit, WaveContext};
use super::lds::Passes;
use super::probe::LaneAccess;
use super::wave::Wave;
use crate::functional::AccessKind;

/// Lanes of an access by the memory that they go to.
#[derive(Clone, Copy, Default)]
struct LanesBySpace {
    global: Mask,
    shared: Mask,
    scratch: Mask,
}

impl<'r> ComputeUnit<'r> {
    /// Times an access of the vector memory unit: to global memory, to scratch, and to LDS by flat addresses.
    pub(super) fn access_vector<L: EventListener>(
        &mut self,
        now: u64,
        facts: &WaveFacts,
        wave: &mut Wave,
        gpu: &mut WaveContext<'_, 'r, L>,
    ) {
        let parameters = gpu.parameters;
        let cycles = parameters.get(Parameter::VmemCycles) * u64::from(facts.dwords);
        let start = now + cycles;
        // Without an access of some lane, the instruction completes when it begins.
        let (mut free, mut done) = (start, start);
        if facts.invalidates {
            self.l1_path.invalidate_all();
        }
        for number in 0..gpu.probe.accesses().len() {
            let Some(mut access) = gpu.probe.accesses().get(number).copied() else {
                break;
            };
            let lanes = self.translate(&mut access, wave, gpu);
            for (space, taken) in [
                (MemorySpace::Shared, lanes.shared),
                (MemorySpace::Local, lanes.scratch),
                (MemorySpace::Global, lanes.global),
            ] {
                if taken == 0 {
                    continue;
                }
                let access = LaneAccess {
                    space,
                    taken,
                    ..access
                };
                let (accepted, completed) = match space {
                    MemorySpace::Shared => self.pass_lds(now, start, &[access], wave, gpu),
                    _ => self.pass_l1(start, facts, &access, wave, gpu),
                };
                free = free.max(accepted);
                done = done.max(completed);
            }
        }
        self.own.vector_memory = free;
        // Operations complete in the order of issue, so this may be later than the arrival of the data.
        let done = wave.own.counters.raise_vm(now, done);
        // Flat instructions raise both counters, and lower both when they are complete.
        if facts.raises.lgkm > 0 {
            wave.own
                .counters
                .raise_lgkm(now, facts.kind, done, facts.raises.lgkm);
        }
    }

    /// Finds the memory of each lane of an access, and changes its addresses to addresses of that memory.
    fn translate<L>(
        &self,
        access: &mut LaneAccess,
        wave: &Wave,
        gpu: &WaveContext<'_, 'r, L>,
    ) -> LanesBySpace {
        let mut lanes = LanesBySpace::default();
        if access.space == MemorySpace::Shared {
            lanes.shared = access.taken;
            return lanes;
        }
        let highest = lanes_of(access.taken)
            .map(|lane| access.addresses[lane])
            .max();
        // The windows lie above global memory, so one comparison decides for most accesses.
        if highest.is_none_or(|highest| highest < aperture::SCRATCH) {
            lanes.global = access.taken;
            return lanes;
        }
        let is_flat = access.space == MemorySpace::Generic;
        let lane_bytes = u64::from(gpu.launch.local);
        let row = u64::from(LANES) * 4;
        let wave_bytes = lane_bytes.saturating_mul(row / 4);
        let group_bytes = wave_bytes.saturating_mul(wave_count(gpu).into());
        // Groups that are resident have memory of their own.
        let place = u64::from(self.number) * u64::from(self.own.shape.base_slots());
        let base =
            LOCAL_BASE.saturating_add(group_bytes.saturating_mul(place + wave.resident as u64));
        for lane in lanes_of(access.taken) {
            let address = access.addresses[lane];
            let within = |window: u64| {
                // An address below a window wraps around to a large offset.
                let offset = address.wrapping_sub(window);
                (offset < aperture::SIZE).then_some(offset)
            };
            let bit = 1 << lane;
            if let Some(offset) = within(aperture::SHARED).filter(|_| is_flat) {
                lanes.shared |= bit;
                access.addresses[lane] = offset;
            } else if let Some(byte) = within(aperture::PRIVATE).filter(|_| is_flat) {
                lanes.scratch |= bit;
                let own = u64::from(wave.place.warp) * wave_bytes;
                let in_wave = byte / 4 * row + 4 * lane as u64 + byte % 4;
                access.addresses[lane] = base.saturating_add(own + in_wave);
            } else if let Some(offset) = within(aperture::SCRATCH) {
                lanes.scratch |= bit;
                access.addresses[lane] = base.saturating_add(offset);
            } else {
                lanes.global |= bit;
            }
        }
        lanes
    }

    /// Accesses global memory or scratch through the L1 cache, from cycle `start`. Returns the cycles until which it
    /// holds its unit, and when it completes.
    fn pass_l1<L: EventListener>(
        &mut self,
        start: u64,
        facts: &WaveFacts,
        access: &LaneAccess,
        wave: &Wave,
        gpu: &mut WaveContext<'_, 'r, L>,
    ) -> (u64, u64) {
        let is_load = access.kind == AccessKind::Load;
        let is_atomic = access.kind == AccessKind::Atomic;
        let all_loads =
            is_load && !facts.bypasses && gpu.parameters.get(Parameter::L1AllLoads) != 0;
        let request = WarpAccess {
            kind: access.kind,
            size: access.size,
            addresses: &access.addresses,
            taken: access.taken,
            // Stores and atomic operations go to the L2 cache (docs/timing-model-gcn3.md).
            cached: all_loads,
            contended: is_atomic && has_equal_addresses(&access.addresses, access.taken),
            unit: 0,
        };
        let outcome = match access.space {
            MemorySpace::Local => self.access_words(start, &request, &mut gpu.l2),
            _ => self.l1_path.access(start, &request, &mut gpu.l2),
        };
        gpu.report_memory(wave, access.space, access.kind, &outcome);
        // It is accepted within a cycle, whose end frees the unit.
        let free = match outcome.accepted > start {
            true => outcome.accepted + 1,
            false => start,
        };
        (free, outcome.done)
    }

    /// Times an access of the LDS unit.
    pub(super) fn access_lds<L: EventListener>(
        &mut self,
        now: u64,
        facts: &WaveFacts,
        wave: &mut Wave,
        gpu: &mut WaveContext<'_, 'r, L>,
    ) {
        let parameters = gpu.parameters;
        let cycles = parameters.get(Parameter::LdsCycles) * u64::from(facts.dwords);
        let start = now + cycles;
        let accesses: SmallVec<[LaneAccess; 2]> = gpu.probe.accesses().iter().copied().collect();
        let (free, done) = match accesses.is_empty() {
            // No lane takes part, or the lanes exchange registers.
            true => (start, start + self.own.lds_section.get(parameters).latency),
            false => self.pass_lds(now, start, &accesses, wave, gpu),
        };
        self.own.lds_unit = free;
        wave.own
            .counters
            .raise_lgkm(now, facts.kind, done, facts.raises.lgkm);
    }

    /// Accesses LDS from cycle `start`. Returns the cycles until which it holds its unit, and when it completes.
    fn pass_lds<L: EventListener>(
        &mut self,
        now: u64,
        start: u64,
        accesses: &[LaneAccess],
        wave: &Wave,
        gpu: &mut WaveContext<'_, 'r, L>,
    ) -> (u64, u64) {
        let parameters = gpu.parameters;
        let section = *self.own.lds_section.get(parameters);
        let mut passes = Passes::default();
        for access in accesses {
            let own =
                section
                    .banks
                    .passes(access.kind, access.size, &access.addresses, access.taken);
            passes.all += own.all;
            passes.further += own.further;
        }
        let further = u64::from(passes.further) * section.conflict;
        let kind = accesses
            .first()
            .map_or(AccessKind::Load, |access| access.kind);
        let atomic = match kind {
            AccessKind::Atomic => parameters.get(Parameter::LdsAtomic),
            _ => 0,
        };
        // Accesses are served in the order of issue.
        let served = self.own.lds.reserve(now, start, further);
        let done = served + section.latency + further + atomic;
        let outcome = SharedOutcome {
            kind,
            size: accesses.iter().map(|access| access.size).sum(),
            transactions: passes.all,
            conflicts: passes.further,
            // The time of LDS does not depend on it.
            same_word: 0,
            done,
        };
        gpu.report_shared(wave, &outcome);
        (served.max(start), done)
    }

    /// Times an access of the scalar memory unit.
    pub(super) fn access_scalar<L: EventListener>(
        &mut self,
        now: u64,
        facts: &WaveFacts,
        wave: &mut Wave,
        gpu: &mut WaveContext<'_, 'r, L>,
    ) {
        let parameters = gpu.parameters;
        let start = now
            + parameters.get(match facts.dwords {
                16.. => Parameter::SmemCycles16,
                8.. => Parameter::SmemCycles8,
                _ => Parameter::SmemCycles,
            });
        self.own.scalar_memory = start;
        if facts.invalidates {
            self.own.scalar_cache.invalidate_all();
        }
        let access = gpu.probe.accesses().first();
        let done = match access.map(|access| (access.kind, access.addresses[0], access.size)) {
            // Out of range of its buffer, the access completes like a hit (docs/timing-model-gcn3.md).
            None => start + parameters.get(Parameter::ScalarHit),
            Some((kind, address, bytes)) => {
                let outcome = match kind {
                    AccessKind::Load => {
                        self.own
                            .scalar_cache
                            .read(start, address, bytes, &mut gpu.l2)
                    }
                    _ => self
                        .own
                        .scalar_cache
                        .write(start, address, bytes, &mut gpu.l2),
                };
                if kind != AccessKind::Load {
                    gpu.stores_done = gpu.stores_done.max(outcome.done);
                }
                let event = Event::Scalar {
                    warp: wave.place,
                    at: OpIndex(wave.at),
                    access: kind,
                    lines: outcome.lines,
                    hits: outcome.hits,
                    l2_hits: outcome.l2_hits,
                    done: outcome.done,
                };
                gpu.listener.event(now, &event);
                outcome.done
            }
        };
        wave.own
            .counters
            .raise_lgkm(now, facts.kind, done, facts.raises.lgkm);
    }
}

/// Number of waves of a group.
fn wave_count<L>(gpu: &WaveContext<'_, '_, L>) -> u32 {
    let threads: u32 = gpu.launch.block.iter().product();
    threads.div_ceil(LANES)
}
