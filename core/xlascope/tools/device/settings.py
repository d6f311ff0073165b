"""The part ``settings``: programs with ``keep`` and ``reroll`` on and off."""

from __future__ import annotations

import functools
import statistics
import time
from collections.abc import Iterator
from typing import Any

import numpy as np

from ... import inspect, records
from ...api import block_until_ready, device_put, jit
from ...tree_util import tree_leaves
from .context import Context
from .programs.engine import load_engine
from .programs.journal import Item
from .programs.measure import repeat, time_rounds
from .programs.table import PROGRAMS

#: What is compared: the option, its values, and the program.
COMPARED = (
    ("keep", ("auto", "off"), "transformer"),
    ("reroll", ("auto", "off"), "fft"),
    ("reroll", ("always", "off"), "transformer"),
)


def items(context: Context) -> Iterator[Item]:
    """Yield an item for each option and program."""
    for option, values, name in COMPARED:
        yield Item(
            f"{option} {values[0]} and {values[1]}, {name}", functools.partial(_compare, option, values, name, context)
        )


def _compare(option: str, values: tuple[str, ...], name: str, context: Context) -> dict[str, Any]:
    engine = load_engine("xlascope")
    program = PROGRAMS[name](engine, context.size)
    arguments = block_until_ready(device_put(program.arguments, context.device))
    rows, results = [], []
    for value in values:
        function = jit(program.function, **{option: value})
        began = time.perf_counter()
        out = block_until_ready(function(*arguments))
        first = time.perf_counter() - began
        results.append([np.asarray(leaf, np.float64) for leaf in tree_leaves(out)])
        compiled = [
            each for each in inspect.fusions(function, *arguments).records if isinstance(each, records.Compiled)
        ]
        step = statistics.median(time_rounds(repeat(engine, function, arguments, program.updates)))
        rows.append({"value": value, "first": first, "step": step, "kernels": len(compiled[-1].kernels)})
    _assert_close(results, program.tolerance)
    shown = [
        f"{row['value']}: first {row['first']:.2f} s, step {row['step'] * 1e3:.3f} ms, {row['kernels']} kernels"
        for row in rows
    ]
    return {"words": "; ".join(shown), "rows": rows}


def _assert_close(results: list[list[np.ndarray[Any, Any]]], tolerance: float) -> None:
    for found, expected in zip(*results, strict=True):
        off = np.max(np.abs(found - expected), initial=0.0)
        scale = np.max(np.abs(expected), initial=1.0)
        assert off <= tolerance * scale, f"off by {off:.3g} in numbers up to {scale:.3g}"
