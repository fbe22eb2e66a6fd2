// Breadth-first search, one level per launch: expand the frontier, then make the new nodes the frontier.
// Control flow: nodes outside the frontier skip the rest; the loop over a node's edges has a divergent trip count.
// Launch: 1-D, one work-item a node.
// Options: -gline-tables-only
#include "device.h"

struct Node {
    int first_edge;
    int edge_count;
};

kernel void bfs_expand(global const struct Node *nodes, global const int *edges, global uchar *frontier, global uchar *next, global const uchar *visited, global int *cost, int count)
{
    int node = global_x();
    if (node >= count || !frontier[node])
        return;
    frontier[node] = 0;
    int end = nodes[node].first_edge + nodes[node].edge_count;
#pragma unroll 1
    for (int edge = nodes[node].first_edge; edge < end; edge++) {
        int target = edges[edge];
        if (!visited[target]) {
            cost[target] = cost[node] + 1;
            next[target] = 1;
        }
    }
}

kernel void bfs_advance(global uchar *frontier, global uchar *next, global uchar *visited, global uchar *again, int count)
{
    int node = global_x();
    if (node < count && next[node]) {
        frontier[node] = 1;
        visited[node] = 1;
        *again = 1;
        next[node] = 0;
    }
}
