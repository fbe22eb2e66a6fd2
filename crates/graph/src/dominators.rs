use crate::{Digraph, components};

/// Immediate dominators (Cooper, Harvey, Kennedy: *A Simple, Fast Dominance Algorithm*).
///
/// A node dominates another when all ways from the root to that one lead through it.
#[derive(Clone, Debug)]
pub struct Dominators {
    /// For each node, its immediate dominator; `None` for the root and for what it does not reach.
    immediate: Vec<Option<usize>>,
    depth: Vec<u32>,
    reached: Vec<bool>,
}

impl Dominators {
    /// The dominators of what `root` reaches.
    pub fn run(graph: &Digraph, root: usize) -> Dominators {
        let order = graph.reverse_postorder(root);
        let reversed = graph.reversed();
        let mut position = vec![usize::MAX; graph.len()];
        for (at, &node) in order.iter().enumerate() {
            position[node] = at;
        }
        // By position in the order; the root is its own, and unknown ones come last.
        const UNKNOWN: usize = usize::MAX;
        let mut above = vec![UNKNOWN; order.len()];
        if let Some(first) = above.first_mut() {
            *first = 0;
        }
        let mut changed = true;
        while changed {
            changed = false;
            for (at, &node) in order.iter().enumerate().skip(1) {
                let mut found = UNKNOWN;
                for &before in reversed.successors(node) {
                    let mut other = position[before];
                    if other == UNKNOWN || above[other] == UNKNOWN {
                        continue;
                    }
                    if found == UNKNOWN {
                        found = other;
                    }
                    while found != other {
                        if found > other {
                            found = above[found];
                        } else {
                            other = above[other];
                        }
                    }
                }
                changed |= above[at] != found;
                above[at] = found;
            }
        }
        let mut dominators = Dominators {
            immediate: vec![None; graph.len()],
            depth: vec![0; graph.len()],
            reached: vec![false; graph.len()],
        };
        for (at, &node) in order.iter().enumerate() {
            dominators.reached[node] = true;
            if at > 0 {
                let parent = order[above[at]];
                dominators.immediate[node] = Some(parent);
                dominators.depth[node] = dominators.depth[parent] + 1;
            }
        }
        dominators
    }

    /// The postdominators of `graph`: node `graph.len()` is the end, to which `exits` lead. So does one node of
    /// each cycle that control cannot leave, so that every node has a way to the end.
    pub fn post(graph: &Digraph, exits: impl IntoIterator<Item = usize>) -> Dominators {
        let end = graph.len();
        let mut exits: Vec<usize> = exits.into_iter().filter(|&node| node < end).collect();
        let leaves = graph.reversed().reachable(exits.iter().copied());
        let trapped: Vec<bool> = leaves.iter().map(|leaves| !leaves).collect();
        let mut last = vec![false; end];
        for component in components(graph, &trapped) {
            let leads_on = |&node: &usize| {
                let inside = |to: &usize| component.binary_search(to).is_ok();
                !graph.successors(node).iter().all(inside)
            };
            if !component.iter().any(leads_on)
                && let Some(&node) = component.first()
            {
                last[node] = true;
            }
        }
        exits.extend((0..end).filter(|&node| last[node]));
        let edges = graph.edges().map(|(from, to)| (to, from));
        let to_end = exits.iter().map(|&node| (end, node));
        let reversed = Digraph::new(end + 1, edges.chain(to_end));
        Dominators::run(&reversed, end)
    }

    /// The nearest dominator of `node` other than itself.
    pub fn immediate(&self, node: usize) -> Option<usize> {
        self.immediate.get(node).copied().flatten()
    }

    /// `above` dominates `node`; each reached node dominates itself.
    pub fn dominates(&self, above: usize, node: usize) -> bool {
        let known = |node: usize| self.reached.get(node) == Some(&true);
        if !known(above) || !known(node) {
            return false;
        }
        let mut at = node;
        while self.depth[at] > self.depth[above] {
            match self.immediate[at] {
                Some(next) => at = next,
                None => return false,
            }
        }
        at == above
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A dominates B when B cannot be reached without A.
    fn naive(graph: &Digraph, root: usize, a: usize, b: usize) -> bool {
        let reached = graph.reachable([root]);
        if !reached[a] || !reached[b] {
            return false;
        }
        let without = Digraph::new(
            graph.len(),
            graph.edges().filter(|&(from, to)| from != a && to != a),
        );
        a == b || a == root || !without.reachable([root])[b]
    }

    #[test]
    fn dominators_are_what_their_definition_says() {
        let mut seed = 7u64;
        let mut random = |n: u64| {
            seed = seed
                .wrapping_mul(6364136223846793005)
                .wrapping_add(1442695040888963407);
            (seed >> 33) % n
        };
        for _ in 0..300 {
            let nodes = 2 + random(9);
            let edges: Vec<_> = (0..random(20))
                .map(|_| (random(nodes) as usize, random(nodes) as usize))
                .collect();
            let graph = Digraph::new(nodes as usize, edges);
            let found = Dominators::run(&graph, 0);
            for a in 0..graph.len() {
                for b in 0..graph.len() {
                    assert_eq!(
                        found.dominates(a, b),
                        naive(&graph, 0, a, b),
                        "{a} {b} {graph:?}"
                    );
                }
            }
        }
    }

    #[test]
    fn every_node_has_a_way_to_the_end() {
        // 0 → 1 ⇄ 2, 0 → 3: the cycle is never left.
        let graph = Digraph::new(4, [(0, 1), (1, 2), (2, 1), (0, 3)]);
        let post = Dominators::post(&graph, [3]);
        assert_eq!(post.immediate(0), Some(4));
        assert_eq!(post.immediate(2), Some(1));
        assert_eq!(post.immediate(1), Some(4));
        assert_eq!(post.immediate(3), Some(4));
    }

    #[test]
    fn both_sides_of_an_if_meet() {
        let graph = Digraph::new(5, [(0, 1), (0, 2), (1, 3), (2, 3), (3, 4)]);
        let post = Dominators::post(&graph, [4]);
        assert_eq!(post.immediate(0), Some(3));
        assert_eq!(post.immediate(3), Some(4));
    }
}
