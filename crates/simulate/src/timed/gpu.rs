//! GPU: dispatches blocks to SMs and simulates the SMs in the order of time.
//!
//! The simulation is event-driven: schedulers and block starts are the events of one queue, so that accesses of
//! different SMs to the L2 cache and DRAM are made in the order of time. Within a cycle, SMs and their schedulers come
//! in the order of their numbers.

use std::collections::VecDeque;

use warpbound_base::{Cycles, Observed};
use warpbound_ir::Code;
use warpbound_isa::nvidia;
use warpbound_launch::{GlobalMemory, Launch, StartCaches};
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

struct Gpu<'r> {
    sms: Vec<Sm<'r>>,
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
    let mut gpu = Gpu::new(code, launch, setup, &parameters)?;
    context.listener.event(0, &Event::Launched);
    gpu.dispatch_blocks(parameters.get(Parameter::LaunchKernel), &parameters);
    let end = gpu.run_to_end(&mut context)?;
    // `launch.stores` is not used if all stores were done before the last warp ended.
    let waits_for_stores =
        context.stores_done > end && parameters.get(Parameter::LaunchStores) != 0;
    let end = if waits_for_stores {
        context.stores_done
    } else {
        end
    };
    let end = end + parameters.get(Parameter::LaunchEnd);
    context.listener.event(end, &Event::Done);
    Ok(TimedResult {
        cycles: Observed(Cycles(end)),
        counts: context.counts,
        used_parameters: parameters.used(),
    })
}

/// Passes the outcomes recorded so far to the listener.
#[inline(always)]
fn report_outcomes<L: EventListener>(context: &mut GpuContext<'_, '_, L>) {
    if L::RECORDS {
        for outcome in context.l2.recorder.take() {
            context.listener.outcome(&outcome);
        }
    }
}

/// Enters the buffers, constant banks and code of a launch into the L2 cache, in this order: what the host wrote last
/// stays.
fn warm_l2(l2: &mut L2Cache<'_>, code: &Code, launch: &Launch, memory: &GlobalMemory) {
    for buffer in memory.buffers() {
        l2.warm(buffer.address, buffer.bytes.len() as u64);
    }
    for (bank, bytes) in &launch.constants {
        // Not a bank of the hardware: the code addresses that instructions contain.
        if *bank == Code::ADDRESS_BANK {
            continue;
        }
        let address = CONSTANT_BASE + u64::from(*bank) * CONSTANT_BANK_STRIDE;
        l2.warm(address, bytes.len() as u64);
    }
    let bytes = code.ops.last().map_or(0, |op| u64::from(op.addr.0) + 8);
    l2.warm(CODE_BASE, bytes);
}

impl<'r> Gpu<'r> {
    /// Returns the idle GPU of a machine, with the launch submitted.
    ///
    /// # Errors
    ///
    /// If a block does not fit on an SM.
    fn new(
        code: &Code,
        launch: &Launch,
        setup: &Setup,
        parameters: &UsedParameters,
    ) -> Result<Gpu<'r>, Fault> {
        let threads = launch.block.iter().map(|&n| u64::from(n)).product();
        let (registers, shared) = (setup.registers.into(), launch.shared.into());
        let mut reader = parameters.reader();
        let machine = reader.machine(BlockResources::PARAMETERS);
        let of_sm = BlockResources::of_sm(machine);
        let of_block = BlockResources::of_block(machine, threads, registers, shared);
        let resources = reader.track((of_sm, of_block));
        let (of_sm, of_block) = *resources.get(parameters);
        let sm_count = parameters.get(Parameter::SmCount).max(1) as u32;
        let mut dispatcher = Dispatcher::new(sm_count as usize, of_sm);
        let blocks = launch.grid.iter().map(|&n| u64::from(n)).product();
        if let Some(only) = setup.only {
            let warps = launch.block.iter().product::<u32>();
            let warps = warps.div_ceil(NVIDIA_LANES as u32);
            if only.block >= blocks || only.warp >= warps {
                let SingleWarp { block, warp } = only;
                return Err(Fault::of_launch(FaultKind::UnknownWarp { block, warp }));
            }
        }
        let kernel = dispatcher.submit(KernelLaunch {
            stream: Stream(1),
            priority: Priority::Low,
            blocks: setup.only.map_or(blocks, |_| 1),
            need: of_block,
        });
        let Some(kernel) = kernel else {
            return Err(Fault::of_launch(FaultKind::BlockTooLarge));
        };
        let events_per_sm = parameters.get(Parameter::SmSchedulers).max(1) as u32 + 1;
        let entry = code.get(code.entry).map_or(0, |op| op.addr.0.into());
        Ok(Gpu {
            sms: (0..sm_count)
                .map(|number| Sm::new(number, entry, parameters))
                .collect(),
            events: EventQueue::new(sm_count * events_per_sm),
            events_per_sm,
            dispatcher,
            kernel,
            pending: vec![PendingBlocks::default(); sm_count as usize],
        })
    }

    /// Runs until no event is left; returns the cycle after the last issue.
    fn run_to_end<L: EventListener>(
        &mut self,
        context: &mut GpuContext<'_, 'r, L>,
    ) -> Result<u64, Fault> {
        let mut end = 0;
        while let Some((now, event)) = self.events.pop() {
            let sm = (event / self.events_per_sm) as usize;
            let scheduler = event % self.events_per_sm;
            // The queue orders events of a cycle by id: schedulers of an SM issue before its blocks start.
            if scheduler == self.events_per_sm - 1 {
                self.start_blocks(now, sm, context);
                report_outcomes(context);
                continue;
            }
            let scheduler = scheduler as usize;
            if self.sms[sm].schedulers[scheduler].wake != now {
                // Stale: it has been woken earlier.
                continue;
            }
            end = now + 1;
            let issued = self.run_scheduler(now, sm, scheduler, context);
            report_outcomes(context);
            issued?;
        }
        // Without an event no warp can issue: a block that is still resident waits at a barrier for ever.
        match self.sms.iter().find_map(Sm::deadlock) {
            Some(fault) => Err(fault),
            None => Ok(end),
        }
    }

    /// Runs a scheduler in cycle `now`, and adds the event of its next possible issue.
    fn run_scheduler<L: EventListener>(
        &mut self,
        now: u64,
        sm: usize,
        scheduler: usize,
        context: &mut GpuContext<'_, 'r, L>,
    ) -> Result<(), Fault> {
        let policy = context.setup.policy;
        let event = self.event_of(sm, scheduler);
        context.l2.now = now;
        let effects = self.sms[sm].issue_cycle(now, scheduler, context)?;
        let scheduler = &mut self.sms[sm].schedulers[scheduler];
        // A scheduler selects once in a cycle; `issue_cycle` has issued the second instruction of a pair.
        let next = scheduler.earliest_issue(policy).max(now + 1);
        scheduler.wake = next;
        if scheduler.warps() > 0 && next != NEVER {
            self.events.push(next, event);
        }
        if effects.wakes_warps {
            self.wake_schedulers(sm, now, context);
        }
        if effects.ends_block {
            self.dispatcher.block_finished(self.kernel, sm);
            self.dispatch_blocks(now + 1, context.parameters);
        }
        Ok(())
    }

    /// Event of a scheduler.
    fn event_of(&self, sm: usize, scheduler: usize) -> u32 {
        sm as u32 * self.events_per_sm + scheduler as u32
    }

    /// Wakes the schedulers of an SM whose warps may be ready before their next event.
    fn wake_schedulers<L: EventListener>(
        &mut self,
        sm: usize,
        now: u64,
        context: &GpuContext<'_, 'r, L>,
    ) {
        let policy = context.setup.policy;
        for number in 0..self.events_per_sm as usize - 1 {
            let scheduler = &mut self.sms[sm].schedulers[number];
            let next = scheduler.earliest_issue(policy);
            if next == NEVER {
                continue;
            }
            let next = next.max(now + 1);
            // The later event stays in the queue; `run_to_end` skips it as stale.
            if next < scheduler.wake {
                scheduler.wake = next;
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
    fn start_blocks<L: EventListener>(
        &mut self,
        now: u64,
        sm: usize,
        context: &mut GpuContext<'_, 'r, L>,
    ) {
        context.l2.now = now;
        while let Some(&(start, block)) = self.pending[sm].blocks.front()
            && start <= now
        {
            self.pending[sm].blocks.pop_front();
            // The dispatcher has one block if one warp runs alone: that of the warp.
            let block = context.setup.only.map_or(block, |only| only.block);
            let index = context.launch.block_at(block);
            self.sms[sm].start_block(now, (block, index), context);
        }
        self.wake_schedulers(sm, now, context);
    }
}
