//! How often each lane executes the headers of loops, counted as loop facts count.

use std::cmp::Reverse;

use warpbound_ir::ControlEffect;
use warpbound_isa::instr::StackToken;
use warpbound_simt::{NodeId, Tag};

use super::claims::Claims;
use crate::KernelFlow;

/// Loops by node.
#[derive(Clone, Debug, Default)]
pub(crate) struct LoopIndex {
    /// For each node, the loops whose header it is.
    headed: Vec<Vec<usize>>,
}

impl LoopIndex {
    pub(crate) fn of(flow: &KernelFlow) -> LoopIndex {
        let mut headed = vec![Vec::new(); flow.thread.space.len()];
        for (number, counted) in flow.loops.loops.iter().enumerate() {
            for header in &counted.headers {
                if let Some(list) = headed.get_mut(header.index()) {
                    list.push(number);
                }
            }
        }
        LoopIndex { headed }
    }

    fn headed_by(&self, node: NodeId) -> &[usize] {
        self.headed.get(node.index()).map_or(&[], Vec::as_slice)
    }
}

/// Header executions of a lane.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct HeaderCount {
    /// Those since it entered the loop.
    pub since_entry: u64,
    /// All of them.
    pub total: u64,
}

/// The header executions of one lane since it entered each loop.
#[derive(Clone, Debug)]
pub struct LoopCounter {
    /// For each loop of the graph.
    running: Vec<u64>,
    /// For each fact, all header executions so far.
    totals: Vec<u64>,
    /// Counts saved at calls into shared contexts.
    frames: Vec<(NodeId, Vec<u64>)>,
    at: Option<NodeId>,
}

impl LoopCounter {
    /// A lane before it begins.
    pub fn new(claims: &Claims<'_>) -> LoopCounter {
        LoopCounter {
            running: vec![0; claims.flow.loops.loops.len()],
            totals: vec![0; claims.flow.loops.sites.len()],
            frames: Vec::new(),
            at: None,
        }
    }

    /// The lane comes to a node; from which other, if it does not begin there. `seen` gets the number of the fact, and the
    /// counts, of each loop whose header that is.
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
            let (Some(counted), Some(running)) = (counted, self.running.get_mut(number)) else {
                continue;
            };
            let inside = from.is_some_and(|from| counted.body.binary_search(&from).is_ok());
            *running = if inside { *running + 1 } else { 1 };
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

    /// A call into a shared context suspends the loops around it; its return goes on with them. Returns
    /// where the lane comes from: behind such a return, the call.
    fn shared_call_frames(&mut self, claims: &Claims<'_>, from: NodeId, to: NodeId) -> NodeId {
        let space = &claims.flow.thread.space;
        if space.shared_calls.is_empty() {
            return from;
        }
        let last = space.block(from).last;
        match claims.code.get(last).map(|op| &op.control) {
            Some(ControlEffect::Call(_) | ControlEffect::Push(StackToken::Ret, _))
                if space.shared_calls.contains_key(&from) =>
            {
                self.frames.push((from, self.running.clone()));
                from
            }
            Some(ControlEffect::Unwind(StackToken::Ret)) => {
                let returns_to = |pusher: NodeId| {
                    space
                        .entries
                        .iter()
                        .any(|(_, e)| e.tag == Tag::Ret && e.pushed_by == pusher && e.resume == to)
                };
                let Some((pusher, saved)) = self.frames.pop_if(|(pusher, _)| returns_to(*pusher))
                else {
                    return from;
                };
                let callee = space.shared_calls.get(&pusher).map(|call| call.callee);
                let is_callee = |node: NodeId| Some(space.block(node).first) == callee;
                let loops = claims.flow.loops.loops.iter().zip(&mut self.running);
                for ((counted, running), saved) in loops.zip(saved) {
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

/// The most header executions that were seen of a loop, and the first thread that did them.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct HeaderMaximum {
    /// Header executions, for one entry of the loop or in the whole run.
    pub count: u64,
    /// The thread's number in its block.
    pub thread: u32,
    /// The block.
    pub block: [u32; 3],
}

impl HeaderMaximum {
    /// Of equal ones the first thread, whoever came first.
    pub(crate) fn order(&self) -> impl Ord + use<> {
        let [x, y, z] = self.block;
        (self.count, Reverse(([z, y, x], self.thread)))
    }
}
