"""Distribution of tasks over a Dask cluster."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from ..errors import WarpboundError
from .tasks import Done, Task, work

_DEATHS = 10
"""Workers that may end during a task before it is given up: other tasks may have ended them."""


@contextmanager
def client(scheduler: str | None, workers: int | None) -> Iterator[Any]:
    """Connects to a scheduler, or starts processes on this computer, each of which does one task at a time."""
    try:
        import dask
        from distributed import Client, LocalCluster
    except ImportError as error:
        hint = "install it with: pip install 'warpbound[campaign]'"
        raise WarpboundError(f"campaigns need the package distributed; {hint}") from error
    if scheduler is not None:
        with Client(scheduler) as connected:
            yield connected
        return
    settings = {
        "distributed.scheduler.allowed-failures": _DEATHS,
        "logging.distributed": "error",
    }
    with (
        dask.config.set(settings),
        LocalCluster(
            n_workers=workers or os.cpu_count() or 1,
            threads_per_worker=1,
            dashboard_address=None,
            silence_logs="ERROR",
        ) as cluster,
        Client(cluster) as connected,
    ):
        yield connected


def distribute(connected: Any, tasks: Sequence[Task]) -> Iterator[list[Done]]:
    """Does tasks on the workers and returns their results, as many at a time as there are.

    A task whose worker ends is done by another one.
    """
    from distributed import as_completed

    folder = os.getcwd()
    futures = [
        connected.submit(work, task, folder, key=f"warpbound {task.key}", pure=False) for task in tasks
    ]
    for batch in as_completed(futures).batches():
        try:
            # A result that is lost with its worker is computed again, and this waits for it.
            results = connected.gather([*batch])
        except Exception as error:
            raise WarpboundError(f"a task failed: {error!r}") from error
        yield results
        for future in batch:
            # The worker need not keep what is in the journal.
            future.release()


def workers_of(connected: Any) -> int:
    """Returns the number of workers, which the scheduler is asked for."""
    return len(connected.scheduler_info(n_workers=-1)["workers"])
