// One step of heat diffusion in a stack of layers: every cell takes weighted parts of its six neighbours, of its power and of
// the surroundings; beyond a side of the stack is the cell itself.
// Control flow: one loop over the layers, the three cells above each other kept in registers; clamped borders.
// Launch: 2-D, one thread per column of cells.
template <typename Number>
__global__ void hotspot_3d(const Number *power, const Number *before, Number *after, int width, int height, int depth, Number centre,
                           Number across, Number along, Number upright, Number heating, Number leak)
{
    int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x >= width || y >= height)
        return;
    int layer = width * height;
    int here = y * width + x;
    int west = x > 0 ? here - 1 : here, east = x + 1 < width ? here + 1 : here;
    int north = y > 0 ? here - width : here, south = y + 1 < height ? here + width : here;
    Number middle = before[here], below = middle;
#pragma unroll 1
    for (int z = 0; z < depth; z++) {
        int at = z * layer;
        Number above = z + 1 < depth ? before[at + layer + here] : middle;
        after[at + here] = centre * middle + across * (before[at + west] + before[at + east]) + along * (before[at + north] + before[at + south])
            + upright * (below + above) + heating * power[at + here] + leak;
        below = middle;
        middle = above;
    }
}

template __global__ void hotspot_3d<float>(const float *, const float *, float *, int, int, int, float, float, float, float, float, float);
template __global__ void hotspot_3d<double>(const double *, const double *, double *, int, int, int, double, double, double, double, double, double);
