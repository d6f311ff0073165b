"""Special functions: gamma and its relatives, the complement of the error function, a Bessel function."""

from __future__ import annotations

import math
from typing import Any

from ..ir.markers import ZERO
from ..trace.bind import bind1
from . import arithmetic as a
from . import elementwise as e
from .families import Binary, Unary
from .values import match


class Lgamma(Unary, name="lgamma"):
    """The logarithm of the absolute value of the gamma function; its derivative is digamma."""

    hlo = "chlo.lgamma"
    kinds = "f"

    def derivative(self, x: Any, y: Any, t: Any) -> Any:
        return a.mul(t, digamma(x))


class Digamma(Unary, name="digamma"):
    """The derivative of lgamma; its own derivative is the polygamma function of order 1."""

    hlo = "chlo.digamma"
    kinds = "f"

    def derivative(self, x: Any, y: Any, t: Any) -> Any:
        return a.mul(t, polygamma(1.0, x))


class Erfc(Unary, name="erfc"):
    """One minus the error function, exact where that is near one; erfc' = -2/√π e^(-x²)."""

    hlo = "chlo.erfc"
    kinds = "f"

    def derivative(self, x: Any, y: Any, t: Any) -> Any:
        return a.mul(-2 / math.sqrt(math.pi), a.mul(t, e.exp(e.neg(e.square(x)))))


class BesselI1e(Unary, name="bessel_i1e"):
    """The modified Bessel function of order 1, times e^-|x|."""

    hlo = "chlo.bessel_i1e"
    kinds = "f"

    def derivative(self, x: Any, y: Any, t: Any) -> Any:
        raise NotImplementedError("the derivative of bessel_i1e")


class Polygamma(Binary, name="polygamma"):
    """The derivative of order m of digamma at x; ψ(m)' = ψ(m + 1). Constant in m, which is a whole number."""

    hlo = "chlo.polygamma"
    kinds = "f"

    def derivative_left(self, x: Any, y: Any, z: Any, t: Any) -> Any:
        return ZERO

    def derivative_right(self, x: Any, y: Any, z: Any, t: Any) -> Any:
        return a.mul(a.as_result(t, z), polygamma(a.add(x, 1.0), y))


class Zeta(Binary, name="zeta"):
    """The Hurwitz zeta function, the sum of (q + k)^-x over k; ∂ζ(x, q)/∂q = -x ζ(x + 1, q)."""

    hlo = "chlo.zeta"
    kinds = "f"

    def derivative_left(self, x: Any, y: Any, z: Any, t: Any) -> Any:
        raise NotImplementedError("the derivative of zeta in its first operand; take that for a constant")

    def derivative_right(self, x: Any, y: Any, z: Any, t: Any) -> Any:
        return a.mul(a.as_result(t, z), a.mul(e.neg(x), zeta(a.add(x, 1.0), y)))


_LGAMMA, _DIGAMMA, _ERFC, _BESSEL_I1E, _POLYGAMMA, _ZETA = (
    Lgamma(), Digamma(), Erfc(), BesselI1e(), Polygamma(), Zeta(),
)  # fmt: skip


def lgamma(x: Any) -> Any:
    """The logarithm of the absolute value of the gamma function, elementwise."""
    return bind1(_LGAMMA, x)


def digamma(x: Any) -> Any:
    """The derivative of lgamma, elementwise."""
    return bind1(_DIGAMMA, x)


def erfc(x: Any) -> Any:
    """One minus the error function, elementwise."""
    return bind1(_ERFC, x)


def bessel_i1e(x: Any) -> Any:
    """The modified Bessel function of order 1 times e^-abs(x), elementwise."""
    return bind1(_BESSEL_I1E, x)


def polygamma(m: Any, x: Any) -> Any:
    """The derivative of order ``m`` of digamma at ``x``, elementwise."""
    return bind1(_POLYGAMMA, *match(m, x))


def zeta(x: Any, q: Any) -> Any:
    """The Hurwitz zeta function, elementwise."""
    return bind1(_ZETA, *match(x, q))
