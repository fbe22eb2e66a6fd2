// Addresses in memory and in structures:
//   list_sums: out[i] = the sum of the list whose first node is heads[i]; each node has the address of the next
//   row_sums: out[i] = the sum of the i-th row of a table that is passed by value, with an array of addresses of rows
//   weighted: out[i] = in[i] * *scale, where the variable `settings` has the address of the scale
// Control flow: list_sums has a loop that data ends, lane by lane; row_sums a loop of `lengths[i]` rounds.
// Launch: 1-D; threads from the counts on leave.
struct Node {
    const Node *next;
    long long value;
};

struct Table {
    int count;
    const int *const *rows;
    const int *lengths;
};

struct Settings {
    int offset;
    const float *scale;
};

__constant__ Settings settings;

extern "C" __global__ void list_sums(const Node *const *heads, long long *out, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n)
        return;
    long long sum = 0;
#pragma unroll 1
    for (const Node *node = heads[i]; node; node = node->next)
        sum += node->value;
    out[i] = sum;
}

extern "C" __global__ void row_sums(Table table, int *out)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= table.count)
        return;
    int sum = 0;
#pragma unroll 1
    for (int k = 0; k < table.lengths[i]; k++)
        sum += table.rows[i][k];
    out[i] = sum;
}

extern "C" __global__ void weighted(const float *in, float *out, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        out[i] = in[i] * *settings.scale + settings.offset;
}
