//! Concrete groups of lanes of one warp with convergence barriers, as GPUs from Volta on have them (experiments with an
//! H200, `docs/evidence.md`).
//!
//! A warp consists of groups: disjoint sets of lanes, each at a point. One group runs until it ends or waits. A barrier is
//! made by the lanes that open it. It lets lanes pass once all of its lanes wait, whatever the others do. A barrier register
//! names, in each lane, one barrier, and can be moved to a register of the lane and back.
//!
//! Groups at one point never become one without an instruction that says so, although GPUs may join them, so that no run on
//! a GPU executes an instruction more often (SOUNDNESS 21.4). For example, lanes 0 and 1 of four open a barrier with the
//! others, leave a loop early and wait; when lanes 2 and 3 join them, all four go on together.
//!
//! Code between WARPSYNC.COLLECTIVE and ENDCOLLECTIVE needs all lanes of a mask in one group, for example for a shuffle. They
//! gather before it, and scatter after it into the groups that came, because a GPU need not keep them together.

use smallvec::SmallVec;

use crate::warp::DivergenceOrder;
use crate::{ControlTransfer, ExecutionModel, Mask, TransferError, lanes_of};

/// Number of barrier registers (B0 to B15).
const REGISTERS: usize = 16;

/// Barrier, by its number in the warp; numbers are not used again.
type Barrier = u32;

/// Set of lanes at a point.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Group<P> {
    at: P,
    lanes: Mask,
}

/// State of a barrier that some lanes take part in.
#[derive(Clone, PartialEq, Eq, Debug)]
struct Participants<P> {
    barrier: Barrier,
    lanes: Mask,
    /// Lanes that wait, with the points at which they go on.
    waiting: SmallVec<[Group<P>; 1]>,
}

/// Lanes that wait until all lanes of a set have come (WARPSYNC).
#[derive(Clone, PartialEq, Eq, Debug)]
struct Meeting<P> {
    /// Lanes that have come. Lanes that wait at other points are in other meetings.
    group: Group<P>,
    /// Lanes that are waited for; `None` for all that have not exited.
    wanted: Option<Mask>,
}

/// Groups that wait until all lanes of a set have come, to execute some code as one group (WARPSYNC.COLLECTIVE).
#[derive(Clone, PartialEq, Eq, Debug)]
struct Gathering<P> {
    /// Point of the code.
    at: P,
    /// Point after the code.
    after: P,
    /// Lanes that are waited for; `None` for all that have not exited.
    wanted: Option<Mask>,
    /// Groups that have come.
    groups: SmallVec<[Mask; 2]>,
}

/// Groups that have gathered and execute code as one.
#[derive(Clone, PartialEq, Eq, Debug)]
struct Gathered<P> {
    after: P,
    groups: SmallVec<[Mask; 2]>,
}

/// Warp with convergence barriers.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ConvergenceBarriers<P> {
    /// Groups that can run; the last one runs.
    ready: SmallVec<[Group<P>; 2]>,
    barriers: Vec<Participants<P>>,
    meetings: Vec<Meeting<P>>,
    gatherings: Vec<Gathering<P>>,
    gathered: Vec<Gathered<P>>,
    /// Barriers that each register names, each with the lanes where it does.
    registers: [SmallVec<[(Barrier, Mask); 1]>; REGISTERS],
    last_barrier: Barrier,
    live: Mask,
    order: DivergenceOrder,
}

/// Returns the lanes of several groups.
fn lanes_in<'g, P: 'g>(groups: impl IntoIterator<Item = &'g Group<P>>) -> Mask {
    groups
        .into_iter()
        .fold(0, |lanes, group| lanes | group.lanes)
}

/// Returns the lanes of groups that gather.
fn union(groups: &[Mask]) -> Mask {
    groups.iter().fold(0, |lanes, group| lanes | group)
}

/// Removes lanes from groups, and groups without lanes.
fn remove_lanes(groups: &mut SmallVec<[Mask; 2]>, lanes: Mask) {
    groups.iter_mut().for_each(|group| *group &= !lanes);
    groups.retain(|group| *group != 0);
}

impl<P: Copy + PartialEq> ConvergenceBarriers<P> {
    /// Lanes that have not exited.
    pub fn live(&self) -> Mask {
        self.live
    }

    /// Lets a register name other barriers in the lanes of a mask.
    fn name(
        &mut self,
        register: u8,
        barriers: impl IntoIterator<Item = (Barrier, Mask)>,
        lanes: Mask,
    ) {
        let Some(named) = self.registers.get_mut(usize::from(register)) else {
            return;
        };
        // A lane has one name in each register, so that it loses the old one first.
        for (_, of) in named.iter_mut() {
            *of &= !lanes;
        }
        for (barrier, of) in barriers {
            match named.iter_mut().find(|(known, _)| *known == barrier) {
                Some((_, known)) => *known |= of,
                None => named.push((barrier, of)),
            }
        }
        named.retain(|(_, lanes)| *lanes != 0);
    }

    /// Takes `taken` lanes out of the running group. The others go on at `next`.
    fn leave(&mut self, taken: Mask, next: P) {
        if let Some(running) = self.ready.last_mut() {
            running.lanes &= !taken;
            running.at = next;
            if running.lanes == 0 {
                self.ready.pop();
            }
        }
    }

    /// Splits the running group into parts, the part that runs first last.
    fn split(&mut self, parts: impl IntoIterator<Item = Group<P>>) -> bool {
        self.ready.pop();
        let before = self.ready.len();
        // A branch that all lanes take has an empty part, which is no group.
        let parts = parts.into_iter().filter(|group| group.lanes != 0);
        self.ready.extend(parts);
        self.ready.len() > before + 1
    }

    /// Removes lanes from a barrier, and lets the others pass if all of them wait.
    fn remove_from(&mut self, place: usize, lanes: Mask) {
        if let Some(barrier) = self.barriers.get_mut(place) {
            barrier.lanes &= !lanes;
        }
        self.open_if_complete(place);
    }

    /// Lets the lanes of a barrier pass if all of them wait. Returns whether it did.
    fn open_if_complete(&mut self, place: usize) -> bool {
        let is_complete = self
            .barriers
            .get(place)
            .is_some_and(|barrier| barrier.lanes == lanes_in(&barrier.waiting));
        if is_complete {
            let barrier = self.barriers.remove(place);
            self.ready.extend(barrier.waiting);
        }
        is_complete
    }

    /// Lets the taken lanes of the running group wait at the barriers that a register names.
    fn join(&mut self, register: u8, taken: Mask, next: P) {
        let named = self.registers.get(usize::from(register));
        let named: SmallVec<[(Barrier, Mask); 1]> = named.into_iter().flatten().copied().collect();
        // Lanes without a barrier, or whose barrier has let them go, pass.
        let waits = |barrier: Barrier, lanes: Mask| {
            let known = self
                .barriers
                .iter()
                .position(|known| known.barrier == barrier);
            known.map(|place| (place, lanes & self.barriers[place].lanes))
        };
        let mut found = SmallVec::<[(Barrier, Mask); 1]>::new();
        for (barrier, lanes) in named {
            if let Some((_, lanes)) = waits(barrier, lanes & taken)
                && lanes != 0
            {
                found.push((barrier, lanes));
            }
        }
        // The lanes leave before they wait, because the last one to come lets all of them go on, and they are the group that
        // runs then.
        let waiting = found.iter().fold(0, |lanes, (_, more)| lanes | more);
        self.leave(waiting, next);
        for (barrier, lanes) in found {
            let Some(place) = self
                .barriers
                .iter()
                .position(|known| known.barrier == barrier)
            else {
                continue;
            };
            // Lanes go on where they waited: at the instruction after their own BSYNC. A barrier may have several.
            let groups = &mut self.barriers[place].waiting;
            match groups.iter_mut().find(|group| group.at == next) {
                Some(group) => group.lanes |= lanes,
                None => groups.push(Group { at: next, lanes }),
            }
            self.open_if_complete(place);
        }
    }

    /// Lets the taken lanes of the running group wait for all lanes of a set.
    fn meet(&mut self, wanted: Option<Mask>, taken: Mask, next: P) {
        self.leave(taken, next);
        // Lanes with the same set at the same instruction are one meeting; those at another instruction wait for their own.
        let mut meetings = self.meetings.iter_mut();
        let known = meetings.find(|meeting| meeting.group.at == next && meeting.wanted == wanted);
        match known {
            Some(meeting) => meeting.group.lanes |= taken,
            None => self.meetings.push(Meeting {
                group: Group {
                    at: next,
                    lanes: taken,
                },
                wanted,
            }),
        }
        self.end_meetings();
    }

    /// Lets the taken lanes of the running group wait for all lanes of a set, to execute the code at `next` with them.
    fn gather(&mut self, wanted: Option<Mask>, after: P, taken: Mask, next: P) {
        self.leave(taken, next);
        let mut gatherings = self.gatherings.iter_mut();
        let known = gatherings
            .find(|known| (known.at, known.after) == (next, after) && known.wanted == wanted);
        match known {
            Some(gathering) => gathering.groups.push(taken),
            None => self.gatherings.push(Gathering {
                at: next,
                after,
                wanted,
                groups: SmallVec::from_slice(&[taken]),
            }),
        }
        self.end_meetings();
    }

    /// Splits the running group into the groups that gathered. Returns whether it did.
    fn scatter(&mut self, taken: Mask, next: P) -> Result<bool, TransferError> {
        let active = self.running().map_or(0, |(_, lanes)| lanes);
        // The innermost code is the last that lanes began to execute.
        let place = self
            .gathered
            .iter()
            .rposition(|known| union(&known.groups) & active != 0);
        let Some(place) = place else {
            self.leave(0, next);
            return Ok(false);
        };
        let gathered = &mut self.gathered[place];
        // Other ends of the code, or some for a part of its lanes, are not known.
        if gathered.after != next || taken != active {
            return Err(TransferError::NotInModel);
        }
        let others = active & !union(&gathered.groups);
        let parts = gathered.groups.iter().map(|group| group & active);
        // The group that came first runs first.
        let parts: SmallVec<[Mask; 2]> = parts.chain([others]).rev().collect();
        remove_lanes(&mut gathered.groups, active);
        if gathered.groups.is_empty() {
            self.gathered.remove(place);
        }
        let parts = parts.into_iter().map(|lanes| Group { at: next, lanes });
        Ok(self.split(parts))
    }

    /// Lets lanes go on for which all have come that they wait for.
    fn end_meetings(&mut self) {
        let live = self.live;
        let is_over = |meeting: &Meeting<P>| {
            // Lanes that have exited are not waited for.
            let wanted = meeting.wanted.unwrap_or(live) & live;
            wanted & !meeting.group.lanes == 0
        };
        let (over, kept) = self.meetings.drain(..).partition(is_over);
        self.meetings = kept;
        let over: Vec<Meeting<P>> = over;
        self.ready
            .extend(over.into_iter().map(|meeting| meeting.group));
        let is_over = |gathering: &Gathering<P>| {
            let wanted = gathering.wanted.unwrap_or(live) & live;
            wanted & !union(&gathering.groups) == 0
        };
        let (over, kept) = self.gatherings.drain(..).partition(is_over);
        self.gatherings = kept;
        let over: Vec<Gathering<P>> = over;
        for gathering in over {
            self.ready.push(Group {
                at: gathering.at,
                lanes: union(&gathering.groups),
            });
            self.gathered.push(Gathered {
                after: gathering.after,
                groups: gathering.groups,
            });
        }
    }

    /// Reason why all lanes wait, if none can go on.
    fn deadlock(&self) -> TransferError {
        let mut points = self.gatherings.iter().map(|gathering| gathering.at);
        let first = points.next();
        match points.any(|at| Some(at) != first) {
            true => TransferError::GathersApart,
            false => TransferError::WaitsForEver,
        }
    }

    /// Ends the taken lanes of the running group.
    fn exit(&mut self, taken: Mask, next: P) {
        self.leave(taken, next);
        self.live &= !taken;
        // A barrier that opens leaves the list, so that places are visited from the last one.
        for place in (0..self.barriers.len()).rev() {
            self.remove_from(place, taken);
        }
        for gathered in &mut self.gathered {
            remove_lanes(&mut gathered.groups, taken);
        }
        self.gathered.retain(|gathered| !gathered.groups.is_empty());
        // A barrier without lanes is one at which no lane can wait.
        self.barriers.retain(|barrier| barrier.lanes != 0);
        self.end_meetings();
    }

    /// Lets the lanes that wait at the youngest barrier with waiting lanes pass, without the lanes that have not come.
    /// Returns whether there is such a barrier.
    fn release(&mut self) -> bool {
        // The youngest barrier is the innermost region: lanes in it are not needed further out.
        let mut places = self.barriers.iter().enumerate().rev();
        let found = places.find(|(_, barrier)| !barrier.waiting.is_empty());
        let Some(place) = found.map(|(place, _)| place) else {
            return false;
        };
        let waiting = std::mem::take(&mut self.barriers[place].waiting);
        self.barriers[place].lanes &= !lanes_in(&waiting);
        self.ready.extend(waiting);
        true
    }

    /// Lets another group run if there is one: one that is ready, or one that waits at a barrier for lanes of this one.
    fn yield_to_others(&mut self, next: P) {
        let Some(mut own) = self.ready.pop() else {
            return;
        };
        own.at = next;
        if self.ready.is_empty() {
            self.release();
        }
        // All groups that are ready run before the one that yields, as a spin loop needs it.
        self.ready.insert(0, own);
    }
}

impl<P: Copy + PartialEq> ExecutionModel<P> for ConvergenceBarriers<P> {
    fn new(start: P, active: Mask, order: DivergenceOrder) -> Self {
        let group = Group {
            at: start,
            lanes: active,
        };
        ConvergenceBarriers {
            ready: [group].into_iter().filter(|_| active != 0).collect(),
            barriers: Vec::new(),
            meetings: Vec::new(),
            gatherings: Vec::new(),
            gathered: Vec::new(),
            registers: Default::default(),
            last_barrier: 0,
            live: active,
            order,
        }
    }

    #[inline]
    fn running(&self) -> Option<(P, Mask)> {
        self.ready.last().map(|group| (group.at, group.lanes))
    }

    fn misses_lanes(&self, arriving: Mask) -> bool {
        self.live & !arriving != 0
    }

    fn barrier_in(&self, register: u8, lane: usize) -> u32 {
        let named = self.registers.get(usize::from(register));
        let mut named = named.into_iter().flatten();
        let found = named.find(|(_, lanes)| lanes >> lane & 1 == 1);
        found.map_or(0, |(barrier, _)| *barrier)
    }

    #[inline]
    fn apply(
        &mut self,
        transfer: &ControlTransfer<'_, P>,
        taken: Mask,
        next: P,
    ) -> Result<bool, TransferError> {
        let active = self.running().map_or(0, |(_, lanes)| lanes);
        let others = active & !taken;
        // Most instructions only go on.
        if *transfer == ControlTransfer::Next || taken == 0 {
            self.leave(0, next);
            return Ok(false);
        }
        let splits = taken != 0 && others != 0;
        let part = |at, lanes| Group { at, lanes };
        match *transfer {
            ControlTransfer::Next => {}
            ControlTransfer::Jump(to) => {
                let (taken, others) = (part(to, taken), part(next, others));
                return Ok(self.split(match self.order {
                    DivergenceOrder::FallThroughFirst => [taken, others],
                    DivergenceOrder::TakenFirst | DivergenceOrder::Any => [others, taken],
                }));
            }
            ControlTransfer::Indirect(parts) => {
                let others = [part(next, others)].into_iter();
                let parts = parts.iter().rev().map(|&(to, lanes)| part(to, lanes));
                return Ok(self.split(others.chain(parts)));
            }
            ControlTransfer::OpenBarrier(register) => {
                // Each BSSY opens a barrier of its own, also while an older one of the same register is open.
                self.last_barrier = self.last_barrier.wrapping_add(1);
                let barrier = self.last_barrier;
                self.barriers.push(Participants {
                    barrier,
                    lanes: taken,
                    waiting: SmallVec::new(),
                });
                self.name(register, [(barrier, taken)], taken);
                self.leave(0, next);
                return Ok(false);
            }
            ControlTransfer::JoinBarrier(register) => self.join(register, taken, next),
            ControlTransfer::BreakBarrier(register) => {
                self.leave(0, next);
                let named = self.registers.get(usize::from(register));
                let named: SmallVec<[(Barrier, Mask); 1]> =
                    named.into_iter().flatten().copied().collect();
                for (barrier, lanes) in named {
                    let mut known = self.barriers.iter();
                    if let Some(place) = known.position(|known| known.barrier == barrier) {
                        self.remove_from(place, lanes & taken);
                    }
                }
                // Lanes that waited for those that left run after the running group.
                if let Some(place) = self.ready.iter().position(|group| group.lanes == active) {
                    let own = self.ready.remove(place);
                    self.ready.push(own);
                }
                return Ok(false);
            }
            ControlTransfer::SaveBarrier(register) => {
                self.name(register, [], taken);
                self.leave(0, next);
                return Ok(false);
            }
            ControlTransfer::WriteBarrier { register, values } => {
                let of = |lane: usize| values.get(lane).copied().unwrap_or(0);
                let named = lanes_of(taken).map(|lane| (of(lane), 1 << lane));
                self.name(register, named.filter(|(barrier, _)| *barrier != 0), taken);
                self.leave(0, next);
                return Ok(false);
            }
            ControlTransfer::Meet(wanted) => self.meet(wanted, taken, next),
            ControlTransfer::Gather { lanes, after } => self.gather(lanes, after, taken, next),
            ControlTransfer::Scatter => return self.scatter(taken, next),
            ControlTransfer::Yield => self.yield_to_others(next),
            ControlTransfer::Exit => self.exit(taken, next),
            ControlTransfer::Branch { .. }
            | ControlTransfer::Reconverge
            | ControlTransfer::Push { .. }
            | ControlTransfer::Call(_)
            | ControlTransfer::Pop(_)
            | ControlTransfer::SetActive(_) => return Err(TransferError::NotInModel),
        }
        // Lanes at a barrier do not wait for lanes that wait for them at a WARPSYNC.
        if self.ready.is_empty() && self.live != 0 && !self.release() {
            return Err(self.deadlock());
        }
        Ok(splits)
    }
}

#[cfg(test)]
mod tests;
