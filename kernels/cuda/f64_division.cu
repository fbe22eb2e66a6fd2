// Double-precision division, reciprocal and square root.
// Control flow: CAL into compiler-supplied subroutines for the slow paths, under divergence.
// Launch: 1-D, one thread per element.
extern "C" __global__ void f64_division(const double *a, const double *b, double *out)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    out[i] = a[i] / b[i];
}

extern "C" __global__ void f64_sqrt_reciprocal(const double *a, double *out, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    double value = a[i];
#pragma unroll 1
    for (int j = 0; j < n; j++) {
        if (value > 2.0)
            value = sqrt(value);
        else
            value = 1.0 / (value + 0.5);
    }
    out[i] = value;
}

// 64-bit integer division is a subroutine too.
extern "C" __global__ void i64_division(const long long *a, const long long *b, long long *out)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    out[i] = a[i] / b[i] + a[i] % b[0];
}
