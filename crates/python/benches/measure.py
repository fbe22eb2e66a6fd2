"""Measures the package: its import, bounds beside the command, and campaigns with one worker and with two.

    python crates/python/benches/measure.py COMMAND

COMMAND is the program `warpbound`, of the same build profile as the wheel. Times are of whole calls, in pairs one after the
other, so that a change of the computer's load meets both of a pair; medians are of the ratios of the pairs.
"""

import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]
BUILT = ROOT / "kernels" / "built"

IMPORT = """
import time
wall, cpu = time.perf_counter(), time.process_time()
import warpbound
print(time.perf_counter() - wall, time.process_time() - cpu)
"""

BOUND = """
import sys, time
import warpbound
for path in sys.argv[1:]:
    start = time.perf_counter()
    warpbound.open(path).bound(loop_default=10, jobs=1)
    print(time.perf_counter() - start)
"""


def seconds(*arguments):
    """Returns the time of a process."""
    start = time.perf_counter()
    # Exit code 2: some kernel has no bound.
    code = subprocess.run([*map(str, arguments)], stdout=subprocess.DEVNULL, check=False).returncode
    assert code in (0, 2), arguments
    return time.perf_counter() - start


def measure_import():
    runs = [subprocess.run([sys.executable, "-c", IMPORT], capture_output=True, text=True) for _ in range(9)]
    times = [tuple(map(float, run.stdout.split())) for run in runs]
    wall, cpu = (statistics.median(column) for column in zip(*times, strict=True))
    print(f"import: {wall:.3f} s, {cpu:.3f} s of them of this process (medians of {len(runs)})")


def measure_bound(command):
    """Bounds of files of three sizes: a call of the package, and a process of the command."""
    for name in ["break_loop.sm_61.cubin", "matmul_int.sm_61.cubin", "rates.sm_61.cubin"]:
        path = BUILT / name
        pairs = []
        for _ in range(7):
            process = seconds(command, "bound", path, "--loop-default", 10, "--jobs", 1, "--format", "json")
            call = subprocess.run([sys.executable, "-c", BOUND, path], capture_output=True, text=True)
            pairs.append((float(call.stdout), process))
        call, process = (statistics.median(column) for column in zip(*pairs, strict=True))
        ratio = statistics.median(call / process for call, process in pairs)
        print(f"bound of {name}: {1e3 * call:.1f} ms, command {1e3 * process:.1f} ms, ratio {ratio:.2f}")


def measure_campaign(pairs=3):
    """Audits of one launch, as tasks of equal length: a single long task would keep one worker busy at the end."""
    launches = ["--launch", ROOT / "kernels" / "launches" / "hotspot.hotspot.0.toml"] * 40
    with tempfile.TemporaryDirectory() as folder:
        output = Path(folder) / "rows.jsonl"
        times, rows = [], []
        for _ in range(pairs):
            pair = []
            for workers in (1, 2):
                options = [*launches, "--runs", 2, "--cycles", "--output", output, "--workers", workers]
                campaign = [sys.executable, "-m", "warpbound.campaign", "audit", BUILT / "hotspot.sm_61.cubin"]
                pair.append(seconds(*campaign, *options))
                rows.append(output.read_bytes())
            times.append(pair)
    assert all(other == rows[0] for other in rows)
    one, two = (statistics.median(column) for column in zip(*times, strict=True))
    ratio = statistics.median(one / two for one, two in times)
    count = len(rows[0].splitlines())
    print(f"campaign of {count} audits, with the start of the cluster: {one:.1f} s with one worker, {two:.1f} s with two,")
    print(f"  ratio {ratio:.2f}, the same rows")


if __name__ == "__main__":
    measure_import()
    measure_bound(sys.argv[1])
    measure_campaign()
