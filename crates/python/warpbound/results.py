"""Results of queries. Each is a frozen dataclass whose fields are keys of the JSON documents of the command line."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from ._documents import key, whole
from .errors import Problem

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Array = NDArray[Any]
else:
    # NumPy is imported by the first run, not with the package.
    Array = Any

Size = tuple[int, ...]
"""Sizes in x, y and z."""


# Lists of images and kernels


@dataclass(frozen=True)
class CodeObject:
    """Facts that a code object of an AMD GPU states about a kernel."""

    version: str
    vector_registers: int
    scalar_registers: int
    scratch: int
    kernarg: int
    hidden: int


@dataclass(frozen=True)
class Kernel:
    """A kernel of an image."""

    name: str
    """Demangled name."""
    symbol: str
    """Name in the symbol table."""
    instructions: int
    """Instructions of the code section."""
    registers: int
    """General registers per thread."""
    shared: int | None
    """Static shared memory in bytes."""
    local: int | None
    """Stack frame of a thread in bytes."""
    constant: int
    """Constant memory with contents in the file, in bytes."""
    parameters: tuple[int, ...]
    """Number of parameters, and their size in bytes."""
    barriers: int
    calls: int
    """Call instructions."""
    loops: int | None
    """Loops; `None` if the control flow cannot be followed."""
    required_block: Size | None
    """Threads of a block that the kernel requires."""
    refused: str | None
    """Reason why the control flow cannot be followed."""
    code_object: CodeObject | None = None


@dataclass(frozen=True)
class ImageContents:
    """Kernels of an image."""

    file: str
    isa: str
    refused: str | None
    """Reason why the kernels cannot be read."""
    kernels: tuple[Kernel, ...]
    others: tuple[str, ...]
    """Contents that are not kernels."""
    warnings: tuple[str, ...]
    """Defects of the file that do not affect its code."""


@dataclass(frozen=True)
class Image:
    """An image of a file."""

    number: int
    """Number, from 1."""
    kind: str
    """`cubin`, `code object`, `PTX`."""
    isa: str
    """`sm_61`, `gfx803`."""
    supported: bool
    """Whether it is machine code that can be bounded."""
    stored: int
    """Bytes in the file."""
    size: int
    """Bytes after decompression."""
    packing: str
    member: str | None
    """Member of an archive that contains it."""
    contents: ImageContents | None = None
    """Kernels, where they are asked for."""


# Bounds


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
class CycleBound:
    """A bound in cycles, or the reason why there is none."""

    scope: str
    """`warp`, `block`, `sm` or `grid`."""
    bound: int | None
    reason: str | None
    milliseconds: float | None
    """Duration at the least clock frequency."""
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


# Divergence and accesses


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
    """`uniform`, `coalesced`, `strided`, `affine`, `array`, `unknown` or `not-counted`."""
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


# Runs


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


# Audits


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
