//! Predicted counts against the counts of functional runs, block by block.

use warpbound_analyse::blocks::Blocks;
use warpbound_analyse::prediction::LaunchTally;
use warpbound_ir::OpIndex;
use warpbound_launch::{LaunchFile, PathOrder};
use warpbound_measure::Prediction;
use warpbound_query::{Prepared, Session};
use warpbound_simulate::functional::{Counts, launch};

use crate::launch_profiles::ProgramLaunch;
use crate::launch_profiles::programs::ProfiledProgram;

/// Counts of each operation in a functional run of a launch.
///
/// # Errors
///
/// The fault of a run that has one.
pub fn counts_of_run(
    session: &Session,
    prepared: &Prepared<'_>,
    launched: &LaunchFile,
    order: PathOrder,
    max_instructions: u64,
) -> Result<Counts, String> {
    let bound = session.bind(prepared, launched, order, max_instructions);
    let (run, mut memory) = bound.map_err(|why| why.to_string())?;
    launch(&prepared.code, &run, &mut memory).map_err(|fault| format!("{fault:?}"))
}

/// Returns the first operations of the blocks of a kernel.
pub fn block_starts(prepared: &Prepared<'_>) -> Vec<OpIndex> {
    let blocks = Blocks::build(&prepared.code, &std::collections::BTreeSet::new());
    (0..blocks.len()).map(|at| blocks.get(at).first).collect()
}

/// Returns the executions and active lanes of blocks in a run.
pub fn counts_of_blocks(starts: &[OpIndex], counts: &Counts) -> Vec<[u64; 2]> {
    let of = |counts: &[u64], at: OpIndex| counts.get(at.index()).copied().unwrap_or(0);
    let pairs = starts.iter();
    pairs
        .map(|&at| [of(&counts.issues, at), of(&counts.active, at)])
        .collect()
}

/// Outcome of a comparison.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct ComparedCounts {
    /// Blocks whose known counts are the counts of the run.
    pub right: u64,
    /// Blocks without known counts.
    pub unknown: u64,
    /// Differences, as text.
    pub wrong: Vec<String>,
}

impl ComparedCounts {
    /// Compares the count of one block, which is `None` if unknown, with the run.
    fn add(&mut self, first: OpIndex, counts: &Counts, predicted: [Option<u128>; 2]) {
        let of = |counts: &[u64]| counts.get(first.index()).copied().unwrap_or(0);
        let counted = [of(&counts.issues), of(&counts.active)].map(u128::from);
        match predicted {
            [None, None] => self.unknown += 1,
            _ => {
                let mut pairs = predicted.iter().zip(counted);
                match pairs.all(|(predicted, counted)| predicted.is_none_or(|p| p == counted)) {
                    true => self.right += 1,
                    false => self.wrong.push(format!(
                        "the block at operation {}: predicted {predicted:?}, counted {counted:?}",
                        first.0
                    )),
                }
            }
        }
    }

    /// Adds another comparison.
    pub fn append(&mut self, other: ComparedCounts) {
        self.right += other.right;
        self.unknown += other.unknown;
        self.wrong.extend(other.wrong);
    }
}

/// Compares all counts of a prediction with the counts of a run.
pub fn compare(prediction: &Prediction, counts: &Counts) -> ComparedCounts {
    let mut compared = ComparedCounts::default();
    for (&first, count) in &prediction.counts {
        let predicted = [count.issues, count.lanes].map(|count| count.map(u128::from));
        compared.add(first, counts, predicted);
    }
    compared
}

/// Compares the counts of a random program with the counts of a run. The predictor sees `seen` in place of the
/// program.
pub fn compare_program(
    program: &ProfiledProgram,
    seen: &ProfiledProgram,
    launched: &ProgramLaunch,
    readable: Option<usize>,
) -> ComparedCounts {
    let mut memory = launched.memory.clone();
    let counts = launch(&program.code, &launched.launch, &mut memory);
    let counts = counts.expect("the programs end");
    let tally = launched.predict(seen, readable);
    compare_tally(&seen.code, &tally, &counts)
}

fn compare_tally(
    code: &warpbound_ir::Code,
    tally: &LaunchTally,
    counts: &Counts,
) -> ComparedCounts {
    let blocks = Blocks::build(code, &std::collections::BTreeSet::new());
    let mut compared = ComparedCounts::default();
    for (index, block) in tally.blocks.iter().enumerate() {
        let known = |count| block.unknown_at.is_empty().then_some(count);
        let predicted = [known(block.issues), known(block.lanes)];
        compared.add(blocks.get(index).first, counts, predicted);
    }
    compared
}
