//! Random programs with convergence barriers whose launch decides some branches, against their profiles (SOUNDNESS 21.11).
//!
//! For example, lanes 0, 2 and 5 of eight take a branch on a predicate that an operation computes from the number of the
//! lane. The machine of groups reads the three lanes from a table, and the profile computes the predicate.

use std::collections::{BTreeMap, BTreeSet};

use smallvec::smallvec;
use warpbound_analyse::LaunchContext;
use warpbound_analyse::access::MemoryUnits;
use warpbound_analyse::launch_profile::{
    KnownTransfers, LaunchExecutions, LaunchProfiler, LaunchValues, StatedLoop,
};
use warpbound_analyse::thread_cfg::Limits;
use warpbound_base::{Deadline, Family};
use warpbound_bounds::stated_loops;
use warpbound_ir::{BinaryOp, Cell, Code, ControlEffect, Expr, Meaning, OpIndex};
use warpbound_isa::SpecialReg;
use warpbound_query::KernelFlow;
use warpbound_simt::warp::WarpModel;

use super::LANES;
use super::machine::GroupMachine;
use super::programs::{BarrierProgram, LaneDecision};

/// Maximum number of steps of a profile. Unknown branches in loops take many.
const STEPS: u64 = 3_000;

/// Fault of a profile that a check plants.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ProfileFault {
    /// None.
    None,
    /// Groups never meet but at barriers.
    GroupsStayApart,
    /// Demoted regions join their lanes.
    NothingDemoted,
    /// Lanes for which the guard fails keep what a uniform register held.
    UniformKeptByLanes,
    /// No lane is ever missing where a branch asks for lanes.
    NoneMissing,
    /// Lanes agree on each jump over operations without transfers.
    AllSkipsAgreed,
    /// Operations that a group may skip are always executed.
    NothingSkipped,
}

/// Result of a check.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum ProfileCheck {
    /// The code is refused, or has no profile.
    None,
    /// No run executed more, and all runs as much if the profile is exact.
    Holds {
        /// Instructions of the slowest run.
        slowest: u64,
        /// Those of the profile.
        issues: u64,
        /// Whether the profile is exact.
        is_exact: bool,
    },
    /// The profile does not hold.
    Violated(String),
}

impl BarrierProgram {
    /// The program with decisions that follow from the numbers of the lanes, about three in five of them.
    #[must_use]
    pub fn with_values(&self) -> BarrierProgram {
        let mut rng = fastrand::Rng::with_seed(self.seed ^ 0x5eed);
        let mut program = self.clone();
        program.link_calls();
        let mut of_data: BTreeMap<usize, Option<u32>> = BTreeMap::new();
        let resets: BTreeMap<usize, usize> = (0..)
            .zip(&self.decisions)
            .filter_map(|(at, decision)| match decision {
                LaneDecision::Reset(of) => Some((*of.first()?, at)),
                _ => None,
            })
            .collect();
        for at in 0..self.code.ops.len() {
            let condition = self.code.ops[at].condition;
            let Some((guard, writer)) = condition.guard.zip(self.writer_before(at)) else {
                continue;
            };
            match self.decisions[at] {
                LaneDecision::Data(data) => {
                    let is_known = rng.u8(0..10) < 6;
                    let lanes = |bit: u32| {
                        (0..LANES).fold(0, |all, lane| {
                            all | (self.chance(lane, data, bit) as u32) << lane
                        })
                    };
                    let known = *of_data.entry(data).or_insert(is_known.then(|| lanes(0)));
                    let Some(mask) = known else { continue };
                    program.decisions[at] = LaneDecision::Known(mask);
                    let holds = match condition.negated {
                        true => !mask,
                        false => mask,
                    };
                    let value = bit_of(Expr::Const(holds), lane_number(), 1);
                    program.code.ops[writer].meaning =
                        Some(Meaning::Set(smallvec![(guard, value)]));
                }
                LaneDecision::Again { .. } if rng.u8(0..10) < 6 => {
                    let Some(&reset) = resets.get(&at) else {
                        continue;
                    };
                    let limits = rng.u32(0..1 << (2 * LANES));
                    program.decisions[at] = LaneDecision::Fewer(limits);
                    let counter = Cell::gpr(20 + (reset % 200) as u8);
                    let twice = Expr::binary(BinaryOp::Add, lane_number(), lane_number());
                    let limit = bit_of(Expr::Const(limits), twice, 3);
                    let goes_on = match condition.negated {
                        false => Expr::binary(BinaryOp::LtU, Expr::Cell(counter), limit),
                        true => Expr::binary(BinaryOp::LeU, limit, Expr::Cell(counter)),
                    };
                    let next = Expr::binary(BinaryOp::Add, Expr::Cell(counter), Expr::Const(1));
                    let ops = &mut program.code.ops;
                    ops[reset].writes.push(counter);
                    ops[reset].meaning = Some(Meaning::Set(smallvec![(counter, Expr::Const(0))]));
                    ops[writer].reads.push(counter);
                    ops[writer].writes.push(counter);
                    ops[writer].meaning =
                        Some(Meaning::Set(smallvec![(counter, next), (guard, goes_on)]));
                }
                _ => {}
            }
        }
        program
    }

    /// The last operation before another one that writes its guard.
    fn writer_before(&self, at: usize) -> Option<usize> {
        let guard = self.code.ops[at].condition.guard?;
        (0..at)
            .rev()
            .find(|&before| self.code.ops[before].writes.contains(&guard))
    }

    /// Lets calls leave the address of the next operation in a register, and returns jump there.
    fn link_calls(&mut self) {
        let register = Cell::gpr(12);
        for at in 0..self.code.ops.len() {
            let after = self.code.ops.get(at + 1).map_or(0, |op| op.addr.0);
            let op = &mut self.code.ops[at];
            match &mut op.control {
                ControlEffect::LinkedCall(_) => {
                    op.writes.push(register);
                    op.meaning = Some(Meaning::Set(smallvec![(register, Expr::Const(after))]));
                }
                ControlEffect::Return { base, relative, .. } => {
                    (*base, *relative) = (Some(register), true);
                    op.reads.push(register);
                }
                _ => {}
            }
        }
    }
}

/// Writes a register of the lanes in place of each uniform one.
fn keep_by_lanes(code: &mut Code) {
    let of_lanes = |cell: &mut Cell| {
        if cell.is_uniform() {
            *cell = Cell::gpr(6);
        }
    };
    for op in &mut code.ops {
        op.reads.iter_mut().chain(&mut op.writes).for_each(of_lanes);
        match &mut op.meaning {
            Some(Meaning::Set(writes)) => {
                for (cell, value) in writes {
                    of_lanes(cell);
                    if let Expr::Binary(_, a, _) = value
                        && let Expr::Cell(cell) = &mut **a
                    {
                        of_lanes(cell);
                    }
                }
            }
            Some(Meaning::Reduce { dest, .. }) => dest.iter_mut().for_each(of_lanes),
            _ => {}
        }
    }
}

fn lane_number() -> Expr {
    Expr::Special(SpecialReg::LaneId)
}

/// Bits of a word from a position on, under a mask.
fn bit_of(word: Expr, at: Expr, mask: u32) -> Expr {
    let shifted = Expr::binary(BinaryOp::Shr, word, at);
    Expr::binary(BinaryOp::And, shifted, Expr::Const(mask))
}

/// Flow of a code for a warp of [`LANES`] lanes; `None` if it is refused.
fn flow_of(code: &Code) -> Option<KernelFlow> {
    let launch = LaunchContext {
        warp_width: LANES,
        ..LaunchContext::default()
    };
    let model = WarpModel {
        may_diverge: true,
        ..WarpModel::default()
    };
    KernelFlow::analyse(code, &launch, &model, &Limits::default()).ok()
}

/// Launch of one warp without parameters.
fn values_of<'a>(
    code: &'a Code,
    transfers: &'a KnownTransfers,
    loops: &'a [StatedLoop],
) -> LaunchValues<'a> {
    LaunchValues {
        code,
        grid: [1; 3],
        block: [LANES, 1, 1],
        constant: &|_, _| None,
        contents: None,
        holds: None,
        transfers,
        loops,
        steps: STEPS,
        deadline: Deadline::default(),
    }
}

/// Executions of all operations by the warp of a launch; `None` without a profile.
fn executions_of(values: LaunchValues<'_>) -> Option<LaunchExecutions> {
    let all = (0..values.code.ops.len() as u32).map(OpIndex);
    let record = LaunchProfiler::record(values, MemoryUnits::VOLTA, all);
    record.ok().map(|record| record.executions)
}

/// Executions of all operations of a code without loops by the warp of a launch; `None` without a profile.
pub fn executions_of_code(code: &Code) -> Option<LaunchExecutions> {
    let transfers = flow_of(code)?.known_transfers(code);
    executions_of(values_of(code, &transfers, &[]))
}

/// Code of a program and what its graphs say, perhaps with a planted fault.
pub(super) struct PlantedCode {
    code: Code,
    pub(super) flow: KernelFlow,
    transfers: KnownTransfers,
}

impl PlantedCode {
    /// Analyses a code and plants a fault; `None` if the code is refused.
    pub(super) fn new(code: &Code, fault: ProfileFault) -> Option<PlantedCode> {
        let mut code = code.clone();
        let mut flow = flow_of(&code)?;
        let mut transfers = flow.known_transfers(&code);
        match fault {
            ProfileFault::None => {}
            ProfileFault::GroupsStayApart => code.family = Family::Maxwell,
            ProfileFault::NothingDemoted => transfers.barriers.ignored = BTreeSet::new(),
            ProfileFault::UniformKeptByLanes => keep_by_lanes(&mut code),
            ProfileFault::AllSkipsAgreed => {
                flow.warp.divergent.clear();
                transfers = flow.known_transfers(&code);
            }
            ProfileFault::NothingSkipped => {
                for at in std::mem::take(&mut transfers.agreed_skips).into_keys() {
                    code.ops[at.index()].control = ControlEffect::Next;
                }
            }
            ProfileFault::NoneMissing => {
                for op in &mut code.ops {
                    if let Some(Meaning::Ask(Some(mask))) = &mut op.meaning {
                        *mask = Expr::Const(0);
                    }
                }
            }
        }
        Some(PlantedCode {
            code,
            flow,
            transfers,
        })
    }

    /// Launch of one warp without parameters.
    pub(super) fn values<'a>(&'a self, loops: &'a [StatedLoop]) -> LaunchValues<'a> {
        values_of(&self.code, &self.transfers, loops)
    }

    /// Whether groups of lanes may come together at other places than the ends of regions.
    pub(super) fn groups_join_elsewhere(&self) -> bool {
        self.transfers.groups_join_elsewhere(&self.code)
    }
}

/// Runs a program `runs` times and compares each run with the profile of the warp, which may have a planted fault.
pub fn check_profile(
    program: &BarrierProgram,
    machine: GroupMachine,
    runs: u64,
    fault: ProfileFault,
) -> ProfileCheck {
    let Some(planted) = PlantedCode::new(&program.code, fault) else {
        return ProfileCheck::None;
    };
    let bounds = vec![Some(program.loop_bound); planted.flow.loops.sites.len()];
    let loops = stated_loops(&planted.flow, &bounds);
    let values = planted.values(&loops);
    let profile = LaunchProfiler::new(values).profile_all();
    let executions = executions_of(planted.values(&loops));
    let (Some(profile), Some(executions)) = (profile.bound(), executions) else {
        return ProfileCheck::None;
    };
    let mut slowest = 0;
    for seed in 0..runs {
        let run = machine.run(program, seed);
        let issued: u64 = run.executions.iter().sum();
        slowest = slowest.max(issued);
        let equal = !profile.exact || run.is_stuck || issued == profile.issues;
        if issued > profile.issues || !equal {
            return ProfileCheck::Violated(format!("{issued} instructions, {profile:?} claimed"));
        }
        for (at, &times) in (0..).map(OpIndex).zip(&run.executions) {
            let most = executions.of_warp.get(&at).copied().unwrap_or(0);
            if times > most {
                return ProfileCheck::Violated(format!(
                    "operation {} executed {times} times, at most {most} claimed",
                    at.0
                ));
            }
        }
    }
    ProfileCheck::Holds {
        slowest,
        issues: profile.issues,
        is_exact: profile.exact,
    }
}
