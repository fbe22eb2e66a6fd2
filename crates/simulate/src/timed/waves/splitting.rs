//! Splits of waves, with time (`wavefront-splitting-2022`, 4): reserve slots, the start of a child, merges.

use warpbound_ir::OpIndex;
use warpbound_machine::Parameter;
use warpbound_simt::ExecutionModel;
use warpbound_timing::IssueKind;

use super::super::event::{Event, EventListener, SplitRefusal, Stall, WarpPlace};
use super::super::event_queue::NEVER;
use super::compute_unit::{ComputeUnit, WaveContext};
use super::setup::SplitMarking;
use super::simd::SimdWave;
use super::wave::{MergeRecord, Wave, WaveState};

impl<'r> ComputeUnit<'r> {
    /// Splits a wave that is about to issue a branch, if it may: the parent issues the branch now, the child from the
    /// next turn of the SIMD on.
    pub(super) fn split<L: EventListener>(
        &mut self,
        now: u64,
        wave: &mut Wave,
        gpu: &mut WaveContext<'_, 'r, L>,
    ) {
        let splitting = &gpu.run.setup.splitting;
        if splitting.splits == 0 {
            return;
        }
        let at = OpIndex(wave.at);
        let Some(site) = splitting.sites.get(&at) else {
            return;
        };
        let resident = self.residents.get(wave.resident);
        let Some(resident) = resident.and_then(Option::as_ref) else {
            return;
        };
        let is_marked = match splitting.marking {
            SplitMarking::Sites => true,
            SplitMarking::Mode => resident.block.mode_mark(wave.index),
        };
        if !is_marked || !resident.block.may_split(wave.index) {
            return;
        }
        let slot = match self.reserve_slot(wave, gpu) {
            Ok(slot) => slot,
            Err(reason) => {
                let warp = wave.place;
                let event = Event::SplitRefused { warp, at, reason };
                return gpu.listener.event(now, &event);
            }
        };
        let merge_point = site.merge_point.filter(|_| splitting.merge);
        self.start_child(now, wave, slot, merge_point, gpu);
    }

    /// Returns the lowest free reserve slot of a wave, if its SIMD has registers for a child.
    fn reserve_slot<L>(
        &self,
        wave: &Wave,
        gpu: &WaveContext<'_, 'r, L>,
    ) -> Result<u32, SplitRefusal> {
        let splits = self.own.shape.splits;
        let first = self.own.shape.base_slots() + wave.own.base * splits;
        let mut slots = first..first + splits;
        // The wave that executes is taken out of its own slot, which is not free for that reason.
        let is_free = |slot: &u32| {
            let own = self.warps.get(*slot as usize);
            own.is_none_or(Option::is_none) && *slot != wave.place.slot
        };
        let slot = slots.find(is_free).ok_or(SplitRefusal::NoSlot)?;
        let has_own = gpu.parameters.get(Parameter::SplitRegisters) != 0;
        let simd = &self.schedulers[wave.place.scheduler as usize];
        // The registers for waves of groups that have not started are kept, so that splits delay no group
        // (docs/timing-model-gcn3.md).
        let kept = match gpu.unstarted {
            0 => 0,
            _ => u64::from(self.own.shape.residents).saturating_sub(simd.base_waves),
        };
        match has_own || simd.holders + kept < self.own.shape.holders {
            true => Ok(slot),
            false => Err(SplitRefusal::NoRegisters),
        }
    }

    /// Starts the child of a wave in a slot: a copy of its state, which executes the same branch next.
    fn start_child<L: EventListener>(
        &mut self,
        now: u64,
        wave: &mut Wave,
        slot: u32,
        merge_point: Option<OpIndex>,
        gpu: &mut WaveContext<'_, 'r, L>,
    ) {
        let resident = self.residents.get_mut(wave.resident);
        let Some(resident) = resident.and_then(Option::as_mut) else {
            return;
        };
        let index = resident.block.split(wave.index);
        resident.running += 1;
        if resident.slots.len() <= index {
            resident.slots.resize(index + 1, u32::MAX);
        }
        resident.slots[index] = slot;
        let lanes = [wave.index, index].map(|part| resident.block.existing_lanes(part));
        let active = resident.block.warps[index].model.running();
        // Registers, counters and the line of code are copies of the parent's.
        let mut child = Wave {
            place: WarpPlace { slot, ..wave.place },
            index,
            active: active.map_or(0, |(_, active)| active),
            own: WaveState {
                records: Default::default(),
                ..wave.own.clone()
            },
            ..*wave
        };
        if let Some(merge_point) = merge_point {
            self.own.merges += 1;
            let record = |sibling, goes_on| MergeRecord {
                id: self.own.merges,
                sibling,
                at: merge_point.0,
                goes_on,
            };
            wave.own.records.push(record(slot, true));
            child.own.records.push(record(wave.place.slot, false));
        }
        let event = Event::Split {
            parent: wave.place,
            child: child.place,
            at: OpIndex(wave.at),
            parent_lanes: lanes[0],
            child_lanes: lanes[1],
        };
        gpu.listener.event(now, &event);
        let simd = &mut self.schedulers[wave.place.scheduler as usize];
        simd.holders += 1;
        simd.add(SimdWave {
            ready: NEVER,
            kind: IssueKind::Internal,
            slot,
            base: wave.own.base,
        });
        child.restart(now);
        child.wait_for_next_turn(now);
        let latency = gpu.parameters.get(Parameter::SplitLatency);
        child.wait(child.ready + latency, Stall::Dependency);
        self.prepare(&mut child, now, now, gpu);
        self.put_warp(Box::new(child));
    }

    /// Parks a split before the instruction at which it merges with its sibling; merges them if the sibling is parked
    /// there as well.
    pub(super) fn park_wave<L: EventListener>(
        &mut self,
        now: u64,
        slot: u32,
        gpu: &mut WaveContext<'_, 'r, L>,
    ) {
        let Some(mut wave) = self.take_warp(slot) else {
            return;
        };
        wave.own.is_parked = true;
        while let Some(record) = wave.own.records.last().copied()
            && record.at == wave.at
        {
            let Some(sibling) = self.take_warp(record.sibling) else {
                // It has ended, which forgets the record.
                wave.own.records.pop();
                continue;
            };
            let is_there = sibling.own.is_parked
                && sibling
                    .own
                    .records
                    .last()
                    .is_some_and(|own| own.id == record.id);
            if !is_there {
                let waits = self.waits_at_barrier(&sibling);
                self.put_warp(sibling);
                if !waits {
                    // The sibling will come, or end.
                    self.put_warp(wave);
                    return;
                }
                // The barrier waits for this split: they do not merge.
                self.drop_record(record.sibling, record.id);
                wave.own.records.pop();
                continue;
            }
            let (mut into, from) = match record.goes_on {
                true => (wave, sibling),
                false => (sibling, wave),
            };
            self.merge(now, &mut into, &from, gpu);
            wave = into;
        }
        // Nothing to wait for: it goes on.
        wave.own.is_parked = false;
        let from = wave.ready;
        self.prepare(&mut wave, now, from, gpu);
        self.put_warp(wave);
    }

    /// Merges two splits that are parked before the same instruction.
    fn merge<L: EventListener>(
        &mut self,
        now: u64,
        into: &mut Wave,
        from: &Wave,
        gpu: &mut WaveContext<'_, 'r, L>,
    ) {
        into.own.records.pop();
        let resident = self.residents.get_mut(into.resident);
        if let Some(resident) = resident.and_then(Option::as_mut) {
            resident.block.merge(into.index, from.index);
            resident.running -= 1;
            let state = resident.block.warps[into.index].model.running();
            into.active = state.map_or(0, |(_, active)| active);
        }
        // A register is present when both parts have it.
        for (cell, other) in into.own.cells.iter_mut().zip(&from.own.cells) {
            *cell = (*cell).max(*other);
        }
        into.own.counters.unite(&from.own.counters);
        // Not before both are there, and not in the turn when the last of them issued.
        into.wait(from.ready, Stall::Barrier);
        let cycles = gpu.parameters.get(Parameter::SplitMerge);
        into.wait(into.ready + cycles, Stall::Barrier);
        self.remove_wave(from);
        let event = Event::Merge {
            into: into.place,
            from: from.place,
            at: OpIndex(into.at),
        };
        gpu.listener.event(now, &event);
    }

    /// Whether a wave waits at the barrier of its group.
    fn waits_at_barrier(&self, wave: &Wave) -> bool {
        let resident = self.residents.get(wave.resident);
        let resident = resident.and_then(Option::as_ref);
        let state = resident.and_then(|resident| resident.block.warps.get(wave.index));
        state.is_some_and(|state| state.barrier_wait.is_some())
    }

    /// Lets the siblings go on that are parked for a wave, which has arrived at the barrier: it does not open before
    /// they arrive as well.
    pub(super) fn release_siblings<L: EventListener>(
        &mut self,
        now: u64,
        slot: u32,
        gpu: &mut WaveContext<'_, 'r, L>,
    ) {
        let Some(Some(wave)) = self.warps.get(slot as usize) else {
            return;
        };
        for record in wave.own.records.clone() {
            let sibling = self.warps.get(record.sibling as usize);
            let is_parked = sibling.and_then(Option::as_ref).is_some_and(|sibling| {
                sibling.own.is_parked
                    && sibling
                        .own
                        .records
                        .last()
                        .is_some_and(|own| own.id == record.id)
            });
            if is_parked {
                self.drop_record(slot, record.id);
                self.forget_merge(now, record.sibling, record.id, gpu);
            }
        }
    }

    /// Removes a record of a wave.
    fn drop_record(&mut self, slot: u32, id: u64) {
        if let Some(Some(wave)) = self.warps.get_mut(slot as usize) {
            wave.own.records.retain(|record| record.id != id);
        }
    }

    /// Forgets a merge whose other split does not come: if this one is parked for it, it goes on alone.
    pub(super) fn forget_merge<L: EventListener>(
        &mut self,
        now: u64,
        slot: u32,
        id: u64,
        gpu: &mut WaveContext<'_, 'r, L>,
    ) {
        let wave = self.warps.get_mut(slot as usize).and_then(Option::as_mut);
        let Some(wave) = wave else {
            return;
        };
        let waits = wave.own.is_parked
            && wave
                .own
                .records
                .last()
                .is_some_and(|record| record.id == id);
        wave.own.records.retain(|record| record.id != id);
        if waits {
            // In the next turn, as it is released in this one.
            wave.wait(now + 1, Stall::Barrier);
            self.park_wave(now, slot, gpu);
        }
    }
}
