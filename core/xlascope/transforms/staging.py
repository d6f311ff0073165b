"""Staging of the programs that transformations derive from programs held by operations."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from ..ir.avals import ShapedArray
from ..ir.jaxpr import ClosedJaxpr, Jaxpr, RawEquation
from ..operations.constants import Constant
from ..trace.jaxpr_trace import stage
from ..trace.tracer import TracerBase


def stage_with_consts(
    function: Callable[..., Sequence[Any]], avals: Sequence[ShapedArray], name: str = ""
) -> ClosedJaxpr:
    """Return the closed jaxpr of a function for operands of the given types, with equations in place of constants.

    The program that this one is derived from has no constants: the operation that holds it passes them as
    operands. Arrays that appear now were made by a rule (a user's, or the indices of ``ppermute``), and no
    operand would carry them.
    """
    program = stage(function, avals, name)
    if not program.consts or any(isinstance(c, TracerBase) for c in program.consts):
        return program
    jaxpr = program.jaxpr
    constant_equations: list[RawEquation] = [
        (Constant(c), [], [v], None, -1, None) for c, v in zip(program.consts, jaxpr.constvars, strict=True)
    ]
    return ClosedJaxpr(Jaxpr((), jaxpr.invars, jaxpr.outvars, [*constant_equations, *jaxpr.raw], jaxpr.name))
