//! Convergence barriers: the regions that BSSY opens and BSYNC closes, and which of them join lanes for certain
//! (SOUNDNESS 21).
//!
//! For a lane, BSSY, BSYNC and BREAK change nothing but the list of the barriers that it takes part in. Warps follow the
//! rules of a stack, with an entry for each open barrier, if that list is the same along all paths of a lane
//! (*nesting*). For example, `BSSY B0, L; @P0 BRA M; …; M: BSYNC B0; L:` has one list at each instruction: `B0` after the
//! BSSY, nothing after the BSYNC.
//!
//! A region that may be left early is *demoted*: its BSSY and BSYNC are taken for instructions without effect, so
//! that no lanes are joined there. That is sound for any region of nested code, because later joins only add steps.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use warpbound_ir::{Cell, Code, ControlEffect, ControlTarget, ExecCondition, Op, OpIndex};
use warpbound_simt::NodeId;
use warpbound_simt::warp::WarpStep;

use crate::program_space::ProgramSpace;
use crate::refusal::{Reason, Refusal};

/// Reason for taking no account of a region.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Demotion {
    /// YIELD, NANOSLEEP or WARPSYNC may let lanes leave it before the others.
    Release,
    /// Lanes leave it by BREAK, and run on.
    Break,
    /// End at an instruction that ends a demoted region.
    SharedEnd,
    /// End at an instruction that ends a region of another barrier, too.
    OtherBarrier,
}

/// Regions of convergence barriers, each by the operation that opens it.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct ConvergenceRegions {
    /// For each region, the operations that close it.
    pub ends: BTreeMap<OpIndex, BTreeSet<OpIndex>>,
    /// Regions that are demoted.
    pub demoted: BTreeMap<OpIndex, Demotion>,
}

impl ConvergenceRegions {
    /// Whether code has convergence barriers.
    pub fn exist_in(code: &Code) -> bool {
        let opens = |op: &Op| matches!(op.control, ControlEffect::OpenBarrier(..));
        code.ops.iter().any(opens)
    }

    /// Finds the regions, on the graph of a lane that ignores barriers: from its first node along its steps.
    ///
    /// # Errors
    ///
    /// A refusal if the barriers are not nested, so that no claim holds about the lanes that BSYNC joins.
    pub(crate) fn find(
        code: &Code,
        space: &ProgramSpace,
        entry: NodeId,
        steps: &[Vec<WarpStep>],
    ) -> Result<ConvergenceRegions, Refusal> {
        let mut walk = Walk {
            code,
            space,
            regions: ConvergenceRegions::default(),
        };
        let mut lists: BTreeMap<NodeId, Frames> = BTreeMap::new();
        let mut pending = VecDeque::from([(entry, Frames::of_kernel())]);
        while let Some((node, frames)) = pending.pop_front() {
            let frames = match lists.get(&node) {
                None => frames,
                Some(known) => match known.meet(&frames) {
                    Some(met) if met == *known => continue,
                    Some(met) => met,
                    None => {
                        let what = format!("barriers {known} on one path, {frames} on another");
                        return Err(walk.refuse(space.block(node).first, what));
                    }
                },
            };
            let (after, broken) = walk.execute(node, frames.clone())?;
            if walk.calls_outside(node, steps) {
                walk.demote_open(&after);
            }
            lists.insert(node, frames);
            for step in steps.get(node.index()).into_iter().flatten() {
                if let Some(to) = step.to {
                    pending.push_back((to, walk.step(node, to, after.clone(), &broken)?));
                }
            }
        }
        let mut regions = walk.regions;
        regions.demote_ends_of_several_barriers(code);
        regions.demote_shared_ends();
        Ok(regions)
    }

    /// Numbers of the barriers with which the regions were opened that an operation ends.
    fn opened_as(&self, code: &Code) -> BTreeMap<OpIndex, BTreeSet<u8>> {
        let mut numbers: BTreeMap<OpIndex, BTreeSet<u8>> = BTreeMap::new();
        for (region, ends) in &self.ends {
            if let Some(ControlEffect::OpenBarrier(barrier, _)) =
                code.get(*region).map(|op| &op.control)
            {
                for end in ends {
                    numbers.entry(*end).or_default().insert(*barrier);
                }
            }
        }
        numbers
    }

    /// Effects of the operations of the code on the entries of a warp.
    pub(crate) fn effects(&self, code: &Code) -> BarrierEffects {
        let ended = self.opened_as(code).into_iter();
        BarrierEffects {
            ignored: self.ignored(),
            ended: ended
                .filter_map(|(end, numbers)| Some((end, numbers.into_iter().next()?)))
                .collect(),
        }
    }

    /// Demotes the regions that end where one of another barrier does, so that each BSYNC has entries of one barrier.
    fn demote_ends_of_several_barriers(&mut self, code: &Code) {
        let several = self.opened_as(code).into_iter();
        let several = several.filter(|(_, numbers)| numbers.len() > 1);
        let several: BTreeSet<OpIndex> = several.map(|(end, _)| end).collect();
        for (region, ends) in &self.ends {
            if !ends.is_disjoint(&several) {
                self.demoted
                    .entry(*region)
                    .or_insert(Demotion::OtherBarrier);
            }
        }
    }

    /// Operations of demoted regions, which have no effect.
    pub(crate) fn ignored(&self) -> BTreeSet<OpIndex> {
        let ends = self
            .demoted
            .keys()
            .filter_map(|region| self.ends.get(region));
        self.demoted.keys().chain(ends.flatten()).copied().collect()
    }

    /// Demotes the regions that end where a demoted one does, because an operation closes all of them or none.
    fn demote_shared_ends(&mut self) {
        loop {
            let ignored = self.ignored();
            let also = self.ends.iter().find(|(region, ends)| {
                !self.demoted.contains_key(region) && !ends.is_disjoint(&ignored)
            });
            let Some((&region, _)) = also else { return };
            self.demoted.insert(region, Demotion::SharedEnd);
        }
    }
}

/// Effects of convergence barriers on the entries of a warp with a stack (SOUNDNESS 21.2).
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct BarrierEffects {
    /// Operations of demoted regions, which have no effect.
    pub ignored: BTreeSet<OpIndex>,
    /// For each operation that ends regions, the barrier that opened them. Code may have moved it into another one
    /// since.
    pub ended: BTreeMap<OpIndex, u8>,
}

/// Barriers of a function that runs, and of its callers.
#[derive(Clone, PartialEq, Eq, Debug)]
struct Frames(Vec<Frame>);

/// Barriers of one call of a function.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
struct Frame {
    /// Open barriers, outermost first: number, and the operation that opened it.
    open: Vec<(u8, OpIndex)>,
    /// Barriers that the function moved into registers, in this order. Deep code uses a number again and again.
    saved: Vec<SavedBarrier>,
}

/// Barrier in a register.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct SavedBarrier {
    barrier: u8,
    /// Open barriers of the function when it was moved.
    open: usize,
    /// The register, as long as nothing else was written to it.
    register: Option<Cell>,
}

impl Frame {
    /// Position of the innermost region of a barrier, unless the barrier was moved into a register since.
    fn position(&self, barrier: u8) -> Option<usize> {
        let at = self.open.iter().rposition(|(open, _)| *open == barrier)?;
        let saved = self
            .last_saved(barrier)
            .map(|position| self.saved[position].open);
        saved.is_none_or(|open| at >= open).then_some(at)
    }

    /// Position among the saved barriers of the last one with a number.
    fn last_saved(&self, barrier: u8) -> Option<usize> {
        self.saved
            .iter()
            .rposition(|saved| saved.barrier == barrier)
    }

    /// Puts a barrier of the function from a register into another barrier than it came from. Returns whether the
    /// register has one whose region is open.
    fn move_from(&mut self, register: Cell, to: u8) -> bool {
        let position = self
            .saved
            .iter()
            .rposition(|saved| saved.register == Some(register));
        let Some(position) = position else {
            return false;
        };
        let saved = self.saved[position];
        // Regions that were open when the barrier was moved may have ended since.
        let until = saved.open.min(self.open.len());
        let of_number = |(open, _): &(u8, OpIndex)| *open == saved.barrier;
        let Some(region) = self.open[..until].iter().rposition(of_number) else {
            return false;
        };
        self.open[region].0 = to;
        self.saved.remove(position);
        true
    }
}

impl Frames {
    fn of_kernel() -> Frames {
        Frames(vec![Frame::default()])
    }

    /// Whether a barrier is open, and not in a register.
    fn is_open(&self, barrier: u8) -> bool {
        let mut inner = self.0.iter().rev();
        let mut is_saved = false;
        inner.any(|frame| {
            let is_open = !is_saved && frame.position(barrier).is_some();
            is_saved |= frame.last_saved(barrier).is_some();
            is_open
        })
    }
}

impl Frames {
    /// Barriers on both of two paths, if they are the same but for what is known of registers.
    fn meet(&self, other: &Frames) -> Option<Frames> {
        let mut met = self.clone();
        let mut are_equal = self.0.len() == other.0.len();
        for (own, other) in met.0.iter_mut().zip(&other.0) {
            are_equal &= own.open == other.open && own.saved.len() == other.saved.len();
            for (own, other) in own.saved.iter_mut().zip(&other.saved) {
                are_equal &= (own.barrier, own.open) == (other.barrier, other.open);
                own.register = own.register.filter(|_| own.register == other.register);
            }
        }
        are_equal.then_some(met)
    }

    /// Forgets which barriers are in registers that an operation writes.
    fn overwrite(&mut self, op: &Op) {
        for saved in self
            .0
            .last_mut()
            .into_iter()
            .flat_map(|frame| &mut frame.saved)
        {
            let is_kept = |register: &Cell| !op.writes.contains(register);
            saved.register = saved.register.filter(is_kept);
        }
    }

    /// Takes a lane out of the innermost region of a barrier of the running function.
    fn leave(&mut self, barrier: u8) {
        if let Some(frame) = self.0.last_mut()
            && let Some(at) = frame.position(barrier)
        {
            frame.open.remove(at);
            for saved in &mut frame.saved {
                saved.open -= usize::from(saved.open > at);
            }
        }
    }
}

impl std::fmt::Display for Frames {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let open = self.0.iter().flat_map(|frame| &frame.open);
        let names: Vec<String> = open.map(|(barrier, _)| format!("B{barrier}")).collect();
        match names.is_empty() {
            true => f.write_str("none"),
            false => f.write_str(&names.join(" ")),
        }
    }
}

/// Barrier that some lanes of a node leave.
struct Broken {
    at: OpIndex,
    barrier: u8,
    condition: ExecCondition,
}

/// Walk along the paths of a lane.
struct Walk<'a> {
    code: &'a Code,
    space: &'a ProgramSpace,
    regions: ConvergenceRegions,
}

impl Walk<'_> {
    fn refuse(&self, at: OpIndex, what: String) -> Refusal {
        Refusal {
            at: self.code.get(at).map(|op| op.addr).unwrap_or_default(),
            reason: Reason::BarriersNotNested(what),
        }
    }

    /// Barriers after the operations of a node, and those that the lanes break which take one side of the branch at
    /// its end.
    ///
    /// Compilers emit `@P0 BREAK B1; …; @P0 BRA L`: the lanes that break are those that jump.
    fn execute(
        &mut self,
        node: NodeId,
        mut frames: Frames,
    ) -> Result<(Frames, Vec<Broken>), Refusal> {
        let mut broken: Vec<Broken> = Vec::new();
        for at in self.space.block(node).ops() {
            let Some(op) = self.code.get(at) else {
                continue;
            };
            let is_changed = |broken: &Broken| {
                let guard = broken.condition.guard;
                guard.is_some_and(|guard| op.writes.contains(&guard))
            };
            if broken.iter().any(is_changed) {
                return Err(self.refuse(
                    at,
                    "a BREAK whose guard changes before its branch".to_owned(),
                ));
            }
            frames.overwrite(op);
            match op.control {
                ControlEffect::BreakBarrier(barrier) => {
                    let region = self.break_region(at, barrier, &frames)?;
                    self.demote(region, Demotion::Break);
                    match op.condition.is_always() {
                        true => frames.leave(barrier),
                        false => broken.push(Broken {
                            at,
                            barrier,
                            condition: op.condition,
                        }),
                    }
                }
                _ => self.apply(at, op, &mut frames)?,
            }
        }
        Ok((frames, broken))
    }

    /// Region of a barrier that lanes leave.
    fn break_region(&self, at: OpIndex, barrier: u8, frames: &Frames) -> Result<OpIndex, Refusal> {
        let region = frames.0.last().and_then(|frame| {
            let at = frame.position(barrier)?;
            frame.open.get(at)
        });
        match region {
            Some((_, region)) => Ok(*region),
            None => Err(self.refuse(at, format!("BREAK of B{barrier}, which is not open"))),
        }
    }

    /// Whether a node ends with the call of a function outside the code, which may release barriers: the lane goes on after
    /// the call.
    fn calls_outside(&self, node: NodeId, steps: &[Vec<WarpStep>]) -> bool {
        let last = self.space.block(node).last;
        let is_call = self.code.get(last).is_some_and(|op| {
            let control = &op.control;
            matches!(
                control,
                ControlEffect::LinkedCall(_) | ControlEffect::LinkedIndirect { .. }
            )
        });
        let steps = steps.get(node.index()).into_iter().flatten();
        let mut targets = steps.filter_map(|step| step.to);
        is_call && targets.any(|to| self.space.block(to).first == last.next())
    }

    /// Demotes all open regions.
    fn demote_open(&mut self, frames: &Frames) {
        let open = frames.0.iter().flat_map(|frame| &frame.open);
        let regions: Vec<OpIndex> = open.map(|(_, region)| *region).collect();
        for region in regions {
            self.demote(region, Demotion::Release);
        }
    }

    fn apply(&mut self, at: OpIndex, op: &Op, frames: &mut Frames) -> Result<(), Refusal> {
        match &op.control {
            ControlEffect::OpenBarrier(barrier, target) => {
                self.check_unconditional(at, op)?;
                if frames.is_open(*barrier) {
                    return Err(self.refuse(at, format!("B{barrier} is open already")));
                }
                if !matches!(target, ControlTarget::Op(_)) {
                    return Err(self.refuse(at, "a region that ends outside the code".to_owned()));
                }
                if let Some(frame) = frames.0.last_mut() {
                    frame.open.push((*barrier, at));
                }
                self.regions.ends.entry(at).or_default();
            }
            ControlEffect::JoinBarrier(barrier) => {
                self.check_unconditional(at, op)?;
                let frame = frames.0.last_mut().filter(|frame| {
                    let at = frame.position(*barrier);
                    at.is_some_and(|at| at + 1 == frame.open.len())
                });
                match frame.and_then(|frame| frame.open.pop()) {
                    Some((_, region)) if self.resumes(region, at.next()) => {
                        self.regions.ends.entry(region).or_default().insert(at);
                    }
                    _ => {
                        let what = format!("BSYNC B{barrier} does not end the innermost region");
                        return Err(self.refuse(at, what));
                    }
                }
            }
            ControlEffect::Release | ControlEffect::Collective(_) => {
                self.demote_open(frames);
            }
            ControlEffect::SaveBarrier(barrier, to) => {
                self.check_unconditional(at, op)?;
                self.save(at, *barrier, *to, frames)?;
            }
            ControlEffect::WriteBarrier {
                barrier,
                source,
                cleared,
            } => {
                self.check_unconditional(at, op)?;
                self.write_barrier(at, *barrier, *source, *cleared, frames)?;
            }
            ControlEffect::Return { .. } => {
                let own = frames.0.last();
                if own.is_some_and(|frame| !frame.open.is_empty() || !frame.saved.is_empty()) {
                    return Err(self.refuse(at, "a return inside a region".to_owned()));
                }
            }
            _ => {}
        }
        Ok(())
    }

    /// Restores a saved barrier, or writes one that no region holds.
    fn write_barrier(
        &self,
        at: OpIndex,
        barrier: u8,
        source: Option<Cell>,
        cleared: Option<u8>,
        frames: &mut Frames,
    ) -> Result<(), Refusal> {
        let own = frames.0.last_mut();
        // A region that was opened since would lose its barrier.
        let is_restored = own.is_some_and(|frame| {
            let saved = frame.last_saved(barrier);
            let fits = source.is_some() && cleared.is_none();
            match saved.filter(|_| fits && frame.position(barrier).is_none()) {
                Some(position) => {
                    frame.saved.remove(position);
                    true
                }
                None => false,
            }
        });
        if is_restored {
            return Ok(());
        }
        let mut written = [Some(barrier), cleared].into_iter().flatten();
        if written.any(|barrier| frames.is_open(barrier)) {
            return Err(self.refuse(at, format!("BMOV writes B{barrier}, which is open")));
        }
        if let (Some(register), None) = (source, cleared)
            && let Some(frame) = frames.0.last_mut()
        {
            frame.move_from(register, barrier);
        }
        Ok(())
    }

    /// Moves a barrier into a register, or drops it.
    fn save(
        &self,
        at: OpIndex,
        barrier: u8,
        register: Option<Cell>,
        frames: &mut Frames,
    ) -> Result<(), Refusal> {
        let is_open = frames.is_open(barrier);
        match (register, frames.0.last_mut()) {
            (Some(_), Some(frame)) => {
                frame.saved.push(SavedBarrier {
                    barrier,
                    open: frame.open.len(),
                    register,
                });
                Ok(())
            }
            (None, _) if !is_open => Ok(()),
            _ => Err(self.refuse(at, format!("BMOV clears B{barrier}"))),
        }
    }

    /// Barriers after a step: a call begins with none of its own, and lanes that break leave their barriers.
    fn step(
        &self,
        from: NodeId,
        to: NodeId,
        mut frames: Frames,
        broken: &[Broken],
    ) -> Result<Frames, Refusal> {
        let last = self.space.block(from).last;
        for broken in broken {
            if self.takes_broken_side(from, to, broken)? {
                frames.leave(broken.barrier);
            }
        }
        let is_other_context = self.space.node(from).context != self.space.node(to).context;
        match self.code.get(last).map(|op| &op.control) {
            Some(ControlEffect::LinkedCall(_) | ControlEffect::LinkedIndirect { .. })
                if is_other_context =>
            {
                frames.0.push(Frame::default());
            }
            Some(ControlEffect::Return { .. }) if is_other_context => {
                frames.0.pop();
            }
            _ => {}
        }
        Ok(frames)
    }

    /// Whether a step is the one of the lanes that broke a barrier.
    fn takes_broken_side(
        &self,
        from: NodeId,
        to: NodeId,
        broken: &Broken,
    ) -> Result<bool, Refusal> {
        let refuse = || {
            self.refuse(
                broken.at,
                "a BREAK without a branch of its guard".to_owned(),
            )
        };
        let last = self.space.block(from).last;
        let branch = self.code.get(last).ok_or_else(refuse)?;
        let ControlEffect::Jump(ControlTarget::Op(target)) = &branch.control else {
            return Err(refuse());
        };
        let to = self.space.block(to).first;
        let decides = branch.condition.guard == broken.condition.guard
            && !branch.condition.has_further_test()
            && !broken.condition.has_further_test()
            && *target != last.next();
        match decides {
            true => {
                let same_sense = branch.condition.negated == broken.condition.negated;
                Ok((to == *target) == same_sense)
            }
            false => Err(refuse()),
        }
    }

    /// Whether the lanes of a region resume at an operation.
    fn resumes(&self, region: OpIndex, at: OpIndex) -> bool {
        self.code.get(region).is_some_and(|op| {
            matches!(&op.control, ControlEffect::OpenBarrier(_, ControlTarget::Op(to)) if *to == at)
        })
    }

    fn check_unconditional(&self, at: OpIndex, op: &Op) -> Result<(), Refusal> {
        match op.condition.is_always() {
            true => Ok(()),
            false => Err(self.refuse(at, "a barrier under a condition".to_owned())),
        }
    }

    /// Demotes a region. The first reason is kept.
    fn demote(&mut self, region: OpIndex, reason: Demotion) {
        self.regions.demoted.entry(region).or_insert(reason);
    }
}
