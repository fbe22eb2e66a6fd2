//! Thread-level control-flow graph: one lane alone, calls expanded by context.

mod build;

use std::collections::BTreeMap;

use warpbound_base::Deadline;
use warpbound_graph::Digraph;
use warpbound_ir::{Cell, Code, ControlEffect, OpIndex};
use warpbound_simt::NodeId;
use warpbound_simt::warp::{ControlOp, Via, WarpStep};

use crate::convergence::ConvergenceRegions;
use crate::indirect::IndirectTargets;
use crate::program_space::{ProgramSpace, ResolvedControl};

/// Limits on the size of the graphs, and on time.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Limits {
    /// Maximum number of calling contexts; further calls share one per function.
    pub contexts: usize,
    /// Maximum number of nodes; a larger kernel is refused.
    pub nodes: usize,
    /// Time after which the construction of either graph is given up.
    pub deadline: Deadline,
}

impl Default for Limits {
    fn default() -> Self {
        Limits {
            contexts: 2_000,
            nodes: 200_000,
            deadline: Deadline::default(),
        }
    }
}

/// Thread-level graph of a kernel, and its program space.
#[derive(Clone, Debug)]
pub struct ThreadCfg {
    /// Nodes, contexts, entries.
    pub space: ProgramSpace,
    /// First node.
    pub entry: NodeId,
    /// Targets of indirect jumps.
    pub indirect: BTreeMap<OpIndex, IndirectTargets>,
    /// For each node, its control effect; `None` if no thread reaches it.
    pub resolved: Vec<Option<ResolvedControl>>,
    /// For each node, the steps a thread may take from it.
    pub steps: Vec<Vec<WarpStep>>,
    /// Time after which analyses of the graph are given up, from [`Limits`].
    pub deadline: Deadline,
    /// Regions of convergence barriers; none in code without such barriers.
    pub regions: ConvergenceRegions,
    /// The code as one lane executes it, if operations write the mask of active lanes
    /// ([`Masks::lane_view`](crate::masks::Masks::lane_view)).
    pub(crate) lane_code: Option<Code>,
    /// The steps, except steps to the end.
    graph: Digraph,
    /// Position of each node in a reverse postorder of the graph.
    rank: Vec<u64>,
}

impl ThreadCfg {
    /// The code of the graph as one lane executes it. If lanes are active as long as they run, this is `code`, from
    /// which the graph was built.
    pub fn lane_code<'a>(&'a self, code: &'a Code) -> &'a Code {
        self.lane_code.as_ref().unwrap_or(code)
    }

    /// Whether a thread may execute this node.
    pub fn is_reached(&self, node: NodeId) -> bool {
        self.resolved.get(node.index()).is_some_and(Option::is_some)
    }

    /// Predicate of the branch at the end of a node, with the value that it has in a thread that goes on to `to`;
    /// `None` if the branch has none, or both of its sides lead there.
    pub fn predicate_after(&self, node: usize, to: NodeId) -> Option<(Cell, bool)> {
        let resolved = self.resolved.get(node)?.as_ref()?;
        let predicate = resolved.condition.decided_by()?;
        let next = resolved.next_where_condition_fails()?;
        let steps = self.steps.get(node)?.iter();
        let mut sides = steps
            .filter(|step| step.to == Some(to))
            .map(|step| step.via == Via::Walk && to == next);
        match (sides.next(), sides.next()) {
            (Some(is_not_taken), None) => {
                Some((predicate, resolved.condition.negated == is_not_taken))
            }
            _ => None,
        }
    }

    /// All steps with their source nodes.
    pub fn edges(&self) -> impl Iterator<Item = (NodeId, &WarpStep)> {
        self.steps
            .iter()
            .enumerate()
            .flat_map(|(from, steps)| steps.iter().map(move |s| (NodeId(from as u32), s)))
    }

    /// The graph without the edges to the end.
    pub fn graph(&self) -> &Digraph {
        &self.graph
    }

    /// Position of a node in a reverse postorder of the graph; the greatest number if no thread reaches it.
    pub fn rank(&self, node: usize) -> u64 {
        self.rank.get(node).copied().unwrap_or(u64::MAX)
    }
}

/// Register that an indirect jump reads.
pub(crate) fn indirect_base(control: &ControlEffect) -> Option<Cell> {
    match control {
        ControlEffect::Indirect { base, .. } | ControlEffect::LinkedIndirect { base, .. } => *base,
        _ => None,
    }
}

/// The operation with `agreed` set, if it is an indirect jump.
pub(crate) fn with_agreement(op: &ControlOp, agrees: bool) -> ControlOp {
    match op {
        ControlOp::IndirectJump { targets, .. } => ControlOp::IndirectJump {
            targets: targets.clone(),
            agreed: agrees,
        },
        other => other.clone(),
    }
}
