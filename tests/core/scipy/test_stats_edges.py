"""Distributions at the edges of their places and parameters: zero, one, infinity, large, NaN; against SciPy's.

Where SciPy has NaN, since it does not take parameters, others are as good. Ours is single precision, SciPy's double.
"""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest
import scipy.stats

import xlascope as xs
import xlascope.scipy.stats as ours

inf, nan = np.inf, np.nan
REAL = (-inf, -2.5, -1.0, -0.0, 0.0, 0.5, 1.0, 3.0, 1e30, inf, nan)
COUNTS = (-inf, -1.0, 0.0, 0.5, 1.0, 3.0, 1e7, inf, nan)
SHAPE = (0.0, 0.5, 1.0, 2.0, 1e7, inf)
PART = (0.0, 0.3, 1.0)
TRIALS = (0.0, 1.0, 3.0, 1e7)
ALL = "pdf logpdf cdf logcdf sf logsf"

#: Distributions: the functions, the places, the parameters.
EDGES: dict[str, tuple[str, tuple[float, ...], tuple[tuple[float, ...], ...]]] = {
    **dict.fromkeys(("norm", "expon", "cauchy", "gumbel_r", "gumbel_l"), (ALL, REAL, ())),
    "laplace": ("pdf logpdf cdf", REAL, ()),
    "logistic": ("pdf logpdf cdf sf", REAL, ()),
    "uniform": ("pdf logpdf cdf", REAL, ()),
    **dict.fromkeys(("gamma", "chi2", "pareto"), (ALL, REAL, (SHAPE,))),
    "t": ("pdf logpdf", REAL, (SHAPE,)),
    "gennorm": ("pdf logpdf cdf", REAL, (SHAPE,)),
    "beta": (ALL, REAL, (SHAPE, SHAPE)),
    "truncnorm": (ALL, REAL, ((-inf, -40.0, -1.0, 0.0, 1.0), (-1.0, 0.0, 2.0, 40.0, inf))),
    "vonmises": ("pdf logpdf", (-3.0, 0.0, 1.0, 3.0, nan), (SHAPE,)),
    "wrapcauchy": ("pdf logpdf", (-1.0, 0.0, 1.0, 6.0, 7.0, inf, nan), (PART,)),
    "bernoulli": ("pmf logpmf cdf", COUNTS, (PART,)),
    "binom": ("pmf logpmf", COUNTS, (TRIALS, PART)),
    "betabinom": ("pmf logpmf", COUNTS, (TRIALS, SHAPE, SHAPE)),
    "nbinom": ("pmf logpmf", COUNTS, (SHAPE, PART)),
    "geom": ("pmf logpmf", COUNTS, (PART,)),
    "poisson": ("pmf logpmf cdf", COUNTS, (SHAPE,)),
}
#: SciPy takes logarithms of what is zero in double precision; ours has digits there.
BY_LOGARITHM = {"laplace", "pareto"}
LEAST = -700.0
QUANTILES = ("norm", "expon", "cauchy", "logistic", "gumbel_r", "gumbel_l", "uniform", "pareto")


def _is_left_out(name: str, function: str, place: tuple[float, ...]) -> bool:
    """Tell where ours has none of SciPy's values: point masses."""
    if name != "beta":
        return False
    _, a, b = place
    return function in ("pdf", "logpdf") and inf in (a, b)


@pytest.mark.parametrize("name", EDGES)
def test_values_at_edges_are_those_of_scipy(name: str) -> None:
    functions, places, shapes = EDGES[name]
    points = np.array(list(itertools.product(places, *shapes)), np.float32)
    mine, theirs = getattr(ours, name), getattr(scipy.stats, name)
    found = xs.jit(lambda *x: [getattr(mine, each)(*x) for each in functions.split()])(*points.T)
    for function, values in zip(functions.split(), found, strict=True):
        with np.errstate(all="ignore"):
            wanted = getattr(theirs, function)(*points.T.astype(np.float64)).astype(np.float32)
        if name in BY_LOGARITHM and function.startswith("log"):
            values, wanted = np.maximum(values, LEAST), np.maximum(wanted, LEAST)
        unknown = np.isnan(wanted) & ~np.isnan(points).any(1)
        left_out = unknown | np.array([_is_left_out(name, function, tuple(each)) for each in points.tolist()])
        np.testing.assert_allclose(
            np.where(left_out, 0, values), np.where(left_out, 0, wanted), rtol=2e-4, atol=1e-6, err_msg=function
        )


@pytest.mark.parametrize("name", QUANTILES)
def test_quantiles_at_edges_are_those_of_scipy(name: str) -> None:
    q, shapes = np.array([0.0, 0.5, 1.0, -0.5, 1.5, nan], np.float32), (2.0,) if name == "pareto" else ()
    found = xs.jit(lambda q: getattr(ours, name).ppf(q, *shapes))(q)
    np.testing.assert_allclose(found, getattr(scipy.stats, name).ppf(q.astype(float), *shapes), rtol=1e-6, atol=1e-7)


#: Places and parameters so large that the terms of the logarithm cancel: in single precision jax has errors up to 25.
LARGE: dict[str, list[tuple[float, ...]]] = {
    "poisson": [(k, m) for k in (11, 1e4, 1e7) for m in (k, 1.02 * k, 3 * k)],
    "gamma": [(x, a) for a in (11, 1e4, 1e7) for x in (a, 1.02 * a, 3 * a)],
    "beta": [(x, a, b) for a, b in ((11, 12), (1e4, 2e3), (1e7, 1e7)) for x in (a / (a + b), 0.1, 0.9)],
    "binom": [(n * part, n, p) for n in (30, 1e5, 1e7) for part in (0.1, 0.5, 0.9) for p in (0.1, 0.49, 0.9)],
    "nbinom": [(k, n, p) for n in (12, 1e5, 1e7) for k in (11, 1e3, 1e6) for p in (0.1, 0.5, 0.9)],
    "betabinom": [(k, n, a, b) for k, n in ((0, 1), (1, 3), (20, 100)) for a in (11, 1e7) for b in (20, 1e4, 1e7)],
    "t": [(x, df) for df in (0.5, 100, 1e7, inf) for x in (0, 1, -3, 1e4)] + [(1e30, 0.5), (1e30, 1.0)],
}


@pytest.mark.parametrize("name", LARGE)
def test_large_parameters_have_their_digits(name: str) -> None:
    function = "logpdf" if name in ("gamma", "beta", "t") else "logpmf"
    operands = np.array(LARGE[name], np.float32).T
    logarithm, wanted = getattr(getattr(ours, name), function), getattr(getattr(scipy.stats, name), function)
    found = xs.jit(logarithm)(*operands)
    np.testing.assert_allclose(found, wanted(*operands.astype(np.float64)), rtol=2e-5, atol=2e-5)


#: Derivatives where a term is 0 log(0), or a parameter infinite: function of one number, the place, the derivative.
DERIVATIVES: dict[str, tuple[Any, float, float]] = {
    "binom, none": (lambda p: ours.binom.logpmf(0, 3, p), 0.0, -3.0),
    "binom, all": (lambda p: ours.binom.logpmf(3, 3, p), 1.0, 3.0),
    "bernoulli": (lambda p: ours.bernoulli.logpmf(0, p), 0.0, -1.0),
    "poisson": (lambda m: ours.poisson.logpmf(0, m), 0.0, -1.0),
    "gamma": (lambda x: ours.gamma.logpdf(x, 1.0), 0.0, -1.0),
    "beta": (lambda x: ours.beta.logpdf(x, 1.0, 2.0), 0.0, -1.0),
    "vonmises": (lambda k: ours.vonmises.logpdf(1.0, k), 0.0, float(np.cos(1.0))),
    "t, normal": (lambda x: ours.t.logpdf(x, inf), 2.0, -2.0),
    "t, far": (lambda x: ours.t.logpdf(x, 1.0), 1e30, -2e-30),
    "cauchy, far": (ours.cauchy.logpdf, -1e30, 2e-30),
    "truncnorm, from": (lambda a: ours.truncnorm.logpdf(-2.0, a, -1.0), -inf, 0.0),
    "truncnorm, to": (lambda b: ours.truncnorm.logpdf(2.0, 1.0, b), inf, 0.0),
}


@pytest.mark.parametrize("name", DERIVATIVES)
def test_derivatives_at_edges_are_numbers(name: str) -> None:
    """Those of jax are NaN, or 0 far out."""
    function, place, wanted = DERIVATIVES[name]
    np.testing.assert_allclose(xs.grad(function)(place), wanted, rtol=1e-5)
    np.testing.assert_allclose(xs.jit(xs.jacfwd(function))(place), wanted, rtol=1e-5)
