// One dense layer of a perceptron for a batch of inputs: outputs = inputs x weights + biases, then (ACTIVE) max(0, .).
// The network of Adalbert, Carle, Rochange, "PasTiS" (ERTS 2022), section V, is three such launches: 784-128-64-10, ReLU each time.
// Control flow: a loop over tiles with two barriers, the inner product unrolled, guards for partial tiles in all three sizes.
// Launch: blocks of 16 x 16 threads, grid of (outputs / 16, batch / 16) blocks, rounded up.
namespace perceptron {
template <typename Real, bool ACTIVE>
__global__ void layer(const Real *inputs, const Real *weights, const Real *biases, Real *outputs, int batch, int wide, int narrow)
{
    const int TILE = 16;
    __shared__ Real left[TILE][TILE], right[TILE][TILE];
    int x = threadIdx.x, y = threadIdx.y;
    int row = blockIdx.y * TILE + y, column = blockIdx.x * TILE + x;
    Real sum = 0;
#pragma unroll 1
    for (int start = 0; start < wide; start += TILE) {
        left[y][x] = row < batch && start + x < wide ? inputs[row * wide + start + x] : Real(0);
        right[y][x] = column < narrow && start + y < wide ? weights[(start + y) * narrow + column] : Real(0);
        __syncthreads();
#pragma unroll
        for (int k = 0; k < TILE; k++)
            sum += left[y][k] * right[k][x];
        __syncthreads();
    }
    if (row >= batch || column >= narrow)
        return;
    sum += biases[column];
    if constexpr (ACTIVE)
        sum = sum > 0 ? sum : Real(0);
    outputs[row * narrow + column] = sum;
}

template __global__ void layer<double, true>(const double *, const double *, const double *, double *, int, int, int);
template __global__ void layer<double, false>(const double *, const double *, const double *, double *, int, int, int);
template __global__ void layer<float, true>(const float *, const float *, const float *, float *, int, int, int);
template __global__ void layer<float, false>(const float *, const float *, const float *, float *, int, int, int);
}
