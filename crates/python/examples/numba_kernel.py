"""Bound a kernel of Numba; no GPU is needed.

    pip install 'numba==0.61.2' 'nvidia-cuda-nvcc-cu12<12.9'

Numba makes PTX, which is not machine code; ptxas of CUDA 12 assembles it. Loops over arrays have counters of 64 bits with a
sign in Numba, for which no bound is derived: they need a fact (`facts`, `loop_default`).
"""

import os
import pathlib
import subprocess
import sys
import tempfile

import nvidia.cuda_nvcc
import warpbound

TOOLKIT = pathlib.Path(nvidia.cuda_nvcc.__path__[0]).resolve()
SETTINGS = {
    "CUDA_HOME": str(TOOLKIT),
    "LD_LIBRARY_PATH": str(TOOLKIT / "nvvm" / "lib64"),
    # Numba asks the CUDA runtime for the architectures that there are, unless one is forced.
    "NUMBA_FORCE_CUDA_CC": "6.1",
}

if any(os.environ.get(name) != value for name, value in SETTINGS.items()):
    # The dynamic linker reads its path when a process begins.
    os.execve(sys.executable, [sys.executable, *sys.argv], os.environ | SETTINGS)

from numba import cuda, float32  # noqa: E402


def saxpy(a, x, y):
    i = cuda.grid(1)
    if i < x.size:
        y[i] += a * x[i]


ptx, _ = cuda.compile_ptx(saxpy, (float32, float32[::1], float32[::1]), cc=(6, 1), lineinfo=True)
with tempfile.TemporaryDirectory() as folder:
    source, cubin = pathlib.Path(folder) / "saxpy.ptx", pathlib.Path(folder) / "saxpy.cubin"
    source.write_text(ptx)
    subprocess.run([TOOLKIT / "bin" / "ptxas", "-arch=sm_61", "-lineinfo", source, "-o", cubin], check=True)
    file = warpbound.open(cubin)
    bound = file.bound(block=128).kernels[0]
    print(f"a warp issues at most {bound.bound} instructions")
    for access in file.access(block=128)[0].accesses:
        if access.space == "global":
            print(f"{access.source}: {access.instruction}: {access.access_class}, {access.sectors} sectors at most")
