"""Elementwise maximum, minimum and clamping."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..dtypes import finfo
from ..ir.avals import ShapedArray, make_aval
from ..ir.markers import ZERO
from ..ir.operation import Operation
from ..records.traits import SIMPLE
from ..trace.bind import bind1
from . import bits, sharding_rules
from .arithmetic import mul
from .comparisons import eq, gt, lt
from .complex_numbers import emit_extreme
from .elementwise import Binary, align, stretch_values
from .linear_operation import linear_taylor_rule
from .operand_checks import broadcast_shape, require_kind
from .operand_values import aval, match, typed_scalar
from .selection import select
from .tangent_arithmetic import broadcast_to_result, sum_tangents


class _BinaryExtreme(Binary):
    """Elementwise maximum or minimum; for equal operands the derivative is half of each tangent.

    Complex values are compared by real parts first.
    """

    kinds = "bifc"
    taylor_rule = linear_taylor_rule

    def to_stablehlo(self, builder: Any, operands: Sequence[Any]) -> list[Any]:
        (aval,) = builder.out_avals
        x, y = stretch_values(builder, operands)
        return [emit_extreme(builder, self.hlo, x, y, aval)]

    def derivative_left(self, x: Any, y: Any, z: Any, t: Any) -> Any:
        return mul(broadcast_to_result(t, z), _tangent_share(x, y, z))

    def derivative_right(self, x: Any, y: Any, z: Any, t: Any) -> Any:
        return mul(broadcast_to_result(t, z), _tangent_share(y, x, z))


class Max(_BinaryExtreme, name="max"):
    """Elementwise maximum of x and y; NaN if either is."""

    hlo = "stablehlo.maximum"


def max(x: Any, y: Any) -> Any:
    """Return the larger of x and y, elementwise; complex values are compared by real parts first."""
    return bind1(Max.instance, *match(x, y))


class Min(_BinaryExtreme, name="min"):
    """Elementwise minimum of x and y; NaN if either is."""

    hlo = "stablehlo.minimum"


def min(x: Any, y: Any) -> Any:
    """Return the smaller of x and y, elementwise; complex values are compared by real parts first."""
    return bind1(Min.instance, *match(x, y))


def _tangent_share(x: Any, y: Any, z: Any) -> Any:
    dtype = aval(z).dtype
    return select(
        eq(x, z),
        select(eq(y, z), typed_scalar(0.5, dtype), typed_scalar(1, dtype)),
        typed_scalar(0, dtype),
    )


class Clamp(Operation, name="clamp"):
    """Elementwise clamping of x to the range from low to high."""

    traits = SIMPLE
    taylor_rule = linear_taylor_rule

    sharding_rule = sharding_rules.elementwise

    def abstract_eval(self, operands: Sequence[ShapedArray]) -> list[ShapedArray]:
        low, x, high = operands
        if not low.dtype == x.dtype == high.dtype:
            names = f"{low.dtype.name}, {x.dtype.name} and {high.dtype.name}"
            raise TypeError(f"clamp takes operands of one dtype, got {names}")
        require_kind(self.name, x.dtype, "bif")
        shape = broadcast_shape(self.name, broadcast_shape(self.name, x.shape, low.shape), high.shape)
        return [make_aval(shape, x.dtype, x.weak_type)]

    def to_stablehlo(self, builder: Any, operands: Sequence[Any]) -> list[Any]:
        return builder.emit("stablehlo.clamp", stretch_values(builder, operands))  # type: ignore[no-any-return]

    def flops(self, operands: Sequence[ShapedArray], results: Sequence[ShapedArray]) -> int:
        return 2 * results[0].size

    def jvp(self, primals: Sequence[Any], tangents: Sequence[Any]) -> tuple[list[Any], list[Any]]:
        low, x, high = primals
        t_low, t_x, t_high = tangents
        z = bind1(self, low, x, high)
        zero = typed_scalar(0, aval(z).dtype)
        parts = []
        if t_low is not ZERO:
            parts.append(select(gt(low, x), broadcast_to_result(t_low, z), zero))
        if t_x is not ZERO:
            inside = bind1(bits.And.instance, gt(x, low), lt(x, high))
            parts.append(select(inside, broadcast_to_result(t_x, z), zero))
        if t_high is not ZERO:
            parts.append(select(lt(high, x), broadcast_to_result(t_high, z), zero))
        return [z], [sum_tangents(parts)]

    def batch_rule(self, operands: Sequence[Any], axes: Sequence[Any]) -> tuple[list[Any], list[Any]]:
        return [bind1(self, *align(operands, axes))], [0]


def clamp(min: Any, x: Any, max: Any) -> Any:
    """Limit ``x`` to the range from ``min`` to ``max``, elementwise; complex values are ordered as by :func:`max`."""
    low, _ = match(min, x)
    high, _ = match(max, x)
    if aval(x).dtype.kind == "c" and aval(low).dtype == aval(high).dtype == aval(x).dtype:
        return bind1(Min.instance, bind1(Max.instance, low, x), high)
    return bind1(Clamp.instance, low, x, high)


def limit_to_finite(x: Any) -> Any:
    """Return real numbers with infinities replaced by large numbers, and complex numbers as they are.

    In a derivative such as e^(-x²), the derivatives of x² are infinite at an infinite x, and those of the exponential
    zero; their product would be NaN.
    """
    if aval(x).dtype.kind == "c":
        return x
    largest = float(finfo(aval(x).dtype).max) / 4
    return clamp(-largest, x, largest)
