// The last block adds elements that are far from each other; all blocks write the same row.
extern "C" __global__ void add_in_last(const float *in, float *out)
{
    int i = threadIdx.x;
    float value = 1.0f;
    if (blockIdx.y == 3)
        value = in[(i * i) ^ i];
    out[i] = value;
}
