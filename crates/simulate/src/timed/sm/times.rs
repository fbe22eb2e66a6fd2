//! Times of the instructions of an SM's warps: start, sources and result, and what the next instruction waits for.

use warpbound_ir::Cell;
use warpbound_isa::nvidia::ExecUnit;
use warpbound_machine::Parameter;
use warpbound_simt::ExecutionModel;
use warpbound_timing::{Completion, InstrFacts};

use super::super::Interlock;
use super::super::event::{Event, EventListener, Stall};
use super::super::parameters::UsedParameters;
use super::access::l1_unit_of;
use super::instr_timing::InstrTiming;
use super::scoreboard::SCOREBOARDS;
use super::{Sm, SmContext, SmWarp};

/// Times of an instruction after its dispatch, in cycles.
#[derive(Clone, Copy, Debug)]
struct InstrTimes {
    start: u64,
    /// Its source registers have been read.
    sources: u64,
    /// Its result is present.
    done: u64,
}

impl<'r, E: ExecutionModel<u32>> Sm<'r, E> {
    /// Computes the times of an instruction issued in cycle `now`, and raises its scoreboards.
    #[inline]
    pub(super) fn time_instruction<L: EventListener>(
        &mut self,
        now: u64,
        timing: &InstrTiming,
        warp: &mut SmWarp,
        gpu: &mut SmContext<'_, 'r, L, E>,
    ) {
        let parameters = gpu.parameters;
        let facts = &timing.facts;
        let delay = timing.issue.get(parameters);
        let stall = match gpu.run.setup.interlock {
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
            let scoreboards = &mut warp.own.scoreboards;
            scoreboards.raise(scoreboard.into(), now, times.sources, is_memory);
        }
        if let Some(scoreboard) = facts.write_sb {
            let scoreboards = &mut warp.own.scoreboards;
            scoreboards.raise(scoreboard.into(), now, times.done, is_memory);
        }
        // Code 0 is named DRAIN: the warp waits for all its outstanding operations (docs/timing-model.md).
        if facts.drains {
            wait_for_scoreboards(warp, u8::MAX, 0);
            let drain = parameters.get(Parameter::IssueDrain);
            warp.wait(warp.ready + drain, Stall::Dependency);
        }
        if gpu.run.setup.interlock == Interlock::Scoreboard {
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
        warp: &mut SmWarp,
        gpu: &mut SmContext<'_, 'r, L, E>,
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
                    start = self.own.shared_memory.reserve(now, start, cycles);
                }
                times.done = start + parameters.get(latency);
                let sources = start + parameters.get(Parameter::SharedSources);
                // A result cannot be present before its sources have been read, however short the latency is.
                times.sources = times.done.min(sources);
                times.start = start;
            }
            Completion::Memory(l1) => {
                (times.sources, times.done) = self.access(start, l1, warp, gpu);
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
                    true => warp.own.stores_done.max(now) + parameters.get(Parameter::FenceDevice),
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
                let (until, is_memory) = warp
                    .own
                    .scoreboards
                    .release_cycle_to(scoreboard.into(), most);
                warp.wait(until, stall_reason(is_memory));
                wait_for_scoreboards(warp, zero, 0);
                (times.sources, times.done) = (now, now);
            }
        }
        times
    }

    /// Delays a warp until scoreboards, registers and constant operands are ready for an instruction, all requested in
    /// cycle `from`, which is not before `now`.
    #[inline]
    pub(super) fn wait_for_facts<L: EventListener>(
        &mut self,
        now: u64,
        from: u64,
        facts: &InstrFacts,
        warp: &mut SmWarp,
        gpu: &mut SmContext<'_, 'r, L, E>,
    ) {
        match gpu.run.setup.interlock {
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
                    let (until, is_memory) = warp.own.cells[cell.index()];
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
        gpu: &mut SmContext<'_, 'r, L, E>,
    ) -> u64 {
        let (ready, found) = self.own.constants.read(at, bank, offset, &mut gpu.l2);
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
}

/// Reason of a wait for a scoreboard.
fn stall_reason(is_memory: bool) -> Stall {
    match is_memory {
        true => Stall::Memory,
        false => Stall::Dependency,
    }
}

/// Delays a warp until the scoreboards of a mask are released, and `wake` cycles more.
fn wait_for_scoreboards(warp: &mut SmWarp, mask: u8, wake: u64) {
    for number in (0..SCOREBOARDS).filter(|number| mask >> number & 1 == 1) {
        let (release, is_memory) = warp.own.scoreboards.release_cycle(number);
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
    warp: &mut SmWarp,
    parameters: &UsedParameters,
) {
    for cell in &facts.writes {
        let latency = match facts.completion {
            Completion::Fixed if cell.is_predicate() => Parameter::LatencyPredicate,
            Completion::Fixed if *cell == Cell::CC => Parameter::LatencyCarry,
            Completion::Fixed => Parameter::LatencyAlu,
            _ => {
                warp.own.cells[cell.index()] = (times.done, facts.is_memory);
                continue;
            }
        };
        let done = times.start + parameters.get(latency);
        warp.own.cells[cell.index()] = (done, facts.is_memory);
    }
}
