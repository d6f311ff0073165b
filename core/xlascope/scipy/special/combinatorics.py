"""Binomial coefficients, and Bernoulli numbers."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np

from ... import numpy as jnp
from ...numpy.axes import whole_number
from ...numpy.jit_wrapped import jit_wrapped
from ...operations.barriers import stop_gradient
from ...trace.source import here
from ..arguments import machine_epsilon, promote_args_inexact
from .gamma_functions import betaln


def bernoulli(n: int) -> Any:
    """Return the Bernoulli numbers up to that of order ``n``, shape ``(n + 1,)``; that of order 1 is -1/2.

    They are computed as fractions and rounded once. Raises ValueError for negative ``n``.

    >>> import xlascope.scipy.special as sp
    >>> print(sp.bernoulli(2))
    [ 1.         -0.5         0.16666667]
    """
    order = whole_number(n, "n of bernoulli")
    if order < 0:
        raise ValueError(f"n of bernoulli must be a non-negative integer, got {order}{here()}")
    numbers: list[Fraction] = []
    for m in range(order + 1):
        if m > 1 and m % 2:
            numbers.append(Fraction(0))
            continue
        partial_sum = sum((math.comb(m + 1, k) * b for k, b in enumerate(numbers) if b), Fraction(0))
        numbers.append(Fraction(1) if m == 0 else -partial_sum / (m + 1))
    return jnp.asarray(np.array([_to_float(b) for b in numbers]), dtype=float)


def _to_float(value: Fraction) -> float:
    try:
        return float(value)
    except OverflowError:
        return math.copysign(math.inf, value)


def comb(N: Any, k: Any, *, repetition: bool = False) -> Any:
    """Return the number of ways to choose ``k`` of ``N`` items, as floats; with ``repetition`` items may repeat.

    It is 0 for negative arguments and for ``k`` above ``N``. For integer arguments it is rounded to an integer as
    long as the dtype resolves integers; between them it is Γ(N + 1) / (Γ(k + 1) Γ(N - k + 1)).

    >>> import xlascope.scipy.special as sp
    >>> print(sp.comb(5, 2))
    10.0
    """
    return _comb(N, k, repetition=bool(repetition))


@jit_wrapped("repetition")
def _comb(n: Any, k: Any, *, repetition: bool) -> Any:
    n, k = promote_args_inexact(n, k)
    if repetition:
        n = jnp.where((n == 0) & (k == 0), 1, n + k - 1)
    is_zero = (k < 0) | (n < 0) | (k > n)
    n, k = jnp.where(is_zero, 1, n), jnp.where(is_zero, 1, k)
    n, k = jnp.broadcast_arrays(n, k)
    approximate = jnp.exp(-betaln(n - k + 1, k + 1) - jnp.log1p(n))
    is_exact = (n == jnp.floor(n)) & (k == jnp.floor(k)) & (approximate * machine_epsilon(approximate.dtype) < 1e-2)
    exact = approximate + stop_gradient(jnp.round(approximate) - approximate)
    return jnp.where(is_zero, 0, jnp.where(is_exact, exact, approximate))
