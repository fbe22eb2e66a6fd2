//! Chain of warps in a block: whether all warps pass the same barriers in the same order (SOUNDNESS 20.4).
//!
//! If they do, the chain consists of segments between barriers, each of the warp that arrives last. For example, with
//! one `__syncthreads()` in straight-line code, the chain is the slowest warp before it and the slowest one after it.
//! If they may not, the times of all warps are added.

use std::collections::BTreeSet;

use warpbound_analyse::determinacy::Origins;
use warpbound_analyse::missed_reconvergence::find_missed_reconvergence;
use warpbound_base::Family;
use warpbound_ipet::BlockChain;
use warpbound_ir::{BarrierArrival, Code, Expr, Meaning, Op, OpIndex};
use warpbound_simt::{EntryId, NodeId};

use crate::cycles::CycleInputs;
use warpbound_query::KernelFlow;
use warpbound_query::divergence::determinacy_of;
use warpbound_query::flow::pending_entries;
use warpbound_query::prepared::Prepared;

/// Returns the chain of warps that the end of a block depends on.
pub(super) fn chain(
    prepared: &Prepared<'_>,
    flow: &KernelFlow,
    inputs: &CycleInputs,
) -> BlockChain {
    let barriers: BTreeSet<usize> = inputs
        .nodes
        .iter()
        .enumerate()
        .filter_map(|(node, ends)| {
            let (first, last) = (*ends)?;
            let mut ops = (first.0..=last.0).filter_map(|op| prepared.code.get(OpIndex(op)));
            ops.any(|op| op.barrier).then_some(node)
        })
        .collect();
    if barriers.is_empty() {
        return BlockChain::OneWarp;
    }
    // The waves of a group with any barrier count one after the other (SOUNDNESS 20.9).
    if prepared.family() == Family::Gcn3 {
        return BlockChain::AllWarps;
    }
    match are_aligned(&prepared.code, flow, inputs, &barriers) {
        true => BlockChain::Aligned,
        false => BlockChain::AllWarps,
    }
}

/// Whether all warps of a block pass the same barriers, each warp with all its lanes together. The conditions are in
/// SOUNDNESS 20.4.
fn are_aligned(
    code: &Code,
    flow: &KernelFlow,
    inputs: &CycleInputs,
    barriers: &BTreeSet<usize>,
) -> bool {
    let range = |node: usize| inputs.nodes.get(node).copied().flatten();
    let ops = |node: usize| {
        let ends = range(node).into_iter();
        ends.flat_map(|(first, last)| (first.0..=last.0).map(OpIndex))
    };
    // Condition 1. A barrier with a number of threads may open before some warp has arrived.
    let plain = |op: &Op| !op.barrier || is_plain_barrier(op);
    let mut all = barriers.iter().flat_map(|&node| ops(node));
    if !all.all(|at| code.get(at).is_some_and(plain)) {
        return false;
    }
    // Condition 3. Otherwise groups of lanes of one warp may arrive at a barrier one after the other.
    let lanes_are_together = match code.family.may_merge_groups() {
        true => {
            let parted = inputs.parted.as_ref();
            parted.is_none_or(|parted| parted.apart.is_disjoint(barriers))
        }
        false => {
            let dependence = flow.dependence();
            find_missed_reconvergence(code, &flow.thread, &flow.warp, dependence).is_empty()
        }
    };
    if !lanes_are_together {
        return false;
    }
    let determinacy = determinacy_of(code, flow);
    // Condition 2. Parameters and the index of the block are the same in all threads of a block.
    let is_uniform = |node: usize| {
        let origins = range(node).and_then(|(first, _)| determinacy.blocks.get(&first));
        let of_block = Origins::PARAM.with(Origins::BLOCK);
        origins.is_some_and(|&origins| of_block.has(origins))
    };
    if !barriers.iter().all(|&node| is_uniform(node)) {
        return false;
    }
    // An entry that is on the stack at a barrier was pushed by all warps, or there is none. What is pushed and resumed
    // between two barriers is each warp's own.
    let at_barriers = barriers
        .iter()
        .flat_map(|&node| pending_entries(&flow.warp, NodeId(node as u32)));
    let at_barriers: BTreeSet<EntryId> = at_barriers.copied().collect();
    let mut pushing = flow
        .warp
        .edges()
        .filter(|(_, step)| step.pushes.iter().any(|id| at_barriers.contains(id)));
    pushing.all(|(node, _)| is_uniform(node.index()))
}

/// Whether an operation is a barrier of all threads of the block, at which its warp waits.
fn is_plain_barrier(op: &Op) -> bool {
    let Some(Meaning::Barrier {
        number,
        threads,
        arrival,
    }) = &op.meaning
    else {
        return false;
    };
    // A warp that arrives without waiting may be at its next barrier while others are still in front of this one.
    let waits = !matches!(arrival, BarrierArrival::Arrive);
    waits
        && op.condition.is_always()
        && matches!(number, Expr::Const(_))
        && *threads == Expr::Const(0)
}
