// Matches of a query's letters in a text, from every place of the query: the longest one by a search in the text's sorted
// suffixes, kept if it occurs once and cannot grow to the left; and how far and how often by a walk down its suffix tree.
// Control flow: a binary search with a comparing loop in it, all trip counts data-dependent; a walk over edges with three
// ways out of two nested loops.
// Launch: 1-D, one work-item per place in the query.
#include "device.h"

static inline int common(const uchar *text, int from, int letters, const uchar *query, int at, int count)
{
    int same = 0;
    int most = min(letters - from, count - at);
#pragma unroll 1
    while (same < most && text[from + same] == query[at + same])
        same++;
    return same;
}

kernel void mum_match(global const uchar *text, global const int *sorted, int letters, global const uchar *query, int count, int least, global int *lengths, global int *places)
{
    int at = global_x();
    if (at >= count)
        return;
    // How many suffixes are smaller than the rest of the query.
    int low = 0, high = letters;
#pragma unroll 1
    while (low < high) {
        int middle = (low + high) >> 1;
        int from = sorted[middle];
        int same = common(text, from, letters, query, at, count);
        bool is_smaller = at + same < count && (from + same == letters || text[from + same] < query[at + same]);
        if (is_smaller)
            low = middle + 1;
        else
            high = middle;
    }
    // The best match is one of its two neighbours; it occurs once if the next on that side and the other one are shorter.
    int below = low > 0 ? common(text, sorted[low - 1], letters, query, at, count) : 0;
    int above = low < letters ? common(text, sorted[low], letters, query, at, count) : 0;
    int length = max(below, above);
    int place = -1;
    if (below != above && length >= least) {
        int further = below > above ? low - 2 : low + 1;
        int from = below > above ? sorted[low - 1] : sorted[low];
        bool is_once = further < 0 || further >= letters || common(text, sorted[further], letters, query, at, count) < length;
        bool is_maximal = at == 0 || from == 0 || query[at - 1] != text[from - 1];
        if (is_once && is_maximal)
            place = from;
    }
    lengths[at] = length;
    places[at] = place;
}

// A node of the tree: children by letter (0 is none: no node has the root as a child), the letters of the edge that leads to it,
// and how often what leads to it occurs.
typedef struct {
    int child[4];
    int from, length, times;
} Node;

static inline uint letter(const uint *packed, int at) { return packed[at >> 4] >> (2 * (at & 15)) & 3; }

kernel void mum_tree(global const uint *text, global const Node *nodes, global const uint *query, int count, global int *lengths, global int *times)
{
    int at = global_x();
    if (at >= count)
        return;
    int depth = at, node = 0;
#pragma unroll 1
    while (depth < count) {
        int child = nodes[node].child[letter(query, depth)];
        if (child == 0)
            break;
        node = child;
        int from = nodes[node].from, length = nodes[node].length;
        int same = 1;
#pragma unroll 1
        while (same < length && depth + same < count && letter(text, from + same) == letter(query, depth + same))
            same++;
        depth += same;
        if (same < length)
            break;
    }
    lengths[at] = depth - at;
    times[at] = nodes[node].times;
}
