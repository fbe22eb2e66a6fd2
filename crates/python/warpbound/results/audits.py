"""Audits: runs compared with claims."""

from __future__ import annotations

from dataclasses import dataclass

from .._documents import key
from .images import Size


@dataclass(frozen=True)
class Finding:
    """Violation of a claim."""

    claim: str
    run: int
    at: str | None
    source: str | None
    message: str = key("what")


@dataclass(frozen=True)
class AuditedLoop:
    """Stated and observed iterations of a loop."""

    id: str
    at: str
    source: str | None
    bound: int | None
    total: int | None
    origin: str
    derived: int | None
    reached: bool
    observed: int = key("most")
    observed_total: int = key("most_total")


@dataclass(frozen=True)
class AccessNumbers:
    """Numbers of one execution of an access."""

    requests: int | None
    transactions: int | None
    sectors: int | None
    lines: int | None
    conflicts: int | None
    byte_conflicts: int | None = None


@dataclass(frozen=True)
class AuditedAccess:
    """Memory access, its class and its observed executions."""

    at: str
    source: str | None
    executions: int
    limits: AccessNumbers
    observed: AccessNumbers = key("most")
    reaches_class: bool = key("equal")


@dataclass(frozen=True)
class AuditFault:
    """Fault that ended runs."""

    run: int
    runs: int
    message: str = key("what")


@dataclass(frozen=True)
class AuditedCycles:
    """Runs of single warps with time, compared with their bounds in cycles."""

    machine: str
    caches: str
    no_bound: str | None
    warps: int
    launched_warps: int
    runs: int
    skipped: int
    violations: int
    worst_simulated: int | None
    worst_at: str | None
    bound: int | None
    ratio: float | None


@dataclass(frozen=True)
class AuditReport:
    """Runs of a kernel, compared with every claim about it."""

    schema: str
    file: str
    kernel: str
    grid: Size
    block: Size
    refused: str | None
    runs: int
    faulted: int
    given_faulted: bool
    warp_instructions: int
    warps: int
    violations: int
    """Number of distinct violations."""
    findings: tuple[Finding, ...]
    worst_simulated: int | None
    worst_at: str | None
    bound: int | None
    no_bound: str | None
    profiled: int
    ratio: float | None
    loops: tuple[AuditedLoop, ...]
    accesses: tuple[AuditedAccess, ...]
    faults: tuple[AuditFault, ...]
    cycles: AuditedCycles | None = None
