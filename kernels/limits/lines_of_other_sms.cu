extern "C" __global__ void rows_of_others(const volatile int *rows, int *out, int n, int r) {
  int b = blockIdx.x, t = threadIdx.x;
  int sum = 0;
  #pragma unroll 1
  for (int i = 0; i < n; i++) {
    if (i == b) {
      const volatile int* p = rows + i * 2560 + t * 8;
      int x0=p[0],x1=p[256],x2=p[512],x3=p[768],x4=p[1024],x5=p[1280],x6=p[1536],x7=p[1792],x8=p[2048],x9=p[2304];
      sum += x0+x1+x2+x3+x4+x5+x6+x7+x8+x9;
    } else {
      #pragma unroll 1
      for (int d = 0; d < 60; d++) sum ^= d * 3 + sum;
    }
    const volatile int* q = rows + i * 2560 + 9 * 256 + 28 * 8 + t;
    #pragma unroll 1
    for (int k = 0; k < r; k++) sum += *q;
  }
  out[b * 32 + t] = sum;
}
