"""The examples of the documentation run as they are."""

import doctest
import re
from pathlib import Path

import warpbound


def test_examples_of_the_page_run(capsys):
    page = Path("docs/python.md").read_text()
    examples = re.findall(r"^```python\n(.*?)^```", page, re.DOTALL | re.MULTILINE)
    assert len(examples) == 2
    names = {}
    for example in examples:
        exec(example, names)
    assert capsys.readouterr().out.startswith("1441\n")


def test_the_example_of_the_package_runs():
    assert doctest.testmod(warpbound).attempted == 3
    assert doctest.testmod(warpbound).failed == 0
