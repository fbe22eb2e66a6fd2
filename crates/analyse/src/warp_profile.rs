//! What a warp of a launch does, as far as its data do not decide it: how many instructions it issues and how long
//! it waits for them between one barrier and the next.
//!
//! The warp is executed by the rules of synchronisation frames ([`warpbound_simt::frames`]) with values that are
//! either known, because they follow from the launch and the thread's number, or unknown, because they come from
//! memory. Where an unknown value decides a branch, what follows up to the point at which its lanes meet is
//! bounded by somebody else ([`RegionCost`]), and what it may have written is unknown behind it. So the outline holds for
//! all contents of the memory.
//!
//! This is the sound counterpart of the abstract warp of `abstract-cta-2014`, section 3.2.

use std::collections::BTreeSet;

use smallvec::SmallVec;
use warpbound_graph::{Digraph, Dominators, LoopForest, LoopIndex};
use warpbound_ir::{Cell, Code, ControlEffect, ControlTarget, Expr, Meaning, OpIndex};
use warpbound_simt::concrete::Mask;
use warpbound_simt::epochs::{Epoch, EpochArrival};
use warpbound_simt::frames::FrameStack;
use warpbound_simt::warp::DivergenceOrder;

/// Part of a code: from an operation to the point at which all lanes meet that begin there together.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Region {
    /// The first operation.
    pub from: OpIndex,
    /// The meeting point, which belongs to it; `None` is the end of the kernel.
    pub meet: Option<OpIndex>,
}

/// What a warp does in a region at most.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct RegionCost {
    /// Instructions that it issues.
    pub issues: u64,
    /// Cycles that it waits behind them, beyond the one in which each is issued.
    pub stalls: u64,
}

/// All epochs of a warp.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct WarpProfile {
    /// In their order; one more than the warp meets barriers.
    pub epochs: Vec<Epoch>,
    /// Nothing was bounded: all runs are like this.
    pub exact: bool,
}

/// The data decide it, or it takes too long to find out.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Undecided {
    /// The operation at which the outline ends.
    pub at: OpIndex,
}

/// The warp of an outline.
#[derive(Clone, Copy, Debug)]
pub struct ProfiledWarp<'a> {
    /// The number of its first thread.
    pub first: u32,
    /// Threads, at most 64.
    pub count: u32,
    /// Cells that do not begin with 0, the same in all threads.
    pub cells: &'a [(Cell, u32)],
    /// Which side of a divergent branch runs first.
    pub order: DivergenceOrder,
}

/// What outlines of one code share.
pub struct WarpProfiler<'a> {
    code: &'a Code,
    /// Cycles between the issue of an operation and the next of its warp, less one.
    waits: &'a dyn Fn(OpIndex) -> u64,
    region: &'a dyn Fn(Region, u32) -> Option<RegionCost>,
    loops: LoopForest,
    post: Dominators,
    cells: usize,
    /// Loops that the data decide, found so far.
    undecided: BTreeSet<LoopIndex>,
    steps_left: u64,
}

impl<'a> WarpProfiler<'a> {
    /// Outlines of `code`, whose instructions are followed by the `waits` given, of at most `steps` instructions
    /// of lanes altogether. `region` bounds what a number of lanes do in a region, whatever values they have.
    pub fn new(
        code: &'a Code,
        waits: &'a dyn Fn(OpIndex) -> u64,
        region: &'a dyn Fn(Region, u32) -> Option<RegionCost>,
        steps: u64,
    ) -> WarpProfiler<'a> {
        let mut edges = Vec::new();
        let mut exits = Vec::new();
        for (at, op) in code.ops.iter().enumerate() {
            match &op.control {
                ControlEffect::Jump(ControlTarget::Op(to)) if op.condition.is_always() => {
                    edges.push((at, to.index()));
                }
                ControlEffect::Branch {
                    to: ControlTarget::Op(to),
                    ..
                }
                | ControlEffect::Jump(ControlTarget::Op(to)) => {
                    edges.extend([(at, at + 1), (at, to.index())])
                }
                ControlEffect::End | ControlEffect::Exit => exits.push(at),
                _ => edges.push((at, at + 1)),
            }
        }
        let graph = Digraph::new(code.ops.len(), edges);
        let named = |op: &warpbound_ir::Op| {
            let cells = op.reads.iter().chain(&op.writes).copied();
            cells
                .chain(op.condition.guard)
                .map(|cell| cell.index() + 1)
                .max()
        };
        WarpProfiler {
            loops: LoopForest::build(&graph, code.entry.index()),
            post: Dominators::compute_post(&graph, exits),
            cells: code.ops.iter().filter_map(named).max().unwrap_or(0),
            undecided: BTreeSet::new(),
            steps_left: steps,
            code,
            waits,
            region,
        }
    }

    /// The outline of a warp.
    ///
    /// # Errors
    ///
    /// Where data decide what the warp does and nobody bounds it.
    pub fn run(&mut self, lanes: &ProfiledWarp<'_>) -> Result<WarpProfile, Undecided> {
        'again: loop {
            // Each time from the beginning, one loop more is known to be decided by data.
            let mut run = Run::new(self, lanes);
            while run.state.frames.active() != 0 {
                if run.step()? == Outcome::Again {
                    continue 'again;
                }
            }
            run.state.outline.epochs.push(run.state.epoch);
            return Ok(run.state.outline);
        }
    }

    /// The loops around an operation, innermost first.
    fn loops_around(&self, at: OpIndex) -> impl Iterator<Item = LoopIndex> {
        let innermost = self.loops.innermost(at.index());
        std::iter::successors(innermost, |&index| self.loops.get(index).parent)
    }
}

/// Where a warp is, and what it has done.
struct State {
    frames: FrameStack<u32>,
    /// For each cell, for each lane; `None` is unknown.
    values: Vec<Option<u32>>,
    outline: WarpProfile,
    epoch: Epoch,
}

/// How a step ended.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Outcome {
    GoesOn,
    /// A loop that was entered turned out to be decided by data.
    Again,
}

struct Run<'r, 'a> {
    outliner: &'r mut WarpProfiler<'a>,
    lanes: ProfiledWarp<'r>,
    state: State,
}

impl<'r, 'a> Run<'r, 'a> {
    fn new(outliner: &'r mut WarpProfiler<'a>, lanes: &ProfiledWarp<'r>) -> Run<'r, 'a> {
        let count = lanes.count.clamp(1, 64);
        let width = count as usize;
        let mut values = vec![Some(0); outliner.cells * width];
        for &(cell, value) in lanes.cells {
            let row = cell.index() * width;
            if let Some(row) = values.get_mut(row..row + width) {
                row.fill(Some(value));
            }
        }
        let state = State {
            frames: FrameStack::new(outliner.code.entry.0, u64::MAX >> (64 - count)),
            values,
            outline: WarpProfile {
                exact: true,
                ..WarpProfile::default()
            },
            epoch: Epoch::default(),
        };
        Run {
            lanes: ProfiledWarp { count, ..*lanes },
            outliner,
            state,
        }
    }

    fn step(&mut self) -> Result<Outcome, Undecided> {
        let at = OpIndex(self.state.frames.next());
        let undecided = Undecided { at };
        let lanes = u64::from(self.state.frames.active().count_ones());
        self.outliner.steps_left = self
            .outliner
            .steps_left
            .checked_sub(lanes)
            .ok_or(undecided)?;
        let code = self.outliner.code;
        let op = code.get(at).ok_or(undecided)?;
        if self.enters_undecided_loop(at)? {
            return Ok(Outcome::GoesOn);
        }
        let active = self.state.frames.active();
        if op.control == ControlEffect::End {
            self.state.frames.exit();
            return Ok(Outcome::GoesOn);
        }
        match (&op.control, op.condition.guard) {
            (
                ControlEffect::Branch {
                    to: ControlTarget::Op(to),
                    reconvergence: meet,
                },
                Some(guard),
            ) if !op.condition.tests_cc() => {
                let mut taken = 0;
                for lane in lanes_of(active) {
                    match self.value(guard, lane) {
                        Some(value) if (value == 0) == op.condition.negated => taken |= 1 << lane,
                        Some(_) => {}
                        None => return self.unknown_branch(at, *meet),
                    }
                }
                self.count(at);
                let order = self.lanes.order;
                let reconvergence = meet.map(|at| at.0);
                self.state
                    .frames
                    .branch(taken, to.0, at.0 + 1, reconvergence, order);
            }
            (ControlEffect::Jump(ControlTarget::Op(to)), None) if op.condition.is_always() => {
                self.count(at);
                self.state.frames.advance(to.0);
            }
            (ControlEffect::Reconverge, None) => {
                self.count(at);
                self.state.frames.reconverge(at.0, at.0 + 1);
            }
            (ControlEffect::Next, None) if op.condition.is_always() => {
                self.count(at);
                self.data(at)?;
                self.state.frames.advance(at.0 + 1);
            }
            _ => return Err(undecided),
        }
        Ok(Outcome::GoesOn)
    }

    fn count(&mut self, at: OpIndex) {
        let epoch = &mut self.state.epoch;
        epoch.issues = epoch.issues.saturating_add(1);
        epoch.stalls = epoch.stalls.saturating_add((self.outliner.waits)(at));
    }

    fn value(&self, cell: Cell, lane: usize) -> Option<u32> {
        let at = cell.index() * self.lanes.count as usize + lane;
        self.state.values.get(at).copied().flatten()
    }

    fn set(&mut self, cell: Cell, lane: usize, value: Option<u32>) {
        let at = cell.index() * self.lanes.count as usize + lane;
        if let Some(slot) = self.state.values.get_mut(at) {
            *slot = value;
        }
    }

    fn evaluate(&self, expr: &Expr, lane: usize) -> Option<u32> {
        match expr {
            Expr::Const(n) => Some(*n),
            Expr::Cell(cell) => self.value(*cell, lane),
            Expr::ThreadId => Some(self.lanes.first.wrapping_add(lane as u32)),
            Expr::Constant(..) | Expr::Special(_) | Expr::Float(..) => None,
            Expr::Unary(op, a) => Some(op.apply(self.evaluate(a, lane)?)),
            // A division by zero stops every run, so anything may be said of what follows.
            Expr::Binary(op, a, b) => op.apply(self.evaluate(a, lane)?, self.evaluate(b, lane)?),
            Expr::Ternary(op, a, b, c) => Some(op.apply(
                self.evaluate(a, lane)?,
                self.evaluate(b, lane)?,
                self.evaluate(c, lane)?,
            )),
        }
    }

    /// The data effect of an operation, and its barrier.
    fn data(&mut self, at: OpIndex) -> Result<(), Undecided> {
        let code = self.outliner.code;
        let Some(op) = code.get(at) else {
            return Ok(());
        };
        let active = self.state.frames.active();
        match &op.meaning {
            Some(Meaning::Set(writes)) => {
                for lane in lanes_of(active) {
                    // All of them read the state before.
                    let values: SmallVec<[_; 2]> = writes
                        .iter()
                        .map(|(dest, value)| (*dest, self.evaluate(value, lane)))
                        .collect();
                    for (dest, value) in values {
                        self.set(dest, lane, value);
                    }
                }
            }
            Some(Meaning::Barrier {
                number,
                threads,
                arrival: warpbound_ir::BarrierArrival::Wait,
            }) => {
                let mut found = None;
                for lane in lanes_of(active) {
                    let number = self.evaluate(number, lane).ok_or(Undecided { at })?;
                    let threads = self.evaluate(threads, lane).ok_or(Undecided { at })?;
                    // Lanes that do not agree stop the run.
                    if *found.get_or_insert((number, threads)) != (number, threads) {
                        return Err(Undecided { at });
                    }
                }
                let (number, threads) = found.ok_or(Undecided { at })?;
                let mut epoch = std::mem::take(&mut self.state.epoch);
                epoch.barrier = Some(EpochArrival {
                    at: at.0,
                    number,
                    expected: i64::from(threads as i32),
                    lanes: active.count_ones(),
                });
                self.state.outline.epochs.push(epoch);
            }
            None if op.barrier => return Err(Undecided { at }),
            Some(_) | None => {
                for &cell in &op.writes {
                    for lane in lanes_of(active) {
                        self.set(cell, lane, None);
                    }
                }
            }
        }
        Ok(())
    }

    /// A loop that data decide is left to others as a whole, from where the warp comes to it; then the warp is
    /// past it, and the result is true.
    ///
    /// Where `at` is also the meeting point of a branch before the loop, the lanes come to it in parts and iterate
    /// together, so the loop begins when the last part is there.
    fn enters_undecided_loop(&mut self, at: OpIndex) -> Result<bool, Undecided> {
        let undecided = &self.outliner.undecided;
        let outermost = self
            .outliner
            .loops_around(at)
            .filter(|index| undecided.contains(index))
            .last();
        let Some(index) = outermost else {
            return Ok(false);
        };
        if self.state.frames.reconverges_at(at.0) {
            self.count(at);
            // The lanes go on at the meeting point itself: it belongs to the loop.
            self.state.frames.reconverge(at.0, at.0);
            return Ok(true);
        }
        let region = self.region_of_loop(at, index);
        self.skip(region.ok_or(Undecided { at })?, at)?;
        Ok(true)
    }

    /// Unknown values decide the branch at `at`.
    fn unknown_branch(&mut self, at: OpIndex, meet: Option<OpIndex>) -> Result<Outcome, Undecided> {
        // A branch that stays in all loops around it can be skipped alone; one that may leave a loop takes the
        // whole loop with it, from where the warp came to it.
        let loops = &self.outliner.loops;
        let left = self.outliner.loops_around(at).filter(|&index| {
            let body = loops.get(index);
            meet.is_none_or(|meet| !body.contains(meet.index()))
        });
        match left.last() {
            Some(outermost) => {
                self.outliner.undecided.insert(outermost);
                Ok(Outcome::Again)
            }
            None => {
                self.skip(Region { from: at, meet }, at)?;
                Ok(Outcome::GoesOn)
            }
        }
    }

    /// A loop from `at` to the point at which all lanes meet that come to it.
    fn region_of_loop(&self, at: OpIndex, index: LoopIndex) -> Option<Region> {
        let body = self.outliner.loops.get(index);
        let mut point = self.outliner.post.immediate(at.index());
        while let Some(inside) = point
            && body.contains(inside)
        {
            point = self.outliner.post.immediate(inside);
        }
        let code = self.outliner.code;
        let op = code.ops.get(point?);
        let meet = match op.map(|op| &op.control) {
            Some(ControlEffect::Reconverge) => Some(OpIndex(point? as u32)),
            Some(ControlEffect::End) | None => None,
            Some(_) => return None,
        };
        Some(Region { from: at, meet })
    }

    /// Leaves a region to others, and goes on behind it.
    fn skip(&mut self, region: Region, at: OpIndex) -> Result<(), Undecided> {
        let undecided = Undecided { at };
        let active = self.state.frames.active();
        let inside = self.operations(region);
        // The region is bounded for the active lanes, so no others may become active in it: the meeting points of
        // pending branches lie after it, or at its end.
        let mut pending = self.state.frames.frames().iter();
        if pending.any(|frame| {
            let meets = frame.reconvergence.map(OpIndex);
            meets != region.meet && meets.is_some_and(|meets| inside.contains(&meets.index()))
        }) {
            return Err(undecided);
        }
        let code = self.outliner.code;
        let ops = inside.iter().filter_map(|&at| code.ops.get(at));
        if ops.clone().any(|op| op.barrier) {
            return Err(undecided);
        }
        let written: BTreeSet<Cell> = ops.flat_map(|op| op.writes.iter().copied()).collect();
        let cost = (self.outliner.region)(region, active.count_ones()).ok_or(undecided)?;
        let epoch = &mut self.state.epoch;
        epoch.issues = epoch.issues.saturating_add(cost.issues);
        epoch.stalls = epoch.stalls.saturating_add(cost.stalls);
        self.state.outline.exact = false;
        for cell in written {
            for lane in lanes_of(active) {
                self.set(cell, lane, None);
            }
        }
        match region.meet {
            Some(meet) => self.state.frames.reconverge(meet.0, meet.0 + 1),
            None => self.state.frames.exit(),
        }
        Ok(())
    }

    /// The operations of a region.
    fn operations(&self, region: Region) -> BTreeSet<usize> {
        let code = self.outliner.code;
        let mut found = BTreeSet::new();
        let mut pending = vec![region.from.index()];
        while let Some(at) = pending.pop() {
            if !found.insert(at) || region.meet.is_some_and(|meet| meet.index() == at) {
                continue;
            }
            let Some(op) = code.ops.get(at) else { continue };
            match &op.control {
                ControlEffect::Jump(ControlTarget::Op(to)) => {
                    pending.push(to.index());
                    if !op.condition.is_always() {
                        pending.push(at + 1);
                    }
                }
                ControlEffect::Branch {
                    to: ControlTarget::Op(to),
                    ..
                } => pending.extend([to.index(), at + 1]),
                ControlEffect::End | ControlEffect::Exit => {}
                _ => pending.push(at + 1),
            }
        }
        found
    }
}

fn lanes_of(mut mask: Mask) -> impl Iterator<Item = usize> {
    std::iter::from_fn(move || {
        let lane = mask.trailing_zeros() as usize;
        (mask != 0).then(|| {
            mask &= mask - 1;
            lane
        })
    })
}
