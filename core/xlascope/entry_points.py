"""Entry points, also of a checkout that is on the path without being installed (``PYTHONPATH=core:…``)."""

from __future__ import annotations

import tomllib
from functools import cache
from importlib import metadata
from importlib.metadata import EntryPoint
from pathlib import Path

_OURS = "xlascope"
_PROJECT = Path(__file__).parents[2] / "pyproject.toml"


def find_entry_points(group: str, name: str | None = None) -> tuple[EntryPoint, ...]:
    """Return the entry points of a group that are installed, and this checkout's where it is not installed.

    >>> [found.value for found in find_entry_points("xlascope.watchers", "jax")]
    ['xlascope_jax:install']
    """
    found = tuple(metadata.entry_points(group=group))
    if not _is_installed():
        found += read_project(_PROJECT, group)
    return found if name is None else tuple(each for each in found if each.name == name)


def read_project(project: Path, group: str) -> tuple[EntryPoint, ...]:
    """Return the entry points of a group that a ``pyproject.toml`` declares; none where there is no such project."""
    try:
        declared = tomllib.loads(project.read_text(encoding="utf-8")).get("project", {})
    except (OSError, ValueError):
        return ()
    if declared.get("name") != _OURS:
        return ()
    return tuple(
        EntryPoint(name, value, group) for name, value in declared.get("entry-points", {}).get(group, {}).items()
    )


@cache
def _is_installed() -> bool:
    try:
        return bool(metadata.distribution(_OURS))
    except metadata.PackageNotFoundError:
        return False
