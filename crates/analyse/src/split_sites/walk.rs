//! Walk over the nodes of a kernel, as the analyses of sites need it.

use std::collections::BTreeSet;

use warpbound_ir::{Cell, Code, OpIndex};
use warpbound_isa::Reg;
use warpbound_simt::NodeId;

use crate::branch_sites::side_without_lanes;
use crate::dependence::Dependence;
use crate::thread_cfg::ThreadCfg;

/// Facts about a kernel, apart from its operations, on which the sites depend.
#[derive(Clone, Debug, Default)]
pub struct SiteContext {
    /// Operations that send messages (s_sendmsg): each split would send them.
    pub messages: BTreeSet<OpIndex>,
    /// Whether the compiler knows that each group is one wave: it then leaves out barriers, and lanes may exchange data
    /// through shared memory without them.
    pub omits_barriers: bool,
}

/// The kernel, as the analyses of sites walk over it.
#[derive(Clone, Copy)]
pub(super) struct Walk<'a> {
    pub(super) code: &'a Code,
    pub(super) thread: &'a ThreadCfg,
    pub(super) dependence: &'a Dependence,
    pub(super) context: &'a SiteContext,
}

impl<'a> Walk<'a> {
    /// Whether a node ends with a branch on the mask of active lanes.
    pub(super) fn ends_with_site(&self, node: NodeId) -> bool {
        let resolved = self.thread.resolved.get(node.index());
        let resolved = resolved.and_then(Option::as_ref);
        resolved.is_some_and(|resolved| resolved.condition.guard == Some(Cell::of(Reg::EXEC)))
    }

    /// Nodes after a node, and the exit.
    pub(super) fn successors(&self, node: usize) -> &'a [usize] {
        self.dependence.graph.successors(node)
    }

    /// The first node that all paths from a node reach, or the exit.
    pub(super) fn join(&self, node: usize) -> usize {
        self.dependence.live_reconvergence(node)
    }

    /// Operations of a node; none of the exit.
    pub(super) fn ops(&self, node: usize) -> impl DoubleEndedIterator<Item = OpIndex> + use<> {
        let block =
            (node < self.thread.space.len()).then(|| self.thread.space.block(NodeId(node as u32)));
        let (first, end) = block.map_or((0, 0), |block| (block.first.0, block.last.0 + 1));
        (first..end).map(OpIndex)
    }

    /// Nodes between a branch and its join, ascending.
    pub(super) fn region(&self, branch: usize) -> BTreeSet<usize> {
        let join = self.join(branch);
        let mut region = BTreeSet::new();
        let mut open: Vec<usize> = self.successors(branch).to_vec();
        while let Some(node) = open.pop() {
            if node != join && region.insert(node) {
                open.extend(self.successors(node));
            }
        }
        region
    }
}

/// The successor of a branch on the mask of active lanes at which no lane is active.
pub(super) fn idle_side(walk: Walk<'_>, branch: usize) -> Option<usize> {
    let resolved = walk.thread.resolved.get(branch)?.as_ref()?;
    let side = side_without_lanes(walk.thread, NodeId(branch as u32), resolved)?;
    Some(side.index())
}
