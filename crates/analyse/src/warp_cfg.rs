//! Warp-level control-flow graph (`warp-cfg-2023` 3).
//!
//! Worklist iteration over abstract warp states ([`warpbound_simt::warp`]) on the nodes of the thread-level graph.
//! Within a block only agreement changes; the last operation determines the steps.

use std::collections::BTreeSet;

use warpbound_graph::{DataflowProblem, Solution, solve};
use warpbound_ir::{Cell, Code, ExecCondition};
use warpbound_simt::warp::{
    AgreementDomain, ControlOp, KnownCondition, Via, WarpModel, WarpState, WarpStep,
};
use warpbound_simt::{NodeId, Tag};

use crate::agreement::{
    GuardedWrites, LaunchContext, UsedAssumptions, agreeing_at_entry, apply_data_effect,
};
use crate::refusal::{Reason, Refusal};
use crate::thread_cfg::{ThreadCfg, indirect_base, with_agreement};

/// Warp-level graph of a kernel: the possible steps between nodes, and the abstract state at each.
///
/// Nodes and stack entries are those of the [`ThreadCfg`] from which it was built; its construction adds entries to
/// that program space.
#[derive(Debug)]
pub struct WarpCfg {
    /// For each node, the steps that the warp may take from it.
    pub steps: Vec<Vec<WarpStep>>,
    /// Nodes that end with a control operation at which the active lanes may diverge.
    pub divergent: BTreeSet<NodeId>,
    /// Nodes that call functions outside the file through a register on which the lanes may disagree: the warp
    /// executes one callee after the other.
    pub divergent_calls: BTreeSet<NodeId>,
    /// Assumptions that agreement rests on.
    pub used: UsedAssumptions,
    states: Solution<WarpState>,
}

impl WarpCfg {
    /// Builds the graph on the program space of `thread`.
    ///
    /// # Errors
    ///
    /// A refusal if a stack may underflow, or after the time limit.
    pub fn build(
        code: &Code,
        thread: &mut ThreadCfg,
        launch: &LaunchContext,
        model: &WarpModel,
    ) -> Result<WarpCfg, Refusal> {
        let entry = thread.entry;
        let mut explorer = Explorer {
            code,
            steps: vec![Vec::new(); thread.space.len()],
            divergent: BTreeSet::new(),
            divergent_calls: BTreeSet::new(),
            thread,
            launch,
            model: *model,
            used: UsedAssumptions::default(),
        };
        let initial = WarpState::entry(agreeing_at_entry(code), model);
        let states = solve(&mut explorer, entry.index(), initial)?;
        Ok(WarpCfg {
            steps: explorer.steps,
            divergent: explorer.divergent,
            divergent_calls: explorer.divergent_calls,
            used: explorer.used,
            states,
        })
    }

    /// State of the warp about to execute `node`; `None` if it never does.
    pub fn state(&self, node: NodeId) -> Option<&WarpState> {
        self.states.get(node.index())
    }

    /// All steps with their source nodes.
    pub fn edges(&self) -> impl Iterator<Item = (NodeId, &WarpStep)> {
        self.steps
            .iter()
            .enumerate()
            .flat_map(|(from, steps)| steps.iter().map(move |s| (NodeId(from as u32), s)))
    }

    /// Steps that are no control flow of a single lane: the warp resumes lanes that a divergent branch left
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
    ) -> Option<WarpState> {
        let mut state = self.state(node)?.clone();
        let (mut guarded_writes, mut used) = (GuardedWrites::default(), UsedAssumptions::default());
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

struct Explorer<'a> {
    code: &'a Code,
    thread: &'a mut ThreadCfg,
    launch: &'a LaunchContext,
    model: WarpModel,
    steps: Vec<Vec<WarpStep>>,
    divergent: BTreeSet<NodeId>,
    divergent_calls: BTreeSet<NodeId>,
    used: UsedAssumptions,
}

impl Explorer<'_> {
    /// Whether the active lanes agree on `cells`, in a domain that has agreement.
    fn active_agree(&self, state: &WarpState, cells: impl Iterator<Item = Cell>) -> bool {
        self.model.agreement != AgreementDomain::Off && state.active_agree(cells.map(Cell::index))
    }

    /// Knowledge about the condition of a node's last operation; records the assumption that it rests on.
    fn known_condition(&mut self, state: &WarpState, condition: ExecCondition) -> KnownCondition {
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

impl DataflowProblem for Explorer<'_> {
    type State = WarpState;
    type Error = Refusal;

    fn flow(
        &mut self,
        node: usize,
        state: &WarpState,
        emit: &mut dyn FnMut(usize, WarpState),
    ) -> Result<(), Refusal> {
        let here = NodeId(node as u32);
        let Some(resolved) = self.thread.resolved[node].clone() else {
            // No thread reaches this node, so no warp does: the abstract stack of the warp is less precise than that
            // of the thread.
            return Ok(());
        };
        let block = self.thread.space.block(here);
        if self.thread.deadline.is_past() {
            let at = self.code.get(block.first).map(|op| op.addr);
            return Err(Refusal {
                at: at.unwrap_or_default(),
                reason: Reason::TimeLimit,
            });
        }
        let mut state = state.clone();
        let mut guarded_writes = GuardedWrites::default();
        for op in block.ops().filter_map(|i| self.code.get(i)) {
            apply_data_effect(
                &mut state,
                op,
                self.launch,
                &mut guarded_writes,
                &mut self.used,
            );
        }
        let Some(last) = self.code.get(block.last) else {
            return Ok(());
        };
        let base = indirect_base(&last.control);
        // Before the writes of a callee below: the call reads the register first.
        let base_agrees = self.active_agree(&state, base.into_iter());
        if resolved.external.is_some() {
            if !base_agrees && base.is_some() {
                self.divergent_calls.insert(here);
            }
            // The callee may write any cell.
            let all: Vec<usize> = (0..Cell::COUNT).collect();
            state.write(&all, false, false);
        }
        let condition = self.known_condition(&state, resolved.condition);
        let op = with_agreement(&resolved.op, base_agrees);
        let mut steps = BTreeSet::new();
        let result = state.step(
            &op,
            condition,
            (here, resolved.next),
            &self.model,
            &mut self.thread.space.entries,
            &mut |step, to| {
                if let (Some(node), Some(to)) = (step.to, to) {
                    emit(node.index(), to);
                }
                steps.insert(step);
            },
        );
        result.map_err(|e| Refusal {
            at: last.addr,
            reason: Reason::MayUnderflow(e.tag),
        })?;
        let diverges = matches!(condition, KnownCondition::MayDiffer { .. })
            || matches!(&op, ControlOp::IndirectJump { targets, agreed: false } if targets.len() > 1);
        if diverges && self.model.may_diverge {
            self.divergent.insert(here);
        }
        // States only grow, so the last visit finds all steps of the earlier ones.
        self.steps[node] = steps.into_iter().collect();
        Ok(())
    }

    fn join(&mut self, _: usize, old: &mut WarpState, new: WarpState) -> bool {
        old.join(&new, &self.model)
    }

    fn priority(&self, node: usize) -> u64 {
        self.thread.rank(node)
    }
}
