"""Accesses of both corpora whose addresses are unknown, of those that no load decides.

usage: python3 kernels/practice/addresses.py PATH-OF-WARPBOUND [--build sm_61.cubin] [--each]

For each launch of this folder and the first launch of each of our own kernels: accesses, those with a load that decides
them, and those of unknown address that no load decides; with the launch, and with its block and the values of its integers
alone. `--each` prints a row for each kernel with an unknown address.
"""

import argparse
import json
import pathlib
import subprocess
import tomllib

PRACTICE = pathlib.Path(__file__).resolve().parent
KERNELS = PRACTICE.parent


def classes(tool, code, kernel, options):
    """Classes of the accesses of a kernel, by address."""
    command = [tool, "access", code, "--kernel", kernel, "--format", "json", "--quiet", *options]
    run = subprocess.run(command, capture_output=True, text=True)
    try:
        report = json.loads(run.stdout)
    except json.JSONDecodeError:
        return {}
    return {own["address"]: own for own in (report.get("kernels") or [report])[0]["accesses"]}


def stated(launch):
    """Options that state the block and the integers of a launch, and nothing of the grid and the buffers."""
    block = launch["block"] if isinstance(launch["block"], list) else [launch["block"]]
    options = ["--block", ",".join(map(str, block))]
    for position, param in enumerate(launch.get("param", [])):
        if isinstance(param.get("value"), int) and param["type"] in ("s32", "u32"):
            options += ["--param", f"p{position}={param['value']}"]
    return options


def numbers(found):
    """Accesses that no load decides, and those of them whose addresses are unknown."""
    unknown = [own for own in found.values() if own["class"] == "unknown"]
    by_load = sum(own["decided_by"] is not None for own in unknown)
    return len(found) - by_load, len(unknown) - by_load


def measure(title, tool, launches, code_of, each):
    with_launch, without = [0, 0], [0, 0]
    for path in launches:
        launch, code = tomllib.loads(path.read_text()), code_of(path)
        if not code.exists():
            continue
        kernel = launch.get("kernel") or path.name.split(".")[1]
        found = numbers(classes(tool, code, kernel, ["--launch", path]))
        alone = numbers(classes(tool, code, kernel, stated(launch)))
        for sums, own in [(with_launch, found), (without, alone)]:
            sums[:] = [a + b for a, b in zip(sums, own)]
        if each and (found[1] or alone[1]):
            print(f"{path.stem:50} with the launch {found[1]} of {found[0]}, without {alone[1]} of {alone[0]}")
    share = lambda of: f"{of[1]} of {of[0]} unknown ({100 * of[1] / max(of[0], 1):.1f} %)"
    print(f"{title}: with the launch {share(with_launch)}, with block and integers {share(without)}")


def main():
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("tool")
    arguments.add_argument("--build", default="sm_61.cubin")
    arguments.add_argument("--each", action="store_true")
    given = arguments.parse_args()
    tool = str(pathlib.Path(given.tool).resolve())
    aside = set((PRACTICE / "aside.txt").read_text().split())
    for title, is_aside in [("practice, aside", True), ("practice, others", False)]:
        chosen = sorted(path for path in PRACTICE.glob("*.toml") if (path.stem in aside) == is_aside)
        measure(title, tool, chosen, lambda path: path.with_suffix(f".{given.build}"), given.each)
    first = sorted((KERNELS / "launches").glob("*.0.toml"))
    measure("own", tool, first, lambda path: KERNELS / "built" / f"{path.name.split('.')[0]}.{given.build}", given.each)


if __name__ == "__main__":
    main()
