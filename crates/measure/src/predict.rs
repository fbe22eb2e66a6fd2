//! Prediction of counts: how often each block of a kernel runs in a launch, and with how many lanes, without a run.
//! Only code on which control flow depends is executed, and counts that depend on unknown values stay unknown
//! (SOUNDNESS 15).
//!
//! For example, `for (i = 0; i < n; i++) sum += a[i]` with n = 10 has ten executions of its body for each warp,
//! whatever `a` contains.

pub mod formulas;
pub mod intervals;
pub mod paper;
mod report;
mod tree;

pub use formulas::count_formula_report;
pub use formulas::formula_inputs;
pub use formulas::formula_totals;
pub use intervals::count_intervals;
pub use paper::predict_by_paper;
pub use report::predict_report;
use std::collections::{BTreeMap, BTreeSet};
pub use tree::computation_tree;

use warpbound_analyse::ThreadCfg;
use warpbound_analyse::blocks::Blocks;
use warpbound_analyse::launch_profile::{KnownTransfers, LaunchedWarp, NoProfile, ValueOrigin};
use warpbound_analyse::prediction::CountPredictor;
use warpbound_analyse::thread_cfg::Limits;
use warpbound_base::{Deadline, Diagnostic, Family};
use warpbound_ir::{Code, ControlEffect, Op, OpIndex};
use warpbound_launch::LaunchFile;

use warpbound_bounds::ProfileOptions;
use warpbound_bounds::profile::with_launch_values;
use warpbound_query::{Contents, Prepared, Session};
use warpbound_runs::{block_counts::BlockCount, block_counts::BlockCounts};

/// Options of a prediction.
#[derive(Clone, Debug)]
pub struct PredictOptions {
    /// Use of the contents of buffers.
    pub contents: Contents,
    /// Maximum number of operations that are executed for all warps together.
    pub steps: u64,
    /// Time after which the counts of the remaining warps are unknown.
    pub deadline: Deadline,
    /// Whether reports have ranges for unknown counts.
    pub ranges: bool,
    /// Whether reports also have the counts by the rule of `efficient-instrumentation-2014`.
    pub by_paper: bool,
}

impl Default for PredictOptions {
    fn default() -> PredictOptions {
        PredictOptions {
            contents: Contents::Any,
            steps: 200_000_000,
            deadline: Deadline::default(),
            ranges: false,
            by_paper: false,
        }
    }
}

/// Predicted count of one block, summed over the warps of a launch.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct PredictedCount {
    /// Executions by a warp; `None` if they do not follow from the launch.
    pub issues: Option<u64>,
    /// Active lanes, summed over these executions; `None` if they do not follow from the launch.
    pub lanes: Option<u64>,
    /// Operations whose unknown condition, target or meaning makes the count unknown; empty if it is known.
    pub unknown_at: BTreeSet<OpIndex>,
}

/// Counts of all blocks of a kernel in one launch.
#[derive(Clone, Debug)]
pub struct Prediction {
    /// Blocks of the code, which are counted.
    pub blocks: Blocks,
    /// Count of each block by its first operation.
    pub counts: BTreeMap<OpIndex, PredictedCount>,
    /// Warps of the launch.
    pub warps: u64,
    /// Warps that were executed; the others are equal to one of them.
    pub executed: u64,
    /// First warp that could not be followed, and the reason; then no count is known.
    pub lost: Option<(LaunchedWarp, NoProfile)>,
    /// Buffers whose contents the counts rest on.
    pub buffers: Vec<String>,
}

impl Prediction {
    /// Returns whether both counts of each block are known.
    pub fn is_whole(&self) -> bool {
        let mut counts = self.counts.values();
        counts.all(|count| count.issues.is_some() && count.lanes.is_some())
    }

    /// Returns the blocks whose counts are both known.
    pub fn known(&self) -> BlockCounts {
        let known = self.counts.iter().filter_map(|(&first, count)| {
            let (issues, lanes) = (count.issues?, count.lanes?);
            Some((first, BlockCount { issues, lanes }))
        });
        BlockCounts {
            blocks: known.collect(),
        }
    }
}

/// Predicts the counts of all blocks of a kernel in a launch: exactly, or as unknown (SOUNDNESS 15).
///
/// # Errors
///
/// The launch does not suit the kernel, or the instruction set is one that predictions do not cover.
pub fn predict(
    session: &Session,
    prepared: &Prepared<'_>,
    launch: &LaunchFile,
    options: &PredictOptions,
) -> Result<Prediction, Diagnostic> {
    refuse_prediction(session, prepared)?;
    let (blocks, transfers) = blocks_and_transfers(&prepared.code);
    let limits = options.limits(transfers);
    let (tally, buffers) = with_launch_values(session, prepared, launch, &limits, |values| {
        CountPredictor::new(values, &blocks).predict_all()
    })?;
    let counts = tally.blocks.iter().enumerate().map(|(index, tally)| {
        let first = blocks.get(index).first;
        let known = |count| match tally.unknown_at.is_empty() {
            // Counts are summed in 128 bits, and a sum beyond 64 bits is unknown.
            true => u64::try_from(count).ok(),
            false => None,
        };
        let count = PredictedCount {
            issues: known(tally.issues),
            lanes: known(tally.lanes),
            unknown_at: tally.unknown_at.clone(),
        };
        (first, count)
    });
    Ok(Prediction {
        counts: counts.collect(),
        warps: tally.warps,
        executed: tally.executed,
        lost: tally.lost,
        // If no content of a buffer decided anything, the counts hold for all contents.
        buffers: match tally.decided.has(ValueOrigin::CONTENTS) {
            true => buffers,
            false => Vec::new(),
        },
        blocks,
    })
}

/// Fails for instruction sets that predictions do not cover.
fn refuse_prediction(session: &Session, prepared: &Prepared<'_>) -> Result<(), Diagnostic> {
    let what = match prepared.family() {
        Family::Maxwell => return Ok(()),
        Family::Volta => "GPUs from Volta on, whose lanes wait at convergence barriers",
        Family::Gcn3 => "GCN3, whose waves keep masks of lanes in registers",
        Family::MiniSimt => "mini-SIMT programs",
    };
    let message = format!("predictions do not cover {what}");
    let diagnostic = Diagnostic::new(message).in_kernel(prepared.kernel.demangled());
    Err(session.locate(diagnostic))
}

impl PredictOptions {
    /// Returns the limits and inputs of an execution with these transfers.
    fn limits(&self, transfers: KnownTransfers) -> ProfileOptions {
        ProfileOptions {
            contents: self.contents,
            steps: self.steps,
            deadline: self.deadline,
            transfers,
            loops: Vec::new(),
        }
    }
}

/// Returns the blocks of a code, and what is known of its transfers: nothing if its graph is not known.
fn blocks_and_transfers(code: &Code) -> (Blocks, KnownTransfers) {
    let is_indirect = |op: &Op| matches!(op.control, ControlEffect::Indirect { .. });
    // A target of an indirect jump begins a block, so the graph must be built to find the blocks.
    if code.ops.iter().any(is_indirect)
        && let Ok(thread) = ThreadCfg::build(code, &Limits::default())
    {
        let transfers = KnownTransfers::of(&thread);
        return (thread.space.blocks, transfers);
    }
    (
        Blocks::build(code, &BTreeSet::new()),
        KnownTransfers::default(),
    )
}
