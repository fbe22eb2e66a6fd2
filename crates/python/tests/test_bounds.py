"""Lists, bounds, divergence and accesses: the values of the command line, as dataclasses."""

import dataclasses
import json
import typing

import pytest
import warpbound
from warpbound._documents import build
from warpbound.results import AccessReport, DivergenceReport, Image, KernelBound

BREAK_LOOP = "kernels/built/break_loop.sm_61.cubin"
FILES = [
    BREAK_LOOP,
    "kernels/built/matmul_int.sm_61.cubin",
    "kernels/built/nested_loops.gfx803.co",
    "kernels/built/call_depth2.sm_61.cubin",
]


def unknown_keys(hint, value):
    """Returns the keys of a JSON value for which the dataclasses have no field."""
    if value is None:
        return set()
    inner = [argument for argument in typing.get_args(hint) if argument is not type(None)]
    if isinstance(value, list):
        return {key for item in value for key in unknown_keys(inner[0], item)}
    if inner and not dataclasses.is_dataclass(hint):
        hint = inner[0]
    if not dataclasses.is_dataclass(hint):
        return set()
    fields = {f.metadata.get("key", f.name): f.name for f in dataclasses.fields(hint)}
    if "*" in fields:
        return set()
    hints = typing.get_type_hints(hint)
    found = {f"{hint.__name__}.{key}" for key in value if key not in fields}
    known = [key for key in value if key in fields]
    return found.union(*(unknown_keys(hints[fields[key]], value[key]) for key in known))


def test_a_bound_of_stated_launches():
    file = warpbound.open(BREAK_LOOP)
    report = file.bound(params={"p3": (1, 100)})
    assert report.file == BREAK_LOOP
    bound = report.kernel("break_loop")
    assert (bound.status, bound.bound, bound.worst_path_value) == ("bounded", 1441, 1441)
    assert [(loop.id, loop.bound, loop.origin) for loop in bound.loops] == [("L1", 100, "launch")]
    assert bound.loops[0].evidence.exit == "0x0158"
    assert sum(block.total for block in bound.worst_path) == 1441
    assert "launch-range" in {assumption.id for assumption in bound.assumptions}
    assert file.bound(params={"p3": 7}).kernels[0].bound < 1441
    with pytest.raises(dataclasses.FrozenInstanceError):
        bound.bound = 1


def test_a_bound_in_cycles_and_one_of_a_launch(document):
    file = warpbound.open("kernels/built/transpose.sm_62.cubin")
    launch = "kernels/launches/transpose.transpose.1.toml"
    bound = file.bound(launch=launch, cycles=True, machine="jetson-tx2", caches="warm").kernels[0]
    options = ["--launch", launch, "--cost", "cycles", "--machine", "jetson-tx2", "--caches", "warm"]
    stated = document("bound", file.path, *options)["kernels"][0]
    assert bound.cycles.bound == stated["cycles"]["bound"]
    assert bound.cycles.scope == "grid"
    assert sum(term.cycles for term in bound.cycles.terms) == bound.cycles.bound
    assert bound.profile.grid == (3, 2, 1)


@pytest.mark.parametrize("path", FILES)
def test_values_are_those_of_the_command(document, path):
    file = warpbound.open(path)
    options = ["--loop-default", "10", "--machine-code"]
    stated = document("bound", path, *options)
    found = file.bound(loop_default=10, machine_code=True)
    assert found.kernels == tuple(build(KernelBound, kernel) for kernel in stated["kernels"])
    listed = document("list", path)["images"]
    assert file.list() == tuple(build(Image, image) for image in listed)
    for query, cls in [("divergence", DivergenceReport), ("access", AccessReport)]:
        stated = document(query, path)
        reports = stated.get("kernels", [stated])
        assert getattr(file, query)() == tuple(build(cls, report) for report in reports)


@pytest.mark.parametrize("path", FILES)
def test_all_keys_have_fields(document, path):
    unknown = set()
    for options in [["--loop-default", "10"], ["--loop-default", "3", "--cost", "cycles", "--machine-code"]]:
        for kernel in document("bound", path, *options)["kernels"]:
            unknown |= unknown_keys(KernelBound, kernel)
    for image in document("list", path)["images"]:
        unknown |= unknown_keys(Image, image)
    for query, cls in [("divergence", DivergenceReport), ("access", AccessReport)]:
        stated = document(query, path)
        for report in stated.get("kernels", [stated]):
            unknown |= unknown_keys(cls, report)
    assert unknown == set()


def test_a_missing_field_is_noticed():
    @dataclasses.dataclass(frozen=True)
    class Loop:
        id: str

    @dataclasses.dataclass(frozen=True)
    class Kernel:
        loops: tuple[Loop, ...]
        best: Loop | None = None

    stated = {"loops": [{"id": "L1", "at": "0x8"}], "best": {"id": "L1", "depth": 1}, "nodes": 3}
    assert unknown_keys(Kernel, stated) == {"Loop.at", "Loop.depth", "Kernel.nodes"}


def test_images_of_a_file_are_listed(document):
    file = warpbound.open(BREAK_LOOP)
    assert [image.number for image in file.images()] == [1]
    assert file.images()[0].contents is None
    assert file.list()[0].contents.kernels[0].name == "break_loop"


def test_an_error_says_what_where_and_what_to_do():
    with pytest.raises(warpbound.InputError) as missing:
        warpbound.open("kernels/built/none.cubin")
    assert missing.value.file == "kernels/built/none.cubin"
    assert missing.value.message.startswith("cannot be read")
    file = warpbound.open(BREAK_LOOP)
    with pytest.raises(warpbound.InputError) as unknown:
        file.bound(kernel="braek_loop")
    assert unknown.value.message == 'there is no kernel "braek_loop"'
    assert "break_loop" in unknown.value.hint
    assert str(unknown.value) == f"{BREAK_LOOP}: {unknown.value.message}; {unknown.value.hint}"
    with pytest.raises(warpbound.InputError, match="caches: there is no \"hot\"; it is one of any, warm, cold"):
        file.bound(cycles=True, caches="hot", loop_default=3)
    with pytest.raises(warpbound.InputError, match="loop_default: 0 is not in 1 to"):
        file.bound(loop_default=0)
    with pytest.raises(TypeError, match="cycles=True"):
        file.bound(machine="gtx1080")
    with pytest.raises(warpbound.InputError, match="wrong option"):
        file.bound(loop_default="ten")


def test_errors_survive_pickling():
    import pickle

    error = warpbound.InputError("no", "do", file="f")
    assert str(pickle.loads(pickle.dumps(error))) == "f: no; do"


def test_a_kernel_without_a_bound_says_what_is_missing():
    bound = warpbound.open(BREAK_LOOP).bound().kernels[0]
    assert (bound.status, bound.bound) == ("unbounded", None)
    assert bound.loops[0].parameter is not None
    assert bound.missing_facts
    json.dumps(dataclasses.asdict(bound))
