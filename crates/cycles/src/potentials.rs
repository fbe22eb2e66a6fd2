//! Costs of the steps of a warp. Each node has a vector of times. The cost of a step is the excess of the times after
//! it over the vector of its target (SOUNDNESS 11.5).
//!
//! The sum of the costs along any path limits the time of the path, whatever the vectors are. If all times are at
//! most the node's vector, delayed by some whole cycles, then after the step they are at most the target's vector,
//! delayed by the cost as well. The vectors only decide how good the limit is. For example, if the times after a step
//! are (7, 5) and the target's vector is (0, 2), the step costs 7.

use std::collections::BTreeSet;

use warpbound_graph::{Digraph, LoopForest};
use warpbound_ir::OpIndex;

use crate::account::{Account, Term, TermCycles};
use crate::kernel::{TimedKernel, TimedStep};
use crate::numbers::MILLI;
use crate::rules::StepRules;
use crate::state::{Part, SCOREBOARDS, TimeVector};
use crate::step::OpWaits;
use crate::waits::KernelWaits;

/// Times at a node, relative to the first possible issue of its first instruction, as far as they follow from the
/// instructions before it and its line.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct NodeTimes {
    pub(crate) vector: TimeVector,
    /// Term of the instruction that raised each scoreboard.
    pub(crate) raised_by: [Term; SCOREBOARDS],
    pub(crate) raises: u32,
}

/// Cost of a step.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct StepCost {
    /// Cycles.
    pub cycles: u64,
    /// Thousandths of cycles by term; they add up to the cycles.
    pub terms: TermCycles,
}

impl StepCost {
    /// Cost of two steps, one after the other.
    fn plus(&self, other: &StepCost) -> StepCost {
        let mut terms = self.terms;
        for (own, other) in terms.iter_mut().zip(other.terms) {
            *own += other;
        }
        StepCost {
            cycles: self.cycles + other.cycles,
            terms,
        }
    }
}

/// Headers of loops whose vector ignores the pending results that entries of the loop bring. Each entry pays for
/// these results, and no iteration does.
pub(crate) type PaidEntries = BTreeSet<usize>;

/// Maximum number of raises of the vector of a node.
const MOST_RAISES: u32 = 128;

/// Kernel with everything that decides its time.
pub(crate) struct Timing<'a> {
    pub(crate) kernel: &'a TimedKernel<'a>,
    pub(crate) transfer: StepRules<'a>,
    pub(crate) waits: KernelWaits,
    /// Numbers of the steps from each node.
    pub(crate) outgoing: Vec<Vec<usize>>,
    /// Scoreboards that some path from each node waits for.
    live: Vec<u8>,
    /// Steps into loops from outside: source and header.
    entering: BTreeSet<(usize, usize)>,
}

impl<'a> Timing<'a> {
    pub(crate) fn new(
        kernel: &'a TimedKernel<'a>,
        transfer: StepRules<'a>,
        waits: KernelWaits,
    ) -> Timing<'a> {
        let mut outgoing = vec![Vec::new(); kernel.nodes.len()];
        for (number, step) in kernel.steps.iter().enumerate() {
            if let Some(list) = outgoing.get_mut(step.from) {
                list.push(number);
            }
        }
        let mut timing = Timing {
            kernel,
            transfer,
            waits,
            outgoing,
            live: Vec::new(),
            entering: entering(kernel),
        };
        timing.live = timing.live_scoreboards();
        timing
    }

    /// Times of a warp that starts.
    fn start(&self) -> NodeTimes {
        NodeTimes {
            vector: TimeVector::start(self.transfer.layout(), 0),
            raised_by: [Term::Dependencies; SCOREBOARDS],
            raises: 0,
        }
    }

    /// Executes a node; returns the times after it, with the account of its cycles.
    pub(crate) fn execute(
        &self,
        node: usize,
        times: &NodeTimes,
        account: &mut Account<'_>,
    ) -> TimeVector {
        let mut vector = times.vector.clone();
        let Some(Some((first, last))) = self.kernel.nodes.get(node).copied() else {
            return vector;
        };
        let Some(waits) = self.waits.nodes.get(node) else {
            return vector;
        };
        for (op, waits) in (first.0..=last.0).map(OpIndex).zip(waits) {
            // The step to the node has fetched the lines of its first instruction.
            if op != first {
                self.fetch(OpIndex(op.0 - 1), op, &mut vector, waits, account);
            }
            self.transfer.issue(&mut vector, op, waits, account);
        }
        vector
    }

    /// Advances the times after a node by a step to another.
    pub(crate) fn advance(
        &self,
        step: TimedStep,
        vector: &mut TimeVector,
        account: &mut Account<'_>,
    ) {
        let ends = |node: usize| self.kernel.nodes.get(node).copied().flatten();
        let change = self.kernel.parted.map(|parted| parted.change);
        if step.to.is_some() && step.to == change {
            self.transfer.change_group(vector, account);
            return;
        }
        let Some((to, (first, _))) = step.to.and_then(|to| Some((to, ends(to)?))) else {
            return;
        };
        if Some(step.from) == change {
            self.go_on(to, vector, account);
            return;
        }
        let Some((_, last)) = ends(step.from) else {
            return;
        };
        if self.transfer.branches(last) && first.0 != last.0 + 1 {
            self.transfer.jump(vector, account);
        }
        if let Some(waits) = self.waits.nodes.get(to).and_then(|waits| waits.first()) {
            self.fetch(last, first, vector, waits, account);
        }
    }

    /// Lets a group go on at a node, whichever instruction was before it: a jump, and a fetch of all lines.
    fn go_on(&self, to: usize, vector: &mut TimeVector, account: &mut Account<'_>) {
        self.transfer.jump(vector, account);
        if let Some(waits) = self.waits.nodes.get(to).and_then(|waits| waits.first()) {
            self.transfer.fetch(vector, &waits.fetch, account);
            self.transfer.fetch(vector, &waits.fetch_last, account);
        }
    }

    /// Delays an instruction by the fetch of its lines, except for the line at the end of the instruction before it.
    pub(crate) fn fetch(
        &self,
        before: OpIndex,
        op: OpIndex,
        vector: &mut TimeVector,
        waits: &OpWaits,
        account: &mut Account<'_>,
    ) {
        let lines = |op| {
            let (first, last) = self.kernel.facts.bytes(op);
            [first, last].map(|byte| byte / self.waits.line)
        };
        let ([_, held], [first, last]) = (lines(before), lines(op));
        self.transfer.arrive(vector, op, account);
        if first != held {
            self.transfer.fetch(vector, &waits.fetch, account);
        }
        if last != first {
            self.transfer.fetch(vector, &waits.fetch_last, account);
        }
    }

    /// Computes vectors for all reached nodes.
    pub(crate) fn vectors(&self, paid: &PaidEntries) -> Vec<Option<NodeTimes>> {
        let count = self.kernel.nodes.len();
        let mut times: Vec<Option<NodeTimes>> = vec![None; count];
        let entry = self.kernel.entry;
        if let Some(start) = times.get_mut(entry) {
            *start = Some(self.start());
        }
        let mut waiting = BTreeSet::from([entry]);
        while let Some(node) = waiting.pop_first() {
            let Some(before) = times[node].clone() else {
                continue;
            };
            let mut account = Account::new(before.raised_by);
            let after = self.execute(node, &before, &mut account);
            for &number in &self.outgoing[node] {
                let step = self.kernel.steps[number];
                let Some(to) = step.to.filter(|&to| to < count) else {
                    continue;
                };
                if self.pays_for_change(number) {
                    continue;
                }
                let mut vector = after.clone();
                let mut ignored = Account::new(account.raised_by);
                self.advance(step, &mut vector, &mut ignored);
                vector.rebase(self.transfer.layout(), self.transfer.turn());
                self.forget(to, &mut vector);
                // What is pending before a change is paid there.
                let pays = paid.contains(&to)
                    && self.entering.contains(&(node, to))
                    && !self.is_change(number);
                if self.raise(&mut times[to], &vector, account.raised_by, pays) {
                    waiting.insert(to);
                }
            }
        }
        times
    }

    /// Headers of loops.
    pub(crate) fn headers(&self) -> Vec<usize> {
        let headers: BTreeSet<usize> = self.entering.iter().map(|(_, header)| *header).collect();
        headers.into_iter().collect()
    }

    /// Time by which the start of a warp exceeds the vector of the first node.
    pub(crate) fn start_excess(&self, times: &[Option<NodeTimes>]) -> i64 {
        let entry = times.get(self.kernel.entry).and_then(Option::as_ref);
        let start = self.start().vector;
        let excess = |entry: &NodeTimes| {
            let pairs = start.0.iter().zip(&entry.vector.0);
            pairs.map(|(own, other)| own - other).max().unwrap_or(0)
        };
        entry.map_or(0, excess).max(0)
    }

    /// Lowers the components that no path from a node reads.
    fn forget(&self, node: usize, vector: &mut TimeVector) {
        let live = self.live.get(node).copied().unwrap_or(u8::MAX);
        vector.forget_scoreboards(self.transfer.layout(), !live);
    }

    /// Raises the vector of a node, without pending results if the step pays for them. Returns whether its successors
    /// have to be visited.
    fn raise(
        &self,
        times: &mut Option<NodeTimes>,
        vector: &TimeVector,
        raised_by: [Term; SCOREBOARDS],
        pays: bool,
    ) -> bool {
        let is_new = times.is_none();
        let known = times.get_or_insert_with(|| NodeTimes {
            raised_by,
            ..self.start()
        });
        // Any vectors give sound costs, so the search for good ones may stop early (SOUNDNESS 11.5).
        if known.raises >= MOST_RAISES {
            return false;
        }
        let mut changed = is_new;
        for (position, (own, other)) in known.vector.0.iter_mut().zip(&vector.0).enumerate() {
            if other > own && !(pays && self.transfer.layout().is_pending(position)) {
                *own = *other;
                changed = true;
                let scoreboard = self.transfer.layout().scoreboard_at(position);
                if let Some(number) = scoreboard
                    && let Some(&term) = raised_by.get(number)
                {
                    known.raised_by[number] = term;
                }
            }
        }
        known.raises += u32::from(changed);
        changed
    }

    /// Costs of the steps that are wanted, by number; `None` for the others and for steps that are never taken.
    pub(crate) fn costs(
        &self,
        times: &[Option<NodeTimes>],
        is_wanted: impl Fn(usize) -> bool,
    ) -> Vec<Option<StepCost>> {
        let mut costs = vec![None; self.kernel.steps.len()];
        for (node, outgoing) in self.outgoing.iter().enumerate() {
            let Some(before) = times.get(node).and_then(Option::as_ref) else {
                continue;
            };
            let is_change = |number: usize| self.is_change(number);
            let is_wanted = |number: usize| is_wanted(number) || is_change(number);
            if !outgoing.iter().any(|&number| is_wanted(number)) {
                continue;
            }
            let mut account = Account::new(before.raised_by);
            let after = self.execute(node, before, &mut account);
            for &number in outgoing.iter().filter(|&&number| is_wanted(number)) {
                costs[number] = self.cost(number, &after, &account, times);
            }
        }
        self.pay_for_changes(&mut costs);
        costs
    }

    /// Whether a step costs at least as much as a change between groups from its source. After it, the times of its target are
    /// those after a change, because it pays for all that is pending. They would otherwise be pending in each later step, too,
    /// and each would pay for them again.
    fn pays_for_change(&self, number: usize) -> bool {
        let step = self.kernel.steps.get(number);
        let pays = self
            .kernel
            .parted
            .zip(step)
            .is_some_and(|(parted, step)| parted.nodes.contains(&step.from));
        pays && !self.is_change(number)
    }

    /// Whether a step is part of a change between groups.
    fn is_change(&self, number: usize) -> bool {
        let step = self.kernel.steps.get(number);
        self.kernel.parted.zip(step).is_some_and(|(parted, step)| {
            step.to == Some(parted.change) || step.from == parted.change
        })
    }

    /// Raises the costs of exits after which another group may be next, as [`Timing::pay_for_changes`] does.
    fn pay_for_changes_at(&self, times: &[Option<NodeTimes>], exits: &mut [(usize, StepCost)]) {
        if self.kernel.parted.is_none() {
            return;
        }
        let raised = self.costs(times, |number| {
            exits.iter().any(|(exit, _)| *exit == number)
        });
        for (number, cost) in exits {
            let step = self.kernel.steps.get(*number);
            let is_parted = |node| self.kernel.parted.is_some_and(|p| p.nodes.contains(&node));
            if step.is_some_and(|step| is_parted(step.from))
                && let Some(Some(raised)) = raised.get(*number)
                && raised.cycles > cost.cycles
            {
                *cost = raised.clone();
            }
        }
    }

    /// Raises the cost of each step after which another group may be next to the cost of the dearest change to one. Then
    /// the order of the groups does not matter (SOUNDNESS 21.10).
    fn pay_for_changes(&self, costs: &mut [Option<StepCost>]) {
        let Some(parted) = self.kernel.parted else {
            return;
        };
        let into = self.outgoing.get(parted.change).into_iter().flatten();
        let into = into.filter_map(|&number| costs.get(number)?.as_ref());
        let Some(into) = into.max_by_key(|cost| cost.cycles).cloned() else {
            return;
        };
        for &node in &parted.nodes {
            let outgoing = self.outgoing.get(node).into_iter().flatten();
            let numbers: Vec<usize> = outgoing.copied().collect();
            let out_of = numbers.iter().find_map(|&number| {
                let cost = costs.get(number)?.as_ref()?;
                self.is_change(number).then(|| cost.plus(&into))
            });
            let Some(change) = out_of else { continue };
            for number in numbers {
                if let Some(Some(cost)) = costs.get_mut(number)
                    && !self.is_change(number)
                    && cost.cycles < change.cycles
                {
                    *cost = change.clone();
                }
            }
        }
    }

    /// Costs of the steps that end a warp, by number, if others follow it. Then the end does not wait for stores.
    pub(crate) fn exits(&self, times: &[Option<NodeTimes>]) -> Vec<(usize, StepCost)> {
        let mut exits = Vec::new();
        for (number, step) in self.kernel.steps.iter().enumerate() {
            let before = times.get(step.from).and_then(Option::as_ref);
            if let (None, Some(before)) = (step.to, before) {
                let mut account = Account::new(before.raised_by);
                let mut vector = self.execute(step.from, before, &mut account);
                self.advance(*step, &mut vector, &mut account);
                let exit = self.transfer.exit(&vector);
                exits.push((number, rounded(account, exit, MILLI)));
            }
        }
        self.pay_for_changes_at(times, &mut exits);
        exits
    }

    /// Cost of a step between nodes with vectors; `after` has the times after its source.
    fn cost(
        &self,
        number: usize,
        after: &TimeVector,
        account: &Account<'_>,
        times: &[Option<NodeTimes>],
    ) -> Option<StepCost> {
        let step = self.kernel.steps.get(number)?;
        let mut vector = after.clone();
        let mut account = Account {
            terms: account.terms,
            ..Account::new(account.raised_by)
        };
        self.advance(*step, &mut vector, &mut account);
        let Some(to) = step.to else {
            // Nothing follows the end, so its cost need not be whole turns.
            let end = self.transfer.end(&vector);
            return Some(rounded(account, end, MILLI));
        };
        let target = &times.get(to)?.as_ref()?.vector;
        // A component that nothing after the step reads need not be covered by the target's vector.
        self.forget(to, &mut vector);
        let excess = vector
            .0
            .iter()
            .zip(&target.0)
            .map(|(own, other)| own - other);
        let (position, most) = excess.enumerate().max_by_key(|(_, excess)| *excess)?;
        let layout = self.transfer.layout();
        let scoreboard = layout.scoreboard_at(position);
        let term = scoreboard
            .and_then(|number| account.raised_by.get(number).copied())
            .unwrap_or_else(|| layout.cause(position));
        account.terms[term as usize] += most - vector.get(Part::Ready);
        Some(rounded(account, most, self.transfer.turn()))
    }

    /// Scoreboards that some path from each node waits for.
    fn live_scoreboards(&self) -> Vec<u8> {
        let count = self.kernel.nodes.len();
        let waited: Vec<u8> = (0..count).map(|node| self.waited(node)).collect();
        let mut live = waited.clone();
        // A backward fixpoint: a scoreboard is live at a node if the node or a successor's path waits for it.
        let mut changed = true;
        while changed {
            changed = false;
            for step in self.kernel.steps.iter().rev() {
                let Some(to) = step.to.filter(|&to| to < count) else {
                    continue;
                };
                let mask = live[step.from] | live[to];
                changed |= mask != live[step.from];
                live[step.from] = mask;
            }
        }
        live
    }

    /// Scoreboards that a node waits for.
    fn waited(&self, node: usize) -> u8 {
        let Some(Some((first, last))) = self.kernel.nodes.get(node).copied() else {
            return 0;
        };
        let ops = (first.0..=last.0).map(OpIndex);
        ops.map(|op| self.kernel.facts.waited(op))
            .fold(0, |all, mask| all | mask)
    }
}

/// Returns the steps into loops from outside: source and header.
fn entering(kernel: &TimedKernel<'_>) -> BTreeSet<(usize, usize)> {
    let count = kernel.nodes.len();
    let edges = kernel
        .steps
        .iter()
        .filter_map(|step| Some((step.from, step.to?)));
    let edges: Vec<(usize, usize)> = edges.filter(|&(a, b)| a < count && b < count).collect();
    let forest = LoopForest::build(&Digraph::new(count, edges.iter().copied()), kernel.entry);
    let mut entering = BTreeSet::new();
    for (_, each) in forest.loops() {
        let into = edges
            .iter()
            .filter(|(from, to)| each.headers.contains(to) && !each.contains(*from));
        entering.extend(into);
    }
    entering
}

/// Cost of a time, rounded up to whole turns.
fn rounded(mut account: Account<'_>, milli: i64, turn: i64) -> StepCost {
    let cycles = (milli.max(0) + turn - 1) / turn * turn / MILLI;
    let known: i64 = account.terms.iter().sum();
    // The terms add up to the cost, so the rounding has to be charged to one of them.
    account.terms[Term::Issue as usize] += cycles * MILLI - known;
    StepCost {
        cycles: cycles as u64,
        terms: account.terms,
    }
}
