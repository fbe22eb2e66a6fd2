"""Divergence and memory accesses of kernels."""

from __future__ import annotations

from dataclasses import dataclass

from .._documents import key
from .bounds import Assumption
from .images import Size


@dataclass(frozen=True)
class ChainLink:
    """A link of the chain of values by which an operation may diverge."""

    at: str
    gate: str
    cell: str | None
    instruction: str | None
    because: str | None


@dataclass(frozen=True)
class DivergenceAnswer:
    """Whether an operation may diverge, by two analyses."""

    gsa: bool
    agreement: bool
    gsa_contexts: int
    agreement_contexts: int
    difference: str | None
    chain: tuple[ChainLink, ...]
    calls: tuple[str, ...]

    @property
    def may_diverge(self) -> bool:
        """Whether both analyses leave it possible."""
        return self.gsa and self.agreement


@dataclass(frozen=True)
class Determinacy:
    """Origins of the value of an operation."""

    origins: tuple[str, ...]
    tainted: bool
    loads: tuple[str, ...]
    more_loads: bool
    chains: dict[str, list[str]]


@dataclass(frozen=True)
class DivergenceItem:
    """A branch, a load or a barrier."""

    at: str
    instruction: str
    kind: str
    """`branch`, `load` or `barrier`."""
    source: str | None
    function: str | None
    contexts: int
    cells: tuple[str, ...]
    values: DivergenceAnswer
    """Whether lanes have different values."""
    partial: DivergenceAnswer
    """Whether only some lanes of a warp execute it."""
    site: str | None = None
    determinacy: Determinacy | None = None


@dataclass(frozen=True)
class MissedReconvergence:
    """A branch after which lanes meet without reconverging."""

    branch: str
    reconvergence: str = key("meeting")
    for_values: bool = False


@dataclass(frozen=True)
class DivergenceReport:
    """Which branches, loads and barriers of a kernel may diverge."""

    schema: str
    kernel: str
    items: tuple[DivergenceItem, ...]
    missed_reconvergences: tuple[MissedReconvergence, ...] = key("apart")
    without_determinacy: str | None = None


@dataclass(frozen=True)
class Access:
    """A memory access: its class, and the most numbers of one execution by a warp."""

    address: str
    instruction: str
    source: str | None
    function: str | None
    space: str
    kind: str
    bytes: int | None
    access_class: str = key("class")
    """`uniform`, `coalesced`, `strided`, `affine`, `array`, `near`, `listed`, `stated`, `unknown` or `not-counted`."""
    requests: int | None = None
    transactions: int | None = None
    sectors: int | None = None
    lines: int | None = None
    conflicts: int | None = None
    byte_conflicts: int | None = None
    exact: bool = False
    """Whether a full warp has these numbers in each execution."""
    reason: str = ""
    stride: int | None = None
    coefficients: tuple[int, ...] | None = None
    array_bytes: int | None = None
    clusters: int | None = None
    distance_bytes: int | None = None
    decided_by: str | None = None


@dataclass(frozen=True)
class AccessReport:
    """Memory accesses of a kernel."""

    schema: str
    kernel: str
    block: Size | None
    accesses: tuple[Access, ...]
    notes: tuple[str, ...]
    assumptions: tuple[Assumption, ...]
