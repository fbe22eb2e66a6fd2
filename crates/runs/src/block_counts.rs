//! Executions of basic blocks: counted in runs, predicted, or reconstructed from probes.
//!
//! One number per block suffices, because all operations of a block are executed as often as its first one.

use std::collections::BTreeMap;

use warpbound_analyse::blocks::Blocks;
use warpbound_ir::OpIndex;
use warpbound_simulate::functional::Counts;

/// Executions of one basic block, summed over the warps of a launch.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct BlockCount {
    /// Executions by a warp.
    pub issues: u64,
    /// Active lanes, summed over these executions.
    pub lanes: u64,
}

/// Executions of basic blocks by the first operation of the block. A block that is not listed has an unknown count; a
/// block that is never executed has a count of zero.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct BlockCounts {
    /// Count of each block by its first operation.
    pub blocks: BTreeMap<OpIndex, BlockCount>,
}

impl BlockCounts {
    /// Returns the executions of all blocks in a run, which are the executions of their first operations.
    pub fn of_run(blocks: &Blocks, counts: &Counts) -> BlockCounts {
        let count = |of: &[u64], at: OpIndex| of.get(at.index()).copied().unwrap_or(0);
        let blocks = (0..blocks.len()).map(|index| blocks.get(index).first);
        let counted = blocks.map(|first| {
            let counted = BlockCount {
                issues: count(&counts.issues, first),
                lanes: count(&counts.active, first),
            };
            (first, counted)
        });
        BlockCounts {
            blocks: counted.collect(),
        }
    }
}
