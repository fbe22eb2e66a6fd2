//! Check of the reconvergence that the divergence analysis assumes, against the warp-level graph.
//!
//! [`crate::divergence`] assumes that lanes which diverge at a branch, do not exit, and stay in the loops around it,
//! reconverge in the same iteration: at the first node that all their paths pass, or at the loop's header. So pending
//! lanes are never an iteration late. Without a push before the branch, or with an entry that is popped in another
//! iteration, they may be. For example, without a push the two sides of an `if` execute the code after it one after the
//! other.

use std::collections::BTreeSet;

use warpbound_graph::LoopIndex;
use warpbound_ir::{Code, ControlEffect, Op, ValueDependence};
use warpbound_simt::warp::Via;
use warpbound_simt::{NodeId, Tag};

use crate::dependence::Dependence;
use crate::thread_cfg::ThreadCfg;
use crate::warp_cfg::WarpCfg;

/// Divergent branch after which lanes may pass their reconvergence point one group after the other.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct MissedReconvergence {
    /// Node that ends with the branch.
    pub branch: NodeId,
    /// Node at which the lanes that do not exit, and stay in the same loop, are assumed to reconverge.
    pub reconvergence: NodeId,
    /// Whether values may depend on it: a group of lanes may reach an operation alone whose result depends on the
    /// active lanes (a vote). If not, only the presence of all lanes is uncertain.
    pub for_values: bool,
}

/// Finds the branches that miss their reconvergence, ascending: at their reconvergence point a stack entry may be
/// pending that can hold lanes which diverged at the branch. Branches that reconverge at the exit miss nothing.
///
/// Groups may pass a reconvergence point with a single successor one after the other, if nothing there
/// depends on the active lanes; then the successor counts.
pub fn find_missed_reconvergence(
    code: &Code,
    thread: &ThreadCfg,
    warp: &WarpCfg,
    dependence: &Dependence,
) -> Vec<MissedReconvergence> {
    let search = Search {
        code,
        thread,
        warp,
        dependence,
    };
    let mut found = BTreeSet::new();
    let branches: Vec<usize> = warp.divergent.iter().map(|node| node.index()).collect();
    // Where branch and point are both in a loop inside `scope`, lanes should reconverge within an iteration of that
    // loop, so its own check below is the stricter one.
    let is_checked_by_inner_loop = |scope: Option<LoopIndex>, branch: usize, point: usize| {
        let mut around = dependence.loops.innermost(point);
        while let Some(index) = around.filter(|_| around != scope) {
            let inner = dependence.loops.get(index);
            if inner.contains(branch) {
                return true;
            }
            around = inner.parent;
        }
        false
    };
    for &branch in &branches {
        let point = dependence.live_reconvergence(branch);
        if !is_checked_by_inner_loop(None, branch, point) {
            found.extend(search.check(branch, point, &|_| true));
        }
    }
    for (index, around) in dependence.loops.loops() {
        let inside = |node: usize| around.contains(node);
        let diverging: Vec<usize> = branches.iter().copied().filter(|&b| inside(b)).collect();
        for (branch, point) in dependence.iteration_reconvergence(index, &diverging) {
            if !is_checked_by_inner_loop(Some(index), branch, point) {
                found.extend(search.check(branch, point, &inside));
            }
        }
    }
    found.into_iter().collect()
}

struct Search<'a> {
    code: &'a Code,
    thread: &'a ThreadCfg,
    warp: &'a WarpCfg,
    dependence: &'a Dependence,
}

impl Search<'_> {
    /// The missed reconvergence of lanes that diverge at `branch` and stay `inside`, if they may pass `point` one group
    /// after the other.
    fn check(
        &self,
        branch: usize,
        point: usize,
        inside: &dyn Fn(usize) -> bool,
    ) -> Option<MissedReconvergence> {
        let for_values = |op: &Op| op.value == ValueDependence::Uniform;
        // The divergence analysis makes claims about these operations: about values, or about the active lanes.
        let has_claim = |op: &Op| {
            let is_load = matches!(op.value, ValueDependence::Load(_));
            for_values(op) || is_load || op.barrier || is_branch(op)
        };
        self.may_pass_separately(branch, point, inside, &has_claim)
            .then(|| MissedReconvergence {
                branch: NodeId(branch as u32),
                reconvergence: NodeId(point as u32),
                for_values: self.may_pass_separately(branch, point, inside, &for_values),
            })
    }

    /// Whether lanes that diverge at `branch` may execute an operation that `matters`, or a choice of successors, at or
    /// after `point` while others are pending.
    fn may_pass_separately(
        &self,
        branch: usize,
        point: usize,
        inside: &dyn Fn(usize) -> bool,
        matters: &dyn Fn(&Op) -> bool,
    ) -> bool {
        let mut at = point;
        let mut passed = BTreeSet::new();
        loop {
            if at == self.dependence.exit() || !self.may_have_pending_lanes(branch, at, inside) {
                return false;
            }
            let block = self.thread.space.block(NodeId(at as u32));
            let mut ops = block.ops().filter_map(|at| self.code.get(at));
            match self.dependence.graph.successors(at) {
                [next] if !ops.any(matters) && passed.insert(at) => at = *next,
                // Several successors, an operation that matters, or a cycle without one: judged conservatively.
                _ => return true,
            }
        }
    }

    /// Whether lanes that diverged at `branch` and stay `inside` may be pending while others are at `point`: in an
    /// entry that the branch pushed, or in one that they can pop to on the way.
    fn may_have_pending_lanes(
        &self,
        branch: usize,
        point: usize,
        inside: &dyn Fn(usize) -> bool,
    ) -> bool {
        let pending = match self.warp.state(NodeId(point as u32)) {
            Some(state) if !state.stack().ids().is_empty() => state.stack().ids(),
            _ => return false,
        };
        let entries = &self.thread.space.entries;
        // Lanes that the branch left waiting are in the entry that it pushed itself.
        let in_own_entry = pending.iter().any(|&id| {
            let entry = entries.get(id);
            entry.tag == Tag::Nil
                && entry.pushed_by.index() == branch
                && inside(entry.resume.index())
        });
        if in_own_entry {
            return true;
        }
        let mut seen = BTreeSet::new();
        let mut worklist = vec![branch];
        while let Some(node) = worklist.pop() {
            if !seen.insert(node) {
                continue;
            }
            let steps = self.thread.steps[node].iter();
            for (step, to) in steps.filter_map(|step| Some((step, step.to?.index()))) {
                if !inside(to) {
                    continue;
                }
                if matches!(step.via, Via::Resume(id) if pending.contains(&id)) {
                    return true;
                }
                if to != point {
                    worklist.push(to);
                }
            }
        }
        false
    }
}

/// Whether the operation chooses between successors.
fn is_branch(op: &Op) -> bool {
    let indirect = matches!(op.control, ControlEffect::Indirect { .. });
    op.control != ControlEffect::Next && (indirect || !op.condition.is_always())
}
