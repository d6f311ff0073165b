"""Special functions: the error function, gamma and its relatives."""

from __future__ import annotations

import math
from typing import Any

from ..ir.markers import ZERO
from ..records.traits import TRANSCENDENTAL
from ..trace.bind import bind1, bind_inexact
from .arithmetic import add, div, mul, square, sub
from .bits import bitwise_and
from .comparisons import eq, lt, ne
from .elementwise import Binary, Unary
from .exponentials import exp
from .extremes import limit_to_finite
from .operand_values import as_float, dtype_of, match, shape_of, typed_scalar
from .rounding import floor
from .selection import select
from .shapes import full
from .tangent_arithmetic import broadcast_to_result, neg
from .trigonometry import sin
from .zeta_derivative import zeta_derivative


class Erf(Unary, name="erf"):
    """Elementwise error function; erf' = 2/√π e^(-x²)."""

    traits = TRANSCENDENTAL
    hlo = "chlo.erf"
    kinds = "f"

    def derivative(self, x: Any, y: Any, t: Any) -> Any:
        return mul(t, mul(2 / math.sqrt(math.pi), exp(neg(square(limit_to_finite(x))))))


def erf(x: Any) -> Any:
    """Return the error function."""
    return bind_inexact(Erf.instance, x)


class ErfInv(Unary, name="erf_inv"):
    """Elementwise inverse of the error function; its derivative is √π/2 e^(y²)."""

    traits = TRANSCENDENTAL
    hlo = "chlo.erf_inv"
    kinds = "f"

    def derivative(self, x: Any, y: Any, t: Any) -> Any:
        return mul(t, mul(math.sqrt(math.pi) / 2, exp(square(y))))


def erf_inv(x: Any) -> Any:
    """Return the inverse of the error function."""
    return bind_inexact(ErfInv.instance, x)


class Erfc(Unary, name="erfc"):
    """One minus the error function, without cancellation; erfc' = -2/√π e^(-x²)."""

    traits = TRANSCENDENTAL
    hlo = "chlo.erfc"
    kinds = "f"

    def derivative(self, x: Any, y: Any, t: Any) -> Any:
        return mul(-2 / math.sqrt(math.pi), mul(t, exp(neg(square(limit_to_finite(x))))))


def erfc(x: Any) -> Any:
    """Return one minus the error function, accurate also where the error function is near one."""
    return bind_inexact(Erfc.instance, x)


class Lgamma(Unary, name="lgamma"):
    """Elementwise logarithm of the absolute value of the gamma function; its derivative is digamma."""

    traits = TRANSCENDENTAL
    hlo = "chlo.lgamma"
    kinds = "f"

    def derivative(self, x: Any, y: Any, t: Any) -> Any:
        return mul(t, digamma(x))


def lgamma(x: Any) -> Any:
    """Return the logarithm of the absolute value of the gamma function.

    >>> from xlascope import lax
    >>> print(f"{lax.lgamma(5.0):.4f}")
    3.1781
    """
    return bind_inexact(Lgamma.instance, x)


class Digamma(Unary, name="digamma"):
    """Elementwise derivative of lgamma; its own derivative is the polygamma function of order 1."""

    traits = TRANSCENDENTAL
    hlo = "chlo.digamma"
    kinds = "f"

    def derivative(self, x: Any, y: Any, t: Any) -> Any:
        return mul(t, trigamma(x))


def trigamma(x: Any) -> Any:
    """Return the derivative of digamma, accurate also where XLA's polygamma is not.

    XLA's polygamma is NaN at infinity, and has no correct digit below about -9. Negative numbers are reflected (DLMF
    5.15.6).
    """
    half, zero = (full(shape_of(x), typed_scalar(number, dtype_of(x))) for number in (0.5, 0.0))
    negative, at_end = bitwise_and(lt(x, 0.0), ne(x, floor(x))), eq(x, math.inf)
    plain = polygamma(1.0, select(at_end, half, select(negative, sub(1.0, x), x)))
    r = select(negative, sub(x, floor(add(x, 0.5))), half)
    reflected = select(negative, sub(square(div(math.pi, sin(mul(math.pi, r)))), plain), plain)
    return select(at_end, zero, reflected)


def digamma(x: Any) -> Any:
    """Return the derivative of :func:`lgamma`."""
    return bind_inexact(Digamma.instance, x)


class Polygamma(Binary, name="polygamma"):
    """Elementwise derivative of order m of digamma at x; ψ(m)' = ψ(m + 1). Constant in m, which is an integer."""

    traits = TRANSCENDENTAL
    hlo = "chlo.polygamma"
    kinds = "f"

    def derivative_left(self, x: Any, y: Any, z: Any, t: Any) -> Any:
        return ZERO

    def derivative_right(self, x: Any, y: Any, z: Any, t: Any) -> Any:
        return mul(broadcast_to_result(t, z), polygamma(add(x, 1.0), y))


def polygamma(m: Any, x: Any) -> Any:
    """Return the derivative of order ``m`` of :func:`digamma`; it is treated as constant in ``m``."""
    return bind1(Polygamma.instance, *match(as_float(m), as_float(x)))


class Zeta(Binary, name="zeta"):
    """Elementwise Hurwitz zeta function, the sum of (q + k)^-x over k; ∂ζ(x, q)/∂q = -x ζ(x + 1, q)."""

    traits = TRANSCENDENTAL
    hlo = "chlo.zeta"
    kinds = "f"

    def derivative_left(self, x: Any, y: Any, z: Any, t: Any) -> Any:
        return mul(broadcast_to_result(t, z), zeta_derivative(broadcast_to_result(x, z), broadcast_to_result(y, z)))

    def derivative_right(self, x: Any, y: Any, z: Any, t: Any) -> Any:
        return mul(broadcast_to_result(t, z), mul(neg(x), zeta(add(x, 1.0), y)))


def zeta(x: Any, q: Any) -> Any:
    """Return the Hurwitz zeta function, the sum of (q + k) to the power -x over all k."""
    return bind1(Zeta.instance, *match(as_float(x), as_float(q)))
