//! GPU: dispatches blocks to multiprocessors and simulates these in the order of time: SMs, or AMD's compute units.
//!
//! The simulation is event-driven: schedulers and block starts are the events of one queue, so that accesses of
//! different SMs to the L2 cache and DRAM are made in the order of time. Within a cycle, SMs and their schedulers come
//! in the order of their numbers.

use std::collections::VecDeque;

use warpbound_base::{Cycles, Observed};
use warpbound_ir::Code;
use warpbound_isa::nvidia;
use warpbound_launch::{GlobalMemory, Launch, Size, StartCaches};
use warpbound_machine::{BlockResources, Parameter};
use warpbound_timing::Completion;

use super::dispatch::{Dispatcher, KernelId, KernelLaunch, Priority, Stream};
use super::event::{Event, EventListener};
use super::event_queue::EventQueue;
use super::instr_timing::{InstrTiming, instr_timings};
use super::l2::{CODE_BASE, CONSTANT_BANK_STRIDE, CONSTANT_BASE, L2Cache};
use super::outcome::Recorder;
use super::parameters::UsedParameters;
use super::probe::Probe;
use super::scheduler::NEVER;
use super::sm::{GpuContext, Sm};
use super::warp::Tracking;
use super::{Interlock, Setup, SingleWarp, TimedResult};
use crate::functional::{Counts, Fault, FaultKind, NVIDIA_LANES, Program};

/// Blocks that were assigned to an SM and have not started.
#[derive(Clone, Default)]
struct PendingBlocks {
    /// Cycle of the start and number of each.
    blocks: VecDeque<(u64, u64)>,
    /// Start of the block assigned last.
    last_start: Option<u64>,
}

/// State of a run that all multiprocessors share, as far as the GPU needs it.
pub(super) trait RunContext {
    /// Parameters of the machine.
    fn parameters(&self) -> &UsedParameters;
    /// The launch.
    fn launch(&self) -> &Launch;
    /// The only warp that runs.
    fn only(&self) -> Option<SingleWarp>;
    /// Sets the current cycle of the memory that all share.
    fn set_now(&mut self, now: u64);
    /// Cycle when the L2 cache has accepted all stores so far.
    fn stores_done(&self) -> u64;
    /// Passes an event to the listener.
    fn report(&mut self, cycle: u64, event: &Event);
    /// Passes the outcomes recorded so far to the listener.
    fn report_outcomes(&mut self);
}

/// Multiprocessor of a GPU: schedulers that issue the instructions of resident blocks.
pub(super) trait Multiprocessor<C> {
    /// Cycle of the next event of a scheduler in the event queue; earlier entries of the queue are stale.
    fn wake(&mut self, scheduler: usize) -> &mut u64;
    /// Returns the first cycle, not before `from`, when a scheduler may issue; [`NEVER`] if that depends on others.
    fn earliest_issue(&self, scheduler: usize, from: u64, context: &C) -> u64;
    /// Issues what a scheduler selects in cycle `now`.
    fn issue_cycle(
        &mut self,
        now: u64,
        scheduler: usize,
        context: &mut C,
    ) -> Result<IssueEffects, Fault>;
    /// Starts a block, given by its number in the grid and its index, in cycle `now`.
    fn start_block(&mut self, now: u64, number: u64, index: Size, context: &mut C);
    /// Returns the deadlock of a resident block, once no warp can issue.
    fn deadlock(&self) -> Option<Fault>;
}

/// Effects of a scheduler's issue on other schedulers and on the GPU.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct IssueEffects {
    /// Warps of other schedulers may be ready.
    pub(super) wakes_warps: bool,
    /// Number of blocks that ended.
    pub(super) ended_blocks: u32,
}

/// GPU of equal multiprocessors.
pub(super) struct Gpu<M> {
    sms: Vec<M>,
    /// Events of SM n: n * `events_per_sm` plus the number of a scheduler, or plus the number of schedulers for block
    /// starts.
    events: EventQueue,
    events_per_sm: u32,
    dispatcher: Dispatcher,
    kernel: KernelId,
    /// By SM.
    pending: Vec<PendingBlocks>,
}

/// Simulates a launch; see [`super::run`].
pub(super) fn run<L: EventListener>(
    code: &Code,
    program: &nvidia::SassProgram,
    launch: &Launch,
    setup: &Setup,
    memory: &mut GlobalMemory,
    listener: &mut L,
) -> Result<TimedResult, Fault> {
    let parameters = UsedParameters::new(&setup.machine);
    let timings = instr_timings(code, program, &parameters);
    let compiled = Program::timed(code, launch);
    let mut l2 = L2Cache::new(&parameters);
    if setup.caches == StartCaches::Warm {
        warm_l2(&mut l2, code, launch, memory);
    }
    let is_depbar =
        |timing: &InstrTiming| matches!(timing.facts.completion, Completion::Depbar { .. });
    let mut context = GpuContext {
        parameters: &parameters,
        setup,
        tracking: Tracking {
            cells: setup.interlock == Interlock::Scoreboard,
            counts: timings.iter().any(is_depbar),
        },
        program: &compiled,
        launch,
        probe: Probe::new(&timings),
        timings: &timings,
        l2,
        memory,
        counts: Counts::new(code.ops.len()),
        budget: launch.max_instructions,
        stores_done: 0,
        listener,
    };
    context.l2.recorder = Recorder::new(L::RECORDS);
    let mut gpu = gpu_of(code, launch, setup, &parameters)?;
    let end = gpu.run(&mut context)?;
    Ok(TimedResult {
        cycles: Observed(Cycles(end)),
        counts: context.counts,
        used_parameters: parameters.used(),
    })
}

/// Enters the buffers, constant banks and code of a launch into the L2 cache, in this order: what the host wrote last
/// stays.
pub(super) fn warm_l2(l2: &mut L2Cache<'_>, code: &Code, launch: &Launch, memory: &GlobalMemory) {
    for buffer in memory.buffers() {
        l2.warm(buffer.address, buffer.bytes.len() as u64);
    }
    for (bank, bytes) in &launch.constants {
        // Not a bank of the hardware, but the code addresses that instructions contain.
        if *bank == Code::ADDRESS_BANK {
            continue;
        }
        let address = CONSTANT_BASE + u64::from(*bank) * CONSTANT_BANK_STRIDE;
        l2.warm(address, bytes.len() as u64);
    }
    let bytes = code.ops.last().map_or(0, |op| u64::from(op.addr.0) + 8);
    l2.warm(CODE_BASE, bytes);
}

/// Returns the idle GPU of a machine, with the launch submitted.
///
/// # Errors
///
/// A block does not fit on an SM.
fn gpu_of<'r>(
    code: &Code,
    launch: &Launch,
    setup: &Setup,
    parameters: &UsedParameters,
) -> Result<Gpu<Sm<'r>>, Fault> {
    let threads = launch.block.iter().map(|&n| u64::from(n)).product();
    let (registers, shared) = (setup.registers.into(), launch.shared.into());
    let mut reader = parameters.reader();
    let machine = reader.machine(BlockResources::PARAMETERS);
    let of_sm = BlockResources::of_sm(machine);
    let of_block = BlockResources::of_block(machine, threads, registers, shared);
    let resources = reader.track((of_sm, of_block));
    let (of_sm, of_block) = *resources.get(parameters);
    // Machine files limit the number of SMs, so the cast is exact.
    let sm_count = parameters.get(Parameter::SmCount).max(1) as u32;
    let entry = code.get(code.entry).map_or(0, |op| op.addr.0.into());
    let sms = (0..sm_count).map(|number| Sm::new(number, entry, parameters));
    let dispatcher = Dispatcher::new(sm_count as usize, of_sm);
    let schedulers = parameters.get(Parameter::SmSchedulers).max(1) as u32;
    let only = setup.only.map(|only| (only, NVIDIA_LANES as u32));
    Gpu::new(
        sms.collect(),
        schedulers,
        dispatcher,
        of_block,
        launch,
        only,
    )
}

impl<M> Gpu<M> {
    /// Returns an idle GPU of idle multiprocessors with `schedulers` schedulers each, and submits a launch whose
    /// blocks need the given resources. `only` is the warp that runs alone, with its number of lanes.
    ///
    /// # Errors
    ///
    /// A block does not fit on a multiprocessor, or the launch lacks the warp.
    pub(super) fn new(
        sms: Vec<M>,
        schedulers: u32,
        mut dispatcher: Dispatcher,
        need: BlockResources,
        launch: &Launch,
        only: Option<(SingleWarp, u32)>,
    ) -> Result<Gpu<M>, Fault> {
        let blocks = launch.grid.iter().map(|&n| u64::from(n)).product();
        if let Some((SingleWarp { block, warp }, lanes)) = only {
            let warps = launch.block.iter().product::<u32>().div_ceil(lanes);
            if block >= blocks || warp >= warps {
                return Err(Fault::of_launch(FaultKind::UnknownWarp { block, warp }));
            }
        }
        let kernel = dispatcher.submit(KernelLaunch {
            stream: Stream(1),
            priority: Priority::Low,
            blocks: only.map_or(blocks, |_| 1),
            need,
        });
        let Some(kernel) = kernel else {
            return Err(Fault::of_launch(FaultKind::BlockTooLarge));
        };
        let (count, events_per_sm) = (sms.len(), schedulers + 1);
        Ok(Gpu {
            sms,
            events: EventQueue::new(count as u32 * events_per_sm),
            events_per_sm,
            dispatcher,
            kernel,
            pending: vec![PendingBlocks::default(); count],
        })
    }

    /// Runs the launch; returns the cycle when the kernel ends.
    pub(super) fn run<C: RunContext>(&mut self, context: &mut C) -> Result<u64, Fault>
    where
        M: Multiprocessor<C>,
    {
        context.report(0, &Event::Launched);
        let start = context.parameters().get(Parameter::LaunchKernel);
        self.dispatch_blocks(start, context.parameters());
        let end = self.run_to_end(context)?;
        // `launch.stores` is not used if all stores were done before the last warp ended.
        let stores_done = context.stores_done();
        let waits_for_stores =
            stores_done > end && context.parameters().get(Parameter::LaunchStores) != 0;
        let end = if waits_for_stores { stores_done } else { end };
        let end = end + context.parameters().get(Parameter::LaunchEnd);
        context.report(end, &Event::Done);
        Ok(end)
    }

    /// Runs until no event is left; returns the cycle after the last issue.
    fn run_to_end<C: RunContext>(&mut self, context: &mut C) -> Result<u64, Fault>
    where
        M: Multiprocessor<C>,
    {
        let mut end = 0;
        while let Some((now, event)) = self.events.pop() {
            let sm = (event / self.events_per_sm) as usize;
            let scheduler = event % self.events_per_sm;
            // The queue orders events of a cycle by id: schedulers of an SM issue before its blocks start.
            if scheduler == self.events_per_sm - 1 {
                self.start_blocks(now, sm, context);
                context.report_outcomes();
                continue;
            }
            let scheduler = scheduler as usize;
            if *self.sms[sm].wake(scheduler) != now {
                // Stale: it has been woken earlier.
                continue;
            }
            end = now + 1;
            let issued = self.run_scheduler(now, sm, scheduler, context);
            // Before a fault ends the run, so that listeners have all outcomes.
            context.report_outcomes();
            issued?;
        }
        // Without an event no warp can issue: a block that is still resident waits at a barrier for ever.
        match self.sms.iter().find_map(M::deadlock) {
            Some(fault) => Err(fault),
            None => Ok(end),
        }
    }

    /// Runs a scheduler in cycle `now`, and adds the event of its next possible issue.
    fn run_scheduler<C: RunContext>(
        &mut self,
        now: u64,
        sm: usize,
        scheduler: usize,
        context: &mut C,
    ) -> Result<(), Fault>
    where
        M: Multiprocessor<C>,
    {
        let event = self.event_of(sm, scheduler);
        context.set_now(now);
        let core = &mut self.sms[sm];
        let effects = core.issue_cycle(now, scheduler, context)?;
        // A scheduler selects once in a cycle; `issue_cycle` has issued all that issues together.
        let next = core.earliest_issue(scheduler, now + 1, context);
        *core.wake(scheduler) = next;
        if next != NEVER {
            self.events.push(next, event);
        }
        if effects.wakes_warps {
            self.wake_schedulers(sm, now, context);
        }
        if effects.ended_blocks > 0 {
            // Several groups may end in one turn of a SIMD.
            for _ in 0..effects.ended_blocks {
                self.dispatcher.block_finished(self.kernel, sm);
            }
            self.dispatch_blocks(now + 1, context.parameters());
        }
        Ok(())
    }

    /// Event of a scheduler.
    fn event_of(&self, sm: usize, scheduler: usize) -> u32 {
        sm as u32 * self.events_per_sm + scheduler as u32
    }

    /// Wakes the schedulers of an SM whose warps may be ready before their next event.
    fn wake_schedulers<C>(&mut self, sm: usize, now: u64, context: &C)
    where
        M: Multiprocessor<C>,
    {
        for number in 0..self.events_per_sm as usize - 1 {
            let core = &mut self.sms[sm];
            let next = core.earliest_issue(number, now + 1, context);
            let wake = core.wake(number);
            // The later event stays in the queue; `run_to_end` skips it as stale.
            if next != NEVER && next < *wake {
                *wake = next;
                let event = self.event_of(sm, number);
                self.events.push(next, event);
            }
        }
    }

    /// Assigns blocks to SMs from cycle `now`, as far as they fit.
    fn dispatch_blocks(&mut self, now: u64, parameters: &UsedParameters) {
        while let Some(assigned) = self.dispatcher.assign() {
            let event = self.event_of(assigned.sm, self.events_per_sm as usize - 1);
            let pending = &mut self.pending[assigned.sm];
            let start = match pending.last_start {
                None => now,
                Some(last) => now.max(last + parameters.get(Parameter::LaunchBlock)),
            };
            pending.last_start = Some(start);
            pending.blocks.push_back((start, assigned.block));
            self.events.push(start, event);
        }
    }

    /// Starts the pending blocks of an SM that are due.
    fn start_blocks<C: RunContext>(&mut self, now: u64, sm: usize, context: &mut C)
    where
        M: Multiprocessor<C>,
    {
        context.set_now(now);
        while let Some(&(start, block)) = self.pending[sm].blocks.front()
            && start <= now
        {
            self.pending[sm].blocks.pop_front();
            // If one warp runs alone, the dispatcher has a single block, the warp's.
            let block = context.only().map_or(block, |only| only.block);
            let index = context.launch().block_at(block);
            self.sms[sm].start_block(now, block, index, context);
        }
        self.wake_schedulers(sm, now, context);
    }
}
