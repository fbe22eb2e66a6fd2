// Forward 8x8 cosine transform and quantisation of image blocks, as in JPEG. A work-group of
// 8x8 work-items handles one block; the image need not be a multiple of 8.
// Options: -gline-tables-only
#include "opencl.h"

constant float basis[8][8] = {
    {0.353553f, 0.353553f, 0.353553f, 0.353553f, 0.353553f, 0.353553f, 0.353553f, 0.353553f},
    {0.490393f, 0.415735f, 0.277785f, 0.097545f, -0.097545f, -0.277785f, -0.415735f, -0.490393f},
    {0.461940f, 0.191342f, -0.191342f, -0.461940f, -0.461940f, -0.191342f, 0.191342f, 0.461940f},
    {0.415735f, -0.097545f, -0.490393f, -0.277785f, 0.277785f, 0.490393f, 0.097545f, -0.415735f},
    {0.353553f, -0.353553f, -0.353553f, 0.353553f, 0.353553f, -0.353553f, -0.353553f, 0.353553f},
    {0.277785f, -0.490393f, 0.097545f, 0.415735f, -0.415735f, -0.097545f, 0.490393f, -0.277785f},
    {0.191342f, -0.461940f, 0.461940f, -0.191342f, -0.191342f, 0.461940f, -0.461940f, 0.191342f},
    {0.097545f, -0.277785f, 0.415735f, -0.490393f, 0.490393f, -0.415735f, 0.277785f, -0.097545f}};

kernel void dct8x8(global const uchar *image, int width, int height, global const ushort *quant, global short *coefficients)
{
    local float pixels[8][8];
    local float half_way[8][9];

    const int u = get_local_id(0);
    const int v = get_local_id(1);
    const int x = min((int)get_group_id(0) * 8 + u, width - 1);
    const int y = min((int)get_group_id(1) * 8 + v, height - 1);
    pixels[v][u] = (float)image[y * width + x] - 128.0f;
    barrier(CLK_LOCAL_MEM_FENCE);

    float s = 0.0f;
    for (int k = 0; k < 8; k++)
        s += pixels[v][k] * basis[u][k];
    half_way[v][u] = s;
    barrier(CLK_LOCAL_MEM_FENCE);

    s = 0.0f;
    for (int k = 0; k < 8; k++)
        s += half_way[k][u] * basis[v][k];

    int block = get_group_id(1) * get_num_groups(0) + get_group_id(0);
    coefficients[block * 64 + v * 8 + u] = (short)rint(s / quant[v * 8 + u]);
}
