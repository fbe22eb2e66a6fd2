//! Warp of groups of lanes, as far as a GPU's behaviour is known (SOUNDNESS 21.1).

use std::collections::{BTreeMap, BTreeSet};

use warpbound_ir::{Cell, ControlEffect, ControlTarget};

use super::LANES;
use super::programs::{BarrierProgram, LaneDecision};

/// Meaning of a barrier register.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum BarrierMeaning {
    /// Each lane takes part in the instance of the BSSY that it executed.
    Instances,
    /// One mask of the warp, to which BSSY adds its lanes.
    AddedMask,
    /// One mask of the warp, which BSSY overwrites: excluded by `bsync-joins`, to show that tests can fail.
    OverwrittenMask,
}

/// Machine of groups.
#[derive(Clone, Copy, Debug)]
pub struct GroupMachine {
    /// Meaning of a barrier register.
    pub barriers: BarrierMeaning,
    /// Whether groups at one address may merge without a barrier.
    pub merges: bool,
}

/// Executions of a run.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct GroupRun {
    /// For each operation, number of its executions by the warp.
    pub executions: Vec<u64>,
    /// For each operation, number of lanes, summed over its executions.
    pub lanes: Vec<u64>,
    /// Whether it ended because all groups wait for each other.
    pub is_stuck: bool,
}

/// State of a lane.
#[derive(Clone, Debug)]
struct Lane {
    at: usize,
    /// Return addresses of its calls: the operation after each.
    returns: Vec<usize>,
    /// Instance of each barrier in which it takes part.
    instances: [Option<usize>; 16],
    /// Instances in registers.
    registers: BTreeMap<Cell, Option<usize>>,
    /// For each operation, number of its decisions there since the last reset.
    visits: Vec<u32>,
    /// For each operation, the lanes that voted in its last execution by this one.
    ballots: BTreeMap<usize, u32>,
    /// Whether it waits at a BSYNC of this barrier.
    waits: Option<u8>,
    exited: bool,
}

/// Instance of a barrier: the lanes that take part, and those that executed an instruction that releases it.
#[derive(Clone, Default, Debug)]
struct Instance {
    lanes: BTreeSet<u32>,
    released: BTreeSet<u32>,
}

struct Warp<'a> {
    program: &'a BarrierProgram,
    machine: GroupMachine,
    rng: fastrand::Rng,
    lanes: Vec<Lane>,
    instances: Vec<Instance>,
    /// Groups of lanes that run or wait together.
    groups: Vec<BTreeSet<u32>>,
    /// Register that all lanes have from the launch.
    launched: u32,
    run: GroupRun,
}

impl GroupMachine {
    /// Runs a program to its end.
    pub fn run(self, program: &BarrierProgram, seed: u64) -> GroupRun {
        let lane = Lane {
            at: program.code.entry.index(),
            returns: Vec::new(),
            instances: [None; 16],
            registers: BTreeMap::new(),
            visits: vec![0; program.code.ops.len()],
            ballots: BTreeMap::new(),
            waits: None,
            exited: false,
        };
        let seed = seed ^ program.seed.wrapping_mul(0x9e37_79b9_7f4a_7c15);
        let mut warp = Warp {
            program,
            machine: self,
            rng: fastrand::Rng::with_seed(seed),
            launched: fastrand::Rng::with_seed(!seed).u32(..),
            lanes: vec![lane; LANES as usize],
            instances: Vec::new(),
            groups: vec![(0..LANES).collect()],
            run: GroupRun {
                executions: vec![0; program.code.ops.len()],
                lanes: vec![0; program.code.ops.len()],
                is_stuck: false,
            },
        };
        while !warp.groups.is_empty() {
            warp.release();
            warp.merge();
            let ready: Vec<usize> = (0..warp.groups.len())
                .filter(|&group| warp.is_ready(group))
                .collect();
            let Some(&group) = warp.rng.choice(&ready) else {
                // All groups wait for each other: what they executed so far counts.
                warp.run.is_stuck = true;
                break;
            };
            warp.step(group);
        }
        warp.run
    }
}

impl Warp<'_> {
    fn lane(&self, lane: u32) -> &Lane {
        &self.lanes[lane as usize]
    }

    fn first(&self, group: usize) -> u32 {
        *self.groups[group].first().expect("groups have lanes")
    }

    fn is_ready(&self, group: usize) -> bool {
        self.lane(self.first(group)).waits.is_none()
    }

    /// Lanes that take part in the barrier at which a lane waits.
    fn instance_of(&self, lane: u32, barrier: u8) -> Option<usize> {
        self.lane(lane).instances[usize::from(barrier)]
    }

    /// Lets waiting lanes go on whose barrier has all its lanes, or lacks only lanes that released it.
    fn release(&mut self) {
        self.let_go_without_instance();
        for number in 0..self.instances.len() {
            let instance = self.instances[number].clone();
            let waits = |lane: u32| {
                let state = self.lane(lane);
                let barrier = state.waits;
                barrier.is_some_and(|barrier| self.instance_of(lane, barrier) == Some(number))
            };
            let waiting: BTreeSet<u32> = instance
                .lanes
                .iter()
                .copied()
                .filter(|l| waits(*l))
                .collect();
            let missing: Vec<u32> = instance.lanes.difference(&waiting).copied().collect();
            if waiting.is_empty() {
                continue;
            }
            // Lanes that released the barrier may be waited for, or not.
            let released = missing.iter().all(|lane| instance.released.contains(lane));
            if missing.is_empty() || released && self.rng.bool() {
                self.let_go(number, &waiting, missing.is_empty());
            }
        }
    }

    /// Lets lanes go on that wait for a barrier in which they no longer take part, because another group overwrote it.
    fn let_go_without_instance(&mut self) {
        let lost = |lane: u32| {
            let barrier = self.lane(lane).waits;
            barrier.is_some_and(|barrier| self.instance_of(lane, barrier).is_none())
        };
        let lanes: BTreeSet<u32> = (0..LANES).filter(|&lane| lost(lane)).collect();
        for group in std::mem::take(&mut self.groups) {
            let (lost, others) = group.into_iter().partition(|lane| lanes.contains(lane));
            let parts: [BTreeSet<u32>; 2] = [lost, others];
            self.groups
                .extend(parts.into_iter().filter(|part| !part.is_empty()));
        }
        for lane in lanes {
            let state = &mut self.lanes[lane as usize];
            state.waits = None;
            state.at += 1;
        }
    }

    /// Lets lanes of an instance go on together.
    fn let_go(&mut self, number: usize, lanes: &BTreeSet<u32>, is_over: bool) {
        // Lanes of other instances may wait with them in one group.
        for group in &mut self.groups {
            group.retain(|lane| !lanes.contains(lane));
        }
        self.groups.retain(|group| !group.is_empty());
        // BSYNCs of one instance may stand at several addresses.
        let addresses: BTreeSet<usize> = lanes.iter().map(|&lane| self.lane(lane).at).collect();
        for at in addresses {
            let together = lanes.iter().copied();
            self.groups
                .push(together.filter(|&lane| self.lane(lane).at == at).collect());
        }
        for &lane in lanes {
            let state = &mut self.lanes[lane as usize];
            let barrier = state.waits.take().expect("it waits");
            state.instances[usize::from(barrier)] = None;
            state.at += 1;
            self.instances[number].lanes.remove(&lane);
        }
        if is_over {
            self.instances[number] = Instance::default();
        }
    }

    /// Merges some groups that are ready at one address.
    fn merge(&mut self) {
        if !self.machine.merges || self.groups.len() < 2 || self.rng.u8(0..10) >= 3 {
            return;
        }
        let (a, b) = (
            self.rng.usize(0..self.groups.len()),
            self.rng.usize(0..self.groups.len()),
        );
        let (first, second) = (self.first(a), self.first(b));
        let same = self.lane(first).at == self.lane(second).at;
        if a != b && same && self.is_ready(a) && self.is_ready(b) {
            let lanes = self.groups[b].clone();
            self.groups[a].extend(lanes);
            self.groups.swap_remove(b);
        }
    }

    /// Executes one operation for a group, and splits it by where its lanes go.
    fn step(&mut self, group: usize) {
        let lanes = self.groups.swap_remove(group);
        let at = self.lane(*lanes.first().expect("groups have lanes")).at;
        self.run.executions[at] += 1;
        self.run.lanes[at] += lanes.len() as u64;
        let of_group = self.rng.bool();
        let control = self.program.code.ops[at].control.clone();
        self.open_barrier(at, &control, &lanes);
        let voters = match self.program.decisions[at] {
            LaneDecision::Vote(voters) => voters,
            LaneDecision::Missing(_) => u32::MAX,
            _ => 0,
        };
        let together = lanes.iter().fold(0, |mask, lane| mask | 1 << lane);
        for &lane in &lanes {
            self.lanes[lane as usize]
                .ballots
                .insert(at, together & voters);
        }
        for &lane in &lanes {
            self.step_lane(lane, at, &control, of_group);
        }
        let running = lanes.into_iter().filter(|&lane| !self.lane(lane).exited);
        let mut parts: Vec<(usize, Option<u8>, BTreeSet<u32>)> = Vec::new();
        for lane in running {
            let (to, waits) = (self.lane(lane).at, self.lane(lane).waits);
            match parts
                .iter_mut()
                .find(|part| (part.0, part.1) == (to, waits))
            {
                Some(part) => {
                    part.2.insert(lane);
                }
                None => parts.push((to, waits, BTreeSet::from([lane]))),
            }
        }
        self.groups
            .extend(parts.into_iter().map(|(.., lanes)| lanes));
    }

    /// Opens a barrier for the lanes of a group.
    fn open_barrier(&mut self, at: usize, control: &ControlEffect, lanes: &BTreeSet<u32>) {
        let ControlEffect::OpenBarrier(barrier, _) = *control else {
            return;
        };
        let slot = usize::from(barrier);
        let old = (0..LANES).find_map(|lane| self.lane(lane).instances[slot]);
        let number = match (self.machine.barriers, old) {
            (BarrierMeaning::Instances, _) | (_, None) => {
                self.instances.push(Instance::default());
                self.instances.len() - 1
            }
            (BarrierMeaning::AddedMask, Some(old)) => old,
            (BarrierMeaning::OverwrittenMask, Some(old)) => {
                let lost = std::mem::take(&mut self.instances[old].lanes);
                for lane in lost.difference(lanes) {
                    self.lanes[*lane as usize].instances[slot] = None;
                }
                old
            }
        };
        self.instances[number].lanes.extend(lanes);
        for &lane in lanes {
            debug_assert!(at < self.program.code.ops.len());
            self.lanes[lane as usize].instances[slot] = Some(number);
        }
    }

    fn leave(&mut self, lane: u32, barrier: u8) {
        if let Some(number) = self.lanes[lane as usize].instances[usize::from(barrier)].take() {
            self.instances[number].lanes.remove(&lane);
        }
    }

    fn release_barriers(&mut self, lane: u32) {
        for number in self.lane(lane).instances.into_iter().flatten() {
            self.instances[number].released.insert(lane);
        }
    }

    /// Executes an operation for one lane.
    fn step_lane(&mut self, lane: u32, at: usize, control: &ControlEffect, of_group: bool) {
        let takes = self.takes(lane, at, of_group);
        let index = lane as usize;
        let mut next = at + 1;
        match control {
            ControlEffect::Jump(ControlTarget::Op(to))
            | ControlEffect::FreeJump(ControlTarget::Op(to))
                if takes =>
            {
                next = to.index();
            }
            ControlEffect::Collective(ControlTarget::Op(to)) => {
                self.release_barriers(lane);
                next = if takes { to.index() } else { next };
            }
            ControlEffect::LinkedCall(ControlTarget::Op(to)) if takes => {
                self.lanes[index].returns.push(at + 1);
                next = to.index();
            }
            ControlEffect::Return { .. } => {
                next = self.lanes[index].returns.pop().expect("it was called");
            }
            // A lane that takes part in nothing passes.
            ControlEffect::JoinBarrier(barrier) if self.instance_of(lane, *barrier).is_some() => {
                self.lanes[index].waits = Some(*barrier);
                next = at;
            }
            ControlEffect::BreakBarrier(barrier) if takes => self.leave(lane, *barrier),
            ControlEffect::SaveBarrier(barrier, to) => {
                let value = self.lanes[index].instances[usize::from(*barrier)].take();
                self.lanes[index]
                    .registers
                    .extend(to.map(|register| (register, value)));
            }
            ControlEffect::WriteBarrier {
                barrier, source, ..
            } => {
                let saved =
                    source.and_then(|source| self.lanes[index].registers.get(&source).copied());
                self.lanes[index].instances[usize::from(*barrier)] = saved.flatten();
            }
            ControlEffect::Release => self.release_barriers(lane),
            ControlEffect::Exit if takes => {
                for barrier in 0..16 {
                    self.leave(lane, barrier);
                }
                let saved = std::mem::take(&mut self.lanes[index].registers);
                for number in saved.into_values().flatten() {
                    self.instances[number].lanes.remove(&lane);
                }
                self.lanes[index].exited = true;
            }
            _ => {}
        }
        self.lanes[index].at = next;
    }

    /// Whether the condition of an operation holds in a lane. Lanes decide by their own past, so that their paths do not
    /// depend on the order of groups.
    fn takes(&mut self, lane: u32, at: usize, of_group: bool) -> bool {
        let Lane {
            visits, ballots, ..
        } = &mut self.lanes[lane as usize];
        match &self.program.decisions[at] {
            LaneDecision::Always | LaneDecision::Vote(_) => true,
            LaneDecision::Known(lanes) => lanes >> lane & 1 == 1,
            LaneDecision::Ballot { vote, lane: of } => ballots[vote] >> of & 1 == 1,
            LaneDecision::First { vote, mask } => mask >> ballots[vote].trailing_zeros() & 1 == 1,
            LaneDecision::AnyVoted { vote, lanes } => ballots[vote] != 0 && lanes >> lane & 1 == 1,
            LaneDecision::Missing(mask) => mask & !ballots[&at] != 0,
            LaneDecision::Fewer(limits) => {
                let visit = visits[at];
                visits[at] += 1;
                visit < (limits >> (2 * lane) & 3)
            }
            LaneDecision::FromLaunch(bit) => self.launched >> bit & 1 == 1,
            LaneDecision::UnlessFromLaunch { bit, mask } => {
                self.launched >> bit & 1 == 0 && mask >> lane & 1 == 1
            }
            LaneDecision::Group => of_group,
            LaneDecision::Data(data) => {
                let visit = visits[at];
                visits[at] += 1;
                self.program.chance(lane, *data, visit)
            }
            LaneDecision::Again { most } => {
                let visit = visits[at];
                visits[at] += 1;
                visit < *most && self.program.chance(lane, at, visit)
            }
            LaneDecision::Reset(of) => {
                for &of in of {
                    visits[of] = 0;
                }
                true
            }
        }
    }
}
