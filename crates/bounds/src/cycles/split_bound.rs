//! Bound of a wave with all its splits: the time of the wave on its worst path, and what its other splits delay it by
//! (SOUNDNESS 11.8).

use std::collections::{BTreeSet, VecDeque};

use warpbound_base::{CodeAddr, Diagnostic};
use warpbound_bound::{Effort, StatedCounts};
use warpbound_cycles::{KernelTime, MachineNumbers, PathTime, StepCost};
use warpbound_ir::OpIndex;

use super::CycleInputs;
use super::bound::solve;
use warpbound_query::KernelFlow;

/// Most lanes beside one: each split has a lane of its own.
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
    /// Returns the most that siblings delay a wave by, in cycles.
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
        let of_path = self.most(|node| match others.nodes.contains(&node) {
            true => costs.nodes.get(node).copied().unwrap_or(0),
            false => 0,
        })?;
        let once = if others.paths > 0 { costs.once } else { 0 };
        let delay = of_path.checked_mul(others.paths);
        delay
            .and_then(|delay| delay.checked_add(once))
            .ok_or_else(|| Diagnostic::new("the bound of a wave has more than 64 bits"))
    }

    /// Others of splits that run apart until they end.
    fn apart(
        self,
        graph: &StepGraph,
        sites: &BTreeSet<usize>,
        splits: u32,
    ) -> Result<Others, Diagnostic> {
        let executions = self.most(|node| u64::from(sites.contains(&node)))?;
        let nodes = graph.reached(sites, &BTreeSet::new());
        self.check_barriers(nodes.iter().filter(|node| !sites.contains(node)), |_| false)?;
        Ok(Others {
            nodes,
            paths: births(executions, splits),
        })
    }

    /// Others of splits that become one again.
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
            let inner = |node: usize| u64::from(node != site && sites.contains(&node));
            let within = match graph.longest(site, &region, merging, inner) {
                Some(within) => within,
                None => {
                    self.most(|node| u64::from(region.contains(&node) && sites.contains(&node)))?
                }
            };
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

    /// Checks that siblings do not wait for each other at barriers: up to the first operation of each node for which
    /// `is_end` holds.
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

    /// Greatest sum of a number of each node over the executions of a path.
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

/// Code that other splits execute: at most a number of paths, of which the nodes count.
struct Others {
    nodes: BTreeSet<usize>,
    paths: u64,
}

/// Most splits that begin, if each path has at most `executions` executions of sites and at most `splits` splits live
/// beside another one: the sum of the binomial coefficients of `executions` over 1 to `splits` (SOUNDNESS 11.8).
fn births(executions: u64, splits: u32) -> u64 {
    let mut sum: u64 = 0;
    let mut term: u128 = 1;
    for number in 1..=u64::from(splits).min(executions) {
        term = term * u128::from(executions - number + 1) / u128::from(number);
        sum = sum.saturating_add(u64::try_from(term).unwrap_or(u64::MAX));
        if sum >= MOST_OTHERS {
            return MOST_OTHERS;
        }
    }
    sum
}

/// Steps between nodes.
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

    /// Nodes whose last operation is wanted.
    fn ending_with(&self, is_wanted: impl Fn(OpIndex) -> bool) -> BTreeSet<usize> {
        let ends = (0..).zip(&self.nodes);
        ends.filter_map(|(node, range)| {
            let (_, last) = (*range)?;
            is_wanted(last).then_some(node)
        })
        .collect()
    }

    /// Nodes with one of some operations.
    fn containing(&self, ops: &BTreeSet<OpIndex>) -> BTreeSet<usize> {
        let ranges = (0..).zip(&self.nodes);
        ranges
            .filter_map(|(node, range)| {
                let (first, last) = (*range)?;
                ops.range(first..=last).next().map(|_| node)
            })
            .collect()
    }

    /// Nodes that paths from some nodes reach, these included, without those after a node of `until`.
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

    /// Greatest sum of a number of each node over the paths from `from` within a region, up to the nodes of `until`; `None`
    /// if the region has a cycle.
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
        (visited == region.len()).then(|| region.iter().map(|&node| most[node]).max().unwrap_or(0))
    }
}
