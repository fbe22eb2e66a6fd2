//! Basic blocks of a code section.

use std::collections::BTreeSet;

use warpbound_ir::{Code, ControlEffect, ControlTarget, OpIndex};

/// Basic block: a run of operations that is entered at its first and left after its last operation. For example, the
/// target of a branch begins a block, and the branch ends one.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Block {
    /// First operation.
    pub first: OpIndex,
    /// Last operation, inclusive; the only one that a warp may leave for another than the next operation.
    pub last: OpIndex,
    /// Instructions that a warp issues per execution of the block.
    pub instructions: u64,
}

impl Block {
    /// The operations in order.
    pub fn ops(&self) -> impl DoubleEndedIterator<Item = OpIndex> {
        (self.first.0..=self.last.0).map(OpIndex)
    }
}

/// All blocks of a section, in address order, reachable or not.
#[derive(Clone, Debug)]
pub struct Blocks {
    blocks: Vec<Block>,
}

impl Blocks {
    /// Cuts `code` after every control operation, at every direct target, and at the `indirect` targets.
    pub fn build(code: &Code, indirect: &BTreeSet<OpIndex>) -> Self {
        // One more than the operations: the last one may be a control operation, after which the code is cut as well.
        let mut leader = vec![false; code.ops.len() + 1];
        let mut mark = |at: OpIndex| {
            if let Some(slot) = leader.get_mut(at.index()) {
                *slot = true;
            }
        };
        mark(OpIndex(0));
        mark(code.entry);
        for function in &code.functions {
            mark(function.entry);
        }
        for &target in indirect {
            mark(target);
        }
        for (i, op) in code.ops.iter().enumerate() {
            match &op.control {
                // These change the active lanes or the barriers of lanes, but not the place where the warp continues, so
                // they end no block.
                ControlEffect::Next
                | ControlEffect::SetActive(_)
                | ControlEffect::BreakBarrier(_)
                | ControlEffect::SaveBarrier(..)
                | ControlEffect::WriteBarrier { .. } => continue,
                // The lanes go on at the next instruction, but other lanes of the warp may run before them (SOUNDNESS
                // 21.10).
                ControlEffect::Release => {}
                ControlEffect::Jump(ControlTarget::Op(target))
                | ControlEffect::Branch {
                    to: ControlTarget::Op(target),
                    ..
                }
                | ControlEffect::Call(ControlTarget::Op(target))
                | ControlEffect::LinkedCall(ControlTarget::Op(target))
                | ControlEffect::OpenBarrier(_, ControlTarget::Op(target))
                | ControlEffect::Collective(ControlTarget::Op(target))
                | ControlEffect::FreeJump(ControlTarget::Op(target))
                | ControlEffect::Push(_, ControlTarget::Op(target)) => mark(*target),
                _ => {}
            }
            mark(OpIndex(i as u32 + 1));
        }
        let mut blocks = Vec::new();
        let mut first = 0;
        for (i, &begins) in leader.iter().enumerate().skip(1) {
            if begins || i == code.ops.len() {
                let last = OpIndex(i as u32 - 1);
                // The end of a mini-SIMT program is a point after its last instruction, at which nothing is issued.
                let ends = code.get(last).map(|op| &op.control) == Some(&ControlEffect::End);
                blocks.push(Block {
                    first: OpIndex(first),
                    last,
                    instructions: u64::from(i as u32 - first) - u64::from(ends),
                });
                first = i as u32;
            }
        }
        Blocks { blocks }
    }

    /// The block with an index below [`Blocks::len`].
    pub fn get(&self, index: usize) -> Block {
        self.blocks[index]
    }

    /// Index of the block that begins at `op`.
    pub fn starting_at(&self, op: OpIndex) -> Option<usize> {
        self.blocks.binary_search_by_key(&op, |b| b.first).ok()
    }

    /// Index of the block that ends with `op`.
    pub fn ending_at(&self, op: OpIndex) -> Option<usize> {
        self.blocks.binary_search_by_key(&op, |b| b.last).ok()
    }

    /// Number of blocks.
    pub fn len(&self) -> usize {
        self.blocks.len()
    }

    /// Whether there is no code.
    pub fn is_empty(&self) -> bool {
        self.blocks.is_empty()
    }
}
