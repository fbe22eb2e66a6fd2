//! Nodes at which a warp may have several groups of lanes, and steps for every order of the groups (SOUNDNESS 21.10).
//!
//! The warp-level graph of code with convergence barriers has one order of the groups: a stack's. A GPU may choose another
//! one. So a node without instructions is added to the graph, with steps to it from each node where a group may end, wait
//! or part, and from it to each node where one may go on.

use std::collections::{BTreeMap, BTreeSet};

use warpbound_analyse::access::{AccessClass, AccessClassifier, KnownCounts, MemoryUnits};
use warpbound_analyse::addresses::LaneAddresses;
use warpbound_cycles::{PartedGroups, TimedStep};
use warpbound_ir::{Code, ControlEffect, OpIndex};
use warpbound_query::KernelFlow;
use warpbound_query::flow::pending_entries;
use warpbound_simt::{EntryId, NodeId, Tag};

use super::inputs::CycleInputs;

impl CycleInputs {
    /// Adds the steps of changes between groups, if the lanes of the warp may part.
    pub(super) fn add_changes(&mut self, code: &Code, flow: &KernelFlow) {
        let PartedNodes {
            nodes,
            apart,
            meeting,
        } = parted_nodes(code, flow);
        if nodes.is_empty() {
            return;
        }
        let change = self.nodes.len();
        self.nodes.push(None);
        let threads = nodes.iter().filter_map(|&node| flow.thread.steps.get(node));
        let warps = nodes
            .iter()
            .filter_map(|&node| flow.warp.graph.steps.get(node));
        let next = threads.flatten().map(|step| step.to);
        let next = next.chain(warps.flatten().map(|step| step.to));
        let next = next.map(|to| to.map(NodeId::index));
        let targets: BTreeSet<Option<usize>> =
            nodes.iter().copied().map(Some).chain(next).collect();
        let into = nodes.iter().map(|&from| TimedStep {
            from,
            to: Some(change),
        });
        let out_of = targets.iter().map(|&to| TimedStep { from: change, to });
        // After the steps of the count system, so that these keep their numbers.
        self.steps.extend(into.chain(out_of));
        self.parted = Some(PartedGroups {
            nodes,
            apart,
            meeting,
            change,
        });
    }

    /// Operations of nodes that lanes which have parted may execute together.
    pub(super) fn meeting_ops(&self) -> BTreeSet<OpIndex> {
        let nodes = self.parted.iter().flat_map(|parted| &parted.meeting);
        let ends = nodes.filter_map(|&node| self.nodes.get(node).copied().flatten());
        ends.flat_map(|(first, last)| (first.0..=last.0).map(OpIndex))
            .collect()
    }
}

/// Returns the class of an access by any lanes of a warp with any addresses. What is known of the lanes of one group does not
/// hold for several groups together.
pub(super) fn class_of_any_lanes(class: &AccessClass, units: MemoryUnits) -> AccessClass {
    let (launch, counts) = (Default::default(), KnownCounts::default());
    let any = LaneAddresses::Unknown { decided_by: None };
    AccessClassifier::new(&launch, units, &counts).classify(class.shape, &any, None)
}

/// Nodes as in [`PartedGroups`].
struct PartedNodes {
    nodes: BTreeSet<usize>,
    apart: BTreeSet<usize>,
    meeting: BTreeSet<usize>,
}

/// Returns the nodes that a group of lanes may execute while other lanes of the warp are elsewhere, with the nodes at which
/// lanes part, and the nodes before them.
///
/// Lanes part at a node that diverges. They are one group again after the BSYNC of a region that is open there, because
/// the regions are nested (SOUNDNESS 21.2). Where no region is open, they may stay apart until they end.
fn parted_nodes(code: &Code, flow: &KernelFlow) -> PartedNodes {
    let space = &flow.thread.space;
    let exits = |node: NodeId| {
        let last = code.get(space.block(node).last);
        last.is_some_and(|op| matches!(op.control, ControlEffect::Exit))
    };
    // Lanes that end are no group.
    let parts: Vec<NodeId> = flow
        .warp
        .divergent
        .iter()
        .copied()
        .filter(|&node| !exits(node))
        .collect();
    let mut apart = nodes_apart(flow, &parts);
    let mut found = apart.clone();
    found.extend(parts.iter().map(|node| node.index()));
    let before: Vec<usize> = (0..)
        .zip(&flow.warp.graph.steps)
        .filter(|(_, steps)| {
            let mut targets = steps.iter().filter_map(|step| step.to);
            targets.any(|to| found.contains(&to.index()))
        })
        .map(|(node, _)| node)
        .collect();
    found.extend(before);
    let is_reached = |&node: &usize| flow.warp.state(NodeId(node as u32)).is_some();
    found.retain(is_reached);
    apart.retain(is_reached);
    let meeting = meeting_nodes(flow, &parts, &apart);
    PartedNodes {
        nodes: found,
        apart,
        meeting,
    }
}

/// Returns the nodes that lanes may execute which have parted at one of `parts` and have not been joined since: those that
/// follow within all regions which are open there, because the BSYNC of one of them joins the lanes.
fn nodes_apart(flow: &KernelFlow, parts: &[NodeId]) -> BTreeSet<usize> {
    let mut by_regions: BTreeMap<Vec<EntryId>, Vec<usize>> = BTreeMap::new();
    for part in parts {
        let regions = open_regions(flow, part.index());
        by_regions.entry(regions).or_default().push(part.index());
    }
    let mut apart = BTreeSet::new();
    for (regions, mut work) in by_regions {
        let mut reached = BTreeSet::new();
        while let Some(node) = work.pop() {
            let next = successors(flow, node).filter(|&next| are_open(flow, &regions, next));
            for next in next {
                if reached.insert(next) {
                    work.push(next);
                }
            }
        }
        apart.extend(reached);
    }
    apart
}

/// Regions of convergence barriers that are open at a node.
fn open_regions(flow: &KernelFlow, node: usize) -> Vec<EntryId> {
    let entries = &flow.thread.space.entries;
    let is_region = |entry: &&EntryId| matches!(entries.get(**entry).tag, Tag::Barrier(_));
    let pending = pending_entries(&flow.warp, NodeId(node as u32)).iter();
    pending.filter(is_region).copied().collect()
}

/// Whether these regions are open at a node.
fn are_open(flow: &KernelFlow, regions: &[EntryId], node: usize) -> bool {
    let open = pending_entries(&flow.warp, NodeId(node as u32));
    regions.iter().all(|region| open.contains(region))
}

/// Nodes to which a lane may step from a node.
fn successors(flow: &KernelFlow, node: usize) -> impl Iterator<Item = usize> {
    let steps = flow.thread.steps.get(node).into_iter().flatten();
    steps.filter_map(|step| step.to.map(NodeId::index))
}

/// Maximum number of steps of the search for nodes where groups may meet.
const MOST_STEPS: usize = 10_000_000;

/// Returns the nodes that lanes may execute together which have parted at one of `parts` and have not been joined since.
///
/// Each of the two lanes follows a step of its own from that node, and the regions that were open there stay open until their
/// BSYNC joins the lanes. So the code where they meet is reached by both steps, through nodes of `apart` with these regions. The
/// two may be in different calls of a function, which are different nodes with one address.
fn meeting_nodes(flow: &KernelFlow, parts: &[NodeId], apart: &BTreeSet<usize>) -> BTreeSet<usize> {
    let space = &flow.thread.space;
    let address = |node: usize| space.block(NodeId(node as u32)).first;
    let mut meeting: BTreeSet<OpIndex> = BTreeSet::new();
    let mut steps_left = MOST_STEPS;
    for part in parts {
        let regions = open_regions(flow, part.index());
        let is_inside = |node: &usize| apart.contains(node) && are_open(flow, &regions, *node);
        let sides: BTreeSet<usize> = successors(flow, part.index()).filter(is_inside).collect();
        let mut reached_by_one: BTreeSet<OpIndex> = BTreeSet::new();
        for side in sides {
            let mut reached = BTreeSet::from([side]);
            let mut work = vec![side];
            while let Some(node) = work.pop() {
                for next in successors(flow, node).filter(is_inside) {
                    // Without the search to its end, groups may meet anywhere.
                    let Some(left) = steps_left.checked_sub(1) else {
                        return apart.clone();
                    };
                    steps_left = left;
                    if reached.insert(next) {
                        work.push(next);
                    }
                }
            }
            let reached: BTreeSet<OpIndex> = reached.into_iter().map(address).collect();
            meeting.extend(reached.intersection(&reached_by_one));
            reached_by_one.extend(reached);
        }
    }
    let of_code = apart.iter().copied();
    of_code
        .filter(|&node| meeting.contains(&address(node)))
        .collect()
}
