// Kernels that state each kind of resource in their metadata; one kernel a feature.
struct Large { int v[3000]; };
struct Medium { int v[1000]; };
__constant__ int table[64];
__device__ int variable[16];
extern "C" __global__ void large_params(Large a, int* out) { out[threadIdx.x] = a.v[threadIdx.x]; }
extern "C" __global__ void medium_params(Medium a, int* out, char c) { out[threadIdx.x] = a.v[threadIdx.x] + c; }
extern "C" __global__ void __launch_bounds__(256, 2) bounded(int* out) { out[threadIdx.x] = table[threadIdx.x] + variable[blockIdx.z]; }
#if __CUDA_ARCH__ >= 900
extern "C" __global__ void __cluster_dims__(2, 2, 1) cluster(int* out) { out[threadIdx.x] = 1; }
extern "C" __global__ void __launch_bounds__(128, 1, 8) cluster_rank(int* out) { out[threadIdx.x] = 1; }
#endif
extern "C" __global__ void dynamic_shared(int* out) {
  extern __shared__ int s[];
  s[threadIdx.x] = out[0];
  __syncthreads();
  out[threadIdx.x] = s[threadIdx.x ^ 1];
}
extern "C" __global__ void static_shared(int* out) {
  __shared__ int s[300];
  s[threadIdx.x] = out[0];
  asm volatile("bar.sync 5;");
  out[threadIdx.x] = s[threadIdx.x ^ 1];
}
__device__ __noinline__ int fibonacci(int n) {
  int b[10];
  for (int i = 0; i < 10; i++) b[i] = n * i;
  return n < 2 ? n : fibonacci(n - 1) + fibonacci(n - 2) + b[n % 10];
}
extern "C" __global__ void recursive(int* out) { out[0] = fibonacci(out[1]); }
extern "C" __global__ void __maxnreg__(40) limited(int* out) { out[threadIdx.x] = 1; }
extern "C" int printf(const char*, ...);
extern "C" __global__ void prints(int* out) { printf("x %d\n", out[0]); }
typedef int (*Function)(int);
__device__ int add(int x) { return x + 1; }
__device__ int triple(int x) { return x * 3; }
__device__ Function functions[2] = {add, triple};
extern "C" __global__ void pointer(int* out) { out[0] = functions[out[1] & 1](out[2]); }
