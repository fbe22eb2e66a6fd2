//! Services that no warp waits for before it ends. Ended blocks may leave them to a server that accepts its requests
//! without a delay (SOUNDNESS 20.5).
//!
//! A unit accepts a memory access only while its queue has room, and windows limit the sectors in flight. So queues
//! and windows hold all that ended warps have left of these. But a shuffle leaves its unit before shared memory has
//! served it, and an arrival that does not wait reserves the counter of barriers at once. Any number of these may be
//! left. For example, a shuffle whose scoreboard the warp waits for before its end leaves nothing.

use std::collections::VecDeque;

use warpbound_ir::OpIndex;
use warpbound_machine::Parameter;
use warpbound_timing::{Completion, InstrFacts};

use crate::kernel::TimedKernel;
use crate::step::Transfer;

/// All scoreboards.
const ALL: u8 = u8::MAX;

/// Returns the thousandths of cycles that one execution of each operation may leave unfinished when its warp ends.
pub(crate) fn unfinished_services(kernel: &TimedKernel<'_>, transfer: &Transfer<'_>) -> Vec<u64> {
    let mut services = vec![0; transfer.facts.len()];
    let waited_after = waited_after_nodes(kernel, transfer);
    for (node, ends) in kernel.nodes.iter().enumerate() {
        let Some((first, last)) = *ends else {
            continue;
        };
        let mut waited = waited_after.get(node).copied().unwrap_or(0);
        for at in (first.0..=last.0).rev().map(OpIndex) {
            let Some(facts) = transfer.facts.get(at.index()) else {
                continue;
            };
            if let Some(service) = services.get_mut(at.index()) {
                // An operation in several nodes leaves what it leaves in any of them.
                *service = unfinished(facts, waited, transfer).max(*service);
            }
            waited |= waits_of(facts);
        }
    }
    services
}

/// Service that an operation may leave, if the warp waits for the scoreboards of a mask after it.
fn unfinished(facts: &InstrFacts, waited: u8, transfer: &Transfer<'_>) -> u64 {
    let mut left = 0;
    if facts.completion == Completion::Latency(Parameter::LatencyShuffle) {
        // A drain waits for the scoreboards that are raised, its own among them, and for nothing without one.
        let waited = if facts.drains { ALL } else { waited };
        // Either scoreboard is released after the service has begun.
        let raised = [facts.write_sb, facts.read_sb].into_iter().flatten();
        // Fewer than eight scoreboards exist; the limit keeps the shift within the mask for any number.
        let mut raised = raised.map(|scoreboard| 1u8 << scoreboard.min(7));
        if !raised.any(|scoreboard| scoreboard & waited != 0) {
            left += transfer.times.shuffle;
        }
    }
    if facts.passes_barrier {
        left += transfer.times.barrier_count;
    }
    left.max(0).unsigned_abs()
}

/// Mask of the scoreboards that an instruction waits for.
fn waits_of(facts: &InstrFacts) -> u8 {
    let depbar = match facts.completion {
        Completion::Depbar {
            scoreboard,
            most: 0,
            zero,
        } => zero | 1u8 << scoreboard.min(7),
        // A wait for another count than 0 may leave this result outstanding.
        Completion::Depbar { zero, .. } => zero,
        _ => 0,
    };
    let drained = if facts.drains { ALL } else { 0 };
    facts.wait_mask | depbar | drained
}

/// Returns for each node the scoreboards that every path from its end to the end of the warp waits for.
fn waited_after_nodes(kernel: &TimedKernel<'_>, transfer: &Transfer<'_>) -> Vec<u8> {
    let count = kernel.nodes.len();
    let own: Vec<u8> = kernel
        .nodes
        .iter()
        .map(|ends| {
            let ops = ends.iter().flat_map(|(first, last)| first.0..=last.0);
            let facts = ops.filter_map(|op| transfer.facts.get(OpIndex(op).index()));
            facts.fold(0, |mask, facts| mask | waits_of(facts))
        })
        .collect();
    let mut before = vec![Vec::new(); count];
    // The greatest fixpoint: a wait counts only if every path has it, so all are presumed and paths remove some.
    let mut after = vec![ALL; count];
    for step in kernel.steps {
        match step.to {
            Some(to) if to < count => before[to].push(step.from),
            _ => {
                if let Some(mask) = after.get_mut(step.from) {
                    *mask = 0;
                }
            }
        }
    }
    let mut work: VecDeque<usize> = (0..count).collect();
    while let Some(node) = work.pop_front() {
        let from_node = own[node] | after[node];
        for &earlier in &before[node] {
            let Some(mask) = after.get_mut(earlier) else {
                continue;
            };
            if *mask & from_node != *mask {
                *mask &= from_node;
                work.push_back(earlier);
            }
        }
    }
    after
}
