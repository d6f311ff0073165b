"""Constant arrays inside of the programs that operations hold."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ..ir.avals import ShapedArray, make_aval
from ..ir.markers import NOT_MAPPED, ZERO
from ..ir.operation import Operation
from ..records.traits import MOVES
from ..trace.bind import bind


class Constant(Operation, name="constant", by_identity=True):
    """Array ``value`` as an operation without operands.

    Rules use it in the programs that operations hold, because these programs take operands but no constants.
    """

    traits = MOVES
    value: Any

    def abstract_eval(self, operands: Sequence[ShapedArray]) -> list[ShapedArray]:
        return [make_aval(tuple(self.value.shape), np.dtype(self.value.dtype))]

    def to_stablehlo(self, builder: Any, operands: Sequence[Any]) -> list[Any]:
        return [builder.constant(np.asarray(self.value), self.abstract_eval(())[0])]

    def jvp(self, primals: Sequence[Any], tangents: Sequence[Any]) -> tuple[list[Any], list[Any]]:
        return bind(self), [ZERO]

    def batch_rule(self, operands: Sequence[Any], axes: Sequence[Any]) -> tuple[list[Any], list[Any]]:
        return bind(self), [NOT_MAPPED]
