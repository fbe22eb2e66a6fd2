"""Runs and audits of launches, with NumPy arrays."""

import numpy
import pytest
import warpbound
from test_bounds import unknown_keys
from warpbound._documents import build
from warpbound.results import AuditReport, Run, Stalls

MATMUL = "kernels/built/matmul_int.sm_61.cubin"


def product(a, b):
    """Launch of the integer matrix product of two square matrices."""
    n = len(a)
    params = {"a": a, "b": b, "product": numpy.zeros((n, n), numpy.int32), "n": numpy.int32(n)}
    return warpbound.Launch(kernel="matmul_int", grid=1, block=(n, n), params=params)


def matrices(n):
    generator = numpy.random.default_rng(5)
    return [generator.integers(-99, 99, (n, n), dtype=numpy.int32) for _ in range(2)]


@pytest.mark.parametrize("functional", [True, False])
def test_arrays_go_in_and_come_out(functional):
    a, b = matrices(8)
    run = warpbound.open(MATMUL).run(product(a, b), functional=functional)
    assert run.kernel == "matmul_int"
    assert (run.buffers["product"] == a @ b).all()
    assert (run.buffers["a"] == a).all()
    assert run.buffers["product"].dtype == numpy.int32
    assert (run.cycles is None) == functional
    assert run.warp_instructions > 0


def test_arrays_of_any_order_and_byte_order():
    a, b = matrices(4)
    file = warpbound.open(MATMUL)
    run = file.run(product(numpy.asfortranarray(a), b.astype(">i4")), functional=True)
    assert (run.buffers["product"] == a @ b).all()


def test_a_run_is_that_of_the_command(document):
    launch = "kernels/cuda/matmul_int.8x8.toml"
    file = warpbound.open(MATMUL)
    for options, arguments in [
        ({"functional": True}, ["--functional"]),
        ({"machine": "gtx1080", "set": {"l2.hit": 300}}, ["--machine", "gtx1080", "--set", "l2.hit=300"]),
    ]:
        stated = document("run", MATMUL, "--launch", launch, *arguments)
        found = file.run(launch, **options)
        assert found == build(Run, stated)
        assert found.document == stated
        assert set(stated["stalls"]) == set(Stalls.__dataclass_fields__) if "stalls" in stated else True


def test_an_audit_is_that_of_the_command(document):
    launch = "kernels/cuda/matmul_int.8x8.toml"
    stated = document("audit", MATMUL, "--launch", launch, "--runs", "2", "--cycles")
    found = warpbound.open(MATMUL).audit(launch, runs=2, cycles=True)
    assert found == build(AuditReport, stated)
    assert found.violations == 0
    assert unknown_keys(AuditReport, stated) == set()


def test_variables_aliases_and_structures():
    variables = {"offsets": numpy.array([100, 200, 300, 400], numpy.int16), "counter": numpy.array([10], numpy.uint32)}
    params = {"in": numpy.arange(4, dtype=numpy.int32), "out": numpy.zeros(4, numpy.int32), "n": numpy.int32(4)}
    launch = warpbound.Launch(grid=1, block=64, params=params, variables=variables)
    run = warpbound.open("kernels/built/module_variables.sm_61.cubin").run(launch, functional=True)
    assert list(run.buffers["out"]) == [100, 201, 308, 403]
    assert list(run.variables["counter"]) == [14]

    numbers = numpy.array([3, 1, 4, 1, 5, 9, 2, 6], numpy.int32)
    params = {"numbers": numbers, "sums": warpbound.Alias("numbers"), "n": (8).to_bytes(4, "little")}
    launch = warpbound.Launch(kernel="prefix_scan", grid=[1], block=[4], params=params)
    run = warpbound.open("kernels/built/prefix_scan.sm_61.cubin").run(launch, functional=True)
    assert list(run.buffers["numbers"]) == [0, *numpy.cumsum(numbers)[:-1]]


def test_bounds_of_a_launch_with_arrays():
    a, b = matrices(8)
    report = warpbound.open(MATMUL).bound(launch=product(a, b))
    assert report.kernels[0].bound == warpbound.open(MATMUL).run(product(a, b), functional=True).warp_instructions // 2


def test_what_is_no_parameter_is_refused():
    a, _ = matrices(2)
    for wrong, message in [
        (3, "int is no type of a parameter; pass a NumPy array"),
        (a.astype(complex), "complex128 is no type of elements"),
        (warpbound.Alias("b"), "there is no parameter b"),
    ]:
        with pytest.raises(warpbound.InputError, match=message):
            warpbound.Launch(grid=1, block=1, params={"a": wrong})
    with pytest.raises(warpbound.InputError, match="block has 2048 elements"):
        warpbound.Launch(grid=1, block=2048, params={})


def test_options_of_runs_with_time_are_not_ignored():
    with pytest.raises(TypeError, match="set is an option of runs with time"):
        warpbound.open(MATMUL).run("none", functional=True, set={"l2.hit": 3})


def test_other_contents_than_expected_are_an_error(tmp_path):
    launch = tmp_path / "wrong.toml"
    params = "".join(
        f'[[param]]\nname = "{name}"\ntype = "s32"\nvalues = [{value}]\n' for name, value in [("a", 2), ("b", 3)]
    )
    launch.write_text(
        f'kernel = "matmul_int"\ngrid = [1]\nblock = [1, 1]\n{params}'
        '[[param]]\nname = "product"\ntype = "s32"\nshape = [1]\nexpect = [7]\n'
        '[[param]]\nname = "n"\ntype = "s32"\nvalue = 1\n'
    )
    with pytest.raises(warpbound.InputError, match="is 6 at the end, not 7"):
        warpbound.open(MATMUL).run(launch, functional=True)
