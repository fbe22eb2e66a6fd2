use crate::Digraph;

/// Strongly connected components of the subgraph induced by the nodes with `inside[node]`, in reverse topological
/// order, members ascending. For example, the edges 0→1, 1→0 and 1→2 have the components `[2]` and `[0, 1]`, in this
/// order.
///
/// Tarjan's algorithm ("Depth-First Search and Linear Graph Algorithms", 1972) with an explicit path
/// instead of recursion.
pub fn components(graph: &Digraph, inside: &[bool]) -> Vec<Vec<usize>> {
    const UNSEEN: usize = usize::MAX;
    let mut index = vec![UNSEEN; graph.len()];
    let mut low = vec![0; graph.len()];
    let mut on_stack = vec![false; graph.len()];
    let mut stack = Vec::new();
    let mut result = Vec::new();
    let mut clock = 0;
    for root in 0..graph.len() {
        if !inside[root] || index[root] != UNSEEN {
            continue;
        }
        // Pairs of a node and the position of its next edge.
        let mut path = vec![(root, 0usize)];
        while let Some(&(node, edge)) = path.last() {
            // First visit: a node stays on the path only after it has followed an edge.
            if edge == 0 {
                index[node] = clock;
                low[node] = clock;
                clock += 1;
                stack.push(node);
                on_stack[node] = true;
            }
            let next = graph.successors(node)[edge..]
                .iter()
                .position(|&s| inside[s])
                .map(|skip| edge + skip);
            match next {
                Some(at) => {
                    if let Some(top) = path.last_mut() {
                        top.1 = at + 1;
                    }
                    let successor = graph.successors(node)[at];
                    if index[successor] == UNSEEN {
                        path.push((successor, 0));
                    } else if on_stack[successor] {
                        // A node that has left the stack is in a finished component and does not reach `node`.
                        low[node] = low[node].min(index[successor]);
                    }
                }
                None => {
                    path.pop();
                    if let Some(&(parent, _)) = path.last() {
                        low[parent] = low[parent].min(low[node]);
                    }
                    // `node` is the root of its component, which is the top of the stack down to it.
                    if low[node] == index[node] {
                        let mut component = Vec::new();
                        while let Some(member) = stack.pop() {
                            on_stack[member] = false;
                            component.push(member);
                            if member == node {
                                break;
                            }
                        }
                        component.sort_unstable();
                        result.push(component);
                    }
                }
            }
        }
    }
    result
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_cycles_joined_by_an_edge_are_two_components() {
        let g = Digraph::new(5, [(0, 1), (1, 0), (1, 2), (2, 3), (3, 2), (3, 4)]);
        let mut c = components(&g, &[true; 5]);
        c.sort();
        assert_eq!(c, vec![vec![0, 1], vec![2, 3], vec![4]]);
    }

    #[test]
    fn masked_nodes_do_not_connect() {
        let g = Digraph::new(3, [(0, 1), (1, 2), (2, 0)]);
        assert_eq!(components(&g, &[true, false, true]).len(), 2);
    }
}
