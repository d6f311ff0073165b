"""The programs that an equation of jax holds and runs: which of its parameters they are, and in what order.

Programs that describe a rule and not a part of the work (a custom rule's derivative, what a reduction combines by) are
none of them: their equations are not run as such.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from .differences import Jaxpr

#: The parameters that are, or hold, the bodies of an equation, by the name of its primitive. Of a loop the body comes
#: before the condition.
_PARAMETERS: dict[str, tuple[str, ...]] = {
    "checkpoint": ("jaxpr",),
    "closed_call": ("call_jaxpr",),
    "cond": ("branches",),
    "core_call": ("call_jaxpr",),
    "core_closed_call": ("call_jaxpr",),
    "custom_jvp_call": ("call_jaxpr",),
    "custom_lin": (),
    "custom_vjp_call": ("call_jaxpr",),
    "custom_vjp_call_jaxpr": ("fun_jaxpr",),
    "jit": ("jaxpr",),
    "pjit": ("jaxpr",),
    "remat": ("jaxpr",),
    "remat2": ("jaxpr",),
    "scan": ("jaxpr",),
    "shard_map": ("jaxpr",),
    "while": ("body_jaxpr", "cond_jaxpr"),
}


def open_jaxpr(program: Any) -> Any:
    """The jaxpr of a closed one; a jaxpr itself."""
    return getattr(program, "jaxpr", program)


def bodies_of(equation: Any) -> list[Any]:
    """The open jaxprs that an equation runs, in the order of their numbers."""
    return [
        open_jaxpr(body)
        for name in _PARAMETERS.get(equation.primitive.name, ())
        for body in _programs(equation.params.get(name))
    ]


def with_bodies(equation: Any, change: Callable[[Any, int], Any]) -> dict[str, Any]:
    """The parameters of an equation with each body changed: ``change(body, number)``, of a body as it is held."""
    parameters, number = dict(equation.params), 0
    for name in _PARAMETERS.get(equation.primitive.name, ()):
        held, changed = parameters.get(name), []
        for body in _programs(held):
            changed.append(change(body, number))
            number += 1
        if changed:
            parameters[name] = tuple(changed) if isinstance(held, tuple) else changed[0]
    return parameters


def _programs(value: Any) -> Sequence[Any]:
    values = value if isinstance(value, tuple) else (value,)
    return [each for each in values if isinstance(open_jaxpr(each), Jaxpr)]
