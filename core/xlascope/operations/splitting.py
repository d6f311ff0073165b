"""Splitting of an array into consecutive parts by one operation."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Any

from ..ir.avals import ShapedArray, make_aval
from ..ir.markers import ZERO
from ..ir.operation import Operation
from ..records.traits import MOVES
from ..trace.bind import bind
from ..xla.mlir.builder import int64_array
from . import sharding_rules
from .integer_arguments import axis_of, whole_numbers
from .linear_operation import linear_taylor_rule
from .operand_checks import require_axes
from .operand_values import aval
from .shapes import zeros_of
from .slicing import concatenate


class Split(Operation, name="split"):
    """Consecutive parts of the given ``sizes`` along ``axis``; the transpose is one concatenation."""

    traits = MOVES
    accepts_keys = True
    multiple_results = True
    taylor_rule = linear_taylor_rule

    sizes: tuple[int, ...]
    axis: int

    sharding_rule = sharding_rules.resize

    def abstract_eval(self, operands: Sequence[ShapedArray]) -> list[ShapedArray]:
        (x,) = operands
        require_axes(self.name, (self.axis,), x.shape)
        if sum(self.sizes) != x.shape[self.axis] or any(size < 0 for size in self.sizes):
            raise ValueError(
                f"the sizes {self.sizes} do not add up to {x.shape[self.axis]}, the size of axis {self.axis}"
            )
        shapes = ((*x.shape[: self.axis], size, *x.shape[self.axis + 1 :]) for size in self.sizes)
        return [make_aval(shape, x.dtype, x.weak_type) for shape in shapes]

    def to_stablehlo(self, builder: Any, operands: Sequence[Any]) -> list[Any]:
        (x,), (operand_aval,) = operands, builder.in_avals
        ends = itertools.accumulate(self.sizes)
        return [
            builder.emit1("stablehlo.slice", [x], out, self._bounds(operand_aval.shape, end - size, end))
            for out, size, end in zip(builder.out_avals, self.sizes, ends, strict=True)
        ]

    def _bounds(self, shape: tuple[int, ...], start: int, limit: int) -> dict[str, Any]:
        starts, limits = [0] * len(shape), list(shape)
        starts[self.axis], limits[self.axis] = start, limit
        ones = int64_array((1,) * len(shape))
        return {"start_indices": int64_array(starts), "limit_indices": int64_array(limits), "strides": ones}

    def jvp(self, primals: Sequence[Any], tangents: Sequence[Any]) -> tuple[list[Any], list[Any]]:
        (x,), (t,) = primals, tangents
        return bind(self, x), [ZERO] * len(self.sizes) if t is ZERO else bind(self, t)

    def transpose_rule(self, cotangents: Sequence[Any], operands: Sequence[Any]) -> list[Any]:
        (x,) = operands
        avals = self.abstract_eval([x.aval])
        parts = [zeros_of(part_aval) if ct is ZERO else ct for ct, part_aval in zip(cotangents, avals, strict=True)]
        return [concatenate(parts, self.axis)]

    def batch_rule(self, operands: Sequence[Any], axes: Sequence[Any]) -> tuple[list[Any], list[Any]]:
        (x,), (mapped,) = operands, axes
        axis = self.axis if self.axis < mapped else self.axis + 1
        return bind(Split(self.sizes, axis), x), [mapped] * len(self.sizes)


def split(operand: Any, sizes: Sequence[int], axis: int = 0) -> list[Any]:
    """Split an array into consecutive parts of the given sizes along an axis.

    Raises ValueError for sizes that do not add up to the size of the axis.

    >>> import numpy as np
    >>> print(*split(np.arange(5), (2, 3)))
    [0 1] [2 3 4]
    """
    axis = axis_of(axis, len(aval(operand).shape), "axis of split")
    return bind(Split(whole_numbers(sizes, "sizes of split"), axis), operand)
