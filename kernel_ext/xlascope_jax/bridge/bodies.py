"""The jaxprs that an equation runs: which of its parameters they are, and in what order.

Jaxprs that describe a rule rather than a part of the computation (a custom derivative rule, the combiner of a
reduction) are not bodies: their equations do not run as such.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from .jax_compat import Jaxpr

#: The parameters that are or contain the bodies of an equation, by the name of its primitive. The body of a loop comes
#: before its condition.
_BODY_PARAMETERS: dict[str, tuple[str, ...]] = {
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
    """Return the open jaxpr of a closed one; an open jaxpr is returned itself."""
    return getattr(program, "jaxpr", program)


def bodies_of(equation: Any) -> list[Any]:
    """Return the open jaxprs that an equation runs, in the order of their body numbers."""
    return list(map(open_jaxpr, programs_in(equation)))


def programs_in(equation: Any) -> list[Any]:
    """Return the jaxprs that an equation runs as it stores them, open or closed, in the order of their body numbers."""
    return [
        body
        for name in _BODY_PARAMETERS.get(equation.primitive.name, ())
        for body in _jaxprs_in(equation.params.get(name))
    ]


def replace_bodies(equation: Any, change: Callable[[Any, int], Any]) -> dict[str, Any]:
    """Return an equation's parameters with each body replaced by ``change(body, number)``; the equation stays as it is.

    The body is passed as the parameter stores it, open or closed.
    """
    parameters, number = dict(equation.params), 0
    for name in _BODY_PARAMETERS.get(equation.primitive.name, ()):
        value, replacements = parameters.get(name), []
        for body in _jaxprs_in(value):
            replacements.append(change(body, number))
            number += 1
        if replacements:
            parameters[name] = tuple(replacements) if isinstance(value, tuple) else replacements[0]
    return parameters


def _jaxprs_in(value: Any) -> Sequence[Any]:
    values = value if isinstance(value, tuple) else (value,)
    return [item for item in values if isinstance(open_jaxpr(item), Jaxpr)]
