//! One block of threads.

use warpbound_base::CodeAddr;
use warpbound_ir::{OpIndex, VoteMode};
use warpbound_simt::Tag;

use super::access::Request;
use super::fault::{Fault, FaultKind};
use super::images::Issued;
use super::lanes::{LANES, Mask, LaneValues, binary, float, gather, lanes_of, spread, ternary, unary};
use super::memory::{GlobalAccess, SharedMemory};
use super::program::{ValueSlot, CompiledOp, Effect, Flow, Program, Step, ClockRegister};
use super::warp::{ArrivedThreads, Rows, Wait, Warp};
use super::{Counts, Issue, Launch, ExecutionListener, PathOrder, Size};

/// What is around a block while it runs.
pub(crate) struct ExecContext<'a, M, L> {
    pub(crate) memory: &'a mut M,
    pub(crate) counts: &'a mut Counts,
    /// Instructions that the warps of the grid may still issue.
    pub(crate) budget: &'a mut u64,
    pub(crate) listener: &'a mut L,
}

pub(crate) struct Block<'a> {
    pub(super) program: &'a Program<'a>,
    pub(super) launch: &'a Launch,
    pub(super) index: Size,
    pub(crate) warps: Vec<Warp>,
    pub(super) shared: SharedMemory,
    /// Threads that were at barriers without waiting.
    pub(super) passed: Vec<ArrivedThreads>,
    /// Rows that are the same in all its warps: its place in the grid, then those of [`Told`].
    block_values: [LaneValues; 3 + ClockRegister::COUNT],
    scratch: Vec<LaneValues>,
}

impl<'a> Block<'a> {
    pub(crate) fn new(program: &'a Program<'a>, launch: &'a Launch, index: Size) -> Block<'a> {
        let threads = launch.block.iter().product::<u32>();
        let entry = program.code.entry.0;
        let warps = (0..threads.div_ceil(LANES as u32))
            .map(|number| Warp::new(program, entry, number, launch.block));
        Block {
            warps: warps.collect(),
            passed: Vec::new(),
            shared: SharedMemory::new(launch.shared),
            block_values: {
                let [x, y, z] = index;
                [x, y, z, 0, 0, 0, 0, 0, 0].map(|number| [number; LANES])
            },
            scratch: vec![[0; LANES]; program.scratch],
            program,
            launch,
            index,
        }
    }

    /// Runs to the end.
    pub(super) fn run(
        mut self,
        world: &mut ExecContext<'_, impl GlobalAccess, impl ExecutionListener>,
    ) -> Result<(), Fault> {
        loop {
            let mut moved = false;
            for number in 0..self.warps.len() {
                while self.warps[number].barrier_wait.is_none()
                    && let Some(top) = self.warps[number].stack.top()
                {
                    let (at, active) = (top.next, top.mask as Mask);
                    moved = true;
                    self.step(number, at, active, world)?;
                }
            }
            self.release(world.counts);
            if !moved {
                return match self.warps.iter().any(|warp| warp.barrier_wait.is_some()) {
                    false => Ok(()),
                    true => Err(self.deadlock()),
                };
            }
        }
    }

    /// Tells what only a run with time knows, before a warp's next instruction.
    pub(crate) fn set_clock_register(&mut self, told: ClockRegister, value: u32) {
        self.block_values[3 + told as usize] = [value; LANES];
    }

    pub(crate) fn fault(&self, at: u32, kind: FaultKind) -> Fault {
        Fault {
            at: OpIndex(at),
            block: self.index,
            thread: None,
            kind,
        }
    }

    #[cold]
    pub(super) fn lane_fault(&self, at: u32, warp: usize, lane: usize, kind: FaultKind) -> Fault {
        let place = self.warps[warp].thread_index(self.program.registers, lane);
        Fault {
            thread: Some(place),
            ..self.fault(at, kind)
        }
    }

    /// Executes the next instruction of a warp.
    #[inline]
    pub(crate) fn step(
        &mut self,
        number: usize,
        at: u32,
        active: Mask,
        world: &mut ExecContext<'_, impl GlobalAccess, impl ExecutionListener>,
    ) -> Result<(), Fault> {
        let program = self.program;
        let Some(op) = program.ops.get(at as usize) else {
            return Err(self.fault(at, FaultKind::PastLastInstruction));
        };
        if *world.budget == 0 {
            let limit = self.launch.max_instructions;
            return Err(self.fault(at, FaultKind::InstructionLimit(limit)));
        }
        *world.budget -= 1;
        let taken = match op.guard {
            _ if op.never => 0,
            None => active,
            Some((predicate, negated)) => {
                let holds = self.warps[number].predicates[usize::from(predicate & 7)];
                active & if negated { !holds } else { holds }
            }
        };
        let taken = match &op.cc_test {
            None => taken,
            Some((steps, row)) => {
                for (to, step) in steps {
                    self.eval_step(number, at, usize::from(*to), step, active)?;
                }
                taken & gather(self.rows(number).get(*row))
            }
        };
        let issue = Issue {
            block: self.index,
            at: OpIndex(at),
            active,
            taken,
            warp: &self.warps[number],
            registers: program.registers,
        };
        if !world.listener.issue(&issue) {
            return Err(self.fault(at, FaultKind::Stopped));
        }
        world.counts.count(at, active, taken);
        if taken != 0 {
            self.execute(number, at, op, taken, world)?;
        }
        self.update_stack(number, at, op, active, taken, world.counts)
    }

    #[inline]
    fn update_stack(
        &mut self,
        number: usize,
        at: u32,
        op: &CompiledOp,
        active: Mask,
        taken: Mask,
        counts: &mut Counts,
    ) -> Result<(), Fault> {
        let next = at + 1;
        let others = active & !taken;
        let stack = &mut self.warps[number].stack;
        match &op.flow {
            Flow::Next => stack.advance(next),
            Flow::Jump(to) => match (taken, others) {
                (0, _) => stack.advance(next),
                (_, 0) => stack.advance(*to),
                _ if *to == next => stack.advance(next),
                _ => {
                    counts.diverge(at);
                    let (to, next) = ((*to, taken.into()), (next, others.into()));
                    match self.launch.order {
                        PathOrder::TakenFirst => stack.diverge(&[to, next]),
                        PathOrder::TakenLast => stack.diverge(&[next, to]),
                    }
                }
            },
            Flow::Push(tag, to) => stack.push(*tag, *to, next),
            Flow::Call(to) => stack.push(Tag::Ret, next, *to),
            Flow::Exit => {
                if taken != 0 && others != 0 {
                    counts.diverge(at);
                }
                stack.exit(taken.into(), next);
            }
            Flow::Unwind(tag) => {
                if taken != 0 && others != 0 {
                    counts.diverge(at);
                }
                let done = stack.unwind(*tag, taken.into(), next);
                done.map_err(|e| self.fault(at, FaultKind::MissingStackEntry(e.tag.name())))?;
            }
            Flow::Indirect(base, anchor) => {
                return self.branch_indirect(number, at, (*base, *anchor), active, taken, counts);
            }
            _ if taken == 0 => stack.advance(next),
            Flow::External(name) => {
                return Err(self.fault(at, FaultKind::ExternalCode(name.clone())));
            }
            Flow::Unsupported => return Err(self.fault(at, FaultKind::Unsupported)),
        }
        Ok(())
    }

    /// An indirect jump: lanes that go to the same place stay together.
    fn branch_indirect(
        &mut self,
        number: usize,
        at: u32,
        (base, anchor): (ValueSlot, i64),
        active: Mask,
        taken: Mask,
        counts: &mut Counts,
    ) -> Result<(), Fault> {
        let base = *self.rows(number).get(base);
        let mut ways: Vec<(u32, u64)> = Vec::new();
        for lane in lanes_of(taken) {
            let address = i64::from(base[lane] as i32).wrapping_add(anchor);
            let target = u32::try_from(address)
                .ok()
                .and_then(|address| self.program.code.at(CodeAddr(address)));
            let Some(target) = target else {
                let kind = FaultKind::InvalidJumpTarget(address);
                return Err(self.lane_fault(at, number, lane, kind));
            };
            match ways.iter_mut().find(|(to, _)| *to == target.0) {
                Some((_, lanes)) => *lanes |= 1 << lane,
                None => ways.push((target.0, 1 << lane)),
            }
        }
        let others = active & !taken;
        if others != 0 {
            match ways.iter_mut().find(|(to, _)| *to == at + 1) {
                Some((_, lanes)) => *lanes |= u64::from(others),
                None => ways.push((at + 1, others.into())),
            }
        }
        if self.launch.order == PathOrder::TakenLast {
            ways.reverse();
        }
        let stack = &mut self.warps[number].stack;
        match ways.as_slice() {
            [(to, _)] => stack.advance(*to),
            ways => {
                counts.diverge(at);
                stack.diverge(ways);
            }
        }
        Ok(())
    }

    #[inline(always)]
    pub(super) fn rows(&self, number: usize) -> Rows<'_> {
        Rows {
            warp: &self.warps[number].rows,
            grid: &self.program.grid_values,
            block: &self.block_values,
            scratch: &self.scratch,
        }
    }

    #[inline]
    fn execute(
        &mut self,
        number: usize,
        at: u32,
        op: &CompiledOp,
        taken: Mask,
        world: &mut ExecContext<'_, impl GlobalAccess, impl ExecutionListener>,
    ) -> Result<(), Fault> {
        for (to, step) in &op.steps {
            self.eval_step(number, at, usize::from(*to), step, taken)?;
        }
        let request = |access| Request {
            number,
            at,
            access,
            taken,
        };
        match &op.effect {
            Effect::Write(writes) => {
                for &(to, from) in writes {
                    let row = *self.rows(number).get(from);
                    self.warps[number].write(to, &row, taken);
                }
            }
            Effect::Load { dests, access } => {
                self.load(request(access), dests, world)?;
            }
            Effect::Store { values, access } => self.store(request(access), values, world)?,
            Effect::Atomic {
                dests,
                op,
                kind,
                operands,
                access,
            } => {
                let what = (*op, *kind);
                self.atomic(request(access), what, dests, operands, world)?;
            }
            Effect::Shuffle {
                dest,
                in_range,
                mode,
                value,
                lane,
                limit,
            } => {
                let rows = self.rows(number);
                let [value, lane, limit] = [value, lane, limit].map(|&at| rows.get(at));
                let (mut result, mut found) = ([0; LANES], 0);
                for own in 0..LANES {
                    let (from, in_range) = mode.source(own as u32, lane[own], limit[own]);
                    result[own] = value[from as usize % LANES];
                    found |= Mask::from(in_range) << own;
                }
                let warp = &mut self.warps[number];
                if let Some(to) = dest {
                    warp.write(*to, &result, taken);
                }
                if let Some(to) = in_range {
                    warp.write(*to, &spread(found), taken);
                }
            }
            Effect::Vote {
                ballot,
                result,
                mode,
                predicate,
            } => {
                let yes = gather(self.rows(number).get(*predicate)) & taken;
                let answer = match mode {
                    VoteMode::All => yes == taken,
                    VoteMode::Any => yes != 0,
                    VoteMode::Same => yes == taken || yes == 0,
                };
                let warp = &mut self.warps[number];
                if let Some(to) = ballot {
                    warp.write(*to, &[yes; LANES], taken);
                }
                if let Some(to) = result {
                    warp.write(*to, &[answer.into(); LANES], taken);
                }
            }
            Effect::Texture(_) | Effect::TextureSize(..) | Effect::Surface(_) => {
                self.image(Issued { number, at, taken }, &op.effect, world.memory)?;
            }
            Effect::Barrier {
                number: barrier,
                threads,
                waits,
                question,
            } => {
                let lane = taken.trailing_zeros() as usize % LANES;
                let rows = self.rows(number);
                let barrier = rows.get(*barrier)[lane];
                // None is all of the block, also where that is known only now.
                let threads = threads.map(|threads| rows.get(threads)[lane]);
                let threads = threads.filter(|&threads| threads != 0);
                let asks = question.map(|(question, predicate)| {
                    let yes = gather(rows.get(predicate)) & taken;
                    (question, yes.count_ones(), taken.count_ones())
                });
                if *waits {
                    self.warps[number].barrier_wait = Some(Wait {
                        barrier,
                        threads,
                        at,
                        reduction: asks,
                    });
                } else {
                    self.arrive(number, barrier, threads);
                }
            }
            Effect::BarrierResult(dest, truth) => {
                let warp = &mut self.warps[number];
                let answer = warp.barrier_result;
                if let Some(to) = dest {
                    warp.write(*to, &[answer; LANES], taken);
                }
                if let Some(to) = truth {
                    warp.write(*to, &[u32::from(answer != 0); LANES], taken);
                }
            }
            Effect::Trap => return Err(self.fault(at, FaultKind::Trap)),
            Effect::NeedsTime => return Err(self.fault(at, FaultKind::NeedsTime)),
            Effect::Unsupported => return Err(self.fault(at, FaultKind::Unsupported)),
        }
        Ok(())
    }

    /// Makes the scratch row of a step.
    #[inline]
    fn eval_step(
        &mut self,
        number: usize,
        at: u32,
        to: usize,
        step: &Step,
        taken: Mask,
    ) -> Result<(), Fault> {
        let (done, rest) = self.scratch.split_at_mut(to);
        let (Some((row, behind)), warp) = (rest.split_first_mut(), &self.warps[number]) else {
            return Ok(());
        };
        let rows = Rows {
            warp: &warp.rows,
            grid: &self.program.grid_values,
            block: &self.block_values,
            scratch: done,
        };
        match step {
            Step::Copy(a) => *row = *rows.get(*a),
            Step::Predicate(n) => *row = spread(warp.predicates[usize::from(n & 7)]),
            Step::Unary(op, a) => *row = unary(*op, rows.get(*a)),
            Step::Binary(op, a, b) => *row = binary(*op, rows.get(*a), rows.get(*b)),
            Step::Ternary(op, a, b, c) => {
                *row = ternary(*op, rows.get(*a), rows.get(*b), rows.get(*c));
            }
            Step::Float { op, words, wide } => {
                let high = behind.first_mut().filter(|_| *wide);
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
                for lane in lanes_of(taken) {
                    let start = addresses[lane] as usize;
                    let word = bytes.get(start..).and_then(|rest| rest.first_chunk::<4>());
                    let Some(word) = word else {
                        let kind = FaultKind::OutOfBounds {
                            space: warpbound_isa::instr::MemorySpace::Constant,
                            address: addresses[lane].into(),
                            context: Some(format!("it has {} bytes", bytes.len())),
                        };
                        return Err(self.lane_fault(at, number, lane, kind));
                    };
                    row[lane] = u32::from_le_bytes(*word);
                }
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use warpbound_ir::{Cell, Code, Op, ValueDependence};

    use super::*;

    /// What a block takes for each of its threads: 4 bytes for each register, and no more than 64 beside them.
    #[test]
    fn memory_of_a_thread() {
        const REGISTERS: u8 = 40;
        let op = Op {
            addr: CodeAddr(8),
            condition: warpbound_ir::ExecCondition::ALWAYS,
            reads: [Cell::gpr(REGISTERS - 1)].into_iter().collect(),
            writes: Default::default(),
            value: ValueDependence::Function,
            control: warpbound_ir::ControlEffect::Exit,
            barrier: false,
            meaning: None,
        };
        let code = Code {
            ops: vec![op],
            ..Code::default()
        };
        let launch = Launch {
            grid: [1; 3],
            block: [1024, 1, 1],
            shared: 0,
            local: 0,
            constants: Vec::new(),
            textures: Vec::new(),
            surfaces: Vec::new(),
            max_instructions: 1,
            order: PathOrder::TakenFirst,
        };
        let program = Program::untimed(&code, &launch);
        let mut block = Block::new(&program, &launch, [0; 3]);
        // Branches that part the lanes, one by one, as deep as nests get.
        for warp in &mut block.warps {
            for lane in 0..8u32 {
                let all = Mask::MAX << lane;
                warp.stack
                    .diverge(&[(0, u64::from(all << 1)), (0, 1 << lane)]);
            }
        }
        let of_warp = |warp: &Warp| {
            let stages = warp.stack.pending().len() + 1;
            size_of_val(warp.rows.as_slice())
                + warp.local.len()
                + stages * size_of::<warpbound_simt::concrete::StackEntry<u32>>()
        };
        let bytes = size_of_val(block.warps.as_slice())
            + block.warps.iter().map(of_warp).sum::<usize>()
            + size_of_val(block.scratch.as_slice())
            + size_of::<Block<'_>>();
        let most = 1024 * (4 * usize::from(REGISTERS) + 64);
        assert!(bytes <= most, "{bytes} bytes, {most} are allowed");
    }
}
