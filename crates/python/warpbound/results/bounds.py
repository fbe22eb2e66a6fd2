"""Bounds of kernels, and what they rest on."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from .._documents import key, whole
from ..errors import Problem
from .images import Size


@dataclass(frozen=True)
class Assumption:
    """An assumption of a bound."""

    id: str
    """Stable short name."""
    text: str


@dataclass(frozen=True)
class LoopEvidence:
    """Evidence of a derived loop bound."""

    exit: str
    source: str | None
    pattern: str
    """`affine`, `unrolled`, `halving`, `never` (not entered), or `width` (only a register's width limits it)."""
    start: str
    step: str
    limit: str


@dataclass(frozen=True)
class DecidingLoad:
    """Load that decides how often a loop runs."""

    load: str
    source: str | None


@dataclass(frozen=True)
class Loop:
    """A loop and its bound."""

    id: str
    at: str
    """Address of the first header."""
    source: str | None
    depth: int
    """Nesting depth; 1 is outermost."""
    bound: int | None
    """Most header executions per entry, by one thread."""
    total: int | None
    """Most header executions of a thread in its whole run, if stated or derived."""
    origin: str
    """Origin of the bound: `derived`, `launch`, `facts`, `loop-default` or `missing`."""
    total_origin: str | None
    evidence: LoopEvidence | None
    decided_by: DecidingLoad | None
    parameter: str | None
    """Parameter that decides how often the loop runs, if it is not stated."""
    reason: str | None
    """Reason why no bound was derived."""
    lockstep: bool = key("together")
    """Whether the lanes of a warp iterate in lockstep."""
    headers: tuple[str, ...] = ()
    recursion: str | None = None
    contexts: int = 1


@dataclass(frozen=True)
class ExternalCall:
    """Call of a function outside the file."""

    name: str
    at: str
    source: str | None
    instructions: int | None


@dataclass(frozen=True)
class PathBlock:
    """A block of the worst path."""

    start: str = key("from")
    """Address of the first instruction."""
    end: str = key("to")
    """Address of the last instruction."""
    source: str | None = None
    function: str | None = None
    calls: tuple[str, ...] = ()
    loops: tuple[str, ...] = ()
    instructions: int = 0
    """Warp instructions per execution."""
    count: int = 0
    """Executions by the warp."""
    total: int = 0


@dataclass(frozen=True)
class CodePlace:
    """A place in the code."""

    at: str
    source: str | None
    calls: tuple[str, ...]


@dataclass(frozen=True)
class Edge:
    """An edge of the warp-level graph."""

    start: str = key("from")
    end: str = key("to")


@dataclass(frozen=True)
class FormulaPolynomial:
    """A polynomial of a formula."""

    text: str
    """The polynomial: `235 + 12*n`; its terms are in `document`."""
    document: dict[str, Any] = whole()


@dataclass(frozen=True)
class FormulaPiece:
    """A formula in a part of its range: the smallest of the polynomials, rounded down."""

    range: tuple[str, ...]
    bounds: tuple[FormulaPolynomial, ...]


@dataclass(frozen=True)
class Formula:
    """A bound as a function of symbols."""

    text: str
    range: tuple[str, ...]
    definitions: tuple[str, ...]
    pieces: tuple[FormulaPiece, ...]


@dataclass(frozen=True)
class ProfiledWarp:
    """A warp of a launch."""

    block: Size
    warp: int


@dataclass(frozen=True)
class UndecidedWarp:
    """A warp without a profile."""

    block: Size
    warp: int
    at: str
    source: str | None
    reason: str


@dataclass(frozen=True)
class Profile:
    """Profile of all warps of a launch."""

    grid: Size
    bound: int | None
    decides: bool
    """Whether the bound of the kernel is that of the profile."""
    exact: bool
    """Whether every run issues as many, in the worst warp."""
    static_bound: int | None
    worst: ProfiledWarp | None
    executed: int
    unknown_at: tuple[CodePlace, ...]
    contents: tuple[str, ...]
    undecided: UndecidedWarp | None


@dataclass(frozen=True)
class CycleTerm:
    """A summand of a bound in cycles."""

    name: str
    cycles: int


@dataclass(frozen=True)
class LineCycles:
    """Part of a bound in cycles that a source line contributes."""

    line: str
    cycles: int


@dataclass(frozen=True)
class LaunchShape:
    """The launch that a bound in cycles is about."""

    blocks: int
    warps: int
    sms: int
    resident: tuple[int, ...]
    chain: str


@dataclass(frozen=True)
class UnpublishedRange:
    """Range of a number of the machine that is not published."""

    name: str
    least: int
    most: int
    unit: str | None
    standing: str


@dataclass(frozen=True)
class ClockTime:
    """Duration of a bound at a clock: `stated`, `base`, or a mode of the machine."""

    clock: str
    kilohertz: int
    milliseconds: float


@dataclass(frozen=True)
class CycleBound:
    """A bound in cycles, or the reason why there is none."""

    scope: str
    """`warp`, `block`, `sm` or `grid`."""
    bound: int | None
    reason: str | None
    milliseconds: float | None
    """Longest of the times."""
    times: tuple[ClockTime, ...]
    machine: str | None
    schedulers: str
    caches: str
    terms: tuple[CycleTerm, ...]
    lines: tuple[LineCycles, ...]
    numbers: tuple[UnpublishedRange, ...]
    assumptions: tuple[Assumption, ...]
    launch: LaunchShape | None = None


@dataclass(frozen=True)
class CodeLine:
    """An instruction, with the findings of the analyses."""

    at: str
    labels: tuple[str, ...]
    source: str | None
    line_cycles: int | None
    control: str | None
    text: str
    executions: int | None
    access: str | None
    divergence: str | None
    source_text: str | None = None


@dataclass(frozen=True)
class MachineCode:
    """Machine code of a kernel."""

    instructions: tuple[CodeLine, ...]
    graph: dict[str, Any] | None
    """Control-flow graph, as `warpbound cfg --format json` prints it."""


@dataclass(frozen=True)
class KernelBound:
    """The bound of a kernel, or the reason why it has none, and what it rests on."""

    name: str
    """Demangled name."""
    symbol: str
    image: int | None
    isa: str
    status: str
    """`bounded`, `unbounded` (flow facts are missing) or `refused` (the control flow cannot be followed)."""
    reason: str | None
    """Reason why there is no bound."""
    reason_at: str | None
    reason_source: str | None
    bound: int | None
    """Most warp instructions that a warp issues."""
    unit: str
    worst_path_value: int | None
    """Warp instructions of the worst path, if one was found that the rows allow."""
    integrality_gap: int | None
    lanes: int
    block: Size | None
    code: str
    """Digest of the code, which facts files refer to."""
    loops: tuple[Loop, ...]
    external_calls: tuple[ExternalCall, ...]
    worst_path: tuple[PathBlock, ...]
    divergent_branches: tuple[CodePlace, ...]
    divergence_edges: tuple[Edge, ...]
    assumptions: tuple[Assumption, ...]
    notes: tuple[str, ...]
    """Sources of overestimation."""
    never: tuple[str, ...]
    missing_facts: tuple[str, ...]
    """Lines for the facts file, to be completed."""
    nodes: int
    edges: int
    profile: Profile | None = None
    formula: Formula | None = None
    formula_reason: str | None = None
    cycles: CycleBound | None = None
    machine_code: MachineCode | None = None


@dataclass(frozen=True)
class BoundReport:
    """Bounds of the kernels of a file."""

    file: str
    kernels: tuple[KernelBound, ...]
    problems: tuple[Problem, ...] = ()
    """Images and kernels that cannot be read."""

    def kernel(self, name: str) -> KernelBound:
        """Returns the only kernel with this name, demangled or as in the symbol table."""
        found = [kernel for kernel in self.kernels if name in (kernel.name, kernel.symbol)]
        if len(found) != 1:
            raise KeyError(f"{len(found)} kernels of {self.file} have the name {name!r}")
        return found[0]
