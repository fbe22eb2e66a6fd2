//! Random programs with convergence barriers, run by a machine of groups, against their bounds (SOUNDNESS 21).
//!
//! The machine is a second implementation of what is known of the hardware: groups of lanes that run in any order and
//! merge at random where they meet, and barriers of which each lane takes part in an instance. It shares no code with
//! the stacks of `simt`.

mod machine;
mod predicted;
mod profiled;
mod programs;
mod recorded;

pub use machine::{BarrierMeaning, GroupMachine, GroupRun};
pub use predicted::{PredictionCheck, check_prediction};
pub use profiled::{ProfileCheck, ProfileFault, check_profile, executions_of_code};
pub use programs::{BarrierProgram, Shapes};
pub use recorded::{LaneMask, PointStep, RecordedCode, StackRun};

use std::collections::BTreeMap;

use warpbound_analyse::thread_cfg::Limits;
use warpbound_analyse::{LaunchContext, ThreadCfg};
use warpbound_ipet::StatedCounts;
use warpbound_ir::{Code, ControlEffect, OpIndex};
use warpbound_query::KernelFlow;
use warpbound_simt::NodeId;
use warpbound_simt::warp::WarpModel;

/// Lanes of the warps.
pub const LANES: u32 = 8;

/// The code without some of the regions that join lanes, chosen by the seed with a probability of 40 %. `None` if the
/// analyses refuse the code.
pub fn with_demotions(code: &Code, seed: u64) -> Option<Code> {
    let thread = ThreadCfg::build(code, &Limits::default()).ok()?;
    let mut rng = fastrand::Rng::with_seed(seed);
    let mut changed = code.clone();
    // Several regions may end at one operation: all of them are demoted, or none.
    let mut chosen: BTreeMap<OpIndex, bool> = BTreeMap::new();
    for (region, ends) in &thread.regions.ends {
        let is_chosen = match ends.iter().find_map(|end| chosen.get(end)) {
            Some(known) => *known,
            None => rng.u8(0..10) < 4,
        };
        chosen.extend(ends.iter().map(|&end| (end, is_chosen)));
        // A region that lanes leave by BREAK is demoted anyway, and needs its BSSY to be recognised; so does one whose
        // barrier is moved.
        let is_moved = ends.iter().any(|&end| !closes(code, *region, end));
        if is_chosen && !is_moved && !thread.regions.demoted.contains_key(region) {
            for at in ends.iter().chain([region]) {
                changed.ops[at.index()].control = ControlEffect::Next;
            }
        }
    }
    Some(changed)
}

/// Whether a region ends with the barrier that opened it.
fn closes(code: &Code, region: OpIndex, end: OpIndex) -> bool {
    let number = |at: OpIndex| match code.ops[at.index()].control {
        ControlEffect::OpenBarrier(barrier, _) | ControlEffect::JoinBarrier(barrier) => {
            Some(barrier)
        }
        _ => None,
    };
    number(region) == number(end)
}

/// The code with barriers that join no lanes.
pub fn without_barriers(code: &Code) -> Code {
    let mut code = code.clone();
    for op in &mut code.ops {
        if matches!(
            op.control,
            ControlEffect::OpenBarrier(..)
                | ControlEffect::JoinBarrier(_)
                | ControlEffect::BreakBarrier(_)
                | ControlEffect::SaveBarrier(..)
                | ControlEffect::WriteBarrier { .. }
        ) {
            op.control = ControlEffect::Next;
        }
    }
    code
}

/// Result of a check.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum BoundCheck {
    /// The analyses refuse the code, with the reason.
    Refused(String),
    /// Without a bound.
    Unbounded,
    /// No run executed more than the bound: the instructions of the slowest run, and the bound.
    Holds(u64, u128),
    /// A run executed more.
    Violated(String),
}

/// Runs a program `runs` times and compares each run with the bounds that follow from `analysed`, which is the code of
/// the program unless a fault is planted.
pub fn check(
    program: &BarrierProgram,
    analysed: &Code,
    machine: GroupMachine,
    runs: u64,
) -> BoundCheck {
    let launch = LaunchContext {
        warp_width: LANES,
        ..LaunchContext::default()
    };
    let model = WarpModel {
        may_diverge: true,
        ..WarpModel::default()
    };
    let flow = match KernelFlow::analyse(analysed, &launch, &model, &Limits::default()) {
        Ok(flow) => flow,
        Err(refusal) => return BoundCheck::Refused(refusal.reason.to_string()),
    };
    let loops = vec![Some(program.loop_bound); flow.loops.sites.len()];
    let Some(total) = flow.bound(&loops) else {
        return BoundCheck::Unbounded;
    };
    let total = total.limit().0;
    let mut slowest = 0;
    for seed in 0..runs {
        let run = machine.run(program, seed);
        let issued: u64 = run.executions.iter().sum();
        slowest = slowest.max(issued);
        if u128::from(issued) > total {
            return BoundCheck::Violated(format!("{issued} instructions, at most {total} claimed"));
        }
        let choice = program.seed.wrapping_mul(runs) ^ seed;
        if let Some(found) = violated_point(&flow, &loops, &run, choice) {
            return BoundCheck::Violated(found);
        }
    }
    BoundCheck::Holds(slowest, total)
}

/// Compares the executions of one operation, chosen by the seed, with the bound of its block.
fn violated_point(
    flow: &KernelFlow,
    loops: &[Option<u64>],
    run: &GroupRun,
    seed: u64,
) -> Option<String> {
    /// Weight of the block: more than all other instructions of a run.
    const WEIGHT: u64 = 1 << 20;
    let executed: Vec<usize> = (0..run.executions.len())
        .filter(|&at| run.executions[at] > 0)
        .collect();
    let chosen = fastrand::Rng::with_seed(seed).usize(0..executed.len().max(1));
    let at = *executed.get(chosen)?;
    let of_block = |node: NodeId| {
        let block = flow.thread.space.block(node);
        (block.first.index()..=block.last.index()).contains(&at)
    };
    let stated = StatedCounts {
        bounds: loops,
        ..StatedCounts::default()
    };
    let bound = flow.bound_with(stated, |node| if of_block(node) { WEIGHT } else { 0 })?;
    let times = run.executions[at];
    (u128::from(times * WEIGHT) > bound.limit().0)
        .then(|| format!("operation {at} executed {times} times, bound {bound:?}"))
}
