//! Warp-level control-flow graph (`warp-cfg-2023` 3).
//!
//! The [`WarpGraph`] of the blocks of a kernel, on the nodes of its thread-level graph. Within a block only agreement
//! changes; the last operation determines the steps.

use std::collections::BTreeSet;

use warpbound_ir::{Cell, Code, ExecCondition};
use warpbound_simt::warp::{ControlOp, KnownCondition, MayUnderflow, Via, WarpState, WarpStep};
use warpbound_simt::{AbstractModel, AbstractState, EntryTable, NodeId, Tag};

use crate::agreement::{
    GuardedWrites, LaunchContext, UsedAssumptions, active_agree, agreeing_at_entry,
    apply_data_effect,
};
use crate::refusal::{Reason, Refusal};
use crate::thread_cfg::{ThreadCfg, indirect_base, with_agreement};
use crate::warp_graph::{NodeEnd, WarpGraph, WarpProgram};

/// Warp-level graph of a kernel: the possible steps between nodes, and the abstract state at each.
///
/// Nodes and stack entries belong to the [`ThreadCfg`] from which it was built; its construction adds entries to that
/// program space.
#[derive(Debug)]
pub struct WarpCfg<S = WarpState> {
    /// Steps, and the abstract state at each node.
    pub graph: WarpGraph<S>,
    /// Nodes that end with a control operation at which the active lanes may diverge.
    pub divergent: BTreeSet<NodeId>,
    /// Nodes that call functions outside the file through a register on which the lanes may disagree: the warp
    /// executes one callee after the other.
    pub divergent_calls: BTreeSet<NodeId>,
    /// Assumptions that agreement rests on.
    pub used: UsedAssumptions,
}

impl<S: AbstractState> WarpCfg<S> {
    /// Builds the graph on the program space of `thread`.
    ///
    /// # Errors
    ///
    /// A refusal if a stack may underflow, or after the time limit.
    pub fn build<M: AbstractModel<State = S, Control = ControlOp>>(
        code: &Code,
        thread: &mut ThreadCfg,
        launch: &LaunchContext,
        model: &M,
    ) -> Result<WarpCfg<S>, Refusal> {
        let (entry, nodes) = (thread.entry, thread.space.len());
        let mut kernel = Kernel {
            code,
            divergent: BTreeSet::new(),
            divergent_calls: BTreeSet::new(),
            thread,
            launch,
            model,
            used: UsedAssumptions::default(),
        };
        let agree = agreeing_at_entry(code);
        let graph = WarpGraph::build(model, &mut kernel, nodes, entry, agree)?;
        Ok(WarpCfg {
            graph,
            divergent: kernel.divergent,
            divergent_calls: kernel.divergent_calls,
            used: kernel.used,
        })
    }

    /// State of the warp about to execute `node`; `None` if it never does.
    pub fn state(&self, node: NodeId) -> Option<&S> {
        self.graph.state(node)
    }

    /// All steps with their source nodes.
    pub fn edges(&self) -> impl Iterator<Item = (NodeId, &WarpStep)> {
        self.graph.edges()
    }

    /// Steps that are not control flow of a single lane: the warp resumes lanes that a divergent branch left
    /// pending (the dashed edge of Figure 2 in `warp-cfg-2023`).
    pub fn divergence_edges<'a>(
        &'a self,
        thread: &'a ThreadCfg,
    ) -> impl Iterator<Item = (NodeId, &'a WarpStep)> {
        self.edges().filter(|(_, step)| match step.via {
            Via::Resume(entry) => thread.space.entries.get(entry).tag == Tag::Nil,
            Via::Walk => false,
        })
    }

    /// State of the warp about to execute operation `nth` of `node`'s block, with the agreement at that point.
    pub fn agreement_at(
        &self,
        code: &Code,
        thread: &ThreadCfg,
        launch: &LaunchContext,
        node: NodeId,
        nth: usize,
    ) -> Option<S> {
        let mut state = self.state(node)?.clone();
        let (mut guarded_writes, mut used) = (GuardedWrites::default(), UsedAssumptions::default());
        let code = thread.lane_code(code);
        for op in thread.space.block(node).ops().take(nth) {
            apply_data_effect(
                &mut state,
                code.get(op)?,
                launch,
                &mut guarded_writes,
                &mut used,
            );
        }
        Some(state)
    }
}

/// The kernel as the construction of its graph reads it.
struct Kernel<'a, M> {
    code: &'a Code,
    thread: &'a mut ThreadCfg,
    launch: &'a LaunchContext,
    model: &'a M,
    divergent: BTreeSet<NodeId>,
    divergent_calls: BTreeSet<NodeId>,
    used: UsedAssumptions,
}

impl<M: AbstractModel<Control = ControlOp>> Kernel<'_, M> {
    /// Whether the active lanes agree on `cells`, in a domain that has agreement.
    fn active_agree(&self, state: &M::State, cells: impl Iterator<Item = Cell>) -> bool {
        let mut cells = cells.filter(|cell| cell.is_per_lane()).peekable();
        // All lanes read the same value from a register of the warp, whether agreement is followed or not.
        cells.peek().is_none() || self.model.has_agreement() && active_agree(state, cells)
    }

    /// Knowledge about the condition of a node's last operation; records the assumption that it rests on.
    fn known_condition(&mut self, state: &M::State, condition: ExecCondition) -> KnownCondition {
        if condition.is_always() {
            KnownCondition::Always
        } else if condition.is_never() {
            KnownCondition::Never
        } else if self.active_agree(state, condition.cells()) {
            self.used.condition_code |= condition.tests_cc();
            KnownCondition::Agreed
        } else {
            KnownCondition::MayDiffer {
                deciding_cell: condition.decided_by().map(Cell::index),
            }
        }
    }
}

impl<M: AbstractModel<Control = ControlOp>> WarpProgram<M> for Kernel<'_, M> {
    type Error = Refusal;

    fn execute(
        &mut self,
        here: NodeId,
        state: &mut M::State,
    ) -> Result<Option<NodeEnd<ControlOp>>, Refusal> {
        let Some(resolved) = self.thread.resolved[here.index()].clone() else {
            // No thread reaches this node, so no warp does: the abstract stack of the warp is less precise than the
            // thread's.
            return Ok(None);
        };
        let block = self.thread.space.block(here);
        if self.thread.deadline.is_past() {
            let at = self.code.get(block.first).map(|op| op.addr);
            return Err(Refusal {
                at: at.unwrap_or_default(),
                reason: Reason::TimeLimit,
            });
        }
        let mut guarded_writes = GuardedWrites::default();
        let code = self.thread.lane_code(self.code);
        for op in block.ops().filter_map(|i| code.get(i)) {
            apply_data_effect(state, op, self.launch, &mut guarded_writes, &mut self.used);
        }
        let Some(last) = self.code.get(block.last) else {
            return Ok(None);
        };
        let base = indirect_base(&last.control);
        // Before the writes of a callee below: the call reads the register first. Nothing is
        // known of lanes that may take either side.
        let base_agrees =
            self.active_agree(state, base.into_iter()) && !last.control.lets_lanes_choose();
        if resolved.external.is_some() {
            if !base_agrees && base.is_some() {
                self.divergent_calls.insert(here);
            }
            // The callee may write any cell.
            let all: Vec<usize> = (0..Cell::COUNT).collect();
            state.write(&all, false, false);
        }
        let condition = self.known_condition(state, resolved.condition);
        let op = with_agreement(&resolved.op, base_agrees);
        let diverges = matches!(condition, KnownCondition::MayDiffer { .. })
            || matches!(&op, ControlOp::IndirectJump { targets, agreed: false } if targets.len() > 1);
        if diverges && self.model.may_diverge() {
            self.divergent.insert(here);
        }
        Ok(Some(NodeEnd {
            op,
            condition,
            next: resolved.next,
        }))
    }

    fn entries(&mut self) -> &mut EntryTable {
        &mut self.thread.space.entries
    }

    fn underflow(&self, node: NodeId, error: MayUnderflow) -> Refusal {
        let last = self.thread.space.block(node).last;
        Refusal {
            at: self.code.get(last).map(|op| op.addr).unwrap_or_default(),
            reason: Reason::MayUnderflow(error.tag),
        }
    }

    fn priority(&self, node: NodeId) -> u64 {
        self.thread.rank(node.index())
    }
}
