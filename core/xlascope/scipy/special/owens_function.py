"""Owen's T function, for probabilities of two normal variables."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ...control.rules.custom_jvp import custom_jvp
from ...numpy.jit_wrapped import jit_wrapped
from ...numpy.logic import where
from ...numpy.shaping import broadcast_arrays
from ...operations.arithmetic import abs
from ...operations.special import erf, erfc
from .numerics import epsilon_of, evaluate_at_least_float32, exp_of_square, promote_real_args

_SQRT_HALF = math.sqrt(0.5)


@jit_wrapped()
def owens_t(h: Any, a: Any) -> Any:
    """Return Owen's T(h, a) = 1/(2π) ∫ exp(-h² (1 + x²)/2)/(1 + x²) dx from 0 to ``a``.

    The result has the shape to which ``h`` and ``a`` broadcast, in their floating-point dtype. Raises ValueError
    for complex numbers. For |a| ≤ 1 it is Gauss-Legendre quadrature over the range where the integrand is
    significant; beyond, it is reduced to T of a h and 1/a (D. B. Owen, Annals of Mathematical Statistics 27,
    1956). The derivatives are the integrand, and -exp(-h²/2) erf(a h/√2)/√(8π).

    >>> import xlascope.scipy.special as sp
    >>> print(f"{sp.owens_t(1.0, 2.0):.5f}")
    0.07847
    """
    return evaluate_at_least_float32(_owens_t, *broadcast_arrays(*promote_real_args("owens_t", h, a)))


@custom_jvp
def _owens_t(h: Any, a: Any) -> Any:
    height, slope = abs(h), abs(a)
    steep = slope > 1
    safe = where(steep, slope, 1.0)
    product = where(height == 0, 0.0, height * safe)
    inner = _gauss_legendre(where(steep, product, height), where(steep, 1 / safe, slope))
    q, r = erfc(height * _SQRT_HALF) / 2, erfc(product * _SQRT_HALF) / 2
    result = where(steep, (q + r) / 2 - q * r - inner, inner)
    result = where(a < 0, -result, result)
    return where((h == h) & (a == a), result, math.nan)


def _gauss_legendre(h: Any, a: Any) -> Any:
    """Return Owen's T(h, a) for h ≥ 0 and 0 ≤ a ≤ 1, by Gauss-Legendre quadrature."""
    count, reach = (16, 6.5) if epsilon_of(h) > 1e-10 else (34, 9.5)
    end = where(h * a > reach, reach / where(h > reach, h, reach), a) / 2
    total = a * 0
    bounded = where(h < 1e4, h, 1e4)
    for node, weight in zip(*np.polynomial.legendre.leggauss(count), strict=True):
        x = end * (1 + float(node))
        total = total + exp_of_square(bounded * x, -0.5) * float(weight) / (1 + x * x)
    return exp_of_square(h, -0.5) * where(h < 60, total * end / (2 * math.pi), 0.0)


@_owens_t.defjvp
def _owens_t_jvp(primals: Any, tangents: Any) -> Any:
    (h, a), (s, t) = primals, tangents
    product = where(h == 0, 0.0, h * a)
    density_h = _exp_negative_half_square(h)
    by_h = -density_h * erf(product * _SQRT_HALF) / math.sqrt(8 * math.pi)
    by_a = density_h * _exp_negative_half_square(product) / (2 * math.pi * (1 + a * a))
    return _owens_t(h, a), s * by_h + t * by_a


@custom_jvp
def _exp_negative_half_square(x: Any) -> Any:
    return exp_of_square(x, -0.5)


@_exp_negative_half_square.defjvp
def _exp_negative_half_square_jvp(primals: Any, tangents: Any) -> Any:
    (x,), (t,) = primals, tangents
    y = _exp_negative_half_square(x)
    return y, t * (-x * y)
