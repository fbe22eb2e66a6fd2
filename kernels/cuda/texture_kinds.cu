// Every way to read a texture that CUDA C has words for, apart from cube maps and levels of detail.
// Instructions: TEXS, TEX, TLDS, TXD, TLD4S; handles from memory: TEX.B, TLD.B; surfaces of all kinds: SULD, SUST.
// Launch: 1-D, one thread per coordinate; the last block is ragged.
extern "C" __global__ void sample_1d(cudaTextureObject_t row, cudaTextureObject_t rows, const float *x, float *out, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n)
        return;
    out[i] = tex1D<float>(row, x[i]);
    out[i + n] = tex1DLayered<float>(rows, x[i], i % 5);
    out[i + 2 * n] = tex1DLod<float>(row, x[i], 0.0f);
}

extern "C" __global__ void sample_2d(cudaTextureObject_t image, cudaTextureObject_t stack, const float2 *at, float4 *out, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n)
        return;
    float2 p = at[i];
    out[i] = tex2D<float4>(image, p.x, p.y);
    out[i + n] = tex2DLayered<float4>(stack, p.x, p.y, i % 4);
    out[i + 2 * n] = tex2DGrad<float4>(image, p.x, p.y, make_float2(1.0f, 0.0f), make_float2(0.0f, 1.0f));
    out[i + 3 * n] = tex2DLod<float4>(image, p.x, p.y, 0.0f);
}

extern "C" __global__ void sample_3d(cudaTextureObject_t volume, const float *at, float2 *out, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        out[i] = tex3D<float2>(volume, at[3 * i], at[3 * i + 1], at[3 * i + 2]);
}

extern "C" __global__ void gather_2d(cudaTextureObject_t image, const float2 *at, float4 *out, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n)
        return;
    out[i] = tex2Dgather<float4>(image, at[i].x, at[i].y, 0);
    out[i + n] = tex2Dgather<float4>(image, at[i].x, at[i].y, 1);
}

// Texels as they are: integers of several sizes, from linear memory and from arrays.
extern "C" __global__ void fetch_integers(cudaTextureObject_t bytes, cudaTextureObject_t image, const int *at, int *out, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n)
        return;
    uchar4 four = tex1Dfetch<uchar4>(bytes, at[i]);
    short2 two = tex2D<short2>(image, at[i] % 9, at[i] % 7);
    out[i] = four.x + 3 * four.y + 5 * four.z + 7 * four.w;
    out[i + n] = two.x - 11 * two.y;
}

// Which object a thread reads is not known before: the handle is in a register.
extern "C" __global__ void choose_texture(const unsigned long long *offset, cudaTextureObject_t first, cudaTextureObject_t second, const float *x, float *out, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n)
        return;
    cudaTextureObject_t chosen = offset[0] + (i % 2 == 0 ? first : second);
    out[i] = tex2D<float>(chosen, x[i], 0.5f);
    out[i + n] = tex2DLod<float>(chosen, 0.5f, x[i], 0.0f);
}

// Surfaces of all kinds, bytes from one and 16 at a time, and what lies outside.
extern "C" __global__ void surface_kinds(cudaSurfaceObject_t row, cudaSurfaceObject_t image, cudaSurfaceObject_t volume, cudaSurfaceObject_t stack, int width, int height)
{
    int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y;
    if (x >= width)
        return;
    unsigned char byte = surf1Dread<unsigned char>(row, x - 2, cudaBoundaryModeClamp);
    short2 pair = surf2Dread<short2>(image, (x + 1) * 4, y - 1, cudaBoundaryModeZero);
    int4 four = surf3Dread<int4>(volume, x * 16, y, (x + y) % 3);
    float one = surf2DLayeredread<float>(stack, x * 4, y, 1);
    surf2DLayeredwrite(one + byte, stack, x * 4, y, 0);
    surf3Dwrite(make_int4(four.y, four.x + pair.x, four.w, four.z - pair.y), volume, x * 16, y, (x + y) % 3);
    if (y == 0)
        surf1Dwrite((unsigned char)(byte + 1), row, x + width, cudaBoundaryModeZero);
}
