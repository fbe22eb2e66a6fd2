namespace outer { __global__ void tiny(int *out) { *out = 1; } }
