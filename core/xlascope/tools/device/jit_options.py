"""The part ``settings``: programs with ``keep`` and ``reroll`` on and off."""

from __future__ import annotations

import functools
import statistics
import time
from collections.abc import Iterator
from typing import Any

import numpy as np

from ... import inspect, records
from ... import numpy as jnp
from ...api import block_until_ready, device_put, jit
from ...tree_util import tree_leaves
from .comparison import describe_difference
from .context import Context
from .programs.engine import BenchmarkProgram, draw_normal, load_engine
from .programs.journal import Item
from .programs.measure import repeat, time_rounds
from .programs.table import PROGRAMS
from .rows.group import Numbers

#: The compared option, its values, and the program, which is small because it is compiled for each value.
COMPARISONS = (("keep", ("auto", "off"), "transformer"), ("reroll", ("off", "auto", "always"), "unrolled"))
#: Steps of the unrolled program, and its columns by size.
UNROLLED_STEPS, UNROLLED_SIZE = 60, {"small": 64, "large": 1024}


def items(context: Context) -> Iterator[Item]:
    """Yield a check for each option of ``jit``: the same program with each of its values."""
    for option, values, name in COMPARISONS:
        yield Item(f"{option}, {name}", functools.partial(_compare_values, option, values, name, context))


def make_unrolled_program(size: str) -> BenchmarkProgram:
    """Return a benchmark program that is an unrolled Python loop of steps, which differ only in a number."""

    def compute(x: Any, weights: Any) -> Any:
        for step in range(UNROLLED_STEPS):
            h = x
            for w in weights:
                h = jnp.tanh(h @ w)
            x = x - (0.1 + 0.001 * step) * h
        return x, jnp.sum(x * x)

    n = UNROLLED_SIZE[size]
    weights = draw_normal(*[(n, n)] * 3, scale=n**-0.5, seed=6)
    return BenchmarkProgram(compute, (draw_normal((64, n), scale=1.0)[0], weights), updates=True, tolerance=1e-2)


def _compare_values(option: str, values: tuple[str, ...], name: str, context: Context) -> dict[str, Any]:
    """Measure a program with each value of an option of ``jit``, and check that the results agree.

    ``name`` is the name of the program.
    """
    engine = load_engine("xlascope")
    program = make_unrolled_program(context.size) if name == "unrolled" else PROGRAMS[name](engine, "small")
    arguments = block_until_ready(device_put(program.arguments, context.device))
    rows: list[dict[str, Any]] = []
    results = []
    for value in values:
        function: Any = jit(program.function, **{option: value})
        began = time.perf_counter()
        out = block_until_ready(function(*arguments))
        first = time.perf_counter() - began
        results.append([np.asarray(leaf, np.float64) for leaf in tree_leaves(out)])
        compiled = [
            record for record in inspect.fusions(function, *arguments).records if isinstance(record, records.Compiled)
        ]
        step = statistics.median(time_rounds(repeat(engine, function, arguments, program.updates)))
        rows.append({"value": value, "first": first, "step": step, "kernels": len(compiled[-1].kernels)})
    for result in results[1:]:
        _assert_close(result, results[0], program.tolerance)
    return {"words": "; ".join(map(_describe, rows)), "rows": rows}


def _describe(row: dict[str, Any]) -> str:
    return f"{row['value']}: first {row['first']:.2f} s, step {row['step'] * 1e3:.3f} ms, {row['kernels']} kernels"


def _assert_close(actual: Numbers, expected: Numbers, tolerance: float) -> None:
    differences = (describe_difference(x, y, tolerance) for x, y in zip(actual, expected, strict=True))
    text = next(filter(None, differences), "")
    assert not text, f"the results differ: {text}"
