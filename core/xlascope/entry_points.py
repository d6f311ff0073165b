"""Entry points, including those of a checkout on the path that is not installed (``PYTHONPATH=core:…``)."""

from __future__ import annotations

import tomllib
from functools import cache
from importlib import metadata
from importlib.metadata import EntryPoint
from pathlib import Path

_OURS = "xlascope"
_PROJECT = Path(__file__).parents[2] / "pyproject.toml"


def find_entry_points(group: str, name: str | None = None) -> tuple[EntryPoint, ...]:
    """Return the installed entry points of a group, and this checkout's where it is not installed.

    >>> [found.value for found in find_entry_points("xlascope.watchers", "jax")]
    ['xlascope_jax:install']
    """
    entries = tuple(metadata.entry_points(group=group))
    if not _is_installed():
        entries += read_project(_PROJECT, group)
    return entries if name is None else tuple(entry for entry in entries if entry.name == name)


def read_project(project: Path, group: str) -> tuple[EntryPoint, ...]:
    """Return the entry points of a group in this project's ``pyproject.toml``; none for another project."""
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
