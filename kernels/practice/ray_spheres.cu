// Small ray tracer: one primary ray per pixel against a list of spheres, diffuse light and
// up to a few mirror reflections. Output is one grey value per pixel.
struct Sphere {
    float x, y, z, radius;
    float albedo, mirror;
};

__device__ float3 madd(float3 a, float t, float3 d)
{
    return make_float3(a.x + t * d.x, a.y + t * d.y, a.z + t * d.z);
}

__device__ float dot3(float3 a, float3 b)
{
    return a.x * b.x + a.y * b.y + a.z * b.z;
}

__device__ int nearest(const Sphere *spheres, int n, float3 o, float3 d, float &t)
{
    int hit = -1;
    t = 1e20f;
    for (int i = 0; i < n; i++) {
        float3 oc = make_float3(o.x - spheres[i].x, o.y - spheres[i].y, o.z - spheres[i].z);
        float b = dot3(oc, d);
        float c = dot3(oc, oc) - spheres[i].radius * spheres[i].radius;
        float disc = b * b - c;
        if (disc < 0.0f)
            continue;
        float root = sqrtf(disc);
        float near = -b - root;
        if (near < 1e-3f)
            near = -b + root;
        if (near > 1e-3f && near < t) {
            t = near;
            hit = i;
        }
    }
    return hit;
}

extern "C" __global__ void ray_spheres(const Sphere *spheres, int numSpheres, float *image, int width, int height, int maxBounces)
{
    int px = blockIdx.x * blockDim.x + threadIdx.x;
    int py = blockIdx.y * blockDim.y + threadIdx.y;
    if (px >= width || py >= height)
        return;

    float3 o = make_float3(0.0f, 0.0f, -3.0f);
    float3 d = make_float3((px + 0.5f) / width * 2.0f - 1.0f, 1.0f - (py + 0.5f) / height * 2.0f, 2.0f);
    float len = rsqrtf(dot3(d, d));
    d = make_float3(d.x * len, d.y * len, d.z * len);
    const float3 light = make_float3(0.57735f, 0.57735f, -0.57735f);

    float colour = 0.0f, weight = 1.0f;
    for (int bounce = 0; bounce <= maxBounces; bounce++) {
        float t;
        int hit = nearest(spheres, numSpheres, o, d, t);
        if (hit < 0) {
            colour += weight * (0.3f + 0.2f * d.y);
            break;
        }
        Sphere s = spheres[hit];
        float3 p = madd(o, t, d);
        float inv = 1.0f / s.radius;
        float3 n = make_float3((p.x - s.x) * inv, (p.y - s.y) * inv, (p.z - s.z) * inv);
        colour += weight * (1.0f - s.mirror) * s.albedo * fmaxf(0.1f, dot3(n, light));
        weight *= s.mirror;
        if (weight < 0.01f)
            break;
        d = madd(d, -2.0f * dot3(d, n), n);
        o = p;
    }
    image[py * width + px] = colour;
}
