use crate::{Digraph, components};

/// Index of a loop in its [`LoopForest`].
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct LoopIndex(pub usize);

/// Loop: a strongly connected set of nodes and the nodes at which control enters it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Loop {
    /// Entry nodes, ascending; one for a reducible loop, several for an irreducible one.
    /// Every cycle of the body that lies in no nested loop contains a header.
    pub headers: Vec<usize>,
    /// All nodes of the loop, nested loops included, ascending.
    pub body: Vec<usize>,
    /// The enclosing loop; `None` for an outermost loop.
    pub parent: Option<LoopIndex>,
    /// Nesting depth; 1 for an outermost loop.
    pub depth: u32,
}

impl Loop {
    /// Whether `node` belongs to the loop.
    pub fn contains(&self, node: usize) -> bool {
        self.body.binary_search(&node).is_ok()
    }
}

/// Loop nesting forest of a graph, outer loops before inner ones.
///
/// Built by repeated decomposition (Steensgaard, "Sequentializing Program Dependence Graphs for Irreducible
/// Programs", 1993). A strongly connected component is a loop. Its headers are all nodes entered from outside the
/// component, so irreducible loops need no node splitting. The component without its headers is decomposed again,
/// which gives the nested loops.
///
/// For example, the edges 0→1, 0→2, 1→2 and 2→1 form one irreducible loop with the headers 1 and 2.
#[derive(Clone, Debug, Default)]
pub struct LoopForest {
    loops: Vec<Loop>,
    innermost: Vec<Option<LoopIndex>>,
}

impl LoopForest {
    /// Builds the forest of the part of `graph` that is reachable from `root`.
    pub fn build(graph: &Digraph, root: usize) -> Self {
        let reversed = graph.reversed();
        let reachable = graph.reachable([root]);
        let mut forest = LoopForest {
            loops: Vec::new(),
            innermost: vec![None; graph.len()],
        };
        let mut work = vec![(reachable.clone(), None)];
        while let Some((inside, parent)) = work.pop() {
            for body in components(graph, &inside) {
                // A node on no cycle is a component by itself, too.
                let cyclic = body.len() > 1 || graph.successors(body[0]).contains(&body[0]);
                if !cyclic {
                    continue;
                }
                // The start of the program enters the root without an edge. Edges from the headers of the enclosing
                // loop enter a nested loop too, so predecessors are taken from the whole graph.
                let entered = |&node: &usize| {
                    node == root
                        || reversed
                            .successors(node)
                            .iter()
                            .any(|p| reachable[*p] && body.binary_search(p).is_err())
                };
                // Not empty, because the root reaches the body; so each nested set is smaller, and the work ends.
                let headers: Vec<usize> = body.iter().copied().filter(entered).collect();
                let depth = parent.map_or(1, |p: LoopIndex| forest.loops[p.0].depth + 1);
                let index = LoopIndex(forest.loops.len());
                // Nested loops are visited later and overwrite `innermost`.
                let mut inner = vec![false; graph.len()];
                for &node in &body {
                    inner[node] = headers.binary_search(&node).is_err();
                    forest.innermost[node] = Some(index);
                }
                forest.loops.push(Loop {
                    headers,
                    body,
                    parent,
                    depth,
                });
                work.push((inner, Some(index)));
            }
        }
        forest
    }

    /// All loops; an outer loop comes before the loops nested in it.
    pub fn loops(&self) -> impl Iterator<Item = (LoopIndex, &Loop)> {
        self.loops
            .iter()
            .enumerate()
            .map(|(i, l)| (LoopIndex(i), l))
    }

    /// The loop with this index.
    pub fn get(&self, index: LoopIndex) -> &Loop {
        &self.loops[index.0]
    }

    /// The innermost loop that contains `node`.
    pub fn innermost(&self, node: usize) -> Option<LoopIndex> {
        self.innermost.get(node).copied().flatten()
    }

    /// Number of loops.
    pub fn len(&self) -> usize {
        self.loops.len()
    }

    /// Whether there are no loops.
    pub fn is_empty(&self) -> bool {
        self.loops.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nested_reducible_loops() {
        let g = Digraph::new(6, [(0, 1), (1, 2), (2, 3), (3, 2), (3, 4), (4, 1), (4, 5)]);
        let f = LoopForest::build(&g, 0);
        let found: Vec<_> = f
            .loops()
            .map(|(_, l)| (l.headers.clone(), l.body.clone(), l.depth))
            .collect();
        assert_eq!(
            found,
            vec![(vec![1], vec![1, 2, 3, 4], 1), (vec![2], vec![2, 3], 2)]
        );
        assert_eq!(f.innermost(3), Some(LoopIndex(1)));
        assert_eq!(f.innermost(5), None);
    }

    #[test]
    fn an_irreducible_loop_has_all_its_entries_as_headers() {
        let g = Digraph::new(4, [(0, 1), (0, 2), (1, 2), (2, 1), (2, 3)]);
        let f = LoopForest::build(&g, 0);
        assert_eq!(f.len(), 1);
        assert_eq!(f.get(LoopIndex(0)).headers, vec![1, 2]);
    }

    #[test]
    fn a_self_loop_at_the_root_is_a_loop() {
        let g = Digraph::new(2, [(0, 0), (0, 1)]);
        let f = LoopForest::build(&g, 0);
        assert_eq!(f.get(LoopIndex(0)).headers, vec![0]);
    }

    #[test]
    fn every_cycle_outside_nested_loops_meets_a_header() {
        // Random graphs: without the headers of all loops no cycle remains.
        let mut seed = 1u64;
        for _ in 0..500 {
            let mut edges = Vec::new();
            for _ in 0..18 {
                seed = seed
                    .wrapping_mul(6364136223846793005)
                    .wrapping_add(1442695040888963407);
                edges.push((((seed >> 33) % 10) as usize, ((seed >> 45) % 10) as usize));
            }
            let g = Digraph::new(10, edges);
            let f = LoopForest::build(&g, 0);
            let mut rest = g.reachable([0]);
            for (_, l) in f.loops() {
                for &h in &l.headers {
                    rest[h] = false;
                }
            }
            for c in components(&g, &rest) {
                assert!(c.len() == 1 && !g.successors(c[0]).contains(&c[0]));
            }
        }
    }
}
