"""Upper bounds of the cost of GPU kernels, from their machine code.

>>> import warpbound
>>> file = warpbound.open("kernels/built/break_loop.sm_61.cubin")
>>> file.bound(params={"p3": (1, 100)}).kernels[0].bound
1441
"""

from __future__ import annotations

import os

from ._native import __version__
from .errors import InputError, Problem, WarpboundError
from .files import File
from .launches import Alias, Launch
from .results import (
    AccessReport,
    AuditReport,
    BoundReport,
    DivergenceReport,
    Image,
    Kernel,
    KernelBound,
    Run,
)


def open(path: str | os.PathLike[str]) -> File:
    """Opens a file with machine code; parts of it are read when they are needed."""
    return File(path)


__all__ = [
    "AccessReport",
    "Alias",
    "AuditReport",
    "BoundReport",
    "DivergenceReport",
    "File",
    "Image",
    "InputError",
    "Kernel",
    "KernelBound",
    "Launch",
    "Problem",
    "Run",
    "WarpboundError",
    "__version__",
    "open",
]
