#!/usr/bin/env python3
"""What the programs of this folder compute, written from the statement of each problem; no program is read or run.

    reference.py            compares with the expectations of the launch files
    reference.py --write    writes them there

Needs Python 3.11 and nothing else.
"""

import math
import re
import sys
import tomllib
from pathlib import Path

HERE = Path(__file__).resolve().parent


def word(value):
    """`value` in 32-bit two's complement."""
    return (value + 2**31) % 2**32 - 2**31


def truncated(dividend, divisor):
    """The quotient, rounded towards zero."""
    quotient = abs(dividend) // abs(divisor)
    return quotient if (dividend < 0) == (divisor < 0) else -quotient


# Each function takes the memory at the start, the launch constants and the number of threads. It returns the results, a list of words for each
# address where results begin, or the name of the failure.


def triangle_sum(memory, constants, threads):
    columns, results = constants["c"], constants["v"]
    sums = []
    for column in range(threads):
        triangle = [memory[row * columns + column] for row in range(column + 1)]
        adjustment = sum(row % (column + 1) == 0 for row in range(column + 1))
        sums.append(word(sum(triangle[::2]) + adjustment))
    return {results: sums}


def tree_sum(memory, constants, threads):
    return {0: [word(sum(memory[: constants["n"]]))]}


def inclusive_scan(memory, constants, threads):
    n, first, second = constants["n"], constants["from"], constants["to"]
    rounds = (n - 1).bit_length()
    values = memory[first : first + n]
    return {(second if rounds % 2 else first): [word(sum(values[: i + 1])) for i in range(n)]}


def stencil(memory, constants, threads):
    n, steps, first, second = (constants[key] for key in ("n", "steps", "old", "new"))
    values = memory[first : first + n]
    for _ in range(steps):
        middle = [truncated(word(values[i - 1] + 2 * values[i] + values[i + 1]), 4) for i in range(1, n - 1)]
        values = [values[0], *middle, values[-1]]
    return {(second if steps % 2 else first): values}


def nested_branches(memory, constants, threads):
    p1 = memory[constants["p1_at"] :]
    p2 = memory[constants["p2_at"] :]
    return {constants["result"]: [i + (300 if not p1[i] else 100 if p2[i] else 200) for i in range(threads)]}


def matrix_product(memory, constants, threads):
    n = constants["n"]
    a = [memory[constants["a"] + n * i :][:n] for i in range(n)]
    b = [memory[constants["b"] + n * i :][:n] for i in range(n)]
    return {constants["c"]: [word(sum(x * y for x, y in zip(row, column))) for row in a for column in zip(*b)]}


def dot_product(memory, constants, threads):
    n = constants["n"]
    x = memory[constants["x"] :][:n]
    y = memory[constants["y"] :][:n]
    return {constants["result"]: [word(sum(a * b for a, b in zip(x, y)))]}


def histogram(memory, constants, threads):
    samples = memory[constants["samples"] :][: constants["n"]]
    return {constants["total"]: [samples.count(number) for number in range(constants["bins"])]}


def collatz(memory, constants, threads):
    def steps(x):
        count = 0
        while x != 1:
            x = 3 * x + 1 if x % 2 else x // 2
            count += 1
        return count

    return {constants["steps_at"]: [steps(x) for x in memory[:threads]]}


def binary_search(memory, constants, threads):
    table = memory[: constants["size"]]
    keys = memory[constants["keys"] :][:threads]
    return {constants["found_at"]: [table.index(key) if key in table else -1 for key in keys]}


def odd_even_sort(memory, constants, threads):
    return {0: sorted(memory[: constants["n"]])}


def gcd(memory, constants, threads):
    others = memory[constants["b_at"] :]
    return {constants["gcd_at"]: [math.gcd(memory[i], others[i]) for i in range(threads)]}


def polynomial(memory, constants, threads):
    terms = constants["terms"]
    coefficients = memory[constants["coefficients"] :][:terms]
    powers = range(terms - 1, -1, -1)
    return {constants["value_at"]: [word(sum(c * x**k for c, k in zip(coefficients, powers))) for x in memory[:threads]]}


def transpose(memory, constants, threads):
    rows, columns = constants["rows"], constants["columns"]
    return {constants["transposed"]: [memory[row * columns + column] for column in range(columns) for row in range(rows)]}


def compaction(memory, constants, threads):
    kept = [x for x in memory[: constants["n"]] if x > 0]
    return {constants["kept"]: kept, constants["kept_count"]: [len(kept)]}


def digit_sum(memory, constants, threads):
    return {constants["sum_at"]: [sum(map(int, str(x))) for x in memory[:threads]]}


def early_return(memory, constants, threads):
    n, dividends, quotients = constants["n"], constants["dividends"], constants["quotients"]
    values = memory[quotients : quotients + n]
    for i in range(n):
        if memory[i] != 0:
            values[i] = truncated(memory[dividends + i], memory[i])
    return {quotients: values}


def saxpy(memory, constants, threads):
    n, a, x, y = (constants[key] for key in ("n", "a", "x", "y"))
    return {y: [word(a * memory[x + i] + memory[y + i]) for i in range(n)]}


def bit_reversal(memory, constants, threads):
    bits = constants["bits"]
    return {0: [memory[int(f"{i:0{bits}b}"[::-1], 2)] for i in range(2**bits)]}


def producer_consumer(memory, constants, threads):
    half, rounds = constants["half"], constants["rounds"]
    return {constants["sum_at"]: [word(sum(x * x for x in memory[i : half * rounds : half])) for i in range(half)]}


def barrier_in_branch(memory, constants, threads):
    return "barrier"


REFERENCES = {
    "TriangleSum": triangle_sum,
    "TreeSum": tree_sum,
    "InclusiveScan": inclusive_scan,
    "Stencil": stencil,
    "NestedBranches": nested_branches,
    "MatrixProduct": matrix_product,
    "DotProduct": dot_product,
    "Histogram": histogram,
    "Collatz": collatz,
    "BinarySearch": binary_search,
    "OddEvenSort": odd_even_sort,
    "Gcd": gcd,
    "Polynomial": polynomial,
    "Transpose": transpose,
    "Compaction": compaction,
    "DigitSum": digit_sum,
    "EarlyReturn": early_return,
    "Saxpy": saxpy,
    "BitReversal": bit_reversal,
    "ProducerConsumer": producer_consumer,
    "BarrierInBranch": barrier_in_branch,
}


def initial_memory(launch):
    """The memory before the launch; words without data are 0."""
    memory = [0] * launch["memory"]
    for data in launch.get("data", []):
        if "ramp" in data:
            ramp = data["ramp"]
            values = [ramp["first"] + ramp["step"] * i for i in range(ramp["count"])]
        else:
            values = data["values"]
        if any(value != word(value) for value in values):
            raise ValueError(f"a value at {data['at']} does not fit into 32 bits")
        if data["at"] + len(values) > len(memory):
            raise ValueError(f"the data at {data['at']} does not fit into the memory")
        memory[data["at"] : data["at"] + len(values)] = values
    return memory


def differences(launch, results):
    """What is wrong with the expectations of `launch`, as sentences."""
    if isinstance(results, str):
        if launch.get("fails") != results or "expect" in launch:
            yield f'must have fails = "{results}" and no [[expect]]'
        return
    expected = {expect["at"]: expect["values"] for expect in launch.get("expect", [])}
    if "fails" in launch or len(expected) != len(launch.get("expect", [])) or set(expected) != set(results):
        yield f"must have one [[expect]] at each of {sorted(results)}, and no `fails`"
        return
    for at, values in results.items():
        if expected[at] != values:
            yield f"at {at}: the file has {expected[at]}, the reference {values}"


def rewritten(text, results):
    """`text` with the `values` of each [[expect]] replaced; `at` must stand above them."""
    lines, section, at = [], None, None
    for line in text.splitlines(keepends=True):
        if line.startswith("["):
            section, at = line.strip(), None
        elif section == "[[expect]]" and (match := re.match(r"at\s*=\s*(\d+)", line)):
            at = int(match[1])
        elif section == "[[expect]]" and line.startswith("values") and at in results:
            line = f"values = {results[at]}\n"
        lines.append(line)
    return "".join(lines)


def main(arguments):
    if arguments not in ([], ["--write"]):
        sys.exit(__doc__)
    faults, launched = [], set()
    paths = sorted(HERE.glob("*.toml"))
    for path in paths:
        text = path.read_text()
        launch = tomllib.loads(text)
        launched.add(path.name.split(".")[0])
        reference = REFERENCES.get(launch["kernel"])
        if reference is None:
            faults.append(f"{path.name}: no reference for {launch['kernel']}")
            continue
        results = reference(initial_memory(launch), launch.get("constants", {}), launch["threads"])
        if arguments and not isinstance(results, str):
            text = rewritten(text, results)
            path.write_text(text)
        faults += [f"{path.name}: {difference}" for difference in differences(tomllib.loads(text), results)]
    programs = {path.stem for path in HERE.glob("*.msimt")}
    faults += [f"{name}.msimt: no launch file" for name in sorted(programs - launched)]
    faults += [f"{name}: launch file without program" for name in sorted(launched - programs)]
    for fault in faults:
        print(fault)
    print(f"{len(paths)} launch files, {len(faults)} faults")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
