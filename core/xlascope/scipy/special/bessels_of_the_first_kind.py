"""The Bessel functions J_0, J_1, … of whole order.

Up to a bound, J. C. P. Miller's backward recurrence (Abramowitz and Stegun, 9.12), scaled down where it grows; beyond,
where the order is the smaller, the forward one from J_0 and J_1, which have Hankel's asymptotic expansion (DLMF
10.17.3). Near 0 the power series.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ... import numpy as jnp
from ...control.flow.loops import scan
from ...control.rules.custom_jvp import custom_jvp
from ...numpy.logic import where
from ...numpy.together import together
from ...operations.arithmetic import abs
from ...operations.exponentials import sqrt
from ...operations.trigonometry import cos, sin
from ...operations.whole_numbers import whole_number
from .wide import polynomial, real, widened


def bessel_jn(z: Any, *, v: int, n_iter: int = 50) -> Any:
    """The Bessel functions of the first kind of orders 0, 1, …, ``v`` at real ``z``, of shape ``(v + 1, *z.shape)``.

    In the floating-point dtype of ``z``. ``v`` is a Python integer (TypeError), ``n_iter`` is accepted and not needed:
    the recurrence starts where ``v`` and the dtype ask for it. Raises ValueError for complex numbers. The derivative
    is (J_(k-1) - J_(k+1))/2.

    >>> import xlascope.scipy.special as sp
    >>> print(f"{sp.bessel_jn(1.0, v=1)[1]:.5f}")
    0.44005
    """
    return _bessel_jn(z, max(-1, whole_number(v, "v of bessel_jn")))


@together("v")
def _bessel_jn(z: Any, v: int) -> Any:
    (x,) = real("bessel_jn", z)
    if v < 0:
        return jnp.zeros((0, *x.shape), x.dtype)
    return widened(lambda y: _orders(v)(y), x)


def _orders(v: int) -> Any:
    @custom_jvp
    def functions(x: Any) -> Any:
        return _values(x, v)

    @functions.defjvp
    def functions_jvp(primals: Any, tangents: Any) -> Any:
        (x,), (t,) = primals, tangents
        more = _orders(v + 1)(x)
        rest = (more[:v] - more[2:]) / 2 if v else more[:0]
        return more[: v + 1], t * jnp.concatenate([-more[1:2], rest])

    return functions


def _values(x: Any, v: int) -> Any:
    size, bound = abs(x), max(25, v)
    near = size < 0.05
    low, high = where(near, size, 0.0), where(size > bound, where(size < math.inf, size, bound + 1.0), bound + 1.0)
    middle = where(near | ~(size <= bound), 1.0, size)
    found = where(near, _power_series(low, v), where(size <= bound, _backward(middle, v, bound), _forward(high, v)))
    found = where(size == math.inf, 0.0, where(size == size, found, math.nan))
    order = np.arange(v + 1).reshape(-1, *(1 for _ in x.shape))
    return where((x < 0) & (order % 2 == 1), -found, found)


def _power_series(x: Any, v: int) -> Any:
    """(x/2)^k/k! (1 - (x²/4)/(k + 1) (1 - (x²/4)/(2 (k + 2)) (1 - …)))."""
    half = x / 2
    square = half * half

    def step(power: Any, k: Any) -> tuple[Any, Any]:
        made = half * 0 + 1
        for j in range(5, 0, -1):
            made = 1 - square / (j * (k + j)) * made
        return power * half / (k + 1), power * made

    _, found = scan(step, half * 0 + 1, np.arange(v + 1).astype(x.dtype))
    return found


def _backward(x: Any, v: int, bound: int) -> Any:
    """From a high order down, f_(k-1) = 2k/x f_k - f_(k+1), normalized by f_0 + 2 f_2 + 2 f_4 + … = 1."""
    start = bound + math.ceil(8 * bound ** (1 / 3)) + 12
    start += start % 2
    large = 2.0**30

    def step(carry: Any, k: Any) -> Any:
        above, here, total, scaled = carry
        below = 2 * k / x * here - above
        big = abs(below) > large
        here, below, total = (where(big, y / large, y) for y in (here, below, total))
        scaled = scaled + where(big, 1.0, 0.0)
        weight = where(k == 1, 1.0, where(k % 2 == 1, 2.0, 0.0))  # of f_(k-1)
        return (here, below, total + weight * below, scaled), (below, scaled)

    zero = x * 0
    orders = np.arange(start, 0, -1).astype(x.dtype)
    (_, _, total, scaled), (values, at) = scan(step, (zero, zero + 1e-10, zero, zero), orders)
    values, at = values[-1 : -v - 2 : -1], at[-1 : -v - 2 : -1]
    behind = scaled - at  # how often a value was not scaled that the sum was
    return where(behind > 4, 0.0, values / total * jnp.power(1 / large, where(behind > 4, 4.0, behind)))


def _forward(x: Any, v: int) -> Any:
    """From J_0 and J_1 up."""

    def step(carry: Any, k: Any) -> tuple[Any, Any]:
        below, here = carry
        return (here, 2 * k / x * here - below), below

    _, found = scan(step, _hankel(x), np.arange(1, v + 2).astype(x.dtype))
    return found


def _hankel(x: Any) -> tuple[Any, Any]:
    """J_0 and J_1 for large x, √(2/(πx)) (P cos(χ) - Q sin(χ)), where χ is x less π/4 or 3π/4."""
    c, s = cos(x), sin(x)
    inverse = 1 / x
    square = inverse * inverse
    size = sqrt(inverse / math.pi)
    both = []
    for order, along, across in ((0, c + s, s - c), (1, s - c, -(s + c))):
        terms = [1.0]
        for k in range(1, 16):
            terms.append(terms[-1] * (4 * order**2 - (2 * k - 1) ** 2) / (8 * k))
        p = polynomial(square, [(-1) ** k * t for k, t in enumerate(terms[::2])])
        q = inverse * polynomial(square, [(-1) ** k * t for k, t in enumerate(terms[1::2])])
        both.append(size * (p * along - q * across))
    return both[0], both[1]
