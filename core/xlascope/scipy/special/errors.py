"""Relatives of the error function: scaled, of imaginary arguments (Dawson's integral), and of complex ones.

The last, Faddeeva's w(z) = e^(-z²) erfc(-iz), is a sum by the trapezoidal rule with the residues of its poles, after
M. Al Azah and S. N. Chandler-Wilde, Computation of the complex error function using modified trapezoidal rules (SIAM
Journal on Numerical Analysis 59, 2021): relative errors are of the order of rounding in the upper half plane.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ...control.rules.custom_jvp import custom_jvp
from ...numpy.logic import where
from ...numpy.together import together
from ...operations.arithmetic import abs
from ...operations.complex_numbers import complex as complex_of
from ...operations.complex_numbers import imag
from ...operations.complex_numbers import real as real_part
from ...operations.exponentials import exp
from ...operations.rounding import floor
from ...operations.special import erfc
from ...operations.trigonometry import cos, sin
from ..arguments import floats, strong
from . import error_fits as fits
from .wide import exactly, exp_of_square, fit, fit_on, inside, polynomial, real, widened

_ROOT = math.sqrt(math.pi)


@together()
def erfcx(x: Any) -> Any:
    """The scaled complementary error function e^(x²) erfc(x), which neither overflows nor vanishes for large ``x``.

    Of any shape, in the floating-point or complex dtype of ``x``; that of a complex number is ``wofz(1j * x)``.

    >>> import xlascope.scipy.special as sp
    >>> print(f"{sp.erfcx(10.0):.5f}")
    0.05614
    """
    (y,) = (strong(y) for y in floats(x))
    if y.dtype.kind == "c":
        return _wofz(complex_of(-imag(y), real_part(y)))
    return widened(_erfcx, y)


@custom_jvp
def _erfcx(x: Any) -> Any:
    size = abs(x)
    v = inside(size, size < 1e18, 1e18)
    found = fit((v - 3.75) / (v + 3.75), fits.ERFCX) / (1 + 2 * v)
    found = where(size < 1e18, found, 1 / (_ROOT * size))
    below = inside(x, x < 0, 0.0)
    found = where(x < 0, 2 * exp_of_square(below, 1.0) - found, found)
    middle = inside(x, size < 0.4, 0.0)
    return where(x == x, where(size < 0.4, exp(middle * middle) * erfc(middle), found), x)


@_erfcx.defjvp
def _erfcx_jvp(primals: Any, tangents: Any) -> Any:
    (x,), (t,) = primals, tangents
    y = _erfcx(x)
    # 2x y - 2/√π, whose terms cancel for large x
    slope = where(x > 10, -2 / _ROOT * _rest(x, -1.0), 2 * where(x > 10, 0.0, x) * y - 2 / _ROOT)
    return y, t * slope


def _rest(x: Any, sign: float) -> Any:
    """1 - 2x F(x), or for the sign -1 1 - √π x e^(x²) erfc(x), beyond 10: -Σ (2k - 1)!! (±2x²)^-k (DLMF 7.12)."""
    terms = [1.0]
    for k in range(1, 14):
        terms.append(terms[-1] * (2 * k - 1) * sign)
    u = 1 / where(abs(x) > 10, x, 10.0)
    w = u * u / 2
    return -w * polynomial(w, terms[1:])


@together()
def dawsn(x: Any) -> Any:
    """Dawson's integral e^(-x²) ∫ e^(t²) dt from 0 to ``x``.

    Of any shape, in the floating-point dtype of ``x``; raises ValueError for complex numbers (Abramowitz and Stegun,
    7.1.16 and following).

    >>> import xlascope.scipy.special as sp
    >>> print(f"{sp.dawsn(1.0):.5f}")
    0.53808
    """
    return widened(_dawsn, *real("dawsn", x))


@custom_jvp
def _dawsn(x: Any) -> Any:
    size = abs(x)
    v = inside(x, size < 3, 0.0)
    square = v * v
    near = v * where(square < 2, fit_on(square, 0.0, 2.0, fits.DAWSON_SMALL), fit_on(square, 2.0, 8.0, fits.DAWSON_LOW))
    beyond = size * size > 8
    u = 1 / inside(x, beyond, 3.0)
    w = u * u
    scaled = where(
        w > 1 / 32, fit_on(w, 1 / 32, 1 / 8, fits.DAWSON_MIDDLE), 1 + w * fit_on(w, 0.0, 1 / 32, fits.DAWSON_LARGE)
    )
    return where(x == x, where(beyond, scaled / (2 * where(beyond, x, 3.0)), near), x)


@_dawsn.defjvp
def _dawsn_jvp(primals: Any, tangents: Any) -> Any:
    (x,), (t,) = primals, tangents
    y = _dawsn(x)
    return y, t * where(abs(x) > 10, _rest(x, 1.0), 1 - 2 * where(abs(x) > 10, 0.0, x) * y)


@together()
def wofz(z: Any) -> Any:
    """Faddeeva's function w(z) = e^(-z²) erfc(-iz), a complex number of real and complex ``z`` alike.

    Of any shape; of real numbers e^(-z²) + 2i/√π times Dawson's integral. In the lower half plane
    w(z) = 2 e^(-z²) - w(-z).

    >>> import xlascope.scipy.special as sp
    >>> print(f"{sp.wofz(1.0 + 1.0j):.5f}")
    0.30474+0.20822j
    """
    (y,) = (strong(y) for y in floats(z))
    if y.dtype.kind == "c":
        return _wofz(y)
    y = y.astype(np.float32) if y.dtype.itemsize < 4 else y
    return complex_of(where(y == y, _bell(where(y == y, y, 0.0)), y), 2 / _ROOT * _dawsn(y))


@custom_jvp
def _bell(x: Any) -> Any:
    return exp_of_square(x, -1.0)


@_bell.defjvp
def _bell_jvp(primals: Any, tangents: Any) -> Any:
    (x,), (t,) = primals, tangents
    y = _bell(x)
    return y, t * (-2 * x * y)


@custom_jvp
def _wofz(z: Any) -> Any:
    return complex_of(*exactly(_wofz_formula, real_part(z), imag(z), results=2))


def _wofz_formula(x: Any, y: Any, small: float) -> tuple[Any, Any]:
    a, b = abs(x), abs(y)
    found = _quadrant(a, b, small)
    p, q = real_part(found), imag(found)
    # w of (x, |y|) from (|x|, |y|): w(-conj(z)) = conj(w(z)); below the axis for -z, which is (-x, |y|)
    lower = y < 0
    q = where((x < 0) ^ lower, -q, q)
    below = where(lower, y, 0.0)
    u, v = _gaussian(where(lower, x, 0.0), below)
    p, q = where(lower, 2 * u - p, p), where(lower, 2 * v - q, q)
    known = (x == x) & (y == y)
    return where(known, p, math.nan), where(known, q, math.nan)


@_wofz.defjvp
def _wofz_jvp(primals: Any, tangents: Any) -> Any:
    (z,), (t,) = primals, tangents
    y = _wofz(z)
    return y, t * (-2 * z * y + 2j / _ROOT)


def _gaussian(x: Any, y: Any) -> tuple[Any, Any]:
    """The real and imaginary part of e^(-z²)."""
    size = exp_of_square(x, -1.0) * exp_of_square(y, 1.0)
    far = abs(x) > 64
    angle = -2 * where(far, 0.0, x) * y
    size = where(far | (size == 0), 0.0, size)
    return where(size == 0, 0.0, size * cos(angle)), where(size == 0, 0.0, size * sin(angle))


def _quadrant(x: Any, y: Any, small: float) -> Any:
    """w(x + iy) for x ≥ 0 and y ≥ 0."""
    count = 8 if small > 1e-14 else 11
    step = math.sqrt(math.pi / (count + 1))
    bound = 1e6 if count == 8 else 1e9  # from here on one term of the asymptotic expansion has all digits
    far = (x > bound) | (y > bound)
    px, py = where(far | (x != x), 1.0, x), where(far | (y != y), 1.0, y)
    ratio = px / step
    phase = ratio - floor(ratio)
    whole = (py < px) & (phase >= 0.25) & (phase <= 0.75)  # poles of the other rule are near
    plain = py >= where(px > math.pi / step, px, math.pi / step)
    z = complex_of(px, py)
    square = z * z
    total = _sum(square, step, count, whole)
    value = complex_of(-py, px) * (2 * step / math.pi) * total
    value = where(whole, value + complex_of(py, px) * (step / math.pi) / (px * px + py * py), value)
    # the residue 2 e^(-z²)/(1 ± e^(-2πiz/h)) = 2 e^(-z²) e^(2πiz/h)/(e^(2πiz/h) ± 1), the exponential of which is small
    turn = 2 * math.pi * phase
    size = exp(-2 * math.pi / step * py)
    e = complex_of(size * cos(turn), size * sin(turn))
    u, v = _gaussian(px, where(plain, 0.0, py))
    residue = 2 * complex_of(u, v) * e / (e + where(whole, -1.0, 1.0))
    value = where(plain, value, value + residue)
    return where(far, _asymptotic(x, y), value)


def _sum(square: Any, step: float, count: int, whole: Any) -> Any:
    """Σ e^(-t²)/(z² - t²) over t = h/2, 3h/2 and so on or, where ``whole``, over h, 2h and so on."""
    total = square * 0
    for k in range(count + 1):
        t, s = (k + 0.5) * step, (k + 1) * step
        weight = where(whole, math.exp(-s * s), math.exp(-t * t))
        total = total + weight / (square - where(whole, s * s, t * t))
    return total


def _asymptotic(x: Any, y: Any) -> Any:
    """i/(√π z) for very large z, without squares that overflow."""
    larger = where(x > y, x, y)
    finite = larger < math.inf
    safe = where(finite & (larger > 0), larger, 1.0)
    inverse = 1 / safe  # a factor, since compilers take quotients of quotients together
    u, v = where(finite, x, 1.0) * inverse, where(finite, y, 1.0) * inverse
    size = _ROOT * (u * u + v * v)
    return complex_of(where(finite, v / size * inverse, 0.0), where(finite, u / size * inverse, 0.0))
