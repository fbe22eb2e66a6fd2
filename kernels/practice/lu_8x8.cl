// LU factorisation with partial pivoting of a batch of 8x8 matrices, one work-group of 8x8
// work-items per matrix. The pivot rows are stored; a zero pivot is reported.
// Options: -gline-tables-only
#include "opencl.h"

#define N 8

kernel __attribute__((reqd_work_group_size(N, N, 1)))
void lu_8x8(global float *matrices, global int *permutations, global int *failed)
{
    local float m[N][N];
    local int pivotRow;

    const int c = get_local_id(0), r = get_local_id(1);
    const int batch = get_group_id(0);
    global float *a = matrices + batch * N * N;
    m[r][c] = a[r * N + c];
    barrier(CLK_LOCAL_MEM_FENCE);

    for (int k = 0; k < N; k++) {
        if (r == 0 && c == 0) {
            int best = k;
            for (int i = k + 1; i < N; i++)
                if (fabs(m[i][k]) > fabs(m[best][k]))
                    best = i;
            pivotRow = best;
            if (m[best][k] == 0.0f)
                failed[batch] = k + 1;
        }
        barrier(CLK_LOCAL_MEM_FENCE);

        int p = pivotRow;
        if (r == k && p != k) {
            float t = m[k][c];
            m[k][c] = m[p][c];
            m[p][c] = t;
        }
        if (c == 0 && r == k)
            permutations[batch * N + k] = p;
        barrier(CLK_LOCAL_MEM_FENCE);

        float factor = 0.0f;
        if (r > k)
            factor = m[r][k] / m[k][k];
        barrier(CLK_LOCAL_MEM_FENCE);
        if (r > k) {
            if (c == k)
                m[r][c] = factor;
            else if (c > k)
                m[r][c] -= factor * m[k][c];
        }
        barrier(CLK_LOCAL_MEM_FENCE);
    }
    a[r * N + c] = m[r][c];
}
