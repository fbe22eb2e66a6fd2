//! GPU: dispatches blocks to multiprocessors and simulates these in the order of time: SMs, or AMD's compute units.
//!
//! The simulation is event-driven: schedulers and block starts are the events of one queue, so that accesses of
//! different SMs to the L2 cache and DRAM are made in the order of time. Within a cycle, SMs and their schedulers come
//! in the order of their numbers.

use std::collections::VecDeque;
use std::ops::RangeInclusive;

use warpbound_base::{Cycles, Observed};
use warpbound_ir::Code;
use warpbound_launch::{GlobalMemory, Launch, StartCaches};
use warpbound_machine::Parameter;

use super::core::{Core, IssueEffects};
use super::dispatch::{Dispatcher, KernelId, KernelLaunch, Priority, Stream};
use super::event::{Event, EventListener};
use super::event_queue::{EventQueue, NEVER};
use super::family_timing::{FamilyTiming, Layout, RunContext};
use super::l2::{CODE_BASE, CONSTANT_BANK_STRIDE, CONSTANT_BASE, L2Cache};
use super::outcome::Recorder;
use super::parameters::UsedParameters;
use super::{SingleWarp, TimedResult};
use crate::functional::{Counts, Fault, FaultKind, Program};

/// Bytes of the longest instruction, so that the last one of a code is in its range.
const LAST_BYTES: u64 = 16;

/// Blocks that were assigned to an SM and have not started.
#[derive(Clone, Default)]
struct PendingBlocks {
    /// Cycle of the start and number of each.
    blocks: VecDeque<(u64, u64)>,
    /// Start of the block assigned last.
    last_start: Option<u64>,
}

/// GPU of equal multiprocessors.
struct Gpu<'r, F: FamilyTiming<W>, const W: usize> {
    cores: Vec<Core<'r, F, W>>,
    /// Events of core n: n * `events_per_core` plus the number of a scheduler, or plus the number of schedulers for
    /// block starts.
    events: EventQueue,
    events_per_core: u32,
    dispatcher: Dispatcher,
    kernel: KernelId,
    /// By core.
    pending: Vec<PendingBlocks>,
}

/// Launch on a machine.
pub(super) struct Inputs<'a, F: FamilyTiming<W>, const W: usize> {
    pub(super) code: &'a Code,
    pub(super) launch: &'a Launch,
    pub(super) parameters: &'a UsedParameters,
    /// Initial contents of the L2 cache.
    pub(super) caches: StartCaches,
    /// The only warp that runs; `None` for all.
    pub(super) only: Option<SingleWarp>,
    pub(super) run: F::Run<'a>,
    pub(super) probe: F::Probe<'a>,
}

/// Simulates a launch from idle multiprocessors to the end of the kernel.
///
/// # Errors
///
/// As [`super::run`].
pub(super) fn simulate<'a, F: FamilyTiming<W>, L: EventListener, const W: usize>(
    inputs: Inputs<'a, F, W>,
    memory: &'a mut GlobalMemory,
    listener: &'a mut L,
) -> Result<TimedResult, Fault> {
    let Inputs {
        code,
        launch,
        parameters,
        caches,
        only,
        run,
        probe,
    } = inputs;
    let compiled = Program::timed(code, launch);
    let mut l2 = L2Cache::new(parameters);
    if caches == StartCaches::Warm {
        warm_l2(&mut l2, code, launch, memory);
    }
    l2.recorder = Recorder::new(L::RECORDS);
    let layout = F::layout(run, launch, parameters);
    let entry = code.get(code.entry).map_or(0, |op| op.addr.0.into());
    let addresses = code.ops.iter().map(|op| u64::from(op.addr.0));
    let addresses = entry..=addresses.max().unwrap_or(entry);
    let mut gpu = Gpu::new(layout, addresses, launch, only, parameters)?;
    let mut context = RunContext {
        parameters,
        run,
        program: &compiled,
        launch,
        only,
        l2,
        memory,
        counts: Counts::new(code.ops.len()),
        budget: launch.max_instructions,
        stores_done: 0,
        unstarted: block_count(launch, only),
        probe,
        listener,
    };
    let end = gpu.run(&mut context)?;
    Ok(TimedResult {
        cycles: Observed(Cycles(end)),
        counts: context.counts,
        used_parameters: parameters.used(),
    })
}

/// Number of blocks that run: all of the grid, unless one warp runs alone.
fn block_count(launch: &Launch, only: Option<SingleWarp>) -> u64 {
    let blocks = launch.grid.iter().map(|&n| u64::from(n)).product();
    only.map_or(blocks, |_| 1)
}

/// Enters the buffers, constant banks and code of a launch into the L2 cache, in this order: what the host wrote last
/// stays.
fn warm_l2(l2: &mut L2Cache<'_>, code: &Code, launch: &Launch, memory: &GlobalMemory) {
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
    let bytes = code
        .ops
        .last()
        .map_or(0, |op| u64::from(op.addr.0) + LAST_BYTES);
    l2.warm(CODE_BASE, bytes);
}

impl<'r, F: FamilyTiming<W>, const W: usize> Gpu<'r, F, W> {
    /// Returns an idle GPU, and submits a launch of a kernel; `code` has the addresses of its first
    /// instruction and of the last one of all code.
    ///
    /// # Errors
    ///
    /// A block does not fit on a multiprocessor, or the launch lacks the only warp that runs.
    fn new(
        layout: Layout<F, W>,
        code: RangeInclusive<u64>,
        launch: &Launch,
        only: Option<SingleWarp>,
        parameters: &UsedParameters,
    ) -> Result<Gpu<'r, F, W>, Fault> {
        let Layout {
            cores,
            mut dispatcher,
            need,
        } = layout;
        if let Some(SingleWarp { block, warp }) = only {
            let warps = launch.block.iter().product::<u32>().div_ceil(W as u32);
            if block >= block_count(launch, None) || warp >= warps {
                return Err(Fault::of_launch(FaultKind::UnknownWarp { block, warp }));
            }
        }
        let kernel = dispatcher.submit(KernelLaunch {
            stream: Stream(1),
            priority: Priority::Low,
            blocks: block_count(launch, only),
            need,
        });
        let Some(kernel) = kernel else {
            return Err(Fault::of_launch(FaultKind::BlockTooLarge));
        };
        let core =
            |(number, (own, schedulers))| Core::new(number, own, schedulers, &code, parameters);
        let cores: Vec<Core<'r, F, W>> = (0..).zip(cores).map(core).collect();
        let schedulers = cores.first().map_or(0, |core| core.schedulers.len());
        // Machine files limit the numbers of both, so the casts are exact.
        let (count, events_per_core) = (cores.len(), schedulers as u32 + 1);
        Ok(Gpu {
            cores,
            events: EventQueue::new(count as u32 * events_per_core),
            events_per_core,
            dispatcher,
            kernel,
            pending: vec![PendingBlocks::default(); count],
        })
    }

    /// Runs the launch; returns the cycle when the kernel ends.
    fn run<L: EventListener>(
        &mut self,
        context: &mut RunContext<'_, 'r, F, L, W>,
    ) -> Result<u64, Fault> {
        context.listener.event(0, &Event::Launched);
        let start = context.parameters.get(Parameter::LaunchKernel);
        self.dispatch_blocks(start, context.parameters);
        let end = self.run_to_end(context)?;
        // `launch.stores` is not used if all stores were done before the last warp ended.
        let stores_done = context.stores_done;
        let waits_for_stores =
            stores_done > end && context.parameters.get(Parameter::LaunchStores) != 0;
        let end = if waits_for_stores { stores_done } else { end };
        let end = end + context.parameters.get(Parameter::LaunchEnd);
        context.listener.event(end, &Event::Done);
        Ok(end)
    }

    /// Runs until no event is left; returns the cycle after the last issue.
    fn run_to_end<L: EventListener>(
        &mut self,
        context: &mut RunContext<'_, 'r, F, L, W>,
    ) -> Result<u64, Fault> {
        let mut end = 0;
        while let Some((now, event)) = self.events.pop() {
            let sm = (event / self.events_per_core) as usize;
            let scheduler = event % self.events_per_core;
            // The queue orders events of a cycle by id: schedulers of an SM issue before its blocks start.
            if scheduler == self.events_per_core - 1 {
                self.start_blocks(now, sm, context);
                context.report_outcomes();
                continue;
            }
            let scheduler = scheduler as usize;
            if self.cores[sm].wakes[scheduler] != now {
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
        match self.cores.iter().find_map(Core::deadlock) {
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
        context: &mut RunContext<'_, 'r, F, L, W>,
    ) -> Result<(), Fault> {
        let event = self.event_of(sm, scheduler);
        context.l2.now = now;
        let core = &mut self.cores[sm];
        let mut effects = IssueEffects::default();
        F::issue_cycle(core, now, scheduler, context, &mut effects)?;
        // A scheduler selects once in a cycle; `issue_cycle` has issued all that issues together.
        let next = F::earliest_issue(core, scheduler, now + 1, context);
        core.wakes[scheduler] = next;
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
            self.dispatch_blocks(now + 1, context.parameters);
        }
        Ok(())
    }

    /// Event of a scheduler.
    fn event_of(&self, sm: usize, scheduler: usize) -> u32 {
        sm as u32 * self.events_per_core + scheduler as u32
    }

    /// Wakes the schedulers of an SM whose warps may be ready before their next event.
    fn wake_schedulers<L>(&mut self, sm: usize, now: u64, context: &RunContext<'_, 'r, F, L, W>) {
        for number in 0..self.events_per_core as usize - 1 {
            let core = &mut self.cores[sm];
            let next = F::earliest_issue(core, number, now + 1, context);
            let wake = &mut core.wakes[number];
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
            let event = self.event_of(assigned.sm, self.events_per_core as usize - 1);
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
        context: &mut RunContext<'_, 'r, F, L, W>,
    ) {
        context.l2.now = now;
        while let Some(&(start, block)) = self.pending[sm].blocks.front()
            && start <= now
        {
            self.pending[sm].blocks.pop_front();
            // If one warp runs alone, the dispatcher has a single block, the warp's.
            let block = context.only.map_or(block, |only| only.block);
            let index = context.launch.block_at(block);
            self.cores[sm].start_block(now, block, index, context);
        }
        self.wake_schedulers(sm, now, context);
    }
}
