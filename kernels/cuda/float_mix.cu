// A tour of single- and double-precision instructions and conversions.
// Instructions: MUFU functions, RRO, FMNMX, FCMP, F2F, F2I, I2F, DSETP, DMNMX, rounding modes.
// Control flow of float_sine: the argument reduction of sinf for large values is a loop under divergence.
// Launch: 1-D, one thread per element.
extern "C" __global__ void float_mix(const float *in, float *out, double *wide, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    float x = in[i], y = in[i + n];
    float fast = __sinf(x) + __cosf(y) + __expf(x) * __logf(y) + rsqrtf(x);
    float exact = fminf(x, y) - fmaxf(x, y) + rintf(x) + floorf(y) + truncf(x * y) + __fmaf_rz(x, y, fast);
    exact += __int2float_ru(n) + (float)(unsigned)x + __saturatef(y);
    double d = (double)x * y + (double)n;
    double e = fmax(d, (double)y) - fmin(d, 3.0);
    wide[i] = d < e ? __fma_rd(d, e, 1.0) : e + (double)(long long)d;
    out[i] = fast + exact;
}

extern "C" __global__ void float_sine(const float *in, float *out)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    out[i] = sinf(in[i]) + powf(in[i], 1.5f);
}
