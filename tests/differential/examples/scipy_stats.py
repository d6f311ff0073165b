"""Calls of scipy.stats: parameters of distributions lie where they are defined, most of the time."""

from __future__ import annotations

import math
from typing import Any

from ..draws import Draw
from ..language import array
from .declaring import Example, example_of, of

_POSITIVE, _REAL, _PART, _COUNT = "positive", "real", "part", "count"
#: For each distribution its parameters before loc and scale, and whether it has these.
_KINDS = {
    **dict.fromkeys(["norm", "expon", "cauchy", "laplace", "logistic", "gumbel_r", "gumbel_l", "uniform"], ("", True)),
    **dict.fromkeys(["gamma", "chi2", "t", "pareto"], (_POSITIVE, True)),
    "beta": (f"{_POSITIVE} {_POSITIVE}", True),
    "truncnorm": (f"{_REAL} {_REAL}", True),
    "gennorm": (_POSITIVE, False),
    "vonmises": (_POSITIVE, False),
    "wrapcauchy": (_PART, False),
}
_FUNCTIONS = {
    **dict.fromkeys(["norm", "cauchy"], "pdf logpdf cdf logcdf sf logsf ppf isf"),
    **dict.fromkeys(["expon", "gumbel_r", "gumbel_l", "pareto"], "pdf logpdf cdf logcdf sf logsf ppf"),
    **dict.fromkeys(["gamma", "chi2", "beta", "truncnorm"], "pdf logpdf cdf logcdf sf logsf"),
    **dict.fromkeys(["laplace", "gennorm"], "pdf logpdf cdf"),
    **dict.fromkeys(["t", "vonmises", "wrapcauchy"], "pdf logpdf"),
    "logistic": "pdf logpdf cdf sf ppf isf",
    "uniform": "pdf logpdf cdf ppf",
}
_DISCRETE = {
    "bernoulli": (_PART, True),
    "binom": (f"{_COUNT} {_PART}", True),
    "betabinom": (f"{_COUNT} {_POSITIVE} {_POSITIVE}", True),
    "nbinom": (f"{_POSITIVE} {_PART}", True),
    "geom": (_PART, True),
    "poisson": (_POSITIVE, True),
}


def _drawn(draw: Draw, kind: str, dtype: str = "float32") -> Any:
    shape = draw.other_shape()
    size = math.prod(shape)
    entries: list[Any]
    if kind == _COUNT:
        return array("int32", shape, [draw.whole(0, 6) for _ in range(size)], draw.holder())
    if dtype == "int32":
        entries = [draw.whole(1 if kind == _POSITIVE else -4, 5) for _ in range(size)]
    elif kind == _POSITIVE:
        entries = [draw.whole(1, 40) / 8 for _ in range(size)]
    elif kind == _PART:
        entries = [draw.whole(1, 31) / 32 for _ in range(size)]
    else:
        entries = [draw.whole(-40, 40) / 8 for _ in range(size)]
    return array(dtype, shape, entries, draw.holder())


def _dtype(draw: Draw) -> str:
    return draw.weighted({"float32": 8, "int32": 1})


def _with_place(draw: Draw, args: list[Any], scaled: bool) -> Example:
    if draw.chance(0.5):
        args.append(_drawn(draw, _REAL) if draw.chance(0.6) else draw.pick([0, 1, 0.5]))
        if scaled and draw.chance(0.7):
            args.append(_drawn(draw, _POSITIVE) if draw.chance(0.6) else draw.pick([2, 0.5]))
    return of(*args)


@example_of(*(f"scipy.stats.{name}.{each}" for name, functions in _FUNCTIONS.items() for each in functions.split()))
def _continuous(draw: Draw) -> Example:
    _, _, name, function = draw.function.split(".")
    kinds, placed = _KINDS[name]
    first = _drawn(draw, _PART) if function in ("ppf", "isf") else _drawn(draw, _REAL, _dtype(draw))
    args = [first, *(_drawn(draw, kind, _dtype(draw)) for kind in kinds.split())]
    return _with_place(draw, args, True) if placed else of(*args)


@example_of(
    *(f"scipy.stats.{name}.{each}" for name in _DISCRETE for each in ("pmf", "logpmf")), "scipy.stats.poisson.cdf"
)
def _discrete(draw: Draw) -> Example:
    kinds, _ = _DISCRETE[draw.function.split(".")[2]]
    args = [_drawn(draw, _COUNT), *(_drawn(draw, kind) for kind in kinds.split())]
    return of(*args, *([draw.pick([0, 1, -1])] if draw.chance(0.3) else []))


@example_of("scipy.stats.bernoulli.cdf", "scipy.stats.bernoulli.ppf")
def _bernoulli(draw: Draw) -> Example:
    return of(_drawn(draw, _PART if draw.function.endswith("ppf") else _REAL), _drawn(draw, _PART))


@example_of("scipy.stats.poisson.entropy")
def _entropy(draw: Draw) -> Example:
    return of(_drawn(draw, _POSITIVE, _dtype(draw)))


@example_of("scipy.stats.dirichlet.pdf", "scipy.stats.dirichlet.logpdf")
def _dirichlet(draw: Draw) -> Example:
    parts = draw.pick([[0.25, 0.25, 0.5], [0.5, 0.25], [0.0, 0.5, 0.5], [0.5, 0.25, 0.5], [0.5]])
    alpha = [draw.whole(1, 24) / 8 for _ in range(3)]
    return of(array("float32", (len(parts),), parts, "device"), array("float32", (3,), alpha, "device"))


@example_of("scipy.stats.multinomial.pmf", "scipy.stats.multinomial.logpmf")
def _multinomial(draw: Draw) -> Example:
    counts = [draw.whole(0, 4) for _ in range(3)]
    parts = draw.pick([[0.25, 0.25, 0.5], [0.5, 0.5, 0.0], [0.125, 0.5, 0.375]])
    total = sum(counts) + draw.weighted({0: 5, 1: 1})
    return of(array("int32", (3,), counts, draw.holder()), total, array("float32", (3,), parts, "device"))


@example_of("scipy.stats.multivariate_normal.pdf", "scipy.stats.multivariate_normal.logpdf")
def _normal_vectors(draw: Draw) -> Example:
    def drawn(*shape: int) -> Any:
        return array("float32", shape, [draw.whole(-16, 16) / 8 for _ in range(math.prod(shape))], "device")

    n = draw.pick([1, 2, 3])
    matrix = [2.0 + i if i == j else 0.25 for i in range(n) for j in range(n)]
    cov = array("float32", (n, n), matrix, "device") if draw.chance(0.8) else draw.pick([2.0, 0.5])
    return of(drawn(*draw.pick([(n,), (4, n), (2, 3, n)])), drawn(n) if draw.chance(0.8) else drawn(4, n), cov)


@example_of("scipy.stats.gaussian_kde")
def _density(draw: Draw) -> Example:
    shape = draw.pick([(4,), (2, 4), (1,)])
    points = [draw.whole(-16, 16) / 8 for _ in range(math.prod(shape))]
    return of(array("float32", shape, points, "device"))


@example_of("scipy.stats.mode")
def _mode(draw: Draw) -> Example:
    shape = draw.pick([(3,), (2, 3), (4, 2), ()])
    dtype = draw.pick(["int32", "float32"])
    x = array(dtype, shape, [draw.whole(0, 2) for _ in range(math.prod(shape))], draw.holder())
    named: dict[str, Any] = {"axis": draw.pick([0, -1, None, 1])} if draw.chance(0.6) else {}
    if draw.chance(0.3):
        named["keepdims"] = True
    return of(x, **named)


@example_of("scipy.stats.rankdata")
def _ranks(draw: Draw) -> Example:
    shape = draw.pick([(3,), (2, 3), (4, 2)])
    x = array(
        draw.pick(["int32", "float32"]), shape, [draw.whole(0, 3) for _ in range(math.prod(shape))], draw.holder()
    )
    named: dict[str, Any] = {"axis": draw.pick([0, -1, None])} if draw.chance(0.5) else {}
    if draw.chance(0.7):
        named["method"] = draw.pick(["average", "min", "max", "dense", "ordinal", "none"])
    return of(x, **named)


@example_of("scipy.stats.sem")
def _sem(draw: Draw) -> Example:
    shape = draw.pick([(3,), (2, 3), (4, 2)])
    named: dict[str, Any] = {"axis": draw.pick([0, -1, None])} if draw.chance(0.5) else {}
    if draw.chance(0.4):
        named["ddof"] = draw.pick([0, 1])
    if draw.chance(0.3):
        named["nan_policy"] = draw.pick(["propagate", "omit", "none"])
    return of(_drawn_of(draw, shape), **named)


def _drawn_of(draw: Draw, shape: tuple[int, ...]) -> Any:
    return array("float32", shape, [draw.whole(-16, 16) / 8 for _ in range(math.prod(shape))], draw.holder())
