"""The lock of the interpreter is released: a query reads from a pipe that another thread of the interpreter fills."""

import os
import threading
from pathlib import Path

import warpbound

MATMUL = "kernels/built/matmul_int.sm_61.cubin"
LAUNCH = "kernels/cuda/matmul_int.8x8.toml"


def through_a_pipe(tmp_path, contents, query, suffix=""):
    """Does a query on a pipe in a thread of its own, and fills the pipe in this one."""
    pipe = tmp_path / f"pipe{suffix}"
    os.mkfifo(pipe)
    result = []
    thread = threading.Thread(target=lambda: result.append(query(pipe)), daemon=True)
    thread.start()
    # Opening the pipe for writing waits until the query has opened it, and the query waits for its contents.
    pipe.write_bytes(contents)
    thread.join()
    pipe.unlink()
    return result[0]


def test_queries_release_the_lock(tmp_path):
    file = warpbound.open(MATMUL)
    contents = Path(MATMUL).read_bytes()
    opened = through_a_pipe(tmp_path, contents, warpbound.open)
    assert "matmul_int" in {kernel.name for kernel in opened.list()[0].contents.kernels}
    launch = Path(LAUNCH).read_bytes()
    through_a_pipe(tmp_path, launch, warpbound.Launch.read)
    bound = through_a_pipe(tmp_path, b"", lambda pipe: file.bound(facts=pipe, loop_default=5))
    assert bound.kernels[0].bound
    audit = through_a_pipe(tmp_path, b"", lambda pipe: file.audit(LAUNCH, facts=pipe))
    assert audit.violations == 0
    machine = Path("machine/nvidia/gtx1080.toml").read_bytes()
    run = through_a_pipe(tmp_path, machine, lambda pipe: file.run(LAUNCH, machine=str(pipe)), ".toml")
    assert run.cycles
