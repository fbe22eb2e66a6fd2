//! Header executions of loops by each lane, counted as loop facts define them (SOUNDNESS 5.4).
//!
//! For example, a thread enters a loop twice and executes its header 3 and 5 times. A fact per entry must be at least
//! 5, and a total at least 8.

use std::cmp::Reverse;

use warpbound_ir::ControlEffect;
use warpbound_isa::instr::StackToken;
use warpbound_simt::{NodeId, Tag};

use super::claims::Claims;
use warpbound_query::KernelFlow;

/// Index from nodes to the loops that they head.
#[derive(Clone, Debug, Default)]
pub(crate) struct LoopIndex {
    /// For each node, the numbers of the loops that it heads.
    headed: Vec<Vec<usize>>,
}

impl LoopIndex {
    pub(crate) fn of(flow: &KernelFlow) -> LoopIndex {
        let mut loops_of_header = vec![Vec::new(); flow.thread.space.len()];
        for (number, counted) in flow.loops.loops.iter().enumerate() {
            for header in &counted.headers {
                if let Some(list) = loops_of_header.get_mut(header.index()) {
                    list.push(number);
                }
            }
        }
        LoopIndex {
            headed: loops_of_header,
        }
    }

    /// Returns the loops that a node heads.
    fn headed_by(&self, node: NodeId) -> &[usize] {
        self.headed.get(node.index()).map_or(&[], Vec::as_slice)
    }
}

/// Header executions of a loop by a lane.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct HeaderCount {
    /// Executions since the lane entered the loop.
    pub since_entry: u64,
    /// Executions in the whole run.
    pub total: u64,
}

/// Counter of the header executions of one lane.
#[derive(Clone, Debug)]
pub struct LoopCounter {
    /// Executions since the last entry, by loop of the graph.
    since_entry: Vec<u64>,
    /// Executions so far, by loop fact.
    totals: Vec<u64>,
    /// Counts saved at calls into shared contexts, with the calling nodes.
    frames: Vec<(NodeId, Vec<u64>)>,
    at: Option<NodeId>,
}

impl LoopCounter {
    /// Creates the counter of a lane before its first node.
    pub fn new(claims: &Claims<'_>) -> LoopCounter {
        LoopCounter {
            since_entry: vec![0; claims.flow.loops.loops.len()],
            totals: vec![0; claims.flow.loops.sites.len()],
            frames: Vec::new(),
            at: None,
        }
    }

    /// Moves the lane to a node and returns its previous node, if any. `seen` receives the fact number and the counts
    /// of each loop whose header the node is.
    pub fn count(
        &mut self,
        claims: &Claims<'_>,
        node: NodeId,
        mut seen: impl FnMut(usize, HeaderCount),
    ) -> Option<NodeId> {
        let before = self.at.replace(node);
        let from = before.map(|from| self.shared_call_frames(claims, from, node));
        for &number in claims.loops.headed_by(node) {
            let counted = claims.flow.loops.loops.get(number);
            let (Some(counted), Some(running)) = (counted, self.since_entry.get_mut(number)) else {
                continue;
            };
            // A step from outside the body is a new entry, for which the fact counts anew (SOUNDNESS 5.4).
            let inside = from.is_some_and(|from| counted.body.binary_search(&from).is_ok());
            *running = if inside { *running + 1 } else { 1 };
            // A loop in several contexts is several loops of the graph, but its total is one number.
            let Some(total) = self.totals.get_mut(counted.fact) else {
                continue;
            };
            *total += 1;
            let count = HeaderCount {
                since_entry: *running,
                total: *total,
            };
            seen(counted.fact, count);
        }
        before
    }

    /// Suspends the loops around a call into a shared context and resumes them at its return. Returns the node that
    /// the lane comes from, which is the call after such a return.
    fn shared_call_frames(&mut self, claims: &Claims<'_>, from: NodeId, to: NodeId) -> NodeId {
        let space = &claims.flow.thread.space;
        // A loop of the graph leaves out the callee of a shared call, since an edge leads from the call to its return
        // point (SOUNDNESS 5.10). Without such calls no loop needs to be suspended.
        if space.shared_calls.is_empty() {
            return from;
        }
        let last = space.block(from).last;
        match claims.code.get(last).map(|op| &op.control) {
            Some(ControlEffect::Call(_) | ControlEffect::Push(StackToken::Ret, _))
                if space.shared_calls.contains_key(&from) =>
            {
                self.frames.push((from, self.since_entry.clone()));
                from
            }
            Some(ControlEffect::Pop(StackToken::Ret)) => {
                let returns_to = |pusher: NodeId| {
                    space
                        .entries
                        .iter()
                        .any(|(_, e)| e.tag == Tag::Ret && e.pushed_by == pusher && e.resume == to)
                };
                // Other returns belong to calls whose callee has a context of its own.
                let Some((pusher, saved)) = self.frames.pop_if(|(pusher, _)| returns_to(*pusher))
                else {
                    return from;
                };
                let callee = space.shared_calls.get(&pusher).map(|call| call.callee);
                let is_callee = |node: NodeId| Some(space.block(node).first) == callee;
                let loops = claims.flow.loops.loops.iter().zip(&mut self.since_entry);
                for ((counted, running), saved) in loops.zip(saved) {
                    // A loop around the call that does not contain the callee was suspended, not left. A loop that
                    // contains the callee runs on in it, so its count is kept.
                    let callee_inside = counted.body.iter().any(|&node| is_callee(node));
                    if !callee_inside && counted.body.binary_search(&pusher).is_ok() {
                        *running = saved;
                    }
                }
                pusher
            }
            _ => from,
        }
    }
}

/// Largest observed number of header executions of a loop, and the first thread that has it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct HeaderMaximum {
    /// Header executions per entry of the loop, or in the whole run.
    pub count: u64,
    /// Number of the thread in its block.
    pub thread: u32,
    /// Index of the block.
    pub block: [u32; 3],
}

impl HeaderMaximum {
    /// Returns the sort key. Among equal counts, the thread with the lowest index sorts highest.
    pub(crate) fn sort_key(&self) -> impl Ord + use<> {
        let [x, y, z] = self.block;
        (self.count, Reverse(([z, y, x], self.thread)))
    }
}
