//! Masks of lanes in registers of the warp: the masks that contain each of them, and the lanes that it lacks
//! (SOUNDNESS 12.2).
//!
//! On machines whose operations write the mask of active lanes, code saves that mask in words of the warp, narrows it
//! by the results of comparisons, and restores it. This analysis follows the words: for each word at each point, it
//! knows masks that contain the word and masks that the word contains. These masks belong to [`MaskSite`]s, each at
//! its last execution. For example, after `s_and_saveexec_b64 s[0:1], vcc` the active lanes are a subset of the mask
//! in `s[0:1]`.

mod domain;
mod flow;
mod literals;
mod regions;
mod word;

use std::collections::BTreeMap;

use warpbound_base::Deadline;
use warpbound_graph::{Solution, solve};
use warpbound_ir::{Cell, Code, ControlEffect, Expr, OpIndex};
use warpbound_simt::NodeId;

use crate::refusal::{Reason, Refusal};
use crate::thread_cfg::ThreadCfg;
use domain::MaskState;
use literals::LiteralHalves;
pub use literals::{MaskClaim, MaskSite};

/// Maximum number of sites; code with more has no facts about masks, and every write of the mask of active lanes may
/// activate any.
const MAX_SITES: usize = 4_000;

/// Facts about masks in a kernel.
#[derive(Debug)]
pub struct Masks<'a> {
    code: &'a Code,
    thread: &'a ThreadCfg,
    sites: Vec<MaskSite>,
    numbers: BTreeMap<MaskSite, u32>,
    halves: LiteralHalves,
    /// States on entry to the nodes; `None` if there are too many sites.
    states: Option<Solution<MaskState>>,
    /// For each node, its predecessors.
    predecessors: Vec<Vec<usize>>,
    /// Whether the wave begins with an active lane, so that some branches have one way only.
    begins_active: bool,
}

impl<'a> Masks<'a> {
    /// Analyses a kernel; `None` if no operation acts on the warp as a whole, so that there are no masks.
    ///
    /// # Errors
    ///
    /// A refusal after the time limit.
    pub fn compute(code: &'a Code, thread: &'a ThreadCfg) -> Result<Option<Masks<'a>>, Refusal> {
        Masks::compute_from(code, thread, true)
    }

    /// Analyses a kernel for a wave that may be anywhere without active lanes, as a split may. The facts hold for the
    /// bits of its lanes.
    pub(crate) fn compute_for_splits(
        code: &'a Code,
        thread: &'a ThreadCfg,
    ) -> Result<Option<Masks<'a>>, Refusal> {
        Masks::compute_from(code, thread, false)
    }

    fn compute_from(
        code: &'a Code,
        thread: &'a ThreadCfg,
        begins_active: bool,
    ) -> Result<Option<Masks<'a>>, Refusal> {
        if !code.writes_active_mask() && !code.writes_words_of_warp() {
            return Ok(None);
        }
        let reversed = thread.graph().reversed();
        let nodes = 0..thread.space.len();
        let predecessors = nodes.map(|node| reversed.successors(node).to_vec());
        let mut masks = Masks {
            code,
            thread,
            sites: Vec::new(),
            numbers: BTreeMap::new(),
            halves: LiteralHalves::default(),
            states: None,
            predecessors: predecessors.collect(),
            begins_active,
        };
        masks.find_sites();
        if masks.sites.len() <= MAX_SITES {
            let deadline = thread.deadline;
            let mut problem = flow::MaskProblem {
                masks: &masks,
                deadline,
            };
            let initial = flow::at_entry(&masks);
            masks.states = Some(solve(&mut problem, thread.entry.index(), initial)?);
        }
        Ok(Some(masks))
    }

    /// Numbers the sites: the entry, joins, writes of the active mask, comparisons.
    fn find_sites(&mut self) {
        let mut sites = vec![MaskSite::Entry];
        for node in self.thread.space.ids() {
            if !self.thread.is_reached(node) {
                continue;
            }
            // With one predecessor, the active lanes are known from its end.
            if self.predecessors[node.index()].len() > 1 {
                sites.push(MaskSite::Join(node));
            }
            let last = self.code.get(self.thread.space.block(node).last);
            let guard = last.and_then(|op| op.condition.guard);
            if guard.is_some_and(|guard| guard.mask_words().is_some()) {
                sites.push(MaskSite::Branch(node));
            }
            for at in self.thread.space.block(node).ops() {
                let Some(op) = self.code.get(at) else {
                    continue;
                };
                if matches!(op.control, ControlEffect::SetActive(_)) {
                    sites.push(MaskSite::Active(node, at));
                }
                if domain::predicate_of(op).is_some() {
                    sites.push(MaskSite::Compared(node, at));
                    sites.push(MaskSite::Holds(node, at));
                }
            }
        }
        let numbers = sites.iter().zip(0u32..).map(|(&site, n)| (site, n));
        self.numbers = numbers.collect();
        self.halves = LiteralHalves::of(sites.len().min(MAX_SITES));
        self.sites = sites;
    }

    fn number(&self, site: MaskSite) -> Option<u32> {
        self.numbers.get(&site).copied()
    }

    /// State before an operation of a node; `None` if the node is not reached or there are too many sites.
    fn before(&self, node: NodeId, at: OpIndex) -> Option<MaskState> {
        // States are kept for the entries of nodes only.
        let mut state = self.states.as_ref()?.get(node.index())?.clone();
        flow::enter(self, node, &mut state);
        for earlier in self
            .thread
            .space
            .block(node)
            .ops()
            .take_while(|op| *op < at)
        {
            flow::apply(self, node, earlier, &mut state);
        }
        Some(state)
    }

    /// Cells of the lanes whose content may come from an earlier definition after an operation that writes the mask
    /// of active lanes, in the lanes that are active then: cells that were written while some of these lanes may have
    /// been inactive. Ascending.
    pub fn stale_cells(&self, node: NodeId, at: OpIndex) -> Vec<Cell> {
        regions::stale_cells(self, node, at, self.before(node, at))
    }

    /// The claims about words of the warp before an operation of a node.
    pub fn claims(&self, node: NodeId, at: OpIndex) -> Vec<MaskClaim> {
        match self.before(node, at) {
            Some(state) => state.claims(&self.sites),
            None => Vec::new(),
        }
    }

    /// Whether some lane is claimed to be active before an operation of a node.
    pub fn claims_activity(&self, node: NodeId, at: OpIndex) -> bool {
        self.before(node, at).is_some_and(|state| state.is_active)
    }

    /// Whether a lane that is active at the branch on a mask at the end of `branch` was active there in each
    /// iteration of a loop since it was entered: lanes are active at the branch only if they were at the header, and
    /// at a latch only if they were at the branch. The branch is executed once in each iteration.
    pub(crate) fn keeps_lanes(&self, header: NodeId, branch: NodeId, latches: &[usize]) -> bool {
        let at_branch = self.at_end(branch);
        let is_below = |state: &MaskState, site| {
            self.number(site)
                .is_some_and(|number| state.active_is_below(number))
        };
        at_branch.is_some_and(|state| is_below(&state, MaskSite::Join(header)))
            && latches.iter().all(|&latch| {
                let at_latch = self.at_end(NodeId(latch as u32));
                at_latch.is_some_and(|state| is_below(&state, MaskSite::Branch(branch)))
            })
    }

    /// State at the end of a node.
    fn at_end(&self, node: NodeId) -> Option<MaskState> {
        let last = self.thread.space.block(node).last;
        let mut state = self.before(node, last.next())?;
        flow::leave(self, node, &mut state);
        Some(state)
    }

    /// Comparisons that the lanes of a mask, or the active lanes, have passed when a branch at the end of a node
    /// finds the mask with a lane (`some`), or without one. Each is about lanes that were active at the comparison:
    /// if `some`, about all lanes of the mask; otherwise about all active lanes, of whom there is at least one.
    pub(crate) fn passed(&self, node: NodeId, mask: Cell, some: bool) -> Vec<PassedComparison> {
        let last = self.thread.space.block(node).last;
        let (Some(words), Some(state)) = (mask.mask_words(), self.before(node, last)) else {
            return Vec::new();
        };
        let lanes = match some {
            true => words,
            // Without an active lane, an empty mask shows nothing about the predicate.
            false if state.is_active => Cell::EXEC_WORDS,
            false => return Vec::new(),
        };
        self.passed_by(&state, words, lanes, some)
    }

    /// Comparisons that all lanes which are active on entry to a node have passed.
    pub(crate) fn passed_on_entry(&self, node: NodeId) -> Vec<PassedComparison> {
        match self.on_entry(node) {
            Some(state) => self.passed_by(&state, Cell::EXEC_WORDS, Cell::EXEC_WORDS, true),
            None => Vec::new(),
        }
    }

    /// Whether some lane is active on entry to a node, in every run.
    pub(crate) fn is_active_on_entry(&self, node: NodeId) -> bool {
        self.on_entry(node).is_some_and(|state| state.is_active)
    }

    fn on_entry(&self, node: NodeId) -> Option<MaskState> {
        self.before(node, self.thread.space.block(node).first)
    }

    /// [`Masks::passed`] for words of a mask, in a state.
    fn passed_by(
        &self,
        state: &MaskState,
        words: [Cell; 2],
        lanes: [Cell; 2],
        some: bool,
    ) -> Vec<PassedComparison> {
        let mut passed = Vec::new();
        for (&site, &number) in &self.numbers {
            let MaskSite::Holds(node, at) = site else {
                continue;
            };
            let compared = self.number(MaskSite::Compared(node, at));
            let were_active =
                compared.is_some_and(|compared| state.is_below(lanes, compared, false));
            // A lane that was not active at the comparison has no result of it.
            if !were_active {
                continue;
            }
            let (all, none) = match some {
                true => (
                    state.is_below(words, number, false),
                    state.is_below(words, number, true),
                ),
                // No lane is in the mask, so in none of its parts.
                false => (false, state.is_above(words, number)),
            };
            // Of an empty mask both are known.
            if all != none {
                passed.push(PassedComparison {
                    node,
                    at,
                    holds: all,
                });
            }
        }
        passed
    }

    /// Whether some lane is active before the last operation of a node, in every run.
    pub(crate) fn is_active_at_end(&self, node: NodeId) -> bool {
        let last = self.thread.space.block(node).last;
        self.before(node, last).is_some_and(|state| state.is_active)
    }

    /// Whether no lane that is active after an operation of a node was active at the end of another node, from which
    /// it is reached.
    pub(crate) fn activates_others(&self, from: NodeId, node: NodeId, at: OpIndex) -> bool {
        let states = self.at_end(from).zip(self.before(node, at.next()));
        states.is_some_and(|(earlier, later)| later.active_excludes(&earlier))
    }

    /// Scalar registers whose bits are known for the lanes that are not active at the end of a node, as words of the
    /// low half of a mask and of the high half.
    pub(crate) fn bits_of_idle_lanes(&self, node: NodeId) -> Vec<(Cell, [Option<bool>; 2])> {
        let state = self.at_end(node);
        state.map_or_else(Vec::new, |state| state.bits_of_idle_lanes())
    }

    /// Whether the lanes that are active after an operation of a node were active before it.
    pub(crate) fn narrows(&self, node: NodeId, at: OpIndex) -> bool {
        let states = self.before(node, at).zip(self.before(node, at.next()));
        states.is_some_and(|(mut before, after)| {
            self.forget_sites_of(node, at, &mut before);
            after.active_is_within(&before)
        })
    }

    /// Forgets the sites of an operation. A state after the operation names its present execution by them, a state
    /// before it the last one, so facts of both states must not be compared by these sites.
    fn forget_sites_of(&self, node: NodeId, at: OpIndex, before: &mut MaskState) {
        let sites = [
            MaskSite::Active(node, at),
            MaskSite::Compared(node, at),
            MaskSite::Holds(node, at),
        ];
        for number in sites.into_iter().filter_map(|site| self.number(site)) {
            before.forget_site(number);
        }
    }

    /// Whether no operation of a node may activate lanes.
    pub(crate) fn only_narrows_in(&self, node: NodeId) -> bool {
        let block = self.thread.space.block(node);
        let mut ops = block.ops();
        ops.all(|at| self.number(MaskSite::Active(node, at)).is_none() || self.narrows(node, at))
    }

    /// Predicate of a comparison.
    pub(crate) fn predicate(&self, at: OpIndex) -> Option<&'a Expr> {
        self.code.get(at).and_then(domain::predicate_of)
    }

    /// The code as one lane executes it: operations that activate lanes write an unknown value to the cells that may be
    /// stale in these ([`Masks::stale_cells`]).
    ///
    /// # Errors
    ///
    /// A refusal after the time limit.
    pub fn lane_view(&self) -> Result<Code, Refusal> {
        let mut code = self.code.clone();
        for node in self.thread.space.ids() {
            if !self.thread.is_reached(node) {
                continue;
            }
            let block = self.thread.space.block(node);
            let mut state = self.before(node, block.first);
            for at in block.ops() {
                let writes_active = self.number(MaskSite::Active(node, at)).is_some();
                if writes_active {
                    check(self.thread.deadline, self.code, at)?;
                    let stale = regions::stale_cells(self, node, at, state.clone());
                    if let Some(op) = code.ops.get_mut(at.index()) {
                        let new = stale.into_iter().filter(|cell| !op.writes.contains(cell));
                        let new: Vec<Cell> = new.collect();
                        op.writes.extend(new);
                    }
                }
                if let Some(state) = &mut state {
                    flow::apply(self, node, at, state);
                }
            }
        }
        Ok(code)
    }
}

/// Comparison that lanes have passed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct PassedComparison {
    /// Node of the comparison.
    pub(crate) node: NodeId,
    /// The operation.
    pub(crate) at: OpIndex,
    /// Whether the predicate holds in the lanes; else it holds in none.
    pub(crate) holds: bool,
}

fn time_limit(code: &Code, at: OpIndex) -> Refusal {
    Refusal {
        at: code.get(at).map(|op| op.addr).unwrap_or_default(),
        reason: Reason::TimeLimit,
    }
}

fn check(deadline: Deadline, code: &Code, at: OpIndex) -> Result<(), Refusal> {
    match deadline.is_past() {
        true => Err(time_limit(code, at)),
        false => Ok(()),
    }
}
