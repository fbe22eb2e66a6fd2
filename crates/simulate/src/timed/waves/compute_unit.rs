//! Compute unit: issues the instructions of its waves and computes when they complete.
//!
//! As on an SM, an instruction is executed functionally in the cycle of its issue, and its timing is computed at
//! once: from it follows the first turn when the wave can issue its next instruction.

use warpbound_ir::OpIndex;
use warpbound_launch::Size;
use warpbound_machine::Parameter;
use warpbound_simt::ExecutionModel;
use warpbound_timing::{IssueKind, WaveFacts};

use super::super::event::{Event, EventListener, Stall, WarpPlace};
use super::super::fetch::InstructionCaches;
use super::super::gpu::{IssueEffects, Multiprocessor};
use super::super::l1_path::L1Path;
use super::super::outcome::Outcome;
use super::super::parameters::{Tracked, UsedParameters};
use super::super::scheduler::NEVER;
use super::super::server::Server;
use super::SplitPipelines;
use super::context::WaveContext;
use super::lds::LdsSection;
use super::pipelines::Pipelines;
use super::scalar_cache::ScalarCache;
use super::simd::{Simd, SimdWave, TurnIssues};
use super::wave::{Turns, Wave};
use crate::functional::{Block, ClockRegister, ExecContext, Fault, FaultKind};
use crate::functional::{WAVE_LANES, WaveModel};

/// Group resident on a compute unit.
pub(super) struct ResidentGroup<'r> {
    pub(super) block: Block<'r, WaveModel, WAVE_LANES>,
    number: u64,
    index: Size,
    /// Slots of its waves and splits, by their index in the functional state.
    pub(super) slots: Vec<u32>,
    /// Base slots that it holds until it ends.
    base_slots: Vec<u32>,
    /// Number of waves and splits that have not ended.
    pub(super) running: usize,
}

/// Numbers of a compute unit.
#[derive(Clone, Copy, Debug)]
pub(super) struct UnitShape {
    pub(super) simds: u32,
    /// Base slots of a SIMD.
    pub(super) waves: u32,
    /// Waves of the launch that a SIMD holds, by its slots and registers.
    pub(super) residents: u32,
    /// Waves and splits whose registers a SIMD holds.
    pub(super) holders: u64,
    /// Reserve slots of each base slot.
    pub(super) splits: u32,
}

impl UnitShape {
    /// Base slots of the compute unit.
    pub(super) fn base_slots(&self) -> u32 {
        self.simds * self.waves
    }
}

/// Compute unit.
pub(super) struct ComputeUnit<'r> {
    pub(super) number: u32,
    pub(super) shape: UnitShape,
    pub(super) residents: Vec<Option<ResidentGroup<'r>>>,
    /// Waves by slot: base slots, then the reserve slots of each.
    pub(super) waves: Vec<Option<Box<Wave>>>,
    /// Whether each base slot belongs to a resident group.
    held: Vec<bool>,
    pub(super) simds: Vec<Simd>,
    /// SIMD of the next wave that starts.
    next_simd: u32,
    pub(super) scalar: Pipelines,
    pub(super) branch: Pipelines,
    /// First cycle when the memory units accept an instruction.
    pub(super) vector_memory: u64,
    pub(super) lds_unit: u64,
    pub(super) scalar_memory: u64,
    pub(super) lds: Server,
    pub(super) lds_section: Tracked<LdsSection>,
    pub(super) l1_path: L1Path,
    pub(super) scalar_cache: ScalarCache,
    instructions: InstructionCaches,
    /// Number of merges planned so far.
    pub(super) merges: u64,
}

/// State of a wave after an instruction.
enum AfterWave {
    /// A next instruction follows.
    Continues,
    /// The wave has arrived at the barrier of its group, where it may wait.
    Arrives,
    /// The wave waits for its sibling before its next instruction.
    Parks,
    /// The wave has ended.
    Ends,
}

impl<'r> ComputeUnit<'r> {
    /// Returns an idle compute unit; `entry` is the address of the kernel's first instruction.
    pub(super) fn new(
        number: u32,
        shape: UnitShape,
        entry: u64,
        pipelines: SplitPipelines,
        parameters: &UsedParameters,
    ) -> ComputeUnit<'r> {
        let further = match pipelines {
            SplitPipelines::Parallel => shape.splits,
            SplitPipelines::Serialised => 0,
        };
        let mut instructions = InstructionCaches::new(parameters);
        instructions.preload(entry);
        let base_slots = shape.base_slots() as usize;
        let simd = |simd| {
            let turns = Turns {
                simds: shape.simds.into(),
                simd,
            };
            Simd::new(turns, Pipelines::new(further))
        };
        ComputeUnit {
            number,
            shape,
            residents: Vec::new(),
            waves: std::iter::repeat_with(|| None)
                .take(base_slots * (1 + shape.splits as usize))
                .collect(),
            held: vec![false; base_slots],
            simds: (0..shape.simds.into()).map(simd).collect(),
            next_simd: 0,
            scalar: Pipelines::new(further),
            branch: Pipelines::new(further),
            vector_memory: 0,
            lds_unit: 0,
            scalar_memory: 0,
            lds: Server::default(),
            lds_section: LdsSection::read(parameters),
            l1_path: L1Path::new(parameters),
            scalar_cache: ScalarCache::new(parameters),
            instructions,
            merges: 0,
        }
    }

    /// Takes the base slot of a wave that starts: SIMDs in turn, the lowest free slot of each. The dispatcher assigns
    /// no more groups than fit.
    fn take_slot(&mut self) -> Option<u32> {
        let UnitShape {
            simds, residents, ..
        } = self.shape;
        for distance in 0..simds {
            let simd = (self.next_simd + distance) % simds;
            let mut slots = (0..residents).map(|number| simd + number * simds);
            if let Some(slot) = slots.find(|slot| !self.held[*slot as usize]) {
                self.held[slot as usize] = true;
                self.next_simd = (simd + 1) % simds;
                return Some(slot);
            }
        }
        None
    }

    /// First cycle, not before `from`, when the unit of a wave's next instruction accepts it.
    fn accepts(&self, from: u64, simd: usize, wave: &SimdWave) -> u64 {
        let free = match wave.kind {
            IssueKind::Vector => return self.simds[simd].vector.accepts(from, wave.issuer()),
            IssueKind::Scalar => return self.scalar.accepts(from, wave.issuer()),
            IssueKind::Branch => return self.branch.accepts(from, wave.issuer()),
            IssueKind::VectorMemory => self.vector_memory,
            IssueKind::Lds => self.lds_unit,
            IssueKind::ScalarMemory => self.scalar_memory,
            IssueKind::Message | IssueKind::Export | IssueKind::Internal => 0,
        };
        free.max(from)
    }

    /// Issues the next instruction of a wave.
    fn issue<L: EventListener>(
        &mut self,
        now: u64,
        entry: SimdWave,
        gpu: &mut WaveContext<'_, 'r, L>,
        effects: &mut IssueEffects,
    ) -> Result<(), Fault> {
        let slot = entry.slot;
        // Taken out, because the wave and the rest of the compute unit change together.
        let Some(mut wave) = self.waves.get_mut(slot as usize).and_then(Option::take) else {
            return Ok(());
        };
        match self.execute(now, &mut wave, entry, gpu)? {
            AfterWave::Continues => self.waves[slot as usize] = Some(wave),
            AfterWave::Arrives => {
                let resident = wave.resident;
                self.waves[slot as usize] = Some(wave);
                // Parked siblings have to arrive as well before the barrier can open.
                self.release_siblings(now, slot, gpu);
                self.release_barrier(now, resident, gpu, effects);
            }
            AfterWave::Parks => {
                self.waves[slot as usize] = Some(wave);
                self.park(now, slot, gpu);
            }
            AfterWave::Ends => self.end_wave(now, &wave, gpu, effects),
        }
        Ok(())
    }

    /// Executes the next instruction of a wave, and updates its entry in the SIMD for the instruction after it.
    fn execute<L: EventListener>(
        &mut self,
        now: u64,
        wave: &mut Wave,
        entry: SimdWave,
        gpu: &mut WaveContext<'_, 'r, L>,
    ) -> Result<AfterWave, Fault> {
        let (at, simd) = (wave.at, wave.place.scheduler as usize);
        // The cycles after `ready` are charged to the unit as far as it was occupied, then to the selection of other
        // waves.
        let accepts = self.accepts(wave.ready, simd, &entry);
        wave.wait(accepts.min(now), Stall::Unit);
        wave.wait(now, Stall::Selection);
        let facts = gpu.facts;
        let facts = facts.get(at as usize);
        // Before the branch is executed, because both parts of a split execute it.
        if facts.is_some_and(|facts| facts.kind == IssueKind::Branch) {
            self.split(now, wave, gpu);
        }
        let resident = self.residents.get_mut(wave.resident);
        let Some(resident) = resident.and_then(Option::as_mut) else {
            return Ok(AfterWave::Ends);
        };
        let Some(facts) = facts.filter(|facts| facts.has_class) else {
            return Err(resident.block.fault(at, FaultKind::Unsupported));
        };
        if gpu.program.reads_clock {
            let [low, high] = [now as u32, (now >> 32) as u32];
            resident
                .block
                .set_clock_register(ClockRegister::ClockLow, low);
            resident
                .block
                .set_clock_register(ClockRegister::ClockHigh, high);
        }
        let mut context = ExecContext {
            memory: &mut *gpu.memory,
            counts: &mut gpu.counts,
            budget: &mut gpu.budget,
            listener: &mut gpu.probe,
        };
        let active = wave.active;
        resident.block.step(wave.index, at, active, &mut context)?;
        let event = Event::Issue {
            warp: wave.place,
            at: OpIndex(at),
            active,
            taken: gpu.probe.taken,
            waited: wave.stalls,
        };
        gpu.listener.event(now, &event);
        gpu.l2.recorder.record(|| Outcome::Issue {
            warp: wave.place,
            at: OpIndex(at),
            cycle: now,
            second: false,
        });
        let state = &resident.block.warps[wave.index];
        let next = state.model.running();
        let waits = state.barrier_wait.is_some();
        // First, because the times of this instruction delay the next issue from `now` on.
        wave.restart(now);
        self.time_instruction(now, facts, next.map(|next| next.0), wave, gpu);
        let Some(next) = next else {
            return Ok(AfterWave::Ends);
        };
        (wave.at, wave.active) = next;
        let slot = wave.place.slot;
        if waits || facts.arrives {
            // The release of the barrier makes it ready.
            self.simds[simd].update(slot, NEVER, IssueKind::Internal);
            return Ok(AfterWave::Arrives);
        }
        if wave
            .records
            .last()
            .is_some_and(|record| record.at == wave.at)
        {
            self.simds[simd].update(slot, NEVER, IssueKind::Internal);
            return Ok(AfterWave::Parks);
        }
        self.prepare(wave, now, now, gpu);
        Ok(AfterWave::Continues)
    }

    /// Computes the first turn when a wave can issue its next instruction, as far as that depends on the wave
    /// itself, and updates its entry in the SIMD: instruction fetch, requested in cycle `from`, registers and
    /// counters.
    pub(super) fn prepare<L: EventListener>(
        &mut self,
        wave: &mut Wave,
        now: u64,
        from: u64,
        gpu: &mut WaveContext<'_, 'r, L>,
    ) {
        let facts = gpu.facts;
        if let Some(facts) = facts.get(wave.at as usize) {
            gpu.l2.recorder.record(|| Outcome::Prepare {
                warp: wave.place,
                at: OpIndex(wave.at),
                cycle: from,
            });
            self.fetch(wave, facts, now, from, gpu);
            // Written cells too: an earlier result must not arrive later.
            for cell in facts.reads.iter().chain(&facts.writes) {
                let ready = wave.cells.get(cell.index()).copied().unwrap_or(0);
                wave.wait(ready, Stall::Dependency);
            }
            if let Some(waits) = &facts.waits {
                let release = wave.counters.release_cycle(waits);
                wave.wait(release, Stall::Memory);
            }
        }
        let simd = &mut self.simds[wave.place.scheduler as usize];
        simd.update(wave.place.slot, wave.ready, gpu.kind_of(wave.at));
    }

    /// Fetches the lines of the next instruction of a wave that its instruction buffer does not hold. The buffer has
    /// one line, the last one of the previous instruction.
    #[inline]
    fn fetch<L: EventListener>(
        &mut self,
        wave: &mut Wave,
        facts: &WaveFacts,
        now: u64,
        from: u64,
        gpu: &mut WaveContext<'_, 'r, L>,
    ) {
        let address = u64::from(facts.address);
        let first = address / self.instructions.line;
        // An instruction of 8 bytes may cross a line.
        let last = (address + u64::from(facts.bytes.max(1)) - 1) / self.instructions.line;
        for line in first..=last {
            if wave.line == Some(line) {
                continue;
            }
            wave.line = Some(line);
            let address = line * self.instructions.line;
            let (ready, found) = self.instructions.fetch(from, address, &mut gpu.l2);
            if let Some(found) = found {
                let event = Event::FetchMiss {
                    sm: self.number,
                    at: OpIndex(wave.at),
                    found,
                };
                gpu.listener.event(now, &event);
            }
            wave.wait(ready, Stall::Fetch);
        }
    }

    /// Releases the barrier of a group if it is complete, after a wave has arrived or ended.
    fn release_barrier<L: EventListener>(
        &mut self,
        now: u64,
        index: usize,
        gpu: &mut WaveContext<'_, 'r, L>,
        effects: &mut IssueEffects,
    ) {
        let resident = self.residents.get_mut(index);
        let Some(mut resident) = resident.and_then(Option::take) else {
            return;
        };
        let waiting = |resident: &ResidentGroup<'_>| -> Vec<bool> {
            let waves = resident.block.warps.iter();
            waves.map(|wave| wave.barrier_wait.is_some()).collect()
        };
        // `Block::release`, shared with runs without time, does not report the waves that it releases.
        let before = waiting(&resident);
        resident.block.release(&mut gpu.counts);
        let after = waiting(&resident);
        // A wave that is released does not issue in the same turn.
        let release = now + gpu.parameters.get(Parameter::BarrierLatency).max(1);
        let mut released = 0;
        let numbers = before.into_iter().zip(after).enumerate();
        let numbers = numbers.filter(|(_, (before, after))| *before && !after);
        for (number, _) in numbers {
            released += 1;
            let slot = resident.slots.get(number).copied().unwrap_or(u32::MAX) as usize;
            let Some(mut wave) = self.waves.get_mut(slot).and_then(Option::take) else {
                continue;
            };
            wave.wait(release, Stall::Barrier);
            // `execute` skips this for a wave that waits: it requests its instruction at the release.
            self.prepare(&mut wave, now, release, gpu);
            self.waves[slot] = Some(wave);
        }
        if released > 0 {
            effects.wakes_warps = true;
            let event = Event::BarrierOpens {
                sm: self.number,
                block: resident.number,
                warps: released,
            };
            gpu.listener.event(now, &event);
        }
        self.residents[index] = Some(resident);
    }

    /// Ends a wave, and its group if all other waves of the group have ended.
    fn end_wave<L: EventListener>(
        &mut self,
        now: u64,
        wave: &Wave,
        gpu: &mut WaveContext<'_, 'r, L>,
        effects: &mut IssueEffects,
    ) {
        let place = wave.place;
        self.remove_wave(wave);
        gpu.listener.event(now, &Event::WarpEnds { warp: place });
        // Its siblings must not wait for a merge with it.
        for record in &wave.records {
            self.forget_merge(now, record.sibling, record.id, gpu);
        }
        let resident = self.residents.get_mut(wave.resident);
        let Some(resident) = resident.and_then(Option::as_mut) else {
            return;
        };
        resident.running -= 1;
        if resident.running > 0 {
            // Another wave may be blocked at the barrier on this one; if none is, there is nothing to release, and the
            // parameters of barriers are not used.
            let mut waves = resident.block.warps.iter();
            if waves.any(|wave| wave.barrier_wait.is_some()) {
                self.release_barrier(now, wave.resident, gpu, effects);
            }
            return;
        }
        let event = Event::BlockEnds {
            sm: self.number,
            block: resident.number,
            index: resident.index,
        };
        gpu.listener.event(now, &event);
        // A group frees its slots and registers as a whole (docs/timing-model-gcn3.md).
        let slots = std::mem::take(&mut resident.base_slots);
        for slot in slots {
            self.held[slot as usize] = false;
            // Base slots belong to the SIMDs in turn, see `take_slot`.
            let simd = &mut self.simds[(slot % self.shape.simds) as usize];
            simd.holders -= 1;
            simd.base_waves -= 1;
        }
        self.residents[wave.resident] = None;
        effects.ended_blocks += 1;
    }

    /// Removes a wave from its SIMD. A split frees its slot and its registers.
    pub(super) fn remove_wave(&mut self, wave: &Wave) {
        let simd = &mut self.simds[wave.place.scheduler as usize];
        simd.remove(wave.place.slot);
        if wave.place.slot != wave.base {
            simd.holders -= 1;
        }
    }
}

impl<'r, L: EventListener> Multiprocessor<WaveContext<'_, 'r, L>> for ComputeUnit<'r> {
    #[inline(always)]
    fn wake(&mut self, scheduler: usize) -> &mut u64 {
        &mut self.simds[scheduler].wake
    }

    fn earliest_issue(
        &self,
        scheduler: usize,
        from: u64,
        _context: &WaveContext<'_, 'r, L>,
    ) -> u64 {
        let simd = &self.simds[scheduler];
        let mut first = NEVER;
        for wave in simd.waves() {
            if wave.ready < first {
                let accepts = self.accepts(wave.ready.max(from), scheduler, wave);
                first = first.min(accepts);
            }
        }
        match first {
            NEVER => NEVER,
            // A SIMD issues in its turns only.
            first => simd.turns.from(first),
        }
    }

    fn issue_cycle(
        &mut self,
        now: u64,
        scheduler: usize,
        gpu: &mut WaveContext<'_, 'r, L>,
    ) -> Result<IssueEffects, Fault> {
        let mut effects = IssueEffects::default();
        let mut issues = TurnIssues::new();
        let most = gpu.parameters.get(Parameter::IssueKinds);
        let together = gpu.setup.splitting.pipelines == SplitPipelines::Parallel;
        let mut is_first = true;
        for entry in self.simds[scheduler].ready(now, gpu.setup.policy) {
            if !issues.allow(&entry, most, together) || self.accepts(now, scheduler, &entry) > now {
                continue;
            }
            issues.record(&entry);
            if std::mem::take(&mut is_first) {
                self.simds[scheduler].record_first(entry.slot);
            }
            self.issue(now, entry, gpu, &mut effects)?;
        }
        Ok(effects)
    }

    /// Starts a group in cycle `now`. Its waves go to the SIMDs in turn.
    fn start_block(
        &mut self,
        now: u64,
        number: u64,
        index: Size,
        gpu: &mut WaveContext<'_, 'r, L>,
    ) {
        // `reserve_slot` keeps registers for groups that have not started.
        gpu.unstarted = gpu.unstarted.saturating_sub(1);
        let mut block = Block::<WaveModel, _>::new(gpu.program, gpu.launch, index);
        if let Some(only) = gpu.setup.only {
            block.end_other_waves(only.warp);
        }
        let free = self.residents.iter().position(Option::is_none);
        let resident = free.unwrap_or(self.residents.len());
        if free.is_none() {
            self.residents.push(None);
        }
        let waves = block.warps.iter();
        let running = waves.filter(|wave| wave.model.running().is_some()).count();
        let event = Event::BlockBegins {
            sm: self.number,
            block: number,
            index,
            warps: running as u32,
        };
        gpu.listener.event(now, &event);
        let (mut slots, mut base_slots) = (Vec::new(), Vec::new());
        for (wave, state) in (0..).zip(&block.warps) {
            let slot = state
                .model
                .running()
                .and_then(|top| Some((top, self.take_slot()?)));
            let Some(((at, active), slot)) = slot else {
                // No slot: if one wave runs alone, the others have ended already.
                slots.push(u32::MAX);
                continue;
            };
            slots.push(slot);
            base_slots.push(slot);
            let simd = slot % self.shape.simds;
            let place = WarpPlace {
                sm: self.number,
                scheduler: simd,
                slot,
                block: number,
                warp: wave,
            };
            let simd = &mut self.simds[simd as usize];
            simd.holders += 1;
            simd.base_waves += 1;
            let turns = simd.turns;
            simd.add(SimdWave {
                ready: NEVER,
                kind: IssueKind::Internal,
                slot,
                base: slot,
            });
            let mut wave = Wave::new(place, turns, resident, wave as usize, at, active, now);
            // Up to the first turn of its SIMD after the start.
            wave.wait(now + 1, Stall::Selection);
            self.prepare(&mut wave, now, now, gpu);
            self.waves[slot as usize] = Some(Box::new(wave));
        }
        self.residents[resident] = Some(ResidentGroup {
            block,
            number,
            index,
            slots,
            base_slots,
            running,
        });
    }

    fn deadlock(&self) -> Option<Fault> {
        let resident = self.residents.iter().flatten().next()?;
        Some(resident.block.deadlock())
    }
}
