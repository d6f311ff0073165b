"""Inspections as files, from a script that never loaded the notebook's side."""

import json
import os
import tomllib
from collections.abc import Callable
from importlib.metadata import entry_points
from pathlib import Path
from typing import Any

import pytest

from xlascope import inspect, records
from xlascope.inspect import Inspection, NoRendererError, register_drawing, renderers
from xlascope.inspect.files import TEXT_SUFFIXES
from xlascope_widgets.export import SUFFIXES


def install(folder: Path, package: str, points: dict[str, str]) -> None:
    """Put the metadata of an installed package into a folder that Python looks into."""
    metadata = folder / f"{package}-0.dist-info"
    metadata.mkdir(parents=True)
    (metadata / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {package}\nVersion: 0\n")
    lines = "\n".join(f"{name} = {value}" for name, value in points.items())
    (metadata / "entry_points.txt").write_text(f"[{renderers.GROUP}]\n{lines}\n")


@pytest.fixture
def declared(root: Path) -> dict[str, str]:
    """What we bring along, as an installation would have it."""
    project = tomllib.loads((root / "pyproject.toml").read_text())["project"]
    return project["entry-points"][renderers.GROUP]  # type: ignore[no-any-return]


@pytest.fixture
def installed(declared: dict[str, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder in which our renderers are installed, whatever this environment was made from."""
    folder = tmp_path / "installed"
    install(folder, "xlascope_widgets_entry", declared)
    monkeypatch.syspath_prepend(folder)
    monkeypatch.setenv("PYTHONPATH", f"{folder}:{os.environ.get('PYTHONPATH', '')}")
    return folder


@pytest.fixture
def nothing_installed(monkeypatch: pytest.MonkeyPatch) -> None:
    """No renderer at all."""
    monkeypatch.setattr(renderers, "find_entry_points", lambda group, name=None: ())


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


@pytest.mark.usefixtures("installed")
def test_a_script_saves_every_form(fresh_python: Callable[..., str], tmp_path: Path) -> None:
    assert fresh_python(SCRIPT).strip() == "Figure"
    assert {each.suffix for each in tmp_path.glob("a.*")} == {".svg", ".html", ".dot", ".json", ".txt"}
    assert "sin" in (tmp_path / "a.svg").read_text() and "sin" in (tmp_path / "a.dot").read_text()
    assert [type(each).__name__ for each in records.load(tmp_path / "a.json")] == ["Traced", "Lowered", "Compiled"]


def test_text_is_the_inspections_own(step: Any, tmp_path: Path) -> None:
    found = inspect.fusions(step.update, *step.arguments)
    found.save(tmp_path / "a.txt")
    assert (tmp_path / "a.txt").read_text() == f"{found}\n"


@pytest.mark.usefixtures("installed")
@pytest.mark.parametrize("name", ["a", "a.jpg", "a.svg.gz", ".svg"])
def test_another_suffix_is_an_error_that_lists_them(tmp_path: Path, name: str) -> None:
    found = inspect.explore(lambda x: x * 2.0, 1.0)
    with pytest.raises(ValueError, match="the suffix says the form") as told:
        found.save(tmp_path / name)
    assert all(suffix in str(told.value) for suffix in (*TEXT_SUFFIXES, *SUFFIXES))
    assert not list(tmp_path.glob("*a*.*"))


def test_a_file_that_cannot_be_written_is_an_os_error(tmp_path: Path) -> None:
    with pytest.raises(OSError, match="No such file"):
        inspect.explore(lambda x: x * 2.0, 1.0).save(tmp_path / "no" / "a.txt")


def test_what_would_act_in_a_terminal_does_not() -> None:
    found = Inspection("explore", [], "name=\x1b[31mred\u202e\n\tnext")
    assert str(found) == "name=\ufffd[31mred\ufffd\n\tnext"


@pytest.mark.usefixtures("installed")
def test_a_comparison_is_saved_with_both_programs(tmp_path: Path) -> None:
    found = inspect.diff((lambda x: x * 2.0, 1.0), (lambda x: x * 3.0, 1.0))
    found.save(tmp_path / "a.json")
    assert json.loads((tmp_path / "a.json").read_text())["xlascope_diff"] == 1
    found.save(tmp_path / "a.svg")
    assert "changed" in (tmp_path / "a.svg").read_text()


# Who draws.


def test_what_we_bring_along_draws_every_suffix(declared: dict[str, str]) -> None:
    assert set(declared) == {suffix[1:] for suffix in SUFFIXES} | {renderers.CHART}


@pytest.mark.usefixtures("nothing_installed")
def test_without_a_renderer_the_way_out_is_said(tmp_path: Path) -> None:
    found = inspect.explore(lambda x: x * 2.0, 1.0)
    found.save(tmp_path / "a.txt")
    with pytest.raises(NoRendererError, match=r"one of \.json, \.txt; .* none is installed: pip install"):
        found.save(tmp_path / "a.svg")
    with pytest.raises(NoRendererError, match=r"nothing draws charts: no renderer is installed; pip install"):
        found.chart("memory")
    assert [each.name for each in tmp_path.iterdir()] == ["a.txt"]


@pytest.mark.usefixtures("nothing_installed")
def test_what_is_registered_draws(tmp_path: Path) -> None:
    found = inspect.explore(lambda x: x * 2.0, 1.0)
    drawn: list[Any] = []
    assert register_drawing("xyz", lambda shown, path: drawn.append((shown, path))) is None
    try:
        found.save(tmp_path / "a.XYZ")
    finally:
        assert register_drawing("xyz", None) is not None
    assert drawn == [(found.records, tmp_path / "a.XYZ")]
    with pytest.raises(NoRendererError):
        found.save(tmp_path / "a.xyz")


ANOTHER = """
def draw(shown, path):
    open(path, "w").write("another")
"""


def test_two_renderers_of_one_suffix(installed: Path, tmp_path: Path) -> None:
    """Another package's comes before ours, and one that is broken before none."""
    (installed / "another_renderer.py").write_text(ANOTHER)
    install(installed, "another", {"svg": "another_renderer:draw", "dot": "no_such_module:draw"})
    assert len(entry_points(group=renderers.GROUP, name="svg")) > 1
    found = inspect.explore(lambda x: x * 2.0, 1.0)
    found.save(tmp_path / "a.svg")
    found.save(tmp_path / "a.dot")
    assert (tmp_path / "a.svg").read_text() == "another"
    assert "digraph" in (tmp_path / "a.dot").read_text()


def test_a_broken_renderer_says_so(installed: Path, tmp_path: Path) -> None:
    install(installed, "another", {"gif": "no_such_module:draw"})
    with pytest.raises(NoRendererError, match=r"nothing draws \.gif files: no_such_module:draw cannot be loaded"):
        inspect.explore(lambda x: x * 2.0, 1.0).save(tmp_path / "a.gif")
