// Particles in boxes: each feels those of its own box and of the neighbouring boxes, less with the square of the distance
// in an exponential; potential and force.
// Control flow: a loop over neighbouring boxes (as many as the box has) with barriers, in it a loop over the particles of
// that box, which threads without a particle skip.
// Instructions: the exponential function in both precisions, vector loads and stores.
// Launch: one block per box, at least as many threads as a box has particles, at most 64.
namespace lava {
template <typename Number>
struct Four {
    Number x, y, z, w;
};

// Particles hold x, y, z and the charge; results the potential and three parts of the force.
template <typename Number>
__global__ void boxes(const Four<Number> *particles, const int *starts, const int *neighbour_starts, const int *neighbours,
                      Four<Number> *results, Number falloff)
{
    __shared__ Four<Number> others[64];
    int t = threadIdx.x;
    int first = starts[blockIdx.x], mine = starts[blockIdx.x + 1] - first;
    Four<Number> self = {0, 0, 0, 0}, sum = {0, 0, 0, 0};
    if (t < mine)
        self = particles[first + t];
#pragma unroll 1
    for (int entry = neighbour_starts[blockIdx.x]; entry < neighbour_starts[blockIdx.x + 1]; entry++) {
        int box = neighbours[entry];
        int start = starts[box], count = starts[box + 1] - start;
        __syncthreads();
        if (t < count)
            others[t] = particles[start + t];
        __syncthreads();
        if (t < mine) {
#pragma unroll 1
            for (int j = 0; j < count; j++) {
                Number dx = self.x - others[j].x, dy = self.y - others[j].y, dz = self.z - others[j].z;
                Number part = others[j].w * exp(-falloff * (dx * dx + dy * dy + dz * dz));
                Number strength = 2 * falloff * part;
                sum.w += part;
                sum.x += strength * dx;
                sum.y += strength * dy;
                sum.z += strength * dz;
            }
        }
    }
    if (t < mine)
        results[first + t] = sum;
}

template __global__ void boxes<float>(const Four<float> *, const int *, const int *, const int *, Four<float> *, float);
template __global__ void boxes<double>(const Four<double> *, const int *, const int *, const int *, Four<double> *, double);
}
