"""Recording the programs that transformations make of programs that operations hold."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from ..ir.avals import ShapedArray
from ..ir.jaxpr import ClosedJaxpr, Jaxpr, RawEquation
from ..operations.constants import Constant
from ..trace.jaxpr_trace import stage
from ..trace.tracer import Tracer


def stage_held(function: Callable[..., Sequence[Any]], avals: Sequence[ShapedArray], name: str = "") -> ClosedJaxpr:
    """Like ``stage``, with equations in place of constants.

    What the program is derived from has no constants: whoever holds it passes them as operands. Arrays that appear now
    were made by a rule (a user's, or the indices of ``ppermute``), and nobody would pass them.
    """
    program = stage(function, avals, name)
    if not program.consts or any(isinstance(c, Tracer) for c in program.consts):
        return program
    jaxpr = program.jaxpr
    made: list[RawEquation] = [
        (Constant(c), [], [v], None, -1, None) for c, v in zip(program.consts, jaxpr.constvars, strict=True)
    ]
    return ClosedJaxpr(Jaxpr((), jaxpr.invars, jaxpr.outvars, [*made, *jaxpr.raw], jaxpr.name))
