"""Tasks of a campaign: what one worker does at a time."""

from __future__ import annotations

import functools
import json
import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from .._native import NativeFile
from ..errors import InputError

_BYTES_OF_SHARD = 64 << 10
"""Bytes of a file for each shard of its kernels. It depends on the file alone, so that a campaign can be resumed with
another number of workers."""

_MOST_SHARDS = 64


@dataclass(frozen=True)
class Task:
    """Work that has rows of its own: a shard of the kernels of a file, or a launch on a machine."""

    key: str
    """Name in the journal."""
    group: int
    """Rows are in the order of groups, and in each by position."""
    command: str
    """`bound`, `audit` or `run`."""
    file: str
    options: Mapping[str, Any]
    """Options in the form of the extension module."""
    launch: str | None = None
    position: int = 0
    """Position of the launch."""
    shard: tuple[int, int] = (1, 1)


@dataclass(frozen=True)
class Done:
    """Rows of a task, as JSON lines."""

    key: str
    rows: list[str]
    problems: list[str] = field(default_factory=list)
    """Images and kernels that cannot be read, or the reason why there is no row."""


@functools.lru_cache(maxsize=4)
def _file(path: str) -> NativeFile:
    return NativeFile.open(path)


def work(task: Task, folder: str) -> Done:
    """Does a task in a folder, to which the names of its files are relative."""
    os.chdir(folder)
    options = json.dumps(task.options)
    try:
        if task.command == "bound":
            rows, problems = _file(task.file).bound_rows(options, task.launch, task.shard)
            return Done(task.key, rows, [str(InputError(*problem)) for problem in problems])
        assert task.launch is not None
        row = _file(task.file).audit_row if task.command == "audit" else _file(task.file).run_row
        return Done(task.key, [row(options, task.position, task.launch)])
    except InputError as error:
        return Done(task.key, [], [str(error)])


def bound_tasks(
    files: Sequence[str], options: Mapping[str, Any], launch: str | None, shards: int | None
) -> list[Task]:
    """Returns the tasks of bounds: the shards of each file."""
    tasks = []
    for group, file in enumerate(files):
        count = shards or min(_MOST_SHARDS, 1 + os.path.getsize(file) // _BYTES_OF_SHARD)
        for number in range(1, count + 1):
            key = f"{group} {number}/{count}"
            tasks.append(Task(key, group, "bound", file, options, launch, shard=(number, count)))
    return tasks


def launch_tasks(
    command: str, files: Sequence[str], launches: Sequence[str], points: Iterable[Mapping[str, Any]]
) -> list[Task]:
    """Returns the tasks of audits or runs: each launch of each file, at each point of the design space."""
    tasks = []
    for group, (point, file) in enumerate((point, file) for point in points for file in files):
        for position, launch in enumerate(launches):
            key = f"{group} {position}"
            tasks.append(Task(key, group, command, file, point, launch, position))
    return tasks


def ordered(tasks: Sequence[Task], done: Mapping[str, Done]) -> list[str]:
    """Returns the rows of all tasks in the order that one process gives them."""
    rows = []
    for task in tasks:
        rows += [(task.group, json.loads(row)["position"], row) for row in done[task.key].rows]
    return [row for _, _, row in sorted(rows, key=lambda row: row[:2])]
