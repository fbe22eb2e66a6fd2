// Breadth-first search, one level per launch: expand the frontier, then make the new nodes the frontier.
// Control flow: nodes outside the frontier leave early; the loop over a node's edges has a data-dependent, divergent trip count.
// Launch: 1-D, one thread per node.
struct Node {
    int first_edge;
    int edge_count;
};

extern "C" __global__ void bfs_expand(const Node *nodes, const int *edges, bool *frontier, bool *next, const bool *visited, int *cost, int count)
{
    int node = blockIdx.x * blockDim.x + threadIdx.x;
    if (node >= count || !frontier[node])
        return;
    frontier[node] = false;
    int end = nodes[node].first_edge + nodes[node].edge_count;
#pragma unroll 1
    for (int edge = nodes[node].first_edge; edge < end; edge++) {
        int target = edges[edge];
        if (!visited[target]) {
            cost[target] = cost[node] + 1;
            next[target] = true;
        }
    }
}

extern "C" __global__ void bfs_advance(bool *frontier, bool *next, bool *visited, bool *again, int count)
{
    int node = blockIdx.x * blockDim.x + threadIdx.x;
    if (node < count && next[node]) {
        frontier[node] = true;
        visited[node] = true;
        *again = true;
        next[node] = false;
    }
}
