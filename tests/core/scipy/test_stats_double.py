"""Distributions in double precision against SciPy's, and the derivatives of their logarithms by differences."""

from typing import Any

import numpy as np
import pytest
import scipy.stats

import xlascope as xs
import xlascope.scipy.stats as ours
from xlascope import settings

RANDOM = np.random.default_rng(17)
POINTS = RANDOM.uniform(0.05, 0.95, 24)
REAL = RANDOM.normal(size=24) * 3
POSITIVE = np.exp(RANDOM.normal(size=24))
COUNTS = RANDOM.integers(0, 8, 24)

#: Distributions: the points, their shape parameters, the functions.
CONTINUOUS: dict[str, tuple[np.ndarray, tuple[float, ...], str]] = {
    "norm": (REAL, (), "pdf logpdf cdf logcdf sf logsf"),
    "expon": (POSITIVE, (), "pdf logpdf cdf logcdf sf logsf"),
    "cauchy": (REAL, (), "pdf logpdf cdf logcdf sf logsf"),
    "laplace": (REAL, (), "pdf logpdf cdf"),
    "logistic": (REAL, (), "pdf logpdf cdf sf"),
    "gumbel_r": (REAL, (), "pdf logpdf cdf logcdf sf logsf"),
    "gumbel_l": (-REAL, (), "pdf logpdf cdf logcdf sf logsf"),
    "uniform": (POINTS, (), "pdf logpdf cdf"),
    "gamma": (POSITIVE, (1.7,), "pdf logpdf cdf logcdf sf logsf"),
    "chi2": (POSITIVE, (3.5,), "pdf logpdf cdf logcdf sf logsf"),
    "t": (REAL, (4.5,), "pdf logpdf"),
    "pareto": (POSITIVE + 1, (2.5,), "pdf logpdf cdf logcdf sf logsf"),
    "beta": (POINTS, (1.5, 2.5), "pdf logpdf cdf logcdf sf logsf"),
    "truncnorm": (POINTS * 3 - 1.5, (-1.5, 2.0), "pdf logpdf cdf logcdf sf logsf"),
    "gennorm": (REAL, (1.3,), "pdf logpdf cdf"),
    "vonmises": (REAL / 4, (2.0,), "pdf logpdf"),
    "wrapcauchy": (POINTS * 6, (0.4,), "pdf logpdf"),
}
INVERSE = ("norm", "expon", "cauchy", "logistic", "gumbel_r", "gumbel_l", "uniform", "pareto")
DISCRETE: dict[str, tuple[float, ...]] = {
    "bernoulli": (0.3,),
    "binom": (9, 0.3),
    "betabinom": (9, 1.5, 2.5),
    "nbinom": (2.5, 0.4),
    "geom": (0.3,),
    "poisson": (3.5,),
}


@pytest.mark.parametrize("name", CONTINUOUS)
def test_continuous_distributions(name: str) -> None:
    points, shapes, functions = CONTINUOUS[name]
    mine, wanted = getattr(ours, name), getattr(scipy.stats, name)
    names = functions.split() + (["ppf"] if name in INVERSE else [])

    def all_of(x: Any, p: Any) -> list[Any]:
        return [getattr(mine, f)(p if f == "ppf" else x, *shapes) for f in names]

    with settings.enable_x64():
        found = xs.jit(all_of)(points, POINTS)
    for function, values in zip(names, found, strict=True):
        assert values.dtype == np.float64
        expected = getattr(wanted, function)(POINTS if function == "ppf" else points, *shapes)
        np.testing.assert_allclose(values, expected, rtol=4e-12, atol=1e-14, err_msg=function)


@pytest.mark.parametrize("name", CONTINUOUS)
def test_derivatives_of_densities(name: str) -> None:
    points, shapes, _ = CONTINUOUS[name]
    h = 1e-5
    wanted = getattr(scipy.stats, name).logpdf
    with settings.enable_x64():
        found = xs.grad(lambda x: getattr(ours, name).logpdf(x, *shapes).sum())(points)
    slope = (wanted(points + h, *shapes) - wanted(points - h, *shapes)) / (2 * h)
    np.testing.assert_allclose(found, slope, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("name", DISCRETE)
def test_discrete_distributions(name: str) -> None:
    shapes = DISCRETE[name]
    mine, wanted = getattr(ours, name), getattr(scipy.stats, name)
    with settings.enable_x64():
        found, logarithm = xs.jit(lambda k: (mine.pmf(k, *shapes), mine.logpmf(k, *shapes)))(COUNTS)
    np.testing.assert_allclose(found, wanted.pmf(COUNTS, *shapes), rtol=4e-12, atol=1e-15)
    np.testing.assert_allclose(logarithm, wanted.logpmf(COUNTS, *shapes), rtol=4e-12, atol=1e-13)
