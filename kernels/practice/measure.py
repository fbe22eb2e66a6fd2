"""Bounds in cycles of the launches in this folder, beside the slowest values of the machine in a run.

usage: python3 kernels/practice/measure.py PATH-OF-WARPBOUND [CUBINS BUILD...]

With a folder, the cubins NAME.BUILD.cubin in it, for example of sm_90, which `cargo xtask kernels --wide CUBINS --beside`
has built; otherwise those in this folder.

First the kernels that `aside.txt` names, then the others: loops and those without a bound, accesses and those whose
addresses are unknown, with the launch, and with its block and the values of its integers alone; bound, cycles of the run,
ratio; then how many kernels are bounded, and the median ratio.
"""

import json
import pathlib
import subprocess
import sys
import tomllib

FOLDER = pathlib.Path(__file__).parent
MACHINES = {"sm_61.cubin": "gtx1080", "gfx803.co": "r9-nano"}
WIDE_MACHINES = {
    "sm_75": "t4", "sm_80": "a100", "sm_87": "jetson-orin", "sm_90": "h200", "sm_100": "b200", "sm_110": "thor",
    "sm_120": "rtx5090",
}


def output(tool, *arguments):
    run = subprocess.run([tool, *arguments, "--format", "json"], cwd=FOLDER, capture_output=True, text=True)
    try:
        return json.loads(run.stdout)
    except json.JSONDecodeError:
        return None


def unknown_among(report):
    """Accesses of a report, and those whose addresses are unknown."""
    if report is None:
        return 0, 0
    accesses = (report.get("kernels") or [report])[0]["accesses"]
    return len(accesses), sum("unknown" in str(own["class"]) for own in accesses)


def without_launch(tool, code, name):
    """Classes of accesses with the block and the integers of a launch, whatever the grid and the buffers are."""
    launch = tomllib.loads((FOLDER / f"{name}.toml").read_text())
    options = ["--kernel", launch["kernel"], "--block", ",".join(map(str, launch["block"]))]
    for position, param in enumerate(launch.get("param", [])):
        if isinstance(param.get("value"), int) and param["type"] in ("s32", "u32"):
            options += ["--param", f"p{position}={param['value']}"]
    return output(tool, "access", code, *options)


def measure(tool, cubins, name, build, machine):
    launch, code = ["--launch", f"{name}.toml"], str(cubins / f"{name}.{build}")
    bound = output(tool, "bound", code, *launch, "--cost", "cycles", "--machine", machine, "--scope", "grid")
    access = output(tool, "access", code, *launch)
    run = output(tool, "run", code, *launch, "--machine", machine, "--select", "slow")
    if bound is None:
        print(f"{name}.{build}: no report")
        return False, None, (0, 0, 0)
    kernel = bound["kernels"][0]
    missing = sum(loop.get("bound") is None for loop in kernel["loops"])
    accesses, unknown = unknown_among(access)
    stated, without = unknown_among(without_launch(tool, code, name))
    limit = kernel["cycles"]["bound"]
    cycles = run and run["cycles"]
    ratio = limit / cycles if limit and cycles else None
    text = f"{ratio:.1f}" if ratio else kernel["cycles"].get("reason") or "no run"
    print(f"{name + '.' + build:32} loops {len(kernel['loops'])}, {missing} without a bound; accesses {accesses}, {unknown} unknown, "
          f"{without} of {stated} without the launch; "
          f"bound {limit}, run {cycles}: {text}")
    return limit is not None, ratio, (accesses, unknown, without)


def main():
    tool = str(pathlib.Path(sys.argv[1]).resolve())
    cubins, machines = FOLDER, MACHINES
    if len(sys.argv) > 2:
        cubins = pathlib.Path(sys.argv[2]).resolve()
        machines = {f"{build}.cubin": WIDE_MACHINES[build] for build in sys.argv[3:] or WIDE_MACHINES}
    aside = set((FOLDER / "aside.txt").read_text().split())
    names = sorted(path.stem for path in FOLDER.glob("*.toml"))
    for title, is_aside in [("aside", True), ("others", False)]:
        for build, machine in machines.items():
            chosen = [name for name in names if (name in aside) == is_aside and (cubins / f"{name}.{build}").exists()]
            found = [measure(tool, cubins, name, build, machine) for name in chosen]
            ratios = sorted(ratio for _, ratio, _ in found if ratio)
            bounded = sum(is_bounded for is_bounded, _, _ in found)
            accesses, unknown, without = (sum(counts) for counts in zip(*(of for _, _, of in found)))
            print(f"{title}, {build}: {bounded} of {len(found)} bounded, median ratio {ratios[len(ratios) // 2]:.1f}; "
                  f"of {accesses} accesses {unknown} unknown, {without} without the launch\n")


if __name__ == "__main__":
    main()
