// Stiff chemical kinetics, one mixture per thread: reactions of power-law rates with falloff and back reactions, advanced by linearly
// implicit stages that share one matrix, with an adaptive step. Each stage solves the linear system by Gaussian elimination with
// partial pivoting. The weights of the stages are made up: this kernel is about its control flow.
// Control flow: a hundred loops whose counts differ from lane to lane, nested five deep, left early for three reasons; in them double-precision
// divisions and powers with their slow paths. The largest warp-level graph of our kernels.
// Launch: 1-D, one thread per mixture; concentrations stored by thread.
namespace stiff {
enum Fate { FINE, NEGATIVE, SINGULAR, HUGE_NUMBER };
constexpr int MOST = 8, STAGES = 14;

#define UNLESS_FINE(step) \
    if ((fate = step) != FINE) \
        break;
#define STAGE(now, last, before) \
    UNLESS_FINE(advance(n, next, u[last], 0.125, u[before], -0.0625, next)) \
    UNLESS_FINE(rates(s, warmth, next, u[now])) \
    UNLESS_FINE(combine(n, u[now], u[before], 1, u[last], -2, h)) \
    UNLESS_FINE(substitute(n, m, rows, u[now]))

struct System {
    int species, reactions;
    const double *factor, *barrier;
    const int *from, *to;
    const double *order, *falloff, *backward;
};

// dc = Σ rates of the reactions that make or use each species.
__device__ __forceinline__ Fate rates(const System &s, double warmth, const double *c, double *dc)
{
#pragma unroll 1
    for (int i = 0; i < s.species; i++)
        dc[i] = 0;
#pragma unroll 1
    for (int r = 0; r < s.reactions; r++) {
        if (!(c[s.from[r]] >= 0))
            return NEGATIVE;
        double forward = s.factor[r] * pow(warmth, -s.barrier[r]);
        if (s.falloff[r] != 0) {
            // Between the limits of low and of high pressure (Troe 1979).
            double all = 0;
#pragma unroll 1
            for (int i = 0; i < s.species; i++) {
                if (c[i] > 1e20)
                    return HUGE_NUMBER;
                all += c[i] / (1 + s.barrier[i]);
            }
            double reduced = s.falloff[r] * all / forward;
            if (reduced > 0) {
                double wide = log(reduced) / (1 + fabs(s.barrier[r]));
                forward *= reduced / (1 + reduced) * pow(0.6, 1 / (1 + wide * wide));
            }
        }
        double speed = forward * pow(c[s.from[r]], s.order[r]);
        if (s.backward[r] != 0) {
            double back = forward / (s.backward[r] * pow(warmth, s.barrier[r]));
            speed -= back * pow(c[s.to[r]], s.order[r]);
        }
        dc[s.from[r]] -= speed;
        dc[s.to[r]] += speed;
        if (!(speed < 1e30))
            return HUGE_NUMBER;
    }
    return FINE;
}

// m = I / (γ h) - J, by differences.
__device__ __forceinline__ Fate matrix(const System &s, double warmth, double h, double *c, const double *f, double *df, double *m)
{
#pragma unroll 1
    for (int j = 0; j < s.species; j++) {
        double kept = c[j], step = 1e-7 * fmax(fabs(kept), 1e-5);
        c[j] = kept + step;
        Fate fate = rates(s, warmth, c, df);
        if (fate != FINE)
            return fate;
        c[j] = kept;
#pragma unroll 1
        for (int i = 0; i < s.species; i++) {
            double slope = (df[i] - f[i]) / step;
            if (!(fabs(slope) < 1e30))
                return HUGE_NUMBER;
            m[i * MOST + j] = (i == j ? 1 / (0.435 * h) : 0) - slope;
        }
    }
    return FINE;
}

// Factors m in place; refused when it is singular.
__device__ __forceinline__ Fate eliminate(int n, double *m, int *rows)
{
#pragma unroll 1
    for (int k = 0; k < n; k++) {
        int best = k;
#pragma unroll 1
        for (int i = k + 1; i < n; i++)
            if (fabs(m[i * MOST + k]) > fabs(m[best * MOST + k]))
                best = i;
        rows[k] = best;
        if (m[best * MOST + k] == 0)
            return SINGULAR;
        if (best != k)
#pragma unroll 1
            for (int j = 0; j < n; j++) {
                double t = m[k * MOST + j];
                m[k * MOST + j] = m[best * MOST + j];
                m[best * MOST + j] = t;
            }
#pragma unroll 1
        for (int i = k + 1; i < n; i++) {
            double q = m[i * MOST + k] / m[k * MOST + k];
            m[i * MOST + k] = q;
#pragma unroll 1
            for (int j = k + 1; j < n; j++)
                m[i * MOST + j] -= q * m[k * MOST + j];
        }
    }
    return FINE;
}

__device__ __forceinline__ Fate substitute(int n, const double *m, const int *rows, double *b)
{
#pragma unroll 1
    for (int k = 0; k < n; k++) {
        double t = b[rows[k]];
        b[rows[k]] = b[k];
        b[k] = t;
#pragma unroll 1
        for (int i = k + 1; i < n; i++)
            b[i] -= m[i * MOST + k] * t;
    }
#pragma unroll 1
    for (int k = n - 1; k >= 0; k--) {
        double t = b[k];
#pragma unroll 1
        for (int j = k + 1; j < n; j++)
            t -= m[k * MOST + j] * b[j];
        b[k] = t / m[k * MOST + k];
        if (!(fabs(b[k]) < 1e30))
            return HUGE_NUMBER;
    }
    return FINE;
}

__device__ __forceinline__ double norm(int n, const double *error, const double *c, double tolerance)
{
    double sum = 0;
#pragma unroll 1
    for (int i = 0; i < n; i++) {
        double e = error[i] / (tolerance * (1e-3 + fabs(c[i])));
        sum += e * e;
    }
    return sqrt(sum / n);
}

// to = Σ of what is known so far; refused when a concentration is no number or negative.
__device__ __forceinline__ Fate advance(int n, const double *c, const double *u1, double a1, const double *u2, double a2, double *to)
{
#pragma unroll 1
    for (int i = 0; i < n; i++) {
        double sum = c[i] + a1 * u1[i] + a2 * u2[i];
        if (!(sum >= 0))
            return NEGATIVE;
        to[i] = sum;
    }
    return FINE;
}

__device__ __forceinline__ Fate combine(int n, double *u, const double *u1, double c1, const double *u2, double c2, double h)
{
#pragma unroll 1
    for (int i = 0; i < n; i++) {
        double more = (c1 * u1[i] + c2 * u2[i]) / h;
        if (!(fabs(more) < 1e30))
            return HUGE_NUMBER;
        u[i] += more;
    }
    return FINE;
}

extern "C" __global__ void stiff_solver(double *mixtures, const double *warmths, const double *ends, const int *species, const int *reactions,
                                        const double *factor, const double *barrier, const int *from, const int *to, const double *order,
                                        const double *falloff, const double *backward, int *steps_taken, int mixtures_count, int most_steps, double tolerance)
{
    int thread = blockIdx.x * blockDim.x + threadIdx.x;
    if (thread >= mixtures_count)
        return;
    System s = {species[thread], reactions[thread], factor, barrier, from, to, order, falloff, backward};
    double c[MOST], f[MOST], u[STAGES][MOST], next[MOST], m[MOST * MOST];
    int rows[MOST];
    int n = s.species;
#pragma unroll 1
    for (int i = 0; i < n; i++)
        next[i] = c[i] = mixtures[thread * MOST + i];
    double time = 0, h = ends[thread] / 100, warmth = warmths[thread];
    int steps = 0, negatives = 0, singulars = 0;
#pragma unroll 1
    while (time < ends[thread] && steps < most_steps) {
        steps++;
        double error = 2;
        Fate fate = FINE;
        do {
            UNLESS_FINE(rates(s, warmth, c, f))
            UNLESS_FINE(matrix(s, warmth, h, c, f, u[2], m))
            UNLESS_FINE(eliminate(n, m, rows))
            UNLESS_FINE(combine(n, u[0], f, h, f, 0, h))
            UNLESS_FINE(substitute(n, m, rows, u[0]))
            STAGE(1, 0, 0)
            STAGE(2, 1, 0)
            STAGE(3, 2, 1)
            STAGE(4, 3, 2)
            STAGE(5, 4, 3)
            STAGE(6, 5, 4)
            STAGE(7, 6, 5)
            STAGE(8, 7, 6)
            STAGE(9, 8, 7)
            STAGE(10, 9, 8)
            STAGE(11, 10, 9)
            STAGE(12, 11, 10)
            STAGE(13, 12, 11)
            error = norm(n, u[13], c, tolerance);
        } while (false);
        switch (fate) {
        case NEGATIVE:
            negatives++;
            h *= 0.5;
            continue;
        case SINGULAR:
            singulars++;
            h *= 0.25;
            continue;
        case HUGE_NUMBER:
            steps += 3;
            break;
        default:
            break;
        }
        if (error <= 1) {
            time += h;
#pragma unroll 1
            for (int i = 0; i < n; i++)
                c[i] = next[i];
        }
        double change = 0.9 * pow(fmax(error, 1e-6), -1.0 / 3);
        h = fmin(h * fmin(fmax(change, 0.2), 5.0), ends[thread] - time);
    }
#pragma unroll 1
    for (int i = 0; i < n; i++)
        mixtures[thread * MOST + i] = c[i];
    steps_taken[thread] = steps + (negatives << 10) + (singulars << 20);
}
}
