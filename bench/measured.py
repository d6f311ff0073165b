"""Cases that measure themselves, served to a run that asks both sides in turn.

``stages`` are the cases of ``cases.py``. ``lowering`` is the processor time of lowering with all passes, by the
program; ``growth`` is that of chains, up to 100,000 equations. ``first calls`` and ``steps`` are those of the 32
programs of ``kinds.py``: from the traced function to the first result, and a call of what is compiled, with arrays on
the device. ``NumPy arguments`` are steps whose arguments are large NumPy arrays in each call.
"""

from __future__ import annotations

import functools
import importlib
import sys
import time
from collections.abc import Callable
from typing import Any

import numpy as np

from . import paired
from .cases import CASES
from .kinds import KINDS
from .models import MODELS
from .sides import Side, side
from .unrolled import UNROLLED

#: Cases that need a fresh process each.
FRESH = ("first_step", "first_call_cold", "first_call_warm", "first_result_cold", "first_result_warm")
STAGES = tuple(case for case in CASES if case not in FRESH)
LENGTHS = (300, 3000, 30_000)
LOWERED = (
    *(f"lower a chain of {length}" for length in LENGTHS),
    "lower the gradient of a chain of 3000",
    "lower the gradient of mlp",
    "lower the gradient of transformer",
    "lower lstm_64",
)
GROWTH = tuple(f"lower a chain of {length}" for length in (1000, 10_000, 100_000))
FIRST_CALLS = tuple(f"first call of {name}" for name in KINDS)
STEPS = tuple(f"step of {name}" for name in KINDS)
#: Programs with arguments of 8 to 16 MB: our calls copy them, jax's share their memory with a program that still runs.
NUMPY_ARGUMENTS = tuple(f"NumPy arguments of {name}" for name in ("mlp_50", "softmax_large", "elementwise_large"))
#: What `import jax` does not bring.
_PARTS = ("nn", "random", "scipy.stats", "scipy.linalg", "experimental.ode")


def measure(name: str, case: str) -> float:
    """Return seconds of a case on a side."""
    of = side(name)
    for part in _PARTS:
        importlib.import_module(f"{name}.{part}")
    if case in CASES:
        found = CASES[case](of)
        return float(found[0] if isinstance(found, tuple) else found)
    if case.startswith("lower "):
        return _lower(of, case.removeprefix("lower "))
    what, _, program = case.partition(" of ")
    return _first_call(of, program) if what == "first call" else _shortest(_step(name, program, what == "step"))


def _lower(of: Side, program: str) -> float:
    """Return the processor time of lowering a program that has just been traced."""
    function, arguments = _program(of, program)
    lower = of.xs.jit(function).trace(*arguments).lower
    began = time.process_time()
    lower()
    return time.process_time() - began


def _program(of: Side, name: str) -> tuple[Callable[..., Any], tuple[Any, ...]]:
    """Return a new function, since traces are remembered by function, and its arguments."""
    *kind, last = name.split()
    if "chain" in kind:
        function, x = _chain(of, int(last) // 3), np.ones(10, np.float32)
        return (of.xs.grad(function) if "gradient" in kind else function), (x,)
    if last in MODELS:
        loss, weights, example = MODELS[last](of)
        return of.xs.grad(loss()), (weights, example)
    program = UNROLLED[last](of)
    return lambda *arguments: program.function(*arguments), program.arguments


def _chain(of: Side, links: int) -> Callable[[Any], Any]:
    def function(x: Any) -> Any:
        for _ in range(links):
            x = of.jnp.sin(x) * 2.0 + x
        return of.jnp.sum(x)

    return function


def _first_call(of: Side, name: str) -> float:
    """Return seconds from nothing to the first result of a program."""
    program = KINDS[name](of)
    began = time.perf_counter()
    of.xs.block_until_ready(program.function(*program.arguments))
    return time.perf_counter() - began


@functools.cache
def _step(name: str, program: str, on_device: bool) -> Callable[[], Any]:
    """Return a call of a program of ``kinds``, which is compiled; a step that follows another gets its result."""
    of = side(name)
    made = KINDS[program](of)
    given = of.xs.device_put(made.arguments) if on_device else made.arguments
    state = [made.function(*given)]

    def step() -> None:
        arguments = (state[0], *given[1:]) if made.follows else given
        state[0] = of.xs.block_until_ready(made.function(*arguments))

    step()
    return step


def _shortest(call: Callable[[], Any], seconds: float = 0.15) -> float:
    """Return the seconds of the shortest call of those that fit into a time, of three at least."""
    times, end = [], time.perf_counter() + seconds
    while len(times) < 3 or time.perf_counter() < end:
        began = time.perf_counter()
        call()
        times.append(time.perf_counter() - began)
    return min(times)


if __name__ == "__main__":
    paired.serve_measured(functools.partial(measure, sys.argv[1]))
