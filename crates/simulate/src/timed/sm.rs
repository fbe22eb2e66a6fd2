//! Streaming multiprocessors whose code has control words (`pastis-2022`, IV.A), as the [`FamilyTiming`] of this family.
//!
//! The times of an instruction are the cycles when its unit starts, its sources have been read and its result is
//! present (`times`). They become release times of scoreboards, from which the first possible issue of the next
//! instruction follows.

mod access;
mod instr_timing;
mod probe;
mod scheduler;
mod scoreboard;
mod shared_memory;
mod times;

use std::marker::PhantomData;

use warpbound_base::ConstantBanks;
use warpbound_ir::{Cell, Code};
use warpbound_isa::nvidia::{ExecUnit, SassProgram};
use warpbound_launch::{GlobalMemory, Launch};
use warpbound_machine::{BlockResources, Parameter};
use warpbound_simt::{ExecutionModel, Mask};
use warpbound_timing::{Completion, Distance};

use super::core::{Core, IssueEffects};
use super::dispatch::Dispatcher;
use super::event::{EventListener, Stall, WarpPlace};
use super::event_queue::NEVER;
use super::family_timing::{FamilyTiming, Layout, RunContext};
use super::fetch::ConstantCaches;
use super::gpu::{Inputs, simulate};
use super::parameters::{Tracked, UsedParameters};
use super::server::Server;
use super::warp::{Warp, WarpState};
use super::{Interlock, Setup, TimedResult};
use crate::functional::{Block, ClockRegister, Fault, FaultKind, NVIDIA_LANES};
use instr_timing::{InstrTiming, instr_timings};
use probe::Probe;
use scheduler::Scheduler;
use scoreboard::Scoreboards;
use shared_memory::SharedSection;

/// Streaming multiprocessor whose warps have an execution model.
pub(super) type Sm<'r, E> = Core<'r, SmUnits<E>, NVIDIA_LANES>;

/// State of a run that all SMs share.
pub(super) type SmContext<'a, 'r, L, E> = RunContext<'a, 'r, SmUnits<E>, L, NVIDIA_LANES>;

/// Warp of an SM.
pub(super) type SmWarp = Warp<SmWarpState>;

/// Part of an SM that only this family has: units and caches that its schedulers share.
pub(super) struct SmUnits<E> {
    /// Maximum number of warps that it holds.
    slots: u64,
    shared_section: Tracked<SharedSection>,
    shared_memory: Server,
    barrier: Server,
    constants: ConstantCaches,
    /// The warps are in the functional state of their blocks; only the type is needed here.
    model: PhantomData<E>,
}

/// Timing state of a warp of an SM.
#[derive(Clone, Debug)]
pub(super) struct SmWarpState {
    scoreboards: Scoreboards,
    /// Cycle when each cell is written, and whether by a memory access: the register scoreboard. Empty with control
    /// words.
    cells: Vec<(u64, bool)>,
    /// Cycle when the L2 cache has accepted all its stores.
    stores_done: u64,
    /// Cycle when shared memory has served its last access, an atomic operation included: its accesses are served
    /// in order.
    shared_served: u64,
}

impl WarpState for SmWarpState {}

/// Models of readiness that the code and the setup of a run need.
#[derive(Clone, Copy, Debug)]
struct Tracking {
    /// A register scoreboard decides when operands are ready.
    cells: bool,
    /// The code has `DEPBAR` instructions, which wait for counts of scoreboards.
    counts: bool,
}

/// Setup of a run, and the timing of each instruction.
#[derive(Clone, Copy)]
pub(super) struct SmRun<'a> {
    setup: &'a Setup,
    timings: &'a [InstrTiming],
    tracking: Tracking,
}

impl<'a> SmRun<'a> {
    fn timing(self, at: u32) -> Option<&'a InstrTiming> {
        self.timings.get(at as usize)
    }

    /// Unit of an instruction.
    fn unit_of(self, at: u32) -> ExecUnit {
        let timing = self.timing(at);
        timing.map_or(ExecUnit::None, |timing| timing.facts.unit)
    }
}

/// Simulates a launch; see [`super::run`].
pub(super) fn run<L: EventListener, E: ExecutionModel<u32>>(
    code: &Code,
    program: &SassProgram,
    launch: &Launch,
    setup: &Setup,
    memory: &mut GlobalMemory,
    listener: &mut L,
) -> Result<TimedResult, Fault> {
    let parameters = UsedParameters::new(&setup.machine);
    let timings = instr_timings(code, program, &parameters);
    let is_depbar =
        |timing: &InstrTiming| matches!(timing.facts.completion, Completion::Depbar { .. });
    let inputs = Inputs::<SmUnits<E>, NVIDIA_LANES> {
        code,
        launch,
        parameters: &parameters,
        caches: setup.caches,
        only: setup.only,
        run: SmRun {
            setup,
            timings: &timings,
            tracking: Tracking {
                cells: setup.interlock == Interlock::Scoreboard,
                counts: timings.iter().any(is_depbar),
            },
        },
        probe: Probe::new(&timings),
    };
    simulate(inputs, memory, listener)
}

impl<E: ExecutionModel<u32>> FamilyTiming<NVIDIA_LANES> for SmUnits<E> {
    type Model = E;
    type Scheduler = Scheduler;
    type WarpState = SmWarpState;
    type Run<'a> = SmRun<'a>;
    type Probe<'a> = Probe<'a>;

    const FIRST_ISSUE_DELAY: u64 = 0;

    fn layout(
        run: SmRun<'_>,
        launch: &Launch,
        parameters: &UsedParameters,
    ) -> Layout<SmUnits<E>, NVIDIA_LANES> {
        let threads = launch.block.iter().map(|&n| u64::from(n)).product();
        let (registers, shared) = (run.setup.registers.into(), launch.shared.into());
        let mut reader = parameters.reader();
        let machine = reader.machine(BlockResources::PARAMETERS);
        let of_sm = BlockResources::of_sm(machine);
        let of_block = BlockResources::of_block(machine, threads, registers, shared);
        let resources = reader.track((of_sm, of_block));
        let (of_sm, need) = *resources.get(parameters);
        let sms = parameters.get(Parameter::SmCount).max(1) as usize;
        let schedulers = parameters.get(Parameter::SmSchedulers).max(1) as usize;
        let preloaded = parameters.get(Parameter::ConstantPreloaded);
        let core = || {
            let mut constants = ConstantCaches::new(parameters);
            let launch = ConstantBanks::OF_CUBINS.launch;
            constants.preload(launch, run.setup.launch_constants, preloaded);
            let units = SmUnits {
                slots: parameters.get(Parameter::SmWarps),
                shared_section: SharedSection::read(parameters),
                shared_memory: Server::default(),
                barrier: Server::default(),
                constants,
                model: PhantomData,
            };
            (units, vec![Scheduler::new(); schedulers])
        };
        Layout {
            cores: std::iter::repeat_with(core).take(sms).collect(),
            dispatcher: Dispatcher::new(sms, of_sm),
            need,
        }
    }

    #[inline(always)]
    fn taken(probe: &Probe<'_>) -> Mask {
        probe.taken
    }

    fn end_others(block: &mut Block<'_, E, NVIDIA_LANES>, number: u32) {
        block.end_other_warps(number);
    }

    /// The warps of a block get consecutive slots, which are free again when the block ends. Slots belong to
    /// sub-partitions in turn, so the warps are spread evenly.
    fn take_slot(_sm: &mut Sm<'_, E>, resident: usize, warps: usize, number: u32) -> Option<u32> {
        // All blocks of a launch have the same number of warps, so a free place has the slots of a block that has ended.
        let first = u32::try_from(resident * warps).ok()?;
        first.checked_add(number)
    }

    fn begin_warp<L>(
        sm: &mut Sm<'_, E>,
        place: WarpPlace,
        context: &SmContext<'_, '_, L, E>,
    ) -> SmWarpState {
        sm.schedulers[place.scheduler as usize].add(place.slot, NEVER, ExecUnit::None);
        let Tracking { cells, counts } = context.run.tracking;
        SmWarpState {
            scoreboards: Scoreboards::new(counts),
            cells: vec![(0, false); if cells { Cell::COUNT } else { 0 }],
            stores_done: 0,
            shared_served: 0,
        }
    }

    fn end_warp<'r, L: EventListener>(
        sm: &mut Sm<'r, E>,
        _now: u64,
        warp: &SmWarp,
        _context: &mut SmContext<'_, 'r, L, E>,
    ) {
        sm.schedulers[warp.place.scheduler as usize].remove(warp.place.slot);
    }

    #[inline(always)]
    fn set_ready<L>(
        sm: &mut Sm<'_, E>,
        warp: &SmWarp,
        ready: u64,
        context: &SmContext<'_, '_, L, E>,
    ) {
        let unit = context.run.unit_of(warp.at);
        sm.schedulers[warp.place.scheduler as usize].update(warp.place.slot, ready, unit);
    }

    #[inline(always)]
    fn earliest_issue<L>(
        sm: &Sm<'_, E>,
        scheduler: usize,
        from: u64,
        context: &SmContext<'_, '_, L, E>,
    ) -> u64 {
        let next = sm.schedulers[scheduler].earliest_issue(context.run.setup.policy);
        next.max(from)
    }

    /// Issues the instruction that the scheduler selects, and the one paired with it (dual issue).
    #[inline]
    fn issue_cycle<'r, L: EventListener>(
        sm: &mut Sm<'r, E>,
        now: u64,
        scheduler: usize,
        context: &mut SmContext<'_, 'r, L, E>,
        effects: &mut IssueEffects,
    ) -> Result<(), Fault> {
        let selected = sm.schedulers[scheduler].select(now, context.run.setup.policy);
        let Some(slot) = selected else {
            return Ok(());
        };
        let warp = sm.warps.get(slot as usize).and_then(Option::as_ref);
        let timing = warp.and_then(|warp| context.run.timing(warp.at));
        let pairs = timing.is_some_and(|timing| timing.facts.distance == Distance::Pair);
        let continues = sm.issue(now, slot, context, effects)?;
        // The second instruction of a pair waits for its scoreboards, its operands and its unit all the same.
        if pairs && continues && sm.schedulers[scheduler].earliest_issue_of(slot) <= now {
            sm.issue(now, slot, context, effects)?;
        }
        Ok(())
    }

    #[inline(always)]
    fn accepts<L>(sm: &Sm<'_, E>, warp: &SmWarp, context: &SmContext<'_, '_, L, E>) -> u64 {
        sm.schedulers[warp.place.scheduler as usize].accepts(context.run.unit_of(warp.at))
    }

    #[inline(always)]
    fn before_issue<'r, L: EventListener>(
        _sm: &mut Sm<'r, E>,
        _now: u64,
        warp: &mut SmWarp,
        context: &mut SmContext<'_, 'r, L, E>,
    ) -> Result<(), FaultKind> {
        // Its cost would count as nothing, and the run as one with a time.
        match context
            .run
            .timing(warp.at)
            .is_none_or(|timing| timing.facts.has_class)
        {
            true => Ok(()),
            false => Err(FaultKind::WithoutTime),
        }
    }

    fn set_registers<L>(
        block: &mut Block<'_, E, NVIDIA_LANES>,
        now: u64,
        place: WarpPlace,
        context: &SmContext<'_, '_, L, E>,
    ) {
        let sms = context.parameters.get(Parameter::SmCount) as u32;
        let nanoseconds = nanoseconds(now, context.parameters);
        block.set_clock_register(ClockRegister::VirtCfg, sms << 20);
        // Compilers read the SM from bits 28:20 and the warp from bits 14:8 (SOUNDNESS 2, `virtual-id`).
        block.set_clock_register(ClockRegister::VirtId, place.sm << 20 | place.slot << 8);
        block.set_clock_register(ClockRegister::TimeLow, nanoseconds as u32);
        block.set_clock_register(ClockRegister::TimeHigh, (nanoseconds >> 32) as u32);
    }

    #[inline(always)]
    fn time<'r, L: EventListener>(
        sm: &mut Sm<'r, E>,
        now: u64,
        warp: &mut SmWarp,
        next: Option<(u32, Mask)>,
        context: &mut SmContext<'_, 'r, L, E>,
    ) {
        // Executed instructions have a timing: the code has one for each operation.
        let Some(timing) = context.run.timing(warp.at) else {
            return;
        };
        let scheduler = &mut sm.schedulers[warp.place.scheduler as usize];
        scheduler.record_issue(warp.place.slot, timing.facts.yields);
        sm.time_instruction(now, timing, warp, context);
        // A branch to the next instruction needs no redirect of the fetch.
        if timing.facts.branches && next.is_some_and(|(at, _)| at != warp.at + 1) {
            let redirect = context.parameters.get(Parameter::IssueJump);
            warp.wait(warp.ready + redirect, Stall::Fetch);
        }
        // A group that goes on has lanes of the one before it, if it goes on at all; the stack of older GPUs switches for
        // free.
        if timing.facts.branches && next.is_some_and(|(_, active)| active & warp.active == 0) {
            let switch = context.parameters.get(Parameter::IssueGroupSwitch);
            warp.wait(warp.ready + switch, Stall::Fetch);
        }
    }

    #[inline(always)]
    fn arrives(run: SmRun<'_>, at: u32) -> bool {
        run.timing(at).is_some_and(|timing| timing.facts.arrives)
    }

    #[inline(always)]
    fn code_range(run: SmRun<'_>, at: u32) -> Option<(u64, u64)> {
        // No instruction crosses a line, so its first byte stands for all.
        Some((run.timing(at)?.facts.address.into(), 1))
    }

    #[inline(always)]
    fn wait_for_operands<'r, L: EventListener>(
        sm: &mut Sm<'r, E>,
        now: u64,
        from: u64,
        warp: &mut SmWarp,
        context: &mut SmContext<'_, 'r, L, E>,
    ) {
        if let Some(timing) = context.run.timing(warp.at) {
            sm.wait_for_facts(now, from, &timing.facts, warp, context);
        }
    }

    fn release_cycle<L>(sm: &mut Sm<'_, E>, now: u64, context: &SmContext<'_, '_, L, E>) -> u64 {
        let rate = context.parameters.get(Parameter::BarrierThreads).max(1);
        // CUDA C Programming Guide, throughput table: barriers count 64 threads in a cycle (P100: 32).
        let barrier = &mut sm.own.barrier;
        let counted = barrier.transfer(now, now, NVIDIA_LANES as u64, rate * 1000);
        counted + context.parameters.get(Parameter::BarrierLatency)
    }
}

/// Converts a cycle to the time of the global timer.
fn nanoseconds(cycle: u64, parameters: &UsedParameters) -> u64 {
    let kilohertz = parameters.get(Parameter::Clock).max(1);
    // In 64 bits the product would wrap around after 1.8e13 cycles.
    (u128::from(cycle) * 1_000_000 / u128::from(kilohertz)) as u64
}
