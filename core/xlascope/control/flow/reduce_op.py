"""Operations that reduce axes or windows by a program of two elements."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Sequence
from typing import Any

from ...ir.avals import ShapedArray, make_aval
from ...ir.jaxpr import ClosedJaxpr
from ...ir.markers import NOT_MAPPED
from ...ir.operation import Operation
from ...operations import extremes
from ...operations.operand_checks import require_axes
from ...operations.operand_values import shape_of
from ...operations.shapes import broadcast_in_dim, expand_dims, moveaxis, reshape, transpose
from ...operations.slicing import concatenate, pad, slice, slice_in_dim
from ...operations.windows import Windows
from ...records.traits import KERNEL
from ...trace.bind import bind
from ...transforms.batch import batch
from ...transforms.batch_trace import current_rule_axis
from ...transforms.differentiate import jvp
from ...transforms.evaluate import evaluate
from ...xla.known_faults.nan_of_extremes import may_drop_nan, propagate_nan_of_extreme
from ...xla.mlir.builder import int64_array


class _ProgramReduction(Operation):
    """Base of reductions whose function of two elements is a program.

    Several arrays of one shape are reduced together by a program that takes two elements of each. The operands are
    the arrays, then the initial values.
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
        """Return the number of arrays that are reduced."""
        return len(self.jaxpr.out_avals)

    def with_leading_axis(self) -> Operation:
        """Return the same reduction for arrays with one more axis in front, which is not reduced."""
        raise NotImplementedError

    def unroll(self, *operands: Any) -> list[Any]:
        """Compute the reduction by operations on whole arrays, which can be differentiated."""
        raise NotImplementedError

    def combine_scalars(self, builder: Any, *values: Any) -> list[Any]:
        """Emit the program for two elements of each array within an MLIR region; return its MLIR results."""
        return builder.call_body(self.jaxpr, list(values))  # type: ignore[no-any-return]

    def jvp(self, primals: Sequence[Any], tangents: Sequence[Any]) -> tuple[list[Any], list[Any]]:
        return jvp(self.unroll, primals, tangents)

    def batch_rule(self, operands: Sequence[Any], axes: Sequence[Any]) -> tuple[list[Any], list[Any]]:
        if any(axis is not NOT_MAPPED for axis in axes[self.count :]):  # each example begins with a value of its own
            return batch(self.unroll, operands, axes, current_rule_axis())
        size = next(shape_of(x)[a] for x, a in zip(operands, axes, strict=True) if a is not NOT_MAPPED)
        arrays = [
            broadcast_in_dim(x, (size, *shape_of(x)), range(1, len(shape_of(x)) + 1))
            if axis is NOT_MAPPED
            else moveaxis(x, axis, 0)
            for x, axis in zip(operands[: self.count], axes, strict=False)
        ]
        return bind(self.with_leading_axis(), *arrays, *operands[self.count :]), [0] * self.count

    def combine_elementwise(self, first: Sequence[Any], second: Sequence[Any]) -> list[Any]:
        """Apply the program element by element to two lists of arrays of one shape; return the list of results."""
        shape = shape_of(first[0])
        flat = [reshape(x, (math.prod(shape),)) for x in (*first, *second)]
        results, axes = batch(lambda *xs: evaluate(self.jaxpr, *xs), flat, [0] * len(flat))
        mapped_results = [
            broadcast_in_dim(y, (math.prod(shape),), ()) if axis is NOT_MAPPED else moveaxis(y, axis, 0)
            for y, axis in zip(results, axes, strict=True)
        ]
        return [reshape(y, shape) for y in mapped_results]

    def fold_leading_axis(self, arrays: Sequence[Any]) -> list[Any]:
        """Reduce the leading axis of ``arrays`` by combining its two halves repeatedly.

        If the axis has an odd size, the last element takes part in the next round.
        """
        while (size := shape_of(arrays[0])[0]) > 1:
            half = size // 2
            firsts = [slice_in_dim(x, 0, half) for x in arrays]
            seconds = [slice_in_dim(x, half, 2 * half) for x in arrays]
            remainder = [slice_in_dim(x, 2 * half, size) for x in arrays]
            arrays = self.combine_elementwise(firsts, seconds)
            if size % 2:
                arrays = [concatenate([x, y], 0) for x, y in zip(arrays, remainder, strict=True)]
        return [reshape(x, shape_of(x)[1:]) for x in arrays]


class Reduce(_ProgramReduction, name="reduce"):
    """Operation that reduces arrays of one shape together along the axes ``dimensions``."""

    dimensions: tuple[int, ...]

    def abstract_eval(self, operands: Sequence[ShapedArray]) -> list[ShapedArray]:
        arrays = operands[: self.count]
        require_axes(self.name, self.dimensions, arrays[0].shape)
        shape = tuple(size for axis, size in enumerate(arrays[0].shape) if axis not in self.dimensions)
        return [make_aval(shape, x.dtype, x.weak_type) for x in arrays]

    def to_stablehlo(self, builder: Any, operands: Sequence[Any]) -> list[Any]:
        results = self._emit_reduction(builder, operands, lambda *values: self.combine_scalars(builder, *values))
        if not self._is_extreme() or not may_drop_nan(builder, builder.in_avals[0]):
            return results
        (x, start), (operand, scalar) = operands, builder.in_avals

        def emit_sum(squares: Any) -> Any:
            start_squared = builder.emit1("stablehlo.multiply", [start, start], scalar)
            add = "stablehlo.add"
            operands = [squares, start_squared]
            return self._emit_reduction(builder, operands, lambda a, b: [builder.emit1(add, [a, b], scalar)])[0]

        return [propagate_nan_of_extreme(builder, x, operand, results[0], emit_sum)]

    def _emit_reduction(self, builder: Any, operands: Sequence[Any], write: Callable[..., list[Any]]) -> list[Any]:
        """Emit a ``stablehlo.reduce`` of arrays and initial values by ``write``, and return its results.

        ``write`` emits the combination of the scalars of two elements.
        """
        scalars = [make_aval((), x.dtype) for x in builder.out_avals]
        reduce_op = builder.operation(
            "stablehlo.reduce", operands, {"dimensions": int64_array(self.dimensions)}, regions=1
        )
        builder.fill_region(reduce_op, [*scalars, *scalars], write)
        return list(reduce_op.results)

    def _is_extreme(self) -> bool:
        """Return whether the program of two elements is their maximum or minimum, of one array."""
        equations = self.jaxpr.jaxpr.raw
        return self.count == 1 and len(equations) == 1 and isinstance(equations[0][0], extremes.Max | extremes.Min)

    def with_leading_axis(self) -> Operation:
        return Reduce(self.jaxpr, tuple(axis + 1 for axis in self.dimensions))

    def unroll(self, *operands: Any) -> list[Any]:
        arrays, starts = operands[: self.count], operands[self.count :]
        shape = shape_of(arrays[0])
        retained_axes = [axis for axis in range(len(shape)) if axis not in self.dimensions]
        sizes = [shape[axis] for axis in retained_axes]
        lead = math.prod(shape[axis] for axis in self.dimensions)
        with_init_values = []
        for x, start in zip(arrays, starts, strict=True):
            flat = reshape(transpose(x, (*self.dimensions, *retained_axes)), (lead, *sizes))
            with_init_values.append(concatenate([broadcast_in_dim(start, (1, *sizes), ()), flat], 0))
        return self.fold_leading_axis(with_init_values)


class ReduceWindow(_ProgramReduction, Windows, name="reduce_window"):
    """Operation that reduces arrays of one shape together within each position of a sliding window.

    ``jaxpr`` combines two elements of each array into one. The operands are the arrays, then an initial value for each.
    Padding, and the ``base_dilation - 1`` gaps between neighbouring elements, hold the initial value.
    """

    def abstract_eval(self, operands: Sequence[ShapedArray]) -> list[ShapedArray]:
        arrays = operands[: self.count]
        shape = self.windows(arrays[0].shape)
        return [make_aval(shape, x.dtype, x.weak_type) for x in arrays]

    def to_stablehlo(self, builder: Any, operands: Sequence[Any]) -> list[Any]:
        arrays, starts = operands[: self.count], operands[self.count :]
        return self.slide(builder, arrays, starts, lambda *values: self.combine_scalars(builder, *values))

    def with_leading_axis(self) -> Operation:
        return ReduceWindow(jaxpr=self.jaxpr, **self.with_axis_in_front())

    def unroll(self, *operands: Any) -> list[Any]:
        arrays, starts = operands[: self.count], operands[self.count :]
        shape = self.windows(shape_of(arrays[0]))
        config = [(low, high, base - 1) for (low, high), base in zip(self.padding, self.base_dilation, strict=True)]
        with_init_values = []
        for x, start in zip(arrays, starts, strict=True):
            x = pad(x, start, config)
            first = broadcast_in_dim(start, (1, *shape), ())
            if not math.prod(shape):
                with_init_values.append(first)
                continue
            all_offsets = itertools.product(*(range(size) for size in self.window_dimensions))
            parts = [expand_dims(self._window_elements(x, offsets, shape), (0,)) for offsets in all_offsets]
            with_init_values.append(concatenate([first, *parts], 0))
        return self.fold_leading_axis(with_init_values)

    def _window_elements(self, x: Any, offsets: Sequence[int], shape: tuple[int, ...]) -> Any:
        """Return an array with one element of each window: the one at ``offsets`` within the window.

        ``x`` has its padding and gaps filled in. ``shape`` is the number of windows along each axis, and the shape of
        the result.
        """
        starts = [k * dilation for k, dilation in zip(offsets, self.window_dilation, strict=True)]
        limits = [
            start + (count - 1) * stride + 1
            for start, count, stride in zip(starts, shape, self.window_strides, strict=True)
        ]
        return slice(x, starts, limits, self.window_strides)
