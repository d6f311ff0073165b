"""NaN and infinity among the small results of a cell, looked for where that costs next to nothing."""

from __future__ import annotations

import ast
import functools
import time
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from xlascope.records import Failure

#: The size of an array up to which it is looked at, in bytes, and the number of arrays and containers of one cell.
MAX_ARRAY_BYTES, MAX_LOOKED_AT = 4096, 64
#: The number of cells whose code is parsed once, however often they run.
MAX_PARSED_CELLS = 32
#: The stage of the record, which the strip and the text word differently from a failure.
STAGE = "results"


def check_results(source: str, names: Mapping[str, Any], value: Any) -> Failure | None:
    """Return a record that says which result of a cell holds NaN or infinity; None if none is known to.

    ``source`` is the cell's code, ``names`` its namespace, and ``value`` that of its last expression. Looked at are the
    arrays that the cell assigned or returned, if they are small, on a CPU, and ready: nothing is waited for or copied
    from a device. NaN is reported before infinity.
    """
    results = {name: names[name] for name in _assigned_names(source) if name in names}
    worst: tuple[str, str] | None = None
    for name, array in _small_arrays({**results, "its value": value}):
        health = _health_of(array)
        if health == "NaN":
            worst = (name, health)
            break
        if health and worst is None:
            worst = (name, health)
    if worst is None:
        return None
    name, health = worst
    message = f"results hold {health}: %values finds where it was born"
    return Failure(None, name, STAGE, time.time(), health, message)


@functools.lru_cache(MAX_PARSED_CELLS)
def _assigned_names(source: str) -> tuple[str, ...]:
    """Return the names that a cell's code assigns, except in functions and classes; none if it cannot be parsed."""
    try:
        tree = ast.parse(source)
    except (SyntaxError, ValueError):
        return ()
    pending: list[ast.AST] = list(tree.body)
    names: dict[str, None] = {}
    while pending:
        node = pending.pop()
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef | ast.Lambda):
            continue
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            names[node.id] = None
        pending.extend(ast.iter_child_nodes(node))
    return tuple(names)


def _small_arrays(results: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    """Yield the arrays in results, each with the name of the result; containers are looked into up to a bound."""
    pending = list(results.items())
    for _ in range(MAX_LOOKED_AT):
        if not pending:
            return
        name, value = pending.pop()
        if isinstance(value, Mapping):
            pending += [(name, item) for item in list(value.values())[:MAX_LOOKED_AT]]
        elif isinstance(value, list | tuple):
            pending += [(name, item) for item in value[:MAX_LOOKED_AT]]
        elif all(hasattr(value, attribute) for attribute in ("is_ready", "is_deleted", "devices", "dtype")):
            yield name, value


def _health_of(array: Any) -> str:
    """Return ``"NaN"`` or ``"infinity"`` if a small array on a CPU holds that, ``""`` otherwise or if it is unknown."""
    try:
        if array.is_deleted() or not array.is_ready() or array.nbytes > MAX_ARRAY_BYTES:
            return ""
        if any(device.platform != "cpu" for device in array.devices()):
            return ""
        if not isinstance(array.dtype, np.dtype) or array.dtype.kind in "biuOSU":
            return ""
        values = np.asarray(array)
        if np.isfinite(values).all():
            return ""
        return "NaN" if np.isnan(values).any() else "infinity"
    except Exception:  # a tracer, an array of other processes, a dtype without NaN
        return ""
