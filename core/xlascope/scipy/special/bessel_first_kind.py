"""Bessel functions of the first kind J_0, J_1, … of integer order.

Up to a bound they are computed by J. C. P. Miller's backward recurrence (Abramowitz and Stegun, 9.12),
rescaled where it grows; beyond, where the order is smaller than the argument, by the forward recurrence from
J_0 and J_1, which have Hankel's asymptotic expansion (DLMF 10.17.3). Near 0 the power series is used.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ... import numpy as jnp
from ...control.flow.loop_api import scan
from ...control.rules.custom_jvp import custom_jvp
from ...ir.avals import make_aval
from ...numpy.jit_wrapped import jit_wrapped
from ...numpy.logic import where
from ...operations.arithmetic import abs
from ...operations.exponentials import sqrt
from ...operations.integer_arguments import whole_number
from ...operations.shapes import zeros_of
from ...operations.trigonometry import cos, sin
from ...trace.values import exact_array
from .numerics import evaluate_at_least_float32, evaluate_polynomial, promote_real_args


def bessel_jn(z: Any, *, v: int, n_iter: int = 50) -> Any:
    """Return the Bessel functions of the first kind of orders 0, 1, …, ``v`` at real ``z``.

    The result has the shape ``(v + 1, *z.shape)`` and the floating-point dtype of ``z``. ``v`` is a Python
    integer (TypeError); ``n_iter`` is accepted for compatibility and ignored: the recurrence starts where ``v``
    and the dtype require it. Raises ValueError for complex numbers. The derivative is (J_(k-1) - J_(k+1))/2.

    >>> import xlascope.scipy.special as sp
    >>> print(f"{sp.bessel_jn(1.0, v=1)[1]:.5f}")
    0.44005
    """
    return _bessel_jn(z, max(-1, whole_number(v, "v of bessel_jn")))


@jit_wrapped("v")
def _bessel_jn(z: Any, v: int) -> Any:
    (x,) = promote_real_args("bessel_jn", z)
    if v < 0:
        return zeros_of(make_aval((0, *x.shape), x.dtype))
    return evaluate_at_least_float32(lambda y: _make_bessel_j(v)(y), x)


def _make_bessel_j(v: int) -> Any:
    """Return the function of x that computes J_0, …, J_v, with its derivative."""

    @custom_jvp
    def bessel_j(x: Any) -> Any:
        return _evaluate_orders(x, v)

    @bessel_j.defjvp
    def bessel_j_jvp(primals: Any, tangents: Any) -> Any:
        (x,), (t,) = primals, tangents
        values = _make_bessel_j(v + 1)(x)
        slopes = (values[:v] - values[2:]) / 2 if v else values[:0]
        return values[: v + 1], t * jnp.concatenate([-values[1:2], slopes])

    return bessel_j


def _evaluate_orders(x: Any, v: int) -> Any:
    """Return J_0, …, J_v at any real x, by the method for its range; the module docstring names them."""
    size, bound = abs(x), max(25, v)
    near = size < 0.05
    low, high = where(near, size, 0.0), where(size > bound, where(size < math.inf, size, bound + 1.0), bound + 1.0)
    middle = where(near | ~(size <= bound), 1.0, size)
    result = where(
        near,
        _power_series(low, v),
        where(size <= bound, _backward_recurrence(middle, v, bound), _forward_recurrence(high, v)),
    )
    result = where(size == math.inf, 0.0, where(size == size, result, math.nan))
    order = np.arange(v + 1).reshape(-1, *(1 for _ in x.shape))
    return where((x < 0) & (order % 2 == 1), -result, result)


def _power_series(x: Any, v: int) -> Any:
    """Return J_0, …, J_v near 0, by the power series.

    J_k is (x/2)^k/k! (1 - (x²/4)/(k + 1) (1 - (x²/4)/(2 (k + 2)) (1 - …))).
    """
    half = x / 2
    square = half * half

    def step(power: Any, k: Any) -> tuple[Any, Any]:
        partial = half * 0 + 1
        for j in range(5, 0, -1):
            partial = 1 - square / (j * (k + j)) * partial
        return power * half / (k + 1), power * partial

    _, result = scan(step, half * 0 + 1, exact_array(np.arange(v + 1), x.dtype))
    return result


def _backward_recurrence(x: Any, v: int, bound: int) -> Any:
    """Return J_0, …, J_v for x up to ``bound``, by the recurrence f_(k-1) = 2k/x f_k - f_(k+1).

    It runs down from a high order, and the values are normalized by f_0 + 2 f_2 + 2 f_4 + … = 1.
    """
    start = bound + math.ceil(8 * bound ** (1 / 3)) + 12
    start += start % 2
    large = 2.0**30

    def step(carry: Any, k: Any) -> Any:
        above, current, total, scaled = carry
        below = 2 * k / x * current - above
        big = abs(below) > large
        current, below, total = (where(big, y / large, y) for y in (current, below, total))
        scaled = scaled + where(big, 1.0, 0.0)
        weight = where(k == 1, 1.0, where(k % 2 == 1, 2.0, 0.0))  # of f_(k-1)
        return (current, below, total + weight * below, scaled), (below, scaled)

    zero = x * 0
    orders = exact_array(np.arange(start, 0, -1), x.dtype)
    (_, _, total, scaled), (values, scaled_at) = scan(step, (zero, zero + 1e-10, zero, zero), orders)
    values, scaled_at = values[-1 : -v - 2 : -1], scaled_at[-1 : -v - 2 : -1]
    lag = scaled - scaled_at  # how often the sum was rescaled after this value was stored
    return where(lag > 4, 0.0, values / total * jnp.power(1 / large, where(lag > 4, 4.0, lag)))


def _forward_recurrence(x: Any, v: int) -> Any:
    """Return J_0, …, J_v for large x, by the recurrence f_(k+1) = 2k/x f_k - f_(k-1) up from J_0 and J_1."""

    def step(carry: Any, k: Any) -> tuple[Any, Any]:
        below, current = carry
        return (current, 2 * k / x * current - below), below

    _, result = scan(step, _hankel_expansion(x), exact_array(np.arange(1, v + 2), x.dtype))
    return result


def _hankel_expansion(x: Any) -> tuple[Any, Any]:
    """Return J_0 and J_1 for large x: √(2/(πx)) (P cos(χ) - Q sin(χ)), where χ is x - π/4 or x - 3π/4."""
    c, s = cos(x), sin(x)
    inverse = 1 / x
    square = inverse * inverse
    size = sqrt(inverse / math.pi)
    results = []
    for order, along, across in ((0, c + s, s - c), (1, s - c, -(s + c))):
        terms = [1.0]
        for k in range(1, 16):
            terms.append(terms[-1] * (4 * order**2 - (2 * k - 1) ** 2) / (8 * k))
        p = evaluate_polynomial(square, [(-1) ** k * t for k, t in enumerate(terms[::2])])
        q = inverse * evaluate_polynomial(square, [(-1) ** k * t for k, t in enumerate(terms[1::2])])
        results.append(size * (p * along - q * across))
    return results[0], results[1]
