"""Launches of kernels, from launch files or from NumPy arrays."""

from __future__ import annotations

import io
import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ._native import NativeLaunch
from .errors import InputError


@dataclass(frozen=True)
class Alias:
    """A parameter that is the address of a byte in the buffer of another parameter."""

    of: str
    """Name of the other parameter."""
    offset: int = 0
    """Byte in its buffer."""


class Launch:
    """A launch of a grid.

    `params` has a value for each parameter of the kernel, in its order, by name. A NumPy array is a buffer of global
    memory, a NumPy scalar (`numpy.int32(4)`) a number, `bytes` are a structure, and `Alias` is the address of another
    buffer. `variables` are arrays for variables of the module. Arrays are copied.
    """

    def __init__(
        self,
        *,
        grid: int | Sequence[int],
        block: int | Sequence[int],
        params: Mapping[str, Any],
        kernel: str | None = None,
        variables: Mapping[str, Any] | None = None,
        dynamic_shared: int = 0,
        stack: int | None = None,
        caches: str = "cold",
    ) -> None:
        files: dict[str, bytes] = {}
        lines = [f"grid = {_size(grid)}", f"block = {_size(block)}"]
        lines += [f"dynamic_shared = {int(dynamic_shared)}", f"caches = {json.dumps(caches)}"]
        if kernel is not None:
            lines.append(f"kernel = {json.dumps(kernel)}")
        if stack is not None:
            lines.append(f"stack = {int(stack)}")
        for name, value in params.items():
            lines += ["[[param]]", *_parameter(name, value, files)]
        for name, value in (variables or {}).items():
            lines += ["[[variable]]", *_parameter(name, value, files)]
        self._native = NativeLaunch.parse("launch", "\n".join(lines) + "\n", files)

    @staticmethod
    def read(path: str | os.PathLike[str]) -> Launch:
        """Reads a launch file."""
        launch = Launch.__new__(Launch)
        launch._native = NativeLaunch.read(path)
        return launch


def _size(size: int | Sequence[int]) -> list[int]:
    return [int(n) for n in size] if isinstance(size, Sequence) else [int(size)]


def _parameter(name: str, value: Any, files: dict[str, bytes]) -> list[str]:
    """Returns the lines of a parameter; contents of arrays go to `files`."""
    import numpy

    lines = [f"name = {json.dumps(name)}"]
    if isinstance(value, Alias):
        return [*lines, f"same_as = {json.dumps(value.of)}", f"offset = {int(value.offset)}"]
    if isinstance(value, (bytes, bytearray)):
        return [*lines, f"bytes = {list(value)}"]
    if isinstance(value, numpy.generic):
        return [*lines, f"type = {_element(name, value.dtype)}", f"value = {_number(value)}"]
    if isinstance(value, numpy.ndarray):
        file = f"{len(files)}.npy"
        files[file] = _npy(value)
        return [*lines, f"type = {_element(name, value.dtype)}", f'file = "{file}"']
    raise InputError(
        f"parameter {name}: {type(value).__name__} is no type of a parameter",
        "pass a NumPy array, a NumPy scalar such as numpy.int32(4), bytes or an Alias",
    )


def _element(name: str, dtype: Any) -> str:
    """Returns the type of elements in launch files, in quotes."""
    letter = {"i": "s", "u": "u", "f": "f"}.get(dtype.kind)
    if letter is None or dtype.itemsize > 8:
        hint = "whole numbers of 8 to 64 bits and floats of 16 to 64 bits are"
        raise InputError(f"parameter {name}: {dtype} is no type of elements", hint)
    return f'"{letter}{8 * dtype.itemsize}"'


def _number(value: Any) -> str:
    """Returns a number as launch files state it; large integers and non-finite floats are strings there."""
    number = value.item()
    if isinstance(number, int):
        return f'"{number}"' if number >= 1 << 63 else str(number)
    # Shorter floats are exact as 64-bit floats, whose `repr` is read back as the same number.
    return repr(number)


def _npy(array: Any) -> bytes:
    """Returns an array as an NPY file with little-endian numbers in C order."""
    import numpy

    ordered = numpy.ascontiguousarray(array, dtype=array.dtype.newbyteorder("<"))
    out = io.BytesIO()
    numpy.save(out, ordered.reshape(array.shape), allow_pickle=False)
    return out.getvalue()


def array(npy: bytes) -> Any:
    """Returns the array of an NPY file."""
    import numpy

    return numpy.load(io.BytesIO(npy), allow_pickle=False)
