"""The rows of the distributions of scipy.stats: their densities, tails and quantiles by formulas in many digits."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import mpmath as mp
from tests.core.scipy.accuracy import Range, Row, counts, over, scales
from tests.core.scipy.accuracy_of_special import _ndtri

Function = Callable[..., Any]
REAL, POSITIVE, UNIT, SHAPE = over(-12, 12), scales(1e-3, 40), over(0, 1), over(0.2, 6)


def _gennorm_sf(x: Any, beta: Any) -> Any:
    return mp.gammainc(1 / beta, abs(x) ** beta, regularized=True) / 2


def _phi(low: Any, high: Any) -> Any:
    """What the normal distribution has between two numbers."""
    return mp.ncdf(high) - mp.ncdf(low) if low < 0 else mp.ncdf(-low) - mp.ncdf(-high)


def _beta_pdf(x: Any, a: Any, b: Any) -> Any:
    return x ** (a - 1) * (1 - x) ** (b - 1) / mp.beta(a, b)


def _gamma_pdf(x: Any, a: Any) -> Any:
    return x ** (a - 1) * mp.exp(-x) / mp.gamma(a)


def _t_pdf(x: Any, df: Any) -> Any:
    scale = mp.gamma((df + 1) / 2) / (mp.sqrt(df * mp.pi) * mp.gamma(df / 2))
    return scale * (1 + x * x / df) ** (-(df + 1) / 2)


def _gumbel(x: Any) -> Any:
    return mp.exp(-x - mp.exp(-x))


#: The places and shapes of a distribution, and its density, distribution function, the rest of it, and quantiles.
CONTINUOUS: dict[str, tuple[tuple[Range, ...], dict[str, Function]]] = {
    "norm": ((REAL,), {"pdf": mp.npdf, "cdf": mp.ncdf, "sf": lambda x: mp.ncdf(-x), "ppf": _ndtri, "isf": lambda p: -_ndtri(p)}),
    "expon": ((POSITIVE,), {"pdf": lambda x: mp.exp(-x), "cdf": lambda x: -mp.expm1(-x), "sf": lambda x: mp.exp(-x), "ppf": lambda p: -mp.log1p(-p)}),
    "cauchy": ((over(-90, 90),), {"pdf": lambda x: 1 / (mp.pi * (1 + x * x)), "cdf": lambda x: 0.5 + mp.atan(x) / mp.pi, "sf": lambda x: 0.5 - mp.atan(x) / mp.pi, "ppf": lambda p: mp.tan(mp.pi * (p - 0.5)), "isf": lambda p: mp.tan(mp.pi * (0.5 - p))}),
    "laplace": ((REAL,), {"pdf": lambda x: mp.exp(-abs(x)) / 2, "cdf": lambda x: mp.exp(x) / 2 if x < 0 else 1 - mp.exp(-x) / 2}),
    "logistic": ((over(-40, 40),), {"pdf": lambda x: mp.exp(-x) / (1 + mp.exp(-x)) ** 2, "cdf": lambda x: 1 / (1 + mp.exp(-x)), "sf": lambda x: 1 / (1 + mp.exp(x)), "ppf": lambda p: mp.log(p / (1 - p)), "isf": lambda p: mp.log((1 - p) / p)}),
    "gumbel_r": ((over(-4, 40),), {"pdf": _gumbel, "cdf": lambda x: mp.exp(-mp.exp(-x)), "sf": lambda x: -mp.expm1(-mp.exp(-x)), "ppf": lambda p: -mp.log(-mp.log(p))}),
    "gumbel_l": ((over(-40, 4),), {"pdf": lambda x: _gumbel(-x), "cdf": lambda x: -mp.expm1(-mp.exp(x)), "sf": lambda x: mp.exp(-mp.exp(x)), "ppf": lambda p: mp.log(-mp.log1p(-p))}),
    "gamma": ((POSITIVE, SHAPE), {"pdf": _gamma_pdf, "cdf": lambda x, a: mp.gammainc(a, 0, x, regularized=True), "sf": lambda x, a: mp.gammainc(a, x, regularized=True)}),
    "chi2": ((POSITIVE, SHAPE), {"pdf": lambda x, k: _gamma_pdf(x / 2, k / 2) / 2, "cdf": lambda x, k: mp.gammainc(k / 2, 0, x / 2, regularized=True), "sf": lambda x, k: mp.gammainc(k / 2, x / 2, regularized=True)}),
    "t": ((over(-40, 40), SHAPE), {"pdf": _t_pdf}),
    "pareto": ((scales(1.001, 60), SHAPE), {"pdf": lambda x, b: b * x ** (-b - 1), "cdf": lambda x, b: 1 - x**-b, "sf": lambda x, b: x**-b, "ppf": lambda p, b: (1 - p) ** (-1 / b)}),
    "beta": ((UNIT, SHAPE, SHAPE), {"pdf": _beta_pdf, "cdf": lambda x, a, b: mp.betainc(a, b, 0, x, regularized=True), "sf": lambda x, a, b: mp.betainc(a, b, x, 1, regularized=True)}),
    "truncnorm": ((over(-1, 2), over(-8, -1), over(2, 8)), {"pdf": lambda x, a, b: mp.npdf(x) / _phi(a, b), "cdf": lambda x, a, b: _phi(a, x) / _phi(a, b), "sf": lambda x, a, b: _phi(x, b) / _phi(a, b)}),
    "gennorm": ((REAL, over(0.5, 4)), {"pdf": lambda x, b: b / (2 * mp.gamma(1 / b)) * mp.exp(-(abs(x) ** b)), "cdf": lambda x, b: _gennorm_sf(x, b) if x < 0 else 1 - _gennorm_sf(x, b)}),
    "vonmises": ((over(-3.1, 3.1), scales(0.1, 300)), {"pdf": lambda x, k: mp.exp(k * mp.cos(x)) / (2 * mp.pi * mp.besseli(0, k))}),
    "wrapcauchy": ((over(0, 6.2), over(0.05, 0.95)), {"pdf": lambda x, c: (1 - c * c) / (2 * mp.pi * (1 + c * c - 2 * c * mp.cos(x)))}),
}  # fmt: skip
DISCRETE: dict[str, tuple[tuple[Range, ...], dict[str, Function]]] = {
    "bernoulli": ((counts(0, 2), UNIT), {"pmf": lambda k, p: p if k else 1 - p}),
    "binom": ((counts(0, 12), counts(12, 60), UNIT), {"pmf": lambda k, n, p: mp.binomial(n, k) * p**k * (1 - p) ** (n - k)}),
    "betabinom": ((counts(0, 12), counts(12, 60), SHAPE, SHAPE), {"pmf": lambda k, n, a, b: mp.binomial(n, k) * mp.beta(k + a, n - k + b) / mp.beta(a, b)}),
    "nbinom": ((counts(0, 30), SHAPE, UNIT), {"pmf": lambda k, n, p: mp.gamma(k + n) / mp.gamma(n) / mp.factorial(k) * p**n * (1 - p) ** k}),
    "geom": ((counts(1, 30), UNIT), {"pmf": lambda k, p: p * (1 - p) ** (k - 1)}),
    "poisson": ((counts(0, 40), scales(0.1, 60)), {"pmf": lambda k, m: mp.exp(-m) * m**k / mp.factorial(k), "cdf": lambda k, m: mp.gammainc(k + 1, m, regularized=True)}),
}  # fmt: skip
LOGARITHMS = {"logpdf": "pdf", "logpmf": "pmf", "logcdf": "cdf", "logsf": "sf"}
#: Logarithms that JAX does not have.
WITHOUT = {"laplace": ("logcdf",), "logistic": ("logcdf", "logsf"), "gennorm": ("logcdf",), "poisson": ("logcdf",)}


def _logarithm(function: Function) -> Function:
    return lambda *x: mp.log(function(*x))


def rows() -> dict[str, Row]:
    """By the names of distributions and functions."""
    found = {}
    for name, (ranges, functions) in {**CONTINUOUS, **DISCRETE}.items():
        logarithms = {
            logarithm: _logarithm(functions[of])
            for logarithm, of in LOGARITHMS.items()
            if of in functions and logarithm not in WITHOUT.get(name, ())
        }
        for each, reference in {**functions, **logarithms}.items():
            operands = (UNIT, *ranges[1:]) if each in ("ppf", "isf") else ranges
            places = ", ".join("abcd"[: len(operands)])
            found[f"{name}.{each}"] = Row(f"stats.{name}.{each}({places})", reference, operands)
    return found
