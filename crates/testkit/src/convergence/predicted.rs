//! Random programs with convergence barriers, against predictions of their counts (SOUNDNESS 15.9).
//!
//! For example, lanes 0, 2 and 5 of eight take a branch that follows from the number of the lane, and in it a branch on data.
//! The counts of the inner sides are unknown, and the counts of all other blocks are compared with runs.

use warpbound_analyse::prediction::CountPredictor;

use super::BarrierMeaning;
use super::machine::GroupMachine;
use super::profiled::{PlantedCode, ProfileFault};
use super::programs::BarrierProgram;

/// Result of a check.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum PredictionCheck {
    /// The code is refused, or the warp could not be followed.
    None,
    /// Each run has all known counts.
    Holds {
        /// Blocks whose lanes and executions are known.
        known: u64,
        /// Blocks among them that groups of lanes execute apart.
        apart: u64,
        /// Blocks with known lanes and unknown executions.
        lanes_only: u64,
        /// Blocks without a known count.
        unknown: u64,
    },
    /// A count is another one in some run.
    Violated(String),
}

/// Runs a program `runs` times without merges at one address, which `joins-only-there` excludes, and as often with them, and
/// compares each run with the prediction, which may have a planted fault.
pub fn check_prediction(
    program: &BarrierProgram,
    runs: u64,
    fault: ProfileFault,
) -> PredictionCheck {
    let Some(planted) = PlantedCode::new(&program.code, fault) else {
        return PredictionCheck::None;
    };
    let blocks = &planted.flow.thread.space.blocks;
    let tally = CountPredictor::new(planted.values(&[]), blocks).predict_all();
    if tally.lost.is_some() {
        return PredictionCheck::None;
    }
    let join_elsewhere = planted.groups_join_elsewhere();
    let (mut known, mut apart, mut lanes_only, mut unknown) = (0, 0, 0, 0);
    for block in &tally.blocks {
        match (block.unknown_at.is_empty(), block.is_apart) {
            (false, _) => unknown += 1,
            (true, true) if join_elsewhere => lanes_only += 1,
            (true, is_apart) => {
                known += 1;
                apart += u64::from(is_apart);
            }
        }
    }
    for (merges, seed) in [false, true]
        .into_iter()
        .flat_map(|m| (0..runs).map(move |s| (m, s)))
    {
        let machine = GroupMachine {
            barriers: BarrierMeaning::Instances,
            merges,
        };
        let run = machine.run(program, seed);
        // The claim is about runs whose warps all end.
        if run.is_stuck {
            continue;
        }
        for (index, block) in tally.blocks.iter().enumerate() {
            let first = blocks.get(index).first;
            let (issues, lanes) = (run.executions[first.index()], run.lanes[first.index()]);
            if !block.unknown_at.is_empty() {
                continue;
            }
            let issues_hold = match block.is_apart && (merges || join_elsewhere) {
                false => u128::from(issues) == block.issues,
                true => u128::from(issues) <= block.issues,
            };
            if !issues_hold || u128::from(lanes) != block.lanes {
                return PredictionCheck::Violated(format!(
                    "the block at operation {}, merges {merges}: {issues} executions of {lanes} lanes, {block:?} claimed",
                    first.0
                ));
            }
        }
    }
    PredictionCheck::Holds {
        known,
        apart,
        lanes_only,
        unknown,
    }
}
