// Simulates a bank of PID speed controllers with different gains (for tuning): first-order
// motor, limited output, integral held while saturated. The result is the settling step and the cost.
struct Gains {
    float kp, ki, kd;
};

extern "C" __global__ void pid_bank(const Gains *gains, int numGains, const float *setpoint, int numSteps,
                                    float dt, float limit, float *cost, int *settled)
{
    int id = blockDim.x * blockIdx.x + threadIdx.x;
    if (id < numGains) {
        Gains g = gains[id];
        float speed = 0.0f, integral = 0.0f, previous = 0.0f, total = 0.0f;
        int last = 0;
        for (int n = 0; n < numSteps; n++) {
            float error = setpoint[n] - speed;
            float derivative = n == 0 ? 0.0f : (error - previous) / dt;
            float u = g.kp * error + g.ki * integral + g.kd * derivative;
            if (u > limit) {
                u = limit;
            } else if (u < -limit) {
                u = -limit;
            } else {
                integral += error * dt;
            }
            speed += dt * (4.0f * u - speed) / 0.25f;
            previous = error;
            total += error * error * dt;
            if (fabsf(error) > 0.05f)
                last = n + 1;
        }
        cost[id] = total;
        settled[id] = last;
    }
}
