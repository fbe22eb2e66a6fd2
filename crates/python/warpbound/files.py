"""Files with machine code, and queries on them."""

from __future__ import annotations

import json
import os
import warnings
from collections.abc import Mapping, Sequence
from typing import Any

from ._documents import build
from ._native import NativeFile, NativeLaunch
from .errors import Problem
from .launches import Launch, array
from .results import (
    AccessReport,
    AuditReport,
    BoundReport,
    DivergenceReport,
    Image,
    KernelBound,
    Run,
)

Number = int | tuple[int, int]
"""A number, or its range: least and greatest."""

Path = str | os.PathLike[str]
LaunchLike = Launch | Path


class File:
    """A file with machine code: a cubin, a code object, or a file that contains such.

    Queries release the lock of the interpreter. Those on kernels have `kernel` (a name as in the symbol table or in C++, or
    a prefix with `*`), `arch` (`sm_61`) and `image` (a number of `images`). The meaning of all options is that of the
    command line.
    """

    def __init__(self, path: Path) -> None:
        self.path = os.fspath(path)
        self._native = NativeFile.open(path)

    def __repr__(self) -> str:
        return f"warpbound.File({self.path!r})"

    def images(self) -> tuple[Image, ...]:
        """Lists the images of the file, without their kernels."""
        return tuple(build(Image, image) for image in json.loads(self._native.images())["images"])

    def list(
        self, *, kernel: str | None = None, arch: str | None = None, image: int | None = None
    ) -> tuple[Image, ...]:
        """Lists the images with their kernels. Of kernels that cannot be read, the reason is in `refused`."""
        document, problems = self._native.kernels(_json(_selection(kernel, arch, image)))
        _warn(problems)
        return tuple(build(Image, image) for image in json.loads(document)["images"])

    def bound(
        self,
        *,
        kernel: str | None = None,
        arch: str | None = None,
        image: int | None = None,
        launch: LaunchLike | None = None,
        contents: str = "any",
        block: Number | Sequence[Number] | None = None,
        grid: Number | Sequence[Number] | None = None,
        params: Mapping[str, Number] | None = None,
        warp_width: int | None = None,
        facts: Path | None = None,
        loop_default: int | None = None,
        call_default: int | None = None,
        derive: bool = True,
        formula: Sequence[str] = (),
        cycles: bool = False,
        machine: str | None = None,
        caches: str | None = None,
        scope: str | None = None,
        schedulers: str | None = None,
        clock: Number | None = None,
        machine_code: bool = False,
        jobs: int | None = None,
    ) -> BoundReport:
        """Bounds the instructions that a warp of each kernel issues; with `cycles`, also the cycles of a machine.

        `clock` is the frequency for times, or its range, in kHz.
        """
        options = {
            "kernels": _selection(kernel, arch, image),
            "launches": _statements(block, grid, params, warp_width),
            "facts": _facts(facts, loop_default),
            "call_default": call_default,
            "no_derive": not derive,
            "formula": [*formula],
            "contents": contents,
            "machine_code": machine_code,
            "cycles": _cycles(
                cycles, clock=clock, machine=machine, caches=caches, scope=scope, schedulers=schedulers
            ),
            "jobs": jobs,
        }
        document, problems = self._native.bound(_json(options), _launch(launch))
        report = json.loads(document)
        return BoundReport(
            file=report["file"],
            kernels=tuple(build(KernelBound, kernel) for kernel in report["kernels"]),
            problems=tuple(Problem(*problem) for problem in problems),
        )

    def divergence(
        self,
        *,
        kernel: str | None = None,
        arch: str | None = None,
        image: int | None = None,
        launch: LaunchLike | None = None,
        block: Number | Sequence[Number] | None = None,
        grid: Number | Sequence[Number] | None = None,
        params: Mapping[str, Number] | None = None,
        warp_width: int | None = None,
    ) -> tuple[DivergenceReport, ...]:
        """Reports which branches, loads and barriers of each kernel may diverge."""
        options = {
            "kernels": _selection(kernel, arch, image),
            "launches": _statements(block, grid, params, warp_width),
        }
        document, problems = self._native.divergence(_json(options), _launch(launch))
        _warn(problems)
        return tuple(build(DivergenceReport, report) for report in json.loads(document))

    def access(
        self,
        *,
        kernel: str | None = None,
        arch: str | None = None,
        image: int | None = None,
        launch: LaunchLike | None = None,
        block: Number | Sequence[Number] | None = None,
        grid: Number | Sequence[Number] | None = None,
        params: Mapping[str, Number] | None = None,
    ) -> tuple[AccessReport, ...]:
        """Reports the class of each memory access of each kernel."""
        options = {
            "kernels": _selection(kernel, arch, image),
            "launches": _statements(block, grid, params, None),
        }
        document, problems = self._native.access(_json(options), _launch(launch))
        _warn(problems)
        return tuple(build(AccessReport, report) for report in json.loads(document))

    def run(
        self,
        launch: LaunchLike,
        *,
        functional: bool = False,
        kernel: str | None = None,
        arch: str | None = None,
        image: int | None = None,
        machine: str | None = None,
        scheduler: str | None = None,
        select: str | None = None,
        set: Mapping[str, int] | None = None,
        caches: str | None = None,
        interlock: str | None = None,
        order: str | None = None,
        max_instructions: int | None = None,
        sensitivities: bool = False,
        threads: int | None = None,
    ) -> Run:
        """Runs a launch on a simulated machine, cycle by cycle; with `functional`, without time.

        The buffers and variables at the end are arrays of the result. Raises `InputError` if they differ from what a
        launch file expects.
        """
        of_time = {"machine": machine, "scheduler": scheduler, "select": select, "caches": caches, "interlock": interlock}
        given = [name for name, value in of_time.items() if value is not None]
        given += [name for name, value in {"set": set, "sensitivities": sensitivities}.items() if value]
        if functional and given:
            raise TypeError(f"{given[0]} is an option of runs with time: omit functional=True")
        options = {
            **of_time,
            "kernels": _selection(kernel, arch, image),
            "functional": functional,
            "set": [[name, int(value)] for name, value in (set or {}).items()],
            "order": order,
            "max_instructions": max_instructions,
            "sensitivities": sensitivities,
            "threads": threads,
        }
        document, ends = self._native.run(_json(options), _native(launch))
        run = build(Run, json.loads(document))
        for name, is_variable, npy in ends:
            (run.variables if is_variable else run.buffers)[name] = array(npy)
        return run

    def audit(
        self,
        launch: LaunchLike,
        *,
        kernel: str | None = None,
        arch: str | None = None,
        image: int | None = None,
        facts: Path | None = None,
        loop_default: int | None = None,
        runs: int = 1,
        seed: int = 1,
        max_instructions: int | None = None,
        cycles: bool = False,
        machine: str | None = None,
        caches: str | None = None,
    ) -> AuditReport:
        """Runs a launch, and launches with other contents of the buffers, and checks every claim about the kernel."""
        options = {
            "kernels": _selection(kernel, arch, image),
            "facts": _facts(facts, loop_default),
            "runs": runs,
            "seed": seed,
            "max_instructions": max_instructions,
            "cycles": _cycles(cycles, machine=machine, caches=caches),
        }
        return build(AuditReport, json.loads(self._native.audit(_json(options), _native(launch))))


def _json(options: Mapping[str, Any]) -> str:
    return json.dumps(options)


def _selection(kernel: str | None, arch: str | None, image: int | None) -> dict[str, Any]:
    return {"kernel": kernel, "arch": arch, "image": image}


def _facts(facts: Path | None, loop_default: int | None) -> dict[str, Any]:
    return {"facts": None if facts is None else os.fspath(facts), "loop_default": loop_default}


def _cycles(asked: bool, *, clock: Number | None = None, **options: str | None) -> dict[str, Any] | None:
    """Returns the options of bounds in cycles, which are no options of other bounds."""
    if asked:
        return {**options, "clock": None if clock is None else _range(clock)}
    for name, value in {**options, "clock": clock}.items():
        if value is not None:
            raise TypeError(f"{name} is an option of bounds in cycles: pass cycles=True")
    return None


def _warn(problems: Sequence[tuple[Any, ...]]) -> None:
    """Names what an answer without a place for problems leaves out."""
    for problem in problems:
        warnings.warn(str(Problem(*problem)), stacklevel=3)


def _range(number: Number) -> list[int]:
    if isinstance(number, tuple):
        least, most = number
        return [int(least), int(most)]
    return [int(number), int(number)]


def _size(size: Number | Sequence[Number] | None) -> list[list[int]] | None:
    """Returns the ranges of a size in x, y and z; absent axes are 1."""
    if size is None:
        return None
    axes = [size] if isinstance(size, int) else [*size]
    if not 1 <= len(axes) <= 3:
        raise TypeError(f"a size has 1 to 3 numbers, not {len(axes)}")
    return [_range(axis) for axis in axes] + [[1, 1]] * (3 - len(axes))


def _statements(
    block: Number | Sequence[Number] | None,
    grid: Number | Sequence[Number] | None,
    params: Mapping[str, Number] | None,
    warp_width: int | None,
) -> dict[str, Any]:
    return {
        "block": _size(block),
        "grid": _size(grid),
        "params": [[name, _range(number)] for name, number in (params or {}).items()],
        "warp_width": warp_width,
    }


def _native(launch: LaunchLike) -> NativeLaunch:
    return launch._native if isinstance(launch, Launch) else NativeLaunch.read(launch)


def _launch(launch: LaunchLike | None) -> NativeLaunch | None:
    return None if launch is None else _native(launch)
