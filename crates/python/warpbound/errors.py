"""Errors and problems: what is wrong, where, and what to do."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Problem:
    """An image, a kernel or an option that cannot be used, while the rest of an answer could be given."""

    message: str
    """What is wrong, in one clause."""
    hint: str | None = None
    """What to do, if something can be done."""
    file: str | None = None
    """File, and image in it."""
    kernel: str | None = None
    """Kernel."""
    position: str | None = None
    """Place in the file or the kernel: an address, an offset or a line."""
    source: str | None = None
    """Source line, where the machine code has line information."""

    def __str__(self) -> str:
        text = ""
        if self.file is not None:
            text += f"{self.file}: "
        if self.kernel is not None:
            text += f"kernel {self.kernel}: "
        if self.position is not None:
            text += f"{self.position}: "
        text += self.message
        if self.source is not None:
            text += f" ({self.source})"
        if self.hint is not None:
            text += f"; {self.hint}"
        return text


class WarpboundError(Exception):
    """Base of the errors of the package."""


class InputError(WarpboundError):
    """A file, a kernel, a launch or an option cannot be used."""

    def __init__(
        self,
        message: str,
        hint: str | None = None,
        file: str | None = None,
        kernel: str | None = None,
        position: str | None = None,
        source: str | None = None,
    ) -> None:
        super().__init__(message, hint, file, kernel, position, source)
        self.problem = Problem(message, hint, file, kernel, position, source)

    @property
    def message(self) -> str:
        """What is wrong, in one clause."""
        return self.problem.message

    @property
    def hint(self) -> str | None:
        """What to do, if something can be done."""
        return self.problem.hint

    @property
    def file(self) -> str | None:
        """File, and image in it."""
        return self.problem.file

    @property
    def kernel(self) -> str | None:
        """Kernel."""
        return self.problem.kernel

    @property
    def position(self) -> str | None:
        """Place in the file or the kernel."""
        return self.problem.position

    @property
    def source(self) -> str | None:
        """Source line."""
        return self.problem.source

    def __str__(self) -> str:
        return str(self.problem)
