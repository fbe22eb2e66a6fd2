// Forward kinematics of a six-joint arm from Denavit-Hartenberg parameters: position of the
// tool and distance to the nearest obstacle, for many joint configurations.
#define JOINTS 6

struct DhRow {
    float a, alpha, d, offset;
};

__constant__ DhRow arm[JOINTS];

extern "C" __global__ void arm_kinematics(const float *joints, const float4 *obstacles, int numObstacles,
                                          float4 *result, int configurations)
{
    for (int q = blockIdx.x * blockDim.x + threadIdx.x; q < configurations; q += blockDim.x * gridDim.x) {
        float T[3][4] = {{1, 0, 0, 0}, {0, 1, 0, 0}, {0, 0, 1, 0}};
        float clearance = 1e30f;

        for (int j = 0; j < JOINTS; j++) {
            float st, ct, sa, ca;
            sincosf(joints[q * JOINTS + j] + arm[j].offset, &st, &ct);
            sincosf(arm[j].alpha, &sa, &ca);
            const float M[3][4] = {{ct, -st * ca, st * sa, arm[j].a * ct},
                                   {st, ct * ca, -ct * sa, arm[j].a * st},
                                   {0.0f, sa, ca, arm[j].d}};
            float R[3][4];
            for (int r = 0; r < 3; r++) {
                for (int c = 0; c < 4; c++) {
                    float sum = c == 3 ? T[r][3] : 0.0f;
                    for (int k = 0; k < 3; k++)
                        sum += T[r][k] * M[k][c];
                    R[r][c] = sum;
                }
            }
            for (int r = 0; r < 3; r++)
                for (int c = 0; c < 4; c++)
                    T[r][c] = R[r][c];

            for (int o = 0; o < numObstacles; o++) {
                float4 s = obstacles[o];
                float dx = T[0][3] - s.x, dy = T[1][3] - s.y, dz = T[2][3] - s.z;
                clearance = fminf(clearance, sqrtf(dx * dx + dy * dy + dz * dz) - s.w);
            }
        }
        result[q] = make_float4(T[0][3], T[1][3], T[2][3], clearance);
    }
}
