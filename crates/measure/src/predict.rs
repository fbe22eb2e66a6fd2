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

use std::collections::{BTreeMap, BTreeSet};

pub use formulas::count_formula_report;
pub use formulas::formula_inputs;
pub use formulas::formula_totals;
pub use intervals::count_intervals;
pub use paper::predict_by_paper;
pub use report::predict_report;
pub use tree::computation_tree;

use warpbound_analyse::ThreadCfg;
use warpbound_analyse::blocks::Blocks;
use warpbound_analyse::launch_profile::{KnownTransfers, LaunchedWarp, NoProfile, ValueOrigin};
use warpbound_analyse::prediction::{BlockTally, CountPredictor};
use warpbound_analyse::thread_cfg::Limits;
use warpbound_base::{Deadline, Diagnostic, Family};
use warpbound_ir::{ControlEffect, Op, OpIndex};
use warpbound_launch::LaunchFile;

use warpbound_bounds::ProfileOptions;
use warpbound_bounds::assumptions::{assumption, convergence_assumptions, warp_graph_assumptions};
use warpbound_bounds::profile::with_launch_values;
use warpbound_query::{BoundOptions, Contents, Prepared, Session};
use warpbound_report::BoundAssumption;
use warpbound_runs::{block_counts::BlockCount, block_counts::BlockCounts};

/// Assumption of counts in blocks that groups of lanes execute apart.
const JOINS_ONLY_THERE: &str = "groups of lanes of a warp come together only at the BSYNC that ends a region, those that executed its BSSY together";

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
    /// Properties of the hardware that the counts rest on (SOUNDNESS 15.9).
    pub assumptions: Vec<BoundAssumption>,
    /// Whether groups of lanes may come together where no count row says so. Then the executions of some blocks are
    /// unknown, although their lanes are known.
    pub groups_join_elsewhere: bool,
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
    PredictedCode::find(session, prepared)?.predict(session, prepared, launch, options)
}

/// Fails for instruction sets that predictions do not cover.
fn refuse_prediction(session: &Session, prepared: &Prepared<'_>) -> Result<(), Diagnostic> {
    let what = match prepared.family() {
        Family::Maxwell | Family::Volta => return Ok(()),
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

/// Blocks of a kernel, and what the graphs say about its transfers.
struct PredictedCode {
    blocks: Blocks,
    transfers: KnownTransfers,
    /// Properties of the hardware that the graphs rest on.
    assumptions: Vec<BoundAssumption>,
}

impl PredictedCode {
    /// Finds the blocks. Nothing is known of the transfers if the graph of a thread is not known.
    ///
    /// # Errors
    ///
    /// The kernel has convergence barriers, and its graphs are refused.
    fn find(session: &Session, prepared: &Prepared<'_>) -> Result<PredictedCode, Diagnostic> {
        let code = &prepared.code;
        if prepared.family().may_merge_groups() {
            let options = BoundOptions::default();
            let context = session.launch(prepared.kernel, &options)?.context;
            let flow = session.flow(prepared, &context, &options)?;
            let mut assumptions: Vec<_> = warp_graph_assumptions(&flow.warp.used).collect();
            assumptions.extend(convergence_assumptions(code, &flow.thread));
            return Ok(PredictedCode {
                transfers: flow.known_transfers(code),
                blocks: flow.thread.space.blocks.clone(),
                assumptions,
            });
        }
        let is_indirect = |op: &Op| matches!(op.control, ControlEffect::Indirect { .. });
        let mut found = PredictedCode {
            blocks: Blocks::build(code, &BTreeSet::new()),
            transfers: KnownTransfers::default(),
            assumptions: Vec::new(),
        };
        // A target of an indirect jump begins a block, so the graph must be built to find the blocks.
        if code.ops.iter().any(is_indirect)
            && let Ok(thread) = ThreadCfg::build(code, &Limits::default())
        {
            found.transfers = KnownTransfers::of(&thread);
            found.blocks = thread.space.blocks;
        }
        Ok(found)
    }

    /// Predicts the counts in a launch, as [`predict`].
    fn predict(
        &self,
        session: &Session,
        prepared: &Prepared<'_>,
        launch: &LaunchFile,
        options: &PredictOptions,
    ) -> Result<Prediction, Diagnostic> {
        let PredictedCode {
            blocks, transfers, ..
        } = self;
        let joins_in_code = transfers.groups_join_elsewhere(&prepared.code);
        let limits = options.limits(transfers.clone());
        let (tally, buffers) = with_launch_values(session, prepared, launch, &limits, |values| {
            CountPredictor::new(values, blocks).predict_all()
        })?;
        // Groups that wait apart at one BAR may go on together.
        let waits_apart = |(index, tally): (usize, &BlockTally)| {
            let block = blocks.get(index);
            tally.is_apart
                && block
                    .ops()
                    .any(|at| prepared.code.get(at).is_some_and(|op| op.barrier))
        };
        let groups_join_elsewhere =
            joins_in_code || tally.blocks.iter().enumerate().any(waits_apart);
        // In other blocks no lane of the warp is elsewhere, so that no group can join.
        let is_exact = |tally: &BlockTally| tally.unknown_at.is_empty() && !tally.is_apart;
        let mut assumptions = self.assumptions.clone();
        let may_join = prepared.family().may_merge_groups() && !tally.blocks.iter().all(is_exact);
        if may_join && !groups_join_elsewhere {
            assumptions.push(assumption("joins-only-there", JOINS_ONLY_THERE));
        }
        let counts = tally.blocks.iter().enumerate().map(|(index, tally)| {
            let first = blocks.get(index).first;
            let known = |count| match tally.unknown_at.is_empty() {
                // Counts are summed in 128 bits, and a sum beyond 64 bits is unknown.
                true => u64::try_from(count).ok(),
                false => None,
            };
            let count = PredictedCount {
                issues: known(tally.issues).filter(|_| !(tally.is_apart && groups_join_elsewhere)),
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
            assumptions,
            groups_join_elsewhere,
            blocks: blocks.clone(),
        })
    }
}
