__device__ __noinline__ int twice(int a) { return a + a; }
extern "C" __global__ void debug(int *out) { *out = twice(*out); }
