"""Entry points, including those of a checkout on the path that is not installed (``PYTHONPATH=core:…``)."""

from __future__ import annotations

import tomllib
from functools import cache
from importlib import metadata
from importlib.metadata import EntryPoint
from pathlib import Path

_PROJECT_NAME = "xlascope"
_PYPROJECT = Path(__file__).parents[2] / "pyproject.toml"


def find_entry_points(group: str, name: str | None = None) -> tuple[EntryPoint, ...]:
    """Return the entry points of a group, with ``name`` only those of that name.

    If xlascope is not installed, these include the entry points that the ``pyproject.toml`` of its checkout
    declares.

    >>> [found.value for found in find_entry_points("xlascope.watchers", "jax")]
    ['xlascope_jax:install']
    """
    entries = tuple(metadata.entry_points(group=group))
    if not _is_installed():
        entries += read_project(_PYPROJECT, group)
    return entries if name is None else tuple(entry for entry in entries if entry.name == name)


def read_project(project: Path, group: str) -> tuple[EntryPoint, ...]:
    """Return the entry points of a group that xlascope's ``pyproject.toml`` declares.

    ``project`` is the path of the file. The result is empty for another project's file and for an unreadable
    one.
    """
    try:
        declared = tomllib.loads(project.read_text(encoding="utf-8")).get("project", {})
    except (OSError, ValueError):
        return ()
    if declared.get("name") != _PROJECT_NAME:
        return ()
    return tuple(
        EntryPoint(name, value, group) for name, value in declared.get("entry-points", {}).get(group, {}).items()
    )


@cache
def _is_installed() -> bool:
    try:
        return bool(metadata.distribution(_PROJECT_NAME))
    except metadata.PackageNotFoundError:
        return False
