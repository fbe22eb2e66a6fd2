"""Journals: the finished tasks of a campaign, so that an interrupted one goes on where it was."""

from __future__ import annotations

import dataclasses
import hashlib
import json
import os
from collections.abc import Iterable, Sequence
from types import TracebackType

from .. import __version__
from ..errors import InputError
from .tasks import Done, Task


def digest(tasks: Sequence[Task], files: Iterable[str]) -> str:
    """Returns the digest of a campaign: of its tasks and of the contents of the files that its command names."""
    state = hashlib.sha256(__version__.encode())
    for task in tasks:
        state.update(json.dumps(dataclasses.asdict(task), sort_keys=True).encode())
    for file in files:
        state.update(f"\n{file}\n".encode())
        with open(file, "rb") as contents:
            while part := contents.read(1 << 20):
                state.update(part)
    return state.hexdigest()


class Journal:
    """File with a line for the campaign, and one for each finished task, on the disk before others are waited for."""

    def __init__(self, path: str, campaign: str) -> None:
        self.path = path
        self.done: dict[str, Done] = {}
        """Finished tasks."""
        lines = self._complete_lines()
        if lines:
            header = json.loads(lines[0])
            if header.get("campaign") != campaign:
                hint = "remove it, or choose another one with --journal"
                raise InputError("this journal is of another campaign", hint, path)
            for line in lines[1:]:
                finished = Done(**json.loads(line))
                self.done[finished.key] = finished
        # The end of a line that an interrupt has cut off is written over.
        self._file = open(path, "r+b" if lines else "wb")
        self._file.truncate(sum(map(len, lines)))
        self._file.seek(0, os.SEEK_END)
        if not lines:
            self._write([{"campaign": campaign}])

    def _complete_lines(self) -> list[bytes]:
        try:
            with open(self.path, "rb") as file:
                lines = file.readlines()
        except FileNotFoundError:
            return []
        return lines[:-1] if lines and not lines[-1].endswith(b"\n") else lines

    def _write(self, lines: Iterable[dict[str, object]]) -> None:
        self._file.writelines(json.dumps(line).encode() + b"\n" for line in lines)
        self._file.flush()
        os.fsync(self._file.fileno())

    def add(self, finished: Sequence[Done]) -> None:
        """Adds finished tasks."""
        self._write(map(dataclasses.asdict, finished))
        self.done |= {done.key: done for done in finished}

    def remove(self) -> None:
        """Removes the file, once the output is complete."""
        self._file.close()
        os.remove(self.path)

    def __enter__(self) -> Journal:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._file.close()
