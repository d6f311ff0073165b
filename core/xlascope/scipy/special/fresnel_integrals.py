"""The Fresnel integrals."""

from __future__ import annotations

import math
from typing import Any

from ...control.rules.custom_jvp import custom_jvp
from ...numpy.jit_wrapped import jit_wrapped
from ...numpy.logic import where
from ...operations.arithmetic import abs
from ...operations.rounding import floor
from ...operations.trigonometry import cos, sin
from . import chebyshev_error as fits
from .numerics import evaluate_at_least_float32, evaluate_chebyshev_on, promote_real_args, where_or_safe


@jit_wrapped()
def fresnel(x: Any) -> tuple[Any, Any]:
    """Return the Fresnel integrals of ``x``: S = ∫ sin(π t²/2) dt and C = ∫ cos(π t²/2) dt, both from 0.

    Both have the shape of ``x`` and its floating-point dtype. Raises NotImplementedError for complex numbers. From 1.5
    on S = 1/2 - f cos(π x²/2) - g sin(π x²/2) and C = 1/2 + f sin(π x²/2) - g cos(π x²/2) with smooth f and g
    (Abramowitz and Stegun, 7.3.9); x² is taken modulo 4 before it is rounded.

    >>> import xlascope.scipy.special as sp
    >>> print("{:.5f} {:.5f}".format(*sp.fresnel(1.0)))
    0.43826 0.77989
    """
    sine, cosine = evaluate_at_least_float32(_fresnel, *promote_real_args("fresnel", x, error=NotImplementedError))
    return sine, cosine


@custom_jvp
def _fresnel(x: Any) -> Any:
    size = abs(x)
    v = where_or_safe(x, size < 1.5, 0.0)
    quartic = (v * v) * (v * v)
    near_s = v * v * v * evaluate_chebyshev_on(quartic, 0.0, 1.5**4, fits.FRESNEL_S)
    near_c = v * evaluate_chebyshev_on(quartic, 0.0, 1.5**4, fits.FRESNEL_C)
    u = 1 / where_or_safe(size, size >= 1.5, 1.5)
    w = u * u
    f = where(
        w > 1 / 9,
        evaluate_chebyshev_on(w, 1 / 9, 4 / 9, fits.FRESNEL_F_MIDDLE),
        evaluate_chebyshev_on(w, 0.0, 1 / 9, fits.FRESNEL_F_LARGE),
    )
    g = where(
        w > 1 / 9,
        evaluate_chebyshev_on(w, 1 / 9, 4 / 9, fits.FRESNEL_G_MIDDLE),
        evaluate_chebyshev_on(w, 0.0, 1 / 9, fits.FRESNEL_G_LARGE),
    )
    f, g = f * u / math.pi, g * u * w / math.pi**2
    c, s = _cos_sin_half_pi_square(where_or_safe(size, (size >= 1.5) & (size < math.inf), 0.0))
    far_s, far_c = 0.5 - (f * c + g * s), 0.5 + (f * s - g * c)
    far_s, far_c = where(x < 0, -far_s, far_s), where(x < 0, -far_c, far_c)
    far = size >= 1.5
    return where(far, far_s, where(x == x, near_s, x)), where(far, far_c, where(x == x, near_c, x))


@_fresnel.defjvp
def _fresnel_jvp(primals: Any, tangents: Any) -> Any:
    (x,), (t,) = primals, tangents
    c, s = _cos_sin_half_pi_square(x)
    return _fresnel(x), (t * s, t * c)


@custom_jvp
def _cos_sin_half_pi_square(x: Any) -> Any:
    """Return cos(π x²/2) and sin(π x²/2).

    With x = n + r, x² = n² + 2 n r + r², where n r is as exact as x.
    """
    size = abs(x)
    n = floor(size + 0.5)
    r = size - n
    odd = n - 2 * floor(n / 2)
    twice = n * r
    twice = twice - 2 * floor(twice / 2)
    angle = math.pi / 2 * (odd + 2 * twice + r * r)
    return cos(angle), sin(angle)


@_cos_sin_half_pi_square.defjvp
def _cos_sin_half_pi_square_jvp(primals: Any, tangents: Any) -> Any:
    (x,), (t,) = primals, tangents
    c, s = _cos_sin_half_pi_square(x)
    angle_tangent = t * (math.pi * x)
    return (c, s), (-angle_tangent * s, angle_tangent * c)
