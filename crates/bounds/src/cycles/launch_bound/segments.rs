//! Upper bound on the service of a sub-partition that a warp takes between two barriers (SOUNDNESS 20.5).
//!
//! The bound is the weight of the longest path in the graph of warp steps, where nodes are divided at barriers. For
//! example, a node with services 5, barrier, 7, barrier, 3 has a part of 5 that ends a path, a part of 3 that begins
//! one, and a part of 7 that is a path of its own. A loop without barriers counts with its service in a whole run.

use warpbound_base::{Cycles, Diagnostic};
use warpbound_cycles::{Contention, Service};
use warpbound_graph::{Digraph, components};
use warpbound_ir::OpIndex;

use super::node_services::whole_cycles;
use crate::cycles::CycleInputs;

/// Maximum number of loops without barriers. An integer program is solved for each.
const MOST_LOOPS: usize = 8;

/// Returns the largest service between two barriers, or between one and the start or end of the warp. `in_run`
/// returns the largest service in a whole run by some nodes. `None` if there are too many loops without barriers.
///
/// # Errors
///
/// The error of `in_run`.
pub(super) fn greatest_segment(
    inputs: &CycleInputs,
    contention: &Contention,
    in_run: impl Fn(&[usize]) -> Result<u64, Diagnostic>,
) -> Result<Option<Cycles>, Diagnostic> {
    // Vertex 2n is the part of node n up to its first barrier, or the whole node if it has none. Vertex 2n + 1 is the
    // part after its last barrier.
    let parts: Vec<NodeParts> = (0..inputs.nodes.len())
        .map(|node| NodeParts::of(inputs, contention, node))
        .collect();
    let end_of = |node: usize| 2 * node + usize::from(parts[node].after.is_some());
    // A warp executes what lies between two barriers in the order of its groups or in another one, with the same services
    // (SOUNDNESS 21.10).
    let is_change = |node: usize| inputs.parted.as_ref().is_some_and(|p| p.change == node);
    let edges = inputs.steps.iter();
    let edges = edges.filter(|step| !is_change(step.from) && !step.to.is_some_and(is_change));
    let edges = edges.filter_map(|step| Some((end_of(step.from), 2 * step.to?)));
    let graph = Digraph::new(2 * parts.len(), edges);
    let components = components(&graph, &vec![true; graph.len()]);
    let is_loop = |members: &[usize]| match members {
        [vertex] => graph.successors(*vertex).contains(vertex),
        _ => true,
    };
    if components.iter().filter(|own| is_loop(own)).count() > MOST_LOOPS {
        return Ok(None);
    }
    let mut greatest = vec![0u64; graph.len()];
    // A component comes after all components that it reaches, so `greatest` of its successors is final.
    for members in &components {
        let after = members
            .iter()
            .flat_map(|&vertex| graph.successors(vertex))
            .filter(|next| !members.contains(next))
            .map(|&next| greatest[next])
            .max();
        let own = match (is_loop(members), members.as_slice()) {
            // Only whole nodes are in a loop: the part before a barrier has no successor, and the part after it has
            // no predecessor.
            (true, _) => in_run(&members.iter().map(|vertex| vertex / 2).collect::<Vec<_>>())?,
            (false, [vertex]) => parts[vertex / 2].service(vertex % 2 == 1),
            (false, _) => 0,
        };
        // A saturated sum is above the service of a whole warp, which the caller takes instead.
        let sum = own.saturating_add(after.unwrap_or(0));
        for &vertex in members {
            greatest[vertex] = sum;
        }
    }
    let between = parts.iter().map(|parts| parts.between).max();
    let greatest = greatest.into_iter().max().max(between);
    Ok(Some(Cycles(greatest.unwrap_or(0))))
}

/// Services of the parts of a node, in cycles.
struct NodeParts {
    /// Part up to the first barrier, or the whole node without barriers.
    before: u64,
    /// Largest part between two barriers.
    between: u64,
    /// Part after the last barrier; `None` without barriers.
    after: Option<u64>,
}

impl NodeParts {
    fn of(inputs: &CycleInputs, contention: &Contention, node: usize) -> NodeParts {
        let ends = inputs.nodes.get(node).copied().flatten().into_iter();
        let mut parts = NodeParts {
            before: 0,
            between: 0,
            after: None,
        };
        let mut milli = 0;
        for at in ends.flat_map(|(first, last)| (first.0..=last.0).map(OpIndex)) {
            let services = contention.ops.get(at.index());
            milli += services.map_or(0, |services| services[Service::Core as usize]);
            let facts = inputs.facts.get(at.index());
            if facts.is_some_and(|facts| facts.arrives) {
                parts.end(whole_cycles(milli));
                (milli, parts.after) = (0, Some(0));
            }
        }
        match parts.after {
            None => parts.before = whole_cycles(milli),
            Some(_) => parts.after = Some(whole_cycles(milli)),
        }
        parts
    }

    /// Ends a part at a barrier.
    fn end(&mut self, service: u64) {
        match self.after {
            None => self.before = service,
            Some(_) => self.between = self.between.max(service),
        }
    }

    /// Service of the part after the last barrier, or of the part before the first one.
    fn service(&self, is_after: bool) -> u64 {
        match is_after {
            true => self.after.unwrap_or(0),
            false => self.before,
        }
    }
}
