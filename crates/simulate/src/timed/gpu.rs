//! The GPU: its SMs in the order of time.

use std::collections::VecDeque;

use warpbound_base::{Cycles, Observed};
use warpbound_ir::Code;
use warpbound_isa::nvidia;
use warpbound_machine::{Parameter, BlockResources};

use super::dispatch::{Dispatcher, KernelLaunch, KernelId, Priority, Stream};
use super::due::EventQueue;
use super::event::{Event, EventListener};
use super::level::{BANK, CODE, CONSTANTS, Level};
use super::numbers::{Numbered, Numbers};
use super::probe::Probe;
use super::row::{Work, rows};
use super::sm::{Around, Sm};
use super::{Caches, TimedResult, Setup};
use crate::functional::{Counts, Fault, FaultKind, GlobalMemory, Launch, Program};

const LIMITS: Numbered = Numbered::of(&[
    Parameter::SmCount,
    Parameter::SmSchedulers,
    Parameter::SmWarps,
    Parameter::SmBlocks,
    Parameter::SmThreads,
    Parameter::SmRegisters,
    Parameter::SmShared,
    Parameter::RegisterStep,
    Parameter::WarpStep,
    Parameter::SharedStep,
]);

/// Blocks that an SM got and that have not begun.
#[derive(Clone, Default)]
struct Coming {
    /// When each begins, and its number.
    blocks: VecDeque<(u64, u64)>,
    /// When the last one that the SM got begins or began.
    last: Option<u64>,
}

struct Gpu<'r> {
    sms: Vec<Sm<'r>>,
    /// Turns of schedulers and begins of blocks.
    due: EventQueue,
    dispatcher: Dispatcher,
    kernel: KernelId,
    /// For each SM.
    coming: Vec<Coming>,
    /// Cycles between two blocks that begin on an SM.
    apart: u64,
    places: u32,
}

pub(super) fn run<L: EventListener>(
    code: &Code,
    program: &nvidia::Program,
    launch: &Launch,
    setup: &Setup,
    memory: &mut GlobalMemory,
    listener: &mut L,
) -> Result<TimedResult, Fault> {
    let numbers = Numbers::new(&setup.machine);
    let rows = rows(code, program, &numbers);
    let compiled = Program::timed(code, launch);
    let mut level = Level::new(&numbers);
    if setup.caches == Caches::Warm {
        warm(&mut level, code, launch, memory);
    }
    let mut around = Around {
        numbers: &numbers,
        setup,
        tells: compiled.reads_clock,
        counted: rows
            .iter()
            .any(|row| matches!(row.work, Work::Outstanding { .. })),
        program: &compiled,
        launch,
        probe: Probe::new(&rows),
        rows: &rows,
        level,
        memory,
        counts: Counts::new(code.ops.len()),
        left: launch.max_instructions,
        stored: 0,
        listener,
    };
    numbers.touch(LIMITS);
    let threads: u64 = launch.block.iter().map(|&n| u64::from(n)).product();
    let need = BlockResources::of_block(
        &setup.machine,
        threads,
        setup.registers.into(),
        launch.shared.into(),
    );
    let count = numbers.peek(Parameter::SmCount).max(1) as u32;
    let entry = code.get(code.entry).map_or(0, |op| op.addr.0.into());
    let sm = |number| Sm::new(number, entry, &numbers);
    let mut dispatcher = Dispatcher::new(count as usize, BlockResources::of_sm(&setup.machine));
    let kernel = dispatcher.submit(KernelLaunch {
        stream: Stream(1),
        priority: Priority::Low,
        blocks: launch.grid.iter().map(|&n| u64::from(n)).product(),
        need,
    });
    let Some(kernel) = kernel else {
        return Err(Fault::of_launch(FaultKind::BlockTooLarge));
    };
    let places = numbers.peek(Parameter::SmSchedulers).max(1) as u32 + 1;
    let mut gpu = Gpu {
        sms: (0..count).map(sm).collect(),
        due: EventQueue::new(count * places),
        dispatcher,
        kernel,
        coming: vec![Coming::default(); count as usize],
        apart: numbers.peek(Parameter::LaunchBlock),
        places,
    };
    around.listener.event(0, &Event::Launched);
    let begin = numbers.get(Parameter::LaunchKernel);
    gpu.dispatch(begin, &numbers);
    let end = gpu.go(&mut around)?;
    // Nothing changes where all stores were done before.
    let end = match around.stored > end && numbers.get(Parameter::LaunchStores) != 0 {
        true => around.stored,
        false => end,
    };
    let end = end + numbers.get(Parameter::LaunchEnd);
    around.listener.event(end, &Event::Done);
    Ok(TimedResult {
        cycles: Observed(Cycles(end)),
        counts: around.counts,
        touched: numbers.touched(),
    })
}

/// Constants, code and buffers: what the host has put there last stays.
fn warm(level: &mut Level<'_>, code: &Code, launch: &Launch, memory: &GlobalMemory) {
    for buffer in memory.buffers() {
        level.warm(buffer.address, buffer.bytes.len() as u64);
    }
    for (bank, bytes) in &launch.constants {
        // Addresses in instructions are part of these.
        if *bank == Code::ADDRESS_BANK {
            continue;
        }
        level.warm(CONSTANTS + u64::from(*bank) * BANK, bytes.len() as u64);
    }
    let bytes = code.ops.last().map_or(0, |op| u64::from(op.addr.0) + 8);
    level.warm(CODE, bytes);
}

impl<'r> Gpu<'r> {
    /// Runs all blocks; the cycle behind the last instruction.
    fn go<L: EventListener>(&mut self, around: &mut Around<'_, 'r, L>) -> Result<u64, Fault> {
        let mut end = 0;
        while let Some((now, who)) = self.due.pop() {
            let (sm, place) = ((who / self.places) as usize, who % self.places);
            if place == self.places - 1 {
                self.begin(now, sm, around);
                continue;
            }
            let place = place as usize;
            if self.sms[sm].schedulers[place].wakes != now {
                // It has been woken before.
                continue;
            }
            end = now + 1;
            self.turns(now, sm, place, around)?;
        }
        match self.sms.iter().find_map(Sm::deadlock) {
            Some(fault) => Err(fault),
            None => Ok(end),
        }
    }

    /// A scheduler issues as long as it is the first in time.
    fn turns<L: EventListener>(
        &mut self,
        now: u64,
        sm: usize,
        place: usize,
        around: &mut Around<'_, 'r, L>,
    ) -> Result<(), Fault> {
        let policy = around.setup.policy;
        around.level.now = now;
        let turn = self.sms[sm].turn(now, place, around)?;
        let scheduler = &mut self.sms[sm].schedulers[place];
        let next = scheduler.earliest(policy).max(now + 1);
        scheduler.wakes = next;
        if scheduler.warps() > 0 && next != u64::MAX {
            self.due.push(next, self.who(sm, place));
        }
        if turn.woke {
            self.wake(sm, now, around);
        }
        if turn.ended {
            self.dispatcher.finished(self.kernel, sm);
            self.dispatch(now + 1, around.numbers);
        }
        Ok(())
    }

    fn who(&self, sm: usize, place: usize) -> u32 {
        sm as u32 * self.places + place as u32
    }

    /// Schedulers of an SM whose warps may be ready before they look again.
    fn wake<L: EventListener>(&mut self, sm: usize, now: u64, around: &Around<'_, 'r, L>) {
        let policy = around.setup.policy;
        for place in 0..self.places as usize - 1 {
            let scheduler = &mut self.sms[sm].schedulers[place];
            let next = scheduler.earliest(policy);
            if next == u64::MAX {
                continue;
            }
            let next = next.max(now + 1);
            if next < scheduler.wakes {
                scheduler.wakes = next;
                let who = self.who(sm, place);
                self.due.push(next, who);
            }
        }
    }

    /// Gives blocks to SMs.
    fn dispatch(&mut self, now: u64, numbers: &Numbers) {
        while let Some(given) = self.dispatcher.assign() {
            let who = self.who(given.sm, self.places as usize - 1);
            let coming = &mut self.coming[given.sm];
            let begin = match coming.last {
                None => now,
                Some(last) => {
                    numbers.touch(const { Numbered::of(&[Parameter::LaunchBlock]) });
                    now.max(last + self.apart)
                }
            };
            coming.last = Some(begin);
            coming.blocks.push_back((begin, given.block));
            self.due.push(begin, who);
        }
    }

    /// The blocks of an SM that are due begin.
    fn begin<L: EventListener>(&mut self, now: u64, number: usize, around: &mut Around<'_, 'r, L>) {
        around.level.now = now;
        while let Some(&(due, block)) = self.coming[number].blocks.front()
            && due <= now
        {
            self.coming[number].blocks.pop_front();
            let index = around.launch.block_at(block);
            self.sms[number].begin(now, (block, index), around);
        }
        self.wake(number, now, around);
    }
}
