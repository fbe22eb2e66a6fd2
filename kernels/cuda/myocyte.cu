// Heart muscle cell: the eight coupled equations of Beeler and Reuter, "Reconstruction of the action potential of ventricular
// myocardial fibres" (J. Physiol. 1977): voltage, calcium, six gates. One thread advances one cell; cells differ in
// temperature, stimulus and state. Gates are stiff, so a step follows their exact solution at constant voltage
// (Rush and Larsen 1978); voltage and calcium take a step of Euler's method.
// Control flow: a uniform loop over steps, a divergent stimulus, a two-sided branch where a rate is 0/0; exponentials, a logarithm
// and a power, with their special cases.
// Launch: 1-D, one thread per cell; gates stored by gate.
namespace myocyte {
// A function, because there are twenty-odd of it.
template <typename Real>
__device__ __noinline__ Real power_of_e(Real x)
{
    return exp(x);
}

// How fast a gate opens or closes: c1 exp(c2 (v + at)) / (exp(c3 (v + at)) + 1).
template <typename Real>
__device__ __noinline__ Real rate(Real v, Real at, Real c1, Real c2, Real c3)
{
    return c1 * power_of_e(c2 * (v + at)) / (power_of_e(c3 * (v + at)) + 1);
}

template <typename Real>
__device__ __noinline__ Real settle(Real gate, Real opening, Real closing, Real dt)
{
    Real sum = opening + closing, rest = opening / sum;
    return rest + (gate - rest) * power_of_e(-dt * sum);
}

template <typename Real>
__global__ void advance(Real *voltages, Real *calciums, Real *gates, const Real *stimulus, const Real *celsius, int cells, int steps, int stimulated, Real dt)
{
    int cell = blockIdx.x * blockDim.x + threadIdx.x;
    if (cell >= cells)
        return;
    Real v = voltages[cell], calcium = calciums[cell];
    Real m = gates[cell], h = gates[cells + cell], j = gates[2 * cells + cell];
    Real d = gates[3 * cells + cell], f = gates[4 * cells + cell], x = gates[5 * cells + cell];
    // Gates are three times as fast when it is ten degrees warmer.
    Real gate_dt = dt * pow(Real(3), (celsius[cell] - Real(37)) / Real(10));
#pragma unroll 1
    for (int step = 0; step < steps; step++) {
        Real early = Real(0.04) * (v + 23);
        // The linear part of the outward current divides 0 by 0 at -23 mV.
        Real linear = fabs(early) < Real(1e-4) ? Real(5) : Real(0.2) * (v + 23) / (1 - power_of_e(-early));
        Real outward = Real(0.35) *
                       (4 * (power_of_e(Real(0.04) * (v + 85)) - 1) / (power_of_e(Real(0.08) * (v + 53)) + power_of_e(Real(0.04) * (v + 53))) + linear);
        Real delayed = x * Real(0.8) * (power_of_e(Real(0.04) * (v + 77)) - 1) / power_of_e(Real(0.04) * (v + 35));
        Real sodium = (4 * m * m * m * h * j + Real(0.003)) * (v - 50);
        Real inward = Real(0.09) * d * f * (v + Real(82.3) + Real(13.0287) * log(calcium));
        Real current = outward + delayed + sodium + inward;
        if (step < stimulated && stimulus[cell] != 0)
            current -= stimulus[cell];

        Real slow = v + 47;
        Real opening_m = fabs(slow) < Real(1e-3) ? Real(10) : slow / (1 - power_of_e(Real(-0.1) * slow));
        m = settle(m, opening_m, 40 * power_of_e(Real(-0.056) * (v + 72)), gate_dt);
        h = settle(h, Real(0.126) * power_of_e(Real(-0.25) * (v + 77)), rate<Real>(v, 22.5, 1.7, 0, -0.082), gate_dt);
        j = settle(j, rate<Real>(v, 78, 0.055, -0.25, -0.2), rate<Real>(v, 32, 0.3, 0, -0.1), gate_dt);
        d = settle(d, rate<Real>(v, -5, 0.095, -0.01, -0.072), rate<Real>(v, 44, 0.07, -0.017, 0.05), gate_dt);
        f = settle(f, rate<Real>(v, 28, 0.012, -0.008, 0.15), rate<Real>(v, 30, 0.0065, -0.02, -0.2), gate_dt);
        x = settle(x, rate<Real>(v, 50, 0.0005, 0.083, 0.057), rate<Real>(v, 20, 0.0013, -0.06, -0.04), gate_dt);
        calcium += dt * (Real(-1e-7) * inward + Real(0.07) * (Real(1e-7) - calcium));
        v -= dt * current;
    }
    voltages[cell] = v;
    calciums[cell] = calcium;
    gates[cell] = m;
    gates[cells + cell] = h;
    gates[2 * cells + cell] = j;
    gates[3 * cells + cell] = d;
    gates[4 * cells + cell] = f;
    gates[5 * cells + cell] = x;
}

template __global__ void advance<float>(float *, float *, float *, const float *, const float *, int, int, int, float);
template __global__ void advance<double>(double *, double *, double *, const double *, const double *, int, int, int, double);
}
