//! Core: a multiprocessor of a GPU of any family. It issues the instructions of its warps and computes when they
//! complete; what differs between families is in [`FamilyTiming`].
//!
//! An instruction is executed functionally in the cycle of its issue, and its timing is computed at once: from it
//! follows the first cycle when its warp can issue the next one.

use std::ops::RangeInclusive;

use smallvec::SmallVec;
use warpbound_ir::OpIndex;
use warpbound_launch::Size;
use warpbound_machine::Parameter;
use warpbound_simt::ExecutionModel;

use super::event::{Event, EventListener, Stall, WarpPlace};
use super::event_queue::NEVER;
use super::family_timing::{FamilyTiming, RunContext};
use super::fetch::InstructionCaches;
use super::l1_path::L1Path;
use super::outcome::Outcome;
use super::parameters::UsedParameters;
use super::warp::Warp;
use crate::functional::{Block, ClockRegister, Counts, ExecContext, Fault};

/// Slot of a warp that has none: it has ended before its block began, since another warp runs alone.
pub(super) const NO_SLOT: u32 = u32::MAX;

/// Block resident on a core.
pub(super) struct Resident<'r, E, const W: usize> {
    pub(super) block: Block<'r, E, W>,
    number: u64,
    index: Size,
    /// Slots of its warps and splits, by their index in the functional state.
    pub(super) slots: Vec<u32>,
    /// Number of warps and splits that have not ended.
    pub(super) running: usize,
}

impl<E: ExecutionModel<u32>, const W: usize> Resident<'_, E, W> {
    /// Whether a warp waits at a barrier.
    fn has_waiting_warp(&self) -> bool {
        let mut warps = self.block.warps.iter();
        warps.any(|warp| warp.barrier_wait.is_some())
    }

    /// Opens the barriers that are complete; returns the slots of the warps that have waited there.
    fn open_barriers(&mut self, counts: &mut Counts) -> SmallVec<[u32; 32]> {
        let waiting: SmallVec<[bool; 32]> = {
            let warps = self.block.warps.iter();
            warps.map(|warp| warp.barrier_wait.is_some()).collect()
        };
        // Shared with runs without time, it does not report the warps that it releases.
        self.block.release(counts);
        let warps = (0..).zip(waiting.iter().zip(&self.block.warps));
        warps
            .filter(|(_, (waited, warp))| **waited && warp.barrier_wait.is_none())
            .map(|(number, _)| self.slots.get(number as usize).copied().unwrap_or(NO_SLOT))
            .collect()
    }
}

/// Effects of a scheduler's issue on other schedulers and on the GPU.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct IssueEffects {
    /// Warps of other schedulers may be ready.
    pub(super) wakes_warps: bool,
    /// Number of blocks that ended.
    pub(super) ended_blocks: u32,
}

/// Multiprocessor of a family.
pub(super) struct Core<'r, F: FamilyTiming<W>, const W: usize> {
    pub(super) number: u32,
    pub(super) residents: Vec<Option<Resident<'r, F::Model, W>>>,
    /// Warps by slot. Boxed, because one is taken out while it changes together with the rest of the core.
    pub(super) warps: Vec<Option<Box<Warp<F::WarpState>>>>,
    pub(super) schedulers: Vec<F::Scheduler>,
    /// Cycle of the next event of each scheduler in the event queue; earlier entries of the queue are stale.
    pub(super) wakes: Vec<u64>,
    pub(super) l1_path: L1Path,
    instructions: InstructionCaches,
    /// The part that only its family has.
    pub(super) own: F,
}

/// State of a warp after an instruction.
enum After {
    /// The warp has a next instruction.
    Continues,
    /// The warp has arrived at a barrier of its block, where it may wait.
    Arrives,
    /// The warp waits for another one before its next instruction.
    Parks,
    /// The warp has ended.
    Ends,
}

impl<'r, F: FamilyTiming<W>, const W: usize> Core<'r, F, W> {
    /// Returns an idle core; `code` has the addresses of the kernel's first instruction and of the last one of all code.
    pub(super) fn new(
        number: u32,
        own: F,
        schedulers: Vec<F::Scheduler>,
        code: &RangeInclusive<u64>,
        parameters: &UsedParameters,
    ) -> Core<'r, F, W> {
        let mut instructions = InstructionCaches::new(parameters);
        instructions.preload(code, parameters.get(Parameter::InstructionPreloaded));
        Core {
            number,
            residents: Vec::new(),
            warps: Vec::new(),
            wakes: vec![NEVER; schedulers.len()],
            schedulers,
            l1_path: L1Path::new(parameters),
            instructions,
            own,
        }
    }

    /// The resident block of a warp.
    #[inline(always)]
    pub(super) fn resident_mut(
        &mut self,
        warp: &Warp<F::WarpState>,
    ) -> Option<&mut Resident<'r, F::Model, W>> {
        self.residents.get_mut(warp.resident)?.as_mut()
    }

    /// Takes the warp out of a slot, so that it and the rest of the core can change together.
    #[inline(always)]
    pub(super) fn take_warp(&mut self, slot: u32) -> Option<Box<Warp<F::WarpState>>> {
        self.warps.get_mut(slot as usize)?.take()
    }

    /// Puts a warp into its slot.
    #[inline(always)]
    pub(super) fn put_warp(&mut self, warp: Box<Warp<F::WarpState>>) {
        let slot = warp.place.slot as usize;
        if self.warps.len() <= slot {
            self.warps.resize_with(slot + 1, || None);
        }
        self.warps[slot] = Some(warp);
    }

    /// Starts a block, given by its number in the grid and its index, in cycle `now`.
    pub(super) fn start_block<L: EventListener>(
        &mut self,
        now: u64,
        number: u64,
        index: Size,
        context: &mut RunContext<'_, 'r, F, L, W>,
    ) {
        context.unstarted = context.unstarted.saturating_sub(1);
        let mut block = Block::<F::Model, W>::new(context.program, context.launch, index);
        if let Some(only) = context.only {
            F::end_others(&mut block, only.warp);
        }
        let free = self.residents.iter().position(Option::is_none);
        let resident = free.unwrap_or(self.residents.len());
        if free.is_none() {
            self.residents.push(None);
        }
        let warps = block.warps.iter();
        let running = warps.filter(|warp| warp.model.running().is_some()).count();
        let event = Event::BlockBegins {
            sm: self.number,
            block: number,
            index,
            warps: running as u32,
        };
        context.listener.event(now, &event);
        let count = block.warps.len();
        let mut slots = Vec::with_capacity(count);
        for (warp, state) in (0..).zip(&block.warps) {
            // If one warp runs alone, the others have ended already.
            let Some((at, active)) = state.model.running() else {
                slots.push(NO_SLOT);
                continue;
            };
            let slot = F::take_slot(self, resident, count, warp).unwrap_or(NO_SLOT);
            slots.push(slot);
            if slot == NO_SLOT {
                continue;
            }
            let place = WarpPlace {
                sm: self.number,
                scheduler: slot % self.schedulers.len() as u32,
                slot,
                block: number,
                warp,
            };
            let mut warp = Box::new(Warp {
                place,
                resident,
                index: warp as usize,
                at,
                active,
                last_issue: now,
                ready: now,
                stalls: [0; 7],
                line: None,
                own: F::begin_warp(self, place, context),
            });
            warp.wait(now + F::FIRST_ISSUE_DELAY, Stall::Selection);
            self.prepare(&mut warp, now, now, context);
            self.put_warp(warp);
        }
        self.residents[resident] = Some(Resident {
            block,
            number,
            index,
            slots,
            running,
        });
    }

    /// Issues the next instruction of a warp; returns whether the warp can go on to the instruction after it by itself.
    #[inline]
    pub(super) fn issue<L: EventListener>(
        &mut self,
        now: u64,
        slot: u32,
        context: &mut RunContext<'_, 'r, F, L, W>,
        effects: &mut IssueEffects,
    ) -> Result<bool, Fault> {
        let Some(mut warp) = self.take_warp(slot) else {
            return Ok(false);
        };
        let after = self.execute(now, &mut warp, context)?;
        match after {
            After::Continues => {
                self.put_warp(warp);
                return Ok(true);
            }
            After::Arrives => {
                let resident = warp.resident;
                self.put_warp(warp);
                F::after_arrival(self, now, slot, context);
                self.release_barriers(now, resident, context, effects);
            }
            After::Parks => {
                self.put_warp(warp);
                F::park(self, now, slot, context);
            }
            After::Ends => self.end_warp(now, &warp, context, effects),
        }
        Ok(false)
    }

    /// Executes the next instruction of a warp, and updates its entry in the scheduler for the instruction after it.
    #[inline]
    fn execute<L: EventListener>(
        &mut self,
        now: u64,
        warp: &mut Warp<F::WarpState>,
        context: &mut RunContext<'_, 'r, F, L, W>,
    ) -> Result<After, Fault> {
        let at = warp.at;
        // The cycles after `ready` are charged to the unit as far as it was occupied, then to the selection of other
        // warps.
        let accepts = F::accepts(self, warp, context);
        warp.wait(accepts.min(now), Stall::Unit);
        warp.wait(now, Stall::Selection);
        let refused = F::before_issue(self, now, warp, context);
        let Some(resident) = self.resident_mut(warp) else {
            return Ok(After::Ends);
        };
        refused.map_err(|kind| resident.block.fault(at, kind))?;
        let block = &mut resident.block;
        if context.program.reads_clock {
            block.set_clock_register(ClockRegister::ClockLow, now as u32);
            block.set_clock_register(ClockRegister::ClockHigh, (now >> 32) as u32);
            F::set_registers(block, now, warp.place, context);
        }
        let mut state = ExecContext {
            memory: &mut *context.memory,
            counts: &mut context.counts,
            budget: &mut context.budget,
            listener: &mut context.probe,
        };
        block.step(warp.index, at, warp.active, &mut state)?;
        let event = Event::Issue {
            warp: warp.place,
            at: OpIndex(at),
            active: warp.active,
            taken: F::taken(&context.probe),
            waited: warp.stalls,
        };
        context.listener.event(now, &event);
        // A warp issues no earlier than a cycle after its start: two issues in one cycle are a pair.
        context.l2.recorder.record(|| Outcome::Issue {
            warp: warp.place,
            at: OpIndex(at),
            cycle: now,
            second: warp.last_issue == now,
        });
        let state = &block.warps[warp.index];
        let next = state.model.running();
        let waits = state.barrier_wait.is_some();
        // First, because the times of this instruction delay the next issue from `now` on.
        warp.restart(now);
        F::time(self, now, warp, next, context);
        let Some(next) = next else {
            return Ok(After::Ends);
        };
        (warp.at, warp.active) = next;
        if waits {
            // The release of the barrier makes it ready.
            F::set_ready(self, warp, NEVER, context);
            return Ok(After::Arrives);
        }
        if F::parks(warp) {
            F::set_ready(self, warp, NEVER, context);
            return Ok(After::Parks);
        }
        self.prepare(warp, now, now, context);
        Ok(match F::arrives(context.run, at) {
            true => After::Arrives,
            false => After::Continues,
        })
    }

    /// Computes the first cycle when a warp can issue its next instruction, as far as that depends on the warp itself,
    /// and updates its entry in the scheduler: instruction fetch and operands, all requested in cycle `from`, which is
    /// not before `now`.
    #[inline]
    pub(super) fn prepare<L: EventListener>(
        &mut self,
        warp: &mut Warp<F::WarpState>,
        now: u64,
        from: u64,
        context: &mut RunContext<'_, 'r, F, L, W>,
    ) {
        if let Some(range) = F::code_range(context.run, warp.at) {
            context.l2.recorder.record(|| Outcome::Prepare {
                warp: warp.place,
                at: OpIndex(warp.at),
                cycle: from,
            });
            self.fetch(range, now, from, warp, context);
            F::wait_for_operands(self, now, from, warp, context);
        }
        F::set_ready(self, warp, warp.ready, context);
    }

    /// Fetches the lines of the next instruction of a warp, given by its address and bytes, that its instruction buffer
    /// does not hold. The buffer has one line, the last one of the previous instruction.
    #[inline]
    fn fetch<L: EventListener>(
        &mut self,
        (address, bytes): (u64, u64),
        now: u64,
        from: u64,
        warp: &mut Warp<F::WarpState>,
        context: &mut RunContext<'_, 'r, F, L, W>,
    ) {
        let size = self.instructions.line;
        let first = address / size;
        let last = (address + bytes.max(1) - 1) / size;
        for line in first..=last {
            if warp.line == Some(line) {
                continue;
            }
            warp.line = Some(line);
            let (ready, found) = self.instructions.fetch(from, line * size, &mut context.l2);
            if let Some(found) = found {
                let event = Event::FetchMiss {
                    sm: self.number,
                    at: OpIndex(warp.at),
                    found,
                };
                context.listener.event(now, &event);
            }
            warp.wait(ready, Stall::Fetch);
        }
    }

    /// Releases the barriers of a block that are complete, after a warp has arrived at one or ended.
    fn release_barriers<L: EventListener>(
        &mut self,
        now: u64,
        index: usize,
        context: &mut RunContext<'_, 'r, F, L, W>,
        effects: &mut IssueEffects,
    ) {
        let release = F::release_cycle(self, now, context);
        let resident = self.residents.get_mut(index);
        let Some(resident) = resident.and_then(Option::as_mut) else {
            return;
        };
        let block = resident.number;
        let released = resident.open_barriers(&mut context.counts);
        for &slot in &released {
            let Some(mut warp) = self.take_warp(slot) else {
                continue;
            };
            warp.wait(release, Stall::Barrier);
            // `execute` skips this for a warp that waits: it requests instruction and operands at the release.
            self.prepare(&mut warp, now, release, context);
            self.put_warp(warp);
        }
        if !released.is_empty() {
            effects.wakes_warps = true;
            let event = Event::BarrierOpens {
                sm: self.number,
                block,
                warps: released.len() as u32,
            };
            context.listener.event(now, &event);
        }
    }

    /// Ends a warp, and its block if all other warps of the block have ended.
    fn end_warp<L: EventListener>(
        &mut self,
        now: u64,
        warp: &Warp<F::WarpState>,
        context: &mut RunContext<'_, 'r, F, L, W>,
        effects: &mut IssueEffects,
    ) {
        let event = Event::WarpEnds { warp: warp.place };
        context.listener.event(now, &event);
        F::end_warp(self, now, warp, context);
        let resident = self.residents.get_mut(warp.resident);
        let Some(resident) = resident.and_then(Option::as_mut) else {
            return;
        };
        resident.running -= 1;
        if resident.running > 0 {
            // Another warp may be blocked at a barrier on this one; if none is, there is nothing to release, and the
            // parameters of barriers are not used.
            if resident.has_waiting_warp() {
                self.release_barriers(now, warp.resident, context, effects);
            }
            return;
        }
        let event = Event::BlockEnds {
            sm: self.number,
            block: resident.number,
            index: resident.index,
        };
        context.listener.event(now, &event);
        // A block frees its slots as a whole (docs/timing-model.md, schedulers).
        let slots = std::mem::take(&mut resident.slots);
        self.residents[warp.resident] = None;
        F::free_slots(self, &slots);
        effects.ended_blocks += 1;
    }

    /// Returns the deadlock of a resident block, once no warp can issue.
    pub(super) fn deadlock(&self) -> Option<Fault> {
        let resident = self.residents.iter().flatten().next()?;
        Some(resident.block.deadlock())
    }
}
