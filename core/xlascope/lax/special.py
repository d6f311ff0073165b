"""Special functions. Whole Python numbers count as floats, as in the other elementwise functions."""

from __future__ import annotations

from typing import Any

from ..operations import special as s


def _floating(x: Any) -> Any:
    return float(x) if x.__class__ is int else x


def lgamma(x: Any) -> Any:
    """The logarithm of the absolute value of the gamma function.

    >>> from xlascope import lax
    >>> print(f"{lax.lgamma(5.0):.4f}")
    3.1781
    """
    return s.lgamma(_floating(x))


def digamma(x: Any) -> Any:
    """The derivative of :func:`lgamma`."""
    return s.digamma(_floating(x))


def polygamma(m: Any, x: Any) -> Any:
    """The derivative of order ``m`` of :func:`digamma`; it is taken for a constant in ``m``."""
    return s.polygamma(_floating(m), _floating(x))


def zeta(x: Any, q: Any) -> Any:
    """The Hurwitz zeta function, the sum of (q + k) to the power -x over all k."""
    return s.zeta(_floating(x), _floating(q))


def erfc(x: Any) -> Any:
    """One minus the error function, exact where that is near one."""
    return s.erfc(_floating(x))


def bessel_i1e(x: Any) -> Any:
    """The modified Bessel function of order 1, times ``exp(-abs(x))``."""
    return s.bessel_i1e(_floating(x))
