// Quantised fully connected layer: int8 weights times int8 activations with dp4a, one warp per
// output, then per-channel scale, bias and requantisation to int8.
extern "C" __global__ void int8_gemv(const int4 *__restrict__ weights, const int4 *__restrict__ activations,
                                     const int *__restrict__ bias, const float *__restrict__ scales,
                                     signed char *__restrict__ out, int outputs, int vecs, int zeroPoint)
{
    const int row = blockIdx.x * (blockDim.x >> 5) + (threadIdx.x >> 5);
    const int lane = threadIdx.x & 31;
    if (row >= outputs)
        return;

    int acc = 0;
    const int4 *w = weights + row * vecs;
    for (int i = lane; i < vecs; i += 32) {
        int4 a = activations[i];
        int4 b = w[i];
        acc = __dp4a(a.x, b.x, acc);
        acc = __dp4a(a.y, b.y, acc);
        acc = __dp4a(a.z, b.z, acc);
        acc = __dp4a(a.w, b.w, acc);
    }
    for (int offset = 16; offset > 0; offset >>= 1)
        acc += __shfl_down_sync(0xffffffff, acc, offset);

    if (lane == 0) {
        float v = (acc + bias[row]) * scales[row];
        int r = __float2int_rn(v) + zeroPoint;
        out[row] = (signed char)max(-128, min(127, r));
    }
}
