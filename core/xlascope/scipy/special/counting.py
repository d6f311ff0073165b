"""Numbers of combinations, and Bernoulli's numbers."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np

from ... import numpy as jnp
from ...numpy.axes import whole_number
from ...numpy.together import together
from ...operations.barriers import stop_gradient
from ...trace.source import here
from ..arguments import epsilon, floats
from .gammas import betaln


def bernoulli(n: int) -> Any:
    """Bernoulli's numbers up to that of order ``n``, shape ``(n + 1,)``, of which that of order 1 is -1/2.

    They are computed as fractions, and rounded once. Raises ValueError for negative ``n``.

    >>> import xlascope.scipy.special as sp
    >>> print(sp.bernoulli(2))
    [ 1.         -0.5         0.16666667]
    """
    order = whole_number(n, "n of bernoulli")
    if order < 0:
        raise ValueError(f"n of bernoulli must be a non-negative integer, got {order}{here()}")
    found: list[Fraction] = []
    for m in range(order + 1):
        if m > 1 and m % 2:
            found.append(Fraction(0))
            continue
        known = sum((math.comb(m + 1, k) * b for k, b in enumerate(found) if b), Fraction(0))
        found.append(Fraction(1) if m == 0 else -known / (m + 1))
    return jnp.asarray(np.array([_float(b) for b in found]), dtype=float)


def _float(value: Fraction) -> float:
    try:
        return float(value)
    except OverflowError:
        return math.copysign(math.inf, value)


def comb(N: Any, k: Any, *, repetition: bool = False) -> Any:
    """The number of ways to choose ``k`` of ``N`` things, as floats; with ``repetition`` each as often as one likes.

    It is 0 for negative arguments and ``k`` above ``N``. Of whole arguments it is a whole number, as far as the dtype
    tells these apart; between them Γ(N + 1) / (Γ(k + 1) Γ(N - k + 1)).

    >>> import xlascope.scipy.special as sp
    >>> print(sp.comb(5, 2))
    10.0
    """
    return _comb(N, k, repetition=bool(repetition))


@together("repetition")
def _comb(n: Any, k: Any, *, repetition: bool) -> Any:
    n, k = floats(n, k)
    if repetition:
        n = jnp.where((n == 0) & (k == 0), 1, n + k - 1)
    none = (k < 0) | (n < 0) | (k > n)
    n, k = jnp.where(none, 1, n), jnp.where(none, 1, k)
    n, k = jnp.broadcast_arrays(n, k)
    found = jnp.exp(-betaln(n - k + 1, k + 1) - jnp.log1p(n))
    whole = (n == jnp.floor(n)) & (k == jnp.floor(k)) & (found * epsilon(found.dtype) < 1e-2)
    exact = found + stop_gradient(jnp.round(found) - found)
    return jnp.where(none, 0, jnp.where(whole, exact, found))
