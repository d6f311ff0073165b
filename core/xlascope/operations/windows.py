"""Reductions of sliding windows, and the selections in windows that are the derivatives of extremes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, ClassVar

import numpy as np

from ..dtypes import dtype_kind
from ..ir.avals import ShapedArray, make_aval
from ..ir.markers import NOT_MAPPED, ZERO
from ..ir.operation import Operation
from ..records.traits import KERNEL
from ..trace.bind import bind1
from ..xla.known_faults.nan_of_extremes import may_drop_nan, propagate_nan_of_extreme
from ..xla.mlir.builder import attribute, int64_array
from . import sharding_rules
from .complex_numbers import emit_extreme
from .linear_operation import Linear, linear_taylor_rule
from .operand_checks import is_linear, require_kind, type_of
from .operand_values import aval, highest, lowest, shape_of, typed_scalar
from .shapes import mapped_in_front, moveaxis
from .slicing import pad
from .window_selection import is_fast, stage_scatter
from .window_shapes import Pairs, dilated_size, window_shape


def padding_attribute(padding: Pairs) -> Any:
    """Return the (low, high) padding of each axis as a StableHLO attribute."""
    pairs = ", ".join(f"[{low}, {high}]" for low, high in padding)
    return attribute(f"dense<{f'[{pairs}]' if padding else ''}> : tensor<{len(padding)}x2xi64>")


class Windows(Operation):
    """Base of operations that combine the elements of each window sliding over operands of one shape."""

    traits = KERNEL
    window_dimensions: tuple[int, ...]
    window_strides: tuple[int, ...]
    padding: Pairs
    base_dilation: tuple[int, ...]
    window_dilation: tuple[int, ...]

    sharding_rule = sharding_rules.slide_windows

    def windows(self, shape: tuple[int, ...]) -> tuple[int, ...]:
        """Return the number of windows along each axis of an operand of that shape.

        Raises ValueError if negative padding removes more elements than there are.
        """
        sizes = zip(shape, self.base_dilation, self.padding, strict=True)
        if any(low + dilated_size(size, base) + high < 0 for size, base, (low, high) in sizes):
            raise ValueError(f"{self.name}: padding {self.padding} takes more from shape {shape} than there is")
        return window_shape(
            shape, self.window_dimensions, self.window_strides, self.padding, self.base_dilation, self.window_dilation
        )

    def slide(
        self, builder: Any, operands: Sequence[Any], starts: Sequence[Any], write: Callable[..., list[Any]]
    ) -> list[Any]:
        """Emit a ``stablehlo.reduce_window`` of the operands and return its results, one for each operand.

        ``starts`` are the initial scalars. ``write`` emits the combination: it gets the scalars of two elements, one of
        each operand per element, and returns those of the result.
        """
        dtypes = [x.dtype for x in builder.in_avals[: len(operands)]]
        shape = builder.out_avals[0].shape
        results, scalars = [make_aval(shape, dtype) for dtype in dtypes], [make_aval((), dtype) for dtype in dtypes]
        if not all(shape) or not builder.in_avals[0].size:  # a window has to have elements
            return [builder.broadcast(start, result) for start, result in zip(starts, results, strict=True)]
        if not shape:
            return write(*starts, *operands)
        attributes = {
            "window_dimensions": int64_array(self.window_dimensions),
            "window_strides": int64_array(self.window_strides),
            "base_dilations": int64_array(self.base_dilation),
            "window_dilations": int64_array(self.window_dilation),
            "padding": padding_attribute(self.padding),
        }
        window_op = builder.operation("stablehlo.reduce_window", [*operands, *starts], attributes, results, regions=1)
        builder.fill_region(window_op, [*scalars, *scalars], write)
        return list(window_op.results)

    def with_axis_in_front(self) -> dict[str, Any]:
        """Return the operation's parameters for operands with one more leading axis.

        Along that axis windows have size 1.
        """
        return {
            "window_dimensions": (1, *self.window_dimensions),
            "window_strides": (1, *self.window_strides),
            "padding": ((0, 0), *self.padding),
            "base_dilation": (1, *self.base_dilation),
            "window_dilation": (1, *self.window_dilation),
        }


class _SingleOperandWindows(Windows):
    """Base of windowed reductions of one operand, which start from the identity element of the reduction."""

    combine: ClassVar[str]
    kinds: ClassVar[str]

    def start(self, dtype: np.dtype[Any]) -> Any:
        """Return the identity element of the reduction for ``dtype``."""
        raise NotImplementedError

    def abstract_eval(self, operands: Sequence[ShapedArray]) -> list[ShapedArray]:
        (x,) = operands
        require_kind(self.name, x.dtype, self.kinds)
        return [make_aval(self.windows(x.shape), x.dtype, x.weak_type)]

    def to_stablehlo(self, builder: Any, operands: Sequence[Any]) -> list[Any]:
        scalar = make_aval((), builder.in_avals[0].dtype)
        start = builder.constant(self.start(scalar.dtype), scalar)
        return self.slide(builder, operands, [start], lambda x, y: [emit_extreme(builder, self.combine, x, y, scalar)])

    def flops(self, operands: Sequence[ShapedArray], results: Sequence[ShapedArray]) -> int:
        return results[0].size * int(np.prod(self.window_dimensions))

    def batch_rule(self, operands: Sequence[Any], axes: Sequence[Any]) -> tuple[list[Any], list[Any]]:
        (x,), (axis,) = operands, axes
        return [bind1(type(self)(**self.with_axis_in_front()), moveaxis(x, axis, 0))], [0]


def emit_window_sum(windows: Windows, builder: Any, x: Any) -> Any:
    """Emit the sum of each window of the MLIR value ``x``, which has the type of the current equation's operand."""
    scalar = make_aval((), builder.in_avals[0].dtype)
    start = builder.constant(0, scalar)
    (result,) = windows.slide(builder, [x], [start], lambda a, b: [builder.emit1("stablehlo.add", [a, b], scalar)])
    return result


class ReduceWindowSum(_SingleOperandWindows, name="reduce_window_sum"):
    """Sum of each window: y[p] = Σ x[s p + d k - low] over the positions k in the window.

    s is the stride, d the dilation of the window and low the padding in front.
    """

    kinds = "ifc"
    jvp = Linear.jvp
    taylor_rule = linear_taylor_rule

    def start(self, dtype: np.dtype[Any]) -> Any:
        return 0

    def to_stablehlo(self, builder: Any, operands: Sequence[Any]) -> list[Any]:
        return [emit_window_sum(self, builder, *operands)]

    def transpose_rule(self, cotangents: Sequence[Any], operands: Sequence[Any]) -> list[Any]:
        # An element is in the windows that begin at it or up to a window before it: its cotangent is the sum of a
        # window over theirs, which have the holes that strides made. Low padding K - 1 - low puts that in place, the
        # high one gives it the operand's size: X = low' + O + high' - K + 1.
        (ct,), (x,) = cotangents, operands
        padding = []
        for size, out, window, stride, (low, _), base, dilation in zip(
            type_of(x).shape,
            shape_of(ct),
            self.window_dimensions,
            self.window_strides,
            self.padding,
            self.base_dilation,
            self.window_dilation,
            strict=True,
        ):
            before = dilated_size(window, dilation) - 1 - low
            padding.append((before, dilated_size(size, base) + low - dilated_size(out, stride)))
        back = ReduceWindowSum(
            self.window_dimensions, self.base_dilation, tuple(padding), self.window_strides, self.window_dilation
        )
        return [bind1(back, ct)]


class _WindowExtreme(_SingleOperandWindows):
    """Largest or smallest element of each window; the tangent is that of the first of equal extremes."""

    kinds = "bifc"
    select: ClassVar[str]

    def to_stablehlo(self, builder: Any, operands: Sequence[Any]) -> list[Any]:
        ((x,), (operand,)) = operands, builder.in_avals
        (extreme,) = super().to_stablehlo(builder, operands)
        if not may_drop_nan(builder, operand) or not self._becomes_reduction(operand.shape):
            return [extreme]
        return [propagate_nan_of_extreme(builder, x, operand, extreme, lambda y: emit_window_sum(self, builder, y))]

    def _becomes_reduction(self, shape: tuple[int, ...]) -> bool:
        """Return whether windows of an operand of that shape share no element, which XLA makes a reduction of axes."""
        sizes = zip(self.window_dimensions, self.window_strides, self.windows(shape), strict=True)
        has_holes = any(dilation != 1 for dilation in (*self.base_dilation, *self.window_dilation))
        return not has_holes and all(window == stride or count == 1 for window, stride, count in sizes)

    def jvp(self, primals: Sequence[Any], tangents: Sequence[Any]) -> tuple[list[Any], list[Any]]:
        (x,), (t,) = primals, tangents
        y = bind1(self, x)
        if t is ZERO:
            return [y], [ZERO]
        if dtype_kind(aval(x).dtype) == "c":
            raise NotImplementedError(f"the derivative of {self.name} of complex numbers")
        # Fill holes and padding with values that are never selected: select_and_scatter_add supports neither.
        config = [(low, high, base - 1) for (low, high), base in zip(self.padding, self.base_dilation, strict=True)]
        dtype = aval(x).dtype
        x, t = pad(x, typed_scalar(self.start(dtype), dtype), config), pad(t, typed_scalar(0, dtype), config)
        none = ((0, 0),) * len(config)
        ones = (1,) * len(config)
        gather = SelectAndGatherAdd(
            self.window_dimensions, self.window_strides, none, ones, self.window_dilation, self.select
        )
        return [y], [bind1(gather, t, x)]


class ReduceWindowMax(_WindowExtreme, name="reduce_window_max"):
    """Largest element of each window."""

    combine = "stablehlo.maximum"
    select = "ge"

    def start(self, dtype: np.dtype[Any]) -> Any:
        return complex(-np.inf, -np.inf) if dtype_kind(dtype) == "c" else lowest(dtype)


class ReduceWindowMin(_WindowExtreme, name="reduce_window_min"):
    """Smallest element of each window."""

    combine = "stablehlo.minimum"
    select = "le"

    def start(self, dtype: np.dtype[Any]) -> Any:
        return complex(np.inf, np.inf) if dtype_kind(dtype) == "c" else highest(dtype)


class SelectAndGatherAdd(Windows, name="select_and_gather_add"):
    """Element of the first operand at the position of the extreme of the second one, for each window.

    ``select_prim`` is "ge" for maxima and "le" for minima.
    """

    select_prim: str

    def abstract_eval(self, operands: Sequence[ShapedArray]) -> list[ShapedArray]:
        t, x = operands
        if t.shape != x.shape:
            raise TypeError(f"{self.name} takes operands of one shape, got {t.shape} and {x.shape}")
        require_kind(self.name, x.dtype, "bif")
        return [make_aval(self.windows(x.shape), t.dtype)]

    def to_stablehlo(self, builder: Any, operands: Sequence[Any]) -> list[Any]:
        tangent_scalar, scalar = (make_aval((), x.dtype) for x in builder.in_avals)
        least = lowest(scalar.dtype) if self.select_prim == "ge" else highest(scalar.dtype)
        starts = [builder.constant(0, tangent_scalar), builder.constant(least, scalar)]

        def choose(t: Any, x: Any, u: Any, y: Any) -> list[Any]:
            first = builder.compare(self.select_prim.upper(), x, y)
            return [
                builder.emit1("stablehlo.select", [first, t, u], tangent_scalar),
                builder.emit1("stablehlo.select", [first, x, y], scalar),
            ]

        return [self.slide(builder, operands, starts, choose)[0]]

    def jvp(self, primals: Sequence[Any], tangents: Sequence[Any]) -> tuple[list[Any], list[Any]]:
        (t, x), (tangent, _) = primals, tangents  # which element it is does not move
        return [bind1(self, t, x)], [ZERO if tangent is ZERO else bind1(self, tangent, x)]

    def transpose_rule(self, cotangents: Sequence[Any], operands: Sequence[Any]) -> list[Any]:
        (ct,), (t, x) = cotangents, operands
        if any(d != 1 for d in self.window_dilation):
            raise NotImplementedError(
                f"the reverse derivative of the extremes of windows with window_dilation {self.window_dilation}: take "
                "those of slices of the operand instead"
            )
        scatter = SelectAndScatterAdd(self.window_dimensions, self.window_strides, self.padding, self.select_prim)
        return [bind1(scatter, ct, x) if is_linear(t) else None, None]

    def batch_rule(self, operands: Sequence[Any], axes: Sequence[Any]) -> tuple[list[Any], list[Any]]:
        wider = SelectAndGatherAdd(**self.with_axis_in_front(), select_prim=self.select_prim)
        return [bind1(wider, *_batch_to_front(operands, axes))], [0]


class SelectAndScatterAdd(Operation, name="select_and_scatter_add"):
    """Sums of elements of the first operand, each added at the position of the extreme of a window.

    The first operand has one element for each window of the second, which determines the positions; the result has the
    second one's shape. ``select_prim`` is "ge" for maxima and "le" for minima.
    """

    traits = KERNEL
    window_dimensions: tuple[int, ...]
    window_strides: tuple[int, ...]
    padding: Pairs
    select_prim: str

    sharding_rule = sharding_rules.same_as_second

    def abstract_eval(self, operands: Sequence[ShapedArray]) -> list[ShapedArray]:
        source, x = operands
        require_kind(self.name, x.dtype, "bif")
        gather = self._gather()
        if gather.windows(x.shape) != source.shape:
            raise TypeError(f"{self.name} takes an element for each window, {gather.windows(x.shape)}, got {source}")
        return [make_aval(x.shape, source.dtype)]

    def _gather(self) -> SelectAndGatherAdd:
        ones = (1,) * len(self.padding)
        return SelectAndGatherAdd(
            self.window_dimensions, self.window_strides, self.padding, ones, ones, self.select_prim
        )

    def to_stablehlo(self, builder: Any, operands: Sequence[Any]) -> list[Any]:
        (source, x), (added, scalar) = (
            operands,
            (make_aval((), operand_aval.dtype) for operand_aval in builder.in_avals),
        )
        zero = builder.constant(0, added)
        if not all(operand_aval.size for operand_aval in builder.in_avals):
            return [builder.broadcast(zero, builder.out_avals[0])]
        if not self.padding:
            return [source]
        if builder.platform == "cpu" and not any(map(any, self.padding)) and is_fast(self.window_dimensions):
            types = (make_aval(of.shape, of.dtype) for of in builder.in_avals)
            written = stage_scatter(*types, self.window_dimensions, self.window_strides, self.select_prim)
            return builder.call_formula(written, list(operands))  # type: ignore[no-any-return]
        attributes = {
            "window_dimensions": int64_array(self.window_dimensions),
            "window_strides": int64_array(self.window_strides),
            "padding": padding_attribute(self.padding),
        }
        scatter_op = builder.operation("stablehlo.select_and_scatter", [x, source, zero], attributes, regions=2)
        direction = self.select_prim.upper()
        builder.fill_region(scatter_op, [scalar] * 2, lambda p, q: [builder.compare(direction, p, q)], 0)
        builder.fill_region(scatter_op, [added] * 2, lambda p, q: [builder.emit1("stablehlo.add", [p, q], added)], 1)
        return list(scatter_op.results)

    def jvp(self, primals: Sequence[Any], tangents: Sequence[Any]) -> tuple[list[Any], list[Any]]:
        (source, x), (tangent, _) = primals, tangents  # which element it is does not move
        return [bind1(self, source, x)], [ZERO if tangent is ZERO else bind1(self, tangent, x)]

    def transpose_rule(self, cotangents: Sequence[Any], operands: Sequence[Any]) -> list[Any]:
        (ct,), (source, x) = cotangents, operands
        return [bind1(self._gather(), ct, x) if is_linear(source) else None, None]

    def batch_rule(self, operands: Sequence[Any], axes: Sequence[Any]) -> tuple[list[Any], list[Any]]:
        sizes, strides = (1, *self.window_dimensions), (1, *self.window_strides)
        wider = SelectAndScatterAdd(sizes, strides, ((0, 0), *self.padding), self.select_prim)
        return [bind1(wider, *_batch_to_front(operands, axes))], [0]


def _batch_to_front(operands: Sequence[Any], axes: Sequence[Any]) -> list[Any]:
    size = next(aval(x).shape[a] for x, a in zip(operands, axes, strict=True) if a is not NOT_MAPPED)
    return [mapped_in_front(x, a, size) for x, a in zip(operands, axes, strict=True)]
