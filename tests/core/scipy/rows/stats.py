"""Distributions and statistics."""

import runpy
from pathlib import Path

_LOC = ["", ", 0.5, 2", ", loc=i, scale=y"]
#: Functions of (x, shapes…, loc, scale): their shapes, and the names of functions.
_CONTINUOUS = {
    "norm": ("", "pdf logpdf cdf logcdf sf logsf ppf isf"),
    "expon": ("", "pdf logpdf cdf logcdf sf logsf ppf"),
    "cauchy": ("", "pdf logpdf cdf logcdf sf logsf ppf isf"),
    "laplace": ("", "pdf logpdf cdf"),
    "logistic": ("", "pdf logpdf cdf sf ppf isf"),
    "gumbel_r": ("", "pdf logpdf cdf logcdf sf logsf ppf"),
    "gumbel_l": ("", "pdf logpdf cdf logcdf sf logsf ppf"),
    "uniform": ("", "pdf logpdf cdf ppf"),
    "gamma": (", y", "pdf logpdf cdf logcdf sf logsf"),
    "chi2": (", k", "pdf logpdf cdf logcdf sf logsf"),
    "t": (", y", "pdf logpdf"),
    "pareto": (", y", "pdf logpdf cdf logcdf sf logsf ppf"),
    "beta": (", y, 2", "pdf logpdf cdf logcdf sf logsf"),
    "truncnorm": (", -y, y", "pdf logpdf cdf logcdf sf logsf"),
}
#: Functions of discrete variables.
_DISCRETE = {
    "bernoulli": ", p",
    "binom": ", 4, p",
    "betabinom": ", k, y, 2.5",
    "nbinom": ", y, p",
    "geom": ", p",
    "poisson": ", y",
}


def _table() -> list[str]:
    found = []
    for name, (shapes, functions) in _CONTINUOUS.items():
        for function in functions.split():
            points = "pq" if function in ("ppf", "isf") else "xy"
            found += [f"ss.{name}.{function}({points[j > 0]}{shapes}{loc})" for j, loc in enumerate(_LOC)]
        found.append(f"library.grad(lambda v: ss.{name}.logpdf(v{shapes}).sum())(y + 0.5)")
        found.append(f"ss.{name}.logpdf(0.75{shapes})")
    for name, shapes in _DISCRETE.items():
        for function in ("pmf", "logpmf"):
            found += [f"ss.{name}.{function}({k}{shapes})" for k in ("i", "k", "1", "x[:2].sum()")]
            found.append(f"ss.{name}.{function}(i{shapes}, loc=1)")
    return found


_MORE = """
ss.bernoulli.cdf(x, p)
ss.bernoulli.cdf(i, 1.5)
ss.bernoulli.ppf(q, p)
ss.bernoulli.ppf(x, p)
ss.poisson.cdf(x, y)
ss.poisson.cdf(k, y, 1)
ss.poisson.entropy(y)
ss.poisson.entropy(y * 50)
ss.poisson.entropy(i)
ss.gennorm.pdf(x, y)
ss.gennorm.logpdf(y, 1.5)
ss.gennorm.cdf(x, y)
ss.vonmises.pdf(x, y)
ss.vonmises.logpdf(x, i)
ss.wrapcauchy.pdf(y, p)
ss.wrapcauchy.logpdf(x, p)
ss.wrapcauchy.logpdf(y, x)
ss.dirichlet.pdf(jnp.array([0.2, 0.3, 0.5]), y)
ss.dirichlet.logpdf(jnp.array([0.2, 0.3]), y)
ss.dirichlet.logpdf(jnp.array([[0.2, 0.5], [0.3, 0.25], [0.5, 0.25]]), y)
ss.dirichlet.logpdf(x, y)
ss.dirichlet.logpdf(x, m)
ss.dirichlet.logpdf(x[:1], y)
ss.multinomial.pmf(i, 3, p / p.sum())
ss.multinomial.logpmf(i, 4, p)
ss.multinomial.logpmf(jnp.array([[1, 2, 0], [0, 1, 2]]), 3, p)
ss.multivariate_normal.pdf(x, y, d)
ss.multivariate_normal.logpdf(x, y, d)
ss.multivariate_normal.logpdf(x, 0.5, 2.0)
ss.multivariate_normal.logpdf(x, y, 2.0)
ss.multivariate_normal.logpdf(m.T, y, d)
ss.multivariate_normal.logpdf(x[:2], y[:2], g @ g.mT)
ss.multivariate_normal.logpdf(x, y, d[:2])
ss.multivariate_normal.logpdf(x, y, y)
ss.multivariate_normal.logpdf(x, y, d, allow_singular=True)
ss.norm.logpdf(h)
ss.norm.cdf(jnp.bfloat16(0.5))
ss.norm.logcdf(jnp.array([-30.0, 30.0]))
ss.norm.sf(jnp.array([10.0]))
ss.norm.ppf(x)
ss.expon.ppf(x)
ss.uniform.ppf(x)
ss.logistic.ppf(x)
ss.norm.logpdf(m, y[:, None])
ss.norm.logpdf(m, x)
ss.mode(k)
ss.mode(jnp.array([[1, 2, 2, 1], [3, 3, 0, 1]]), axis=1)
ss.mode(jnp.array([[1, 2, 2, 1], [3, 3, 0, 1]]), axis=None)
ss.mode(m, keepdims=True)
ss.mode(x, nan_policy="omit")
ss.mode(x, nan_policy="none")
ss.mode(2.0)
ss.rankdata(x)
ss.rankdata(k, "min")
ss.rankdata(jnp.array([3, 1, 3, 2]), "max")
ss.rankdata(jnp.array([3, 1, 3, 2]), "dense")
ss.rankdata(jnp.array([3, 1, 3, 2]), "ordinal")
ss.rankdata(jnp.array([3.0, 1.0, 3.0, 2.0]))
ss.rankdata(jnp.array([3.0, jnp.nan, 3.0, 2.0]))
ss.rankdata(t, axis=1)
ss.rankdata(x, "none")
ss.sem(m)
ss.sem(m, axis=1, ddof=0)
ss.sem(m, axis=None)
ss.sem(m, ddof=1.5)
library.jit(lambda d: ss.sem(m, ddof=d))(0)
ss.sem(m, keepdims=True)
ss.sem(jnp.array([1.0, jnp.nan, 2.0, 4.0]), nan_policy="omit")
ss.sem(i)
ss.gaussian_kde(y).pdf(x)
ss.gaussian_kde(w).logpdf(t[0, :2])
ss.gaussian_kde(w, bw_method="silverman")(t[0, :2])
ss.gaussian_kde(w, 0.5, jnp.arange(16)).evaluate(t[0, :2])
ss.gaussian_kde(y, weights=k).covariance
ss.gaussian_kde(y, weights=k).neff
ss.gaussian_kde(y, "none")
ss.gaussian_kde(y).integrate_box_1d(0, 1)
ss.gaussian_kde(y).integrate_gaussian(0.5, 2.0)
ss.gaussian_kde(y).integrate_kde(ss.gaussian_kde(x))
ss.gaussian_kde(y).resample(library.random.key(0), (3,)).shape
library.grad(lambda a: ss.gaussian_kde(a).logpdf(x).sum())(y)
library.grad(lambda a: ss.multivariate_normal.logpdf(x, y, a))(d)
library.grad(lambda a: ss.poisson.entropy(a).sum())(y)
library.grad(lambda a: ss.vonmises.logpdf(x, a).sum())(y)
library.vmap(lambda a, c: ss.norm.logcdf(a, c))(x, y)
ss.norm.pdf(jnp.array([2, 1, -3], "int8"), jnp.array([[300, 2, 1]]), 200)
"""
ROWS = "\n".join([*_table(), *_MORE.splitlines()])

KNOWN = {
    "ss.vonmises.logpdf(x, i)": "the distribution is uniform for kappa 0, as in SciPy; jax has NaN",
    "ss.multinomial.logpmf(jnp.array([[1, 2, 0], [0, 1, 2]]), 3, p)": "outcomes lie along the last axis, as in SciPy",
    "ss.norm.cdf(jnp.bfloat16(0.5))": "narrow floats count as floats, as in other functions",
}
#: A shape is no array.
EAGER = {"ss.gaussian_kde(y).resample(library.random.key(0), (3,)).shape"}

every = runpy.run_path(str(Path(__file__).parents[1] / "expressions.py"))["every_of"](ROWS)
