//! What the agreement of the warp-level graph says of the operations that the divergence analysis is about,
//! and where it lost what it does not know.
//!
//! Agreement follows groups of lanes as the machine keeps them; gated values follow data as if lanes always
//! met again. Neither is better everywhere, so both are shown.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use warpbound_ir::{Cell, Code, OpIndex};
use warpbound_simt::groups::{ACTIVE, GroupRelation};
use warpbound_simt::warp::{Via, WarpState};
use warpbound_simt::{NodeId, Tag};

use crate::agreement::{
    AgreementRule, GuardedWrites, LaunchContext, UsedAssumptions, apply_data_effect,
};
use crate::divergence::{Chain, Link, LinkRole, OpDivergence, QueryKind};
use crate::thread_cfg::ThreadCfg;
use crate::warp_cfg::WarpCfg;

/// Steps back that are made to find out where agreement was lost.
const MOST_STEPS: usize = 400;

/// What agreement says of one [`Item`].
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct AgreementVerdict {
    /// Nodes in which the active lanes may find different values.
    pub divergent: BTreeSet<NodeId>,
    /// Nodes in which live lanes may be missing, or may not take part.
    pub partial: BTreeSet<NodeId>,
}

/// Where agreement on a cell was lost.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum AgreementLoss {
    /// Lanes that waited in an entry of this tag go on at the operation; others wrote the cell meanwhile.
    Resumed(OpIndex, Cell, Tag),
    /// The operation gives lanes values of their own.
    Written(OpIndex, Cell),
    /// Nothing is known of the cell when the kernel begins.
    Entry(Cell),
}

/// The warp-level graph of a kernel, to be asked.
#[derive(Clone, Copy)]
pub struct AgreementAnalysis<'a> {
    /// The code.
    pub code: &'a Code,
    /// The program space.
    pub thread: &'a ThreadCfg,
    /// The graph.
    pub warp: &'a WarpCfg,
    /// What is known of the launch.
    pub launch: &'a LaunchContext,
}

impl AgreementAnalysis<'_> {
    /// What agreement says of each of `items`.
    pub fn verdicts(&self, items: &[OpDivergence]) -> Vec<AgreementVerdict> {
        let mut opinions = vec![AgreementVerdict::default(); items.len()];
        let mut asked: BTreeMap<NodeId, Vec<(OpIndex, usize)>> = BTreeMap::new();
        for (index, item) in items.iter().enumerate() {
            for &node in &item.nodes {
                asked.entry(node).or_default().push((item.at, index));
            }
        }
        for (node, questions) in asked {
            self.walk(node, |at, state| {
                let first = questions.partition_point(|&(q, _)| q < at);
                for &(_, index) in questions[first..].iter().take_while(|(q, _)| *q == at) {
                    self.answer(&items[index], node, state, &mut opinions[index]);
                }
            });
        }
        opinions
    }

    fn answer(
        &self,
        item: &OpDivergence,
        node: NodeId,
        state: &WarpState,
        opinion: &mut AgreementVerdict,
    ) {
        let parts = match item.kind {
            QueryKind::Branch => {
                let warp = self.warp;
                warp.divergent.contains(&node) || warp.divergent_calls.contains(&node)
            }
            _ => !state.active_agree(item.cells.iter().map(|cell| cell.index())),
        };
        if parts {
            opinion.divergent.insert(node);
        }
        let op = self.code.get(item.at);
        let guarded = item.kind != QueryKind::Branch
            && op.is_some_and(|op| !state.active_agree(op.condition.cells().map(Cell::index)));
        let stack = state.stack();
        let waits = |&id| {
            let slot = stack.slot(id);
            !slot.is_some_and(|slot| state.groups().get(slot, ACTIVE).has(GroupRelation::SUBSET))
        };
        if guarded || stack.ids().iter().any(waits) {
            opinion.partial.insert(node);
        }
    }

    /// Shows the state before each operation of a node that the warp executes.
    fn walk(&self, node: NodeId, mut show: impl FnMut(OpIndex, &WarpState)) -> Option<WarpState> {
        let mut state = self.warp.state(node)?.clone();
        let mut halves = GuardedWrites::default();
        for at in self.thread.space.block(node).ops() {
            show(at, &state);
            apply_data_effect(
                &mut state,
                self.code.get(at)?,
                self.launch,
                &mut halves,
                &mut UsedAssumptions::default(),
            );
        }
        Some(state)
    }

    /// The link of `chain` closest to its source that agreement holds for uniform: from there on, the chain
    /// does not convince it.
    pub fn last_uniform_link<'c>(&self, chain: &'c Chain) -> Option<&'c Link> {
        chain
            .links
            .iter()
            .rev()
            .find(|link| self.holds_uniform(link))
    }

    fn holds_uniform(&self, link: &Link) -> bool {
        let agrees = |at| {
            let state = self.before(link.node, at);
            let cell = link.cell.map(Cell::index);
            state.is_some_and(|state| cell.is_some_and(|cell| state.active_agree([cell])))
        };
        match link.role {
            LinkRole::BranchOutcome => !self.warp.divergent.contains(&link.node),
            LinkRole::Gamma | LinkRole::Mu => agrees(link.at),
            LinkRole::Written | LinkRole::Conditional => agrees(OpIndex(link.at.0 + 1)),
            // The cell is looked at elsewhere: behind the loop, or in no state at all.
            LinkRole::Eta | LinkRole::Entry | LinkRole::Callee => false,
        }
    }

    /// Where agreement on one of `cells` was lost that is missing when operation `at` of `node` is about to
    /// be executed; nothing where that is too far away.
    pub fn find_loss(&self, node: NodeId, at: OpIndex, cells: &[Cell]) -> Option<AgreementLoss> {
        let before = self.before(node, at)?;
        let missing = |cell: &&Cell| !before.active_agree([cell.index()]);
        let cell = *cells.iter().find(missing)?;
        let mut waiting = VecDeque::from([(node, at, cell)]);
        let mut seen = BTreeSet::new();
        while let Some((node, at, cell)) = waiting.pop_front() {
            if seen.len() > MOST_STEPS {
                return None;
            }
            if !seen.insert((node, at, cell)) {
                continue;
            }
            if let Some(found) = self.step_back(node, at, cell, &mut waiting) {
                return Some(found);
            }
        }
        None
    }

    fn before(&self, node: NodeId, end: OpIndex) -> Option<WarpState> {
        let mut found = None;
        let behind = self.walk(node, |at, state| {
            if at == end {
                found = Some(state.clone());
            }
        });
        found.or(behind)
    }

    /// The place itself, or what to look at next.
    fn step_back(
        &self,
        node: NodeId,
        end: OpIndex,
        cell: Cell,
        waiting: &mut VecDeque<(NodeId, OpIndex, Cell)>,
    ) -> Option<AgreementLoss> {
        let block = self.thread.space.block(node);
        let writes = |&at: &OpIndex| {
            let op = self.code.get(at);
            at < end && op.is_some_and(|op| op.writes.contains(&cell) && !op.condition.is_never())
        };
        if let Some(at) = block.ops().rev().find(writes) {
            let op = self.code.get(at)?;
            let before = self.before(node, at)?;
            let rule = self.launch.agreement_rule(op.value);
            let read = op
                .reads
                .iter()
                .filter(|_| rule == AgreementRule::Operands)
                .copied();
            let old = (!op.condition.is_always()).then_some(cell);
            let mut all = op.condition.cells().chain(read).chain(old);
            return match all.find(|cell| !before.active_agree([cell.index()])) {
                _ if rule == AgreementRule::Never => Some(AgreementLoss::Written(at, cell)),
                Some(cell) => {
                    waiting.push_back((node, at, cell));
                    None
                }
                None => Some(AgreementLoss::Written(at, cell)),
            };
        }
        if node == self.thread.entry {
            return Some(AgreementLoss::Entry(cell));
        }
        for (from, step) in self.warp.edges().filter(|(_, step)| step.to == Some(node)) {
            let Some(last) = self.before(from, OpIndex(u32::MAX)) else {
                continue;
            };
            match step.via {
                Via::Walk if !last.active_agree([cell.index()]) => {
                    waiting.push_back((from, OpIndex(u32::MAX), cell));
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
