// Kalman filters of a multi-object tracker, one thread per track: constant velocity in the
// plane, noisy positions as measurements. Missing detections are flagged by a mask.
struct Noise {
    float dt;
    float process;
    float measurement;
};

extern "C" __global__ void kalman_tracks(float4 *state, float *cov, const float2 *detections, const unsigned char *valid,
                                         Noise noise, int tracks, int steps)
{
    int t = blockIdx.x * blockDim.x + threadIdx.x;
    if (t >= tracks)
        return;

    float4 s = state[t];
    float x[4] = {s.x, s.y, s.z, s.w};
    float P[4][4];
    for (int i = 0; i < 4; i++)
        for (int j = 0; j < 4; j++)
            P[i][j] = cov[(i * 4 + j) * tracks + t];

    const float dt = noise.dt;
    for (int k = 0; k < steps; k++) {
        // predict: x = F x, P = F P F' + Q
        x[0] += dt * x[2];
        x[1] += dt * x[3];
        for (int j = 0; j < 4; j++) {
            P[0][j] += dt * P[2][j];
            P[1][j] += dt * P[3][j];
        }
        for (int i = 0; i < 4; i++) {
            P[i][0] += dt * P[i][2];
            P[i][1] += dt * P[i][3];
        }
        for (int i = 0; i < 4; i++)
            P[i][i] += noise.process;

        if (!valid[k * tracks + t])
            continue;

        // update with a measurement of the position
        float2 z = detections[k * tracks + t];
        float S00 = P[0][0] + noise.measurement;
        float S11 = P[1][1] + noise.measurement;
        float S01 = P[0][1];
        float det = S00 * S11 - S01 * S01;
        float r0 = z.x - x[0], r1 = z.y - x[1];
        float K[4][2];
        for (int i = 0; i < 4; i++) {
            K[i][0] = (P[i][0] * S11 - P[i][1] * S01) / det;
            K[i][1] = (P[i][1] * S00 - P[i][0] * S01) / det;
        }
        float top[2][4];
        for (int j = 0; j < 4; j++) {
            top[0][j] = P[0][j];
            top[1][j] = P[1][j];
        }
        for (int i = 0; i < 4; i++) {
            x[i] += K[i][0] * r0 + K[i][1] * r1;
            for (int j = 0; j < 4; j++)
                P[i][j] -= K[i][0] * top[0][j] + K[i][1] * top[1][j];
        }
    }

    state[t] = make_float4(x[0], x[1], x[2], x[3]);
    for (int i = 0; i < 16; i++)
        cov[i * tracks + t] = P[i / 4][i % 4];
}
