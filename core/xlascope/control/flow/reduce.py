"""Reductions by a program: of axes, and of windows."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from typing import Any

from ...ir.avals import ShapedArray, shaped
from ...ir.jaxpr import ClosedJaxpr
from ...ir.markers import NOT_MAPPED
from ...ir.operation import Operation
from ...operations.requirements import require_axes
from ...operations.shapes import broadcast_in_dim, expand_dims, moveaxis, reshape, transpose
from ...operations.slicing import concatenate, pad, slice, slice_in_dim
from ...operations.values import shape_of
from ...operations.windows import Windows
from ...records.traits import KERNEL
from ...trace.bind import bind
from ...transforms.batch import batch
from ...transforms.batch_trace import axis_of_rule
from ...transforms.differentiate import jvp
from ...transforms.evaluate import evaluate
from ...xla.mlir.builder import integers


class _Combining(Operation):
    """Several arrays of one shape, reduced together by a program of two elements of each. The operands are the arrays,
    then the values that the program begins with.
    """

    traits = KERNEL
    composite = True

    jaxpr: ClosedJaxpr

    @property
    def holder(self) -> ClosedJaxpr:
        return self.jaxpr

    def bodies(self) -> Sequence[ClosedJaxpr]:
        return (self.jaxpr,)

    @property
    def count(self) -> int:
        """How many arrays are reduced."""
        return len(self.jaxpr.out_avals)

    def in_front(self) -> Operation:
        """The same for arrays with one more axis in front, which is kept."""
        raise NotImplementedError

    def unrolled(self, *operands: Any) -> list[Any]:
        """The same by operations on whole arrays, which have derivatives."""
        raise NotImplementedError

    def combine(self, builder: Any, *values: Any) -> list[Any]:
        """Two elements of each array combined, within a region."""
        return builder.call_body(self.jaxpr, list(values))  # type: ignore[no-any-return]

    def jvp(self, primals: Sequence[Any], tangents: Sequence[Any]) -> tuple[list[Any], list[Any]]:
        return jvp(self.unrolled, primals, tangents)

    def batch_rule(self, operands: Sequence[Any], axes: Sequence[Any]) -> tuple[list[Any], list[Any]]:
        if any(axis is not NOT_MAPPED for axis in axes[self.count :]):  # each example begins with a value of its own
            return batch(self.unrolled, operands, axes, axis_of_rule())
        size = next(shape_of(x)[a] for x, a in zip(operands, axes, strict=True) if a is not NOT_MAPPED)
        arrays = [
            broadcast_in_dim(x, (size, *shape_of(x)), range(1, len(shape_of(x)) + 1))
            if axis is NOT_MAPPED
            else moveaxis(x, axis, 0)
            for x, axis in zip(operands[: self.count], axes, strict=False)
        ]
        return bind(self.in_front(), *arrays, *operands[self.count :]), [0] * self.count

    def combined(self, first: Sequence[Any], second: Sequence[Any]) -> list[Any]:
        """Elements of arrays of one shape, combined one by one."""
        shape = shape_of(first[0])
        flat = [reshape(x, (math.prod(shape),)) for x in (*first, *second)]
        results, axes = batch(lambda *xs: evaluate(self.jaxpr, *xs), flat, [0] * len(flat))
        spread = [
            broadcast_in_dim(y, (math.prod(shape),), ()) if axis is NOT_MAPPED else moveaxis(y, axis, 0)
            for y, axis in zip(results, axes, strict=True)
        ]
        return [reshape(y, shape) for y in spread]

    def folded(self, arrays: Sequence[Any]) -> list[Any]:
        """What stands along the leading axis combined: halves with each other, what is left over at the end."""
        while (size := shape_of(arrays[0])[0]) > 1:
            half = size // 2
            firsts = [slice_in_dim(x, 0, half) for x in arrays]
            seconds = [slice_in_dim(x, half, 2 * half) for x in arrays]
            rest = [slice_in_dim(x, 2 * half, size) for x in arrays]
            arrays = self.combined(firsts, seconds)
            if size % 2:
                arrays = [concatenate([x, y], 0) for x, y in zip(arrays, rest, strict=True)]
        return [reshape(x, shape_of(x)[1:]) for x in arrays]


class Reduce(_Combining, name="reduce"):
    """Arrays of one shape, reduced together along axes."""

    dimensions: tuple[int, ...]

    def abstract_eval(self, operands: Sequence[ShapedArray]) -> list[ShapedArray]:
        arrays = operands[: self.count]
        require_axes(self.name, self.dimensions, arrays[0].shape)
        shape = tuple(size for axis, size in enumerate(arrays[0].shape) if axis not in self.dimensions)
        return [shaped(shape, x.dtype, x.weak_type) for x in arrays]

    def to_stablehlo(self, builder: Any, operands: Sequence[Any]) -> list[Any]:
        scalars = [shaped((), x.dtype) for x in builder.out_avals]
        made = builder.operation("stablehlo.reduce", operands, {"dimensions": integers(self.dimensions)}, regions=1)
        builder.fill_region(made, [*scalars, *scalars], lambda *values: self.combine(builder, *values))
        return list(made.results)

    def in_front(self) -> Operation:
        return Reduce(self.jaxpr, tuple(axis + 1 for axis in self.dimensions))

    def unrolled(self, *operands: Any) -> list[Any]:
        arrays, starts = operands[: self.count], operands[self.count :]
        shape = shape_of(arrays[0])
        kept = [axis for axis in range(len(shape)) if axis not in self.dimensions]
        sizes = [shape[axis] for axis in kept]
        lead = math.prod(shape[axis] for axis in self.dimensions)
        begun = []
        for x, start in zip(arrays, starts, strict=True):
            flat = reshape(transpose(x, (*self.dimensions, *kept)), (lead, *sizes))
            begun.append(concatenate([broadcast_in_dim(start, (1, *sizes), ()), flat], 0))
        return self.folded(begun)


class ReduceWindow(_Combining, Windows, name="reduce_window"):
    """Arrays of one shape, reduced together in each window; holes and padding are what the program begins with."""

    def abstract_eval(self, operands: Sequence[ShapedArray]) -> list[ShapedArray]:
        arrays = operands[: self.count]
        shape = self.windows(arrays[0].shape)
        return [shaped(shape, x.dtype, x.weak_type) for x in arrays]

    def to_stablehlo(self, builder: Any, operands: Sequence[Any]) -> list[Any]:
        arrays, starts = operands[: self.count], operands[self.count :]
        return self.slide(builder, arrays, starts, lambda *values: self.combine(builder, *values))

    def in_front(self) -> Operation:
        return ReduceWindow(jaxpr=self.jaxpr, **self.with_axis_in_front())

    def unrolled(self, *operands: Any) -> list[Any]:
        arrays, starts = operands[: self.count], operands[self.count :]
        shape = self.windows(shape_of(arrays[0]))
        config = [(low, high, base - 1) for (low, high), base in zip(self.padding, self.base_dilation, strict=True)]
        begun = []
        for x, start in zip(arrays, starts, strict=True):
            x = pad(x, start, config)
            first = broadcast_in_dim(start, (1, *shape), ())
            if not math.prod(shape):
                begun.append(first)
                continue
            places = itertools.product(*(range(size) for size in self.window_dimensions))
            parts = [expand_dims(self._at(x, place, shape), (0,)) for place in places]
            begun.append(concatenate([first, *parts], 0))
        return self.folded(begun)

    def _at(self, x: Any, place: Sequence[int], shape: tuple[int, ...]) -> Any:
        """The element at that place of each window."""
        starts = [k * dilation for k, dilation in zip(place, self.window_dilation, strict=True)]
        limits = [
            start + (count - 1) * stride + 1
            for start, count, stride in zip(starts, shape, self.window_strides, strict=True)
        ]
        return slice(x, starts, limits, self.window_strides)
