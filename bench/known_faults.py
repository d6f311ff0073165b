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


def _extremes(ours: Side) -> dict[str, tuple[Callable[..., Any], list[Any]]]:
    """Programs with maxima and minima whose NaN matters."""
    jnp, lax, nn = ours.jnp, ours.xs.lax, ours.xs.nn

    def pool(x: Any) -> Any:
        return lax.reduce_window(x, -np.inf, lax.max, (1, 2, 2, 1), (1, 2, 2, 1), "VALID")

    def convolve(x: Any, w: Any) -> Any:
        return lax.conv_general_dilated(x, w, (1, 1), "SAME", dimension_numbers=("NHWC", "HWIO", "NHWC"))

    def weigh(x: Any) -> Any:
        weights = jnp.exp(x - jnp.max(x, -1, keepdims=True))
        return weights / jnp.sum(weights, -1, keepdims=True)

    return {
        "maximum of 16,384": (jnp.max, arrays((16_384,))),
        "maximum of 1,000,000": (jnp.max, arrays((1_000_000,))),
        "largest difference of 1,000,000": (lambda x, y: jnp.max(abs(x - y)), arrays((1000, 1000), (1000, 1000))),
        "maxima of 1,000 rows of exp(sin(x))": (lambda x: jnp.max(jnp.exp(jnp.sin(x)), 1), arrays((1000, 1000))),
        "scaling to [0, 1]": (
            lambda x: (x - jnp.min(x, 0)) / (jnp.max(x, 0) - jnp.min(x, 0)),
            arrays((2000, 500)),
        ),
        "softmax as written by hand, of a product": (lambda x, w: weigh(x @ w), arrays((256, 256), (256, 1000))),
        "gradient of a maximum": (ours.xs.grad(lambda x: jnp.max(jnp.tanh(x))), arrays((1000, 1000))),
        "pooling": (pool, arrays((32, 28, 28, 32))),
        "convolution, relu, pooling": (
            lambda x, w: pool(nn.relu(convolve(x, w))),
            arrays((16, 28, 28, 16), (3, 3, 16, 16)),
        ),
    }


def cost_of_extremes() -> dict[str, float]:
    """Return, for programs with maxima and minima, the time with NaN propagated relative to without."""
    module = importlib.import_module("xlascope.xla.known_faults.nan_of_extremes")
    ours, affected, ratios = side("xlascope"), module.AFFECTED_EXTREMES, {}
    for name, (function, arguments) in _extremes(ours).items():
        calls = []
        for dtypes in (affected, frozenset()):
            module.AFFECTED_EXTREMES = dtypes
            call = ours.xs.jit(lambda *x, function=function: function(*x))
            ours.xs.block_until_ready(call(*arguments))
            calls.append(call)
        module.AFFECTED_EXTREMES = affected
        ratios[name] = _ratio(ours, calls, arguments)
    return ratios


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
        ratios[name] = _ratio(ours, calls, arguments)
    return ratios


def _ratio(ours: Side, calls: list[Callable[..., Any]], arguments: list[np.ndarray]) -> float:
    """Return the median ratio of the times of two functions, called in turn."""
    return statistics.median(
        _seconds(ours, calls[0], arguments) / _seconds(ours, calls[1], arguments) for _ in range(ROUNDS)
    )


def _seconds(ours: Side, call: Callable[..., Any], arguments: list[np.ndarray]) -> float:
    start = time.perf_counter()
    ours.xs.block_until_ready(call(*arguments))
    return time.perf_counter() - start


if __name__ == "__main__":
    for name, programs in share().items():
        print(f"{len(programs)}: {name} ({', '.join(programs)})")
    for name, ratio in {**cost(), **cost_of_extremes()}.items():
        print(f"{ratio:.2f} {name}")
