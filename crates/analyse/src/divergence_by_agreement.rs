//! Divergence by agreement (`warp-cfg-2023` 3.3) of the operations of the divergence analysis, and the locations where
//! agreement was lost.
//!
//! Agreement follows groups of lanes as the machine keeps them; gated values ([`crate::divergence`]) follow data as if
//! lanes always reconverged. Neither is more precise everywhere, so reports show both.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use warpbound_ir::{Cell, Code, OpIndex};
use warpbound_simt::groups::{ACTIVE, GroupRelation};
use warpbound_simt::warp::{Via, WarpState};
use warpbound_simt::{NodeId, Tag};

use crate::agreement::{
    AgreementRule, GuardedWrites, LaunchContext, UsedAssumptions, active_agree, apply_data_effect,
};
use crate::divergence::{Chain, Link, LinkRole, OpDivergence, QueryKind};
use crate::thread_cfg::ThreadCfg;
use crate::warp_cfg::WarpCfg;

/// Maximum number of steps of a backward search for the loss of agreement.
const MAX_STEPS: usize = 400;

/// Divergence of one [`OpDivergence`] according to agreement.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct AgreementVerdict {
    /// Nodes where the active lanes may read different values.
    pub divergent: BTreeSet<NodeId>,
    /// Nodes where live lanes may be pending, or be masked by the guard.
    pub partial: BTreeSet<NodeId>,
}

/// Location at which agreement on a cell was lost.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum AgreementLoss {
    /// Lanes that were pending in an entry of this tag continue at the operation; others wrote the cell meanwhile.
    Resumed(OpIndex, Cell, Tag),
    /// The operation gives lanes values of their own.
    Written(OpIndex, Cell),
    /// The initial content of the cell is unknown.
    Entry(Cell),
}

/// Whether live lanes may wait in entries of the stack while others are active.
pub fn has_pending_lanes(state: &WarpState) -> bool {
    let stack = state.stack();
    // Lanes of an entry that are all active are not pending.
    let may_be_pending = |&id| {
        let slot = stack.slot(id);
        !slot.is_some_and(|slot| state.groups().get(slot, ACTIVE).has(GroupRelation::SUBSET))
    };
    stack.ids().iter().any(may_be_pending)
}

/// Queries on the agreement of a warp-level graph.
#[derive(Clone, Copy)]
pub struct AgreementAnalysis<'a> {
    /// The code.
    pub code: &'a Code,
    /// The program space.
    pub thread: &'a ThreadCfg,
    /// The graph.
    pub warp: &'a WarpCfg,
    /// The launch for which the graph was built.
    pub launch: &'a LaunchContext,
}

impl AgreementAnalysis<'_> {
    /// Judges each of `items`.
    pub fn verdicts(&self, items: &[OpDivergence]) -> Vec<AgreementVerdict> {
        let mut verdicts = vec![AgreementVerdict::default(); items.len()];
        let mut queried: BTreeMap<NodeId, Vec<(OpIndex, usize)>> = BTreeMap::new();
        for (index, item) in items.iter().enumerate() {
            for &node in &item.nodes {
                queried.entry(node).or_default().push((item.at, index));
            }
        }
        for (node, queries) in queried {
            self.for_each_state(node, |at, state| {
                let first = queries.partition_point(|&(q, _)| q < at);
                for &(_, index) in queries[first..].iter().take_while(|(q, _)| *q == at) {
                    self.judge(&items[index], node, state, &mut verdicts[index]);
                }
            });
        }
        verdicts
    }

    /// Adds `node` to the verdict on `item`, by the state before its operation.
    fn judge(
        &self,
        item: &OpDivergence,
        node: NodeId,
        state: &WarpState,
        verdict: &mut AgreementVerdict,
    ) {
        let is_divergent = match item.kind {
            QueryKind::Branch => {
                let warp = self.warp;
                warp.divergent.contains(&node) || warp.divergent_calls.contains(&node)
            }
            _ => !active_agree(state, item.cells.iter().copied()),
        };
        if is_divergent {
            verdict.divergent.insert(node);
        }
        let op = self.code.get(item.at);
        let guarded = item.kind != QueryKind::Branch
            && op.is_some_and(|op| !active_agree(state, op.condition.cells()));
        if guarded || has_pending_lanes(state) {
            verdict.partial.insert(node);
        }
    }

    /// Calls `show` with the state before each operation of a node; returns the state after them, or `None` if the warp
    /// never executes the node.
    fn for_each_state(
        &self,
        node: NodeId,
        mut show: impl FnMut(OpIndex, &WarpState),
    ) -> Option<WarpState> {
        let mut state = self.warp.state(node)?.clone();
        let mut guarded_writes = GuardedWrites::default();
        let code = self.thread.lane_code(self.code);
        for at in self.thread.space.block(node).ops() {
            show(at, &state);
            apply_data_effect(
                &mut state,
                code.get(at)?,
                self.launch,
                &mut guarded_writes,
                &mut UsedAssumptions::default(),
            );
        }
        Some(state)
    }

    /// The link of `chain` closest to its source whose value is uniform by agreement, so that the chain explains
    /// nothing from there on.
    pub fn last_uniform_link<'c>(&self, chain: &'c Chain) -> Option<&'c Link> {
        chain.links.iter().rev().find(|link| self.is_uniform(link))
    }

    /// Whether the lanes of the warp agree on the value of a link where it is read.
    fn is_uniform(&self, link: &Link) -> bool {
        let agrees = |at| {
            let state = self.state_before(link.node, at);
            state.is_some_and(|state| link.cell.is_some_and(|cell| active_agree(&state, [cell])))
        };
        match link.role {
            LinkRole::BranchOutcome => !self.warp.divergent.contains(&link.node),
            LinkRole::Gamma | LinkRole::Mu => agrees(link.at),
            LinkRole::Written | LinkRole::Conditional => agrees(OpIndex(link.at.0 + 1)),
            // The value is read elsewhere: after the loop, or in no state at all.
            LinkRole::Eta | LinkRole::Entry | LinkRole::Callee => false,
        }
    }

    /// Finds the location where agreement was lost on the first of `cells` that do not agree before operation `at` of
    /// `node`; `None` if they agree or it is too far away.
    pub fn find_loss(&self, node: NodeId, at: OpIndex, cells: &[Cell]) -> Option<AgreementLoss> {
        let state_before = self.state_before(node, at)?;
        let missing = |cell: &&Cell| !active_agree(&state_before, [**cell]);
        let cell = *cells.iter().find(missing)?;
        let mut worklist = VecDeque::from([(node, at, cell)]);
        let mut seen = BTreeSet::new();
        while let Some((node, at, cell)) = worklist.pop_front() {
            // The location only explains a verdict, so the search may give up.
            if seen.len() > MAX_STEPS {
                return None;
            }
            if !seen.insert((node, at, cell)) {
                continue;
            }
            if let Some(found) = self.trace_back(node, at, cell, &mut worklist) {
                return Some(found);
            }
        }
        None
    }

    /// The state before operation `end` of `node`, or at the end of the node if it is not in the block.
    fn state_before(&self, node: NodeId, end: OpIndex) -> Option<WarpState> {
        let mut found = None;
        let after = self.for_each_state(node, |at, state| {
            if at == end {
                found = Some(state.clone());
            }
        });
        found.or(after)
    }

    /// Returns the location if it is in `node` or at its beginning; else adds the next candidates to the worklist.
    fn trace_back(
        &self,
        node: NodeId,
        end: OpIndex,
        cell: Cell,
        worklist: &mut VecDeque<(NodeId, OpIndex, Cell)>,
    ) -> Option<AgreementLoss> {
        let block = self.thread.space.block(node);
        let writes = |&at: &OpIndex| {
            let op = self.code.get(at);
            at < end && op.is_some_and(|op| op.writes.contains(&cell) && !op.condition.is_never())
        };
        if let Some(at) = block.ops().rev().find(writes) {
            let op = self.code.get(at)?;
            let state_before = self.state_before(node, at)?;
            let rule = self.launch.agreement_rule(op.value);
            let read = op
                .reads
                .iter()
                .filter(|_| rule == AgreementRule::Operands)
                .copied();
            let old = (!op.condition.is_always()).then_some(cell);
            let mut all = op.condition.cells().chain(read).chain(old);
            return match all.find(|&cell| !active_agree(&state_before, [cell])) {
                // Such an operation never gives equal values, whatever agreed before it.
                _ if rule == AgreementRule::Never => Some(AgreementLoss::Written(at, cell)),
                Some(cell) => {
                    worklist.push_back((node, at, cell));
                    None
                }
                None => Some(AgreementLoss::Written(at, cell)),
            };
        }
        if node == self.thread.entry {
            return Some(AgreementLoss::Entry(cell));
        }
        for (from, step) in self.warp.edges().filter(|(_, step)| step.to == Some(node)) {
            let Some(last) = self.state_before(from, OpIndex(u32::MAX)) else {
                continue;
            };
            match step.via {
                // Only a predecessor at whose end the cell does not agree can be the reason.
                Via::Walk if !active_agree(&last, [cell]) => {
                    worklist.push_back((from, OpIndex(u32::MAX), cell));
                }
                Via::Resume(id) => {
                    let slot = last.stack().slot(id);
                    if slot.is_some_and(|slot| !last.agreement(slot).contains(cell.index())) {
                        let tag = self.thread.space.entries.get(id).tag;
                        return Some(AgreementLoss::Resumed(block.first, cell, tag));
                    }
                }
                Via::Walk => {}
            }
        }
        None
    }
}
