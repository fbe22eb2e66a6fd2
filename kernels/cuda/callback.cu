// A callback: the host passes the address of a device function, so the file does not say what is called.
// Control flow: indirect call of a function that nothing is known of.
// Launch: any grid of one-dimensional blocks; out and in have one element per thread.

typedef int (*Callback)(int, int);

extern "C" __global__ void callback(int *out, const int *in, int rounds, Callback function)
{
    int index = blockIdx.x * blockDim.x + threadIdx.x;
    int value = in[index];
    for (int round = 0; round < rounds; ++round)
        value = function(value, round);
    out[index] = value;
}

// Each thread has its own function: the lanes of a warp may call as many functions as there are lanes.
extern "C" __global__ void callback_apart(int *out, const int *in, const Callback *functions)
{
    int index = blockIdx.x * blockDim.x + threadIdx.x;
    out[index] = functions[index](in[index], 1);
}
