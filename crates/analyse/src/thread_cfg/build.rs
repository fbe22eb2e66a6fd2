//! Construction of the thread-level graph.
//!
//! Abstract interpretation with [`warpbound_simt::warp`], for a warp that cannot diverge. Register
//! values are analysed in the same fixpoint iteration, so that jump tables resolve while the graph grows
//! (`warp-cfg-2023` 3 interleaves exploration and value analysis likewise).

use std::collections::{BTreeMap, BTreeSet};

use warpbound_base::Deadline;
use warpbound_graph::{DataflowProblem, Digraph, solve};
use warpbound_ir::{Cell, Code, ControlEffect, Op, OpIndex, OpScope};
use warpbound_isa::Reg;
use warpbound_isa::instr::StackToken;
use warpbound_simt::warp::{CellSet, KnownCondition, WarpModel, WarpState, WarpStep};
use warpbound_simt::{AbstractModel, NodeId, Tag};

use crate::blocks::Blocks;
use crate::context::Contexts;
use crate::convergence::{BarrierEffects, ConvergenceRegions};
use crate::indirect::{IndirectJump, IndirectTargets};
use crate::masks::Masks;
use crate::program_space::{ProgramSpace, ResolvedControl};
use crate::refusal::{Reason, Refusal};
use crate::relevant::RelevantCells;
use crate::thread_cfg::{Limits, ThreadCfg, indirect_base};
use crate::values::Values;

impl ThreadCfg {
    /// Builds the graph.
    ///
    /// # Errors
    ///
    /// A refusal at an instruction that cannot be followed, or from which no thread can exit.
    pub fn build(code: &Code, limits: &Limits) -> Result<ThreadCfg, Refusal> {
        if !ConvergenceRegions::exist_in(code) {
            return ThreadCfg::build_with(code, limits, &BarrierEffects::default());
        }
        // Regions are found along the paths of a lane, which no barrier changes.
        let no_barriers = BarrierEffects {
            ignored: barrier_operations(code),
            ..BarrierEffects::default()
        };
        let lane = ThreadCfg::build_with(code, limits, &no_barriers)?;
        let regions = ConvergenceRegions::find(code, &lane.space, lane.entry, &lane.steps)?;
        let mut cfg = ThreadCfg::build_with(code, limits, &regions.effects(code))?;
        cfg.regions = regions;
        Ok(cfg)
    }

    /// Builds the graph with these effects of convergence barriers.
    fn build_with(
        code: &Code,
        limits: &Limits,
        barriers: &BarrierEffects,
    ) -> Result<ThreadCfg, Refusal> {
        check_registers_of_the_warp(code)?;
        let mut leaders = BTreeSet::new();
        let relevant = RelevantCells::find(code);
        loop {
            let blocks = Blocks::build(code, &leaders);
            let mut space = ProgramSpace::new(code, blocks, limits.contexts, limits.nodes);
            space.barriers = barriers.clone();
            let entry = space
                .enter(code.entry, Contexts::KERNEL)
                .ok_or_else(|| Refusal {
                    at: Default::default(),
                    reason: Reason::RunsOffTheEnd,
                })?;
            let mut explorer = Explorer {
                code,
                relevant: relevant.as_ref(),
                space,
                model: WarpModel::default(),
                indirect: BTreeMap::new(),
                resolved: Vec::new(),
                steps: Vec::new(),
                new_leaders: BTreeSet::new(),
                deadline: limits.deadline,
            };
            // One lane needs no agreement: `flow` passes each unknown condition as agreed.
            let initial = State {
                warp: explorer.model.entry(CellSet::default()),
                values: relevant.is_some().then(Values::default),
            };
            let outcome = solve(&mut explorer, entry.index(), initial);
            // Before `outcome`: with new leaders its error only ends this round (`find_targets`).
            if !explorer.new_leaders.is_empty() {
                // A jump table leads into the middle of a block: cut there and start again. Each
                // round adds a leader, so the number of operations limits the rounds.
                leaders.append(&mut explorer.new_leaders);
                continue;
            }
            outcome?;
            let mut cfg = ThreadCfg {
                space: explorer.space,
                entry,
                indirect: explorer.indirect,
                resolved: explorer.resolved,
                steps: explorer.steps,
                deadline: limits.deadline,
                regions: ConvergenceRegions::default(),
                lane_code: None,
                graph: Digraph::default(),
                rank: Vec::new(),
            };
            cfg.resolved.resize(cfg.space.len(), None);
            cfg.steps.resize(cfg.space.len(), Vec::new());
            cfg.rank_reached_nodes();
            cfg.check_exits(code)?;
            // Only now, because masks are followed over the finished graph.
            let masks = Masks::compute(code, &cfg)?;
            let lane_code = masks.map(|masks| masks.lane_view()).transpose()?;
            cfg.lane_code = lane_code;
            return Ok(cfg);
        }
    }

    /// Computes the graph of the steps and its order.
    ///
    /// Drops the nodes that only steps of earlier visits led to: a jump that turned out to be a call leads into the
    /// callee's context and no longer into its own. A cycle of such nodes would belong to no loop.
    fn rank_reached_nodes(&mut self) {
        let mut graph = self.graph_of_steps();
        let order = graph.reverse_postorder(self.entry.index());
        let mut rank = vec![u64::MAX; self.space.len()];
        for (position, node) in order.into_iter().enumerate() {
            rank[node] = position as u64;
        }
        let mut dropped = false;
        let nodes = self.resolved.iter_mut().zip(&mut self.steps).zip(&rank);
        for ((resolved, steps), _) in nodes.filter(|(_, rank)| **rank == u64::MAX) {
            dropped |= resolved.take().is_some();
            steps.clear();
        }
        if dropped {
            graph = self.graph_of_steps();
        }
        (self.graph, self.rank) = (graph, rank);
    }

    fn graph_of_steps(&self) -> Digraph {
        let steps = self.edges();
        let edges = steps.filter_map(|(from, step)| Some((from.index(), step.to?.index())));
        Digraph::new(self.space.len(), edges)
    }

    /// Refuses code if a thread can reach a node that no path leads out of.
    fn check_exits(&self, code: &Code) -> Result<(), Refusal> {
        let exits = self
            .edges()
            .filter(|(_, step)| step.to.is_none())
            .map(|(from, _)| from.index());
        let leaves = self.graph.reversed().reachable(exits);
        // Flow conservation (SOUNDNESS 5.1) would give the steps into such a node the count 0.
        let trapped = self
            .space
            .ids()
            .filter(|&n| self.is_reached(n) && !leaves[n.index()])
            .map(|n| self.space.block(n).first)
            .min();
        match trapped.and_then(|op| code.get(op)) {
            Some(op) => Err(Refusal {
                at: op.addr,
                reason: Reason::NeverExits,
            }),
            None => Ok(()),
        }
    }
}

/// Operations that open and close the regions of convergence barriers.
fn barrier_operations(code: &Code) -> BTreeSet<OpIndex> {
    let is_one = |op: &Op| {
        matches!(
            op.control,
            ControlEffect::OpenBarrier(..) | ControlEffect::JoinBarrier(_)
        )
    };
    let numbered = (0..).map(OpIndex).zip(&code.ops);
    numbered
        .filter(|(_, op)| is_one(op))
        .map(|(at, _)| at)
        .collect()
}

/// Refuses code that writes registers of the warp and has control flow that a lane decides: there, registers of the
/// warp change while a lane is inactive, which its own path does not show. Where registers of the warp decide all
/// control flow, the graph is that of the warp (SOUNDNESS 12.1). Also refuses code whose active lanes may not be
/// what the words of EXEC say.
fn check_registers_of_the_warp(code: &Code) -> Result<(), Refusal> {
    let of_warp = |op: &Op| {
        let writes = op.writes.iter().any(|cell| !cell.is_per_lane());
        writes || op.scope == OpScope::Warp || matches!(op.control, ControlEffect::SetActive(_))
    };
    if !code.ops.iter().any(of_warp) {
        return Ok(());
    }
    let refuse = |op: &Op, what: &str| {
        Err(Refusal {
            at: op.addr,
            reason: Reason::Unsupported(what.to_owned()),
        })
    };
    for op in &code.ops {
        let mut cells = op.condition.cells().chain(indirect_base(&op.control));
        if cells.any(Cell::is_per_lane) {
            let what =
                "a condition of single lanes, in code that writes registers of the whole warp";
            return refuse(op, what);
        }
        let writes_words = op.writes.iter().any(|cell| Cell::EXEC_WORDS.contains(cell));
        let is_consistent = match op.control {
            ControlEffect::SetActive(mask) => mask == Cell::of(Reg::EXEC),
            _ => !writes_words,
        };
        if !is_consistent {
            return refuse(op, "a mask of active lanes that is not EXEC");
        }
    }
    Ok(())
}

/// Dataflow fact of one lane.
#[derive(Clone)]
struct State {
    warp: WarpState,
    /// `None` in code without indirect jumps, which needs no values.
    values: Option<Values>,
}

struct Explorer<'a> {
    code: &'a Code,
    relevant: Option<&'a RelevantCells>,
    space: ProgramSpace,
    model: WarpModel,
    indirect: BTreeMap<OpIndex, IndirectTargets>,
    resolved: Vec<Option<ResolvedControl>>,
    steps: Vec<Vec<WarpStep>>,
    new_leaders: BTreeSet<OpIndex>,
    deadline: Deadline,
}

impl Explorer<'_> {
    fn refuse(&self, at: OpIndex, reason: Reason) -> Refusal {
        Refusal {
            at: self.code.get(at).map(|op| op.addr).unwrap_or_default(),
            reason,
        }
    }

    /// Nodes that ended with a PRET and pushed the return entry of the indirect jump at the end of `here`.
    fn return_pushers(&self, here: NodeId, state: &WarpState) -> Vec<NodeId> {
        let stack = state.stack();
        stack
            .top()
            .iter()
            .filter_map(|slot| stack.id(slot))
            .map(|id| self.space.entries.get(id))
            .filter(|entry| {
                let pusher = self.space.block(entry.pushed_by).last;
                let pret = self.code.get(pusher).is_some_and(|op| {
                    matches!(op.control, ControlEffect::Push(StackToken::Ret, _))
                });
                // The PRET of an indirect call is in the same function and context as its jump.
                entry.tag == Tag::Ret
                    && pret
                    && self.space.node(entry.pushed_by).context == self.space.node(here).context
            })
            .map(|entry| entry.pushed_by)
            .collect()
    }

    /// Finds the targets of the indirect jump `last` and adds them to those known. Targets inside blocks become new
    /// leaders, and an error that ends this round.
    fn find_targets(
        &mut self,
        last: OpIndex,
        values: &Values,
        is_call: bool,
    ) -> Result<(), Refusal> {
        let control = self.code.get(last).map(|op| &op.control);
        // Where functions return to follows from their calls.
        let control = control.filter(|control| !matches!(control, ControlEffect::Return { .. }));
        let Some(jump) = control.and_then(IndirectJump::of) else {
            return Ok(());
        };
        let unknown = self.refuse(last, Reason::UnknownIndirectTarget);
        let at = unknown.at;
        let Some(found) = IndirectTargets::find(self.code, values, at, jump, is_call) else {
            return Err(unknown);
        };
        if let IndirectTargets::Code { ops, .. } = &found {
            let uncut: Vec<_> = ops
                .iter()
                .filter(|&&op| self.space.blocks.starting_at(op).is_none())
                .copied()
                .collect();
            if !uncut.is_empty() {
                self.new_leaders.extend(uncut);
                return Err(unknown);
            }
        }
        match self.indirect.get_mut(&last) {
            Some(known) => known.merge(&found).then_some(()).ok_or(unknown),
            None => {
                self.indirect.insert(last, found);
                Ok(())
            }
        }
    }
}

impl DataflowProblem for Explorer<'_> {
    type State = State;
    type Error = Refusal;

    fn flow(
        &mut self,
        node: usize,
        state: &State,
        emit: &mut dyn FnMut(usize, State),
    ) -> Result<(), Refusal> {
        let here = NodeId(node as u32);
        let block = self.space.block(here);
        if self.deadline.is_past() {
            return Err(self.refuse(block.first, Reason::TimeLimit));
        }
        let mut values = state.values.clone();
        if let (Some(values), Some(relevant)) = (&mut values, self.relevant) {
            for at in block.ops() {
                if let Some(op) = self.code.get(at) {
                    values.apply(op, self.code, &relevant.after(at));
                }
            }
        }
        let Some(last) = self.code.get(block.last) else {
            return Err(self.refuse(block.last, Reason::RunsOffTheEnd));
        };
        let mut pushers = Vec::new();
        if let (ControlEffect::Indirect { .. }, Some(values)) = (&last.control, &values) {
            pushers = self.return_pushers(here, &state.warp);
            // The jump is a call only if every stack has the return entry of a PRET on top.
            let is_call = pushers.len() == state.warp.stack().top().iter().count();
            self.find_targets(block.last, values, is_call)?;
        }
        if let (ControlEffect::LinkedIndirect { .. }, Some(values)) = (&last.control, &values) {
            self.find_targets(block.last, values, true)?;
        }
        let resolved = self
            .space
            .resolve(self.code, here, &self.indirect, &pushers)?;
        if let (Some(values), Some(relevant)) = (&mut values, self.relevant) {
            // The callee may write any register.
            if resolved.external.is_some() {
                values.forget();
            }
            values.keep(&relevant.after(block.last));
        }
        let condition = if resolved.condition.is_always() {
            KnownCondition::Always
        } else if resolved.condition.is_never() {
            KnownCondition::Never
        } else {
            KnownCondition::Agreed
        };
        let mut found = BTreeSet::new();
        let mut states = Vec::new();
        self.model
            .step(
                state.warp.clone(),
                &resolved.op,
                condition,
                (here, resolved.next),
                &mut self.space.entries,
                &mut |step, warp| {
                    if let (Some(to), Some(warp)) = (step.to, warp) {
                        states.push((to, warp));
                    }
                    found.insert(step);
                },
            )
            .map_err(|e| self.refuse(block.last, Reason::MayUnderflow(e.tag)))?;
        if node >= self.steps.len() {
            self.steps.resize(node + 1, Vec::new());
            self.resolved.resize(node + 1, None);
        }
        // The last visit has the whole state of the node, so a step of an earlier visit that it does not find is taken
        // by no thread (SOUNDNESS 5.10). The steps of all visits together would be sound and less precise.
        self.steps[node] = found.into_iter().collect();
        self.resolved[node] = Some(resolved);
        for (to, warp) in states {
            let values = values.clone();
            emit(to.index(), State { warp, values });
        }
        Ok(())
    }

    fn join(&mut self, _: usize, old: &mut State, new: State) -> bool {
        let mut grew = self.model.join(&mut old.warp, &new.warp);
        if let (Some(old), Some(new)) = (&mut old.values, &new.values) {
            grew |= old.join(new);
        }
        grew
    }

    fn priority(&self, node: usize) -> u64 {
        // Address order: a reverse postorder is not available while the graph grows.
        self.space.block(NodeId(node as u32)).first.0.into()
    }
}
