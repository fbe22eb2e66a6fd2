// Reads and writes images through the surface path and synchronises with the memory system.
// Instructions: SULD, SUST, MEMBAR of the three scopes, global loads of several widths and cache modes.
// Launch: 2-D blocks, one thread per pixel.
extern "C" __global__ void surface_copy(cudaSurfaceObject_t from, cudaSurfaceObject_t to, int width)
{
    int x = blockIdx.x * blockDim.x + threadIdx.x;
    int y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x < width) {
        int value;
        surf2Dread(&value, from, x * 4, y);
        surf2Dwrite(value * 2, to, x * 4, y);
    }
}

extern "C" __global__ void load_widths(const uint4 *wide, const short *narrow, const unsigned char *bytes, int4 *out, int *flag)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    uint4 q = wide[i];
    uint2 p = ((const uint2 *)wide)[i + 1];
    int s = narrow[i] + bytes[i] + __ldg(&flag[i]);
    __threadfence_block();
    out[i] = make_int4(q.x + s, q.y + p.x, q.z + p.y, q.w);
    __threadfence();
    ((short *)flag)[i] = (short)s;
    __threadfence_system();
    ((char *)flag)[i] = (char)s;
}
