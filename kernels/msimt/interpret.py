#!/usr/bin/env python3
"""A second implementation of mini-SIMT, written from isa/mini-simt/README.md; plain, not fast, and without any code of the first.

    interpret.py LAUNCH.toml ...            prints a line for each launch: its name, and the cycles or why the run stops
    interpret.py --trace LAUNCH.toml ...    before it, a line for each cycle, in the form of `warpbound run --trace`
    interpret.py --json LAUNCH.toml ...     prints a JSON object for each launch, with the memory at the end

The program of a launch NAME.toml or NAME.ANYTHING.toml is NAME.msimt beside it. Needs Python 3.11 and nothing else.
"""

import argparse
import json
import re
import tomllib
from dataclasses import dataclass, field
from pathlib import Path

MACHINES = Path(__file__).resolve().parents[2] / "machine" / "mini-simt"

TOKEN = re.compile(r"\w+|<<|>>|<=|>=|==|!=|\S", re.ASCII)

# What stands behind each mnemonic, tokens with a blank between them: v a variable, l a label, o an operator, a what is read.
KINDS = {"v": r"((?!Tid )[A-Za-z_]\w*)", "l": r"([A-Za-z_]\w*)", "o": r"(\S+)", "a": r"((?:- )?\d\w*|[A-Za-z_]\w*)"}
SHAPES = {"const": "v = a", "binop": "v = a o a", "load": "v = a", "store": "a = a", "barrier": "a , a"}
SHAPES |= {"bz": "v , l", "bnz": "v , l", "jump": "l", "sync": ""}


class Fault(Exception):
    """The program cannot be read, or the run cannot go on."""


def word(value):
    """`value` in 32-bit two's complement."""
    return (value + 2**31) % 2**32 - 2**31


def quotient(a, b):
    """a / b, rounded towards zero."""
    if b == 0:
        raise Fault("division by zero")
    return abs(a) // abs(b) if (a < 0) == (b < 0) else -(abs(a) // abs(b))


# On numbers that are 32-bit two's complement; what comes out is wrapped. Distances of shifts are unsigned: a negative one is too far as well.
OPERATORS = {
    "+": lambda a, b: a + b, "-": lambda a, b: a - b, "*": lambda a, b: a * b,
    "/": quotient, "%": lambda a, b: a - b * quotient(a, b),
    "&": lambda a, b: a & b, "|": lambda a, b: a | b, "^": lambda a, b: a ^ b,
    "<<": lambda a, b: a << b if 0 <= b < 32 else 0, ">>": lambda a, b: a % 2**32 >> b if 0 <= b < 32 else 0,
    "<": lambda a, b: int(a < b), "<=": lambda a, b: int(a <= b), ">": lambda a, b: int(a > b),
    ">=": lambda a, b: int(a >= b), "==": lambda a, b: int(a == b), "!=": lambda a, b: int(a != b),
    "min": min, "max": max,
}  # fmt: skip


@dataclass
class Kernel:
    params: list = field(default_factory=list)
    code: list = field(default_factory=list)  # mnemonic and operands: numbers and positions are ints, variables and operators strings
    labels: dict = field(default_factory=dict)
    meets: dict = field(default_factory=dict)  # branch: where its lanes meet

    def place(self, at):
        """A position as a trace names it: its label, or the last label before it and the distance."""
        nearest = max((position for position in self.labels.values() if position <= at), default=None)
        if nearest is None:
            return f"#{at}"
        label = next(label for label, position in self.labels.items() if position == nearest)
        return label if nearest == at else f"{label}+{at - nearest}"


def read_kernels(text):
    """The kernels of a file, by name."""
    kernels = {}
    for number, line in enumerate(text.splitlines(), 1):
        tokens = TOKEN.findall(line.split(";")[0])
        try:
            if tokens[:2] == [".", "kernel"]:
                kernel = kernels[tokens[2]] = Kernel()
            elif tokens[:2] == [".", "param"]:
                kernel.params += tokens[2::2]
            elif tokens:
                read_instruction(kernel, tokens)
        except Fault as fault:
            raise Fault(f"line {number}: {fault}") from None
    for kernel in kernels.values():
        find_meeting_points(kernel)
    return kernels


def read_instruction(kernel, tokens):
    while tokens[1:2] == [":"]:
        if tokens[0] in kernel.labels:
            raise Fault(f"second label {tokens[0]}")
        kernel.labels[tokens[0]] = len(kernel.code)
        del tokens[:2]
    if not tokens:
        return
    mnemonic = {"jmp": "jump"}.get(tokens[0], tokens[0])
    shape = " ".join(KINDS.get(kind, kind) for kind in SHAPES.get(mnemonic, "no instruction").split())
    found = re.fullmatch(shape, " ".join(tokens[1:]), re.ASCII)
    if not found or mnemonic == "binop" and found[3] not in OPERATORS:
        raise Fault(f"{' '.join(tokens)!r} cannot be read")
    kernel.code.append((mnemonic, [read_operand(operand) for operand in found.groups()]))


def read_operand(text):
    """A number, or a name or operator as it is."""
    digits = text.removeprefix("- ")
    if not digits[0].isdigit():
        return text
    value = int(digits, 16 if digits.startswith("0x") else 10)
    return word(value if digits == text else -value)


def find_meeting_points(kernel):
    """Puts positions in the place of labels, and finds where the lanes of branches meet."""
    end = len(kernel.code)
    successors = []
    for at, (mnemonic, operands) in enumerate(kernel.code):
        successors.append([] if mnemonic == "jump" else [at + 1])
        if mnemonic in ("bz", "bnz", "jump"):
            if operands[-1] not in kernel.labels:
                raise Fault(f"unknown label {operands[-1]}")
            operands[-1] = kernel.labels[operands[-1]]
            successors[at].append(operands[-1])
    # Code that is never left counts as if the end could follow each of its instructions.
    reached = [{to for to in successors[at]} for at in range(end)] + [set()]
    grows = True
    while grows:
        grows = False
        for at in range(end):
            further = reached[at].union(*(reached[to] for to in reached[at]))
            grows |= further != reached[at]
            reached[at] = further
    for at in range(end):
        if end not in reached[at] and all(at in reached[to] for to in reached[at]):
            successors[at].append(end)
    # For each position those that every way from it to the end comes through, itself included.
    passes = [set(range(end + 1)) for _ in range(end)] + [{end}]
    changed = True
    while changed:
        changed = False
        for at in reversed(range(end)):
            found = set.intersection(*(passes[to] for to in successors[at])) | {at}
            changed |= found != passes[at]
            passes[at] = found
    for at, (mnemonic, _) in enumerate(kernel.code):
        if mnemonic in ("bz", "bnz"):
            # The first of them is the one from which all the others are still to come.
            others = passes[at] - {at}
            meet = next((point for point in others if passes[point] == others), end)
            if meet != end and kernel.code[meet][0] != "sync":
                raise Fault(f"the ways from {kernel.place(at)} meet at {kernel.place(meet)}, which is no sync")
            kernel.meets[at] = meet


@dataclass
class Frame:
    branch: int
    next: int
    to_do: set
    done: set = field(default_factory=set)


@dataclass
class Warp:
    number: int
    active: set  # of threads
    next: int = 0
    frames: list = field(default_factory=list)
    ready: int = 0
    issued: int = 0  # what it issued last
    barrier: tuple = None  # where it waits: number and threads


class Run:
    def __init__(self, kernel, launch, machine):
        self.kernel, self.width = kernel, machine["warp_width"]
        # A warp issues once in a cycle at most.
        self.plain, self.load, self.release = (
            max(1, latency["cycles"][1])
            for latency in (machine["latency"]["plain"], machine["latency"]["memory"], machine["scheduler"]["barrier_release"])
        )
        self.policy = machine["scheduler"]["policy"]["value"]
        self.anew_after_barrier = machine["scheduler"]["after_barrier"]["value"] == "first-warp"
        self.last = None  # the warp that issued last; None where the round begins anew
        self.taken_first = machine["scheduler"]["divergence_order"]["value"] == "taken-first"
        self.limit = launch.get("max_cycles", 10**8)
        threads, constants = launch["threads"], launch.get("constants", {})
        if set(constants) != set(kernel.params):
            raise Fault(f"the launch constants are {', '.join(kernel.params)}")
        if threads > machine["warps"] * self.width:
            raise Fault(f"the machine holds {machine['warps']} warps")
        names = {operand for _, operands in kernel.code for operand in operands if isinstance(operand, str)}
        start = dict.fromkeys(names, 0) | {name: word(value) for name, value in constants.items()}
        self.variables = [start | {"Tid": thread} for thread in range(threads)]
        self.memory = [0] * launch["memory"]
        for data in launch.get("data", []):
            ramp = data.get("ramp")
            values = [ramp["first"] + n * ramp["step"] for n in range(ramp["count"])] if ramp else data["values"]
            self.memory[data["at"] : data["at"] + len(values)] = map(word, values)
        groups = [range(first, min(first + self.width, threads)) for first in range(0, threads, self.width)]
        self.warps = [Warp(number, set(group)) for number, group in enumerate(groups)]

    def go(self, trace):
        """Runs to the end; the cycles. `trace` gets what happens in each: the cycle, the warp, and what it issues or waits for."""
        cycle = 0
        while left := [warp for warp in self.warps if warp.active]:
            running = [warp for warp in left if not warp.barrier]
            if not running:
                raise Fault("can never be satisfied")
            soonest = min(running, key=lambda warp: (warp.ready, warp.number))
            for stalled in range(cycle, min(soonest.ready, self.limit)):
                trace(stalled, soonest, soonest.issued, "stall")
            cycle = max(cycle, soonest.ready)
            if cycle >= self.limit:
                raise Fault("has not ended")
            warp = self.choose([warp for warp in running if warp.ready <= cycle])
            self.last = warp.number
            trace(cycle, warp, warp.next, self.kernel.code[warp.next][0])
            self.issue(warp, cycle)
            cycle += 1
        return cycle

    def choose(self, ready):
        if self.policy == "greedy" and self.last in (warp.number for warp in ready):
            return self.warps[self.last]
        first = 0 if self.policy == "lowest-first" or self.last is None else self.last + 1
        return min(ready, key=lambda warp: (warp.number - first) % len(self.warps))

    def value(self, operand, thread):
        return operand if isinstance(operand, int) else self.variables[thread][operand]

    def address(self, operand, thread):
        address = self.value(operand, thread)
        if not 0 <= address < len(self.memory):
            raise Fault("is outside the memory")
        return address

    def issue(self, warp, cycle):
        """Executes the next instruction of a warp."""
        at = warp.issued = warp.next
        mnemonic, operands = self.kernel.code[at]
        threads = sorted(warp.active)
        warp.ready = cycle + (self.load if mnemonic == "load" else self.plain)
        warp.next = at + 1
        match mnemonic, *operands:
            case "const", variable, a:
                for thread in threads:
                    self.variables[thread][variable] = self.value(a, thread)
            case "binop", variable, a, operator, b:
                for thread in threads:
                    result = OPERATORS[operator](self.value(a, thread), self.value(b, thread))
                    self.variables[thread][variable] = word(result)
            case "load", variable, a:
                for thread in threads:
                    self.variables[thread][variable] = self.memory[self.address(a, thread)]
            case "store", a, b:
                for thread in threads:
                    self.memory[self.address(a, thread)] = self.value(b, thread)
            case "jump", target:
                warp.next = target
            case ("bz" | "bnz"), variable, target:
                self.branch(warp, at, target, {t for t in threads if (self.value(variable, t) == 0) == (mnemonic == "bz")})
            case ("sync",):
                self.meet(warp, at)
            case "barrier", a, b:
                agreed = {(self.value(a, thread), self.value(b, thread)) for thread in threads}
                if len(agreed) > 1:
                    raise Fault("do not agree on the barrier")
                warp.barrier = agreed.pop()
                self.arrive(warp.barrier, cycle)
        # A warp that waits stays, even if the barrier was its last instruction.
        if not warp.barrier:
            self.leave(warp)

    def branch(self, warp, at, target, taken):
        others = warp.active - taken
        if taken and (not others or target == at + 1):
            warp.next = target
        elif taken and self.taken_first:
            warp.frames.append(Frame(at, at + 1, others))
            warp.active, warp.next = taken, target
        elif taken:
            warp.frames.append(Frame(at, target, taken))
            warp.active = others

    def meet(self, warp, at):
        while warp.frames and self.kernel.meets[warp.frames[-1].branch] == at:
            frame = warp.frames[-1]
            frame.done |= warp.active
            if frame.to_do:
                warp.active, warp.next, frame.to_do = frame.to_do, frame.next, set()
                return
            warp.active = frame.done
            warp.frames.pop()

    def arrive(self, barrier, cycle):
        """A warp is at a barrier (number, threads)."""
        there = [warp for warp in self.warps if warp.barrier and warp.barrier[0] == barrier[0]]
        if any(warp.barrier != barrier for warp in there):
            raise Fault("threads at the barrier")
        if sum(len(warp.active) for warp in there) >= barrier[1]:
            if self.anew_after_barrier:
                self.last = None
            for warp in there:
                warp.barrier, warp.ready = None, cycle + self.release
                self.leave(warp)

    def leave(self, warp):
        """Lanes at the end of the kernel leave; then those that wait for their turn go on."""
        while warp.active and warp.next == len(self.kernel.code):
            warp.active = set()
            while warp.frames and not warp.active:
                frame = warp.frames.pop()
                warp.active, warp.next = frame.to_do, frame.next


def read_launch(path):
    """The kernel, launch and machine of a launch file."""
    launch = tomllib.loads(path.read_text())
    kernels = read_kernels((path.parent / f"{path.name.split('.')[0]}.msimt").read_text())
    machine = launch.get("machine", "paper-2014")
    machine = path.parent / machine if machine.endswith(".toml") else MACHINES / f"{machine}.toml"
    return kernels[launch.get("kernel", next(iter(kernels)))], launch, tomllib.loads(machine.read_text())


def main():
    parser = argparse.ArgumentParser(description="Runs launches of mini-SIMT programs.")
    parser.add_argument("--trace", action="store_true", help="print a line for each cycle")
    parser.add_argument("--json", action="store_true", help="print a JSON object for each launch, with the memory")
    parser.add_argument("launches", type=Path, nargs="+", metavar="LAUNCH.toml")
    arguments = parser.parse_args()

    def trace(cycle, warp, at, what):
        if arguments.trace:
            lanes = range(warp.number * run.width, (warp.number + 1) * run.width)
            mask = "" if what == "stall" else " " + "".join("01"[thread in warp.active] for thread in lanes)
            which = f" warp {warp.number}" if len(run.warps) > 1 else ""
            print(f"{cycle:02} {run.kernel.place(at)}: {what}{mask}{which}")

    for path in arguments.launches:
        try:
            run = Run(*read_launch(path))
            result = {"name": path.name, "cycles": run.go(trace), "memory": run.memory}
            text = f"{path.name}: {result['cycles']} cycles"
        except Fault as fault:
            result = {"name": path.name, "fault": str(fault)}
            text = f"{path.name}: {fault}"
        print(json.dumps(result) if arguments.json else text)


if __name__ == "__main__":
    main()
