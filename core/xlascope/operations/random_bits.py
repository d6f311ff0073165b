"""The Threefry-2x32 counter-based random generator, 20 rounds.

J. K. Salmon, M. A. Moraes, R. O. Dror, D. E. Shaw: "Parallel random numbers: as easy as 1, 2, 3", SC 2011.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ..ir.avals import ShapedArray, shaped
from ..ir.markers import ZERO
from ..ir.operation import Operation
from ..trace.bind import bind
from . import sharding_rules
from .families import align, stretch_values
from .requirements import stretched

_ROTATIONS = ((13, 15, 26, 6), (17, 29, 16, 24))
_PARITY = 0x1BD11BDA


class Threefry2x32(Operation, name="threefry2x32"):
    """Two words of random bits for each pair of counters, under a key of two words."""

    multiple_results = True

    sharding_rule = sharding_rules.elementwise

    def abstract_eval(self, operands: Sequence[ShapedArray]) -> list[ShapedArray]:
        shape: tuple[int, ...] = ()
        for x in operands:
            if x.dtype != np.uint32:
                raise TypeError(f"threefry2x32 takes uint32 operands, got {x}")
            shape = stretched(self.name, shape, x.shape)
        return [shaped(shape, np.dtype("uint32"))] * 2

    def to_stablehlo(self, builder: Any, operands: Sequence[Any]) -> list[Any]:
        aval = builder.out_avals[0]
        key0, key1, x0, x1 = stretch_values(builder, operands)

        def op(name: str, *values: Any) -> Any:
            return builder.emit1(f"stablehlo.{name}", values, aval)

        def number(value: int) -> Any:
            return builder.broadcast(builder.constant(value, shaped((), aval.dtype)), aval)

        keys = (key0, key1, op("xor", op("xor", key0, key1), number(_PARITY)))
        x0, x1 = op("add", x0, key0), op("add", x1, key1)
        for group in range(5):
            for rotation in _ROTATIONS[group % 2]:
                x0 = op("add", x0, x1)
                left = op("shift_left", x1, number(rotation))
                right = op("shift_right_logical", x1, number(32 - rotation))
                x1 = op("xor", x0, op("or", left, right))
            x0 = op("add", x0, keys[(group + 1) % 3])
            x1 = op("add", op("add", x1, keys[(group + 2) % 3]), number(group + 1))
        return [x0, x1]

    def flops(self, operands: Sequence[ShapedArray], results: Sequence[ShapedArray]) -> int:
        return 0

    def jvp(self, primals: Sequence[Any], tangents: Sequence[Any]) -> tuple[list[Any], list[Any]]:
        return bind(self, *primals), [ZERO, ZERO]

    def batch_rule(self, operands: Sequence[Any], axes: Sequence[Any]) -> tuple[list[Any], list[Any]]:
        return bind(self, *align(operands, axes)), [0, 0]


def threefry2x32(key0: Any, key1: Any, x0: Any, x1: Any) -> list[Any]:
    """Two uint32 arrays of random bits for counters ``x0``, ``x1`` under the key ``key0``, ``key1``."""
    return bind(Threefry2x32(), key0, key1, x0, x1)
