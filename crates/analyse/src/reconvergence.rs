//! Whether lanes that part go on together where the divergence analysis takes for granted that they do.
//!
//! It takes for granted that lanes which part at a branch, stay alive, and stay in the loops around it,
//! come together in the same round: at the first node that all their ways pass, or at the loop's header.
//! So lanes that wait for others have never fallen a round behind them. Without SSY, or with one that is
//! popped in another round, the machine does otherwise.

use std::collections::BTreeSet;

use warpbound_graph::LoopIndex;
use warpbound_ir::{Code, ControlEffect, Op, ValueDependence};
use warpbound_simt::warp::Via;
use warpbound_simt::{NodeId, Tag};

use crate::dependence::Dependence;
use crate::thread_cfg::ThreadCfg;
use crate::warp_cfg::WarpCfg;

/// A divergent branch behind which lanes may go past their meeting point one group after the other.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct MissedReconvergence {
    /// The node that ends with the branch.
    pub branch: NodeId,
    /// Where the lanes that stay alive, and in the same loop, should have come together.
    pub meeting: NodeId,
    /// Values may depend on it: a group may go so far alone that operations whose result depends on who
    /// is present give each group its own. Else only the presence of all lanes is in doubt.
    pub for_values: bool,
}

/// All such branches, ascending: those at whose meeting point a stack entry may be pending that lanes
/// which parted at the branch can wait in. Lanes that meet at the exit only are not missed anywhere.
///
/// A meeting point that leads to one node only may be passed by one group after the other if nothing there
/// depends on who is present; then the node behind it counts.
pub fn find_missed_reconvergence(
    code: &Code,
    thread: &ThreadCfg,
    warp: &WarpCfg,
    dependence: &Dependence,
) -> Vec<MissedReconvergence> {
    let machine = Machine {
        code,
        thread,
        warp,
        dependence,
    };
    let mut found = BTreeSet::new();
    let branches: Vec<usize> = warp.divergent.iter().map(|node| node.index()).collect();
    // Lanes that come together in another round of a loop should have done so before.
    let too_late = |scope: Option<LoopIndex>, branch: usize, meeting: usize| {
        let mut around = dependence.loops.innermost(meeting);
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
        let reconvergence = dependence.live_reconvergence(branch);
        if !too_late(None, branch, reconvergence) {
            found.extend(machine.check(branch, reconvergence, &|_| true));
        }
    }
    for (index, round) in dependence.loops.loops() {
        let inside = |node: usize| round.contains(node);
        let parting: Vec<usize> = branches.iter().copied().filter(|&b| inside(b)).collect();
        for (branch, meeting) in dependence.iteration_reconvergence(index, &parting) {
            if !too_late(Some(index), branch, meeting) {
                found.extend(machine.check(branch, meeting, &inside));
            }
        }
    }
    found.into_iter().collect()
}

struct Machine<'a> {
    code: &'a Code,
    thread: &'a ThreadCfg,
    warp: &'a WarpCfg,
    dependence: &'a Dependence,
}

impl Machine<'_> {
    /// Whether lanes that part at `branch` and stay `inside` may miss each other at `meeting`.
    fn check(
        &self,
        branch: usize,
        meeting: usize,
        inside: &dyn Fn(usize) -> bool,
    ) -> Option<MissedReconvergence> {
        let for_values = |op: &Op| op.value == ValueDependence::Uniform;
        // Values are asked for, or lanes.
        let asked = |op: &Op| {
            let is_load = matches!(op.value, ValueDependence::Load(_));
            for_values(op) || is_load || op.barrier || is_branch(op)
        };
        self.miss_each_other(branch, meeting, inside, &asked)
            .then(|| MissedReconvergence {
                branch: NodeId(branch as u32),
                meeting: NodeId(meeting as u32),
                for_values: self.miss_each_other(branch, meeting, inside, &for_values),
            })
    }

    fn miss_each_other(
        &self,
        branch: usize,
        meeting: usize,
        inside: &dyn Fn(usize) -> bool,
        matters: &dyn Fn(&Op) -> bool,
    ) -> bool {
        let mut at = meeting;
        let mut passed = BTreeSet::new();
        loop {
            if at == self.dependence.exit() || !self.may_lack(branch, at, inside) {
                return false;
            }
            let block = self.thread.space.block(NodeId(at as u32));
            let mut ops = block.ops().filter_map(|at| self.code.get(at));
            match self.dependence.graph.successors(at) {
                [next] if !ops.any(matters) && passed.insert(at) => at = *next,
                _ => return true,
            }
        }
    }

    /// Lanes that parted at `branch` and stay `inside` may wait while others are at `meeting`: in an
    /// entry that the branch pushed, or in one that they can go to on the way.
    fn may_lack(&self, branch: usize, meeting: usize, inside: &dyn Fn(usize) -> bool) -> bool {
        let pending = match self.warp.state(NodeId(meeting as u32)) {
            Some(state) if !state.stack().ids().is_empty() => state.stack().ids(),
            _ => return false,
        };
        let entries = &self.thread.space.entries;
        let waits = pending.iter().any(|&id| {
            let entry = entries.get(id);
            entry.tag == Tag::Nil
                && entry.pushed_by.index() == branch
                && inside(entry.resume.index())
        });
        if waits {
            return true;
        }
        let mut seen = BTreeSet::new();
        let mut waiting = vec![branch];
        while let Some(node) = waiting.pop() {
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
                if to != meeting {
                    waiting.push(to);
                }
            }
        }
        false
    }
}

fn is_branch(op: &Op) -> bool {
    let indirect = matches!(op.control, ControlEffect::Indirect { .. });
    op.control != ControlEffect::Next && (indirect || !op.condition.is_always())
}
