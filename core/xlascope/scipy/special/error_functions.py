"""Functions related to the error function: scaled, of imaginary arguments (Dawson's integral), and of complex ones.

The last, Faddeeva's w(z) = e^(-z²) erfc(-iz), is a sum by the trapezoidal rule with the residues of its
poles, after M. Al Azah and S. N. Chandler-Wilde, Computation of the complex error function using modified
trapezoidal rules (SIAM Journal on Numerical Analysis 59, 2021): relative errors are of the order of rounding
in the upper half plane.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ...control.rules.custom_jvp import custom_jvp
from ...numpy.jit_wrapped import jit_wrapped
from ...numpy.logic import where
from ...operations.arithmetic import abs
from ...operations.complex_numbers import complex as complex_of
from ...operations.complex_numbers import imag
from ...operations.complex_numbers import real as real_part
from ...operations.exponentials import exp
from ...operations.rounding import floor
from ...operations.special import erfc
from ...operations.trigonometry import cos, sin
from ..arguments import promote_args_inexact, to_strong_type
from . import chebyshev_error as fits
from .numerics import (
    evaluate_at_least_float32,
    evaluate_chebyshev,
    evaluate_chebyshev_on,
    evaluate_in_double,
    evaluate_polynomial,
    exp_of_square,
    promote_real_args,
    where_or_safe,
)

_SQRT_PI = math.sqrt(math.pi)


@jit_wrapped()
def erfcx(x: Any) -> Any:
    """Return the scaled complementary error function e^(x²) erfc(x), which does not underflow for large ``x``.

    The result has the shape of ``x`` and its floating-point or complex dtype; for complex numbers it is ``wofz(1j
    * x)``.

    >>> import xlascope.scipy.special as sp
    >>> print(f"{sp.erfcx(10.0):.5f}")
    0.05614
    """
    (y,) = (to_strong_type(y) for y in promote_args_inexact(x))
    if y.dtype.kind == "c":
        return _wofz(complex_of(-imag(y), real_part(y)))
    return evaluate_at_least_float32(_erfcx, y)


@custom_jvp
def _erfcx(x: Any) -> Any:
    size = abs(x)
    v = where_or_safe(size, size < 1e18, 1e18)
    result = evaluate_chebyshev((v - 3.75) / (v + 3.75), fits.ERFCX) / (1 + 2 * v)
    result = where(size < 1e18, result, 1 / (_SQRT_PI * size))
    negative_x = where_or_safe(x, x < 0, 0.0)
    result = where(x < 0, 2 * exp_of_square(negative_x, 1.0) - result, result)
    middle = where_or_safe(x, size < 0.4, 0.0)
    return where(x == x, where(size < 0.4, exp(middle * middle) * erfc(middle), result), x)


@_erfcx.defjvp
def _erfcx_jvp(primals: Any, tangents: Any) -> Any:
    (x,), (t,) = primals, tangents
    y = _erfcx(x)
    # 2x y - 2/√π, whose terms cancel for large x
    slope = where(x > 10, -2 / _SQRT_PI * _asymptotic_remainder(x, -1.0), 2 * where(x > 10, 0.0, x) * y - 2 / _SQRT_PI)
    return y, t * slope


def divide_by_erfcx(number: float, x: Any) -> Any:
    """Return number/erfcx(x) for real x, without underflow and without cancellation in its derivatives for large ``x``.

    There erfcx(x) is (1 - r)/(√π x), where r is small. The derivative of the quotient would be 0/0.
    """
    is_large = x > 10
    large = where(is_large, x, 10.0) * (number * _SQRT_PI) / (1 - _asymptotic_remainder(x, -1.0))
    return where(is_large, large, number / _erfcx(where(is_large, 10.0, x)))


def _asymptotic_remainder(x: Any, sign: float) -> Any:
    """Return 1 - 2x F(x), with Dawson's integral F, for |x| > 10.

    For ``sign`` -1 it is 1 - √π x e^(x²) erfc(x) instead. Both are the asymptotic series -Σ (2k - 1)!! (±2x²)^-k (DLMF
    7.12).
    """
    terms = [1.0]
    for k in range(1, 14):
        terms.append(terms[-1] * (2 * k - 1) * sign)
    u = 1 / where(abs(x) > 10, x, 10.0)
    w = u * u / 2
    return -w * evaluate_polynomial(w, terms[1:])


@jit_wrapped()
def dawsn(x: Any) -> Any:
    """Return Dawson's integral e^(-x²) ∫ e^(t²) dt from 0 to ``x``.

    The result has the shape of ``x`` and its floating-point dtype. Raises ValueError for complex numbers
    (Abramowitz and Stegun, 7.1.16 and following).

    >>> import xlascope.scipy.special as sp
    >>> print(f"{sp.dawsn(1.0):.5f}")
    0.53808
    """
    return evaluate_at_least_float32(_dawsn, *promote_real_args("dawsn", x))


@custom_jvp
def _dawsn(x: Any) -> Any:
    size = abs(x)
    v = where_or_safe(x, size < 3, 0.0)
    square = v * v
    near = v * where(
        square < 2,
        evaluate_chebyshev_on(square, 0.0, 2.0, fits.DAWSON_SMALL),
        evaluate_chebyshev_on(square, 2.0, 8.0, fits.DAWSON_LOW),
    )
    beyond = size * size > 8
    u = 1 / where_or_safe(x, beyond, 3.0)
    w = u * u
    scaled = where(
        w > 1 / 32,
        evaluate_chebyshev_on(w, 1 / 32, 1 / 8, fits.DAWSON_MIDDLE),
        1 + w * evaluate_chebyshev_on(w, 0.0, 1 / 32, fits.DAWSON_LARGE),
    )
    return where(x == x, where(beyond, scaled / (2 * where(beyond, x, 3.0)), near), x)


@_dawsn.defjvp
def _dawsn_jvp(primals: Any, tangents: Any) -> Any:
    (x,), (t,) = primals, tangents
    y = _dawsn(x)
    return y, t * where(abs(x) > 10, _asymptotic_remainder(x, 1.0), 1 - 2 * where(abs(x) > 10, 0.0, x) * y)


@jit_wrapped()
def wofz(z: Any) -> Any:
    """Return Faddeeva's function w(z) = e^(-z²) erfc(-iz), complex for both real and complex ``z``.

    The result has the shape of ``z``. For real numbers it is e^(-z²) + 2i/√π times Dawson's integral. In the
    lower half plane w(z) = 2 e^(-z²) - w(-z).

    >>> import xlascope.scipy.special as sp
    >>> print(f"{sp.wofz(1.0 + 1.0j):.5f}")
    0.30474+0.20822j
    """
    (y,) = (to_strong_type(y) for y in promote_args_inexact(z))
    if y.dtype.kind == "c":
        return _wofz(y)
    y = y.astype(np.float32) if y.dtype.itemsize < 4 else y
    return complex_of(where(y == y, _exp_negative_square(where(y == y, y, 0.0)), y), 2 / _SQRT_PI * _dawsn(y))


@custom_jvp
def _exp_negative_square(x: Any) -> Any:
    return exp_of_square(x, -1.0)


@_exp_negative_square.defjvp
def _exp_negative_square_jvp(primals: Any, tangents: Any) -> Any:
    (x,), (t,) = primals, tangents
    y = _exp_negative_square(x)
    return y, t * (-2 * x * y)


@custom_jvp
def _wofz(z: Any) -> Any:
    return complex_of(*evaluate_in_double(_wofz_formula, real_part(z), imag(z), results=2))


def _wofz_formula(x: Any, y: Any, small: float) -> tuple[Any, Any]:
    a, b = abs(x), abs(y)
    value = _wofz_first_quadrant(a, b, small)
    p, q = real_part(value), imag(value)
    # w of (x, |y|) from (|x|, |y|): w(-conj(z)) = conj(w(z)); below the axis for -z, which is (-x, |y|)
    lower = y < 0
    q = where((x < 0) ^ lower, -q, q)
    below = where(lower, y, 0.0)
    u, v = _exp_negative_complex_square(where(lower, x, 0.0), below)
    p, q = where(lower, 2 * u - p, p), where(lower, 2 * v - q, q)
    is_number = (x == x) & (y == y)
    return where(is_number, p, math.nan), where(is_number, q, math.nan)


@_wofz.defjvp
def _wofz_jvp(primals: Any, tangents: Any) -> Any:
    (z,), (t,) = primals, tangents
    y = _wofz(z)
    return y, t * (-2 * z * y + 2j / _SQRT_PI)


def _exp_negative_complex_square(x: Any, y: Any) -> tuple[Any, Any]:
    """Return the real and the imaginary part of e^(-z²) for z = x + iy."""
    size = exp_of_square(x, -1.0) * exp_of_square(y, 1.0)
    far = abs(x) > 64
    angle = -2 * where(far, 0.0, x) * y
    size = where(far | (size == 0), 0.0, size)
    return where(size == 0, 0.0, size * cos(angle)), where(size == 0, 0.0, size * sin(angle))


def _wofz_first_quadrant(x: Any, y: Any, small: float) -> Any:
    """Return w(x + iy) for x ≥ 0 and y ≥ 0; ``small`` is the relative error that it may leave."""
    count = 8 if small > 1e-14 else 11
    step = math.sqrt(math.pi / (count + 1))
    bound = 1e6 if count == 8 else 1e9  # beyond, one term of the asymptotic expansion is accurate
    far = (x > bound) | (y > bound)
    px, py = where(far | (x != x), 1.0, x), where(far | (y != y), 1.0, y)
    ratio = px / step
    phase = ratio - floor(ratio)
    use_integer_nodes = (py < px) & (phase >= 0.25) & (phase <= 0.75)  # near poles of the half-integer rule
    without_residue = py >= where(px > math.pi / step, px, math.pi / step)
    z = complex_of(px, py)
    square = z * z
    total = _trapezoidal_sum(square, step, count, use_integer_nodes)
    value = complex_of(-py, px) * (2 * step / math.pi) * total
    value = where(use_integer_nodes, value + complex_of(py, px) * (step / math.pi) / (px * px + py * py), value)
    # the residue 2 e^(-z²)/(1 ± e^(-2πiz/h)) = 2 e^(-z²) e^(2πiz/h)/(e^(2πiz/h) ± 1), the exponential of which is small
    angle = 2 * math.pi * phase
    size = exp(-2 * math.pi / step * py)
    e = complex_of(size * cos(angle), size * sin(angle))
    u, v = _exp_negative_complex_square(px, where(without_residue, 0.0, py))
    residue = 2 * complex_of(u, v) * e / (e + where(use_integer_nodes, -1.0, 1.0))
    value = where(without_residue, value, value + residue)
    return where(far, _wofz_asymptotic(x, y), value)


def _trapezoidal_sum(square: Any, step: float, count: int, use_integer_nodes: Any) -> Any:
    """Return the sum of e^(-t²)/(z² - t²) over the first ``count`` + 1 of the nodes t = h/2, 3h/2, ….

    ``square`` is z², and ``step`` is h, the distance of the nodes. Where ``use_integer_nodes`` is true the nodes are h,
    2h, ….
    """
    total = square * 0
    for k in range(count + 1):
        t, s = (k + 0.5) * step, (k + 1) * step
        weight = where(use_integer_nodes, math.exp(-s * s), math.exp(-t * t))
        total = total + weight / (square - where(use_integer_nodes, s * s, t * t))
    return total


def _wofz_asymptotic(x: Any, y: Any) -> Any:
    """Return i/(√π z), the value of w(z) for very large z = x + iy, without squares that overflow."""
    larger = where(x > y, x, y)
    finite = larger < math.inf
    safe = where(finite & (larger > 0), larger, 1.0)
    inverse = 1 / safe  # a factor, since compilers merge nested divisions
    u, v = where(finite, x, 1.0) * inverse, where(finite, y, 1.0) * inverse
    size = _SQRT_PI * (u * u + v * v)
    return complex_of(where(finite, v / size * inverse, 0.0), where(finite, u / size * inverse, 0.0))
