"""Entry points of an installed package and of a checkout that is on the path alone."""

from importlib import metadata
from pathlib import Path

import pytest

from xlascope import entry_points


@pytest.mark.parametrize("group", ["xlascope.watchers", "xlascope.renderers"])
def test_a_checkout_declares_what_is_installed(root: Path, group: str) -> None:
    declared = {(each.name, each.value) for each in entry_points.read_project(root / "pyproject.toml", group)}
    installed = {
        (each.name, each.value)
        for each in metadata.entry_points(group=group)
        if each.dist is not None and each.dist.name == "xlascope"
    }
    assert declared == installed != set()


def test_a_checkout_that_is_not_installed_is_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(metadata, "entry_points", lambda **which: ())
    monkeypatch.setattr(entry_points, "_is_installed", lambda: False)
    (found,) = entry_points.find_entry_points("xlascope.watchers", "jax")
    assert callable(found.load())


@pytest.mark.parametrize("text", ["", "[project", '[project]\nname = "another"\n[project.entry-points.g]\na = "b:c"'])
def test_another_project_declares_nothing(tmp_path: Path, text: str) -> None:
    project = tmp_path / "pyproject.toml"
    assert entry_points.read_project(project, "g") == ()
    project.write_text(text)
    assert entry_points.read_project(project, "g") == ()
