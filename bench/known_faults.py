"""What the workarounds for known faults of XLA cost, and how many of our programs they touch.

``python -m bench.known_faults`` prints both. The share is of the bench's programs and of the everyday programs of the
tests; some of these need eight devices (XLA_FLAGS=--xla_force_host_platform_device_count=8). Times of a program with
its workaround and without are taken in turn, in one process.
"""

from __future__ import annotations

import importlib
import itertools
import statistics
import time
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from .kinds import KINDS
from .models import MODELS
from .programs import PROGRAMS, arrays
from .sides import Side, side
from .unrolled import UNROLLED

ROUNDS = 25


def share() -> dict[str, list[str]]:
    """Return, for each fault, the names of the programs that match it."""
    known_faults = importlib.import_module("xlascope.xla.known_faults")
    operations = importlib.import_module("xlascope.xla.known_faults.program_operations")
    names = frozenset().union(*(fault.names for fault in known_faults.FAULTS))
    found: dict[str, list[str]] = {fault.name: [] for fault in known_faults.FAULTS}
    programs = dict(itertools.chain(_jaxprs(side("xlascope")), _everyday_jaxprs()))
    for name, jaxprs in programs.items():
        matching = {
            fault.name
            for jaxpr in jaxprs
            for fault in known_faults.match_faults(known_faults.FAULTS, operations.operations_of_jaxpr(jaxpr, names))
        }
        for fault in matching:
            found[fault].append(name)
    print(f"{len(programs)} programs")
    return found


def _everyday_jaxprs() -> Iterator[tuple[str, list[Any]]]:
    """Yield what three steps of each everyday program compile; needs as many devices as they share, eight."""
    programs = importlib.import_module("tests.everyday.everyday_programs")
    compilation = importlib.import_module("xlascope.xla.compilation.compile_program")
    find_options, xs = compilation.workaround_options, importlib.import_module("xlascope")
    for name in programs.PROGRAMS:
        jaxprs: list[Any] = []

        def note(jaxpr: Any, *arguments: Any, jaxprs: list[Any] = jaxprs) -> Any:
            jaxprs.append(jaxpr)
            return find_options(jaxpr, *arguments)

        compilation.workaround_options = note
        try:
            list(programs.load_program(name)(xs, 3))
        finally:
            compilation.workaround_options = find_options
        yield name, jaxprs


def _jaxprs(ours: Side) -> Iterator[tuple[str, list[Any]]]:
    for module in ("experimental.ode", "scipy.linalg", "scipy.stats"):
        importlib.import_module(f"xlascope.{module}")
    made = {**KINDS, **PROGRAMS, **UNROLLED}
    for name, make in made.items():
        call, arguments, *_ = make(ours)
        function = call if hasattr(call, "trace") else ours.xs.jit(call)
        yield name, [function.trace(*arguments).jaxpr.jaxpr]
    for name, build in MODELS.items():
        model = build(ours)
        gradient = ours.xs.jit(ours.xs.grad(model.make()))
        yield f"model {name}", [gradient.trace(model.weights, model.example).jaxpr.jaxpr]


def _costly(ours: Side) -> dict[str, tuple[Callable[..., Any], list[Any]]]:
    """Programs that match."""
    jnp = ours.jnp
    return {
        "40,000 vectors turned and squared": (lambda x, m: jnp.sum((x @ m.T) ** 2, 1), arrays((40_000, 3), (3, 3))),
        "norms of 1,000,000 turned vectors": (
            lambda x, m: jnp.linalg.norm(x @ m.T, axis=1),
            arrays((1_000_000, 3), (3, 3)),
        ),
        "the same beside large reductions": (
            lambda x, m, y: (jnp.linalg.norm(x @ m.T, axis=1), jnp.sum(y, 1), jnp.max(y, 0)),
            arrays((1_000_000, 3), (3, 3), (4000, 2000)),
        ),
        "distance of two clouds of points": (
            lambda x, m, y: jnp.mean(jnp.sum((x @ m.T - y) ** 2, 1)),
            arrays((1_000_000, 3), (3, 3), (1_000_000, 3)),
        ),
        "rank 7, summed along an axis": (
            lambda x, y: jnp.sum(x * y, axis=3),
            arrays(*[(3, 2, 2, 20, 16, 16, 16)] * 2),
        ),
        "rank 7, summed": (lambda x, y: jnp.sum(x * y), arrays(*[(3, 2, 2, 20, 16, 16, 16)] * 2)),
    }


def cost() -> dict[str, float]:
    """Return, for programs that match, the time with the workaround relative to without."""
    workarounds = importlib.import_module("xlascope.xla.known_faults.workarounds")
    ours = side("xlascope")
    ratios, avoidable = {}, workarounds._avoidable
    for name, (function, arguments) in _costly(ours).items():
        calls = []
        for faults in (avoidable, ()):
            workarounds._avoidable = faults
            call = ours.xs.jit(lambda *x, function=function: function(*x))
            ours.xs.block_until_ready(call(*arguments))
            calls.append(call)
        workarounds._avoidable = avoidable
        ratios[name] = statistics.median(
            _seconds(ours, calls[0], arguments) / _seconds(ours, calls[1], arguments) for _ in range(ROUNDS)
        )
    return ratios


def _seconds(ours: Side, call: Callable[..., Any], arguments: list[np.ndarray]) -> float:
    start = time.perf_counter()
    ours.xs.block_until_ready(call(*arguments))
    return time.perf_counter() - start


if __name__ == "__main__":
    for name, programs in share().items():
        print(f"{len(programs)}: {name} ({', '.join(programs)})")
    for name, ratio in cost().items():
        print(f"{ratio:.2f} {name}")
