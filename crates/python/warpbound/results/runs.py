"""Runs of launches."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from .._documents import key, whole
from .images import Size

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Array = NDArray[Any]
else:
    # NumPy is imported by the first run, not with the package.
    Array = Any


@dataclass(frozen=True)
class RunNote:
    """Something remarkable that happened in a run."""

    address: str
    mnemonic: str
    source: str | None
    message: str = key("what")
    location: str = key("place")
    times: int = 0


@dataclass(frozen=True)
class Stalls:
    """Cycles of warps, by what they wait for."""

    issue: int
    dependency: int
    memory: int
    barrier: int
    unit_busy: int
    instruction_fetch: int
    not_selected: int


@dataclass(frozen=True)
class Run:
    """Result of a run of a launch. A simulated time is not a bound."""

    schema: str
    file: str
    kernel: str
    grid: Size
    block: Size
    warp_instructions: int
    thread_instructions: int
    executed_thread_instructions: int
    divergences: int
    checked_elements: int
    notes: tuple[RunNote, ...]
    document: dict[str, Any] = whole()
    """The whole report, as `warpbound run --format json` prints it."""
    machine: str | None = None
    scheduler: str | None = None
    cycles: int | None = None
    """Cycles of the launch; `None` in a run without time."""
    milliseconds: float | None = None
    ipc: float | None = None
    stalls: Stalls | None = None
    buffers: dict[str, Array] = field(default_factory=dict, compare=False, repr=False)
    """Buffers at the end, by name."""
    variables: dict[str, Array] = field(default_factory=dict, compare=False, repr=False)
    """Variables of the module at the end, by name."""
