"""What the fitted functions share: operands in at least single precision, and the evaluation of their fits."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ...dtypes import finfo
from ...numpy.logic import where
from ...operations.arithmetic import abs
from ...operations.computed import doubled
from ...operations.exponentials import exp, expm1
from ...operations.rounding import floor
from ...trace.source import here
from ..arguments import floats, strong


def real(name: str, *xs: Any, error: type[Exception] = ValueError) -> list[Any]:
    """Arrays of one real floating-point dtype, whose shapes fit; raises ``error`` for complex ones."""
    made = [strong(x) for x in floats(*xs)]
    if made[0].dtype.kind == "c":
        raise error(f"{name} takes real numbers, got dtype {made[0].dtype}{here()}")
    return made


def widened(function: Callable[..., Any], *xs: Any) -> Any:
    """A function of arrays of one dtype, computed in at least single precision."""
    dtype = xs[0].dtype
    if dtype.itemsize >= 4:
        return function(*xs)
    made = function(*(x.astype(np.float32) for x in xs))
    return tuple(y.astype(dtype) for y in made) if isinstance(made, tuple) else made.astype(dtype)


def exactly(formula: Callable[..., Any], *xs: Any, results: int = 1) -> list[Any]:
    """The results of an elementwise formula that is computed in double precision.

    Arrays of float32 are converted for it and the results rounded once, where steps in single precision would lose
    digits. Its last argument is the relative error that it may leave. It is called where a rule says the derivative.
    """
    if xs[0].dtype == np.float32:
        return doubled(formula, *xs, results=results)
    made = formula(*xs, digits(xs[0]) / 16)
    return list(made) if results > 1 else [made]


def digits(x: Any) -> float:
    """The distance from 1 to the next number of the dtype of ``x``."""
    return float(finfo(x.dtype).eps)


def fit(t: Any, coefficients: tuple[float, ...]) -> Any:
    """The sum of Chebyshev polynomials Σ c_k T_k(t) for t in [-1, 1], with as many terms as the dtype can tell."""
    return polynomial(t, _powers(coefficients, digits(t)))


@functools.lru_cache(maxsize=256)
def _powers(coefficients: tuple[float, ...], epsilon: float) -> tuple[float, ...]:
    """The same polynomial by powers of t, without what stays below an eighth of the smallest digit."""
    size, left = np.abs(coefficients), len(coefficients)
    while left > 1 and size[left - 1 :].sum() < epsilon / 16 * size.max():
        left -= 1
    return tuple(np.polynomial.chebyshev.cheb2poly(coefficients[:left]).tolist())


def fit_on(x: Any, low: float, high: float, coefficients: tuple[float, ...]) -> Any:
    """The fit of a function on [low, high]; outside of that, its value at the nearer end."""
    half = (high - low) / 2
    t = (x - (low + half)) / half
    return fit(where(t > 1, 1.0, where(t < -1, -1.0, t)), coefficients)


def polynomial(t: Any, coefficients: Sequence[float]) -> Any:
    """The polynomial Σ c_k t^k, by Horner's scheme."""
    made = t * 0 + coefficients[-1]
    for c in reversed(coefficients[:-1]):
        made = made * t + c
    return made


def inside(x: Any, holds: Any, value: float) -> Any:
    """``x`` where that holds, and elsewhere a number at which a branch that is not taken is finite."""
    return where(holds, x, value)


def exp_of_square(x: Any, sign: float) -> Any:
    """exp(sign x²), where what x² loses to rounding is put back: x = m + r, x² = m² + (x + m) r, m² exact.

    One of the factors is 1 + expm1, since compilers make one exponential of two.
    """
    steps = 2.0**4 if digits(x) > 1e-10 else 2.0**18
    bounded = where(abs(x) < 64, x, where(x == x, 64.0, x))
    m = floor(bounded * steps + 0.5) / steps
    return exp(sign * m * m) * (1 + expm1(sign * (bounded - m) * (bounded + m)))
