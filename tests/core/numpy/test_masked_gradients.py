"""Reductions of some elements: the derivative does not depend on the others, whether they are numbers or not."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import xlascope as xs
import xlascope.numpy as jnp
from xlascope import nn
from xlascope.scipy import special, stats

#: The elements that count, their places, and what stands in the others.
X = np.float32([1.5, 0.25, 3.0, 0.5, 2.0])
M = np.array([True, False, True, True, False, True, True])
WEIGHTS = np.float32([0, 1, 2, 3, 4])
OTHERS = {"NaN": (np.nan, np.nan), "infinite": (np.inf, -np.inf), "large": (3e38, -3e38)}

DIVIDE = jnp.frompyfunc(lambda x, y: x / y, 2, 1, identity=1.0)

Pair = tuple[Callable[..., Any], Callable[..., Any]]


def named(module: Any, *names: str, **options: Any) -> dict[str, Pair]:
    """The functions with ``where=``, and without."""
    return {name: (masked(getattr(module, name), **options), getattr(module, name)) for name in names}


def masked(function: Callable[..., Any], **options: Any) -> Callable[..., Any]:
    return lambda x, m: function(x, where=m, **options)


def weighted(function: Callable[..., Any]) -> Pair:
    return (lambda x, m: jnp.sum(function(x, where=m)[M] * WEIGHTS), lambda x: jnp.sum(function(x) * WEIGHTS))


def both(change: Callable[[Any], Any], function: Callable[..., Any], **options: Any) -> Pair:
    """A function of changed elements, with ``where=`` and without."""
    return (lambda x, m: function(change(x), where=m, **options), lambda x: function(change(x), **options))


def rows(x: Any) -> Any:
    return jnp.stack([x, 2 * x + 1])


BY_MASK: dict[str, Pair] = {
    **named(jnp, "sum", "prod", "mean", "var", "std"),
    **named(jnp, "max", "nanmax", initial=0.0),
    **named(jnp, "min", "nanmin", initial=9.0),
    "var, ddof": both(lambda x: x, jnp.var, ddof=1),
    "std, mean": both(lambda x: x, jnp.std, mean=np.float32([1])),
    "var, complex": both(lambda x: x * np.complex64(1 + 2j), jnp.var),
    "std, two axes": both(rows, jnp.std, axis=1),
    "logsumexp": (masked(special.logsumexp), special.logsumexp),
    "logsumexp, factors": (
        lambda x, m: special.logsumexp(x, b=np.arange(1, 8, dtype=np.float32), where=m),
        lambda x: special.logsumexp(x, b=np.float32([1, 3, 4, 6, 7])),
    ),
    "logsumexp, factors of zero": (lambda x, m: special.logsumexp(x, b=m.astype(np.float32)), special.logsumexp),
    "logmeanexp": (masked(nn.logmeanexp), nn.logmeanexp),
    "softmax": weighted(nn.softmax),
    "log_softmax": weighted(nn.log_softmax),
    "standardize": weighted(nn.standardize),
    "standardize, stable": weighted(lambda x, **where: nn.standardize(x, algorithm="stable", **where)),
    "logaddexp.reduce": (masked(jnp.logaddexp.reduce, initial=-np.inf), jnp.logaddexp.reduce),
    "ufunc.reduce": (masked(DIVIDE.reduce, initial=2.0), lambda x: 2.0 / jnp.prod(x)),
}
OF_NUMBERS: dict[str, Pair] = {
    **{f"nan{name}": (getattr(jnp, f"nan{name}"), getattr(jnp, name)) for name in
       ("sum", "prod", "mean", "var", "std", "max", "min", "median")},
    "nanvar, ddof": (lambda x: jnp.nanvar(x, ddof=1), lambda x: jnp.var(x, ddof=1)),
    "nanstd, rows": (lambda x: jnp.nanstd(rows(x), axis=1), lambda x: jnp.std(rows(x), axis=1)),
    "nanquantile": (lambda x: jnp.nanquantile(x, 0.3), lambda x: jnp.quantile(x, 0.3)),
    "nancumsum": (lambda x: jnp.nancumsum(x)[M], jnp.cumsum),
    "nancumprod": (lambda x: jnp.nancumprod(x)[M], jnp.cumprod),
    "sem": (lambda x: stats.sem(x, nan_policy="omit"), stats.sem),
}  # fmt: skip
ROWS = [(name, *pair, others) for name, pair in BY_MASK.items() for others in OTHERS]
ROWS += [(name, (lambda x, _, f=f: f(x)), g, "NaN") for name, (f, g) in OF_NUMBERS.items()]


def derivatives(f: Callable[..., Any]) -> Callable[..., Any]:
    """The gradient, and that of a function of it."""
    first = xs.grad(lambda x: jnp.sum(jnp.real(f(x))))
    return lambda x: (first(x), xs.grad(lambda x: jnp.sum(jnp.sin(first(x))))(x))


@pytest.mark.parametrize(("name", "f", "plain", "others"), ROWS, ids=[f"{row[0]}-{row[3]}" for row in ROWS])
@pytest.mark.filterwarnings("ignore")
def test_a_gradient_is_that_of_the_elements_that_count(name: str, f: Any, plain: Any, others: str) -> None:
    x = np.zeros(M.shape, np.float32)
    x[M], x[~M] = X, OTHERS[others]
    found = xs.jit(derivatives(lambda x: f(x, M)))(x)
    for y, expected in zip(found, xs.jit(derivatives(plain))(X), strict=True):
        wanted = np.zeros(M.shape, np.float32)
        wanted[M] = expected
        np.testing.assert_allclose(y, wanted, rtol=1e-4, atol=1e-5)
