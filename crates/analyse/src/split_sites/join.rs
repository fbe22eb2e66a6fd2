//! Points at which the splits of a wave may merge: where the lanes of both sides of a branch are active again. For
//! example, the point after the operation `s_or_b64 exec, exec, s[0:1]` that ends an if-else.

use std::collections::BTreeSet;

use warpbound_graph::Digraph;
use warpbound_ir::{Cell, Code, ControlEffect, Op, OpIndex};
use warpbound_simt::NodeId;
use warpbound_simt::bitset::BitSet;

use super::walk::Walk;
use crate::dependence::Dependence;
use crate::masks::Masks;
use crate::thread_cfg::ThreadCfg;

/// Point at which the splits of a branch may merge: all paths from the branch reach it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct MergePoint {
    /// Its node.
    pub(super) node: usize,
    /// The operation before which the splits merge.
    pub(super) at: OpIndex,
    /// The join of the branch, if other lanes are active between it and the point, as in an else arm.
    second: Option<usize>,
}

impl MergePoint {
    /// Finds the point for the branch at the end of a node: after the first operation from its join on that activates
    /// lanes of both sides, or the start of the join if none does; `None` if only lanes of one side become active.
    pub(super) fn find(walk: Walk<'_>, masks: &Masks<'_>, branch: NodeId) -> Option<MergePoint> {
        let exit = walk.dependence.exit();
        let join = walk.join(branch.index());
        let mut others_only = false;
        let mut visited = BTreeSet::new();
        let mut node = join;
        while node != exit && visited.insert(node) {
            let here = NodeId(node as u32);
            let writes = walk.ops(node).filter(|&at| writes_active(walk.code, at));
            let mut writes = writes.peekable();
            let flips = |at: OpIndex| masks.activates_others(branch, here, at);
            while let Some(at) = writes.next() {
                // All lanes may be active between two operations that exchange the arms (s_or_saveexec, s_xor).
                if flips(at) || writes.peek().is_some_and(|&next| flips(next)) {
                    others_only = true;
                    continue;
                }
                if !others_only && masks.narrows(here, at) {
                    return Self::at_start(walk, join);
                }
                let second = others_only.then_some(join);
                return Self::after(walk, node, at, second);
            }
            // Only nodes that all paths from the branch pass can have the point.
            node = walk.join(node);
        }
        match others_only {
            true => None,
            false => Self::at_start(walk, join),
        }
    }

    fn at_start(walk: Walk<'_>, node: usize) -> Option<MergePoint> {
        let at = walk.ops(node).next()?;
        Some(MergePoint {
            node,
            at,
            second: None,
        })
    }

    /// The point after an operation that is not a branch.
    fn after(
        walk: Walk<'_>,
        node: usize,
        at: OpIndex,
        second: Option<usize>,
    ) -> Option<MergePoint> {
        let next = at.next();
        let is_inside = walk.ops(node).last().is_some_and(|last| next <= last);
        if is_inside {
            let at = next;
            return Some(MergePoint { node, at, second });
        }
        let &[node] = walk.successors(node) else {
            return None;
        };
        let point = Self::at_start(walk, node)?;
        Some(MergePoint { second, ..point })
    }

    /// Nodes of the second arm: from the join of the branch to the node of the point.
    pub(super) fn second_arm(&self, walk: Walk<'_>) -> Vec<NodeId> {
        let mut nodes = BTreeSet::new();
        let mut open: Vec<usize> = self.second.into_iter().collect();
        while let Some(node) = open.pop() {
            if node < walk.thread.space.len() && nodes.insert(node) && node != self.node {
                open.extend(walk.successors(node));
            }
        }
        nodes.into_iter().map(|node| NodeId(node as u32)).collect()
    }
}

fn writes_active(code: &Code, at: OpIndex) -> bool {
    code.get(at)
        .is_some_and(|op| matches!(op.control, ControlEffect::SetActive(_)))
}

/// Scalar registers that are read before they are written.
#[derive(Debug)]
pub(super) struct Liveness {
    /// Registers that are live on entry, by node.
    on_entry: Vec<BitSet>,
}

impl Liveness {
    /// Computes the registers for all nodes.
    pub(super) fn compute(code: &Code, dependence: &Dependence, thread: &ThreadCfg) -> Liveness {
        let graph: &Digraph = &dependence.graph;
        let mut live = Liveness {
            on_entry: vec![BitSet::new(); graph.len()],
        };
        // Later nodes first, because liveness flows backwards.
        let mut open: BTreeSet<usize> = (0..thread.space.len()).collect();
        while let Some(node) = open.pop_last() {
            let mut state = live.at_end(graph, node);
            let block = thread.space.block(NodeId(node as u32));
            for op in block.ops().rev().filter_map(|at| code.get(at)) {
                apply(op, &mut state);
            }
            if live.on_entry[node].union(&state) {
                open.extend(dependence.reversed.successors(node));
            }
        }
        live
    }

    fn at_end(&self, graph: &Digraph, node: usize) -> BitSet {
        let mut state = BitSet::new();
        for &to in graph.successors(node) {
            state.union(&self.on_entry[to]);
        }
        state
    }

    /// Registers that are live before a merge point.
    pub(super) fn before(&self, walk: Walk<'_>, point: &MergePoint) -> BitSet {
        let mut state = self.at_end(&walk.dependence.graph, point.node);
        let block = walk.thread.space.block(NodeId(point.node as u32));
        let after = block.ops().rev().take_while(|&at| at >= point.at);
        for op in after.filter_map(|at| walk.code.get(at)) {
            apply(op, &mut state);
        }
        state
    }
}

/// Applies an operation, backwards. Registers that it may keep are among those that it reads.
fn apply(op: &Op, live: &mut BitSet) {
    let scalar = |cell: &&Cell| !cell.is_per_lane();
    for cell in op.writes.iter().filter(scalar) {
        live.remove(cell.index());
    }
    let reads = op.reads.iter().copied().chain(op.condition.cells());
    let base = crate::thread_cfg::indirect_base(&op.control);
    for cell in reads.chain(base).filter(|cell| !cell.is_per_lane()) {
        live.insert(cell.index());
    }
}
