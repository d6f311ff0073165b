"""Base class of operations that are linear in their only operand."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..ir.markers import ZERO
from ..ir.operation import Operation
from ..trace.bind import bind1
from . import sharding_rules


def pushed(operation: Operation, degree: int, operands: Sequence[Any], results: Sequence[Any]) -> list[Any]:
    """Apply the ``taylor_rule`` of a piecewise linear operation: each coefficient moves as a tangent does."""
    terms = [x[degree] for x in operands]
    if all(term is ZERO for term in terms):
        return [ZERO] * len(results)
    return operation.jvp([x[0] for x in operands], terms)[1]


class Linear(Operation):
    """Operation that is linear in its only operand: the tangent of the result is the operation of the tangent."""

    taylor_rule = pushed

    sharding_rule = sharding_rules.same

    def jvp(self, primals: Sequence[Any], tangents: Sequence[Any]) -> tuple[list[Any], list[Any]]:
        (x,), (t,) = primals, tangents
        return [bind1(self, x)], [ZERO if t is ZERO else bind1(self, t)]
