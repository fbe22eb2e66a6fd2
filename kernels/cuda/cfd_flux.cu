// One step of the compressible Euler equations on an unstructured mesh of cells with four faces: how long a step may be,
// the flux through the faces (Rusanov's: the mean of both sides less the fastest wave times half the jump), the step.
// The five variables of a cell are density, momentum and energy, each variable an array over the cells; so are the
// neighbours of a face and the three parts of its normal.
// Control flow: an unrolled loop over the faces with a three-way branch: another cell, a wall (-1), the far field (-2).
// Instructions: many fused multiply-adds, divisions and square roots with their slow paths.
// Launch: 1-D, one thread per cell.
namespace fluid {
const float GAMMA = 1.4f;

struct State {
    float density, x, y, z, energy;
};

__device__ __forceinline__ State state_of(const float *variables, int cells, int cell)
{
    State s;
    s.density = variables[cell];
    s.x = variables[cells + cell];
    s.y = variables[2 * cells + cell];
    s.z = variables[3 * cells + cell];
    s.energy = variables[4 * cells + cell];
    return s;
}

__device__ __forceinline__ float pressure_of(State s)
{
    float moving = 0.5f * (s.x * s.x + s.y * s.y + s.z * s.z) / s.density;
    return (GAMMA - 1.0f) * (s.energy - moving);
}

__device__ __forceinline__ float sound_of(State s, float pressure) { return sqrtf(GAMMA * pressure / s.density); }
}

extern "C" __global__ void cfd_step_factor(const float *variables, const float *areas, float *factors, int cells)
{
    int cell = blockIdx.x * blockDim.x + threadIdx.x;
    if (cell >= cells)
        return;
    fluid::State s = fluid::state_of(variables, cells, cell);
    float speed = sqrtf(s.x * s.x + s.y * s.y + s.z * s.z) / s.density;
    factors[cell] = 0.5f / (sqrtf(areas[cell]) * (speed + fluid::sound_of(s, fluid::pressure_of(s))));
}

extern "C" __global__ void cfd_flux(const float *variables, const int *neighbours, const float *normals, const float *far, float *fluxes,
                                    int cells)
{
    int cell = blockIdx.x * blockDim.x + threadIdx.x;
    if (cell >= cells)
        return;
    fluid::State s = fluid::state_of(variables, cells, cell);
    float pressure = fluid::pressure_of(s);
    float sound = fluid::sound_of(s, pressure);
    fluid::State sum = {0.0f, 0.0f, 0.0f, 0.0f, 0.0f};
#pragma unroll 1
    for (int face = 0; face < 4; face++) {
        int neighbour = neighbours[face * cells + cell];
        float nx = normals[(face * 3 + 0) * cells + cell];
        float ny = normals[(face * 3 + 1) * cells + cell];
        float nz = normals[(face * 3 + 2) * cells + cell];
        if (neighbour == -1) {
            sum.x += pressure * nx;
            sum.y += pressure * ny;
            sum.z += pressure * nz;
            continue;
        }
        fluid::State other;
        if (neighbour == -2)
            other = fluid::state_of(far, 1, 0);
        else
            other = fluid::state_of(variables, cells, neighbour);
        float other_pressure = fluid::pressure_of(other);
        float area = sqrtf(nx * nx + ny * ny + nz * nz);
        float through = (s.x * nx + s.y * ny + s.z * nz) / s.density;
        float other_through = (other.x * nx + other.y * ny + other.z * nz) / other.density;
        float wave = fmaxf(fabsf(through) + area * sound, fabsf(other_through) + area * fluid::sound_of(other, other_pressure));
        float both = pressure + other_pressure;
        sum.density += 0.5f * (s.density * through + other.density * other_through - wave * (other.density - s.density));
        sum.x += 0.5f * (s.x * through + other.x * other_through + both * nx - wave * (other.x - s.x));
        sum.y += 0.5f * (s.y * through + other.y * other_through + both * ny - wave * (other.y - s.y));
        sum.z += 0.5f * (s.z * through + other.z * other_through + both * nz - wave * (other.z - s.z));
        sum.energy += 0.5f * ((s.energy + pressure) * through + (other.energy + other_pressure) * other_through - wave * (other.energy - s.energy));
    }
    fluxes[cell] = sum.density;
    fluxes[cells + cell] = sum.x;
    fluxes[2 * cells + cell] = sum.y;
    fluxes[3 * cells + cell] = sum.z;
    fluxes[4 * cells + cell] = sum.energy;
}

extern "C" __global__ void cfd_advance(float *variables, const float *fluxes, const float *factors, int cells)
{
    int cell = blockIdx.x * blockDim.x + threadIdx.x;
    if (cell < cells) {
        float factor = factors[cell];
#pragma unroll
        for (int variable = 0; variable < 5; variable++)
            variables[variable * cells + cell] -= factor * fluxes[variable * cells + cell];
    }
}
