"""Which names of one package the other one lacks, why, and what to use instead."""

from __future__ import annotations

import functools
import importlib
import importlib.util
from collections.abc import Iterable
from types import ModuleType
from typing import NamedTuple

from ...missing import explanation, names_of_jax
from .scopes import Use
from .spelling import Direction

#: Names that are here and mean something else.
_DIFFERENT = {
    "__version__": "is the version of xlascope there, and comparing it with one of jax makes no sense",
    "__version_info__": "is not here: the version would be that of xlascope",
}
_PRIVATE = "is private to jax and is not here; use the public name, if there is one"


class Missing(NamedTuple):
    """A name that the target package lacks: as the source package spells it, its lines, and what to do."""

    name: str
    lines: tuple[int, ...]
    why: str


def find_missing(uses: Iterable[Use], direction: Direction) -> list[Missing]:
    """Return the names of these uses that the target package lacks, each once, by its first line."""
    lines: dict[tuple[str, str], list[int]] = {}
    for use in uses:
        if use.quoted:
            found: tuple[str, str] | None = (use.path, "is imported by its name in a string, which is left as it is")
        elif direction.target == "xlascope":
            found = _missing_here(use.path, use.module)
        else:
            found = _missing_in_jax(use.path)
        if found is not None:
            lines.setdefault(found, []).append(use.line)
    return sorted(
        (
            Missing(f"{direction.source}.{path}".rstrip("."), tuple(sorted(set(numbers))), why)
            for (path, why), numbers in lines.items()
        ),
        key=lambda missing: missing.lines,
    )


@functools.lru_cache(4096)
def _missing_here(path: str, is_module: bool) -> tuple[str, str] | None:
    """Return the first part of a path in jax that xlascope lacks, and the reason."""
    if path in _DIFFERENT:
        return path, _DIFFERENT[path]
    found: object = importlib.import_module("xlascope")
    walked = ""
    for part in filter(None, path.split(".")):
        if not isinstance(found, ModuleType):
            return (walked, "is no module in jax, nor here") if is_module else None
        parent, walked = found, f"{walked}.{part}".lstrip(".")
        if part.startswith("_") and not part.startswith("__"):
            return walked, _PRIVATE
        found = _attribute(parent, part)
        if found is None:
            return walked, _reason(parent, part)
    if is_module and path and not isinstance(found, ModuleType):
        return path, _reason_of_no_module(path)
    return None


def _attribute(module: ModuleType, name: str) -> object | None:
    """Return a public name of a module, or the module of that name in a package."""
    value = getattr(module, name, None)
    if value is None and hasattr(module, "__path__") and importlib.util.find_spec(f"{module.__name__}.{name}"):
        value = importlib.import_module(f"{module.__name__}.{name}")
    return value if value is not None or not hasattr(module, name) else module.__name__


def _reason(module: ModuleType, name: str) -> str:
    in_jax = f"{module.__name__}.{name}".partition(".")[2]
    told = explanation(module.__name__, name, dir(module))
    if told.startswith(": "):
        return told[2:].removeprefix(f"jax's {in_jax} ").replace(f"jax has removed its {in_jax}", "is removed from jax")
    return f"is not a public name of jax 0.10.2 either{told}"


def _reason_of_no_module(path: str) -> str:
    package, _, name = path.rpartition(".")
    return f"is no module in jax 0.10.2 either: write from {f'jax.{package}'.rstrip('.')} import {name}"


@functools.lru_cache(4096)
def _missing_in_jax(path: str) -> tuple[str, str] | None:
    """Return the first part of a path in xlascope that jax lacks, as far as jax's public names are listed."""
    listed = {name.rpartition(".")[0] for name in names_of_jax()}
    walked = ""
    for part in filter(None, path.split(".")):
        if walked not in listed or part.startswith("__"):
            return None
        walked = f"{walked}.{part}".lstrip(".")
        if walked not in names_of_jax() and walked not in listed:
            return walked, "is not a public name of jax 0.10.2"
    return None
