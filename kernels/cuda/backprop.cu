// One layer of a neural network: forward pass with a block-wide sum per output, and the weight update.
// Control flow: halving reduction with a barrier in each round and a divergent body; straight-line update.
// Launch: blocks of 16 x 16 threads; block y handles 16 inputs, threadIdx.x selects one of 16 hidden units.
extern "C" __global__ void backprop_forward(const float *input, const float *weights, float *partial, int hidden)
{
    __shared__ float inputs[16];
    __shared__ float terms[16][16];
    int unit = threadIdx.x, line = threadIdx.y;
    int source = blockIdx.y * 16 + line;
    if (unit == 0)
        inputs[line] = input[source];
    __syncthreads();
    terms[line][unit] = inputs[line] * weights[source * hidden + unit];
    __syncthreads();
#pragma unroll 1
    for (int stride = 1; stride < 16; stride *= 2) {
        if (line % (2 * stride) == 0)
            terms[line][unit] += terms[line + stride][unit];
        __syncthreads();
    }
    if (line == 0)
        partial[blockIdx.y * hidden + unit] = terms[0][unit];
}

extern "C" __global__ void backprop_adjust(const float *delta, const float *input, float *weights, float *momentum, int hidden)
{
    const float rate = 0.3f, inertia = 0.3f;
    int unit = threadIdx.x;
    int source = blockIdx.y * 16 + threadIdx.y;
    int at = source * hidden + unit;
    float change = rate * delta[unit] * input[source] + inertia * momentum[at];
    weights[at] += change;
    momentum[at] = change;
    __syncthreads();
    if (threadIdx.y == 0 && blockIdx.y == 0) {
        float bias = rate * delta[unit] + inertia * momentum[unit];
        weights[unit] += bias;
    }
}
