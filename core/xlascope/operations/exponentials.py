"""Exponentials, logarithms and roots. ``derivative`` is f'(x)·t, in terms of x, of y = f(x), or of both."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from ..dtypes import dtype_kind, is_differentiable, is_integer
from ..ir.jaxpr import Literal
from ..records.traits import DIVISION, TRANSCENDENTAL
from ..trace.bind import bind1, bind_inexact
from ..trace.values import aval_of
from .accuracy import AccuracyMode, Accurate, Tolerance
from .arithmetic import add, div, integer_pow, mul, sub
from .bits import bitwise_and
from .comparisons import eq
from .conversion import to_dtype
from .elementwise import Binary
from .formula_operations import emit_formula
from .operand_values import match
from .powers_of_two import split_exponent
from .selection import select
from .tangent_arithmetic import broadcast_to_result


class Exp(Accurate, name="exp"):
    """Elementwise exponential, e to the power x."""

    hlo = "stablehlo.exponential"
    is_undefined_at_nan = True

    def derivative(self, x: Any, y: Any, t: Any) -> Any:
        return mul(t, y)


def exp(x: Any, *, accuracy: Tolerance | AccuracyMode | None = None) -> Any:
    """Return ``e`` to the power ``x``, with the requested ``accuracy``."""
    return bind_inexact(Exp.instance if accuracy is None else Exp.with_accuracy(accuracy), x)


class Exp2(Accurate, name="exp2"):
    """Elementwise power of 2, 2 to the power x: exact for whole x, where the exponential of x log(2) is not."""

    hlo = "stablehlo.exponential"
    is_undefined_at_nan = True

    def to_stablehlo(self, builder: Any, operands: Sequence[Any]) -> list[Any]:
        (aval,) = builder.out_avals
        if dtype_kind(aval.dtype) == "f" and self.accuracy is None:
            return emit_formula(builder, _exp2_formula, operands)
        scaled = builder.emit1("stablehlo.multiply", [operands[0], builder.constant(math.log(2.0), aval)], aval)
        return super().to_stablehlo(builder, [scaled])

    def derivative(self, x: Any, y: Any, t: Any) -> Any:
        return mul(mul(t, y), math.log(2.0))


def _exp2_formula(x: Any) -> Any:
    rest, scale = split_exponent(x)
    return mul(exp(mul(rest, math.log(2.0))), scale)


def exp2(x: Any, *, accuracy: Tolerance | AccuracyMode | None = None) -> Any:
    """Return 2 to the power ``x``, with the requested ``accuracy``."""
    return bind_inexact(Exp2.instance if accuracy is None else Exp2.with_accuracy(accuracy), x)


class Expm1(Accurate, name="expm1"):
    """e to the power x, minus one, accurate near zero."""

    hlo = "stablehlo.exponential_minus_one"
    is_undefined_at_nan = True

    def derivative(self, x: Any, y: Any, t: Any) -> Any:
        return mul(t, add(y, 1.0))


def expm1(x: Any, *, accuracy: Tolerance | AccuracyMode | None = None) -> Any:
    """Return ``e`` to the power ``x``, minus one, accurate near zero, elsewhere with the requested ``accuracy``."""
    return bind_inexact(Expm1.instance if accuracy is None else Expm1.with_accuracy(accuracy), x)


class Log(Accurate, name="log"):
    """Elementwise natural logarithm."""

    hlo = "stablehlo.log"

    def derivative(self, x: Any, y: Any, t: Any) -> Any:
        return div(t, x)


def log(x: Any, *, accuracy: Tolerance | AccuracyMode | None = None) -> Any:
    """Return the natural logarithm, with the requested ``accuracy``.

    >>> from xlascope import lax
    >>> print(lax.log(2))
    0.6931472
    """
    return bind_inexact(Log.instance if accuracy is None else Log.with_accuracy(accuracy), x)


class Log1p(Accurate, name="log1p"):
    """The natural logarithm of 1 + x, accurate near zero."""

    hlo = "stablehlo.log_plus_one"

    def derivative(self, x: Any, y: Any, t: Any) -> Any:
        return div(t, add(x, 1.0))


def log1p(x: Any, *, accuracy: Tolerance | AccuracyMode | None = None) -> Any:
    """Return the natural logarithm of 1 + x, accurate near zero, elsewhere with the requested ``accuracy``."""
    return bind_inexact(Log1p.instance if accuracy is None else Log1p.with_accuracy(accuracy), x)


class Logistic(Accurate, name="logistic"):
    """Elementwise sigmoid 1 / (1 + e^-x); its derivative is y (1 - y)."""

    hlo = "stablehlo.logistic"
    is_undefined_at_nan = True

    def derivative(self, x: Any, y: Any, t: Any) -> Any:
        return mul(t, mul(y, sub(1.0, y)))


def logistic(x: Any, *, accuracy: Tolerance | AccuracyMode | None = None) -> Any:
    """Return the sigmoid 1 / (1 + e^-x), with the requested ``accuracy``."""
    return bind_inexact(Logistic.instance if accuracy is None else Logistic.with_accuracy(accuracy), x)


class Sqrt(Accurate, name="sqrt"):
    """Elementwise square root; sqrt' = 1 / (2 sqrt)."""

    traits = DIVISION
    hlo = "stablehlo.sqrt"

    def derivative(self, x: Any, y: Any, t: Any) -> Any:
        return mul(t, div(0.5, y))


def sqrt(x: Any, *, accuracy: Tolerance | AccuracyMode | None = None) -> Any:
    """Return the square root, with the requested ``accuracy``."""
    return bind_inexact(Sqrt.instance if accuracy is None else Sqrt.with_accuracy(accuracy), x)


class Rsqrt(Accurate, name="rsqrt"):
    """Elementwise reciprocal of the square root; its derivative is -y / (2 x)."""

    traits = DIVISION
    hlo = "stablehlo.rsqrt"

    def derivative(self, x: Any, y: Any, t: Any) -> Any:
        return mul(t, mul(-0.5, div(y, x)))


def rsqrt(x: Any, *, accuracy: Tolerance | AccuracyMode | None = None) -> Any:
    """Return one over the square root, with the requested ``accuracy``.

    >>> from xlascope import lax
    >>> print(lax.rsqrt(4.0))
    0.5
    """
    return bind_inexact(Rsqrt.instance if accuracy is None else Rsqrt.with_accuracy(accuracy), x)


class Cbrt(Accurate, name="cbrt"):
    """Elementwise cube root; its derivative is 1 / (3 y²)."""

    hlo = "stablehlo.cbrt"
    kinds = "f"

    def derivative(self, x: Any, y: Any, t: Any) -> Any:
        return mul(t, mul(1 / 3, integer_pow(y, -2)))


def cbrt(x: Any, *, accuracy: Tolerance | AccuracyMode | None = None) -> Any:
    """Return the cube root, with the requested ``accuracy``."""
    return bind_inexact(Cbrt.instance if accuracy is None else Cbrt.with_accuracy(accuracy), x)


class Pow(Binary, name="pow"):
    """Elementwise power, x to the power y."""

    traits = TRANSCENDENTAL
    hlo = "stablehlo.power"
    kinds = "fc"

    def derivative_left(self, x: Any, y: Any, z: Any, t: Any) -> Any:
        # y x^(y-1), and 0 where both are 0 (there x^(y-1) is infinite)
        exponent = sub(y, 1.0)
        value = y.val if isinstance(y, Literal) else y
        if not isinstance(value, np.generic | float) or value == 0:
            exponent = select(bitwise_and(eq(x, 0.0), eq(y, 0.0)), 1.0, exponent)
        return mul(broadcast_to_result(t, z), mul(y, pow(x, exponent)))

    def derivative_right(self, x: Any, y: Any, z: Any, t: Any) -> Any:
        # log(x) x^y; where x is 0 the limit for positive y is 0
        base = select(eq(x, 0.0), 1.0, x)
        return mul(broadcast_to_result(t, z), mul(log(base), z))


def pow(x: Any, y: Any) -> Any:
    """Return ``x`` to the power ``y``, elementwise; ``y`` may be an integer if ``x`` is floating-point or complex."""
    base, exponent = aval_of(x), aval_of(y)
    if is_differentiable(base.dtype) and is_integer(exponent.dtype):
        weak = base.weak_type and exponent.weak_type
        x, y = to_dtype(x, base.dtype, weak), to_dtype(y, base.dtype, weak)
    x, y = match(x, y)
    return bind1(Pow.instance, x, y)
