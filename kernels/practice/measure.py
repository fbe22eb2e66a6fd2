"""Bounds in cycles of the launches in this folder, beside the slowest values of the machine in a run.

usage: python3 kernels/practice/measure.py PATH-OF-WARPBOUND

First the kernels that `aside.txt` names, then the others: loops and those without a bound, accesses and those whose
addresses are unknown, bound, cycles of the run, ratio; then how many kernels are bounded, and the median ratio.
"""

import json
import pathlib
import subprocess
import sys

FOLDER = pathlib.Path(__file__).parent
MACHINES = {"sm_61.cubin": "gtx1080", "gfx803.co": "r9-nano"}


def output(tool, *arguments):
    run = subprocess.run([tool, *arguments, "--format", "json"], cwd=FOLDER, capture_output=True, text=True)
    try:
        return json.loads(run.stdout)
    except json.JSONDecodeError:
        return None


def measure(tool, name, build, machine):
    launch, code = ["--launch", f"{name}.toml"], f"{name}.{build}"
    bound = output(tool, "bound", code, *launch, "--cost", "cycles", "--machine", machine, "--scope", "grid")
    access = output(tool, "access", code, *launch)
    run = output(tool, "run", code, *launch, "--machine", machine, "--select", "slow")
    kernel = bound["kernels"][0]
    missing = sum(loop.get("bound") is None for loop in kernel["loops"])
    accesses = (access.get("kernels") or [access])[0]["accesses"]
    unknown = sum("unknown" in str(own["class"]) for own in accesses)
    limit = kernel["cycles"]["bound"]
    cycles = run and run["cycles"]
    ratio = limit / cycles if limit and cycles else None
    text = f"{ratio:.1f}" if ratio else kernel["cycles"].get("reason") or "no run"
    print(f"{code:32} loops {len(kernel['loops'])}, {missing} without a bound; accesses {len(accesses)}, {unknown} unknown; "
          f"bound {limit}, run {cycles}: {text}")
    return limit is not None, ratio


def main():
    tool = str(pathlib.Path(sys.argv[1]).resolve())
    aside = set((FOLDER / "aside.txt").read_text().split())
    names = sorted(path.stem for path in FOLDER.glob("*.toml"))
    for title, is_aside in [("aside", True), ("others", False)]:
        for build, machine in MACHINES.items():
            chosen = [name for name in names if (name in aside) == is_aside and (FOLDER / f"{name}.{build}").exists()]
            found = [measure(tool, name, build, machine) for name in chosen]
            ratios = sorted(ratio for _, ratio in found if ratio)
            bounded = sum(is_bounded for is_bounded, _ in found)
            print(f"{title}, {build}: {bounded} of {len(found)} bounded, median ratio {ratios[len(ratios) // 2]:.1f}\n")


if __name__ == "__main__":
    main()
