// Texture and surface references: the module has a name for each, the host binds an image to it, and the code reads the
// number of the texture from a word of constant bank 0 behind the parameters (a relocation says which).
//   reference_filter: out[y * width + x] = table[x] + the mean of `picture` around (x, y), weighted by `weights`
//   reference_mirror: writes each row of `picture` the other way round into the surface `canvas`
// Only compilers before CUDA 12 know references.
// Launch: one block, a thread for each pixel.
texture<float, cudaTextureType2D, cudaReadModeElementType> picture;
texture<int, cudaTextureType1D, cudaReadModeElementType> table;
texture<uchar4, cudaTextureType1D, cudaReadModeNormalizedFloat> weights;
surface<void, cudaSurfaceType2D> canvas;

extern "C" __global__ void reference_filter(float *out, int width)
{
    int x = threadIdx.x, y = threadIdx.y;
    float4 weight = tex1D(weights, x);
    float sum = tex2D(picture, x, y) * weight.x + tex2D(picture, x + 1, y) * weight.y;
    sum += tex2D(picture, x, y + 1) * weight.z + tex2D(picture, x + 1, y + 1) * weight.w;
    out[y * width + x] = sum + tex1Dfetch(table, x);
}

extern "C" __global__ void reference_mirror(int width)
{
    int x = threadIdx.x, y = threadIdx.y;
    surf2Dwrite(tex2D(picture, width - 1 - x, y), canvas, x * 4, y);
}
