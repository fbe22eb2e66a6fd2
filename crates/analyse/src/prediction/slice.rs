//! Slice of a kernel that predictions execute: for each block the operations that may decide which blocks run.

use std::collections::BTreeSet;

use warpbound_ir::{Code, OpIndex};

use crate::blocks::{Block, Blocks};
use crate::launch_profile::decisive_cells::{DecisiveCells, may_write_memory};

/// Operations of one block that matter.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(super) struct BlockEffects {
    /// Operations that write followed cells, or memory that is read, in order.
    pub(super) ops: Vec<OpIndex>,
    /// Followed cells that any operation of the block writes, as positions in rows.
    pub(super) writes: BTreeSet<usize>,
    /// Whether an operation may write global memory.
    pub(super) writes_memory: bool,
}

/// Blocks with the operations that matter.
#[derive(Clone, Debug)]
pub(super) struct Slice {
    blocks: Blocks,
    effects: Vec<BlockEffects>,
    /// Block that begins at each operation.
    starts: Vec<Option<usize>>,
}

impl Slice {
    /// Cuts the code into blocks and collects their operations. With `memory`, writes of global memory matter.
    pub(super) fn new(code: &Code, blocks: &Blocks, cells: &DecisiveCells, memory: bool) -> Slice {
        let mut starts = vec![None; code.ops.len()];
        let mut effects = Vec::with_capacity(blocks.len());
        for index in 0..blocks.len() {
            let block = blocks.get(index);
            if let Some(start) = starts.get_mut(block.first.index()) {
                *start = Some(index);
            }
            let mut found = BlockEffects::default();
            for at in block.ops() {
                let Some(op) = code.get(at) else { continue };
                let written = op.writes.iter().filter_map(|&cell| cells.position(cell));
                found.writes.extend(written);
                let writes_memory = may_write_memory(op);
                found.writes_memory |= writes_memory;
                if cells.are_written_by(op) || memory && writes_memory {
                    found.ops.push(at);
                }
            }
            effects.push(found);
        }
        Slice {
            blocks: blocks.clone(),
            effects,
            starts,
        }
    }

    /// Number of blocks.
    pub(super) fn len(&self) -> usize {
        self.effects.len()
    }

    /// Block with an index below [`Slice::len`].
    pub(super) fn block(&self, index: usize) -> Block {
        self.blocks.get(index)
    }

    /// Operations of a block that matter.
    pub(super) fn effects(&self, index: usize) -> &BlockEffects {
        &self.effects[index]
    }

    /// Index of the block that begins at an operation.
    pub(super) fn block_at(&self, at: OpIndex) -> Option<usize> {
        self.starts.get(at.index()).copied().flatten()
    }
}
