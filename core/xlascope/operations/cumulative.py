"""Running sums, products and extremes along an axis."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, ClassVar

import numpy as np

from ..dtypes import dtype_kind
from ..ir.avals import ShapedArray, make_aval
from ..ir.markers import ZERO
from ..ir.operation import Operation
from ..records.traits import KERNEL
from ..trace.bind import bind1
from ..xla.mlir.builder import attribute, int64_array
from . import extremes, sharding_rules
from .arithmetic import add, mul, sub
from .comparisons import eq, ne
from .complex_numbers import emit_extreme, real_dtype
from .exponentials import exp, log1p
from .integer_arguments import whole_number
from .linear_operation import Linear, linear_taylor_rule
from .operand_checks import require_axes, require_kind
from .operand_values import aval, highest, lowest, shape_of, typed_scalar
from .selection import select
from .shapes import moveaxis
from .slicing import concatenate, pad, rev, slice_in_dim
from .tangent_arithmetic import ADD_ANY, sum_tangents


class Cumulative(Operation):
    """Base of running reductions: result i combines the elements up to i (from i on with ``reverse``)."""

    traits = KERNEL
    axis: int
    reverse: bool

    combine: ClassVar[str]
    kinds: ClassVar[str] = "ifc"

    def sharding_rule(self, parts: Any, operands: Any, results: Any) -> Any:
        return sharding_rules.along_axes(self, parts, operands, results, (self.axis,))

    def start(self, dtype: np.dtype[Any]) -> Any:
        """Return the identity element of the reduction for ``dtype``."""
        raise NotImplementedError

    def step(self, builder: Any, x: Any, y: Any, scalar: ShapedArray) -> Any:
        """Return the MLIR value that combines two neighbouring elements, both of type ``scalar``."""
        return builder.emit1(self.combine, [x, y], scalar)

    def abstract_eval(self, operands: Sequence[ShapedArray]) -> list[ShapedArray]:
        require_kind(self.name, operands[0].dtype, self.kinds)
        require_axes(self.name, (self.axis,), operands[0].shape)
        return list(operands)

    def to_stablehlo(self, builder: Any, operands: Sequence[Any]) -> list[Any]:
        (x,), (aval_x,) = operands, builder.in_avals
        rank, size = aval_x.ndim, aval_x.shape[self.axis]
        if not aval_x.size:  # a window has to have elements
            return [x]
        scalar = make_aval((), aval_x.dtype)
        window = [size if axis == self.axis else 1 for axis in range(rank)]
        low, high = (0, size - 1) if self.reverse else (size - 1, 0)
        padding = ", ".join(f"[{low}, {high}]" if axis == self.axis else "[0, 0]" for axis in range(rank))
        window_op = builder.operation(
            "stablehlo.reduce_window",
            [x, builder.constant(self.start(aval_x.dtype), scalar)],
            {
                "window_dimensions": int64_array(window),
                "padding": attribute(f"dense<[{padding}]> : tensor<{rank}x2xi64>"),
            },
            regions=1,
        )
        builder.fill_region(window_op, [scalar] * 2, lambda p, q: [self.step(builder, p, q, scalar)])
        return list(window_op.results)

    def flops(self, operands: Sequence[ShapedArray], results: Sequence[ShapedArray]) -> int:
        return operands[0].size

    def batch_rule(self, operands: Sequence[Any], axes: Sequence[Any]) -> tuple[list[Any], list[Any]]:
        (x,), (axis,) = operands, axes
        batched = type(self)(self.axis + 1, self.reverse)
        return [bind1(batched, moveaxis(x, axis, 0))], [0]


class CumSum(Cumulative, name="cumsum"):
    """Running sum along an axis."""

    combine = "stablehlo.add"

    jvp = Linear.jvp

    def start(self, dtype: np.dtype[Any]) -> Any:
        return 0

    taylor_rule = linear_taylor_rule

    def transpose_rule(self, cotangents: Sequence[Any], operands: Sequence[Any]) -> list[Any]:
        # element i contributes to all results from i on: its cotangent is a running sum of theirs from the other end
        (ct,) = cotangents
        return [bind1(CumSum(self.axis, not self.reverse), ct)]


def cumsum(operand: Any, axis: int = 0, reverse: bool = False) -> Any:
    """Return the running sum along ``axis``, from the end if ``reverse``."""
    return bind1(CumSum(whole_number(axis, "axis"), reverse), operand)


class CumProd(Cumulative, name="cumprod"):
    """Running product along an axis."""

    combine = "stablehlo.multiply"

    def start(self, dtype: np.dtype[Any]) -> Any:
        return 1

    def jvp(self, primals: Sequence[Any], tangents: Sequence[Any]) -> tuple[list[Any], list[Any]]:
        # The running product of the dual numbers x + εt, in which no division meets a zero: after the step of length
        # s, y and dy
        # hold the product of the last 2s elements and its tangent, (y + ε dy)(y' + ε dy') = y y' + ε (dy y' + y dy').
        (x,), (t,) = primals, tangents
        if t is ZERO:
            return [bind1(self, x)], [ZERO]
        unit, zero = typed_scalar(1, aval(x).dtype), typed_scalar(0, aval(x).dtype)
        y, dy, step = x, t, 1
        while step < shape_of(x)[self.axis]:
            before, moved_before = self._shift(y, step, unit), self._shift(dy, step, zero)
            dy = sum_tangents([mul(dy, before), mul(y, moved_before)])
            y = mul(y, before)
            step *= 2
        return [bind1(self, x)], [dy]

    def _shift(self, x: Any, step: int, fill: Any) -> Any:
        """Return ``x`` moved by ``step`` along the axis; the free places, first or (``reverse``) last, get ``fill``."""
        config = [(0, 0, 0)] * len(shape_of(x))
        config[self.axis] = (-step, step, 0) if self.reverse else (step, -step, 0)
        return pad(x, fill, config)


def cumprod(operand: Any, axis: int = 0, reverse: bool = False) -> Any:
    """Return the running product along ``axis``, from the end if ``reverse``."""
    return bind1(CumProd(whole_number(axis, "axis"), reverse), operand)


Pair = tuple[Any, Any]


class _ScanDifferentiated(Cumulative):
    """Cumulative reduction whose tangents are computed by a scan over pairs of value and tangent."""

    def combine_pair(self, before: Pair, after: Pair) -> Pair:
        """Combine two neighbours, each a pair (value, tangent), and return such a pair."""
        raise NotImplementedError

    def jvp(self, primals: Sequence[Any], tangents: Sequence[Any]) -> tuple[list[Any], list[Any]]:
        (x,), (t,) = primals, tangents
        if t is ZERO:
            return [bind1(self, x)], [ZERO]
        turn: Callable[[Any], Any] = (lambda v: rev(v, (self.axis,))) if self.reverse else lambda v: v
        _, out_tangent = odd_even_scan(self.combine_pair, (turn(x), turn(t)), self.axis)
        return [bind1(self, x)], [turn(out_tangent)]


class _CumExtreme(_ScanDifferentiated):
    """Running maximum or minimum; complex values are compared by real parts first."""

    kinds = "ifc"

    def step(self, builder: Any, x: Any, y: Any, scalar: ShapedArray) -> Any:
        return emit_extreme(builder, self.combine, x, y, scalar)

    def combine_pair(self, before: Pair, after: Pair) -> Pair:
        (x, tx), (y, ty) = before, after
        (z,), (t,) = self._operation().jvp((x, y), (tx, ty))
        return z, t

    def _operation(self) -> extremes.Max | extremes.Min:
        raise NotImplementedError


class CumMax(_CumExtreme, name="cummax"):
    """Running maximum along an axis; NaN from the first NaN on."""

    combine = "stablehlo.maximum"

    def start(self, dtype: np.dtype[Any]) -> Any:
        return complex(-np.inf, -np.inf) if dtype_kind(dtype) == "c" else lowest(dtype)

    def _operation(self) -> extremes.Max | extremes.Min:
        return extremes.Max()


class CumMin(_CumExtreme, name="cummin"):
    """Running minimum along an axis; NaN from the first NaN on."""

    combine = "stablehlo.minimum"

    def start(self, dtype: np.dtype[Any]) -> Any:
        return complex(np.inf, np.inf) if dtype_kind(dtype) == "c" else highest(dtype)

    def _operation(self) -> extremes.Max | extremes.Min:
        return extremes.Min()


class CumLogSumExp(_ScanDifferentiated, name="cumlogsumexp"):
    """Logarithm of the running sum of exponentials along an axis, without overflow."""

    kinds = "fc"

    def start(self, dtype: np.dtype[Any]) -> Any:
        return -np.inf

    def step(self, builder: Any, x: Any, y: Any, scalar: ShapedArray) -> Any:
        # max + log(1 + e^(min - max)); the difference of equal infinities is NaN, and there x + y is right
        def emit(name: str, *operands: Any) -> Any:
            return builder.emit1(f"stablehlo.{name}", list(operands), scalar)

        largest, least = (emit_extreme(builder, f"stablehlo.{name}", x, y, scalar) for name in ("maximum", "minimum"))
        difference = emit("subtract", least, largest)
        usual = emit("add", largest, emit("log_plus_one", emit("exponential", difference)))
        if dtype_kind(scalar.dtype) == "c":
            usual = _principal_value(builder, usual, scalar)
        truth = make_aval((), np.dtype("bool"))
        not_equal = {"comparison_direction": attribute("#stablehlo<comparison_direction NE>")}

        def is_nan(value: Any) -> Any:
            return builder.emit1("stablehlo.compare", [value, value], truth, not_equal)

        total = emit("select", is_nan(difference), emit("add", x, y), usual)
        if dtype_kind(scalar.dtype) != "c":
            return total
        # the larger of two complex numbers may be either where one is NaN
        either = builder.emit1("stablehlo.or", [is_nan(x), is_nan(y)], truth)
        return emit("select", either, builder.constant(complex(np.nan, np.nan), scalar), total)

    def combine_pair(self, before: Pair, after: Pair) -> Pair:
        (x, tx), (y, ty) = before, after
        largest = extremes.max(x, y)
        difference = sub(extremes.min(x, y), largest)
        usual = add(largest, log1p(exp(difference)))
        z = select(ne(difference, difference), add(x, y), usual)
        out_tangents = [mul(t, exp(sub(_replace_infinity(v), _replace_infinity(z)))) for v, t in ((x, tx), (y, ty))]
        return z, sum_tangents(out_tangents)


def _principal_value(builder: Any, x: Any, scalar: ShapedArray) -> Any:
    """Return a complex logarithm with its imaginary part reduced to at most π in magnitude.

    ``x`` is an MLIR value of the complex type ``scalar``.
    """
    part = make_aval((), real_dtype(scalar.dtype))

    def emit(name: str, *operands: Any) -> Any:
        return builder.emit1(f"stablehlo.{name}", list(operands), part)

    turn, angle = builder.constant(2 * np.pi, part), emit("imag", x)
    turns = emit("round_nearest_even", emit("divide", angle, turn))
    angle = emit("subtract", angle, emit("multiply", turns, turn))
    return builder.emit1("stablehlo.complex", [emit("real", x), angle], scalar)


def _replace_infinity(x: Any) -> Any:
    """Replace positive infinity with zero, so that the difference of two infinities is not NaN."""
    infinite = eq(x, typed_scalar(np.inf, aval(x).dtype))
    return select(infinite, typed_scalar(0, aval(x).dtype), x)


def odd_even_scan(combine: Callable[[Pair, Pair], Pair], pair: Pair, axis: int) -> Pair:
    """Return the inclusive scan by ``combine`` along ``axis`` of a pair (values, tangents).

    Neighbours are combined in pairs, and these are scanned recursively, which gives every second result; each of the
    others is one further combination.
    """
    size = shape_of(pair[0])[axis]
    if size < 2:
        return pair
    firsts, seconds = _stride_two(pair, 0, axis), _stride_two(pair, 1, axis)
    odd = odd_even_scan(combine, combine(_prefix(firsts, size // 2, axis), seconds), axis)
    remaining = (size - 1) // 2
    even = _prefix(firsts, 1, axis)
    if remaining:
        later = _slice_pair(firsts, 1, remaining + 1, axis)
        even = _concatenate_pairs(even, combine(_prefix(odd, remaining, axis), later), axis)
    return _interleave(even[0], odd[0], axis), _interleave(even[1], odd[1], axis)


def _slice_pair(pair: Pair, start: int, limit: int, axis: int) -> Pair:
    return slice_in_dim(pair[0], start, limit, axis), slice_in_dim(pair[1], start, limit, axis)


def _prefix(pair: Pair, limit: int, axis: int) -> Pair:
    return pair if shape_of(pair[0])[axis] == limit else _slice_pair(pair, 0, limit, axis)


def _stride_two(pair: Pair, start: int, axis: int) -> Pair:
    size = shape_of(pair[0])[axis]
    x, t = (slice_in_dim(v, start, size, axis, 2) for v in pair)
    return x, t


def _concatenate_pairs(first: Pair, second: Pair, axis: int) -> Pair:
    return concatenate([first[0], second[0]], axis), concatenate([first[1], second[1]], axis)


def _interleave(even: Any, odd: Any, axis: int) -> Any:
    """Interleave two arrays along ``axis``; ``odd`` has as many elements there as ``even``, or one fewer."""
    zero = typed_scalar(0, aval(even).dtype)
    more = shape_of(even)[axis] - shape_of(odd)[axis]
    rank = len(shape_of(even))
    config = [[(0, 0, 0)] * rank for _ in range(2)]
    config[0][axis], config[1][axis] = (0, 1 - more, 1), (1, more, 1)
    parts = [pad(x, zero, c) for x, c in zip((even, odd), config, strict=True)]
    return bind1(ADD_ANY, *parts)


def cummax(operand: Any, axis: int = 0, reverse: bool = False) -> Any:
    """Return the running maximum along ``axis``, from the end if ``reverse``."""
    return bind1(CumMax(whole_number(axis, "axis"), reverse), operand)


def cummin(operand: Any, axis: int = 0, reverse: bool = False) -> Any:
    """Return the running minimum along ``axis``, from the end if ``reverse``."""
    return bind1(CumMin(whole_number(axis, "axis"), reverse), operand)


def cumlogsumexp(operand: Any, axis: int = 0, reverse: bool = False) -> Any:
    """Return the logarithm of the running sum of exponentials along ``axis``, without overflow.

    With ``reverse`` the sum runs from the end.
    """
    return bind1(CumLogSumExp(whole_number(axis, "axis"), reverse), operand)
