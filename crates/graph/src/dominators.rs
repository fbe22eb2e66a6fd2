use std::collections::BinaryHeap;

use crate::{Digraph, components};

/// Absent node.
const NONE: usize = usize::MAX;

/// Dominator tree of the nodes that a root reaches. For example, in the diamond 0→1, 0→2, 1→3, 2→3 the root 0
/// dominates all nodes, while neither 1 nor 2 dominates 3.
///
/// Computed by the iteration of Cooper, Harvey and Kennedy ("A Simple, Fast Dominance Algorithm", 2001).
/// Dominance queries compare preorder intervals of the tree, in constant time.
#[derive(Clone, Debug)]
pub struct Dominators {
    root: usize,
    /// Parent in the tree; `NONE` for the root and for nodes that it does not reach.
    parents: Vec<usize>,
    /// Distance from the root in the tree.
    depths: Vec<u32>,
    /// For each node, its position in a preorder of the tree and the end of its subtree (exclusive).
    spans: Vec<(u32, u32)>,
    /// Nodes in that preorder.
    order: Vec<usize>,
}

impl Dominators {
    /// Computes the dominators in the part of `graph` that `root` reaches.
    pub fn compute(graph: &Digraph, root: usize) -> Self {
        let order = graph.reverse_postorder(root);
        let mut rank = vec![NONE; graph.len()];
        for (position, &node) in order.iter().enumerate() {
            rank[node] = position;
        }
        let reversed = graph.reversed();
        // Parents by rank in reverse postorder. The root is its own parent during the iteration, so that the search
        // for common ancestors ends there.
        let mut parent = vec![NONE; order.len()];
        if let Some(first) = parent.first_mut() {
            *first = 0;
        }
        let mut changed = true;
        while changed {
            changed = false;
            for (position, &node) in order.iter().enumerate().skip(1) {
                let known = reversed
                    .successors(node)
                    .iter()
                    .map(|&p| rank[p])
                    // Predecessors that the root does not reach lie on no path from it.
                    .filter(|&p| p != NONE && parent[p] != NONE);
                // The nearest common ancestor of all processed predecessors (`intersect` of the paper).
                let dominator = known.reduce(|mut a, mut b| {
                    while a != b {
                        // A parent has a smaller rank than its children, so the larger rank moves up.
                        while a > b {
                            a = parent[a];
                        }
                        while b > a {
                            b = parent[b];
                        }
                    }
                    a
                });
                // Never `NONE`: the node that discovers another precedes it in reverse postorder.
                let dominator = dominator.unwrap_or(NONE);
                changed |= parent[position] != dominator;
                parent[position] = dominator;
            }
        }
        let mut parents = vec![NONE; graph.len()];
        for (position, &node) in order.iter().enumerate().skip(1) {
            parents[node] = order[parent[position]];
        }
        Dominators::of_tree(root, parents, &order)
    }

    /// Computes the postdominators: dominators of the reversed graph from a virtual exit with the number
    /// `graph.len()`, to which each of `exits` has an edge.
    ///
    /// Every node gets a postdominator: the nodes of a component that is never left (a cycle without an exit edge, or
    /// a node without successors that is not an exit) have edges to the virtual exit as well. All of them do, since
    /// any may be the last one executed.
    pub fn compute_post(graph: &Digraph, exits: impl IntoIterator<Item = usize>) -> Self {
        let exit = graph.len();
        let mut leaving = vec![false; graph.len()];
        for node in exits {
            if let Some(slot) = leaving.get_mut(node) {
                *slot = true;
            }
        }
        // Only nodes from which no exit can be reached need additional edges to the virtual exit.
        let last = (0..graph.len()).filter(|&n| leaving[n]);
        let leaves = graph.reversed().reachable(last);
        let trapped: Vec<bool> = leaves.iter().map(|&leaves| !leaves).collect();
        for component in components(graph, &trapped) {
            // `components` returns the members ascending, as the binary search needs.
            let mut outward = component.iter().flat_map(|&n| graph.successors(n));
            if outward.all(|to| component.binary_search(to).is_ok()) {
                for node in component {
                    leaving[node] = true;
                }
            }
        }
        let reversed = graph.edges().map(|(from, to)| (to, from));
        let to_exit = (0..exit).filter(|&n| leaving[n]).map(|n| (exit, n));
        Dominators::compute(&Digraph::new(exit + 1, reversed.chain(to_exit)), exit)
    }

    /// Numbers the tree in preorder; `reached` are its nodes.
    fn of_tree(root: usize, parents: Vec<usize>, reached: &[usize]) -> Self {
        let len = parents.len();
        let tree = Digraph::new(
            len,
            reached
                .iter()
                .filter(|&&node| parents[node] != NONE)
                .map(|&node| (parents[node], node)),
        );
        let mut found = Dominators {
            root,
            parents,
            depths: vec![0; len],
            spans: vec![(0, 0); len],
            order: Vec::with_capacity(reached.len()),
        };
        // No recursion: the tree of a long chain of blocks is as deep as the chain.
        let mut path = vec![(root, 0)];
        while let Some((node, child)) = path.last_mut() {
            let node = *node;
            // A root outside of the graph has an empty tree.
            let Some(span) = found.spans.get_mut(node) else {
                break;
            };
            if *child == 0 {
                span.0 = found.order.len() as u32;
                found.order.push(node);
            }
            match tree.successors(node).get(*child) {
                Some(&next) => {
                    *child += 1;
                    found.depths[next] = found.depths[node] + 1;
                    path.push((next, 0));
                }
                None => {
                    span.1 = found.order.len() as u32;
                    path.pop();
                }
            }
        }
        found
    }

    /// The root of the tree.
    pub fn root(&self) -> usize {
        self.root
    }

    /// Whether the root reaches `node`.
    pub fn is_reached(&self, node: usize) -> bool {
        self.spans
            .get(node)
            .is_some_and(|&(first, end)| first < end)
    }

    /// The immediate dominator; `None` for the root and for nodes that it does not reach.
    pub fn immediate(&self, node: usize) -> Option<usize> {
        self.parents.get(node).copied().filter(|&p| p != NONE)
    }

    /// Whether every path from the root to `below` passes `above`. Each reached node dominates itself;
    /// unreached nodes dominate nothing and are not dominated.
    pub fn dominates(&self, above: usize, below: usize) -> bool {
        if !self.is_reached(above) || !self.is_reached(below) {
            return false;
        }
        let (first, end) = self.spans[above];
        (first..end).contains(&self.spans[below].0)
    }

    /// Preorder interval `first..end` of the subtree of `node` in the dominator tree: the positions of the
    /// nodes that it dominates. Empty for nodes that the root does not reach.
    pub fn span(&self, node: usize) -> (u32, u32) {
        self.spans.get(node).copied().unwrap_or_default()
    }

    /// Iterated dominance frontier of `nodes`, ascending: the join points of values defined in `nodes` and at the
    /// root. For example, in the diamond 0→1, 0→2, 1→3, 2→3 a value defined in 1 needs a join in 3. `graph` is the
    /// graph of these dominators.
    ///
    /// Linear in the size of the graph (Sreedhar and Gao, "A Linear Time Algorithm for Placing
    /// φ-Nodes", 1995).
    pub fn iterated_frontier(
        &self,
        graph: &Digraph,
        nodes: impl IntoIterator<Item = usize>,
    ) -> Vec<usize> {
        // The "piggy bank" of the paper: nodes by depth.
        let mut pending = BinaryHeap::new();
        let mut queued = vec![false; graph.len()];
        let mut seen = vec![false; graph.len()];
        let mut found = vec![false; graph.len()];
        for node in nodes {
            if self.is_reached(node) && !std::mem::replace(&mut queued[node], true) {
                pending.push((self.depths[node], node));
            }
        }
        // Deepest nodes first, so that a subtree walked for one of them needs no second walk.
        while let Some((depth, top)) = pending.pop() {
            let (mut position, end) = self.spans[top];
            while position < end {
                let node = self.order[position as usize];
                if std::mem::replace(&mut seen[node], true) {
                    // An earlier walk has finished the subtree of this node.
                    position = self.spans[node].1;
                    continue;
                }
                position += 1;
                for &to in graph.successors(node) {
                    // Edges from the subtree to a node no deeper than its root lead to the root's frontier.
                    if self.depths[to] <= depth
                        && !std::mem::replace(&mut found[to], true)
                        && !std::mem::replace(&mut queued[to], true)
                    {
                        pending.push((self.depths[to], to));
                    }
                }
            }
        }
        (0..graph.len()).filter(|&node| found[node]).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn random_graph(seed: &mut u64, len: usize, edges: usize) -> Digraph {
        let edges: Vec<_> = (0..edges)
            .map(|_| {
                *seed = seed
                    .wrapping_mul(6364136223846793005)
                    .wrapping_add(1442695040888963407);
                ((*seed >> 33) as usize % len, (*seed >> 45) as usize % len)
            })
            .collect();
        Digraph::new(len, edges)
    }

    /// Whether `above` dominates `below` by definition: the root reaches `below`, but not in the graph without `above`.
    fn naive(graph: &Digraph, root: usize, above: usize, below: usize) -> bool {
        let without = graph.edges().filter(|&(a, b)| a != above && b != above);
        let cut = Digraph::new(graph.len(), without).reachable([root]);
        graph.reachable([root])[below] && (above == below || above == root || !cut[below])
    }

    #[test]
    fn dominators_are_those_of_the_definition() {
        let mut seed = 7;
        for round in 0..400 {
            let len = 2 + round % 12;
            let graph = random_graph(&mut seed, len, len + round % 9);
            let found = Dominators::compute(&graph, 0);
            for below in 0..len {
                let strict: Vec<usize> = (0..len)
                    .filter(|&a| a != below && naive(&graph, 0, a, below))
                    .collect();
                for above in 0..len {
                    let expected = naive(&graph, 0, above, below);
                    assert_eq!(found.dominates(above, below), expected, "{graph:?}");
                }
                // The immediate dominator is the strict dominator that all others dominate.
                let closest = strict
                    .iter()
                    .copied()
                    .find(|&a| strict.iter().all(|&b| naive(&graph, 0, b, a)));
                assert_eq!(found.immediate(below), closest, "{graph:?}");
            }
        }
    }

    #[test]
    fn frontiers_are_those_of_the_definition() {
        let mut seed = 11;
        for round in 0..400 {
            let len = 2 + round % 12;
            let graph = random_graph(&mut seed, len, len + round % 9);
            let found = Dominators::compute(&graph, 0);
            let reversed = graph.reversed();
            let mut all: Vec<usize> = vec![round % len, (round / 3) % len];
            all.retain(|&n| found.is_reached(n));
            let start = all.clone();
            let mut expected = Vec::new();
            while let Some(node) = all.pop() {
                for to in 0..len {
                    let reaches = reversed
                        .successors(to)
                        .iter()
                        .any(|&p| found.dominates(node, p));
                    let strictly = node != to && found.dominates(node, to);
                    if reaches && !strictly && !expected.contains(&to) {
                        expected.push(to);
                        all.push(to);
                    }
                }
            }
            expected.sort_unstable();
            assert_eq!(
                found.iterated_frontier(&graph, start),
                expected,
                "{graph:?}"
            );
        }
    }

    #[test]
    fn postdominators_of_a_diamond_and_of_a_cycle_without_an_exit() {
        // 0 -> {1, 2} -> 3 -> exit
        let diamond = Digraph::new(4, [(0, 1), (0, 2), (1, 3), (2, 3)]);
        let found = Dominators::compute_post(&diamond, [3]);
        assert_eq!(found.immediate(0), Some(3));
        assert_eq!(found.immediate(3), Some(4));
        // 1 <-> 2 is never left: only the virtual exit is on every path from 0.
        let trap = Digraph::new(4, [(0, 1), (1, 2), (2, 1), (0, 3)]);
        let found = Dominators::compute_post(&trap, [3]);
        assert_eq!(
            (0..4).map(|n| found.immediate(n)).collect::<Vec<_>>(),
            [Some(4); 4]
        );
    }

    #[test]
    fn every_node_has_a_postdominator() {
        let mut seed = 13;
        for round in 0..400 {
            let len = 1 + round % 12;
            let graph = random_graph(&mut seed, len, len + round % 9);
            let found = Dominators::compute_post(&graph, [round % len]);
            assert!((0..len).all(|n| found.immediate(n).is_some()), "{graph:?}");
        }
    }
}
