//! Execution of one block of threads.

use warpbound_base::CodeAddr;
use warpbound_ir::OpIndex;
use warpbound_launch::{Launch, Size};
use warpbound_simt::{ControlTransfer, ExecutionModel, Mask, TransferError};

use super::access::Request;
use super::fault::{Fault, FaultKind, SplitFault};
use super::images::WarpOp;
use super::lanes::{
    LaneValues, all_lanes, binary, float, gather, lanes_of, spread, ternary, unary,
};
use super::memory::{GlobalAccess, SharedMemory};
use super::program::{
    BarrierEffect, BarrierSource, ClockRegister, CompiledOp, Dest, Effect, Extent, Flow, Guard,
    PREDICATE_MASKS, Program, Step, ValueSlot,
};
use super::warp::{ArrivedThreads, Rows, Wait, Warp};
use super::{Counts, ExecutionListener, Issue};

/// State of the launch that a block reads and changes while it executes.
pub(crate) struct ExecContext<'a, M, L> {
    pub(crate) memory: &'a mut M,
    pub(crate) counts: &'a mut Counts,
    /// Remaining instructions that the warps of the grid may issue.
    pub(crate) budget: &'a mut u64,
    pub(crate) listener: &'a mut L,
}

/// A block of threads under execution, in warps of `W` lanes that diverge by the rules of `E`.
pub(crate) struct Block<'a, E, const W: usize> {
    pub(super) program: &'a Program<'a, W>,
    pub(super) launch: &'a Launch,
    pub(super) index: Size,
    /// Its warps, then the splits of waves in the order of their start.
    pub(crate) warps: Vec<Warp<E, W>>,
    /// Number of warps without splits.
    pub(super) waves: usize,
    pub(super) shared: SharedMemory,
    /// Fault that tests plant in splitting.
    pub(super) split_fault: Option<SplitFault>,
    /// Arrivals at barriers of threads that do not wait.
    pub(super) arrived: Vec<ArrivedThreads>,
    /// Values of [`ValueSlot::Block`]: the block index, then [`ClockRegister`]s.
    pub(super) block_values: [LaneValues<W>; 3 + ClockRegister::COUNT],
    /// Values of [`ValueSlot::Scratch`], valid during one operation.
    pub(super) scratch: Vec<LaneValues<W>>,
    /// Scratch words of operations that are executed once for the warp.
    pub(super) scratch_words: Vec<u32>,
}

impl<'a, E: ExecutionModel<u32>, const W: usize> Block<'a, E, W> {
    /// Returns the block `index` before its first instruction.
    pub(crate) fn new(program: &'a Program<'a, W>, launch: &'a Launch, index: Size) -> Self {
        let threads = launch.block.iter().product::<u32>();
        let waves = threads.div_ceil(W as u32);
        let warps = (0..waves).map(|warp_index| Warp::new(program, launch, index, warp_index));
        Self {
            warps: warps.collect(),
            waves: waves as usize,
            split_fault: None,
            arrived: Vec::new(),
            shared: SharedMemory::new(launch.shared),
            block_values: {
                let [x, y, z] = index;
                // Clocks are set before each instruction that may read them.
                [x, y, z, 0, 0, 0, 0, 0, 0].map(|value| [value; W])
            },
            scratch: vec![[0; W]; program.scratch],
            scratch_words: vec![0; program.scratch],
            program,
            launch,
            index,
        }
    }

    /// Ends all warps but one before their first instruction. Requires a model whose warps have finished when they
    /// have no lanes.
    pub(crate) fn end_other_warps(&mut self, number: u32) {
        let entry = self.program.code.entry.0;
        for (_, warp) in (0..).zip(&mut self.warps).filter(|(n, _)| *n != number) {
            warp.model = E::new(entry, 0, self.program.order);
        }
    }

    /// Executes the block until all warps have exited.
    pub(super) fn run(
        mut self,
        context: &mut ExecContext<'_, impl GlobalAccess, impl ExecutionListener<E>>,
    ) -> Result<(), Fault> {
        loop {
            let mut progress = false;
            // Each warp runs until it blocks. CUDA orders the warps of a block at barriers only, so the result of a
            // kernel without races does not depend on this order.
            for warp_index in 0..self.warps.len() {
                while self.warps[warp_index].barrier_wait.is_none()
                    && let Some((at, active)) = self.warps[warp_index].model.running()
                {
                    progress = true;
                    self.step(warp_index, at, active, context)?;
                }
            }
            self.release(context.counts);
            // Every warp has exited or is blocked at a barrier that stays closed.
            if !progress {
                return match self.warps.iter().any(|warp| warp.barrier_wait.is_some()) {
                    false => Ok(()),
                    true => Err(self.deadlock()),
                };
            }
        }
    }

    /// Sets the value of a clock register for the next instruction of a warp.
    pub(crate) fn set_clock_register(&mut self, register: ClockRegister, value: u32) {
        // The first three values are the block index.
        self.block_values[3 + register as usize] = [value; W];
    }

    /// Returns a fault of this block at an operation.
    pub(crate) fn fault(&self, at: u32, kind: FaultKind) -> Fault {
        Fault {
            at: OpIndex(at),
            block: self.index,
            thread: None,
            kind,
        }
    }

    /// Returns a fault of one thread at an operation.
    #[cold]
    pub(super) fn lane_fault(&self, at: u32, warp: usize, lane: usize, kind: FaultKind) -> Fault {
        let thread = self.warps[warp].thread_index(self.program.registers, lane);
        Fault {
            thread: Some(thread),
            ..self.fault(at, kind)
        }
    }

    /// Executes the instruction `at` of a warp in its `active` lanes and advances its execution model. Always inlined:
    /// each simulator calls it once, for each instruction that it executes.
    #[inline(always)]
    pub(crate) fn step(
        &mut self,
        warp_index: usize,
        at: u32,
        active: Mask,
        context: &mut ExecContext<'_, impl GlobalAccess, impl ExecutionListener<E>>,
    ) -> Result<(), Fault> {
        let program = self.program;
        let Some(op) = program.ops.get(at as usize) else {
            return Err(self.fault(at, FaultKind::PastLastInstruction));
        };
        // The limit ends kernels that would not terminate.
        if *context.budget == 0 {
            let limit = self.launch.max_instructions;
            return Err(self.fault(at, FaultKind::InstructionLimit(limit)));
        }
        *context.budget -= 1;
        let taken = match op.guard {
            Guard::Never => 0,
            Guard::Always => active,
            Guard::Predicate(predicate, negated) => {
                // The mask only shows the compiler that the index is in bounds.
                let holds =
                    self.warps[warp_index].predicates[usize::from(predicate) % PREDICATE_MASKS];
                active & if negated { !holds } else { holds }
            }
            Guard::Words(words, negated) => {
                let holds = (self.warps[warp_index].mask(words) != 0) != negated;
                if holds { active } else { 0 }
            }
        };
        let taken = match &op.further {
            None => taken,
            Some(test) => {
                for (to, step) in &test.steps {
                    self.eval_step(warp_index, at, usize::from(*to), step, active)?;
                }
                let row = self.rows(warp_index).get(test.result);
                match test.asks {
                    None => taken & gather(row),
                    Some(asked) => {
                        let op = WarpOp {
                            warp_index,
                            at,
                            taken,
                        };
                        self.lanes_that_miss_others(op, asked, row, active)?
                    }
                }
            }
        };
        let warp = &self.warps[warp_index];
        let issue = Issue {
            block: self.index,
            at: OpIndex(at),
            active,
            taken,
            first_thread: warp.first_thread,
            model: &warp.model,
            predicates: &warp.predicates,
            rows: warp.rows.as_flattened(),
            words: &warp.words,
            lanes: W,
            registers: program.registers,
        };
        if !context.listener.issue(&issue) {
            return Err(self.fault(at, FaultKind::Stopped));
        }
        // An instruction whose condition is false in all lanes is issued all the same (SOUNDNESS 1).
        context.counts.count::<W>(at, active, taken);
        if matches!(op.extent, Extent::Once | Extent::AllLanes) {
            return self.step_warp(warp_index, at, op, context);
        }
        // Words of the warp are written even if no lane takes part: a ballot of no lanes is 0.
        if taken != 0 || op.extent == Extent::LanesAndWords {
            self.execute(warp_index, at, op, taken, context)?;
        }
        // After the effect, because an operation may write the mask that becomes active (`v_cmpx`).
        self.apply_flow(warp_index, at, op, taken, context.counts)
    }

    /// Applies the control flow of an instruction to the warp's execution model (SOUNDNESS 3.1, 3.3).
    #[inline]
    pub(super) fn apply_flow(
        &mut self,
        warp_index: usize,
        at: u32,
        op: &CompiledOp,
        taken: Mask,
        counts: &mut Counts,
    ) -> Result<(), Fault> {
        let transfer = match &op.flow {
            Flow::Transfer(transfer) => transfer,
            Flow::SetActive(words) => {
                let mask = self.warps[warp_index].mask(*words) & all_lanes::<W>();
                let transfer = ControlTransfer::SetActive(mask);
                self.apply_transfer(warp_index, at, &transfer, taken, counts)?;
                let active = self.warps[warp_index].model.running();
                // The words may have lanes of sibling splits; EXEC as read has lanes of the split only (E6).
                if let Some((_, active)) = active
                    && active != mask
                {
                    self.restrict_mask(warp_index, *words, active);
                }
                return Ok(());
            }
            Flow::Indirect(base, anchor) => {
                return self.branch_indirect(warp_index, at, *base, *anchor, taken, counts);
            }
            // External and unsupported code is a fault only if a lane executes it.
            _ if taken == 0 => &ControlTransfer::Next,
            Flow::SaveBarrier(register, dest) => {
                let named = self.barriers_in(warp_index, *register);
                if let Some(row) = dest {
                    self.warps[warp_index].write(Dest::Register(*row), &named, taken);
                }
                &ControlTransfer::SaveBarrier(*register)
            }
            Flow::WriteBarrier {
                register,
                from,
                cleared,
            } => {
                let values = match from {
                    BarrierSource::Nothing => [0; W],
                    BarrierSource::Slot(slot) => *self.rows(warp_index).get(*slot),
                    BarrierSource::Register(other) => self.barriers_in(warp_index, *other),
                };
                let model = &mut self.warps[warp_index].model;
                if let (Some(cleared), Some((here, _))) = (cleared, model.running()) {
                    let clears = ControlTransfer::SaveBarrier(*cleared);
                    // The warp stays at the operation, which has another effect.
                    if model.apply(&clears, taken, here).is_err() {
                        return Err(self.fault(at, FaultKind::Unsupported));
                    }
                }
                let transfer = ControlTransfer::WriteBarrier {
                    register: *register,
                    values: &values,
                };
                return self.apply_transfer(warp_index, at, &transfer, taken, counts);
            }
            Flow::Meet(None) => &ControlTransfer::Meet(None),
            Flow::Meet(Some(lanes)) => {
                let lane = taken.trailing_zeros() as usize % W;
                let lanes = self.rows(warp_index).get(*lanes)[lane];
                let transfer = ControlTransfer::Meet(Some(lanes.into()));
                return self.apply_transfer(warp_index, at, &transfer, taken, counts);
            }
            Flow::JumpIfAny(holds, to) => {
                // Lanes that are elsewhere do not count: they test for themselves when they come.
                let lanes = gather(self.rows(warp_index).get(*holds)) & taken;
                // The active lanes stay together, so one of them decides for all.
                let transfer = match lanes {
                    0 => ControlTransfer::Next,
                    _ => ControlTransfer::Jump(*to),
                };
                return self.apply_transfer(warp_index, at, &transfer, taken, counts);
            }
            Flow::Gather { lanes, after } => {
                let lane = taken.trailing_zeros() as usize % W;
                let lanes = lanes.map(|lanes| self.rows(warp_index).get(lanes)[lane].into());
                let after = *after;
                let transfer = ControlTransfer::Gather { lanes, after };
                return self.apply_transfer(warp_index, at, &transfer, taken, counts);
            }
            Flow::External(name) => {
                return Err(self.fault(at, FaultKind::ExternalCode(name.clone())));
            }
            Flow::Unsupported => return Err(self.fault(at, FaultKind::Unsupported)),
        };
        self.apply_transfer(warp_index, at, transfer, taken, counts)
    }

    /// Numbers of the barriers that a register names in each lane.
    fn barriers_in(&self, warp_index: usize, register: u8) -> LaneValues<W> {
        let model = &self.warps[warp_index].model;
        std::array::from_fn(|lane| model.barrier_in(register, lane))
    }

    /// Applies a control transfer of the instruction `at` to the warp's execution model.
    #[inline]
    pub(super) fn apply_transfer(
        &mut self,
        warp_index: usize,
        at: u32,
        transfer: &ControlTransfer<'_, u32>,
        taken: Mask,
        counts: &mut Counts,
    ) -> Result<(), Fault> {
        let model = &mut self.warps[warp_index].model;
        match model.apply(transfer, taken, at + 1) {
            Ok(splits) => {
                if splits {
                    counts.diverge(at);
                }
                Ok(())
            }
            Err(TransferError::MissingEntry(tag)) => {
                Err(self.fault(at, FaultKind::MissingStackEntry(tag.name())))
            }
            Err(TransferError::NotInModel) => Err(self.fault(at, FaultKind::Unsupported)),
            Err(TransferError::WaitsForEver) => Err(self.fault(at, FaultKind::WarpDeadlock)),
            Err(TransferError::GathersApart) => Err(self.fault(at, FaultKind::CollectivesApart)),
        }
    }

    /// Executes an indirect jump; lanes with the same target stay converged.
    fn branch_indirect(
        &mut self,
        warp_index: usize,
        at: u32,
        base: ValueSlot,
        anchor: i64,
        taken: Mask,
        counts: &mut Counts,
    ) -> Result<(), Fault> {
        let base = *self.rows(warp_index).get(base);
        // In the order of the lowest lanes, from which the model takes the order of execution (SOUNDNESS 7).
        let mut targets: Vec<(u32, Mask)> = Vec::new();
        for lane in lanes_of::<W>(taken) {
            let address = i64::from(base[lane] as i32).wrapping_add(anchor);
            let target = u32::try_from(address)
                .ok()
                .and_then(|address| self.program.code.at(CodeAddr(address)));
            let Some(target) = target else {
                let kind = FaultKind::InvalidJumpTarget(address);
                return Err(self.lane_fault(at, warp_index, lane, kind));
            };
            match targets.iter_mut().find(|(to, _)| *to == target.0) {
                Some((_, lanes)) => *lanes |= 1 << lane,
                None => targets.push((target.0, 1 << lane)),
            }
        }
        let transfer = ControlTransfer::Indirect(&targets);
        self.apply_transfer(warp_index, at, &transfer, taken, counts)
    }

    /// Returns the values that an operation of a warp can read.
    #[inline(always)]
    pub(super) fn rows(&self, warp_index: usize) -> Rows<'_, W> {
        Rows {
            warp: &self.warps[warp_index].rows,
            grid: &self.program.grid_values,
            block: &self.block_values,
            scratch: &self.scratch,
        }
    }

    /// Evaluates the steps of an operation in the `taken` lanes and applies its effect. Always inlined, like
    /// [`Block::step`], its only caller.
    #[inline(always)]
    fn execute(
        &mut self,
        warp_index: usize,
        at: u32,
        op: &CompiledOp,
        taken: Mask,
        context: &mut ExecContext<'_, impl GlobalAccess, impl ExecutionListener<E>>,
    ) -> Result<(), Fault> {
        for (to, step) in &op.steps {
            self.eval_step(warp_index, at, usize::from(*to), step, taken)?;
        }
        let request = |access| Request {
            warp_index,
            at,
            access,
            taken,
        };
        let warp_op = WarpOp {
            warp_index,
            at,
            taken,
        };
        match &op.effect {
            Effect::Write(writes) => {
                for &(to, from) in writes {
                    let row = *self.rows(warp_index).get(from);
                    self.warps[warp_index].write(to, &row, taken);
                }
            }
            Effect::Load { dests, access } => {
                self.load(request(access), dests, context)?;
            }
            Effect::Store { values, access } => self.store(request(access), values, context)?,
            Effect::Wave(access) => {
                self.access_wave(request(&access.operand), access, context)?;
            }
            Effect::Atomic {
                dests,
                op,
                kind,
                operands,
                access,
            } => {
                self.atomic(request(access), *op, *kind, dests, operands, context)?;
            }
            Effect::Shuffle(shuffle) => self.shuffle(warp_index, shuffle, taken),
            Effect::Vote(vote) => self.vote(warp_index, vote, taken),
            Effect::Reduce(op, dest, value) => {
                self.reduce_lanes(warp_index, *op, *dest, *value, taken)
            }
            Effect::FirstLane(first) => self.first_lane(warp_index, first, taken),
            Effect::Match(compared) => self.match_lanes(warp_index, compared, taken),
            Effect::MatrixProduct(product) => self.multiply_matrices(warp_op, product)?,
            Effect::MatrixTranspose(dest, value) => {
                self.transpose_matrix(warp_op, *dest, *value)?
            }
            Effect::MatrixAccess(access) => self.access_matrices(warp_op, access, context)?,
            Effect::MemoryCopy(copy) => self.copy_to_shared(warp_op, copy, context)?,
            Effect::Texture(_) | Effect::TextureSize(..) | Effect::Surface(_) => {
                self.execute_image_op(warp_op, &op.effect, context.memory)?;
            }
            Effect::Barrier(barrier) => {
                if self.warps[warp_index].model.misses_lanes(taken) {
                    return Err(self.fault(at, FaultKind::PartOfWarpAtBarrier));
                }
                self.barrier(warp_index, at, barrier, taken);
            }
            Effect::BarrierResult(dest, truth) => {
                let warp = &mut self.warps[warp_index];
                let result = warp.barrier_result;
                if let Some(to) = dest {
                    warp.write(*to, &[result; W], taken);
                }
                if let Some(to) = truth {
                    warp.write(*to, &[u32::from(result != 0); W], taken);
                }
            }
            Effect::Trap => {
                let lane = taken.trailing_zeros() as usize;
                return Err(self.lane_fault(at, warp_index, lane, FaultKind::Trap));
            }
            Effect::NeedsTime => return Err(self.fault(at, FaultKind::NeedsTime)),
            Effect::Unsupported => return Err(self.fault(at, FaultKind::Unsupported)),
        }
        Ok(())
    }

    /// Arrives at a barrier; blocks the warp if it waits. The first taken lane gives the number of the barrier and
    /// the number of threads.
    #[inline]
    fn barrier(&mut self, warp_index: usize, at: u32, barrier: &BarrierEffect, taken: Mask) {
        let lane = taken.trailing_zeros() as usize % W;
        let rows = self.rows(warp_index);
        let number = rows.get(barrier.number)[lane];
        // A count of 0 means all of the block, also if it is computed at run time.
        let threads = barrier.threads.map(|threads| rows.get(threads)[lane]);
        let threads = threads.filter(|&threads| threads != 0);
        let reduction = barrier.question.map(|(question, predicate)| {
            let holds = gather(rows.get(predicate)) & taken;
            (question, holds.count_ones(), taken.count_ones())
        });
        if barrier.waits {
            self.warps[warp_index].barrier_wait = Some(Wait {
                barrier: number,
                threads,
                at,
                reduction,
            });
        } else {
            self.arrive(warp_index, number, threads);
        }
    }

    /// Evaluates a step into scratch slot `to`. Only steps that can fault depend on `taken`.
    #[inline]
    pub(super) fn eval_step(
        &mut self,
        warp_index: usize,
        at: u32,
        to: usize,
        step: &Step,
        taken: Mask,
    ) -> Result<(), Fault> {
        // A step reads earlier scratch slots only.
        let (earlier, rest) = self.scratch.split_at_mut(to);
        let (Some((row, next)), warp) = (rest.split_first_mut(), &self.warps[warp_index]) else {
            return Ok(());
        };
        let rows = Rows {
            warp: &warp.rows,
            grid: &self.program.grid_values,
            block: &self.block_values,
            scratch: earlier,
        };
        match step {
            Step::Copy(a) => *row = *rows.get(*a),
            Step::Predicate(n) => *row = spread(warp.predicates[usize::from(*n) % PREDICATE_MASKS]),
            Step::Splat(number) => *row = [warp.word(*number); W],
            Step::OwnBit(words) => *row = spread(warp.mask(*words)),
            Step::FromLane(register, lanes) => {
                let values = rows.get(ValueSlot::Warp(*register));
                let lanes = rows.get(*lanes);
                *row = lanes.map(|lane| values[lane as usize % W]);
            }
            Step::Unary(op, a) => *row = unary(*op, rows.get(*a)),
            Step::Binary(op, a, b) => *row = binary(*op, rows.get(*a), rows.get(*b)),
            Step::Ternary(op, a, b, c) => {
                *row = ternary(*op, rows.get(*a), rows.get(*b), rows.get(*c));
            }
            Step::Float { op, words, wide } => {
                let high = next.first_mut().filter(|_| *wide);
                let [a, b, c, d, e, f] = words;
                let words = [
                    rows.get(*a),
                    rows.get(*b),
                    rows.get(*c),
                    rows.get(*d),
                    rows.get(*e),
                    rows.get(*f),
                ];
                float(*op, words, row, high);
            }
            Step::Constant(bank, addresses) => {
                let bytes = self.launch.constants.get(usize::from(*bank));
                let bytes = bytes.map_or(&[][..], |(_, bytes)| bytes.as_slice());
                let addresses = *rows.get(*addresses);
                // Inactive lanes may hold any address, and their words are not used.
                for lane in lanes_of::<W>(taken) {
                    let start = addresses[lane] as usize;
                    let word = bytes.get(start..).and_then(|rest| rest.first_chunk::<4>());
                    let Some(word) = word else {
                        let kind = FaultKind::OutOfBounds {
                            space: warpbound_isa::instr::MemorySpace::Constant,
                            address: addresses[lane].into(),
                            context: Some(format!("it has {} bytes", bytes.len())),
                        };
                        return Err(self.lane_fault(at, warp_index, lane, kind));
                    };
                    row[lane] = u32::from_le_bytes(*word);
                }
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests;
