// Layer normalisation with scale and shift, one warp per row, rows read as float4.
// Mean and variance come from butterfly shuffles.
#define FULL_MASK 0xffffffffu

__device__ float warpAllSum(float v)
{
    for (int m = 16; m >= 1; m /= 2)
        v += __shfl_xor_sync(FULL_MASK, v, m);
    return v;
}

extern "C" __global__ void layernorm_rows(const float4 *__restrict__ x, const float4 *__restrict__ gamma,
                                          const float4 *__restrict__ beta, float4 *__restrict__ y,
                                          int rows, int vecCols, float eps)
{
    const int warpsPerBlock = blockDim.x / 32;
    const int lane = threadIdx.x & 31;

    for (int row = blockIdx.x * warpsPerBlock + threadIdx.x / 32; row < rows; row += gridDim.x * warpsPerBlock) {
        const float4 *in = x + (size_t)row * vecCols;
        float4 *out = y + (size_t)row * vecCols;

        float sum = 0.0f;
        for (int c = lane; c < vecCols; c += 32) {
            float4 v = in[c];
            sum += v.x + v.y + v.z + v.w;
        }
        const float mean = warpAllSum(sum) / (4 * vecCols);

        float sq = 0.0f;
        for (int c = lane; c < vecCols; c += 32) {
            float4 v = in[c];
            float a = v.x - mean, b = v.y - mean, d = v.z - mean, e = v.w - mean;
            sq += a * a + b * b + d * d + e * e;
        }
        const float inv = rsqrtf(warpAllSum(sq) / (4 * vecCols) + eps);

        for (int c = lane; c < vecCols; c += 32) {
            float4 v = in[c], g = gamma[c], b = beta[c];
            v.x = (v.x - mean) * inv * g.x + b.x;
            v.y = (v.y - mean) * inv * g.y + b.y;
            v.z = (v.z - mean) * inv * g.z + b.z;
            v.w = (v.w - mean) * inv * g.w + b.w;
            out[c] = v;
        }
    }
}
