"""Vectors of 512 bits for programs on a CPU that gain by them: XLA prefers 256 bits on all processors.

Wider vectors halve the time of exponentials and functions that are made of them, and of little else. They take more
compile time where functions are computed element by element (``sin``, ``pow``). So both are estimated from the
program's equations, and the wider ones are chosen where calls repay the compile time soon. They change no result of an
element; sums may be added in another order.

They are chosen on processors of AMD alone, where they were measured (Zen 5, 2026-11-29). Those of Intel run at a lower
clock while they use wide vectors, for which reason XLA and LLVM avoid them.
"""

from __future__ import annotations

import functools
import os
import platform as machine
from collections.abc import Sequence
from typing import Any, NamedTuple

from ...ir.jaxpr import Jaxpr
from ..cache.persistent_cache import cpu_description

_OPTION = "xla_cpu_prefer_vector_width"
_WIDE = "512"
_EXPONENTIALS = ("cosh", "erf", "exp", "exp2", "expm1", "log", "logistic", "sinh", "tanh")
_CHEAP = (
    "add",
    "sub",
    "mul",
    "max",
    "min",
    "select_n",
    "clamp",
    "floor",
    "ceil",
    "sqrt",
    "square",
    "abs",
    "integer_pow",
)
#: Nanoseconds that an element saves on two cores, by operation and dtype.
_SAVED_NANOSECONDS: dict[str, dict[str, float]] = {
    **{name: {"float32": 0.01, "float64": 0.02} for name in _CHEAP},
    **{name: {"float32": 0.35} for name in _EXPONENTIALS},
    "exp": {"float32": 0.35, "float64": 0.8},
}
#: Nanoseconds of compile time that an equation adds, by operation, and any other one.
_ADDED_NANOSECONDS = dict.fromkeys(("sin", "cos", "tan", "pow", "atan2"), 600_000.0)
_ADDED_NANOSECONDS_PER_EQUATION = 40_000.0
#: The compile time has to be repaid within this number of calls.
_CALLS = 60


class _Estimate(NamedTuple):
    """Nanoseconds that wide vectors save in a call of a program, and that they add to its compile time."""

    saved: float
    added: float


def wide_vector_options(
    program: Jaxpr, platform: str, overrides: Sequence[tuple[str, str]] = ()
) -> tuple[tuple[str, str], ...]:
    """Return the compiler option for wide vectors, if a program on ``platform`` gains by them on this processor.

    There is none where ``overrides`` (XLA flags: name, value) or XLA_FLAGS have a value for it.
    """
    if platform != "cpu" or not has_fast_wide_vectors():
        return ()
    if any(name == _OPTION for name, _ in overrides) or f"--{_OPTION}=" in os.environ.get("XLA_FLAGS", ""):
        return ()
    saved, added = _estimate(program, {})
    return ((_OPTION, _WIDE),) if _CALLS * saved > added else ()


@functools.cache
def has_fast_wide_vectors() -> bool:
    """Return whether this processor computes with vectors of 512 bits at its full clock."""
    return machine.machine() == "x86_64" and are_wide_vectors_fast(cpu_description())


def are_wide_vectors_fast(description: str) -> bool:
    """Return whether a processor does, by its model and instruction sets.

    >>> are_wide_vectors_fast("model name : AMD EPYC 9575F, flags : fpu avx2 avx512f avx512vl")
    True
    >>> are_wide_vectors_fast("model name : Intel(R) Xeon(R) Platinum 8480+, flags : fpu avx2 avx512f avx512vl")
    False
    """
    return "AMD" in description and "avx512f" in description.split()


def _estimate(program: Jaxpr, estimates: dict[int, _Estimate]) -> _Estimate:
    """Return what wide vectors save and add in a program; ``estimates`` has those of bodies, by their identity."""
    if id(program) in estimates:
        return estimates[id(program)]
    saved = added = 0.0
    for operation, _, outputs, *_ in program.raw:
        added += _ADDED_NANOSECONDS.get(operation.name, _ADDED_NANOSECONDS_PER_EQUATION)
        if operation.composite:
            runs = _count_runs(operation)
            for body in operation.bodies():
                inner = _estimate(body.jaxpr, estimates)
                saved, added = saved + runs * inner.saved, added + inner.added
        elif operation.name in _SAVED_NANOSECONDS:
            aval = outputs[0].aval
            saved += _SAVED_NANOSECONDS[operation.name].get(aval.dtype.name, 0.0) * aval.size
    estimates[id(program)] = _Estimate(saved, added)
    return estimates[id(program)]


def _count_runs(operation: Any) -> int:
    """Return how often an operation runs its bodies, as far as it says so."""
    return int(getattr(operation, "length", None) or getattr(operation, "count", None) or 1)
