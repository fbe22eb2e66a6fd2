// Softmax of each row of a matrix, one block per row: maximum, sum of exponentials, scaling,
// with tree reductions in shared memory.
extern "C" __global__ void softmax_rows(const float *__restrict__ logits, float *__restrict__ probs, int cols, float temperature)
{
    extern __shared__ float buf[];
    const int tid = threadIdx.x;
    const float *row = logits + (size_t)blockIdx.x * cols;
    float *out = probs + (size_t)blockIdx.x * cols;

    float m = -3.402823466e38f;
    for (int c = tid; c < cols; c += blockDim.x)
        m = fmaxf(m, row[c]);
    buf[tid] = m;
    __syncthreads();
    for (int s = blockDim.x / 2; s > 0; s >>= 1) {
        if (tid < s)
            buf[tid] = fmaxf(buf[tid], buf[tid + s]);
        __syncthreads();
    }
    m = buf[0];
    __syncthreads();

    float sum = 0.0f;
    for (int c = tid; c < cols; c += blockDim.x) {
        float e = __expf((row[c] - m) / temperature);
        out[c] = e;
        sum += e;
    }
    buf[tid] = sum;
    __syncthreads();
    for (int s = blockDim.x / 2; s > 0; s >>= 1) {
        if (tid < s)
            buf[tid] += buf[tid + s];
        __syncthreads();
    }

    const float scale = 1.0f / buf[0];
    for (int c = tid; c < cols; c += blockDim.x)
        out[c] *= scale;
}
