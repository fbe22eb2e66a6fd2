//! Streaming multiprocessor: issues the instructions of its warps and computes when they complete (`pastis-2022`,
//! IV.A).
//!
//! A warp instruction is executed functionally in the cycle of its issue. Its timing is then computed at once: the
//! cycles when its unit starts, its sources have been read and its result is present. They become release times of
//! scoreboards, from which the first possible issue of the next instruction follows.

use warpbound_ir::OpIndex;
use warpbound_launch::{GlobalMemory, Launch, Size};
use warpbound_machine::Parameter;
use warpbound_simt::ExecutionModel;
use warpbound_timing::{Completion, Distance, InstrFacts};

use super::event::{Event, EventListener, Stall, WarpPlace};
use super::fetch::{ConstantCaches, InstructionCaches};
use super::gpu::{IssueEffects, Multiprocessor, RunContext};
use super::instr_timing::InstrTiming;
use super::l1_path::L1Path;
use super::l2::L2Cache;
use super::outcome::Outcome;
use super::parameters::{Tracked, UsedParameters};
use super::probe::Probe;
use super::scheduler::{NEVER, Scheduler};
use super::scoreboard::SCOREBOARDS;
use super::server::Server;
use super::shared_memory::SharedSection;
use super::warp::{Tracking, Warp};
use super::{Interlock, Setup, SingleWarp};
use crate::functional::{
    Block, ClockRegister, Counts, ExecContext, Fault, NVIDIA_LANES, NvidiaModel, Program,
};
use warpbound_isa::nvidia::ExecUnit;

/// State of a run that all SMs share.
pub(super) struct GpuContext<'a, 'r, L> {
    pub(super) parameters: &'a UsedParameters,
    pub(super) setup: &'a Setup,
    pub(super) program: &'r Program<'r, NVIDIA_LANES>,
    pub(super) launch: &'r Launch,
    pub(super) timings: &'a [InstrTiming],
    pub(super) tracking: Tracking,
    pub(super) l2: L2Cache<'a>,
    pub(super) memory: &'a mut GlobalMemory,
    pub(super) counts: Counts,
    /// Warp instructions left before the limit of the launch.
    pub(super) budget: u64,
    /// Cycle when the L2 cache has accepted all stores so far.
    pub(super) stores_done: u64,
    pub(super) probe: Probe<'a>,
    pub(super) listener: &'a mut L,
}

impl<L: EventListener> RunContext for GpuContext<'_, '_, L> {
    #[inline(always)]
    fn parameters(&self) -> &UsedParameters {
        self.parameters
    }

    #[inline(always)]
    fn launch(&self) -> &Launch {
        self.launch
    }

    #[inline(always)]
    fn only(&self) -> Option<SingleWarp> {
        self.setup.only
    }

    #[inline(always)]
    fn set_now(&mut self, now: u64) {
        self.l2.now = now;
    }

    #[inline(always)]
    fn stores_done(&self) -> u64 {
        self.stores_done
    }

    #[inline(always)]
    fn report(&mut self, cycle: u64, event: &Event) {
        self.listener.event(cycle, event);
    }

    #[inline(always)]
    fn report_outcomes(&mut self) {
        if L::RECORDS {
            for outcome in self.l2.recorder.take() {
                self.listener.outcome(&outcome);
            }
        }
    }
}

impl<L> GpuContext<'_, '_, L> {
    /// Converts a cycle to the time of the global timer.
    fn nanoseconds(&self, cycle: u64) -> u64 {
        let kilohertz = self.parameters.get(Parameter::Clock).max(1);
        // In 64 bits the product would wrap around after 1.8e13 cycles.
        (u128::from(cycle) * 1_000_000 / u128::from(kilohertz)) as u64
    }

    /// Unit of an instruction.
    fn unit_of(&self, at: u32) -> ExecUnit {
        let timing = self.timings.get(at as usize);
        timing.map_or(ExecUnit::None, |timing| timing.facts.unit)
    }
}

/// Block resident on an SM.
struct ResidentBlock<'r> {
    block: Block<'r, NvidiaModel, NVIDIA_LANES>,
    number: u64,
    index: Size,
    /// Slots of its warps, in their order.
    slots: Vec<u32>,
    /// Number of warps that have not exited.
    running: usize,
}

/// Streaming multiprocessor.
pub(super) struct Sm<'r> {
    pub(super) number: u32,
    residents: Vec<Option<ResidentBlock<'r>>>,
    /// Warps by slot.
    warps: Vec<Option<Warp>>,
    /// Maximum number of warps that it holds.
    pub(super) slots: u64,
    pub(super) schedulers: Vec<Scheduler>,
    pub(super) shared_section: Tracked<SharedSection>,
    pub(super) shared_memory: Server,
    barrier: Server,
    pub(super) l1_path: L1Path,
    instructions: InstructionCaches,
    constants: ConstantCaches,
}

/// State of a warp after an instruction.
enum After {
    /// The warp has a next instruction, which may issue in the same cycle if `pairs` is set.
    Continues { pairs: bool },
    /// The warp has arrived at a barrier of its block, where it may wait.
    Arrives { resident: usize },
    /// The warp has exited.
    Exits,
}

/// Times of an instruction after its dispatch, in cycles.
#[derive(Clone, Copy, Debug)]
struct InstrTimes {
    start: u64,
    /// Its source registers have been read.
    sources: u64,
    /// Its result is present.
    done: u64,
}

impl<'r> Sm<'r> {
    /// Returns an idle SM; `entry` is the address of the kernel's first instruction.
    pub(super) fn new(number: u32, entry: u64, parameters: &UsedParameters) -> Sm<'r> {
        let count = |parameter| parameters.get(parameter) as usize;
        let slots = count(Parameter::SmWarps);
        let mut instructions = InstructionCaches::new(parameters);
        instructions.preload(entry);
        Sm {
            number,
            residents: Vec::new(),
            warps: (0..slots).map(|_| None).collect(),
            slots: slots as u64,
            schedulers: vec![Scheduler::new(); count(Parameter::SmSchedulers).max(1)],
            shared_section: SharedSection::read(parameters),
            shared_memory: Server::default(),
            barrier: Server::default(),
            l1_path: L1Path::new(parameters),
            instructions,
            constants: ConstantCaches::new(parameters),
        }
    }

    /// Issues the next instruction of a warp; returns whether the instruction after it may issue in the same cycle.
    fn issue<L: EventListener>(
        &mut self,
        now: u64,
        slot: u32,
        gpu: &mut GpuContext<'_, 'r, L>,
        effects: &mut IssueEffects,
    ) -> Result<bool, Fault> {
        // Taken out, because the warp and the rest of the SM change together.
        let mut warps = std::mem::take(&mut self.warps);
        let after = match warps.get_mut(slot as usize) {
            Some(Some(warp)) => self.execute(now, warp, gpu),
            _ => Ok(After::Continues { pairs: false }),
        };
        self.warps = warps;
        match after? {
            After::Continues { pairs } => return Ok(pairs),
            After::Arrives { resident } => self.release_barriers(now, resident, gpu, effects),
            After::Exits => {
                if let Some(warp) = self.warps.get_mut(slot as usize).and_then(Option::take) {
                    self.end_warp(now, &warp, gpu, effects);
                }
            }
        }
        Ok(false)
    }

    /// Executes the next instruction of a warp, and updates its entry in the scheduler for the instruction after it.
    fn execute<L: EventListener>(
        &mut self,
        now: u64,
        warp: &mut Warp,
        gpu: &mut GpuContext<'_, 'r, L>,
    ) -> Result<After, Fault> {
        let resident = self.residents.get_mut(warp.resident);
        let Some(resident) = resident.and_then(Option::as_mut) else {
            return Ok(After::Exits);
        };
        let slot = warp.place.slot;
        let scheduler = &mut self.schedulers[warp.place.scheduler as usize];
        let at = warp.at;
        // The cycles after `ready` are charged to the unit as far as it was occupied, then to the selection of other
        // warps.
        warp.wait(scheduler.accepts(gpu.unit_of(at)).min(now), Stall::Unit);
        warp.wait(now, Stall::Selection);
        if gpu.program.reads_clock {
            set_clock_registers(&mut resident.block, now, self.number, slot, gpu);
        }
        let number = warp.place.warp as usize;
        let mut context = ExecContext {
            memory: &mut *gpu.memory,
            counts: &mut gpu.counts,
            budget: &mut gpu.budget,
            listener: &mut gpu.probe,
        };
        resident.block.step(number, at, warp.active, &mut context)?;
        let event = Event::Issue {
            warp: warp.place,
            at: OpIndex(at),
            active: warp.active,
            taken: gpu.probe.taken,
            waited: warp.stalls,
        };
        gpu.listener.event(now, &event);
        // A warp issues no earlier than a cycle after its start: two issues in one cycle are a pair.
        gpu.l2.recorder.record(|| Outcome::Issue {
            warp: warp.place,
            at: OpIndex(at),
            cycle: now,
            second: warp.last_issue == now,
        });
        // Executed instructions have a timing: the code has one for each operation.
        let Some(timing) = gpu.timings.get(at as usize) else {
            return Ok(After::Exits);
        };
        let facts = &timing.facts;
        scheduler.record_issue(slot, facts.yields);
        let state = &resident.block.warps[number];
        let next = state.model.running();
        let waits = state.barrier_wait.is_some();
        // First, because the times of this instruction delay the next issue from `now` on.
        warp.restart(now);
        self.time_instruction(now, timing, warp, gpu);
        let Some(next) = next else {
            return Ok(After::Exits);
        };
        (warp.at, warp.active) = next;
        // A branch to the next instruction needs no redirect of the fetch.
        if facts.branches && warp.at != at + 1 {
            let redirect = gpu.parameters.get(Parameter::IssueJump);
            warp.wait(warp.ready + redirect, Stall::Fetch);
        }
        let (ready, unit) = match waits {
            // The release of the barrier makes it ready.
            true => (NEVER, ExecUnit::None),
            false => {
                self.compute_ready(warp, now, now, gpu);
                (warp.ready, gpu.unit_of(warp.at))
            }
        };
        self.schedulers[warp.place.scheduler as usize].update(slot, ready, unit);
        let resident = warp.resident;
        Ok(match waits || facts.arrives {
            true => After::Arrives { resident },
            false => After::Continues {
                pairs: facts.distance == Distance::Pair,
            },
        })
    }

    /// Computes the times of an instruction issued in cycle `now`, and raises its scoreboards.
    #[inline]
    fn time_instruction<L: EventListener>(
        &mut self,
        now: u64,
        timing: &InstrTiming,
        warp: &mut Warp,
        gpu: &mut GpuContext<'_, 'r, L>,
    ) {
        let parameters = gpu.parameters;
        let facts = &timing.facts;
        let delay = timing.issue.get(parameters);
        let stall = match gpu.setup.interlock {
            Interlock::ControlWords => u64::from(delay.stall),
            // Without control words, registers alone delay the next instruction beyond the next cycle.
            Interlock::Scoreboard => 1,
        };
        // The cycle of the issue itself; the first instruction of a pair has none.
        warp.wait(now + stall.min(1), Stall::Issue);
        warp.wait(
            now + stall + u64::from(delay.bank_conflicts),
            Stall::Dependency,
        );
        let scheduler = &mut self.schedulers[warp.place.scheduler as usize];
        let times = match gpu.probe.access {
            // One pass for each word of 32 bits.
            Some(access) if facts.unit == ExecUnit::Lsu => u64::from(access.size / 4).max(1),
            _ => 1,
        };
        let start = scheduler.dispatch(facts.unit, now, times, parameters);
        let times = self.complete(now, start, facts.completion, warp, gpu);
        let is_memory = facts.is_memory;
        if let Some(scoreboard) = facts.read_sb {
            let scoreboards = &mut warp.scoreboards;
            scoreboards.raise(scoreboard.into(), now, times.sources, is_memory);
        }
        if let Some(scoreboard) = facts.write_sb {
            let scoreboards = &mut warp.scoreboards;
            scoreboards.raise(scoreboard.into(), now, times.done, is_memory);
        }
        // Code 0 is named DRAIN: the warp waits for all its outstanding operations (docs/timing-model.md).
        if facts.drains {
            wait_for_scoreboards(warp, u8::MAX, 0);
            let drain = parameters.get(Parameter::IssueDrain);
            warp.wait(warp.ready + drain, Stall::Dependency);
        }
        if gpu.setup.interlock == Interlock::Scoreboard {
            write_cells(facts, times, warp, parameters);
        }
    }

    /// Computes the times of an instruction that starts in cycle `start`. Fences and `DEPBAR` delay the warp
    /// themselves.
    #[inline]
    fn complete<L: EventListener>(
        &mut self,
        now: u64,
        start: u64,
        completion: Completion,
        warp: &mut Warp,
        gpu: &mut GpuContext<'_, 'r, L>,
    ) -> InstrTimes {
        let parameters = gpu.parameters;
        let mut times = InstrTimes {
            start,
            sources: start,
            done: start + 1,
        };
        match completion {
            Completion::Fixed => {}
            Completion::Latency(latency) => {
                let mut start = start;
                if latency == Parameter::LatencyShuffle {
                    // Shuffles use the exchange network of shared memory.
                    let cycles = parameters.get(Parameter::OccupancyShuffle);
                    start = self.shared_memory.reserve(now, start, cycles);
                }
                times.done = start + parameters.get(latency);
                let sources = start + parameters.get(Parameter::SharedSources);
                // A result cannot be present before its sources have been read, however short the latency is.
                times.sources = times.done.min(sources);
                times.start = start;
            }
            Completion::Memory { cached } => {
                (times.sources, times.done) = self.access(start, cached, warp, gpu);
            }
            Completion::Constant(bank, ..) => {
                // The cache serves one address at a time.
                let offsets = std::mem::take(&mut gpu.probe.constants);
                for (number, &offset) in (0..).zip(&offsets) {
                    // A single address needs no replay and must not mark the parameter as used.
                    let replay = match number {
                        0 => 0,
                        _ => number * parameters.get(Parameter::ConstantReplay),
                    };
                    let ready = self.read_constant(now, start + replay, bank, offset, gpu);
                    let hit = parameters.get(Parameter::ConstantL1Hit);
                    times.done = times.done.max(ready + hit);
                }
                gpu.probe.constants = offsets;
                times.sources = start + parameters.get(Parameter::SharedSources);
            }
            Completion::Texture => {
                let unit = l1_unit_of(warp, self, parameters);
                let start = self.l1_path.read_texture(parameters, now, start, unit);
                times.start = start;
                times.sources = start + parameters.get(Parameter::L1Sources);
                times.done = start + parameters.get(Parameter::TextureHit);
            }
            Completion::Fence { device } => {
                let done = match device {
                    // All SMs share the L2 cache: they see the warp's stores once it has accepted them.
                    true => warp.stores_done.max(now) + parameters.get(Parameter::FenceDevice),
                    false => now + parameters.get(Parameter::FenceBlock),
                };
                warp.wait(done, Stall::Barrier);
                (times.sources, times.done) = (done, done);
            }
            Completion::Depbar {
                scoreboard,
                most,
                zero,
            } => {
                let (until, is_memory) = warp.scoreboards.release_cycle_to(scoreboard.into(), most);
                warp.wait(until, stall_reason(is_memory));
                wait_for_scoreboards(warp, zero, 0);
                (times.sources, times.done) = (now, now);
            }
        }
        times
    }

    /// Computes the first cycle when a warp can issue its next instruction, as far as that depends on the warp
    /// itself: instruction fetch, scoreboards and constant operands, all requested in cycle `from`, which is not before
    /// `now`.
    fn compute_ready<L: EventListener>(
        &mut self,
        warp: &mut Warp,
        now: u64,
        from: u64,
        gpu: &mut GpuContext<'_, 'r, L>,
    ) {
        let Some(timing) = gpu.timings.get(warp.at as usize) else {
            return;
        };
        gpu.l2.recorder.record(|| Outcome::Prepare {
            warp: warp.place,
            at: OpIndex(warp.at),
            cycle: from,
        });
        let facts = &timing.facts;
        let address = u64::from(facts.address);
        let line = address / self.instructions.line;
        // Only a new line is fetched: the warp's instruction buffer holds the line of the previous instruction.
        if warp.line != Some(line) {
            warp.line = Some(line);
            let (ready, found) = self.instructions.fetch(from, address, &mut gpu.l2);
            if let Some(found) = found {
                let event = Event::FetchMiss {
                    sm: self.number,
                    at: OpIndex(warp.at),
                    found,
                };
                gpu.listener.event(now, &event);
            }
            warp.wait(ready, Stall::Fetch);
        }
        match gpu.setup.interlock {
            Interlock::ControlWords => {
                // A mask of 0 waits for nothing and must not mark the parameter as used.
                if facts.wait_mask != 0 {
                    let wake = gpu.parameters.get(Parameter::IssueWake);
                    wait_for_scoreboards(warp, facts.wait_mask, wake);
                }
            }
            Interlock::Scoreboard => {
                // Written cells too: an earlier result for the register must not arrive later (write after write).
                for cell in facts.reads.iter().chain(&facts.writes) {
                    let (until, is_memory) = warp.cells[cell.index()];
                    warp.wait(until, stall_reason(is_memory));
                }
            }
        }
        for &(bank, offset) in &facts.constants {
            let ready = self.read_constant(now, from, bank, offset, gpu);
            let operand = gpu.parameters.get(Parameter::ConstantOperand);
            warp.wait(ready + operand, Stall::Memory);
        }
    }

    /// Reads a constant in cycle `at`; returns the cycle when it is present in the first constant cache.
    fn read_constant<L: EventListener>(
        &mut self,
        now: u64,
        at: u64,
        bank: u8,
        offset: u32,
        gpu: &mut GpuContext<'_, 'r, L>,
    ) -> u64 {
        let (ready, found) = self.constants.read(at, bank, offset, &mut gpu.l2);
        if let Some(found) = found {
            let event = Event::ConstantMiss {
                sm: self.number,
                bank,
                offset,
                found,
            };
            gpu.listener.event(now, &event);
        }
        ready
    }

    /// Releases the barriers of a block that are complete, after a warp has arrived at one or exited.
    fn release_barriers<L: EventListener>(
        &mut self,
        now: u64,
        index: usize,
        gpu: &mut GpuContext<'_, 'r, L>,
        effects: &mut IssueEffects,
    ) {
        let resident = self.residents.get_mut(index);
        let Some(mut resident) = resident.and_then(Option::take) else {
            return;
        };
        let rate = gpu.parameters.get(Parameter::BarrierThreads).max(1);
        // CUDA C Programming Guide, throughput table: barriers count 64 threads in a cycle (P100: 32).
        let counted = self
            .barrier
            .transfer(now, now, NVIDIA_LANES as u64, rate * 1000);
        let waiting = |resident: &ResidentBlock<'_>| -> Vec<bool> {
            let warps = resident.block.warps.iter();
            warps.map(|warp| warp.barrier_wait.is_some()).collect()
        };
        // `Block::release`, shared with runs without time, does not report the warps that it releases.
        let before = waiting(&resident);
        resident.block.release(&mut gpu.counts);
        let after = waiting(&resident);
        let release = counted + gpu.parameters.get(Parameter::BarrierLatency);
        let mut released = 0;
        for (number, (before, after)) in before.into_iter().zip(after).enumerate() {
            if !before || after {
                continue;
            }
            released += 1;
            let slot = resident.slots[number] as usize;
            let Some(mut warp) = self.warps.get_mut(slot).and_then(Option::take) else {
                continue;
            };
            warp.wait(release, Stall::Barrier);
            // `execute` skips this for a warp that waits: it requests instruction and constants at the release.
            self.compute_ready(&mut warp, now, release, gpu);
            let scheduler = &mut self.schedulers[warp.place.scheduler as usize];
            scheduler.update(slot as u32, warp.ready, gpu.unit_of(warp.at));
            self.warps[slot] = Some(warp);
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

    /// Ends a warp, and its block if all other warps of the block have exited.
    fn end_warp<L: EventListener>(
        &mut self,
        now: u64,
        warp: &Warp,
        gpu: &mut GpuContext<'_, 'r, L>,
        effects: &mut IssueEffects,
    ) {
        let place = warp.place;
        self.schedulers[place.scheduler as usize].remove(place.slot);
        gpu.listener.event(now, &Event::WarpEnds { warp: place });
        let resident = self.residents.get_mut(warp.resident);
        let Some(resident) = resident.and_then(Option::as_mut) else {
            return;
        };
        resident.running -= 1;
        if resident.running > 0 {
            // Another warp may be blocked at a barrier on this one; if none is, there is nothing to release, and the
            // parameters of barriers are not used.
            let mut warps = resident.block.warps.iter();
            if warps.any(|warp| warp.barrier_wait.is_some()) {
                self.release_barriers(now, warp.resident, gpu, effects);
            }
            return;
        }
        let event = Event::BlockEnds {
            sm: self.number,
            block: resident.number,
            index: resident.index,
        };
        gpu.listener.event(now, &event);
        // A block frees its row of warp slots as a whole (docs/timing-model.md, schedulers).
        self.residents[warp.resident] = None;
        effects.ended_blocks += 1;
    }
}

impl<'r, L: EventListener> Multiprocessor<GpuContext<'_, 'r, L>> for Sm<'r> {
    #[inline(always)]
    fn wake(&mut self, scheduler: usize) -> &mut u64 {
        &mut self.schedulers[scheduler].wake
    }

    #[inline(always)]
    fn earliest_issue(&self, scheduler: usize, from: u64, gpu: &GpuContext<'_, 'r, L>) -> u64 {
        let next = self.schedulers[scheduler].earliest_issue(gpu.setup.policy);
        next.max(from)
    }

    /// Starts a block in cycle `now`. Its warps get consecutive slots, which are free again when the block ends; slots
    /// are assigned to sub-partitions in turn, so its warps are spread evenly.
    fn start_block(&mut self, now: u64, number: u64, index: Size, gpu: &mut GpuContext<'_, 'r, L>) {
        let mut block = Block::<NvidiaModel, _>::new(gpu.program, gpu.launch, index);
        if let Some(only) = gpu.setup.only {
            block.end_other_warps(only.warp);
        }
        let count = block.warps.len();
        // A free place has the slots of a block that has ended.
        let free = self.residents.iter().position(Option::is_none);
        let resident = free.unwrap_or(self.residents.len());
        if free.is_none() {
            self.residents.push(None);
        }
        // All blocks of a launch have the same number of warps, and the dispatcher assigns no more blocks than fit on
        // the SM.
        let first = resident * count;
        let slots: Vec<u32> = (first as u32..).take(count).collect();
        if self.warps.len() < first + count {
            self.warps.resize_with(first + count, || None);
        }
        let warps = block.warps.iter();
        let running = warps.filter(|warp| warp.model.running().is_some()).count();
        let event = Event::BlockBegins {
            sm: self.number,
            block: number,
            index,
            warps: running as u32,
        };
        gpu.listener.event(now, &event);
        for (warp, (&slot, state)) in (0..).zip(slots.iter().zip(&block.warps)) {
            // If one warp runs alone, the others have ended already.
            let Some((at, active)) = state.model.running() else {
                continue;
            };
            let scheduler = slot % self.schedulers.len() as u32;
            let place = WarpPlace {
                sm: self.number,
                scheduler,
                slot,
                block: number,
                warp,
            };
            let mut warp = Warp::new(place, resident, at, active, now, gpu.tracking);
            self.compute_ready(&mut warp, now, now, gpu);
            let unit = gpu.unit_of(warp.at);
            self.schedulers[scheduler as usize].add(slot, warp.ready, unit);
            self.warps[slot as usize] = Some(warp);
        }
        self.residents[resident] = Some(ResidentBlock {
            block,
            number,
            index,
            running,
            slots,
        });
    }

    /// Issues the instruction that a scheduler selects in cycle `now`, and the one paired with it (dual issue).
    fn issue_cycle(
        &mut self,
        now: u64,
        scheduler: usize,
        gpu: &mut GpuContext<'_, 'r, L>,
    ) -> Result<IssueEffects, Fault> {
        let mut effects = IssueEffects::default();
        let policy = gpu.setup.policy;
        let Some(slot) = self.schedulers[scheduler].select(now, policy) else {
            return Ok(effects);
        };
        let pairs = self.issue(now, slot, gpu, &mut effects)?;
        // The second instruction of a pair waits for its scoreboards, its operands and its unit all the same.
        if pairs && self.schedulers[scheduler].earliest_issue_of(slot) <= now {
            self.issue(now, slot, gpu, &mut effects)?;
        }
        Ok(effects)
    }

    /// Returns the deadlock of a resident block, once no warp can issue.
    fn deadlock(&self) -> Option<Fault> {
        let resident = self.residents.iter().flatten().next()?;
        Some(resident.block.deadlock())
    }
}

/// L1 unit of a warp: sub-partitions share the units, with two units one for each pair of neighbours (`pastis-2022`,
/// II.B). For example, with four sub-partitions and two units, sub-partitions 2 and 3 use unit 1.
pub(super) fn l1_unit_of(warp: &Warp, sm: &Sm<'_>, parameters: &UsedParameters) -> usize {
    let units = sm.l1_path.units(parameters);
    warp.place.scheduler as usize * units / sm.schedulers.len().max(1)
}

/// Sets the special registers that depend on time and on the SM, before an instruction that may read them.
fn set_clock_registers<L>(
    block: &mut Block<'_, NvidiaModel, NVIDIA_LANES>,
    now: u64,
    sm: u32,
    slot: u32,
    gpu: &GpuContext<'_, '_, L>,
) {
    let sms = gpu.parameters.get(Parameter::SmCount) as u32;
    let nanoseconds = gpu.nanoseconds(now);
    block.set_clock_register(ClockRegister::VirtCfg, sms << 20);
    // Compilers read the SM from bits 28:20 and the warp from bits 14:8 (SOUNDNESS 2, `virtual-id`).
    block.set_clock_register(ClockRegister::VirtId, sm << 20 | slot << 8);
    block.set_clock_register(ClockRegister::ClockLow, now as u32);
    block.set_clock_register(ClockRegister::ClockHigh, (now >> 32) as u32);
    block.set_clock_register(ClockRegister::TimeLow, nanoseconds as u32);
    block.set_clock_register(ClockRegister::TimeHigh, (nanoseconds >> 32) as u32);
}

/// Reason of a wait for a scoreboard.
fn stall_reason(is_memory: bool) -> Stall {
    match is_memory {
        true => Stall::Memory,
        false => Stall::Dependency,
    }
}

/// Delays a warp until the scoreboards of a mask are released, and `wake` cycles more.
fn wait_for_scoreboards(warp: &mut Warp, mask: u8, wake: u64) {
    for number in (0..SCOREBOARDS).filter(|number| mask >> number & 1 == 1) {
        let (release, is_memory) = warp.scoreboards.release_cycle(number);
        // None is released in the first cycle: 0 stands for one that was never raised.
        if release > 0 {
            warp.wait(release + wake, stall_reason(is_memory));
        }
    }
}

/// Enters the cells that an instruction writes into the register scoreboard. Without control words, the kind of the
/// destination decides a fixed latency.
fn write_cells(
    facts: &InstrFacts,
    times: InstrTimes,
    warp: &mut Warp,
    parameters: &UsedParameters,
) {
    for cell in &facts.writes {
        let latency = match facts.completion {
            Completion::Fixed if cell.is_predicate() => Parameter::LatencyPredicate,
            Completion::Fixed if *cell == warpbound_ir::Cell::CC => Parameter::LatencyCarry,
            Completion::Fixed => Parameter::LatencyAlu,
            _ => {
                warp.cells[cell.index()] = (times.done, facts.is_memory);
                continue;
            }
        };
        let done = times.start + parameters.get(latency);
        warp.cells[cell.index()] = (done, facts.is_memory);
    }
}
