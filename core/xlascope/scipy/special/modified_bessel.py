"""Modified Bessel functions of order 0 and 1."""

from __future__ import annotations

from typing import Any

from ...control.rules.custom_jvp import custom_jvp
from ...numpy.jit_wrapped import jit_wrapped
from ...numpy.promotion import promote_inexact
from ...operations import bessel
from ...operations.arithmetic import abs, div, mul, sub
from ...operations.comparisons import lt
from ...operations.exponentials import exp
from ...operations.selection import select
from .array_constants import full_like


@jit_wrapped()
def i0e(x: Any) -> Any:
    """Return the modified Bessel function of order 0, times exp(-abs(x)).

    >>> import xlascope.scipy.special as sp
    >>> print(f"{sp.i0e(2.0):.5f}")
    0.30851
    """
    return bessel.bessel_i0e(promote_inexact(x))


@jit_wrapped()
def i1e(x: Any) -> Any:
    """Return the modified Bessel function of order 1, times exp(-abs(x))."""
    return bessel.bessel_i1e(promote_inexact(x))


@jit_wrapped()
def i0(x: Any) -> Any:
    """Return the modified Bessel function of order 0; its derivative is that of order 1."""
    return _i0(promote_inexact(x))


@jit_wrapped()
def i1(x: Any) -> Any:
    """Return the modified Bessel function of order 1; its derivative is i0 - i1/x."""
    return _i1(promote_inexact(x))


@custom_jvp
def _i0(x: Any) -> Any:
    return _grow(x, bessel.bessel_i0e(x))


@custom_jvp
def _i1(x: Any) -> Any:
    return _grow(x, bessel.bessel_i1e(x))


def _grow(x: Any, scaled: Any) -> Any:
    """Return e^|x| times ``scaled``, in two factors: the product is finite where e^|x| is not."""
    growth = exp(mul(abs(x), 0.5))
    return mul(mul(growth, scaled), growth)


@_i0.defjvp
def _i0_jvp(primals: Any, tangents: Any) -> Any:
    (x,), (t,) = primals, tangents
    return _i0(x), mul(t, _i1(x))


@_i1.defjvp
def _i1_jvp(primals: Any, tangents: Any) -> Any:
    (x,), (t,) = primals, tangents
    is_near, ones = lt(abs(x), 1.0), full_like(x, 1.0)
    near, beyond = select(is_near, x, full_like(x, 0.0)), select(is_near, ones, x)
    return _i1(x), mul(t, select(is_near, sub(_i0(near), bessel.i1_over_x(near)), _slope_of_i1(beyond)))


@custom_jvp
def _slope_of_i1(x: Any) -> Any:
    """Return the derivative of i1 for |x| ≥ 1, i0 - i1/x; infinite, not NaN, where both are infinite."""
    return _grow(x, sub(bessel.bessel_i0e(x), div(bessel.bessel_i1e(x), x)))


@_slope_of_i1.defjvp
def _slope_of_i1_jvp(primals: Any, tangents: Any) -> Any:
    (x,), (t,) = primals, tangents
    i1e = bessel.bessel_i1e(x)
    i2e = sub(bessel.bessel_i0e(x), div(mul(i1e, 2.0), x))
    return _slope_of_i1(x), mul(t, _grow(x, sub(i1e, div(i2e, x))))
