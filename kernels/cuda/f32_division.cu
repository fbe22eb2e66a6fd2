// Single-precision division with full rounding.
// Control flow: CAL into the compiler's slow-path subroutine under divergence. In the loop of f32_continued_fraction
// that subroutine has a branch on guard AND condition code (@P BRA CC.EQ).
// Launch: 1-D, one thread per element.
extern "C" __global__ void f32_division(const float *a, const float *b, float *out)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    out[i] = a[i] / b[i];
}

extern "C" __global__ void f32_continued_fraction(const float *terms, float *out, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    float value = terms[i];
#pragma unroll 1
    for (int j = 0; j < n; j++)
        value = terms[j] / value;
    out[i] = value;
}
