"""Base class of operations that are linear in their only operand."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..ir.markers import ZERO
from ..ir.operation import Operation
from ..trace.bind import bind1
from . import sharding_rules


def linear_taylor_rule(operation: Operation, degree: int, operands: Sequence[Any], results: Sequence[Any]) -> list[Any]:
    """Apply the ``taylor_rule`` of a piecewise linear operation: each coefficient is mapped as a tangent is.

    ``operands`` are lists of Taylor coefficients, by degree; returns the results' coefficients of that degree.
    """
    terms = [x[degree] for x in operands]
    if all(term is ZERO for term in terms):
        return [ZERO] * len(results)
    return operation.jvp([x[0] for x in operands], terms)[1]


class Linear(Operation):
    """Base of operations that are linear in their only operand: they map tangents as they map values."""

    taylor_rule = linear_taylor_rule

    sharding_rule = sharding_rules.same_as_first

    def jvp(self, primals: Sequence[Any], tangents: Sequence[Any]) -> tuple[list[Any], list[Any]]:
        (x,), (t,) = primals, tangents
        return [bind1(self, x)], [ZERO if t is ZERO else bind1(self, t)]
