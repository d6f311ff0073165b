"""Shared numerics of special functions: operands in at least single precision, and evaluation of Chebyshev series."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ...dtypes import finfo
from ...numpy.logic import where
from ...operations.arithmetic import abs
from ...operations.conversion import to_dtype
from ...operations.exponentials import exp, expm1
from ...operations.formula_operations import compute_in_double
from ...operations.rounding import floor
from ...trace.source import here
from ..arguments import promote_args_inexact, to_strong_type


def promote_real_args(name: str, *xs: Any, error: type[Exception] = ValueError) -> list[Any]:
    """Return arrays in a common real dtype; raise ``error`` for complex ones.

    ``name`` is the function's name, for the message.
    """
    arrays = [to_strong_type(x) for x in promote_args_inexact(*xs)]
    if arrays[0].dtype.kind == "c":
        raise error(f"{name} takes real numbers, got dtype {arrays[0].dtype}{here()}")
    return arrays


def evaluate_at_least_float32(function: Callable[..., Any], *xs: Any) -> Any:
    """Evaluate a function of arrays of one dtype in at least single precision; return results in that dtype."""
    dtype = xs[0].dtype
    if dtype.itemsize >= 4:
        return function(*xs)
    result = function(*(x.astype(np.float32) for x in xs))
    return tuple(to_dtype(y, dtype) for y in result) if isinstance(result, tuple) else to_dtype(result, dtype)


def evaluate_in_double(formula: Callable[..., Any], *xs: Any, results: int = 1) -> list[Any]:
    """Return the results of an elementwise formula that is computed in double precision.

    Arrays of float32 are converted to float64 for it and the results are rounded once. ``formula`` gets the arrays and
    the relative error that it may leave; it returns ``results`` arrays. It is not differentiable for float32: the
    caller defines a derivative rule.
    """
    if xs[0].dtype == np.float32:
        return compute_in_double(formula, *xs, results=results)
    result = formula(*xs, epsilon_of(xs[0]) / 16)
    return list(result) if results > 1 else [result]


def epsilon_of(x: Any) -> float:
    """Return the machine epsilon of the dtype of ``x``."""
    return float(finfo(x.dtype).eps)


def evaluate_chebyshev(t: Any, coefficients: tuple[float, ...]) -> Any:
    """Return the Chebyshev series Σ c_k T_k(t) for t in [-1, 1], truncated to the precision of the dtype."""
    return evaluate_polynomial(t, _to_monomial_coefficients(coefficients, epsilon_of(t)))


@functools.lru_cache(maxsize=256)
def _to_monomial_coefficients(coefficients: tuple[float, ...], epsilon: float) -> tuple[float, ...]:
    """Return the coefficients of powers of t of a Chebyshev series, without terms below the precision ``epsilon``."""
    magnitudes, count = np.abs(coefficients), len(coefficients)
    while count > 1 and magnitudes[count - 1 :].sum() < epsilon / 16 * magnitudes.max():
        count -= 1
    return tuple(np.polynomial.chebyshev.cheb2poly(coefficients[:count]).tolist())


def evaluate_chebyshev_on(x: Any, low: float, high: float, coefficients: tuple[float, ...]) -> Any:
    """Return the Chebyshev series of a function on [low, high] at x; outside, its value at the nearer end."""
    half = (high - low) / 2
    t = (x - (low + half)) / half
    return evaluate_chebyshev(where(t > 1, 1.0, where(t < -1, -1.0, t)), coefficients)


def evaluate_polynomial(t: Any, coefficients: Sequence[float]) -> Any:
    """Return the polynomial Σ c_k t^k, by Horner's scheme."""
    value = t * 0 + coefficients[-1]
    for c in reversed(coefficients[:-1]):
        value = value * t + c
    return value


def where_or_safe(x: Any, condition: Any, safe_value: float) -> Any:
    """Return ``x`` where the condition holds, elsewhere ``safe_value``, at which an unused branch stays finite."""
    return where(condition, x, safe_value)


def exp_of_square(x: Any, sign: float) -> Any:
    """Return exp(sign x²), compensated for the rounding of x².

    With x = m + r, x² = m² + (x + m) r, where m² is exact. One of the factors is 1 + expm1, since compilers merge
    two exponentials into one.
    """
    steps = 2.0**4 if epsilon_of(x) > 1e-10 else 2.0**18
    bounded = where(abs(x) < 64, x, where(x == x, 64.0, x))
    m = floor(bounded * steps + 0.5) / steps
    return exp(sign * m * m) * (1 + expm1(sign * (bounded - m) * (bounded + m)))
