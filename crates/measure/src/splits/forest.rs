//! Sites of a kernel with their costs, nested by their arms. For example, an if inside the then-side of another if is
//! a site in the first arm of the outer one.

use std::collections::BTreeSet;

use warpbound_analyse::split_sites::FoundSite;
use warpbound_analyse::{Dependence, ThreadCfg};
use warpbound_simt::NodeId;

use super::SplitsOptions;
use super::choice::{ChoiceArm, ChoiceSite, SiteForest, SlotUse};
use super::costs::{CodeCycles, NodeCosts};

/// Costs of a site.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(super) struct SiteCosts {
    /// Number in the forest; `None` if waves may not split there.
    pub(super) number: Option<usize>,
    /// Cycles of each arm in one execution of the site, including nested sites.
    pub(super) arms: [u64; 2],
    /// Cycles that each split occupies memory units after the join.
    pub(super) tail: u64,
    /// Executions by a wave; `None` if an enclosing loop has no bound.
    pub(super) executions: Option<u64>,
    /// Cycles that a wave saves if it splits at this site only.
    pub(super) saved: i128,
}

/// Sites of a kernel.
pub(super) struct KernelSites {
    /// Costs of each site that was found.
    pub(super) costs: Vec<SiteCosts>,
    /// Sites at which waves may split, for the choice.
    pub(super) forest: SiteForest,
}

/// Nodes of the arms of a site. The second arm may end inside a node, before the merge point.
struct SiteArms<'a> {
    site: &'a FoundSite,
    /// Nodes that lie in an arm completely.
    nodes: [BTreeSet<NodeId>; 2],
    /// Node of the merge point; its operations before that point belong to the second arm.
    end: Option<NodeId>,
}

impl KernelSites {
    /// Costs and nesting of the sites of a kernel.
    pub(super) fn new(
        thread: &ThreadCfg,
        dependence: &Dependence,
        costs: &NodeCosts<'_>,
        found: &[FoundSite],
        options: &SplitsOptions,
    ) -> KernelSites {
        let mut accepted: Vec<usize> = (0..found.len())
            .filter(|&site| found[site].may_split(options.merge))
            .collect();
        let node_of = |site: usize| found[site].nodes.first().copied();
        // In this order each site comes after all sites in whose arms it lies, which `innermost` relies on.
        accepted.sort_by_key(|&site| node_of(site).map(|node| thread.rank(node.index())));
        let arms: Vec<SiteArms<'_>> = accepted
            .iter()
            .map(|&site| SiteArms::new(thread, &found[site]))
            .collect();
        let mut all = vec![SiteCosts::default(); found.len()];
        let mut forest = SiteForest {
            sites: Vec::new(),
            roots: Vec::new(),
            slot_use: match options.merge {
                true => SlotUse::Nested,
                false => SlotUse::All,
            },
        };
        for (number, (&at, own)) in accepted.iter().zip(&arms).enumerate() {
            let executions = own.executions(costs);
            let tail = own.tail(thread, dependence, costs);
            // Without a bound, the costs are for one execution: they are estimates.
            let count = executions.unwrap_or(1);
            // Splits that never merge both execute what follows, and they share the memory units for it.
            let overhead = match options.merge {
                true => costs.split.saturating_add(costs.merge),
                false => costs.split.saturating_add(tail),
            };
            // A site in several contexts is executed repeatedly, like one in a loop.
            let is_in_loop = own.node().is_some_and(|node| {
                let innermost = dependence.loops.innermost(node.index());
                innermost.is_some() || own.site.nodes.len() > 1
            });
            let most = u64::from(options.splits).max(1);
            forest.sites.push(ChoiceSite {
                arms: [0, 1].map(|arm| ChoiceArm {
                    cycles: own.own_cycles(arm, &arms, costs),
                    sites: Vec::new(),
                }),
                overhead: overhead.saturating_mul(count),
                // A split that never merges keeps its slot, so each execution takes another one until none is left.
                slots: match options.merge || !is_in_loop {
                    true => 1,
                    false => executions.unwrap_or(most).min(most),
                },
            });
            match innermost(number, &arms) {
                Some((around, arm)) => forest.sites[around].arms[arm].sites.push(number),
                None => forest.roots.push(number),
            }
            all[at] = SiteCosts {
                number: Some(number),
                arms: [0, 1].map(|arm| own.cycles(arm, costs)),
                tail,
                executions,
                saved: 0,
            };
        }
        for site in &mut all {
            // A site that is not in the forest gives a choice without sites, which saves 0.
            let only = (0..forest.sites.len()).map(|number| site.number == Some(number));
            site.saved = forest.saved(&only.collect::<Vec<bool>>());
        }
        KernelSites { costs: all, forest }
    }
}

impl<'a> SiteArms<'a> {
    fn new(thread: &ThreadCfg, site: &'a FoundSite) -> SiteArms<'a> {
        let mut nodes = site
            .arms
            .each_ref()
            .map(|arm| arm.iter().copied().collect());
        let [_, second]: &mut [BTreeSet<NodeId>; 2] = &mut nodes;
        let holds = |node: &NodeId| {
            let block = thread.space.block(*node);
            site.merge_point
                .is_some_and(|at| block.first <= at && at <= block.last)
        };
        let end = second.iter().copied().find(holds);
        if let Some(end) = end {
            // Only the operations before the merge point count, and `sum` adds them.
            second.remove(&end);
        }
        SiteArms { site, nodes, end }
    }

    fn node(&self) -> Option<NodeId> {
        self.site.nodes.first().copied()
    }

    /// Number of executions of the site in all contexts; `None` if one of them has no bound.
    fn executions(&self, costs: &NodeCosts<'_>) -> Option<u64> {
        let nodes = self.site.nodes.iter();
        let counts = nodes.map(|&node| costs.executions(node));
        counts.sum()
    }

    /// Returns the cycles of an arm in one execution of the site. A loop in the arm counts with its bound for each
    /// entry.
    fn cycles(&self, arm: usize, costs: &NodeCosts<'_>) -> u64 {
        let own = self.node().and_then(|node| costs.executions(node));
        self.sum(arm, &BTreeSet::new(), costs, own.unwrap_or(1).max(1))
    }

    /// Returns the cycles of an arm over all executions by a wave, without the nodes of nested sites.
    fn own_cycles(&self, arm: usize, all: &[SiteArms<'_>], costs: &NodeCosts<'_>) -> u64 {
        let inside = all.iter().filter(|other| {
            let node = other.node();
            node.is_some_and(|node| self.nodes[arm].contains(&node)) && other.site != self.site
        });
        // The model adds the arms of nested sites on its own, so they must not count twice.
        let without: BTreeSet<NodeId> = inside
            .flat_map(|other| other.nodes.iter().flatten().copied())
            .collect();
        self.sum(arm, &without, costs, 1)
    }

    /// Adds the cycles of the nodes of an arm; `entries` divides their executions by a wave.
    fn sum(
        &self,
        arm: usize,
        without: &BTreeSet<NodeId>,
        costs: &NodeCosts<'_>,
        entries: u64,
    ) -> u64 {
        // The executions of a node in an arm are the executions of the site times the bounds of the loops in the arm.
        let count = |node: NodeId| (costs.executions(node).unwrap_or(1) / entries).max(1);
        let nodes = self.nodes[arm].difference(without);
        let whole = nodes.map(|&node| costs.node(node).times(count(node)));
        let mut all = whole.fold(CodeCycles::default(), CodeCycles::plus);
        // Of the node with the merge point only the first part belongs to the second arm.
        if let (1, Some(end), Some(at)) = (arm, self.end, self.site.merge_point) {
            all = all.plus(costs.before(end, at).times(count(end)));
        }
        all.all
    }

    /// Returns the cycles of memory units in the code after the join, for one execution of the site.
    fn tail(&self, thread: &ThreadCfg, dependence: &Dependence, costs: &NodeCosts<'_>) -> u64 {
        // All paths from the branch meet only at the end of the kernel, so no code is repeated.
        let Some(join) = self.site.join else {
            return 0;
        };
        let reached = dependence.graph.reachable([join.index()]);
        let nodes = thread.space.ids().filter(|node| reached[node.index()]);
        let own = self.node().and_then(|node| costs.executions(node));
        let own = own.unwrap_or(1).max(1);
        let parts = nodes.map(|node| {
            let count = costs.executions(node).unwrap_or(1);
            costs.node(node).times((count / own).max(1))
        });
        parts.fold(CodeCycles::default(), CodeCycles::plus).memory
    }
}

/// Returns the innermost site with an arm that contains a site, and the number of that arm.
fn innermost(number: usize, arms: &[SiteArms<'_>]) -> Option<(usize, usize)> {
    let node = arms.get(number)?.node()?;
    // Enclosing sites have smaller numbers.
    let around = arms.iter().enumerate().take(number);
    let containing = around.flat_map(|(other, site)| {
        let nodes = site.nodes.iter().enumerate();
        let holding = nodes.filter(move |(_, nodes)| nodes.contains(&node));
        holding.map(move |(arm, nodes)| (nodes.len(), other, arm))
    });
    // Arms are nested, so the one with the fewest nodes is the innermost.
    let (_, other, arm) = containing.min()?;
    Some((other, arm))
}
