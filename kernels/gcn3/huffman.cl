// Huffman coding: how many bits each group of symbols takes, the bits themselves, and back.
// Codes have at most 24 bits. The first bit of a word is its highest.
// Control flow: prefix sum of code lengths in half a wave by ds_bpermute; codes are put into words that may be shared with the
// neighbours by atomics; decoding is a loop over symbols around a divergent walk down the tree, bit by bit.
// Launch: huffman_lengths and huffman_encode 1-D, one work-item per symbol, multiples of 32, at most 256; huffman_decode 1-D,
// one work-item per chunk of symbols.
#include "device.h"

typedef struct {
    uint bits, length;
} Code;

kernel void huffman_lengths(global const uchar *symbols, global const uchar *lengths, global uint *totals, int count)
{
    local uint total;
    int i = global_x();
    if (local_x() == 0)
        total = 0;
    barrier_local();
    if (i < count)
        atomic_add(&total, (uint)lengths[symbols[i]]);
    barrier_local();
    if (local_x() == 0)
        totals[group_x()] = total;
}

kernel void huffman_encode(global const uchar *symbols, global const Code *table, global const uint *starts, global uint *words, int count)
{
    enum { WORDS = 256 * 24 / 32 + 2 };
    local uint staged[WORDS];
    local uint warp_ends[8];
    int t = local_x(), lane = t & 31, warp = t >> 5;
    int i = group_x() * group_size_x() + t;
#pragma unroll 1
    for (int word = t; word < WORDS; word += group_size_x())
        staged[word] = 0;
    Code code = {0, 0};
    if (i < count)
        code = table[symbols[i]];
    uint end = code.length;
#pragma unroll
    for (int step = 1; step < 32; step <<= 1) {
        uint before = from_lane(lane_id() - step, end);
        if (lane >= step)
            end += before;
    }
    if (lane == 31)
        warp_ends[warp] = end;
    barrier_local();
    uint start = starts[group_x()];
    uint at = (start & 31) + end - code.length;
#pragma unroll 1
    for (int other = 0; other < warp; other++)
        at += warp_ends[other];
    if (code.length > 0) {
        ulong placed = (ulong)code.bits << (64 - code.length - (at & 31));
        atomic_or(&staged[at >> 5], (uint)(placed >> 32));
        if ((uint)placed != 0)
            atomic_or(&staged[(at >> 5) + 1], (uint)placed);
    }
    barrier_local();
#pragma unroll 1
    for (int word = t; word < WORDS; word += group_size_x())
        if (staged[word] != 0)
            atomic_or(&words[(start >> 5) + word], staged[word]);
}

// Two numbers per inner node of the tree, for the bits 0 and 1: another node, or below 0 the complement of a symbol.
kernel void huffman_decode(global const uint *words, global const short *tree, global const uint *starts, global uchar *symbols, int chunk, int count)
{
    int first = (global_x()) * chunk;
    if (first >= count)
        return;
    uint at = starts[first / chunk];
    int last = min(first + chunk, count);
#pragma unroll 1
    for (int i = first; i < last; i++) {
        int node = 0;
#pragma unroll 1
        do {
            uint bit = words[at >> 5] >> (31 - (at & 31)) & 1;
            node = tree[2 * node + bit];
            at++;
        } while (node >= 0);
        symbols[i] = ~node;
    }
}
