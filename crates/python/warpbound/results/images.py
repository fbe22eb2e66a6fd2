"""Images of files and their kernels."""

from __future__ import annotations

from dataclasses import dataclass

Size = tuple[int, ...]
"""Sizes in x, y and z."""


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
    calls: int | None
    """Call instructions; `None` if instructions cannot be decoded."""
    loops: int | None
    """Loops; `None` if the control flow cannot be followed."""
    required_block: Size | None
    """Threads of a block that the kernel requires."""
    refused: str | None
    """Reason why the control flow cannot be followed."""
    code_object: CodeObject | None = None
    reserved_shared: int = 0
    """Bytes of shared memory before the static ones that belong to the system."""
    required_cluster: Size | None = None
    """Blocks of a cluster that the kernel requires."""


@dataclass(frozen=True)
class SkippedSections:
    """Sections of one kind that are counted and not read."""

    what: str
    """`Mercury code and its metadata`, `compatibility records`, `notes`."""
    sections: int
    bytes: int


@dataclass(frozen=True)
class ImageContents:
    """Kernels of an image."""

    file: str
    isa: str
    linked: bool
    """Whether the image is linked; without, calls and addresses may still be missing."""
    refused: str | None
    """Reason why the kernels cannot be read."""
    kernels: tuple[Kernel, ...]
    others: tuple[str, ...]
    """Contents that are not kernels."""
    warnings: tuple[str, ...]
    """Defects of the file that do not affect its code."""
    uncounted: str | None = None
    """Reason why calls and loops are not counted, if the kernels can be listed in spite of that."""
    skipped: tuple[SkippedSections, ...] = ()


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
    linked_in: int | None
    """Number of the image with the same kernels linked, if this one is not."""
    contents: ImageContents | None = None
    """Kernels, where they are asked for."""
