//! Bound of a wave with all its splits: the time of the wave on its worst path, and the delay by its other splits
//! (SOUNDNESS 11.8).
//!
//! The worst path of a wave is the path of one split, with the operations of its parents before it. The other splits
//! delay it by at most all their services. For example, a wave executes a marked branch in each of three iterations,
//! and there is one reserve slot. Then at most 4 splits ever exist: the path and three others. The delay is at most
//! three times the largest cost of a path after the branch.

use std::collections::{BTreeSet, VecDeque};

use warpbound_base::{CodeAddr, Diagnostic};
use warpbound_cycles::{KernelTime, MachineNumbers, PathTime, StepCost};
use warpbound_ipet::{Effort, StatedCounts};
use warpbound_ir::OpIndex;

use super::CycleInputs;
use super::bound::solve;
use warpbound_query::KernelFlow;

/// Maximum number of paths other than the worst one: operations are charged to the lowest lane of their split.
const MOST_OTHERS: u64 = warpbound_launch::gcn::LANES as u64 - 1;

/// Program and numbers of a bound.
#[derive(Clone, Copy)]
pub(super) struct SplitProgram<'a> {
    pub(super) flow: &'a KernelFlow,
    pub(super) inputs: &'a CycleInputs,
    pub(super) numbers: &'a MachineNumbers,
    pub(super) stated: StatedCounts<'a>,
    pub(super) effort: Effort,
}

impl SplitProgram<'_> {
    /// Returns an upper bound on the delay of a wave by its siblings, in cycles.
    ///
    /// # Errors
    ///
    /// The reason why there is no limit.
    pub(super) fn delay(self) -> Result<u64, Diagnostic> {
        let kernel = self.inputs.kernel();
        let time = KernelTime::new(&kernel, self.numbers);
        let (Some(costs), Some(splits)) = (time.sibling_costs(self.numbers), &self.inputs.splits)
        else {
            return Ok(0);
        };
        let graph = StepGraph::new(self.inputs);
        let sites = graph.ending_with(|at| splits.sites.contains(&at));
        let merging = graph.containing(&splits.merge_points);
        let others = match splits.all_merge {
            true => self.merged(&graph, &sites, &merging, splits.splits)?,
            false => self.apart(&graph, &sites, splits.splits)?,
        };
        // Each other split takes some path, so the worst path limits it.
        let of_path = self.most(|node| match others.nodes.contains(&node) {
            true => costs.nodes.get(node).copied().unwrap_or(0),
            false => 0,
        })?;
        // First misses happen once for all splits, whichever of them misses.
        let once = if others.paths > 0 { costs.once } else { 0 };
        let delay = of_path.checked_mul(others.paths);
        delay
            .and_then(|delay| delay.checked_add(once))
            .ok_or_else(|| Diagnostic::new("the bound of a wave has more than 64 bits"))
    }

    /// Returns the other splits if splits run apart until they end.
    fn apart(
        self,
        graph: &StepGraph,
        sites: &BTreeSet<usize>,
        splits: u32,
    ) -> Result<Others, Diagnostic> {
        let executions = self.most(|node| u64::from(sites.contains(&node)))?;
        // What is before the first site is executed once, by the path itself.
        let nodes = graph.reached(sites, &BTreeSet::new());
        self.check_barriers(nodes.iter().filter(|node| !sites.contains(node)), |_| false)?;
        Ok(Others {
            nodes,
            paths: births(executions, splits),
        })
    }

    /// Returns the other splits if splits become one again.
    fn merged(
        self,
        graph: &StepGraph,
        sites: &BTreeSet<usize>,
        merging: &BTreeSet<usize>,
        splits: u32,
    ) -> Result<Others, Diagnostic> {
        let mut others = Others {
            nodes: BTreeSet::new(),
            paths: 0,
        };
        for &site in sites {
            let region = graph.reached(&BTreeSet::from([site]), merging);
            let inside = || region.iter().filter(|&&node| node != site);
            self.check_barriers(inside(), |at| self.is_merged(at))?;
            if inside().any(|node| !merging.contains(node) && graph.ends.contains(node)) {
                return Err(Diagnostic::new(
                    "a split may end before it merges, and its sibling waits for it",
                ));
            }
            // The executions of this site are added below.
            let inner = |node: usize| u64::from(node != site && sites.contains(&node));
            let within = match graph.longest(site, &region, merging, inner) {
                Some(within) => within,
                // In a region with a loop the longest path is not defined, so the whole run limits the executions.
                None => {
                    self.most(|node| u64::from(region.contains(&node) && sites.contains(&node)))?
                }
            };
            // Regions that are not within each other follow each other, because both splits wait at the merge point.
            // So the region with the most splits counts for all.
            others.paths = others.paths.max(births(within.saturating_add(1), splits));
            others.nodes.extend(region);
        }
        Ok(others)
    }

    /// Whether splits merge before an operation.
    fn is_merged(self, at: OpIndex) -> bool {
        let splits = self.inputs.splits.as_ref();
        splits.is_some_and(|splits| splits.merge_points.contains(&at))
    }

    /// Checks that siblings do not wait for each other at barriers. In each node, only the operations before the
    /// first one with `is_end` are checked.
    fn check_barriers<'n>(
        self,
        nodes: impl Iterator<Item = &'n usize>,
        is_end: impl Fn(OpIndex) -> bool,
    ) -> Result<(), Diagnostic> {
        let ranges = nodes.filter_map(|&node| self.inputs.nodes.get(node).copied().flatten());
        for (first, last) in ranges {
            let ops = (first.0..=last.0).map(OpIndex);
            for at in ops.take_while(|&at| !is_end(at)) {
                let facts = self.inputs.wave_facts.get(at.index());
                if let Some(facts) = facts.filter(|facts| facts.arrives) {
                    let message = "splits wait for each other at this barrier";
                    return Err(Diagnostic::new(message).at(CodeAddr(facts.address)));
                }
            }
        }
        Ok(())
    }

    /// Returns the weight of the worst path of a whole run, where each node has a weight.
    fn most(self, of_node: impl Fn(usize) -> u64) -> Result<u64, Diagnostic> {
        let step = |from: usize| {
            Some(StepCost {
                cycles: of_node(from),
                terms: Default::default(),
            })
        };
        let costs = PathTime {
            exits: Vec::new(),
            steps: self.inputs.steps.iter().map(|own| step(own.from)).collect(),
            start: StepCost {
                cycles: 0,
                terms: Default::default(),
            },
            once: Vec::new(),
        };
        let solved = solve(
            &self.flow.counts,
            self.inputs,
            &costs,
            self.stated,
            self.effort,
        )?;
        Ok(solved.upper_bound().limit().0)
    }
}

/// Code that other splits execute: at most `paths` paths, each through these nodes.
struct Others {
    nodes: BTreeSet<usize>,
    paths: u64,
}

/// Maximum number of other splits that ever exist, if each path has at most `executions` executions of sites, and at
/// most `splits` other splits live at once. This is the sum of the binomial coefficients of `executions` over 1 to
/// `splits` (SOUNDNESS 11.8). For example, 3 executions and 2 slots give 3 + 3 = 6.
fn births(executions: u64, splits: u32) -> u64 {
    let mut sum: u64 = 0;
    let mut term: u128 = 1;
    for number in 1..=u64::from(splits).min(executions) {
        // The division is exact, because its result is a binomial coefficient. The product fits into 128 bits,
        // because `term` is 1 or, by the return below, less than 63.
        term = term * u128::from(executions - number + 1) / u128::from(number);
        sum = sum.saturating_add(u64::try_from(term).unwrap_or(u64::MAX));
        // The operations that are charged to a lane are a path, so 63 other paths are enough in any case (SOUNDNESS
        // 11.8).
        if sum >= MOST_OTHERS {
            return MOST_OTHERS;
        }
    }
    sum
}

/// Graph of the steps between nodes.
struct StepGraph {
    nodes: Vec<Option<(OpIndex, OpIndex)>>,
    next: Vec<Vec<usize>>,
    /// Nodes after which a wave may end.
    ends: BTreeSet<usize>,
}

impl StepGraph {
    fn new(inputs: &CycleInputs) -> StepGraph {
        let mut next = vec![Vec::new(); inputs.nodes.len()];
        for step in &inputs.steps {
            if let (Some(list), Some(to)) = (next.get_mut(step.from), step.to) {
                list.push(to);
            }
        }
        StepGraph {
            nodes: inputs.nodes.clone(),
            next,
            ends: inputs
                .steps
                .iter()
                .filter(|step| step.to.is_none())
                .map(|step| step.from)
                .collect(),
        }
    }

    /// Returns the nodes whose last operation satisfies `is_wanted`.
    fn ending_with(&self, is_wanted: impl Fn(OpIndex) -> bool) -> BTreeSet<usize> {
        let ends = (0..).zip(&self.nodes);
        ends.filter_map(|(node, range)| {
            let (_, last) = (*range)?;
            is_wanted(last).then_some(node)
        })
        .collect()
    }

    /// Returns the nodes that contain one of these operations.
    fn containing(&self, ops: &BTreeSet<OpIndex>) -> BTreeSet<usize> {
        let ranges = (0..).zip(&self.nodes);
        ranges
            .filter_map(|(node, range)| {
                let (first, last) = (*range)?;
                ops.range(first..=last).next().map(|_| node)
            })
            .collect()
    }

    /// Returns the nodes on paths from the nodes `from`, including these. A path ends at a node of `until`, unless it
    /// is in `from`.
    fn reached(&self, from: &BTreeSet<usize>, until: &BTreeSet<usize>) -> BTreeSet<usize> {
        let mut reached = from.clone();
        let mut waiting: VecDeque<usize> = from.iter().copied().collect();
        while let Some(node) = waiting.pop_front() {
            if until.contains(&node) && !from.contains(&node) {
                continue;
            }
            for &to in self.next.get(node).into_iter().flatten() {
                if reached.insert(to) {
                    waiting.push_back(to);
                }
            }
        }
        reached
    }

    /// Returns the weight of the longest path from `from` within a region, up to the nodes of `until`; `None` if the
    /// region has a cycle.
    fn longest(
        &self,
        from: usize,
        region: &BTreeSet<usize>,
        until: &BTreeSet<usize>,
        of_node: impl Fn(usize) -> u64,
    ) -> Option<u64> {
        let next = |node: usize| {
            let stops = until.contains(&node) && node != from;
            let list = self.next.get(node).filter(|_| !stops).into_iter().flatten();
            list.copied().filter(|to| region.contains(to))
        };
        // Nodes are visited in topological order: each when all its predecessors in the region are done.
        let mut before = vec![0usize; self.nodes.len()];
        for &node in region {
            for to in next(node) {
                *before.get_mut(to)? += 1;
            }
        }
        let mut most = vec![0u64; self.nodes.len()];
        let mut waiting: Vec<usize> = region.iter().copied().filter(|&n| before[n] == 0).collect();
        let mut visited = 0;
        while let Some(node) = waiting.pop() {
            visited += 1;
            let own = most[node].saturating_add(of_node(node));
            most[node] = own;
            for to in next(node) {
                most[to] = most[to].max(own);
                before[to] -= 1;
                if before[to] == 0 {
                    waiting.push(to);
                }
            }
        }
        // The nodes of a cycle wait for each other, so they are never visited.
        (visited == region.len()).then(|| region.iter().map(|&node| most[node]).max().unwrap_or(0))
    }
}
