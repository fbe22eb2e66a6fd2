// Reads one image through the texture path.
// Instructions: TEXS, TLDS, TLD4S, in a loop and guarded. The long forms are in rare_instructions.cu.
// Launch: 2-D blocks, one thread per pixel.
extern "C" __global__ void texture_blur(cudaTextureObject_t image, float *out, int width, int radius)
{
    int x = blockIdx.x * blockDim.x + threadIdx.x;
    int y = blockIdx.y * blockDim.y + threadIdx.y;
    float sum = 0.0f;
#pragma unroll 1
    for (int d = -radius; d <= radius; d++)
        sum += tex2D<float>(image, x + d + 0.5f, y + 0.5f);
    out[y * width + x] = sum;
}

extern "C" __global__ void texture_gather(cudaTextureObject_t table, cudaTextureObject_t image, float *out, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    float4 entry = tex1Dfetch<float4>(table, i);
    float value = entry.x * entry.y + entry.z;
    if (value > entry.w) {
        float4 four = tex2Dgather<float4>(image, value, entry.x, 0);
        value = four.x + four.y + four.z + four.w + tex3D<float>(image, value, four.x, four.y);
    } else {
        value += tex2DLod<float>(image, value, entry.y, entry.z);
    }
    out[i] = value;
}
