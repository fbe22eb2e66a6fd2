//! Kinds of the branches of code that keeps masks of lanes: which of them lanes may take both ways
//! (`wavefront-splitting-2022` 2 to 4; SOUNDNESS 12.5).

use std::collections::BTreeMap;

use warpbound_base::Named;
use warpbound_ir::{Cell, Code, ControlEffect, OpIndex};
use warpbound_isa::Reg;
use warpbound_simt::NodeId;

use crate::dependence::Dependence;
use crate::masks::Masks;
use crate::program_space::ResolvedControl;
use crate::thread_cfg::ThreadCfg;

/// Kind of a conditional branch of a wave.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum BranchSite {
    /// One side is never taken: some lane is active in every run, and the branch asks whether none is.
    Constant,
    /// One side goes to the header of a loop around the branch.
    Latch,
    /// One side leaves the innermost loop.
    LoopExit,
    /// A register of the warp decides, whichever lanes are active.
    Scalar,
    /// The lanes that are not active at the branch are active after the code that one side skips: both arms of an
    /// if-else may be executed one after the other.
    Split,
    /// One side skips code that no lane would execute.
    Skip,
    /// The deciding mask is not followed by the analysis.
    Mask,
}

impl Named for BranchSite {
    const ALL: &'static [(BranchSite, &'static str)] = &[
        (BranchSite::Constant, "constant"),
        (BranchSite::Latch, "latch"),
        (BranchSite::LoopExit, "loop exit"),
        (BranchSite::Scalar, "scalar"),
        (BranchSite::Split, "split"),
        (BranchSite::Skip, "skip"),
        (BranchSite::Mask, "mask"),
    ];
}

/// Classifies the conditional branches of a kernel. A branch with several kinds in its contexts has the last one in
/// the order of [`BranchSite`]. The result is empty if no operation writes the mask of active lanes, or after the
/// time limit.
pub fn classify(
    code: &Code,
    thread: &ThreadCfg,
    dependence: &Dependence,
) -> BTreeMap<OpIndex, BranchSite> {
    let mut sites = BTreeMap::new();
    let Ok(Some(masks)) = Masks::compute(code, thread) else {
        return sites;
    };
    for node in thread.space.ids() {
        let at = thread.space.block(node).last;
        if let Some(site) = classify_end(code, thread, dependence, &masks, node) {
            // A side that is never taken in one context may be in another.
            let known = sites.entry(at).or_insert(site);
            *known = site.max(*known);
        }
    }
    sites
}

/// Kind of the branch at the end of a node; `None` if it has none.
pub(crate) fn classify_end(
    code: &Code,
    thread: &ThreadCfg,
    dependence: &Dependence,
    masks: &Masks<'_>,
    node: NodeId,
) -> Option<BranchSite> {
    let resolved = thread.resolved.get(node.index())?.as_ref()?;
    let guard = resolved.condition.guard?;
    let is_active_mask = guard == Cell::of(Reg::EXEC);
    if is_active_mask && masks.is_active_at_end(node) {
        return Some(BranchSite::Constant);
    }
    let graph = &dependence.graph;
    let successors = graph.successors(node.index());
    if let Some(innermost) = dependence.loops.innermost(node.index()) {
        let closes = |to: usize| {
            let mut around = Some(innermost);
            while let Some(index) = around {
                let body = dependence.loops.get(index);
                if body.headers.binary_search(&to).is_ok() {
                    return true;
                }
                around = body.parent;
            }
            false
        };
        // A branch that closes a loop may also leave it, so this is asked first.
        if successors.iter().any(|&to| closes(to)) {
            return Some(BranchSite::Latch);
        }
        let body = dependence.loops.get(innermost);
        if successors.iter().any(|&to| !body.contains(to)) {
            return Some(BranchSite::LoopExit);
        }
    }
    if guard.mask_words().is_none() {
        return Some(BranchSite::Scalar);
    }
    if !is_active_mask {
        return Some(BranchSite::Mask);
    }
    let empty = side_without_lanes(thread, node, resolved)?;
    let writes_active = |at: OpIndex| {
        code.get(at)
            .is_some_and(|op| matches!(op.control, ControlEffect::SetActive(_)))
    };
    let block = thread.space.block(empty);
    let mut restores = block.ops().filter(|&at| writes_active(at));
    Some(
        match restores.any(|at| masks.activates_others(node, empty, at)) {
            true => BranchSite::Split,
            false => BranchSite::Skip,
        },
    )
}

/// The side on which no lane is in the mask that decides the branch at the end of a node.
pub(crate) fn side_without_lanes(
    thread: &ThreadCfg,
    node: NodeId,
    resolved: &ResolvedControl,
) -> Option<NodeId> {
    let taken = thread.steps[node.index()]
        .iter()
        .filter_map(|step| step.to)
        .find(|&to| resolved.next != Some(to));
    match resolved.condition.negated {
        true => taken,
        false => resolved.next,
    }
}
