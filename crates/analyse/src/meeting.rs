//! Whether lanes that part go on together where the divergence analysis takes for granted that they do.

use std::collections::BTreeSet;

use warpbound_ir::{Code, Value};
use warpbound_simt::warp::Via;
use warpbound_simt::{EntryId, NodeId, Tag};

use crate::dependence::Dependence;
use crate::thread::ThreadCfg;
use crate::warp::WarpCfg;

/// A divergent branch behind which lanes may go past their meeting point one group after the other.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Apart {
    /// The node that ends with the branch.
    pub branch: NodeId,
    /// Where the lanes that stay alive come together: its immediate postdominator among them.
    pub meeting: NodeId,
    /// Values may depend on it: a group may go so far alone that operations whose result depends on who
    /// is present give each group its own. Else only the presence of all lanes is in doubt.
    pub for_values: bool,
}

/// All such branches, ascending: those at whose meeting point a stack entry may be pending that lanes
/// which parted at the branch can wait in. Lanes that meet at the exit only are not missed anywhere.
pub fn apart(
    code: &Code,
    thread: &ThreadCfg,
    warp: &WarpCfg,
    dependence: &Dependence,
) -> Vec<Apart> {
    let exit = dependence.exit();
    let find = |&branch: &NodeId| {
        let lacks = |node| node != exit && may_lack(thread, warp, dependence, branch, node);
        let meeting = dependence.live_meeting(branch.index());
        lacks(meeting).then(|| Apart {
            branch,
            meeting: NodeId(meeting as u32),
            for_values: {
                let mut at = dependence.meeting(branch.index());
                let mut passed = BTreeSet::new();
                // A meeting point that leads to one node only may be passed by one group after the other
                // if nothing there depends on who is present; then the node behind it counts.
                loop {
                    if !lacks(at) {
                        break false;
                    }
                    match dependence.graph.successors(at) {
                        [next] if passed.insert(at) && is_timeless(code, thread, at) => at = *next,
                        _ => break true,
                    }
                }
            },
        })
    };
    warp.divergent.iter().filter_map(find).collect()
}

/// No result in the node depends on who is present.
fn is_timeless(code: &Code, thread: &ThreadCfg, node: usize) -> bool {
    let block = thread.space.block(NodeId(node as u32));
    let uniform = |at| code.get(at).is_some_and(|op| op.value == Value::Uniform);
    !block.ops().any(uniform)
}

/// Lanes that parted at `branch` may wait while others are at `meeting`.
fn may_lack(
    thread: &ThreadCfg,
    warp: &WarpCfg,
    dependence: &Dependence,
    branch: NodeId,
    meeting: usize,
) -> bool {
    let meeting = NodeId(meeting as u32);
    let pending = match warp.state(meeting) {
        Some(state) if !state.stack().ids().is_empty() => state.stack().ids(),
        _ => return false,
    };
    let waits = |&id: &EntryId| {
        let entry = thread.space.entries.get(id);
        entry.tag == Tag::Nil && entry.pushed_by == branch
    };
    pending.iter().any(waits)
        || resumed(thread, dependence, branch, meeting)
            .iter()
            .any(|id| pending.contains(id))
}

/// Stack entries that a lane may go to between `branch` and `meeting`.
fn resumed(
    thread: &ThreadCfg,
    dependence: &Dependence,
    branch: NodeId,
    meeting: NodeId,
) -> Vec<EntryId> {
    let mut found = Vec::new();
    let mut seen = vec![false; dependence.graph.len()];
    let mut waiting = vec![branch.index()];
    while let Some(node) = waiting.pop() {
        if node == dependence.exit() || std::mem::replace(&mut seen[node], true) {
            continue;
        }
        for step in &thread.steps[node] {
            if let Via::Resume(id) = step.via {
                found.push(id);
            }
            let next = step.to.filter(|&to| to != meeting);
            waiting.extend(next.map(NodeId::index));
        }
    }
    found.sort_unstable();
    found.dedup();
    found
}
