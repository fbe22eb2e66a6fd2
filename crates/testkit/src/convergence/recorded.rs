//! Recorded paths of the lanes of a warp, run by a warp with a stack (SOUNDNESS 21.2).
//!
//! A record has the points that each lane passed, in order. The paths between points follow from the code: at a branch,
//! a lane takes the side that leads to its next point. The stack machine shares no code with `simt`.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use warpbound_analyse::ThreadCfg;
use warpbound_analyse::indirect::IndirectTargets;
use warpbound_ir::{Code, ControlEffect, ControlTarget, OpIndex};

/// Lanes of a recorded warp, as bits.
pub type LaneMask = u32;

/// Maximum number of steps of a warp. Recorded warps take a few thousand.
const MAX_STEPS: usize = 200_000;

/// Code whose warps were recorded.
pub struct RecordedCode<'a> {
    code: &'a Code,
    thread: &'a ThreadCfg,
    /// Operations that are points, each with its number.
    points: &'a BTreeMap<OpIndex, u32>,
    /// Operations of regions that are demoted, which have no effect.
    ignored: BTreeSet<OpIndex>,
    /// For an operation in a calling context, the points that can be next, each with the fewest operations on the way.
    next_points: BTreeMap<(OpIndex, Vec<OpIndex>), BTreeMap<Next, u32>>,
}

/// Next step of a lane that the record tells.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
enum Next {
    Point(u32),
    Exit,
}

/// Step of the stack machine at a point: the lanes, each with the number of points that it passed before.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct PointStep {
    /// The point.
    pub point: u32,
    /// Lanes, each with the position in its path.
    pub lanes: Vec<(u32, usize)>,
}

/// Run of the stack machine on recorded paths.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct StackRun {
    /// Steps at points, in order.
    pub steps: Vec<PointStep>,
    /// Branches whose two sides both lead to the next point of a lane.
    pub ambiguous: BTreeSet<OpIndex>,
    /// Number of steps before the first such branch; `None` if there is none.
    pub known_steps: Option<usize>,
    /// Path that the code cannot execute, and where it ended.
    pub stuck: Option<String>,
}

/// Entry of the stack.
struct Entry {
    /// Whether its lanes wait at a BSYNC; otherwise they took the other side of a branch.
    is_barrier: bool,
    at: OpIndex,
    lanes: LaneMask,
}

/// Lanes that run a path.
struct Lane<'a> {
    path: &'a [u32],
    passed: usize,
    /// Operations after its calls.
    returns: Vec<OpIndex>,
}

impl Lane<'_> {
    fn next(&self) -> Next {
        match self.path.get(self.passed) {
            Some(point) => Next::Point(*point),
            None => Next::Exit,
        }
    }
}

impl<'a> RecordedCode<'a> {
    /// Code with the operations that are points.
    pub fn new(
        code: &'a Code,
        thread: &'a ThreadCfg,
        points: &'a BTreeMap<OpIndex, u32>,
    ) -> RecordedCode<'a> {
        let regions = &thread.regions;
        let ends = regions.demoted.keys().filter_map(|r| regions.ends.get(r));
        RecordedCode {
            code,
            thread,
            points,
            ignored: regions
                .demoted
                .keys()
                .chain(ends.flatten())
                .copied()
                .collect(),
            next_points: BTreeMap::new(),
        }
    }

    /// Runs the paths of the lanes. At an ambiguous branch, a lane takes the side with fewer operations to its next point,
    /// unless the branch is among `second`.
    pub fn run(&mut self, paths: &[Vec<u32>], second: &BTreeSet<OpIndex>) -> StackRun {
        let lanes = paths.iter().map(|path| Lane {
            path,
            passed: 0,
            returns: Vec::new(),
        });
        let mut warp = StackedWarp {
            lanes: lanes.collect(),
            stack: Vec::new(),
            run: StackRun::default(),
            second,
        };
        let outcome = self.run_warp(&mut warp);
        warp.run.stuck = outcome.err();
        warp.run
    }

    fn run_warp(&mut self, warp: &mut StackedWarp<'_>) -> Result<(), String> {
        let begins = |lane: &(u32, &Lane<'_>)| !lane.1.path.is_empty();
        let lanes = (0..).zip(&warp.lanes).filter(begins);
        let all = lanes.fold(0, |mask, (lane, _)| mask | 1 << lane);
        warp.stack.push(Entry {
            is_barrier: false,
            at: self.code.entry,
            lanes: all,
        });
        let mut steps = 0;
        while let Some(entry) = warp.stack.pop() {
            let (mut at, mut mask) = (entry.at, entry.lanes);
            while mask != 0 {
                steps += 1;
                if steps > MAX_STEPS {
                    return Err(format!("no end after {MAX_STEPS} steps"));
                }
                (at, mask) = self.step(warp, at, mask)?;
            }
        }
        match warp.lanes.iter().position(|lane| lane.next() != Next::Exit) {
            None => Ok(()),
            Some(lane) => Err(format!("lane {lane} ends before its path does")),
        }
    }

    /// Executes an operation. Returns what runs next; no lanes if the next entry of the stack does.
    fn step(
        &mut self,
        warp: &mut StackedWarp<'_>,
        at: OpIndex,
        mask: LaneMask,
    ) -> Result<(OpIndex, LaneMask), String> {
        let op = self.code.get(at).ok_or("the code ends")?;
        if let Some(&point) = self.points.get(&at) {
            warp.pass(at, point, mask, op.condition.is_always())?;
            return Ok((after(at), mask));
        }
        match &op.control {
            ControlEffect::OpenBarrier(_, ControlTarget::Op(resume)) => {
                if !self.ignored.contains(&at) {
                    warp.stack.push(Entry {
                        is_barrier: true,
                        at: *resume,
                        lanes: mask,
                    });
                }
                Ok((after(at), mask))
            }
            ControlEffect::JoinBarrier(_) => {
                if self.ignored.contains(&at) {
                    return Ok((after(at), mask));
                }
                // The lanes wait in the entry that resumes here: code may have moved its barrier into another one.
                for entry in warp.stack.iter_mut().rev() {
                    if entry.is_barrier && entry.at == after(at) {
                        return match mask & !entry.lanes {
                            0 => Ok((at, 0)),
                            others => {
                                Err(format!("lanes {others:x} wait at {at:?} for no barrier"))
                            }
                        };
                    }
                    entry.lanes &= !mask;
                }
                Err(format!("no barrier is open at {at:?}"))
            }
            ControlEffect::Next
            | ControlEffect::BreakBarrier(_)
            | ControlEffect::SaveBarrier(..)
            | ControlEffect::WriteBarrier { .. }
            | ControlEffect::Release => Ok((after(at), mask)),
            _ => self.transfer(warp, at, mask),
        }
    }

    /// Executes an operation that leads lanes to several places.
    fn transfer(
        &mut self,
        warp: &mut StackedWarp<'_>,
        at: OpIndex,
        mask: LaneMask,
    ) -> Result<(OpIndex, LaneMask), String> {
        let mut places: BTreeMap<Option<OpIndex>, LaneMask> = BTreeMap::new();
        for lane in bits(mask) {
            let next = warp.lanes[lane as usize].next();
            let sides = self.sides(at, &warp.lanes[lane as usize].returns)?;
            let mut possible = Vec::new();
            for (to, returns) in sides {
                let distance = match to {
                    Some(to) => self.can_be_next(to, &returns).get(&next).copied(),
                    None => (next == Next::Exit).then_some(0),
                };
                possible.extend(distance.map(|distance| (distance, to, returns)));
            }
            // The record does not tell turns of a loop without points, so the lane makes as few as it can.
            possible.sort_by_key(|(distance, ..)| *distance);
            if possible.len() > 1 {
                warp.run.ambiguous.insert(at);
                warp.run.known_steps.get_or_insert(warp.run.steps.len());
                if warp.second.contains(&at) {
                    possible.reverse();
                }
            }
            let Some((_, to, returns)) = possible.into_iter().next() else {
                return Err(format!("{at:?} does not lead lane {lane} to {next:?}"));
            };
            warp.lanes[lane as usize].returns = returns;
            *places.entry(to).or_default() |= 1 << lane;
        }
        if let Some(exited) = places.remove(&None) {
            for entry in &mut warp.stack {
                entry.lanes &= !exited;
            }
        }
        let mut places = places
            .into_iter()
            .filter_map(|(to, mask)| Some((to?, mask)));
        let first = places.next().unwrap_or((at, 0));
        warp.stack.extend(places.map(|(at, lanes)| Entry {
            is_barrier: false,
            at,
            lanes,
        }));
        Ok(first)
    }

    /// Places to which a lane with these return addresses can go from an operation, each with its return addresses there;
    /// `None` is its end.
    #[allow(clippy::type_complexity, reason = "a place and its return addresses")]
    fn sides(
        &self,
        at: OpIndex,
        returns: &[OpIndex],
    ) -> Result<Vec<(Option<OpIndex>, Vec<OpIndex>)>, String> {
        let op = self.code.get(at).ok_or("the code ends")?;
        let same = |to: OpIndex| (Some(to), returns.to_vec());
        let called = |to: OpIndex| {
            let mut returns = returns.to_vec();
            returns.push(after(at));
            (Some(to), returns)
        };
        let targets = || -> Result<Vec<OpIndex>, String> {
            let targets = self.thread.indirect.get(&at);
            match targets {
                Some(IndirectTargets::Code { ops, .. }) => Ok(ops.iter().copied().collect()),
                _ => Err(format!("unknown targets at {at:?}")),
            }
        };
        let mut sides = match &op.control {
            ControlEffect::Jump(ControlTarget::Op(to)) => vec![same(*to)],
            ControlEffect::Collective(ControlTarget::Op(to))
            | ControlEffect::FreeJump(ControlTarget::Op(to)) => vec![same(after(at)), same(*to)],
            ControlEffect::LinkedCall(ControlTarget::Op(to)) => vec![called(*to)],
            ControlEffect::Indirect { .. } => targets()?.into_iter().map(same).collect(),
            ControlEffect::LinkedIndirect { .. } => targets()?.into_iter().map(called).collect(),
            ControlEffect::Return { .. } => match returns.split_last() {
                Some((to, rest)) => vec![(Some(*to), rest.to_vec())],
                None => return Err(format!("a return without a call at {at:?}")),
            },
            ControlEffect::Exit | ControlEffect::End => vec![(None, Vec::new())],
            other => return Err(format!("{other:?} at {at:?}")),
        };
        if !op.condition.is_always() {
            sides.push(same(after(at)));
        }
        Ok(sides)
    }

    /// Points that a lane can pass next, from an operation with these return addresses.
    fn can_be_next(&mut self, at: OpIndex, returns: &[OpIndex]) -> &BTreeMap<Next, u32> {
        let key = (at, returns.to_vec());
        if !self.next_points.contains_key(&key) {
            let found = self.find_next_points(key.clone());
            self.next_points.insert(key.clone(), found);
        }
        &self.next_points[&key]
    }

    fn find_next_points(&self, from: (OpIndex, Vec<OpIndex>)) -> BTreeMap<Next, u32> {
        let mut found = BTreeMap::new();
        let mut seen = BTreeSet::new();
        let mut pending = VecDeque::from([(from, 0)]);
        while let Some(((at, returns), distance)) = pending.pop_front() {
            if !seen.insert((at, returns.clone())) {
                continue;
            }
            let Some(op) = self.code.get(at) else {
                continue;
            };
            if let Some(&point) = self.points.get(&at) {
                found.entry(Next::Point(point)).or_insert(distance);
                if op.condition.is_always() {
                    continue;
                }
            }
            match self.sides(at, &returns) {
                Ok(sides) => {
                    for (to, returns) in sides {
                        match to {
                            Some(to) => pending.push_back(((to, returns), distance + 1)),
                            None => _ = found.entry(Next::Exit).or_insert(distance),
                        }
                    }
                }
                // Not a transfer.
                Err(_) => pending.push_back(((after(at), returns), distance + 1)),
            }
        }
        found
    }
}

/// Warp of the stack machine.
struct StackedWarp<'a> {
    lanes: Vec<Lane<'a>>,
    stack: Vec<Entry>,
    run: StackRun,
    /// Ambiguous branches whose second side lanes take.
    second: &'a BTreeSet<OpIndex>,
}

impl StackedWarp<'_> {
    /// Lets lanes pass a point.
    fn pass(
        &mut self,
        at: OpIndex,
        point: u32,
        mask: LaneMask,
        is_always: bool,
    ) -> Result<(), String> {
        let mut step = PointStep {
            point,
            lanes: Vec::new(),
        };
        for lane in bits(mask) {
            let state = &mut self.lanes[lane as usize];
            if state.next() == Next::Point(point) {
                step.lanes.push((lane, state.passed));
                state.passed += 1;
            } else if is_always {
                let next = state.next();
                return Err(format!(
                    "lane {lane} passes point {point} at {at:?} in place of {next:?}"
                ));
            }
        }
        if !step.lanes.is_empty() {
            self.run.steps.push(step);
        }
        Ok(())
    }
}

fn after(at: OpIndex) -> OpIndex {
    OpIndex(at.0 + 1)
}

fn bits(mask: LaneMask) -> impl Iterator<Item = u32> {
    (0..32).filter(move |lane| mask >> lane & 1 == 1)
}
