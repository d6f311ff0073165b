"""The parameters of public functions. Imports neither library: `every(library)` is given one."""

from __future__ import annotations

import enum
import importlib
import inspect
from pathlib import Path
from typing import Any

NAMES = Path(__file__).parents[2] / "core/xlascope/names_of_jax.txt"
ROOMS = {
    "", "dtypes", "flatten_util", "image", "lax", "nn", "numpy", "ops", "random", "scipy", "tree", "tree_util",
}  # fmt: skip
_KINDS = {
    inspect.Parameter.POSITIONAL_ONLY: "/",
    inspect.Parameter.POSITIONAL_OR_KEYWORD: "",
    inspect.Parameter.VAR_POSITIONAL: "*",
    inspect.Parameter.KEYWORD_ONLY: "=",
    inspect.Parameter.VAR_KEYWORD: "**",
}
#: A parameter: its name, how it is given, and its default as text ("" for none).
Parameter = tuple[str, str, str]


def _modules() -> dict[str, list[str]]:
    text = NAMES.read_text(encoding="utf-8").partition("\n")[2].replace("\n  ", " ")
    lines = (line.split(": ", 1) for line in text.splitlines())
    listed = {module.strip("."): names.split() for module, names in lines}
    return {module: names for module, names in listed.items() if module.split(".")[0] in ROOMS}


def _default(value: Any) -> str:
    if value is inspect.Parameter.empty:
        return ""
    if isinstance(value, enum.Enum):
        return repr(value.value)
    if getattr(value, "dtype", None) is not None and getattr(value, "shape", None) == ():
        return repr(value.item())
    if type(value).__name__ in ("object", "Unspecified", "UnspecifiedValue", "NoDefault"):
        return "none given"
    return getattr(value, "__name__", repr(value))


def every(library: Any) -> dict[str, list[Parameter]]:
    """The parameters of each function that has some to tell, by its name in the library."""
    found = {}
    for module, names in _modules().items():
        try:
            room = importlib.import_module(f"{library.__name__}.{module}".rstrip("."))
        except ImportError:
            continue
        for name in names:
            try:
                parameters = inspect.signature(getattr(room, name)).parameters.values()
            except (AttributeError, TypeError, ValueError):
                continue
            told = [(each.name, _KINDS[each.kind], _default(each.default)) for each in parameters]
            found[f"{module}.{name}".lstrip(".")] = told
    return found
