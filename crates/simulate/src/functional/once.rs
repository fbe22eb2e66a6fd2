//! Operations that are executed once for the warp, on its words, whichever lanes are active. For example, `s_add_u32`
//! of GCN3 adds two scalar registers even if EXEC is 0.

use warpbound_base::CodeAddr;
use warpbound_ir::WordHalf;
use warpbound_simt::{ControlTransfer, ExecutionModel, Mask};

use super::ExecutionListener;
use super::access::Request;
use super::block::{Block, ExecContext};
use super::fault::{Fault, FaultKind};
use super::lanes::all_lanes;
use super::memory::GlobalAccess;
use super::program::{
    BarrierEffect, CompiledOp, Dest, Effect, Extent, Flow, Guard, Step, ValueSlot,
};
use super::warp::Wait;

impl<E: ExecutionModel<u32>, const W: usize> Block<'_, E, W> {
    /// Executes an operation of a warp once, if its guard holds, and advances its execution model.
    pub(super) fn step_warp(
        &mut self,
        warp_index: usize,
        at: u32,
        op: &CompiledOp,
        context: &mut ExecContext<'_, impl GlobalAccess, impl ExecutionListener<E>>,
    ) -> Result<(), Fault> {
        let holds = match op.guard {
            Guard::Never => false,
            Guard::Words(words, negated) => (self.warps[warp_index].mask(words) != 0) != negated,
            // Predicates are per lane: `guard` refuses them for such operations.
            Guard::Always | Guard::Predicate(..) => true,
        };
        if holds {
            match op.extent {
                Extent::AllLanes => self.write_all_lanes(warp_index, at, op)?,
                _ => self.execute_once(warp_index, at, op, context)?,
            }
        }
        // The condition is decided for the whole warp, even if no lane is active.
        let taken = if holds { Mask::MAX } else { 0 };
        match op.flow {
            Flow::Indirect(base, anchor) if holds => {
                self.jump_indirect(warp_index, at, base, anchor, context)
            }
            Flow::Indirect(..) => {
                self.apply_transfer(warp_index, at, &ControlTransfer::Next, 0, context.counts)
            }
            _ => self.apply_flow(warp_index, at, op, taken, context.counts),
        }
    }

    /// Writes registers in all lanes, active or not (`v_writelane`).
    fn write_all_lanes(
        &mut self,
        warp_index: usize,
        at: u32,
        op: &CompiledOp,
    ) -> Result<(), Fault> {
        let Effect::Write(writes) = &op.effect else {
            return Err(self.fault(at, FaultKind::Unsupported));
        };
        for (to, step) in &op.steps {
            self.eval_step(warp_index, at, usize::from(*to), step, all_lanes::<W>())?;
        }
        for &(to, from) in writes {
            let row = *self.rows(warp_index).get(from);
            self.warps[warp_index].write(to, &row, all_lanes::<W>());
        }
        Ok(())
    }

    /// Evaluates the steps of an operation on words and applies its effect.
    fn execute_once(
        &mut self,
        warp_index: usize,
        at: u32,
        op: &CompiledOp,
        context: &mut ExecContext<'_, impl GlobalAccess, impl ExecutionListener<E>>,
    ) -> Result<(), Fault> {
        for (to, step) in &op.steps {
            self.eval_word(warp_index, usize::from(*to), step);
        }
        match &op.effect {
            Effect::Write(writes) => {
                for &(to, from) in writes {
                    let value = self.word(warp_index, from);
                    if let Dest::Word(number) = to {
                        self.warps[warp_index].set_word(number, value);
                    }
                }
                Ok(())
            }
            Effect::Wave(access) => {
                let request = Request {
                    warp_index,
                    at,
                    access: &access.operand,
                    // Listeners see scalar accesses as accesses of lane 0.
                    taken: 1,
                };
                self.access_once(request, access, context)
            }
            Effect::Barrier(barrier) => self.wait_once(warp_index, at, barrier),
            Effect::Trap => Err(self.fault(at, FaultKind::Trap)),
            Effect::NeedsTime => Err(self.fault(at, FaultKind::NeedsTime)),
            _ => Err(self.fault(at, FaultKind::Unsupported)),
        }
    }

    /// Value of a slot of an operation that is executed once.
    #[inline]
    pub(super) fn word(&self, warp_index: usize, at: ValueSlot) -> u32 {
        match at {
            ValueSlot::Word(number) => self.warps[warp_index].word(number),
            ValueSlot::Scratch(row) => self.scratch_words[usize::from(row)],
            // Equal in all lanes: the compiler makes no other slots for such operations.
            ValueSlot::Grid(_) | ValueSlot::Block(_) | ValueSlot::Warp(_) => {
                self.rows(warp_index).get(at)[0]
            }
        }
    }

    /// Evaluates a step on words into scratch word `to`.
    fn eval_word(&mut self, warp_index: usize, to: usize, step: &Step) {
        let word = |at: ValueSlot| self.word(warp_index, at);
        let value = match step {
            Step::Copy(a) => word(*a),
            Step::Splat(number) => self.warps[warp_index].word(*number),
            Step::Unary(op, a) => op.apply(word(*a)),
            Step::Binary(op, a, b) => op.apply(word(*a), word(*b)).unwrap_or(0),
            Step::Ternary(op, a, b, c) => op.apply(word(*a), word(*b), word(*c)),
            Step::Float { op, words, wide } => {
                let value = op.apply(words.map(word));
                let high = self.scratch_words.get_mut(to + 1).filter(|_| *wide);
                if let Some(high) = high {
                    *high = WordHalf::High.of(value);
                }
                WordHalf::Low.of(value)
            }
            Step::FromLane(register, lane) => {
                let lane = word(*lane) as usize % W;
                self.warps[warp_index].rows[usize::from(*register)][lane]
            }
            // Values of lanes: the compiler makes no such steps for these operations.
            Step::Predicate(_) | Step::Constant(..) | Step::OwnBit(_) => 0,
        };
        if let Some(row) = self.scratch_words.get_mut(to) {
            *row = value;
        }
    }

    /// Blocks the warp at a barrier.
    fn wait_once(
        &mut self,
        warp_index: usize,
        at: u32,
        barrier: &BarrierEffect,
    ) -> Result<(), Fault> {
        // Waves have neither arrivals without a wait nor reductions at barriers.
        if !barrier.waits || barrier.question.is_some() {
            return Err(self.fault(at, FaultKind::Unsupported));
        }
        let threads = barrier.threads.map(|slot| self.word(warp_index, slot));
        self.warps[warp_index].barrier_wait = Some(Wait {
            barrier: self.word(warp_index, barrier.number),
            // A count of 0 means all of the block, as in `Block::barrier`.
            threads: threads.filter(|&threads| threads != 0),
            at,
            reduction: None,
        });
        Ok(())
    }

    /// Jumps to an address in registers. On machines whose code has an address (AMD), this word and the next hold its
    /// 64 bits; otherwise the word is an address in the code.
    fn jump_indirect(
        &mut self,
        warp_index: usize,
        at: u32,
        base: ValueSlot,
        anchor: i64,
        context: &mut ExecContext<'_, impl GlobalAccess, impl ExecutionListener<E>>,
    ) -> Result<(), Fault> {
        let low = self.word(warp_index, base);
        let address = match (&self.launch.wave_entry, base) {
            (Some(entry), ValueSlot::Word(number)) => {
                let high = self.warps[warp_index].word(number.wrapping_add(1));
                let address = u64::from(low) | u64::from(high) << 32;
                // An address below the code wraps around, becomes negative and names no instruction.
                address
                    .wrapping_sub(entry.code_base())
                    .wrapping_add_signed(anchor) as i64
            }
            _ => i64::from(low as i32).wrapping_add(anchor),
        };
        let target = u32::try_from(address)
            .ok()
            .and_then(|address| self.program.code.at(CodeAddr(address)));
        let Some(target) = target else {
            return Err(self.fault(at, FaultKind::InvalidJumpTarget(address)));
        };
        let transfer = ControlTransfer::Jump(target.0);
        self.apply_transfer(warp_index, at, &transfer, Mask::MAX, context.counts)
    }
}
