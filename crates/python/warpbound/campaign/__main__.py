"""Command `python -m warpbound.campaign`."""

from __future__ import annotations

import argparse
import functools
import itertools
import json
import os
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NoReturn

from .. import __version__
from .._native import columns, parquet
from ..errors import InputError, WarpboundError
from . import cluster
from .journal import Journal, digest
from .tasks import Task, bound_tasks, launch_tasks, ordered

_TABLES = {"bound": "bounds", "audit": "audits", "run": "runs"}

# Exit codes are those of the command `warpbound`.
_VIOLATED, _NO_BOUND, _UNUSABLE = 1, 2, 3
_USAGE, _INTERRUPTED = 64, 130


class _Parser(argparse.ArgumentParser):
    """Parser with the exit code of `warpbound` for wrong usage."""

    def error(self, message: str) -> NoReturn:
        self.print_usage(sys.stderr)
        self.exit(_USAGE, f"{self.prog}: {message}\n")


def _arguments() -> argparse.ArgumentParser:
    parser = _Parser(
        prog="python -m warpbound.campaign",
        description="Bounds, audits or runs over many files, launches and machines, on the workers of a Dask cluster. "
        "The rows are those of `warpbound COMMAND --format jsonl`.",
        epilog="Exit codes are those of warpbound. An interrupted campaign goes on with the same command.",
    )
    parser.add_argument("--version", action="version", version=f"warpbound {__version__}")
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")
    bound = commands.add_parser("bound", help="bound all kernels of files")
    bound.add_argument("--launch", metavar="FILE", help="launch whose kernel is bounded")
    bound.add_argument("--call-default", type=int, metavar="N")
    bound.add_argument("--cost", choices=["unit", "cycles"], default="unit")
    bound.add_argument("--scope", choices=["warp", "block", "sm", "grid"])
    bound.add_argument("--shards", type=int, metavar="N", help="tasks for each file [default: by its size]")
    audit = commands.add_parser("audit", help="audit launches against all claims")
    audit.add_argument("--runs", type=int, default=1, metavar="N")
    audit.add_argument("--seed", type=int, default=1, metavar="S")
    audit.add_argument("--cycles", action="store_true")
    run = commands.add_parser("run", help="run launches, at all points of a design space")
    run.add_argument("--functional", action="store_true", help="run without time")
    run.add_argument(
        "--set",
        action="append",
        default=[],
        metavar="NAME=VALUE,...",
        help="values of a parameter of the machine; with several, all combinations are run",
    )
    run.add_argument("--select", action="append", metavar="VALUES", help="may be repeated")
    run.add_argument("--warp-scheduler", action="append", metavar="POLICY", help="may be repeated")
    for command in (bound, audit):
        command.add_argument("--facts", metavar="FILE")
        command.add_argument("--loop-default", type=int, metavar="N")
    for command in (audit, run):
        command.add_argument("--launch", action="append", required=True, metavar="FILE", help="may be repeated")
        command.add_argument("--max-instructions", type=int, metavar="N")
    for command in (bound, audit, run):
        _add_common(command)
    return parser


def _add_common(command: argparse.ArgumentParser) -> None:
    command.add_argument("files", nargs="+", metavar="FILE", help="file with machine code")
    command.add_argument("--kernel", metavar="K")
    command.add_argument("--arch", metavar="ARCH")
    many = {"action": "append"} if command.prog.endswith("run") else {}
    command.add_argument("--machine", metavar="M", help="machine, or its file", **many)  # type: ignore[arg-type]
    command.add_argument("--caches", choices=["any", "warm", "cold"])
    command.add_argument("--output", required=True, metavar="FILE", help="rows: Parquet for .parquet, else JSON lines")
    command.add_argument("--journal", metavar="FILE", help="finished tasks [default: OUTPUT.journal]")
    command.add_argument("--scheduler", metavar="ADDRESS", help="Dask scheduler [default: processes on this computer]")
    command.add_argument("--workers", type=int, metavar="N", help="processes on this computer [default: one per core]")
    command.add_argument("--quiet", action="store_true", help="no progress")


def _points(arguments: argparse.Namespace) -> Iterator[dict[str, Any]]:
    """Returns the options of `run` at each point of the design space."""
    of_time = [arguments.set, arguments.machine, arguments.select, arguments.warp_scheduler, arguments.caches]
    if arguments.functional and any(of_time):
        raise InputError("--functional runs without time, and so without a machine", "omit it, or the options of machines")
    axes = []
    for text in arguments.set:
        name, separator, values = text.partition("=")
        try:
            numbers = [int(value) for value in values.split(",")]
        except ValueError:
            separator = ""
        if not separator:
            raise InputError(f"--set {text}: expected NAME=VALUE or NAME=VALUE,VALUE,...")
        axes.append([(name, number) for number in numbers])
    several = (arguments.machine or [None], arguments.select or [None], arguments.warp_scheduler or [None])
    for machine, select, scheduler in itertools.product(*several):
        for point in itertools.product(*axes):
            yield {
                "kernels": {"kernel": arguments.kernel, "arch": arguments.arch},
                "functional": arguments.functional,
                "machine": machine,
                "select": select,
                "scheduler": scheduler,
                "set": [list(value) for value in point],
                "caches": arguments.caches,
                "max_instructions": arguments.max_instructions,
            }


def _tasks(arguments: argparse.Namespace) -> list[Task]:
    if arguments.command == "run":
        return launch_tasks("run", arguments.files, arguments.launch, _points(arguments))
    has_cycles = arguments.cycles if arguments.command == "audit" else arguments.cost == "cycles"
    cycles = {"machine": arguments.machine, "caches": arguments.caches}
    if arguments.command == "bound":
        cycles["scope"] = arguments.scope
    if not has_cycles and any(cycles.values()):
        raise InputError("--machine, --caches and --scope are for cycles", "add --cost cycles (bound) or --cycles (audit)")
    options: dict[str, Any] = {
        "kernels": {"kernel": arguments.kernel, "arch": arguments.arch},
        "facts": {"facts": arguments.facts, "loop_default": arguments.loop_default},
        "cycles": cycles if has_cycles else None,
    }
    if arguments.command == "audit":
        options |= {"runs": arguments.runs, "seed": arguments.seed, "max_instructions": arguments.max_instructions}
        return launch_tasks("audit", arguments.files, arguments.launch, [options])
    # A worker is one of several processes, so it has one thread.
    options |= {"call_default": arguments.call_default, "jobs": 1}
    return bound_tasks(arguments.files, options, arguments.launch, arguments.shards)


def _named_files(arguments: argparse.Namespace) -> list[str]:
    """Returns the files that the command names, whose contents decide the rows."""
    launches = arguments.launch or []
    files = [*arguments.files, *([launches] if isinstance(launches, str) else launches)]
    machines = arguments.machine or []
    files += [m for m in ([machines] if isinstance(machines, str) else machines) if m.endswith(".toml")]
    if getattr(arguments, "facts", None):
        files.append(arguments.facts)
    return files


class _Progress:
    """Line on a terminal."""

    def __init__(self, is_wanted: bool, tasks: int) -> None:
        self._is_wanted = is_wanted and sys.stderr.isatty()
        self._tasks = tasks
        self._last = 0.0

    def show(self, tasks: int, rows: int, workers: Callable[[], int]) -> None:
        if not self._is_wanted or (time.monotonic() - self._last < 0.2 and tasks < self._tasks):
            return
        self._last = time.monotonic()
        bar = "#" * (20 * tasks // self._tasks)
        percent = 100 * tasks // self._tasks
        text = f"[{bar:<20}] {percent:3} %  {tasks} of {self._tasks} tasks, {rows} rows, {workers()} workers"
        sys.stderr.write(f"\r\x1b[K{text}")
        sys.stderr.flush()

    def clear(self) -> None:
        if self._is_wanted:
            sys.stderr.write("\r\x1b[K")
            sys.stderr.flush()


def _write(output: str, table: str, rows: Sequence[str]) -> None:
    """Writes the rows; the file appears under its name once it is complete."""
    if output.endswith(".parquet"):
        names = columns(table)
        contents = parquet(table, [[row[name] for name in names] for row in map(json.loads, rows)])
    else:
        contents = "".join(f"{row}\n" for row in rows).encode()
    temporary = f"{output}.{os.getpid()}.tmp"
    try:
        with open(temporary, "wb") as file:
            file.write(contents)
        os.replace(temporary, output)
    except BaseException:
        if os.path.exists(temporary):
            os.remove(temporary)
        raise


def _code(command: str, rows: Sequence[str], problems: Sequence[str]) -> int:
    """Returns the exit code of the command for these rows."""
    found = set()
    for row in map(json.loads, rows):
        found.add(row["status"])
        if row.get("cycles_reason") is not None:
            found.add("unbounded")
    if "violated" in found:
        return _VIOLATED
    if problems or found & {"failed", "fault"}:
        return _UNUSABLE
    return _NO_BOUND if found & {"unbounded", "refused"} else 0


def _campaign(arguments: argparse.Namespace) -> int:
    tasks = _tasks(arguments)
    journal = arguments.journal or f"{arguments.output}.journal"
    with Journal(journal, digest(tasks, _named_files(arguments))) as finished:
        left = [task for task in tasks if task.key not in finished.done]
        if left:
            progress = _Progress(not arguments.quiet, len(tasks))
            rows = sum(len(done.rows) for done in finished.done.values())
            try:
                with cluster.client(arguments.scheduler, arguments.workers) as connected:
                    for batch in cluster.distribute(connected, left):
                        finished.add(batch)
                        rows += sum(len(done.rows) for done in batch)
                        workers = functools.partial(cluster.workers_of, connected)
                        progress.show(len(finished.done), rows, workers)
            finally:
                progress.clear()
        lines = ordered(tasks, finished.done)
        problems = [problem for task in tasks for problem in finished.done[task.key].problems]
        _write(arguments.output, _TABLES[arguments.command], lines)
        finished.remove()
    for problem in problems:
        print(f"warpbound: {problem}", file=sys.stderr)
    return _code(arguments.command, lines, problems)


def main() -> int:
    """Executes the command; returns the exit code."""
    arguments = _arguments().parse_args()
    try:
        return _campaign(arguments)
    except WarpboundError as error:
        print(f"warpbound: {error}", file=sys.stderr)
        return _UNUSABLE
    except OSError as error:
        print(f"warpbound: {error.filename}: {error.strerror}", file=sys.stderr)
        return _UNUSABLE
    except KeyboardInterrupt:
        print("warpbound: interrupted; the same command goes on from here", file=sys.stderr)
        return _INTERRUPTED


if __name__ == "__main__":
    sys.exit(main())
