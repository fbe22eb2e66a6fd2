//! Prediction of counts: how often each block of a kernel runs in a launch, and with how many lanes, without running it.

use std::collections::{BTreeMap, BTreeSet};

use warpbound_analyse::blocks::Blocks;
use warpbound_base::{Deadline, Diagnostic};
use warpbound_ir::OpIndex;
use warpbound_launch::LaunchFile;

use crate::block_counts::{BlockCount, BlockCounts};
use crate::{Contents, Prepared, Session};

/// Options of a prediction.
#[derive(Clone, Debug)]
pub struct PredictOptions {
    /// Use of the contents of buffers.
    pub contents: Contents,
    /// Most operations that are executed for all warps together.
    pub steps: u64,
    /// Time after which the counts of the remaining warps are unknown.
    pub deadline: Deadline,
}

impl Default for PredictOptions {
    fn default() -> PredictOptions {
        PredictOptions {
            contents: Contents::Any,
            steps: 200_000_000,
            deadline: Deadline::default(),
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
    /// Blocks of the code that are counted.
    pub blocks: Blocks,
    /// Count of each block by its first operation.
    pub counts: BTreeMap<OpIndex, PredictedCount>,
    /// Warps of the launch.
    pub warps: u64,
    /// Warps that were executed; the others are equal to one of them.
    pub executed: u64,
    /// Buffers whose contents the counts rest on.
    pub buffers: Vec<String>,
}

impl Prediction {
    /// Returns whether both counts of each block are known.
    pub fn is_whole(&self) -> bool {
        let mut counts = self.counts.values();
        counts.all(|count| count.issues.is_some() && count.lanes.is_some())
    }

    /// Returns the blocks of which both counts are known.
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

impl Session {
    /// Predicts the counts of all blocks of a kernel in a launch: exactly, or as unknown.
    ///
    /// # Errors
    ///
    /// The launch does not suit the kernel, or the instruction set is one that predictions do not cover.
    pub fn predict(
        &self,
        prepared: &Prepared<'_>,
        launch: &LaunchFile,
        _options: &PredictOptions,
    ) -> Result<Prediction, Diagnostic> {
        warpbound_launch::check_limits(prepared.kernel, launch).map_err(|d| self.locate(d))?;
        let blocks = Blocks::build(&prepared.code, &BTreeSet::new());
        let counts = (0..blocks.len()).map(|index| {
            let unknown = PredictedCount {
                unknown_at: BTreeSet::from([prepared.code.entry]),
                ..PredictedCount::default()
            };
            (blocks.get(index).first, unknown)
        });
        Ok(Prediction {
            counts: counts.collect(),
            blocks,
            warps: 0,
            executed: 0,
            buffers: Vec::new(),
        })
    }
}
