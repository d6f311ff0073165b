"""Running extremes and the running logarithm of a sum of exponentials.

Their derivatives are those of the running combination in the order of the odd-even scan, where the derivative of a
tie is shared between two at a time: that order decides how several equal elements share it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ..ir.avals import ShapedArray, shaped
from ..ir.markers import ZERO
from ..trace.bind import bind1
from ..xla.builder import attribute
from . import arithmetic as a
from . import elementwise as e
from . import shapes
from .families import sum_tangents
from .reductions import Cumulative, highest, lowest
from .values import aval, shape_of, typed_scalar

Pair = tuple[Any, Any]


class _Scanned(Cumulative):
    """A running combination that is differentiated as the combinations that it is made of."""

    def combined(self, before: Pair, after: Pair) -> Pair:
        """Two neighbours, values with tangents, combined."""
        raise NotImplementedError

    def jvp(self, primals: Sequence[Any], tangents: Sequence[Any]) -> tuple[list[Any], list[Any]]:
        (x,), (t,) = primals, tangents
        if t is ZERO:
            return [bind1(self, x)], [ZERO]
        turn: Callable[[Any], Any] = (lambda v: shapes.rev(v, (self.axis,))) if self.reverse else lambda v: v
        _, moved = odd_even_scan(self.combined, (turn(x), turn(t)), self.axis)
        return [bind1(self, x)], [turn(moved)]


class _CumExtreme(_Scanned):
    """A running extreme."""

    kinds = "if"

    def combined(self, before: Pair, after: Pair) -> Pair:
        (x, tx), (y, ty) = before, after
        (z,), (t,) = self._operation().jvp((x, y), (tx, ty))
        return z, t

    def _operation(self) -> a.Max | a.Min:
        raise NotImplementedError


class CumMax(_CumExtreme, name="cummax"):
    """The running maximum along an axis; NaN from the first NaN on."""

    combine = "stablehlo.maximum"

    def start(self, dtype: np.dtype[Any]) -> Any:
        return lowest(dtype)

    def _operation(self) -> a.Max | a.Min:
        return a.Max()


class CumMin(_CumExtreme, name="cummin"):
    """The running minimum along an axis; NaN from the first NaN on."""

    combine = "stablehlo.minimum"

    def start(self, dtype: np.dtype[Any]) -> Any:
        return highest(dtype)

    def _operation(self) -> a.Max | a.Min:
        return a.Min()


class CumLogSumExp(_Scanned, name="cumlogsumexp"):
    """The logarithm of the running sum of exponentials along an axis, without overflow."""

    kinds = "f"

    def start(self, dtype: np.dtype[Any]) -> Any:
        return -np.inf

    def step(self, builder: Any, x: Any, y: Any, scalar: ShapedArray) -> Any:
        # max + log(1 + e^-|x - y|); the difference of equal infinities is NaN, and there x + y is right
        def emit(name: str, *operands: Any) -> Any:
            return builder.emit1(f"stablehlo.{name}", list(operands), scalar)

        difference = emit("subtract", x, y)
        small = emit("log_plus_one", emit("exponential", emit("negate", emit("abs", difference))))
        usual = emit("add", emit("maximum", x, y), small)
        not_equal = {"comparison_direction": attribute("#stablehlo<comparison_direction NE>")}
        is_nan = builder.emit1("stablehlo.compare", [difference, difference], shaped((), np.dtype("bool")), not_equal)
        return emit("select", is_nan, emit("add", x, y), usual)

    def combined(self, before: Pair, after: Pair) -> Pair:
        (x, tx), (y, ty) = before, after
        difference = a.sub(x, y)
        usual = a.add(a.max(x, y), e.log1p(e.exp(e.neg(e.abs(difference)))))
        z = a.select(a.ne(difference, difference), a.add(x, y), usual)
        moved = [a.mul(t, e.exp(a.sub(_finite(v), _finite(z)))) for v, t in ((x, tx), (y, ty))]
        return z, sum_tangents(moved)


def _finite(x: Any) -> Any:
    """Zero in the place of infinity, so that the difference of two is not NaN."""
    infinite = a.eq(x, typed_scalar(np.inf, aval(x).dtype))
    return a.select(infinite, typed_scalar(0, aval(x).dtype), x)


def odd_even_scan(combine: Callable[[Pair, Pair], Pair], pair: Pair, axis: int) -> Pair:
    """All running combinations of values with tangents along an axis.

    Neighbours are combined in pairs, these scanned, which gives every second result; the others are each one
    combination more.
    """
    size = shape_of(pair[0])[axis]
    if size < 2:
        return pair
    firsts, seconds = _every_second(pair, 0, axis), _every_second(pair, 1, axis)
    odd = odd_even_scan(combine, combine(_until(firsts, size // 2, axis), seconds), axis)
    rest = (size - 1) // 2
    even = _until(firsts, 1, axis)
    if rest:
        later = _part(firsts, 1, rest + 1, axis)
        even = _joined(even, combine(_until(odd, rest, axis), later), axis)
    return _woven(even[0], odd[0], axis), _woven(even[1], odd[1], axis)


def _part(pair: Pair, start: int, limit: int, axis: int) -> Pair:
    return shapes.slice_in_dim(pair[0], start, limit, axis), shapes.slice_in_dim(pair[1], start, limit, axis)


def _until(pair: Pair, limit: int, axis: int) -> Pair:
    return pair if shape_of(pair[0])[axis] == limit else _part(pair, 0, limit, axis)


def _every_second(pair: Pair, start: int, axis: int) -> Pair:
    size = shape_of(pair[0])[axis]
    x, t = (shapes.slice_in_dim(v, start, size, axis, 2) for v in pair)
    return x, t


def _joined(first: Pair, second: Pair, axis: int) -> Pair:
    return shapes.concatenate([first[0], second[0]], axis), shapes.concatenate([first[1], second[1]], axis)


def _woven(even: Any, odd: Any, axis: int) -> Any:
    """Elements taken in turn from the one and the other, which has as many or one less."""
    zero = typed_scalar(0, aval(even).dtype)
    more = shape_of(even)[axis] - shape_of(odd)[axis]
    rank = len(shape_of(even))
    config = [[(0, 0, 0)] * rank for _ in range(2)]
    config[0][axis], config[1][axis] = (0, 1 - more, 1), (1, more, 1)
    parts = [shapes.pad(x, zero, c) for x, c in zip((even, odd), config, strict=True)]
    return bind1(shapes.ADD_ANY, *parts)


def cummax(operand: Any, axis: int = 0, reverse: bool = False) -> Any:
    """The running maximum along ``axis``."""
    return bind1(CumMax(axis, reverse), operand)


def cummin(operand: Any, axis: int = 0, reverse: bool = False) -> Any:
    """The running minimum along ``axis``."""
    return bind1(CumMin(axis, reverse), operand)


def cumlogsumexp(operand: Any, axis: int = 0, reverse: bool = False) -> Any:
    """The logarithm of the running sum of exponentials along ``axis``, without overflow."""
    return bind1(CumLogSumExp(axis, reverse), operand)
