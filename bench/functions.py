"""What it costs to trace a call of each function of numpy and lax: both sides in turn, function by function.

The calls are the judge's (``tests/differential``), which are data: of each function the first one that both sides can
trace. A program calls the function ten times; each side traces it some times, as a new function each time, and the
fastest counts. What both remember of a function is remembered by then, as in a program that uses it again.

``python -m bench.functions xlascope`` is a side: it reads a call from each line and answers with seconds.
"""

from __future__ import annotations

import importlib
import json
import os
import re
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np
from tests.differential import generating
from tests.differential.building import Builder
from tests.differential.library import listed
from tests.differential.worker import Performer

#: How often a program calls the function, and how often it is traced.
CALLS, TRACES = 10, 7
#: Draws after which a function that one side cannot trace is left out.
DRAWS = 25
#: What is measured, and what takes functions and programs rather than arrays.
MEASURED = re.compile(r"^(numpy\.(?!linalg|fft)|lax\.(?!linalg))\w+$")
GOAL, OUTLIER = 1 / 8, 1 / 4


class Ratio(NamedTuple):
    """The seconds of both sides for a call."""

    name: str
    ours: float
    theirs: float

    @property
    def ratio(self) -> float:
        return self.ours / self.theirs


# A side ---------------------------------------------------------------------------------------------------------------


def _program(module: Any, performer: Performer, call: dict[str, Any]) -> tuple[Callable[..., Any], list[Any]]:
    """A function that makes the call with arrays for those that it is given, and these."""
    builder = Builder(module)
    function = performer.function(call["function"], builder)
    given = [builder.build(call["args"]), {name: builder.build(value) for name, value in call["kwargs"].items()}]
    leaves, structure = module.tree.flatten(given, is_leaf=lambda x: x is None)
    places = [i for i, x in enumerate(leaves) if isinstance(x, module.Array) or type(x) is np.ndarray]

    def program(*values: Any) -> Any:
        now = list(leaves)
        for place, value in zip(places, values, strict=True):
            now[place] = value
        args, kwargs = module.tree.unflatten(structure, now)
        return [function(*args, **kwargs) for _ in range(CALLS)][-1]

    return program, [leaves[place] for place in places]


def _seconds(module: Any, performer: Performer, call: dict[str, Any]) -> float:
    program, operands = _program(module, performer, call)
    if not operands:
        raise TypeError("nothing to trace")
    seconds = []
    for _ in range(TRACES):
        began = time.perf_counter()
        module.make_jaxpr(lambda *values: program(*values))(*operands)
        seconds.append(time.perf_counter() - began)
    return min(seconds) / CALLS


def _serve(name: str) -> None:
    importlib.import_module(f"{name}.numpy")
    module = importlib.import_module(name)
    performer = Performer(module)
    for line in sys.stdin:
        request = json.loads(line)
        try:
            answer = listed(module) if request == "listed" else {"seconds": _seconds(module, performer, request)}
        except Exception as error:
            answer = {"error": type(error).__name__}
        print(json.dumps(answer), flush=True)


class _Process:
    """A side in a process of its own."""

    def __init__(self, name: str) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-m", "bench.functions", name],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
            env={**os.environ, "JAX_PLATFORMS": "cpu"},
        )

    def ask(self, request: Any) -> dict[str, Any]:
        assert self._process.stdin is not None and self._process.stdout is not None
        self._process.stdin.write(json.dumps(request) + "\n")
        self._process.stdin.flush()
        answer: dict[str, Any] = json.loads(self._process.stdout.readline())
        return answer

    def close(self) -> None:
        self._process.kill()
        self._process.communicate()


# Both -----------------------------------------------------------------------------------------------------------------


def measured() -> tuple[list[Ratio], list[str]]:
    """The ratio of each function that both sides can trace a call of, and the others' names."""
    ours, theirs = _Process("xlascope"), _Process("jax")
    try:
        judged = generating.judged(ours.ask("listed"), theirs.ask("listed"))
        chosen = [each for each in judged if MEASURED.match(each.name)]
        found = [_of(each, ours, theirs) for each in chosen]
    finally:
        ours.close()
        theirs.close()
    missing = [each.name for each, ratio in zip(chosen, found, strict=True) if ratio is None]
    return [ratio for ratio in found if ratio is not None], missing


def _of(function: generating.Function, ours: _Process, theirs: _Process) -> Ratio | None:
    for call in _calls(function):
        answers = ours.ask(call), theirs.ask(call)
        if all("seconds" in each for each in answers):
            return Ratio(function.name, answers[0]["seconds"], answers[1]["seconds"])
    return None


def _calls(function: generating.Function) -> Iterator[dict[str, Any]]:
    for round_ in range(DRAWS):
        yield {**generating.drawn_call(function, 0, round_), "x64": False, "how": "eager"}


def functions() -> list[str]:
    """The rows for the results: the median, how many reach the goal, and those that are far from it."""
    ratios, missing = measured()
    rows = [
        "| tracing a call | functions | median ratio | ≤ 1/8 | ≤ 1/4 | goal |",
        "|---|---|---|---|---|---|",
    ]
    for room in ("numpy", "lax"):
        here = [each.ratio for each in ratios if each.name.startswith(room)]
        reached = " | ".join(f"{sum(r <= limit for r in here) / len(here):.0%}" for limit in (GOAL, OUTLIER))
        rows.append(f"| of {room} | {len(here)} | **{statistics.median(here):.3f}** | {reached} | median ≤ 1/8 |")
    far = sorted((each for each in ratios if each.ratio > OUTLIER), key=lambda each: -each.ratio)
    named = ", ".join(f"{r.name} {r.ratio:.2f} ({r.ours * 1e6:.0f} : {r.theirs * 1e6:.0f} µs)" for r in far)
    return [*rows, "", f"Above 1/4: {named or 'none'}.", "", f"Not traced by one of the sides: {', '.join(missing)}."]


if __name__ == "__main__":
    _serve(sys.argv[1])
