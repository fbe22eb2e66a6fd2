//! Blocks of the worst path, with their executions and the loops around them. For example, a block of 3 instructions
//! in a loop that is executed 10 times has the count 10 and the total 30. The counts are a solution of the integer
//! program, not a sequence of blocks.

use std::collections::{BTreeMap, BTreeSet};

use warpbound_analyse::loops::Loops;
use warpbound_base::Instructions;
use warpbound_ipet::WorstPath;
use warpbound_report::bound::PathBlock;
use warpbound_simt::NodeId;

use super::external_calls::ExternalCalls;
use super::query::BoundQuery;
use warpbound_query::KernelFlow;
use warpbound_query::graph::calls;

impl BoundQuery<'_> {
    /// Returns the blocks that the worst path executes, in order of calling context and address.
    pub(super) fn worst_path(
        &self,
        path: &WorstPath<Instructions>,
        external: &ExternalCalls,
    ) -> Vec<PathBlock> {
        let space = &self.analysed.flow.thread.space;
        let mut executions: Vec<_> = self
            .analysed
            .flow
            .counts
            .executions
            .iter()
            .map(|(&node, arriving)| {
                let calls = calls(self.analysed.prepared, self.analysed.flow, node);
                (calls, space.block(node).first, node, arriving)
            })
            .collect();
        executions.sort_by(|a, b| (&a.0, a.1).cmp(&(&b.0, b.1)));
        let loops = self.loops_around();
        let mut cycle_loops: Option<BTreeMap<NodeId, Vec<String>>> = None;
        let mut blocks = Vec::new();
        for (calls, first, node, arriving) in executions {
            let count: u128 = arriving.iter().map(|&var| path.count(var)).sum();
            if count == 0 {
                continue;
            }
            let block = space.block(node);
            let first = self.analysed.prepared.addr(first);
            let instructions = self.cost(node, external);
            blocks.push(PathBlock {
                from: self.analysed.prepared.location(block.first),
                to: self.analysed.prepared.last_location(block),
                source: self.analysed.prepared.source(first),
                function: self.analysed.prepared.function(first),
                calls,
                loops: match loops.get(&node) {
                    Some(names) => names.clone(),
                    // A warp may execute a block outside of all thread-level loops more than once, because lanes
                    // leave a loop one by one.
                    None if count > 1 => cycle_loops
                        .get_or_insert_with(|| self.loops_of_warp_cycles())
                        .get(&node)
                        .cloned()
                        .unwrap_or_default(),
                    None => Vec::new(),
                },
                instructions,
                count,
                total: count.saturating_mul(instructions.into()),
            });
        }
        blocks
    }

    /// Returns the names of the loops around each node, outermost first.
    fn loops_around(&self) -> BTreeMap<NodeId, Vec<String>> {
        let mut sorted: Vec<_> = self.analysed.flow.loops.loops.iter().collect();
        // A nested loop has fewer nodes than the loop around it, so this order is outermost first.
        sorted.sort_by_key(|l| std::cmp::Reverse(l.body.len()));
        let mut around: BTreeMap<NodeId, Vec<String>> = BTreeMap::new();
        for l in sorted {
            let Some(name) = self.names.get(l.fact) else {
                continue;
            };
            for &node in &l.body {
                around.entry(node).or_default().push(name.id.clone());
            }
        }
        around
    }

    /// Returns, for each node of a loop of the warp-level graph, the outermost thread-level loops inside the innermost
    /// warp-level loop that contains any. If lanes leave a loop at different times, the warp returns to the loop from
    /// the code after it, so the warp-level loop also contains that code.
    fn loops_of_warp_cycles(&self) -> BTreeMap<NodeId, Vec<String>> {
        let KernelFlow {
            thread,
            warp,
            loops,
            ..
        } = self.analysed.flow;
        let mut of_warp = Loops::of_warp(&self.analysed.prepared.code, thread, warp).loops;
        // Inner loops come last and overwrite the entries of outer ones.
        of_warp.sort_by_key(|l| std::cmp::Reverse(l.body.len()));
        let mut cycle_loops = BTreeMap::new();
        for of_warp in of_warp {
            let body: BTreeSet<NodeId> = of_warp.body.iter().copied().collect();
            let is_inside = |l: usize| {
                let headers = loops.loops.get(l).map(|l| l.headers.as_slice());
                headers.is_some_and(|headers| headers.iter().all(|header| body.contains(header)))
            };
            let outermost = (0..loops.loops.len()).filter(|&l| {
                let parent = loops.parents.get(l).copied().flatten();
                is_inside(l) && !parent.is_some_and(is_inside)
            });
            let facts: BTreeSet<usize> = outermost
                .filter_map(|l| Some(loops.loops.get(l)?.fact))
                .collect();
            let names = facts.iter().filter_map(|&fact| self.names.get(fact));
            let names: Vec<String> = names.map(|name| name.id.clone()).collect();
            if names.is_empty() {
                continue;
            }
            for node in body {
                cycle_loops.insert(node, names.clone());
            }
        }
        cycle_loops
    }
}
