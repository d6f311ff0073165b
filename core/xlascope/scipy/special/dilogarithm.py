"""The dilogarithm in SciPy's convention."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ...control.rules.custom_jvp import custom_jvp
from ...numpy.jit_wrapped import jit_wrapped
from ...numpy.logic import where
from ...operations.arithmetic import abs
from ...operations.exponentials import log, log1p
from ...trace.source import here
from .numerics import evaluate_polynomial, promote_real_args

#: B_2k/(2k + 1)! for k = 1, 2, … with the Bernoulli numbers B: 1/6 over 3!, -1/30 over 5! and so on.
_DEBYE_COEFFICIENTS = tuple(
    value / math.factorial(2 * k + 3)
    for k, value in enumerate(
        (1 / 6, -1 / 30, 1 / 42, -1 / 30, 5 / 66, -691 / 2730, 7 / 6, -3617 / 510, 43867 / 798, -174611 / 330)
    )
)


#: Distance from 1 up to which the slope is a power series, and its coefficients -1, 1/2, -1/3, ….
_MAX_NEAR = 0.125
_SLOPE_COEFFICIENTS = [(-1) ** (k + 1) / (k + 1) for k in range(20)]


@jit_wrapped()
def spence(x: Any) -> Any:
    """Return Spence's function, the integral of log(t)/(1 - t) from 1 to ``x``; NaN for negative ``x``.

    This is the dilogarithm Li2(1 - x), of the shape and dtype of ``x``, which has to be float32 or float64
    (TypeError for others). Within a factor of 2 of 1 it is P. Debye's series in u = -log(x), u - u²/4 + Σ B_2k
    u^(2k+1)/(2k+1)!; elsewhere the reflections spence(x) + spence(1 - x) = π²/6 - log(x) log(1 - x) and spence(x)
    + spence(1/x) = -log²(x)/2 reduce to that range (DLMF 25.12).

    >>> import xlascope.scipy.special as sp
    >>> print(f"{sp.spence(0.5):.5f}")
    0.58224
    """
    (y,) = promote_real_args("spence", x, error=TypeError)
    dtype = getattr(x, "dtype", y.dtype)
    if isinstance(x, (bool, int)) or dtype not in (np.float32, np.float64):
        raise TypeError(
            f"spence takes numbers of float32 or float64, got {dtype if hasattr(x, 'dtype') else type(x).__name__}; "
            f"convert it with x.astype(float){here()}"
        )
    return _spence(y)


@custom_jvp
def _spence(x: Any) -> Any:
    inverted = x > 2
    v = where(inverted, 1 / where(inverted, x, 1.0), x)  # in [0, 2]
    reflected = v < 0.5
    offset = where(reflected, -v, v - 1)  # argument of the series minus 1
    # log1p loses precision in float64 further from 0
    is_close = abs(offset) < 0.25
    u = -where(is_close, log1p(where(is_close, offset, 0.0)), log(where(abs(offset) <= 1, offset, 0.0) + 1))
    square = u * u
    series = u - square / 4 + u * square * evaluate_polynomial(square, _DEBYE_COEFFICIENTS)
    logarithm = log(where(v > 0, v, 1.0))
    result = where(reflected, math.pi**2 / 6 + logarithm * u - series, series)
    growth = log(where(inverted, x, 1.0))
    result = where(inverted, -result - growth * growth / 2, result)
    return where((x >= 0) & (x < math.inf), result, math.nan)


@_spence.defjvp
def _spence_jvp(primals: Any, tangents: Any) -> Any:
    # log(x)/(1 - x): the derivatives of the quotient cancel near 1
    (x,), (t,) = primals, tangents
    is_near = abs(x - 1) < _MAX_NEAR
    near, safe = where(is_near, x - 1, 0.0), where(is_near, 2.0, x)
    return _spence(x), t * where(is_near, evaluate_polynomial(near, _SLOPE_COEFFICIENTS), log(safe) / (1 - safe))
