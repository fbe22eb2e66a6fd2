//! The mini-SIMT machine of `abstract-cta-2014` 4: a cycle-accurate simulation of one block on one scheduler.
//!
//! In each cycle the scheduler issues at most one instruction. Every instruction has a latency, after which its warp
//! is ready again; lanes diverge and reconverge by synchronisation frames (`simt::frame_stack`). For example, a lone
//! warp that issues a memory read of 10 cycles in cycle 0 issues its next instruction in cycle 10.

mod compiled;
mod fault;
mod scheduler;

use warpbound_base::{Cycles, Observed};
use warpbound_ir::{BinaryOp, Cell, Code, OpIndex};
use warpbound_machine::mini::{AfterBarrier, Machine};
use warpbound_simt::frame_stack::FrameStack;
use warpbound_simt::{ControlTransfer, ExecutionModel, Mask, lanes_of, lowest_lanes};

use crate::UnsupportedOp;
use compiled::{Effect, Flow, MiniOp, MiniOperand, compile};
use scheduler::Scheduler;

pub use fault::{Fault, FaultKind};

/// Maximum number of lanes of a warp.
const LANES: usize = 64;

/// Initial state of a run.
#[derive(Clone, Debug)]
pub struct Start {
    /// Number of threads of the block.
    pub threads: u32,
    /// Cells with an initial value other than 0, the same in all threads.
    pub cells: Vec<(Cell, u32)>,
    /// Initial words of the memory.
    pub memory: Vec<u32>,
}

/// The event of a cycle.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum CycleEvent {
    /// A warp issues an instruction.
    Issue {
        /// The cycle, from 0.
        cycle: u64,
        /// The warp.
        warp: usize,
        /// The instruction.
        op: OpIndex,
        /// The lanes that execute it.
        active: Mask,
    },
    /// No warp is ready.
    Stall {
        /// The cycle.
        cycle: u64,
        /// The warp that will be ready first.
        warp: usize,
        /// The instruction that it waits for, which it issued last.
        op: OpIndex,
    },
}

/// Result of a completed run.
#[derive(Clone, Debug)]
pub struct FinishedRun {
    /// Cycles from the first issue to the last, inclusive.
    pub cycles: Observed<Cycles>,
    /// Cycles with an issue.
    pub issued: u64,
    /// Cycles without an issue.
    pub stalled: u64,
    /// Per operation, the number of issues by a warp.
    pub executions: Vec<u64>,
    /// Final words of the memory.
    pub memory: Vec<u32>,
}

/// A kernel compiled for a machine.
pub struct Simulation<'a> {
    code: Vec<MiniOp>,
    /// Number of cells of a thread: highest index that the code names, plus one.
    cells: usize,
    machine: &'a Machine,
    entry: OpIndex,
}

/// State of a warp.
struct Warp {
    frames: FrameStack<u32>,
    /// Number of its first thread.
    first_thread: u32,
    /// The operation that it issued last.
    last_issued: u32,
}

/// A barrier at which warps are blocked.
struct PendingBarrier {
    number: u32,
    expected: u32,
    arrived: u64,
    warps: Vec<usize>,
}

impl<'a> Simulation<'a> {
    /// Compiles a kernel for a machine.
    ///
    /// # Errors
    ///
    /// Returns the first unsupported operation.
    pub fn new(code: &Code, machine: &'a Machine) -> Result<Simulation<'a>, UnsupportedOp> {
        let named = |op: &warpbound_ir::Op| {
            let cells = op.reads.iter().chain(&op.writes);
            let guard = op.condition.guard;
            cells
                .copied()
                .chain(guard)
                .map(|cell| cell.index() + 1)
                .max()
        };
        Ok(Simulation {
            code: compile(code)?,
            cells: code.ops.iter().filter_map(named).max().unwrap_or(0),
            machine,
            entry: code.entry,
        })
    }

    /// Number of warps of a block of `threads` threads.
    pub fn warps(&self, threads: u32) -> usize {
        threads.div_ceil(self.machine.warp_width) as usize
    }

    /// Runs the kernel to its end, for at most `limit` cycles; `observe` receives the event of each cycle.
    ///
    /// # Errors
    ///
    /// The kernel faults or exceeds the limit.
    pub fn run(
        &self,
        start: &Start,
        limit: u64,
        mut observe: impl FnMut(CycleEvent),
    ) -> Result<FinishedRun, Fault> {
        let mut run = Run::new(self, start);
        let mut scheduler = Scheduler::new(run.warps.len(), self.machine.policy);
        let (mut cycle, mut issued) = (0, 0);
        let mut buffers = OperandBuffers::default();
        // Cycles up to the last issue: latencies after it do not count.
        let mut cycles = 0;
        while run.live_warps > 0 {
            let Some(warp) = scheduler.next(cycle) else {
                let Some((at, waiting)) = scheduler.next_wake() else {
                    return Err(run.deadlock(cycle));
                };
                // The stall is attributed to the warp that becomes ready first.
                let op = OpIndex(run.warps[waiting].last_issued);
                // Cycles from the limit on are not part of the run.
                for cycle in cycle..at.min(limit) {
                    let warp = waiting;
                    observe(CycleEvent::Stall { cycle, warp, op });
                }
                if at >= limit {
                    return Err(run.too_long(op, limit));
                }
                cycle = at;
                continue;
            };
            let Some((at, active)) = run.warps[warp].frames.running() else {
                // Not reached: a warp that has finished is suspended (`Run::resume`).
                scheduler.suspend(warp);
                continue;
            };
            if cycle >= limit {
                return Err(run.too_long(OpIndex(at), limit));
            }
            observe(CycleEvent::Issue {
                cycle,
                warp,
                op: OpIndex(at),
                active,
            });
            run.executions[at as usize] += 1;
            issued += 1;
            cycles = cycle + 1;
            run.step(warp, at, active, cycle, &mut scheduler, &mut buffers)?;
            cycle += 1;
        }
        Ok(FinishedRun {
            cycles: Observed(Cycles(cycles)),
            issued,
            stalled: cycles - issued,
            executions: run.executions,
            memory: run.memory,
        })
    }
}

/// Buffers for the operands and the result of one instruction, reused. Values past the warp width are undefined.
struct OperandBuffers {
    a: [u32; LANES],
    b: [u32; LANES],
    out: [u32; LANES],
}

impl Default for OperandBuffers {
    fn default() -> OperandBuffers {
        OperandBuffers {
            a: [0; LANES],
            b: [0; LANES],
            out: [0; LANES],
        }
    }
}

/// Next issue of a warp that has just issued an instruction.
enum NextIssue {
    /// Ready after a latency in cycles.
    After(u64),
    /// Blocked at a barrier.
    Blocked,
    /// Its barrier opened: ready with the other warps in [`Run::released`].
    Released,
}

/// State of a run.
struct Run<'a> {
    simulation: &'a Simulation<'a>,
    width: usize,
    warps: Vec<Warp>,
    /// Cell values in the order warp, cell, lane.
    values: Vec<u32>,
    memory: Vec<u32>,
    barriers: Vec<PendingBarrier>,
    /// Warps released by the barrier that has just opened, in descending order.
    released: Vec<usize>,
    executions: Vec<u64>,
    /// Number of warps that have not exited.
    live_warps: usize,
}

impl<'a> Run<'a> {
    /// Returns the state before the first cycle.
    fn new(simulation: &'a Simulation<'a>, start: &Start) -> Run<'a> {
        let width = simulation.machine.warp_width as usize;
        let count = simulation.warps(start.threads);
        let warps = (0..count).map(|warp| {
            let first_thread = (warp * width) as u32;
            let lanes = (start.threads - first_thread).min(width as u32);
            Warp {
                frames: FrameStack::new(
                    simulation.entry.0,
                    lowest_lanes(lanes),
                    simulation.machine.order,
                ),
                first_thread,
                last_issued: simulation.entry.0,
            }
        });
        let mut values = vec![0; count * simulation.cells * width];
        for &(cell, value) in &start.cells {
            // A launch constant that the code does not name has no cell.
            if cell.index() < simulation.cells {
                for warp in 0..count {
                    let row = (warp * simulation.cells + cell.index()) * width;
                    values[row..row + width].fill(value);
                }
            }
        }
        Run {
            simulation,
            width,
            warps: warps.collect(),
            values,
            memory: start.memory.clone(),
            barriers: Vec::new(),
            released: Vec::new(),
            executions: vec![0; simulation.code.len()],
            live_warps: count,
        }
    }

    /// Copies the values of an operand in all lanes of a warp.
    #[inline(always)]
    fn read_operand(&self, warp: usize, operand: MiniOperand, into: &mut [u32; LANES]) {
        match operand {
            MiniOperand::Const(value) => into[..self.width].fill(value),
            MiniOperand::ThreadId => {
                let first = self.warps[warp].first_thread;
                for (lane, value) in (0..).zip(&mut into[..self.width]) {
                    *value = first.wrapping_add(lane);
                }
            }
            MiniOperand::Cell(cell) => {
                let at = (warp * self.simulation.cells + usize::from(cell)) * self.width;
                into[..self.width].copy_from_slice(&self.values[at..at + self.width]);
            }
        }
    }

    /// Writes a cell in the active lanes.
    #[inline(always)]
    fn write_cell(&mut self, warp: usize, cell: u16, active: Mask, from: &[u32; LANES]) {
        let at = (warp * self.simulation.cells + usize::from(cell)) * self.width;
        let row = &mut self.values[at..at + self.width];
        if active == lowest_lanes(self.width as u32) {
            row.copy_from_slice(&from[..row.len()]);
        } else {
            // A select in all lanes, which the compiler vectorizes.
            for (lane, (old, new)) in row.iter_mut().zip(from).enumerate() {
                *old = if active >> lane & 1 == 1 { *new } else { *old };
            }
        }
    }

    /// Executes the instruction `at` of a warp in its `active` lanes and schedules its next issue.
    #[inline(always)]
    fn step(
        &mut self,
        warp: usize,
        at: u32,
        active: Mask,
        cycle: u64,
        scheduler: &mut Scheduler,
        buffers: &mut OperandBuffers,
    ) -> Result<(), Fault> {
        let simulation = self.simulation;
        let Some(MiniOp { effect, flow }) = simulation.code.get(at as usize) else {
            return Ok(());
        };
        self.warps[warp].last_issued = at;
        let next = self.apply_effect(warp, active, cycle, effect, buffers)?;
        if !self.apply_flow(warp, at, active, flow, &mut buffers.a) {
            let at = OpIndex(at);
            let kind = FaultKind::UnsupportedControl;
            return Err(Fault {
                at,
                cycle,
                thread: None,
                kind,
            });
        }
        // The frames are now at the next instruction, where lanes may exit.
        let machine = simulation.machine;
        match next {
            NextIssue::After(latency) => self.resume(warp, cycle, latency, scheduler),
            NextIssue::Blocked => scheduler.suspend(warp),
            NextIssue::Released => {
                let latency = machine.barrier_release.most.0;
                if machine.after_barrier == AfterBarrier::FirstWarp {
                    scheduler.restart_round();
                }
                while let Some(released) = self.released.pop() {
                    self.resume(released, cycle, latency, scheduler);
                }
            }
        }
        Ok(())
    }

    /// Applies the effect of an instruction on cells, memory and barriers in the active lanes.
    #[inline(always)]
    fn apply_effect(
        &mut self,
        warp: usize,
        active: Mask,
        cycle: u64,
        effect: &Effect,
        buffers: &mut OperandBuffers,
    ) -> Result<NextIssue, Fault> {
        let OperandBuffers { a, b, out } = buffers;
        let machine = self.simulation.machine;
        let fault = |lane: usize, kind| Fault {
            at: OpIndex(self.warps[warp].last_issued),
            cycle,
            thread: Some(self.warps[warp].first_thread + lane as u32),
            kind,
        };
        match *effect {
            Effect::Nothing => {}
            Effect::Copy { dest, from } => {
                self.read_operand(warp, from, a);
                self.write_cell(warp, dest, active, a);
            }
            Effect::Binary {
                dest,
                op,
                a: x,
                b: y,
            } => {
                self.read_operand(warp, x, a);
                self.read_operand(warp, y, b);
                if apply_binary(op, a, b, out, self.width, active).is_none() {
                    let by_zero =
                        lanes_of(active).find(|&lane| op.apply(a[lane], b[lane]).is_none());
                    return Err(fault(by_zero.unwrap_or(0), FaultKind::DivisionByZero));
                }
                self.write_cell(warp, dest, active, out);
            }
            Effect::Load { dest, address } => {
                self.read_operand(warp, address, a);
                for lane in lanes_of(active) {
                    match self.memory.get(a[lane] as usize) {
                        Some(&word) => out[lane] = word,
                        None => return Err(fault(lane, self.out_of_range(a[lane]))),
                    }
                }
                self.write_cell(warp, dest, active, out);
                // Latencies are at their largest, as the bound assumes (SOUNDNESS 6, `machine`).
                return Ok(NextIssue::After(machine.memory.most.0));
            }
            Effect::Store { address, value } => {
                self.read_operand(warp, address, a);
                self.read_operand(warp, value, b);
                for lane in lanes_of(active) {
                    if a[lane] as usize >= self.memory.len() {
                        return Err(fault(lane, self.out_of_range(a[lane])));
                    }
                    self.memory[a[lane] as usize] = b[lane];
                }
            }
            Effect::Barrier { number, threads } => {
                self.read_operand(warp, number, a);
                self.read_operand(warp, threads, b);
                return self.arrive(warp, active, cycle, a, b);
            }
        }
        Ok(NextIssue::After(machine.plain.most.0))
    }

    /// Applies the control effect of an instruction to the warp's synchronisation frames (`abstract-cta-2014` 4);
    /// returns whether frames have such an effect.
    #[inline(always)]
    fn apply_flow(
        &mut self,
        warp: usize,
        at: u32,
        active: Mask,
        flow: &Flow,
        buffer: &mut [u32; LANES],
    ) -> bool {
        let mut taken = active;
        if let Some((cell, if_zero)) = flow.condition {
            self.read_operand(warp, MiniOperand::Cell(cell), buffer);
            let mut holds = 0;
            for (lane, &value) in buffer[..self.width].iter().enumerate() {
                holds |= Mask::from((value == 0) == if_zero) << lane;
            }
            taken &= holds;
        }
        let frames = &mut self.warps[warp].frames;
        frames.apply(&flow.transfer, taken, at + 1).is_ok()
    }

    /// Makes a warp ready `latency` cycles after `cycle`, unless all its lanes have exited.
    #[inline(always)]
    fn resume(&mut self, warp: usize, cycle: u64, latency: u64, scheduler: &mut Scheduler) {
        if self.retire(warp) {
            scheduler.suspend(warp);
            self.live_warps -= 1;
        } else if latency > 1 {
            scheduler.wake_after(warp, cycle, latency);
        } else {
            // The next selection is one cycle later: a latency of at most 1 needs no entry in the calendar.
            scheduler.wake(warp);
        }
    }

    /// Adds the active lanes of a warp to the arrivals at a barrier, and opens it if the expected number has arrived.
    fn arrive(
        &mut self,
        warp: usize,
        active: Mask,
        cycle: u64,
        numbers: &[u32; LANES],
        threads: &[u32; LANES],
    ) -> Result<NextIssue, Fault> {
        let fault = |kind| Fault {
            at: OpIndex(self.warps[warp].last_issued),
            cycle,
            thread: None,
            kind,
        };
        let first = active.trailing_zeros() as usize % LANES;
        let (number, expected) = (numbers[first], threads[first]);
        if lanes_of(active).any(|lane| (numbers[lane], threads[lane]) != (number, expected)) {
            return Err(fault(FaultKind::BarrierDisagreement));
        }
        let known = self.barriers.iter().position(|b| b.number == number);
        let index = known.unwrap_or(self.barriers.len());
        if known.is_none() {
            self.barriers.push(PendingBarrier {
                number,
                expected,
                arrived: 0,
                warps: Vec::new(),
            });
        }
        let barrier = &mut self.barriers[index];
        if barrier.expected != expected {
            return Err(fault(FaultKind::BarrierMismatch {
                here: i64::from(expected as i32),
                there: i64::from(barrier.expected as i32),
            }));
        }
        barrier.arrived += u64::from(active.count_ones());
        barrier.warps.push(warp);
        // Words are two's complement: a count that is not positive is reached at once.
        if i128::from(barrier.arrived) < i128::from(expected as i32) {
            return Ok(NextIssue::Blocked);
        }
        // The order of `barriers` has no meaning, as they are found by number.
        self.released = self.barriers.swap_remove(index).warps;
        // Descending, since warps are resumed from the end: the lowest number first.
        self.released.sort_unstable_by(|a, b| b.cmp(a));
        Ok(NextIssue::Released)
    }

    /// Removes the lanes of a warp that are at the end of the kernel, which takes no issue; returns whether all lanes
    /// have exited.
    #[inline(always)]
    fn retire(&mut self, warp: usize) -> bool {
        let frames = &mut self.warps[warp].frames;
        // The lanes that continue after an exit may be at the end of the kernel as well.
        while let Some((at, active)) = frames.running() {
            let op = self.simulation.code.get(at as usize);
            let ends = op.is_some_and(|op| matches!(op.flow.transfer, ControlTransfer::Exit));
            if !ends || frames.apply(&ControlTransfer::Exit, active, at).is_err() {
                return false;
            }
        }
        true
    }

    /// Kind of the fault of an access at `address`.
    fn out_of_range(&self, address: u32) -> FaultKind {
        FaultKind::OutOfRange {
            address,
            size: self.memory.len(),
        }
    }

    /// Returns the fault of a run that exceeds its limit.
    fn too_long(&self, at: OpIndex, limit: u64) -> Fault {
        Fault {
            at,
            cycle: limit,
            thread: None,
            kind: FaultKind::CycleLimit { limit },
        }
    }

    /// Returns the fault of a run whose remaining warps are all blocked.
    fn deadlock(&self, cycle: u64) -> Fault {
        // No warp is ready or pending, so the remaining ones are blocked at barriers.
        let barrier = self.barriers.iter().min_by_key(|b| b.number);
        let first = barrier.and_then(|b| b.warps.iter().min());
        Fault {
            at: OpIndex(first.map_or(0, |&warp| self.warps[warp].last_issued)),
            cycle,
            thread: None,
            kind: FaultKind::Deadlock {
                number: barrier.map_or(0, |b| b.number),
                arrived: barrier.map_or(0, |b| b.arrived),
                expected: barrier.map_or(0, |b| i64::from(b.expected as i32)),
            },
        }
    }
}

/// Applies an operation in all lanes; `None` if an active lane divides by zero. Only division needs the active lanes:
/// inactive ones may hold a zero divisor.
#[inline(always)]
fn apply_binary(
    op: BinaryOp,
    a: &[u32; LANES],
    b: &[u32; LANES],
    out: &mut [u32; LANES],
    width: usize,
    active: Mask,
) -> Option<()> {
    // One loop per operation, so that the compiler can vectorize each.
    macro_rules! all_lanes {
        ($($op:ident)*) => {
            match op {
                $(BinaryOp::$op => {
                    for lane in 0..width.min(LANES) {
                        out[lane] = BinaryOp::$op.apply(a[lane], b[lane])?;
                    }
                })*
                BinaryOp::DivS | BinaryOp::RemS => {
                    for lane in lanes_of(active) {
                        out[lane] = op.apply(a[lane], b[lane])?;
                    }
                }
            }
        };
    }
    all_lanes!(Add Sub Mul MulHighU MulHighS And Or Xor Shl Shr Sar LtS LeS LtU LeU Eq Ne MinU MaxU MinS MaxS);
    Some(())
}
