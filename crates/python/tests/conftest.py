"""Paths of the repository that the tests use."""

import json
import os
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[3]


@pytest.fixture(autouse=True)
def in_root(monkeypatch):
    """Names of files are relative to the root of the repository, as in the documentation."""
    monkeypatch.chdir(ROOT)


@pytest.fixture
def command():
    """Function that runs the command `warpbound` of the same build and returns its output."""
    target = os.environ.get("CARGO_TARGET_DIR", str(ROOT / "target"))
    program = Path(target) / "debug" / "warpbound"

    def run(*arguments):
        done = subprocess.run([program, *map(str, arguments)], capture_output=True, text=True, check=False)
        assert done.returncode in (0, 2), done.stderr
        return done.stdout

    return run


@pytest.fixture
def document(command):
    """Function that returns the JSON document of a command."""
    return lambda *arguments: json.loads(command(*arguments, "--format", "json"))
