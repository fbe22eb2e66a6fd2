"""Campaigns have the rows of one process, also when a worker ends, or when they are interrupted and go on."""

import contextlib
import os
import signal
import subprocess
import sys

import duckdb
import pandas
import pytest
from warpbound._native import columns, parquet
from warpbound.campaign import __main__ as campaign
from warpbound.campaign import cluster
from warpbound.campaign.tasks import Done

FILES = ["kernels/built/texture_kinds.sm_61.cubin", "kernels/built/nested_loops.gfx803.co"]
MATMUL = "kernels/built/matmul_int.sm_61.cubin"
LAUNCH = "kernels/cuda/matmul_int.8x8.toml"
BOUND = ["bound", *FILES, "--loop-default", "4", "--shards", "3"]


def main(monkeypatch, *arguments):
    monkeypatch.setattr(sys, "argv", ["campaign", *map(str, arguments)])
    return campaign.main()


@pytest.fixture(scope="module")
def workers():
    """Two workers, which all tests of this file share."""
    with cluster.client(None, 2) as connected:
        yield connected


@pytest.fixture
def on_workers(monkeypatch, workers):
    """Campaigns run on the workers that there are."""
    monkeypatch.setattr(cluster, "client", lambda *_: contextlib.nullcontext(workers))


@pytest.fixture
def lines(command):
    """Function that returns the rows of one process."""
    return lambda name, *arguments: command(name, *arguments, "--format", "jsonl").splitlines()


def bounds_of_one_process(lines):
    return [line for file in FILES for line in lines("bound", file, "--loop-default", "4")]


def test_rows_are_those_of_one_process(monkeypatch, tmp_path, on_workers, lines):
    rows = bounds_of_one_process(lines)
    assert len(rows) > 5
    output = tmp_path / "rows.jsonl"
    code = main(monkeypatch, *BOUND, "--output", output)
    assert output.read_text().splitlines() == rows
    assert code == (2 if any('"unbounded"' in row or '"refused"' in row for row in rows) else 0)
    assert os.listdir(tmp_path) == ["rows.jsonl"]


def test_shards_of_the_command_are_the_whole(lines):
    whole = lines("bound", FILES[0], "--loop-default", "4")
    parts = [lines("bound", FILES[0], "--loop-default", "4", "--shard", f"{n}/3") for n in (1, 2, 3)]
    assert sorted(line for part in parts for line in part) == sorted(whole)
    assert all(parts)


def test_a_design_space_has_the_rows_of_all_its_points(monkeypatch, tmp_path, on_workers, lines):
    output = tmp_path / "rows.jsonl"
    sweep = ["run", MATMUL, "--launch", LAUNCH, "--set", "l2.hit=200,300", "--set", "shared.latency=30"]
    assert main(monkeypatch, *sweep, "--output", output) == 0
    point = ["run", MATMUL, "--launch", LAUNCH, "--set", "shared.latency=30"]
    rows = [lines(*point[:4], "--set", f"l2.hit={value}", *point[4:]) for value in (200, 300)]
    assert output.read_text().splitlines() == [line for row in rows for line in row]


def test_audits(monkeypatch, tmp_path, on_workers, lines):
    output = tmp_path / "rows.jsonl"
    audit = ["audit", MATMUL, "--launch", LAUNCH, "--loop-default", "20", "--runs", "2", "--seed", "3"]
    assert main(monkeypatch, *audit, "--output", output) == 0
    assert output.read_text().splitlines() == lines(*audit)


def test_a_worker_that_is_killed_loses_nothing(monkeypatch, tmp_path, workers, on_workers, lines):
    pids = list(workers.run(os.getpid).values())
    distribute = cluster.distribute

    def killing(connected, tasks):
        for batch in distribute(connected, tasks):
            yield batch
            if pids:
                # The first results: most tasks are at the workers.
                os.kill(pids.pop(), signal.SIGKILL)
                pids.clear()

    monkeypatch.setattr(cluster, "distribute", killing)
    output = tmp_path / "rows.jsonl"
    main(monkeypatch, *BOUND, "--shards", "9", "--output", output)
    assert pids == []
    assert output.read_text().splitlines() == bounds_of_one_process(lines)


def test_an_interrupted_campaign_goes_on(monkeypatch, tmp_path, on_workers, lines, capsys):
    output, done = tmp_path / "rows.jsonl", []
    distribute = cluster.distribute

    def interrupted(connected, tasks):
        batch = next(iter(distribute(connected, tasks)))[:2]
        done.extend(result.key for result in batch)
        yield batch
        raise KeyboardInterrupt

    monkeypatch.setattr(cluster, "distribute", interrupted)
    assert main(monkeypatch, *BOUND, "--output", output) == 130
    assert not output.exists()
    # A line that is cut off is no finished task.
    with open(f"{output}.journal", "a") as journal:
        journal.write('{"key": "0 ')

    left = []

    def going_on(connected, tasks):
        left.extend(tasks)
        return distribute(connected, tasks)

    monkeypatch.setattr(cluster, "distribute", going_on)
    assert main(monkeypatch, *BOUND, "--loop-default", "5", "--output", output) == 3
    assert "this journal is of another campaign" in capsys.readouterr().err
    main(monkeypatch, *BOUND, "--output", output)
    assert len(left) == 6 - len(done)
    assert not {task.key for task in left} & set(done)
    assert output.read_text().splitlines() == bounds_of_one_process(lines)


def test_parquet_is_read_by_pandas_and_duckdb(monkeypatch, tmp_path, on_workers, command, lines):
    output = tmp_path / "rows.parquet"
    main(monkeypatch, *BOUND, "--output", output)
    stated = pandas.read_json(tmp_path_with(tmp_path, bounds_of_one_process(lines)), lines=True)
    found = pandas.read_parquet(output)
    assert list(found.columns) == columns("bounds")
    assert list(found["bound"].astype("float")) == pytest.approx(list(stated["bound"].astype("float")), nan_ok=True)
    assert list(found["symbol"]) == list(stated["symbol"])
    read = duckdb.sql(f"select symbol, bound from '{output}' order by file, position")
    assert {name for name, _ in read.fetchall()} == set(stated["symbol"])

    one = tmp_path / "one.parquet"
    command("bound", FILES[0], "--loop-default", "4", "--format", "parquet", "--output", one)
    [(count, most)] = duckdb.sql(f"select count(*), max(bound) from '{one}'").fetchall()
    of_file = stated[stated["file"] == FILES[0]]
    assert (count, most) == (len(of_file), of_file["bound"].max())


def tmp_path_with(folder, rows):
    path = folder / "stated.jsonl"
    path.write_text("".join(f"{row}\n" for row in rows))
    return path


@pytest.mark.parametrize("table", ["bounds", "audits", "runs"])
def test_values_are_read_as_they_were_written(tmp_path, table):
    """Shortest decimals of floats are read back as the same floats, and large numbers as the same numbers."""
    values = {"int64": 2**63 - 1, "float64": 0.1 + 0.2, "object": 'a "b"\n\u00e9'}
    empty = tmp_path / "empty.parquet"
    empty.write_bytes(parquet(table, []))
    kinds = {name: str(kind) for name, kind in pandas.read_parquet(empty).dtypes.items()}
    row = [values.get(kinds[name], values["object"]) for name in columns(table)]
    path = tmp_path / "one.parquet"
    path.write_bytes(parquet(table, [row, [None] * len(row)]))
    assert duckdb.sql(f"select * from '{path}'").fetchall() == [tuple(row), (None,) * len(row)]
    assert pandas.read_parquet(path).isna().loc[1].all()
    with pytest.raises(OSError, match="do not suit the columns"):
        parquet(table, [row[1:]])


@pytest.mark.parametrize("table", ["bounds", "audits", "runs"])
def test_tables_without_rows_are_read(tmp_path, table):
    path = tmp_path / "empty.parquet"
    path.write_bytes(parquet(table, []))
    assert list(pandas.read_parquet(path).columns) == columns(table)
    assert duckdb.sql(f"select count(*) from '{path}'").fetchall() == [(0,)]


def test_the_command_is_a_module():
    done = subprocess.run([sys.executable, "-m", "warpbound.campaign", "run", "--help"], capture_output=True, text=True)
    assert done.returncode == 0
    assert "--set" in done.stdout and "--scheduler" in done.stdout


@pytest.mark.parametrize(
    ("line", "code", "message"),
    [
        ("run x", 64, "required"),
        ("run x --launch y --set l2=a --output o", 3, "expected NAME=VALUE"),
        ("run x --launch y --functional --set l2.hit=3 --output o", 3, "without a machine"),
        ("bound none --output o", 3, "none: No such file"),
        (f"bound {MATMUL} --machine gtx1080 --output o", 3, "are for cycles"),
    ],
)
def test_wrong_usage_is_explained(monkeypatch, capsys, line, code, message):
    try:
        found = main(monkeypatch, *line.split())
    except SystemExit as end:
        found = end.code
    assert found == code
    assert message in capsys.readouterr().err


def test_a_failure_is_a_row_or_a_problem(monkeypatch, tmp_path, on_workers, capsys):
    output = tmp_path / "rows.jsonl"
    wrong = tmp_path / "wrong.cubin"
    wrong.write_bytes(b"no code")
    assert main(monkeypatch, "bound", wrong, "--output", output) == 3
    assert str(wrong) in capsys.readouterr().err
    launch = tmp_path / "wrong.toml"
    launch.write_text("grid = [0]\nblock = [1]\n")
    assert main(monkeypatch, "run", MATMUL, "--launch", launch, "--output", output) == 3
    assert '"status":"failed"' in output.read_text()
    assert Done("k", []).problems == []
