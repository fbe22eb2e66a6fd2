"""Bound and run a kernel that NVRTC compiles, as CuPy's `RawKernel` does; no GPU is needed.

    pip install numpy 'nvidia-cuda-nvrtc-cu12<12.9'

NVRTC of CUDA 12 compiles for the Pascal GPUs that warpbound reads; that of CUDA 13 does not.
"""

import ctypes
import pathlib
import tempfile

import numpy
import nvidia.cuda_nvrtc
import warpbound

SOURCE = b"""
extern "C" __global__ void saxpy(float a, const float *x, float *y, int n)
{
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
        y[i] += a * x[i];
}
"""


def compiled(source, *options):
    """Returns the machine code of a source."""
    folder = pathlib.Path(nvidia.cuda_nvrtc.__path__[0])
    nvrtc = ctypes.CDLL(str(next(folder.glob("lib/libnvrtc.so.*"))))

    def call(function, *arguments):
        if error := getattr(nvrtc, function)(*arguments):
            raise RuntimeError(f"{function} failed with error {error}")

    program, size = ctypes.c_void_p(), ctypes.c_size_t()
    call("nvrtcCreateProgram", ctypes.byref(program), source, b"saxpy.cu", 0, None, None)
    call("nvrtcCompileProgram", program, len(options), (ctypes.c_char_p * len(options))(*options))
    call("nvrtcGetCUBINSize", program, ctypes.byref(size))
    cubin = ctypes.create_string_buffer(size.value)
    call("nvrtcGetCUBIN", program, cubin)
    return cubin.raw


with tempfile.TemporaryDirectory() as folder:
    path = pathlib.Path(folder) / "saxpy.cubin"
    path.write_bytes(compiled(SOURCE, b"--gpu-architecture=sm_61", b"-lineinfo"))
    file = warpbound.open(path)
    bound = file.bound(params={"p3": (1, 4096)}, block=128, grid=4).kernels[0]
    for loop in bound.loops:
        print(f"{loop.source}: at most {loop.bound} times ({loop.origin})")
    print(f"a warp issues at most {bound.bound} instructions")

    x, y = numpy.arange(4096, dtype=numpy.float32), numpy.ones(4096, numpy.float32)
    params = {"a": numpy.float32(2), "x": x, "y": y, "n": numpy.int32(4096)}
    run = file.run(warpbound.Launch(grid=4, block=128, params=params))
    print(f"{run.cycles} cycles on {run.machine}, simulated")
    print("y =", run.buffers["y"][:4])
