"""The error function, and the cumulative distribution function of the normal distribution."""

from __future__ import annotations

import math
from typing import Any

from ...control.rules.custom_jvp import custom_jvp
from ...numpy.jit_wrapped import jit_wrapped
from ...numpy.promotion import promote_inexact
from ...operations import special
from ...operations.arithmetic import add, div, mul, square, sub
from ...operations.bits import bitwise_and
from ...operations.comparisons import gt, lt, ne
from ...operations.exponentials import exp, log, log1p, sqrt
from ...operations.extremes import min
from ...operations.operand_values import dtype_of
from ...operations.selection import select
from ...operations.tangent_arithmetic import neg
from ...trace.source import here
from .array_constants import full_like
from .error_functions import divide_by_erfcx
from .numerics import evaluate_at_least_float32

_SQRT_HALF = math.sqrt(0.5)
_LOG_SQRT_2PI = 0.5 * math.log(2 * math.pi)
#: The density of the normal distribution is 0 from here on, in double precision as well.
_MAX_DENSITY_ARGUMENT = 40.0


@jit_wrapped()
def erf(x: Any) -> Any:
    """Return the error function.

    >>> import xlascope.scipy.special as sp
    >>> print(f"{sp.erf(1.0):.4f}")
    0.8427
    """
    return special.erf(promote_inexact(x))


@jit_wrapped()
def erfc(x: Any) -> Any:
    """Return 1 - erf(x), accurate also where erf(x) is near one."""
    return special.erfc(promote_inexact(x))


@jit_wrapped()
def erfinv(x: Any) -> Any:
    """Return the inverse of the error function."""
    return special.erf_inv(promote_inexact(x))


@jit_wrapped()
def ndtr(x: Any) -> Any:
    """Return the cumulative distribution function of the standard normal distribution."""
    return mul(0.5, special.erfc(mul(_require_wide_float("ndtr", x), -_SQRT_HALF)))


def _require_wide_float(name: str, x: Any) -> Any:
    """Return ``x`` as a floating-point operand of at least 16 bits.

    Raises TypeError for narrower dtypes, which cannot represent the tails; ``name`` is the function's name.
    """
    x = promote_inexact(x)
    if dtype_of(x).itemsize < 2:
        raise TypeError(
            f"{name} takes floating-point numbers of at least 16 bits, got dtype {dtype_of(x).name}; convert with "
            f"astype{here()}"
        )
    return x


def log_ndtr(x: Any, series_order: int = 3) -> Any:
    """Return the logarithm of :func:`ndtr`, accurate in both tails.

    ``series_order`` is accepted for compatibility and ignored.

    >>> import xlascope.scipy.special as sp
    >>> print(f"{sp.log_ndtr(-30.0):.4f}")
    -454.3212
    """
    return _log_ndtr_checked(x)


@jit_wrapped()
def _log_ndtr_checked(x: Any) -> Any:
    return evaluate_at_least_float32(_log_ndtr, _require_wide_float("log_ndtr", x))


@custom_jvp
def _log_ndtr(x: Any) -> Any:
    # far to the left, -x²/2 - log(-x √(2π)) + log(1 - 1/x² + 3/x⁴ - 15/x⁶ …) (Abramowitz and Stegun, 26.2.12)
    limit, terms = (-20.0, 11) if dtype_of(x).itemsize == 8 else (-10.0, 7)
    far = lt(x, limit)
    v = select(far, x, full_like(x, limit))
    inverse = div(1.0, square(v))
    coefficients = [1.0]
    for k in range(1, terms):
        coefficients.append(-coefficients[-1] * (2 * k - 1))
    series = full_like(v, 0.0)
    for c in reversed(coefficients[1:]):
        series = mul(add(series, c), inverse)
    left_tail = add(sub(sub(mul(square(v), -0.5), log(neg(v))), _LOG_SQRT_2PI), log1p(series))
    near = select(far, full_like(x, 0.0), x)
    low = log(mul(special.erfc(mul(near, -_SQRT_HALF)), 0.5))
    high = log1p(mul(special.erfc(mul(near, _SQRT_HALF)), -0.5))
    return select(far, left_tail, select(gt(near, 0.0), high, low))


@_log_ndtr.defjvp
def _log_ndtr_jvp(primals: Any, tangents: Any) -> Any:
    # The derivative is the density divided by ndtr. On the left both underflow, and their logarithms cancel.
    (x,), (t,) = primals, tangents
    y, is_left = _log_ndtr(x), lt(x, 0.0)
    left = divide_by_erfcx(math.sqrt(2 / math.pi), mul(min(x, 0.0), -_SQRT_HALF))
    right = min(select(is_left, full_like(x, 0.0), x), _MAX_DENSITY_ARGUMENT)
    density = exp(sub(sub(mul(square(right), -0.5), select(is_left, full_like(x, 0.0), y)), _LOG_SQRT_2PI))
    return y, mul(t, select(ne(x, x), x, select(is_left, left, density)))


@jit_wrapped()
def ndtri(p: Any) -> Any:
    """Return the inverse of :func:`ndtr`, accurate in the left tail; NaN outside [0, 1].

    >>> import xlascope.scipy.special as sp
    >>> print(f"{sp.ndtri(0.975):.4f}")
    1.9600
    """
    return evaluate_at_least_float32(_ndtri, _require_wide_float("ndtri", p))


@custom_jvp
def _ndtri(p: Any) -> Any:
    # In the tails Newton's method for log_ndtr(x) = log(p), which is nearly a parabola, from its asymptote.
    upper = gt(p, 0.5)
    q = select(upper, sub(1.0, p), p)
    tail = lt(q, 0.05)
    safe = select(gt(q, 0.0), select(tail, q, full_like(q, 0.05)), full_like(q, 0.05))
    target = log(safe)
    height = mul(target, -2.0)
    x = neg(sqrt(sub(height, log(mul(height, 2 * math.pi)))))
    for _ in range(5):
        log_probability = _log_ndtr(x)
        slope = exp(sub(sub(mul(square(x), -0.5), log_probability), _LOG_SQRT_2PI))
        x = sub(x, div(sub(log_probability, target), slope))
    middle = mul(special.erf_inv(sub(mul(q, 2.0), 1.0)), 1 / _SQRT_HALF)
    if dtype_of(p).itemsize == 8:
        valid = bitwise_and(gt(q, 0.01), gt(0.99, q))
        middle = select(
            valid, _newton_step(select(valid, q, full_like(q, 0.5)), select(valid, middle, full_like(q, 0.0))), middle
        )
    middle = select(lt(q, 0.0), full_like(q, math.nan), middle)  # 2q - 1 rounds to -1
    lower_value = select(bitwise_and(tail, gt(q, 0.0)), x, middle)
    return select(upper, neg(lower_value), lower_value)


def _newton_step(q: Any, x: Any) -> Any:
    """Return ``x`` after one more step of Newton's method for ndtr(x) = q.

    The error is computed by erf near the center and by erfc elsewhere.
    """
    error_middle = mul(sub(special.erf(mul(x, _SQRT_HALF)), sub(mul(q, 2.0), 1.0)), 0.5)
    error_beside = sub(mul(special.erfc(mul(x, -_SQRT_HALF)), 0.5), q)
    error = select(gt(q, 0.25), error_middle, error_beside)
    return sub(x, mul(error, exp(add(mul(square(x), 0.5), _LOG_SQRT_2PI))))


@_ndtri.defjvp
def _ndtri_jvp(primals: Any, tangents: Any) -> Any:
    (p,), (t,) = primals, tangents
    x = _ndtri(p)
    return x, mul(t, exp(add(mul(square(x), 0.5), _LOG_SQRT_2PI)))
