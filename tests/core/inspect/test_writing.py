"""Inspections as files, from a script that never loaded the notebook's side."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from xlascope import inspect, records
from xlascope.inspect import Inspection
from xlascope.inspect.writing import DRAWN, TEXTS

SCRIPT = """
import sys
import numpy as np
import xlascope as xs, xlascope.numpy as jnp
found = xs.inspect.fusions(lambda x: jnp.sin(x) * 2.0, np.ones(4, np.float32))
assert "xlascope_widgets" not in sys.modules and "matplotlib" not in sys.modules
for suffix in ("svg", "html", "dot", "json", "txt"):
    found.save(f"a.{suffix}")
assert "matplotlib" not in sys.modules
print(type(found.chart("memory")).__name__)
"""


def test_a_script_saves_every_form(fresh_python: Callable[..., str], tmp_path: Path) -> None:
    assert fresh_python(SCRIPT).strip() == "Figure"
    assert {each.suffix for each in tmp_path.iterdir()} == {".svg", ".html", ".dot", ".json", ".txt"}
    assert "sin" in (tmp_path / "a.svg").read_text() and "sin" in (tmp_path / "a.dot").read_text()
    assert [type(each).__name__ for each in records.load(tmp_path / "a.json")] == ["Traced", "Lowered", "Compiled"]


def test_text_is_the_inspections_own(step: Any, tmp_path: Path) -> None:
    found = inspect.fusions(step.update, *step.arguments)
    found.save(tmp_path / "a.txt")
    assert (tmp_path / "a.txt").read_text() == f"{found}\n"


@pytest.mark.parametrize("name", ["a", "a.jpg", "a.svg.gz", ".svg"])
def test_another_suffix_is_an_error_that_lists_them(tmp_path: Path, name: str) -> None:
    found = inspect.explore(lambda x: x * 2.0, 1.0)
    with pytest.raises(ValueError, match="the suffix says the form") as told:
        found.save(tmp_path / name)
    assert all(suffix in str(told.value) for suffix in (*TEXTS, *DRAWN))
    assert not list(tmp_path.iterdir())


def test_a_file_that_cannot_be_written_is_an_os_error(tmp_path: Path) -> None:
    with pytest.raises(OSError, match="No such file"):
        inspect.explore(lambda x: x * 2.0, 1.0).save(tmp_path / "no" / "a.txt")


def test_what_would_act_in_a_terminal_does_not() -> None:
    found = Inspection("explore", [], "name=\x1b[31mred\u202e\n\tnext")
    assert str(found) == "name=\ufffd[31mred\ufffd\n\tnext"


def test_a_comparison_is_saved_with_both_programs(tmp_path: Path) -> None:
    found = inspect.diff((lambda x: x * 2.0, 1.0), (lambda x: x * 3.0, 1.0))
    found.save(tmp_path / "a.json")
    assert json.loads((tmp_path / "a.json").read_text())["xlascope_diff"] == 1
    found.save(tmp_path / "a.svg")
    assert "changed" in (tmp_path / "a.svg").read_text()
