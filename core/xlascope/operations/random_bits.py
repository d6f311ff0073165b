"""The Threefry-2x32 counter-based random generator, 20 rounds.

J. K. Salmon, M. A. Moraes, R. O. Dror, D. E. Shaw: "Parallel random numbers: as easy as 1, 2, 3", SC 2011.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ..ir.avals import ShapedArray, make_aval
from ..ir.markers import ZERO
from ..ir.operation import Operation
from ..trace.bind import bind
from . import sharding_rules
from .elementwise import align, stretch_values
from .operand_checks import broadcast_shape

_ROTATIONS = ((13, 15, 26, 6), (17, 29, 16, 24))
_PARITY = 0x1BD11BDA
#: In programs with many draws, draws of at most this many pairs of words are emitted as loops.
_MAX_LOOP_ELEMENTS = 4096


class Threefry2x32(Operation, name="threefry2x32"):
    """Two words of random bits for each pair of counters, under a key of two words."""

    multiple_results = True

    sharding_rule = sharding_rules.elementwise

    def abstract_eval(self, operands: Sequence[ShapedArray]) -> list[ShapedArray]:
        shape: tuple[int, ...] = ()
        for x in operands:
            if x.dtype != np.uint32:
                raise TypeError(f"threefry2x32 takes uint32 operands, got {x}")
            shape = broadcast_shape(self.name, shape, x.shape)
        return [make_aval(shape, np.dtype("uint32"))] * 2

    def to_stablehlo(self, builder: Any, operands: Sequence[Any]) -> list[Any]:
        aval = builder.out_avals[0]
        key0, key1, x0, x1 = stretch_values(builder, operands)
        if aval.size <= _MAX_LOOP_ELEMENTS and builder.has_many_draws:
            return _emit_rounds_loop(builder, aval, key0, key1, x0, x1)

        def op(name: str, *values: Any) -> Any:
            return builder.emit1(f"stablehlo.{name}", values, aval)

        def number(value: int) -> Any:
            return builder.broadcast(builder.constant(value, make_aval((), aval.dtype)), aval)

        keys = (key0, key1, op("xor", op("xor", key0, key1), number(_PARITY)))
        x0, x1 = op("add", x0, key0), op("add", x1, key1)
        for group in range(5):
            for rotation in _ROTATIONS[group % 2]:
                x0 = op("add", x0, x1)
                shifted_left = op("shift_left", x1, number(rotation))
                shifted_right = op("shift_right_logical", x1, number(32 - rotation))
                x1 = op("xor", x0, op("or", shifted_left, shifted_right))
            x0 = op("add", x0, keys[(group + 1) % 3])
            x1 = op("add", op("add", x1, keys[(group + 2) % 3]), number(group + 1))
        return [x0, x1]

    def flops(self, operands: Sequence[ShapedArray], results: Sequence[ShapedArray]) -> int:
        return 0

    def jvp(self, primals: Sequence[Any], tangents: Sequence[Any]) -> tuple[list[Any], list[Any]]:
        return bind(self, *primals), [ZERO, ZERO]

    def batch_rule(self, operands: Sequence[Any], axes: Sequence[Any]) -> tuple[list[Any], list[Any]]:
        return bind(self, *align(operands, axes)), [0, 0]


def _emit_rounds_loop(builder: Any, aval: ShapedArray, key0: Any, key1: Any, x0: Any, x1: Any) -> list[Any]:
    """Emit the five groups of rounds as a loop, which compiles in a fraction of the time.

    The key is ``key0`` and ``key1``, the counters are ``x0`` and ``x1``: MLIR values of type ``aval``. Returns the two
    words of random bits.
    """
    scalar = make_aval((), aval.dtype)

    def op(name: str, *values: Any, of: ShapedArray = aval) -> Any:
        return builder.emit1(f"stablehlo.{name}", values, of)

    def number(value: int) -> Any:
        return builder.constant(np.uint32(value), scalar)

    def broadcast(value: Any) -> Any:
        return builder.broadcast(value, aval)

    def condition(group: Any, *_: Any) -> list[Any]:
        return [builder.compare("LT", group, number(5))]

    def rounds(group: Any, x0: Any, x1: Any, *keys: Any) -> list[Any]:
        odd = op("and", group, number(1), of=scalar)
        for even_one, odd_one in zip(*_ROTATIONS, strict=True):
            # even + odd (other - even), in words that wrap around
            change = op("multiply", odd, number((odd_one - even_one) % 2**32), of=scalar)
            by = op("add", number(even_one), change, of=scalar)
            back = op("subtract", number(32), by, of=scalar)
            x0 = op("add", x0, x1)
            rotated = op("or", op("shift_left", x1, broadcast(by)), op("shift_right_logical", x1, broadcast(back)))
            x1 = op("xor", x0, rotated)
        first, second, third = keys
        next_group = op("add", group, number(1), of=scalar)
        x1 = op("add", op("add", x1, third), broadcast(next_group))
        return [next_group, op("add", x0, second), x1, second, third, first]

    third = op("xor", op("xor", key0, key1), broadcast(number(_PARITY)))
    start = [number(0), op("add", x0, key0), op("add", x1, key1), key0, key1, third]
    return builder.while_loop(start, [scalar, *[aval] * 5], condition, rounds)[1:3]  # type: ignore[no-any-return]


def threefry2x32(key0: Any, key1: Any, x0: Any, x1: Any) -> list[Any]:
    """Return two uint32 arrays of random bits for counters ``x0``, ``x1`` under the key ``key0``, ``key1``."""
    return bind(Threefry2x32(), key0, key1, x0, x1)
