"""NaN that XLA's CPU compiler knows: what it makes of the exponential of one is undefined.

The exponential of numbers of 32 bits and less converts to an integer on its way, which LLVM does not define for NaN.
When it finds that an operand is NaN, in a part of a loop or wherever a condition holds, as in ``exp(pad(x, nan))`` and
``exp(where(ok, x, nan))`` for one ``ok``, it leaves the computation out, and the result is what was in memory. So in
programs that hold a NaN (few do) such functions give their operand where that is NaN, of which nothing is left out.
They take two to three times as long by themselves; of a language model's step nobody notices. A NaN that the compiler
finds by computing with other constants (``inf - inf``) is not looked for.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ..ir.avals import shaped
from ..ir.jaxpr import Jaxpr, Literal
from .builder import Builder, attribute

_BOOL = np.dtype(np.bool_)
#: The bytes of the widest numbers of which it holds.
_WIDEST = 4


def holds_nan(program: Jaxpr) -> bool:
    """Whether NaN is written in a program, or in one that it holds. Its constants are operands, and not known."""
    seen: set[int] = set()
    pending = [program]
    while pending:
        jaxpr = pending.pop()
        if _is_nan_among(jaxpr.outvars) or any(_is_nan_among(raw[1]) for raw in jaxpr.raw):
            return True
        bodies = [body for raw in jaxpr.raw if raw[0].composite for body in raw[0].bodies()]
        pending += [body.jaxpr for body in bodies if id(body) not in seen]
        seen.update(map(id, bodies))
    return False


def _is_nan_among(atoms: Sequence[Any]) -> bool:
    return any(x.__class__ is Literal and bool(x.val != x.val) for x in atoms)


def kept(builder: Builder, operands: Sequence[Any], results: Sequence[Any]) -> list[Any]:
    """The results of the current equation, a function of one operand, or the operand where that is NaN."""
    (x,), (y,), (aval,) = operands, results, builder.out_avals
    if aval.dtype.itemsize > _WIDEST:
        return [y]
    unequal = {"comparison_direction": attribute("#stablehlo<comparison_direction NE>")}
    is_nan = builder.emit1("stablehlo.compare", [x, x], shaped(aval.shape, _BOOL), unequal)
    return [builder.emit1("stablehlo.select", [is_nan, x, y], aval)]
