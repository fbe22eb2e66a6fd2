//! Warp profiles: bounds on the issues and stalls of one warp of a launch, epoch by epoch (SOUNDNESS 6.3).
//!
//! The warp is executed by the rules of synchronisation frames ([`warpbound_simt::frame_stack`]) with values that are
//! either known, because they follow from the launch and the thread's number, or unknown, because they come from
//! memory. Where an unknown value decides a branch, the region up to its reconvergence point is bounded by the caller
//! ([`RegionCost`]), and the cells that it may write are unknown after it. So the profile holds for all contents
//! of the memory.
//!
//! Sound counterpart of the abstract warp of `abstract-cta-2014` 3.2.

use std::collections::BTreeSet;

use smallvec::{SmallVec, smallvec};
use warpbound_graph::{Digraph, Dominators, LoopForest, LoopIndex};
use warpbound_ir::{
    BinaryOp, Cell, Code, ControlEffect, ControlTarget, Expr, Meaning, Op, OpIndex, TernaryOp,
    UnaryOp, ValueDomain, eval,
};
use warpbound_simt::epochs::{Epoch, EpochArrival};
use warpbound_simt::frame_stack::FrameStack;
use warpbound_simt::warp::DivergenceOrder;
use warpbound_simt::{ControlTransfer, ExecutionModel, Mask, lanes_of, lowest_lanes};

/// Single-entry part of a code, from an operation to the point where all lanes that enter it together reconverge.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Region {
    /// First operation.
    pub from: OpIndex,
    /// Reconvergence point, which belongs to the region; `None` is the end of the kernel.
    pub reconvergence: Option<OpIndex>,
}

/// Bound on one execution of a region by a warp.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct RegionCost {
    /// Maximum number of instructions that it issues.
    pub issues: u64,
    /// Maximum number of stall cycles after them, beyond the cycle of each issue.
    pub stalls: u64,
}

/// Profile of a warp: its epochs.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct WarpProfile {
    /// Epochs in order; one more than the barriers that the warp executes.
    pub epochs: Vec<Epoch>,
    /// Whether every run has these numbers: no region was bounded.
    pub exact: bool,
}

/// Failure of a profile: it depends on data at a place that no region covers, or takes too many steps.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Undecided {
    /// Operation at which the profile ends.
    pub at: OpIndex,
}

/// Warp to be profiled.
#[derive(Clone, Copy, Debug)]
pub struct ProfiledWarp<'a> {
    /// Number of its first thread.
    pub first: u32,
    /// Threads, at most 64.
    pub count: u32,
    /// Cells that do not begin with 0, with their value in all threads.
    pub cells: &'a [(Cell, u32)],
    /// Side of a divergent branch that runs first.
    pub order: DivergenceOrder,
}

/// Profiler of the warps of one code.
pub struct WarpProfiler<'a> {
    code: &'a Code,
    /// Maximum number of stall cycles between the issue of an operation and the next of its warp.
    waits: &'a dyn Fn(OpIndex) -> u64,
    region: &'a dyn Fn(Region, u32) -> Option<RegionCost>,
    loops: LoopForest,
    post: Dominators,
    cells: usize,
    /// Data-dependent loops found so far.
    undecided: BTreeSet<LoopIndex>,
    steps_left: u64,
}

impl<'a> WarpProfiler<'a> {
    /// A profiler of `code`, for at most `steps` instructions of lanes in all profiles together. `waits` gives the
    /// stall cycles after an instruction; `region` bounds the execution of a region by a number of lanes with any
    /// values.
    pub fn new(
        code: &'a Code,
        waits: &'a dyn Fn(OpIndex) -> u64,
        region: &'a dyn Fn(Region, u32) -> Option<RegionCost>,
        steps: u64,
    ) -> WarpProfiler<'a> {
        let mut edges = Vec::new();
        let mut exits = Vec::new();
        for (at, op) in code.ops.iter().enumerate() {
            match successors(at, op) {
                Some(next) if next.is_empty() => exits.push(at),
                Some(next) => edges.extend(next.into_iter().map(|to| (at, to))),
                // A profile that reaches the operation is undecided.
                None => edges.push((at, at + 1)),
            }
        }
        let graph = Digraph::new(code.ops.len(), edges);
        let cells_of = |op: &Op| {
            let cells = op.reads.iter().chain(&op.writes).copied();
            cells
                .chain(op.condition.guard)
                .map(|cell| cell.index() + 1)
                .max()
        };
        WarpProfiler {
            loops: LoopForest::build(&graph, code.entry.index()),
            post: Dominators::compute_post(&graph, exits),
            cells: code.ops.iter().filter_map(cells_of).max().unwrap_or(0),
            undecided: BTreeSet::new(),
            steps_left: steps,
            code,
            waits,
            region,
        }
    }

    /// Computes the profile of a warp.
    ///
    /// # Errors
    ///
    /// [`Undecided`] if the warp depends on data and `region` gives no bound, or the steps are used up.
    pub fn profile(&mut self, lanes: &ProfiledWarp<'_>) -> Result<WarpProfile, Undecided> {
        'again: loop {
            // Each restart is for one more data-dependent loop, so the number of loops limits the restarts.
            let mut run = Run::new(self, lanes);
            while let Some((at, active)) = run.state.frames.running() {
                if run.step(at, active)? == ProfileStep::Restart {
                    continue 'again;
                }
            }
            run.state.profile.epochs.push(run.state.epoch);
            return Ok(run.state.profile);
        }
    }

    /// The loops that contain an operation, innermost first.
    fn loops_around(&self, at: OpIndex) -> impl Iterator<Item = LoopIndex> {
        let innermost = self.loops.innermost(at.index());
        std::iter::successors(innermost, |&index| self.loops.get(index).parent)
    }
}

/// State of the profiled warp, and its profile so far.
struct State {
    frames: FrameStack<u32>,
    /// Values by cell, then by lane; `None` is unknown.
    values: Vec<Option<u32>>,
    profile: WarpProfile,
    epoch: Epoch,
}

/// Result of a step of the profiled warp.
#[derive(Clone, Copy, PartialEq, Eq)]
enum ProfileStep {
    Continue,
    /// A loop that was already entered turned out to be data-dependent.
    Restart,
}

/// Domain of the values of one lane of the profiled warp.
struct ProfiledLane<'l, 'r, 'a> {
    run: &'l Run<'r, 'a>,
    lane: usize,
}

impl ValueDomain for ProfiledLane<'_, '_, '_> {
    type Value = u32;

    #[inline]
    fn constant(&mut self, value: u32) -> Option<u32> {
        Some(value)
    }

    #[inline]
    fn cell(&mut self, cell: Cell) -> Option<u32> {
        self.run.value(cell, self.lane)
    }

    #[inline]
    fn thread_id(&mut self) -> Option<u32> {
        Some(self.run.lanes.first.wrapping_add(self.lane as u32))
    }

    #[inline]
    fn unary(&mut self, op: UnaryOp, a: u32) -> Option<u32> {
        Some(op.apply(a))
    }

    #[inline]
    fn binary(&mut self, op: BinaryOp, a: u32, b: u32) -> Option<u32> {
        // `None` for a division by zero, which ends every run.
        op.apply(a, b)
    }

    #[inline]
    fn ternary(&mut self, op: TernaryOp, [a, b, c]: [u32; 3]) -> Option<u32> {
        Some(op.apply(a, b, c))
    }
}

struct Run<'r, 'a> {
    profiler: &'r mut WarpProfiler<'a>,
    lanes: ProfiledWarp<'r>,
    state: State,
}

impl<'r, 'a> Run<'r, 'a> {
    fn new(profiler: &'r mut WarpProfiler<'a>, lanes: &ProfiledWarp<'r>) -> Run<'r, 'a> {
        // A mask of lanes has 64 bits.
        let count = lanes.count.clamp(1, 64);
        let width = count as usize;
        let mut values = vec![Some(0); profiler.cells * width];
        for &(cell, value) in lanes.cells {
            let row = cell.index() * width;
            if let Some(row) = values.get_mut(row..row + width) {
                row.fill(Some(value));
            }
        }
        let state = State {
            frames: FrameStack::new(profiler.code.entry.0, lowest_lanes(count), lanes.order),
            values,
            profile: WarpProfile {
                exact: true,
                ..WarpProfile::default()
            },
            epoch: Epoch::default(),
        };
        Run {
            lanes: ProfiledWarp { count, ..*lanes },
            profiler,
            state,
        }
    }

    /// Executes the running operation in its active lanes.
    fn step(&mut self, at: u32, active: Mask) -> Result<ProfileStep, Undecided> {
        let at = OpIndex(at);
        let undecided = Undecided { at };
        let lanes = u64::from(active.count_ones());
        self.profiler.steps_left = self
            .profiler
            .steps_left
            .checked_sub(lanes)
            .ok_or(undecided)?;
        let code = self.profiler.code;
        let op = code.get(at).ok_or(undecided)?;
        // First: a loop known to depend on data is a region from the operation at which the warp enters it.
        if self.skip_undecided_loop(at)? {
            return Ok(ProfileStep::Continue);
        }
        if op.control == ControlEffect::End {
            self.apply(at, &ControlTransfer::Exit, active, at)?;
            return Ok(ProfileStep::Continue);
        }
        match (&op.control, op.condition.guard) {
            (
                ControlEffect::Branch {
                    to: ControlTarget::Op(to),
                    reconvergence: point,
                },
                Some(guard),
            ) if !op.condition.has_further_test() => {
                let mut taken = 0;
                for lane in lanes_of(active) {
                    match self.value(guard, lane) {
                        Some(value) if (value == 0) == op.condition.negated => taken |= 1 << lane,
                        Some(_) => {}
                        // One lane suffices: the bound of the region holds for any values of the active lanes.
                        None => return self.skip_unknown_branch(at, *point),
                    }
                }
                self.issue(at);
                let branch = ControlTransfer::Branch {
                    target: to.0,
                    reconvergence: point.map(|at| at.0),
                };
                self.apply(at, &branch, taken, at.next())?;
            }
            (ControlEffect::Jump(ControlTarget::Op(to)), None) if op.condition.is_always() => {
                self.issue(at);
                self.apply(at, &ControlTransfer::Jump(to.0), active, at.next())?;
            }
            (ControlEffect::Reconverge, None) => {
                self.issue(at);
                self.apply(at, &ControlTransfer::Reconverge, active, at.next())?;
            }
            (ControlEffect::Next, None) if op.condition.is_always() => {
                self.issue(at);
                self.execute_data(at)?;
                self.apply(at, &ControlTransfer::Next, active, at.next())?;
            }
            // Without a profile the warp is bounded as a whole (SOUNDNESS 6.3).
            _ => return Err(undecided),
        }
        Ok(ProfileStep::Continue)
    }

    /// Applies the control transfer of the operation at `at` to the frames; `next` is the point after it.
    fn apply(
        &mut self,
        at: OpIndex,
        transfer: &ControlTransfer<'_, u32>,
        taken: Mask,
        next: OpIndex,
    ) -> Result<(), Undecided> {
        match self.state.frames.apply(transfer, taken, next.0) {
            Ok(_) => Ok(()),
            Err(_) => Err(Undecided { at }),
        }
    }

    /// The active lanes.
    fn active(&self) -> Mask {
        let running = self.state.frames.running();
        running.map_or(0, |(_, active)| active)
    }

    /// Counts the issue of an operation and the stalls after it.
    fn issue(&mut self, at: OpIndex) {
        let epoch = &mut self.state.epoch;
        epoch.issues = epoch.issues.saturating_add(1);
        epoch.stalls = epoch.stalls.saturating_add((self.profiler.waits)(at));
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
        eval(expr, &mut ProfiledLane { run: self, lane })
    }

    /// Executes the data effect of an operation, barriers included.
    fn execute_data(&mut self, at: OpIndex) -> Result<(), Undecided> {
        let code = self.profiler.code;
        let Some(op) = code.get(at) else {
            return Ok(());
        };
        let active = self.active();
        match &op.meaning {
            Some(Meaning::Set(writes)) => {
                for lane in lanes_of(active) {
                    // All writes of an operation read the state before it.
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
                    // Block bounds need to know which barrier it is and for how many threads it waits (SOUNDNESS 6.2).
                    let number = self.evaluate(number, lane).ok_or(Undecided { at })?;
                    let threads = self.evaluate(threads, lane).ok_or(Undecided { at })?;
                    // Lanes with different operands fault in every run.
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
                self.state.profile.epochs.push(epoch);
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

    /// Skips the outermost data-dependent loop that contains `at`, if there is one, as a region from `at` on; returns
    /// whether the warp has moved.
    ///
    /// If `at` is also the reconvergence point of a branch before the loop, the lanes arrive in parts and iterate
    /// together, so the loop begins when the last part has arrived (SOUNDNESS 6.3).
    fn skip_undecided_loop(&mut self, at: OpIndex) -> Result<bool, Undecided> {
        let undecided = &self.profiler.undecided;
        let outermost = self
            .profiler
            .loops_around(at)
            .filter(|index| undecided.contains(index))
            .last();
        let Some(index) = outermost else {
            return Ok(false);
        };
        if self.state.frames.reconverges_at(at.0) {
            // Counted once for each part, and once more as the region's first operation (SOUNDNESS 6.3).
            self.issue(at);
            // The lanes continue at the reconvergence point itself: it belongs to the loop.
            let active = self.active();
            self.apply(at, &ControlTransfer::Reconverge, active, at)?;
            return Ok(true);
        }
        let region = self.region_of_loop(at, index);
        self.skip_region(region.ok_or(Undecided { at })?, at)?;
        Ok(true)
    }

    /// Skips the region of the branch at `at`, which depends on unknown values.
    fn skip_unknown_branch(
        &mut self,
        at: OpIndex,
        point: Option<OpIndex>,
    ) -> Result<ProfileStep, Undecided> {
        // A branch that reconverges in all loops around it is skipped alone. One that may leave a loop makes the
        // whole loop a region, which begins where the warp entered it: so the profile restarts.
        let loops = &self.profiler.loops;
        let left = self.profiler.loops_around(at).filter(|&index| {
            let body = loops.get(index);
            point.is_none_or(|point| !body.contains(point.index()))
        });
        match left.last() {
            Some(outermost) => {
                self.profiler.undecided.insert(outermost);
                Ok(ProfileStep::Restart)
            }
            None => {
                self.skip_region(
                    Region {
                        from: at,
                        reconvergence: point,
                    },
                    at,
                )?;
                Ok(ProfileStep::Continue)
            }
        }
    }

    /// The region of a loop entered at `at`: up to the first point after the loop at which all its lanes reconverge.
    fn region_of_loop(&self, at: OpIndex, index: LoopIndex) -> Option<Region> {
        let body = self.profiler.loops.get(index);
        let mut point = self.profiler.post.immediate(at.index());
        while let Some(inside) = point
            && body.contains(inside)
        {
            point = self.profiler.post.immediate(inside);
        }
        let code = self.profiler.code;
        let op = code.ops.get(point?);
        let point = match op.map(|op| &op.control) {
            Some(ControlEffect::Reconverge) => Some(OpIndex(point? as u32)),
            Some(ControlEffect::End) | None => None,
            // At any other operation lanes do not wait for each other, so it cannot end a region.
            Some(_) => return None,
        };
        Some(Region {
            from: at,
            reconvergence: point,
        })
    }

    /// Adds the bound of a region, and continues after it with all cells unknown that the region may write.
    fn skip_region(&mut self, region: Region, at: OpIndex) -> Result<(), Undecided> {
        let undecided = Undecided { at };
        let active = self.active();
        let inside = self.ops_in_region(region).ok_or(undecided)?;
        // The region is bounded for the active lanes, so no others may become active in it: the reconvergence points
        // of pending branches must lie after it, or at its end (SOUNDNESS 6.3).
        let mut pending = self.state.frames.frames().iter();
        if pending.any(|frame| {
            let point = frame.reconvergence.map(OpIndex);
            point != region.reconvergence
                && point.is_some_and(|point| inside.contains(&point.index()))
        }) {
            return Err(undecided);
        }
        let code = self.profiler.code;
        let ops = inside.iter().filter_map(|&at| code.ops.get(at));
        // A bound on a region does not say how often its barriers are executed, which the epochs need.
        if ops.clone().any(|op| op.barrier) {
            return Err(undecided);
        }
        let written: BTreeSet<Cell> = ops.flat_map(|op| op.writes.iter().copied()).collect();
        let cost = (self.profiler.region)(region, active.count_ones()).ok_or(undecided)?;
        let epoch = &mut self.state.epoch;
        epoch.issues = epoch.issues.saturating_add(cost.issues);
        epoch.stalls = epoch.stalls.saturating_add(cost.stalls);
        self.state.profile.exact = false;
        for cell in written {
            for lane in lanes_of(active) {
                self.set(cell, lane, None);
            }
        }
        // The reconvergence point belongs to the region, so its issue is part of the bound.
        match region.reconvergence {
            Some(point) => {
                self.apply(at, &ControlTransfer::Jump(point.0), active, point)?;
                self.apply(at, &ControlTransfer::Reconverge, active, point.next())
            }
            None => self.apply(at, &ControlTransfer::Exit, active, at),
        }
    }

    /// Operations of a region, its reconvergence point included; `None` if one of them has no known successors.
    fn ops_in_region(&self, region: Region) -> Option<BTreeSet<usize>> {
        let code = self.profiler.code;
        let mut found = BTreeSet::new();
        let mut worklist = vec![region.from.index()];
        while let Some(at) = worklist.pop() {
            if !found.insert(at)
                || region
                    .reconvergence
                    .is_some_and(|point| point.index() == at)
            {
                continue;
            }
            let Some(op) = code.ops.get(at) else { continue };
            worklist.extend(successors(at, op)?);
        }
        Some(found)
    }
}

/// Positions at which lanes can continue after an operation, none after the end; `None` if a profile does not follow
/// its control effect, or if its target is not in the code.
fn successors(at: usize, op: &Op) -> Option<SmallVec<[usize; 2]>> {
    let is_always = op.condition.is_always();
    match &op.control {
        ControlEffect::Next | ControlEffect::Reconverge => Some(smallvec![at + 1]),
        ControlEffect::Jump(ControlTarget::Op(to)) if is_always => Some(smallvec![to.index()]),
        ControlEffect::Jump(ControlTarget::Op(to))
        | ControlEffect::Branch {
            to: ControlTarget::Op(to),
            ..
        } => Some(smallvec![at + 1, to.index()]),
        ControlEffect::End => Some(SmallVec::new()),
        ControlEffect::Exit if is_always => Some(SmallVec::new()),
        ControlEffect::Jump(_)
        | ControlEffect::Branch { .. }
        | ControlEffect::SetActive(_)
        | ControlEffect::Indirect { .. }
        | ControlEffect::Call(_)
        | ControlEffect::Push(..)
        | ControlEffect::Pop(_)
        | ControlEffect::LinkedCall(_)
        | ControlEffect::LinkedIndirect { .. }
        | ControlEffect::Return { .. }
        | ControlEffect::OpenBarrier(..)
        | ControlEffect::JoinBarrier(_)
        | ControlEffect::BreakBarrier(_)
        | ControlEffect::SaveBarrier(..)
        | ControlEffect::WriteBarrier { .. }
        | ControlEffect::Release
        | ControlEffect::Collective(_)
        | ControlEffect::FreeJump(_)
        | ControlEffect::Exit
        | ControlEffect::Unsupported(_) => None,
    }
}
