"""Differences between versions of jax, detected by looking at jax rather than at its version number.

The public names are in ``jax.extend``. It is not imported here: since jax 0.12 it imports Pallas, whose
settings are part of jit's cache keys, so that functions jitted before would be traced and compiled again.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from jax._src import core, pjit

__all__ = [
    "ClosedJaxpr",
    "Jaxpr",
    "Literal",
    "consts_of",
    "evaluate_equation",
    "evaluate_jaxpr",
    "jit_again",
    "literal_value",
    "scan_counts",
]

Jaxpr, Literal = core.Jaxpr, core.Literal
#: A jaxpr with its constants; since jax 0.12 every jaxpr has its own.
ClosedJaxpr = getattr(core, "ClosedJaxpr", Jaxpr)


def consts_of(program: Any) -> Sequence[Any]:
    """Return the values of a jaxpr's constants; an open jaxpr of an older jax has none of its own."""
    return tuple(getattr(program, "consts", ()))


def literal_value(literal: Any) -> Any:
    """Return the value of a literal in an equation in its own dtype, whatever jax's setting for 64 bits is."""
    dtype = getattr(literal.aval, "dtype", None)
    return np.asarray(literal.val, dtype)[()] if isinstance(dtype, np.dtype) else literal.val


def evaluate_equation(equation: Any, operands: Sequence[Any]) -> list[Any]:
    """Apply the primitive of an equation to operands, in the context in which it was traced, and return its results."""
    primitive = equation.primitive
    with equation.ctx.manager:
        results = primitive.bind(*operands, **primitive.get_bind_params(equation.params))
    return list(results) if primitive.multiple_results else [results]


def evaluate_jaxpr(program: Any, operands: Sequence[Any]) -> list[Any]:
    """Evaluate a jaxpr with its constants on operands, and return its results."""
    return list(core.eval_jaxpr(getattr(program, "jaxpr", program), consts_of(program), *operands))


def scan_counts(equation: Any) -> tuple[int, int]:
    """Return the numbers of constants and of carried values of a ``scan``, which come first among its operands.

    They are told by the types, since jax 0.11 has no parameters with these numbers any more: what is not carried is
    stacked along an axis that it does not have in the body.
    """
    program = equation.params["jaxpr"]
    body = getattr(program, "jaxpr", program)

    def count_stacked(outside: Sequence[Any], inside: Sequence[Any]) -> int:
        return sum(x.aval.ndim > y.aval.ndim for x, y in zip(outside, inside, strict=True))

    stacked_inputs = count_stacked(equation.invars, body.invars)
    num_carry = len(equation.outvars) - count_stacked(equation.outvars, body.outvars)
    return len(equation.invars) - stacked_inputs - num_carry, num_carry


def jit_again(function: Callable[..., Any], info: Any) -> Any:
    """Return what ``jax.jit`` made of a user's function; ``info`` is jax's description of the options."""
    return pjit._cpp_pjit(function, info)
