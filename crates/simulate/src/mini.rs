//! The mini-SIMT machine.

use warpbound_base::{Cycles, Observed};
use warpbound_ir::{BinaryOp, Cell, Code, OpIndex};
use warpbound_machine::{AfterBarrier, Machine};
use warpbound_simt::concrete::Mask;
use warpbound_simt::frames::FrameStack;
use warpbound_simt::warp::DivergenceOrder;

use crate::compiled::{Compiled, Effect, Flow, UnsupportedOp, MiniOperand, compile};
use crate::fault::{Fault, FaultKind};
use crate::scheduler::Scheduler;

/// The most lanes of a warp.
const LANES: usize = 64;

/// How a run begins.
#[derive(Clone, Debug)]
pub struct Start {
    /// Threads of the block.
    pub threads: u32,
    /// Cells that do not begin with 0, the same in all threads.
    pub cells: Vec<(Cell, u32)>,
    /// The words of the memory.
    pub memory: Vec<u32>,
}

/// What happens in a cycle.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Event {
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
        /// What it waits for: the instruction that it issued last.
        op: OpIndex,
    },
}

/// A run that came to its end.
#[derive(Clone, Debug)]
pub struct Finished {
    /// The cycles from the first issue to the last, both counted.
    pub cycles: Observed,
    /// Cycles in which an instruction was issued.
    pub issued: u64,
    /// Cycles in which none was.
    pub stalled: u64,
    /// For each operation, how often a warp issued it.
    pub executions: Vec<u64>,
    /// The words of the memory.
    pub memory: Vec<u32>,
}

/// A kernel on a machine, ready to run.
pub struct Simulation<'a> {
    code: Vec<Compiled>,
    /// Cells of a thread: those that the code names.
    cells: usize,
    machine: &'a Machine,
    entry: OpIndex,
}

struct Warp {
    frames: FrameStack<u32>,
    /// The number of its first thread.
    first: u32,
    /// What it issued last.
    issued: u32,
}

/// A barrier at which somebody waits.
struct Waiting {
    number: u32,
    expected: u32,
    arrived: u64,
    warps: Vec<usize>,
}

impl<'a> Simulation<'a> {
    /// A kernel for a machine.
    ///
    /// # Errors
    ///
    /// For the first operation that cannot be run.
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

    /// Warps of a block of so many threads.
    pub fn warps(&self, threads: u32) -> usize {
        threads.div_ceil(self.machine.warp_width) as usize
    }

    /// Runs to the end, at most `limit` cycles; `observe` sees each cycle.
    ///
    /// # Errors
    ///
    /// Where the run cannot go on.
    pub fn run(
        &self,
        start: &Start,
        limit: u64,
        mut observe: impl FnMut(Event),
    ) -> Result<Finished, Fault> {
        let mut run = Run::new(self, start);
        let mut scheduler = Scheduler::new(run.warps.len(), self.machine.policy);
        let (mut cycle, mut issued) = (0, 0);
        let mut rows = Rows::default();
        // A cycle counts as soon as somebody issues in it.
        let mut cycles = 0;
        while run.left > 0 {
            let Some(warp) = scheduler.next(cycle) else {
                let Some((at, waiting)) = scheduler.next_wake() else {
                    return Err(run.deadlock(cycle));
                };
                let op = OpIndex(run.warps[waiting].issued);
                for cycle in cycle..at.min(limit) {
                    let warp = waiting;
                    observe(Event::Stall { cycle, warp, op });
                }
                if at >= limit {
                    return Err(run.too_long(op, limit));
                }
                cycle = at;
                continue;
            };
            let at = run.warps[warp].frames.next();
            if cycle >= limit {
                return Err(run.too_long(OpIndex(at), limit));
            }
            observe(Event::Issue {
                cycle,
                warp,
                op: OpIndex(at),
                active: run.warps[warp].frames.active(),
            });
            run.executions[at as usize] += 1;
            issued += 1;
            cycles = cycle + 1;
            run.step(warp, cycle, &mut scheduler, &mut rows)?;
            cycle += 1;
        }
        Ok(Finished {
            cycles: Observed(Cycles(cycles)),
            issued,
            stalled: cycles - issued,
            executions: run.executions,
            memory: run.memory,
        })
    }
}

/// Room for the rows of one instruction, used again and again: what lanes beyond the width hold means nothing.
struct Rows {
    a: [u32; LANES],
    b: [u32; LANES],
    out: [u32; LANES],
}

impl Default for Rows {
    fn default() -> Rows {
        Rows {
            a: [0; LANES],
            b: [0; LANES],
            out: [0; LANES],
        }
    }
}

/// A run under way.
struct Run<'a> {
    simulation: &'a Simulation<'a>,
    width: usize,
    warps: Vec<Warp>,
    /// Row after row: for each warp, for each cell, a value for each lane.
    values: Vec<u32>,
    memory: Vec<u32>,
    barriers: Vec<Waiting>,
    /// Warps that the barrier has just let go.
    released: Vec<usize>,
    executions: Vec<u64>,
    /// Warps that have not come to their end.
    left: usize,
}

impl<'a> Run<'a> {
    fn new(simulation: &'a Simulation<'a>, start: &Start) -> Run<'a> {
        let width = simulation.machine.warp_width as usize;
        let count = simulation.warps(start.threads);
        let warps = (0..count).map(|warp| {
            let first = (warp * width) as u32;
            let lanes = (start.threads - first).min(width as u32);
            Warp {
                frames: FrameStack::new(simulation.entry.0, lowest(lanes)),
                first,
                issued: simulation.entry.0,
            }
        });
        let mut values = vec![0; count * simulation.cells * width];
        for &(cell, value) in &start.cells {
            // A constant that the code does not name has no row.
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
            left: count,
        }
    }

    /// The values of an operand in all lanes of a warp.
    #[inline(always)]
    fn row(&self, warp: usize, row: MiniOperand, into: &mut [u32; LANES]) {
        match row {
            MiniOperand::Const(value) => into[..self.width].fill(value),
            MiniOperand::ThreadId => {
                let first = self.warps[warp].first;
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

    #[inline(always)]
    fn write(&mut self, warp: usize, cell: u16, active: Mask, from: &[u32; LANES]) {
        let at = (warp * self.simulation.cells + usize::from(cell)) * self.width;
        let row = &mut self.values[at..at + self.width];
        if active == lowest(self.width as u32) {
            row.copy_from_slice(&from[..row.len()]);
        } else {
            // All lanes, so that the compiler can make vector instructions of it.
            for (lane, (old, new)) in row.iter_mut().zip(from).enumerate() {
                *old = if active >> lane & 1 == 1 { *new } else { *old };
            }
        }
    }

    /// Executes the next instruction of a warp.
    #[inline(always)]
    fn step(
        &mut self,
        warp: usize,
        cycle: u64,
        scheduler: &mut Scheduler,
        rows: &mut Rows,
    ) -> Result<(), Fault> {
        let Rows { a, b, out } = rows;
        let at = self.warps[warp].frames.next();
        let active = self.warps[warp].frames.active();
        let simulation = self.simulation;
        let Some(Compiled { effect, flow }) = simulation.code.get(at as usize) else {
            return Ok(());
        };
        self.warps[warp].issued = at;
        let machine = simulation.machine;
        let mut latency = machine.plain.most.0;
        let fault = |lane: usize, kind| Fault {
            at: OpIndex(at),
            cycle,
            thread: Some(self.warps[warp].first + lane as u32),
            kind,
        };
        let mut waits = false;
        match *effect {
            Effect::Nothing => {}
            Effect::Copy { dest, from } => {
                self.row(warp, from, a);
                self.write(warp, dest, active, a);
            }
            Effect::Binary {
                dest,
                op,
                a: x,
                b: y,
            } => {
                self.row(warp, x, a);
                self.row(warp, y, b);
                if combine(op, a, b, out, self.width, active).is_none() {
                    let by_zero = lanes(active).find(|&lane| op.apply(a[lane], b[lane]).is_none());
                    return Err(fault(by_zero.unwrap_or(0), FaultKind::DivisionByZero));
                }
                self.write(warp, dest, active, out);
            }
            Effect::Load { dest, address } => {
                latency = machine.memory.most.0;
                self.row(warp, address, a);
                for lane in lanes(active) {
                    match self.memory.get(a[lane] as usize) {
                        Some(&word) => out[lane] = word,
                        None => return Err(fault(lane, self.out_of_range(a[lane]))),
                    }
                }
                self.write(warp, dest, active, out);
            }
            Effect::Store { address, value } => {
                self.row(warp, address, a);
                self.row(warp, value, b);
                for lane in lanes(active) {
                    if a[lane] as usize >= self.memory.len() {
                        return Err(fault(lane, self.out_of_range(a[lane])));
                    }
                    self.memory[a[lane] as usize] = b[lane];
                }
            }
            Effect::Barrier { number, threads } => {
                self.row(warp, number, a);
                self.row(warp, threads, b);
                waits = self.arrive(warp, cycle, (a, b))?;
            }
        }
        match *flow {
            Flow::Next => self.warps[warp].frames.advance(at + 1),
            Flow::Jump(to) => self.warps[warp].frames.advance(to),
            Flow::Branch {
                cell,
                if_zero,
                to,
                meet,
            } => {
                self.row(warp, MiniOperand::Cell(cell), a);
                let mut taken = 0;
                for (lane, &value) in a[..self.width].iter().enumerate() {
                    taken |= Mask::from((value == 0) == if_zero) << lane;
                }
                taken &= active;
                let order: DivergenceOrder = machine.order;
                let frames = &mut self.warps[warp].frames;
                frames.branch(taken, to, at + 1, meet, order);
            }
            Flow::Meet => self.warps[warp].frames.meet(at, at + 1),
            Flow::End => {}
        }
        match effect {
            Effect::Barrier { .. } if waits => scheduler.suspend(warp),
            Effect::Barrier { .. } => {
                let latency = machine.barrier_release.most.0;
                if machine.after_barrier == AfterBarrier::FirstWarp {
                    scheduler.begin_anew();
                }
                while let Some(released) = self.released.pop() {
                    self.goes_on(released, cycle, latency, scheduler);
                }
            }
            _ => self.goes_on(warp, cycle, latency, scheduler),
        }
        Ok(())
    }

    /// A warp goes on so many cycles after `cycle`, unless it is at its end.
    #[inline(always)]
    fn goes_on(&mut self, warp: usize, cycle: u64, latency: u64, scheduler: &mut Scheduler) {
        if self.leaves(warp) {
            scheduler.suspend(warp);
            self.left -= 1;
        } else if latency > 1 {
            scheduler.wake_after(warp, cycle, latency);
        } else {
            scheduler.wake(warp);
        }
    }

    /// The active lanes of a warp are at a barrier; whether they have to wait.
    fn arrive(
        &mut self,
        warp: usize,
        cycle: u64,
        (numbers, threads): (&[u32; LANES], &[u32; LANES]),
    ) -> Result<bool, Fault> {
        let active = self.warps[warp].frames.active();
        let fault = |kind| Fault {
            at: OpIndex(self.warps[warp].issued),
            cycle,
            thread: None,
            kind,
        };
        let first = active.trailing_zeros() as usize % LANES;
        let (number, expected) = (numbers[first], threads[first]);
        if lanes(active).any(|lane| (numbers[lane], threads[lane]) != (number, expected)) {
            return Err(fault(FaultKind::BarrierDisagreement));
        }
        let known = self.barriers.iter().position(|b| b.number == number);
        let index = known.unwrap_or(self.barriers.len());
        if known.is_none() {
            self.barriers.push(Waiting {
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
        if i128::from(barrier.arrived) < i128::from(expected as i32) {
            return Ok(true);
        }
        self.released = self.barriers.swap_remove(index).warps;
        // Taken from the end, the lowest number first.
        self.released.sort_unstable_by(|a, b| b.cmp(a));
        Ok(false)
    }

    /// Lanes of a warp at the end of the kernel leave it; whether that were all.
    #[inline(always)]
    fn leaves(&mut self, warp: usize) -> bool {
        let frames = &mut self.warps[warp].frames;
        while let Some(Compiled {
            flow: Flow::End, ..
        }) = self.simulation.code.get(frames.next() as usize)
        {
            frames.end();
            if frames.active() == 0 {
                return true;
            }
        }
        false
    }

    fn out_of_range(&self, address: u32) -> FaultKind {
        FaultKind::OutOfRange {
            address,
            size: self.memory.len(),
        }
    }

    fn too_long(&self, at: OpIndex, limit: u64) -> Fault {
        Fault {
            at,
            cycle: limit,
            thread: None,
            kind: FaultKind::TooLong { limit },
        }
    }

    fn deadlock(&self, cycle: u64) -> Fault {
        // Nobody is ready and nobody will be, so somebody waits at a barrier.
        let barrier = self.barriers.iter().min_by_key(|b| b.number);
        let first = barrier.and_then(|b| b.warps.iter().min());
        Fault {
            at: OpIndex(first.map_or(0, |&warp| self.warps[warp].issued)),
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

/// The lowest `count` lanes.
fn lowest(count: u32) -> Mask {
    match count {
        0 => 0,
        count => u64::MAX >> (64 - count.min(64)),
    }
}

/// The lanes of a mask, ascending.
fn lanes(mut mask: Mask) -> impl Iterator<Item = usize> {
    std::iter::from_fn(move || {
        let lane = mask.trailing_zeros() as usize;
        (mask != 0).then(|| {
            mask &= mask - 1;
            lane
        })
    })
}

/// Combines two rows lane by lane; `None` when an active lane divides by zero.
#[inline(always)]
fn combine(
    op: BinaryOp,
    a: &[u32; LANES],
    b: &[u32; LANES],
    out: &mut [u32; LANES],
    width: usize,
    active: Mask,
) -> Option<()> {
    // One loop for each operation, so that the compiler can make vector instructions of it.
    macro_rules! all_lanes {
        ($($op:ident)*) => {
            match op {
                $(BinaryOp::$op => {
                    for lane in 0..width.min(LANES) {
                        out[lane] = BinaryOp::$op.apply(a[lane], b[lane])?;
                    }
                })*
                BinaryOp::DivS | BinaryOp::RemS => {
                    for lane in lanes(active) {
                        out[lane] = op.apply(a[lane], b[lane])?;
                    }
                }
            }
        };
    }
    all_lanes!(Add Sub Mul MulHighU MulHighS And Or Xor Shl Shr Sar LtS LeS LtU LeU Eq Ne MinU MaxU MinS MaxS);
    Some(())
}
