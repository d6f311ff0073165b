"""Names of one package that the other one lacks, with the reason and a replacement."""

from __future__ import annotations

import functools
import importlib
import importlib.util
from collections.abc import Iterable
from types import ModuleType
from typing import NamedTuple

from ...missing import explanation, names_of_jax
from .scopes import NameUse
from .spelling import Direction

#: Names that exist in xlascope with another meaning.
_DIFFERENT_MEANING = {
    "__version__": "is the version of xlascope there, and comparing it with one of jax makes no sense",
    "__version_info__": "is not here: the version would be that of xlascope",
}
_PRIVATE = "is private to jax and is not here; use the public name, if there is one"


class MissingName(NamedTuple):
    """Name that the target package lacks: as the source package spells it, the lines that use it, and what to do."""

    name: str
    lines: tuple[int, ...]
    reason: str


def find_missing(uses: Iterable[NameUse], direction: Direction) -> list[MissingName]:
    """Return the used names that the target package lacks, each once, ordered by first line."""
    lines: dict[tuple[str, str], list[int]] = {}
    for use in uses:
        if use.in_string:
            entry: tuple[str, str] | None = (use.path, "is imported by its name in a string, which is left as it is")
        elif direction.target == "xlascope":
            entry = _missing_here(use.path, use.is_module)
        else:
            entry = _missing_in_jax(use.path)
        if entry is not None:
            lines.setdefault(entry, []).append(use.line)
    return sorted(
        (
            MissingName(f"{direction.source}.{path}".rstrip("."), tuple(sorted(set(numbers))), why)
            for (path, why), numbers in lines.items()
        ),
        key=lambda missing: missing.lines,
    )


@functools.lru_cache(4096)
def _missing_here(path: str, is_module: bool) -> tuple[str, str] | None:
    """Return the shortest prefix of a dotted path in jax that xlascope lacks, and the reason; None if it lacks nothing.

    ``is_module`` says that the path has to be a module.
    """
    if path in _DIFFERENT_MEANING:
        return path, _DIFFERENT_MEANING[path]
    value: object = importlib.import_module("xlascope")
    walked = ""
    for part in filter(None, path.split(".")):
        if not isinstance(value, ModuleType):
            return (walked, "is no module in jax, nor here") if is_module else None
        parent, walked = value, f"{walked}.{part}".lstrip(".")
        if part.startswith("_") and not part.startswith("__"):
            return walked, _PRIVATE
        value = _attribute(parent, part)
        if value is None:
            return walked, _missing_reason(parent, part)
    if is_module and path and not isinstance(value, ModuleType):
        return path, _no_module_reason(path)
    return None


def _attribute(module: ModuleType, name: str) -> object | None:
    """Return an attribute of a module, importing a submodule if necessary; None if there is none."""
    value = getattr(module, name, None)
    if value is None and hasattr(module, "__path__") and importlib.util.find_spec(f"{module.__name__}.{name}"):
        value = importlib.import_module(f"{module.__name__}.{name}")
    return value if value is not None or not hasattr(module, name) else module.__name__


def _missing_reason(module: ModuleType, name: str) -> str:
    in_jax = f"{module.__name__}.{name}".partition(".")[2]
    text = explanation(module.__name__, name, dir(module))
    if text.startswith(": "):
        return text[2:].removeprefix(f"jax's {in_jax} ").replace(f"jax has removed its {in_jax}", "is removed from jax")
    return f"is not a public name of jax 0.10.2 either{text}"


def _no_module_reason(path: str) -> str:
    package, _, name = path.rpartition(".")
    return f"is no module in jax 0.10.2 either: write from {f'xlascope.{package}'.rstrip('.')} import {name}"


@functools.lru_cache(4096)
def _missing_in_jax(path: str) -> tuple[str, str] | None:
    """Return the shortest prefix of a path in xlascope that is no public name of jax, and the reason, or None."""
    listed = {name.rpartition(".")[0] for name in names_of_jax()}
    walked = ""
    for part in filter(None, path.split(".")):
        if walked not in listed or part.startswith("__"):
            return None
        walked = f"{walked}.{part}".lstrip(".")
        if walked not in names_of_jax() and walked not in listed:
            return walked, "is not a public name of jax 0.10.2"
    return None
