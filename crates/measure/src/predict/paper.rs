//! Counts by the rule of `efficient-instrumentation-2014`: the execution of one thread times the number of threads,
//! outside tainted blocks. The rule is shown for comparison, and no claim rests on it (SOUNDNESS 15.7).
//!
//! For example, after `if (threadIdx.x >= 16) return;` the rest of the kernel has 16 lanes of a warp of 32, and the
//! rule states 32.

use std::collections::BTreeMap;

use crate::predict::refuse_prediction;
use warpbound_analyse::prediction::CountPredictor;
use warpbound_base::Diagnostic;
use warpbound_bounds::profile::with_launch_values;
use warpbound_ir::OpIndex;
use warpbound_launch::LaunchFile;

use super::{PredictOptions, PredictedCode, Prediction};
use warpbound_query::{Prepared, Session};

/// Verdict of the rule on a block.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum RuleCount {
    /// The block follows a branch on the thread index: it is measured.
    Measured,
    /// Loaded data decides whether the one thread executes the block, which the rule does not foresee.
    Undecided,
    /// Executions by warps, and lanes in sum.
    Stated {
        /// Executions.
        issues: u64,
        /// Active lanes.
        lanes: u64,
    },
}

/// Counts by the rule of the paper.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct PaperPrediction {
    /// Verdict of the rule on each block, by its first operation.
    pub blocks: BTreeMap<OpIndex, RuleCount>,
}

impl PaperPrediction {
    /// Returns the blocks where the rule states counts that differ from the predicted ones: the rule is wrong there.
    pub fn wrong<'a>(&'a self, prediction: &'a Prediction) -> impl Iterator<Item = OpIndex> + 'a {
        let blocks = self.blocks.iter();
        let wrong = blocks.filter(|(first, rule)| {
            let count = prediction.counts.get(first);
            let known = count.and_then(|count| count.issues.zip(count.lanes));
            match (rule, known) {
                (RuleCount::Stated { issues, lanes }, Some(known)) => (*issues, *lanes) != known,
                _ => false,
            }
        });
        wrong.map(|(&first, _)| first)
    }
}

/// Computes the counts of a launch by the rule of the paper: blocks at the outgoing edges of branches on the thread
/// index are measured; all others run as often as the first thread executes them, times the warps or threads of the
/// launch. The rule is an unproven claim of the paper.
///
/// # Errors
///
/// As [`super::predict`], or the kernel is refused.
pub fn predict_by_paper(
    session: &Session,
    prepared: &Prepared<'_>,
    launch: &LaunchFile,
    options: &PredictOptions,
) -> Result<PaperPrediction, Diagnostic> {
    refuse_prediction(session, prepared)?;
    let PredictedCode {
        blocks, transfers, ..
    } = PredictedCode::find(session, prepared)?;
    let limits = options.limits(transfers);
    let tainted = session.determinacy(prepared)?.tainted_blocks();
    let (tally, _) = with_launch_values(session, prepared, launch, &limits, |values| {
        CountPredictor::new(values, &blocks).predict_first_thread()
    })?;
    let sizes = crate::probes::launched(launch, prepared.code.lanes());
    let count = |index: usize, first: OpIndex| {
        if tainted.contains(&first) {
            return RuleCount::Measured;
        }
        let stated = tally.blocks.get(index).zip(sizes);
        let stated = stated.filter(|(block, _)| block.unknown_at.is_empty());
        let stated = stated.and_then(|(block, (warps, threads))| {
            // The rule takes every thread to execute the block as often as the first one.
            let once = u64::try_from(block.issues).ok()?;
            Some((once.checked_mul(warps)?, once.checked_mul(threads)?))
        });
        match stated {
            Some((issues, lanes)) => RuleCount::Stated { issues, lanes },
            None => RuleCount::Undecided,
        }
    };
    let rows = (0..blocks.len()).map(|index| {
        let first = blocks.get(index).first;
        (first, count(index, first))
    });
    Ok(PaperPrediction {
        blocks: rows.collect(),
    })
}
