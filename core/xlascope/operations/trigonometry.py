"""Trigonometric and hyperbolic functions and their inverses, elementwise."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ..ir.avals import ShapedArray, make_aval
from ..records.traits import CIRCULAR, TRANSCENDENTAL
from ..trace.bind import bind1, bind_inexact
from ..trace.values import aval_of
from ..xla.mlir.builder import attribute
from .accuracy import AccuracyMode, Accurate, Tolerance
from .arithmetic import add, div, mul, square, sub
from .complex_numbers import real_dtype
from .conversion import to_dtype
from .elementwise import Binary, Unary
from .exponentials import rsqrt
from .extremes import limit_to_finite
from .operand_values import match
from .tangent_arithmetic import broadcast_to_result, neg, sum_tangents


class Sin(Accurate, name="sin"):
    """Elementwise sine."""

    traits = CIRCULAR
    hlo = "stablehlo.sine"

    def to_stablehlo(self, builder: Any, operands: Sequence[Any]) -> list[Any]:
        (x,), (aval,) = operands, builder.in_avals
        return [_complex_sine(builder, x, aval)] if aval.dtype.kind == "c" else super().to_stablehlo(builder, operands)

    def derivative(self, x: Any, y: Any, t: Any) -> Any:
        return mul(t, cos(x, accuracy=self.accuracy))


def sin(x: Any, *, accuracy: Tolerance | AccuracyMode | None = None) -> Any:
    """Return the sine, with the requested ``accuracy``."""
    return bind_inexact(Sin.instance if accuracy is None else Sin.with_accuracy(accuracy), x)


class Cos(Accurate, name="cos"):
    """Elementwise cosine."""

    traits = CIRCULAR
    hlo = "stablehlo.cosine"

    def to_stablehlo(self, builder: Any, operands: Sequence[Any]) -> list[Any]:
        (x,), (aval,) = operands, builder.in_avals
        return (
            [_complex_cosine(builder, x, aval)] if aval.dtype.kind == "c" else super().to_stablehlo(builder, operands)
        )

    def derivative(self, x: Any, y: Any, t: Any) -> Any:
        return mul(t, neg(sin(x, accuracy=self.accuracy)))


class _ComplexHyperbolicParts:
    """Values for the sine and cosine of a complex a + ib: a, cosh b and sinh b.

    They are MLIR values of the real type ``part``. cosh b and sinh b are computed from e^b - 1 and e^-b - 1, which is
    accurate near zero.
    """

    def __init__(self, builder: Any, x: Any, aval: ShapedArray) -> None:
        self.builder, self.aval = builder, aval
        self.part = make_aval(aval.shape, real_dtype(aval.dtype))
        self.a, b = self.emit("real", x), self.emit("imag", x)
        two = builder.constant(2, self.part)
        up, down = (self.emit("exponential_minus_one", exponent) for exponent in (b, self.emit("negate", b)))
        self.cosh = self.emit("divide", self.emit("add", self.emit("add", up, down), two), two)
        self.sinh = self.emit("divide", self.emit("subtract", up, down), two)

    def emit(self, name: str, *values: Any) -> Any:
        return self.builder.emit1(f"stablehlo.{name}", values, self.part)

    def select_where_a_is_zero(self, value: Any, otherwise: Any) -> Any:
        """Select ``value`` where a is zero, else ``otherwise``.

        sin 0 times an infinite cosh b or sinh b has to be zero, not NaN.
        """
        equal = {"comparison_direction": attribute("#stablehlo<comparison_direction EQ>")}
        truth, zero = make_aval(self.aval.shape, np.dtype("bool")), self.builder.constant(0, self.part)
        is_zero = self.builder.emit1("stablehlo.compare", [self.a, zero], truth, equal)
        return self.builder.emit1("stablehlo.select", [is_zero, value, otherwise], self.part)

    def complex(self, real: Any, imaginary: Any) -> Any:
        return self.builder.emit1("stablehlo.complex", [real, imaginary], self.aval)


def _complex_sine(builder: Any, x: Any, aval: ShapedArray) -> Any:
    """Return the sine of a + ib, sin a cosh b + i cos a sinh b, as an MLIR value.

    Where a is zero the real part is a, which keeps its sign.
    """
    parts = _ComplexHyperbolicParts(builder, x, aval)
    emit, a = parts.emit, parts.a
    real = parts.select_where_a_is_zero(a, emit("multiply", emit("sine", a), parts.cosh))
    return parts.complex(real, emit("multiply", emit("cosine", a), parts.sinh))


def _complex_cosine(builder: Any, x: Any, aval: ShapedArray) -> Any:
    """Return the cosine of a + ib, cos a cosh b - i sin a sinh b, as an MLIR value."""
    parts = _ComplexHyperbolicParts(builder, x, aval)
    emit, a = parts.emit, parts.a
    imaginary = emit("multiply", emit("negate", emit("sine", a)), parts.sinh)
    imaginary = parts.select_where_a_is_zero(builder.constant(0, parts.part), imaginary)
    return parts.complex(emit("multiply", emit("cosine", a), parts.cosh), imaginary)


def cos(x: Any, *, accuracy: Tolerance | AccuracyMode | None = None) -> Any:
    """Return the cosine, with the requested ``accuracy``."""
    return bind_inexact(Cos.instance if accuracy is None else Cos.with_accuracy(accuracy), x)


class Tan(Accurate, name="tan"):
    """Elementwise tangent; tan' = 1 + tan²."""

    traits = CIRCULAR
    hlo = "stablehlo.tan"

    def derivative(self, x: Any, y: Any, t: Any) -> Any:
        return mul(t, add(square(y), 1.0))


def tan(x: Any, *, accuracy: Tolerance | AccuracyMode | None = None) -> Any:
    """Return the tangent, with the requested ``accuracy``."""
    return bind_inexact(Tan.instance if accuracy is None else Tan.with_accuracy(accuracy), x)


class Asin(Unary, name="asin"):
    """Elementwise inverse sine."""

    traits = TRANSCENDENTAL
    hlo = "chlo.asin"

    def derivative(self, x: Any, y: Any, t: Any) -> Any:
        return mul(t, rsqrt(sub(1.0, square(x))))


def asin(x: Any) -> Any:
    """Return the inverse sine."""
    return bind_inexact(Asin.instance, x)


class Acos(Unary, name="acos"):
    """Elementwise inverse cosine."""

    traits = TRANSCENDENTAL
    hlo = "chlo.acos"

    def derivative(self, x: Any, y: Any, t: Any) -> Any:
        return mul(t, neg(rsqrt(sub(1.0, square(x)))))


def acos(x: Any) -> Any:
    """Return the inverse cosine."""
    return bind_inexact(Acos.instance, x)


class Atan(Unary, name="atan"):
    """Elementwise inverse tangent."""

    traits = TRANSCENDENTAL
    hlo = "chlo.atan"

    def derivative(self, x: Any, y: Any, t: Any) -> Any:
        return div(t, add(1.0, square(limit_to_finite(x))))


def atan(x: Any) -> Any:
    """Return the inverse tangent."""
    return bind_inexact(Atan.instance, x)


class Atan2(Binary, name="atan2"):
    """Angle of the point (y, x): the inverse tangent of x / y in the right quadrant, x being the first operand."""

    traits = TRANSCENDENTAL
    hlo = "stablehlo.atan2"
    kinds = "fc"

    def derivative_left(self, x: Any, y: Any, z: Any, t: Any) -> Any:
        return mul(broadcast_to_result(t, z), _divide_by_squared_distance(y, x, y))

    def derivative_right(self, x: Any, y: Any, z: Any, t: Any) -> Any:
        return mul(broadcast_to_result(t, z), _divide_by_squared_distance(neg(x), x, y))


def _divide_by_squared_distance(numerator: Any, x: Any, y: Any) -> Any:
    """Return numerator / (x² + y²), of narrow floats by float32: the square of 300 is no number of float16."""
    dtype = aval_of(x).dtype
    if dtype.itemsize < 4:
        wide = (to_dtype(v, np.dtype(np.float32)) for v in (numerator, x, y))
        return to_dtype(_divide_by_squared_distance(*wide), dtype)
    return div(numerator, add(square(x), square(y)))


def atan2(x: Any, y: Any) -> Any:
    """Return the angle of the point (y, x), elementwise: the inverse tangent of x / y in the right quadrant."""
    return bind1(Atan2.instance, *match(x, y))


class Sinh(Unary, name="sinh"):
    """Elementwise hyperbolic sine."""

    traits = TRANSCENDENTAL
    hlo = "chlo.sinh"
    is_undefined_at_nan = True

    def derivative(self, x: Any, y: Any, t: Any) -> Any:
        return mul(t, cosh(x))


def sinh(x: Any) -> Any:
    """Return the hyperbolic sine."""
    return bind_inexact(Sinh.instance, x)


class Cosh(Unary, name="cosh"):
    """Elementwise hyperbolic cosine."""

    traits = TRANSCENDENTAL
    hlo = "chlo.cosh"
    is_undefined_at_nan = True

    def derivative(self, x: Any, y: Any, t: Any) -> Any:
        return mul(t, sinh(x))


def cosh(x: Any) -> Any:
    """Return the hyperbolic cosine."""
    return bind_inexact(Cosh.instance, x)


class Tanh(Accurate, name="tanh"):
    """Elementwise hyperbolic tangent; tanh' = (1 - tanh) (1 + tanh), which does not cancel where tanh is near one."""

    hlo = "stablehlo.tanh"

    def derivative(self, x: Any, y: Any, t: Any) -> Any:
        return mul(sum_tangents([t, mul(t, y)]), sub(1.0, y))


def tanh(x: Any, *, accuracy: Tolerance | AccuracyMode | None = None) -> Any:
    """Return the hyperbolic tangent, with the requested ``accuracy``."""
    return bind_inexact(Tanh.instance if accuracy is None else Tanh.with_accuracy(accuracy), x)


class Asinh(Unary, name="asinh"):
    """Elementwise inverse hyperbolic sine."""

    traits = TRANSCENDENTAL
    hlo = "chlo.asinh"

    def derivative(self, x: Any, y: Any, t: Any) -> Any:
        return mul(t, rsqrt(add(square(limit_to_finite(x)), 1.0)))


def asinh(x: Any) -> Any:
    """Return the inverse hyperbolic sine."""
    return bind_inexact(Asinh.instance, x)


class Acosh(Unary, name="acosh"):
    """Elementwise inverse hyperbolic cosine."""

    traits = TRANSCENDENTAL
    hlo = "chlo.acosh"

    def derivative(self, x: Any, y: Any, t: Any) -> Any:
        return mul(t, mul(rsqrt(sub(x, 1.0)), rsqrt(add(x, 1.0))))


def acosh(x: Any) -> Any:
    """Return the inverse hyperbolic cosine."""
    return bind_inexact(Acosh.instance, x)


class Atanh(Unary, name="atanh"):
    """Elementwise inverse hyperbolic tangent."""

    traits = TRANSCENDENTAL
    hlo = "chlo.atanh"

    def derivative(self, x: Any, y: Any, t: Any) -> Any:
        return div(t, sub(1.0, square(x)))


def atanh(x: Any) -> Any:
    """Return the inverse hyperbolic tangent."""
    return bind_inexact(Atanh.instance, x)
