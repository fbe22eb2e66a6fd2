// One step of the compressible Euler equations on an unstructured mesh of cells with four faces: how long a step may be,
// the flux through the faces (Rusanov's: the mean of both sides less the fastest wave times half the jump), the step.
// The five variables of a cell are density, momentum and energy, each variable an array over the cells; so are the
// neighbours of a face and the three parts of its normal.
// Control flow: a loop over the faces with a three-way branch: another cell, a wall (-1), the far field (-2).
// Instructions: divisions with MODE, square roots with full rounding.
// Launch: 1-D, one work-item per cell.
// Options: -cl-fp32-correctly-rounded-divide-sqrt
#include "device.h"

#define GAMMA 1.4f

typedef struct {
    float density, x, y, z, energy;
} State;

static inline State state_of(const float *variables, int cells, int cell)
{
    State s;
    s.density = variables[cell];
    s.x = variables[cells + cell];
    s.y = variables[2 * cells + cell];
    s.z = variables[3 * cells + cell];
    s.energy = variables[4 * cells + cell];
    return s;
}

static inline float pressure_of(State s)
{
    float moving = 0.5f * (s.x * s.x + s.y * s.y + s.z * s.z) / s.density;
    return (GAMMA - 1.0f) * (s.energy - moving);
}

static inline float sound_of(State s, float pressure) { return __builtin_sqrtf(GAMMA * pressure / s.density); }

kernel void cfd_step_factor(global const float *variables, global const float *areas, global float *factors, int cells)
{
    int cell = global_x();
    if (cell >= cells)
        return;
    State s = state_of(variables, cells, cell);
    float speed = __builtin_sqrtf(s.x * s.x + s.y * s.y + s.z * s.z) / s.density;
    factors[cell] = 0.5f / (__builtin_sqrtf(areas[cell]) * (speed + sound_of(s, pressure_of(s))));
}

kernel void cfd_flux(global const float *variables, global const int *neighbours, global const float *normals, global const float *far, global float *fluxes, int cells)
{
    int cell = global_x();
    if (cell >= cells)
        return;
    State s = state_of(variables, cells, cell);
    float pressure = pressure_of(s);
    float sound = sound_of(s, pressure);
    State sum = {0.0f, 0.0f, 0.0f, 0.0f, 0.0f};
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
        State other;
        if (neighbour == -2)
            other = state_of(far, 1, 0);
        else
            other = state_of(variables, cells, neighbour);
        float other_pressure = pressure_of(other);
        float area = __builtin_sqrtf(nx * nx + ny * ny + nz * nz);
        float through = (s.x * nx + s.y * ny + s.z * nz) / s.density;
        float other_through = (other.x * nx + other.y * ny + other.z * nz) / other.density;
        float wave = __builtin_fmaxf(__builtin_fabsf(through) + area * sound, __builtin_fabsf(other_through) + area * sound_of(other, other_pressure));
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

kernel void cfd_advance(global float *variables, global const float *fluxes, global const float *factors, int cells)
{
    int cell = global_x();
    if (cell < cells) {
        float factor = factors[cell];
#pragma unroll
        for (int variable = 0; variable < 5; variable++)
            variables[variable * cells + cell] -= factor * fluxes[variable * cells + cell];
    }
}
