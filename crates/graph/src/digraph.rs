/// Directed graph over nodes `0..len` in compressed sparse rows: successors sorted and without duplicates.
///
/// For example, the edges 0→1, 0→2 and 2→0 of three nodes are `offsets = [0, 2, 2, 3]` and `targets = [1, 2, 0]`.
#[derive(Clone, Debug, Default)]
pub struct Digraph {
    /// `offsets[n]..offsets[n + 1]` are the positions of the successors of `n` in `targets`.
    offsets: Vec<usize>,
    targets: Vec<usize>,
}

impl Digraph {
    /// Builds the graph from an edge list; edges that name a node `>= len` are ignored.
    pub fn new(len: usize, edges: impl IntoIterator<Item = (usize, usize)>) -> Self {
        let mut edges: Vec<_> = edges
            .into_iter()
            .filter(|&(from, to)| from < len && to < len)
            .collect();
        edges.sort_unstable();
        edges.dedup();
        let mut offsets = vec![0; len + 1];
        for &(from, _) in &edges {
            offsets[from + 1] += 1;
        }
        for i in 0..len {
            offsets[i + 1] += offsets[i];
        }
        Digraph {
            offsets,
            targets: edges.into_iter().map(|(_, to)| to).collect(),
        }
    }

    /// Number of nodes.
    pub fn len(&self) -> usize {
        // A default graph has no offsets at all.
        self.offsets.len().saturating_sub(1)
    }

    /// Whether the graph has no nodes.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Successors of `node`, ascending. Panics if `node >= len`.
    pub fn successors(&self, node: usize) -> &[usize] {
        &self.targets[self.offsets[node]..self.offsets[node + 1]]
    }

    /// The graph with every edge reversed.
    pub fn reversed(&self) -> Digraph {
        Digraph::new(self.len(), self.edges().map(|(from, to)| (to, from)))
    }

    /// All edges, ordered by source, then target.
    pub fn edges(&self) -> impl Iterator<Item = (usize, usize)> + '_ {
        (0..self.len()).flat_map(|from| self.successors(from).iter().map(move |&to| (from, to)))
    }

    /// Nodes reachable from `roots`, roots included, as a membership vector.
    pub fn reachable(&self, roots: impl IntoIterator<Item = usize>) -> Vec<bool> {
        let mut seen = vec![false; self.len()];
        let mut pending: Vec<usize> = roots.into_iter().filter(|&r| r < self.len()).collect();
        while let Some(node) = pending.pop() {
            if !std::mem::replace(&mut seen[node], true) {
                pending.extend_from_slice(self.successors(node));
            }
        }
        seen
    }

    /// Reverse postorder of the nodes reachable from `root`.
    pub fn reverse_postorder(&self, root: usize) -> Vec<usize> {
        let mut order = Vec::new();
        let mut seen = vec![false; self.len()];
        if root >= self.len() {
            return order;
        }
        seen[root] = true;
        // An explicit path instead of recursion, because a graph may be as deep as it has nodes.
        let mut path = vec![(root, 0)];
        while let Some((node, edge)) = path.last_mut() {
            if let Some(&next) = self.successors(*node).get(*edge) {
                *edge += 1;
                if !std::mem::replace(&mut seen[next], true) {
                    path.push((next, 0));
                }
            } else {
                order.push(*node);
                path.pop();
            }
        }
        order.reverse();
        order
    }
}
