//! The warp-level control-flow graph (paper section 3).

use std::collections::{BTreeMap, BTreeSet};

use warpbound_graph::{DataflowProblem, Solution, solve};
use warpbound_ir::{Cell, Code};
use warpbound_simt::warp::{AgreementDomain, KnownCondition, WarpModel, WarpStep, Via, WarpState};
use warpbound_simt::{NodeId, Tag};

use crate::agreement::{Halves, LaunchContext, Used, agreeing_at_entry, apply};
use crate::refusal::{Reason, Refusal};
use crate::thread::{ThreadCfg, indirect_base, with_agreement};

/// The warp-level graph of a kernel: which node may follow which, and what is known at each.
///
/// Nodes and stack entries are those of the [`ThreadCfg`] it was built from, whose entry table it
/// has extended.
#[derive(Debug)]
pub struct WarpCfg {
    /// For each node, the steps that the warp may take from it.
    pub steps: Vec<Vec<WarpStep>>,
    /// Control operations at which the active lanes may part: the node, for each.
    pub divergent: BTreeSet<NodeId>,
    /// Calls of functions outside the file through registers on which the lanes may disagree: the warp
    /// issues one callee after the other.
    pub scattered_calls: BTreeSet<NodeId>,
    /// Assumptions that were used.
    pub used: Used,
    states: Solution<WarpState>,
}

impl WarpCfg {
    /// Builds the graph on the program space of `thread`.
    pub fn run(
        code: &Code,
        thread: &mut ThreadCfg,
        launch: &LaunchContext,
        model: &WarpModel,
    ) -> Result<WarpCfg, Refusal> {
        let order = thread.graph().reverse_postorder(thread.entry.index());
        let mut rank = vec![u64::MAX; thread.space.len()];
        for (position, node) in order.into_iter().enumerate() {
            rank[node] = position as u64;
        }
        let entry = thread.entry;
        let mut explorer = Explorer {
            code,
            steps: vec![Vec::new(); thread.space.len()],
            divergent: BTreeSet::new(),
            scattered_calls: BTreeSet::new(),
            thread,
            launch,
            model: *model,
            used: Used::default(),
            rank,
        };
        let initial = WarpState::entry(agreeing_at_entry(code), model);
        let states = solve(&mut explorer, entry.index(), initial)?;
        Ok(WarpCfg {
            steps: explorer.steps,
            divergent: explorer.divergent,
            scattered_calls: explorer.scattered_calls,
            used: explorer.used,
            states,
        })
    }

    /// What is known when the warp is about to execute `node`; `None` when it never does.
    pub fn state(&self, node: NodeId) -> Option<&WarpState> {
        self.states.get(node.index())
    }

    /// All steps: source, step.
    pub fn edges(&self) -> impl Iterator<Item = (NodeId, &WarpStep)> {
        self.steps
            .iter()
            .enumerate()
            .flat_map(|(from, steps)| steps.iter().map(move |s| (NodeId(from as u32), s)))
    }

    /// Edges that no single lane walks because lanes parted: the warp takes up lanes that were
    /// left waiting by a divergent branch (the dashed edge of the paper's Figure 2).
    pub fn divergence_edges<'a>(
        &'a self,
        thread: &'a ThreadCfg,
    ) -> impl Iterator<Item = (NodeId, &'a WarpStep)> {
        self.edges().filter(|(_, step)| match step.via {
            Via::Resume(entry) => thread.space.entries.get(entry).tag == Tag::Nil,
            Via::Walk => false,
        })
    }

    /// Cells on which the active lanes agree when they are about to execute operation `nth` of
    /// `node`'s block.
    pub fn agreement_at(
        &self,
        code: &Code,
        thread: &ThreadCfg,
        launch: &LaunchContext,
        node: NodeId,
        nth: usize,
    ) -> Option<WarpState> {
        let mut state = self.state(node)?.clone();
        let (mut halves, mut used) = (Halves::default(), Used::default());
        for op in thread.space.block(node).ops().take(nth) {
            apply(&mut state, code.get(op)?, launch, &mut halves, &mut used);
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
    scattered_calls: BTreeSet<NodeId>,
    used: Used,
    rank: Vec<u64>,
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
            // No thread ever gets here: the warp-level stack was less precise than the thread's.
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
        let mut halves = Halves::default();
        for op in block.ops().filter_map(|i| self.code.get(i)) {
            apply(&mut state, op, self.launch, &mut halves, &mut self.used);
        }
        let Some(last) = self.code.get(block.last) else {
            return Ok(());
        };
        let agree = |state: &WarpState, cells: &mut dyn Iterator<Item = Cell>| {
            self.model.agreement != AgreementDomain::Off
                && state.active_agree(cells.map(Cell::index))
        };
        let base_agrees = agree(&state, &mut indirect_base(&last.control).into_iter());
        if resolved.external.is_some() {
            if !base_agrees && indirect_base(&last.control).is_some() {
                self.scattered_calls.insert(here);
            }
            // The callee may leave anything in any cell.
            let all: Vec<usize> = (0..Cell::COUNT).collect();
            state.write(&all, false, false);
        }
        let condition = if resolved.condition.is_always() {
            KnownCondition::Always
        } else if resolved.condition.is_never() {
            KnownCondition::Never
        } else if agree(&state, &mut resolved.condition.cells()) {
            self.used.condition_code |= resolved.condition.tests_cc();
            KnownCondition::Agreed
        } else {
            KnownCondition::Open {
                decides: resolved.condition.decided_by().map(Cell::index),
            }
        };
        let op = with_agreement(&resolved.op, base_agrees);
        let mut found = BTreeMap::new();
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
                found.insert(step, ());
            },
        );
        result.map_err(|e| Refusal {
            at: last.addr,
            reason: Reason::MayUnderflow(e.tag),
        })?;
        let parts = matches!(condition, KnownCondition::Open { .. })
            || matches!(&op, warpbound_simt::warp::ControlOp::Scatter { targets, agreed: false } if targets.len() > 1);
        if parts && self.model.may_diverge {
            self.divergent.insert(here);
        }
        self.steps[node] = found.into_keys().collect();
        Ok(())
    }

    fn join(&mut self, _: usize, old: &mut WarpState, new: WarpState) -> bool {
        old.join(&new, &self.model)
    }

    fn priority(&self, node: usize) -> u64 {
        self.rank.get(node).copied().unwrap_or(u64::MAX)
    }
}
